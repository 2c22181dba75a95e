// Value: checking, defaults, conversion and cleaning of values by a schema. The checking is plain JSON
// Schema, as far as Type builds it, so it also serves for the arguments of tools.

import { structuredClone } from "../../runtime/clone.js";
import { deepEqual } from "../node/util.js";
import { withStubs } from "../stubs.js";
import { TransformKind } from "./builder.js";

const FORMATS = {
  email: /^[^\s@]+@[^\s@]+\.[^\s@]+$/, uri: /^[a-z][a-z0-9+.-]*:\S*$/i, url: /^https?:\/\/\S+$/i, uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  date: /^\d{4}-\d\d-\d\d$/, time: /^\d\d:\d\d(:\d\d)?/, "date-time": /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/i, ipv4: /^(\d{1,3}\.){3}\d{1,3}$/,
};

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const TYPES = {
  string: (value) => typeof value === "string", number: (value) => typeof value === "number" && Number.isFinite(value), integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean", null: (value) => value === null, array: Array.isArray, object: isObject,
  undefined: (value) => value === undefined, void: (value) => value === undefined || value === null, bigint: (value) => typeof value === "bigint",
  symbol: (value) => typeof value === "symbol", Date: (value) => value instanceof Date, Uint8Array: (value) => value instanceof Uint8Array,
  Function: (value) => typeof value === "function", Promise: (value) => value instanceof Promise, RegExp: (value) => typeof value === "string",
};

/** Every way in which a value does not fit, as `{path, message, value}`. */
export function problems(schema, value, path = "", root = schema, found = []) {
  const wrong = (message, at = path) => void found.push({ path: at, message, value, schema });
  if (schema === true || !schema) return found;
  if (schema === false) {
    wrong("no value is allowed");
    return found;
  }
  if (schema.$ref !== undefined) return problems(resolveRef(schema, root), value, path, schema.$defs ? schema : root, found);
  if (schema.type !== undefined) {
    const types = [].concat(schema.type);
    if (!types.some((type) => (TYPES[type] ?? (() => true))(value))) {
      wrong(`Expected ${types.join(" or ")}`);
      return found;
    }
  }
  if ("const" in schema && !deepEqual(schema.const, value, true)) wrong(`Expected ${JSON.stringify(schema.const)}`);
  if (schema.enum && !schema.enum.some((item) => deepEqual(item, value, true))) wrong(`Expected one of ${schema.enum.map((item) => JSON.stringify(item)).join(", ")}`);
  if (schema.anyOf && !schema.anyOf.some((member) => fits(member, value, root))) wrong("Expected union value");
  if (schema.oneOf && schema.oneOf.filter((member) => fits(member, value, root)).length !== 1) wrong("Expected exactly one of the alternatives");
  for (const member of schema.allOf ?? []) problems(member, value, path, root, found);
  if (schema.not && fits(schema.not, value, root)) wrong("Unexpected value");
  if (typeof value === "string") checkText(schema, value, wrong);
  if (typeof value === "number") checkNumber(schema, value, wrong);
  if (Array.isArray(value)) checkArray(schema, value, path, root, found, wrong);
  if (isObject(value)) checkObject(schema, value, path, root, found, wrong);
  return found;
}

const fits = (schema, value, root) => problems(schema, value, "", root).length === 0;

function resolveRef(schema, root) {
  if (schema.$defs?.[schema.$ref]) return schema.$defs[schema.$ref];
  const name = schema.$ref.replace(/^#\/\$defs\//, "");
  return root.$id === schema.$ref ? root : root.$defs?.[name] ?? {};
}

function checkText(schema, value, wrong) {
  if (schema.minLength !== undefined && value.length < schema.minLength) wrong(`Expected string length greater or equal to ${schema.minLength}`);
  if (schema.maxLength !== undefined && value.length > schema.maxLength) wrong(`Expected string length less or equal to ${schema.maxLength}`);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value)) wrong(`Expected string to match '${schema.pattern}'`);
  if (schema.format && FORMATS[schema.format] && !FORMATS[schema.format].test(value)) wrong(`Expected string to match '${schema.format}' format`);
}

function checkNumber(schema, value, wrong) {
  if (schema.minimum !== undefined && value < schema.minimum) wrong(`Expected number to be greater or equal to ${schema.minimum}`);
  if (schema.maximum !== undefined && value > schema.maximum) wrong(`Expected number to be less or equal to ${schema.maximum}`);
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) wrong(`Expected number to be greater than ${schema.exclusiveMinimum}`);
  if (schema.exclusiveMaximum !== undefined && value >= schema.exclusiveMaximum) wrong(`Expected number to be less than ${schema.exclusiveMaximum}`);
  if (schema.multipleOf !== undefined && value % schema.multipleOf !== 0) wrong(`Expected number to be a multiple of ${schema.multipleOf}`);
}

function checkArray(schema, value, path, root, found, wrong) {
  if (schema.minItems !== undefined && value.length < schema.minItems) wrong(`Expected array length to be greater or equal to ${schema.minItems}`);
  if (schema.maxItems !== undefined && value.length > schema.maxItems) wrong(`Expected array length to be less or equal to ${schema.maxItems}`);
  if (schema.uniqueItems && value.some((item, i) => value.findIndex((other) => deepEqual(item, other, true)) !== i)) wrong("Expected array elements to be unique");
  value.forEach((item, i) => {
    const member = Array.isArray(schema.items) ? schema.items[i] ?? schema.additionalItems : schema.items;
    if (member !== undefined) problems(member, item, `${path}/${i}`, root, found);
  });
}

function checkObject(schema, value, path, root, found, wrong) {
  for (const key of schema.required ?? []) {
    if (!Object.hasOwn(value, key)) found.push({ path: `${path}/${key}`, message: "Expected required property", value: undefined, schema });
  }
  const patterns = Object.entries(schema.patternProperties ?? {}).map(([pattern, member]) => [new RegExp(pattern, "u"), member]);
  for (const [key, item] of Object.entries(value)) {
    if (schema.properties && Object.hasOwn(schema.properties, key)) {
      if (item !== undefined || schema.required?.includes(key)) problems(schema.properties[key], item, `${path}/${key}`, root, found);
      continue;
    }
    const matching = patterns.filter(([pattern]) => pattern.test(key));
    for (const [, member] of matching) problems(member, item, `${path}/${key}`, root, found);
    if (matching.length === 0 && schema.additionalProperties === false) wrong("Unexpected property", `${path}/${key}`);
    else if (matching.length === 0 && isObject(schema.additionalProperties)) problems(schema.additionalProperties, item, `${path}/${key}`, root, found);
  }
}

const lastTwo = (args) => (args.length > 2 ? [args[0], args[2]] : args);

export const Check = (...args) => {
  const [schema, value] = lastTwo(args);
  return fits(schema, value, schema);
};
export const Errors = (...args) => {
  const [schema, value] = lastTwo(args);
  const list = problems(schema, value);
  list.First = () => list[0];
  return list;
};

export class AssertError extends Error {
  constructor(list) {
    super(list[0]?.message ?? "the value does not fit the schema");
    this.name = "AssertError";
    this.error = list[0];
    this.errors = list;
  }
  Errors() {
    return this.errors;
  }
}
export class ParseError extends AssertError {}

export function Assert(...args) {
  const [schema, value] = lastTwo(args);
  const list = problems(schema, value);
  if (list.length > 0) throw new AssertError(list);
}

export const Clone = (value) => structuredClone(value);

/** Fills in `default`s where a value is missing. */
export function Default(...args) {
  const [schema, value] = lastTwo(args);
  let result = value === undefined && "default" in schema ? structuredClone(schema.default) : value;
  if (isObject(result) && schema.properties) {
    for (const [key, member] of Object.entries(schema.properties)) {
      const field = Default(member, result[key]);
      if (field !== undefined) result[key] = field;
    }
  } else if (Array.isArray(result) && schema.items && !Array.isArray(schema.items)) result = result.map((item) => Default(schema.items, item));
  for (const member of schema.allOf ?? []) result = Default(member, result);
  return result;
}

/** Turns what is nearly right into what the schema asks: "5" to 5, 5 to "5", "true" to true. */
export function Convert(...args) {
  const [schema, value] = lastTwo(args);
  if (schema?.anyOf) {
    if (Check(schema, value)) return value;
    for (const member of schema.anyOf) {
      const converted = Convert(member, value);
      if (Check(member, converted)) return converted;
    }
    return value;
  }
  const type = schema?.type;
  if ((type === "number" || type === "integer") && typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value))) {
    return type === "integer" ? Math.trunc(Number(value)) : Number(value);
  }
  if ((type === "number" || type === "integer") && typeof value === "boolean") return Number(value);
  if (type === "string" && (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")) return String(value);
  if (type === "boolean") {
    if (value === "true" || value === 1 || value === "1") return true;
    if (value === "false" || value === 0 || value === "0") return false;
  }
  if (type === "null" && (value === "null" || value === "")) return null;
  if (type === "array" && schema.items) {
    const list = Array.isArray(value) ? value : value === undefined || value === null ? value : [value];
    return Array.isArray(list) ? list.map((item, i) => Convert(Array.isArray(schema.items) ? schema.items[i] ?? {} : schema.items, item)) : list;
  }
  if (isObject(value) && schema?.properties) {
    const result = { ...value };
    for (const [key, member] of Object.entries(schema.properties)) if (Object.hasOwn(result, key)) result[key] = Convert(member, result[key]);
    return result;
  }
  return value;
}

/** Removes what the schema does not know. */
export function Clean(...args) {
  const [schema, value] = lastTwo(args);
  if (Array.isArray(value) && isObject(schema?.items)) return value.map((item) => Clean(schema.items, item));
  if (!isObject(value) || !schema?.properties) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => Object.hasOwn(schema.properties, key)).map(([key, item]) => [key, Clean(schema.properties[key], item)]));
}

/** A value that fits, from defaults and the emptiest of each type. */
export function Create(...args) {
  const schema = args.at(-1);
  if ("default" in schema) return structuredClone(schema.default);
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return Create(schema.anyOf[0]);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((member) => Create(member)));
  switch ([].concat(schema.type)[0]) {
    case "string": return "x".repeat(schema.minLength ?? 0);
    case "number": case "integer": return schema.minimum ?? 0;
    case "boolean": return false;
    case "null": return null;
    case "array": return Array.isArray(schema.items) ? schema.items.map((item) => Create(item)) : Array.from({ length: schema.minItems ?? 0 }, () => Create(schema.items));
    case "object": return Object.fromEntries((schema.required ?? []).map((key) => [key, Create(schema.properties[key])]));
    case "Date": return new Date(0);
    default: return {};
  }
}

export function Cast(...args) {
  const [schema, value] = lastTwo(args);
  if (Check(schema, value)) return value;
  const converted = Convert(schema, value);
  if (Check(schema, converted)) return converted;
  if (isObject(value) && schema.properties) {
    return Object.fromEntries(Object.entries(schema.properties).filter(([key]) => Object.hasOwn(value, key) || schema.required?.includes(key)).map(([key, member]) => [key, Object.hasOwn(value, key) ? Cast(member, value[key]) : Create(member)]));
  }
  return Create(schema);
}
export const Repair = Cast;

function walk(schema, value, side) {
  let result = value;
  const inside = () => {
    if (isObject(result) && schema.properties) {
      result = { ...result };
      for (const [key, member] of Object.entries(schema.properties)) if (Object.hasOwn(result, key)) result[key] = walk(member, result[key], side);
    } else if (Array.isArray(result) && isObject(schema.items)) result = result.map((item) => walk(schema.items, item, side));
  };
  const own = () => {
    if (schema[TransformKind]) result = schema[TransformKind][side](result);
  };
  if (side === "Decode") {
    inside();
    own();
  } else {
    own();
    inside();
  }
  return result;
}
export function Decode(...args) {
  const [schema, value] = lastTwo(args);
  Assert(schema, value);
  return walk(schema, value, "Decode");
}
export function Encode(...args) {
  const [schema, value] = lastTwo(args);
  const result = walk(schema, value, "Encode");
  Assert(schema, result);
  return result;
}
export function Parse(...args) {
  const [schema, value] = lastTwo(args);
  const result = Clean(schema, Convert(schema, Default(schema, Clone(value))));
  const list = problems(schema, result);
  if (list.length > 0) throw new ParseError(list);
  return walk(schema, result, "Decode");
}
export const Equal = (a, b) => deepEqual(a, b, true);
export const HasTransform = (schema) => Boolean(schema[TransformKind]);
export const HasCodec = HasTransform;

const real = { Assert, AssertError, Cast, Check, Clean, Clone, Convert, Create, Decode, Default, Encode, Equal, Errors, HasTransform, HasCodec, Parse, ParseError, Repair };
export const Value = withStubs("typebox/value", { ...real });
export const {
  CreateError, DecodeError, DecodeUnsafe, Delete, Diff, Edit, EncodeError, EncodeUnsafe, HasPropertyKey, Hash, Insert, IsArray,
  IsAsyncIterator, IsBigInt, IsBigInt64Array, IsBigUint64Array, IsBoolean, IsDate, IsFloat32Array, IsFloat64Array, IsFunction,
  IsInstanceObject, IsInt16Array, IsInt32Array, IsInt8Array, IsInteger, IsIterator, IsMap, IsNull, IsNumber, IsObject, IsOptionalUndefined,
  IsPromise, IsRegExp, IsSet, IsStandardObject, IsString, IsSymbol, IsTypedArray, IsUint16Array, IsUint32Array, IsUint8Array,
  IsUint8ClampedArray, IsUndefined, IsValueType, Mutate, ParseDefault, ParseRegistry, Parser, Patch, Pipeline, Pointer, TransformDecode,
  TransformDecodeCheckError, TransformDecodeError, TransformEncode, TransformEncodeCheckError, TransformEncodeError, UnionPrioritySort,
  UnionScoreSelect, Update, ValueCastError, ValueCheckUnknownTypeError, ValueCreateError, ValueDiffError, ValueErrorIterator,
  ValueErrorType, ValueHashError, ValueMutateError, ValuePointer,
} = Value;
export default Value;
