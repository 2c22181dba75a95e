// node:punycode: host names stay as they are; see runtime/url.js.

export const toASCII = (name) => String(name).toLowerCase();
export const toUnicode = (name) => String(name).toLowerCase();
export default { toASCII, toUnicode };
