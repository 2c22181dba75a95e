// node:repl is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:repl");
export const {
  REPLServer, REPL_MODE_SLOPPY, REPL_MODE_STRICT, Recoverable, builtinModules, isValidSyntax, start, writer,
} = absent;
export default absent;
