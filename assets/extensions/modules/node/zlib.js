// node:zlib is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:zlib", "compression is not offered");
export const {
  brotliCompressSync, brotliDecompressSync, constants, createGunzip, createGzip, deflate, deflateSync, gunzip, gunzipSync, gzip, gzipSync, inflate, inflateSync,
} = absent;
export default absent;
