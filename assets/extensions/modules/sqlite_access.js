// What node:sqlite and better-sqlite3 have in common: a database that the host keeps open, and values on their way there
// and back.

import { currentOwner, host, unwrap } from "../runtime/bridge.js";
import { bytesOf } from "../runtime/encoding.js";

/** A file of a database as the two name it: a path, an address, or "" and ":memory:". */
export function pathOf(path) {
  if (path instanceof Uint8Array) return new TextDecoder().decode(path);
  const text = path instanceof URL ? path.href : path;
  if (typeof text !== "string" || !text.startsWith("file:")) return { path: text };
  const [name, query = ""] = text.slice("file:".length).split("#")[0].split("?");
  const wanted = new URLSearchParams(query);
  const mode = wanted.get("mode");
  const bare = decodeURIComponent(name.replace(/^\/\/(localhost)?(?=\/)/, ""));
  return { path: mode === "memory" ? ":memory:" : bare, readonly: mode === "ro" || wanted.get("immutable") === "1", mustExist: mode === "rw" };
}

/** One open database. `failure` makes the error that a module throws of what the host says. */
export class Connection {
  #id;
  #failure;
  constructor(options, failure) {
    this.#failure = failure;
    const { id, path } = this.#ask("open", options);
    this.#id = id;
    this.path = path ?? null;
  }
  #ask(operation, args) {
    try {
      return unwrap(host.sqlite(currentOwner(), operation, args));
    } catch (problem) {
      throw this.#failure(problem);
    }
  }
  get isOpen() {
    return this.#id !== undefined;
  }
  get inTransaction() {
    return this.ask("state").inTransaction;
  }
  ask(operation, args = {}) {
    return this.#ask(operation, { ...args, id: this.#id });
  }
  close() {
    this.ask("close");
    this.#id = undefined;
  }
}

/** What the host takes for a value; `undefined` where it has no form there. */
export function encoded(value) {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : Number.isNaN(value) ? null : { real: String(value) };
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value ? { integer: String(value) } : undefined;
  return ArrayBuffer.isView(value) ? bytesOf(value) : undefined;
}

/** A value of the host's; `whole` makes one of a whole number that a number does not hold, or of all. */
export function decoded(value, whole, bytes) {
  if (value instanceof Uint8Array) return bytes(value);
  return value !== null && typeof value === "object" ? whole(value.integer) : value ?? null;
}
