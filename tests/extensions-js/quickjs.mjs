// The real engine, compiled to WebAssembly: QuickJS-ng with the host functions of the stand-in. It shows
// what a bare V8 context cannot, such as how strictly this engine links. Slower than a native build.
//
// Needs `quickjs-emscripten-core` and `@jitl/quickjs-ng-wasmfile-release-sync` below LEVAIN_JS_DEV.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { ASSETS, transform } from "./engine.mjs";
import { Host } from "./host.mjs";

const DEV = process.env.LEVAIN_JS_DEV;
const from = DEV && fs.existsSync(DEV) ? createRequire(path.join(DEV, "x.js")) : undefined;

export async function quickJs() {
  try {
    const { newQuickJSWASMModuleFromVariant } = from("quickjs-emscripten-core");
    const variant = from("@jitl/quickjs-ng-wasmfile-release-sync");
    return await newQuickJSWASMModuleFromVariant(variant.default ?? variant);
  } catch {
    return undefined;
  }
}

const files = {
  kind: (name) => {
    const stat = fs.statSync(name, { throwIfNoEntry: false });
    return stat?.isFile() ? "file" : stat?.isDirectory() ? "dir" : undefined;
  },
  read: (name) => fs.readFileSync(name, "utf8"),
};

export class QuickJsEngine {
  constructor(module, options = {}) {
    this.host = new Host(options);
    this.host.engine = this;
    this.runtime = module.newRuntime();
    this.runtime.setMemoryLimit(512 * 1024 * 1024);
    this.runtime.setMaxStackSize(2 * 1024 * 1024);
    this.runtime.setModuleLoader((name) => this.#source(name), (base, specifier) => this.#resolve(specifier, base));
    this.context = this.runtime.newContext();
    this.#install();
    this.module(`import * as api from "${ASSETS}/host.js"; globalThis.api = api;`);
    this.catalog = this.run("api.CATALOG");
    for (const file of new Set(Object.values(this.catalog))) this.module(`import * as m from "${ASSETS}/${file}"; api.provide("${file}", m);`);
  }

  /** The part of the exports that the stand-in host asks for. */
  get api() {
    return { toolDescriptions: () => this.run("api.toolDescriptions()") };
  }

  #encode(value) {
    const { context } = this;
    if (value === undefined) return context.undefined;
    if (typeof value === "number") return context.newNumber(value);
    if (typeof value === "string") return context.newString(value);
    if (ArrayBuffer.isView(value)) {
      const buffer = context.newArrayBuffer(new Uint8Array(value).buffer);
      const make = context.unwrapResult(context.evalCode("(buffer) => new Uint8Array(buffer)"));
      return context.unwrapResult(context.callFunction(make, context.undefined, buffer));
    }
    if (value !== null && typeof value === "object" && Object.values(value).some((item) => ArrayBuffer.isView(item))) {
      const object = context.newObject();
      for (const [key, item] of Object.entries(value)) context.setProp(object, key, this.#encode(item));
      return object;
    }
    return context.unwrapResult(context.evalCode(`(${JSON.stringify(value)})`));
  }

  #install() {
    const { context } = this;
    const object = context.newObject();
    for (const [name, work] of Object.entries(this.host.functions())) {
      const handle = context.newFunction(name, (...args) => {
        const result = work(...args.map((arg) => this.#decode(arg)));
        if (!result || typeof result.then !== "function") return this.#encode(result);
        const deferred = context.newPromise();
        result.then((value) => {
          deferred.resolve(this.#encode(value));
          this.drain();
        });
        return deferred.handle;
      });
      context.setProp(object, name, handle);
    }
    context.setProp(context.global, "__levainHost", object);
  }

  #decode(handle) {
    // Typed arrays dump as objects with number keys, empty ones as empty objects.
    const { context } = this;
    this.isView ??= context.unwrapResult(context.evalCode("(value) => ArrayBuffer.isView(value)"));
    const bytes = context.dump(context.unwrapResult(context.callFunction(this.isView, context.undefined, handle)));
    const value = context.dump(handle);
    return bytes ? Uint8Array.from(Object.values(value)) : revive(value);
  }

  #source(name) {
    try {
      if (name.startsWith("missing:")) throw new Error(name.slice("missing:".length));
      if (name.startsWith("cjs:")) {
        const file = JSON.stringify(name.slice(4));
        const names = this.run(`api.commonJsNames(api.importCommonJs(${file}))`);
        return `const m = api.importCommonJs(${file}); export default m; ${names.map((key, i) => `const v${i} = m[${JSON.stringify(key)}]; export { v${i} as ${key} };`).join(" ")}`;
      }
      const source = fs.readFileSync(name, "utf8");
      if (name.startsWith(ASSETS)) return source;
      const prologue = this.run(`api.prologue(${JSON.stringify(source)})`);
      return `import.meta.url = ${JSON.stringify(`file://${name}`)}; ${prologue}${transform(source, name)}`;
    } catch (error) {
      return { error };
    }
  }

  #resolve(specifier, base) {
    if (base.startsWith(ASSETS)) return path.resolve(path.dirname(base), specifier);
    if (specifier.startsWith(ASSETS)) return specifier;
    const builtin = this.catalog && Object.hasOwn(this.catalog, specifier) ? this.catalog[specifier] : undefined;
    if (builtin) return path.join(ASSETS, builtin);
    if (specifier === base || (path.isAbsolute(specifier) && base === "/main.js")) return specifier;
    let target;
    try {
      target = this.resolver.resolveModule(files, specifier, base.replace(/^cjs:/, ""), "import");
    } catch (error) {
      // What is thrown here is lost on the way through the engine; what the loader gives is not.
      return `missing:${error.message}`;
    }
    return this.resolver.formatOf(files, target) === "esm" ? target : `cjs:${target}`;
  }

  /** Evaluates module code; throws what it threw. */
  module(code) {
    const result = this.context.evalCode(code, "/main.js", { type: "module" });
    if (result.error) {
      const { name, message, stack } = this.context.dump(result.error);
      throw new Error(`${name}: ${message}\n${stack}`);
    }
    this.drain();
    return this.context.getPromiseState(result.value);
  }
  run(code) {
    const result = this.context.evalCode(code);
    if (result.error) {
      const problem = this.context.dump(result.error);
      throw new Error(`${problem.message ?? problem}\n${problem.stack ?? ""}`);
    }
    return this.context.dump(result.value);
  }
  drain() {
    const done = this.runtime.executePendingJobs();
    if (done.error) throw new Error(JSON.stringify(this.context.dump(done.error)));
  }
  deliver(channel, value) {
    this.run("globalThis.take ??= (channel, value) => api.deliver(channel, value)");
    const take = this.context.getProp(this.context.global, "take");
    this.context.unwrapResult(this.context.callFunction(take, this.context.undefined, this.context.newNumber(channel), this.#encode(value)));
    this.drain();
  }
  /** Runs an async expression and waits for its value, while timers and processes outside go on. */
  async wait(code) {
    this.run(`globalThis.answer = undefined; (async () => (${code}))().then((value) => { answer = { value }; }, (error) => { answer = { error: { message: String(error && error.message), stack: error && error.stack } }; })`);
    for (;;) {
      this.drain();
      const answer = this.run("answer");
      if (answer?.error) throw new Error(`${answer.error.message}\n${answer.error.stack}`);
      if (answer) return answer.value;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
  load(file) {
    return this.wait(`api.load(${JSON.stringify(file)}, () => import(${JSON.stringify(file)}))`);
  }
  stop() {
    this.host.dispose();
  }
}

function revive(value) {
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (!Array.isArray(value) && keys.length > 0 && keys.every((key, i) => key === String(i) && Number.isInteger(value[key]) && value[key] >= 0 && value[key] < 256)) return Uint8Array.from(Object.values(value));
  if (Array.isArray(value)) return value.map(revive);
  return Object.fromEntries(keys.map((key) => [key, revive(value[key])]));
}
