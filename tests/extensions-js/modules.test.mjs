// The virtual modules: Node's against Node, TypeBox and pi-tui against the published packages where
// they are installed, and what only we have by itself.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { Engine, outside } from "./engine.mjs";
import { EXAMPLES, HAS_EXAMPLES } from "./examples.mjs";
import { folder } from "./support.mjs";

const cwd = folder();
const engine = await Engine.start({ cwd });
test.after(() => engine.stop());
await engine.extension(`
  import * as path from "node:path"; import * as util from "util"; import * as url from "node:url"; import * as events from "events"; import fs from "node:fs"; import fsp from "fs/promises";
  import * as cp from "node:child_process"; import * as crypto from "crypto"; import * as os from "os"; import * as stream from "stream"; import * as sd from "string_decoder"; import assert from "assert";
  import * as qs from "querystring"; import * as tp from "timers/promises"; import * as rl from "readline"; import * as net from "net"; import * as zlib from "node:zlib"; import * as http from "node:http"; import { createRequire } from "node:module"; import * as tui from "@mariozechner/pi-tui"; import * as ca from "@earendil-works/pi-coding-agent";
  import * as ai from "@mariozechner/pi-ai"; import { Type } from "@sinclair/typebox"; import { Value } from "@sinclair/typebox/value"; import Type1 from "typebox"; import { Compile } from "typebox/compile"; import "@mariozechner/pi-ai/oauth"; import "@mariozechner/pi-agent-core";
  globalThis.M = { path, util, url, events, fs, fsp, cp, crypto, os, stream, sd, assert, qs, tp, rl, net, zlib, http, createRequire, tui, ca, ai, Type, Value, Type1, Compile };
  export default () => {};`);
const inner = (code) => Promise.resolve(engine.run(`(async ({ ${Object.keys(engine.run("M")).join()} }) => (${code}))(M)`)).then(outside);

const node = {};
for (const [name, from] of Object.entries({ path: "path", util: "util", url: "url", events: "events", fs: "fs", fsp: "fs/promises", cp: "child_process", crypto: "crypto", os: "os", stream: "stream", sd: "string_decoder", assert: "assert", qs: "querystring", tp: "timers/promises", rl: "readline", net: "net", zlib: "zlib", http: "http" })) {
  node[name] = createRequire(import.meta.url)(`node:${from}`);
}
const AsyncFunction = (async () => {}).constructor;
const outer = async (code) => outside(await new AsyncFunction(...Object.keys(node), `return (${code})`)(...Object.values(node)));
const same = (title, ...codes) =>
  test(title, async () => {
    for (const code of codes) assert.deepEqual(await inner(code), await outer(code), code);
  });

const PATHS = ["", "/", "a", "/a/b.txt", "a/../b/", "./x//y/.", "../..", "/..", "a.b.c", ".hidden", "dir.d/file", "/a/b/"];
same("path", ...PATHS.flatMap((name) => ["normalize", "dirname", "basename", "extname", "isAbsolute", ...(name === "/.." ? [] : ["parse"])].map((call) => `path.${call}(${JSON.stringify(name)})`)),
  'path.join("a", "..", "/b", "", "c/")', 'path.join()', 'path.resolve("/a", "b", "../c")', 'path.resolve("/a", "/b")', 'path.relative("/a/b/c", "/a/d")', 'path.relative("/a", "/a")', 'path.basename("/a/b.txt", ".txt")', 'path.format({ dir: "/a", name: "b", ext: ".c" })', 'path.posix.sep');
same("url", 'url.fileURLToPath("file:///a%20b/c")', 'url.pathToFileURL("/a b/#c?%").href', 'url.format(new URL("http://a/b"))', 'url.parse("http://a:1/b?c=d#e").pathname');
same("util", 'util.format("%s|%i|%f|%j|%%|%x", "a", "5.5", "1.5", { a: 1 }, 1)', 'util.inspect({ a: [1, "b", null], m: new Map([[1, { x: 1 }]]), s: new Set(["q"]), f() {}, [Symbol("z")]: 1, d: new Date(0), r: /x/ })', 'util.inspect("it\'s")', 'util.inspect({ a: { b: { c: { d: 1 } } } })', 'util.inspect([undefined, -0, 10n])', 'util.isDeepStrictEqual({ a: [1, new Set([2])] }, { a: [1, new Set([2])] })', 'util.promisify((a, done) => done(null, a + 1))(1)', 'util.stripVTControlCharacters("\\x1b[31mx\\x1b[0m")', 'util.types.isDate(new Date())', 'JSON.stringify(util.parseArgs({ args: ["-f", "--bar=b", "pos"], options: { foo: { type: "boolean", short: "f" }, bar: { type: "string" } }, allowPositionals: true }))');
same("events",
  '(() => { const e = new events.EventEmitter(); const log = []; e.on("x", (a) => log.push(a)); e.once("x", () => log.push("once")); e.prependListener("x", () => log.push("first")); e.emit("x", 1); e.emit("x", 2); return [log, e.listenerCount("x"), e.emit("none"), e.eventNames()]; })()',
  '(() => { class A extends events.EventEmitter { constructor() { super(); this.v = 1; } } const a = new A(); a.on("y", function () { this.v++; }); a.emit("y"); return a.v; })()',
  '(() => { function Old() { events.EventEmitter.call(this); } util.inherits(Old, events.EventEmitter); const o = new Old(); let n = 0; o.on("z", () => n++); o.emit("z"); return n; })()',
  '(async () => { const e = new events.EventEmitter(); setTimeout(() => e.emit("go", 1, 2), 1); return events.once(e, "go"); })()', '(() => { try { new events.EventEmitter().emit("error", new Error("e")); } catch (error) { return error.message; } })()');
same("stream and string_decoder",
  '(async () => { const out = []; for await (const x of stream.Readable.from(["a", "b"])) out.push(x); return out; })()',
  'new Promise((done) => { const out = []; const t = new stream.Transform({ transform(c, _, next) { next(null, String(c).toUpperCase()); } }); t.on("data", (c) => out.push(String(c))); t.on("end", () => done(out.join(""))); t.write("a"); t.end("b"); })',
  'new Promise((done) => { const out = []; stream.pipeline(stream.Readable.from(["x", "y"]), new stream.PassThrough(), new stream.Writable({ write(c, _, next) { out.push(String(c)); next(); } }), (e) => done([e ?? null, out.join("")])); })',
  '(() => { const d = new sd.StringDecoder("utf8"); return [d.write(Buffer.from([0xe2, 0x82])), d.write(Buffer.from([0xac])), d.end()]; })()', '(() => { const d = new sd.StringDecoder("base64"); return [d.write(Buffer.from("ab")), d.write(Buffer.from("cde")), d.end()]; })()');
same("net", ...["1.2.3.4", "01.2.3.4", "::1", "fe80::1%eth0", "::ffff:1.2.3.4", "1::2::3", "a", "1:2:3:4:5:6:7:8"].map((text) => `net.isIP(${JSON.stringify(text)})`), '(() => { const b = new net.BlockList(); b.addSubnet("10.0.0.0", 8); b.addAddress("::1", "ipv6"); return [b.check("10.2.3.4"), b.check("11.0.0.1"), b.check("::1", "ipv6")]; })()');
same("crypto", 'crypto.createHash("sha256").update("a").update(Buffer.from("b")).digest("hex")', 'crypto.createHmac("sha1", "k").update("d").digest("base64")', 'crypto.randomBytes(5).length', 'crypto.createHash("md5").update("é").digest("hex")', 'crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("a"))', '(() => { const n = crypto.randomInt(5, 7); return n >= 5 && n < 7; })()');
same("assert and querystring", '(() => { try { assert.deepStrictEqual({ a: 1 }, { a: 2 }); } catch (e) { return [e.name, e.code]; } })()', '(() => { assert.throws(() => { throw new TypeError("x"); }, TypeError); assert.throws(() => { throw new Error("abc"); }, /abc/); assert.ok(1); return 1; })()', 'assert.rejects(Promise.reject(new Error("q")), { message: "q" }).then(() => 1)', 'qs.parse("a=1&b=2&a=%203").a', 'qs.stringify({ a: [1, 2], b: "x y" })');
const inFolder = (code) => `(() => { const d = fs.mkdtempSync(path.join(${JSON.stringify(cwd)}, "t-")); return ${code}; })()`;
same("fs",
  inFolder('(fs.writeFileSync(d + "/a", "héy"), fs.appendFileSync(d + "/a", "!"), [fs.readFileSync(d + "/a", "utf8"), fs.statSync(d + "/a").size, fs.statSync(d).isDirectory(), fs.existsSync(d + "/b")])'),
  inFolder('(fs.mkdirSync(d + "/x/y", { recursive: true }), fs.writeFileSync(d + "/x/f", ""), [fs.mkdirSync(d + "/z") ?? null, fs.mkdirSync(d + "/z", { recursive: true }) ?? null, fs.readdirSync(d + "/x").sort(), fs.readdirSync(d, { withFileTypes: true }).map((e) => [e.name, e.isDirectory()]), fs.readdirSync(d, { recursive: true }).sort()])'),
  inFolder('(fs.writeFileSync(d + "/a", "1"), fs.renameSync(d + "/a", d + "/b"), fs.copyFileSync(d + "/b", d + "/c"), fs.unlinkSync(d + "/b"), fs.cpSync(d, d + "2", { recursive: true }), fs.rmSync(d, { recursive: true }), [fs.readdirSync(d + "2"), fs.existsSync(d)])'),
  inFolder('(fs.symlinkSync("t", d + "/l"), [fs.lstatSync(d + "/l").isSymbolicLink(), fs.readlinkSync(d + "/l"), fs.statSync(d + "/l", { throwIfNoEntry: false }) ?? null])'),
  inFolder('["readFileSync", "readdirSync", "statSync", "unlinkSync", "accessSync", "rmdirSync"].map((call) => { try { fs[call](d + "/none"); } catch (e) { return [e.code, e.syscall, e instanceof Error, e.errno]; } })'),
  inFolder('(() => { const f = fs.openSync(d + "/o", "w"); fs.writeSync(f, "hello"); fs.closeSync(f); const r = fs.openSync(d + "/o", "r"); const b = Buffer.alloc(3); fs.readSync(r, b, 0, 3, 1); fs.closeSync(r); return b.toString(); })()'),
  inFolder('fsp.writeFile(d + "/p", "q").then(() => fsp.readFile(d + "/p", { encoding: "utf8" }))'), inFolder('fsp.access(d + "/none").catch((e) => e.code)'), inFolder('new Promise((r) => fs.readFile(d + "/none", (e) => r(e.code)))'),
  inFolder('new Promise((r) => { const w = fs.createWriteStream(d + "/s"); w.write("a"); w.end("b", () => r(fs.readFileSync(d + "/s", "utf8"))); })'), inFolder('(async () => { fs.writeFileSync(d + "/l", "1\\n2\\n3"); const out = []; for await (const line of rl.createInterface({ input: fs.createReadStream(d + "/l") })) out.push(line); return out; })()'));
same("zlib",
  'zlib.gunzipSync(zlib.gzipSync("hello")).toString()', 'zlib.inflateRawSync(zlib.deflateRawSync(Buffer.from([1, 2, 3]), { level: 9 }))', 'zlib.gunzipSync(Buffer.from("H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==", "base64")).toString()', 'zlib.unzipSync(zlib.deflateSync("x")).toString()',
  '(() => { try { zlib.gunzipSync("no gzip"); } catch (e) { return [e.code, e.errno, e.message]; } })()', '(() => { try { zlib.inflateSync(zlib.deflateSync("hello").subarray(0, 6)); } catch (e) { return [e.code, e.errno, e.message]; } })()',
  'util.promisify(zlib.gzip)("abc").then((b) => zlib.gunzipSync(b).toString())', 'new Promise((r) => zlib.inflate("nothing", (e) => r(e.code)))',
  '(async () => { const parts = []; const gunzip = zlib.createGunzip(); const whole = zlib.gzipSync("in pieces"); gunzip.write(whole.subarray(0, 8)); gunzip.end(whole.subarray(8)); for await (const part of gunzip) parts.push(part); return Buffer.concat(parts).toString(); })()',
  'zlib.constants.Z_SYNC_FLUSH + zlib.Z_DEFAULT_WINDOWBITS');
same("http without a server", 'http.STATUS_CODES[418]', '(() => { try { http.validateHeaderName("a b"); } catch (e) { return e.code; } })()', '(() => { try { http.validateHeaderValue("a", "x\\ny"); } catch (e) { return e.code; } })()', 'typeof http.globalAgent', 'net.isIP("::1")');
same("child_process",
  'cp.execSync("echo hi").toString()', 'cp.spawnSync("sh", ["-c", "echo out; echo err >&2; exit 3"], { encoding: "utf8" }).status', 'cp.execFileSync("cat", { input: "in", encoding: "utf8" })', '(() => { try { cp.execSync("exit 2", { stdio: "pipe" }); } catch (e) { return e.status; } })()', 'cp.spawnSync("no-such-program").error.code',
  'util.promisify(cp.exec)("echo a; echo b >&2").then((r) => [r.stdout, r.stderr])', 'util.promisify(cp.execFile)("sh", ["-c", "exit 4"]).catch((e) => e.code)', 'new Promise((r) => cp.exec("echo x", (e, out) => r(out)))',
  'new Promise((r) => { const c = cp.spawn("cat"); let t = ""; c.stdout.on("data", (d) => (t += d)); c.on("close", (code, signal) => r([t, code, signal])); c.stdin.write("a"); c.stdin.end("b"); })', 'new Promise((r) => { const c = cp.spawn("sleep", ["5"]); c.on("exit", (code, signal) => r([code, signal, c.killed])); c.kill(); })', 'new Promise((r) => cp.spawn("no-such-program").on("error", (e) => r(e.code)))',
  '(async () => { const c = cp.spawn("printf", ["a\\\\nb\\\\n"]); let t = ""; for await (const d of c.stdout) t += d; return t; })()', 'new Promise((r) => { const a = new AbortController(); const c = cp.spawn("sleep", ["5"], { signal: a.signal }); c.on("error", (e) => r(e.name)); a.abort(); })', 'tp.setTimeout(1, "v")');

// The file that a package of pi begins with, where it is installed beside the examples: `scripts/pi-examples` fetches those alone.
const entry = (name) => {
  if (!HAS_EXAMPLES || name.endsWith("coding-agent")) return HAS_EXAMPLES && path.join(EXAMPLES, "../../dist/index.js");
  for (let dir = EXAMPLES; dir !== "/"; dir = path.dirname(dir)) {
    const root = path.join(dir, "node_modules", name);
    if (fs.existsSync(root)) return path.join(root, JSON.parse(fs.readFileSync(path.join(root, "package.json"))).main ?? "dist/index.js");
  }
};
const PUBLISHED = ["@mariozechner/pi-coding-agent", "@mariozechner/pi-tui", "@mariozechner/pi-ai", "@mariozechner/pi-agent-core"];
const missing = PUBLISHED.find((name) => !entry(name));
test("modules exist with every name of the published packages", { skip: missing && `${missing} is not installed beside the examples` }, async () => {
  for (const name of PUBLISHED) {
    const real = await import(pathToFileURL(entry(name)));
    const ours = (await engine.module(path.join(import.meta.dirname, "../../assets/extensions", engine.api.builtinFile(name)))).namespace;
    assert.deepEqual(Object.keys(real).filter((key) => !(key in ours)), [], name);
  }
});

test("a name that is not implemented loads and says what it is when used", async () => {
  await engine.extension('import { InteractiveMode, somethingNewer as x } from "@mariozechner/pi-coding-agent"; import { net } from "./x.js"; export default (pi) => pi.registerCommand("stub", { handler: (_, ctx) => { const out = []; for (const work of [() => new InteractiveMode(), () => InteractiveMode.run, () => x()]) try { work(); } catch (e) { out.push(e.message); } ctx.ui.notify(out.join("|")); } });'.replace('import { net } from "./x.js"; ', ""), "/ext/stub.js");
  await engine.command("stub");
  const [a, b, c] = engine.host.notices.at(-1).message.split("|");
  assert.match(a, /new InteractiveMode of pi-coding-agent/);
  assert.match(b, /InteractiveMode\.run/);
  assert.match(c, /somethingNewer of @mariozechner\/pi-coding-agent/);
});

const TYPES = [
  "T.Record(T.String(), T.Number())", 'T.Record(T.Union([T.Literal("a"), T.Literal("b")]), T.Number())', "T.Record(T.Number(), T.Number())", 'T.Union([T.Literal("a"), T.Number()])', "T.Union([T.String()])", "T.Union([])", 'T.Enum({ A: "a", B: 1 })', "T.Tuple([T.String(), T.Number()])", "T.Tuple([])",
  "T.Intersect([T.Object({ a: T.String() }), T.Object({ b: T.Optional(T.Number()) })])", "T.Partial(T.Object({ a: T.String() }, { additionalProperties: false }))", "T.Required(T.Object({ a: T.Optional(T.String()) }))", 'T.Pick(T.Object({ a: T.String(), b: T.Number() }), ["a"])', 'T.Omit(T.Object({ a: T.String(), b: T.Number() }, { description: "x" }), ["a"])',
  "T.KeyOf(T.Object({ a: T.String(), b: T.Number() }))", "T.Not(T.String())", "T.Null()", "T.Any()", "T.Unknown()", "T.Never()", 'T.Ref("X")', 'T.Array(T.String(), { minItems: 1, description: "d" })', 'T.Unsafe({ type: "string", enum: ["a"] })', "T.BigInt()", "T.Undefined()", "T.Void()", "T.Readonly(T.String())", "T.Object({ a: T.Optional(T.String()), b: T.Number() })", "T.Object({})",
  'T.Object({ a: T.String({ format: "date" }) }, { additionalProperties: false, description: "q" })', 'T.Index(T.Object({ a: T.String(), b: T.Number() }), ["a"])', 'T.Extract(T.Union([T.Literal("a"), T.Literal("b")]), T.Literal("a"))', 'T.Exclude(T.Union([T.Literal("a"), T.Literal("b")]), T.Literal("a"))', "T.Integer({ minimum: 1 })", 'T.Optional(T.Number({ description: "n" }))', 'T.Literal(true)', 'T.Boolean({ default: false })',
];
const OLD_ONLY = ["T.Composite([T.Object({ a: T.String() }), T.Object({ b: T.Optional(T.Number()) })])", 'T.Const({ a: 1, b: ["x"] })', 'T.Recursive((This) => T.Object({ n: T.Array(This) }), { $id: "N" })', "T.TemplateLiteral('a${string}b')", 'T.TemplateLiteral([T.Literal("a"), T.Number()])', "T.Date()", "T.Uint8Array()", "T.Function([T.String()], T.Number())", "T.RegExp(/a/i)", 'T.Uppercase(T.Literal("ab"))', 'T.Module({ A: T.String() }).Import("A")', 'T.Mapped(T.Union([T.Literal("x"), T.Literal("y")]), () => T.Number())'];
const real = async (name, home = EXAMPLES) => {
  try {
    for (let dir = home; dir && dir !== "/"; dir = path.dirname(dir)) {
      const root = path.join(dir, "node_modules", name);
      if (!fs.existsSync(root)) continue;
      const { exports } = JSON.parse(fs.readFileSync(path.join(root, "package.json")));
      const main = exports["."].import?.default ?? exports["."].import ?? exports["."].default ?? exports["."];
      return await import(pathToFileURL(path.join(root, main)));
    }
  } catch {
    return undefined;
  }
};
const json = (make, Type) => JSON.parse(JSON.stringify(new Function("T", `return ${make}`)(Type)));
test("Type makes what TypeBox makes", { skip: !HAS_EXAMPLES }, async (t) => {
  const old = await real("@sinclair/typebox");
  if (!old) return t.skip("TypeBox is not installed");
  for (const make of [...TYPES, ...OLD_ONLY]) assert.deepEqual(JSON.parse(engine.run(`JSON.stringify((${`(T) => ${make}`})(M.Type))`)), json(make, old.Type), make);
});
test("and what TypeBox 1 makes", async (t) => {
  const newer = process.env.LEVAIN_PI_ORACLE && (await real("typebox", process.env.LEVAIN_PI_ORACLE));
  if (!newer) return t.skip("TypeBox 1 is not installed");
  const Newer = newer.default ?? newer.Type;
  const known = TYPES.filter((make) => [...make.matchAll(/T\.(\w+)/g)].every(([, name]) => name in Newer));
  assert.ok(known.length > 30);
  for (const make of known) assert.deepEqual(JSON.parse(engine.run(`JSON.stringify((${`(T) => ${make}`})(M.Type1))`)), json(make, Newer), make);
});

test("Value checks, converts and fills in", async () => {
  assert.deepEqual(await inner(`(() => { const s = Type.Object({ n: Type.Integer({ minimum: 1 }), t: Type.Optional(Type.String({ default: "d" })), u: Type.Union([Type.Literal("a"), Type.Null()]) }, { additionalProperties: false });
    return [Value.Check(s, { n: 1, u: "a" }), Value.Check(s, { n: 0, u: "a" }), Value.Check(s, { n: 1, u: "b" }), Value.Check(s, { n: 1, u: null, z: 1 }), [...Value.Errors(s, { n: "x" })].map((e) => e.path), Value.Convert(s, { n: "5", u: null }).n, Value.Default(s, { n: 1 }).t, Value.Clean(s, { n: 1, z: 2 }), Value.Create(s), Compile(s).Check({ n: 2, u: null })]; })()`),
  [true, false, false, false, ["/u", "/n"], 5, "d", { n: 1 }, { n: 1, u: "a" }, true]);
  assert.match(await inner('(() => { try { ai.validateToolArguments({ parameters: Type.Object({ a: Type.Number() }) }, { name: "t", arguments: { a: "x" } }); } catch (e) { return e.message; } })()'), /"t"[\s\S]*a: Expected number/);
});

test("pi-ai: streams, costs, unfinished JSON", async () => {
  assert.deepEqual(await inner('(async () => { const s = ai.createAssistantMessageEventStream(); setTimeout(() => { s.push({ type: "text_delta", delta: "a" }); s.push({ type: "done", message: { ok: 1 } }); s.end(); }, 1); const seen = []; for await (const e of s) seen.push(e.type); return [seen, await s.result()]; })()'), [["text_delta", "done"], { ok: 1 }]);
  assert.deepEqual(await inner('["", "{", \'{"a": "b\', \'{"a": [1, {"b": tr\', \'{"a": 1, "c"\', \'{"a":"x\\\\\'].map(ai.parseStreamingJson)'), [{}, {}, { a: "b" }, { a: [1, {}] }, { a: 1 }, { a: "x" }]);
  assert.equal(await inner('ai.calculateCost({ cost: { input: 2, output: 4, cacheRead: 0, cacheWrite: 0 } }, { input: 1e6, output: 5e5, cacheRead: 0, cacheWrite: 0, cost: {} }).total'), 4);
  assert.deepEqual(await inner('ai.StringEnum(["a", "b"], { description: "d" })'), { type: "string", enum: ["a", "b"], description: "d" });
});

test("messages are drawn as by the published package", async (t) => {
  const draw = `(lib) => {
    const text = "# Head\\n\\nsome **bold** \`code\`\\n\\n- one\\n- two\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |";
    const said = (content, more) => ({ role: "assistant", content, stopReason: "stop", timestamp: 0, ...more });
    const thought = { type: "thinking", thinking: "hmm **x**" };
    const made = [
      new lib.UserMessageComponent("a *question*\\n\\n- x"),
      new lib.AssistantMessageComponent(said([thought, { type: "text", text }])),
      new lib.AssistantMessageComponent(said([thought, { type: "text", text: " done " }]), true),
      new lib.AssistantMessageComponent(said([{ type: "text", text: "half" }], { stopReason: "aborted", errorMessage: "Request was aborted" })),
      new lib.AssistantMessageComponent(said([], { stopReason: "error" })),
      new lib.AssistantMessageComponent(said([{ type: "toolCall", id: "1", name: "x", arguments: {} }], { stopReason: "error" })),
      new lib.AssistantMessageComponent(),
      new lib.CustomMessageComponent({ customType: "note", content: [{ type: "text", text: "**b** text" }] }),
      new lib.CustomMessageComponent({ customType: "note", content: "x" }, (message, { expanded }) => ({ render: () => [message.content + expanded], invalidate() {} })),
      new lib.CustomMessageComponent({ customType: "note", content: "x" }, () => { throw new Error("no"); }),
      new lib.CompactionSummaryMessageComponent({ summary: "## S\\n\\n**b**", tokensBefore: 12345 }),
      new lib.BranchSummaryMessageComponent({ summary: "## S" }),
      new lib.SkillInvocationMessageComponent({ name: "s", location: "/x", content: "c" }),
    ];
    const clean = (line) => line.replace(/\\x1b\\][^\\x07]*\\x07/g, "").replace(/\\x1b\\[[0-9;]*m/g, "").trimEnd();
    const drawn = () => made.map((one) => one.render(60).map(clean));
    const first = drawn();
    for (const one of made) one.setExpanded?.(true);
    made[2].setHideThinkingBlock(false);
    made[6].updateContent(said([{ type: "text", text: "late" }]));
    for (const one of made) one.invalidate();
    return [first, drawn()];
  }`;
  const [first, second] = await inner(`(${draw})(ca)`);
  assert.deepEqual(first[7].filter(Boolean), [" [note]", " b text"]);
  assert.match(second[10].join("\n"), /Compacted from 12,345 tokens/);
  const ui = "{ requestRender() {} }";
  const call = `(() => { const one = new ca.ToolExecutionComponent("look", "1", { at: "x" }, {}, undefined, ${ui}, "/"); const before = one.render(40).join("|"); one.updateResult({ content: [{ type: "text", text: "seen" }], isError: false }); return [before, one.render(40).join("|")]; })()`;
  const [before, after] = await inner(call);
  assert.match(before, /look.*"at":"x"/);
  assert.match(after, /seen/);
  const command = `(() => { const one = new ca.BashExecutionComponent("ls", ${ui}); one.appendOutput("a\\nb"); one.setComplete(2, false); return [one.render(40).join("|"), one.getOutput(), one.getCommand()]; })()`;
  const [shown, ...kept] = await inner(command);
  assert.match(shown, /\$ ls[\s\S]*a[\s\S]*b[\s\S]*exit 2/);
  assert.deepEqual(kept, ["a\nb", "ls"]);
  const published = process.env.LEVAIN_PI_ORACLE && path.join(process.env.LEVAIN_PI_ORACLE, "dist/index.js");
  if (!published || !fs.existsSync(published)) return t.skip("no published package to compare with");
  const library = await import(pathToFileURL(published));
  library.initTheme("dark");
  // Outside its program the published one knows no keys.
  const folded = first.map((lines) => lines.map((line) => line.replace("(ctrl+o to", "( to")));
  assert.deepEqual([folded, second], new Function(`return ${draw}`)()(library));
});

test("conversations are cut, and texts compared, as by the published package", async (t) => {
  const told = `(lib) => {
    const entry = (id, type, more) => ({ id, parentId: Number(id) > 1 ? String(Number(id) - 1) : null, type, timestamp: "2026-01-01T00:00:00Z", ...more });
    const said = (id, role, text, more) => entry(id, "message", { message: { role, content: [{ type: "text", text }], ...more } });
    const read = { type: "toolCall", id: "c", name: "read", arguments: { path: "/r" } };
    const entries = [
      entry("1", "model_change", { provider: "p", modelId: "m" }), said("2", "user", "u".repeat(400)), said("3", "assistant", "a".repeat(400)), entry("4", "label", { targetId: "2", label: "x" }),
      said("5", "user", "again ".repeat(50)), entry("6", "message", { message: { role: "assistant", content: [read] } }), said("7", "toolResult", "r".repeat(4000)), said("8", "assistant", "seen"),
      entry("9", "compaction", { summary: "s", firstKeptEntryId: "5", tokensBefore: 9 }), entry("10", "branch_summary", { summary: "b", fromId: "3", details: { readFiles: ["/o"], modifiedFiles: ["/e"] } }),
      entry("11", "custom_message", { customType: "c", content: "n", display: true }), said("12", "user", "last"),
    ];
    const cuts = [1, 5, 50, 120, 2000].flatMap((keep) => [lib.findCutPoint(entries.slice(0, 8), 0, 8, keep), lib.findCutPoint(entries, 2, 8, keep)]);
    const turns = [0, 4, 6, 10].map((at) => lib.findTurnStartIndex(entries, at, 0));
    const session = { getBranch: (id) => entries.slice(0, Number(id)), getEntry: (id) => entries[Number(id) - 1] };
    const left = [["8", "3"], [null, "3"], ["3", "8"]].map(([from, to]) => lib.collectEntriesForBranchSummary(session, from, to)).map(({ entries: all, commonAncestorId }) => [all.map(({ id }) => id), commonAncestorId]);
    const branches = [0, 30, 300].map((budget) => lib.prepareBranchEntries(entries, budget)).map(({ messages, fileOps, totalTokens }) => [messages.length, Object.values(fileOps).map((set) => [...set]), totalTokens]);
    return [cuts, turns, left, branches, lib.buildSessionContext(entries)];
  }`;
  const mine = await inner(`(${told})(ca)`);
  assert.deepEqual(mine[2], [[["4", "5", "6", "7", "8"], "3"], [[], null], [[], "3"]]);
  assert.deepEqual(await inner('[[], [5], [5, 1], [5, 3], [null, 3], ["x", 1]].map((args) => ca.formatReadLineRange(...args))'), ["", ":5", ":5-5", ":5-7", ":1-3", ""]);
  const texts = [["", "a\n"], ["a\n", ""], ["a", "a"], ["a\nb\nc\n", "a\nB\nc"], [[...Array(30).keys()].join("\n"), [...Array(30).keys()].filter((n) => n !== 5 && n !== 25).join("\n") + "\nend\n"]];
  const diffs = await inner(`${JSON.stringify(texts)}.map(([a, b]) => [ca.generateDiffString(a, b), ca.generateUnifiedPatch("f", a, b)])`);
  assert.match(diffs[4][1], /^--- f\n\+\+\+ f\n@@ -2,9 \+2,8 @@\n[\s\S]*-5\n[\s\S]*No newline/);
  const published = process.env.LEVAIN_PI_ORACLE && path.join(process.env.LEVAIN_PI_ORACLE, "dist");
  if (!published || !fs.existsSync(published)) return t.skip("no published package to compare with");
  const library = await import(pathToFileURL(path.join(published, "index.js")));
  const plain = (value) => JSON.parse(JSON.stringify(value));
  assert.deepEqual(plain(mine), plain(new Function(`return ${told}`)()(library)));
  const { generateDiffString } = await import(pathToFileURL(path.join(published, "core/tools/edit-diff.js")));
  const { FILE_HEADERS_ONLY, createTwoFilesPatch } = createRequire(path.join(published, "x.js"))("diff");
  const patch = (a, b) => createTwoFilesPatch("f", "f", a, b, undefined, undefined, { context: 4, headerOptions: FILE_HEADERS_ONLY });
  assert.deepEqual(plain(diffs), plain(texts.map(([a, b]) => [generateDiffString(a, b), patch(a, b)])));
});

test("skills are found as by the published package", async (t) => {
  const agentDir = path.join(cwd, "agent");
  const skill = (place, text) => {
    fs.mkdirSync(path.dirname(path.join(cwd, place)), { recursive: true });
    fs.writeFileSync(path.join(cwd, place), text);
  };
  const named = (name, more = "") => `---\nname: ${name}\ndescription: d of ${name}\n${more}---\n\nDo it.\n`;
  skill("agent/skills/one/SKILL.md", named("one", "disable-model-invocation: true\n"));
  skill("agent/skills/one/deeper/SKILL.md", named("deeper"));
  skill("agent/skills/group/two/SKILL.md", named("Other--name-"));
  skill("agent/skills/top.md", named("top"));
  skill("agent/skills/group/note.md", named("note"));
  skill(".pi/skills/one/SKILL.md", named("one"));
  skill(".pi/skills/mute/SKILL.md", "---\nname: mute\n---\n");
  skill(".pi/skills/broken/SKILL.md", "no frontmatter");
  skill("more/three/SKILL.md", named("three"));
  fs.symlinkSync(path.join(cwd, "more/three"), path.join(cwd, "agent/skills/linked"));
  skill("more/a.txt", "");
  const from = { cwd, agentDir, skillPaths: ["more", "agent/skills/top.md", "none", "more/a.txt"], includeDefaults: true };
  const mine = await inner(`ca.loadSkills(${JSON.stringify(from)})`);
  assert.deepEqual(mine.skills.map(({ name }) => name), ["Other--name-", "three", "one", "top"]);
  const published = process.env.LEVAIN_PI_ORACLE && path.join(process.env.LEVAIN_PI_ORACLE, "dist/index.js");
  if (!published || !fs.existsSync(published)) return t.skip("no published package to compare with");
  const { loadSkills, loadSkillsFromDir } = await import(pathToFileURL(published));
  // Newer ones let a skill be called something else than its folder.
  const plain = (value) => JSON.parse(JSON.stringify({ ...value, diagnostics: value.diagnostics.filter(({ message }) => !message.includes("match parent directory")) }));
  assert.deepEqual(mine, plain(loadSkills(from)));
  const bare = { ...from, skillPaths: [path.join(agentDir, "skills")], includeDefaults: false };
  assert.deepEqual(await inner(`ca.loadSkills(${JSON.stringify(bare)})`), plain(loadSkills(bare)));
  const folder = { dir: path.join(cwd, "more"), source: "path" };
  assert.deepEqual(await inner(`ca.loadSkillsFromDir(${JSON.stringify(folder)})`), plain(loadSkillsFromDir(folder)));
});

test("pi-coding-agent: cutting, frontmatter, edits, conversations", async () => {
  assert.deepEqual(await inner('(({ content, truncatedBy, totalLines, outputLines }) => [content, truncatedBy, totalLines, outputLines])(ca.truncateHead("a\\nb\\nc", { maxLines: 2 }))'), ["a\nb", "lines", 3, 2]);
  assert.deepEqual(await inner('(({ content, truncatedBy, lastLinePartial }) => [content, truncatedBy, lastLinePartial])(ca.truncateTail("xxé€yz", { maxBytes: 5 }))'), ["€yz", "bytes", true]);
  assert.equal(await inner('[100, 2048, 3 * 1024 * 1024].map(ca.formatSize).join()'), "100B,2.0KB,3.0MB");
  assert.deepEqual(await inner('ca.parseFrontmatter("---\\nname: x\\ntools: [a, \\"b, c\\"]\\nlist:\\n  - one\\n  - k: v\\n    w: 2\\nmap:\\n  deep: true # note\\ntext: |\\n  l1\\n  l2\\n---\\n\\nBody\\n")'), { frontmatter: { name: "x", tools: ["a", "b, c"], list: ["one", { k: "v", w: 2 }], map: { deep: true }, text: "l1\nl2\n" }, body: "Body" });
  assert.deepEqual(await inner('ca.parseFrontmatter("no\\n---\\nx")'), { frontmatter: {}, body: "no\n---\nx" });
  const roles = await inner('ca.convertToLlm([{ role: "custom", content: "c", display: false }, { role: "bashExecution", command: "x", output: "", exitCode: 2 }, { role: "bashExecution", excludeFromContext: true }, { role: "branchSummary", summary: "s" }, { role: "other" }])');
  assert.deepEqual(roles.map((message) => message.content[0].text.slice(0, 20)), ["c", "Ran `x`\n(no output)\n", "The following is a s"]);
  const order = await inner('(async () => { const log = []; await Promise.all([1, 2].map((n) => ca.withFileMutationQueue("/f", async () => { log.push("start" + n); await tp.setTimeout(2); log.push("end" + n); }))); return log; })()');
  assert.deepEqual(order, ["start1", "end1", "start2", "end2"]);
});
