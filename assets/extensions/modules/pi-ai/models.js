// Models by provider and id, their cost, and small questions about them. The list is the host's.

import { ask } from "../../runtime/bridge.js";

const all = () => ask("model.list") ?? [];

export const getModel = (provider, id) => ask("model.find", { provider, id }) ?? undefined;
export const getModels = (provider) => all().filter((model) => model.provider === provider);
export const getProviders = () => [...new Set(all().map((model) => model.provider))];
export const modelsAreEqual = (a, b) => Boolean(a && b && a.id === b.id && a.provider === b.provider);
export const supportsXhigh = (model) => Boolean(model?.thinkingLevels?.includes("xhigh"));
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
export const getSupportedThinkingLevels = (model) => (model?.reasoning ? model.thinkingLevels ?? LEVELS.slice(0, 5) : ["off"]);
export function clampThinkingLevel(model, level) {
  const levels = getSupportedThinkingLevels(model);
  if (levels.includes(level)) return level;
  const at = LEVELS.indexOf(level);
  return levels.filter((item) => LEVELS.indexOf(item) <= at).at(-1) ?? levels[0];
}

/** Fills in `usage.cost` from the model's prices per million tokens, and returns it. */
export function calculateCost(model, usage) {
  const { cost } = usage;
  for (const part of ["input", "output", "cacheRead", "cacheWrite"]) cost[part] = ((model.cost[part] ?? 0) / 1e6) * usage[part];
  cost.total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
  return cost;
}

const OVERFLOW = [
  /prompt is too long/i, /input is too long/i, /exceeds the context window/i, /input token count.*exceeds the maximum/i, /maximum prompt length is \d+/i,
  /reduce the length of the messages/i, /maximum context length is \d+ tokens/i, /exceeds the limit of \d+/i, /context window exceeds limit/i,
  /exceeds the available context size/i, /greater than the context length/i, /context[_ ]length[_ ]exceeded/i, /too many tokens/i, /token limit exceeded/i,
];
export const getOverflowPatterns = () => [...OVERFLOW];

/** Whether an answer failed because the conversation was too long for the model. */
export function isContextOverflow(message, contextWindow) {
  if (message.stopReason === "error" && message.errorMessage) return OVERFLOW.some((pattern) => pattern.test(message.errorMessage));
  return Boolean(contextWindow && message.stopReason === "stop" && message.usage.input + message.usage.cacheRead > contextWindow);
}

const KEYS = {
  anthropic: ["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"], openai: ["OPENAI_API_KEY"], google: ["GEMINI_API_KEY"], groq: ["GROQ_API_KEY"],
  cerebras: ["CEREBRAS_API_KEY"], xai: ["XAI_API_KEY"], openrouter: ["OPENROUTER_API_KEY"], mistral: ["MISTRAL_API_KEY"], zai: ["ZAI_API_KEY"],
  "github-copilot": ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"], huggingface: ["HF_TOKEN"],
};
/** Only finds a key that the host lets this extension's environment have. */
export const getEnvApiKey = (provider) => (KEYS[provider] ?? []).map((name) => globalThis.process.env[name]).find(Boolean);
export const findEnvKeys = (provider) => (KEYS[provider] ?? []).filter((name) => globalThis.process.env[name]);
