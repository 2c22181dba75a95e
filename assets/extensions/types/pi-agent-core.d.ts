// Types of the `pi-agent-core` package: agents that an extension runs beside its thread.

import type { AgentMessage, AgentToolResult, AgentToolUpdateCallback, ThinkingLevel } from "@mariozechner/pi-coding-agent";
import type { AssistantMessage, Context, ImageContent, Message, Model, Tool, ToolCall, ToolResultMessage } from "@mariozechner/pi-ai";

export type { AgentMessage, AgentToolResult, AgentToolUpdateCallback, ThinkingLevel };

export interface AgentTool extends Tool {
  label: string;
  executionMode?: "sequential" | "parallel";
  prepareArguments?(args: unknown): any;
  execute(toolCallId: string, params: any, signal?: AbortSignal, onUpdate?: AgentToolUpdateCallback<any>): Promise<AgentToolResult<any>>;
}
export interface AgentState {
  systemPrompt: string;
  model: Model<any>;
  thinkingLevel: ThinkingLevel;
  tools: AgentTool[];
  messages: AgentMessage[];
  readonly isStreaming: boolean;
  readonly streamingMessage?: AgentMessage;
  readonly pendingToolCalls: ReadonlySet<string>;
  readonly errorMessage?: string;
}
export type AgentEvent =
  | { type: "agent_start" | "turn_start" }
  | { type: "agent_end"; messages: AgentMessage[] }
  | { type: "turn_end"; message: AgentMessage; toolResults: ToolResultMessage[] }
  | { type: "message_start" | "message_end"; message: AgentMessage }
  | { type: "message_update"; message: AgentMessage; assistantMessageEvent: any }
  | { type: "tool_execution_start"; toolCallId: string; toolName: string; args: any }
  | { type: "tool_execution_update"; toolCallId: string; toolName: string; args: any; partialResult: any }
  | { type: "tool_execution_end"; toolCallId: string; toolName: string; result: any; isError: boolean };
export interface AgentOptions {
  initialState?: Partial<Pick<AgentState, "systemPrompt" | "model" | "thinkingLevel" | "tools" | "messages">>;
  convertToLlm?(messages: AgentMessage[]): Message[] | Promise<Message[]>;
  transformContext?(messages: AgentMessage[], signal?: AbortSignal): Promise<AgentMessage[]>;
  streamFn?(model: Model<any>, context: Context, options?: any): any;
  beforeToolCall?(call: { assistantMessage: AssistantMessage; toolCall: ToolCall; args: any; context: any }, signal?: AbortSignal): Promise<{ block?: boolean; reason?: string } | undefined>;
  afterToolCall?(call: { assistantMessage: AssistantMessage; toolCall: ToolCall; args: any; result: AgentToolResult<any>; isError: boolean; context: any }, signal?: AbortSignal): Promise<Partial<AgentToolResult<any>> & { isError?: boolean } | undefined>;
  steeringMode?: "all" | "one-at-a-time";
  followUpMode?: "all" | "one-at-a-time";
  toolExecution?: "sequential" | "parallel";
  sessionId?: string;
}
export declare class Agent {
  constructor(options?: AgentOptions);
  readonly state: AgentState;
  readonly signal: AbortSignal | undefined;
  steeringMode: "all" | "one-at-a-time";
  followUpMode: "all" | "one-at-a-time";
  subscribe(listener: (event: AgentEvent, signal: AbortSignal) => void | Promise<void>): () => void;
  prompt(input: string, images?: ImageContent[]): Promise<void>;
  prompt(messages: AgentMessage | AgentMessage[]): Promise<void>;
  continue(): Promise<void>;
  steer(message: AgentMessage): void;
  followUp(message: AgentMessage): void;
  clearAllQueues(): void;
  hasQueuedMessages(): boolean;
  abort(): void;
  waitForIdle(): Promise<void>;
  reset(): void;
}
