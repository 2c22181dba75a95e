// Servers of node:http, over node:net. Whether anybody may connect is the host's business.

import { bytesOf } from "../../runtime/encoding.js";
import { coded } from "../../runtime/errors.js";
import { IncomingMessage, OutgoingMessage, STATUS_CODES, validateHeaderName, validateHeaderValue } from "./http_messages.js";
import { ParseError, RequestParser, headersOf } from "./http_parser.js";
import { Server as NetServer } from "./net.js";
import { dropUnread } from "./stream_classes.js";

const BODILESS = [204, 304];

export class ServerResponse extends OutgoingMessage {
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
    // Whoever put a `writeHead` of its own in the place of this one is asked, as by Node.
    if (!this.headersSent && this.writeHead !== ServerResponse.prototype.writeHead) this.writeHead(this.statusCode);
    if (chunk === null || chunk === undefined) {
      this.#head(0);
    } else {
      const bytes = typeof chunk === "string" ? globalThis.Buffer.from(chunk, encoding ?? undefined) : chunk;
      this.#head(bytes.length);
      this.write(bytes);
    }
    return super.end(undefined, undefined, done ?? undefined);
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
      dropUnread(req);
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
      if (req.readableLength >= ENOUGH) socket.pause();
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
