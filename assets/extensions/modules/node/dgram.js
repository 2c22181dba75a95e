// node:dgram is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:dgram", "sockets are not offered");
export const {
  createSocket,
} = absent;
export const {
  Socket, _createSocketHandle,
} = absent;
export default absent;
