// The same extension files in pi's own host, taken from its package, and in levain's: what each made of
// events, commands and tools, in one form. What a session does with an answer (an empty system prompt is the
// base, a call whose guard throws is not made) is done to pi's answers here, as its session does it.
//
// LEVAIN_PI_ORACLE names the folder of the package (scripts/pi-oracle fetches one).

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Engine, outside } from "./engine.mjs";
import { folder } from "./support.mjs";

export const ORACLE = process.env.LEVAIN_PI_ORACLE;
export const HAS_ORACLE = Boolean(ORACLE && fs.existsSync(path.join(ORACLE, "dist/index.js")));
export const NO_ORACLE = !HAS_ORACLE && "LEVAIN_PI_ORACLE names no installed pi (scripts/pi-oracle fetches one)";
/** The program, for what goes through its own engine and not through Node. */
export const PROGRAM = process.env.LEVAIN;

// The engines have words of their own for what is wrong with a piece of code.
const inWords = (message) => (/^cannot read propert/i.test(message) ? "cannot read a property" : message);

/** What a value is after it went through JSON; undefined stays. */
export const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value) ?? "null"));
const copy = (value) => structuredClone(value);

/** Writes bodies as extension files of a folder of their own. A body with `export` is the whole file. */
export function write(bodies, cwd = folder()) {
  const files = bodies.map((body, i) => {
    const file = path.join(cwd, `e${i}.js`);
    fs.writeFileSync(file, /^\s*(import|export) /m.test(body) ? body : `export default (pi) => { ${body} };\n`);
    return file;
  });
  return { cwd, files };
}

// What extensions set off, in the words of levain's calls by name. Reads are not kept.
const EFFECTS = new Set([
  "session.append", "session.setName", "session.setLabel", "tools.setActive", "model.setThinking", "run.abort", "run.shutdown", "ui.notify",
  "ui.setStatus", "ui.setWidget", "ui.setTitle", "ui.setEditorText", "ui.pasteToEditor", "ui.setWorkingMessage",
]);

/** What is the same in both hosts. */
class Steps {
  async steps(list) {
    const made = [];
    for (const [kind, payload] of list) {
      made.push((await this.step(kind, payload)) ?? {});
      // What a listener or a handler left to run is done when the next event comes.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    return made;
  }
}

// ---- pi ------------------------------------------------------------------------------------------

let library;
export const pi = async () => (library ??= await import(pathToFileURL(path.join(ORACLE, "dist/index.js"))));

export class Pi extends Steps {
  effects = [];
  actions = [];
  dialogs = [];
  errors = [];

  static async start(files, cwd, { ui = true, answer = () => undefined } = {}) {
    const host = new Pi();
    const lib = await pi();
    const { extensions, errors, runtime } = await lib.discoverAndLoadExtensions(files, cwd, path.join(cwd, "agent"));
    host.files = files;
    host.cwd = cwd;
    host.extensions = extensions;
    host.failed = errors.map((error) => error.path);
    host.providers = lib.ModelRegistry.inMemory(lib.AuthStorage.inMemory());
    host.runner = new lib.ExtensionRunner(extensions, runtime, cwd, lib.SessionManager.inMemory(cwd), host.providers);
    host.runner.onError(({ extensionPath, event }) => host.errors.push([files.indexOf(extensionPath), event]));
    host.#bind(ui, answer);
    return host;
  }

  #bind(ui, answer) {
    const effect = (name, args) => void this.effects.push([name, plain(args)]);
    const action = (name, args) => void this.actions.push([name, plain(args)]);
    let active = ["read", "bash", "edit", "write"];
    let name;
    let level = "medium";
    this.runner.bindCore({
      sendMessage: (message, options = {}) => action("message.send", { message, options }),
      sendUserMessage: (content, options = {}) => action("message.sendUser", { content, options }),
      appendEntry: (customType, data) => effect("session.append", { customType, data }),
      setSessionName: (value) => effect("session.setName", { name: (name = value) }),
      getSessionName: () => name,
      setLabel: (entryId, label) => effect("session.setLabel", { entryId, label: label ?? null }),
      getActiveTools: () => active,
      getAllTools: () => [],
      setActiveTools: (names) => effect("tools.setActive", { names: (active = names) }),
      refreshTools: () => {},
      getCommands: () => this.runner.getRegisteredCommands().map(({ invocationName, description }) => ({ name: invocationName, description, source: "extension" })),
      setModel: async (model) => (action("model.set", { model }), false),
      getThinkingLevel: () => level,
      setThinkingLevel: (value) => effect("model.setThinking", { level: (level = value) }),
    }, {
      getModel: () => undefined, isIdle: () => true, getSignal: () => undefined, abort: () => effect("run.abort", {}), hasPendingMessages: () => false,
      shutdown: () => effect("run.shutdown", {}), getContextUsage: () => undefined,
      compact: (options) => action("run.compact", { customInstructions: options?.customInstructions }), getSystemPrompt: () => "base prompt",
    });
    this.runner.bindCommandContext({
      waitForIdle: async () => action("run.waitIdle", {}),
      newSession: async (options) => (action("session.new", { parentSession: options?.parentSession, entries: [] }), { cancelled: false }),
      fork: async (entryId, options) => (action("session.fork", { entryId, position: options?.position }), { cancelled: false }),
      navigateTree: async (targetId, options) => (action("session.navigate", { targetId, ...options }), { cancelled: false }),
      switchSession: async (target) => (action("session.switch", { path: target }), { cancelled: false }),
      reload: async () => action("reload", {}),
    });
    if (!ui) return;
    const ask = (kind, args, otherwise) => {
      this.dialogs.push([kind, plain(args)]);
      return answer(kind, args) ?? otherwise;
    };
    const screen = {
      ...this.runner.getUIContext(),
      select: async (title, options) => ask("select", { title, options }),
      confirm: async (title, message) => ask("confirm", { title, message: message ?? "" }, false),
      input: async (title, placeholder) => ask("input", { title, placeholder }),
      editor: async (title, prefill) => ask("editor", { title, prefill }),
      notify: (message, type = "info") => effect("ui.notify", { message, type }),
      setStatus: (key, text) => effect("ui.setStatus", { key, text: text ?? null }),
      setWidget: (key, lines, options) => Array.isArray(lines) && effect("ui.setWidget", { key, lines, placement: options?.placement }),
      setTitle: (title) => effect("ui.setTitle", { title }),
      setEditorText: (text) => effect("ui.setEditorText", { text }),
      pasteToEditor: (text) => effect("ui.pasteToEditor", { text }),
      setWorkingMessage: (message) => effect("ui.setWorkingMessage", { message: message ?? null }),
    };
    this.runner.setUIContext(screen);
  }

  async step(kind, given) {
    const payload = copy(given ?? {});
    const { runner } = this;
    switch (kind) {
      case "command": {
        const command = runner.getCommand(payload.name);
        if (!command) return { missing: true };
        try {
          await command.handler(payload.args ?? "", runner.createCommandContext());
          return {};
        } catch {
          return { failed: true };
        }
      }
      case "tool": {
        const tool = runner.getToolDefinition(payload.name);
        if (!tool) return { missing: true };
        const partial = [];
        const params = tool.prepareArguments ? tool.prepareArguments(payload.params) : payload.params;
        try {
          const { content, details, terminate } = await tool.execute("call-1", params, undefined, (update) => partial.push(plain(update)), runner.createContext());
          return plain({ content, details, terminate, isError: false, partial });
        } catch (error) {
          return { content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }], details: {}, isError: true, partial };
        }
      }
      case "shortcut": {
        const found = runner.getShortcuts({}).get(payload.key);
        if (!found) return { missing: true };
        try {
          await found.handler(runner.createContext());
          return {};
        } catch {
          return { failed: true };
        }
      }
      case "flag": return void runner.setFlagValue(payload.name, payload.value);
      case "input": {
        const answer = await runner.emitInput(payload.text, payload.images, payload.source ?? "interactive");
        if (answer.action === "handled") return { handled: true };
        const changed = answer.action === "transform";
        return plain({ text: changed ? answer.text : payload.text, images: (changed && answer.images) || payload.images });
      }
      case "before_agent_start": {
        const answer = await runner.emitBeforeAgentStart(payload.prompt, payload.images, payload.systemPrompt, payload.systemPromptOptions ?? {});
        return plain({ systemPrompt: answer?.systemPrompt || payload.systemPrompt, messages: answer?.messages ?? [] });
      }
      case "context": {
        const messages = await runner.emitContext(payload.messages);
        return plain({ messages, kept: JSON.stringify(payload.messages) === JSON.stringify(given.messages) });
      }
      case "before_provider_request": return plain({ payload: await runner.emitBeforeProviderRequest(payload.payload) });
      case "tool_call": {
        try {
          const answer = await runner.emitToolCall({ type: "tool_call", ...payload });
          const input = payload.input;
          return plain(answer?.block ? { blocked: answer.reason || "Tool execution was blocked" } : { input });
        } catch (error) {
          return { blocked: error instanceof Error ? error.message : String(error), failed: true };
        }
      }
      case "tool_result": {
        const answer = await runner.emitToolResult({ type: "tool_result", ...payload });
        const { content, details, isError } = payload;
        return plain({ content: answer?.content ?? content, details: answer?.details ?? details, isError: answer?.isError ?? isError });
      }
      case "message_end": return plain({ message: (await runner.emitMessageEnd({ type: "message_end", ...payload })) ?? payload.message });
      case "user_bash": {
        const answer = await runner.emitUserBash({ type: "user_bash", ...payload });
        return { result: plain(answer?.result), operations: Boolean(answer?.operations) };
      }
      case "resources_discover": {
        const answer = await runner.emitResourcesDiscover(payload.cwd ?? this.cwd, payload.reason ?? "startup");
        const lists = ["skillPaths", "promptPaths", "themePaths"].map((name) => [name, answer[name].map((item) => [item.path, this.files.indexOf(item.extensionPath)])]);
        return Object.fromEntries(lists);
      }
      default: {
        const answer = await runner.emit({ type: kind, ...payload });
        return kind.startsWith("session_before_") ? plain({ answer }) : {};
      }
    }
  }

  /** Each handler of an event by itself, with an event of its own, as the program's `emit` asks them. */
  async each(event, payload) {
    const list = [];
    for (const extension of this.extensions) {
      for (const handler of extension.handlers.get(event) ?? []) {
        const given = copy(payload);
        const seen = { type: event, ...given };
        const one = { file: this.files.indexOf(extension.path) };
        try {
          const ctx = this.runner.createContext();
          if (event === "before_agent_start") ctx.getSystemPrompt = () => payload.systemPrompt;
          one.result = crossing(event, await handler(seen, ctx));
          const field = IN_PLACE[event];
          if (field && !Object.hasOwn(Object(one.result), field) && !same(seen[field], payload[field])) one.value = plain(seen[field]);
          const edited = EDITED[event];
          if (edited) one.result = withEdits(one.result, edited, seen, given, payload);
          // No opinion, in whatever way it is said.
          if (one.result === null || one.result === undefined) delete one.result;
        } catch (error) {
          one.error = inWords(error instanceof Error ? error.message : String(error));
        }
        list.push(one);
      }
    }
    return list;
  }

  registered() {
    const { runner } = this;
    const keys = (map) => [...map.keys()];
    const extensions = this.extensions.map((extension) => ({
      file: this.files.indexOf(extension.path),
      events: Object.fromEntries([...extension.handlers].map(([name, list]) => [name, list.length])),
      tools: keys(extension.tools), commands: keys(extension.commands), flags: keys(extension.flags), renderers: keys(extension.messageRenderers),
      shortcuts: [...new Set(keys(extension.shortcuts).map((key) => key.toLowerCase()))],
    }));
    return plain({
      failed: this.failed.map((file) => this.files.indexOf(file)),
      extensions,
      commands: runner.getRegisteredCommands().map((command) => [command.invocationName, command.description ?? null]),
      tools: runner.getAllRegisteredTools().map(({ definition }) => [definition.name, definition.description ?? "", definition.parameters]),
      flags: [...runner.getFlags().values()].map((flag) => [flag.name, flag.type, flag.default ?? null, this.files.indexOf(flag.extensionPath)]),
      shortcuts: [...runner.getShortcuts({})].map(([key, shortcut]) => [key, shortcut.description ?? null, this.files.indexOf(shortcut.extensionPath)]),
      providers: [...this.providers.registeredProviders].map(([name, config]) => [name, config.baseUrl ?? null]),
    });
  }

  done() {
    return { effects: this.effects, actions: this.actions, dialogs: this.dialogs, errors: this.errors };
  }
}

const IN_PLACE = { tool_call: "input", context: "messages", before_provider_request: "payload" };
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// What pi's session keeps of an event that was edited: the values it gave, and those put in their place if anything was answered.
const EDITED = { tool_result: ["content", "details", "isError"], message_end: ["message"] };

function withEdits(result, names, seen, given, payload) {
  const answered = names.some((name) => result?.[name] !== undefined);
  const edits = Object.fromEntries(names.map((name) => [name, plain(answered ? seen[name] : given[name])]).filter(([name, now]) => !same(now, payload[name])));
  if (Object.keys(edits).length === 0) return result;
  return result && typeof result === "object" ? { ...edits, ...result } : edits;
}

/** `operations` are functions: it only counts that there are some. */
const crossing = (event, answer) => (event === "user_bash" && answer?.operations ? { operations: true } : plain(answer));

// ---- levain --------------------------------------------------------------------------------------

export class Levain extends Steps {
  failed = [];
  ids = new Set();
  errors = [];

  static async start(files, cwd, options = {}) {
    const { ui = true, answer = () => undefined, engine } = options;
    const host = new Levain();
    host.files = files;
    host.ctx = ui ? {} : { mode: "print", hasUI: false };
    host.engine = engine ?? (await Engine.start({ cwd }));
    host.engine.host.model = null;
    host.engine.host.models = options.models ?? [];
    host.engine.host.onDialog = answer;
    for (const file of files) {
      const { extension, error } = await host.engine.load(file);
      if (error) host.failed.push(file);
      else host.ids.add(extension.id);
    }
    return host;
  }

  async step(kind, given) {
    const payload = copy(given ?? {});
    const { engine, ctx } = this;
    switch (kind) {
      case "command": {
        const { result, error } = await engine.command(payload.name, payload.args ?? "", ctx);
        return result ? {} : error.path === "<runtime>" ? { missing: true } : { failed: true };
      }
      case "tool": {
        const partial = [];
        const prepared = outside(engine.api.prepareArguments(payload.name, engine.inside(payload.params)));
        const { result, error } = await engine.tool(payload.name, prepared.result, { ctx }, (update) => partial.push(plain(update)));
        if (!result) return error.path === "<runtime>" ? { missing: true } : { failed: true };
        const { content, details, isError = false, terminate } = result;
        return plain({ content, details, terminate, isError, partial });
      }
      case "shortcut": {
        const { result, error } = outside(await engine.api.callShortcut(payload.key, engine.inside(ctx)));
        return result ? {} : error.path === "<runtime>" ? { missing: true } : { failed: true };
      }
      case "flag": return void (engine.host.flags[payload.name] = payload.value);
    }
    if (kind === "input") payload.source ??= "interactive";
    // Several sets of files may share an engine: only those of this one are asked.
    const { outcome, records } = outside(await engine.api.dispatch(kind, engine.inside(payload), engine.inside(ctx), ({ extension }) => this.ids.has(extension.id)));
    // What fails closed is in the outcome; pi tells nobody besides.
    for (const { path: file, error } of records) if (error && kind !== "tool_call") this.errors.push([this.files.indexOf(file), kind]);
    return plain(this.#outcome(kind, outcome, payload));
  }

  #outcome(kind, outcome, payload) {
    switch (kind) {
      case "input":
        if (outcome.action === "handled") return { handled: true };
        return outcome.action === "transform" ? { text: outcome.text, images: outcome.images } : { text: payload.text, images: payload.images };
      case "before_agent_start":
        return { systemPrompt: outcome.systemPrompt || payload.systemPrompt, messages: outcome.messages.map(({ path: _, ...message }) => message) };
      case "context": return { messages: outcome.messages, kept: true };
      case "before_provider_request": return { payload: outcome.payload };
      case "tool_call":
        return outcome.block ? { blocked: outcome.reason, ...(outcome.failed ? { failed: true } : {}) } : { input: outcome.input };
      case "tool_result": {
        const { content, details, isError } = outcome ?? payload;
        return { content, details, isError };
      }
      case "message_end": return { message: outcome?.message ?? payload.message };
      case "user_bash": return { result: outcome?.result, operations: outcome?.operations !== undefined };
      case "resources_discover":
        return Object.fromEntries(Object.entries(outcome).map(([name, list]) => [name, list.map((item) => [item.path, this.files.indexOf(item.extension)])]));
      default: return kind.startsWith("session_before_") ? { answer: outcome } : {};
    }
  }

  /** As `each` of pi, and as the program's `emit`. */
  async each(event, payload) {
    const { engine } = this;
    const list = [];
    for (const { id, path: file, extension } of outside(engine.api.handlers(event))) {
      if (!this.ids.has(extension)) continue;
      const { result, value, error } = outside(await engine.api.callHandler(id, event, engine.inside(copy(payload)), engine.inside(this.ctx)));
      const one = { file: this.files.indexOf(file) };
      if (error) one.error = inWords(error.message);
      else {
        if (result !== undefined && result !== null) one.result = plain(event === "user_bash" && result.operations ? { operations: true } : result);
        if (value !== undefined && !same(value, payload[IN_PLACE[event]])) one.value = plain(value);
      }
      list.push(one);
    }
    return list;
  }

  registered() {
    const { api } = this.engine;
    const number = (file) => this.files.indexOf(file);
    return plain({
      failed: this.failed.map(number),
      extensions: outside(api.listing()).map(({ path: file, events, tools, commands, flags, messageRenderers, shortcuts }) => ({ file: number(file), events, tools, commands, flags, renderers: messageRenderers, shortcuts })),
      commands: outside(api.commandDescriptions()).map((command) => [command.name, command.description ?? null]),
      tools: outside(api.toolDescriptions()).map((tool) => [tool.name, tool.description, tool.parameters]),
      flags: outside(api.flagDescriptions()).map((flag) => [flag.name, flag.type, flag.default ?? null, number(flag.path)]),
      shortcuts: outside(api.shortcutDescriptions()).map((shortcut) => [shortcut.key, shortcut.description ?? null, number(shortcut.path)]),
      providers: [...new Map(outside(api.providerDescriptions()).filter(({ mistake }) => !mistake).map((provider) => [provider.name, provider.baseUrl ?? null]))],
    });
  }

  done() {
    const { host } = this.engine;
    const pairs = (list) => list.map(({ name, args }) => [name, plain(args)]);
    const loading = host.reports.filter(({ event }) => event === "register_provider").map(({ path: file, event }) => [this.files.indexOf(file), event]);
    // Without a screen all is still told and asked; the embedder leaves it at that.
    const shown = (name) => this.ctx.hasUI !== false || !name.startsWith("ui.");
    return {
      effects: pairs(host.calls.filter(({ name }) => EFFECTS.has(name) && shown(name))),
      actions: pairs(host.actions.filter(({ name }) => name !== "exec" && name !== "model.key")),
      dialogs: this.ctx.hasUI === false ? [] : pairs(host.dialogs),
      errors: [...loading, ...this.errors],
    };
  }
}

// ---- The program ---------------------------------------------------------------------------------

/** Each handler by itself in the real program. */
export function emit(files, cwd, event, payload) {
  const home = path.join(cwd, "home");
  fs.mkdirSync(home, { recursive: true });
  fs.mkdirSync(path.join(cwd, ".ai"), { recursive: true });
  const run = spawnSync(PROGRAM, ["extensions", "emit", event, "--with", JSON.stringify(payload), "--json", "--project", cwd, ...files], {
    cwd, encoding: "utf8", env: { PATH: process.env.PATH, HOME: home }, maxBuffer: 1 << 28, timeout: 120_000,
  });
  const lines = run.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  if (lines.length === 0) throw new Error(`the program said nothing: ${run.stderr}`);
  const answers = lines.filter((line) => line.schema === "levain.extension_answer/1");
  const failed = lines.filter((line) => line.schema === "levain.extension/1").map((line) => files.indexOf(line.path));
  const list = answers.map(({ path: file, result, value, messages, error }) => {
    const one = { file: files.indexOf(file) };
    if (error) one.error = inWords(error.message);
    else {
      if (result !== undefined) one.result = event === "user_bash" && result?.operations ? { operations: true } : result;
      if (value !== undefined) one.value = value;
      if (messages !== undefined) one.messages = messages;
    }
    return one;
  });
  return { list, failed, reports: lines.at(-1).reports };
}

/** What pi's handlers answered, as the program tells of it: of a conversation that was changed only what it became. */
export function asTold(event, list, payload) {
  if (event !== "context") return list;
  return list.map((all) => {
    const { result, value, ...one } = all;
    // Beside an answer that is none, the changed conversation is a value like that of any event.
    if (result !== undefined && typeof result !== "object") return all;
    const answered = Array.isArray(result?.messages);
    const { messages = value, ...rest } = answered ? result : {};
    if (!answered && result !== undefined) one.result = result;
    else if (Object.keys(rest).length > 0) one.result = rest;
    return messages === undefined || same(messages, payload.messages) ? one : { ...one, messages };
  });
}

/** What one prompt came to in a thread of the program: its text, whether it was taken, and the system prompts before and after the handlers. */
export function thread(files, cwd, prompt) {
  const home = path.join(cwd, "home");
  const own = path.join(home, ".pi/agent/extensions");
  fs.mkdirSync(own, { recursive: true });
  fs.mkdirSync(path.join(cwd, ".ai"), { recursive: true });
  for (const file of files) fs.copyFileSync(file, path.join(own, path.basename(file)));
  const script = path.join(cwd, "script.yaml");
  fs.writeFileSync(script, "name: t\nrate: 0\nreplies:\n  - steps: [{text: Done.}]\n");
  const levain = (...args) => spawnSync(PROGRAM, [...args, "--project", cwd], { cwd, encoding: "utf8", env: { PATH: process.env.PATH, HOME: home }, timeout: 120_000 });
  const ran = levain("run", "--model", `scripted/${script}`, prompt);
  const shown = levain("pipeline", "--json");
  const steps = shown.stdout.split("\n").filter(Boolean).flatMap((line) => JSON.parse(line).steps);
  const at = (stage) => steps.filter((step) => step.stage === stage);
  const last = (list, field) => list.reduce((value, step) => (step.after ?? step.before)[field] ?? value, undefined);
  const [input, start] = [at("input"), at("before_agent_start")];
  if (steps.length === 0) throw new Error(`no handler was asked: ${ran.stderr}${shown.stderr}`);
  return {
    handled: input.some((step) => step.outcome === "handled"), text: last(input, "text"),
    base: start[0]?.before.systemPrompt, systemPrompt: last(start, "systemPrompt"),
  };
}

// ---- Comparing -----------------------------------------------------------------------------------

/** Every place at which two plain values differ, as `steps.0.text`. */
export function differences(theirs, mine, at = "") {
  if (Object.is(theirs, mine)) return [];
  const deep = (value) => value !== null && typeof value === "object";
  if (!deep(theirs) || !deep(mine) || Array.isArray(theirs) !== Array.isArray(mine)) return [at];
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  return [...names].flatMap((name) => differences(theirs[name], mine[name], at ? `${at}.${name}` : name));
}

/** Runs the same steps over the same bodies in both. With an `engine` of several runs, what is registered is left out. */
export async function both(bodies, steps, options = {}) {
  const { cwd, files } = write(bodies);
  for (const [name, text] of Object.entries(options.beside ?? {})) fs.writeFileSync(path.join(cwd, name), text);
  options.engine?.host.forget();
  const run = async (Host) => {
    const host = await Host.start(files, cwd, options);
    try {
      const { failed } = host;
      const made = await host.steps(steps);
      return plain({ steps: made, ...host.done(), ...(options.engine ? { failed: failed.length } : { registered: host.registered() }) });
    } finally {
      if (!options.engine) host.engine?.stop();
    }
  };
  return { theirs: await run(Pi), mine: await run(Levain), files, cwd };
}
