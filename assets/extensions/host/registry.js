// Every loaded extension and what it registered, and how its code is called.
//
// An extension has a number, its owner id, which goes along with all it asks of the host. Nothing here
// depends on a file's name. Conflicts are settled here: for tools, commands, flags and renderers the
// first one wins, for shortcuts the last, and each clash is told as a notice, not as a failure.

import { charge, describeError, forgive, isDisabled, onDisable, report, setOwner, setOwnerNames } from "../runtime/bridge.js";

export const extensions = new Map();
let nextId = 1;
let nextHandler = 1;
const handlersById = new Map();

setOwnerNames((id) => extensions.get(id)?.path);
onDisable((id) => {
  const extension = extensions.get(id);
  if (extension) extension.disabled = true;
});

export function createExtension(path, meta = {}) {
  const id = nextId++;
  forgive(id);
  const extension = {
    id, path, meta, loading: true, disabled: false, handlers: [], tools: new Map(), commands: new Map(), shortcuts: new Map(),
    flags: new Map(), renderers: new Map(), entryRenderers: new Map(), providers: new Map(), providerMistakes: new Map(), transformers: [], autocompleters: [],
  };
  extensions.set(id, extension);
  return extension;
}

export function dropExtension(id) {
  const extension = extensions.get(id);
  for (const [name, preset] of presets) if (preset.owner === id) presets.delete(name);
  for (const handler of extension?.handlers ?? []) handlersById.delete(handler.id);
  extensions.delete(id);
}

export function addHandler(extension, event, run) {
  if (typeof run !== "function") throw new TypeError(`pi.on("${event}") needs a function`);
  const handler = { id: nextHandler++, event: String(event), run, extension, index: (extension.handlers.at(-1)?.index ?? -1) + 1 };
  extension.handlers.push(handler);
  handlersById.set(handler.id, handler);
  return () => {
    handlersById.delete(handler.id);
    const at = extension.handlers.indexOf(handler);
    if (at >= 0) extension.handlers.splice(at, 1);
  };
}

// The first preset of a flag holds for all extensions that registered it, whenever they did.
const presets = new Map();

export function addFlag(extension, name, flag) {
  extension.flags.set(name, flag);
  if (flag.default !== undefined && !presets.has(name)) presets.set(name, { value: flag.default, owner: extension.id });
}

export const presetOf = (name) => presets.get(name)?.value;

export const handlerById = (id) => handlersById.get(id);

const live = () => [...extensions.values()].filter((extension) => !extension.disabled);

/** Handlers of an event: extensions in load order, handlers in the order they were added. */
export function handlersOf(event) {
  const list = [];
  for (const extension of live()) for (const handler of extension.handlers) if (handler.event === event) list.push(handler);
  return list;
}

/** First extension that registered `name` in a table of this kind. */
export function findFirst(kind, name) {
  for (const extension of live()) if (extension[kind].has(name)) return { extension, item: extension[kind].get(name) };
  return undefined;
}

export function findLast(kind, name) {
  for (const extension of live().reverse()) if (extension[kind].has(name)) return { extension, item: extension[kind].get(name) };
  return undefined;
}

const sourceInfo = ({ path, meta }) => ({ path, source: meta.source ?? path, scope: meta.scope ?? "temporary", origin: meta.origin ?? "top-level", baseDir: meta.baseDir });

/**
 * Commands with the names they answer to. A name that several extensions registered becomes `x:1`, `x:2`
 * and so on in load order.
 */
export function commandTable() {
  const count = new Map();
  for (const extension of live()) for (const name of extension.commands.keys()) count.set(name, (count.get(name) ?? 0) + 1);
  const seen = new Map();
  const taken = new Set();
  const table = [];
  for (const extension of live()) {
    for (const [name, command] of extension.commands) {
      let number = (seen.get(name) ?? 0) + 1;
      seen.set(name, number);
      let invoke = count.get(name) === 1 ? name : `${name}:${number}`;
      // Somebody may have called a command `x:2`.
      while (taken.has(invoke)) invoke = `${name}:${++number}`;
      taken.add(invoke);
      table.push({ invoke, name, command, extension, sourceInfo: sourceInfo(extension) });
    }
  }
  return table;
}

/** The plain name of a clash still finds the first, as it did before names were numbered. */
export function findCommand(invoke) {
  const table = commandTable();
  return table.find((entry) => entry.invoke === invoke) ?? table.find((entry) => entry.name === invoke);
}

/** Tools in load order, the first of each name; later ones are listed as clashes. */
export function toolTable() {
  const table = new Map();
  for (const extension of live()) {
    for (const [name, tool] of extension.tools) if (!table.has(name)) table.set(name, { tool, extension, sourceInfo: sourceInfo(extension) });
  }
  return table;
}

export function clashes() {
  const list = [];
  for (const [kind, last] of [["tools", false], ["commands", false], ["flags", false], ["renderers", false], ["shortcuts", true]]) {
    const holders = new Map();
    for (const extension of live()) {
      for (const name of extension[kind].keys()) holders.set(name, [...(holders.get(name) ?? []), extension.path]);
    }
    for (const [name, paths] of holders) {
      if (paths.length > 1) list.push({ kind, name, used: last ? paths.at(-1) : paths[0], also: last ? paths.slice(0, -1) : paths.slice(1) });
    }
  }
  return list;
}

/** What one file registered, as plain data for the listing. */
export function describe(extension) {
  const events = {};
  for (const { event } of extension.handlers) events[event] = (events[event] ?? 0) + 1;
  return {
    id: extension.id,
    path: extension.path,
    disabled: extension.disabled,
    events,
    tools: [...extension.tools.keys()],
    commands: [...extension.commands.keys()],
    shortcuts: [...extension.shortcuts.keys()],
    flags: [...extension.flags.keys()],
    providers: [...extension.providers.keys()],
    messageRenderers: [...extension.renderers.keys()],
    entryRenderers: [...extension.entryRenderers.keys()],
  };
}

// ---- Running extension code ----------------------------------------------------------------------

/** Runs code of an extension that somebody waits for; the error is a value. */
export async function attempt(extension, event, work) {
  if (isDisabled(extension.id)) return { error: { message: "the extension is switched off", path: extension.path, event } };
  setOwner(extension.id);
  try {
    return { result: await work() };
  } catch (error) {
    return { error: { ...describeError(error), path: extension.path, event }, thrown: error };
  }
}

/** The same for code that must answer at once, such as drawing. */
export function attemptNow(extension, event, work, fallback) {
  if (isDisabled(extension.id)) return fallback;
  setOwner(extension.id);
  try {
    return work();
  } catch (error) {
    charge(extension.id, event, error);
    return fallback;
  }
}

export { report };
