// MessageChannel: two ports in one thread, which give each other copies, in turn and later.

import { structuredClone } from "./clone.js";
import { Event, EventTarget } from "./events.js";
import { setImmediate } from "./timers.js";

export class MessageEvent extends Event {
  constructor(type, { data = null, origin = "", lastEventId = "", source = null, ports = [] } = {}) {
    super(type);
    Object.assign(this, { data, origin, lastEventId, source, ports });
  }
}

const KEY = Symbol("port");

export class MessagePort extends EventTarget {
  #other;
  #waiting = [];
  #isOpen = false;
  #isClosed = false;
  #handler = null;
  /** What node:worker_threads calls them. */
  #listeners = new Map();
  constructor(key) {
    if (key !== KEY) throw new TypeError("Illegal constructor");
    super();
  }
  static join(one, other) {
    one.#other = other;
    other.#other = one;
  }
  postMessage(message) {
    const copy = structuredClone(message);
    const to = this.#other;
    if (this.#isClosed || to.#isClosed) return;
    to.#waiting.push(copy);
    to.#deliver();
  }
  #deliver() {
    if (!this.#isOpen) return;
    for (const data of this.#waiting.splice(0)) {
      setImmediate(() => {
        if (!this.#isClosed) this.dispatchEvent(new MessageEvent("message", { data }));
      });
    }
  }
  start() {
    this.#isOpen = true;
    this.#deliver();
  }
  close() {
    for (const port of [this, this.#other]) {
      if (port.#isClosed) continue;
      port.#isClosed = true;
      setImmediate(() => port.dispatchEvent(new Event("close")));
    }
  }
  get onmessage() {
    return this.#handler;
  }
  set onmessage(handler) {
    if (this.#handler) this.removeEventListener("message", this.#handler);
    this.#handler = typeof handler === "function" ? handler : null;
    if (!this.#handler) return;
    this.addEventListener("message", this.#handler);
    this.start();
  }
  on(name, listener) {
    return this.#hear(name, listener, {});
  }
  once(name, listener) {
    return this.#hear(name, listener, { once: true });
  }
  #hear(name, listener, options) {
    const heard = (event) => listener(event.data);
    this.#listeners.set(listener, heard);
    this.addEventListener(name, heard, options);
    if (name === "message") this.start();
    return this;
  }
  off(name, listener) {
    this.removeEventListener(name, this.#listeners.get(listener) ?? listener);
    return this;
  }
  ref() {}
  unref() {}
}

export class MessageChannel {
  port1 = new MessagePort(KEY);
  port2 = new MessagePort(KEY);
  constructor() {
    MessagePort.join(this.port1, this.port2);
  }
}
