// Text with escape sequences: how wide it is, where to cut it, how to wrap it.
//
// Widths and grapheme clusters come from the host, so that what is measured here is what its terminal
// draws. Plain ASCII takes a short way that asks nobody.

import { host } from "../../runtime/bridge.js";

// CSI, OSC and APC/DCS/PM strings, and the two-byte escapes.
const ESCAPE = /\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|[\]_P^X][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^`-~])/y;
const ANY_ESCAPE = new RegExp(ESCAPE.source, "g");
const TAB = "   ";

export const stripAnsi = (text) => text.replace(ANY_ESCAPE, "");

export function visibleWidth(text) {
  if (!text) return 0;
  let plain = text.includes("\x1b") ? stripAnsi(text) : text;
  if (plain.includes("\t")) plain = plain.replaceAll("\t", TAB);
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  return host.width(plain);
}

/** The escape sequence that starts at `at`, or "". */
export function escapeAt(text, at) {
  ESCAPE.lastIndex = at;
  return ESCAPE.exec(text)?.[0] ?? "";
}

export function extractAnsiCode(text, at) {
  const code = text[at] === "\x1b" ? escapeAt(text, at) : "";
  return code ? { code, length: code.length } : null;
}

/** The text as escapes and graphemes, in order: `{text, width}`, where escapes have `code: true`. */
export function pieces(text) {
  const list = [];
  let i = 0;
  while (i < text.length) {
    if (text[i] === "\x1b") {
      const code = escapeAt(text, i);
      if (code) list.push({ text: code, width: 0, code: true });
      // A lone escape takes no cell and would upset the terminal: it is dropped.
      i += code.length || 1;
      continue;
    }
    let end = text.indexOf("\x1b", i);
    if (end < 0) end = text.length;
    const run = text.slice(i, end);
    if (/^[\x20-\x7e]*$/.test(run)) for (const letter of run) list.push({ text: letter, width: 1 });
    else {
      for (const cluster of host.segment(run, "grapheme")) {
        if (cluster === "\t") for (const letter of TAB) list.push({ text: letter, width: 1 });
        else list.push({ text: cluster, width: /^[\x20-\x7e]$/.test(cluster) ? 1 : host.width(cluster) });
      }
    }
    i = end;
  }
  return list;
}

const RESET = "\x1b[0m";

/** Cuts to a width, with `ellipsis` in the cut place; with `pad`, fills the rest with spaces. */
export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
  const width = visibleWidth(text);
  if (width <= maxWidth) return pad ? text + " ".repeat(maxWidth - width) : text;
  const dots = visibleWidth(ellipsis);
  if (dots >= maxWidth) {
    const cut = take(pieces(ellipsis), 0, maxWidth).text;
    return pad ? cut + " ".repeat(Math.max(0, maxWidth - visibleWidth(cut))) : cut;
  }
  const kept = take(pieces(text), 0, maxWidth - dots);
  const result = `${kept.text}${RESET}${ellipsis}`;
  return pad ? result + " ".repeat(Math.max(0, maxWidth - kept.width - dots)) : result;
}

/**
 * Columns `from` up to `from + length`, with the escapes that were in force. Escapes right behind the
 * last letter belong to it: they may close a link.
 */
function take(list, from, length) {
  let column = 0;
  let text = "";
  let width = 0;
  for (const piece of list) {
    if (piece.code) {
      text += piece.text;
      continue;
    }
    if (column >= from + length) break;
    if (column >= from && column + piece.width <= from + length) {
      text += piece.text;
      width += piece.width;
    }
    column += piece.width;
  }
  return { text, width };
}

export const sliceWithWidth = (line, from, length) => take(pieces(line), from, length);
export const sliceByColumn = (line, from, length) => take(pieces(line), from, length).text;

/** Which SGR attributes are on, so that a wrapped line can start with them again. */
class Style {
  #on = new Map();
  feed(code) {
    const body = /^\x1b\[([\d;:]*)m$/.exec(code)?.[1];
    if (body === undefined) return;
    const numbers = body === "" ? [0] : body.split(";").map(Number);
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i];
      if (number === 0 || Number.isNaN(number)) this.#on.clear();
      else if ((number === 38 || number === 48) && numbers[i + 1] === 5) {
        this.#on.set(number, numbers.slice(i, i + 3).join(";"));
        i += 2;
      } else if ((number === 38 || number === 48) && numbers[i + 1] === 2) {
        this.#on.set(number, numbers.slice(i, i + 5).join(";"));
        i += 4;
      } else if (number === 39) this.#on.delete(38);
      else if (number === 49) this.#on.delete(48);
      else if (number === 22) for (const bold of [1, 2]) this.#on.delete(bold);
      else if (number >= 23 && number <= 29) this.#on.delete(number - 20);
      else if ((number >= 30 && number <= 37) || (number >= 90 && number <= 97)) this.#on.set(38, String(number));
      else if ((number >= 40 && number <= 47) || (number >= 100 && number <= 107)) this.#on.set(48, String(number));
      else this.#on.set(number, String(number));
    }
  }
  start() {
    return this.#on.size ? `\x1b[${[...this.#on.values()].join(";")}m` : "";
  }
  /** Underline and strikethrough would run on into the padding. */
  end() {
    return (this.#on.has(4) ? "\x1b[24m" : "") + (this.#on.has(9) ? "\x1b[29m" : "");
  }
}

/** Word wrap. Every line starts with the styles in force; a word longer than the line is cut. */
export function wrapTextWithAnsi(text, width) {
  if (!text) return [""];
  const style = new Style();
  const out = [];
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    const lead = style.start();
    if (visibleWidth(line) <= width) {
      for (const code of line.match(ANY_ESCAPE) ?? []) style.feed(code);
      out.push(lead + line);
    } else out.push(...wrapLine(line, Math.max(1, width), style, lead));
  }
  return out;
}

function wrapLine(line, width, style, lead) {
  const out = [];
  let current = lead;
  let used = 0;
  let word = "";
  let wordWidth = 0;
  let spaces = "";
  const breakLine = () => {
    out.push(current + style.end());
    current = style.start();
    used = 0;
  };
  const placeWord = () => {
    if (wordWidth === 0 && word === "") return;
    if (used > 0 && used + spaces.length + wordWidth > width) breakLine();
    else {
      current += spaces;
      used += spaces.length;
    }
    spaces = "";
    if (wordWidth > width) {
      for (const piece of pieces(word)) {
        if (used + piece.width > width) breakLine();
        if (piece.code) style.feed(piece.text);
        current += piece.text;
        used += piece.width;
      }
    } else {
      current += word;
      used += wordWidth;
      for (const code of word.match(ANY_ESCAPE) ?? []) style.feed(code);
    }
    word = "";
    wordWidth = 0;
  };
  for (const piece of pieces(line)) {
    if (piece.text === " ") {
      placeWord();
      if (used > 0 || out.length === 0) spaces += " ";
      if (used === 0 && spaces.length >= width) {
        current += spaces.slice(0, width);
        used = width;
        spaces = "";
      }
    } else {
      word += piece.text;
      wordWidth += piece.width;
    }
  }
  placeWord();
  if (used > 0 || out.length === 0) out.push(current + style.end());
  return out;
}

/** Fills a line with spaces to the width and paints the whole of it. */
export function applyBackgroundToLine(line, width, paint) {
  return paint(line + " ".repeat(Math.max(0, width - visibleWidth(line))));
}

export const padLine = (line, width) => line + " ".repeat(Math.max(0, width - visibleWidth(line)));
