// node:cluster is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:cluster", "an extension has one process");
export const {
  fork, isMaster, isPrimary,
} = absent;
export default absent;
