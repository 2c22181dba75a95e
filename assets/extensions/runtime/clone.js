// structuredClone, and `plain`, which makes a value fit to cross to the embedder.
//
// The clone keeps cycles and knows Map, Set, Date, RegExp, errors, buffers and views; functions and
// symbols raise DataCloneError as on the web. `plain` is for results: functions and symbols are left
// out, Maps and Sets become arrays, and depth and size are bounded, so that a hostile value costs one
// error and not the session.

import { DOMException } from "./errors.js";

// Taken before any extension runs, so that replacing them later changes no decision made here.
const { hasOwn, keys, getPrototypeOf } = Object;
const { isArray } = Array;

const refuse = (what) => new DOMException(`${what} could not be cloned.`, "DataCloneError");

export function structuredClone(value, _options) {
  return copy(value, new Map());
}

const PLAIN_ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function copy(value, seen) {
  if (typeof value === "function") throw refuse(`function ${value.name || "(anonymous)"}`);
  if (typeof value === "symbol") throw refuse(value.toString());
  if (typeof value !== "object" || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  if (isArray(value)) {
    const list = new Array(value.length);
    seen.set(value, list);
    for (let i = 0; i < value.length; i++) if (i in value) list[i] = copy(value[i], seen);
    return list;
  }
  const proto = getPrototypeOf(value);
  if (proto === Object.prototype || proto === null) return copyFields(value, {}, seen);
  if (value instanceof Date) return keep(seen, value, new Date(value.getTime()));
  if (value instanceof RegExp) return keep(seen, value, new RegExp(value.source, value.flags));
  if (value instanceof Map) {
    const map = keep(seen, value, new Map());
    for (const [key, item] of value) map.set(copy(key, seen), copy(item, seen));
    return map;
  }
  if (value instanceof Set) {
    const set = keep(seen, value, new Set());
    for (const item of value) set.add(copy(item, seen));
    return set;
  }
  if (value instanceof ArrayBuffer) return keep(seen, value, value.slice(0));
  if (ArrayBuffer.isView(value)) {
    const buffer = copy(value.buffer, seen);
    if (value instanceof DataView) return keep(seen, value, new DataView(buffer, value.byteOffset, value.byteLength));
    const Base = typedArray(value);
    return keep(seen, value, new Base(buffer, value.byteOffset, value.length));
  }
  if (value instanceof Error) {
    const Kind = PLAIN_ERRORS[value.name] ?? Error;
    const error = keep(seen, value, new Kind(value.message));
    error.stack = value.stack;
    if ("cause" in value) error.cause = copy(value.cause, seen);
    return error;
  }
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return keep(seen, value, Object(value.valueOf()));
  }
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) {
    throw refuse(`#<${proto?.constructor?.name ?? "Object"}>`);
  }
  // An instance of a class loses its class and keeps its own fields.
  return copyFields(value, {}, seen);
}

const keep = (seen, from, to) => (seen.set(from, to), to);

const VIEWS = [
  Uint8Array, Int8Array, Uint8ClampedArray, Uint16Array, Int16Array, Uint32Array, Int32Array,
  Float32Array, Float64Array, BigInt64Array, BigUint64Array,
];
const typedArray = (view) => VIEWS.find((Kind) => view instanceof Kind) ?? Uint8Array;

function copyFields(from, to, seen) {
  seen.set(from, to);
  for (const key of keys(from)) put(to, key, copy(from[key], seen));
  return to;
}

function put(object, key, value) {
  if (key === "__proto__") Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

const MAX_DEPTH = 200;

/** `replace(value)` may turn a function into something plain (a handle); by default it is dropped. */
export function plain(value, replace) {
  return flatten(value, 0, new Set(), replace);
}

function flatten(value, depth, above, replace) {
  switch (typeof value) {
    case "string": case "boolean": return value;
    case "number": return Number.isFinite(value) ? value : null;
    case "bigint": return value.toString();
    case "function": return replace ? replace(value) : undefined;
    case "symbol": case "undefined": return undefined;
  }
  if (value === null) return null;
  if (depth > MAX_DEPTH) throw new RangeError("the value is nested too deeply");
  if (above.has(value)) throw new TypeError("the value contains itself");
  if (value instanceof Uint8Array) return value;
  if (typeof value.toJSON === "function") return flatten(value.toJSON(), depth + 1, above, replace);
  above.add(value);
  let result;
  if (isArray(value)) {
    result = [];
    for (let i = 0; i < value.length; i++) result.push(flatten(value[i], depth + 1, above, replace) ?? null);
  } else if (value instanceof Map || value instanceof Set) {
    result = [...value].map((item) => flatten(item, depth + 1, above, replace) ?? null);
  } else if (value instanceof Error) {
    result = { name: value.name, message: value.message };
  } else {
    result = {};
    for (const key of keys(value)) {
      if (key === "__proto__") continue;
      const item = flatten(value[key], depth + 1, above, replace);
      if (item !== undefined) result[key] = item;
    }
  }
  above.delete(value);
  return result;
}

/** A field of the object itself; what a polluted prototype offers does not count. */
export const own = (object, key) =>
  object !== null && typeof object === "object" && hasOwn(object, key) ? object[key] : undefined;
