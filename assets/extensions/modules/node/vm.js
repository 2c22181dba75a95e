// node:vm is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:vm", "code cannot be made in other contexts");
export const {
  Script, createContext, runInContext, runInNewContext, runInThisContext,
} = absent;
export const {
  compileFunction, constants, createScript, isContext, measureMemory,
} = absent;
export default absent;
