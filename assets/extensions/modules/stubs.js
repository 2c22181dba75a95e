// Stand-ins for names that the real packages export and the host does not implement.
//
// The engine links strictly: a file that imports a missing name does not load at all. So every known
// name exists, and one that is not implemented throws when it is used, saying which it is.

import { unsupported } from "../runtime/errors.js";

export function stubFor(module, name) {
  const stub = function () {
    throw unsupported(`${name} of ${module}`);
  };
  Object.defineProperty(stub, "name", { value: name });
  return new Proxy(stub, {
    get(target, key) {
      if (key === "name" || key === "prototype" || key === "length" || typeof key === "symbol") return target[key];
      if (key === "then" || key === "toJSON" || key === "__esModule" || key === "default") return undefined;
      throw unsupported(`${name}.${String(key)} of ${module}`);
    },
    construct() {
      throw unsupported(`new ${name} of ${module}`);
    },
  });
}

/** Reads any name: what `real` has, or a stub. */
export const withStubs = (module, real = {}) =>
  new Proxy(real, { get: (target, name) => (Object.hasOwn(target, name) ? target[name] : stubFor(module, String(name))) });

/**
 * The source of a module that gives names a package does not know here, besides those it does. For a
 * file that imports something newer than this program; `specifier` is resolved as usual.
 */
export const stubModuleSource = (specifier, names) =>
  `import { stubFor } from "levain:modules/stubs.js";\nexport * from ${JSON.stringify(specifier)};\n${names
    .map((name) => `export const ${name} = stubFor(${JSON.stringify(specifier)}, ${JSON.stringify(name)});`)
    .join("\n")}\n`;
