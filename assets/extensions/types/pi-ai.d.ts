// Types of the `pi-ai` package: messages, models, and calls of a model.

import type { TSchema, TUnsafe } from "typebox";
export { Type, type Static, type TSchema } from "typebox";

export interface TextContent {
  type: "text";
  text: string;
}
export interface ImageContent {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
}
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
}
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, any>;
}
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  /** Of messages of a thread the `total` is known. */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted";

export interface UserMessage {
  role: "user";
  content: string | (TextContent | ImageContent)[];
  timestamp: number;
}
export interface AssistantMessage {
  role: "assistant";
  content: (TextContent | ThinkingContent | ToolCall)[];
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: StopReason;
  errorMessage?: string;
  timestamp: number;
}
export interface ToolResultMessage<D = any> {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextContent | ImageContent)[];
  details?: D;
  isError: boolean;
  timestamp: number;
}
export type Message = UserMessage | AssistantMessage | ToolResultMessage;

export type Api = string;
export interface Model<A extends Api = Api> {
  id: string;
  name: string;
  api: A;
  provider: string;
  baseUrl: string;
  reasoning: boolean;
  input: ("text" | "image")[];
  /** US dollars for a million tokens. */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
  contextWindow: number;
  maxTokens: number;
  headers?: Record<string, string>;
  compat?: unknown;
}
export interface Tool {
  name: string;
  description: string;
  parameters: TSchema;
}
export interface Context {
  systemPrompt?: string;
  messages: Message[];
  tools?: Tool[];
}
export interface StreamOptions {
  apiKey?: string;
  maxTokens?: number;
  temperature?: number;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  reasoning?: string;
  [key: string]: unknown;
}
export type SimpleStreamOptions = StreamOptions;
export type AssistantMessageEvent =
  | { type: "start"; partial: AssistantMessage }
  | { type: "text_start" | "thinking_start" | "toolcall_start"; contentIndex: number; partial: AssistantMessage }
  | { type: "text_delta" | "thinking_delta" | "toolcall_delta"; contentIndex: number; delta: string; partial: AssistantMessage }
  | { type: "text_end" | "thinking_end"; contentIndex: number; content: string; partial: AssistantMessage }
  | { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall; partial: AssistantMessage }
  | { type: "done"; reason: "stop" | "length" | "toolUse"; message: AssistantMessage }
  | { type: "error"; reason: "error" | "aborted"; error: AssistantMessage };

export declare class EventStream<T, R = T> implements AsyncIterable<T> {
  constructor(isComplete: (event: T) => boolean, extractResult: (event: T) => R);
  push(event: T): void;
  end(result?: R): void;
  result(): Promise<R>;
  [Symbol.asyncIterator](): AsyncIterator<T>;
}
export declare class AssistantMessageEventStream extends EventStream<AssistantMessageEvent, AssistantMessage> {
  constructor();
}
export declare function createAssistantMessageEventStream(): AssistantMessageEventStream;

/** Calls a model through levain: its keys, limits and prices apply. */
export declare function complete(model: Model<any>, context: Context, options?: StreamOptions): Promise<AssistantMessage>;
export declare function completeSimple(model: Model<any>, context: Context, options?: StreamOptions): Promise<AssistantMessage>;
export declare function stream(model: Model<any>, context: Context, options?: StreamOptions): AssistantMessageEventStream;
export declare function streamSimple(model: Model<any>, context: Context, options?: StreamOptions): AssistantMessageEventStream;
export declare const streamSimpleAnthropic: typeof streamSimple;
export declare const streamSimpleOpenAIResponses: typeof streamSimple;
export declare const streamSimpleOpenAICompletions: typeof streamSimple;
export declare function uuidv7(): string;
export declare function getModel(provider: string, id: string): Model<any> | undefined;
export declare function getModels(provider: string): Model<any>[];
export declare function getProviders(): string[];
export declare function calculateCost(model: Model<any>, usage: Usage): Usage["cost"];
export declare function isContextOverflow(message: AssistantMessage, contextWindow?: number): boolean;
export declare function parseStreamingJson<T = any>(text: string): T;
export declare function validateToolArguments(tool: Tool, call: ToolCall): any;

/** A string that is one of a list. Providers understand it better than a union of literals. */
export declare function StringEnum<const T extends readonly string[]>(values: T, options?: { description?: string; default?: T[number] }): TUnsafe<T[number]>;

export interface OAuthCredentials {
  refresh: string;
  access: string;
  expires: number;
  [key: string]: unknown;
}
export interface OAuthLoginCallbacks {
  onAuth(info: { url: string; instructions?: string }): void;
  onPrompt(prompt: { message: string; placeholder?: string; allowEmpty?: boolean }): Promise<string>;
  onProgress?(message: string): void;
  signal?: AbortSignal;
}
