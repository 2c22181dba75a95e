// node:timers/promises.

import * as timers from "../../runtime/timers.js";

export function setTimeout(ms, value, options = {}) {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    if (signal?.aborted) return reject(signal.reason);
    const timer = timers.setTimeout(() => resolve(value), ms);
    signal?.addEventListener("abort", () => {
      timers.clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}
export const setImmediate = (value, options) => setTimeout(0, value, options);
export async function* setInterval(ms, value, options) {
  for (;;) {
    await setTimeout(ms, undefined, options);
    yield value;
  }
}
export const scheduler = { wait: (ms, options) => setTimeout(ms, undefined, options), yield: () => setTimeout(0) };
export default { setTimeout, setImmediate, setInterval, scheduler };
