// Where a conversation is cut for a summary, and what of a branch is summed up.

import { estimateTokens } from "./messages.js";
import { sessionEntryToContextMessages } from "./session.js";

// Entries that stand for something a person said.
const IS_SAID = new Set(["branch_summary", "custom_message"]);
const beginsTurn = ({ type, message }) => IS_SAID.has(type) || (type === "message" && ["user", "bashExecution"].includes(message.role));
// A result stays with its call.
const mayBeginKept = ({ type, message }) => IS_SAID.has(type) || (type === "message" && !["toolResult", "system"].includes(message.role));

/** The entry that begins the turn of another, or -1. */
export function findTurnStartIndex(entries, entryIndex, startIndex) {
  for (let at = entryIndex; at >= startIndex; at--) if (beginsTurn(entries[at])) return at;
  return -1;
}

/** From where on entries are kept, so that about so many tokens are. */
export function findCutPoint(entries, startIndex, endIndex, keepRecentTokens) {
  const places = [];
  for (let at = startIndex; at < endIndex; at++) if (mayBeginKept(entries[at])) places.push(at);
  if (places.length === 0) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
  let cut = places[0];
  let tokens = 0;
  for (let at = endIndex - 1; at >= startIndex; at--) {
    const own = sessionEntryToContextMessages(entries[at]).reduce((sum, message) => sum + estimateTokens(message), 0);
    tokens += own;
    if (own === 0 || tokens < keepRecentTokens) continue;
    // Of results that are too large by themselves the call is kept.
    cut = places.find((place) => place >= at) ?? places.at(-1);
    break;
  }
  // What says nothing to a model goes with what stands behind it.
  while (cut > startIndex && sessionEntryToContextMessages(entries[cut - 1]).length === 0) cut--;
  const isWhole = beginsTurn(entries[cut]);
  const turn = isWhole ? -1 : findTurnStartIndex(entries, cut, startIndex);
  return { firstKeptEntryIndex: cut, turnStartIndex: turn, isSplitTurn: !isWhole && turn !== -1 };
}

/** The entries that are left behind on the way from one place to another, and where both ways part. */
export function collectEntriesForBranchSummary(session, oldLeafId, targetId) {
  if (!oldLeafId) return { entries: [], commonAncestorId: null };
  const old = session.getBranch(oldLeafId);
  const ids = new Set(old.map(({ id }) => id));
  const common = session.getBranch(targetId).findLast(({ id }) => ids.has(id))?.id ?? null;
  return { entries: old.slice(old.findIndex(({ id }) => id === common) + 1), commonAncestorId: common };
}

const OPERATIONS = { read: "read", write: "written", edit: "edited" };

/** The newest messages of a branch that fit into so many tokens (0: all), and the files that its calls name. */
export function prepareBranchEntries(entries, tokenBudget = 0) {
  const fileOps = { read: new Set(), written: new Set(), edited: new Set() };
  for (const { type, fromHook, details } of entries) {
    if (type !== "branch_summary" || fromHook || !details) continue;
    for (const [files, set] of [[details.readFiles, fileOps.read], [details.modifiedFiles, fileOps.edited]]) {
      if (Array.isArray(files)) files.forEach((file) => set.add(file));
    }
  }
  const messages = [];
  let totalTokens = 0;
  for (const entry of entries.toReversed()) {
    const [message] = sessionEntryToContextMessages(entry);
    if (!message || message.role === "toolResult") continue;
    for (const block of message.role === "assistant" && Array.isArray(message.content) ? message.content : []) {
      const path = block?.type === "toolCall" ? block.arguments?.path : undefined;
      if (typeof path === "string" && Object.hasOwn(OPERATIONS, block.name)) fileOps[OPERATIONS[block.name]].add(path);
    }
    const tokens = estimateTokens(message);
    const isOver = tokenBudget > 0 && totalTokens + tokens > tokenBudget;
    const isSummary = entry.type === "compaction" || entry.type === "branch_summary";
    if (!isOver || (isSummary && totalTokens < tokenBudget * 0.9)) {
      messages.unshift(message);
      totalTokens += tokens;
    }
    if (isOver) break;
  }
  return { messages, fileOps, totalTokens };
}
