// node:wasi is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:wasi");
export const {
  WASI,
} = absent;
export default absent;
