// node:util: promisify, format, inspect, types and friends.

import { withStubs } from "../stubs.js";
import { TextDecoder, TextEncoder } from "../../runtime/encoding.js";
import { format, inspect } from "../../runtime/inspect.js";
import { aborted as whenAborted } from "../../runtime/events.js";

const CUSTOM = Symbol.for("nodejs.util.promisify.custom");

export function promisify(original) {
  if (typeof original !== "function") {
    const error = new TypeError('The "original" argument must be of type function.');
    error.code = "ERR_INVALID_ARG_TYPE";
    throw error;
  }
  if (typeof original[CUSTOM] === "function") return original[CUSTOM];
  return function promised(...args) {
    return new Promise((resolve, reject) => {
      original.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value)));
    });
  };
}
promisify.custom = CUSTOM;

export const callbackify = (original) =>
  function (...args) {
    const done = args.pop();
    original.apply(this, args).then((value) => done(null, value), (error) => done(error));
  };

export function inherits(child, parent) {
  Object.defineProperty(child, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(child.prototype, parent.prototype);
}

export const deprecate = (work) => work;
export const debuglog = () => Object.assign(() => {}, { enabled: false });
export const debug = debuglog;
export const formatWithOptions = (_options, ...args) => format(...args);
export const stripVTControlCharacters = (text) =>
  String(text).replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x1b\x9b][[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g, "");
export const toUSVString = (text) => String(text).toWellFormed?.() ?? String(text);
export const styleText = (_style, text) => String(text);
export const getSystemErrorName = (number) => `E${number}`;
export const aborted = (signal) => whenAborted(signal).catch(() => {});

const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
export const types = {
  isPromise: (value) => value instanceof Promise,
  isDate: (value) => value instanceof Date,
  isRegExp: (value) => value instanceof RegExp,
  isMap: (value) => value instanceof Map,
  isSet: (value) => value instanceof Set,
  isWeakMap: (value) => value instanceof WeakMap,
  isWeakSet: (value) => value instanceof WeakSet,
  isNativeError: (value) => value instanceof Error,
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isUint8Array: (value) => value instanceof Uint8Array,
  isArrayBuffer: (value) => value instanceof ArrayBuffer,
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer,
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isDataView: (value) => value instanceof DataView,
  isAsyncFunction: (value) => tag(value) === "AsyncFunction",
  isGeneratorFunction: (value) => tag(value) === "GeneratorFunction",
  isGeneratorObject: (value) => tag(value) === "Generator",
  isProxy: () => false,
  isBoxedPrimitive: (value) => value instanceof Number || value instanceof String || value instanceof Boolean,
  isSymbolObject: (value) => typeof value === "object" && tag(value) === "Symbol",
};

export const isArray = Array.isArray;
export const isDeepStrictEqual = (a, b) => deepEqual(a, b, true);

export function deepEqual(a, b, strict, seen = new Map()) {
  if (strict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof RegExp && b instanceof RegExp) return String(a) === String(b);
  if (a instanceof Error && b instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
  if (a instanceof Set && b instanceof Set) {
    return a.size === b.size && [...a].every((item) => b.has(item) || [...b].some((other) => deepEqual(item, other, strict, seen)));
  }
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([key, item]) => b.has(key) && deepEqual(item, b.get(key), strict, seen));
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key], strict, seen));
}

/** The subset of parseArgs that scripts use: options with short names, positionals, `--`. */
export function parseArgs({ args = [], options = {}, strict = true, allowPositionals = !strict } = {}) {
  const values = Object.create(null);
  const positionals = [];
  for (const [name, option] of Object.entries(options)) if (option.default !== undefined) values[name] = option.default;
  const put = (name, value) => {
    if (options[name]?.multiple) (Array.isArray(values[name]) ? values[name] : (values[name] = [])).push(value);
    else values[name] = value;
  };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (arg === "--") {
      positionals.push(...args.slice(i + 1));
      break;
    }
    const long = /^--([^=]+)(?:=([\s\S]*))?$/.exec(arg);
    const short = !long && /^-(\w)$/.exec(arg);
    if (!long && !short) {
      if (!allowPositionals) throw new TypeError(`Unexpected argument '${arg}'.`);
      positionals.push(arg);
      continue;
    }
    const name = long ? long[1] : Object.keys(options).find((key) => options[key].short === short[1]) ?? short[1];
    if (strict && !options[name]) throw new TypeError(`Unknown option '${arg}'`);
    if (options[name]?.type === "string") put(name, long && long[2] !== undefined ? long[2] : args[++i]);
    else put(name, true);
  }
  return { values, positionals };
}

export { TextDecoder, TextEncoder, format, inspect };
// Names of the real module that are not implemented.
export const {
  MIMEParams, MIMEType, _errnoException, _exceptionWithHostPort, _extend, getSystemErrorMap, isBoolean, isBuffer, isDate, isError,
  isFunction, isNull, isNullOrUndefined, isNumber, isObject, isPrimitive, isRegExp, isString, isSymbol, isUndefined, log, parseEnv,
  transferableAbortController, transferableAbortSignal,
} = withStubs("node:util");
export default {
  promisify, callbackify, inherits, deprecate, debuglog, debug, format, formatWithOptions, inspect, types, isArray, isDeepStrictEqual,
  stripVTControlCharacters, toUSVString, styleText, getSystemErrorName, aborted, parseArgs, TextDecoder, TextEncoder,
};
