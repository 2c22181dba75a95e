// node:http is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:http", "use fetch");
export const {
  Agent, ClientRequest, IncomingMessage, METHODS, STATUS_CODES, Server, ServerResponse, createServer, get, globalAgent, request,
} = absent;
export const {
  OutgoingMessage, _connectionListener, maxHeaderSize, setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue,
} = absent;
export default absent;
