// node:querystring.

import { withStubs } from "../stubs.js";

export const escape = encodeURIComponent;
export const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
export function parse(text, between = "&", equals = "=") {
  const result = Object.create(null);
  for (const part of String(text).split(between)) {
    if (part === "") continue;
    const cut = part.indexOf(equals);
    const name = unescape((cut < 0 ? part : part.slice(0, cut)).replaceAll("+", " "));
    const value = cut < 0 ? "" : unescape(part.slice(cut + equals.length).replaceAll("+", " "));
    result[name] = name in result ? [].concat(result[name], value) : value;
  }
  return result;
}
export const stringify = (object, between = "&", equals = "=") =>
  Object.entries(object ?? {})
    .flatMap(([name, value]) => [].concat(value).map((item) => `${escape(name)}${equals}${escape(String(item))}`))
    .join(between);
export const decode = parse;
export const encode = stringify;
// Names of the real module that are not implemented.
export const {
  unescapeBuffer,
} = withStubs("node:querystring");
export default { escape, unescape, parse, stringify, decode, encode };
