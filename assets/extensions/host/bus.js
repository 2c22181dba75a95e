// pi.events: one bus for all extensions of a session. Values pass by reference; a listener that throws
// is charged to the extension that added it, and the others still hear.

import { charge, isDisabled, onDisable, runAs } from "../runtime/bridge.js";

const listeners = new Map();

/** Numbers are names, too. */
const nameOf = (channel) => (typeof channel === "symbol" ? channel : String(channel));

export const bus = {
  emit(name, data) {
    const channel = nameOf(name);
    for (const { handler, owner } of [...(listeners.get(channel) ?? [])]) {
      if (isDisabled(owner)) continue;
      runAs(owner, () => {
        try {
          const result = handler(data);
          if (result && typeof result.then === "function") result.then(undefined, (error) => charge(owner, `bus:${channel}`, error));
        } catch (error) {
          charge(owner, `bus:${channel}`, error);
        }
      });
    }
  },
  on(name, handler, owner) {
    const channel = nameOf(name);
    if (typeof handler !== "function") throw new TypeError("pi.events.on needs a function");
    const entry = { handler, owner };
    listeners.set(channel, [...(listeners.get(channel) ?? []), entry]);
    return () => listeners.set(channel, (listeners.get(channel) ?? []).filter((item) => item !== entry));
  },
  /** Drops what an extension listens to; all of it without an owner. */
  clear(owner) {
    if (owner === undefined) listeners.clear();
    else for (const [channel, list] of listeners) listeners.set(channel, list.filter((item) => item.owner !== owner));
  },
};

onDisable((id) => bus.clear(id));

export function createEventBus() {
  const own = new Map();
  return {
    emit: (channel, data) => {
      for (const handler of [...(own.get(channel) ?? [])]) {
        try {
          const result = handler(data);
          if (result && typeof result.then === "function") result.then(undefined, (error) => charge(0, `bus:${channel}`, error));
        } catch (error) {
          charge(0, `bus:${channel}`, error);
        }
      }
    },
    on: (channel, handler) => {
      own.set(channel, [...(own.get(channel) ?? []), handler]);
      return () => own.set(channel, own.get(channel).filter((item) => item !== handler));
    },
    clear: () => own.clear(),
  };
}
