// The synchronous file calls, which go straight to the host's `fs`; watching and streams.
//
// The host applies its policy to every path; what it refuses arrives as EACCES. Streams read or
// write the whole file at once. fs.js and fs_promises.js are other forms of what is here.

import { closeChannel, currentOwner, host, openChannel, unwrap } from "../../runtime/bridge.js";
import { asBuffer, decodeBytes } from "../../runtime/buffer.js";
import { bytesOf } from "../../runtime/encoding.js";
import { EventEmitter } from "./events.js";
import { Readable, Writable } from "./stream.js";
import { globExpression, join } from "./path.js";
import { fileURLToPath } from "./url.js";
import { setInterval, clearInterval } from "../../runtime/timers.js";

export const constants = {
  F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024,
  COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFLNK: 40960,
};
export const { F_OK, R_OK, W_OK, X_OK } = constants;

export function pathOf(path) {
  if (typeof path === "string") {
    if (path.includes("\0")) throw Object.assign(new TypeError("The path must not contain null bytes"), { code: "ERR_INVALID_ARG_VALUE" });
    return path;
  }
  if (path instanceof Uint8Array) return decodeBytes(path, "utf8");
  if (path && typeof path.href === "string") return fileURLToPath(path);
  throw Object.assign(new TypeError('The "path" argument must be of type string or an instance of Buffer or URL.'), { code: "ERR_INVALID_ARG_TYPE" });
}

const call = (operation, args) => unwrap(host.fs(currentOwner(), operation, args));
const encodingOf = (options) => (typeof options === "string" ? options : options?.encoding);
const withEncoding = (bytes, options) => {
  const encoding = encodingOf(options);
  return encoding && encoding !== "buffer" ? decodeBytes(bytes, encoding) : asBuffer(bytes);
};

export class Stats {
  #kind;
  constructor(raw) {
    this.#kind = raw.kind;
    const type = raw.kind === "dir" ? constants.S_IFDIR : raw.kind === "link" ? constants.S_IFLNK : constants.S_IFREG;
    Object.assign(this, {
      dev: 0, ino: raw.ino ?? 0, mode: raw.mode ? (raw.mode & ~constants.S_IFMT) | type : type | 0o644, nlink: 1, uid: raw.uid ?? 0, gid: raw.gid ?? 0,
      size: raw.size, blksize: 4096, blocks: Math.ceil(raw.size / 512),
    });
    for (const [name, ms] of [["atime", raw.atimeMs], ["mtime", raw.mtimeMs], ["ctime", raw.ctimeMs ?? raw.mtimeMs], ["birthtime", raw.birthtimeMs ?? raw.mtimeMs]]) {
      this[`${name}Ms`] = ms ?? raw.mtimeMs;
      this[name] = new Date(this[`${name}Ms`]);
    }
  }
  isFile() {
    return this.#kind === "file";
  }
  isDirectory() {
    return this.#kind === "dir";
  }
  isSymbolicLink() {
    return this.#kind === "link";
  }
  isFIFO() {
    return this.#kind === "fifo";
  }
  isSocket() {
    return this.#kind === "socket";
  }
  isBlockDevice() {
    return false;
  }
  isCharacterDevice() {
    return this.#kind === "char";
  }
}

export class Dirent {
  #kind;
  constructor(name, kind, parent) {
    this.name = name;
    this.#kind = kind;
    this.parentPath = parent;
    this.path = parent;
  }
  isFile() {
    return this.#kind === "file";
  }
  isDirectory() {
    return this.#kind === "dir";
  }
  isSymbolicLink() {
    return this.#kind === "link";
  }
  isFIFO() {
    return false;
  }
  isSocket() {
    return false;
  }
  isBlockDevice() {
    return false;
  }
  isCharacterDevice() {
    return false;
  }
}

export function existsSync(path) {
  try {
    return call("exists", { path: pathOf(path) });
  } catch {
    return false;
  }
}
export const readFileSync = (path, options) =>
  withEncoding(typeof path === "number" ? readAllOf(path) : call("read", { path: pathOf(path) }), options);
export function writeFileSync(path, data, options) {
  if (typeof path === "number") return void writeSync(path, data);
  call("write", { path: pathOf(path), data: toBytes(data, options), append: options?.flag?.startsWith("a") ?? false, exclusive: options?.flag?.includes("x") ?? false, mode: options?.mode });
}
export const appendFileSync = (path, data, options) =>
  void call("write", { path: pathOf(path), data: toBytes(data, options), append: true, mode: options?.mode });
function toBytes(data, options) {
  if (typeof data === "string") return bytesOf(globalThis.Buffer.from(data, encodingOf(options) ?? "utf8"));
  return bytesOf(data);
}
/** The first folder that was made, where those above it were to be made, too. */
export const mkdirSync = (path, options) => {
  const recursive = Boolean(options?.recursive);
  const made = call("mkdir", { path: pathOf(path), recursive, mode: typeof options === "number" ? options : options?.mode });
  return recursive ? made : undefined;
};
export const mkdtempSync = (prefix) => call("mkdtemp", { prefix: pathOf(prefix) });
export const rmdirSync = (path, options) => void call("remove", { path: pathOf(path), dir: true, recursive: Boolean(options?.recursive), force: false });
export const rmSync = (path, options) =>
  void call("remove", { path: pathOf(path), any: true, recursive: Boolean(options?.recursive), force: Boolean(options?.force) });
export const unlinkSync = (path) => void call("remove", { path: pathOf(path), recursive: false, force: false });
export const renameSync = (from, to) => void call("rename", { from: pathOf(from), to: pathOf(to) });
export const copyFileSync = (from, to, mode = 0) => void call("copy", { from: pathOf(from), to: pathOf(to), exclusive: (mode & 1) === 1 });
export const symlinkSync = (target, path) => void call("symlink", { target: pathOf(target), path: pathOf(path) });
export const linkSync = (from, to) => copyFileSync(from, to);
export const readlinkSync = (path) => call("readlink", { path: pathOf(path) });
export const chmodSync = (path, mode) => void call("chmod", { path: pathOf(path), mode: typeof mode === "string" ? parseInt(mode, 8) : mode });
export const chownSync = () => {};
export const utimesSync = (path, atime, mtime) =>
  void call("utimes", { path: pathOf(path), atimeMs: seconds(atime), mtimeMs: seconds(mtime) });
const seconds = (value) => (value instanceof Date ? value.getTime() : Number(value) * 1000);
export const truncateSync = (path, length = 0) => writeFileSync(path, readFileSync(path).subarray(0, length));
export const accessSync = (path, mode = 0) => void call("access", { path: pathOf(path), mode });
export function realpathSync(path) {
  return call("realpath", { path: pathOf(path) });
}
realpathSync.native = realpathSync;

function statCall(path, options, follow) {
  try {
    return new Stats(call("stat", { path: pathOf(path), follow }));
  } catch (error) {
    if (options?.throwIfNoEntry === false && error.code === "ENOENT") return undefined;
    throw error;
  }
}
export const statSync = (path, options) => statCall(path, options, true);
export const lstatSync = (path, options) => statCall(path, options, false);

export function readdirSync(path, options) {
  const root = pathOf(path);
  const list = [];
  const walk = (dir, prefix) => {
    for (const { name, kind } of call("readdir", { path: dir })) {
      list.push(options?.withFileTypes ? new Dirent(name, kind, dir) : prefix + name);
      if (options?.recursive && kind === "dir") walk(join(dir, name), `${prefix}${name}/`);
    }
  };
  walk(root, "");
  return list;
}

export function cpSync(from, to, options = {}) {
  const source = pathOf(from);
  const target = pathOf(to);
  if (!statSync(source).isDirectory()) {
    if (options.force === false && existsSync(target)) return;
    copyFileSync(source, target);
    return;
  }
  if (!options.recursive) throw Object.assign(new Error(`Recursive option not enabled, cannot copy a directory: ${source}`), { code: "ERR_FS_EISDIR" });
  mkdirSync(target, { recursive: true });
  for (const name of readdirSync(source)) cpSync(join(source, name), join(target, name), options);
}

export function globSync(pattern, { cwd = globalThis.process.cwd() } = {}) {
  const tests = [].concat(pattern).map(globExpression);
  return readdirSync(cwd, { recursive: true }).filter((name) => tests.some((test) => test.test(name)));
}

// ---- Open files: a table of whole contents, written back on close --------------------------------

const files = new Map();
let nextFd = 20;

export function openSync(path, flags = "r", mode) {
  const name = pathOf(path);
  const text = typeof flags === "number" ? numericFlags(flags) : String(flags);
  const exists = existsSync(name);
  if (text.includes("x") && exists) throw Object.assign(new Error(`EEXIST: file already exists, open '${name}'`), { code: "EEXIST", path: name });
  const fresh = text.startsWith("w") || !exists;
  if (text.startsWith("r")) accessSync(name);
  else if (fresh) writeFileSync(name, "", { mode });
  const data = fresh && !text.startsWith("r") ? new Uint8Array(0) : new Uint8Array(readFileSync(name));
  const fd = nextFd++;
  files.set(fd, { name, data, at: text.startsWith("a") ? data.length : 0, dirty: false, owner: currentOwner() });
  return fd;
}
const numericFlags = (flags) => (flags & 1024 ? "a" : flags & 512 ? "w" : flags & 3 ? "r+" : "r");

function entry(fd) {
  const found = files.get(fd);
  if (!found) throw Object.assign(new Error("EBADF: bad file descriptor"), { code: "EBADF" });
  return found;
}
export function closeSync(fd) {
  fsyncSync(fd);
  files.delete(fd);
}
export function fsyncSync(fd) {
  const file = entry(fd);
  if (file.dirty) writeFileSync(file.name, file.data);
  file.dirty = false;
}
export const fdatasyncSync = fsyncSync;
export function readSync(fd, buffer, offset = 0, length = buffer.length - offset, position = null) {
  const file = entry(fd);
  if (typeof offset === "object") ({ offset = 0, length = buffer.length - offset, position = null } = offset ?? {});
  const from = position ?? file.at;
  const part = file.data.subarray(from, from + length);
  buffer.set(part, offset);
  if (position === null) file.at = from + part.length;
  return part.length;
}
export function writeSync(fd, data, offset = 0, length, position = null) {
  if (fd === 1 || fd === 2) {
    host.stdout(currentOwner(), fd === 1 ? "stdout" : "stderr", typeof data === "string" ? data : decodeBytes(data, "utf8"));
    return data.length;
  }
  const file = entry(fd);
  const bytes = typeof data === "string" ? bytesOf(data) : data.subarray(offset, offset + (length ?? data.length - offset));
  const at = (typeof data === "string" ? (typeof offset === "number" && offset ? offset : null) : position) ?? file.at;
  const grown = new Uint8Array(Math.max(file.data.length, at + bytes.length));
  grown.set(file.data);
  grown.set(bytes, at);
  Object.assign(file, { data: grown, at: at + bytes.length, dirty: true });
  fsyncSync(fd);
  return bytes.length;
}
export const fstatSync = (fd) => statSync(entry(fd).name);
export const ftruncateSync = (fd, length = 0) => Object.assign(entry(fd), { data: entry(fd).data.slice(0, length), dirty: true });
const readAllOf = (fd) => entry(fd).data;

// ---- Watching ------------------------------------------------------------------------------------

export class FSWatcher extends EventEmitter {
  #id;
  #channel;
  constructor(path, options) {
    super();
    this.#channel = openChannel(({ event, name, error }) => {
      if (error) this.emit("error", Object.assign(new Error(error.message), error));
      else this.emit("change", event, name);
    }, "watch");
    this.#id = unwrap(host.watch(currentOwner(), this.#channel, path, Boolean(options?.recursive)));
    options?.signal?.addEventListener("abort", () => this.close(), { once: true });
  }
  close() {
    if (this.#channel === undefined) return;
    host.unwatch(this.#id);
    closeChannel(this.#channel);
    this.#channel = undefined;
    this.emit("close");
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}

export function watch(path, options, listener) {
  const settings = typeof options === "object" && options ? options : {};
  const watcher = new FSWatcher(pathOf(path), settings);
  const receive = typeof options === "function" ? options : listener;
  if (receive) watcher.on("change", receive);
  return watcher;
}

const polled = new Map();
export function watchFile(path, options, listener) {
  const name = pathOf(path);
  const receive = typeof options === "function" ? options : listener;
  const look = () => statSync(name, { throwIfNoEntry: false }) ?? new Stats({ kind: "none", size: 0, mtimeMs: 0 });
  let before = look();
  const timer = setInterval(() => {
    const now = look();
    if (now.mtimeMs === before.mtimeMs && now.size === before.size) return;
    const old = before;
    before = now;
    receive(now, old);
  }, options?.interval ?? 5007);
  polled.set(name, [...(polled.get(name) ?? []), timer]);
  return { ref() {}, unref() {} };
}
export function unwatchFile(path) {
  for (const timer of polled.get(pathOf(path)) ?? []) clearInterval(timer);
  polled.delete(pathOf(path));
}

// ---- Streams -------------------------------------------------------------------------------------

export function createReadStream(path, options) {
  const encoding = encodingOf(options);
  let sent = false;
  const stream = new Readable({
    read() {
      if (sent) return;
      sent = true;
      try {
        const bytes = readFileSync(path);
        const part = bytes.subarray(options?.start ?? 0, options?.end === undefined ? undefined : options.end + 1);
        if (part.length) this.push(encoding ? decodeBytes(part, encoding) : part);
        this.push(null);
      } catch (error) {
        this.destroy(error);
      }
    },
  });
  stream.path = path;
  // A file that is not there is told of, whether or not anybody reads.
  Promise.resolve().then(() => {
    if (sent || stream.destroyed) return;
    try {
      accessSync(path, constants.R_OK);
      stream.emit("open", -1);
      stream.emit("ready");
    } catch (error) {
      error.syscall = "open";
      stream.destroy(error);
    }
  });
  return stream;
}

export function createWriteStream(path, options) {
  const append = options?.flags?.startsWith("a");
  let first = !append;
  const stream = new Writable({
    write(chunk, encoding, done) {
      try {
        if (first) writeFileSync(path, chunk, encoding);
        else appendFileSync(path, chunk, encoding);
        first = false;
        done();
      } catch (error) {
        done(error);
      }
    },
    final(done) {
      if (first) writeFileSync(path, "");
      done();
    },
  });
  stream.path = path;
  // The file is there before anything is written.
  Promise.resolve().then(() => {
    if (stream.destroyed) return;
    try {
      if (append) appendFileSync(path, "");
      else if (first) writeFileSync(path, "");
      first = false;
      stream.emit("open", -1);
      stream.emit("ready");
    } catch (error) {
      stream.destroy(error);
    }
  });
  return stream;
}
