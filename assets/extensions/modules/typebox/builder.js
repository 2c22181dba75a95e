// Type: JSON Schemas as objects, field for field as TypeBox builds them.
//
// Two generations differ in places (Enum, Union of one, the pattern of number keys), so `makeType`
// builds either. Marks that are not part of the schema (kind, optional) are symbols, and so vanish in
// JSON. Static types exist only in the declarations.

export const Kind = Symbol.for("TypeBox.Kind");
export const OptionalKind = Symbol.for("TypeBox.Optional");
export const ReadonlyKind = Symbol.for("TypeBox.Readonly");
export const TransformKind = Symbol.for("TypeBox.Transform");
export const Hint = Symbol.for("TypeBox.Hint");

export const isOptional = (schema) => schema?.[OptionalKind] === "Optional";

function schema(kind, fields, options) {
  const result = { ...options, ...fields };
  Object.defineProperty(result, Kind, { value: kind, enumerable: true, configurable: true, writable: true });
  return result;
}

const copyOf = (source, changes) => ({ ...source, ...changes });

function without(source, ...marks) {
  const result = { ...source };
  for (const mark of marks) delete result[mark];
  return result;
}

const literalType = (value) => (value === null ? "null" : typeof value);

export function makeType(modern) {
  const Type = {};
  const simple = (name, type) => {
    Type[name] = (options) => schema(name, type === undefined ? {} : { type }, options);
  };
  for (const [name, type] of Object.entries({
    String: "string", Number: "number", Integer: "integer", Boolean: "boolean", Null: "null", Any: undefined, Unknown: undefined, BigInt: "bigint",
    Symbol: "symbol", Undefined: "undefined", Void: "void", Date: "Date", Uint8Array: "Uint8Array",
  })) simple(name, type);

  Type.Never = (options) => schema("Never", { not: {} }, options);
  Type.Literal = (value, options) => schema("Literal", { const: value, type: literalType(value) }, options);
  Type.Unsafe = (fields = {}) => schema("Unsafe", { ...fields }, {});
  Type.Ref = (target, options) => schema("Ref", { $ref: typeof target === "string" ? target : target.$id }, options);
  Type.This = () => Type.Ref("this");
  Type.Not = (inner, options) => schema("Not", { not: inner }, options);
  Type.Array = (items, options) => schema("Array", { type: "array", items }, options);
  Type.Tuple = (items, options) =>
    items.length > 0 || modern
      ? schema("Tuple", { type: "array", items: [...items], additionalItems: false, minItems: items.length, ...(modern ? {} : { maxItems: items.length }) }, options)
      : schema("Tuple", { type: "array", minItems: 0, maxItems: 0 }, options);
  Type.Promise = (item, options) => schema("Promise", { type: "Promise", item }, options);
  Type.Iterator = (items, options) => schema("Iterator", { type: "Iterator", items }, options);
  Type.AsyncIterator = (items, options) => schema("AsyncIterator", { type: "AsyncIterator", items }, options);
  Type.Function = (parameters, returns, options) => schema("Function", { type: "Function", parameters, returns }, options);
  Type.Constructor = (parameters, returns, options) => schema("Constructor", { type: "Constructor", parameters, returns }, options);
  Type.RegExp = (pattern, options) => {
    const expression = typeof pattern === "string" ? new RegExp(pattern) : pattern;
    return schema("RegExp", { type: "RegExp", source: expression.source, flags: expression.flags }, options);
  };

  Type.Object = (properties, options) => {
    const required = Object.keys(properties).filter((key) => !isOptional(properties[key]));
    return schema("Object", { type: "object", ...(required.length ? { required } : {}), properties: { ...properties } }, options);
  };
  Type.Optional = (inner, enable = true) => (enable === false ? without(inner, OptionalKind) : copyOf(inner, { [OptionalKind]: "Optional" }));
  Type.Readonly = (inner, enable = true) => (enable === false ? without(inner, ReadonlyKind) : copyOf(inner, { [ReadonlyKind]: "Readonly" }));
  Type.ReadonlyOptional = (inner) => Type.Readonly(Type.Optional(inner));
  Type.Immutable = (inner) => inner;

  Type.Union = (members, options) => {
    if (!modern && members.length === 0) return Type.Never(options);
    if (!modern && members.length === 1) return copyOf(members[0], options);
    return schema("Union", { anyOf: [...members] }, options);
  };
  Type.Enum = (items, options) => {
    const values = Array.isArray(items)
      ? [...items]
      : [...new Set(Object.keys(items).filter((key) => Number.isNaN(Number(key))).map((key) => items[key]))];
    return modern ? schema("Enum", { enum: values }, options) : Type.Union(values.map((value) => Type.Literal(value)), options);
  };
  Type.Intersect = (members, options = {}) => {
    if (!modern && members.length === 1) return copyOf(members[0], options);
    if (!modern && members.length === 0) return Type.Never(options);
    const objects = members.every((member) => member.type === "object");
    return schema("Intersect", { ...(objects && !modern ? { type: "object" } : {}), allOf: [...members] }, options);
  };
  Type.Composite = (members, options) => {
    const properties = {};
    for (const member of members) {
      for (const [key, value] of Object.entries(fieldsOf(member))) {
        const before = properties[key];
        properties[key] = before === undefined ? value : isOptional(before) && isOptional(value) ? Type.Optional(Type.Intersect([before, value])) : Type.Intersect([before, value]);
      }
    }
    return Type.Object(properties, options);
  };

  Type.Record = (key, value, options) => {
    if (key?.anyOf || key?.enum || key?.const !== undefined) {
      const names = keysOf(key);
      return Type.Object(Object.fromEntries(names.map((name) => [name, value])), options);
    }
    const pattern = key?.pattern ?? (key?.type === "number" || key?.type === "integer" ? NUMBER_KEY[modern ? 1 : 0] : modern ? "^.*$" : "^(.*)$");
    return schema("Record", { type: "object", patternProperties: { [pattern]: value } }, options);
  };

  // ---- Types made from other types ---------------------------------------------------------------

  function fieldsOf(inner) {
    if (inner.properties) return inner.properties;
    return Object.assign({}, ...(inner.allOf ?? []).map(fieldsOf));
  }
  function keysOf(keys) {
    if (Array.isArray(keys)) return keys.map(String);
    if (keys?.anyOf) return keys.anyOf.flatMap(keysOf);
    if (keys?.enum) return keys.enum.map(String);
    return keys?.const === undefined ? [] : [String(keys.const)];
  }
  const rebuilt = (inner, properties, options) => {
    const { type, required, properties: _, ...rest } = without(inner, Kind, TransformKind);
    void type;
    void required;
    return Type.Object(properties, modern ? options : { ...rest, ...options });
  };
  const eachObject = (inner, change, options) => {
    if (inner.anyOf) return Type.Union(inner.anyOf.map((member) => eachObject(member, change)), options);
    if (inner.allOf) return Type.Intersect(inner.allOf.map((member) => eachObject(member, change)), options);
    return inner.properties ? rebuilt(inner, change(inner.properties), options) : inner;
  };
  const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
  Type.Partial = (inner, options) => eachObject(inner, (fields) => mapValues(fields, (field) => Type.Optional(field)), options);
  Type.Required = (inner, options) => eachObject(inner, (fields) => mapValues(fields, (field) => Type.Optional(field, false)), options);
  Type.Pick = (inner, keys, options) => {
    const wanted = keysOf(keys);
    return eachObject(inner, (fields) => Object.fromEntries(Object.entries(fields).filter(([key]) => wanted.includes(key))), options);
  };
  Type.Omit = (inner, keys, options) => {
    const gone = keysOf(keys);
    return eachObject(inner, (fields) => Object.fromEntries(Object.entries(fields).filter(([key]) => !gone.includes(key))), options);
  };
  Type.KeyOf = (inner, options) => Type.Union(Object.keys(fieldsOf(inner)).map((key) => Type.Literal(key)), options);
  Type.Index = (inner, keys, options) => {
    const fields = fieldsOf(inner);
    const found = keysOf(keys).map((key) => fields[key] ?? (inner.type === "array" ? (Array.isArray(inner.items) ? inner.items[key] : inner.items) : undefined)).filter(Boolean);
    return found.length === 1 ? copyOf(without(found[0], OptionalKind), options) : Type.Union(found, options);
  };
  Type.Mapped = (keys, make, options) => Type.Object(Object.fromEntries(keysOf(keys).map((key) => [key, make(Type.Literal(key))])), options);
  const members = (inner) => inner.anyOf ?? (inner.enum ? inner.enum.map((value) => Type.Literal(value)) : [inner]);
  const fits = (part, whole) => members(whole).some((other) => (other.const !== undefined ? other.const === part.const : other.type === part.type));
  const chosen = (list, options) => (list.length === 1 ? copyOf(list[0], options) : list.length === 0 ? Type.Never(options) : Type.Union(list, options));
  Type.Extract = (inner, whole, options) => chosen(members(inner).filter((part) => fits(part, whole)), options);
  Type.Exclude = (inner, whole, options) => chosen(members(inner).filter((part) => !fits(part, whole)), options);
  Type.Extends = (left, right, yes, no) => (members(left).every((part) => fits(part, right)) ? yes : no);
  Type.Awaited = (inner, options) => (inner.type === "Promise" ? copyOf(inner.item, options) : inner);
  Type.Parameters = (inner, options) => Type.Tuple(inner.parameters, options);
  Type.ConstructorParameters = Type.Parameters;
  Type.ReturnType = (inner, options) => copyOf(inner.returns, options);
  Type.InstanceType = Type.ReturnType;
  Type.Rest = (inner) => (inner.items ? [...inner.items] : inner.anyOf ?? inner.allOf ?? [inner]);
  Type.Const = (value, options) => {
    if (Array.isArray(value)) return Type.Tuple(value.map((item) => Type.Const(item)), options);
    if (value && typeof value === "object") return Type.Object(mapValues(value, (item) => Type.Const(item)), options);
    return value === null ? Type.Null(options) : value === undefined ? Type.Undefined(options) : Type.Literal(value, options);
  };
  const mapText = (change) => (inner, options) =>
    inner.anyOf ? Type.Union(inner.anyOf.map((member) => mapText(change)(member)), options) : typeof inner.const === "string" ? Type.Literal(change(inner.const), options) : inner;
  Type.Uppercase = mapText((text) => text.toUpperCase());
  Type.Lowercase = mapText((text) => text.toLowerCase());
  Type.Capitalize = mapText((text) => text.slice(0, 1).toUpperCase() + text.slice(1));
  Type.Uncapitalize = mapText((text) => text.slice(0, 1).toLowerCase() + text.slice(1));

  Type.TemplateLiteral = (parts, options) => {
    const pattern = typeof parts === "string"
      ? parts.split(/(\$\{[^}]*\})/).map((part) => (part.startsWith("${") ? TEMPLATE[part.slice(2, -1).trim()] ?? "(.*)" : escapePattern(part))).join("")
      : parts.map(templatePart).join("");
    return schema("TemplateLiteral", { type: "string", pattern: `^${pattern}$` }, options);
  };
  function templatePart(part) {
    if (part.const !== undefined) return escapePattern(String(part.const));
    if (part.anyOf) return `(${part.anyOf.map(templatePart).join("|")})`;
    return part.pattern ? part.pattern.slice(1, -1) : TEMPLATE[part.type] ?? "(.*)";
  }

  let recursive = 0;
  Type.Recursive = (make, options = {}) => {
    const $id = options.$id ?? `T${recursive++}`;
    return { ...make(schema("This", { $ref: $id }, {})), ...options, $id };
  };
  Type.Cyclic = (definitions, name, options) => schema("Cyclic", { $defs: definitions, $ref: name }, options);
  Type.Module = (definitions) => ({
    Import: (name, options) => schema("Import", { $defs: Object.fromEntries(Object.entries(definitions).map(([key, value]) => [key, { ...value, $id: key }])), $ref: name }, options),
  });
  Type.Transform = (inner) => ({
    Decode: (decode) => ({ Encode: (encode) => copyOf(inner, { [TransformKind]: { Decode: decode, Encode: encode } }) }),
  });
  Type.Codec = Type.Transform;
  Type.Refine = (inner) => inner;
  Type.Clone = (inner) => copyOf(inner);
  return Type;
}

const NUMBER_KEY = ["^(0|[1-9][0-9]*)$", "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$"];
const TEMPLATE = { string: "(.*)", number: "(0|[1-9][0-9]*)", integer: "(0|[1-9][0-9]*)", boolean: "(true|false)", bigint: "(0|[1-9][0-9]*)" };
const escapePattern = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
