// fetch, Headers, Request, Response, Blob and FormData over the host's HTTP client.
//
// The host does connections, TLS, redirects and its own policy; a refusal arrives as an error with a
// code. Bodies come in pieces on demand, so a long stream costs no memory here.

import { action, host, asOwner, currentOwner } from "./bridge.js";
import { bytesOf, utf8Decode, utf8Encode } from "./encoding.js";
import { ReadableStream } from "./streams.js";
import { URLSearchParams } from "./url.js";

export class Headers {
  #map = new Map();
  constructor(init) {
    if (!init) return;
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }
  #key(name) {
    const text = String(name).toLowerCase();
    if (!/^[a-z0-9!#$%&'*+\-.^_`|~]+$/.test(text)) throw new TypeError(`Invalid header name: ${name}`);
    return text;
  }
  append(name, value) {
    const key = this.#key(name);
    const text = String(value).trim();
    if (/[\r\n\0]/.test(text)) throw new TypeError("Invalid header value");
    this.#map.set(key, this.#map.has(key) ? `${this.#map.get(key)}, ${text}` : text);
  }
  set(name, value) {
    this.#map.delete(this.#key(name));
    this.append(name, value);
  }
  get(name) {
    return this.#map.get(this.#key(name)) ?? null;
  }
  has(name) {
    return this.#map.has(this.#key(name));
  }
  delete(name) {
    this.#map.delete(this.#key(name));
  }
  getSetCookie() {
    const value = this.#map.get("set-cookie");
    return value === undefined ? [] : value.split(/, (?=[^;,]+=)/);
  }
  forEach(visit, self) {
    for (const [name, value] of this) visit.call(self, value, name, this);
  }
  *entries() {
    yield* [...this.#map].sort(([a], [b]) => (a < b ? -1 : 1));
  }
  *keys() {
    for (const [name] of this.entries()) yield name;
  }
  *values() {
    for (const [, value] of this.entries()) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
}

export class Blob {
  #bytes;
  constructor(parts = [], options = {}) {
    this.#bytes = concat([...parts].map((part) => (part instanceof Blob ? part.#bytes : bytesOf(part))));
    this.type = String(options.type ?? "").toLowerCase();
  }
  get size() {
    return this.#bytes.length;
  }
  slice(start, end, type) {
    return new Blob([this.#bytes.slice(start, end)], { type });
  }
  async arrayBuffer() {
    return this.#bytes.slice().buffer;
  }
  async bytes() {
    return this.#bytes.slice();
  }
  async text() {
    return utf8Decode(this.#bytes);
  }
  stream() {
    return ReadableStream.from([this.#bytes]);
  }
}

export class File extends Blob {
  constructor(parts, name, options = {}) {
    super(parts, options);
    this.name = String(name);
    this.lastModified = options.lastModified ?? Date.now();
  }
}

export class FormData {
  #list = [];
  append(name, value, filename) {
    this.#list.push([String(name), value instanceof Blob ? value : String(value), filename ?? value?.name]);
  }
  set(name, value, filename) {
    this.delete(name);
    this.append(name, value, filename);
  }
  delete(name) {
    this.#list = this.#list.filter(([key]) => key !== name);
  }
  get(name) {
    return this.#list.find(([key]) => key === name)?.[1] ?? null;
  }
  getAll(name) {
    return this.#list.filter(([key]) => key === name).map(([, value]) => value);
  }
  has(name) {
    return this.#list.some(([key]) => key === name);
  }
  *entries() {
    for (const [name, value] of this.#list) yield [name, value];
  }
  *keys() {
    for (const [name] of this.#list) yield name;
  }
  *values() {
    for (const [, value] of this.#list) yield value;
  }
  forEach(visit, self) {
    for (const [name, value] of this.#list) visit.call(self, value, name, this);
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  async encode() {
    const boundary = `----levain${[...host.random(12)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    const parts = [];
    for (const [name, value, filename] of this.#list) {
      const blob = value instanceof Blob;
      const file = blob ? `; filename="${filename ?? "blob"}"` : "";
      parts.push(utf8Encode(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n`));
      if (blob) parts.push(utf8Encode(`Content-Type: ${value.type || "application/octet-stream"}\r\n`));
      parts.push(utf8Encode("\r\n"), blob ? await value.bytes() : utf8Encode(value), utf8Encode("\r\n"));
    }
    parts.push(utf8Encode(`--${boundary}--\r\n`));
    return { bytes: concat(parts), type: `multipart/form-data; boundary=${boundary}` };
  }
}

export function concat(list) {
  const whole = new Uint8Array(list.reduce((sum, item) => sum + item.length, 0));
  let at = 0;
  for (const item of list) {
    whole.set(item, at);
    at += item.length;
  }
  return whole;
}

async function readAll(stream) {
  const parts = [];
  for await (const part of stream) parts.push(bytesOf(part));
  return concat(parts);
}

/** What both Request and Response can do with their body. */
class Body {
  #source = null;
  #used = false;
  constructor(body, headers) {
    if (body === null || body === undefined) return;
    let type;
    if (typeof body === "string") {
      type = "text/plain;charset=UTF-8";
      this.#source = utf8Encode(body);
    } else if (body instanceof URLSearchParams) {
      type = "application/x-www-form-urlencoded;charset=UTF-8";
      this.#source = utf8Encode(body.toString());
    } else if (body instanceof Blob) {
      type = body.type || undefined;
      this.#source = body.stream();
    } else if (body instanceof FormData || body instanceof ReadableStream) this.#source = body;
    else if (typeof body?.[Symbol.asyncIterator] === "function") this.#source = ReadableStream.from(body);
    else if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) this.#source = bytesOf(body).slice();
    else {
      type = "text/plain;charset=UTF-8";
      this.#source = utf8Encode(String(body));
    }
    if (type && !headers.has("content-type")) headers.set("content-type", type);
  }
  get body() {
    if (this.#source === null) return null;
    if (this.#source instanceof Uint8Array) this.#source = ReadableStream.from([this.#source]);
    return this.#source;
  }
  get bodyUsed() {
    return this.#used;
  }
  async bytes() {
    if (this.#used) throw new TypeError("Body is unusable: Body has already been read");
    this.#used = this.#source !== null;
    if (this.#source === null) return new Uint8Array(0);
    if (this.#source instanceof FormData) {
      const { bytes, type } = await this.#source.encode();
      this.headers.set("content-type", type);
      return bytes;
    }
    if (this.#source instanceof Uint8Array) return this.#source;
    return readAll(this.#source);
  }
  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }
  async text() {
    return utf8Decode(await this.bytes()).replace(/^\ufeff/, "");
  }
  async json() {
    return JSON.parse(await this.text());
  }
  /** Fields of a form, as it was written by an address's rules or in parts (RFC 7578). */
  async formData() {
    const type = this.headers.get("content-type") ?? "";
    if (this.#source instanceof FormData) return this.#source;
    const form = new FormData();
    if (/^application\/x-www-form-urlencoded/i.test(type)) {
      for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
      return form;
    }
    const boundary = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^;]+))/i.exec(type);
    if (!boundary) throw new TypeError("Failed to parse body as FormData.");
    const mark = `--${(boundary[1] ?? boundary[2]).trim()}`;
    // Bytes as letters of the same numbers, so that places in both agree.
    const bytes = await this.bytes();
    const whole = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    for (let at = whole.indexOf(mark); at >= 0; ) {
      const next = whole.indexOf(mark, at + mark.length);
      if (next < 0) break;
      const head = whole.indexOf("\r\n\r\n", at);
      const lines = utf8Decode(bytes.subarray(at + mark.length, head)).split("\r\n");
      const value = bytes.slice(head + 4, next - 2);
      const name = /name="([^"]*)"/i.exec(lines.find((line) => /^content-disposition:/i.test(line)) ?? "")?.[1];
      const file = /filename="([^"]*)"/i.exec(lines.join("\n"))?.[1];
      const kind = /^content-type:\s*(.*)$/im.exec(lines.join("\n"))?.[1];
      if (name !== undefined) form.append(name, file === undefined ? utf8Decode(value) : new File([value], file, { type: kind ?? "application/octet-stream" }));
      at = next;
    }
    return form;
  }
  async blob() {
    return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" });
  }
  splitBody() {
    if (!(this.#source instanceof ReadableStream)) return this.#source;
    const [first, second] = this.#source.tee();
    this.#source = first;
    return second;
  }
}

export class Request extends Body {
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    const headers = new Headers(init.headers ?? from?.headers);
    super(init.body ?? (from && init.body === undefined ? from.splitBody() : null), headers);
    this.url = from ? from.url : String(input?.href ?? input);
    this.method = String(init.method ?? from?.method ?? "GET").toUpperCase();
    this.headers = headers;
    this.redirect = init.redirect ?? from?.redirect ?? "follow";
    this.signal = init.signal ?? from?.signal ?? null;
  }
  clone() {
    return new Request(this);
  }
}

const EMPTY = [101, 204, 205, 304];

export class Response extends Body {
  constructor(body = null, init = {}) {
    const headers = new Headers(init.headers);
    super(EMPTY.includes(init.status) ? null : body, headers);
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? "";
    this.headers = headers;
    this.url = init.url ?? "";
    this.redirected = Boolean(init.redirected);
    this.type = "default";
  }
  get ok() {
    return this.status >= 200 && this.status < 300;
  }
  clone() {
    return new Response(this.splitBody(), this);
  }
  static json(value, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(JSON.stringify(value), { ...init, headers });
  }
  static redirect(url, status = 302) {
    return new Response(null, { status, headers: { location: new URL(url).href } });
  }
  static error() {
    return new Response(null, { status: 0 });
  }
}

export async function fetch(input, init = {}) {
  const request = new Request(input, init);
  if (!/^https?:/i.test(request.url)) throw new TypeError(`fetch of ${request.url.slice(0, 60)}: only http and https addresses are supported`);
  const { signal } = request;
  signal?.throwIfAborted();
  const owner = currentOwner();
  const body = request.method === "GET" || request.method === "HEAD" ? null : await request.bytes();
  let answer;
  try {
    answer = await action(
      "http.open",
      { url: request.url, method: request.method, headers: [...request.headers], body, redirect: request.redirect },
      signal ?? undefined,
    );
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new TypeError("fetch failed", { cause: error });
  }
  const stop = () => host.httpClose(answer.id);
  const isEmpty = request.method === "HEAD" || EMPTY.includes(answer.status);
  if (isEmpty) stop();
  const stream = isEmpty ? null : new ReadableStream({
    start(controller) {
      signal?.addEventListener("abort", () => {
        stop();
        controller.error(signal.reason);
      }, { once: true });
    },
    async pull(controller) {
      const chunk = await asOwner(host.httpRead(owner, answer.id));
      if (chunk === null || chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
    cancel: stop,
  });
  return new Response(stream, { status: answer.status, statusText: answer.statusText ?? "", headers: answer.headers, url: answer.url ?? request.url, redirected: answer.url !== undefined && answer.url !== request.url });
}
