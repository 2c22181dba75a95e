// setTimeout, setInterval, setImmediate and their clear functions.
//
// The host only knows one-shot timers; an interval is one that is armed again after each call. A
// callback that throws is charged to the extension that started it, and the interval goes on until
// the extension is switched off.

import { closeChannel, host, onDisable, openChannel, currentOwner } from "./bridge.js";

const running = new Map();

/** What Node returns in place of a number. It also works as one. */
class Timer {
  constructor(channel, delay, repeat) {
    this.channel = channel;
    this.delay = delay;
    this.repeat = repeat;
    this.owner = currentOwner();
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
  refresh() {
    if (running.has(this.channel)) {
      host.timerStop(this.channel);
      host.timerStart(this.channel, this.delay);
    }
    return this;
  }
  close() {
    clear(this);
    return this;
  }
  [Symbol.toPrimitive]() {
    return this.channel;
  }
}

function start(callback, delay, repeat, args) {
  if (typeof callback !== "function") {
    const error = new TypeError('The "callback" argument must be of type function.');
    error.code = "ERR_INVALID_ARG_TYPE";
    throw error;
  }
  let wait = Number(delay);
  if (!(wait >= 0)) wait = 0;
  if (wait > 2147483647) wait = 1;
  if (repeat && wait < 1) wait = 1;
  const channel = openChannel(() => {
    if (repeat) host.timerStart(channel, wait);
    else {
      running.delete(channel);
      closeChannel(channel);
    }
    return callback(...args);
  }, "timer");
  const timer = new Timer(channel, wait, repeat);
  running.set(channel, timer);
  host.timerStart(channel, wait);
  return timer;
}

function clear(timer) {
  if (timer === undefined || timer === null) return;
  const channel = Number(timer);
  if (!running.delete(channel)) return;
  closeChannel(channel);
  host.timerStop(channel);
}

export const setTimeout = (callback, delay, ...args) => start(callback, delay, false, args);
export const setInterval = (callback, delay, ...args) => start(callback, delay, true, args);
export const setImmediate = (callback, ...args) => start(callback, 0, false, args);
export const clearTimeout = (timer) => clear(timer);
export const clearInterval = clearTimeout;
export const clearImmediate = clearTimeout;

onDisable((id) => {
  for (const timer of [...running.values()]) if (timer.owner === id) clear(timer);
});
