// `ctx`: what a handler, a tool or a command can see and do in the session it runs in.
//
// Reads go to the host each time, so nothing here can be stale. The command context adds the calls that
// change sessions; its `model` is fixed at creation, as extensions of both generations expect.

import { action, ask, host, report } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { modelRegistry } from "./models.js";
import { sessionManager, writableSession } from "./session.js";
import { signalFor } from "./signals.js";
import { makeUi } from "./ui.js";

export function makeContext(extension, data = {}) {
  extension.ui ??= makeUi(extension);
  const mode = data.mode ?? ask("mode") ?? "tui";
  const ctx = {
    ui: extension.ui,
    mode,
    hasUI: data.hasUI ?? (mode === "tui" || mode === "rpc"),
    cwd: data.cwd ?? host.cwd(),
    sessionManager,
    modelRegistry,
    get model() {
      return ask("model.current") ?? undefined;
    },
    get scopedModels() {
      return ask("model.scoped") ?? [];
    },
    get signal() {
      return signalFor(data.signal);
    },
    isIdle: () => Boolean(ask("run.idle")),
    abort: () => void ask("run.abort"),
    hasPendingMessages: () => Boolean(ask("run.pending")),
    shutdown: () => void ask("run.shutdown"),
    getContextUsage: () => ask("run.usage") ?? undefined,
    getSystemPrompt: () => ask("run.systemPrompt") ?? "",
    getSystemPromptOptions: () => ask("run.systemPromptOptions") ?? {},
    isProjectTrusted: () => ask("project.trusted") ?? true,
    compact(options = {}) {
      action("run.compact", { customInstructions: options.customInstructions }).then(
        (result) => options.onComplete?.(result),
        (error) => (options.onError ? options.onError(error) : report(extension.id, "compact", error)),
      ).catch((error) => report(extension.id, "compact", error));
    },
  };
  return ctx;
}

export function makeCommandContext(extension, data = {}) {
  const ctx = makeContext(extension, data);
  const { model } = ctx;
  const replaced = async (answer, withSession) => {
    const result = { ...answer, cancelled: Boolean(answer?.cancelled) };
    if (!result.cancelled && withSession) await withSession(replacedContext(extension, data));
    return result;
  };
  return Object.defineProperties({}, {
    ...Object.getOwnPropertyDescriptors(ctx),
    model: { value: model, enumerable: true, configurable: true, writable: true },
    ...Object.getOwnPropertyDescriptors({
      waitForIdle: () => action("run.waitIdle").then(() => undefined),
      newSession: async ({ parentSession, setup, withSession } = {}) => {
        const entries = [];
        if (setup) await setup(writableSession(entries));
        return replaced(await action("session.new", { parentSession, entries: plain(entries) }), withSession);
      },
      fork: async (entryId, { position, withSession } = {}) => replaced(await action("session.fork", { entryId, position }), withSession),
      navigateTree: async (targetId, options = {}) => replaced(await action("session.navigate", { targetId, ...plain(options) })),
      switchSession: async (path, { withSession } = {}) => replaced(await action("session.switch", { path }), withSession),
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
