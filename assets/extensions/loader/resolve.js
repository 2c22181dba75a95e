// Where a module specifier leads: relative files, folders and packages in node_modules.
//
// Pure functions over two host functions, `kind(path)` → "file" | "dir" | undefined and `read(path)` →
// text, so that the embedder's own resolver for `import` and `require` here share one set of rules.
// Built-in names are not looked at; ask builtins.js first.

import { dirname, join, normalize } from "../modules/node/path.js";

// TypeScript first: `./x.js` in a TypeScript file usually names `x.ts`, and a folder that holds both
// was built from the former.
const EXTENSIONS = [".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".json"];
const TYPESCRIPT_FOR = { ".js": [".ts", ".tsx"], ".mjs": [".mts"], ".cjs": [".cts"], ".jsx": [".tsx"] };

export class ResolveError extends Error {
  constructor(specifier, from, detail) {
    super(`Cannot find module '${specifier}' imported from ${from}${detail ? `: ${detail}` : ""}`);
    this.name = "ResolveError";
    this.code = "MODULE_NOT_FOUND";
  }
}

/** The file behind a path that may lack its extension or name a folder; undefined if there is none. */
export function resolveFile(files, given) {
  const path = given.replace(/(.)\/+$/, "$1");
  if (files.kind(path) === "file") return path;
  const dot = /\.[cm]?jsx?$/.exec(path)?.[0];
  for (const extension of TYPESCRIPT_FOR[dot] ?? []) {
    const candidate = path.slice(0, -dot.length) + extension;
    if (files.kind(candidate) === "file") return candidate;
  }
  for (const extension of EXTENSIONS) if (files.kind(path + extension) === "file") return path + extension;
  return files.kind(path) === "dir" ? resolveFolder(files, path) : undefined;
}

function readManifest(files, folder) {
  const path = join(folder, "package.json");
  if (files.kind(path) !== "file") return undefined;
  try {
    const manifest = JSON.parse(files.read(path));
    return manifest && typeof manifest === "object" ? manifest : undefined;
  } catch {
    return undefined;
  }
}

function resolveFolder(files, folder) {
  const main = readManifest(files, folder)?.main;
  if (typeof main === "string") {
    const target = join(folder, main);
    const found = target === folder ? undefined : resolveFile(files, target);
    if (found) return found;
  }
  for (const extension of EXTENSIONS) {
    const index = join(folder, `index${extension}`);
    if (files.kind(index) === "file") return index;
  }
  return undefined;
}

/** `exports` and `imports` of a package: conditions, subpaths, patterns. Undefined if nothing fits. */
export function resolveExports(table, subpath, conditions) {
  const entry = typeof table === "string" || Array.isArray(table) || !Object.keys(table ?? {}).some((key) => key.startsWith(".") || key.startsWith("#"))
    ? { ".": table }
    : table;
  if (Object.hasOwn(entry, subpath)) return pickTarget(entry[subpath], "", conditions);
  const patterns = Object.keys(entry)
    .filter((key) => key.includes("*"))
    .sort((a, b) => b.indexOf("*") - a.indexOf("*") || b.length - a.length);
  for (const key of patterns) {
    const [before, after] = key.split("*");
    if (subpath.startsWith(before) && subpath.endsWith(after) && subpath.length >= key.length) {
      return pickTarget(entry[key], subpath.slice(before.length, subpath.length - after.length), conditions);
    }
  }
  return undefined;
}

function pickTarget(target, star, conditions) {
  if (typeof target === "string") return target.replaceAll("*", star);
  if (Array.isArray(target)) {
    for (const item of target) {
      const found = pickTarget(item, star, conditions);
      if (found) return found;
    }
    return undefined;
  }
  if (!target || typeof target !== "object") return undefined;
  for (const key of Object.keys(target)) {
    if (key !== "default" && !conditions.includes(key)) continue;
    const found = pickTarget(target[key], star, conditions);
    if (found) return found;
  }
  return undefined;
}

const conditionsFor = (kind) => (kind === "require" ? ["node", "require", "levain"] : ["node", "import", "levain"]);

export function splitPackage(specifier) {
  const parts = specifier.split("/");
  const name = specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
  return { name, subpath: `.${specifier.slice(name.length)}` };
}

function resolvePackage(files, specifier, from, kind) {
  const { name, subpath } = splitPackage(specifier);
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const root = join(folder, "node_modules", name);
    if (!folder.endsWith("/node_modules") && files.kind(root) === "dir") {
      const manifest = readManifest(files, root);
      if (manifest?.exports !== undefined && manifest.exports !== null) {
        const target = resolveExports(manifest.exports, subpath, conditionsFor(kind));
        const found = target && inside(root, target) && resolveFile(files, join(root, target));
        if (found) return found;
        throw new ResolveError(specifier, from, `the package does not export "${subpath}"`);
      }
      // As in Node, the "module" field of bundlers does not count: what it names has no declared format.
      const found = subpath === "." ? resolveFolder(files, root) : resolveFile(files, join(root, subpath));
      if (found) return found;
    }
    if (folder === "/" || folder === ".") break;
  }
  return undefined;
}

const inside = (root, target) => normalize(join(root, target)).startsWith(`${root}/`);

function resolveImports(files, specifier, from, kind) {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const manifest = readManifest(files, folder);
    if (manifest) {
      const target = manifest.imports && resolveExports(manifest.imports, specifier, conditionsFor(kind));
      if (!target) return undefined;
      return target.startsWith(".") ? resolveFile(files, join(folder, target)) : resolvePackage(files, target, from, kind);
    }
    if (folder === "/") return undefined;
  }
}

/**
 * The file that `specifier` names in `from`. `kind` is "import" or "require".
 * Throws ResolveError when there is none.
 */
export function resolveModule(files, specifier, from, kind = "import") {
  let found;
  if (specifier.startsWith("file:")) found = resolveFile(files, decodeURIComponent(specifier.replace(/^file:\/\//, "")));
  else if (specifier.startsWith("/")) found = resolveFile(files, specifier);
  else if (/^\.\.?(\/|$)/.test(specifier)) found = resolveFile(files, join(dirname(from), specifier));
  else if (specifier.startsWith("#")) found = resolveImports(files, specifier, from, kind);
  else found = resolvePackage(files, specifier, from, kind);
  if (found && files.mayImport?.(from, found) === false) {
    throw new ResolveError(specifier, from, `${found} is not among what this project is trusted with; put it into the folder of the extension`);
  }
  if (found) return found;
  if (specifier.startsWith("node:")) throw new ResolveError(specifier, from, "levain does not offer this Node module");
  const bare = !/^[./#]/.test(specifier) && !specifier.startsWith("file:");
  throw new ResolveError(specifier, from, bare ? "it is neither a module of the host nor in node_modules; run npm install next to the extension" : undefined);
}

/** "esm", "cjs" or "json": how a file is to be evaluated. */
export function formatOf(files, path) {
  if (path.endsWith(".json")) return "json";
  if (/\.(mjs|mts|ts|tsx)$/.test(path)) return "esm";
  if (/\.(cjs|cts)$/.test(path)) return "cjs";
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const manifest = readManifest(files, folder);
    if (manifest) return manifest.type === "module" ? "esm" : guess(files, path);
    if (folder === "/" || folder.endsWith("/node_modules")) break;
  }
  return guess(files, path);
}

// Without a declared type the text decides, as newer versions of Node do it: the words of an ES module
// at the start of a line, and none of CommonJS.
function guess(files, path) {
  const source = files.read(path) ?? "";
  // A statement begins a line, or stands behind another one, as in what a bundler made small.
  const module = /(?:^|[;}])\s*(?:import\s*[\w{*"']|export\s+(?:default|const|let|var|function|async|class|\*)|export\s*[{*])/m.test(source);
  return module && !/\bmodule\.exports\b|(?:^|[;}])\s*exports\.\w+\s*=|\bObject\.defineProperty\(exports\b/m.test(source) ? "esm" : "cjs";
}
