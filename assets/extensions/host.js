// The extension host: the one module that the embedder talks to.
//
// It loads factories, keeps what they registered (host/registry.js), and offers events, tools,
// commands and drawing as functions over plain data. Reading and transforming source files, deciding
// what may run, and everything on the screen are the embedder's. The interface is described in HOST.md.

import "./runtime/install.js";
import { FAULT_LIMIT, charge, currentOwner, deliver, describeError, report, setOwner } from "./runtime/bridge.js";
import { makeApi } from "./host/api.js";
import { bus } from "./host/bus.js";
import { closeAllOf, closePlace, focusPlace, inputPlace, invalidatePlace, placeOptions, renderPlace, writePlace } from "./host/components.js";
import { clashes, createExtension, describe, dropExtension, extensions, toolTable } from "./host/registry.js";
import { commandDescriptions, toolDescriptions } from "./host/listing.js";
import { describeProvider, providerAuth, providerMistakes, streamProvider } from "./host/providers.js";
import { branchChanged, terminalInput } from "./host/ui.js";
import { themeChanged } from "./host/theme.js";

export { announceSession, callHandler, callOperations, closeChain, dispatch, handlers, openChain, stepChain } from "./host/dispatch.js";
export {
  callCommand, callShortcut, callTool, completeCommand, forgetToolCall, prepareArguments, renderEntry, renderMessage, renderToolCall,
  renderToolResult, transformMarkdown,
} from "./host/calls.js";
export { complete } from "./host/autocomplete.js";
export { EVENT_NAMES } from "./host/merge.js";
export { abort, abortTurn, releaseSignal } from "./host/signals.js";
export { commonJsNames, createRequire, importCommonJs, missingNames, provide } from "./loader/require.js";
export { builtinFile, CATALOG } from "./loader/builtins.js";
export { formatOf, resolveModule } from "./loader/resolve.js";
export { prologue } from "./loader/prologue.js";
export { stubModuleSource } from "./modules/stubs.js";
export {
  FAULT_LIMIT, branchChanged, clashes, closePlace, commandDescriptions, deliver, focusPlace, inputPlace, invalidatePlace, placeOptions, renderPlace, writePlace,
  terminalInput, themeChanged, toolDescriptions,
};

/**
 * Loads one extension. `evaluate` evaluates its module and gives the namespace; it runs under the new
 * owner, so that what the module starts on its own is charged to it. The answer is what it registered,
 * or `{error}`; a failed load leaves nothing behind.
 */
export async function load(path, evaluate, meta) {
  const extension = createExtension(path, meta);
  setOwner(extension.id);
  try {
    const namespace = await evaluate();
    const factory = typeof namespace === "function" ? namespace : namespace?.default?.default ?? namespace?.default;
    if (typeof factory !== "function") throw new Error(`the default export of ${path} is not a function: an extension exports a function that takes pi`);
    setOwner(extension.id);
    await factory(makeApi(extension));
    extension.loading = false;
    return { extension: describe(extension) };
  } catch (error) {
    dropExtension(extension.id);
    bus.clear(extension.id);
    return { error: { ...describeError(error), path, event: "load" } };
  } finally {
    setOwner(0);
  }
}

/** What is loaded, in load order. */
export const listing = () => [...extensions.values()].map(describe);

/** Providers to register once the session is bound. */
export const providerDescriptions = () =>
  [...extensions.values()].flatMap((extension) => [
    ...[...extension.providers].map(([name, config]) => describeProvider(name, config, extension)),
    ...providerMistakes(extension),
  ]);

/** Shortcuts with the file that holds each; the last one that asked for a key has it. */
export const shortcutDescriptions = () => {
  const table = new Map();
  for (const extension of extensions.values()) {
    if (extension.disabled) continue;
    for (const [key, { description }] of extension.shortcuts) table.set(key, { key, description, path: extension.path, extension: extension.id });
  }
  return [...table.values()];
};

/** Flags, the first of each name. */
export const flagDescriptions = () => {
  const table = new Map();
  for (const extension of extensions.values()) {
    for (const [name, { description, type, default: preset }] of extension.flags) {
      if (!table.has(name)) table.set(name, { name, description, type, default: preset, path: extension.path, extension: extension.id });
    }
  }
  return [...table.values()];
};

/** What extensions draw of a conversation: calls and results of tools, their own messages and entries, the Markdown of answers. */
export const drawingDescriptions = () => {
  const tools = [...toolTable()].filter(([, { tool }]) => typeof tool.renderCall === "function" || typeof tool.renderResult === "function");
  const live = [...extensions.values()].filter((extension) => !extension.disabled);
  const types = (kind, held) => live.flatMap((extension) => [...extension[held].keys()].map((name) => ({ kind, name })));
  const markdown = live.some(({ transformers }) => transformers.length > 0) ? [{ kind: "markdown", name: "" }] : [];
  return [...tools.map(([name]) => ({ kind: "tool", name })), ...types("message", "renderers"), ...types("entry", "entryRenderers"), ...markdown];
};

/** Who completes the draft besides commands, which do so for their arguments. */
export const completionDescriptions = () => {
  const live = [...extensions.values()].filter((extension) => !extension.disabled);
  return live.flatMap((extension) => extension.autocompleters.map(() => ({ path: extension.path })));
};

/** A promise that nobody waited for was rejected. The embedder's tracker calls this. */
export function unhandledRejection(reason, owner = currentOwner()) {
  return charge(owner, "unhandled rejection", reason);
}

export { report, providerAuth, streamProvider };

/** Takes everything of all extensions off the screen and the bus; the engine is dropped afterwards. */
export function shutdown() {
  closeAllOf();
  bus.clear();
}
