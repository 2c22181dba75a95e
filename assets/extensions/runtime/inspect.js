// Values as text for console and util.inspect: the shape Node prints, without its colours.

const MAX_ITEMS = 100;

export function inspect(value, options = {}) {
  const depth = typeof options === "object" && options ? options.depth ?? 2 : 2;
  return show(value, depth === null ? Infinity : depth, [], "");
}
inspect.custom = Symbol.for("nodejs.util.inspect.custom");

function quote(text) {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : "`";
  return mark + text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r") + mark;
}

function show(value, depth, above, indent) {
  switch (typeof value) {
    case "string": return quote(value);
    case "number": return Object.is(value, -0) ? "-0" : String(value);
    case "bigint": return `${value}n`;
    case "symbol": return value.toString();
    case "undefined": return "undefined";
    case "boolean": return String(value);
    case "function": {
      const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function";
      return value.name ? `[${kind}${kind === "class" ? " " : ": "}${value.name}]` : `[${kind} (anonymous)]`;
    }
  }
  if (value === null) return "null";
  if (above.includes(value)) return "[Circular *1]";
  try {
    return showObject(value, depth, above, indent);
  } catch (error) {
    return `[object that cannot be shown: ${String(error?.message ?? error)}]`;
  }
}

function showObject(value, depth, above, indent) {
  if (typeof value[inspect.custom] === "function") {
    const own = value[inspect.custom](depth, {}, inspect);
    return typeof own === "string" ? own : show(own, depth, above, indent);
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) {
    const head = `${value.name}: ${value.message}`;
    const stack = value.stack ? String(value.stack) : "";
    return stack.startsWith(value.name) || stack.includes(value.message) ? stack || head : stack ? `${head}\n${stack}` : `[${head}]`;
  }
  if (value instanceof Promise) return "Promise { <pending> }";
  const name = Object.getPrototypeOf(value) === null ? "[Object: null prototype]" : value.constructor?.name ?? "Object";
  if (above.length > depth) return Array.isArray(value) ? "[Array]" : `[${name}]`;
  const below = [...above, value];
  const deeper = `${indent}  `;
  const item = (entry) => show(entry, depth, below, deeper);
  let open = "{";
  let close = "}";
  let prefix = name === "Object" ? "" : `${name} `;
  const parts = [];
  let keys = Object.keys(value);
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    [open, close] = ["[", "]"];
    prefix = name === "Array" ? "" : `${name}(${value.length}) `;
    for (let i = 0; i < Math.min(value.length, MAX_ITEMS); i++) parts.push(i in value ? item(value[i]) : "<empty item>");
    if (value.length > MAX_ITEMS) parts.push(`... ${value.length - MAX_ITEMS} more item${value.length - MAX_ITEMS > 1 ? "s" : ""}`);
    keys = keys.filter((key) => !/^\d+$/.test(key));
  } else if (value instanceof Map) {
    prefix = `${name}(${value.size}) `;
    for (const [key, entry] of value) parts.push(`${item(key)} => ${item(entry)}`);
  } else if (value instanceof Set) {
    prefix = `${name}(${value.size}) `;
    for (const entry of value) parts.push(item(entry));
  }
  for (const key of keys) {
    const field = Object.getOwnPropertyDescriptor(value, key);
    const label = /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key);
    parts.push(`${label}: ${field.get ? (field.set ? "[Getter/Setter]" : "[Getter]") : item(field.value)}`);
  }
  for (const key of Object.getOwnPropertySymbols(value)) {
    if (Object.getOwnPropertyDescriptor(value, key).enumerable) parts.push(`[${key.toString()}]: ${item(value[key])}`);
  }
  if (parts.length === 0) return `${prefix}${open}${close}`;
  const flat = `${prefix}${open} ${parts.join(", ")} ${close}`;
  if (flat.length + indent.length <= 76 && !flat.includes("\n")) return flat;
  return `${prefix}${open}\n${parts.map((part) => deeper + part).join(",\n")}\n${indent}${close}`;
}

/** printf-like joining, as `console.log` and `util.format` do it. */
export function format(...args) {
  const [first, ...rest] = args;
  let text = "";
  if (typeof first === "string") {
    let next = 0;
    text = first.replace(/%([sdifjoOc%])/g, (whole, kind) => {
      if (kind === "%") return "%";
      if (next >= rest.length) return whole;
      const value = rest[next++];
      switch (kind) {
        case "s": return typeof value === "object" && value !== null ? inspect(value, { depth: 0 }) : String(value);
        case "d": return typeof value === "bigint" ? `${value}n` : String(typeof value === "object" ? NaN : Number(value));
        case "i": return String(parseInt(value, 10));
        case "f": return String(parseFloat(value));
        case "j": return JSON.stringify(value);
        case "c": return "";
        default: return inspect(value);
      }
    });
    args = [text, ...rest.slice(next)];
  }
  return args.map((value) => (typeof value === "string" ? value : inspect(value))).join(" ");
}
