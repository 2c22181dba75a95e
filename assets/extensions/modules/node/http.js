// node:http: servers over node:net, and requests over the same client as `fetch`.

import { withStubs } from "../stubs.js";
import { Agent, ClientRequest, globalAgent } from "./http_client.js";
import { IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, maxHeaderSize, validateHeaderName, validateHeaderValue } from "./http_messages.js";
import { Server, ServerResponse, createServer } from "./http_server.js";

export {
  Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, Server, ServerResponse, createServer, globalAgent, maxHeaderSize,
  validateHeaderName, validateHeaderValue,
};
export const request = (...args) => new ClientRequest("http:", args);
export const get = (...args) => request(...args).end();
export const setMaxIdleHTTPParsers = () => {};
// Names of the real module that are not implemented.
export const { _connectionListener, CloseEvent, MessageEvent, WebSocket } = withStubs("node:http");
export default {
  Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, Server, ServerResponse, createServer, get, globalAgent,
  maxHeaderSize, request, setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue,
};
