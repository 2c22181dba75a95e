// Messages as a model gets them, and a conversation as text for summaries.

const AFTER_COMPACTION = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const AFTER_BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";

export function bashExecutionToText(message) {
  let text = `Ran \`${message.command}\`\n${message.output ? `\`\`\`\n${message.output}\n\`\`\`` : "(no output)"}`;
  if (message.cancelled) text += "\n\n(command cancelled)";
  else if (message.exitCode !== null && message.exitCode !== undefined && message.exitCode !== 0) text += `\n\nCommand exited with code ${message.exitCode}`;
  if (message.truncated && message.fullOutputPath) text += `\n\n[Output truncated. Full output: ${message.fullOutputPath}]`;
  return text;
}

const asUser = (text, timestamp) => ({ role: "user", content: [{ type: "text", text }], timestamp });

const CONVERT = {
  user: (message) => message,
  assistant: (message) => message,
  toolResult: (message) => message,
  custom: ({ content, timestamp }) => ({ role: "user", content: typeof content === "string" ? [{ type: "text", text: content }] : content, timestamp }),
  bashExecution: (message) => (message.excludeFromContext ? undefined : asUser(bashExecutionToText(message), message.timestamp)),
  branchSummary: ({ summary, timestamp }) => asUser(`${AFTER_BRANCH}${summary}</summary>`, timestamp),
  compactionSummary: ({ summary, timestamp }) => asUser(`${AFTER_COMPACTION}${summary}\n</summary>`, timestamp),
};

export const convertToLlm = (messages) =>
  messages.map((message) => (Object.hasOwn(CONVERT, message.role) ? CONVERT[message.role](message) : undefined)).filter((message) => message !== undefined);

const RESULT_LIMIT = 2000;
const textOf = (content) => (typeof content === "string" ? content : content.filter((part) => part.type === "text").map((part) => part.text).join(""));

export function serializeConversation(messages) {
  const parts = [];
  for (const message of messages) {
    if (message.role === "user") {
      const text = textOf(message.content);
      if (text) parts.push(`[User]: ${text}`);
    } else if (message.role === "toolResult") {
      const text = textOf(message.content);
      const cut = text.length > RESULT_LIMIT ? `${text.slice(0, RESULT_LIMIT)}\n\n[... ${text.length - RESULT_LIMIT} more characters truncated]` : text;
      if (text) parts.push(`[Tool result]: ${cut}`);
    } else if (message.role === "assistant") {
      const of = (type) => message.content.filter((part) => part.type === type);
      const thinking = of("thinking").map((part) => part.thinking).join("\n");
      const text = of("text").map((part) => part.text).join("\n");
      const calls = of("toolCall").map(({ name, arguments: args }) => `${name}(${Object.entries(args ?? {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`);
      if (thinking) parts.push(`[Assistant thinking]: ${thinking}`);
      if (text) parts.push(`[Assistant]: ${text}`);
      if (calls.length) parts.push(`[Assistant tool calls]: ${calls.join("; ")}`);
    }
  }
  return parts.join("\n\n");
}

/** Rough: four characters a token, an image as 4800 characters. */
export function estimateTokens(message) {
  const sizeOf = (content) =>
    typeof content === "string"
      ? content.length
      : (content ?? []).reduce((sum, part) => sum + (part.type === "image" ? 4800 : (part.text ?? part.thinking ?? "").length + (part.type === "toolCall" ? part.name.length + JSON.stringify(part.arguments ?? {}).length : 0)), 0);
  const own = message.role === "bashExecution" ? message.command.length + message.output.length : message.summary !== undefined ? message.summary.length : sizeOf(message.content);
  return Math.ceil(own / 4);
}

export const calculateContextTokens = (usage) => usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
export function getLastAssistantUsage(entries) {
  for (let i = entries.length - 1; i >= 0; i--) {
    const { message } = entries[i];
    if (message?.role === "assistant" && message.stopReason !== "aborted" && message.stopReason !== "error" && message.usage) return message.usage;
  }
  return undefined;
}
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
export const shouldCompact = (tokens, contextWindow, settings) => settings.enabled && tokens > contextWindow - settings.reserveTokens;
