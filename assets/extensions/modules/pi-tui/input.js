// Input: one line of text with a cursor.

import { host } from "../../runtime/bridge.js";
import { padLine, visibleWidth } from "./ansi.js";
import { CURSOR_MARKER } from "./basic.js";
import { getKeybindings } from "./keybindings.js";
import { typedText } from "./keys.js";

/** Clusters of a text; plain ASCII is split without asking the host. */
export const clusters = (text) => (/^[\x20-\x7e]*$/.test(text) ? [...text] : host.segment(text, "grapheme"));

const kindOf = (letter) => (/\s/.test(letter) ? "space" : /[\p{L}\p{N}_]/u.test(letter) ? "word" : "sign");

/** Where the cursor lands one word to the left or right, counted in clusters. */
export function wordStop(list, at, step) {
  let i = at;
  const next = () => list[step < 0 ? i - 1 : i];
  while (next() !== undefined && kindOf(next()) === "space") i += step;
  if (next() === undefined) return i;
  const kind = kindOf(next());
  while (next() !== undefined && kindOf(next()) === kind) i += step;
  return i;
}

const PASTE = /^\x1b\[200~([\s\S]*?)(?:\x1b\[201~)?$/;
/** The text of a bracketed paste, or undefined. */
export const pastedText = (data) => PASTE.exec(data)?.[1]?.replaceAll("\r\n", "\n").replaceAll("\r", "\n");

export class Input {
  onSubmit;
  onEscape;
  focused = false;
  #list = [];
  #at = 0;
  #killed = "";
  #history = [];
  getValue() {
    return this.#list.join("");
  }
  setValue(value) {
    this.#list = clusters(value);
    this.#at = Math.min(this.#at, this.#list.length);
  }
  invalidate() {}

  #insert(text) {
    this.#remember();
    const items = clusters(text);
    this.#list.splice(this.#at, 0, ...items);
    this.#at += items.length;
  }
  #remember() {
    this.#history.push({ list: [...this.#list], at: this.#at });
    if (this.#history.length > 100) this.#history.shift();
  }
  #cut(from, to, keep) {
    if (from === to) return;
    this.#remember();
    const gone = this.#list.splice(from, to - from).join("");
    if (keep) this.#killed = gone;
    this.#at = from;
  }

  handleInput(data) {
    const keys = getKeybindings();
    const is = (name) => keys.matches(data, name);
    const pasted = pastedText(data);
    if (pasted !== undefined) this.#insert(pasted.replace(/\n/g, " ").replaceAll("\t", "    "));
    else if (is("selectCancel")) this.onEscape?.();
    else if (is("submit") || data === "\n") this.onSubmit?.(this.getValue());
    else if (is("undo")) {
      const before = this.#history.pop();
      if (before) [this.#list, this.#at] = [before.list, before.at];
    } else if (is("deleteCharBackward")) this.#cut(Math.max(0, this.#at - 1), this.#at);
    else if (is("deleteCharForward")) this.#cut(this.#at, Math.min(this.#list.length, this.#at + 1));
    else if (is("deleteWordBackward")) this.#cut(wordStop(this.#list, this.#at, -1), this.#at, true);
    else if (is("deleteWordForward")) this.#cut(this.#at, wordStop(this.#list, this.#at, 1), true);
    else if (is("deleteToLineStart")) this.#cut(0, this.#at, true);
    else if (is("deleteToLineEnd")) this.#cut(this.#at, this.#list.length, true);
    else if (is("yank")) this.#insert(this.#killed);
    else if (is("cursorLeft")) this.#at = Math.max(0, this.#at - 1);
    else if (is("cursorRight")) this.#at = Math.min(this.#list.length, this.#at + 1);
    else if (is("cursorLineStart")) this.#at = 0;
    else if (is("cursorLineEnd")) this.#at = this.#list.length;
    else if (is("cursorWordLeft")) this.#at = wordStop(this.#list, this.#at, -1);
    else if (is("cursorWordRight")) this.#at = wordStop(this.#list, this.#at, 1);
    else {
      const text = typedText(data);
      if (text !== undefined) this.#insert(text);
    }
  }

  render(width) {
    const prompt = "> ";
    const room = width - prompt.length;
    if (room <= 0) return [prompt.slice(0, width)];
    // The part around the cursor that fits, in whole clusters.
    const widths = this.#list.map((item) => visibleWidth(item));
    let start = 0;
    const upTo = (from) => widths.slice(from, this.#at).reduce((sum, item) => sum + item, 0) + 1;
    while (start < this.#at && upTo(start) > room) start++;
    let used = 0;
    let end = start;
    while (end < this.#list.length && used + widths[end] <= room - (end < this.#at ? 1 : 0)) used += widths[end++];
    const before = this.#list.slice(start, this.#at).join("");
    const under = this.#list[this.#at] ?? " ";
    const after = this.#list.slice(this.#at + 1, Math.max(end, this.#at + 1)).join("");
    const marker = this.focused ? CURSOR_MARKER : "";
    return [padLine(`${prompt}${before}${marker}\x1b[7m${under}\x1b[27m${after}`, width)];
  }
}
