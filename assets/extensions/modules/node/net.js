// node:net is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:net", "sockets are not offered");
export const {
  Server, Socket, connect, createConnection, createServer, isIP, isIPv4, isIPv6,
} = absent;
export default absent;
