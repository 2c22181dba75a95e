// The host functions of HOST.md on Node, for the tests: a session in memory, a screen that only
// remembers, real files and processes below the working folder. `Host` holds the state that tests look at.

import { spawn, spawnSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { folder } from "./folder.mjs";

const fail = (code, message, more) => ({ error: { code, message, ...more } });
const guard = (work) => {
  try {
    return { value: work() };
  } catch (error) {
    return { error: { code: error.code ?? "EUNKNOWN", message: error.message, errno: error.errno, syscall: error.syscall, path: error.path, dest: error.dest } };
  }
};
const kindOf = (entry) => (entry.isSymbolicLink() ? "link" : entry.isDirectory() ? "dir" : entry.isFile() ? "file" : entry.isFIFO() ? "fifo" : "char");

/** Cells of a text: wide for East Asian and emoji, none for marks. Enough for the tests. */
function widthOf(text) {
  let width = 0;
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) {
    const code = segment.codePointAt(0);
    if (code < 32 || (code >= 0x7f && code < 0xa0) || /^\p{M}$|^[\u200b-\u200f\ufeff]$/u.test(segment)) continue;
    const wide = /\p{Emoji_Presentation}/u.test(segment) || segment.includes("\ufe0f") ||
      (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) || (code >= 0x20000 && code <= 0x3fffd);
    width += wide ? 2 : 1;
  }
  return width;
}

/** A time zone as it is at a time: out of the hours that Node's own Intl shows there. */
function zoneOf(name, at) {
  try {
    const parts = (options) => Object.fromEntries(new Intl.DateTimeFormat("en-US", { timeZone: name, ...options }).formatToParts(at).map(({ type, value }) => [type, value]));
    const { year, month, day, hour, minute, second } = parts({ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric", hourCycle: "h23" });
    const there = Date.UTC(year, month - 1, day, hour, minute, second);
    const short = parts({ timeZoneName: "short" }).timeZoneName;
    return { offset: Math.round((there - Math.floor(at / 1000) * 1000) / 60000), abbreviation: short, name: new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone };
  } catch {
    return undefined;
  }
}

/** A child that could not start has no pid, and killing it would signal this whole process group. */
const stop = (child, signal) => (child?.pid === undefined ? false : child.kill(signal));

const BUILT_IN = ["read", "bash", "edit", "write", "grep", "find", "ls"];

export class Host {
  logs = [];
  reports = [];
  actions = [];
  notices = [];
  statuses = {};
  widgets = {};
  places = new Map();
  calls = [];
  output = "";
  entries = [];
  leaf = null;
  labels = {};
  name = undefined;
  active = ["read", "bash", "edit", "write"];
  flags = {};
  thinking = "medium";
  idle = true;
  pending = false;
  usage = undefined;
  systemPrompt = "base prompt";
  editorText = "";
  title = "";
  mode = "tui";
  model = { id: "m1", provider: "test", name: "Model One", api: "test-api", reasoning: true, input: ["text"], contextWindow: 100000, maxTokens: 8192, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } };
  models = [];
  keys = {};
  themeData = undefined;
  denied = () => false;
  dialogs = [];
  /** Answers dialogs; a test replaces it. */
  onDialog = () => undefined;
  onAction = {};
  onCall = {};

  constructor({ cwd, env = {}, engine } = {}) {
    this.cwd = cwd ?? folder();
    this.env = { HOME: this.cwd, PATH: process.env.PATH, ...env };
    this.engine = engine;
    this.timers = new Map();
    this.processes = new Map();
    this.watchers = new Map();
    this.bodies = new Map();
    this.cancels = new Map();
  }

  /** Empties what was told and asked, for the next run in the same engine. */
  forget() {
    for (const list of [this.calls, this.actions, this.dialogs, this.notices, this.reports, this.logs]) list.length = 0;
  }

  dispose() {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const child of this.processes.values()) stop(child, "SIGKILL");
    for (const watcher of this.watchers.values()) watcher.close();
  }

  /** Appends an entry to the session at the leaf and returns its id. */
  append(entry) {
    const id = (this.entries.length + 1).toString(16).padStart(8, "0");
    this.entries.push({ id, parentId: this.leaf, timestamp: new Date(0).toISOString(), ...entry });
    this.leaf = id;
    return id;
  }
  branch(from = this.leaf) {
    const list = [];
    for (let entry = this.entries.find((item) => item.id === from); entry; entry = this.entries.find((item) => item.id === entry.parentId)) list.unshift(entry);
    return list;
  }

  /** What is installed as `__levainHost`. */
  functions() {
    const deliver = (channel, value) => this.engine.deliver(channel, value);
    return {
      info: () => ({ platform: "linux", arch: "x64", pid: process.pid, homedir: this.cwd, tmpdir: os.tmpdir(), version: "0", apiVersion: "0.84.1", faultLimit: 5, timeZone: "UTC", cpus: 2 }),
      log: (owner, level, text) => void this.logs.push({ owner, level, text }),
      report: (record) => void this.reports.push(record),
      now: () => performance.now(),
      timerStart: (id, ms) => void this.timers.set(id, setTimeout(() => {
        this.timers.delete(id);
        deliver(id, null);
      }, ms)),
      timerStop: (id) => {
        clearTimeout(this.timers.get(id));
        this.timers.delete(id);
      },
      random: (size) => new Uint8Array(crypto.randomBytes(size)),
      hash: (name, data, key) => guard(() => new Uint8Array((key ? crypto.createHmac(name, key) : crypto.createHash(name)).update(data).digest())),
      zlib: (operation, data, level, lenient) => guard(() => (operation === "crc32" ? zlib.crc32?.(data) ?? 0 : new Uint8Array(zlib[`${operation}Sync`](data, { ...(level === null ? {} : { level }), ...(lenient ? { finishFlush: zlib.constants.Z_SYNC_FLUSH } : {}) })))),
      segment: (text, granularity) => [...new Intl.Segmenter("en", { granularity }).segment(text)].map((item) => item.segment),
      width: widthOf,
      zone: zoneOf,
      env: () => ({ ...this.env }),
      cwd: () => this.cwd,
      fs: (owner, operation, args) => this.file(operation, args),
      watch: (owner, channel, file, recursive) => guard(() => {
        this.watchers.set(channel, fs.watch(file, { recursive }, (event, name) => deliver(channel, { event, name })));
        return channel;
      }),
      unwatch: (id) => {
        this.watchers.get(id)?.close();
        this.watchers.delete(id);
      },
      spawn: (owner, channel, spec) => this.start(channel, spec, deliver),
      spawnWrite: (id, data) => {
        const stdin = this.processes.get(id)?.stdin;
        if (data === null) stdin?.end();
        else stdin?.write(data);
        return Boolean(stdin);
      },
      spawnKill: (id, signal) => stop(this.processes.get(id), signal),
      spawnSync: (owner, spec) => {
        if (this.denied("exec", spec.command)) return fail("EACCES", `not allowed: ${spec.command}`);
        const done = spawnSync(spec.command, spec.args, { cwd: spec.cwd ?? this.cwd, env: spec.env ?? this.env, shell: spec.shell, input: spec.input, timeout: spec.timeout, stdio: spec.stdio.map((kind) => (kind === "inherit" ? "ignore" : kind)) });
        if (done.error) return fail(done.error.code, done.error.message);
        return { value: { pid: done.pid, stdout: new Uint8Array(done.stdout ?? []), stderr: new Uint8Array(done.stderr ?? []), status: done.status, signal: done.signal } };
      },
      signal: (owner, pid) => fail("EPERM", `kill EPERM: process ${pid} is not yours`),
      stdout: (owner, stream, text) => {
        this.output += text;
      },
      module: (operation, file) => guard(() => this.module(operation, file)),
      call: (owner, name, args) => {
        this.calls.push({ owner, name, args });
        return guard(() => (this.onCall[name] ? this.onCall[name](args) : this.answer(name, args)));
      },
      action: (owner, call, name, args) => this.perform(owner, call, name, args),
      ui: async (owner, call, name, args) => {
        this.dialogs.push({ name, args });
        const cancelled = new Promise((resolve) => this.cancels.set(call, () => resolve({ error: { code: "CANCELLED", message: "cancelled" } })));
        let timer;
        const timed = args.timeout ? new Promise((resolve) => (timer = setTimeout(() => resolve({ value: null }), args.timeout))) : new Promise(() => {});
        const answer = await Promise.race([cancelled, timed, Promise.resolve(this.onDialog(name, args)).then((value) => ({ value: value ?? null }))]);
        clearTimeout(timer);
        return answer;
      },
      cancel: (call) => this.cancels.get(call)?.(),
      httpRead: async (owner, id) => {
        const body = this.bodies.get(id);
        const { value, done } = body ? await body.next() : { done: true };
        return { value: done ? null : value };
      },
      httpClose: (id) => this.bodies.delete(id),
    };
  }

  file(operation, args) {
    const target = args.path ?? args.from ?? args.prefix;
    if (this.denied(operation, target)) return fail("EACCES", `EACCES: permission denied, ${operation} '${target}'`, { path: target, syscall: operation });
    return guard(() => {
      switch (operation) {
        case "exists": return fs.existsSync(args.path);
        case "read": return new Uint8Array(fs.readFileSync(args.path));
        case "write": return fs.writeFileSync(args.path, args.data, { flag: args.append ? "a" : args.exclusive ? "wx" : "w", mode: args.mode });
        case "mkdir": return fs.mkdirSync(args.path, { recursive: args.recursive, mode: args.mode });
        case "mkdtemp": return fs.mkdtempSync(args.prefix);
        case "remove": return args.dir ? fs.rmdirSync(args.path) : args.any ? fs.rmSync(args.path, { recursive: args.recursive, force: args.force }) : fs.unlinkSync(args.path);
        case "rename": return fs.renameSync(args.from, args.to);
        case "copy": return fs.copyFileSync(args.from, args.to, args.exclusive ? 1 : 0);
        case "symlink": return fs.symlinkSync(args.target, args.path);
        case "readlink": return fs.readlinkSync(args.path);
        case "chmod": return fs.chmodSync(args.path, args.mode);
        case "utimes": return fs.utimesSync(args.path, args.atimeMs / 1000, args.mtimeMs / 1000);
        case "access": return fs.accessSync(args.path, args.mode);
        case "realpath": return fs.realpathSync(args.path);
        case "readdir": return fs.readdirSync(args.path, { withFileTypes: true }).map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
        case "stat": {
          const stat = args.follow ? fs.statSync(args.path) : fs.lstatSync(args.path);
          return { kind: kindOf(stat), size: stat.size, mode: stat.mode, mtimeMs: stat.mtimeMs, atimeMs: stat.atimeMs, ctimeMs: stat.ctimeMs, birthtimeMs: stat.birthtimeMs, ino: stat.ino, uid: stat.uid, gid: stat.gid };
        }
        default: throw new Error(`unknown file operation ${operation}`);
      }
    });
  }

  module(operation, file) {
    if (operation === "kind") {
      const stat = fs.statSync(file, { throwIfNoEntry: false });
      return stat?.isFile() ? 1 : stat?.isDirectory() ? 2 : 0;
    }
    return fs.readFileSync(file, "utf8");
  }

  start(channel, spec, deliver) {
    if (this.denied("exec", spec.command)) return fail("EACCES", `spawn ${spec.command} EACCES`);
    const child = spawn(spec.command, spec.args, { cwd: spec.cwd ?? this.cwd, env: spec.env ?? this.env, shell: spec.shell, stdio: spec.stdio.map((kind) => (kind === "inherit" ? "ignore" : kind)), timeout: spec.timeout });
    this.processes.set(channel, child);
    let failed = false;
    child.on("error", (error) => {
      failed = true;
      this.processes.delete(channel);
      deliver(channel, { type: "error", code: error.code, message: error.message });
    });
    child.stdout?.on("data", (data) => deliver(channel, { type: "stdout", data: new Uint8Array(data) }));
    child.stderr?.on("data", (data) => deliver(channel, { type: "stderr", data: new Uint8Array(data) }));
    child.on("close", (code, signal) => {
      this.processes.delete(channel);
      if (!failed) deliver(channel, { type: "exit", code, signal });
    });
    return { value: { id: channel, pid: child.pid } };
  }

  async perform(owner, call, name, args) {
    this.actions.push({ owner, name, args });
    try {
      if (this.onAction[name]) return { value: await this.onAction[name](args, call) };
      switch (name) {
        case "exec": return { value: await this.exec(args, call) };
        case "tool.run": return { value: await this.runTool(args) };
        case "model.key": return { value: this.keys[args.provider] ?? null };
        case "http.open": return { value: await this.open(args) };
        case "model.set": return { value: Boolean(this.keys[args.model.provider]) && Boolean((this.model = args.model)) };
        default: return { value: null };
      }
    } catch (error) {
      return { error: { message: error.message, code: error.code } };
    }
  }

  exec({ command, args, cwd, timeout }, call) {
    return new Promise((resolve) => {
      const child = spawn(command, args, { cwd: cwd ?? this.cwd, env: this.env, stdio: ["ignore", "pipe", "pipe"], timeout });
      const parts = { stdout: "", stderr: "" };
      for (const stream of ["stdout", "stderr"]) child[stream].on("data", (data) => (parts[stream] += data));
      this.cancels.set(call, () => stop(child, "SIGKILL"));
      child.on("error", () => resolve({ ...parts, code: 1, killed: false }));
      child.on("close", (code, signal) => resolve({ ...parts, code: code ?? 0, killed: signal !== null }));
    });
  }

  async runTool({ name, params, cwd }) {
    if (name === "bash") {
      const { stdout, stderr, code } = await this.exec({ command: "bash", args: ["-c", params.command], cwd });
      if (code !== 0) throw new Error(`${stdout}${stderr}\n\nCommand exited with code ${code}`);
      return { content: [{ type: "text", text: stdout + stderr }] };
    }
    if (name === "read") return { content: [{ type: "text", text: fs.readFileSync(path.resolve(cwd, params.path), "utf8") }] };
    if (name === "write") {
      fs.writeFileSync(path.resolve(cwd, params.path), params.content);
      return { content: [{ type: "text", text: "written" }] };
    }
    return { content: [{ type: "text", text: `${name} ran` }], details: {} };
  }

  async open({ url, method, headers, body }) {
    const answer = this.fetch ? await this.fetch({ url, method, headers, body }) : await fetch(url, { method, headers, body });
    const id = this.bodies.size + 1;
    const iterator = answer.body?.[Symbol.asyncIterator]?.() ?? answer.body?.[Symbol.iterator]?.();
    this.bodies.set(id, iterator);
    return { id, status: answer.status, statusText: answer.statusText ?? "", headers: [...(answer.headers ?? [])], url };
  }

  answer(name, args) {
    switch (name) {
      case "mode": return this.mode;
      case "flag": return this.flags[args.name] ?? null;
      case "session.info": return { cwd: this.cwd, dir: this.cwd, id: "session-1", file: path.join(this.cwd, "session.jsonl") };
      case "session.name": return this.name ?? null;
      case "session.setName": return void (this.name = args.name);
      case "session.entries": return this.entries;
      case "session.branch": return this.branch(args.fromId ?? this.leaf);
      case "session.leafId": return this.leaf;
      case "session.entry": return this.entries.find((entry) => entry.id === args.id) ?? null;
      case "session.label": return this.labels[args.id] ?? null;
      case "session.setLabel": return void (this.labels[args.entryId] = args.label);
      case "session.append": return this.append({ type: "custom", customType: args.customType, data: args.data });
      case "tools.active": return this.active;
      case "tools.setActive": return void (this.active = args.names);
      case "tools.all": return [
        ...BUILT_IN.map((tool) => ({ name: tool, description: `the ${tool} tool`, parameters: {}, sourceInfo: { source: "builtin", path: `<builtin:${tool}>` } })),
        ...this.engine.api.toolDescriptions().map(({ name: tool, description, parameters, sourceInfo }) => ({ name: tool, description, parameters, sourceInfo })),
      ];
      case "registered": return args.kind === "tool" ? void this.active.push(args.name) : undefined;
      case "commands.others": return [{ name: "review", description: "a template", source: "prompt", location: "user", path: "/p/review.md" }, { name: "skill:x", description: "a skill", source: "skill", location: "project", path: "/p/SKILL.md" }];
      case "model.current": return this.model;
      case "model.list": case "model.available": return [this.model, ...this.models].filter(Boolean);
      case "model.find": return [this.model, ...this.models].filter(Boolean).find((model) => model.provider === args.provider && model.id === args.id) ?? null;
      case "model.thinking": return this.thinking;
      case "model.setThinking": return void (this.thinking = args.level);
      case "model.providerCount": return 2;
      case "run.idle": return this.idle;
      case "run.pending": return this.pending;
      case "run.usage": return this.usage ?? null;
      case "run.systemPrompt": return this.systemPrompt;
      case "run.shutdown": return void (this.shutdown = true);
      case "run.abort": return void (this.aborted = true);
      case "ui.available": return this.mode === "tui";
      case "ui.notify": return void this.notices.push({ message: args.message, type: args.type });
      case "ui.setStatus": return args.text === null ? void delete this.statuses[args.key] : void (this.statuses[args.key] = args.text);
      case "ui.setWidget": return void (this.widgets[args.key] = { lines: args.lines, placement: args.placement });
      case "ui.clear": return args.key === undefined ? void this.places.delete(args.slot) : void delete this.widgets[args.key];
      case "ui.setTitle": return void (this.title = args.title);
      case "ui.editorText": return this.editorText;
      case "ui.setEditorText": return void (this.editorText = args.text);
      case "ui.pasteToEditor": return void (this.editorText += args.text);
      case "ui.open": return void this.places.set(args.slot ?? args.component, args);
      case "ui.close": return void this.places.delete(args.component);
      case "ui.theme": return this.themeData ?? null;
      case "ui.themes": return [{ name: "dark" }, { name: "light" }];
      case "ui.setTheme": return { success: true, name: (this.themeName = args.name) };
      case "ui.wantsInput": return void (this.wantsInput = args.count);
      case "ui.submit": return void (this.submitted = args.text);
      case "terminal.size": return { columns: 100, rows: 40 };
      case "git.branch": return "main";
      default: return null;
    }
  }
}
