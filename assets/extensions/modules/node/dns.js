// node:dns is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:dns", "name lookups are the host's");
export const {
  lookup, promises, resolve,
} = absent;
export default absent;
