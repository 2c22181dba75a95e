// The globals, held against Node's own: the same expression in both must give the same value.

import assert from "node:assert/strict";
import test from "node:test";
import { Engine, outside, until } from "./engine.mjs";

const engine = await Engine.start({ env: { A: "1" } });
// Node does not wait for the timers of its own signals.
const alive = setInterval(() => {}, 1000);
test.after(() => {
  clearInterval(alive);
  engine.stop();
});
const inner = (code) => Promise.resolve(engine.run(`(async () => (${code}))()`)).then(outside);
const outer = (code) => Promise.resolve((0, eval)(`(async () => (${code}))()`)).then((value) => outside(value));
const same = (title, ...codes) =>
  test(title, async () => {
    for (const code of codes) assert.deepEqual(await inner(code), await outer(code), code);
  });
/** Both must throw, with the same name. */
const throws = (title, ...codes) =>
  test(title, async () => {
    for (const code of codes) {
      const fail = (run) => run(code).then((value) => assert.fail(`${code} gave ${JSON.stringify(value)}`), (error) => error.name);
      assert.equal(await fail(inner), await fail(outer), code);
    }
  });

const parts = (url, base) => `(({href, origin, protocol, username, password, host, hostname, port, pathname, search, hash}) => [href, origin, protocol, username, password, host, hostname, port, pathname, search, hash])(new URL(${JSON.stringify(url)}${base ? `, ${JSON.stringify(base)}` : ""}))`;
same("URL",
  ...["http://a.b/c?d=e#f", "HTTPS://User:p%40ss@Example.COM:443/x/../y/./z?q=a b#h i", "http://a", "http://a:8080", "file:///a/b%20c", "data:text/plain,hi", "mailto:x@y", "http://[::1]:3/x", "http://a/b;c=d/é?ü", "http://a//b//c/..", "http:\\\\a\\b", "ws://x:80/", "http://a/%7Efoo/%", "  http://a/b \n", "javascript:alert(1)", "http://a?x", "http://a#x"].map((url) => parts(url)),
  ...[["../x", "http://a/b/c/d"], ["?q", "http://a/b/c"], ["#h", "http://a/b?c"], ["/r", "http://u@a/b"], ["//o/p", "https://a/b"], ["g/", "http://a/b/c"], ["", "http://a/b?c#d"], ["http://z/y", "http://a"], [".", "http://a/b/c"], ["x y", "file:///d/e"]].map(([url, base]) => parts(url, base)));
throws("URLs that are none", 'new URL("nope")', 'new URL("http://")', 'new URL("http://a:99999")', 'new URL("http://a b/")', 'new URL("/x")');
same("URL setters", `(() => { const u = new URL("http://a/b"); u.search = "x=1"; u.searchParams.append("y", "2 3"); u.hash = "z"; u.port = "81"; u.pathname = "p q"; u.hostname = "N"; u.protocol = "https"; u.username = "me"; return u.href; })()`, 'URL.canParse("x")', 'JSON.stringify({ u: new URL("http://a") })');
same("URLSearchParams",
  'new URLSearchParams("?a=1&b=2&a=3&c&=d&%20=+x").toString()', '[...new URLSearchParams({ a: "é&", b: 2 })]', 'new URLSearchParams([["x", "1"], ["x", "2"]]).getAll("x")',
  '(() => { const p = new URLSearchParams("b=1&a=2&b=3"); p.sort(); p.set("b", "x"); p.delete("a"); return [p.toString(), p.has("a"), p.get("zz"), p.size]; })()', 'new URLSearchParams("a=%zz&b=%E2%82%AC").toString()');

same("encoding",
  '[...new TextEncoder().encode("aé€😀\\ud800x")]', 'new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xe2, 0x82, 0xac, 0xff, 0xf0, 0x9f, 0x98, 0x80, 0xe2, 0x82]))',
  '(() => { const d = new TextDecoder(); return [0xe2, 0x82, 0xac, 0x41].map((b) => d.decode(new Uint8Array([b]), { stream: true })); })()',
  'new TextDecoder("utf-16le").decode(new Uint8Array([0x61, 0, 0xac, 0x20]))', 'new TextDecoder("latin1").encoding', 'btoa("hi\\xff")', 'atob(" aGk/ ")', 'new TextEncoder().encodeInto("a€", new Uint8Array(3))',
  'new TextDecoder().decode(new Uint8Array([0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf4, 0x90, 0x80, 0x80]))');
throws("encoding refused", 'new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255]))', 'btoa("€")', 'atob("a")', 'new TextDecoder("klingon")');

same("structuredClone",
  '(() => { const m = new Map([[{ a: 1 }, new Set([1])]]); const c = structuredClone(m); return [c instanceof Map, [...c.keys()][0].a, [...c.values()][0].has(1)]; })()',
  '(() => { const o = { d: new Date(5), r: /x/gi, u: undefined, n: null }; o.self = o; const c = structuredClone(o); return [c.self === c, c !== o, c.d.getTime(), c.r.flags, "u" in c]; })()',
  '(() => { const b = new Uint8Array([1, 2, 3]).subarray(1); const c = structuredClone(b); return [[...c], c.byteOffset, c.buffer.byteLength]; })()',
  '(() => { const e = structuredClone(new RangeError("x")); return [e instanceof RangeError, e.message]; })()', '(() => { class A { x = 1; y() {} } const c = structuredClone(new A()); return [c.x, c.y]; })()',
  '(() => { const a = [1, , 3]; return 1 in structuredClone(a); })()', '(() => { const s = {}; const c = structuredClone([s, s]); return c[0] === c[1]; })()');
throws("structuredClone refuses", "structuredClone(() => {})", "structuredClone({ a: Symbol() })", "structuredClone(Promise.resolve())");

same("AbortSignal and events",
  '(() => { const c = new AbortController(); const log = []; c.signal.addEventListener("abort", () => log.push(1), { once: true }); c.signal.onabort = () => log.push(2); c.abort(); c.abort(); return [log.sort(), c.signal.aborted, c.signal.reason.name]; })()',
  'AbortSignal.abort("why").reason', '(() => { const c = new AbortController(); const s = AbortSignal.any([c.signal, new AbortController().signal]); c.abort("x"); return [s.aborted, s.reason]; })()',
  'new Promise((r) => { const s = AbortSignal.timeout(5); s.addEventListener("abort", () => r(s.reason.name)); })',
  '(() => { const t = new EventTarget(); const log = []; t.addEventListener("x", { handleEvent: (e) => log.push(e.type, e.target === t) }); t.addEventListener("x", (e) => e.preventDefault()); log.push(t.dispatchEvent(new Event("x", { cancelable: true }))); return log; })()');
throws("an aborted signal throws", 'AbortSignal.abort().throwIfAborted()');

same("timers", 'new Promise((r) => setTimeout((a, b) => r(a + b), 1, 2, 3))', 'new Promise((r) => { let n = 0; const t = setInterval(() => { if (++n === 3) { clearInterval(t); r(n); } }, 1); })', 'new Promise((r) => { const t = setTimeout(() => r("no"), 1); clearTimeout(t); setTimeout(() => r("yes"), 10); })', 'new Promise((r) => { const log = []; setTimeout(() => { log.push(3); r(log); }, 0); queueMicrotask(() => log.push(2)); process.nextTick(() => log.push(1)); }).then((l) => l.at(-1))');

same("Buffer",
  'Buffer.from("héllo").toString("hex")', 'Buffer.from("68c3a9", "hex").toString()', 'Buffer.from("aGk_-w", "base64url").toString("base64")', 'Buffer.concat([Buffer.from("a"), Buffer.from("bc")]).toString()', 'Buffer.from("abc").equals(new Uint8Array([97, 98, 99]))',
  'Buffer.from([1, 2, 3, 4]).readUInt32BE(0)', '(() => { const b = Buffer.alloc(16); b.writeInt16LE(-2, 0); b.writeDoubleBE(1.5, 2); b.writeUInt8(255, 10); return b.toString("hex"); })()', 'Buffer.from("abcabc").indexOf("ca")', 'Buffer.from("abcabc").lastIndexOf("b")', 'Buffer.byteLength("é€")', 'JSON.stringify(Buffer.from("a"))',
  'Buffer.from("a€b").slice(1, 4).toString()', 'Buffer.isBuffer(Buffer.alloc(1).subarray(0))', 'Buffer.compare(Buffer.from("a"), Buffer.from("b"))', 'Buffer.alloc(5, "ab").toString()', 'Buffer.from("xyz").toString("latin1", 1)', 'Buffer.from("ÿ", "latin1")[0]', 'Buffer.from("hi", "utf16le").toString("hex")', '`${Buffer.from("str")}`', 'Buffer.from(new Uint16Array([1, 300])).length', 'Buffer.from("a b+c/", "base64").length');

same("crypto", 'crypto.subtle.digest("SHA-256", new TextEncoder().encode("x")).then((b) => Buffer.from(b).toString("hex"))', 'crypto.getRandomValues(new Uint8Array(8)).length', '/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())');

same("English formats",
  '(1234567.891).toLocaleString()', '(0.5).toLocaleString(undefined, { style: "percent" })', '(1234.5).toLocaleString("en-US", { style: "currency", currency: "USD" })', '(1e6).toLocaleString("en-US", { notation: "compact" })', '(5).toLocaleString("en-US", { minimumFractionDigits: 2 })', 'new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 }).format(2.25)', '(-1234).toLocaleString()', '12345678901234567890n.toLocaleString()',
  ...["en-CA", "sv-SE", "en-GB", "de-DE", "fr-FR", "es-ES", "pt-BR", "lt"].flatMap((locale) => [0, 1e12].map((at) => `new Date(${at}).toLocaleDateString("${locale}", { timeZone: "UTC" })`)),
  ...["en-CA", "sv-SE", "en-GB", "de-DE", "fr-FR", "es-ES", "pt-BR"].map((locale) => `new Date(1e12).toLocaleString("${locale}", { timeZone: "UTC" })`),
  'Intl.DateTimeFormat("en-US", { timeZone: "UTC", month: "long", year: "numeric" }).format(new Date(0))', 'Intl.NumberFormat("en-US").format(1234.5)', 'typeof Intl.DateTimeFormat().resolvedOptions().timeZone',
  'new Date(0).toLocaleDateString("en-US", { timeZone: "UTC" })', 'new Date(1e12).toLocaleDateString("en-US", { timeZone: "UTC", year: "numeric", month: "long", day: "numeric" })', 'new Date(1e12).toLocaleDateString("en-US", { timeZone: "UTC", weekday: "short", month: "short", day: "numeric" })', 'new Date(1e12).toLocaleTimeString("en-US", { timeZone: "UTC", hour: "2-digit", minute: "2-digit", hour12: false })', 'new Date(1e12).toLocaleTimeString("en-US", { timeZone: "UTC" }).replace(/\\s/, " ")',
  '["b", "a", "C", "A"].sort((x, y) => x.localeCompare(y))', '["a10", "a9"].sort(new Intl.Collator("en", { numeric: true }).compare)', '[...new Intl.Segmenter("en", { granularity: "grapheme" }).segment("e\\u0301👩‍🚀x")].map((s) => [s.segment, s.index])', 'new Intl.PluralRules("en", { type: "ordinal" }).select(22)', 'new Intl.ListFormat("en", { type: "conjunction" }).format(["a", "b", "c"])');

same("dates of time zones, in parts too",
  ...["America/New_York", "Europe/Berlin", "Asia/Kolkata", "UTC", "Asia/Tokyo", "America/Sao_Paulo", "Pacific/Honolulu", "us/eastern"].flatMap((zone) => [
    `new Date(1e12).toLocaleString("en-US", { timeZone: "${zone}", timeZoneName: "short" }).replace(/\\s/g, " ")`, `new Date(1.01e12).toLocaleTimeString("en-US", { timeZone: "${zone}", hour12: false })`,
    `new Intl.DateTimeFormat("en-US", { timeZone: "${zone}", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }).formatToParts(1e12)`,
  ]),
  'new Date(1e12).toLocaleString("en-US", { timeZone: "Asia/Tokyo", timeZoneName: "longOffset" }).replace(/\\s/g, " ")', 'new Date(0).toLocaleTimeString("en-US", { timeZone: "UTC", hour12: false })', 'new Date(0).toLocaleTimeString("en-GB", { timeZone: "UTC", hour12: false })',
  'new Intl.DateTimeFormat("en-US", { timeZone: "Asia/Tokyo", weekday: "long", year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "numeric" }).formatToParts(1e12).map(({ type, value }) => [type, value.replace(/\\s/g, " ")])',
  ...['{ dateStyle: "full", timeStyle: "long" }', '{ dateStyle: "long", timeStyle: "short" }', '{ minute: "2-digit", second: "2-digit" }', '{ second: "numeric", fractionalSecondDigits: 3 }', '{ month: "long" }', '{ year: "numeric", timeZoneName: "short" }'].map((options) => `new Date(1e12).toLocaleString("en-US", { timeZone: "America/New_York", ...${options} }).replace(/\\s/g, " ")`),
  'new Intl.DateTimeFormat("en-US", { timeZone: "UTC" }).formatRange(0, 1e12).replace(/\\s/g, " ")', 'new Intl.DateTimeFormat("en", { timeZone: "us/eastern" }).resolvedOptions().timeZone',
  '(() => { try { new Intl.DateTimeFormat("en", { timeZone: "Mars/X" }); } catch (e) { return `${e.name} ${e.message}`; } })()', '(() => { try { new Intl.DateTimeFormat("en").format(NaN); } catch (e) { return `${e.name} ${e.message}`; } })()',
  'new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" }).formatToParts(-1234.5)', 'new Intl.NumberFormat("en-US", { notation: "compact" }).formatToParts(12345)', 'new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 1 }).formatToParts(0.125)');

same("Headers, Request, Response",
  '[...new Headers({ B: "2", a: " 1 " })]', '(() => { const h = new Headers(); h.append("x", "1"); h.append("X", "2"); return [h.get("x"), h.has("y")]; })()', 'new Response("hé").text()', 'new Response(JSON.stringify({ a: 1 })).json()', 'new Response(new URLSearchParams({ a: "1" })).headers.get("content-type")', 'Response.json({ a: 1 }).headers.get("content-type")',
  '(async () => { const r = new Response("abc"); const c = r.clone(); return [await r.text(), await c.text(), r.bodyUsed]; })()', '(async () => { let t = ""; for await (const part of new Response("xyz").body) t += new TextDecoder().decode(part); return t; })()', 'new Request("http://a/", { method: "post", body: "x" }).method', 'new Blob(["a", new Uint8Array([98])]).text()',
  '(async () => { const s = new ReadableStream({ start(c) { c.enqueue(1); c.enqueue(2); c.close(); } }); const out = []; for await (const x of s) out.push(x); return out; })()', '(async () => { const s = ReadableStream.from([1, 2]); const r = s.getReader(); return [await r.read(), await r.read(), await r.read()]; })()');

const collect = "const all = async (s) => { const out = []; for await (const x of s) out.push(x); return out; };";
const stream = (body) => `(async () => { ${collect} ${body} })()`;
same("streams that are read, written and piped",
  stream('const s = ReadableStream.from([1, 2, 3]); return all(s.pipeThrough(new TransformStream({ transform(x, c) { if (x !== 2) { c.enqueue(x); c.enqueue(x * 10); } }, flush(c) { c.enqueue("end"); } })));'),
  stream('const log = []; const w = new WritableStream({ start() { log.push("start"); }, async write(x) { await 0; log.push(x); }, close() { log.push("close"); } }); const writer = w.getWriter(); writer.write("a"); writer.write("b"); await writer.close(); await writer.closed; return [log, w.locked];'),
  stream('const s = new ReadableStream({ start(c) { c.enqueue(1); c.error(new RangeError("broke")); } }); const r = s.getReader(); const first = await r.read().catch((e) => e.name); const closed = await r.closed.catch((e) => e.message); return [first, closed];'),
  stream('const t = new TransformStream({ transform() { throw new Error("bad"); } }); const out = ReadableStream.from(["x"]).pipeThrough(t); return all(out).catch((e) => e.message);'),
  stream('let aborted; const w = new WritableStream({ abort(r) { aborted = r.message; } }); const s = new ReadableStream({ pull() { throw new Error("source"); } }); const why = await s.pipeTo(w).catch((e) => e.message); return [why, aborted];'),
  stream('let cancelled; const s = new ReadableStream({ pull(c) { c.enqueue(1); }, cancel(r) { cancelled = r.message; } }); const w = new WritableStream({ write() { throw new Error("sink"); } }); const why = await s.pipeTo(w).catch((e) => e.message); return [why, cancelled];'),
  stream('const stop = new AbortController(); let cancelled = false; const s = new ReadableStream({ pull: () => new Promise((r) => setTimeout(r, 1)), cancel() { cancelled = true; } }); const p = s.pipeTo(new WritableStream(), { signal: stop.signal }).catch((e) => e.name); setTimeout(() => stop.abort(), 5); return [await p, cancelled];'.replace("pull: () => new Promise((r) => setTimeout(r, 1))", "pull: (c) => new Promise((r) => setTimeout(() => { try { c.enqueue(1); } catch {} r(); }, 1))")),
  stream('const [a, b] = ReadableStream.from([1, 2]).tee(); return [await all(a), await all(b)];'),
  stream('const s = ReadableStream.from([1]); const r = s.getReader(); let second; try { s.getReader(); } catch (e) { second = e.name; } r.releaseLock(); const after = await r.read().catch((e) => e.name); return [s.locked, second, after, await all(s)];'),
  stream('let cancelled; const s = new ReadableStream({ pull(c) { c.enqueue(1); }, cancel(r) { cancelled = r ?? null; } }); for await (const x of s) { void x; break; } return [cancelled, s.locked];'),
  stream('const t = new TransformStream({ transform(x, c) { c.enqueue(x); if (x === 2) c.terminate(); } }); const w = t.writable.getWriter(); w.write(1).catch(() => {}); w.write(2).catch(() => {}); const third = w.write(3).catch((e) => e.name); return [await all(t.readable), await third];'),
  stream('const pulls = []; const s = new ReadableStream({ pull(c) { pulls.push(pulls.length); c.enqueue(pulls.length); if (pulls.length === 5) c.close(); } }, new CountQueuingStrategy({ highWaterMark: 3 })); await new Promise((r) => setTimeout(r, 2)); const before = pulls.length; return [before, await all(s)];'),
  stream('const text = await new Response(ReadableStream.from(["hé€", "llo"]).pipeThrough(new TextEncoderStream())).text(); return text;'),
  stream('return all(ReadableStream.from([new Uint8Array([0xe2, 0x82]), new Uint8Array([0xac, 0x61])]).pipeThrough(new TextDecoderStream()));'),
  stream('const packed = ReadableStream.from([new TextEncoder().encode("again and again and again")]).pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip")); return new Response(packed).text();'),
  stream('let wrong; try { new CompressionStream("rar"); } catch (e) { wrong = e.name; } return wrong;'));

same("channels of messages",
  '(async () => { const { port1, port2 } = new MessageChannel(); const got = []; const done = new Promise((r) => (port2.onmessage = (e) => { got.push(e.data); if (got.length === 2) r(); })); const sent = { a: 1 }; port1.postMessage(sent); sent.a = 2; port1.postMessage(new Map([[1, 2]])); await done; port1.close(); return [got[0].a, got[1].get(1)]; })()',
  '(() => { try { new MessagePort(); } catch (e) { return e.name; } })()');

test("fetch reads a body in pieces, and stops when aborted", async () => {
  const { host } = engine;
  host.fetch = () => ({ status: 201, statusText: "Made", headers: [["x-a", "1"]], body: ["one ", "two"].map((text) => Buffer.from(text)) });
  assert.deepEqual(await inner('fetch("http://a/", { method: "POST", body: "b" }).then(async (r) => [r.status, r.ok, r.headers.get("x-a"), await r.text()])'), [201, true, "1", "one two"]);
  host.fetch = () => ({ status: 200, body: (async function* () { yield Buffer.from("a"); await new Promise(() => {}); })() });
  assert.equal(await inner('(async () => { const c = new AbortController(); const r = await fetch("http://a/", { signal: c.signal }); setTimeout(() => c.abort(), 5); try { await r.text(); } catch (e) { return e.name; } })()'), "AbortError");
  host.fetch = () => {
    throw new Error("refused");
  };
  assert.deepEqual(await inner('fetch("http://a/").catch((e) => [e.name, e.message, e.cause.message])'), ["TypeError", "fetch failed", "refused"]);
  assert.match(await inner('fetch("ftp://a/").catch((e) => e.message)'), /http/);
});

test("console and process", async () => {
  const { host } = engine;
  engine.run('console.log("a %s %d %j", "b", 1, { c: 1 }, [1, { d: { e: { f: 1 } } }]); console.error(new Error("x").message); process.stdout.write("out")');
  assert.deepEqual(host.logs.slice(-2).map(({ level, text }) => [level, text]), [["info", 'a b 1 {"c":1} [ 1, { d: { e: [Object] } } ]'], ["error", "x"]]);
  assert.equal(host.output, "out");
  assert.deepEqual(await inner('[process.env.A, process.env.NONE, "A" in process.env, process.platform, process.cwd(), process.argv.length, process.hrtime().length, typeof process.hrtime.bigint()]'), ["1", undefined, true, "linux", host.cwd, 2, 2, "bigint"]);
});

test("an error in a timer is charged, not thrown", async () => {
  engine.run('setTimeout(() => { throw new Error("late") }, 1); setTimeout(async () => { throw new Error("later") }, 1)');
  await until(() => engine.host.reports.length >= 2);
  assert.deepEqual(engine.host.reports.slice(0, 2).map((report) => report.message), ["late", "later"]);
});
