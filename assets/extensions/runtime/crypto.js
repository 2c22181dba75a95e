// crypto: random bytes, UUIDs and digests. Randomness and hashing are the host's; keys and ciphers
// are left out, and say so when asked for.

import { host, unwrap } from "./bridge.js";
import { bytesOf, hexEncode } from "./encoding.js";
import { DOMException, unsupported } from "./errors.js";

/** "SHA-256", "sha256" and "sha_256" all name the same function to the host: `sha256`. */
export const hashName = (name) => String(name?.name ?? name).toLowerCase().replace(/[^a-z0-9]/g, "");

export const digest = (name, data, key = null) => unwrap(host.hash(hashName(name), bytesOf(data), key));

export function getRandomValues(view) {
  if (!ArrayBuffer.isView(view)) throw new TypeError("getRandomValues needs a typed array");
  if (view.byteLength > 65536) throw new DOMException("The requested length exceeds 65,536 bytes", "QuotaExceededError");
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(host.random(view.byteLength));
  return view;
}

export function randomUUID() {
  const bytes = host.random(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = hexEncode(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const refused = (name) => () => Promise.reject(unsupported(`crypto.subtle.${name}`));

export const subtle = {
  async digest(algorithm, data) {
    const bytes = digest(algorithm, data);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  },
  async importKey(format, data, algorithm, _extractable, usages) {
    const name = String(algorithm?.name ?? algorithm).toUpperCase();
    if (format !== "raw" || name !== "HMAC") throw unsupported(`crypto.subtle.importKey for ${name}`, "only raw HMAC keys are");
    return { type: "secret", algorithm: { name, hash: { name: String(algorithm.hash?.name ?? algorithm.hash) } }, usages, bytes: bytesOf(data) };
  },
  async sign(_algorithm, key, data) {
    const bytes = digest(key.algorithm.hash, data, key.bytes);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  },
  async verify(algorithm, key, signature, data) {
    return hexEncode(new Uint8Array(await subtle.sign(algorithm, key, data))) === hexEncode(bytesOf(signature));
  },
};
for (const name of ["encrypt", "decrypt", "generateKey", "deriveKey", "deriveBits", "exportKey", "wrapKey", "unwrapKey"]) {
  subtle[name] = refused(name);
}

export const crypto = { getRandomValues, randomUUID, subtle };
