// What the host calls by name besides events: tools, commands, shortcuts, completions and drawing.
//
// Every function answers with a plain result or `{error}`. The host validates arguments against the
// schema before it calls a tool; results are made plain here.

import { ask, describeError, isDisabled, report, setOwner } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { keyHint, keyText } from "../modules/pi-coding-agent/keys.js";
import { theme } from "./theme.js";
import { linesAt } from "./components.js";
import { contextFor, makeCommandContext } from "./context.js";
import { attempt, extensions, findCommand, findFirst, findLast, toolTable } from "./registry.js";
import { during, signalFor } from "./signals.js";

const missing = (what, name) => ({ error: { message: `no ${what} "${name}" is registered`, path: "<runtime>", event: what } });

/** The content of a tool's result, or an error that says what is wrong with it. */
function toolResult(value) {
  if (value === null || typeof value !== "object" || !Array.isArray(value.content)) {
    throw new TypeError("a tool must return { content: [...] }");
  }
  return plain({ content: value.content, details: value.details, isError: value.isError, terminate: value.terminate });
}

/** What calls that run have reported last; undefined for those that have reported nothing yet. */
const partials = new Map();

/**
 * Runs a tool. `emit` gets partial results. A throw is an error result whose text is the message, as
 * the model should read it.
 */
export async function callTool(name, callId, params, { signal, ctx } = {}, emit) {
  const found = toolTable().get(name);
  if (!found) return missing("tool", name);
  const { tool, extension } = found;
  keep(partials, callId, undefined);
  if (typeof tool.renderCall === "function") ask("ui.invalidateTool", { toolCallId: callId });
  let open = true;
  const onUpdate = (partial) => {
    if (!open) return;
    try {
      const result = toolResult(partial);
      if (typeof tool.renderResult === "function") {
        keep(partials, callId, result);
        ask("ui.invalidateTool", { toolCallId: callId });
      }
      emit?.(result);
    } catch {
      // A partial result that cannot be shown is skipped; the final one is checked for real.
    }
  };
  const abortSignal = signalFor(signal);
  const answer = await during(extension.id, abortSignal, () => attempt(extension, `tool:${name}`, async () =>
    toolResult(await tool.execute(callId, params, abortSignal, onUpdate, contextFor(extension, { ...ctx, signal })))));
  open = false;
  partials.delete(callId);
  if (!answer.error) return { result: answer.result };
  return { result: { content: [{ type: "text", text: answer.error.message }], details: {}, isError: true }, error: answer.error };
}

/** Lets a tool rewrite the raw arguments of a model before they are checked. */
export function prepareArguments(name, args) {
  const found = toolTable().get(name);
  if (!found || typeof found.tool.prepareArguments !== "function") return { result: args };
  try {
    return { result: plain(found.tool.prepareArguments(args)) };
  } catch (error) {
    return { error: { ...describeError(error), path: found.extension.path, event: `tool:${name}` } };
  }
}

export async function callCommand(invoke, args, ctxData) {
  const found = findCommand(invoke);
  if (!found) return missing("command", invoke);
  const { command, extension } = found;
  const answer = await attempt(extension, "command", () => command.handler(args, makeCommandContext(extension, ctxData)));
  return answer.error ? { error: { ...answer.error, path: `command:${invoke}`, file: extension.path } } : { result: true };
}

export async function completeCommand(invoke, prefix) {
  const found = findCommand(invoke);
  if (!found || typeof found.command.getArgumentCompletions !== "function") return { result: null };
  const answer = await attempt(found.extension, `completions:${invoke}`, () => found.command.getArgumentCompletions(prefix));
  return answer.error ? { ...answer, extension: found.extension } : { result: plain(answer.result) ?? null };
}

export async function callShortcut(key, ctxData) {
  const found = findLast("shortcuts", String(key).toLowerCase());
  if (!found) return missing("shortcut", key);
  const answer = await attempt(found.extension, `shortcut:${key}`, () => found.item.handler(makeCommandContext(found.extension, ctxData)));
  return answer.error ? { error: answer.error } : { result: true };
}

// ---- Drawing -------------------------------------------------------------------------------------

/** What renderers need to name keys, and the columns beside what is said. */
const HINTS = Object.freeze({ keyHint, keyText: (action) => keyText(action), outputPad: 1 });

// State that a tool's own drawing keeps between calls of one tool call, and the component it drew last.
const drawn = new Map();
// Of more than this the oldest starts anew: a session has calls without end.
const MOST_DRAWN = 400;

function keep(all, key, value) {
  all.set(key, value);
  if (all.size > MOST_DRAWN) all.delete(all.keys().next().value);
}

function renderContext(kind, callId, args, rest) {
  const key = `${kind}:${callId}`;
  const before = drawn.get(key) ?? { state: drawn.get(`call:${callId}`)?.state ?? {} };
  return {
    before, key,
    context: {
      args, toolCallId: callId, state: before.state, lastComponent: before.component, cwd: rest.cwd, executionStarted: Boolean(rest.executionStarted) || partials.has(callId),
      argsComplete: rest.argsComplete ?? true, isPartial: Boolean(rest.isPartial), expanded: Boolean(rest.expanded), showImages: Boolean(rest.showImages),
      isError: Boolean(rest.isError), ...HINTS, invalidate: () => ask("ui.invalidateTool", { toolCallId: callId }),
    },
  };
}

const failedDrawings = new Set();

/** What drawing comes to; undefined where it fails. */
function drawnNow(extension, event, draw) {
  if (isDisabled(extension.id)) return undefined;
  setOwner(extension.id);
  try {
    return draw();
  } catch (error) {
    // Every resize draws again, so a drawing that fails is no fault that could switch its guards off; it is told once.
    if (!failedDrawings.has(event)) report(extension.id, event, error);
    failedDrawings.add(event);
    return undefined;
  }
}

/** A component as lines; undefined makes the host draw its own. */
function linesOf(extension, event, make, width, kept) {
  const result = drawnNow(extension, event, () => {
    const component = make();
    if (!component || typeof component.render !== "function") return undefined;
    kept?.(component);
    return linesAt(component, width);
  });
  return { result };
}

export function renderToolCall(name, callId, args, width, options = {}) {
  const found = toolTable().get(name);
  if (!found || typeof found.tool.renderCall !== "function") return { result: undefined };
  const { before, key, context } = renderContext("call", callId, args, options);
  return linesOf(found.extension, `renderCall:${name}`, () => found.tool.renderCall(args, theme, context), width, (component) => keep(drawn, key, { ...before, component }));
}

/** Without a result: what the call has reported so far, where it has. */
export function renderToolResult(name, callId, whole, width, options = {}) {
  const found = toolTable().get(name);
  const result = whole ?? partials.get(callId);
  if (!result || !found || typeof found.tool.renderResult !== "function") return { result: undefined };
  const { before, key, context } = renderContext("result", callId, options.args, options);
  const view = { expanded: Boolean(options.expanded), isPartial: Boolean(options.isPartial) };
  return linesOf(found.extension, `renderResult:${name}`, () => found.tool.renderResult(result, view, theme, context), width, (component) => keep(drawn, key, { ...before, component }));
}

/** Drops what is kept for the drawing of a tool call that left the screen. */
export function forgetToolCall(callId) {
  drawn.delete(`call:${callId}`);
  drawn.delete(`result:${callId}`);
}

export function renderMessage(message, width, options = {}) {
  const found = findFirst("renderers", message.customType);
  if (!found) return { result: undefined };
  const view = { expanded: Boolean(options.expanded), ...HINTS };
  return linesOf(found.extension, `renderMessage:${message.customType}`, () => found.item(message, view, theme), width);
}

export function renderEntry(entry, width, options = {}) {
  const found = findFirst("entryRenderers", entry.customType);
  if (!found) return { result: undefined };
  return linesOf(found.extension, `renderEntry:${entry.customType}`, () => found.item(entry, { expanded: Boolean(options.expanded), ...HINTS }, theme), width);
}

/** Markdown of the assistant as extensions want it shown; each transformer sees the last one's text. */
export function transformMarkdown(text, options = {}) {
  let current = text;
  for (const extension of extensions.values()) {
    for (const transform of extension.transformers) {
      const next = drawnNow(extension, "markdown", () => transform(current, options));
      if (typeof next === "string") current = next;
    }
  }
  return current;
}
