// Agent: a conversation with its model, tools and queues, and whoever listens to it.

import { signalsOf } from "../../host/signals.js";
import { currentOwner } from "../../runtime/bridge.js";
import { emptyUsage, stream } from "../pi-ai/stream.js";
import { runAgentLoop, runAgentLoopContinue } from "./loop.js";

const NO_MODEL = Object.freeze({
  id: "unknown", name: "unknown", api: "unknown", provider: "unknown", baseUrl: "", reasoning: false, input: [],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 0, maxTokens: 0,
});

const forModel = (messages) => messages.filter(({ role }) => ["user", "assistant", "toolResult"].includes(role));

/** What is said later: one message at a time, or all that wait. */
class Queue {
  #messages = [];
  constructor(mode) {
    this.mode = mode;
  }
  get length() {
    return this.#messages.length;
  }
  add(message) {
    this.#messages.push(message);
  }
  take() {
    return this.#messages.splice(0, this.mode === "all" ? this.#messages.length : 1);
  }
  clear() {
    this.#messages = [];
  }
}

/** Lists that are given are copied, so that nobody changes them from outside. */
function stateOf(initial = {}) {
  let tools = [...(initial.tools ?? [])];
  let messages = [...(initial.messages ?? [])];
  return {
    systemPrompt: initial.systemPrompt ?? "", model: initial.model ?? NO_MODEL, thinkingLevel: initial.thinkingLevel ?? "off",
    get tools() {
      return tools;
    },
    set tools(next) {
      tools = [...next];
    },
    get messages() {
      return messages;
    },
    set messages(next) {
      messages = [...next];
    },
    isStreaming: false, streamingMessage: undefined, pendingToolCalls: new Set(), errorMessage: undefined,
  };
}

const SETTINGS = ["transformContext", "getApiKey", "onPayload", "onResponse", "beforeToolCall", "afterToolCall", "sessionId", "thinkingBudgets", "maxRetryDelayMs"];

export class Agent {
  #state;
  #listeners = new Set();
  #steering;
  #followUps;
  #run;
  constructor(options = {}) {
    this.#state = stateOf(options.initialState);
    for (const name of SETTINGS) this[name] = options[name];
    this.convertToLlm = options.convertToLlm ?? forModel;
    this.streamFn = options.streamFn ?? stream;
    this.transport = options.transport ?? "auto";
    this.toolExecution = options.toolExecution ?? "parallel";
    this.#steering = new Queue(options.steeringMode ?? "one-at-a-time");
    this.#followUps = new Queue(options.followUpMode ?? "one-at-a-time");
  }
  get state() {
    return this.#state;
  }
  get steeringMode() {
    return this.#steering.mode;
  }
  set steeringMode(mode) {
    this.#steering.mode = mode;
  }
  get followUpMode() {
    return this.#followUps.mode;
  }
  set followUpMode(mode) {
    this.#followUps.mode = mode;
  }
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  // Older versions set these by methods.
  setSystemPrompt(text) {
    this.#state.systemPrompt = text;
  }
  setModel(model) {
    this.#state.model = model;
  }
  setThinkingLevel(level) {
    this.#state.thinkingLevel = level;
  }
  setTools(tools) {
    this.#state.tools = tools;
  }
  replaceMessages(messages) {
    this.#state.messages = messages;
  }
  appendMessage(message) {
    this.#state.messages.push(message);
  }
  clearMessages() {
    this.#state.messages = [];
  }
  setSteeringMode(mode) {
    this.steeringMode = mode;
  }
  getSteeringMode() {
    return this.steeringMode;
  }
  setFollowUpMode(mode) {
    this.followUpMode = mode;
  }
  getFollowUpMode() {
    return this.followUpMode;
  }

  steer(message) {
    this.#steering.add(message);
  }
  followUp(message) {
    this.#followUps.add(message);
  }
  clearSteeringQueue() {
    this.#steering.clear();
  }
  clearFollowUpQueue() {
    this.#followUps.clear();
  }
  clearAllQueues() {
    this.#steering.clear();
    this.#followUps.clear();
  }
  hasQueuedMessages() {
    return this.#steering.length + this.#followUps.length > 0;
  }
  get signal() {
    return this.#run?.stop.signal;
  }
  abort() {
    this.#run?.stop.abort();
  }
  waitForIdle() {
    return this.#run?.over ?? Promise.resolve();
  }
  reset() {
    Object.assign(this.#state, { messages: [], isStreaming: false, streamingMessage: undefined, pendingToolCalls: new Set(), errorMessage: undefined });
    this.clearAllQueues();
  }

  async prompt(input, images = []) {
    if (this.#run) throw new Error("Agent is already processing a prompt. Use steer() or followUp() to queue messages, or wait for completion.");
    const said = typeof input === "string" ? [{ role: "user", content: [{ type: "text", text: input }, ...images], timestamp: Date.now() }] : [].concat(input);
    await this.#say(said);
  }
  async continue() {
    if (this.#run) throw new Error("Agent is already processing. Wait for completion before continuing.");
    const last = this.#state.messages.at(-1);
    if (!last) throw new Error("No messages to continue from");
    if (last.role !== "assistant") return this.#work((signal) => runAgentLoopContinue(this.#context(), this.#config(), (event) => this.#tell(event), signal, this.streamFn));
    const steering = this.#steering.take();
    if (steering.length > 0) return this.#say(steering, true);
    const followUps = this.#followUps.take();
    if (followUps.length > 0) return this.#say(followUps);
    throw new Error("Cannot continue from message role: assistant");
  }
  #say(messages, areSteering = false) {
    return this.#work((signal) => runAgentLoop(messages, this.#context(), this.#config(areSteering), (event) => this.#tell(event), signal, this.streamFn));
  }
  #context() {
    const { systemPrompt, messages, tools } = this.#state;
    return { systemPrompt, messages: [...messages], tools: [...tools] };
  }
  /** `skips`: the first look for what steers finds nothing, as that is being said. */
  #config(skips = false) {
    const { model, thinkingLevel } = this.#state;
    const settings = Object.fromEntries(SETTINGS.map((name) => [name, this[name]]));
    return {
      ...settings, model, reasoning: thinkingLevel === "off" ? undefined : thinkingLevel, transport: this.transport, toolExecution: this.toolExecution, convertToLlm: this.convertToLlm,
      getSteeringMessages: async () => {
        if (!skips) return this.#steering.take();
        skips = false;
        return [];
      },
      getFollowUpMessages: async () => this.#followUps.take(),
    };
  }
  async #work(work) {
    const stop = new AbortController();
    let isOver;
    this.#run = { stop, over: new Promise((resolve) => (isOver = resolve)) };
    Object.assign(this.#state, { isStreaming: true, streamingMessage: undefined, errorMessage: undefined });
    // A call that is given up takes along what it began.
    const outer = signalsOf(currentOwner());
    const abort = () => stop.abort();
    for (const signal of outer) signal.aborted ? abort() : signal.addEventListener("abort", abort, { once: true });
    try {
      await work(stop.signal);
    } catch (problem) {
      await this.#failed(problem, stop.signal.aborted);
    } finally {
      for (const signal of outer) signal.removeEventListener("abort", abort);
      Object.assign(this.#state, { isStreaming: false, streamingMessage: undefined, pendingToolCalls: new Set() });
      this.#run = undefined;
      isOver();
    }
  }
  async #failed(problem, aborted) {
    const { model } = this.#state;
    const errorMessage = problem instanceof Error ? problem.message : String(problem);
    const message = {
      role: "assistant", content: [{ type: "text", text: "" }], api: model.api, provider: model.provider, model: model.id, usage: emptyUsage(),
      stopReason: aborted ? "aborted" : "error", errorMessage, timestamp: Date.now(),
    };
    this.#state.messages.push(message);
    this.#state.errorMessage = errorMessage;
    await this.#tell({ type: "agent_end", messages: [message] });
  }
  async #tell(event) {
    const state = this.#state;
    switch (event.type) {
      case "message_start": case "message_update": state.streamingMessage = event.message; break;
      case "message_end":
        state.streamingMessage = undefined;
        state.messages.push(event.message);
        break;
      case "tool_execution_start": state.pendingToolCalls = new Set([...state.pendingToolCalls, event.toolCallId]); break;
      case "tool_execution_end": state.pendingToolCalls = new Set([...state.pendingToolCalls].filter((id) => id !== event.toolCallId)); break;
      case "turn_end": state.errorMessage = event.message.errorMessage ?? state.errorMessage; break;
      case "agent_end": state.streamingMessage = undefined; break;
    }
    const { signal } = this.#run.stop;
    for (const listener of this.#listeners) await listener(event, signal);
  }
}
