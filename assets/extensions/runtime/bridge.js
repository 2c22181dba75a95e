// The one door between JavaScript and the program that embeds it.
//
// The embedder puts its functions on `globalThis.__levainHost` before anything else runs; this
// module takes them and removes the global, so that extension code cannot find them. It also holds
// who is running (the owner of the current piece of work), and the channels through which the
// embedder calls back. It knows nothing of extensions' registrations: that is `host/`.

const SLOT = "__levainHost";
if (!globalThis[SLOT]) throw new Error("the extension runtime needs its host functions");
export const host = globalThis[SLOT];
delete globalThis[SLOT];

// The engine's own clock where it has one, since asking the host costs a crossing for each handler.
const clock = globalThis.performance;
/** Milliseconds of a clock that only goes forward. */
export const now = typeof clock?.now === "function" ? () => clock.now() : () => host.now();

/** Facts that do not change while the engine lives. See HOST.md for the fields. */
export const info = host.info();

/** Numbers of errors as Linux has them. */
const NUMBERS = {
  EPERM: -1, ENOENT: -2, EIO: -5, EBADF: -9, EAGAIN: -11, ENOMEM: -12, EACCES: -13, EBUSY: -16, EEXIST: -17, EXDEV: -18, ENOTDIR: -20, EISDIR: -21, EINVAL: -22, EMFILE: -24, EFBIG: -27, ENOSPC: -28,
  EROFS: -30, EPIPE: -32, ENAMETOOLONG: -36, ENOTEMPTY: -39, ELOOP: -40, EADDRINUSE: -98, EADDRNOTAVAIL: -99, ECONNRESET: -104, ETIMEDOUT: -110, ECONNREFUSED: -111, EHOSTUNREACH: -113,
};

/** An error that came from the embedder; `code` is its machine-readable kind. */
export class HostError extends Error {
  constructor(problem) {
    super(problem.message ?? String(problem));
    // To whoever catches it, it is an error of the system.
    this.name = "Error";
    if (problem.code) this.code = problem.code;
    if (Object.hasOwn(NUMBERS, problem.code)) this.errno = NUMBERS[problem.code];
    for (const key of ["errno", "syscall", "path", "dest"]) {
      if (problem[key] !== undefined) this[key] = problem[key];
    }
  }
}

/** Opens the `{value}` or `{error}` that every fallible host function answers with. */
export function unwrap(answer) {
  if (answer && Object.hasOwn(answer, "error")) throw new HostError(answer.error);
  return answer?.value;
}

// ---- Owners -------------------------------------------------------------------------------------

// 0 is the runtime itself. There is no asynchronous context in the engine, so the owner is set at
// each entry from outside (handler, timer, channel) and again whenever a host promise settles. Work
// that one extension awaits from another can be charged to the wrong one; nothing worse follows.
let owner = 0;

export const currentOwner = () => owner;

export function setOwner(id) {
  owner = id;
}

export function runAs(id, work) {
  const before = owner;
  owner = id;
  try {
    return work();
  } finally {
    owner = before;
  }
}

/** Wraps a host promise so that whoever waits goes on under the owner that asked. */
export function asOwner(promise) {
  const id = owner;
  return new Promise((resolve, reject) => {
    promise.then(
      (answer) => {
        owner = id;
        try {
          resolve(unwrap(answer));
        } catch (error) {
          reject(error);
        }
      },
      (error) => {
        owner = id;
        reject(error);
      },
    );
  });
}

// ---- Faults -------------------------------------------------------------------------------------

/** Failures in detached work after which an extension is switched off. */
export const FAULT_LIMIT = info.faultLimit ?? 10;

const faults = new Map();
const disabled = new Set();
let describeOwner = () => undefined;
const disableListeners = [];

/** `host/registry.js` says here which file an owner is. */
export function setOwnerNames(describe) {
  describeOwner = describe;
}

export function onDisable(listener) {
  disableListeners.push(listener);
}

export const isDisabled = (id) => disabled.has(id);

export function describeError(error) {
  // What the engine throws where no memory is left for an error.
  if (error === null) return { message: "null was thrown, as where memory has run out", stack: undefined };
  try {
    if (error instanceof Error || (error && typeof error === "object" && "message" in error)) {
      return { message: cut(String(error.message)), stack: error.stack ? cut(String(error.stack)) : undefined };
    }
    return { message: cut(String(error)), stack: undefined };
  } catch {
    return { message: "an error that cannot be shown", stack: undefined };
  }
}

const cut = (text) => (text.length > 4000 ? `${text.slice(0, 4000)}…` : text);

/** Tells the embedder about an error and goes on. Never throws. */
export function report(id, event, error, extra) {
  const record = { owner: id, path: describeOwner(id) ?? "<runtime>", event, ...describeError(error), ...extra };
  try {
    host.report(record);
  } catch {
    // An embedder that cannot take a report has no better place for this one either.
  }
  return record;
}

/** Charges an error in a timer, a listener, a render or a lost promise to its extension. */
export function charge(id, event, error) {
  const count = (faults.get(id) ?? 0) + 1;
  faults.set(id, count);
  const record = report(id, event, error, { count });
  if (id !== 0 && count >= FAULT_LIMIT && !disabled.has(id)) {
    disabled.add(id);
    for (const listener of disableListeners) listener(id);
    report(id, "disabled", new Error(`switched off after ${count} errors in its background work`), { disabled: true });
  }
  return record;
}

/** Forgets what an owner did wrong; for an extension that was loaded again. */
export function forgive(id) {
  faults.delete(id);
  disabled.delete(id);
}

// ---- Channels -----------------------------------------------------------------------------------

// A channel is a number that the embedder may call with a value, any number of times: a timer that
// is due, output of a process, a file that changed, a piece of a model's answer.
const channels = new Map();
let nextChannel = 1;

export function openChannel(receive, label = "callback") {
  const id = nextChannel++;
  channels.set(id, { receive, owner, label });
  return id;
}

export function closeChannel(id) {
  channels.delete(id);
}

/** Called by the embedder. Errors are charged to the owner of the channel. */
export function deliver(id, value) {
  const channel = channels.get(id);
  if (!channel || disabled.has(channel.owner)) return false;
  owner = channel.owner;
  try {
    const result = channel.receive(value);
    if (result && typeof result.then === "function") {
      result.then(undefined, (error) => charge(channel.owner, channel.label, error));
    }
  } catch (error) {
    charge(channel.owner, channel.label, error);
  }
  return true;
}

onDisable((id) => {
  for (const [number, channel] of channels) {
    if (channel.owner !== id) continue;
    channels.delete(number);
    // Nobody would answer there any more.
    if (channel.label === "server" || channel.label === "socket") host.spawnKill(number, "SIGKILL");
  }
});

// ---- Calls --------------------------------------------------------------------------------------

let nextCall = 1;

/** Asks the embedder for something that takes time. An abort cancels it there and rejects here. */
export function request(kind, name, args, signal) {
  const call = nextCall++;
  if (signal?.aborted) return Promise.reject(signal.reason);
  const answer = asOwner(host[kind](owner, call, name, args ?? {}));
  if (!signal) return answer;
  return new Promise((resolve, reject) => {
    const stop = () => {
      host.cancel(call);
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

export const action = (name, args, signal) => request("action", name, args, signal);
export const dialog = (name, args, signal) => request("ui", name, args, signal);

/** Asks or tells the embedder something that it answers at once. */
export const ask = (name, args) => unwrap(host.call(owner, name, args ?? {}));
