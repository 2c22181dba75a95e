// Editor: several lines of text with cursor, history, undo, kill ring of one, and completion.
//
// Lines are kept as text and edited by clusters. Drawing wraps them to the width between two rules.
// Subclasses override handleInput and render, so all state changes go through the public methods.

import { padLine, truncateToWidth, visibleWidth } from "./ansi.js";
import { CURSOR_MARKER } from "./basic.js";
import { clusters, pastedText, wordStop } from "./input.js";
import { getKeybindings } from "./keybindings.js";
import { matchesKey, typedText } from "./keys.js";
import { SelectList } from "./select.js";

const LARGE_PASTE_LINES = 10;
const LARGE_PASTE_CHARS = 1000;

/** Cuts a line into pieces no wider than `width`, at spaces where it can. */
export function wordWrapLine(line, width) {
  if (visibleWidth(line) <= width) return [{ text: line, startIndex: 0, endIndex: line.length }];
  const chunks = [];
  let start = 0;
  let at = 0;
  let used = 0;
  let space = -1;
  for (const letter of clusters(line)) {
    const size = visibleWidth(letter);
    if (used + size > width && at > start) {
      const cut = space > start ? space : at;
      chunks.push({ text: line.slice(start, cut), startIndex: start, endIndex: cut });
      start = cut;
      used = visibleWidth(line.slice(start, at));
      space = -1;
    }
    at += letter.length;
    used += size;
    if (letter === " ") space = at;
  }
  chunks.push({ text: line.slice(start), startIndex: start, endIndex: line.length });
  return chunks;
}

export class Editor {
  onSubmit;
  onChange;
  disableSubmit = false;
  focused = false;
  #lines = [""];
  #line = 0;
  #col = 0;
  #undo = [];
  #killed = "";
  #history = [];
  #recall = -1;
  #draft = "";
  #pastes = new Map();
  #provider;
  #menu;
  #visible;
  #padX;
  #theme;
  #jump;

  constructor(tui, theme, options = {}, ...rest) {
    this.tui = tui;
    this.#theme = theme ?? {};
    this.borderColor = theme?.borderColor ?? ((text) => text);
    // CustomEditor of some generations passes the keybindings third and the options fourth.
    const settings = options?.matches ? rest[0] ?? {} : options ?? {};
    this.#padX = settings.paddingX ?? 0;
    this.#visible = settings.autocompleteMaxVisible ?? 5;
  }
  getPaddingX() {
    return this.#padX;
  }
  setPaddingX(padding) {
    this.#padX = Math.max(0, Math.floor(padding));
    this.tui?.requestRender?.();
  }
  getAutocompleteMaxVisible() {
    return this.#visible;
  }
  setAutocompleteMaxVisible(count) {
    this.#visible = Math.max(3, Math.min(20, count));
  }
  setAutocompleteProvider(provider) {
    this.#provider = provider;
  }
  isShowingAutocomplete() {
    return this.#menu !== undefined;
  }
  invalidate() {}

  getText() {
    return this.#lines.join("\n");
  }
  getExpandedText() {
    let text = this.getText();
    for (const [marker, content] of this.#pastes) text = text.replaceAll(marker, () => content);
    return text;
  }
  getLines() {
    return [...this.#lines];
  }
  getCursor() {
    return { line: this.#line, col: this.#col };
  }
  setText(text) {
    this.#remember();
    this.#recall = -1;
    this.#put(text);
  }
  #put(text) {
    this.#lines = text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").replaceAll("\t", "    ").split("\n");
    this.#line = this.#lines.length - 1;
    this.#col = this.#lines[this.#line].length;
    this.#changed();
  }
  insertTextAtCursor(text) {
    this.#remember();
    const current = this.#lines[this.#line];
    const parts = (current.slice(0, this.#col) + text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").replaceAll("\t", "    ")).split("\n");
    const tail = current.slice(this.#col);
    this.#col = parts.at(-1).length;
    parts[parts.length - 1] += tail;
    this.#lines.splice(this.#line, 1, ...parts);
    this.#line += parts.length - 1;
    this.#changed();
  }
  addToHistory(text) {
    const entry = text.trim();
    if (entry === "" || this.#history[0] === entry) return;
    this.#history.unshift(entry);
    this.#history.length = Math.min(this.#history.length, 100);
  }
  #changed() {
    this.onChange?.(this.getText());
  }
  #remember() {
    this.#undo.push({ lines: [...this.#lines], line: this.#line, col: this.#col });
    if (this.#undo.length > 200) this.#undo.shift();
  }

  handleInput(data) {
    const keys = getKeybindings();
    const is = (name) => keys.matches(data, name);
    if (this.#jump) {
      const step = this.#jump;
      this.#jump = undefined;
      const letter = typedText(data);
      if (letter !== undefined) return this.#jumpTo(letter, step);
    }
    if (this.#menu && this.#menuInput(data, is)) return;
    const pasted = pastedText(data);
    if (pasted !== undefined) return this.#paste(pasted);
    if (is("copy")) return;
    if (is("undo")) return this.#back();
    if (is("tab")) return void this.#complete(true);
    if (is("newLine") || (data.startsWith("\x1b") && data.endsWith("\r") && data.length === 2) || matchesKey(data, "ctrl+j") && data === "\n" || matchesKey(data, "alt+enter")) {
      return this.insertTextAtCursor("\n");
    }
    if (is("submit")) return this.#submit();
    if (is("deleteWordBackward")) return this.#cutTo(this.#line, this.#wordAt(-1), true);
    if (is("deleteWordForward")) return this.#cutTo(this.#line, this.#wordAt(1), true);
    if (is("deleteToLineStart")) return this.#col === 0 ? this.#joinBackward() : this.#cutTo(this.#line, 0, true);
    if (is("deleteToLineEnd")) return this.#col === this.#text().length ? this.#joinForward() : this.#cutTo(this.#line, this.#text().length, true);
    if (is("deleteCharBackward") || matchesKey(data, "shift+backspace")) return this.#col === 0 ? this.#joinBackward() : this.#cutTo(this.#line, this.#step(-1));
    if (is("deleteCharForward") || matchesKey(data, "shift+delete")) return this.#col === this.#text().length ? this.#joinForward() : this.#cutTo(this.#line, this.#step(1));
    if (is("yank") || is("yankPop")) return this.#killed ? this.insertTextAtCursor(this.#killed) : undefined;
    if (is("cursorLineStart")) this.#col = 0;
    else if (is("cursorLineEnd")) this.#col = this.#text().length;
    else if (is("cursorWordLeft")) this.#col === 0 && this.#line > 0 ? this.#goTo(this.#line - 1, Infinity) : (this.#col = this.#wordAt(-1));
    else if (is("cursorWordRight")) this.#col === this.#text().length && this.#line < this.#lines.length - 1 ? this.#goTo(this.#line + 1, 0) : (this.#col = this.#wordAt(1));
    else if (is("cursorUp")) this.#up();
    else if (is("cursorDown")) this.#down();
    else if (is("cursorLeft")) this.#col === 0 ? this.#line > 0 && this.#goTo(this.#line - 1, Infinity) : (this.#col = this.#step(-1));
    else if (is("cursorRight")) this.#col === this.#text().length ? this.#line < this.#lines.length - 1 && this.#goTo(this.#line + 1, 0) : (this.#col = this.#step(1));
    else if (is("pageUp")) this.#goTo(Math.max(0, this.#line - 10), this.#col);
    else if (is("pageDown")) this.#goTo(Math.min(this.#lines.length - 1, this.#line + 10), this.#col);
    else if (is("jumpForward")) this.#jump = 1;
    else if (is("jumpBackward")) this.#jump = -1;
    else {
      const text = matchesKey(data, "shift+space") ? " " : typedText(data);
      if (text === undefined) return;
      this.insertTextAtCursor(text);
      if (this.#menu || text === "/" || text === "@") void this.#complete(false);
    }
  }

  #text() {
    return this.#lines[this.#line];
  }
  #goTo(line, col) {
    this.#line = line;
    this.#col = Math.min(col, this.#lines[line].length);
  }
  /** The column one cluster away. */
  #step(direction) {
    const text = this.#text();
    if (direction < 0) return this.#col - (clusters(text.slice(0, this.#col)).at(-1)?.length ?? 0);
    return this.#col + (clusters(text.slice(this.#col))[0]?.length ?? 0);
  }
  #wordAt(direction) {
    const list = clusters(this.#text());
    let at = 0;
    for (let width = 0; at < list.length && width < this.#col; at++) width += list[at].length;
    return list.slice(0, wordStop(list, at, direction)).join("").length;
  }
  #cutTo(line, col, keep = false) {
    if (col === this.#col) return;
    this.#remember();
    const text = this.#lines[line];
    const [from, to] = [Math.min(col, this.#col), Math.max(col, this.#col)];
    if (keep) this.#killed = text.slice(from, to);
    this.#lines[line] = text.slice(0, from) + text.slice(to);
    this.#col = from;
    this.#changed();
    if (this.#menu) void this.#complete(false);
  }
  #joinBackward() {
    if (this.#line === 0) return;
    this.#remember();
    const [text] = this.#lines.splice(this.#line, 1);
    this.#line--;
    this.#col = this.#text().length;
    this.#lines[this.#line] += text;
    this.#changed();
  }
  #joinForward() {
    if (this.#line === this.#lines.length - 1) return;
    this.#remember();
    const [next] = this.#lines.splice(this.#line + 1, 1);
    this.#lines[this.#line] += next;
    this.#changed();
  }
  #back() {
    const before = this.#undo.pop();
    if (!before) return;
    this.#lines = before.lines;
    this.#line = before.line;
    this.#col = before.col;
    this.#changed();
  }
  #jumpTo(letter, step) {
    const text = this.#text();
    const at = step > 0 ? text.indexOf(letter, this.#col + 1) : text.lastIndexOf(letter, this.#col - 1);
    if (at >= 0) this.#col = at;
  }
  #paste(text) {
    const lines = text.split("\n").length;
    if (lines <= LARGE_PASTE_LINES && text.length <= LARGE_PASTE_CHARS) return this.insertTextAtCursor(text);
    const size = lines > LARGE_PASTE_LINES ? `+${lines} lines` : `${text.length} chars`;
    const marker = `[paste #${this.#pastes.size + 1} ${size}]`;
    this.#pastes.set(marker, text);
    this.insertTextAtCursor(marker);
  }
  #submit() {
    if (this.disableSubmit) return;
    // A backslash before Enter asks for a new line, for terminals that cannot tell shift+enter.
    if (this.#text()[this.#col - 1] === "\\") {
      this.#cutTo(this.#line, this.#col - 1);
      return this.insertTextAtCursor("\n");
    }
    const text = this.getExpandedText().trim();
    this.#lines = [""];
    this.#line = this.#col = 0;
    this.#undo = [];
    this.#pastes.clear();
    this.#recall = -1;
    this.#changed();
    this.onSubmit?.(text);
  }
  #up() {
    const top = this.#line === 0;
    if (top && (this.getText() === "" || this.#recall >= 0) && this.#recall < this.#history.length - 1) return this.#show(this.#recall + 1);
    if (top) this.#col = 0;
    else this.#goTo(this.#line - 1, this.#col);
  }
  #down() {
    const bottom = this.#line === this.#lines.length - 1;
    if (bottom && this.#recall >= 0) return this.#show(this.#recall - 1);
    if (bottom) this.#col = this.#text().length;
    else this.#goTo(this.#line + 1, this.#col);
  }
  #show(index) {
    if (this.#recall < 0) this.#draft = this.getText();
    this.#recall = index;
    this.#put(index < 0 ? this.#draft : this.#history[index]);
  }

  // ---- Completion --------------------------------------------------------------------------------

  async #complete(forced) {
    const provider = this.#provider;
    if (!provider) return;
    const asked = forced && provider.getForceFileSuggestions ? "getForceFileSuggestions" : "getSuggestions";
    const found = await provider[asked](this.#lines, this.#line, this.#col, { force: forced });
    if (!found || found.items.length === 0) {
      this.#menu = undefined;
      this.tui?.requestRender?.();
      return;
    }
    if (forced && found.items.length === 1) return this.#apply(found.items[0], found.prefix);
    this.#menu = { list: new SelectList(found.items, this.#visible, this.#theme.selectList), prefix: found.prefix };
    this.tui?.requestRender?.();
  }
  #menuInput(data, is) {
    if (is("selectCancel")) {
      this.#menu = undefined;
      return true;
    }
    if (is("selectUp") || is("selectDown") || is("selectPageUp") || is("selectPageDown")) {
      this.#menu.list.handleInput(data);
      return true;
    }
    const item = this.#menu.list.getSelectedItem();
    const { prefix } = this.#menu;
    if (is("tab") && item) {
      this.#apply(item, prefix);
      return true;
    }
    if (is("selectConfirm") && item) {
      this.#apply(item, prefix);
      // A completed command is sent at once; anything else only completes.
      return !prefix.startsWith("/");
    }
    return false;
  }
  #apply(item, prefix) {
    this.#menu = undefined;
    this.#remember();
    const done = this.#provider.applyCompletion(this.#lines, this.#line, this.#col, item, prefix);
    this.#lines = done.lines;
    this.#line = done.cursorLine;
    this.#col = done.cursorCol;
    this.#changed();
    this.tui?.requestRender?.();
  }

  // ---- Drawing -----------------------------------------------------------------------------------

  render(width) {
    const padX = Math.min(this.#padX, Math.floor((width - 1) / 2));
    const room = Math.max(1, width - 2 * padX);
    // One column is kept for the cursor behind the last letter.
    const layout = padX > 0 ? room : Math.max(1, room - 1);
    const rows = [];
    let cursorRow = 0;
    this.#lines.forEach((line, index) => {
      const chunks = wordWrapLine(line, layout);
      chunks.forEach((chunk, i) => {
        const last = i === chunks.length - 1;
        const here = index === this.#line && this.#col >= chunk.startIndex && (this.#col < chunk.endIndex || (last && this.#col <= chunk.endIndex));
        if (here) cursorRow = rows.length;
        rows.push(here ? this.#withCursor(chunk.text, this.#col - chunk.startIndex) : chunk.text);
      });
    });
    const visible = Math.max(5, Math.floor((this.tui?.terminal?.rows ?? 24) * 0.3));
    const start = Math.max(0, Math.min(cursorRow - visible + 1, rows.length - visible));
    const shown = rows.slice(start, start + visible);
    const rule = (count, sign) => {
      if (count <= 0) return this.borderColor("─".repeat(width));
      const text = `─── ${sign} ${count} more `;
      return this.borderColor(truncateToWidth(text + "─".repeat(Math.max(0, width - visibleWidth(text))), width, ""));
    };
    const side = " ".repeat(padX);
    const lines = [rule(start, "↑"), ...shown.map((row) => padLine(`${side}${row}${side}`, width)), rule(rows.length - start - shown.length, "↓")];
    if (this.#menu) lines.push(...this.#menu.list.render(room).map((row) => padLine(side + row, width)));
    return lines;
  }
  #withCursor(text, at) {
    const [under = " "] = clusters(text.slice(at));
    const marker = this.focused && !this.#menu ? CURSOR_MARKER : "";
    return `${text.slice(0, at)}${marker}\x1b[7m${under}\x1b[0m${text.slice(at + under.length)}`;
  }
}
