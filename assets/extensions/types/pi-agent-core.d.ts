// Types of the `pi-agent-core` package that extensions import; it has no values to offer here.

export type { AgentMessage, AgentToolResult, AgentToolUpdateCallback, ThinkingLevel } from "@mariozechner/pi-coding-agent";
