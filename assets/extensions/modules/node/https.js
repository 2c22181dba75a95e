// node:https: requests over the same client as `fetch`. Servers would need keys and certificates, which are not offered.

import { withStubs } from "../stubs.js";
import { Agent as HttpAgent, ClientRequest } from "./http_client.js";

export class Agent extends HttpAgent {
  constructor(options = {}) {
    super(options);
    Object.assign(this, { defaultPort: 443, protocol: "https:" });
  }
}
export const globalAgent = new Agent();
export const request = (...args) => new ClientRequest("https:", args);
export const get = (...args) => request(...args).end();
// Names of the real module that are not implemented.
export const { Server, createServer } = withStubs("node:https");
export default { Agent, Server, createServer, get, globalAgent, request };
