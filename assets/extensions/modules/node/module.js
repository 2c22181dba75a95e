// node:module: createRequire, over the CommonJS loader.

import { withStubs } from "../stubs.js";
import { builtinModules, isBuiltin } from "../../loader/builtins.js";
import { createRequire, resolveFrom } from "../../loader/require.js";

export { builtinModules, createRequire, isBuiltin };
// For import.meta.resolve; see loader/prologue.js.
export { resolveFrom as __resolveFrom };
// Names of the real module that are not implemented.
export const {
  Module, SourceMap, _cache, _debug, _extensions, _findPath, _initPaths, _load, _nodeModulePaths, _pathCache, _preloadModules,
  _resolveFilename, _resolveLookupPaths, findSourceMap, globalPaths, register, runMain, syncBuiltinESMExports,
} = withStubs("node:module");
export default { builtinModules, createRequire, isBuiltin };
