// process, as far as it makes sense inside another program.
//
// `env` holds only what the host allows; writing to it stays in this engine. Ending or signalling the
// program throws. Output goes to the host, which decides whether it may reach the terminal.

import { ask, charge, currentOwner, host, info, unwrap } from "./bridge.js";
import { bytesOf, utf8Decode } from "./encoding.js";
import { coded, unsupported } from "./errors.js";

let environment;

function env() {
  environment ??= Object.assign(Object.create(null), host.env(currentOwner()));
  return environment;
}

const envProxy = new Proxy(Object.create(null), {
  get: (_, key) => (typeof key === "string" ? env()[key] : undefined),
  set: (_, key, value) => {
    env()[key] = String(value);
    return true;
  },
  has: (_, key) => key in env(),
  deleteProperty: (_, key) => delete env()[key],
  ownKeys: () => Reflect.ownKeys(env()),
  getOwnPropertyDescriptor: (_, key) =>
    key in env() ? { value: env()[key], enumerable: true, configurable: true, writable: true } : undefined,
  defineProperty: (_, key, field) => {
    env()[key] = String(field.value);
    return true;
  },
});

const noExit = (what) => () => {
  throw unsupported(what, "an extension cannot end the program; use ctx.shutdown()");
};

/** Listeners are kept so that scripts may register them; the host raises `exit` for none. */
const listeners = new Map();
const on = (name, listener) => {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
  return process;
};

function writer(name, fd) {
  return {
    fd,
    get isTTY() {
      return Boolean(info.tty);
    },
    get columns() {
      return ask("terminal.size")?.columns ?? 80;
    },
    get rows() {
      return ask("terminal.size")?.rows ?? 24;
    },
    writable: true,
    write(data, encoding, done) {
      host.stdout(currentOwner(), name, typeof data === "string" ? data : utf8Decode(bytesOf(data)));
      const callback = typeof encoding === "function" ? encoding : done;
      if (callback) queueMicrotask(callback);
      return true;
    },
    end(data) {
      if (data !== undefined) this.write(data);
    },
    on() {
      return this;
    },
    once() {
      return this;
    },
    off() {
      return this;
    },
    removeListener() {
      return this;
    },
    emit: () => false,
    getColorDepth: () => 24,
    hasColors: () => true,
    cursorTo: () => true,
    clearLine: () => true,
  };
}

export const hrtime = (since) => {
  const now = host.now();
  const seconds = Math.floor(now / 1000);
  const nanos = Math.floor((now % 1000) * 1e6);
  if (!since) return [seconds, nanos];
  const [s, n] = [seconds - since[0], nanos - since[1]];
  return n < 0 ? [s - 1, n + 1e9] : [s, n];
};
hrtime.bigint = () => BigInt(Math.round(host.now() * 1e6));

const start = host.now();

// What runs scripts: extensions start it with one of theirs, and what looks whether it is a runtime calls `pi` by its name.
const PROGRAM = "node";

export const process = {
  env: envProxy,
  argv: [PROGRAM, "levain"],
  argv0: PROGRAM,
  execArgv: [],
  execPath: PROGRAM,
  title: "levain",
  pid: info.pid ?? 1,
  ppid: info.ppid ?? 0,
  platform: info.platform ?? "linux",
  arch: info.arch ?? "x64",
  version: "v22.19.0",
  versions: { node: "22.19.0", levain: info.version ?? "0" },
  release: { name: "levain" },
  features: {},
  config: {},
  exitCode: undefined,
  stdout: writer("stdout", 1),
  stderr: writer("stderr", 2),
  stdin: {
    fd: 0, isTTY: false, readable: false, setEncoding() {}, resume() {}, pause() {}, unref() {}, ref() {}, setRawMode() {},
    on() { return this; }, once() { return this; }, off() { return this; }, removeListener() { return this; },
  },
  cwd: () => host.cwd(),
  chdir: noExit("process.chdir"),
  exit: noExit("process.exit"),
  abort: noExit("process.abort"),
  reallyExit: noExit("process.reallyExit"),
  /** Signals to a process of one's own go through the child's `kill`; `kill(pid, 0)` asks whether it lives. */
  kill: (pid, signal = "SIGTERM") => {
    unwrap(host.signal(currentOwner(), pid, signal));
    return true;
  },
  nextTick: (callback, ...args) => {
    const owner = currentOwner();
    Promise.resolve().then(() => {
      try {
        callback(...args);
      } catch (error) {
        charge(owner, "nextTick", error);
      }
    });
  },
  hrtime,
  uptime: () => (host.now() - start) / 1000,
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  umask: () => 0o022,
  getuid: () => info.uid ?? 1000,
  geteuid: () => info.uid ?? 1000,
  getgid: () => info.gid ?? 1000,
  emitWarning: (warning) => host.log(currentOwner(), "warn", String(warning?.message ?? warning)),
  on,
  once: on,
  addListener: on,
  prependListener: on,
  off: (name, listener) => {
    listeners.set(name, (listeners.get(name) ?? []).filter((entry) => entry !== listener));
    return process;
  },
  removeListener: (name, listener) => process.off(name, listener),
  removeAllListeners: (name) => {
    if (name === undefined) listeners.clear();
    else listeners.delete(name);
    return process;
  },
  emit: () => false,
  listeners: (name) => [...(listeners.get(name) ?? [])],
  listenerCount: (name) => listeners.get(name)?.length ?? 0,
  setMaxListeners: () => process,
  binding: () => {
    throw coded(Error, "ERR_NOT_SUPPORTED", "process.binding is not available to extensions in levain");
  },
};
process.memoryUsage.rss = () => 0;
process[Symbol.toStringTag] = "process";

