// Reads what comes over one connection of an HTTP/1.1 server: heads, and bodies with a length or in chunks.
//
// Strict where laxness lets two readers disagree on where a message ends (RFC 9112, 6.3 and 11.2): two lengths, a length
// beside chunks, spaces before a colon and folded lines are refused.

import { asBuffer } from "../../runtime/buffer.js";
import { TOKEN, maxHeaderSize } from "./http_messages.js";

const LARGEST_CHUNK = 0x7fffffff;

/** Fields that stand once: Node keeps the first. */
const ONCE = new Set([
  "age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host", "if-modified-since", "if-unmodified-since",
  "last-modified", "location", "max-forwards", "proxy-authorization", "referer", "retry-after", "server", "user-agent",
]);

/** Pairs of a head as Node's object of headers. */
export function headersOf(raw) {
  const headers = {};
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    if (name === "set-cookie") headers[name] = [...(headers[name] ?? []), raw[i + 1]];
    else if (!Object.hasOwn(headers, name)) headers[name] = raw[i + 1];
    else if (!ONCE.has(name)) headers[name] += `${name === "cookie" ? "; " : ", "}${raw[i + 1]}`;
  }
  return headers;
}

/** What is answered with a status, and the connection closed. */
export class ParseError extends Error {
  constructor(status, why) {
    super(`Parse Error: ${why}`);
    this.status = status;
    this.code = status === 431 ? "HPE_HEADER_OVERFLOW" : "HPE_INVALID_CONSTANT";
  }
}
const refused = (status, why) => new ParseError(status, why);

function fieldsOf(lines) {
  const raw = [];
  for (const line of lines) {
    const at = line.indexOf(":");
    if (at < 1 || !TOKEN.test(line.slice(0, at))) throw refused(400, "a header line is none");
    const value = line.slice(at + 1).trim();
    if (/[\0\r\n]/.test(value)) throw refused(400, "a header's value has control characters");
    raw.push(line.slice(0, at), value);
  }
  return raw;
}

/** How much of a body follows: a number of bytes, or "chunked". */
function lengthOf(raw) {
  const all = (name) => raw.flatMap((text, i) => (i % 2 === 0 && text.toLowerCase() === name ? [raw[i + 1]] : []));
  const [lengths, codings] = [all("content-length"), all("transfer-encoding")];
  if (codings.length > 0) {
    if (lengths.length > 0 || codings.length > 1 || codings[0].toLowerCase() !== "chunked") throw refused(400, "the length of the body is not clear");
    return "chunked";
  }
  if (lengths.length === 0) return 0;
  if (lengths.length > 1 || !/^\d{1,15}$/.test(lengths[0])) throw refused(400, "the length of the body is not clear");
  return Number(lengths[0]);
}

/**
 * `onHead({ method, url, version, raw })`, then `onBody(bytes)` and `onEnd()`. After the end nothing more is read until `next` is
 * called, so that answers keep the order of their questions. Throws a `ParseError`.
 */
export class RequestParser {
  #rest = asBuffer(new Uint8Array(0));
  #on;
  /** What comes next: "head", a number of bytes, "size" and then "chunk" of so many bytes, "gap" behind it, "trailers", or "done". */
  #state = "head";
  #left = 0;
  constructor(on) {
    this.#on = on;
  }
  get isBetween() {
    return this.#state === "head" && this.#rest.length === 0;
  }
  /** Nothing of a request was read that is not answered, or will be. */
  get isDone() {
    return (this.#state === "done" || this.#state === "head") && this.#rest.length === 0;
  }
  /** How much waits for the request before it to be answered. */
  get waiting() {
    return this.#state === "done" ? this.#rest.length : 0;
  }
  /** What was read and is of no request; for whoever takes the connection over. */
  take() {
    const rest = this.#rest;
    this.#rest = asBuffer(new Uint8Array(0));
    this.#state = "taken";
    return rest;
  }
  push(bytes) {
    if (this.#state === "taken") return;
    this.#rest = this.#rest.length === 0 ? asBuffer(bytes) : globalThis.Buffer.concat([this.#rest, bytes]);
    this.#go();
  }
  next() {
    if (this.#state !== "done") return;
    this.#state = "head";
    this.#go();
  }
  #line() {
    const at = this.#rest.indexOf("\r\n");
    if (at < 0) {
      if (this.#rest.length > maxHeaderSize) throw refused(431, "a line is too long");
      return undefined;
    }
    const line = this.#rest.subarray(0, at).toString("latin1");
    this.#rest = this.#rest.subarray(at + 2);
    return line;
  }
  #go() {
    for (;;) {
      switch (this.#state) {
        case "head": if (!this.#head()) return; break;
        case "body": case "chunk": {
          const piece = this.#rest.subarray(0, this.#left);
          if (piece.length === 0 && this.#left > 0) return;
          this.#rest = this.#rest.subarray(piece.length);
          this.#left -= piece.length;
          if (piece.length > 0) this.#on.onBody(piece);
          if (this.#left > 0) return;
          if (this.#state === "chunk") this.#state = "gap";
          else this.#end();
          break;
        }
        case "gap": {
          const line = this.#line();
          if (line === undefined) return;
          if (line !== "") throw refused(400, "a chunk is longer than it says");
          this.#state = "size";
          break;
        }
        case "size": {
          const line = this.#line();
          if (line === undefined) return;
          const size = /^([0-9a-fA-F]{1,8})(?:[ \t]*;.*)?$/.exec(line);
          this.#left = size ? Number.parseInt(size[1], 16) : LARGEST_CHUNK + 1;
          if (this.#left > LARGEST_CHUNK) throw refused(400, "the size of a chunk is none");
          this.#state = this.#left === 0 ? "trailers" : "chunk";
          break;
        }
        case "trailers": {
          const line = this.#line();
          if (line === undefined) return;
          if (line === "") this.#end();
          break;
        }
        default: return;
      }
    }
  }
  #head() {
    // Empty lines before a request are passed over.
    while (this.#rest[0] === 13 && this.#rest[1] === 10) this.#rest = this.#rest.subarray(2);
    const end = this.#rest.indexOf("\r\n\r\n");
    if ((end < 0 ? this.#rest.length : end) > maxHeaderSize) throw refused(431, "the head is too long");
    if (end < 0) return false;
    const [first, ...lines] = this.#rest.subarray(0, end).toString("latin1").split("\r\n");
    this.#rest = this.#rest.subarray(end + 4);
    const parts = /^(\S+) ([\x21-\x7e\x80-\xff]+) HTTP\/(1\.[01])$/.exec(first);
    if (!parts || !TOKEN.test(parts[1])) throw refused(400, "the first line is no request");
    const raw = fieldsOf(lines);
    const length = lengthOf(raw);
    this.#left = length === "chunked" ? 0 : length;
    this.#state = length === "chunked" ? "size" : "body";
    this.#on.onHead({ method: parts[1], url: parts[2], version: parts[3], raw });
    if (this.#state === "body" && this.#left === 0) this.#end();
    return true;
  }
  #end() {
    this.#state = "done";
    this.#on.onEnd();
  }
}
