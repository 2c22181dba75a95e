// The `pi` object: what an extension registers and what it can set off.
//
// Registration only fills the registry and tells the host about changes after the load. Actions throw
// while the factory runs, because no session is bound yet; afterwards they go to the host by name.

import { action, ask, report, runAs } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { bus } from "./bus.js";
import { addFlag, addHandler, presetOf } from "./registry.js";
import { forgetProvider, registerProvider } from "./providers.js";
import { commandList, toolList } from "./listing.js";

const NOT_READY = "not available while extensions load: call it from an event, a command or a tool";

function check(extension, name) {
  if (extension.loading) throw new Error(`pi.${name} is ${NOT_READY}`);
}

/** Tells the host that the tables changed after the load, so that it can rebuild what depends on them. */
function changed(extension, kind, name) {
  if (!extension.loading) ask("registered", { kind, name });
}

const ownString = (value, what) => {
  if (typeof value !== "string" || value === "") throw new TypeError(`${what} must be a non-empty string`);
  return value;
};

function checkTool(tool) {
  ownString(tool?.name, "the name of a tool");
  if (typeof tool.execute !== "function") throw new TypeError(`tool "${tool.name}" has no execute function`);
  if (!tool.parameters || typeof tool.parameters !== "object") throw new TypeError(`tool "${tool.name}" has no parameters schema`);
}

/** Messages that could not be sent are reported; the calls themselves return nothing. */
function send(extension, name, event, args) {
  return action(name, args).catch((error) => {
    report(extension.id, event, error);
  });
}

export function makeApi(extension) {
  const { id } = extension;
  const guarded = (name, work) => (...args) => {
    check(extension, name);
    return work(...args);
  };
  const pi = {
    on(event, handler) {
      const off = addHandler(extension, event, handler);
      changed(extension, "handler", event);
      return () => {
        off();
        changed(extension, "handler", event);
      };
    },

    registerTool(tool) {
      checkTool(tool);
      extension.tools.set(tool.name, tool);
      changed(extension, "tool", tool.name);
    },
    registerCommand(name, command) {
      ownString(name, "the name of a command");
      if (typeof command?.handler !== "function") throw new TypeError(`command "${name}" has no handler function`);
      extension.commands.set(name, command);
      changed(extension, "command", name);
    },
    registerShortcut(key, shortcut) {
      ownString(key, "a shortcut");
      if (typeof shortcut?.handler !== "function") throw new TypeError(`shortcut "${key}" has no handler function`);
      extension.shortcuts.set(key.toLowerCase(), shortcut);
      changed(extension, "shortcut", key.toLowerCase());
    },
    registerFlag(name, flag) {
      ownString(name, "the name of a flag");
      if (flag?.type !== "boolean" && flag?.type !== "string") throw new TypeError(`flag "${name}" must be of type "boolean" or "string"`);
      addFlag(extension, name, flag);
      changed(extension, "flag", name);
    },
    getFlag(name) {
      const flag = extension.flags.get(name);
      return flag && (flagValue(flag.type, ask("flag", { name })) ?? presetOf(name));
    },
    registerMessageRenderer(type, render) {
      if (typeof render !== "function") throw new TypeError(`the renderer of "${type}" must be a function`);
      extension.renderers.set(type, render);
      changed(extension, "renderer", type);
    },
    registerEntryRenderer(type, render) {
      if (typeof render !== "function") throw new TypeError(`the renderer of "${type}" must be a function`);
      extension.entryRenderers.set(type, render);
      changed(extension, "entryRenderer", type);
    },
    registerMarkdownTransformer(transform) {
      if (typeof transform !== "function") throw new TypeError("a transformer of Markdown must be a function");
      extension.transformers.push(transform);
      changed(extension, "markdownTransformer", "");
    },
    registerProvider: (name, config) => registerProvider(extension, ownString(name, "the name of a provider"), config),
    unregisterProvider: (name) => forgetProvider(extension, name),

    sendMessage: guarded("sendMessage", (message, options = {}) => {
      void send(extension, "message.send", "send_message", { message: plain(message), options: plain(options) });
    }),
    sendUserMessage: guarded("sendUserMessage", (content, options = {}) => {
      void send(extension, "message.sendUser", "send_user_message", { content: plain(content), options: plain(options) });
    }),
    appendEntry: guarded("appendEntry", (customType, data) => {
      ask("session.append", { customType, data: plain(data) });
    }),
    setSessionName: guarded("setSessionName", (name) => void ask("session.setName", { name })),
    getSessionName: guarded("getSessionName", () => ask("session.name") ?? undefined),
    setLabel: guarded("setLabel", (entryId, label) => void ask("session.setLabel", { entryId, label: label ?? null })),
    exec: (command, args = [], options = {}) => runCommand(extension, command, args, options),
    getActiveTools: guarded("getActiveTools", () => ask("tools.active") ?? []),
    getAllTools: guarded("getAllTools", () => toolList()),
    setActiveTools: guarded("setActiveTools", (names) => void ask("tools.setActive", { names: [...names].map(String) })),
    getCommands: guarded("getCommands", () => commandList()),
    setModel(model) {
      if (extension.loading) return Promise.reject(new Error(`pi.setModel is ${NOT_READY}`));
      return action("model.set", { model: plain(model) }).then(Boolean);
    },
    getThinkingLevel: guarded("getThinkingLevel", () => ask("model.thinking") ?? "off"),
    setThinkingLevel: guarded("setThinkingLevel", (level) => void ask("model.setThinking", { level })),
    retryLastTurn: guarded("retryLastTurn", () => void send(extension, "run.retry", "retry", {})),
    getVisibleSkills: guarded("getVisibleSkills", () => ask("skills.visible") ?? []),
    setVisibleSkills: guarded("setVisibleSkills", (names) => void ask("skills.setVisible", { names })),
    setCompactionThresholdOverride: guarded("setCompactionThresholdOverride", (value) => void ask("compaction.setThreshold", { value: value ?? null })),

    events: {
      emit: (channel, data) => bus.emit(channel, data),
      on: (channel, handler) => bus.on(channel, handler, id),
    },
  };
  // Whatever ran before, it is this extension that asks.
  for (const [name, work] of Object.entries(pi)) if (typeof work === "function") pi[name] = (...args) => runAs(id, () => work(...args));
  return pi;
}

/** What the command line says of a flag of this type; undefined where that is no value of it. */
function flagValue(type, given) {
  if (type === "string") return typeof given === "string" ? given : undefined;
  return { true: true, false: false }[String(given)];
}

/** Runs a program without a shell. Never rejects: what goes wrong is in the result. */
export async function runCommand(extension, command, args, options) {
  const failed = (message) => ({ stdout: "", stderr: message, code: 1, killed: false });
  if (extension.disabled) return failed("the extension is switched off");
  if (options.signal?.aborted) return { stdout: "", stderr: "", code: 0, killed: true };
  const request = { command: String(command), args: args.map(String), cwd: options.cwd, timeout: options.timeout };
  try {
    const result = await action("exec", request, options.signal);
    return { stdout: result.stdout ?? "", stderr: result.stderr ?? "", code: result.code ?? 0, killed: Boolean(result.killed) };
  } catch (error) {
    // A process that was killed has no exit code; pi has always shown that as 0 with `killed` set.
    if (options.signal?.aborted) return { stdout: "", stderr: "", code: 0, killed: true };
    return failed(String(error?.message ?? error));
  }
}
