// TUI and its terminal, as an extension sees them: requests to the host, which owns the screen.
//
// `attachScreen` is how `host/components.js` gives a TUI its screen; one made by an extension itself
// has none and only keeps its children.

import { ask, currentOwner, host } from "../../runtime/bridge.js";
import { EventEmitter } from "../node/events.js";
import { Container, isFocusable } from "./basic.js";

const NO_SCREEN = {
  redraw() {},
  overlay() {
    throw new Error("this TUI has no screen; use the one that ctx.ui.custom passes in");
  },
};

export class TUI extends Container {
  onDebug;
  terminal;
  #screen = NO_SCREEN;
  #focus = null;
  #overlays = [];
  #listeners = new Set();
  constructor(terminal = new ProcessTerminal()) {
    super();
    this.terminal = terminal;
  }
  static attachScreen(tui, screen) {
    tui.#screen = screen;
    return tui;
  }
  get fullRedraws() {
    return ask("ui.redraws") ?? 0;
  }
  getShowHardwareCursor() {
    return false;
  }
  setShowHardwareCursor() {}
  getClearOnShrink() {
    return false;
  }
  setClearOnShrink() {}
  get focusedComponent() {
    return this.#focus;
  }
  setFocus(component) {
    if (isFocusable(this.#focus)) this.#focus.focused = false;
    this.#focus = component;
    if (isFocusable(component)) component.focused = true;
  }
  requestRender(force) {
    this.#screen.redraw(Boolean(force));
  }
  showOverlay(component, options) {
    const handle = this.#screen.overlay(component, options);
    this.#overlays.push(handle);
    return handle;
  }
  hideOverlay() {
    this.#overlays.pop()?.hide();
  }
  hasOverlay() {
    return this.#overlays.some((handle) => !handle.isHidden());
  }
  start() {
    ask("ui.resume");
  }
  stop() {
    ask("ui.suspend");
  }
  addInputListener(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  removeInputListener(listener) {
    this.#listeners.delete(listener);
  }
  /** Passes input through the listeners; undefined when one of them took it. */
  filterInput(data) {
    let current = data;
    for (const listener of this.#listeners) {
      const answer = listener(current);
      if (answer?.consume) return undefined;
      if (answer?.data !== undefined) current = answer.data;
    }
    return current;
  }
}

export class ProcessTerminal {
  get columns() {
    return ask("terminal.size")?.columns ?? 80;
  }
  get rows() {
    return ask("terminal.size")?.rows ?? 24;
  }
  get kittyProtocolActive() {
    return Boolean(ask("terminal.size")?.kitty);
  }
  write(data) {
    host.stdout(currentOwner(), "stdout", data);
  }
  start() {}
  stop() {}
  moveBy() {}
  hideCursor() {}
  showCursor() {}
  clearLine() {}
  clearFromCursor() {}
  clearScreen() {}
  setTitle(title) {
    ask("ui.setTitle", { title });
  }
}

/** Splits a stream of input into one event per key or paste. */
export class StdinBuffer extends EventEmitter {
  #rest = "";
  process(data) {
    this.#rest += typeof data === "string" ? data : data.toString();
    while (this.#rest) {
      const paste = /^\x1b\[200~[\s\S]*?\x1b\[201~/.exec(this.#rest);
      const match = paste ?? /^(?:\x1b(?:\[\[[A-E]|\[[0-9:;<=>?]*[ -/]*[@-~]|O[\s\S]|[^[O])|\x1b$|[^\x1b])/u.exec(this.#rest);
      if (!match) return;
      this.#rest = this.#rest.slice(match[0].length);
      if (paste) this.emit("paste", match[0].slice(6, -6));
      else this.emit("data", match[0]);
    }
  }
  clear() {
    this.#rest = "";
  }
  getBuffer() {
    return this.#rest;
  }
  flush() {
    const rest = this.#rest;
    this.#rest = "";
    return rest ? [rest] : [];
  }
  destroy() {
    this.clear();
  }
}
