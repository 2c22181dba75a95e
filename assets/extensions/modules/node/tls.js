// node:tls is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:tls", "use fetch");
export const {
  connect, createServer,
} = absent;
export default absent;
