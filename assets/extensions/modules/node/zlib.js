// node:zlib: gzip, zlib and bare deflate over the host's. Streams make or read their whole when they end; Brotli is not offered.

import { withStubs } from "../stubs.js";
import { host, unwrap } from "../../runtime/bridge.js";
import { asBuffer } from "../../runtime/buffer.js";
import { bytesOf, utf8Encode } from "../../runtime/encoding.js";
import { coded, unsupported } from "../../runtime/errors.js";
import { Transform } from "./stream.js";

export const constants = Object.freeze({
  Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1,
  Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6, Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1,
  Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0, Z_MIN_WINDOWBITS: 8,
  Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15, Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1,
});
export const codes = Object.freeze(Object.fromEntries(Object.entries(constants).filter(([name]) => /^Z_(OK|STREAM_END|NEED_DICT|ERRNO|\w+_ERROR)$/.test(name))));
const NUMBERS = { Z_DATA_ERROR: -3, Z_BUF_ERROR: -5 };

const data = (input) => (typeof input === "string" ? utf8Encode(input) : bytesOf(input));
function run(operation, input, options = {}) {
  const { level, dictionary, finishFlush, maxOutputLength = Infinity } = options;
  if (dictionary !== undefined) throw unsupported("a dictionary of node:zlib");
  // With less than a finish, what has no end gives what there is.
  const lenient = finishFlush !== undefined && finishFlush !== constants.Z_FINISH;
  try {
    const made = asBuffer(unwrap(host.zlib(operation, data(input), level === undefined || level === -1 ? null : level, lenient)));
    if (made.length > maxOutputLength) throw coded(RangeError, "ERR_BUFFER_TOO_LARGE", `Cannot create a Buffer larger than ${maxOutputLength} bytes`);
    return made;
  } catch (problem) {
    if (problem instanceof RangeError) throw problem;
    const error = new Error(problem.message);
    throw Object.assign(error, { code: problem.code, errno: NUMBERS[problem.code] });
  }
}
const atOnce = (operation) => (input, options) => run(operation, input, options ?? {});
const later = (operation) => (input, options, done) => {
  if (typeof options === "function") [options, done] = [{}, options];
  Promise.resolve().then(() => {
    let made;
    try {
      made = run(operation, input, options ?? {});
    } catch (error) {
      return done(error);
    }
    return done(null, made);
  });
};
const streamed = (operation) => class extends Transform {
  #parts = [];
  #settings;
  bytesWritten = 0;
  constructor(options = {}) {
    super(options);
    this.#settings = options;
  }
  _transform(chunk, _encoding, done) {
    const bytes = data(chunk);
    this.bytesWritten += bytes.length;
    this.#parts.push(asBuffer(bytes));
    done();
  }
  _flush(done) {
    try {
      done(null, run(operation, globalThis.Buffer.concat(this.#parts), this.#settings));
    } catch (error) {
      done(error);
    }
  }
  flush(_kind, done) {
    const call = typeof _kind === "function" ? _kind : done;
    if (call) Promise.resolve().then(() => call());
  }
  close(done) {
    this.destroy();
    if (done) Promise.resolve().then(() => done());
  }
};

const [gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, unzipSync] = ["gzip", "gunzip", "deflate", "inflate", "deflateRaw", "inflateRaw", "unzip"].map(atOnce);
export { gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, unzipSync };
const [gzip, gunzip, deflate, inflate, deflateRaw, inflateRaw, unzip] = ["gzip", "gunzip", "deflate", "inflate", "deflateRaw", "inflateRaw", "unzip"].map(later);
export { gzip, gunzip, deflate, inflate, deflateRaw, inflateRaw, unzip };
const [Gzip, Gunzip, Deflate, Inflate, DeflateRaw, InflateRaw, Unzip] = ["gzip", "gunzip", "deflate", "inflate", "deflateRaw", "inflateRaw", "unzip"].map(streamed);
export { Gzip, Gunzip, Deflate, Inflate, DeflateRaw, InflateRaw, Unzip };
const [createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip] = [Gzip, Gunzip, Deflate, Inflate, DeflateRaw, InflateRaw, Unzip].map((Kind) => (options) => new Kind(options));
export { createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip };
const TABLE = new Uint32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k += 1) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});
export function crc32(input, before = 0) {
  if (before === 0) return unwrap(host.zlib("crc32", data(input), null, false));
  let sum = ~before;
  for (const byte of data(input)) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}
export const {
  Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_FINISH, Z_NO_COMPRESSION, Z_BEST_SPEED, Z_BEST_COMPRESSION, Z_DEFAULT_COMPRESSION, Z_DEFAULT_WINDOWBITS, Z_DEFAULT_LEVEL,
} = constants;
// Names of the real module that are not implemented.
const absent = withStubs("node:zlib");
export const {
  BrotliCompress, BrotliDecompress, brotliCompress, brotliCompressSync, brotliDecompress, brotliDecompressSync, createBrotliCompress, createBrotliDecompress,
} = absent;
export default {
  constants, codes, gzip, gunzip, deflate, inflate, deflateRaw, inflateRaw, unzip, gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, unzipSync,
  createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip, Gzip, Gunzip, Deflate, Inflate, DeflateRaw, InflateRaw, Unzip, crc32,
  brotliCompressSync, brotliDecompressSync, brotliCompress, brotliDecompress, createBrotliCompress, createBrotliDecompress, BrotliCompress, BrotliDecompress, ...constants,
};
