// Finding modules, CommonJS, and the rules that keep the shipped files fit for the engine.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { ASSETS, Engine, HAS_TYPESCRIPT, outside } from "./engine.mjs";
import { folder, messages } from "./support.mjs";

const engine = await Engine.start();
test.after(() => engine.stop());
const { api, host } = engine;

/** A tree of files in memory, as the two functions the resolver needs. */
function tree(files) {
  return {
    kind: (name) => (Object.hasOwn(files, name) ? "file" : Object.keys(files).some((file) => file.startsWith(`${name}/`)) ? "dir" : undefined),
    read: (name) => files[name],
  };
}
const resolve = (files, specifier, from = "/p/a.ts", kind = "import") => api.resolveModule(tree(files), specifier, from, kind);

test("relative files", () => {
  const files = { "/p/x.ts": "", "/p/y.js": "", "/p/d/index.ts": "", "/p/both.ts": "", "/p/both.js": "", "/p/j.json": "", "/p/m.mts": "", "/p/e/package.json": '{"main":"lib/z.js"}', "/p/e/lib/z.js": "" };
  const cases = { "./x": "/p/x.ts", "./x.js": "/p/x.ts", "./x.ts": "/p/x.ts", "./y": "/p/y.js", "./d": "/p/d/index.ts", "./d/": "/p/d/index.ts", "./both": "/p/both.ts", "./both.js": "/p/both.js", "./j.json": "/p/j.json", "./m.mjs": "/p/m.mts", "./e": "/p/e/lib/z.js", "../p/x": "/p/x.ts", "/p/y.js": "/p/y.js", "file:///p/x.ts": "/p/x.ts" };
  for (const [specifier, file] of Object.entries(cases)) assert.equal(resolve(files, specifier), file, specifier);
  assert.throws(() => resolve(files, "./none"), /Cannot find module '\.\/none' imported from \/p\/a\.ts/);
});

test("packages: main, module, exports, conditions, patterns, parents", () => {
  const pkg = (fields) => JSON.stringify(fields);
  const files = {
    "/p/node_modules/plain/package.json": pkg({ main: "./lib" }), "/p/node_modules/plain/lib.js": "", "/p/node_modules/plain/sub/t.js": "",
    "/p/node_modules/two/package.json": pkg({ main: "c.js", module: "m.js" }), "/p/node_modules/two/c.js": "", "/p/node_modules/two/m.js": "",
    "/p/node_modules/@s/e/package.json": pkg({ exports: { ".": { types: "./t.d.ts", import: "./m.mjs", require: "./c.cjs" }, "./f/*": "./src/*.js", "./f/x/*": null, "./up": "../escape.js" } }),
    "/p/node_modules/@s/e/m.mjs": "", "/p/node_modules/@s/e/c.cjs": "", "/p/node_modules/@s/e/src/a.js": "", "/p/node_modules/@s/escape.js": "",
    "/p/node_modules/sugar/package.json": pkg({ exports: "./i.js" }), "/p/node_modules/sugar/i.js": "",
    "/node_modules/high/index.js": "", "/p/package.json": pkg({ imports: { "#in": "./in.js" } }), "/p/in.js": "",
  };
  assert.equal(resolve(files, "plain"), "/p/node_modules/plain/lib.js");
  assert.equal(resolve(files, "plain/sub/t"), "/p/node_modules/plain/sub/t.js");
  assert.equal(resolve(files, "two"), "/p/node_modules/two/c.js");
  assert.equal(resolve(files, "two", undefined, "require"), "/p/node_modules/two/c.js");
  assert.equal(resolve(files, "@s/e"), "/p/node_modules/@s/e/m.mjs");
  assert.equal(resolve(files, "@s/e", undefined, "require"), "/p/node_modules/@s/e/c.cjs");
  assert.equal(resolve(files, "@s/e/f/a"), "/p/node_modules/@s/e/src/a.js");
  assert.equal(resolve(files, "sugar"), "/p/node_modules/sugar/i.js");
  assert.equal(resolve(files, "high", "/p/deep/er/f.ts"), "/node_modules/high/index.js");
  assert.equal(resolve(files, "#in"), "/p/in.js");
  for (const wrong of ["@s/e/other", "@s/e/up"]) assert.throws(() => resolve(files, wrong), /does not export/);
  assert.throws(() => resolve(files, "absent"), /npm install/);
});

test("how a file is to be evaluated", () => {
  const files = tree({ "/p/a.ts": "", "/p/b.js": "export default 1", "/p/c.js": "module.exports = 1", "/p/d.cjs": "", "/p/e.json": "", "/m/package.json": '{"type":"module"}', "/m/f.js": "", "/p/node_modules/x/g.js": "export default 1", "/p/node_modules/x/package.json": "{}" });
  assert.deepEqual(["/p/a.ts", "/p/b.js", "/p/c.js", "/p/d.cjs", "/p/e.json", "/m/f.js", "/p/node_modules/x/g.js"].map((file) => api.formatOf(files, file)), ["esm", "esm", "cjs", "cjs", "json", "esm", "esm"]);
  // Statements behind others on a line, as in what was made small.
  const small = tree({
    "/p/a.js": "let n = 0; export const next = () => ++n;", "/p/b.js": 'import{x}from"./x.js";function f(){}export{f as default};', "/p/c.js": "function f(){}export{f}",
    "/p/d.js": '"use strict";exports.a=1;const t="; export default 1";', "/p/e.js": 'var x="import y";module.exports=x', "/p/f.js": "const important = 1; exported(important)",
  });
  assert.deepEqual(["a", "b", "c", "d", "e", "f"].map((name) => api.formatOf(small, `/p/${name}.js`)), ["esm", "esm", "esm", "cjs", "cjs", "cjs"]);
});

test("built-in names, with and without a prefix", () => {
  for (const name of ["fs", "node:fs", "node:fs/promises", "@mariozechner/pi-tui", "@earendil-works/pi-tui", "typebox", "@sinclair/typebox/value"]) assert.ok(fs.existsSync(path.join(ASSETS, api.builtinFile(name))), name);
  assert.equal(api.builtinFile("toString"), undefined);
  for (const file of Object.values(api.CATALOG)) assert.ok(fs.existsSync(path.join(ASSETS, file)), file);
});

test("CommonJS packages: cycles, JSON, built-ins, names to import", async () => {
  const dir = folder();
  const write = (name, text) => {
    fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
    fs.writeFileSync(path.join(dir, name), text);
  };
  write("node_modules/lib/package.json", '{"main":"main.js"}');
  write("node_modules/lib/main.js", '"use strict";\nconst b = require("./b"); exports.a = 1; exports.b = b.value; exports.data = require("./data.json").n; exports.base = require("path").basename(__filename); exports.same = require("./b") === b; exports.big = require("fs").existsSync(__dirname);');
  write("node_modules/lib/b.js", 'const main = require("./main"); exports.value = typeof main.a; ');
  write("node_modules/lib/data.json", '{"n":5}');
  write("node_modules/fn/index.js", 'module.exports = function twice(x) { return x * 2; }; module.exports.named = "n"; Object.defineProperty(module.exports, "__esModule", { value: true });');
  write("node_modules/bad/index.js", "throw new Error('bad module')");
  write("ext.js", `import lib, { b, data } from "lib"; import twice, { named } from "fn"; import * as all from "fn";
    export default (pi) => pi.registerCommand("cjs", { handler: (_, ctx) => {
      const out = [lib.a, b, data, lib.base, lib.same, lib.big, twice(2), named, all.default === twice, require("fn") === twice, __filename.endsWith("ext.js"), __dirname.length > 1, require.resolve("lib").endsWith("main.js")];
      try { require("bad"); } catch (error) { out.push(error.message); }
      try { require("node:test"); } catch (error) { out.push(error.code); }
      ctx.ui.notify(JSON.stringify(out)); } });`);
  assert.equal((await engine.load(path.join(dir, "ext.js"))).error, undefined);
  await engine.command("cjs");
  assert.deepEqual(JSON.parse(messages(host).at(-1)), [1, "undefined", 5, "main.js", true, true, 4, "n", true, true, true, true, true, "bad module", "MODULE_NOT_FOUND"]);
});

test("names of CommonJS in an ES module are given only where they are missing", () => {
  assert.equal(api.prologue("import fs from 'fs'; fs.x.require(1); foo.__dirname"), "");
  assert.match(api.prologue("const x = require('y');"), /const require =/);
  assert.equal(api.prologue("const require = createRequire(import.meta.url); require('x')"), "");
  assert.doesNotMatch(api.prologue("import { require } from 'x'; require(__filename)"), /const require/);
  assert.equal(api.prologue("require(1)").includes("\n"), false);
});

test("the template works", { skip: !HAS_TYPESCRIPT && "no TypeScript transform" }, async () => {
  const { steps } = JSON.parse(fs.readFileSync(path.join(ASSETS, "template/index.test.json"), "utf8"));
  const dir = folder();
  fs.copyFileSync(path.join(ASSETS, "template/index.ts"), path.join(dir, "index.ts"));
  assert.equal((await engine.load(path.join(dir, "index.ts"))).error, undefined);
  for (const step of steps) {
    if (step.event) assert.deepEqual(await engine.outcome(step.event, step.payload), step.outcome);
    else if (step.tool) assert.deepEqual((await engine.tool(step.tool, step.params)).result, step.result);
    else {
      await engine.command(step.command, step.args);
      assert.deepEqual(messages(host).slice(-step.notices.length), step.notices);
    }
  }
});

test("the types compile, and the template with them", (t) => {
  const compiler = path.join(process.env.LEVAIN_JS_DEV ?? "/nowhere", "node_modules/.bin/tsc");
  if (!fs.existsSync(compiler)) return t.skip("typescript is not installed");
  const { status, stdout } = spawnSync(compiler, ["-p", path.join(ASSETS, "types/tsconfig.json")], { encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});

const shipped = fs.readdirSync(ASSETS, { recursive: true }).filter((file) => file.endsWith(".js")).sort();

test("shipped files stay within what the engine offers", () => {
  for (const file of shipped) {
    const text = fs.readFileSync(path.join(ASSETS, file), "utf8");
    const code = text.replace(/\/\/.*$/gm, "").replace(/\/\*[\s\S]*?\*\//g, "");
    assert.match(text, /^\/\/ /, `${file} opens with what it is for`);
    assert.ok(text.split("\n").length <= 600, `${file} is too long`);
    assert.doesNotMatch(code, /^(?:const|let|var|export const) .*= await |^await /m, `${file} waits at its top level`);
    assert.doesNotMatch(code, /^(?:import|export|\})[^;\n]*\bfrom\s+"(?!\.)/m, `${file} imports something that is not beside it`);
    assert.doesNotMatch(code, /import[^;]*\bwith\s*\{/, `${file} uses import attributes`);
    if (!file.startsWith("runtime/i")) assert.doesNotMatch(code, /\bIntl\./, `${file} relies on Intl`);
    assert.doesNotMatch(code, /\bgsd|\.ts["'] ===|basename\([^)]*\) ===/, `${file} is keyed on a name`);
  }
});

test("imports form no cycle, which strict linking of re-exports does not bear", () => {
  const imports = new Map(shipped.map((file) => {
    const text = fs.readFileSync(path.join(ASSETS, file), "utf8");
    return [file, [...text.matchAll(/(?:from|import)\s+"(\.[^"]+)"/g)].map(([, name]) => path.join(path.dirname(file), name))];
  }));
  const done = new Set();
  const walk = (file, above) => {
    assert.ok(!above.includes(file), `cycle: ${[...above, file].join(" → ")}`);
    if (done.has(file)) return;
    for (const next of imports.get(file) ?? []) walk(next, [...above, file]);
    done.add(file);
  };
  for (const file of shipped) walk(file, []);
});

test("HOST.md names every function, call and export", () => {
  const text = fs.readFileSync(path.join(ASSETS, "HOST.md"), "utf8");
  const code = shipped.map((file) => fs.readFileSync(path.join(ASSETS, file), "utf8")).join("\n");
  const missing = new Set();
  // Families are written as `model.list` or by their last part after a name that shares the first.
  for (const [, name] of code.matchAll(/\b(?:ask|action|dialog|askPerson|tell|request)\(\s*"([\w.]+)"/g)) if (!text.includes(name)) missing.add(name);
  for (const [, name] of code.matchAll(/\bhost\.(\w+)\(/g)) if (!new RegExp(`\\b${name}\\(`).test(text)) missing.add(`host.${name}`);
  for (const name of Object.keys(api)) if (!text.includes(name)) missing.add(`export ${name}`);
  assert.deepEqual([...missing], []);
});

test("nothing of the loader's answers belongs to the outside", () => {
  assert.deepEqual(outside(api.EVENT_NAMES).includes("tool_call"), true);
});
