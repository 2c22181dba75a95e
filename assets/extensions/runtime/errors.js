// DOMException and the error helpers that the web-like globals share.

const CODES = {
  AbortError: 20, DataCloneError: 25, InvalidAccessError: 15, InvalidCharacterError: 5, NetworkError: 19,
  NotSupportedError: 9, QuotaExceededError: 22, SyntaxError: 12, TimeoutError: 23, InvalidStateError: 11,
};

class OwnDOMException extends Error {
  #name;
  constructor(message = "", name = "Error") {
    super(message);
    this.#name = typeof name === "object" && name ? name.name ?? "Error" : String(name);
    if (typeof name === "object" && name && "cause" in name) this.cause = name.cause;
  }
  get name() {
    return this.#name;
  }
  get code() {
    return CODES[this.#name] ?? 0;
  }
}

export const DOMException = globalThis.DOMException ?? OwnDOMException;

/** An error with a `code`, as Node's functions throw them. */
export function coded(Kind, code, message) {
  const error = new Kind(message);
  error.code = code;
  return error;
}

/** Why something of the real platform is not here, in words an author can act on. */
export function unsupported(what, hint) {
  const error = new Error(`${what} is not available to extensions in levain${hint ? `: ${hint}` : ""}`);
  error.code = "ERR_NOT_SUPPORTED";
  return error;
}

const toText = Error.prototype.toString;

/** The first line of a stack, as V8 writes it. */
function headOf(error) {
  try {
    return toText.call(error);
  } catch {
    return "Error";
  }
}

/** Frames that the engine wrote, with what they are of before them. What an own `prepareStackTrace` made stays. */
function withHead(error, stack) {
  if (typeof stack !== "string" || !(stack === "" || stack.startsWith("    at "))) return stack;
  return `${headOf(error)}\n${stack}`.trimEnd();
}

/**
 * Stacks begin with the error's name and message, as in Node, where much is printed by `error.stack` alone. For an engine that
 * keeps frames only and gives them by an accessor.
 */
export function nameStacks() {
  const given = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
  if (!given?.get) return;
  Object.defineProperty(Error.prototype, "stack", {
    get() {
      return withHead(this, given.get.call(this));
    },
    set: given.set,
    configurable: true,
  });
  const capture = Error.captureStackTrace;
  if (typeof capture !== "function") return;
  Object.defineProperty(Error, "captureStackTrace", {
    value: function captureStackTrace(target, from) {
      capture(target, from ?? captureStackTrace);
      const { stack } = target;
      if (Object.hasOwn(target, "stack")) Object.defineProperty(target, "stack", { value: withHead(target, stack), writable: true, configurable: true });
    },
    writable: true,
    configurable: true,
  });
}
