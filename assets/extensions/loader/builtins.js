// Which module specifiers the host serves itself, and from which file of this folder.
//
// The one table for the embedder's resolver and for `require`. Both package scopes share a file, since
// the packages were renamed without a change of content.

const SCOPES = ["@mariozechner", "@earendil-works"];

const PACKAGES = {
  "pi-coding-agent": "modules/pi-coding-agent/index.js",
  "pi-coding-agent/hooks": "modules/pi-coding-agent/index.js",
  "pi-agent-core": "modules/pi-agent-core/index.js",
  "pi-tui": "modules/pi-tui/index.js",
  "pi-ai": "modules/pi-ai/index.js",
  "pi-ai/oauth": "modules/pi-ai/oauth.js",
  "pi-ai/compat": "modules/pi-ai/index.js",
  "pi-ai/providers/all": "modules/pi-ai/index.js",
  ...Object.fromEntries(["anthropic", "google", "openai-completions", "openai-responses"].flatMap((name) => [`pi-ai/${name}`, `pi-ai/api/${name}`]).map((name) => [name, "modules/pi-ai/index.js"])),
};

const NODE = {
  assert: "assert", "assert/strict": "assert", async_hooks: "async_hooks", buffer: "buffer", child_process: "child_process", cluster: "cluster", console: "console",
  crypto: "crypto", dgram: "dgram", dns: "dns", "dns/promises": "dns_promises", domain: "domain", repl: "repl", sys: "util", trace_events: "trace_events", wasi: "wasi", events: "events", fs: "fs", "fs/promises": "fs_promises", http: "http", http2: "http2",
  https: "https", inspector: "inspector", module: "module", net: "net", os: "os", path: "path", "path/posix": "path", "path/win32": "path",
  perf_hooks: "perf_hooks", process: "process", querystring: "querystring", readline: "readline", "readline/promises": "readline_promises",
  stream: "stream", "stream/promises": "stream_promises", "stream/consumers": "stream_consumers", "stream/web": "stream_web", diagnostics_channel: "diagnostics_channel", constants: "constants", punycode: "punycode", string_decoder: "string_decoder", timers: "timers", "timers/promises": "timers_promises",
  tls: "tls", tty: "tty", url: "url", util: "util", "util/types": "util_types", v8: "v8", vm: "vm", worker_threads: "worker_threads", zlib: "zlib",
};

/** Specifier → file below this folder. */
export const CATALOG = Object.freeze({
  ...Object.fromEntries(SCOPES.flatMap((scope) => Object.entries(PACKAGES).map(([name, file]) => [`${scope}/${name}`, file]))),
  ...Object.fromEntries(Object.entries(NODE).flatMap(([name, file]) => [[name, `modules/node/${file}.js`], [`node:${name}`, `modules/node/${file}.js`]])),
  "@sinclair/typebox": "modules/typebox/index.js",
  "@sinclair/typebox/value": "modules/typebox/value.js",
  "@sinclair/typebox/compile": "modules/typebox/compile.js",
  "@sinclair/typebox/compiler": "modules/typebox/compile.js",
  typebox: "modules/typebox/index1.js",
  "typebox/type": "modules/typebox/index1.js",
  "typebox/value": "modules/typebox/value.js",
  "typebox/compile": "modules/typebox/compile.js",
  undici: "modules/undici.js",
  "better-sqlite3": "modules/better_sqlite3.js",
  jiti: "modules/jiti.js",
  "node:sqlite": "modules/node/sqlite.js",
});

export const builtinModules = Object.keys(NODE);
export const isBuiltin = (name) => name.startsWith("node:") || Object.hasOwn(NODE, name);

/** The file that serves a specifier, or undefined. An unknown `node:` name is refused by name. */
export function builtinFile(specifier) {
  return Object.hasOwn(CATALOG, specifier) ? CATALOG[specifier] : undefined;
}
