// node:readline: lines of a stream. Questions to the person belong to ctx.ui, since the terminal is
// not the extension's; `question` therefore asks through the host's input dialog.

import { dialog } from "../../runtime/bridge.js";
import { EventEmitter } from "./events.js";
import { StringDecoder } from "./string_decoder.js";

export class Interface extends EventEmitter {
  #rest = "";
  constructor(input, output) {
    super();
    const options = input && typeof input.on === "function" ? { input, output } : input ?? {};
    this.input = options.input;
    this.closed = false;
    const decoder = new StringDecoder("utf8");
    this.input?.on?.("data", (chunk) => {
      const lines = (this.#rest + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split(/\r\n|\n|\r(?!$)/);
      this.#rest = lines.pop();
      for (const line of lines) this.emit("line", line);
    });
    this.input?.on?.("end", () => {
      if (this.#rest !== "") this.emit("line", this.#rest);
      this.#rest = "";
      this.close();
    });
  }
  question(text, options, done) {
    const answer = typeof options === "function" ? options : done;
    void dialog("input", { title: text }).then((value) => answer(value ?? ""));
  }
  prompt() {}
  setPrompt() {}
  write() {}
  pause() {
    this.input?.pause?.();
    return this;
  }
  resume() {
    this.input?.resume?.();
    return this;
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.emit("close");
  }
  async *[Symbol.asyncIterator]() {
    const queue = [];
    let wake = () => {};
    this.on("line", (line) => {
      queue.push(line);
      wake();
    });
    this.on("close", () => wake());
    for (;;) {
      while (queue.length > 0) yield queue.shift();
      if (this.closed) return;
      await new Promise((resolve) => {
        wake = resolve;
      });
    }
  }
}

export const createInterface = (...args) => new Interface(...args);
export const clearLine = () => true;
export const cursorTo = () => true;
export const moveCursor = () => true;
export const clearScreenDown = () => true;
export const emitKeypressEvents = () => {};
export const promises = {
  createInterface: (...args) => {
    const lines = new Interface(...args);
    lines.question = (text) => dialog("input", { title: text }).then((value) => value ?? "");
    return lines;
  },
};
export default { Interface, createInterface, clearLine, cursorTo, moveCursor, clearScreenDown, emitKeypressEvents, promises };
