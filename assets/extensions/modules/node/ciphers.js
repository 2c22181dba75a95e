// Ciphers of node:crypto (AES in CBC, CTR and GCM) and keys that are made of others (PBKDF2, scrypt, HKDF), over the host's.

import { host, unwrap } from "../../runtime/bridge.js";
import { asBuffer, encodeText } from "../../runtime/buffer.js";
import { digest, hashName } from "../../runtime/crypto.js";
import { bytesOf } from "../../runtime/encoding.js";
import { coded } from "../../runtime/errors.js";
import { Transform } from "./stream.js";
import { StringDecoder } from "./string_decoder.js";

const BLOCK = 16;
const KINDS = new Map(["cbc", "ctr", "gcm"].flatMap((mode) => [128, 192, 256].map((bits) => [`aes-${bits}-${mode}`, { mode, keyLength: bits / 8 }])));
const bytes = (data, encoding) => (typeof data === "string" ? encodeText(data, encoding) : bytesOf(data));

/** What the host makes of it, or its error with the class that Node throws. */
export function made(operation, args) {
  try {
    return asBuffer(unwrap(host.cipher(operation, args)));
  } catch (problem) {
    const Kind = /KEYLEN|OUT_OF_RANGE|SCRYPT/.test(problem.code) ? RangeError : /_IV$|DIGEST$/.test(problem.code) ? TypeError : Error;
    throw coded(Kind, problem.code, problem.message);
  }
}

class Cipher extends Transform {
  #mode;
  #decrypts;
  #with;
  #pads = true;
  #left = globalThis.Buffer.alloc(0);
  #count = 0;
  #aad = [];
  #tag;
  #isOver = false;
  #decoder;
  constructor(name, key, iv, options = {}, decrypts) {
    super(options ?? {});
    const kind = KINDS.get(String(name).toLowerCase());
    if (!kind) throw coded(Error, "ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
    this.#mode = kind.mode;
    this.#decrypts = decrypts;
    this.#with = { key: bytes(key).slice(), iv: bytes(iv ?? "").slice(), decrypt: decrypts };
    if (this.#with.key.length !== kind.keyLength) throw coded(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
    if (kind.mode === "gcm" ? ![12, BLOCK].includes(this.#with.iv.length) : this.#with.iv.length !== BLOCK) throw coded(TypeError, "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
  }
  #run(data) {
    return made(this.#mode, { ...this.#with, data, skip: this.#count });
  }
  #chain(data) {
    if (data.length === 0) return asBuffer(data);
    const done = this.#run(data);
    this.#with.iv = (this.#decrypts ? data : done).slice(-BLOCK);
    return done;
  }
  /** As bytes, or as a text whose letters may be cut between two pieces. */
  #given(data, encoding, isLast) {
    if (!encoding || encoding === "buffer") return data;
    this.#decoder ??= new StringDecoder(encoding);
    return isLast ? this.#decoder.end(data) : this.#decoder.write(data);
  }
  update(data, inputEncoding, outputEncoding) {
    if (this.#isOver) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation update");
    return this.#given(this.#take(bytes(data, inputEncoding)), outputEncoding);
  }
  #take(data) {
    if (this.#mode === "ctr") {
      const done = this.#run(data);
      this.#count += data.length;
      return done;
    }
    const all = globalThis.Buffer.concat([this.#left, data]);
    // A message that is sealed is looked at as a whole.
    let ready = this.#mode === "gcm" ? 0 : all.length - (all.length % BLOCK);
    // The last block tells what of it was added.
    if (this.#decrypts && this.#pads && ready === all.length && ready > 0) ready -= BLOCK;
    this.#left = all.subarray(ready);
    return this.#chain(all.subarray(0, ready));
  }
  final(outputEncoding) {
    if (this.#isOver) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation final");
    this.#isOver = true;
    return this.#given(this.#last(), outputEncoding, true);
  }
  #last() {
    const rest = this.#left;
    if (this.#mode === "ctr") return globalThis.Buffer.alloc(0);
    if (this.#mode === "gcm") return this.#seal(rest);
    if (!this.#pads) {
      if (rest.length > 0) throw coded(Error, "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "error:1C80006B:Provider routines::wrong final block length");
      return globalThis.Buffer.alloc(0);
    }
    if (!this.#decrypts) {
      const more = BLOCK - (rest.length % BLOCK);
      return this.#chain(globalThis.Buffer.concat([rest, globalThis.Buffer.alloc(more, more)]));
    }
    if (rest.length !== BLOCK) throw coded(Error, "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "error:1C80006B:Provider routines::wrong final block length");
    const opened = this.#chain(rest);
    const more = opened[BLOCK - 1];
    if (more < 1 || more > BLOCK || !opened.subarray(BLOCK - more).every((byte) => byte === more)) throw coded(Error, "ERR_OSSL_BAD_DECRYPT", "error:1C800064:Provider routines::bad decrypt");
    return opened.subarray(0, BLOCK - more);
  }
  #seal(data) {
    const aad = globalThis.Buffer.concat(this.#aad);
    const fail = () => new Error("Unsupported state or unable to authenticate data");
    if (!this.#decrypts) {
      const sealed = made("gcm", { ...this.#with, data, aad });
      this.#tag = sealed.subarray(sealed.length - BLOCK);
      return sealed.subarray(0, sealed.length - BLOCK);
    }
    if (!this.#tag) throw fail();
    try {
      return made("gcm", { ...this.#with, data: globalThis.Buffer.concat([data, this.#tag]), aad });
    } catch {
      throw fail();
    }
  }
  setAutoPadding(pads = true) {
    this.#pads = pads;
    return this;
  }
  setAAD(data, options = {}) {
    this.#aad.push(bytes(data, options.encoding).slice());
    return this;
  }
  getAuthTag() {
    if (this.#decrypts || !this.#tag) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation getAuthTag");
    return this.#tag;
  }
  setAuthTag(tag, encoding) {
    const given = asBuffer(bytes(tag, encoding).slice());
    if (!this.#decrypts || this.#mode !== "gcm") throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation setAuthTag");
    // Tags that were cut are not offered.
    if (given.length !== BLOCK) throw coded(TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${given.length}`);
    this.#tag = given;
    return this;
  }
  _transform(chunk, encoding, done) {
    this.push(this.update(chunk, encoding));
    done();
  }
  _flush(done) {
    try {
      this.push(this.final());
    } catch (error) {
      return done(error);
    }
    return done();
  }
}
export const createCipheriv = (name, key, iv, options) => new Cipher(name, key, iv, options, false);
export const createDecipheriv = (name, key, iv, options) => new Cipher(name, key, iv, options, true);
export const getCiphers = () => [...KINDS.keys()];
export const getCipherInfo = (name) => {
  const kind = KINDS.get(String(name).toLowerCase());
  return kind && { mode: kind.mode, name, blockSize: kind.mode === "cbc" ? BLOCK : 1, ivLength: kind.mode === "gcm" ? 12 : BLOCK, keyLength: kind.keyLength };
};

export const pbkdf2Sync = (password, salt, iterations, length, name) =>
  made("pbkdf2", { password: bytes(password), salt: bytes(salt), iterations, length, digest: hashName(name) });
export function scryptSync(password, salt, length, options = {}) {
  const { N, cost = N ?? 16384, r, blockSize = r ?? 8, p, parallelization = p ?? 1 } = options;
  return made("scrypt", { password: bytes(password), salt: bytes(salt), length, cost, blockSize, parallelization });
}
/** HKDF (RFC 5869). */
export function hkdfSync(name, key, salt, info, length) {
  const secret = digest(name, bytes(key), bytes(salt));
  if (length > 255 * secret.length) throw coded(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
  const parts = [];
  let last = new Uint8Array(0);
  for (let at = 0; at * secret.length < length; at++) {
    last = digest(name, globalThis.Buffer.concat([last, bytes(info), globalThis.Buffer.from([at + 1])]), secret);
    parts.push(last);
  }
  const whole = globalThis.Buffer.concat(parts).subarray(0, length);
  return whole.buffer.slice(whole.byteOffset, whole.byteOffset + length);
}

const later = (work) => (...args) => {
  const done = args.pop();
  globalThis.setTimeout(() => {
    let key;
    try {
      key = work(...args);
    } catch (error) {
      return done(error);
    }
    return done(null, key);
  }, 0);
};
export const pbkdf2 = later(pbkdf2Sync);
export const scrypt = later(scryptSync);
export const hkdf = later(hkdfSync);
