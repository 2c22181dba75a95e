// node:child_process: spawn, exec, execFile and their synchronous forms, over the host's processes.
//
// The host decides whether a command may run and in which sandbox. `fork` and IPC are not offered.

import { withStubs } from "../stubs.js";
import { closeChannel, currentOwner, host, openChannel, unwrap } from "../../runtime/bridge.js";
import { asBuffer, decodeBytes } from "../../runtime/buffer.js";
import { bytesOf } from "../../runtime/encoding.js";
import { coded, unsupported } from "../../runtime/errors.js";
import { EventEmitter } from "./events.js";
import { Readable, Writable } from "./stream.js";
import { promisify } from "./util.js";

function stdioOf(options, fallback = "pipe") {
  const given = options.stdio ?? fallback;
  const list = Array.isArray(given) ? given : [given, given, given];
  return [0, 1, 2].map((i) => (typeof list[i] === "string" ? list[i] : list[i] === null || list[i] === undefined ? "pipe" : "inherit"));
}

function specOf(command, args, options, fallback) {
  if (typeof command !== "string" || command === "") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "file" argument must be a non-empty string.');
  return {
    command, args: (args ?? []).map(String), cwd: options.cwd === undefined ? undefined : String(options.cwd.pathname ?? options.cwd),
    env: options.env ? Object.fromEntries(Object.entries(options.env).filter(([, value]) => value !== undefined).map(([key, value]) => [key, String(value)])) : undefined,
    shell: options.shell ?? false, stdio: stdioOf(options, fallback), detached: Boolean(options.detached),
    timeout: options.timeout || undefined, killSignal: options.killSignal,
  };
}

function failure(problem, spec) {
  const error = coded(Error, problem.code ?? "EUNKNOWN", problem.message ?? `spawn ${spec.command} ${problem.code}`);
  return Object.assign(error, { errno: problem.errno ?? -2, syscall: `spawn ${spec.command}`, path: spec.command, spawnargs: spec.args });
}

// What nobody reads is kept up to this many bytes; what a program prints beyond it is lost.
const MOST_UNREAD = 64 << 20;

function keep(stream, data) {
  if (stream && !stream.destroyed && stream.readableLength + data.length <= MOST_UNREAD) stream.push(data);
}

export class ChildProcess extends EventEmitter {
  #id;
  #channel;
  #spawned = false;
  constructor(spec, options) {
    super();
    const pipe = (i) => (spec.stdio[i] === "pipe" ? new Readable({}) : null);
    Object.assign(this, { pid: undefined, exitCode: null, signalCode: null, killed: false, connected: false, spawnfile: spec.command, spawnargs: [spec.command, ...spec.args] });
    this.stdout = pipe(1);
    this.stderr = pipe(2);
    this.stdin = spec.stdio[0] === "pipe"
      ? new Writable({
          write: (chunk, _encoding, done) => {
            const taken = this.exitCode !== null || this.signalCode !== null || host.spawnWrite(this.#id, bytesOf(chunk));
            done(taken ? undefined : coded(Error, "EAGAIN", `write EAGAIN: too much waits for ${spec.command} to read it`));
          },
          final: (done) => {
            host.spawnWrite(this.#id, null);
            done();
          },
        })
      : null;
    this.stdio = [this.stdin, this.stdout, this.stderr];
    this.#channel = openChannel((event) => this.#receive(event, spec), "child process");
    try {
      const started = unwrap(host.spawn(currentOwner(), this.#channel, spec));
      this.#id = started.id;
      this.pid = started.pid;
    } catch (error) {
      Promise.resolve().then(() => this.#fail(failure(error, spec)));
    }
    const { signal } = options;
    const stop = () => {
      this.kill(options.killSignal);
      this.emit("error", Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" }));
    };
    if (signal?.aborted) Promise.resolve().then(stop);
    else signal?.addEventListener("abort", stop, { once: true });
  }
  #fail(error) {
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream?.destroy();
    closeChannel(this.#channel);
    this.exitCode = -2;
    this.emit("error", error);
    this.emit("close", -2, null);
  }
  #receive(event, spec) {
    // That it was found is told as output of nothing.
    if (!this.#spawned && event.type !== "error") {
      this.#spawned = true;
      this.emit("spawn");
    }
    if (event.data?.length === 0) return;
    switch (event.type) {
      case "stdout": case "stderr": keep(this[event.type], event.data); break;
      case "error": this.#fail(failure(event, spec)); break;
      case "exit": {
        this.exitCode = event.signal ? null : event.code;
        this.signalCode = event.signal ?? null;
        closeChannel(this.#channel);
        this.stdin?.destroy();
        this.emit("exit", this.exitCode, this.signalCode);
        // `close` comes after the last data was handed out, as listeners of both rely on.
        const open = [this.stdout, this.stderr].filter((stream) => stream && stream.listenerCount("data") > 0);
        let left = open.length;
        const close = () => this.emit("close", this.exitCode, this.signalCode);
        for (const stream of open) stream.once("end", () => --left === 0 && close());
        this.stdout?.push(null);
        this.stderr?.push(null);
        if (left === 0) Promise.resolve().then(close);
      }
    }
  }
  kill(signal = "SIGTERM") {
    if (this.exitCode !== null || this.signalCode !== null || this.#id === undefined) return false;
    const sent = Boolean(host.spawnKill(this.#id, String(signal)));
    this.killed ||= sent;
    return sent;
  }
  ref() {}
  unref() {}
  disconnect() {}
  send() {
    throw unsupported("child.send");
  }
}

const split = (args, options) => (Array.isArray(args) ? [args, options ?? {}] : [[], args ?? {}]);

export function spawn(command, args, options) {
  const [list, settings] = split(args, options);
  return new ChildProcess(specOf(command, list, settings), settings);
}

function collect(child, options, done) {
  const parts = { stdout: [], stderr: [] };
  const encoding = options.encoding === undefined ? "utf8" : options.encoding;
  const limit = options.maxBuffer ?? 1024 * 1024;
  const begun = Date.now();
  let failed;
  let size = 0;
  for (const name of ["stdout", "stderr"]) {
    child[name]?.on("data", (chunk) => {
      size += chunk.length;
      if (size > limit && !failed) {
        failed = coded(RangeError, "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", `${name} maxBuffer length exceeded`);
        child.kill();
      } else parts[name].push(chunk);
    });
  }
  // The host ends it when its time is over.
  const isLate = (signal) => signal !== null && options.timeout > 0 && Date.now() - begun >= options.timeout;
  child.on("error", (error) => {
    failed ??= error;
  });
  child.on("close", (code, signal) => {
    const text = (name) => {
      const whole = globalThis.Buffer.concat(parts[name]);
      return encoding && encoding !== "buffer" ? decodeBytes(whole, encoding) : whole;
    };
    const [stdout, stderr] = [text("stdout"), text("stderr")];
    let error = failed ?? null;
    if (!error && (code !== 0 || signal)) {
      error = Object.assign(new Error(`Command failed: ${child.spawnargs.join(" ")}\n${stderr}`), { code, killed: child.killed || isLate(signal), signal, cmd: child.spawnargs.join(" ") });
    }
    if (error) Object.assign(error, { stdout, stderr });
    done?.(error, stdout, stderr);
  });
  return child;
}

export function execFile(file, args, options, done) {
  if (typeof args === "function") [args, options, done] = [[], {}, args];
  else if (!Array.isArray(args)) [args, options, done] = [[], args ?? {}, options];
  if (typeof options === "function") [options, done] = [{}, options];
  return collect(spawn(file, args, { ...options, stdio: "pipe" }), options ?? {}, done);
}

export function exec(command, options, done) {
  if (typeof options === "function") [options, done] = [{}, options];
  const settings = options ?? {};
  const child = spawn(command, [], { ...settings, shell: settings.shell ?? true, stdio: "pipe" });
  child.spawnargs = [command];
  return collect(child, settings, done);
}

const together = (start) => (...args) => {
  let child;
  const promise = new Promise((resolve, reject) => {
    child = start(...args, (error, stdout, stderr) => (error ? reject(error) : resolve({ stdout, stderr })));
  });
  promise.child = child;
  return promise;
};
exec[promisify.custom] = together(exec);
execFile[promisify.custom] = together(execFile);

function runSync(command, args, options, fallback) {
  const spec = specOf(command, args, options, fallback);
  if (options.input !== undefined) spec.input = bytesOf(options.input);
  let raw;
  try {
    raw = unwrap(host.spawnSync(currentOwner(), spec));
  } catch (error) {
    const empty = spec.stdio[1] === "pipe" ? withEncoding(new Uint8Array(0), options) : null;
    return { pid: 0, output: [null, empty, empty], stdout: empty, stderr: empty, status: null, signal: null, error: failure(error, spec) };
  }
  const out = (name, i) => (spec.stdio[i] === "pipe" ? withEncoding(raw[name] ?? new Uint8Array(0), options) : null);
  const [stdout, stderr] = [out("stdout", 1), out("stderr", 2)];
  const result = { pid: raw.pid ?? 0, output: [null, stdout, stderr], stdout, stderr, status: raw.status ?? null, signal: raw.signal ?? null };
  if (raw.timedOut) result.error = coded(Error, "ETIMEDOUT", `spawnSync ${command} ETIMEDOUT`);
  return result;
}

const withEncoding = (bytes, options) =>
  options.encoding && options.encoding !== "buffer" ? decodeBytes(bytes, options.encoding) : asBuffer(bytes);

export function spawnSync(command, args, options) {
  const [list, settings] = split(args, options);
  return runSync(command, list, settings);
}

function outputOrThrow(result, command) {
  if (result.error) throw Object.assign(result.error, { status: result.status, stdout: result.stdout, stderr: result.stderr });
  if (result.status !== 0) {
    const error = new Error(`Command failed: ${command}\n${result.stderr ?? ""}`);
    throw Object.assign(error, result);
  }
  return result.stdout;
}

export const execSync = (command, options = {}) => outputOrThrow(runSync(command, [], { ...options, shell: options.shell ?? true }), command);
export function execFileSync(file, args, options) {
  const [list, settings] = split(args, options);
  return outputOrThrow(runSync(file, list, settings), [file, ...list].join(" "));
}
export function fork() {
  throw unsupported("child_process.fork", "start a command with spawn or pi.exec");
}
// Names of the real module that are not implemented.
export const {
  _forkChild,
} = withStubs("node:child_process");
export default { spawn, exec, execFile, execSync, execFileSync, spawnSync, fork, ChildProcess };
