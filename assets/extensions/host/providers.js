// Model providers that extensions bring: their plain description goes to the host, their functions
// (streaming, login, token refresh) stay here and are called by name.

import { action, ask, describeError, report } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { attempt, extensions, findLast } from "./registry.js";
import { signalFor } from "./signals.js";

export function describeProvider(name, config, extension) {
  const { oauth } = config;
  return plain({
    name, path: extension.path, extension: extension.id, baseUrl: config.baseUrl, apiKey: config.apiKey, api: config.api, headers: config.headers,
    authHeader: config.authHeader, models: config.models, streams: typeof config.streamSimple === "function",
    oauth: oauth ? { name: oauth.name, modifiesModels: typeof oauth.modifyModels === "function" } : undefined,
  });
}

/** Providers that cannot be, with the reason: the host asks nobody of that name. */
export const providerMistakes = (extension) => [...extension.providerMistakes].map(([name, mistake]) => ({ name, path: extension.path, extension: extension.id, mistake }));

function check(name, config) {
  if (!config || typeof config !== "object") throw new TypeError(`provider "${name}" needs a configuration object`);
  if (config.models?.length && !config.baseUrl && !config.streamSimple) throw new Error(`Provider ${name}: "baseUrl" is required when defining models.`);
  if (config.streamSimple && !config.api) throw new Error(`Provider ${name}: "api" is required when registering streamSimple.`);
  if (config.models?.length && !config.apiKey && !config.oauth) throw new Error(`Provider ${name}: "apiKey" or "oauth" is required when defining models.`);
}

/** While a file loads, a provider that cannot be is reported: what else the file registers counts. */
export function registerProvider(extension, name, config) {
  try {
    check(name, config);
  } catch (error) {
    const { message } = describeError(error);
    extension.providerMistakes.set(name, message);
    if (extension.loading) return void report(extension.id, "register_provider", error);
    ask("registered", { kind: "provider", name, config: { mistake: message } });
    throw error;
  }
  extension.providerMistakes.delete(name);
  const before = extension.providers.get(name);
  const given = Object.entries(config).filter(([, value]) => value !== undefined);
  extension.providers.set(name, before ? { ...before, ...Object.fromEntries(given) } : config);
  if (!extension.loading) ask("registered", { kind: "provider", name, config: describeProvider(name, extension.providers.get(name), extension) });
}

export function forgetProvider(extension, name) {
  extension.providers.delete(name);
  extension.providerMistakes.delete(name);
  if (!extension.loading) ask("unregistered", { kind: "provider", name });
}

const found = (name) => {
  const provider = findLast("providers", name);
  if (!provider) throw new Error(`no extension registered the provider "${name}"`);
  return provider;
};

// Characters of all pieces of one answer.
const LARGEST_ANSWER = 32 << 20;

/** What the host needs of an event: whole messages come with the last one alone, or each piece would bring along all before it. */
function slim({ type, delta, toolCall, contentIndex, partial, reason, message, error }) {
  const call = type === "toolcall_end" ? toolCall ?? partial?.content?.[contentIndex] : undefined;
  return plain({ type, delta, toolCall: call, reason, message, error });
}

/**
 * Runs the provider's own stream and hands each event to the host as it comes. Answers with the whole message where no event
 * held it. The provider is that of one file: no other extension answers under its name.
 */
export async function streamProvider({ provider, path, model, context, options = {}, signal }, emit) {
  const extension = [...extensions.values()].findLast((one) => one.path === path && one.providers.has(provider));
  const config = extension?.providers.get(provider);
  if (typeof config?.streamSimple !== "function") return { error: { message: `${path} registers no provider "${provider}" that answers by itself`, path, event: "provider" } };
  const known = config.models?.find(({ id }) => id === model.id);
  const whole = { name: model.id, reasoning: false, input: ["text"], baseUrl: config.baseUrl ?? "", headers: config.headers, ...known, ...model, provider, api: known?.api ?? config.api };
  const answer = await attempt(extension, `provider:${provider}`, async () => {
    const stream = await config.streamSimple(whole, context, { ...options, signal: signalFor(signal) });
    let size = 0;
    for await (const event of stream) {
      size += 16 + (typeof event.delta === "string" ? event.delta.length : 0);
      if (size > LARGEST_ANSWER) throw new Error("its answer is too large");
      emit(slim(event));
      if (event.type === "done" || event.type === "error") return null;
    }
    // A stream that ended without a word has no result, and never will.
    const nothing = Promise.resolve().then(() => Promise.resolve()).then(() => null);
    return plain(await Promise.race([Promise.resolve(stream.result?.()), nothing]));
  });
  return answer.error ? { error: answer.error } : { result: answer.result };
}

/** `login` asks the person through the host; the others only compute. */
export async function providerAuth({ provider, step, credentials, models, signal }) {
  const { item, extension } = found(provider);
  const answer = await attempt(extension, step, async () => {
    const given = await stepOf(item.oauth, extension, { provider, step, credentials, models, signal });
    if (given === null || given === undefined) throw new Error(`its ${step} gave nothing`);
    return plain(given);
  });
  return answer.error ? { error: answer.error } : { result: answer.result };
}

function stepOf(oauth, extension, { provider, step, credentials, models, signal }) {
  if (!oauth) throw new Error(`the provider "${provider}" has no login`);
  switch (step) {
    case "login":
      return oauth.login({
        onAuth: (info) => void action("login.open", { provider, ...plain(info) }).catch((error) => report(extension.id, "login", error)),
        onDeviceCode: (info) => void action("login.open", { provider, ...plain(info) }).catch((error) => report(extension.id, "login", error)),
        onPrompt: (prompt) => action("login.prompt", { provider, ...plain(prompt) }),
        onManualCodeInput: () => action("login.prompt", { provider, message: "Paste the code" }),
        onSelect: (prompt) => action("login.select", { provider, ...plain(prompt) }),
        onProgress: (message) => void ask("login.progress", { provider, message: String(message) }),
        signal: signalFor(signal),
      });
    case "refresh": return oauth.refreshToken(credentials);
    case "key": return oauth.getApiKey(credentials);
    case "models": return oauth.modifyModels ? oauth.modifyModels(models, credentials) : models;
    default: throw new Error(`unknown login step "${step}"`);
  }
}
