// node:tls is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:tls", "use fetch");
export const {
  connect, createServer,
} = absent;
export const {
  CLIENT_RENEG_LIMIT, CLIENT_RENEG_WINDOW, DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE, DEFAULT_MAX_VERSION, DEFAULT_MIN_VERSION, SecureContext,
  Server, TLSSocket, checkServerIdentity, convertALPNProtocols, createSecureContext, createSecurePair, getCiphers, rootCertificates,
} = absent;
export default absent;
