// Names of CommonJS that ES module files use all the same (require, __filename, __dirname), and import.meta.resolve.
//
// The embedder puts this text in front of an extension's own source, on the same line, so that line
// numbers stay right. A file that declares a name itself keeps its own.

const uses = (source, name) => new RegExp(`(?<![.\\w$])${name}(?![\\w$])`).test(source);
const declares = (source, name) =>
  new RegExp(`(?:\\b(?:const|let|var|function|class)\\s+|\\bimport\\s+)${name}(?![\\w$])|\\b(?:const|let|var)\\s*\\{[^}]*\\b${name}\\b[^}]*\\}\\s*=|import\\s*\\{[^}]*\\b${name}\\b[^}]*\\}`).test(source);

export function prologue(source) {
  const wanted = ["require", "__filename", "__dirname"].filter((name) => uses(source, name) && !declares(source, name));
  // The host gives no function of its own there.
  const resolves = /import\.meta\.resolve\b/.test(source);
  if (resolves) wanted.push("resolve");
  if (wanted.length === 0) return "";
  const parts = ['import { createRequire as __createRequire } from "node:module";', 'import { fileURLToPath as __toPath } from "node:url";'];
  if (wanted.includes("require")) parts.push("const require = __createRequire(import.meta.url);");
  if (wanted.includes("__filename")) parts.push("const __filename = __toPath(import.meta.url);");
  if (wanted.includes("__dirname")) parts.push('const __dirname = __toPath(new URL(".", import.meta.url)).replace(/\\/$/, "");');
  if (resolves) parts.push('import { __resolveFrom } from "node:module"; import.meta.resolve = (name) => __resolveFrom(name, import.meta.filename);');
  return parts.join(" ");
}
