// Events to handlers: one call at a time for a host that merges itself, or a whole chain at once.
//
// Each call gives a record: which handler, how long, what it answered or how it failed. A chain keeps
// the event's value on this side, so that a long message list crosses the boundary once and not once
// per handler. Errors are values; nothing here throws into the host.

import { describeError, isDisabled, now, report, setOwner } from "../runtime/bridge.js";
import { own, plain } from "../runtime/clone.js";
import { contextFor, onLeaving } from "./context.js";
import { handlerById, handlersOf } from "./registry.js";
import { EDITED, editsOf, ruleFor } from "./merge.js";
import { follow, signalFor } from "./signals.js";
import { onPrompt } from "./ui.js";

/** `{id, path, extension, index}` of every handler of an event, in the order they are to be asked. */
export const handlers = (event) =>
  handlersOf(event).map(({ id, extension, index }) => ({ id, path: extension.path, extension: extension.id, index }));

// Taken before any extension runs.
const NativePromise = Promise;
const { getPrototypeOf, prototype: ObjectPrototype } = Object;

// Events whose own object the handler may change in place, and the field that is handed back.
const IN_PLACE = { tool_call: "input", context: "messages", before_provider_request: "payload", before_provider_headers: "headers" };

/** Whether an answer is no more than its fields. */
const isPlain = (answer) => typeof answer === "object" && (getPrototypeOf(answer) === ObjectPrototype || getPrototypeOf(answer) === null);

// Events whose answers are large.
const LARGE = ["context", "before_provider_request"];

/**
 * Signals arrive as numbers; handlers get the object. Sets that crossed as lists become sets again. A piece of an answer
 * has the answer so far, which crosses once.
 */
function dress(event, payload, ctxData) {
  const value = { type: event, ...payload };
  if (event === "session_before_compact" && ctxData?.signal !== undefined) value.signal = ctxData.signal;
  const piece = value.assistantMessageEvent;
  if (event === "message_update" && piece?.partial === true) value.assistantMessageEvent = { ...piece, partial: value.message };
  if (typeof value.signal === "number") value.signal = signalFor(value.signal);
  const files = value.preparation?.fileOps;
  if (files) {
    value.preparation = { ...value.preparation, fileOps: Object.fromEntries(Object.entries(files).map(([name, list]) => [name, Array.isArray(list) ? new Set(list) : list])) };
  }
  return value;
}

/** Handlers of a prompt see the system prompt as those before them left it, wherever they look for it. */
function contextOf(extension, event, { systemPrompt }, ctxData) {
  const ctx = contextFor(extension, ctxData);
  if (event !== "before_agent_start" || typeof systemPrompt !== "string") return ctx;
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(ctx));
  copy.getSystemPrompt = () => systemPrompt;
  return copy;
}

// What came of a handler has both fields of its own: what an extension did to the prototype of all objects has no say.
const answered = (result) => ({ result, error: undefined });
const failed = (error) => ({ result: undefined, error });
const failure = ({ path }, event, problem) => failed({ ...describeError(problem), path, event });

/**
 * One handler, with everything around it: what came of it, or a promise of that where the handler gives one. Every
 * `await` costs the engine a round through its job queue, so nothing waits for a handler that answers at once.
 */
function run(handler, event, value, ctxData, rule) {
  const { extension } = handler;
  if (isDisabled(extension.id)) return failed({ message: "the extension is switched off", path: extension.path, event });
  setOwner(extension.id);
  follow(event);
  try {
    const result = handler.run(value, rule.withoutContext ? undefined : contextOf(extension, event, value, ctxData));
    if (typeof result?.then !== "function") return answered(result);
    return NativePromise.resolve(result).then(answered, (problem) => failure(extension, event, problem));
  } catch (problem) {
    return failure(extension, event, problem);
  }
}

/** Tells those who watch, behind what is being done now. Nobody waits for them. */
function tell(event, payload) {
  queueMicrotask(async () => {
    for (const handler of handlersOf(event)) {
      const { error } = await run(handler, event, { type: event, ...payload }, undefined, ruleFor(event));
      if (error) report(handler.extension.id, event, error);
    }
  });
}
onPrompt(tell);

const operations = new Map();
let nextOperation = 1;

/** An answer as plain data. Functions of `operations` stay here and are called by number. */
function crossing(event, answer) {
  if (event === "user_bash" && own(answer, "operations")) {
    const id = nextOperation++;
    operations.set(id, answer.operations);
    return { operations: id };
  }
  return plain(answer);
}

/** Runs the command of a `user_bash` answer; output goes to `emit` piece by piece. */
export async function callOperations(id, { command, cwd, signal, timeout, env }, emit) {
  const found = operations.get(id);
  // An answer serves one command.
  operations.delete(id);
  if (!found || typeof found.exec !== "function") throw new Error("these bash operations are gone");
  const outcome = await found.exec(command, cwd, { onData: emit, signal: signalFor(signal), timeout, env });
  return { exitCode: outcome?.exitCode ?? null };
}

/** What crosses where nothing came of a handler. */
const NOTHING = Object.freeze({});

/**
 * One handler. The answer, and for events that are changed in place, the value as it is now; a promise of that where the
 * handler gives one. An embedder that reads values itself gives `isSame(field, value)`, which tells whether a field is still
 * what it gave: then only what changed crosses, and no copy of it is made first. One that reads conversations itself gives
 * `takeMessages(messages)`, which takes those that there are now, and tells whether they are a list.
 */
export function callHandler(id, event, value, ctxData, isSame, takeMessages) {
  const handler = handlerById(id);
  if (!handler) return { error: { message: "no such handler", path: "<runtime>", event } };
  const seen = dress(event, value, ctxData);
  const edited = EDITED[event];
  const edits = edited && editsOf(seen, edited);
  const came = run(handler, event, seen, ctxData, ruleFor(event));
  const { path } = handler.extension;
  if (came instanceof NativePromise) return came.then((came) => told(came, event, path, seen, edits, isSame, takeMessages));
  return told(came, event, path, seen, edits, isSame, takeMessages);
}

/** What crosses of what came of a handler. */
function told(came, event, path, seen, edits, isSame, takeMessages) {
  if (came.error !== undefined) return { error: came.error };
  // Headers are changed in place alone.
  const result = event === "before_provider_headers" ? undefined : came.result;
  const isSilent = result === undefined || result === null;
  try {
    if (takeMessages && (isSilent || isPlain(result))) {
      const messages = own(result, "messages");
      if (messages !== null && takeMessages(messages === undefined ? seen.messages : messages)) {
        return { result: messages === undefined ? result : undefined, taken: true };
      }
    }
    const field = IN_PLACE[event];
    // What is answered counts before what was changed in place, and need not cross twice.
    const isChanged = field !== undefined && own(result, field) === undefined && !isSame?.(field, seen[field]);
    if (isSilent && !edits && !isChanged) return NOTHING;
    // What is large is read by an embedder that reads values itself, which needs no copy of it.
    let answer = isSame && LARGE.includes(event) ? result : crossing(event, result);
    if (edits) answer = withEdits(answer, edits(EDITED[event].some((name) => own(result, name) !== undefined)));
    return isChanged ? { result: answer, value: isSame ? seen[field] : plain(seen[field]) } : { result: answer };
  } catch (problem) {
    return { error: { message: `its answer cannot be used: ${problem.message}`, path, event } };
  }
}

/** What was edited in place beside what was answered, which counts before it. */
function withEdits(answer, edits) {
  if (Object.keys(edits).length === 0) return answer;
  return plain({ ...edits, ...(answer !== null && typeof answer === "object" ? answer : {}) });
}

const chains = new Map();
let nextChain = 1;

/** Opens a chain over an event; step it handler by handler, then close it for the outcome. */
export function openChain(event, payload, ctxData, filter) {
  const id = nextChain++;
  const list = filter ? handlersOf(event).filter(filter) : handlersOf(event);
  chains.set(id, { event, rule: ruleFor(event), state: undefined, payload: dress(event, payload, ctxData), ctxData, list, records: [] });
  return { chain: id, handlers: list.map(({ id: handler, extension, index }) => ({ id: handler, path: extension.path, extension: extension.id, index })) };
}

/** Asks the next handler. `stop` is true when the answer ends the chain, or nobody is left. */
export async function stepChain(id) {
  const chain = chains.get(id);
  const handler = chain?.list.shift();
  if (!handler) return { stop: true };
  const { rule } = chain;
  chain.state ??= rule.start(chain.payload);
  return step(chain, handler);
}

/** Asks a handler of a chain, and folds what it answers into that. */
async function step(chain, handler) {
  const { rule, event, state, ctxData } = chain;
  const started = now();
  const came = await run(handler, event, rule.event(state), ctxData, rule);
  return settle(chain, { handler: handler.id, path: handler.extension.path, ms: now() - started, ...came });
}

/** Folds what a handler answered into the chain. */
function settle(chain, { handler, path, ms, result, error }) {
  const { rule, event } = chain;
  const record = { handler, path, ms };
  let stop = false;
  if (error) {
    record.error = error;
    if (rule.failed) stop = rule.failed(chain.state, error.message);
  } else {
    record.answered = result !== undefined;
    try {
      stop = rule.take(chain.state, result, path);
    } catch (problem) {
      // An answer that cannot be read counts as a failure of its handler.
      record.error = { ...describeError(problem), path, event };
      if (rule.failed) stop = rule.failed(chain.state, record.error.message);
    }
  }
  if (stop) chain.list = [];
  chain.records.push(record);
  return { stop: stop || chain.list.length === 0, record };
}

/** The merged outcome so far, also when some handlers were never asked. */
export function closeChain(id) {
  const chain = chains.get(id);
  if (!chain) return { outcome: undefined, records: [] };
  chains.delete(id);
  const { event, rule, records } = chain;
  try {
    const outcome = rule.end(chain.state ?? rule.start(chain.payload));
    return { outcome: event === "user_bash" ? crossing(event, outcome) : plain(outcome), records };
  } catch (problem) {
    const path = records.at(-1)?.path ?? "<runtime>";
    records.push({ path, ms: 0, error: { message: `the outcome cannot be used: ${problem.message}`, path, event } });
    const untouched = rule.start(chain.payload);
    const blocked = event === "tool_call" ? { block: true, reason: `an extension made the call unusable: ${problem.message}` } : {};
    return { outcome: { ...plain(rule.end(untouched)), ...blocked }, records };
  }
}

/** All handlers of an event in order. For an event that nobody hears this costs one look-up. */
export async function dispatch(event, payload = {}, ctxData = {}, filter) {
  const { chain: id, handlers: list } = openChain(event, payload, ctxData, filter);
  const chain = chains.get(id);
  if (list.length > 0) chain.state = chain.rule.start(chain.payload);
  while (chain.list.length > 0) {
    await step(chain, chain.list.shift());
  }
  return closeChain(id);
}

onLeaving(async (event, payload) => {
  const asked = await dispatch(event, payload);
  for (const { error, path } of asked.records) if (error) report(undefined, event, error, { path });
  return asked;
});

const OLD_NAMES = { new: "session_switch", resume: "session_switch", fork: "session_fork" };

/**
 * A change of session for both generations of extensions. One that listens to `session_switch` or
 * `session_fork` was written for them and expects no `session_start` then; all others get
 * `session_start` with its reason.
 */
export async function announceSession({ reason, previousSessionFile }, ctxData) {
  const old = OLD_NAMES[reason];
  const listensToOld = ({ extension }) => old !== undefined && extension.handlers.some((handler) => handler.event === old);
  const first = old ? await dispatch(old, { reason, previousSessionFile }, ctxData) : { records: [] };
  const start = await dispatch("session_start", { reason, previousSessionFile }, ctxData, (handler) => !listensToOld(handler));
  return { outcome: undefined, records: [...first.records, ...start.records] };
}
