// node:string_decoder: bytes to text across the cuts of a stream.

import { TextDecoder } from "../../runtime/encoding.js";
import { asBuffer, decodeBytes } from "../../runtime/buffer.js";

export class StringDecoder {
  #decoder;
  #rest = new Uint8Array(0);
  constructor(encoding = "utf8") {
    this.encoding = String(encoding).toLowerCase().replace("utf-8", "utf8");
    if (/^(utf8|utf-?16le|ucs-?2)$/.test(this.encoding)) {
      this.#decoder = new TextDecoder(this.encoding === "utf8" ? "utf-8" : "utf-16le", { ignoreBOM: true });
    }
  }
  write(bytes) {
    if (typeof bytes === "string") return bytes;
    if (this.#decoder) return this.#decoder.decode(bytes, { stream: true });
    if (!this.encoding.startsWith("base64")) return decodeBytes(bytes, this.encoding);
    const joined = new Uint8Array(this.#rest.length + bytes.length);
    joined.set(this.#rest);
    joined.set(bytes, this.#rest.length);
    const whole = joined.length - (joined.length % 3);
    this.#rest = joined.slice(whole);
    return asBuffer(joined.subarray(0, whole)).toString(this.encoding);
  }
  end(bytes) {
    const text = bytes ? this.write(bytes) : "";
    if (this.#decoder) return text + this.#decoder.decode();
    const rest = this.#rest;
    this.#rest = new Uint8Array(0);
    return text + (rest.length ? decodeBytes(rest, this.encoding) : "");
  }
}
export default { StringDecoder };
