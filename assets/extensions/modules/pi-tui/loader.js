// Loader and CancellableLoader: a spinner with a message.

import { AbortController } from "../../runtime/events.js";
import { clearInterval, setInterval } from "../../runtime/timers.js";
import { Text } from "./basic.js";
import { getKeybindings } from "./keybindings.js";

const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];

export class Loader extends Text {
  #tui;
  #spinner;
  #color;
  #message;
  #frame = 0;
  #timer;
  #frames = FRAMES;
  #interval = 80;
  constructor(tui, spinnerColorFn, messageColorFn, message = "Loading...", indicator) {
    super("", 1, 0);
    this.#tui = tui;
    this.#spinner = spinnerColorFn;
    this.#color = messageColorFn;
    this.#message = message;
    if (indicator) this.setIndicator(indicator);
    this.start();
  }
  render(width) {
    return ["", ...super.render(width)];
  }
  start() {
    this.#show();
    this.stop();
    if (this.#frames.length < 2) return;
    this.#timer = setInterval(() => {
      this.#frame = (this.#frame + 1) % this.#frames.length;
      this.#show();
    }, this.#interval);
  }
  stop() {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
  setMessage(message) {
    this.#message = message;
    this.#show();
  }
  setIndicator({ frames, intervalMs } = {}) {
    this.#frames = frames ?? FRAMES;
    this.#interval = intervalMs ?? 80;
    this.#frame = 0;
    if (this.#timer !== undefined) this.start();
  }
  #show() {
    const frame = this.#frames[this.#frame];
    this.setText(`${frame ? `${this.#spinner(frame)} ` : ""}${this.#color(this.#message)}`);
    this.#tui?.requestRender?.();
  }
}

export class CancellableLoader extends Loader {
  onAbort;
  #controller = new AbortController();
  get signal() {
    return this.#controller.signal;
  }
  get aborted() {
    return this.#controller.signal.aborted;
  }
  handleInput(data) {
    if (!getKeybindings().matches(data, "selectCancel")) return;
    this.#controller.abort();
    this.onAbort?.();
  }
  dispose() {
    this.stop();
  }
}
