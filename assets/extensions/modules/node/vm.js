// node:vm. The engine makes no second realm for code of an extension: scripts run in the one there is, with the names of their
// context before all others. They see the language's own globals, and of the rest what the context holds. What lasts too long
// is interrupted with the call in which it runs, whatever `timeout` says. Modules are not offered.

import { host } from "../../runtime/bridge.js";
import { coded, unsupported } from "../../runtime/errors.js";

/** Globals that belong to the language, as far as the engine has them. */
const LANGUAGE = new Set([
  "Object", "Function", "Array", "Number", "parseFloat", "parseInt", "Infinity", "NaN", "undefined", "Boolean", "String", "Symbol", "Date", "Promise", "RegExp", "Error",
  "AggregateError", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError", "JSON", "Math", "Intl", "ArrayBuffer", "Atomics", "Uint8Array", "Int8Array",
  "Uint16Array", "Int16Array", "Uint32Array", "Int32Array", "Float32Array", "Float64Array", "Uint8ClampedArray", "BigUint64Array", "BigInt64Array", "DataView", "Map", "BigInt", "Set",
  "Iterator", "WeakMap", "WeakSet", "WeakRef", "Proxy", "Reflect", "FinalizationRegistry", "SharedArrayBuffer", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent",
  "escape", "unescape", "isFinite", "isNaN",
]);

const contexts = new WeakSet();
const CODE = "__levainCode";
const KEEP = "__levainKeep";
const SCOPE = "__levainScope";

/** Names that stand behind these words in code. */
const behind = (code, words) => new Set([...code.matchAll(new RegExp(`\\b(?:${words})\\s+\\(?\\s*([\\p{ID_Start}$_][\\p{ID_Continue}$]*)`, "gu"))].map((match) => match[1]));

/**
 * What a script sees in the place of globals. What it declares (`own`) it finds by itself, but for what would be a global of this
 * realm wherever it does not; what it asks the type of (`typed`) need not be there.
 */
function scopeOf(context, own, functions, typed) {
  const isOwn = (name) => own.has(name) && !Object.hasOwn(context, name) && (functions.has(name) || !(name in globalThis));
  return new Proxy(context, {
    has: (_, name) => typeof name === "string" && name !== "eval" && name !== CODE && name !== KEEP && !isOwn(name),
    get: (_, name) => {
      if (name === Symbol.unscopables) return undefined;
      if (name in context && (Object.hasOwn(context, name) || !(name in Object.prototype))) return context[name];
      if (name === "globalThis") return context;
      if (LANGUAGE.has(name)) return globalThis[name];
      if (typed.has(name)) return undefined;
      throw new ReferenceError(`${name} is not defined`);
    },
    set: (_, name, value) => Reflect.set(context, name, value),
    deleteProperty: (_, name) => Reflect.deleteProperty(context, name),
  });
}

export class Script {
  #code;
  #filename;
  constructor(code, options = {}) {
    this.#code = String(code);
    this.#filename = (typeof options === "string" ? options : options?.filename) ?? "evalmachine.<anonymous>";
    // A mistake is told now.
    host.compile(`${this.#code}\n`, this.#filename, []);
  }
  runInContext(context) {
    if (!isContext(context)) throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "contextifiedObject" argument must be an vm.Context');
    const functions = behind(this.#code, "function\\s*\\*?");
    const own = new Set([...behind(this.#code, "var|let|const|class"), ...functions]);
    const keep = (name, read) => {
      try {
        const value = read();
        // Declared within something else, it is what this realm calls so.
        if (!(name in globalThis) || value !== globalThis[name]) context[name] = value;
      } catch {
        // It is a script's own.
      }
    };
    const names = [...own].map((name) => `${KEEP}(${JSON.stringify(name)}, () => ${name});`).join(" ");
    const run = host.compile(
      `with (${SCOPE}) { return (function () { try { return eval(${CODE}); } finally { ${names} } }).call(this); }`,
      this.#filename,
      [SCOPE, CODE, KEEP],
    );
    return run.call(context, scopeOf(context, own, functions, behind(this.#code, "typeof")), this.#code, keep);
  }
  runInNewContext(object = {}) {
    return this.runInContext(createContext(object));
  }
  runInThisContext() {
    return (0, eval)(this.#code);
  }
  createCachedData() {
    return globalThis.Buffer.alloc(0);
  }
}

export const isContext = (object) => contexts.has(object);
export function createContext(object = {}) {
  contexts.add(object);
  return object;
}
export const createScript = (code, options) => new Script(code, options);
export const runInContext = (code, context, options) => new Script(code, options).runInContext(context);
export const runInNewContext = (code, object, options) => new Script(code, options).runInNewContext(object);
export const runInThisContext = (code, options) => new Script(code, options).runInThisContext();
export function compileFunction(code, parameters = [], { filename = "", parsingContext } = {}) {
  if (parsingContext !== undefined) throw unsupported("parsingContext of node:vm");
  return host.compile(String(code), filename, [...parameters]);
}
export const measureMemory = () => Promise.reject(unsupported("measureMemory of node:vm"));
export const constants = Object.freeze({ __proto__: null, USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol("vm_dynamic_import_main_context_default"), DONT_CONTEXTIFY: Symbol("vm_context_no_contextify") });
export default { Script, isContext, createContext, createScript, runInContext, runInNewContext, runInThisContext, compileFunction, measureMemory, constants };
