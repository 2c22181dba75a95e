// Streams that turn bytes into text and back, and make them smaller and whole again. What is made smaller comes when all was written.

import { host, unwrap } from "./bridge.js";
import { TextDecoder, bytesOf, utf8Encode } from "./encoding.js";
import { TransformStream } from "./streams.js";

/** Something that is read and written, over a transformer. */
class Through {
  #stream;
  constructor(transformer) {
    this.#stream = new TransformStream(transformer);
  }
  get readable() {
    return this.#stream.readable;
  }
  get writable() {
    return this.#stream.writable;
  }
}

export class TextDecoderStream extends Through {
  constructor(label = "utf-8", options = {}) {
    const decoder = new TextDecoder(label, options);
    const put = (text, controller) => text && controller.enqueue(text);
    super({
      transform: (chunk, controller) => put(decoder.decode(chunk, { stream: true }), controller),
      flush: (controller) => put(decoder.decode(), controller),
    });
    Object.assign(this, { encoding: decoder.encoding, fatal: decoder.fatal, ignoreBOM: decoder.ignoreBOM });
  }
}

export class TextEncoderStream extends Through {
  encoding = "utf-8";
  constructor() {
    // Half of a pair waits for the other.
    let half = "";
    super({
      transform: (chunk, controller) => {
        const text = half + String(chunk);
        half = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : "";
        const whole = half ? text.slice(0, -1) : text;
        if (whole) controller.enqueue(utf8Encode(whole));
      },
      flush: (controller) => half && controller.enqueue(utf8Encode(half)),
    });
  }
}

const FORMATS = { gzip: ["gzip", "gunzip"], deflate: ["deflate", "inflate"], "deflate-raw": ["deflateRaw", "inflateRaw"] };
const compressing = (place) => class extends Through {
  constructor(format) {
    const operation = Object.hasOwn(FORMATS, format) ? FORMATS[format][place] : undefined;
    if (!operation) throw new TypeError(`Unsupported compression format: '${format}'`);
    const parts = [];
    super({
      transform: (chunk) => void parts.push(bytesOf(chunk).slice()),
      flush: (controller) => {
        const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
        let at = 0;
        for (const part of parts) {
          whole.set(part, at);
          at += part.length;
        }
        try {
          controller.enqueue(unwrap(host.zlib(operation, whole, null, false)));
        } catch (error) {
          throw new TypeError(error.message);
        }
      },
    });
  }
};
const [CompressionStream, DecompressionStream] = [compressing(0), compressing(1)];
export { CompressionStream, DecompressionStream };
