// SessionManager, small: sessions in memory, in files of pi's form, and reading the entries of either.
//
// The running session belongs to the host and is read through ctx.sessionManager; what is made here is
// the extension's own. It is written only where a folder or a file of pi's form is named for it.

import { appendFileSync, existsSync, mkdirSync, readFileSync } from "../node/fs.js";
import { join } from "../node/path.js";
import { contextEntries, treeOf } from "../../host/session.js";
import { ask } from "../../runtime/bridge.js";
import { randomUUID } from "../../runtime/crypto.js";

export const CURRENT_SESSION_VERSION = 3;

export function parseSessionEntries(content) {
  const entries = [];
  for (const line of content.split("\n")) {
    if (line.trim() === "") continue;
    try {
      entries.push(JSON.parse(line));
    } catch {
      // A line cut off by a crash costs itself only.
    }
  }
  return entries;
}
export const migrateSessionEntries = () => {};
export const getLatestCompactionEntry = (entries) => entries.findLast((entry) => entry.type === "compaction") ?? null;

function wayTo(entries, leafId, byId = new Map(entries.map((entry) => [entry.id, entry]))) {
  if (leafId === null) return [];
  const path = [];
  for (let entry = byId.get(leafId ?? entries.at(-1)?.id); entry; entry = byId.get(entry.parentId)) path.unshift(entry);
  return path;
}

/** Entries on the way from the root to a leaf, with what a compaction replaced left out. */
export const buildContextEntries = (entries, leafId, byId) => contextEntries(wayTo(entries, leafId, byId));

/** The messages of these entries, and what the thread was asked with at the leaf. */
export function buildSessionContext(entries, leafId, byId) {
  let thinkingLevel = "off";
  let model = null;
  for (const entry of wayTo(entries, leafId, byId)) {
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message.role === "assistant") model = { provider: entry.message.provider, modelId: entry.message.model };
  }
  return { messages: buildContextEntries(entries, leafId, byId).flatMap(sessionEntryToContextMessages), thinkingLevel, model };
}

/** What an entry says to a model: a message, or none. */
export function sessionEntryToContextMessages(entry) {
  const timestamp = new Date(entry.timestamp ?? 0).getTime();
  switch (entry.type) {
    case "message": return [entry.message];
    case "custom_message": return [{ role: "custom", customType: entry.customType, content: entry.content, display: entry.display, details: entry.details, timestamp }];
    case "compaction": return [{ role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore, timestamp }];
    case "branch_summary": return entry.summary ? [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp }] : [];
    default: return [];
  }
}

export class SessionManager {
  #entries = [];
  #byId = new Map();
  #leaf = null;
  #header;
  #file;
  /** How many lines of the file are written; undefined where none is. */
  #written;
  constructor(cwd, entries = [], file, written) {
    const [first, ...rest] = entries[0]?.type === "session" ? entries : [{ type: "session", version: CURRENT_SESSION_VERSION, id: randomUUID(), timestamp: new Date().toISOString(), cwd }, ...entries];
    this.#header = first;
    this.#entries = rest;
    for (const entry of rest) this.#byId.set(entry.id, entry);
    this.#leaf = rest.at(-1)?.id ?? null;
    this.#file = file;
    this.#written = written;
  }
  static inMemory(cwd = globalThis.process.cwd()) {
    return new SessionManager(cwd);
  }
  /** In a folder that is named; else in memory. */
  static create(cwd, folder) {
    if (!folder) return new SessionManager(cwd);
    const made = new SessionManager(cwd);
    mkdirSync(folder, { recursive: true });
    const { id, timestamp } = made.getHeader();
    return new SessionManager(cwd, [made.getHeader()], join(folder, `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`), 0);
  }
  static open(path, _folder, cwd = globalThis.process.cwd()) {
    // The log of a thread is no file of pi: the host tells what was said in it, and nothing is written there.
    const ofThread = ask("sessions.entries", { path: String(path) });
    const entries = ofThread ?? (existsSync(path) ? parseSessionEntries(readFileSync(path, "utf8")) : []);
    return new SessionManager(cwd, entries, path, ofThread ? undefined : entries.length);
  }
  /** The conversations of the project, those that changed last first. */
  static async list() {
    const dated = (info) => ({ ...info, name: info.name || undefined, created: new Date(info.created), modified: new Date(info.modified) });
    return (ask("sessions.list") ?? []).map(dated);
  }
  static async listAll() {
    return SessionManager.list();
  }
  getCwd() {
    return this.#header.cwd;
  }
  getSessionDir() {
    return this.#file ? this.#file.slice(0, this.#file.lastIndexOf("/")) : "";
  }
  getSessionId() {
    return this.#header.id;
  }
  getSessionFile() {
    return this.#file;
  }
  isPersisted() {
    return this.#written !== undefined;
  }
  getHeader() {
    return this.#header;
  }
  getEntries() {
    return [...this.#entries];
  }
  getEntry(id) {
    return this.#byId.get(id);
  }
  getLeafId() {
    return this.#leaf;
  }
  getLeafEntry() {
    return this.getEntry(this.#leaf);
  }
  getBranch(fromId = this.#leaf) {
    const path = [];
    for (let entry = this.getEntry(fromId); entry; entry = this.getEntry(entry.parentId)) path.unshift(entry);
    return path;
  }
  getTree() {
    return treeOf(this.#entries);
  }
  getChildren(id) {
    return this.#entries.filter((entry) => entry.parentId === id);
  }
  getLabel(id) {
    return this.#entries.findLast((entry) => entry.type === "label" && entry.targetId === id)?.label;
  }
  getSessionName() {
    return this.#entries.findLast((entry) => entry.type === "session_info")?.name;
  }
  buildSessionContext() {
    return buildSessionContext(this.#entries, this.#leaf, this.#byId);
  }
  buildContextEntries() {
    return buildContextEntries(this.#entries, this.#leaf, this.#byId);
  }
  branch(id) {
    this.#leaf = id;
  }
  resetLeaf() {
    this.#leaf = null;
  }
  #append(fields) {
    const id = randomUUID().slice(0, 8);
    const entry = { id, parentId: this.#leaf, timestamp: new Date().toISOString(), ...fields };
    this.#entries.push(entry);
    this.#byId.set(id, entry);
    this.#leaf = id;
    this.#write();
    return id;
  }
  /** A session is written from its first answer on, as in pi: what nobody answered leaves no file. */
  #write() {
    if (this.#written === undefined || !this.#entries.some(({ type, message }) => type === "message" && message.role === "assistant")) return;
    const lines = this.#written === 0 ? [this.#header, ...this.#entries] : this.#entries.slice(this.#written - 1);
    appendFileSync(this.#file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    this.#written += lines.length;
  }
  appendMessage(message) {
    return this.#append({ type: "message", message });
  }
  appendCustomEntry(customType, data) {
    return this.#append({ type: "custom", customType, data });
  }
  appendCustomMessageEntry(customType, content, display, details) {
    return this.#append({ type: "custom_message", customType, content, display, details });
  }
  appendModelChange(provider, modelId) {
    return this.#append({ type: "model_change", provider, modelId });
  }
  appendThinkingLevelChange(thinkingLevel) {
    return this.#append({ type: "thinking_level_change", thinkingLevel });
  }
  appendSessionInfo(name) {
    return this.#append({ type: "session_info", name });
  }
  appendLabelChange(targetId, label) {
    return this.#append({ type: "label", targetId, label });
  }
  appendCompaction(summary, firstKeptEntryId, tokensBefore, details) {
    return this.#append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details });
  }
}
