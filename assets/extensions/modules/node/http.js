// node:http: servers over node:net, and requests over the same client as `fetch`.
//
// Whether a host may be reached or anybody may connect here is the host's business. A request is sent when it
// was ended, with its whole body; connections are not one's own to steer, but for one that is upgraded.

import { withStubs } from "../stubs.js";
import { action, asOwner, currentOwner, host } from "../../runtime/bridge.js";
import { bytesOf } from "../../runtime/encoding.js";
import { coded, unsupported } from "../../runtime/errors.js";
import { ParseError, RequestParser, headersOf } from "./http_parser.js";
import { Server as NetServer, Socket } from "./net.js";
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
export const maxHeaderSize = 16 << 10;

export function validateHeaderName(name) {
  if (typeof name !== "string" || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw coded(TypeError, "ERR_INVALID_HTTP_TOKEN", `Header name must be a valid HTTP token ["${name}"]`);
  }
}
export function validateHeaderValue(name, value) {
  if (value === undefined) throw coded(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "undefined" for header "${name}"`);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(String(value))) throw coded(TypeError, "ERR_INVALID_CHAR", `Invalid character in header content ["${name}"]`);
}

/** A head that can still be written: a response, or a request before it is sent. */
class Outgoing extends Writable {
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
export { Outgoing as OutgoingMessage };

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

const BODILESS = [204, 304];

export class ServerResponse extends Outgoing {
  #framing = "none";
  #over;
  statusCode = 200;
  statusMessage = undefined;
  constructor(req, over = () => {}) {
    super();
    Object.assign(this, { req, socket: req.socket, connection: req.socket });
    this.#over = over;
    this.shouldKeepAlive = req.httpVersion === "1.1" && !/\bclose\b/i.test(req.headers.connection ?? "");
  }
  writeHead(status, message, headers) {
    if (this.headersSent) throw coded(Error, "ERR_HTTP_HEADERS_SENT", "Cannot write headers after they are sent to the client");
    if (typeof message !== "string") [message, headers] = [undefined, message];
    this.#status(status);
    if (message !== undefined) this.statusMessage = message;
    if (Array.isArray(headers) && !Array.isArray(headers[0])) headers = headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : []));
    for (const [name, value] of Array.isArray(headers) ? headers : Object.entries(headers ?? {})) if (value !== undefined) this.setHeader(name, value);
    // It goes out with the body, whose length may be known by then.
    this.headersSent = true;
    return this;
  }
  #isOut = false;
  #status(status) {
    if (!Number.isInteger(Number(status)) || status < 100 || status > 999) throw coded(RangeError, "ERR_HTTP_INVALID_STATUS_CODE", `Invalid status code: ${status}`);
    this.statusCode = Number(status);
  }
  get isBodiless() {
    return this.req.method === "HEAD" || BODILESS.includes(this.statusCode) || this.statusCode < 200;
  }
  #head(length) {
    if (this.#isOut) return;
    this.#isOut = this.headersSent = true;
    this.#status(this.statusCode);
    if (/\bclose\b/i.test(String(this.getHeader("connection") ?? ""))) this.shouldKeepAlive = false;
    if (!this.isBodiless) {
      if (/\bchunked\b/i.test(String(this.getHeader("transfer-encoding") ?? ""))) {
        this.removeHeader("content-length");
        this.#framing = "chunked";
      } else if (this.hasHeader("content-length")) this.#framing = "length";
      else if (length !== undefined) {
        this.fill("Content-Length", length);
        this.#framing = "length";
      } else if (this.req.httpVersion === "1.1") {
        this.fill("Transfer-Encoding", "chunked");
        this.#framing = "chunked";
      } else this.shouldKeepAlive = false;
    }
    if (this.sendDate && !this.hasHeader("date")) this.fill("Date", new Date().toUTCString());
    if (!this.hasHeader("connection")) this.fill("Connection", this.shouldKeepAlive ? "keep-alive" : "close");
    const message = this.statusMessage ?? STATUS_CODES[this.statusCode] ?? "unknown";
    validateHeaderValue("status", message);
    const head = this.lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    if (this.isHeard) this.socket.write(`HTTP/1.1 ${this.statusCode} ${message}\r\n${head}\r\n`, "latin1");
  }
  flushHeaders() {
    this.#head();
  }
  writeContinue() {
    this.socket.write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  writeProcessing() {
    this.socket.write("HTTP/1.1 102 Processing\r\n\r\n");
  }
  writeEarlyHints() {}
  #trailers = [];
  addTrailers(headers) {
    for (const [name, value] of Array.isArray(headers) ? headers : Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      this.#trailers.push([name, String(value)]);
    }
  }
  assignSocket() {}
  detachSocket() {}
  /** Whether somebody is still there. What is said to nobody is not an error of whoever says it. */
  get isHeard() {
    return !this.socket.destroyed && !this.socket.writableEnded;
  }
  _write(chunk, _encoding, done) {
    this.#head();
    if (this.isBodiless || chunk.length === 0 || !this.isHeard) return done();
    const bytes = bytesOf(chunk);
    if (this.#framing !== "chunked") return void this.socket.write(bytes, () => done());
    this.socket.write(`${bytes.length.toString(16)}\r\n`);
    this.socket.write(bytes);
    return void this.socket.write("\r\n", undefined, () => done());
  }
  end(chunk, encoding, done) {
    if (this.writableEnded) return this;
    if (typeof chunk === "function") [chunk, encoding, done] = [undefined, undefined, chunk];
    else if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    if (chunk === null || chunk === undefined) {
      this.#head(0);
    } else {
      const bytes = typeof chunk === "string" ? globalThis.Buffer.from(chunk, encoding) : chunk;
      this.#head(bytes.length);
      this.write(bytes);
    }
    return super.end(undefined, undefined, done);
  }
  _final(done) {
    if (this.#framing === "chunked" && !this.isBodiless && this.isHeard) {
      const trailers = this.#trailers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      this.socket.write(`0\r\n${trailers}\r\n`, "latin1");
    }
    done();
    this.#over(this.shouldKeepAlive);
  }
  _destroy() {
    if (!this.writableFinished) this.socket.destroy();
  }
}

// With so much unread of a body, or waiting behind an answer, no more is read of the connection.
const ENOUGH = 64 << 10;

/** One connection of a server: requests one after the other. */
function serve(server, socket) {
  let req;
  let res;
  let timer;
  let isUpgraded = false;
  const arm = (ms, late) => {
    globalThis.clearTimeout(timer);
    if (ms > 0) timer = globalThis.setTimeout(late, ms);
  };
  const refuse = (status) => {
    if (!socket.writableEnded) socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
    socket.destroySoon();
  };
  const late = () => {
    if (parser.isBetween) socket.destroy();
    else if (req === undefined || !req.complete) refuse(408);
  };
  const isIdle = () => parser.isDone && (res === undefined || res.writableFinished);
  /** The request that was read is answered, when what came with it is taken, too. */
  const over = (goesOn) => Promise.resolve().then(() => {
    if (!goesOn || !server.listening || socket.readableEnded) return socket.destroySoon();
    if (!req.complete) {
      // What is left of its body is read by nobody.
      req.isDropped = true;
      req.readState.queue.length = 0;
      return socket.resume();
    }
    arm(server.keepAliveTimeout, late);
    return guarded(() => {
      parser.next();
      if (parser.waiting < ENOUGH) socket.resume();
    });
  });
  const begin = ({ method, url, version, raw }) => {
    req = new IncomingMessage(socket);
    const mine = req;
    Object.assign(req, { method, url, rawHeaders: raw, headers: headersOf(raw), httpVersion: version, httpVersionMinor: Number(version[2]) });
    req._read = () => socket.resume();
    req._destroy = () => {
      if (!mine.complete && !mine.isDropped) socket.destroy();
    };
    if (req.headers.upgrade !== undefined && /\bupgrade\b/i.test(req.headers.connection ?? "") && server.listenerCount("upgrade") > 0) {
      isUpgraded = true;
      arm(0);
      const head = parser.take();
      socket.removeAllListeners("data");
      socket.removeAllListeners("timeout");
      server.emit("upgrade", req, socket, head);
      return;
    }
    if (version === "1.1" && req.headers.host === undefined) throw new ParseError(400, "there is no host");
    arm(server.requestTimeout, late);
    res = new ServerResponse(req, over);
    const { expect } = req.headers;
    if (expect !== undefined && !/^100-continue$/i.test(expect)) {
      if (server.listenerCount("checkExpectation") > 0) return void server.emit("checkExpectation", req, res);
      return void res.writeHead(417).end();
    }
    if (expect !== undefined) {
      if (server.listenerCount("checkContinue") > 0) return void server.emit("checkContinue", req, res);
      res.writeContinue();
    }
    server.emit("request", req, res);
  };
  const parser = new RequestParser({
    onHead: begin,
    onBody: (bytes) => {
      if (req.isDropped || req.destroyed) return;
      req.push(bytes);
      if (req.readState.queue.reduce((sum, piece) => sum + piece.length, 0) >= ENOUGH) socket.pause();
    },
    onEnd: () => {
      req.complete = true;
      arm(0);
      if (!req.isDropped && !req.destroyed) req.push(null);
      if (req.isDropped) over(res.shouldKeepAlive);
    },
  });
  const guarded = (work) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      if (server.listenerCount("clientError") > 0) return void server.emit("clientError", error, socket);
      refuse(error.status);
    }
  };
  arm(server.headersTimeout, late);
  if (server.timeout > 0) socket.setTimeout(server.timeout);
  socket.on("timeout", () => {
    if (!server.emit("timeout", socket)) socket.destroy();
  });
  socket.on("data", (bytes) => guarded(() => {
    if (parser.isBetween) arm(server.headersTimeout, late);
    parser.push(bytes);
    if (parser.waiting >= ENOUGH) socket.pause();
  }));
  socket.on("end", () => !isUpgraded && socket.end());
  socket.on("error", (error) => {
    if (!isUpgraded && server.listenerCount("clientError") > 0) server.emit("clientError", error, socket);
  });
  socket.on("close", () => {
    arm(0);
    if (isUpgraded) return;
    if (req && !req.destroyed && !(req.complete && res?.writableFinished)) {
      req.aborted = true;
      req.emit("aborted");
      const gone = coded(Error, "ECONNRESET", "aborted");
      // Who does not listen does not hear of it, as in Node.
      req.destroy(req.listenerCount("error") > 0 ? gone : undefined);
    }
    if (res && !res.writableFinished && !res.destroyed) {
      res.destroyed = true;
      res.emit("close");
    }
  });
  socket.isBetween = isIdle;
}

export class Server extends NetServer {
  constructor(options, listener) {
    if (typeof options === "function") [options, listener] = [{}, options];
    // A client that has said all may still wait for its answer.
    super({ ...options, allowHalfOpen: true });
    Object.assign(this, { timeout: 0, keepAliveTimeout: 5000, headersTimeout: 60000, requestTimeout: 300000, maxHeadersCount: null });
    if (listener) this.on("request", listener);
    this.on("connection", (socket) => serve(this, socket));
  }
  setTimeout(ms, listener) {
    this.timeout = ms;
    if (listener) this.on("timeout", listener);
    for (const socket of this.connections) socket.setTimeout(ms);
    return this;
  }
  close(done) {
    super.close(done);
    this.closeIdleConnections();
    return this;
  }
  closeAllConnections() {
    for (const socket of this.connections) socket.destroy();
  }
  closeIdleConnections() {
    for (const socket of this.connections) if (socket.isBetween?.()) socket.destroySoon();
  }
}
export const createServer = (options, listener) => new Server(options, listener);

export class Agent {
  constructor(options = {}) {
    this.options = { ...options };
    Object.assign(this, { maxSockets: options.maxSockets ?? Infinity, maxFreeSockets: 256, keepAlive: Boolean(options.keepAlive), requests: {}, sockets: {}, freeSockets: {}, defaultPort: 80, protocol: "http:" });
  }
  on() {
    return this;
  }
  getName() {
    return "";
  }
  destroy() {}
}
export const globalAgent = new Agent();

/** `(url, options, done)` or `(options, done)` as an address and the rest. */
function targetOf(protocol, args) {
  let [input, options, done] = args;
  if (typeof input === "string" || input instanceof URL) {
    if (typeof options === "function") [options, done] = [{}, options];
    const url = new URL(input);
    return [url, { ...options }, done];
  }
  [options, done] = [{ ...input }, options];
  if (options.socketPath) throw unsupported(`http.request to a socket that is a file (${options.socketPath})`, "use a port");
  const scheme = options.protocol ?? options.agent?.protocol ?? protocol;
  const name = options.hostname ?? (options.host ? String(options.host).replace(/:\d+$/, "") : "localhost");
  const port = options.port ? `:${options.port}` : "";
  const bare = name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
  return [new URL(`${scheme}//${bare}${port}${options.path ?? options.pathname ?? "/"}`), options, done];
}

export class ClientRequest extends Outgoing {
  #url;
  #stop = new AbortController();
  #parts = [];
  #timer;
  #isOver = false;
  constructor(protocol, args) {
    // Its end is that of the answer.
    super({ emitClose: false });
    const [url, options, done] = targetOf(protocol, args);
    this.#url = url;
    Object.assign(this, { method: String(options.method ?? "GET").toUpperCase(), path: url.pathname + url.search, host: url.hostname, protocol: url.protocol, reusedSocket: false, aborted: false, res: null, socket: null, connection: null, agent: options.agent ?? globalAgent, maxHeadersCount: null });
    const { headers = {} } = options;
    for (const [name, value] of Array.isArray(headers) ? headers.flatMap((name, i) => (Array.isArray(name) ? [name] : i % 2 === 0 ? [[name, headers[i + 1]]] : [])) : Object.entries(headers)) {
      if (value !== undefined) this.setHeader(name, value);
    }
    const auth = options.auth ?? (url.username ? `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` : undefined);
    if (auth && !this.hasHeader("authorization")) this.setHeader("Authorization", `Basic ${globalThis.Buffer.from(auth).toString("base64")}`);
    if (done) this.once("response", done);
    if (options.timeout) this.setTimeout(options.timeout);
    const { signal } = options;
    const stop = () => this.destroy(signal.reason ?? new Error("The operation was aborted"));
    if (signal?.aborted) Promise.resolve().then(stop);
    else signal?.addEventListener("abort", stop, { once: true });
  }
  _write(chunk, _encoding, done) {
    this.#parts.push(bytesOf(chunk));
    done();
  }
  _final(done) {
    done();
    this.headersSent = true;
    if (this.destroyed) return;
    const isUpgrade = this.hasHeader("upgrade") && /\bupgrade\b/i.test(String(this.getHeader("connection") ?? ""));
    const sent = isUpgrade ? this.#upgrade() : this.#send();
    sent.catch((error) => this.#failed(error));
  }
  async #send() {
    const url = new URL(this.#url);
    [url.username, url.password, url.hash] = ["", "", ""];
    const body = this.#parts.length > 0 ? globalThis.Buffer.concat(this.#parts) : null;
    const owner = currentOwner();
    const answer = await action("http.open", { url: url.href, method: this.method, headers: this.lines, body, redirect: "manual" }, this.#stop.signal);
    if (this.destroyed) return host.httpClose(answer.id);
    const res = new IncomingMessage({ remoteAddress: url.hostname, setTimeout: (ms, listener) => this.setTimeout(ms, listener), destroy: (error) => this.destroy(error), on() {}, once() {}, encrypted: url.protocol === "https:" });
    const raw = answer.headers.flat();
    Object.assign(res, { statusCode: answer.status, statusMessage: answer.statusText, rawHeaders: raw, headers: headersOf(raw), req: this });
    const stop = () => host.httpClose(answer.id);
    if (this.method === "HEAD") {
      stop();
      res.complete = true;
      res.push(null);
    }
    res._read = async () => {
      try {
        const piece = await asOwner(host.httpRead(owner, answer.id));
        this.#touch();
        if (piece === null || piece === undefined) {
          res.complete = true;
          res.push(null);
          this.#over();
        } else res.push(piece);
      } catch (error) {
        res.destroy(error);
        this.#over();
      }
    };
    res._destroy = () => {
      if (!res.complete) stop();
      this.#over();
    };
    this.res = res;
    this.#touch();
    if (!this.emit("response", res)) res.resume();
  }
  /** Over a connection of its own, which whoever listens to `upgrade` gets. */
  async #upgrade() {
    if (this.#url.protocol !== "http:") throw unsupported("an upgrade over TLS", "use fetch");
    const socket = new Socket();
    this.socket = this.connection = socket;
    socket.connect(Number(this.#url.port || 80), this.#url.hostname.replace(/^\[|\]$/g, ""));
    if (!this.hasHeader("host")) this.fill("Host", this.#url.host);
    const head = this.lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", () => this.#failed(coded(Error, "ECONNRESET", "socket hang up")));
    socket.write(`${this.method} ${this.path} HTTP/1.1\r\n${head}\r\n`, "latin1");
    this.emit("socket", socket);
    let rest = globalThis.Buffer.alloc(0);
    socket.on("data", (bytes) => {
      rest = globalThis.Buffer.concat([rest, bytes]);
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) return rest.length > maxHeaderSize ? socket.destroy() : undefined;
      const [first, ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n");
      const parts = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(first);
      if (!parts) return socket.destroy();
      const raw = lines.flatMap((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
      const res = new IncomingMessage(socket);
      Object.assign(res, { statusCode: Number(parts[1]), statusMessage: parts[2] ?? "", rawHeaders: raw, headers: headersOf(raw), req: this });
      for (const name of ["data", "error", "close"]) socket.removeAllListeners(name);
      this.#over();
      this.res = res;
      const left = rest.subarray(end + 4);
      if (res.statusCode === 101 && this.emit("upgrade", res, socket, left)) return;
      socket.on("error", () => {});
      res.push(null);
      if (res.statusCode === 101 || !this.emit("response", res)) socket.destroy();
      else socket.end();
    });
  }
  #failed(error) {
    if (this.#isOver) return;
    const { message } = error;
    this.destroy(error.code ? error : coded(Error, "ECONNRESET", message ?? "socket hang up"));
  }
  #over() {
    if (this.#isOver) return;
    this.#isOver = true;
    globalThis.clearTimeout(this.#timer);
    Promise.resolve().then(() => this.emit("close"));
  }
  destroy(error) {
    // Before its answer, whoever waits for that hears of it.
    const hangUp = this.res === null && !this.#isOver && !this.destroyed ? coded(Error, "ECONNRESET", "socket hang up") : undefined;
    return super.destroy(error ?? hangUp);
  }
  _destroy() {
    this.#stop.abort(coded(Error, "ECONNRESET", "socket hang up"));
    this.#isOver = true;
    globalThis.clearTimeout(this.#timer);
    this.socket?.destroy();
    this.res?.destroy();
  }
  abort() {
    if (this.aborted) return;
    this.aborted = true;
    this.emit("abort");
    this.destroy(coded(Error, "ECONNRESET", "socket hang up"));
  }
  #idleMs = 0;
  #touch() {
    globalThis.clearTimeout(this.#timer);
    if (this.#idleMs > 0 && !this.#isOver) this.#timer = globalThis.setTimeout(() => this.emit("timeout"), this.#idleMs);
  }
  setTimeout(ms, listener) {
    this.#idleMs = ms;
    if (listener) this.once("timeout", listener);
    this.#touch();
    return this;
  }
  setNoDelay() {}
  setSocketKeepAlive() {}
  flushHeaders() {}
}

export const request = (...args) => new ClientRequest("http:", args);
export const get = (...args) => request(...args).end();
export const setMaxIdleHTTPParsers = () => {};
// Names of the real module that are not implemented.
export const { _connectionListener, CloseEvent, MessageEvent, WebSocket } = withStubs("node:http");
export default {
  Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage: Outgoing, STATUS_CODES, Server, ServerResponse, createServer, get, globalAgent,
  maxHeaderSize, request, setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue,
};
