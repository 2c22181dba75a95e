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
