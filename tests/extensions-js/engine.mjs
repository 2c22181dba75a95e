// A stand-in for the embedded engine: a bare `node:vm` context with none of Node's globals, modules
// linked strictly, values copied across the border so that no object of the outside gets in.
//
// Run Node with --experimental-vm-modules. TypeScript needs sucrase, found below LEVAIN_JS_DEV.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import vm from "node:vm";
import { Host } from "./host.mjs";

export const ASSETS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../assets/extensions");
const DEV = process.env.LEVAIN_JS_DEV;
const sucrase = DEV && fs.existsSync(DEV) ? createRequire(path.join(DEV, "x.js"))("sucrase") : undefined;
export const HAS_TYPESCRIPT = sucrase !== undefined;

export function transform(source, file) {
  if (!/\.[cm]?tsx?$/.test(file)) return source;
  if (!sucrase) throw new Error("LEVAIN_JS_DEV names no folder with sucrase");
  return sucrase.transform(source, { transforms: ["typescript"], disableESTransforms: true, filePath: file }).code;
}

// What a bare V8 context has and QuickJS-ng does not.
const NOT_IN_QUICKJS = ["Intl", "WebAssembly", "console", "escape", "unescape"];

export class Engine {
  #modules = new Map();
  #texts = new Map();

  static async start(options = {}) {
    const engine = new Engine(options);
    await engine.#boot();
    return engine;
  }

  constructor(options) {
    this.host = options.host ?? new Host(options);
    this.host.engine = this;
    this.context = vm.createContext(Object.create(null));
    const run = (code) => vm.runInContext(code, this.context);
    for (const name of NOT_IN_QUICKJS) run(`delete globalThis.${name}`);
    this.border = run(`({
      object: () => ({}), list: () => [], bytes: (size) => new Uint8Array(size), error: (message) => new Error(message),
      set: (object, key, value) => { Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true }); },
      promise: () => Promise.withResolvers ? Promise.withResolvers() : (() => { const r = {}; r.promise = new Promise((a, b) => { r.resolve = a; r.reject = b; }); return r; })(),
    })`);
    const functions = {};
    for (const [name, work] of Object.entries(this.host.functions())) {
      functions[name] = (...args) => {
        const result = work(...args.map(outside));
        if (result && typeof result.then === "function") {
          const { promise, resolve, reject } = this.border.promise();
          result.then((value) => resolve(this.inside(value)), (error) => reject(this.border.error(String(error?.message ?? error))));
          return promise;
        }
        return this.inside(result);
      };
    }
    this.context.__levainHost = functions;
  }

  /** A copy of a plain value that belongs to the context. */
  inside(value) {
    if (value === null || typeof value !== "object") return value;
    if (ArrayBuffer.isView(value)) {
      const bytes = this.border.bytes(value.byteLength);
      bytes.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
      return bytes;
    }
    if (Array.isArray(value)) {
      const list = this.border.list();
      for (const item of value) list.push(this.inside(item));
      return list;
    }
    const object = this.border.object();
    for (const [key, item] of Object.entries(value)) if (item !== undefined) this.border.set(object, key, this.inside(item));
    return object;
  }

  async #boot() {
    const main = await this.module(path.join(ASSETS, "host.js"));
    this.api = main.namespace;
    // `require` must answer at once, so everything it may be asked for is made ready.
    for (const file of new Set(Object.values(this.api.CATALOG))) {
      const loaded = await this.module(path.join(ASSETS, file));
      this.api.provide(file, loaded.namespace);
    }
  }

  /** A module, linked and evaluated. */
  async module(file) {
    return this.#ready(await this.#make(file));
  }

  #linking = Promise.resolve();
  /** Links one graph at a time, since graphs share modules, and waits for what somebody else evaluates. */
  async #ready(module) {
    const linked = this.#linking.then(async () => {
      if (module.status === "unlinked") await module.link((specifier, from) => this.#resolve(specifier, from.identifier));
    });
    this.#linking = linked.catch(() => {});
    await linked;
    if (module.status === "linked") await module.evaluate();
    while (module.status === "evaluating") await sleep(1);
    if (module.status === "errored") throw module.error;
    return module;
  }

  /** Imports of names that a built-in module lacks are led to a module that has them as stubs. */
  #withStubs(source) {
    return source.replace(/import\s*\{([^}]*)\}\s*from\s*(["'])([^"']+)\2/g, (whole, list, quote, specifier) => {
      const file = this.api.builtinFile(specifier);
      if (!file) return whole;
      const names = list.split(",").map((item) => item.trim().split(/\s+as\s+/)[0]).filter(Boolean);
      const missing = [...this.api.missingNames(file, this.inside(names))];
      if (missing.length === 0) return whole;
      const id = `${specifier}?${missing.join()}`;
      this.#texts.set(id, this.api.stubModuleSource(specifier, this.inside(missing)));
      return whole.replace(specifier, id);
    });
  }

  async #resolve(specifier, from) {
    if (specifier.startsWith("levain:")) return this.#make(path.join(ASSETS, specifier.slice(7)));
    if (this.#texts.has(specifier)) return this.#make(specifier);
    if (from.startsWith(ASSETS)) return this.#make(path.resolve(path.dirname(from), specifier));
    const builtin = this.api.builtinFile(specifier);
    if (builtin) return this.#make(path.join(ASSETS, builtin));
    const files = {
      kind: (name) => {
        const stat = fs.statSync(name, { throwIfNoEntry: false });
        return stat?.isFile() ? "file" : stat?.isDirectory() ? "dir" : undefined;
      },
      read: (name) => fs.readFileSync(name, "utf8"),
    };
    const target = this.api.resolveModule(files, specifier, from, "import");
    const format = this.api.formatOf(files, target);
    return format === "esm" ? this.#make(target) : this.#wrapped(target);
  }

  /** A CommonJS or JSON file as a module. */
  #wrapped(file) {
    const known = this.#modules.get(file);
    if (known) return known;
    const exports = this.api.importCommonJs(file);
    const names = this.api.commonJsNames(exports);
    const module = new vm.SyntheticModule(["default", ...names], function () {
      this.setExport("default", exports);
      for (const name of names) this.setExport(name, exports[name]);
    }, { identifier: file, context: this.context });
    this.#modules.set(file, module);
    return module;
  }

  #make(file) {
    const known = this.#modules.get(file);
    if (known) return known;
    let source = this.#texts.get(file) ?? fs.readFileSync(file, "utf8");
    if (!file.startsWith(ASSETS)) source = this.#withStubs(this.api.prologue(source) + transform(source, file));
    const module = new vm.SourceTextModule(source, {
      identifier: file,
      context: this.context,
      initializeImportMeta: (meta) => {
        meta.url = pathToFileURL(file).href;
        meta.filename = file;
        meta.dirname = path.dirname(file);
      },
      importModuleDynamically: async (specifier) => this.#ready(await this.#resolve(specifier, file)),
    });
    this.#modules.set(file, module);
    return module;
  }

  /** Loads an extension file, or one given as text. */
  async load(file, source) {
    if (source !== undefined) this.#texts.set(file, source);
    return this.api.load(file, async () => (await this.module(file)).namespace, this.inside({ scope: "project" }));
  }

  /** Loads source text as an extension under a made-up path, and fails the test if that fails. */
  async extension(source, file = `/ext/${this.#texts.size}.js`) {
    const result = await this.load(file, source);
    if (result.error) throw new Error(`${file}: ${result.error.message}\n${result.error.stack}`);
    return result.extension;
  }

  deliver(channel, value) {
    return this.api?.deliver(channel, this.inside(value));
  }
  async dispatch(event, payload = {}, ctx = {}) {
    return outside(await this.api.dispatch(event, this.inside(payload), this.inside(ctx)));
  }
  async outcome(event, payload, ctx) {
    return (await this.dispatch(event, payload, ctx)).outcome;
  }
  async command(name, args = "", ctx = {}) {
    return outside(await this.api.callCommand(name, args, this.inside(ctx)));
  }
  async tool(name, params = {}, options = {}, emit = () => {}) {
    return outside(await this.api.callTool(name, "call-1", this.inside(params), this.inside(options), (partial) => emit(outside(partial))));
  }
  render(id, width = 80) {
    return outside(this.api.renderPlace(id, width));
  }
  input(id, data) {
    return this.api.inputPlace(id, data);
  }
  /** Runs code inside and gives its value. */
  run(code) {
    return vm.runInContext(code, this.context);
  }
  stop() {
    this.host.dispose();
  }
}

/** A plain copy for assertions. */
export function outside(value) {
  if (value === null || typeof value !== "object") return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value);
  if (Array.isArray(value)) return Array.from(value, outside);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, outside(item)]));
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** Waits until `check` gives something, for what has no promise to wait on. */
export async function until(check, what = "the condition", limit = 3000) {
  for (const end = Date.now() + limit; Date.now() < end; await sleep(5)) {
    const value = await check();
    if (value) return value;
  }
  throw new Error(`timed out waiting for ${what}`);
}
