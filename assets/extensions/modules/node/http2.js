// node:http2 is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:http2", "use fetch");
export const {
  connect, createServer,
} = absent;
export const {
  Http2ServerRequest, Http2ServerResponse, constants, createSecureServer, getDefaultSettings, getPackedSettings, getUnpackedSettings,
  performServerHandshake, sensitiveHeaders,
} = absent;
export default absent;
