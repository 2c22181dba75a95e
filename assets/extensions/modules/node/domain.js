// node:domain is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:domain");
export const {
  Domain, _stack, active, create, createDomain,
} = absent;
export default absent;
