// ctx.sessionManager: the session as extensions read it, and the small writable form that the `setup`
// of a new session fills.

import { ask } from "../runtime/bridge.js";

export const sessionManager = Object.freeze({
  getCwd: () => ask("session.info")?.cwd ?? "",
  getSessionDir: () => ask("session.info")?.dir ?? "",
  getSessionId: () => ask("session.info")?.id ?? "",
  getSessionFile: () => ask("session.info")?.file ?? undefined,
  isPersisted: () => Boolean(ask("session.info")?.file),
  getLeafId: () => ask("session.leafId") ?? null,
  getLeafEntry: () => {
    const id = ask("session.leafId");
    return id ? ask("session.entry", { id }) ?? undefined : undefined;
  },
  getEntry: (id) => ask("session.entry", { id }) ?? undefined,
  getLabel: (id) => ask("session.label", { id }) ?? undefined,
  /** From the root to the leaf, or to the entry named. */
  getBranch: (fromId) => ask("session.branch", { fromId: fromId ?? null }) ?? [],
  getHeader: () => ask("session.header") ?? null,
  getEntries: () => ask("session.entries") ?? [],
  getTree: () => treeOf(ask("session.entries") ?? []),
  getChildren: (id) => (ask("session.entries") ?? []).filter((entry) => entry.parentId === id),
  getSessionName: () => ask("session.name") ?? undefined,
  buildContextEntries: () => contextEntries(sessionManager.getBranch()),
  buildSessionContext: () => ask("session.context") ?? { messages: [], thinkingLevel: "off", model: null },
});

/** Of the entries on the way to a leaf those that a compaction did not replace, behind it. */
export function contextEntries(path) {
  const cut = path.findLastIndex((entry) => entry.type === "compaction");
  if (cut < 0) return path;
  const kept = path.slice(0, cut).findIndex((entry) => entry.id === path[cut].firstKeptEntryId);
  return [path[cut], ...(kept < 0 ? [] : path.slice(kept, cut)), ...path.slice(cut + 1)];
}

/** Entries as a forest by parent; an entry whose parent is unknown is a root. */
export function treeOf(entries) {
  const labels = new Map();
  for (const entry of entries) if (entry.type === "label") labels.set(entry.targetId, entry.label);
  const nodes = new Map(entries.map((entry) => [entry.id, { entry, children: [], label: labels.get(entry.id) }]));
  const roots = [];
  for (const node of nodes.values()) {
    const parent = node.entry.parentId === node.entry.id ? undefined : nodes.get(node.entry.parentId);
    (parent ? parent.children : roots).push(node);
  }
  return roots;
}

/** Collects what `setup` appends, for the host to write at the start of the new session. */
export function writableSession(entries) {
  let next = 1;
  const add = (entry) => {
    const id = `new-${next++}`;
    entries.push({ id, ...entry });
    return id;
  };
  return {
    ...sessionManager,
    appendMessage: (message) => add({ type: "message", message }),
    appendCustomEntry: (customType, data) => add({ type: "custom", customType, data }),
    appendCustomMessageEntry: (customType, content, display, details) => add({ type: "custom_message", customType, content, display, details }),
    appendModelChange: (provider, modelId) => add({ type: "model_change", provider, modelId }),
    appendThinkingLevelChange: (thinkingLevel) => add({ type: "thinking_level_change", thinkingLevel }),
    appendSessionInfo: (name) => add({ type: "session_info", name }),
    appendLabelChange: (targetId, label) => add({ type: "label", targetId, label }),
    getEntries: () => entries,
    getBranch: () => entries,
    getLeafId: () => entries.at(-1)?.id ?? null,
  };
}
