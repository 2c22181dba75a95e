// Extensions that mean harm or are broken everywhere: the host reports, goes on, and cuts off.

import assert from "node:assert/strict";
import test from "node:test";
import { Engine, outside, sleep, until } from "./engine.mjs";

const check = (name, source, run, options) =>
  test(name, async () => {
    const engine = await Engine.start(options);
    try {
      if (source) await engine.extension(source);
      await run(engine, engine.host);
    } finally {
      engine.stop();
    }
  });
const body = (text) => `export default (pi) => { ${text} }`;

check("it throws everywhere", body(`
  const boom = () => { throw new Error("boom"); };
  for (const name of ["input", "context", "session_start", "agent_end", "tool_result", "before_agent_start"]) pi.on(name, boom);
  pi.registerTool({ name: "t", description: "", parameters: {}, execute: boom, renderCall: boom, renderResult: () => ({ render: boom }) });
  pi.registerCommand("c", { handler: boom, getArgumentCompletions: boom });
  pi.registerShortcut("ctrl+x", { handler: boom });
  pi.registerMessageRenderer("m", boom);
  pi.events.on("b", boom);
`), async (engine, host) => {
  for (const name of ["input", "context", "session_start", "agent_end", "tool_result", "before_agent_start"]) {
    const { records } = await engine.dispatch(name, { text: "a", messages: [], systemPrompt: "s" });
    assert.equal(records[0].error.message, "boom");
  }
  assert.equal((await engine.tool("t")).result.isError, true);
  assert.equal((await engine.tool("t")).result.content[0].text, "boom");
  assert.equal((await engine.command("c")).error.path, "command:c");
  assert.equal((await engine.api.completeCommand("c", "")).error.message, "boom");
  assert.equal((await engine.api.callShortcut("CTRL+X")).error.message, "boom");
  assert.equal(engine.api.renderMessage(engine.inside({ customType: "m" }), 10).result, undefined);
  assert.equal(engine.api.renderToolCall("t", "1", {}, 10).result, undefined);
  assert.equal(engine.api.renderToolResult("t", "1", {}, 40).result, undefined);
  assert.ok(host.reports.every((report) => report.path === "/ext/0.js"));
});

check("errors that cannot be shown", body(`
  const evil = { get message() { throw 1 }, get stack() { throw 2 }, toString() { throw 3 } };
  pi.on("input", () => { throw evil });
  pi.on("input", () => { throw null });
  pi.on("input", () => Promise.reject());
  pi.on("input", () => { throw new Error("x".repeat(1e6)) });
`), async (engine) => {
  const { records } = await engine.dispatch("input", { text: "a" });
  assert.equal(records.length, 4);
  assert.ok(records.every((record) => typeof record.error.message === "string" && record.error.message.length < 5000));
});

check("errors in background work are charged, and enough of them switch it off", body(`
  setInterval(() => { throw new Error("tick"); }, 1);
  pi.on("input", () => ({ action: "handled" }));
`), async (engine, host) => {
  await until(() => host.reports.some((report) => report.disabled), "the cut-off");
  const count = host.reports.length;
  assert.equal(host.reports.filter((report) => report.event === "timer").length, engine.api.FAULT_LIMIT);
  assert.equal(host.timers.size, 0);
  await sleep(20);
  assert.equal(host.reports.length, count);
  assert.equal(engine.api.handlers("input").length, 0);
  assert.equal(engine.api.listing()[0].disabled, true);
});

check("lost promises, bus listeners, microtasks and renders", body(`
  pi.events.on("b", async () => { throw new Error("async listener"); });
  pi.on("agent_end", () => { queueMicrotask(() => { throw new Error("microtask"); }); process.nextTick(() => { throw new Error("tick"); }); pi.events.emit("b"); });
`), async (engine, host) => {
  await engine.dispatch("agent_end", {});
  await until(() => host.reports.length === 3, "three reports");
  assert.deepEqual(host.reports.map((report) => report.event).sort(), ["bus:b", "microtask", "nextTick"]);
  const record = outside(engine.api.unhandledRejection(engine.run("new Error('lost')"), 1));
  assert.deepEqual([record.path, record.event, record.message], ["/ext/0.js", "unhandled rejection", "lost"]);
});

check("a handler that never settles leaves the others alone", body('pi.on("input", () => new Promise(() => {})); pi.registerCommand("c", { handler: () => "fine" })'), async (engine) => {
  const waiting = engine.dispatch("input", { text: "a" });
  assert.equal(await Promise.race([waiting, sleep(20).then(() => "still")]), "still");
  assert.equal((await engine.command("c")).result, true);
});

check("a polluted prototype decides nothing", body(`
  const refused = [];
  for (const [key, value] of [["block", true], ["action", "handled"], ["cancel", true], ["messages", []], ["error", { message: "x" }]]) {
    try { Object.prototype[key] = value; } catch (error) { refused.push(error.name); }
  }
  pi.registerCommand("refused", { handler: (_, ctx) => ctx.ui.notify(refused.join()) });
  for (const name of ["tool_call", "input", "session_before_fork", "context"]) pi.on(name, () => ({}));
`), async (engine, host) => {
  assert.equal((await engine.outcome("tool_call", { input: {} })).block, undefined);
  assert.equal((await engine.outcome("input", { text: "a" })).action, "continue");
  assert.deepEqual(await engine.outcome("session_before_fork", {}), {});
  await engine.command("refused");
  assert.match(host.notices[0].message, /TypeError/);
  assert.equal(Object.prototype.block, undefined);
});

check("answers made by a class with inherited fields do not count either", body(`
  class Sneaky { get block() { return true; } }
  pi.on("tool_call", () => new Sneaky());
  pi.on("input", () => JSON.parse('{"__proto__": {"action": "handled"}}'));
`), async (engine) => {
  assert.equal((await engine.outcome("tool_call", { input: {} })).block, undefined);
  assert.equal((await engine.outcome("input", { text: "a" })).action, "continue");
});

check("an answer that throws when it is read blocks a call and costs others nothing", body(`
  const trap = () => new Proxy({}, { getOwnPropertyDescriptor() { throw new Error("trap"); }, get() { throw new Error("trap"); } });
  for (const name of ["tool_call", "input", "tool_result", "before_agent_start", "user_bash", "session_before_fork", "resources_discover", "message_end"]) pi.on(name, () => ({ valueOf: 1, ...{}, get action() { throw new Error("trap"); }, get block() { throw new Error("trap"); }, get content() { throw new Error("trap"); }, get message() { throw new Error("trap"); }, get cancel() { throw new Error("trap"); }, get skillPaths() { throw new Error("trap"); } }));
  pi.on("tool_call", trap);
`), async (engine) => {
  const blocked = await engine.outcome("tool_call", { toolName: "x", input: { a: 1 } });
  assert.deepEqual([blocked.block, blocked.reason], [true, "trap"]);
  assert.deepEqual(await engine.outcome("input", { text: "a" }), { action: "continue" });
  for (const name of ["tool_result", "before_agent_start", "user_bash", "session_before_fork", "resources_discover", "message_end"]) {
    const { records } = await engine.dispatch(name, { content: [], message: { role: "user" }, systemPrompt: "s" });
    assert.equal(records[0].path, "/ext/0.js", name);
  }
});

check("answers that are no data", body(`
  const round = { content: [] }; round.self = round;
  let deep = {}; for (let i = 0; i < 5000; i++) deep = { deep };
  pi.registerTool({ name: "round", description: "", parameters: {}, execute: async () => ({ content: [], details: round }) });
  pi.registerTool({ name: "deep", description: "", parameters: {}, execute: async () => ({ content: [], details: deep }) });
  pi.registerTool({ name: "odd", description: "", parameters: {}, execute: async () => ({ content: [{ type: "text", text: "x" }], details: { f() {}, s: Symbol("s"), n: NaN, b: 1n, d: new Date(0), m: new Map([[1, 2]]) } }) });
  pi.registerTool({ name: "none", description: "", parameters: {}, execute: async () => "text" });
  pi.on("tool_call", (e) => { e.input.self = e.input; });
  pi.on("context", (e) => ({ messages: [{ role: "user", content: () => {} }] }));
`), async (engine) => {
  assert.match((await engine.tool("round")).result.content[0].text, /contains itself/);
  assert.match((await engine.tool("deep")).result.content[0].text, /deep/);
  assert.deepEqual((await engine.tool("odd")).result.details, { n: null, b: "1", d: "1970-01-01T00:00:00.000Z", m: [[1, 2]] });
  assert.match((await engine.tool("none")).result.content[0].text, /content/);
  const { outcome, records } = await engine.dispatch("tool_call", { toolName: "x", input: { a: 1 } });
  assert.equal(outcome.block, true, "what cannot be read back is not executed");
  assert.match(records.at(-1).error.message, /itself/);
  assert.deepEqual((await engine.outcome("context", { messages: [{ role: "user" }] })).messages, [{ role: "user" }]);
});

check("huge messages and lines", body(`
  pi.on("input", () => ({ action: "transform", text: "x".repeat(5e6) }));
  pi.registerMessageRenderer("big", () => ({ render: () => Array(10000).fill("\\x1b[31m" + "y".repeat(500) + "\\nz") }));
`), async (engine) => {
  assert.equal((await engine.outcome("input", { text: "a" })).text.length, 5e6);
  const { result } = engine.api.renderMessage(engine.inside({ customType: "big" }), 40);
  assert.equal(result.length, 2000);
  assert.ok(outside(result).every((line) => !line.includes("\n") && line.replace(/\x1b\[\d*m/g, "").length <= 40));
});

check("it cannot end the program, nor reach its host functions", `
  export default (pi) => pi.registerCommand("c", { handler: (_, ctx) => {
    const tried = [];
    for (const work of [() => process.exit(1), () => process.abort(), () => process.chdir("/"), () => process.kill(1), () => require("child_process").fork("x")]) {
      try { work(); tried.push("went through"); } catch (error) { tried.push(error.code ?? error.name); }
    }
    ctx.ui.notify([...tried, typeof __levainHost, Object.getOwnPropertyNames(globalThis).filter((name) => /levain|host/i.test(name)).length].join());
  } })`, async (engine, host) => {
  assert.equal((await engine.command("c")).error, undefined);
  assert.equal(host.notices[0].message, "ERR_NOT_SUPPORTED,ERR_NOT_SUPPORTED,ERR_NOT_SUPPORTED,EPERM,ERR_NOT_SUPPORTED,undefined,0");
});

check("what the host refuses arrives as an error with a code", `
  import fs from "node:fs";
  import { spawnSync, execSync, spawn } from "node:child_process";
  export default (pi) => pi.registerCommand("c", { handler: async (_, ctx) => {
    const codes = [];
    for (const work of [() => fs.readFileSync("/etc/shadow"), () => fs.writeFileSync("/etc/x", ""), () => execSync("id")]) {
      try { work(); } catch (error) { codes.push(error.code); }
    }
    codes.push(spawnSync("id").error.code);
    codes.push(await new Promise((resolve) => spawn("id").on("error", (error) => resolve(error.code))));
    codes.push(await fs.promises.readFile("/etc/shadow").catch((error) => error.code));
    ctx.ui.notify(codes.join());
  } })`, async (engine, host) => {
  host.denied = (operation, target) => operation === "exec" || String(target).startsWith("/etc");
  await engine.command("c");
  assert.equal(host.notices[0].message, "EACCES,EACCES,EACCES,EACCES,EACCES,EACCES");
});

check("only allowed names are in the environment", body('pi.registerCommand("c", { handler: (_, ctx) => { process.env.NEW = 1; ctx.ui.notify(Object.keys(process.env).sort().join() + (process.env.SECRET ?? "-")); } })'), async (engine, host) => {
  process.env.SECRET = "s";
  await engine.command("c");
  assert.equal(host.notices[0].message, "HOME,NEW,PATH-");
});

check("a component that breaks while it is shown", body(`
  pi.registerCommand("c", { handler: async (_, ctx) => {
    let n = 0;
    ctx.ui.notify(String(await ctx.ui.custom((tui, theme, kb, done) => ({ render: () => { if (n++) throw new Error("draw"); return ["ok", 5, null]; }, handleInput: () => { done(1); throw new Error("key"); } }))));
  } });
  pi.registerCommand("bad", { handler: async (_, ctx) => { await ctx.ui.custom(() => ({})); } });
  pi.registerCommand("worse", { handler: async (_, ctx) => { await ctx.ui.custom(async () => { throw new Error("factory"); }); } });
`), async (engine, host) => {
  const running = engine.command("c");
  const id = await until(() => [...host.places.keys()][0]);
  assert.deepEqual(engine.render(id, 30), ["ok", "5", "null"]);
  assert.match(engine.render(id, 30)[0], /0\.js/);
  engine.input(id, "x");
  await running;
  assert.equal(host.notices[0].message, "1");
  assert.deepEqual(host.reports.map((report) => report.message), ["draw", "key"]);
  assert.match((await engine.command("bad")).error.message, /render/);
  assert.equal((await engine.command("worse")).error.message, "factory");
});
