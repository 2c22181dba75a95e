// node:https is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:https", "use fetch");
export const {
  Agent, Server, createServer, get, globalAgent, request,
} = absent;
export default absent;
