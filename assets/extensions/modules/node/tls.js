// node:tls: connections over TLS of one's own are not offered; see absent.js. `fetch` and node:https have them.

import { absentModule } from "./absent.js";
import { Socket } from "./net.js";
import { Duplex } from "./stream.js";

const absent = absentModule("node:tls", "use fetch");
/** Libraries make one as they load, to look at it: at what it would wrap a stream in, too. */
class WrappedStream extends Duplex {}
export class TLSSocket extends Socket {
  encrypted = true;
  authorized = false;
  _handle = { _parentWrap: new WrappedStream() };
}
export const rootCertificates = Object.freeze([]);
export const DEFAULT_MIN_VERSION = "TLSv1.2";
export const DEFAULT_MAX_VERSION = "TLSv1.3";
export const {
  CLIENT_RENEG_LIMIT, CLIENT_RENEG_WINDOW, DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE, SecureContext, Server, checkServerIdentity, connect, convertALPNProtocols,
  createSecureContext, createSecurePair, createServer, getCiphers,
} = absent;
export default new Proxy({ TLSSocket, rootCertificates, DEFAULT_MIN_VERSION, DEFAULT_MAX_VERSION }, { get: (own, name) => (Object.hasOwn(own, name) ? own[name] : absent[name]) });
