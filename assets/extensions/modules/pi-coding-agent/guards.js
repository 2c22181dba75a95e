// Small questions about events, and the identity functions that only help types.

const isTool = (name) => (event) => event.toolName === name;
export const isBashToolResult = isTool("bash");
export const isReadToolResult = isTool("read");
export const isEditToolResult = isTool("edit");
export const isWriteToolResult = isTool("write");
export const isGrepToolResult = isTool("grep");
export const isFindToolResult = isTool("find");
export const isLsToolResult = isTool("ls");
export const isToolCallEventType = (name, event) => event.toolName === name;
export const defineTool = (tool) => tool;
export const wrapRegisteredTool = (registered) => registered.definition ?? registered;
export const wrapRegisteredTools = (list) => list.map(wrapRegisteredTool);
export const createSyntheticSourceInfo = (path, options = {}) => ({ path, source: options.source ?? path, scope: options.scope ?? "temporary", origin: options.origin ?? "top-level", baseDir: options.baseDir });
