// createReadTool, createBashTool and so on: the built-in tools as objects an extension can wrap.
//
// Without `operations` a tool is the host's own, run there with its checks and its sandbox. With
// `operations` (a remote machine, say) the work is done here over the functions given.

import { action, closeChannel, host, openChannel } from "../../runtime/bridge.js";
import { plain } from "../../runtime/clone.js";
import { base64Encode, utf8Decode } from "../../runtime/encoding.js";
import { access, readFile, writeFile } from "../node/fs_promises.js";
import { dirname, isAbsolute, join, relative } from "../node/path.js";
import { homedir } from "../node/os.js";
import { makeType } from "../typebox/builder.js";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateTail } from "./truncate.js";
import { createLocalBashOperations } from "./bash.js";
import { generateDiffString } from "./diff.js";
import { applyEdits } from "./edit.js";

const Type = makeType(false);
const text = (value) => ({ type: "text", text: value });
const optional = (kind, description) => Type.Optional(Type[kind]({ description }));

const SCHEMAS = {
  read: Type.Object({
    path: Type.String({ description: "Path to the file to read (relative or absolute)" }),
    offset: optional("Number", "Line number to start reading from (1-indexed)"),
    limit: optional("Number", "Maximum number of lines to read"),
  }),
  bash: Type.Object({ command: Type.String({ description: "Bash command to execute" }), timeout: optional("Number", "Timeout in seconds (optional, no default timeout)") }),
  edit: Type.Object({
    path: Type.String({ description: "Path to the file to edit (relative or absolute)" }),
    oldText: Type.String({ description: "Exact text to find and replace (must match exactly)" }),
    newText: Type.String({ description: "New text to replace the old text with" }),
  }),
  write: Type.Object({ path: Type.String({ description: "Path to the file to write (relative or absolute)" }), content: Type.String({ description: "Content to write to the file" }) }),
  grep: Type.Object({
    pattern: Type.String({ description: "Search pattern (regex or literal string)" }), path: optional("String", "Directory or file to search"),
    glob: optional("String", "Filter files by glob pattern"), ignoreCase: optional("Boolean", "Case-insensitive search"),
    literal: optional("Boolean", "Treat pattern as literal string"), context: optional("Number", "Lines to show before and after each match"),
    limit: optional("Number", "Maximum number of matches to return"),
  }),
  find: Type.Object({
    pattern: Type.String({ description: "Glob pattern to match files" }), path: optional("String", "Directory to search in"),
    limit: optional("Number", "Maximum number of results"),
  }),
  ls: Type.Object({ path: optional("String", "Directory to list"), limit: optional("Number", "Maximum number of entries to return") }),
};

const DESCRIPTIONS = {
  read: `Read the contents of a file. Supports text files and images. Output is cut to ${DEFAULT_MAX_LINES} lines or ${DEFAULT_MAX_BYTES / 1024}KB; use offset and limit for more.`,
  bash: `Execute a bash command in the current working directory. Returns stdout and stderr, cut to the last ${DEFAULT_MAX_LINES} lines or ${DEFAULT_MAX_BYTES / 1024}KB.`,
  edit: "Edit a file by replacing exact text. The old text must match exactly, whitespace included.",
  write: "Write content to a file. Creates the file and its folders if needed, and overwrites what was there.",
  grep: "Search file contents for a pattern. Returns matching lines with paths and line numbers.",
  find: "Search for files by glob pattern. Returns paths relative to the search directory.",
  ls: "List the entries of a directory, with '/' after directories.",
};

export function resolvePath(path, cwd) {
  const clean = String(path).replace(/^@/, "").replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ");
  if (clean === "~") return homedir();
  if (clean.startsWith("~/")) return join(homedir(), clean.slice(2));
  return isAbsolute(clean) ? clean : join(cwd, clean);
}

/** What the host is asked for: the fields that pi's tool has, with a path as the host finds it from its own folder. */
function forHost(name, cwd, params) {
  const known = Object.entries(plain(params ?? {})).filter(([field]) => Object.hasOwn(SCHEMAS[name].properties, field));
  const asked = Object.fromEntries(known);
  const isElsewhere = cwd !== undefined && resolvePath(cwd, host.cwd()) !== host.cwd();
  const isTold = typeof asked.path === "string";
  if (Object.hasOwn(SCHEMAS[name].properties, "path") && ((isTold && /^[~@]/.test(asked.path)) || (isElsewhere && (isTold || ["ls", "find", "grep"].includes(name))))) {
    const full = resolvePath(asked.path ?? ".", cwd ?? host.cwd());
    const inside = relative(host.cwd(), full);
    asked.path = inside === "" ? "." : inside.startsWith("..") ? full : inside;
  }
  return asked;
}

/** Has the host run one of its own tools; partial output arrives while it runs. */
export async function hostTool(name, cwd, callId, params, signal, onUpdate, extra) {
  const channel = openChannel((partial) => onUpdate?.(partial), `tool:${name}`);
  try {
    return await action("tool.run", { name, cwd, callId, params: forHost(name, cwd, params), channel, ...extra }, signal);
  } finally {
    closeChannel(channel);
  }
}

const LOCAL = { read: readWith, write: writeWith, edit: editWith, bash: bashWith, ls: lsWith, find: findWith };

function makeTool(name, cwd, options = {}) {
  return {
    name, label: name, description: DESCRIPTIONS[name], parameters: SCHEMAS[name],
    async execute(callId, params, signal, onUpdate) {
      signal?.throwIfAborted();
      const run = LOCAL[name];
      if (name === "bash") return runBash(cwd, options, callId, params, signal, onUpdate);
      // The host edits by lines that were read, so texts are replaced here.
      const operations = options.operations ?? (name === "edit" ? { access, readFile, writeFile } : undefined);
      if (operations && run) return run(cwd, operations, params, signal, onUpdate);
      return hostTool(name, cwd, callId, params, signal, onUpdate, {});
    },
  };
}

/** The prefix and the hook change what is run; then the host or the operations run it. */
async function runBash(cwd, options, callId, params, signal, onUpdate) {
  const { operations, commandPrefix, spawnHook } = options;
  let spec = { command: commandPrefix ? `${commandPrefix}\n${params.command}` : params.command, cwd, env: undefined };
  if (spawnHook) {
    const before = { ...spec, env: { ...globalThis.process.env } };
    const after = (await spawnHook(before)) ?? before;
    // What the host has already need not be told.
    const changed = Object.entries(after.env ?? {}).filter(([name, value]) => typeof value === "string" && globalThis.process.env[name] !== value);
    spec = { command: after.command ?? spec.command, cwd: after.cwd ?? cwd, env: Object.fromEntries(changed) };
    if (operations) spec.env = plain(after.env);
  }
  if (operations) return bashWith(spec.cwd, operations, { ...params, command: spec.command }, signal, onUpdate, spec.env);
  return hostTool("bash", spec.cwd, callId, { ...params, command: spec.command }, signal, onUpdate, { env: spec.env });
}

async function bashWith(cwd, operations, { command, timeout }, signal, onUpdate, env) {
  const decoder = new TextDecoder();
  let output = "";
  const shown = () => {
    const cut = truncateTail(output);
    const details = cut.truncated ? { truncation: cut } : undefined;
    return { cut, details };
  };
  const onData = (data) => {
    output += typeof data === "string" ? data : decoder.decode(data, { stream: true });
    const { cut, details } = shown();
    onUpdate?.({ content: [text(cut.content)], details });
  };
  let exitCode;
  try {
    ({ exitCode } = await operations.exec(command, cwd, { onData, signal, timeout, env }));
  } catch (error) {
    const message = String(error?.message ?? error);
    const why = message === "aborted" || signal?.aborted ? "Command aborted" : message.startsWith("timeout:") ? `Command timed out after ${message.slice(8)} seconds` : message;
    throw new Error(output ? `${output}\n\n${why}` : why);
  }
  const { cut, details } = shown();
  let body = cut.content || "(no output)";
  if (cut.truncated) {
    const first = cut.totalLines - cut.outputLines + 1;
    body += `\n\n[Showing lines ${first}-${cut.totalLines} of ${cut.totalLines}]`;
  }
  if (exitCode !== 0 && exitCode !== null && exitCode !== undefined) throw new Error(`${body}\n\nCommand exited with code ${exitCode}`);
  return { content: [text(body)], details };
}

async function readWith(cwd, operations, { path, offset, limit }) {
  const full = resolvePath(path, cwd);
  await operations.access(full);
  const mimeType = await operations.detectImageMimeType?.(full);
  const data = await operations.readFile(full);
  if (mimeType) return { content: [text(`Read image file [${mimeType}]`), { type: "image", data: base64Encode(data), mimeType }], details: undefined };
  const lines = (typeof data === "string" ? data : utf8Decode(data)).split("\n");
  const start = Math.max(0, (offset ?? 1) - 1);
  if (start >= lines.length) throw new Error(`Offset ${offset} is beyond end of file (${lines.length} lines total)`);
  const end = limit === undefined ? lines.length : Math.min(start + limit, lines.length);
  const cut = truncateHead(lines.slice(start, end).join("\n"));
  if (cut.firstLineExceedsLimit) {
    return { content: [text(`[Line ${start + 1} is ${formatSize(cut.totalBytes)}, exceeds ${formatSize(DEFAULT_MAX_BYTES)} limit]`)], details: { truncation: cut } };
  }
  const last = start + cut.outputLines;
  let body = cut.content;
  if (cut.truncated) body += `\n\n[Showing lines ${start + 1}-${last} of ${lines.length}. Use offset=${last + 1} to continue.]`;
  else if (end < lines.length) body += `\n\n[${lines.length - end} more lines in file. Use offset=${end + 1} to continue.]`;
  return { content: [text(body)], details: cut.truncated ? { truncation: cut } : undefined };
}

async function writeWith(cwd, operations, { path, content }) {
  const full = resolvePath(path, cwd);
  return withFileMutationQueue(full, async () => {
    await operations.mkdir(dirname(full));
    await operations.writeFile(full, content);
    return { content: [text(`Successfully wrote ${content.length} bytes to ${path}`)], details: undefined };
  });
}

async function editWith(cwd, operations, params) {
  const full = resolvePath(params.path, cwd);
  return withFileMutationQueue(full, async () => {
    await operations.access(full).catch(() => {
      throw new Error(`File not found: ${params.path}`);
    });
    const data = await operations.readFile(full);
    const before = typeof data === "string" ? data : utf8Decode(data);
    const after = applyEdits(before, params.edits ?? [{ oldText: params.oldText, newText: params.newText }], params.path);
    await operations.writeFile(full, after);
    const { diff, firstChangedLine } = generateDiffString(before, after);
    return { content: [text(`Successfully replaced text in ${params.path}.`)], details: { diff, firstChangedLine } };
  });
}

async function lsWith(cwd, operations, { path = ".", limit = 500 }) {
  const full = resolvePath(path, cwd);
  if (!(await operations.exists(full))) throw new Error(`Path not found: ${full}`);
  if (!(await operations.stat(full)).isDirectory()) throw new Error(`Not a directory: ${full}`);
  const names = [...(await operations.readdir(full))].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const rows = [];
  for (const name of names.slice(0, limit)) rows.push(name + ((await operations.stat(join(full, name))).isDirectory() ? "/" : ""));
  const more = names.length > limit;
  return { content: [text((rows.join("\n") || "(empty directory)") + (more ? `\n\n[${limit} entries limit reached]` : ""))], details: more ? { entryLimitReached: limit } : undefined };
}

async function findWith(cwd, operations, { pattern, path = ".", limit = 1000 }) {
  const full = resolvePath(path, cwd);
  if (!(await operations.exists(full))) throw new Error(`Path not found: ${full}`);
  const found = await operations.glob(pattern, full, { ignore: ["**/node_modules/**", "**/.git/**"], limit });
  const rows = found.map((name) => (name.startsWith(`${full}/`) ? name.slice(full.length + 1) : name));
  const more = found.length >= limit;
  return { content: [text(rows.length ? rows.join("\n") + (more ? `\n\n[${limit} results limit reached]` : "") : "No files found matching pattern")], details: more ? { resultLimitReached: limit } : undefined };
}

export const createReadTool = (cwd, options) => makeTool("read", cwd, options);
export const createBashTool = (cwd, options) => makeTool("bash", cwd, options);
export const createEditTool = (cwd, options) => makeTool("edit", cwd, options);
export const createWriteTool = (cwd, options) => makeTool("write", cwd, options);
export const createGrepTool = (cwd, options) => makeTool("grep", cwd, options);
export const createFindTool = (cwd, options) => makeTool("find", cwd, options);
export const createLsTool = (cwd, options) => makeTool("ls", cwd, options);
export const createReadToolDefinition = createReadTool;
export const createBashToolDefinition = createBashTool;
export const createEditToolDefinition = createEditTool;
export const createWriteToolDefinition = createWriteTool;
export const createGrepToolDefinition = createGrepTool;
export const createFindToolDefinition = createFindTool;
export const createLsToolDefinition = createLsTool;
export const createCodingTools = (cwd) => [createReadTool(cwd), createBashTool(cwd), createEditTool(cwd), createWriteTool(cwd)];
export const createReadOnlyTools = (cwd) => [createReadTool(cwd), createGrepTool(cwd), createFindTool(cwd), createLsTool(cwd)];

const here = () => host.cwd();
export const readTool = createReadTool(here());
export const bashTool = createBashTool(here());
export const editTool = createEditTool(here());
export const writeTool = createWriteTool(here());
export const grepTool = createGrepTool(here());
export const findTool = createFindTool(here());
export const lsTool = createLsTool(here());
export const codingTools = [readTool, bashTool, editTool, writeTool];
export const readOnlyTools = [readTool, grepTool, findTool, lsTool];

// ---- One writer per file -------------------------------------------------------------------------

const queues = new Map();

/** Runs changes of one file one after another, so that two calls at once lose nothing. */
export function withFileMutationQueue(path, work) {
  const before = queues.get(path) ?? Promise.resolve();
  const result = before.then(work, work);
  const settled = result.then(() => {}, () => {});
  queues.set(path, settled);
  void settled.then(() => {
    if (queues.get(path) === settled) queues.delete(path);
  });
  return result;
}

export { createLocalBashOperations };

/** The lines that a call of `read` asks for, as they stand behind its path. */
export function formatReadLineRange(offset, limit) {
  if (offset == null && limit == null) return "";
  const [start, count] = [offset ?? 1, limit ?? 1].map(Number);
  if (!Number.isFinite(start) || !Number.isFinite(count)) return "";
  return limit == null ? `:${start}` : `:${start}-${start + count - 1}`;
}
