// Types of the `pi-coding-agent` package: what an extension registers, hears and can do.
//
// An extension is a file whose default export is `(pi: ExtensionAPI) => void | Promise<void>`.

import type { AssistantMessage, AssistantMessageEvent, AssistantMessageEventStream, Context, ImageContent, Message, Model, OAuthCredentials, OAuthLoginCallbacks, SimpleStreamOptions, TextContent, ToolResultMessage, UserMessage } from "@mariozechner/pi-ai";
import type { Component, Container, Editor, EditorTheme, KeybindingsManager, KeyId, MarkdownTheme, OverlayHandle, OverlayOptions, SelectListTheme, SettingsListTheme, TUI } from "@mariozechner/pi-tui";
import type { Static, TSchema } from "typebox";

// ---- Messages and entries

export interface CustomMessage<T = unknown> {
  role: "custom";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  /** Only about the screen: the model always gets the content. */
  display: boolean;
  details?: T;
  timestamp: number;
}
export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  exitCode?: number;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
  excludeFromContext?: boolean;
  timestamp: number;
}
export interface SummaryMessage {
  role: "branchSummary" | "compactionSummary";
  summary: string;
  timestamp: number;
}
export type AgentMessage = Message | CustomMessage | BashExecutionMessage | SummaryMessage;

interface EntryBase {
  id: string;
  parentId: string | null;
  timestamp: string;
}
export interface SessionMessageEntry extends EntryBase {
  type: "message";
  message: AgentMessage;
}
export interface CustomEntry<T = unknown> extends EntryBase {
  type: "custom";
  customType: string;
  data?: T;
}
export interface OtherEntry extends EntryBase {
  type: "custom_message" | "compaction" | "branch_summary" | "label" | "session_info" | "model_change" | "thinking_level_change";
  [key: string]: unknown;
}
export type SessionEntry = SessionMessageEntry | CustomEntry<any> | OtherEntry;

// ---- Events

export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

export interface InputEvent {
  type: "input";
  text: string;
  /** By their hashes. An answer names those that stay in the same way; a new one has `data`. */
  images?: (ImageContent | { type: "image"; mimeType: string; hash: string })[];
  source: "interactive" | "rpc" | "extension";
  streamingBehavior?: "steer" | "followUp";
}
export type InputEventResult = { action: "continue" } | { action: "transform"; text: string; images?: InputEvent["images"] } | { action: "handled" };
export interface BeforeAgentStartEvent {
  type: "before_agent_start";
  /** After skills and templates were expanded. */
  prompt: string;
  images?: ImageContent[];
  systemPrompt: string;
  systemPromptOptions: BuildSystemPromptOptions;
}
/** How the system text is made, before handlers change it. */
export interface BuildSystemPromptOptions {
  cwd: string;
  /** The tools that are offered, by pi's names. */
  selectedTools?: string[];
  toolSnippets?: Record<string, string>;
  promptGuidelines?: string[];
  /** The text of `APPEND_SYSTEM.md`, where the directive asks for it. */
  appendSystemPrompt?: string;
  /** `AGENTS.md` and its like, where the directive asks for them. */
  contextFiles?: { path: string; content: string }[];
  skills?: { name: string; description: string; filePath: string; baseDir: string; disableModelInvocation: boolean }[];
}
export interface BeforeAgentStartEventResult {
  message?: Pick<CustomMessage, "customType" | "content" | "display" | "details">;
  systemPrompt?: string;
}
export interface ContextEvent {
  type: "context";
  /** A copy: change it in place or return another list. It goes to the model only. */
  messages: AgentMessage[];
}
export interface ToolCallEvent {
  type: "tool_call";
  toolCallId: string;
  toolName: string;
  /** What will be executed. Changes in place count. */
  input: Record<string, any>;
}
export interface ToolCallEventResult {
  block?: boolean;
  reason?: string;
  terminate?: boolean;
}
export interface ToolResultEvent {
  type: "tool_result";
  toolCallId: string;
  toolName: string;
  input: Record<string, any>;
  content: (TextContent | ImageContent)[];
  details: any;
  isError: boolean;
}
export type ToolResultEventResult = Partial<Pick<ToolResultEvent, "content" | "details" | "isError">> & { terminate?: boolean };
export interface UserBashEvent {
  type: "user_bash";
  command: string;
  /** True for `!!`: kept out of what the model sees. */
  excludeFromContext: boolean;
  cwd: string;
}
export interface BashResult {
  output: string;
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
}
export type UserBashEventResult = { operations: BashOperations } | { result: BashResult };
export interface SessionStartEvent {
  type: "session_start";
  reason: "startup" | "reload" | "new" | "resume" | "fork";
  previousSessionFile?: string;
}
export interface SessionBeforeSwitchEvent {
  type: "session_before_switch";
  reason: "new" | "resume";
  targetSessionFile?: string;
}
export interface SessionBeforeForkEvent {
  type: "session_before_fork";
  entryId: string;
  position?: "before" | "at";
}
export interface CompactionPreparation {
  /** With it begins what stays. */
  firstKeptEntryId: string;
  messagesToSummarize: AgentMessage[];
  /** Always empty: a turn is never split. */
  turnPrefixMessages: AgentMessage[];
  isSplitTurn: boolean;
  tokensBefore: number;
  previousSummary?: string;
  fileOps: { read: Set<string>; written: Set<string>; edited: Set<string> };
  settings: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
}
export interface SessionBeforeCompactEvent {
  type: "session_before_compact";
  preparation: CompactionPreparation;
  branchEntries: SessionEntry[];
  customInstructions?: string;
  signal: AbortSignal;
}
export interface SessionBeforeCompactResult {
  cancel?: boolean;
  /** `firstKeptEntryId` is the entry of a prompt or an answer. */
  compaction?: { summary: string; firstKeptEntryId: string; tokensBefore: number; details?: unknown };
}
export interface SessionBeforeTreeEvent {
  type: "session_before_tree";
  preparation: { targetId: string; oldLeafId: string | null; commonAncestorId: string | null; entriesToSummarize: SessionEntry[]; userWantsSummary: boolean; customInstructions?: string; replaceInstructions?: boolean; label?: string };
  signal: AbortSignal;
}
export interface SessionBeforeTreeResult {
  cancel?: boolean;
  summary?: { summary: string; details?: unknown };
  customInstructions?: string;
  replaceInstructions?: boolean;
  label?: string;
}
interface Told<T extends string, F = unknown> {
  event: { type: T } & F;
  result: void;
}

/** Event name → what the handler gets and what it may answer. */
export interface Events {
  input: { event: InputEvent; result: InputEventResult };
  before_agent_start: { event: BeforeAgentStartEvent; result: BeforeAgentStartEventResult };
  context: { event: ContextEvent; result: { messages?: AgentMessage[] } };
  before_provider_request: { event: { type: "before_provider_request"; payload: any }; result: unknown };
  before_provider_headers: { event: { type: "before_provider_headers"; headers: Record<string, string | null> }; result: void };
  after_provider_response: Told<"after_provider_response", { status: number; headers: Record<string, string> }>;
  tool_call: { event: ToolCallEvent; result: ToolCallEventResult };
  tool_result: { event: ToolResultEvent; result: ToolResultEventResult };
  user_bash: { event: UserBashEvent; result: UserBashEventResult };
  resources_discover: { event: { type: "resources_discover"; cwd: string; reason: "startup" | "reload" }; result: { skillPaths?: string[]; promptPaths?: string[]; themePaths?: string[] } };
  session_start: { event: SessionStartEvent; result: void };
  session_switch: Told<"session_switch", { reason: "new" | "resume"; previousSessionFile?: string }>;
  session_fork: Told<"session_fork", { previousSessionFile?: string }>;
  session_before_switch: { event: SessionBeforeSwitchEvent; result: { cancel?: boolean } };
  session_before_fork: { event: SessionBeforeForkEvent; result: { cancel?: boolean; skipConversationRestore?: boolean } };
  session_before_compact: { event: SessionBeforeCompactEvent; result: SessionBeforeCompactResult };
  session_compact: Told<"session_compact", { compactionEntry: OtherEntry; fromExtension: boolean }>;
  session_compact_failed: Told<"session_compact_failed", { reason: string; aborted: boolean }>;
  session_info_changed: Told<"session_info_changed", { name: string }>;
  queue_update: Told<"queue_update", { steering: string[]; followUp: string[] }>;
  agent_settled: Told<"agent_settled">;
  session_before_tree: { event: SessionBeforeTreeEvent; result: SessionBeforeTreeResult };
  session_tree: Told<"session_tree", { newLeafId: string | null; oldLeafId: string | null }>;
  session_shutdown: Told<"session_shutdown", { reason?: string; targetSessionFile?: string }>;
  agent_start: Told<"agent_start">;
  agent_end: Told<"agent_end", { messages: AgentMessage[] }>;
  turn_start: Told<"turn_start", { turnIndex: number; timestamp: number }>;
  turn_end: Told<"turn_end", { turnIndex: number; message: AgentMessage; toolResults: ToolResultMessage[] }>;
  message_start: Told<"message_start", { message: AgentMessage }>;
  message_update: Told<"message_update", { message: AssistantMessage; assistantMessageEvent: AssistantMessageEvent }>;
  message_end: { event: { type: "message_end"; message: AgentMessage }; result: { message?: AgentMessage } };
  tool_execution_start: Told<"tool_execution_start", { toolCallId: string; toolName: string; args: any }>;
  tool_execution_update: Told<"tool_execution_update", { toolCallId: string; toolName: string; args: any; partialResult: any }>;
  tool_execution_end: Told<"tool_execution_end", { toolCallId: string; toolName: string; result: any; isError: boolean }>;
  model_select: Told<"model_select", { model: Model<any>; previousModel?: Model<any>; source: "set" | "cycle" | "restore" }>;
  thinking_level_select: Told<"thinking_level_select", { level: ThinkingLevel; previousLevel?: ThinkingLevel }>;
}
export type ExtensionHandler<E, R = void> = (event: E, ctx: ExtensionContext) => Promise<R | void> | R | void;

type HandlerOf<N extends keyof Events> = ExtensionHandler<Events[N]["event"], Events[N]["result"]>;

// ---- Tools, commands and the rest of what is registered

export interface AgentToolResult<D = unknown> {
  content: (TextContent | ImageContent)[];
  details: D;
  isError?: boolean;
  /** End the run after this result. */
  terminate?: boolean;
}
export type AgentToolUpdateCallback<D = unknown> = (partial: AgentToolResult<D>) => void;
export interface ToolRenderResultOptions {
  expanded: boolean;
  isPartial: boolean;
}
export interface ToolDefinition<P extends TSchema = TSchema, D = any> {
  name: string;
  label: string;
  description: string;
  /** One line for the system prompt's list of tools. */
  promptSnippet?: string;
  promptGuidelines?: string[];
  parameters: P;
  executionMode?: "parallel" | "sequential";
  prepareArguments?(args: any): any;
  /** A throw becomes an error result whose text is the message. */
  execute(toolCallId: string, params: Static<P>, signal: AbortSignal | undefined, onUpdate: AgentToolUpdateCallback<D> | undefined, ctx: ExtensionContext): Promise<AgentToolResult<D>>;
  renderCall?(args: Static<P>, theme: Theme, context?: any): Component | undefined;
  renderResult?(result: AgentToolResult<D>, options: ToolRenderResultOptions, theme: Theme, context?: any): Component | undefined;
}
export interface AutocompleteItem {
  value: string;
  label: string;
  description?: string;
}
export interface CommandOptions {
  description?: string;
  getArgumentCompletions?(prefix: string): AutocompleteItem[] | null | Promise<AutocompleteItem[] | null>;
  handler(args: string, ctx: ExtensionCommandContext): Promise<void> | void;
}
export interface SlashCommandInfo {
  name: string;
  description?: string;
  source: "extension" | "prompt" | "skill";
  path?: string;
}
export interface ToolInfo {
  name: string;
  description: string;
  parameters: TSchema;
  sourceInfo: { path: string; source: string; scope: string; origin: string };
}
export type MessageRenderer<T = unknown> = (message: CustomMessage<T>, options: { expanded: boolean }, theme: Theme) => Component | undefined;
export interface ProviderConfig {
  baseUrl?: string;
  apiKey?: string;
  api?: string;
  streamSimple?(model: Model<any>, context: Context, options?: SimpleStreamOptions): AssistantMessageEventStream;
  headers?: Record<string, string>;
  authHeader?: boolean;
  models?: (Omit<Model<any>, "api" | "provider" | "baseUrl"> & { api?: string })[];
  oauth?: {
    name: string;
    login(callbacks: OAuthLoginCallbacks): Promise<OAuthCredentials>;
    refreshToken(credentials: OAuthCredentials): Promise<OAuthCredentials>;
    getApiKey(credentials: OAuthCredentials): string;
    modifyModels?(models: Model<any>[], credentials: OAuthCredentials): Model<any>[];
  };
}
export interface ExecOptions {
  signal?: AbortSignal;
  /** Milliseconds. */
  timeout?: number;
  cwd?: string;
}
export interface ExecResult {
  stdout: string;
  stderr: string;
  code: number;
  killed: boolean;
}

/** `pi`. While the factory runs only `on`, `register…`, `getFlag`, `exec` and `events` may be used. */
export interface ExtensionAPI {
  on(event: "input", handler: HandlerOf<"input">): void;
  on(event: "before_agent_start", handler: HandlerOf<"before_agent_start">): void;
  on(event: "context", handler: HandlerOf<"context">): void;
  on(event: "before_provider_request", handler: HandlerOf<"before_provider_request">): void;
  on(event: "before_provider_headers", handler: HandlerOf<"before_provider_headers">): void;
  on(event: "tool_call", handler: HandlerOf<"tool_call">): void;
  on(event: "tool_result", handler: HandlerOf<"tool_result">): void;
  on(event: "user_bash", handler: HandlerOf<"user_bash">): void;
  on(event: "message_end", handler: HandlerOf<"message_end">): void;
  on(event: "resources_discover", handler: HandlerOf<"resources_discover">): void;
  on(event: "session_before_switch", handler: HandlerOf<"session_before_switch">): void;
  on(event: "session_before_fork", handler: HandlerOf<"session_before_fork">): void;
  on(event: "session_before_compact", handler: HandlerOf<"session_before_compact">): void;
  on(event: "session_before_tree", handler: HandlerOf<"session_before_tree">): void;
  on<N extends keyof Events>(event: N, handler: HandlerOf<N>): void;
  registerTool<P extends TSchema, D = any>(tool: ToolDefinition<P, D>): void;
  registerCommand(name: string, command: CommandOptions): void;
  registerShortcut(key: KeyId, shortcut: { description?: string; handler(ctx: ExtensionContext): Promise<void> | void }): void;
  registerFlag(name: string, flag: { description?: string; type: "boolean" | "string"; default?: boolean | string }): void;
  getFlag(name: string): boolean | string | undefined;
  registerMessageRenderer<T = unknown>(customType: string, renderer: MessageRenderer<T>): void;
  registerEntryRenderer(customType: string, renderer: (entry: CustomEntry, options: { expanded: boolean }, theme: Theme) => Component | undefined): void;
  registerMarkdownTransformer(transform: (markdown: string) => string): void;
  registerProvider(name: string, config: ProviderConfig): void;
  unregisterProvider(name: string): void;
  sendMessage<T = unknown>(message: Pick<CustomMessage<T>, "customType" | "content" | "display" | "details">, options?: { triggerTurn?: boolean; deliverAs?: "steer" | "followUp" | "nextTurn" }): void;
  sendUserMessage(content: string | (TextContent | ImageContent)[], options?: { deliverAs?: "steer" | "followUp"; expandPromptTemplates?: boolean }): void;
  /** Keeps state in the session file; the model never sees it. */
  appendEntry<T = unknown>(customType: string, data?: T): void;
  setSessionName(name: string): void;
  getSessionName(): string | undefined;
  setLabel(entryId: string, label: string | undefined): void;
  /** Runs a program without a shell. Never rejects. */
  exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
  getActiveTools(): string[];
  getAllTools(): ToolInfo[];
  setActiveTools(names: string[]): void;
  getCommands(): SlashCommandInfo[];
  setModel(model: Model<any>): Promise<boolean>;
  getThinkingLevel(): ThinkingLevel;
  setThinkingLevel(level: ThinkingLevel): void;
  events: { emit(channel: string, data?: unknown): void; on(channel: string, handler: (data: unknown) => void): () => void };
}

// ---- Contexts

export interface DialogOptions {
  signal?: AbortSignal;
  /** Milliseconds; running out answers as Escape does. */
  timeout?: number;
}
export interface FooterData {
  getGitBranch(): string | null;
  getExtensionStatuses(): ReadonlyMap<string, string>;
  getAvailableProviderCount(): number;
  onBranchChange(listener: () => void): () => void;
}
type Disposable = { dispose?(): void };
export interface ExtensionUIContext {
  select(title: string, options: string[], opts?: DialogOptions): Promise<string | undefined>;
  confirm(title: string, message: string, opts?: DialogOptions): Promise<boolean>;
  input(title: string, placeholder?: string, opts?: DialogOptions): Promise<string | undefined>;
  editor(title: string, prefill?: string): Promise<string | undefined>;
  notify(message: string, type?: "info" | "warning" | "error"): void;
  setStatus(key: string, text: string | undefined): void;
  setWorkingMessage(message?: string): void;
  setWorkingVisible(visible: boolean): void;
  setWidget(key: string, content: string[] | ((tui: TUI, theme: Theme) => Component & Disposable) | undefined, options?: { placement?: "aboveEditor" | "belowEditor" }): void;
  setHeader(factory: ((tui: TUI, theme: Theme) => Component & Disposable) | undefined): void;
  setFooter(factory: ((tui: TUI, theme: Theme, footerData: FooterData) => Component & Disposable) | undefined): void;
  setTitle(title: string): void;
  custom<T>(
    factory: (tui: TUI, theme: Theme, keybindings: KeybindingsManager, done: (result: T) => void) => (Component & Disposable) | Promise<Component & Disposable>,
    options?: { overlay?: boolean; overlayOptions?: OverlayOptions | (() => OverlayOptions); onHandle?(handle: OverlayHandle): void },
  ): Promise<T>;
  setEditorComponent(factory: ((tui: TUI, theme: EditorTheme, keybindings: KeybindingsManager) => Component) | undefined): void;
  pasteToEditor(text: string): void;
  setEditorText(text: string): void;
  getEditorText(): string;
  onTerminalInput(handler: (data: string) => { consume?: boolean; data?: string } | undefined): () => void;
  readonly theme: Theme;
  getAllThemes(): { name: string; path?: string }[];
  getTheme(name: string): Theme | undefined;
  setTheme(theme: string | Theme): { success: boolean; error?: string };
  getToolsExpanded(): boolean;
  setToolsExpanded(expanded: boolean): void;
}
export interface ReadonlySessionManager {
  getCwd(): string;
  getSessionDir(): string;
  getSessionId(): string;
  getSessionFile(): string | undefined;
  getSessionName(): string | undefined;
  getLeafId(): string | null;
  getLeafEntry(): SessionEntry | undefined;
  getEntry(id: string): SessionEntry | undefined;
  getLabel(id: string): string | undefined;
  getBranch(fromId?: string): SessionEntry[];
  getEntries(): SessionEntry[];
}
export interface ModelRegistry {
  getAll(): Model<any>[];
  getAvailable(): Model<any>[];
  find(provider: string, id: string): Model<any> | undefined;
  getApiKey(model: Model<any>): Promise<string | undefined>;
  getApiKeyForProvider(provider: string): Promise<string | undefined>;
  complete: typeof import("@mariozechner/pi-ai").complete;
  completeSimple: typeof import("@mariozechner/pi-ai").completeSimple;
  stream: typeof import("@mariozechner/pi-ai").stream;
  streamSimple: typeof import("@mariozechner/pi-ai").streamSimple;
}
export interface ExtensionContext {
  ui: ExtensionUIContext;
  readonly mode: "tui" | "rpc" | "json" | "print";
  readonly hasUI: boolean;
  readonly cwd: string;
  sessionManager: ReadonlySessionManager;
  modelRegistry: ModelRegistry;
  readonly model: Model<any> | undefined;
  readonly signal: AbortSignal | undefined;
  isIdle(): boolean;
  abort(): void;
  hasPendingMessages(): boolean;
  shutdown(): void;
  getContextUsage(): { tokens: number | null; contextWindow: number; percent: number | null } | undefined;
  compact(options?: { customInstructions?: string; onComplete?(result: any): void; onError?(error: Error): void }): void;
  getSystemPrompt(): string;
  getSystemPromptOptions(): BuildSystemPromptOptions;
  isProjectTrusted(): boolean;
}
export interface ExtensionCommandContext extends ExtensionContext {
  waitForIdle(): Promise<void>;
  newSession(options?: { parentSession?: string; setup?(session: any): Promise<void>; withSession?(ctx: ExtensionCommandContext): Promise<void> }): Promise<{ cancelled: boolean }>;
  fork(entryId: string, options?: { position?: "before" | "at" }): Promise<{ cancelled: boolean }>;
  navigateTree(targetId: string, options?: { summarize?: boolean; customInstructions?: string; replaceInstructions?: boolean; label?: string }): Promise<{ cancelled: boolean }>;
  switchSession(path: string): Promise<{ cancelled: boolean }>;
  reload(): Promise<void>;
}

// ---- Values of the package

export declare class Theme {
  readonly name: string;
  fg(role: string, text: string): string;
  bg(role: string, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  inverse(text: string): string;
  strikethrough(text: string): string;
  getFgAnsi(role: string): string;
  getBgAnsi(role: string): string;
}
export type ThemeColor = string;
export declare function defineTool<P extends TSchema, D = any>(tool: ToolDefinition<P, D>): ToolDefinition<P, D>;
export declare function isToolCallEventType(name: string, event: ToolCallEvent): boolean;
export declare function isBashToolResult(event: ToolResultEvent): boolean;
export interface BashOperations {
  exec(command: string, cwd: string, options: { onData(data: Uint8Array): void; signal?: AbortSignal; timeout?: number; env?: Record<string, string | undefined> }): Promise<{ exitCode: number | null }>;
}
export interface ReadOperations {
  readFile(path: string): Promise<any>;
  access(path: string): Promise<void>;
  detectImageMimeType?(path: string): Promise<string | null | undefined>;
}
export interface WriteOperations {
  writeFile(path: string, content: string): Promise<void>;
  mkdir(path: string): Promise<void>;
}
export interface EditOperations {
  readFile(path: string): Promise<any>;
  writeFile(path: string, content: string): Promise<void>;
  access(path: string): Promise<void>;
}
type BuiltInTool = Omit<ToolDefinition<any, any>, "execute"> & {
  execute(toolCallId: string, params: any, signal?: AbortSignal, onUpdate?: AgentToolUpdateCallback<any>): Promise<AgentToolResult<any>>;
};
export declare function createBashTool(cwd: string, options?: { operations?: BashOperations; commandPrefix?: string; spawnHook?(spec: { command: string; cwd: string; env: Record<string, string | undefined> }): any }): BuiltInTool;
export declare function createReadTool(cwd: string, options?: { operations?: ReadOperations }): BuiltInTool;
export declare function createWriteTool(cwd: string, options?: { operations?: WriteOperations }): BuiltInTool;
export declare function createEditTool(cwd: string, options?: { operations?: EditOperations }): BuiltInTool;
export declare function createGrepTool(cwd: string): BuiltInTool;
export declare function createFindTool(cwd: string): BuiltInTool;
export declare function createLsTool(cwd: string): BuiltInTool;
export declare function createLocalBashOperations(): BashOperations;
export declare function withFileMutationQueue<T>(path: string, work: () => Promise<T>): Promise<T>;
export interface TruncationResult {
  content: string;
  truncated: boolean;
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
}
export interface ReadToolDetails {
  truncation?: TruncationResult;
}
export interface BashToolDetails {
  truncation?: TruncationResult;
  fullOutputPath?: string;
}
export interface EditToolDetails {
  diff: string;
  firstChangedLine?: number;
}
export declare const DEFAULT_MAX_LINES: number;
export declare const DEFAULT_MAX_BYTES: number;
export declare function truncateHead(content: string, options?: { maxLines?: number; maxBytes?: number }): TruncationResult;
export declare function truncateTail(content: string, options?: { maxLines?: number; maxBytes?: number }): TruncationResult;
export declare function formatSize(bytes: number): string;
export declare function convertToLlm(messages: AgentMessage[]): Message[];
export declare function serializeConversation(messages: Message[]): string;
export declare function parseFrontmatter<T extends Record<string, any> = Record<string, any>>(content: string): { frontmatter: T; body: string };
export declare const CONFIG_DIR_NAME: string;
export declare function getAgentDir(): string;
export declare function getMarkdownTheme(): MarkdownTheme;
export declare function getSelectListTheme(): SelectListTheme;
export declare function getSettingsListTheme(): SettingsListTheme;
export declare function highlightCode(code: string, language?: string): string[];
export declare function getLanguageFromPath(path: string): string | undefined;
export declare function keyHint(action: string, description: string): string;
export declare class DynamicBorder implements Component {
  constructor(color?: (text: string) => string);
  invalidate(): void;
  render(width: number): string[];
}
export declare class BorderedLoader extends Container {
  constructor(tui: TUI, theme: Theme, message: string, options?: { cancellable?: boolean });
  readonly signal: AbortSignal;
  set onAbort(listener: (() => void) | undefined);
  handleInput(data: string): void;
  dispose(): void;
}
export declare class CustomEditor extends Editor {
  constructor(tui: TUI, theme: EditorTheme, keybindings: KeybindingsManager, options?: any);
  onEscape?: () => void;
  onAction(action: string, handler: () => void): void;
}
/** Sessions in memory, and in files of pi's form where a folder is named. */
export interface SessionManager extends ReadonlySessionManager {}
export declare class SessionManager {
  static inMemory(cwd?: string): SessionManager;
  static create(cwd: string, sessionDir?: string): SessionManager;
  static open(path: string, sessionDir?: string, cwd?: string): SessionManager;
  static list(): Promise<any[]>;
  buildSessionContext(): { messages: AgentMessage[]; thinkingLevel: string; model: { provider: string; modelId: string } | null };
}
/** An extension made in place, for an agent session alone. */
export type ExtensionFactory = (pi: ExtensionAPI) => void | Promise<void>;
export declare class DefaultResourceLoader {
  constructor(options?: {
    cwd?: string;
    agentDir?: string;
    systemPrompt?: string;
    appendSystemPrompt?: string[];
    extensionFactories?: (ExtensionFactory | { name: string; factory: ExtensionFactory })[];
    additionalSkillPaths?: string[];
    noSkills?: boolean;
    noContextFiles?: boolean;
  });
  reload(): Promise<void>;
}
export declare class AgentSession {
  readonly agent: import("@mariozechner/pi-agent-core").Agent;
  readonly sessionManager: SessionManager;
  readonly messages: AgentMessage[];
  readonly model: Model<any> | undefined;
  readonly thinkingLevel: ThinkingLevel;
  readonly systemPrompt: string;
  readonly isStreaming: boolean;
  readonly sessionId: string;
  readonly sessionFile: string | undefined;
  subscribe(listener: (event: import("@mariozechner/pi-agent-core").AgentEvent | { type: string; [field: string]: any }) => void): () => void;
  prompt(text: string, options?: { images?: ImageContent[]; streamingBehavior?: "steer" | "followUp" }): Promise<void>;
  steer(text: string, images?: ImageContent[]): Promise<void>;
  followUp(text: string, images?: ImageContent[]): Promise<void>;
  abort(): Promise<void>;
  setModel(model: Model<any>): Promise<void>;
  setThinkingLevel(level: ThinkingLevel): void;
  getActiveToolNames(): string[];
  setActiveToolsByName(names: string[]): void;
  getLastAssistantText(): string | undefined;
  getSessionStats(): { sessionId: string; toolCalls: number; totalMessages: number; tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number }; cost: number };
  bindExtensions(bindings?: { onError?(error: { extensionPath: string; event: string; error: string }): void }): Promise<void>;
  dispose(): void;
}
/** An agent with tools beside the thread: within its budget, and with what it may do without a question. */
export declare function createAgentSession(options?: {
  cwd?: string;
  model?: Model<any>;
  thinkingLevel?: ThinkingLevel;
  tools?: string[];
  excludeTools?: string[];
  noTools?: "all" | "builtin";
  customTools?: ToolDefinition[];
  resourceLoader?: DefaultResourceLoader;
  sessionManager?: SessionManager;
}): Promise<{ session: AgentSession; extensionsResult: any; modelFallbackMessage?: string }>;
export declare const VERSION: string;
export type { UserMessage };
