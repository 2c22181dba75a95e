// Text to bytes and back: UTF-8, UTF-16, Latin-1, hex and base64; TextEncoder, TextDecoder, atob, btoa.
//
// Written in JavaScript so that the host needs no function for it. Decoding replaces what is not
// valid by U+FFFD as the encoding standard says, or throws when asked to be strict.

import { DOMException } from "./errors.js";

export function utf8Encode(text) {
  const source = String(text);
  let size = 0;
  for (let i = 0; i < source.length; i++) {
    const unit = source.charCodeAt(i);
    if (unit < 0x80) size += 1;
    else if (unit < 0x800) size += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && (source.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      size += 4;
      i++;
    } else size += 3;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < source.length; i++) {
    let code = source.charCodeAt(i);
    if (code < 0x80) {
      bytes[at++] = code;
      continue;
    }
    if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >> 6);
      bytes[at++] = 0x80 | (code & 63);
      continue;
    }
    if ((code & 0xf800) === 0xd800) {
      const low = source.charCodeAt(i + 1);
      if (code < 0xdc00 && (low & 0xfc00) === 0xdc00) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        i++;
        bytes[at++] = 0xf0 | (code >> 18);
        bytes[at++] = 0x80 | ((code >> 12) & 63);
        bytes[at++] = 0x80 | ((code >> 6) & 63);
        bytes[at++] = 0x80 | (code & 63);
        continue;
      }
      code = 0xfffd;
    }
    bytes[at++] = 0xe0 | (code >> 12);
    bytes[at++] = 0x80 | ((code >> 6) & 63);
    bytes[at++] = 0x80 | (code & 63);
  }
  return bytes;
}

/** Code units gathered into a string in pieces, since `fromCharCode` takes a limited number. */
class Units {
  #parts = [];
  #batch = [];
  push(code) {
    if (code > 0xffff) {
      const rest = code - 0x10000;
      this.#batch.push(0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    } else this.#batch.push(code);
    if (this.#batch.length > 4096) this.#flush();
  }
  #flush() {
    this.#parts.push(String.fromCharCode.apply(null, this.#batch));
    this.#batch = [];
  }
  text() {
    this.#flush();
    return this.#parts.join("");
  }
}

/**
 * Decodes UTF-8. Returns the text and how many bytes at the end belong to a character that is not
 * complete yet (always 0 unless `stream`).
 */
export function utf8DecodePart(bytes, { stream = false, fatal = false } = {}) {
  const out = new Units();
  const end = bytes.length;
  let i = 0;
  while (i < end) {
    const first = bytes[i];
    if (first < 0x80) {
      out.push(first);
      i++;
      continue;
    }
    let need = 0;
    let low = 0x80;
    let high = 0xbf;
    let code = 0;
    if (first >= 0xc2 && first <= 0xdf) [need, code] = [1, first & 0x1f];
    else if (first >= 0xe0 && first <= 0xef) {
      [need, code] = [2, first & 0xf];
      if (first === 0xe0) low = 0xa0;
      if (first === 0xed) high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
      [need, code] = [3, first & 7];
      if (first === 0xf0) low = 0x90;
      if (first === 0xf4) high = 0x8f;
    }
    let seen = 0;
    while (seen < need && i + 1 + seen < end) {
      const next = bytes[i + 1 + seen];
      if (next < low || next > high) break;
      low = 0x80;
      high = 0xbf;
      code = (code << 6) | (next & 63);
      seen++;
    }
    if (need > 0 && seen === need) out.push(code);
    else if (stream && need > 0 && i + 1 + seen === end) return { text: out.text(), left: 1 + seen };
    else if (fatal) throw new TypeError("The encoded data was not valid for encoding utf-8");
    else out.push(0xfffd);
    i += 1 + seen;
  }
  return { text: out.text(), left: 0 };
}

export const utf8Decode = (bytes) => utf8DecodePart(bytes).text;

export function latin1Decode(bytes) {
  const out = new Units();
  for (const byte of bytes) out.push(byte);
  return out.text();
}

export function latin1Encode(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export function utf16Decode(bytes, big = false) {
  const out = new Units();
  for (let i = 0; i + 1 < bytes.length; i += 2) out.push(big ? (bytes[i] << 8) | bytes[i + 1] : bytes[i] | (bytes[i + 1] << 8));
  return out.text();
}

export function utf16Encode(text) {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    bytes[2 * i] = text.charCodeAt(i) & 255;
    bytes[2 * i + 1] = text.charCodeAt(i) >> 8;
  }
  return bytes;
}

const HEX = "0123456789abcdef";

export function hexEncode(bytes) {
  let text = "";
  for (const byte of bytes) text += HEX[byte >> 4] + HEX[byte & 15];
  return text;
}

export function hexDecode(text) {
  const bytes = new Uint8Array(text.length >> 1);
  for (let i = 0; i < bytes.length; i++) {
    const high = HEX.indexOf(text[2 * i].toLowerCase());
    const low = HEX.indexOf(text[2 * i + 1].toLowerCase());
    if (high < 0 || low < 0) return bytes.slice(0, i);
    bytes[i] = (high << 4) | low;
  }
  return bytes;
}

const B64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL64 = `${B64.slice(0, 62)}-_`;
const FROM64 = new Int8Array(128).fill(-1);
for (let i = 0; i < 64; i++) {
  FROM64[B64.charCodeAt(i)] = i;
  FROM64[URL64.charCodeAt(i)] = i;
}

export function base64Encode(bytes, url = false) {
  const letters = url ? URL64 : B64;
  const parts = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i;
    const value = (bytes[i] << 16) | ((left > 1 ? bytes[i + 1] : 0) << 8) | (left > 2 ? bytes[i + 2] : 0);
    parts.push(
      letters[value >> 18] + letters[(value >> 12) & 63] +
      (left > 1 ? letters[(value >> 6) & 63] : url ? "" : "=") + (left > 2 ? letters[value & 63] : url ? "" : "="),
    );
  }
  return parts.join("");
}

/** Takes both alphabets, skips what belongs to neither, and stops at padding, as Node does. */
export function base64Decode(text) {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let at = 0;
  let bits = 0;
  let value = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 61) break;
    const digit = code < 128 ? FROM64[code] : -1;
    if (digit < 0) continue;
    value = ((value << 6) | digit) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (value >> bits) & 255;
    }
  }
  return bytes.slice(0, at);
}

export function btoa(text) {
  const source = String(text);
  for (let i = 0; i < source.length; i++) {
    if (source.charCodeAt(i) > 255) throw new DOMException("Invalid character", "InvalidCharacterError");
  }
  return base64Encode(latin1Encode(source));
}

export function atob(text) {
  const source = String(text).replace(/[\t\n\f\r ]/g, "");
  const body = source.length % 4 === 0 ? source.replace(/={1,2}$/, "") : source;
  if (body.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(body)) {
    throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  }
  return latin1Decode(base64Decode(body));
}

/** The bytes behind a buffer, a view or a string. */
export function bytesOf(data) {
  if (typeof data === "string") return utf8Encode(data);
  if (data instanceof Uint8Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw new TypeError("expected a string, an ArrayBuffer or a view on one");
}

export class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    return utf8Encode(text);
  }
  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const letter of String(text)) {
      const bytes = utf8Encode(letter);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += letter.length;
    }
    return { read, written };
  }
}

const LABELS = {
  "utf-8": "utf-8", utf8: "utf-8", "unicode-1-1-utf-8": "utf-8", latin1: "windows-1252", ascii: "windows-1252",
  "us-ascii": "windows-1252", "iso-8859-1": "windows-1252", "windows-1252": "windows-1252",
  "utf-16": "utf-16le", "utf-16le": "utf-16le", "utf-16be": "utf-16be",
};

export class TextDecoder {
  #left = new Uint8Array(0);
  #started = false;
  constructor(label = "utf-8", options = {}) {
    const encoding = LABELS[String(label).trim().toLowerCase()];
    if (!encoding) throw new RangeError(`The encoding "${label}" is not supported`);
    this.encoding = encoding;
    this.fatal = Boolean(options.fatal);
    this.ignoreBOM = Boolean(options.ignoreBOM);
  }
  decode(data, options = {}) {
    const stream = Boolean(options.stream);
    let bytes = data === undefined ? new Uint8Array(0) : bytesOf(data);
    if (this.#left.length > 0) {
      const joined = new Uint8Array(this.#left.length + bytes.length);
      joined.set(this.#left);
      joined.set(bytes, this.#left.length);
      bytes = joined;
      this.#left = new Uint8Array(0);
    }
    let text;
    if (this.encoding === "utf-8") {
      const part = utf8DecodePart(bytes, { stream, fatal: this.fatal });
      text = part.text;
      if (part.left) this.#left = bytes.slice(bytes.length - part.left);
    } else if (this.encoding === "windows-1252") text = latin1Decode(bytes);
    else {
      text = utf16Decode(bytes, this.encoding === "utf-16be");
      if (stream && bytes.length % 2) this.#left = bytes.slice(-1);
    }
    if (!this.#started && text.length > 0) {
      this.#started = true;
      if (!this.ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (!stream) this.#started = false;
    return text;
  }
}
