// node:net: TCP sockets and servers over the host's, and questions about addresses.
//
// The host decides which hosts may be reached, and whether anybody may connect to this machine: over its
// loopback interface, never from another machine. Sockets that are files are not offered.

import { withStubs } from "../stubs.js";
import { closeChannel, currentOwner, host, openChannel, unwrap } from "../../runtime/bridge.js";
import { bytesOf, utf8Decode } from "../../runtime/encoding.js";
import { coded, unsupported } from "../../runtime/errors.js";
import { EventEmitter } from "./events.js";
import { Duplex } from "./stream.js";

function ipv4(text) {
  const parts = String(text).split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return undefined;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function ipv6(text) {
  let source = String(text).replace(/%.*$/, "");
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(source);
  if (tail) {
    const value = ipv4(tail[2]);
    if (value === undefined) return undefined;
    source = `${tail[1]}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  }
  const halves = source.split("::");
  if (halves.length > 2) return undefined;
  const groups = (half) => (half === "" || half === undefined ? [] : half.split(":"));
  const [head, rest] = [groups(halves[0]), groups(halves[1])];
  const missing = 8 - head.length - rest.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...head, ...Array.from({ length: missing }, () => "0"), ...rest];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return all.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

export const isIPv4 = (text) => ipv4(text) !== undefined;
export const isIPv6 = (text) => ipv6(text) !== undefined;
export const isIP = (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);

export class BlockList {
  #ranges = [];
  get rules() {
    return this.#ranges.map(({ label }) => label);
  }
  #add(low, high, kind, label) {
    this.#ranges.push({ low, high, kind, label });
  }
  addAddress(address, kind = "ipv4") {
    const value = number(address, kind);
    this.#add(value, value, kind, `Address: ${address}`);
  }
  addRange(from, to, kind = "ipv4") {
    this.#add(number(from, kind), number(to, kind), kind, `Range: ${from}-${to}`);
  }
  addSubnet(net, prefix, kind = "ipv4") {
    const free = BigInt((kind === "ipv4" ? 32 : 128) - prefix);
    const low = (number(net, kind) >> free) << free;
    this.#add(low, low + (1n << free) - 1n, kind, `Subnet: ${net}/${prefix}`);
  }
  check(address, kind = "ipv4") {
    const value = (kind === "ipv4" ? ipv4 : ipv6)(address);
    return value !== undefined && this.#ranges.some((range) => range.kind === kind && value >= range.low && value <= range.high);
  }
}

function number(address, kind) {
  const value = (kind === "ipv4" ? ipv4 : ipv6)(address);
  if (value === undefined) throw Object.assign(new TypeError(`Invalid address: ${address}`), { code: "ERR_INVALID_ADDRESS" });
  return value;
}

const later = (work) => Promise.resolve().then(work);

/** Gives a class methods that change nothing here: what they steer is the host's. */
export function acceptsAll(Kind, names) {
  for (const name of names) {
    const value = function () {
      return this;
    };
    Object.defineProperty(Kind.prototype, name, { value, writable: true, configurable: true });
  }
}

/** An error as the system calls of Node name it. */
function failure(problem, syscall, place = {}) {
  const code = problem.code ?? "EIO";
  const where = place.port === undefined ? "" : ` ${place.host ?? "127.0.0.1"}:${place.port}`;
  // What the system says is known by its code.
  const why = /\(os error \d+\)$/.test(problem.message) ? "" : `: ${problem.message}`;
  const error = coded(Error, code, `${syscall} ${code}${why}${where}`);
  return Object.assign(error, { errno: problem.errno ?? -1, syscall, ...(where && { address: place.host, port: place.port }) });
}

/** `(port, host, done)`, `({ port, host }, done)` or `(path, done)`. */
function placeOf(args) {
  const done = typeof args.at(-1) === "function" ? args.at(-1) : undefined;
  const [first, second] = args;
  if (first !== null && typeof first === "object") return [{ ...first }, done];
  if (typeof first === "string" && !/^\d+$/.test(first)) return [{ path: first }, done];
  return [{ port: first === undefined || typeof first === "function" ? 0 : Number(first), host: typeof second === "string" ? second : undefined }, done];
}

function checked(place) {
  if (place.path !== undefined) throw unsupported(`a socket that is a file (${place.path})`, "use a port");
  const port = Number(place.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw coded(RangeError, "ERR_SOCKET_BAD_PORT", `options.port should be >= 0 and < 65536. Received ${place.port}.`);
  return port;
}

const family = (address) => (isIPv6(address) ? "IPv6" : "IPv4");

// A write is cut into pieces, each of which the host takes whole or not yet.
const PIECE = 1 << 20;
const AGAIN_MS = 5;
// With so many bytes unread the host reads no more.
const ENOUGH = 256 << 10;

export class Socket extends Duplex {
  #channel;
  #id;
  #syscall = "connect";
  #place = {};
  #isOver = false;
  #isHeld = false;
  tellsError = true;
  #idle;
  #idleMs = 0;
  constructor(options = {}) {
    super({ allowHalfOpen: false, ...options });
    Object.assign(this, { connecting: false, pending: true, allowHalfOpen: Boolean(options.allowHalfOpen), bytesRead: 0, bytesWritten: 0, timeout: 0, remoteAddress: undefined, remotePort: undefined, remoteFamily: undefined, localAddress: undefined, localPort: undefined, server: undefined });
    // Whoever hears the end may say something last.
    this.once("end", () => later(() => !this.allowHalfOpen && !this.writableEnded && this.end()));
  }
  /** For a connection that a server took. */
  static taken(id, ends) {
    const socket = new Socket();
    socket.#syscall = "read";
    socket.#open({ accepted: id });
    socket.#connected(ends);
    return socket;
  }
  connect(...args) {
    const [place, done] = placeOf(Array.isArray(args[0]) ? args[0] : args);
    const port = checked(place);
    this.#place = { host: place.host ?? "localhost", port };
    if (done) this.once("connect", done);
    this.connecting = true;
    this.#open({ connect: this.#place });
    place.signal?.addEventListener("abort", () => this.destroy(place.signal.reason), { once: true });
    return this;
  }
  #open(spec) {
    this.#channel = openChannel((event) => this.#receive(event), "socket");
    try {
      this.#id = unwrap(host.socket(currentOwner(), this.#channel, spec)).id;
    } catch (error) {
      later(() => this.#over(failure(error, this.#syscall, this.#place)));
    }
  }
  #connected({ local, remote }) {
    Object.assign(this, { connecting: false, pending: false, localAddress: local.address, localPort: local.port, remoteAddress: remote.address, remotePort: remote.port, remoteFamily: family(remote.address) });
    this.#syscall = "read";
  }
  #receive(event) {
    this.#touch();
    if (event.type === "state") {
      const told = JSON.parse(utf8Decode(event.data));
      if (told.remote) {
        this.#connected(told);
        const waiting = this.#unsent;
        this.#unsent = undefined;
        this.emit("connect");
        this.emit("ready");
        waiting?.();
      } else if (told.end) this.#ended();
    } else if (event.type === "stdout") {
      this.bytesRead += event.data.length;
      this.push(event.data);
      if (this.readableLength >= ENOUGH) this.#hold(true);
    } else if (event.type === "error") this.#over(event.code === "CANCELLED" ? undefined : failure(event, this.#syscall, this.connecting ? this.#place : {}));
    else if (event.type === "exit") this.#over();
  }
  #ended() {
    this.push(null);
    // Where nothing is left to be read, nobody has to read for the connection to close.
    if (this.readableLength === 0 && this.readableFlowing !== true) later(() => !this.allowHalfOpen && !this.writableEnded && this.end());
  }
  #hold(isHeld) {
    if (this.#isHeld === isHeld || this.#isOver) return;
    this.#isHeld = isHeld;
    host.socketFlow(this.#id, !isHeld);
  }
  _read() {
    this.#hold(false);
  }
  #over(error) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.connecting = false;
    closeChannel(this.#channel);
    globalThis.clearTimeout(this.#idle);
    if (error) return void this.destroy(error);
    this.push(null);
    // What came is handed out before the end of it all is told.
    if (this.readableEnded || this.readableFlowing !== true) this.destroy();
    else this.once("end", () => this.destroy());
  }
  #unsent;
  _write(chunk, encoding, done) {
    if (this.connecting || (this.pending && !this.#isOver)) {
      this.#unsent = () => this._write(chunk, encoding, done);
      return;
    }
    const bytes = bytesOf(chunk);
    const from = (at) => {
      if (this.#isOver) return done(coded(Error, "EPIPE", "write EPIPE: the connection is over"));
      if (at >= bytes.length) {
        this.bytesWritten += bytes.length;
        return done();
      }
      const piece = bytes.subarray(at, at + PIECE);
      if (host.spawnWrite(this.#id, piece)) from(at + piece.length);
      else globalThis.setTimeout(() => from(at), AGAIN_MS);
    };
    this.#touch();
    from(0);
  }
  _final(done) {
    if (this.connecting) {
      this.#unsent = () => this._final(done);
      return;
    }
    if (this.#id !== undefined && !this.#isOver) host.spawnWrite(this.#id, null);
    done();
  }
  _destroy(_error, done) {
    if (this.#id !== undefined && !this.#isOver) host.spawnKill(this.#id, "SIGKILL");
    this.#isOver = true;
    closeChannel(this.#channel);
    globalThis.clearTimeout(this.#idle);
    done();
  }
  /** Closes once all was written. */
  destroySoon() {
    const close = () => {
      if (this.#id !== undefined && !this.#isOver) host.spawnKill(this.#id, "SIGTERM");
    };
    if (this.writableFinished) return close();
    this.once("finish", close);
    if (!this.writableEnded) this.end();
  }
  resetAndDestroy() {
    return this.destroy();
  }
  #touch() {
    if (this.#idleMs === 0) return;
    globalThis.clearTimeout(this.#idle);
    this.#idle = globalThis.setTimeout(() => this.emit("timeout"), this.#idleMs);
    this.#idle.unref?.();
  }
  setTimeout(ms, listener) {
    globalThis.clearTimeout(this.#idle);
    this.#idleMs = this.timeout = ms;
    if (listener) ms === 0 ? this.off("timeout", listener) : this.once("timeout", listener);
    this.#touch();
    return this;
  }
  address() {
    return this.localPort === undefined ? {} : { address: this.localAddress, port: this.localPort, family: family(this.localAddress) };
  }
  get readyState() {
    if (this.connecting) return "opening";
    if (this.destroyed || this.pending) return "closed";
    return this.writableEnded ? "readOnly" : "open";
  }
}
acceptsAll(Socket, ["setNoDelay", "setKeepAlive", "ref", "unref"]);

export class Server extends EventEmitter {
  #channel;
  #id;
  #place = {};
  #address = null;
  #sockets = new Set();
  #options;
  constructor(options, listener) {
    super();
    if (typeof options === "function") [options, listener] = [{}, options];
    this.#options = options ?? {};
    this.listening = false;
    if (listener) this.on("connection", listener);
  }
  listen(...args) {
    const [place, done] = placeOf(args);
    const port = checked(place);
    if (this.#channel !== undefined) throw coded(Error, "ERR_SERVER_ALREADY_LISTEN", "Listen method has been called more than once without closing.");
    this.#place = { host: place.host, port };
    if (done) this.once("listening", done);
    this.#channel = openChannel((event) => this.#receive(event), "server");
    try {
      this.#id = unwrap(host.socket(currentOwner(), this.#channel, { listen: { host: place.host ?? "", port } })).id;
    } catch (error) {
      later(() => this.#over(error));
    }
    place.signal?.addEventListener("abort", () => this.close(), { once: true });
    return this;
  }
  #receive(event) {
    if (event.type === "state") {
      const told = JSON.parse(utf8Decode(event.data));
      if (told.accepted === undefined) {
        this.#address = { address: told.local.address, family: family(told.local.address), port: told.local.port };
        this.listening = true;
        this.emit("listening");
        return;
      }
      const socket = Socket.taken(told.accepted, told);
      if (this.maxConnections !== undefined && this.#sockets.size >= this.maxConnections) {
        socket.on("error", () => {}).destroy();
        this.emit("drop", { localAddress: told.local.address, localPort: told.local.port, remoteAddress: told.remote.address, remotePort: told.remote.port });
        return;
      }
      socket.allowHalfOpen = Boolean(this.#options.allowHalfOpen);
      socket.server = this;
      this.#sockets.add(socket);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.#closed();
      });
      this.emit("connection", socket);
    } else if (event.type === "error" && event.code !== "CANCELLED") this.#over(event);
    else if (event.type === "error" || event.type === "exit") this.#over();
  }
  #over(problem) {
    closeChannel(this.#channel);
    this.#channel = this.#id = undefined;
    this.listening = false;
    this.#address = null;
    if (problem) this.emit("error", failure(problem, "listen", this.#place));
    else this.#closed();
  }
  #closing = false;
  #closed() {
    if (!this.#closing || this.listening || this.#sockets.size > 0) return;
    this.#closing = false;
    this.emit("close");
  }
  address() {
    return this.#address;
  }
  close(done) {
    const isOpen = this.#channel !== undefined && !this.#closing;
    if (done) {
      if (isOpen) this.once("close", () => done());
      else later(() => done(coded(Error, "ERR_SERVER_NOT_RUNNING", "Server is not running.")));
    }
    if (isOpen) {
      this.#closing = true;
      host.spawnKill(this.#id, "SIGKILL");
      this.listening = false;
    }
    return this;
  }
  /** The connections that are open. */
  get connections() {
    return [...this.#sockets];
  }
  getConnections(done) {
    later(() => done(null, this.#sockets.size));
    return this;
  }
  async [Symbol.asyncDispose ?? Symbol("asyncDispose")]() {
    await new Promise((resolve) => this.close(() => resolve()));
  }
}
acceptsAll(Server, ["ref", "unref"]);

export class SocketAddress {
  constructor({ address = "127.0.0.1", port = 0, family: kind = "ipv4" } = {}) {
    Object.assign(this, { address, port, family: kind, flowlabel: 0 });
  }
}

export const createServer = (options, listener) => new Server(options, listener);
export const createConnection = (...args) => {
  const [options] = args;
  const socket = new Socket(options !== null && typeof options === "object" ? options : {});
  if (options?.timeout) socket.setTimeout(options.timeout);
  return socket.connect(...args);
};
export const connect = createConnection;
export const Stream = Socket;
export const getDefaultAutoSelectFamily = () => true;
export const setDefaultAutoSelectFamily = () => {};
export const getDefaultAutoSelectFamilyAttemptTimeout = () => 250;
export const setDefaultAutoSelectFamilyAttemptTimeout = () => {};
// Names of the real module that are not implemented.
export const { _createServerHandle, _normalizeArgs, _setSimultaneousAccepts } = withStubs("node:net");
export default {
  isIP, isIPv4, isIPv6, BlockList, Server, Socket, SocketAddress, Stream, connect, createConnection, createServer, getDefaultAutoSelectFamily,
  setDefaultAutoSelectFamily, getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout,
};
