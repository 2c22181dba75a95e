// Extensions that were made for one agent session alone: functions that get a `pi` of their own.
//
// Their handlers are merged by the rules of all events. Files of extensions are not loaded for such a session; those of the
// thread guard its calls all the same (agent_session.js).

import { createEventBus } from "../../host/bus.js";
import { ruleFor } from "../../host/merge.js";
import { runCommand } from "../../host/api.js";
import { isProjectTrusted } from "../../host/context.js";
import { describeError } from "../../runtime/bridge.js";
import { unsupported } from "../../runtime/errors.js";

/** Answers every question as where nobody is; all else is shown to nobody. */
const answers = { confirm: async () => false, then: undefined };
for (const name of ["select", "input", "editor", "custom"]) answers[name] = async () => undefined;
const nobody = new Proxy(answers, { get: (own, name) => (Object.hasOwn(own, name) ? own[name] : () => undefined) });

export class AgentExtensions {
  #all = [];
  #session;
  #errors = new Set();
  /** Runs the functions; what goes wrong is kept in `errors`. */
  static async load(factories) {
    const made = new AgentExtensions();
    for (const [i, given] of factories.entries()) {
      const factory = typeof given === "function" ? given : given.factory;
      const path = `<inline:${given.name && typeof given !== "function" ? given.name : i + 1}>`;
      const extension = { path, resolvedPath: path, handlers: new Map(), tools: new Map(), commands: new Map(), flags: new Map(), shortcuts: new Map(), messageRenderers: new Map() };
      try {
        await factory(made.#api(extension));
        made.#all.push(extension);
      } catch (error) {
        made.loadErrors.push({ path, error: describeError(error).message });
      }
    }
    return made;
  }
  loadErrors = [];
  get extensions() {
    return [...this.#all];
  }
  /** The same in another order, or fewer. */
  narrow(extensions) {
    this.#all = this.#all.filter((one) => extensions.includes(one)).sort((a, b) => extensions.indexOf(a) - extensions.indexOf(b));
  }
  bind(session) {
    this.#session = session;
  }
  onError(listener) {
    this.#errors.add(listener);
    return () => this.#errors.delete(listener);
  }
  tools() {
    return this.#all.flatMap(({ path, tools }) => [...tools.values()].map((tool) => ({ tool, path })));
  }
  hasHandlers(event) {
    return this.#all.some(({ handlers }) => handlers.has(event));
  }
  /** Asks each handler in turn: the outcome by the rules of the event. One that throws blocks a call, else it is reported. */
  async emit({ type, ...payload }) {
    const rule = ruleFor(type);
    const state = rule.start({ type, ...payload });
    for (const { path, handlers } of this.#all) {
      for (const handler of handlers.get(type) ?? []) {
        let stop = false;
        try {
          stop = rule.take(state, await handler(rule.event(state), this.context()), path);
        } catch (error) {
          for (const listener of this.#errors) listener({ extensionPath: path, event: type, error: describeError(error).message });
          stop = Boolean(rule.failed?.(state, describeError(error).message));
        }
        if (stop) return rule.end(state);
      }
    }
    return rule.end(state);
  }
  context() {
    const session = this.#session;
    return {
      ui: nobody, mode: "print", hasUI: false, cwd: session.cwd, sessionManager: session.sessionManager, modelRegistry: session.modelRegistry, scopedModels: [],
      get model() {
        return session.model;
      },
      get signal() {
        return session.agent.signal;
      },
      isIdle: () => !session.isStreaming, abort: () => void session.abort(), hasPendingMessages: () => session.pendingMessageCount > 0, shutdown() {}, isProjectTrusted,
      getContextUsage: () => session.getContextUsage(), getSystemPrompt: () => session.systemPrompt, getSystemPromptOptions: () => ({ cwd: session.cwd }), compact() {},
    };
  }
  #api(extension) {
    const session = () => {
      if (!this.#session) throw new Error("not available while extensions load: call it from an event or a tool");
      return this.#session;
    };
    const put = (table) => (name, value) => void extension[table].set(name, value);
    const missing = (name) => () => {
      throw unsupported(`pi.${name} in an agent session`);
    };
    return {
      on: (event, handler) => {
        const list = extension.handlers.get(event) ?? [];
        extension.handlers.set(event, [...list, handler]);
        return () => extension.handlers.set(event, (extension.handlers.get(event) ?? []).filter((other) => other !== handler));
      },
      registerTool: (tool) => {
        extension.tools.set(tool.name, tool);
        this.#session?.refreshTools();
      },
      registerCommand: put("commands"), registerShortcut: put("shortcuts"), registerFlag: put("flags"), registerMessageRenderer: put("messageRenderers"), registerEntryRenderer() {}, registerMarkdownTransformer() {},
      getFlag: (name) => extension.flags.get(name)?.default,
      registerProvider: missing("registerProvider"), unregisterProvider() {},
      sendMessage: (message, options) => void session().sendCustomMessage(message, options),
      sendUserMessage: (content, options) => void session().sendUserMessage(content, options),
      appendEntry: (customType, data) => void session().sessionManager.appendCustomEntry(customType, data),
      setSessionName: (name) => session().setSessionName(name), getSessionName: () => session().sessionName, setLabel: (id, label) => void session().sessionManager.appendLabelChange(id, label),
      exec: (command, args = [], options = {}) => runCommand(extension, command, args, { cwd: session().cwd, ...options }),
      getActiveTools: () => session().getActiveToolNames(), getAllTools: () => session().getAllTools(), setActiveTools: (names) => session().setActiveToolsByName(names), getCommands: () => [],
      setModel: async (model) => {
        await session().setModel(model);
        return true;
      },
      getThinkingLevel: () => session().thinkingLevel, setThinkingLevel: (level) => session().setThinkingLevel(level),
      events: createEventBus(),
    };
  }
}

/** What pi hands to a loader of extensions before a session is there. An agent's session here makes its own. */
export function createExtensionRuntime() {
  const unbound = () => {
    throw new Error("this runtime is bound to no session: an agent's session here makes its own");
  };
  const names = ["sendMessage", "sendUserMessage", "appendEntry", "setSessionName", "getSessionName", "setLabel", "getActiveTools", "getAllTools", "setActiveTools", "getCommands", "getThinkingLevel", "setThinkingLevel"];
  const nothing = () => {};
  return {
    ...Object.fromEntries(names.map((name) => [name, unbound])), setModel: async () => unbound(), flagValues: new Map(), pendingProviderRegistrations: [],
    refreshTools: nothing, assertActive: nothing, invalidate: nothing, registerProvider: nothing, unregisterProvider: nothing,
  };
}
