// Buffer: a Uint8Array with Node's methods. Covers construction, the usual encodings, comparing,
// searching and the integer and float readers and writers that scripts use.

import {
  base64Decode, base64Encode, bytesOf, hexDecode, hexEncode, latin1Decode, latin1Encode,
  utf16Decode, utf16Encode, utf8Decode, utf8Encode,
} from "./encoding.js";
import { coded } from "./errors.js";

const CODERS = {
  utf8: [utf8Encode, utf8Decode],
  latin1: [latin1Encode, latin1Decode],
  ascii: [latin1Encode, (bytes) => latin1Decode(bytes.map((byte) => byte & 127))],
  hex: [hexDecode, hexEncode],
  base64: [base64Decode, (bytes) => base64Encode(bytes)],
  base64url: [base64Decode, (bytes) => base64Encode(bytes, true)],
  utf16le: [utf16Encode, (bytes) => utf16Decode(bytes)],
};
const ALIASES = { "utf-8": "utf8", binary: "latin1", "utf-16le": "utf16le", ucs2: "utf16le", "ucs-2": "utf16le" };

export const isEncoding = (name) => coder(name, false) !== undefined;

function coder(name = "utf8", strict = true) {
  const key = String(name).toLowerCase();
  const found = CODERS[ALIASES[key] ?? key];
  if (!found && strict) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
  return found;
}

export const decodeBytes = (bytes, encoding) => coder(encoding)[1](bytes);
export const encodeText = (text, encoding) => coder(encoding)[0](text);

export class Buffer extends Uint8Array {
  static from(value, encodingOrOffset, length) {
    if (typeof value === "string" || value instanceof String) return wrap(encodeText(String(value), encodingOrOffset));
    if (value instanceof ArrayBuffer) return new Buffer(value, encodingOrOffset ?? 0, length ?? value.byteLength - (encodingOrOffset ?? 0));
    if (value && value.type === "Buffer" && Array.isArray(value.data)) return wrap(Uint8Array.from(value.data));
    if (value && typeof value === "object" && (typeof value.length === "number" || typeof value[Symbol.iterator] === "function")) {
      return wrap(Uint8Array.from(value));
    }
    throw coded(TypeError, "ERR_INVALID_ARG_TYPE", "The first argument must be a string, a buffer or an array of bytes");
  }
  static alloc(size, fill, encoding) {
    const buffer = new Buffer(size);
    return fill === undefined ? buffer : buffer.fill(fill, 0, size, encoding);
  }
  static allocUnsafe(size) {
    return new Buffer(size);
  }
  static allocUnsafeSlow(size) {
    return new Buffer(size);
  }
  static isBuffer(value) {
    return value instanceof Buffer;
  }
  static isEncoding(name) {
    return isEncoding(name);
  }
  static byteLength(value, encoding) {
    return typeof value === "string" ? encodeText(value, encoding).length : value.byteLength;
  }
  static concat(list, total) {
    const size = total ?? list.reduce((sum, item) => sum + item.length, 0);
    const whole = new Buffer(size);
    let at = 0;
    for (const item of list) {
      if (at >= size) break;
      whole.set(item.length > size - at ? item.subarray(0, size - at) : item, at);
      at += item.length;
    }
    return whole;
  }
  static compare(a, b) {
    for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  }

  get parent() {
    return this.buffer;
  }
  toString(encoding, start = 0, end = this.length) {
    return decodeBytes(this.subarray(Math.max(0, start), Math.min(this.length, end)), encoding);
  }
  toLocaleString(encoding) {
    return this.toString(encoding);
  }
  toJSON() {
    return { type: "Buffer", data: Array.from(this) };
  }
  equals(other) {
    return Buffer.compare(this, other) === 0;
  }
  compare(other, ...range) {
    const [from = 0, to = other.length, mine = 0, end = this.length] = range;
    return Buffer.compare(this.subarray(mine, end), other.subarray(from, to));
  }
  slice(start, end) {
    return this.subarray(start, end);
  }
  subarray(start, end) {
    const part = super.subarray(start, end);
    return part instanceof Buffer ? part : new Buffer(part.buffer, part.byteOffset, part.length);
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + target.length - at));
    target.set(part, at);
    return part.length;
  }
  write(text, offset = 0, length, encoding) {
    if (typeof offset === "string") [offset, length, encoding] = [0, undefined, offset];
    else if (typeof length === "string") [length, encoding] = [undefined, length];
    const bytes = encodeText(text, encoding).subarray(0, Math.min(length ?? Infinity, this.length - offset));
    this.set(bytes, offset);
    return bytes.length;
  }
  fill(value, start = 0, end = this.length, encoding) {
    if (typeof start === "string") [start, end, encoding] = [0, this.length, start];
    if (typeof value === "number") {
      super.fill(value, start, end);
      return this;
    }
    const bytes = typeof value === "string" ? encodeText(value, encoding) : bytesOf(value);
    for (let i = start; i < end; i++) this[i] = bytes.length ? bytes[(i - start) % bytes.length] : 0;
    return this;
  }
  indexOf(value, from = 0, encoding) {
    if (typeof value === "number") return super.indexOf(value, from);
    const needle = typeof value === "string" ? encodeText(value, encoding) : value;
    const begin = from < 0 ? Math.max(0, this.length + from) : from;
    outer: for (let i = begin; i <= this.length - needle.length; i++) {
      for (let j = 0; j < needle.length; j++) if (this[i + j] !== needle[j]) continue outer;
      return i;
    }
    return -1;
  }
  lastIndexOf(value, from = this.length, encoding) {
    if (typeof value === "number") return super.lastIndexOf(value, from);
    const needle = typeof value === "string" ? encodeText(value, encoding) : value;
    for (let i = Math.min(from, this.length - needle.length); i >= 0; i--) {
      if (needle.every((byte, j) => this[i + j] === byte)) return i;
    }
    return -1;
  }
  includes(value, from, encoding) {
    return this.indexOf(value, from, encoding) !== -1;
  }
  readUIntBE(offset, size) {
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + this[offset + i];
    return value;
  }
  readUIntLE(offset, size) {
    let value = 0;
    for (let i = size - 1; i >= 0; i--) value = value * 256 + this[offset + i];
    return value;
  }
  readIntBE(offset, size) {
    const value = this.readUIntBE(offset, size);
    return value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
  }
  readIntLE(offset, size) {
    const value = this.readUIntLE(offset, size);
    return value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
  }
  writeUIntBE(value, offset, size) {
    for (let i = size - 1, rest = value < 0 ? value + 2 ** (8 * size) : value; i >= 0; i--, rest = Math.floor(rest / 256)) this[offset + i] = rest % 256;
    return offset + size;
  }
  writeUIntLE(value, offset, size) {
    for (let i = 0, rest = value < 0 ? value + 2 ** (8 * size) : value; i < size; i++, rest = Math.floor(rest / 256)) this[offset + i] = rest % 256;
    return offset + size;
  }
  writeIntBE(value, offset, size) {
    return this.writeUIntBE(value, offset, size);
  }
  writeIntLE(value, offset, size) {
    return this.writeUIntLE(value, offset, size);
  }
  swap32() {
    for (let i = 0; i + 3 < this.length; i += 4) this.subarray(i, i + 4).reverse();
    return this;
  }
  swap64() {
    for (let i = 0; i + 7 < this.length; i += 8) this.subarray(i, i + 8).reverse();
    return this;
  }
  swap16() {
    for (let i = 0; i + 1 < this.length; i += 2) [this[i], this[i + 1]] = [this[i + 1], this[i]];
    return this;
  }
  [Symbol.for("nodejs.util.inspect.custom")]() {
    const shown = [...this.subarray(0, 50)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    return `<Buffer${shown ? ` ${shown}` : ""}${this.length > 50 ? ` ... ${this.length - 50} more bytes` : ""}>`;
  }
}

// Some copy what is enumerable, as Node's are.
for (const name of Object.getOwnPropertyNames(Buffer)) {
  if (typeof Buffer[name] === "function") Object.defineProperty(Buffer, name, { enumerable: true });
}

const wrap = (bytes) => new Buffer(bytes.buffer, bytes.byteOffset, bytes.length);
/** The same bytes as a Buffer, without a copy. */
export const asBuffer = wrap;

// The fixed-size readers and writers all follow one pattern, so they are made from a table.
const NUMBERS = [
  ["UInt8", "Uint8", 1], ["Int8", "Int8", 1], ["UInt16", "Uint16", 2], ["Int16", "Int16", 2], ["UInt32", "Uint32", 4],
  ["Int32", "Int32", 4], ["Float", "Float32", 4], ["Double", "Float64", 8], ["BigInt64", "BigInt64", 8], ["BigUInt64", "BigUint64", 8],
];
for (const [name, view, size] of NUMBERS) {
  for (const [suffix, little] of size === 1 ? [["", true]] : [["LE", true], ["BE", false]]) {
    const check = (buffer, offset) => {
      if (offset < 0 || offset + size > buffer.length) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "offset" is out of range: ${offset}`);
      return new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
    };
    const read = function (offset = 0) {
      return check(this, offset)[`get${view}`](offset, little);
    };
    const write = function (value, offset = 0) {
      check(this, offset)[`set${view}`](offset, value, little);
      return offset + size;
    };
    for (const spelled of new Set([name, name.replace("UInt", "Uint")])) {
      Object.defineProperty(Buffer.prototype, `read${spelled}${suffix}`, { value: read, configurable: true, writable: true });
      Object.defineProperty(Buffer.prototype, `write${spelled}${suffix}`, { value: write, configurable: true, writable: true });
    }
  }
}
Buffer.poolSize = 8192;
