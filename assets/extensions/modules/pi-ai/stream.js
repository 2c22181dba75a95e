// Event streams, and calls of a model through the host.
//
// The host owns providers, keys, prices and limits: a call names a model and hands over the
// conversation, and the events come back one by one on a channel.

import { action, closeChannel, openChannel } from "../../runtime/bridge.js";
import { plain } from "../../runtime/clone.js";

export class EventStream {
  #isComplete;
  #extract;
  #queue = [];
  #waiting = [];
  #done = false;
  #result;
  #resolve;
  constructor(isComplete, extractResult) {
    this.#isComplete = isComplete;
    this.#extract = extractResult;
    this.#result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }
  push(event) {
    if (this.#done) return;
    if (this.#isComplete(event)) {
      this.#done = true;
      this.#resolve(this.#extract(event));
    }
    const reader = this.#waiting.shift();
    if (reader) reader({ value: event, done: false });
    else this.#queue.push(event);
    if (this.#done) this.#release();
  }
  end(result) {
    if (!this.#done && result !== undefined) this.#resolve(result);
    this.#done = true;
    this.#release();
  }
  #release() {
    if (this.#queue.length > 0) return;
    for (const reader of this.#waiting.splice(0)) reader({ value: undefined, done: true });
  }
  async *[Symbol.asyncIterator]() {
    for (;;) {
      if (this.#queue.length > 0) {
        yield this.#queue.shift();
        continue;
      }
      if (this.#done) return;
      const { value, done } = await new Promise((resolve) => this.#waiting.push(resolve));
      if (done) return;
      yield value;
    }
  }
  result() {
    return this.#result;
  }
}

export class AssistantMessageEventStream extends EventStream {
  constructor() {
    super(
      (event) => event.type === "done" || event.type === "error",
      (event) => (event.type === "done" ? event.message : event.error),
    );
  }
}
export const createAssistantMessageEventStream = () => new AssistantMessageEventStream();

export const emptyUsage = () => ({
  input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
});

export function failedMessage(model, error, aborted = false) {
  return {
    role: "assistant", content: [], api: model?.api, provider: model?.provider, model: model?.id, usage: emptyUsage(),
    stopReason: aborted ? "aborted" : "error", errorMessage: String(error?.message ?? error), timestamp: Date.now(),
  };
}

/** Starts a call of a model. Problems arrive as an `error` event, never as a throw. */
export function stream(model, context, options = {}) {
  const events = new AssistantMessageEventStream();
  const { signal, apiKey, headers, onPayload, onResponse, ...rest } = options;
  const fail = (error) => {
    const message = failedMessage(model, error, signal?.aborted);
    events.push({ type: "error", reason: message.stopReason, error: message });
  };
  const channel = openChannel((event) => {
    if (event.type === "payload") onPayload?.(event.payload, model);
    else events.push(event);
  }, "model stream");
  const request = { model: plain(model), context: plain(context), options: plain(rest), apiKey, headers, channel };
  action("llm.stream", request, signal)
    .then((message) => {
      // A host that answers at once need not send events.
      if (message) events.push({ type: "done", reason: message.stopReason ?? "stop", message });
    }, fail)
    .finally(() => closeChannel(channel));
  return events;
}
export const streamSimple = stream;
export const complete = (model, context, options) => stream(model, context, options).result();
export const completeSimple = complete;

/** A stream function of one API: the same call, with the model marked as speaking that API. */
export const streamAs = (api) => (model, context, options) => stream({ ...model, api }, context, options);

