// Event, EventTarget, AbortController and AbortSignal.
//
// Only the flat dispatch that signals and scripts use: no capture, no bubbling. A listener that
// throws is charged to the extension that runs and does not stop the others.

import { charge, currentOwner } from "./bridge.js";
import { DOMException } from "./errors.js";
import { setTimeout } from "./timers.js";

export class Event {
  #stopped = false;
  #prevented = false;
  constructor(type, options = {}) {
    this.type = String(type);
    this.cancelable = Boolean(options.cancelable);
    this.bubbles = false;
    this.target = null;
    this.currentTarget = null;
    this.timeStamp = Date.now();
  }
  get defaultPrevented() {
    return this.#prevented;
  }
  get immediateStopped() {
    return this.#stopped;
  }
  preventDefault() {
    if (this.cancelable) this.#prevented = true;
  }
  stopPropagation() {}
  stopImmediatePropagation() {
    this.#stopped = true;
  }
}

export class CustomEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.detail = options.detail ?? null;
  }
}

export class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    if (!listener) return;
    const once = typeof options === "object" && Boolean(options?.once);
    const signal = typeof options === "object" ? options?.signal : undefined;
    if (signal?.aborted) return;
    const list = this.#listeners.get(type) ?? [];
    if (list.some((entry) => entry.listener === listener)) return;
    list.push({ listener, once });
    this.#listeners.set(type, list);
    signal?.addEventListener("abort", () => this.removeEventListener(type, listener), { once: true });
  }
  removeEventListener(type, listener) {
    const list = this.#listeners.get(type);
    if (list) this.#listeners.set(type, list.filter((entry) => entry.listener !== listener));
  }
  dispatchEvent(event) {
    event.target = this;
    event.currentTarget = this;
    for (const entry of [...(this.#listeners.get(event.type) ?? [])]) {
      if (entry.once) this.removeEventListener(event.type, entry.listener);
      try {
        if (typeof entry.listener === "function") entry.listener.call(this, event);
        else entry.listener.handleEvent(event);
      } catch (error) {
        charge(currentOwner(), `listener:${event.type}`, error);
      }
      if (event.immediateStopped) break;
    }
    return !event.defaultPrevented;
  }
}

const KEY = Symbol("signal");

// Set by the class below: only this module can make a signal fire.
let fire;

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason;
  onabort = null;
  constructor(key) {
    super();
    if (key !== KEY) throw new TypeError("Illegal constructor");
  }
  get aborted() {
    return this.#aborted;
  }
  get reason() {
    return this.#reason;
  }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }
  static {
    fire = (signal, reason) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason ?? new DOMException("This operation was aborted", "AbortError");
      const event = new Event("abort");
      if (typeof signal.onabort === "function") {
        try {
          signal.onabort(event);
        } catch (error) {
          charge(currentOwner(), "listener:abort", error);
        }
      }
      signal.dispatchEvent(event);
    };
  }
  static abort(reason) {
    const signal = new AbortSignal(KEY);
    fire(signal, reason);
    return signal;
  }
  static timeout(ms) {
    const signal = new AbortSignal(KEY);
    setTimeout(() => fire(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
    return signal;
  }
  static any(signals) {
    const result = new AbortSignal(KEY);
    const sources = [...signals];
    const done = sources.find((source) => source.aborted);
    if (done) {
      fire(result, done.reason);
      return result;
    }
    for (const source of sources) source.addEventListener("abort", () => fire(result, source.reason), { once: true });
    return result;
  }
}

export class AbortController {
  #signal = new AbortSignal(KEY);
  get signal() {
    return this.#signal;
  }
  abort(reason) {
    fire(this.#signal, reason);
  }
}

/** A promise that rejects when the signal fires, for `Promise.race`. */
export function aborted(signal) {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
