// node:events: EventEmitter, once, on.
//
// The listener table is a hidden field made on first use, because classes built with `util.inherits`
// and `EventEmitter.call(this)` never run a class constructor.

import { withStubs } from "../stubs.js";

const TABLE = Symbol("listeners");

function table(emitter) {
  if (!Object.hasOwn(emitter, TABLE)) Object.defineProperty(emitter, TABLE, { value: new Map(), configurable: true });
  return emitter[TABLE];
}

const MOST = new WeakMap();
export const errorMonitor = Symbol("events.errorMonitor");

export function EventEmitter() {}

function add(emitter, name, listener, once, first) {
  if (typeof listener !== "function") {
    const error = new TypeError('The "listener" argument must be of type function.');
    error.code = "ERR_INVALID_ARG_TYPE";
    throw error;
  }
  if (table(emitter).has("newListener")) emitter.emit("newListener", name, listener);
  const list = table(emitter).get(name) ?? [];
  const entry = { listener, once };
  table(emitter).set(name, first ? [entry, ...list] : [...list, entry]);
  return emitter;
}

const methods = {
  on(name, listener) {
    return add(this, name, listener, false, false);
  },
  once(name, listener) {
    return add(this, name, listener, true, false);
  },
  prependListener(name, listener) {
    return add(this, name, listener, false, true);
  },
  prependOnceListener(name, listener) {
    return add(this, name, listener, true, true);
  },
  off(name, listener) {
    const list = table(this).get(name) ?? [];
    const at = list.findLastIndex((entry) => entry.listener === listener);
    if (at < 0) return this;
    table(this).set(name, list.toSpliced(at, 1));
    if (name !== "removeListener" && (table(this).get("removeListener")?.length ?? 0) > 0) this.emit("removeListener", name, listener);
    return this;
  },
  removeAllListeners(name) {
    if (name === undefined) table(this).clear();
    else table(this).delete(name);
    return this;
  },
  emit(name, ...args) {
    const list = table(this).get(name) ?? [];
    if (name === "error") for (const { listener } of table(this).get(errorMonitor) ?? []) listener.apply(this, args);
    if (list.length === 0) {
      if (name !== "error") return false;
      throw args[0] instanceof Error ? args[0] : new Error(`Unhandled error. (${String(args[0])})`);
    }
    for (const entry of list) {
      if (entry.once) this.off(name, entry.listener);
      entry.listener.apply(this, args);
    }
    return true;
  },
  listeners(name) {
    return (table(this).get(name) ?? []).map((entry) => entry.listener);
  },
  rawListeners(name) {
    return this.listeners(name);
  },
  listenerCount(name) {
    return (table(this).get(name) ?? []).length;
  },
  eventNames() {
    return [...table(this)].filter(([, list]) => list.length > 0).map(([name]) => name);
  },
  setMaxListeners(most) {
    MOST.set(this, most);
    return this;
  },
  getMaxListeners() {
    return MOST.get(this) ?? EventEmitter.defaultMaxListeners;
  },
};
methods.addListener = methods.on;
methods.removeListener = methods.off;
for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(EventEmitter.prototype, name, { value, writable: true, enumerable: true, configurable: true });
}

export function once(emitter, name, options = {}) {
  return new Promise((resolve, reject) => {
    const done = (...args) => {
      emitter.off?.("error", fail);
      resolve(args);
    };
    const fail = (error) => {
      emitter.off(name, done);
      reject(error);
    };
    if (typeof emitter.once !== "function") {
      emitter.addEventListener(name, (event) => resolve([event]), { once: true });
      return;
    }
    emitter.once(name, done);
    if (name !== "error") emitter.once("error", fail);
    options.signal?.addEventListener("abort", () => fail(options.signal.reason), { once: true });
  });
}

export async function* on(emitter, name, options = {}) {
  const queue = [];
  let wake = () => {};
  let failure;
  const take = (...args) => {
    queue.push(args);
    wake();
  };
  const fail = (error) => {
    failure = { error };
    wake();
  };
  emitter.on(name, take);
  emitter.on("error", fail);
  options.signal?.addEventListener("abort", () => fail(options.signal.reason), { once: true });
  try {
    for (;;) {
      while (queue.length > 0) yield queue.shift();
      if (failure) throw failure.error;
      await new Promise((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    emitter.off(name, take);
    emitter.off("error", fail);
  }
}

export const defaultMaxListeners = 10;
export const captureRejectionSymbol = Symbol.for("nodejs.rejection");
export const listenerCount = (emitter, name) => emitter.listenerCount(name);
export const getEventListeners = (emitter, name) => emitter.listeners?.(name) ?? [];
export const setMaxListeners = () => {};
export const addAbortListener = (signal, listener) => signal.addEventListener("abort", listener, { once: true });
export const EventEmitterAsyncResource = EventEmitter;

Object.assign(EventEmitter, {
  EventEmitter, once, on, defaultMaxListeners, errorMonitor, captureRejectionSymbol, listenerCount, getEventListeners, setMaxListeners, addAbortListener,
});
// Names of the real module that are not implemented.
export const {
  captureRejections, getMaxListeners, init, usingDomains,
} = withStubs("node:events");
export default EventEmitter;
