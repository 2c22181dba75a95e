// What both sides of HTTP have: names, checks of headers, a head that can still be written, and a message that is read.

import { coded } from "../../runtime/errors.js";
import { Readable, Writable } from "./stream.js";

export const STATUS_CODES = Object.freeze({
  100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK", 201: "Created", 202: "Accepted",
  203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content", 207: "Multi-Status",
  208: "Already Reported", 226: "IM Used", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other",
  304: "Not Modified", 305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
  402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
  407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
  412: "Precondition Failed", 413: "Payload Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
  417: "Expectation Failed", 418: "I'm a Teapot", 421: "Misdirected Request", 422: "Unprocessable Entity", 423: "Locked",
  424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
  431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented",
  502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
  511: "Network Authentication Required",
});
export const METHODS = Object.freeze(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);
/** Bytes of a head, at most. */
export const maxHeaderSize = 16 << 10;
/** What methods and names of headers are made of (RFC 9110, 5.6.2). */
export const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export function validateHeaderName(name) {
  if (typeof name !== "string" || !TOKEN.test(name)) {
    throw coded(TypeError, "ERR_INVALID_HTTP_TOKEN", `Header name must be a valid HTTP token ["${name}"]`);
  }
}
export function validateHeaderValue(name, value) {
  if (value === undefined) throw coded(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "undefined" for header "${name}"`);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(String(value))) throw coded(TypeError, "ERR_INVALID_CHAR", `Invalid character in header content ["${name}"]`);
}

/** A head that can still be written: a response, or a request before it is sent. */
export class OutgoingMessage extends Writable {
  #fields = new Map();
  headersSent = false;
  sendDate = true;
  setHeader(name, value) {
    if (this.headersSent) throw coded(Error, "ERR_HTTP_HEADERS_SENT", "Cannot set headers after they are sent to the client");
    return this.fill(name, value);
  }
  /** Sets a header whatever was promised of the head. */
  fill(name, value) {
    validateHeaderName(name);
    for (const one of Array.isArray(value) ? value : [value]) validateHeaderValue(name, one);
    this.#fields.set(name.toLowerCase(), [name, Array.isArray(value) ? value.map(String) : typeof value === "number" ? value : String(value)]);
    return this;
  }
  setHeaders(headers) {
    for (const [name, value] of headers) this.setHeader(name, value);
    return this;
  }
  appendHeader(name, value) {
    const before = this.getHeader(name);
    return this.setHeader(name, before === undefined ? value : [before, value].flat());
  }
  getHeader(name) {
    return this.#fields.get(String(name).toLowerCase())?.[1];
  }
  getHeaderNames() {
    return [...this.#fields.keys()];
  }
  getRawHeaderNames() {
    return [...this.#fields.values()].map(([name]) => name);
  }
  getHeaders() {
    return Object.fromEntries([...this.#fields].map(([name, [, value]]) => [name, value]));
  }
  hasHeader(name) {
    return this.#fields.has(String(name).toLowerCase());
  }
  removeHeader(name) {
    this.#fields.delete(String(name).toLowerCase());
  }
  /** `[name, value]` for each line of the head. */
  get lines() {
    return [...this.#fields.values()].flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
  }
  get finished() {
    return this.writableEnded;
  }
  setTimeout(ms, listener) {
    this.socket?.setTimeout?.(ms, listener);
    return this;
  }
}

export class IncomingMessage extends Readable {
  constructor(socket) {
    super({});
    Object.assign(this, { socket, connection: socket, complete: false, aborted: false, headers: {}, rawHeaders: [], trailers: {}, rawTrailers: [], httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1, method: undefined, url: "", statusCode: undefined, statusMessage: undefined });
  }
  get headersDistinct() {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, [value].flat()]));
  }
  setTimeout(ms, listener) {
    this.socket?.setTimeout?.(ms, listener);
    return this;
  }
}
