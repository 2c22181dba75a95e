// createAgentSession: an agent with tools that an extension runs beside its thread.
//
// Its model is called within the thread's budget and logged there; its built-in tools do what the thread may do without a question
// and what its guards let through. Calls of other tools are offered to the guards of the extensions that are loaded.

import { dispatch } from "../../host/dispatch.js";
import { modelRegistry } from "../../host/models.js";
import { extensions as loaded } from "../../host/registry.js";
import { ask, currentOwner, report } from "../../runtime/bridge.js";
import { unsupported } from "../../runtime/errors.js";
import { randomUUID } from "../../runtime/crypto.js";
import { Agent } from "../pi-agent-core/agent.js";
import { stream } from "../pi-ai/stream.js";
import { access, readFile } from "../node/fs_promises.js";
import { AgentExtensions } from "./agent_extensions.js";
import { convertToLlm } from "./messages.js";
import { formatSkillsForPrompt } from "./skills.js";
import { DefaultResourceLoader, ModelRegistry, SettingsManager } from "./services.js";
import { SessionManager } from "./session.js";
import { createBashTool, createEditTool, createFindTool, createGrepTool, createLsTool, createReadTool, createWriteTool, hostTool } from "./tools.js";

const USUAL = ["read", "bash", "edit", "write"];
const MAKERS = { read: createReadTool, bash: createBashTool, write: createWriteTool, grep: createGrepTool, find: createFindTool, ls: createLsTool };

/** The built-in tools. Their calls have names of their own, so that none counts as one of the thread's. */
function builtIn(cwd) {
  const renamed = (tool) => ({ ...tool, isHosts: true, execute: (callId, ...rest) => tool.execute(`agent-${randomUUID()}`, ...rest) });
  const made = Object.entries(MAKERS).map(([name, make]) => [name, renamed(make(cwd))]);
  // What is edited is written by the host's own tool, which knows what the thread may write.
  const writeFile = (path, content) => hostTool("write", cwd, `agent-${randomUUID()}`, { path, content: String(content) });
  return new Map([...made, ["edit", { ...createEditTool(cwd, { operations: { access, readFile, writeFile } }), isHosts: false }]]);
}

const textOf = (content) => (typeof content === "string" ? content : content.filter(({ type }) => type === "text").map(({ text }) => text).join(""));

function usualPrompt(tools, cwd) {
  const rows = tools.map((tool) => `- ${tool.name}: ${tool.promptSnippet ?? String(tool.description ?? "").split("\n")[0]}`);
  const rules = [...new Set(tools.flatMap((tool) => tool.promptGuidelines ?? []))].map((rule) => `- ${rule}`);
  return ["You are a coding agent. You do the task that you are given with the tools below, and answer with what came of it.", rows.length > 0 ? `Tools:\n${rows.join("\n")}` : "", rules.length > 0 ? `Rules:\n${rules.join("\n")}` : ""]
    .filter(Boolean).join("\n\n");
}

export class AgentSession {
  #listeners = new Set();
  #loader;
  #extensions;
  #all = new Map();
  #active;
  #allowed;
  #custom;
  #base;
  #prompt = "";
  #turn = 0;
  #next = [];
  #undo;
  constructor(config) {
    const { agent, sessionManager, settingsManager, cwd, resourceLoader, extensions, modelRegistry: registry, scopedModels = [] } = config;
    Object.assign(this, { agent, sessionManager, settingsManager, cwd, modelRegistry: registry, scopedModels });
    this.#loader = resourceLoader;
    this.#extensions = extensions;
    this.#custom = config.customTools ?? [];
    this.#base = config.baseTools;
    this.#allowed = config.allowed;
    this.#active = config.active;
    extensions.bind(this);
    agent.beforeToolCall = (asked) => this.#guard(asked);
    agent.afterToolCall = (came) => this.#after(came);
    agent.transformContext = async (messages) => (extensions.hasHandlers("context") ? (await extensions.emit({ type: "context", messages: structuredClone(messages) })).messages : messages);
    this.#undo = agent.subscribe((event) => this.#happened(event));
    this.refreshTools();
  }
  /** Tools of its extensions may have come. */
  refreshTools() {
    const wrapped = (tool) => ({ ...tool, label: tool.label ?? tool.name, execute: (callId, params, signal, onUpdate) => tool.execute(callId, params, signal, onUpdate, this.#extensions.context()) });
    const own = [...this.#extensions.tools().map(({ tool }) => tool), ...this.#custom];
    const before = this.#all;
    this.#all = new Map([...this.#base, ...own.map((tool) => [tool.name, wrapped(tool)])].filter(([name]) => this.#allowed(name)));
    // Those that were put out of use stay so.
    const names = new Set([...this.#active, ...own.map(({ name }) => name).filter((name) => !before.has(name))]);
    this.setActiveToolsByName([...this.#all.keys()].filter((name) => names.has(name)));
  }
  #basePrompt() {
    const said = this.#loader.getSystemPrompt() ?? usualPrompt(this.agent.state.tools, this.cwd);
    const files = this.#loader.getAgentsFiles().agentsFiles.map(({ path, content }) => `## ${path}\n\n${content}`);
    const skills = this.#all.has("read") ? formatSkillsForPrompt(this.#loader.getSkills().skills) : "";
    const around = `Current date: ${new Date().toISOString().slice(0, 10)}\nCurrent working directory: ${this.cwd}`;
    return [said, ...this.#loader.getAppendSystemPrompt(), files.length > 0 ? `# Project context\n\n${files.join("\n\n")}` : "", skills.trim(), around].filter(Boolean).join("\n\n");
  }
  /**
   * The guards of the thread's extensions, then those of the session. A guard that fails blocks, and so does one that is switched off.
   * The host asks all guards of the thread about its own tools.
   */
  async #guard({ toolCall, args }) {
    const event = { toolName: toolCall.name, toolCallId: toolCall.id, input: structuredClone(args) };
    const off = [...loaded.values()].find(({ disabled, handlers }) => disabled && handlers.some((handler) => handler.event === "tool_call"));
    if (off) return { block: true, reason: `the extension ${off.path} is switched off, which guards calls` };
    const isHosts = this.#base.get(toolCall.name)?.isHosts === true && this.#all.get(toolCall.name) === this.#base.get(toolCall.name);
    const { outcome, records } = isHosts ? { outcome: undefined, records: [] } : await dispatch("tool_call", event, { mode: "print", hasUI: false, cwd: this.cwd });
    for (const { path, error } of records) if (error) report(currentOwner(), "tool_call", new Error(error.message), { path });
    const own = outcome?.block ? outcome : this.#extensions.hasHandlers("tool_call") ? await this.#extensions.emit({ type: "tool_call", ...event, input: outcome?.input ?? event.input }) : outcome;
    if (own?.block) return { block: true, reason: own.reason };
    // The arguments are those that will be run.
    const input = own?.input ?? event.input;
    for (const name of Object.keys(args)) if (!(name in input)) delete args[name];
    Object.assign(args, input);
    return undefined;
  }
  async #after({ toolCall, args, result, isError }) {
    if (!this.#extensions.hasHandlers("tool_result")) return undefined;
    return this.#extensions.emit({ type: "tool_result", toolName: toolCall.name, toolCallId: toolCall.id, input: args, content: result.content, details: result.details, isError });
  }
  async #happened(event) {
    if (event.type === "turn_start") this.#turn += 1;
    if (event.type === "message_end") this.#keep(event.message);
    if (event.type !== "context" && this.#extensions.hasHandlers(event.type)) await this.#extensions.emit({ turnIndex: Math.max(0, this.#turn - 1), timestamp: Date.now(), ...event });
    this.#say(event);
  }
  #keep(message) {
    if (message.role === "custom") this.sessionManager.appendCustomMessageEntry(message.customType, message.content, message.display, message.details);
    else this.sessionManager.appendMessage(message);
  }
  #say(event) {
    for (const listener of this.#listeners) listener(event);
  }
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get state() {
    return this.agent.state;
  }
  get model() {
    return this.agent.state.model;
  }
  get thinkingLevel() {
    return this.agent.state.thinkingLevel;
  }
  get isStreaming() {
    return this.agent.state.isStreaming;
  }
  get messages() {
    return this.agent.state.messages;
  }
  get systemPrompt() {
    return this.agent.state.systemPrompt;
  }
  get sessionId() {
    return this.sessionManager.getSessionId();
  }
  get sessionFile() {
    return this.sessionManager.getSessionFile();
  }
  get sessionName() {
    return this.sessionManager.getSessionName();
  }
  get resourceLoader() {
    return this.#loader;
  }
  get extensionRunner() {
    return this.#extensions;
  }
  get promptTemplates() {
    return [];
  }
  get isCompacting() {
    return false;
  }
  get isRetrying() {
    return false;
  }
  get pendingMessageCount() {
    return this.#queued.steering.length + this.#queued.followUp.length;
  }
  hasExtensionHandlers(event) {
    return this.#extensions.hasHandlers(event);
  }

  getActiveToolNames() {
    return this.agent.state.tools.map(({ name }) => name);
  }
  getAllTools() {
    return [...this.#all.values()].map(({ name, description, parameters }) => ({ name, description, parameters }));
  }
  getToolDefinition(name) {
    return this.#all.get(name);
  }
  setActiveToolsByName(names) {
    this.#active = [...names];
    this.agent.state.tools = this.#active.map((name) => this.#all.get(name)).filter(Boolean);
    this.#prompt = this.#basePrompt();
    this.agent.state.systemPrompt = this.#prompt;
  }
  setScopedModels(models) {
    this.scopedModels = models;
  }
  async setModel(model) {
    this.agent.state.model = model;
    this.sessionManager.appendModelChange(model.provider, model.id);
  }
  setThinkingLevel(level) {
    this.agent.state.thinkingLevel = level;
    this.sessionManager.appendThinkingLevelChange(level);
    this.#say({ type: "thinking_level_changed", level });
  }
  getAvailableThinkingLevels() {
    return this.supportsThinking() ? ["off", "minimal", "low", "medium", "high"] : ["off"];
  }
  supportsThinking() {
    return Boolean(this.model?.reasoning);
  }
  setSessionName(name) {
    this.sessionManager.appendSessionInfo(name);
    this.#say({ type: "session_info_changed", name });
  }
  get steeringMode() {
    return this.agent.steeringMode;
  }
  get followUpMode() {
    return this.agent.followUpMode;
  }
  setSteeringMode(mode) {
    this.agent.steeringMode = mode;
  }
  setFollowUpMode(mode) {
    this.agent.followUpMode = mode;
  }
  get autoCompactionEnabled() {
    return false;
  }
  setAutoCompactionEnabled() {}
  get autoRetryEnabled() {
    return false;
  }
  setAutoRetryEnabled() {}
  abortRetry() {}
  abortCompaction() {}
  abortBash() {}
  async compact() {
    throw unsupported("AgentSession.compact");
  }

  /** Resolves when the answer is whole, an error of the model included; that is in the last message. */
  async prompt(text, { images = [], streamingBehavior, source = "extension", preflightResult } = {}) {
    if (this.isStreaming) {
      if (!streamingBehavior) throw new Error("Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.");
      preflightResult?.(true);
      return streamingBehavior === "steer" ? this.steer(text, images) : this.followUp(text, images);
    }
    let said = text;
    let shown = images;
    if (this.#extensions.hasHandlers("input")) {
      const made = await this.#extensions.emit({ type: "input", text, images, source });
      if (made.action === "handled") return preflightResult?.(true);
      if (made.action === "transform") [said, shown] = [made.text, made.images ?? images];
    }
    if (!this.model || this.model.id === "unknown") {
      preflightResult?.(false);
      throw new Error("No model selected");
    }
    preflightResult?.(true);
    const messages = [{ role: "user", content: [{ type: "text", text: said }, ...(shown ?? [])], timestamp: Date.now() }, ...this.#next.splice(0)];
    this.agent.state.systemPrompt = this.#prompt;
    if (this.#extensions.hasHandlers("before_agent_start")) {
      const made = await this.#extensions.emit({ type: "before_agent_start", prompt: said, images: shown, systemPrompt: this.#prompt, systemPromptOptions: { cwd: this.cwd } });
      if (made?.systemPrompt !== undefined) this.agent.state.systemPrompt = made.systemPrompt;
      messages.push(...(made?.messages ?? []).map((message) => this.#customMessage(message)));
    }
    await this.agent.prompt(messages);
  }
  #customMessage({ customType, content, display, details }) {
    return { role: "custom", customType, content, display: Boolean(display), details, timestamp: Date.now() };
  }
  #queued = { steering: [], followUp: [] };
  #queue(kind, text, images) {
    this.#queued[kind].push(text);
    const message = { role: "user", content: [{ type: "text", text }, ...(images ?? [])], timestamp: Date.now() };
    if (kind === "steering") this.agent.steer(message);
    else this.agent.followUp(message);
    this.#say({ type: "queue_update", ...structuredClone(this.#queued) });
    const off = this.agent.subscribe((event) => {
      if (event.type !== "message_start" || event.message !== message) return;
      off();
      this.#queued[kind].splice(this.#queued[kind].indexOf(text), 1);
      this.#say({ type: "queue_update", ...structuredClone(this.#queued) });
    });
  }
  async steer(text, images) {
    this.#queue("steering", text, images);
  }
  async followUp(text, images) {
    this.#queue("followUp", text, images);
  }
  getSteeringMessages() {
    return [...this.#queued.steering];
  }
  getFollowUpMessages() {
    return [...this.#queued.followUp];
  }
  clearQueue() {
    const { steering, followUp } = this.#queued;
    this.#queued = { steering: [], followUp: [] };
    this.agent.clearAllQueues();
    return { steering, followUp };
  }
  async sendCustomMessage(message, { triggerTurn, deliverAs } = {}) {
    const said = this.#customMessage(message);
    if (deliverAs === "nextTurn") this.#next.push(said);
    else if (this.isStreaming) deliverAs === "followUp" ? this.agent.followUp(said) : this.agent.steer(said);
    else if (triggerTurn) await this.agent.prompt(said);
    else {
      this.agent.state.messages.push(said);
      this.#keep(said);
    }
  }
  async sendUserMessage(content, { deliverAs } = {}) {
    const text = textOf(content);
    const images = typeof content === "string" ? [] : content.filter(({ type }) => type === "image");
    await this.prompt(text, { images, streamingBehavior: deliverAs ?? "steer" });
  }
  async abort() {
    this.agent.abort();
    await this.agent.waitForIdle();
  }
  async bindExtensions({ onError } = {}) {
    if (onError) this.#extensions.onError(onError);
    if (this.#extensions.hasHandlers("session_start")) await this.#extensions.emit({ type: "session_start", reason: "startup" });
  }
  async reload() {
    await this.#loader.reload();
  }
  dispose() {
    this.#undo?.();
    this.agent.abort();
    this.#listeners.clear();
  }

  getLastAssistantText() {
    const last = this.messages.findLast(({ role, stopReason, content }) => role === "assistant" && !(stopReason === "aborted" && content.length === 0));
    return (last && textOf(last.content).trim()) || undefined;
  }
  getContextUsage() {
    const last = this.messages.findLast(({ role, usage }) => role === "assistant" && usage)?.usage;
    const contextWindow = this.model?.contextWindow ?? 0;
    if (!last || contextWindow === 0) return undefined;
    const tokens = last.totalTokens || last.input + last.output + last.cacheRead + last.cacheWrite;
    return { tokens, contextWindow, percent: (tokens / contextWindow) * 100 };
  }
  getSessionStats() {
    const of = (role) => this.messages.filter((message) => message.role === role);
    const answers = of("assistant");
    const sum = (field) => answers.reduce((all, { usage }) => all + (usage?.[field] ?? 0), 0);
    const tokens = { input: sum("input"), output: sum("output"), cacheRead: sum("cacheRead"), cacheWrite: sum("cacheWrite") };
    return {
      sessionFile: this.sessionFile, sessionId: this.sessionId, userMessages: of("user").length, assistantMessages: answers.length,
      toolCalls: answers.reduce((all, { content }) => all + content.filter(({ type }) => type === "toolCall").length, 0), toolResults: of("toolResult").length, totalMessages: this.messages.length,
      tokens: { ...tokens, total: tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite }, cost: answers.reduce((all, { usage }) => all + (usage?.cost?.total ?? 0), 0), contextUsage: this.getContextUsage(),
    };
  }
}

/** Only what crosses to the host of a tool. */
const asSpec = ({ name, description, parameters }) => ({ name, description, parameters });

export async function createAgentSession(options = {}) {
  const cwd = options.cwd ?? options.sessionManager?.getCwd() ?? globalThis.process.cwd();
  const settingsManager = options.settingsManager ?? SettingsManager.create(cwd, options.agentDir);
  const sessionManager = options.sessionManager ?? SessionManager.inMemory(cwd);
  let resourceLoader = options.resourceLoader;
  if (!resourceLoader) {
    resourceLoader = new DefaultResourceLoader({ cwd, agentDir: options.agentDir, settingsManager });
    await resourceLoader.reload();
  }
  const extensions = (await resourceLoader.agentExtensions?.()) ?? (await AgentExtensions.load([]));
  const before = sessionManager.buildSessionContext();
  const model = options.model ?? (before.model && modelRegistry.find(before.model.provider, before.model.modelId)) ?? ask("model.current") ?? undefined;
  const thinkingLevel = options.thinkingLevel ?? (before.messages.length > 0 ? before.thinkingLevel : settingsManager.getDefaultThinkingLevel()) ?? "off";
  const agent = new Agent({
    initialState: { model, thinkingLevel, messages: before.messages },
    convertToLlm,
    sessionId: sessionManager.getSessionId(),
    steeringMode: settingsManager.getSteeringMode(),
    followUpMode: settingsManager.getFollowUpMode(),
    streamFn: (asked, context, { reasoning, maxTokens, temperature, signal }) => stream(asked, { ...context, tools: context.tools?.map(asSpec) }, { reasoning, maxTokens, temperature, signal }),
  });
  // Older versions give the tools themselves, newer ones names that are allowed, of all kinds.
  const given = (options.tools ?? []).filter((tool) => typeof tool === "object");
  const names = options.tools?.filter((tool) => typeof tool === "string");
  const named = names?.length > 0 || (options.tools && given.length === 0) ? names : undefined;
  const baseTools = options.noTools ? new Map() : builtIn(cwd);
  for (const tool of given) if (!Object.hasOwn(MAKERS, tool.name) && tool.name !== "edit") baseTools.set(tool.name, tool);
  const without = new Set(options.excludeTools ?? []);
  const allowed = (name) => options.noTools !== "all" && !without.has(name) && (named?.includes(name) ?? true);
  const active = given.length > 0 ? given.map(({ name }) => name) : (named ?? USUAL);
  const session = new AgentSession({
    agent, sessionManager, settingsManager, cwd, resourceLoader, extensions, modelRegistry: options.modelRegistry ?? options.modelRuntime ?? ModelRegistry.create(),
    scopedModels: options.scopedModels, customTools: options.customTools, baseTools, allowed, active,
  });
  const modelFallbackMessage = model ? undefined : "No models available.";
  return { session, extensionsResult: resourceLoader.getExtensions?.() ?? { extensions: [], errors: [], runtime: {} }, modelFallbackMessage };
}
