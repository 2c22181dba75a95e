// node:diagnostics_channel: channels by name, and what is published on them.

const channels = new Map();

export class Channel {
  #listeners = new Set();
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() {
    return this.#listeners.size > 0;
  }
  subscribe(listener) {
    this.#listeners.add(listener);
  }
  unsubscribe(listener) {
    return this.#listeners.delete(listener);
  }
  publish(message) {
    for (const listener of [...this.#listeners]) listener(message, this.name);
  }
  bindStore() {}
  unbindStore() {
    return false;
  }
  runStores(message, work, self, ...args) {
    this.publish(message);
    return work.apply(self, args);
  }
}

export function channel(name) {
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}
export const hasSubscribers = (name) => channels.get(name)?.hasSubscribers ?? false;
export const subscribe = (name, listener) => channel(name).subscribe(listener);
export const unsubscribe = (name, listener) => channel(name).unsubscribe(listener);

const PARTS = ["start", "end", "asyncStart", "asyncEnd", "error"];
export function tracingChannel(name) {
  const made = Object.fromEntries(PARTS.map((part) => [part, typeof name === "string" ? channel(`tracing:${name}:${part}`) : name[part]]));
  const failed = (context, error) => {
    made.error.publish(Object.assign(context, { error }));
    throw error;
  };
  return {
    ...made,
    get hasSubscribers() {
      return PARTS.some((part) => made[part].hasSubscribers);
    },
    subscribe: (listeners) => PARTS.forEach((part) => listeners[part] && made[part].subscribe(listeners[part])),
    unsubscribe: (listeners) => PARTS.every((part) => !listeners[part] || made[part].unsubscribe(listeners[part])),
    traceSync(work, context = {}, self, ...args) {
      made.start.publish(context);
      try {
        context.result = work.apply(self, args);
        return context.result;
      } catch (error) {
        return failed(context, error);
      } finally {
        made.end.publish(context);
      }
    },
    tracePromise(work, context = {}, self, ...args) {
      made.start.publish(context);
      const promise = Promise.resolve().then(() => work.apply(self, args));
      made.end.publish(context);
      return promise.then((result) => {
        context.result = result;
        made.asyncStart.publish(context);
        made.asyncEnd.publish(context);
        return result;
      }, (error) => failed(context, error));
    },
    traceCallback: (work, _position, _context, self, ...args) => work.apply(self, args),
  };
}
export default { Channel, channel, hasSubscribers, subscribe, unsubscribe, tracingChannel };
