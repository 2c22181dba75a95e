// jiti, by which packages load TypeScript of theirs: files are loaded as all others are here. Nothing is cached on disk and nothing
// is transformed for whoever asks for source.

import { host } from "../runtime/bridge.js";
import { unsupported } from "../runtime/errors.js";
import { createRequire, resolveFrom } from "../loader/require.js";
import { fileURLToPath } from "./node/url.js";

const pathOf = (place) => (String(place).startsWith("file:") ? fileURLToPath(place) : String(place));

const preferred = (module, wantsDefault) => (wantsDefault ? module?.default ?? module : module);
/** Whether an ES module that was required exports its default and nothing else. */
const isDefaultAlone = (module) => Boolean(module?.__esModule) && Object.keys(module).every((name) => name === "default" || name === "__esModule");

export function createJiti(from, options = {}) {
  const path = pathOf(from).replace(/\/$/, "/index.js");
  const require = createRequire(path);
  const named = (id) => options.alias?.[id] ?? pathOf(id);
  // An import is made in the name of the file in which it stands.
  const load = host.compile("return import(id)", path, ["id"]);
  const jiti = (id) => {
    const module = require(named(id));
    return options.interopDefault === false ? module : preferred(module, isDefaultAlone(module));
  };
  return Object.assign(jiti, {
    options,
    import: async (id, { default: wantsDefault, try: tries } = {}) => {
      try {
        return preferred(await load(named(id)), wantsDefault);
      } catch (error) {
        if (tries) return undefined;
        throw error;
      }
    },
    resolve: (id) => require.resolve(named(id)),
    esmResolve: (id, parent) => resolveFrom(named(id), pathOf(parent?.parentURL ?? parent ?? path)),
    transform() {
      throw unsupported("transform of jiti");
    },
    evalModule() {
      throw unsupported("evalModule of jiti");
    },
    cache: require.cache,
  });
}

export default Object.assign((from, options) => createJiti(from, options), { createJiti });
