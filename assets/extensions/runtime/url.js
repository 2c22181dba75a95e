// URL and URLSearchParams.
//
// Covers what scripts do with http, file and data addresses: parsing against a base, the parts and
// their setters, percent encoding, dot segments. Domain names are lower-cased, not turned to punycode.

import { utf8Decode, utf8Encode } from "./encoding.js";

const PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };

function encode(text, keep) {
  let out = "";
  for (const letter of text) {
    const code = letter.codePointAt(0);
    if (code > 0x20 && code < 0x7f && keep(letter)) out += letter;
    else for (const byte of utf8Encode(letter)) out += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

const not = (set) => (letter) => !set.includes(letter);
const encodePath = (text) => encode(text, not('"#<>?`{}^'));
const encodeQuery = (text) => encode(text, not("\"#<>'"));
const encodeFragment = (text) => encode(text, not('"<>`'));
const encodeUser = (text) => encode(text, not('"#<>?`{}/:;=@[\\]^|'));
const encodeForm = (text) => encode(text, (letter) => /[A-Za-z0-9*\-._]/.test(letter));

/** Percent decoding that leaves what is not a valid escape as it is. */
export function percentDecode(text) {
  const bytes = [];
  const source = utf8Encode(text);
  for (let i = 0; i < source.length; i++) {
    const hex = source[i] === 37 ? String.fromCharCode(source[i + 1] ?? 0, source[i + 2] ?? 0) : "";
    if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
      bytes.push(parseInt(hex, 16));
      i += 2;
    } else bytes.push(source[i]);
  }
  return utf8Decode(Uint8Array.from(bytes));
}

export class URLSearchParams {
  #list = [];
  #changed = () => {};
  constructor(init = "") {
    if (typeof init === "object" && init !== null) {
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const pair of pairs) {
        const [name, value] = pair;
        this.#list.push([String(name), String(value)]);
      }
    } else this.#parse(String(init));
  }
  static bound(text, changed) {
    const params = new URLSearchParams(text);
    params.#changed = changed;
    return params;
  }
  #parse(text) {
    this.#list = [];
    const body = text.startsWith("?") ? text.slice(1) : text;
    for (const part of body.split("&")) {
      if (part === "") continue;
      const cut = part.indexOf("=");
      const name = cut < 0 ? part : part.slice(0, cut);
      const value = cut < 0 ? "" : part.slice(cut + 1);
      this.#list.push([percentDecode(name.replaceAll("+", " ")), percentDecode(value.replaceAll("+", " "))]);
    }
  }
  get size() {
    return this.#list.length;
  }
  append(name, value) {
    this.#list.push([String(name), String(value)]);
    this.#changed(this);
  }
  delete(name, value) {
    this.#list = this.#list.filter(([key, item]) => key !== String(name) || (value !== undefined && item !== String(value)));
    this.#changed(this);
  }
  get(name) {
    return this.#list.find(([key]) => key === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#list.filter(([key]) => key === String(name)).map(([, value]) => value);
  }
  has(name, value) {
    return this.#list.some(([key, item]) => key === String(name) && (value === undefined || item === String(value)));
  }
  set(name, value) {
    const at = this.#list.findIndex(([key]) => key === String(name));
    if (at < 0) this.#list.push([String(name), String(value)]);
    else {
      this.#list[at][1] = String(value);
      this.#list = this.#list.filter(([key], i) => i <= at || key !== String(name));
    }
    this.#changed(this);
  }
  sort() {
    this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed(this);
  }
  forEach(visit, self) {
    for (const [name, value] of this.#list) visit.call(self, value, name, this);
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
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    const form = (text) => encodeForm(text).replaceAll("%20", "+");
    return this.#list.map(([name, value]) => `${form(name)}=${form(value)}`).join("&");
  }
}
const boundParams = URLSearchParams.bound;
delete URLSearchParams.bound;

const invalid = (input) => {
  const error = new TypeError("Invalid URL");
  error.code = "ERR_INVALID_URL";
  error.input = input;
  return error;
};

function parseHost(text, special, input) {
  if (text.startsWith("[")) {
    if (!/^\[[0-9A-Fa-f:.]+\]$/.test(text)) throw invalid(input);
    return text.toLowerCase();
  }
  if (!special) return encode(text, not(" #/<>?@[\\]^|"));
  const name = percentDecode(text).toLowerCase();
  if (name === "" || /[\s#%/:<>?@[\\\]^|]/.test(name)) throw invalid(input);
  return name;
}

function dotSegments(path, special) {
  const parts = (special ? path.replaceAll("\\", "/") : path).split("/");
  const out = [];
  parts.forEach((part, i) => {
    const plain = part.toLowerCase().replaceAll("%2e", ".");
    const last = i === parts.length - 1;
    if (plain === "..") {
      if (out.length > 1) out.pop();
      if (last) out.push("");
    } else if (plain === ".") {
      if (last) out.push("");
    } else out.push(part);
  });
  return out.join("/");
}

function parse(input, base) {
  const text = String(input).replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  const parts = { protocol: "", username: "", password: "", hostname: "", port: "", pathname: "", search: "", hash: "", authority: false };
  let rest = text;
  if (scheme) {
    parts.protocol = `${scheme[1].toLowerCase()}:`;
    rest = text.slice(scheme[0].length);
  } else if (!base) throw invalid(input);
  else parts.protocol = base.protocol;
  const special = parts.protocol in PORTS;
  const hashAt = rest.indexOf("#");
  if (hashAt >= 0) {
    const fragment = rest.slice(hashAt + 1);
    parts.hash = fragment ? `#${encodeFragment(fragment)}` : "";
    rest = rest.slice(0, hashAt);
  }
  const queryAt = rest.indexOf("?");
  let query = null;
  if (queryAt >= 0) {
    query = rest.slice(queryAt + 1);
    rest = rest.slice(0, queryAt);
  }
  if (special) rest = rest.replaceAll("\\", "/");
  const inherits = base && !scheme;
  if (rest.startsWith("//") || (special && scheme && parts.protocol !== "file:")) {
    parts.authority = true;
    rest = rest.replace(special && parts.protocol !== "file:" ? /^\/*/ : /^\/\//, "");
    const end = rest.indexOf("/");
    let authority = end < 0 ? rest : rest.slice(0, end);
    rest = end < 0 ? "" : rest.slice(end);
    const at = authority.lastIndexOf("@");
    if (at >= 0) {
      const [user, ...secret] = authority.slice(0, at).split(":");
      parts.username = encodeUser(user);
      parts.password = encodeUser(secret.join(":"));
      authority = authority.slice(at + 1);
    }
    const port = /:(\d*)$/.exec(authority);
    if (port && !/^\[[^\]]*$/.test(authority)) {
      authority = authority.slice(0, port.index);
      if (Number(port[1]) > 65535) throw invalid(input);
      parts.port = port[1] === "" || String(Number(port[1])) === PORTS[parts.protocol] ? "" : String(Number(port[1]));
    } else if (/:[^\]]*$/.test(authority) && !authority.endsWith("]")) throw invalid(input);
    if (authority !== "" || parts.protocol !== "file:") {
      if (authority === "" && !special) parts.hostname = "";
      else parts.hostname = parseHost(authority, special, input);
    }
    if (parts.protocol === "file:" && parts.hostname === "localhost") parts.hostname = "";
  } else if (inherits) {
    Object.assign(parts, { authority: base.authority, username: base.username, password: base.password, hostname: base.hostname, port: base.port });
    if (rest === "") {
      parts.pathname = base.pathname;
      parts.search = query === null ? base.search : query ? `?${encodeQuery(query)}` : "";
      return parts;
    }
    if (!rest.startsWith("/")) rest = base.pathname.slice(0, base.pathname.lastIndexOf("/") + 1) + rest;
  } else if (parts.protocol === "file:") parts.authority = true;
  if (query !== null && query !== "") parts.search = `?${encodeQuery(query)}`;
  const opaque = !special && !parts.authority && !rest.startsWith("/");
  if (opaque) parts.pathname = encode(rest, () => true);
  else {
    if (special && !rest.startsWith("/")) rest = `/${rest}`;
    parts.pathname = rest === "" ? "" : dotSegments(encodePath(rest), special);
  }
  return parts;
}

export class URL {
  #parts;
  #params;
  constructor(input, base) {
    this.#parts = parse(input, base === undefined ? undefined : parse(String(base)));
    this.#bind();
  }
  #bind() {
    this.#params = boundParams(this.#parts.search, (params) => {
      const text = params.toString();
      this.#parts.search = text ? `?${text}` : "";
    });
  }
  static canParse(input, base) {
    return URL.parse(input, base) !== null;
  }
  static parse(input, base) {
    try {
      return new URL(input, base);
    } catch {
      return null;
    }
  }
  get href() {
    const { protocol, username, password, authority, pathname, search, hash } = this.#parts;
    const user = username || password ? `${username}${password ? `:${password}` : ""}@` : "";
    return `${protocol}${authority ? `//${user}${this.host}` : ""}${pathname}${search}${hash}`;
  }
  set href(value) {
    this.#parts = parse(value);
    this.#bind();
  }
  get origin() {
    const { protocol } = this.#parts;
    return protocol in PORTS && protocol !== "file:" ? `${protocol}//${this.host}` : "null";
  }
  get protocol() {
    return this.#parts.protocol;
  }
  set protocol(value) {
    const name = /^([A-Za-z][A-Za-z0-9+.-]*):?/.exec(String(value));
    if (name) this.#parts.protocol = `${name[1].toLowerCase()}:`;
  }
  get username() {
    return this.#parts.username;
  }
  set username(value) {
    this.#parts.username = encodeUser(String(value));
  }
  get password() {
    return this.#parts.password;
  }
  set password(value) {
    this.#parts.password = encodeUser(String(value));
  }
  get host() {
    return this.#parts.hostname + (this.#parts.port ? `:${this.#parts.port}` : "");
  }
  set host(value) {
    const [name, port] = String(value).split(/:(?=\d*$)/);
    this.hostname = name;
    if (port !== undefined) this.port = port;
  }
  get hostname() {
    return this.#parts.hostname;
  }
  set hostname(value) {
    try {
      this.#parts.hostname = parseHost(String(value), this.#parts.protocol in PORTS, value);
    } catch {
      // A name that cannot be one leaves the address as it was, as the standard asks.
    }
  }
  get port() {
    return this.#parts.port;
  }
  set port(value) {
    const text = String(value);
    if (text === "") this.#parts.port = "";
    else if (/^\d+/.test(text)) {
      const number = String(parseInt(text, 10));
      this.#parts.port = number === PORTS[this.#parts.protocol] ? "" : number;
    }
  }
  get pathname() {
    return this.#parts.pathname;
  }
  set pathname(value) {
    const text = String(value);
    this.#parts.pathname = dotSegments(encodePath(text.startsWith("/") ? text : `/${text}`), this.#parts.protocol in PORTS);
  }
  get search() {
    return this.#parts.search;
  }
  set search(value) {
    const text = String(value).replace(/^\?/, "");
    this.#parts.search = text ? `?${encodeQuery(text)}` : "";
    this.#bind();
  }
  get hash() {
    return this.#parts.hash;
  }
  set hash(value) {
    const text = String(value).replace(/^#/, "");
    this.#parts.hash = text ? `#${encodeFragment(text)}` : "";
  }
  get searchParams() {
    return this.#params;
  }
  toString() {
    return this.href;
  }
  toJSON() {
    return this.href;
  }
}
