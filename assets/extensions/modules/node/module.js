// node:module: createRequire, over the CommonJS loader.

import { builtinModules, isBuiltin } from "../../loader/builtins.js";
import { createRequire } from "../../loader/require.js";

export { builtinModules, createRequire, isBuiltin };
export default { builtinModules, createRequire, isBuiltin };
