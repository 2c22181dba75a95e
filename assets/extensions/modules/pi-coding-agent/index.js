// The pi-coding-agent module: every name that the published package exports.

import { withStubs } from "../stubs.js";

export { createEventBus } from "../../host/bus.js";
export { Theme } from "../../host/theme.js";
export { AgentSession, createAgentSession } from "./agent_session.js";
export { createExtensionRuntime } from "./agent_extensions.js";
export {
  createLocalBashOperations, getShellConfig,
} from "./bash.js";
export {
  BorderedLoader, CustomEditor, DynamicBorder, truncateToVisualLines,
} from "./components.js";
export {
  collectEntriesForBranchSummary, findCutPoint, findTurnStartIndex, prepareBranchEntries,
} from "./cuts.js";
export {
  generateDiffString, generateUnifiedPatch,
} from "./diff.js";
export {
  parseFrontmatter, stripFrontmatter,
} from "./frontmatter.js";
export {
  createSyntheticSourceInfo, defineTool, isBashToolResult, isEditToolResult, isFindToolResult, isGrepToolResult, isLsToolResult,
  isReadToolResult, isToolCallEventType, isWriteToolResult, wrapRegisteredTool, wrapRegisteredTools,
} from "./guards.js";
export {
  appKey, appKeyHint, editorKey, keyHint, keyText, rawKeyHint,
} from "./keys.js";
export {
  AssistantMessageComponent, BashExecutionComponent, BranchSummaryMessageComponent, CompactionSummaryMessageComponent, CustomMessageComponent,
  SkillInvocationMessageComponent, ToolExecutionComponent, UserMessageComponent,
} from "./message_components.js";
export {
  DEFAULT_COMPACTION_SETTINGS, calculateContextTokens, convertToLlm, estimateTokens, getLastAssistantUsage, serializeConversation,
  shouldCompact,
} from "./messages.js";
export {
  CONFIG_DIR_NAME, VERSION, copyToClipboard, getAgentDir, getDocsPath, getExamplesPath, getPackageDir, getReadmePath,
} from "./resources.js";
export {
  CURRENT_SESSION_VERSION, SessionManager, buildContextEntries, buildSessionContext, getLatestCompactionEntry, migrateSessionEntries,
  parseSessionEntries, sessionEntryToContextMessages,
} from "./session.js";
export {
  AuthStorage, DefaultResourceLoader, ModelRegistry, ModelRuntime, SettingsManager, hasTrustRequiringProjectResources, loadProjectContextFiles,
  readStoredCredential, resolveCliModel,
} from "./services.js";
export {
  formatSkillsForPrompt, loadSkills, loadSkillsFromDir, parseSkillBlock,
} from "./skills.js";
export {
  getLanguageFromPath, getMarkdownTheme, getSelectListTheme, getSettingsListTheme, highlightCode, initTheme, renderDiff,
} from "./themes.js";
export {
  bashTool, codingTools, createBashTool, createBashToolDefinition, createCodingTools, createEditTool, createEditToolDefinition,
  createFindTool, createFindToolDefinition, createGrepTool, createGrepToolDefinition, createLsTool, createLsToolDefinition,
  createReadOnlyTools, createReadTool, createReadToolDefinition, createWriteTool, createWriteToolDefinition, editTool, findTool,
  formatReadLineRange, grepTool, lsTool, readOnlyTools, readTool, withFileMutationQueue, writeTool,
} from "./tools.js";
export {
  DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateLine, truncateTail,
} from "./truncate.js";

export const {
  AgentSessionRuntime, ArminComponent, DefaultPackageManager, ExtensionEditorComponent,
  ExtensionInputComponent, ExtensionRunner, ExtensionSelectorComponent, FileAuthStorageBackend, FooterComponent,
  InMemoryAuthStorageBackend, InteractiveMode, LoginDialogComponent, ModelSelectorComponent, OAuthSelectorComponent, RpcClient,
  SessionSelectorComponent, SettingsSelectorComponent, ShowImagesSelectorComponent,
  ThemeSelectorComponent, ThinkingSelectorComponent, TreeSelectorComponent,
  UserMessageSelectorComponent, compact, createAgentSessionFromServices, createAgentSessionRuntime, createAgentSessionServices,
  discoverAndLoadExtensions, generateBranchSummary, generateSummary, main, runPrintMode, runRpcMode,
} = withStubs("pi-coding-agent");
