// `ctx`: what a handler, a tool or a command can see and do in the session it runs in.
//
// Reads go to the host each time, so nothing here can be stale. The command context adds the calls that
// change sessions; its `model` is fixed at creation, as extensions of both generations expect.

import { action, ask, host, report } from "../runtime/bridge.js";
import { own, plain } from "../runtime/clone.js";
import { modelRegistry } from "./models.js";
import { sessionManager, writableSession } from "./session.js";
import { signalFor, turnSignal } from "./signals.js";
import { makeUi } from "./ui.js";

export const isProjectTrusted = () => ask("project.trusted") ?? false;

// The calls that need nothing of the single context, made once: a context is made for every handler.
const CALLS = {
  isIdle: () => Boolean(ask("run.idle")),
  abort: () => void ask("run.abort"),
  hasPendingMessages: () => Boolean(ask("run.pending")),
  shutdown: () => void ask("run.shutdown"),
  getContextUsage: () => ask("run.usage") ?? undefined,
  getSystemPrompt: () => ask("run.systemPrompt") ?? "",
  getSystemPromptOptions: () => ask("run.systemPromptOptions") ?? {},
  isProjectTrusted,
};

const compactFor = (extension) => (options = {}) => {
  action("run.compact", { customInstructions: options.customInstructions }).then(
    (result) => options.onComplete?.(result),
    (error) => (options.onError ? options.onError(error) : report(extension.id, "compact", error)),
  ).catch((error) => report(extension.id, "compact", error));
};

/**
 * The context of an extension. It only reads, so the one of the last call serves again while what the
 * host says about the call (signal, mode, folder) is the same.
 */
export function contextFor(extension, data = {}) {
  const last = extension.lastContext;
  if (last && last.signal === data.signal && last.mode === data.mode && last.hasUI === data.hasUI && last.cwd === data.cwd) return last.ctx;
  const ctx = makeContext(extension, data);
  extension.lastContext = { ctx, signal: data.signal, mode: data.mode, hasUI: data.hasUI, cwd: data.cwd };
  return ctx;
}

/** Own, enumerable getters, so that copies by spreading work; each is asked when it is read. */
function makeContext(extension, data) {
  extension.compact ??= compactFor(extension);
  const { isIdle, abort, hasPendingMessages, shutdown, getContextUsage, getSystemPrompt, getSystemPromptOptions } = CALLS;
  return {
    get ui() {
      return (extension.ui ??= makeUi(extension));
    },
    get mode() {
      return data.mode ?? ask("mode") ?? "tui";
    },
    get hasUI() {
      return data.hasUI ?? ["tui", "rpc"].includes(data.mode ?? ask("mode") ?? "tui");
    },
    get cwd() {
      return data.cwd ?? host.cwd();
    },
    sessionManager,
    modelRegistry,
    get model() {
      return ask("model.current") ?? undefined;
    },
    get scopedModels() {
      return ask("model.scoped") ?? [];
    },
    get signal() {
      return signalFor(data.signal) ?? turnSignal();
    },
    isIdle, abort, hasPendingMessages, shutdown, getContextUsage, getSystemPrompt, getSystemPromptOptions, isProjectTrusted,
    compact: extension.compact,
  };
}

let askBeforeLeaving = async () => ({ outcome: undefined });
/** Whoever dispatches events says here how those are asked who may keep the person in a session. */
export const onLeaving = (ask) => void (askBeforeLeaving = ask);

/** Whether some extension wants the person to stay: asked before a command leads them elsewhere. */
async function keeps(event, payload) {
  const { outcome } = await askBeforeLeaving(event, payload);
  return Boolean(own(outcome, "cancel"));
}

export function makeCommandContext(extension, data = {}) {
  const ctx = contextFor(extension, data);
  const { model } = ctx;
  const replaced = async (leaving, name, payload, withSession) => {
    if (await keeps(...leaving)) return { cancelled: true };
    const answer = await action(name, await payload());
    const result = { ...answer, cancelled: Boolean(answer?.cancelled) };
    if (!result.cancelled && withSession) await withSession(replacedContext(extension, data));
    return result;
  };
  return Object.defineProperties({}, {
    ...Object.getOwnPropertyDescriptors(ctx),
    model: { value: model, enumerable: true, configurable: true, writable: true },
    ...Object.getOwnPropertyDescriptors({
      waitForIdle: () => action("run.waitIdle").then(() => undefined),
      newSession: ({ parentSession, setup, withSession } = {}) =>
        replaced(["session_before_switch", { reason: "new" }], "session.new", async () => {
          const entries = [];
          if (setup) await setup(writableSession(entries));
          return { parentSession, entries: plain(entries) };
        }, withSession),
      fork: (entryId, { position, withSession } = {}) =>
        replaced(["session_before_fork", { entryId, position: position ?? "before" }], "session.fork", () => ({ entryId, position }), withSession),
      navigateTree: (targetId, options = {}) => {
        const preparation = ask("session.treePreparation", { targetId, summarize: Boolean(options.summarize) });
        return replaced(["session_before_tree", { preparation }], "session.navigate", () => ({ targetId, ...plain(options) }));
      },
      switchSession: (path, { withSession } = {}) =>
        replaced(["session_before_switch", { reason: "resume", targetSessionFile: path }], "session.switch", () => ({ path }), withSession),
      reload: () => action("reload").then(() => undefined),
    }),
  });
}

/** Also sends: in the session that just replaced the old one. */
function replacedContext(extension, data) {
  const ctx = makeCommandContext(extension, data);
  ctx.sendMessage = (message, options = {}) => action("message.send", { message: plain(message), options: plain(options) });
  ctx.sendUserMessage = (content, options = {}) => action("message.sendUser", { content: plain(content), options: plain(options) });
  return ctx;
}
