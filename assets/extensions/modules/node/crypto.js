// node:crypto: hashes, HMACs, random values, constant-time comparison; ciphers and keys of passwords are in ciphers.js. Keys to
// sign with are not here.

import { withStubs } from "../stubs.js";
import { host } from "../../runtime/bridge.js";
import { asBuffer, decodeBytes, encodeText } from "../../runtime/buffer.js";
import { crypto as webcrypto, digest, getRandomValues, hashName, randomUUID, subtle } from "../../runtime/crypto.js";
import { bytesOf } from "../../runtime/encoding.js";
import { coded, unsupported } from "../../runtime/errors.js";
import { concat } from "../../runtime/fetch.js";
import { createCipheriv, createDecipheriv, getCipherInfo, getCiphers, hkdf, hkdfSync, pbkdf2, pbkdf2Sync, scrypt, scryptSync } from "./ciphers.js";
import { Transform } from "./stream.js";

export class Hash {
  #name;
  #key;
  #parts = [];
  #done = false;
  #isStream = false;
  constructor(name, key) {
    this.#name = hashName(name);
    this.#key = key === undefined ? null : bytesOf(key);
    // Asked now, so that an unknown name fails where Node fails.
    digest(this.#name, new Uint8Array(0), this.#key);
  }
  update(data, encoding) {
    if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    this.#parts.push(typeof data === "string" ? encodeText(data, encoding) : bytesOf(data).slice());
    return this;
  }
  digest(encoding) {
    if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    this.#done = true;
    const bytes = this.#sum();
    return encoding && encoding !== "buffer" ? decodeBytes(bytes, encoding) : bytes;
  }
  #sum() {
    return asBuffer(digest(this.#name, concat(this.#parts), this.#key));
  }
  _transform(chunk, encoding, done) {
    this.update(chunk, encoding);
    done();
  }
  _flush(done) {
    // Whoever wrote to it as a stream may still ask for the digest.
    this.push(this.#sum());
    done();
  }
  copy() {
    const other = new Hash(this.#name, this.#key ?? undefined);
    other.#parts = [...this.#parts];
    return other;
  }
  static {
    // Few are used as streams, which take time to make: it becomes one when it is first used so.
    Object.setPrototypeOf(Hash.prototype, Transform.prototype);
    for (const name of ["on", "once", "addListener", "emit", "pipe", "write", "end", "read", "setEncoding", "resume", "pause", "destroy", Symbol.asyncIterator]) {
      const value = function (...args) {
        if (!this.#isStream) Transform.call(this);
        this.#isStream = true;
        return Transform.prototype[name].apply(this, args);
      };
      Object.defineProperty(Hash.prototype, name, { value, writable: true, configurable: true });
    }
  }
}

export const createHash = (name) => new Hash(name);
export const createHmac = (name, key) => new Hash(name, key);
export const hash = (name, data, encoding = "hex") => new Hash(name).update(data).digest(encoding);
export const getHashes = () => ["md5", "sha1", "sha256", "sha384", "sha512"];
export function randomBytes(size, done) {
  const bytes = asBuffer(host.random(size));
  if (!done) return bytes;
  globalThis.setTimeout(() => done(null, bytes), 0);
}
export function randomInt(low, high, done) {
  if (high === undefined || typeof high === "function") [low, high, done] = [0, low, high];
  const range = high - low;
  const limit = 2 ** 48 - (2 ** 48 % range);
  let value;
  do value = asBuffer(host.random(6)).readUIntBE(0, 6);
  while (value >= limit);
  const result = low + (value % range);
  if (done) globalThis.setTimeout(() => done(null, result), 0);
  return result;
}
export function randomFillSync(view) {
  bytesOf(view).set(host.random(view.byteLength));
  return view;
}
export function randomFill(view, ...rest) {
  const done = rest.pop();
  randomFillSync(view);
  globalThis.setTimeout(() => done(null, view), 0);
}
export function timingSafeEqual(a, b) {
  const [left, right] = [bytesOf(a), bytesOf(b)];
  if (left.length !== right.length) throw coded(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
  let difference = 0;
  for (let i = 0; i < left.length; i++) difference |= left[i] ^ right[i];
  return difference === 0;
}

const refused = (name) => () => {
  throw unsupported(`crypto.${name}`);
};
export const createSign = refused("createSign");
export const createVerify = refused("createVerify");
export const generateKeyPairSync = refused("generateKeyPairSync");
export const createPrivateKey = refused("createPrivateKey");
export const createPublicKey = refused("createPublicKey");
export const sign = refused("sign");
export const verify = refused("verify");
/** Keys as objects are not offered: nothing is one. */
export class KeyObject {
  constructor() {
    throw unsupported("crypto.KeyObject");
  }
}
export const constants = Object.freeze({ RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6 });
export { createCipheriv, createDecipheriv, getCipherInfo, getCiphers, hkdf, hkdfSync, pbkdf2, pbkdf2Sync, scrypt, scryptSync };
export { webcrypto, subtle, randomUUID, getRandomValues };
// Names of the real module that are not implemented.
export const {
  Certificate, Cipher, Cipheriv, Decipher, Decipheriv, DiffieHellman, DiffieHellmanGroup, ECDH, Hmac, Sign, Verify,
  X509Certificate, checkPrime, checkPrimeSync, createDiffieHellman, createDiffieHellmanGroup, createECDH, createSecretKey,
  diffieHellman, generateKey, generateKeyPair, generateKeySync, generatePrime, generatePrimeSync, getCurves,
  getDiffieHellman, getFips, privateDecrypt, privateEncrypt, publicDecrypt, publicEncrypt, secureHeapUsed,
  setEngine, setFips,
} = withStubs("node:crypto");
export default {
  createHash, createHmac, hash, getHashes, randomBytes, randomInt, randomFillSync, timingSafeEqual, createCipheriv, createDecipheriv, getCipherInfo, getCiphers, hkdf, hkdfSync, randomFill, createSign,
  createVerify, pbkdf2, pbkdf2Sync, scrypt, scryptSync, generateKeyPairSync, createPrivateKey, createPublicKey, sign, verify, webcrypto, subtle,
  randomUUID, getRandomValues, KeyObject, constants,
};
