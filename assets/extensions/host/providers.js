// Model providers that extensions bring: their plain description goes to the host, their functions
// (streaming, login, token refresh) stay here and are called by name.

import { action, ask, report } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { findLast } from "./registry.js";
import { signalFor } from "./signals.js";

export function describeProvider(name, config, extension) {
  const { oauth } = config;
  return plain({
    name, path: extension.path, extension: extension.id, baseUrl: config.baseUrl, apiKey: config.apiKey, api: config.api, headers: config.headers,
    authHeader: config.authHeader, models: config.models, streams: typeof config.streamSimple === "function",
    oauth: oauth ? { name: oauth.name, modifiesModels: typeof oauth.modifyModels === "function" } : undefined,
  });
}

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
    if (!extension.loading) throw error;
    return void report(extension.id, "register_provider", error);
  }
  const before = extension.providers.get(name);
  const given = Object.entries(config).filter(([, value]) => value !== undefined);
  extension.providers.set(name, before ? { ...before, ...Object.fromEntries(given) } : config);
  if (!extension.loading) ask("registered", { kind: "provider", name, config: describeProvider(name, extension.providers.get(name), extension) });
}

export function forgetProvider(extension, name) {
  extension.providers.delete(name);
  if (!extension.loading) ask("unregistered", { kind: "provider", name });
}

const found = (name) => {
  const provider = findLast("providers", name);
  if (!provider) throw new Error(`no extension registered the provider "${name}"`);
  return provider;
};

/** Runs the provider's own stream and hands each event to the host as it comes. */
export async function streamProvider({ provider, model, context, options = {}, signal }, emit) {
  const { item } = found(provider);
  const stream = item.streamSimple(model, context, { ...options, signal: signalFor(signal) });
  for await (const event of stream) emit(plain(event));
  return plain(await stream.result?.());
}

/** `login` asks the person through the host; the others only compute. */
export async function providerAuth({ provider, step, credentials, models, signal }) {
  const { item, extension } = found(provider);
  const { oauth } = item;
  if (!oauth) throw new Error(`the provider "${provider}" has no login`);
  switch (step) {
    case "login":
      return plain(await oauth.login({
        onAuth: (info) => void action("login.open", { provider, ...plain(info) }).catch((error) => report(extension.id, "login", error)),
        onDeviceCode: (info) => void action("login.open", { provider, ...plain(info) }).catch((error) => report(extension.id, "login", error)),
        onPrompt: (prompt) => action("login.prompt", { provider, ...plain(prompt) }),
        onManualCodeInput: () => action("login.prompt", { provider, message: "Paste the code" }),
        onSelect: (prompt) => action("login.select", { provider, ...plain(prompt) }),
        onProgress: (message) => void ask("login.progress", { provider, message: String(message) }),
        signal: signalFor(signal),
      }));
    case "refresh": return plain(await oauth.refreshToken(credentials));
    case "key": return oauth.getApiKey(credentials);
    case "models": return plain(oauth.modifyModels ? oauth.modifyModels(models, credentials) : models);
    default: throw new Error(`unknown login step "${step}"`);
  }
}

