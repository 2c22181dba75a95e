// The pi-ai module: models and calls of them through the host, schemas, and stubs for the rest.

import { makeType } from "../typebox/builder.js";
import { withStubs } from "../stubs.js";
import { emptyUsage, streamAs } from "./stream.js";

export { AssistantMessageEventStream, EventStream, complete, completeSimple, createAssistantMessageEventStream, stream, streamSimple } from "./stream.js";
export {
  calculateCost, clampThinkingLevel, findEnvKeys, getEnvApiKey, getModel, getModels, getOverflowPatterns, getProviders,
  getSupportedThinkingLevels, isContextOverflow, modelsAreEqual, supportsXhigh,
} from "./models.js";
export { parseJsonWithRepair, parseStreamingJson, repairJson, validateToolArguments, validateToolCall } from "./json.js";

export const Type = withStubs("pi-ai", makeType(false));

/** A string that is one of a list, as providers understand it best. */
export function StringEnum(values, options = {}) {
  return { ...options, type: "string", enum: [...values] };
}

/** A UUID of version 7 (RFC 9562): the time in milliseconds, then random bits. */
export function uuidv7() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const now = Date.now();
  for (let i = 0; i < 6; i += 1) bytes[i] = Math.floor(now / 2 ** (8 * (5 - i))) % 256;
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export const formatThrownValue = (value) => (value instanceof Error ? value.message : String(value));
export const fauxText = (text) => ({ type: "text", text });
export const fauxThinking = (thinking) => ({ type: "thinking", thinking });
export const fauxToolCall = (name, args, options = {}) => ({ type: "toolCall", id: options.id ?? `call-${name}`, name, arguments: args });
export const fauxAssistantMessage = (content, options = {}) => ({
  role: "assistant", content: typeof content === "string" ? [fauxText(content)] : [].concat(content), api: "faux", provider: "faux", model: "faux-1",
  usage: emptyUsage(), stopReason: options.stopReason ?? "stop", errorMessage: options.errorMessage, timestamp: options.timestamp ?? Date.now(),
});

export const streamAnthropic = streamAs("anthropic-messages");
export const streamAzureOpenAIResponses = streamAs("azure-openai-responses");
export const streamGoogle = streamAs("google-generative-ai");
export const streamGoogleGeminiCli = streamAs("google-gemini-cli");
export const streamGoogleVertex = streamAs("google-vertex");
export const streamMistral = streamAs("mistral-conversations");
export const streamOpenAICodexResponses = streamAs("openai-codex-responses");
export const streamOpenAICompletions = streamAs("openai-completions");
export const streamOpenAIResponses = streamAs("openai-responses");
export const streamSimpleAnthropic = streamAs("anthropic-messages");
export const streamSimpleAzureOpenAIResponses = streamAs("azure-openai-responses");
export const streamSimpleGoogle = streamAs("google-generative-ai");
export const streamSimpleGoogleGeminiCli = streamAs("google-gemini-cli");
export const streamSimpleGoogleVertex = streamAs("google-vertex");
export const streamSimpleMistral = streamAs("mistral-conversations");
export const streamSimpleOpenAICodexResponses = streamAs("openai-codex-responses");
export const streamSimpleOpenAICompletions = streamAs("openai-completions");
export const streamSimpleOpenAIResponses = streamAs("openai-responses");

export const {
  appendAssistantMessageDiagnostic, buildRequest, cleanupSessionResources, clearApiProviders, convertMessages,
  createAssistantMessageDiagnostic, extractDiagnosticError, extractRetryDelay, getApiProvider, getApiProviders, registerApiProvider,
  registerBuiltInApiProviders, registerFauxProvider, registerSessionResourceCleanup, resetApiProviders, setBedrockProviderModule,
  unregisterApiProviders,
} = withStubs("pi-ai");
