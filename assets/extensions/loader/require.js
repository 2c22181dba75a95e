// require(): CommonJS modules from an extension's folder and its node_modules.
//
// Code is read through the host (`host.module`), which applies its policy; ES modules are evaluated by it
// (`host.evaluate`), as the ones that `import` finds. Built-in names come from a table that the embedder fills once
// with the namespaces of this folder's modules, since `require` must answer at once.

import { host, unwrap } from "../runtime/bridge.js";
import { coded } from "../runtime/errors.js";
import { dirname, isAbsolute } from "../modules/node/path.js";
import { pathToFileURL } from "../modules/node/url.js";
import { builtinFile, isBuiltin } from "./builtins.js";
import { formatOf, resolveModule } from "./resolve.js";

const builtins = new Map();
const cache = new Map();

/** Makes the module behind a file of this folder known to `require`. */
export function provide(file, namespace) {
  builtins.set(file, namespace);
}

const kinds = { 1: "file", 2: "dir" };
export const hostFiles = {
  kind: (path) => kinds[unwrap(host.module("kind", path))],
  read: (path) => unwrap(host.module("text", path)),
  mayImport: (from, found) => unwrap(host.module("import", from, found)),
};

/** Those of the names that a built-in module does not have; see `stubModuleSource`. */
export const missingNames = (file, names) => names.filter((name) => !(name in (builtins.get(file) ?? {})));

/** What `require` of an ES module's namespace yields: its default with the names, as Node's built-ins look. */
function asCommonJs(namespace) {
  const main = namespace.default;
  if (main && (typeof main === "object" || typeof main === "function")) return main;
  return namespace;
}

/** The namespace of an ES module as `require` gives it. */
function namespaceOf(path) {
  let namespace;
  try {
    namespace = host.evaluate(path);
  } catch (error) {
    if (error?.message !== "ERR_REQUIRE_ASYNC_MODULE") throw error;
    throw coded(Error, error.message, `require() cannot be used on an ES module that waits for something at its top level; use import() instead: ${path}`);
  }
  if ("module.exports" in namespace) return namespace["module.exports"];
  if (!("default" in namespace) || "__esModule" in namespace) return namespace;
  // As what compilers make of such a module, which look for this mark.
  const marked = Object.create(null, { __esModule: { value: true, enumerable: true } });
  for (const name of Object.keys(namespace)) Object.defineProperty(marked, name, { get: () => namespace[name], enumerable: true });
  return marked;
}

function evaluate(module, source) {
  const names = ["exports", "require", "module", "__filename", "__dirname"];
  const compiled = typeof host.compile === "function"
    ? host.compile(source, module.filename, names)
    : (0, eval)(`(function (${names.join(", ")}) {${source}\n})\n//# sourceURL=${module.filename}`);
  compiled.call(module.exports, module.exports, module.require, module, module.filename, dirname(module.filename));
}

function load(path, parent) {
  const known = cache.get(path);
  if (known) return known.exports;
  const module = { id: path, filename: path, exports: {}, loaded: false, parent, children: [], paths: [] };
  module.require = makeRequire(path, module);
  cache.set(path, module);
  try {
    const format = formatOf(hostFiles, path);
    if (format === "json") module.exports = JSON.parse(hostFiles.read(path));
    else if (format === "esm") module.exports = namespaceOf(path);
    else evaluate(module, hostFiles.read(path).replace(/^#!.*/, ""));
    module.loaded = true;
  } catch (error) {
    cache.delete(path);
    throw error;
  }
  return module.exports;
}

function makeRequire(from, module) {
  const require = (specifier) => {
    if (typeof specifier !== "string") throw Object.assign(new TypeError('The "id" argument must be of type string.'), { code: "ERR_INVALID_ARG_TYPE" });
    const file = builtinFile(specifier);
    if (file) {
      const namespace = builtins.get(file);
      if (!namespace) throw Object.assign(new Error(`Cannot find module '${specifier}': it was not made ready for require()`), { code: "MODULE_NOT_FOUND" });
      return asCommonJs(namespace);
    }
    if (isBuiltin(specifier)) throw Object.assign(new Error(`Cannot find module '${specifier}': levain does not offer this Node module`), { code: "MODULE_NOT_FOUND" });
    return load(resolveModule(hostFiles, specifier, from, "require"), module);
  };
  require.resolve = (specifier) => (builtinFile(specifier) || isBuiltin(specifier) ? specifier : resolveModule(hostFiles, specifier, from, "require"));
  require.resolve.paths = () => [];
  require.cache = Object.create(null);
  require.main = undefined;
  require.extensions = Object.create(null);
  return require;
}

/** `require` as seen from a file, given as a path or a file address. */
export function createRequire(filename) {
  const path = String(filename?.href ?? filename).replace(/^file:\/\//, "");
  if (!isAbsolute(path)) throw Object.assign(new TypeError(`The argument 'filename' must be a file URL or an absolute path. Received '${path}'`), { code: "ERR_INVALID_ARG_VALUE" });
  return makeRequire(decodeURIComponent(path));
}

/** The address of what an `import` of this name in that file would load. */
export function resolveFrom(specifier, from) {
  if (builtinFile(specifier) || isBuiltin(specifier)) return specifier;
  const found = /^[a-z]+:\/\//.test(specifier) ? specifier : resolveModule(hostFiles, specifier, from, "import");
  return found.startsWith("/") ? pathToFileURL(found).href : found;
}

/**
 * The exports of a CommonJS file for an `import` of it. The embedder makes a module of it with
 * `default` and one export for each name; see `commonJsNames`.
 */
export const importCommonJs = (path) => load(path);

/** The names that `import { … }` may ask of a CommonJS file's exports. */
export function commonJsNames(exports) {
  if (exports === null || (typeof exports !== "object" && typeof exports !== "function")) return [];
  return Object.keys(exports).filter((name) => name !== "default" && /^[A-Za-z_$][\w$]*$/.test(name));
}

/** Forgets every loaded file, for a reload that keeps the engine. */
export const clearRequireCache = () => cache.clear();

