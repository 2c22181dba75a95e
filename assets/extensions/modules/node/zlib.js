// node:zlib is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:zlib", "compression is not offered");
export const {
  brotliCompressSync, brotliDecompressSync, constants, createGunzip, createGzip, deflate, deflateSync, gunzip, gunzipSync, gzip, gzipSync, inflate, inflateSync,
} = absent;
export const {
  BrotliCompress, BrotliDecompress, Deflate, DeflateRaw, Gunzip, Gzip, Inflate, InflateRaw, Unzip, brotliCompress, brotliDecompress, codes,
  crc32, createBrotliCompress, createBrotliDecompress, createDeflate, createDeflateRaw, createInflate, createInflateRaw, createUnzip,
  deflateRaw, deflateRawSync, inflateRaw, inflateRawSync, unzip, unzipSync,
} = absent;
export default absent;
