// Node modules that have no counterpart here. Importing one works, so that a file which uses it in one
// corner still loads; using it throws and names the module.

import { unsupported } from "../../runtime/errors.js";

/** A stand-in for a whole module: any field is a function that throws when called. */
export function absentModule(name, hint) {
  const refuse = (path) => {
    const call = function () {
      throw unsupported(`${name}${path}`, hint);
    };
    return new Proxy(call, {
      get: (target, key) => {
        if (key === "prototype") return target.prototype;
        if (typeof key === "symbol" || key === "then" || key === "__esModule") return undefined;
        if (key === "name") return path.slice(1);
        return refuse(`${path}.${key}`);
      },
      construct: () => {
        throw unsupported(`new ${name}${path}`, hint);
      },
    });
  };
  return refuse("");
}
