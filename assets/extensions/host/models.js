// ctx.modelRegistry: models and keys as the host has them. Keys are fetched on request and never kept.

import { action, ask } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { extensions, findLast } from "./registry.js";
import { complete, completeSimple, stream, streamSimple } from "../modules/pi-ai/stream.js";

export const modelRegistry = Object.freeze({
  getAll: () => ask("model.list") ?? [],
  getAvailable: () => ask("model.available") ?? [],
  find: (provider, id) => ask("model.find", { provider, id }) ?? undefined,
  hasConfiguredAuth: (model) => Boolean(ask("model.hasKey", { provider: model?.provider })),
  isUsingOAuth: (model) => Boolean(ask("model.usesLogin", { provider: model?.provider })),
  getApiKey: (model) => action("model.key", { provider: model?.provider, model: model?.id }).then((key) => key ?? undefined),
  getApiKeyForProvider: (provider) => action("model.key", { provider }).then((key) => key ?? undefined),
  getApiKeyAndHeaders: async (model) => {
    const key = await action("model.key", { provider: model?.provider, model: model?.id });
    // No key is an answer, too: some servers need none, and whoever asked looks at the field.
    return { ok: true, apiKey: key ?? undefined, headers: model?.headers };
  },
  getProviderAuthStatus: (provider) => ({ configured: Boolean(ask("model.hasKey", { provider })) }),
  getProviderDisplayName: (provider) => findLast("providers", provider)?.item.name ?? provider,
  getRegisteredProviderIds: () => [...new Set([...extensions.values()].flatMap((extension) => [...extension.providers.keys()]))],
  getError: () => undefined,
  // Since pi 0.86; the functions of pi-ai do the same.
  complete, completeSimple, stream, streamSimple,
  refresh: () => {},
  registerProvider: (name, config) => ask("registered", { kind: "provider", name, config: plain(config) }),
  authStorage: { getApiKey: (provider) => action("model.key", { provider }).then((key) => key ?? undefined), hasAuth: (provider) => Boolean(ask("model.hasKey", { provider })) },
});
