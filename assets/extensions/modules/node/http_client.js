// Requests of node:http and node:https, over the same client as `fetch`. A request is sent when it was ended, with its whole body;
// connections are not one's own to steer, but for one that is upgraded.

import { action, asOwner, currentOwner, host } from "../../runtime/bridge.js";
import { bytesOf } from "../../runtime/encoding.js";
import { coded, unsupported } from "../../runtime/errors.js";
import { EventEmitter } from "./events.js";
import { IncomingMessage, OutgoingMessage, maxHeaderSize } from "./http_messages.js";
import { headersOf } from "./http_parser.js";
import { Socket, acceptsAll } from "./net.js";

export class Agent extends EventEmitter {
  constructor(options = {}) {
    super();
    this.options = { ...options };
    Object.assign(this, { maxSockets: options.maxSockets ?? Infinity, maxFreeSockets: 256, keepAlive: Boolean(options.keepAlive), requests: {}, sockets: {}, freeSockets: {}, defaultPort: 80, protocol: "http:" });
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

/** What stands for the connection of a request, which is the host's. */
class HostSocket extends EventEmitter {
  #request;
  constructor(request, url) {
    super();
    this.#request = request;
    Object.assign(this, { connecting: false, destroyed: false, readable: true, writable: true, remoteAddress: url.hostname, remotePort: Number(url.port) || undefined, encrypted: url.protocol === "https:", authorized: url.protocol === "https:" });
  }
  setTimeout(ms, listener) {
    if (listener) this.once("timeout", listener);
    this.#request.setTimeout(ms);
    return this;
  }
  address() {
    return {};
  }
  destroy(error) {
    this.#request.destroy(error);
    return this;
  }
}
acceptsAll(HostSocket, ["setNoDelay", "setKeepAlive", "ref", "unref", "end"]);

export class ClientRequest extends OutgoingMessage {
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
    if (this.hasHeader("upgrade")) return;
    this.socket = this.connection = new HostSocket(this, url);
    Promise.resolve().then(() => !this.destroyed && this.emit("socket", this.socket));
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
    const res = new IncomingMessage(this.socket);
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
    if (error.code === "ECONNREFUSED" && /\(os error \d+\)$/.test(message)) {
      error.message = `connect ECONNREFUSED ${this.#url.hostname}:${this.#url.port || (this.#url.protocol === "https:" ? 443 : 80)}`;
      Object.assign(error, { syscall: "connect", address: this.#url.hostname, port: Number(this.#url.port) || undefined });
    }
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
    if (this.socket instanceof HostSocket) {
      this.socket.destroyed = true;
      Promise.resolve().then(() => this.socket.emit("close"));
    } else this.socket?.destroy();
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
    if (this.#idleMs > 0 && !this.#isOver) {
      this.#timer = globalThis.setTimeout(() => {
        this.emit("timeout");
        if (this.socket instanceof HostSocket) this.socket.emit("timeout");
      }, this.#idleMs);
    }
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
