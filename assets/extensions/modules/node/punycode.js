// node:punycode: host names stay as they are; see runtime/url.js.

import { withStubs } from "../stubs.js";

export const toASCII = (name) => String(name).toLowerCase();
export const toUnicode = (name) => String(name).toLowerCase();
// Names of the real module that are not implemented.
export const {
  decode, encode, ucs2, version,
} = withStubs("node:punycode");
export default { toASCII, toUnicode };
