// The components without input: Container, Text, Box, Spacer, TruncatedText.

import { applyBackgroundToLine, padLine, truncateToWidth, wrapTextWithAnsi } from "./ansi.js";

export const CURSOR_MARKER = "\x1b_pi:c\x07";
export const isFocusable = (component) => component !== null && component !== undefined && "focused" in component;

export class Container {
  children = [];
  addChild(component) {
    this.children.push(component);
  }
  removeChild(component) {
    const at = this.children.indexOf(component);
    if (at >= 0) this.children.splice(at, 1);
  }
  clear() {
    this.children = [];
  }
  invalidate() {
    for (const child of this.children) child.invalidate?.();
  }
  render(width) {
    return this.children.flatMap((child) => child.render(width));
  }
}

/** Wrapped text with room around it and an optional background. Empty text draws nothing. */
export class Text {
  #text;
  #padX;
  #padY;
  #paint;
  #cache;
  constructor(text = "", paddingX = 1, paddingY = 1, customBgFn) {
    this.#text = text;
    this.#padX = paddingX;
    this.#padY = paddingY;
    this.#paint = customBgFn;
  }
  setText(text) {
    this.#text = text;
    this.#cache = undefined;
  }
  setCustomBgFn(paint) {
    this.#paint = paint;
    this.#cache = undefined;
  }
  invalidate() {
    this.#cache = undefined;
  }
  render(width) {
    if (this.#cache?.width === width) return this.#cache.lines;
    const text = String(this.#text ?? "");
    const lines = text.trim() === "" ? [] : frame(wrapTextWithAnsi(text.replaceAll("\t", "   "), Math.max(1, width - 2 * this.#padX)), width, this.#padX, this.#padY, this.#paint);
    this.#cache = { width, lines };
    return lines;
  }
}

/** Puts margins round lines and paints them to the full width. */
export function frame(lines, width, padX, padY, paint) {
  const side = " ".repeat(padX);
  const finish = (line) => (paint ? applyBackgroundToLine(line, width, paint) : padLine(line, width));
  const blank = Array.from({ length: padY }, () => finish(""));
  return [...blank, ...lines.map((line) => finish(`${side}${line}${side}`)), ...blank];
}

export class Box extends Container {
  #padX;
  #padY;
  #paint;
  constructor(paddingX = 1, paddingY = 1, bgFn) {
    super();
    this.#padX = paddingX;
    this.#padY = paddingY;
    this.#paint = bgFn;
  }
  setBgFn(paint) {
    this.#paint = paint;
  }
  render(width) {
    if (this.children.length === 0) return [];
    const inner = super.render(Math.max(1, width - 2 * this.#padX));
    if (inner.length === 0) return [];
    const side = " ".repeat(this.#padX);
    const finish = (line) => (this.#paint ? applyBackgroundToLine(line, width, this.#paint) : padLine(line, width));
    const blank = Array.from({ length: this.#padY }, () => finish(""));
    return [...blank, ...inner.map((line) => finish(side + line)), ...blank];
  }
}

export class Spacer {
  #lines;
  constructor(lines = 1) {
    this.#lines = lines;
  }
  setLines(lines) {
    this.#lines = lines;
  }
  invalidate() {}
  render() {
    return Array.from({ length: this.#lines }, () => "");
  }
}

/** The first line of a text, cut to the width. */
export class TruncatedText {
  #text;
  #padX;
  #padY;
  constructor(text, paddingX = 0, paddingY = 0) {
    this.#text = text;
    this.#padX = paddingX;
    this.#padY = paddingY;
  }
  setText(text) {
    this.#text = text;
  }
  invalidate() {}
  render(width) {
    const [first] = String(this.#text).split("\n");
    const side = " ".repeat(this.#padX);
    const blank = Array.from({ length: this.#padY }, () => " ".repeat(width));
    return [...blank, padLine(side + truncateToWidth(first, Math.max(1, width - 2 * this.#padX)) + side, width), ...blank];
  }
}
