// Everything that ships, and every example, in the real engine.

import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { ASSETS, HAS_TYPESCRIPT } from "./engine.mjs";
import { EXAMPLES, HAS_EXAMPLES, exampleUnits } from "./examples.mjs";
import { QuickJsEngine, quickJs } from "./quickjs.mjs";
import { folder } from "./support.mjs";

const module = await quickJs();
const skip = module === undefined && "the engine is not installed";
// The resolver is the same code outside, so that the engine need not be entered while it links.
const bare = { info: () => ({}), now: () => 0, cwd: () => "/" };
globalThis.__levainHost = bare;
const resolver = await import(path.join(ASSETS, "loader/resolve.js"));
const start = (options) => {
  QuickJsEngine.prototype.resolver = resolver;
  return new QuickJsEngine(module, options);
};

test("the globals work there", { skip }, async () => {
  const engine = start();
  try {
    assert.deepEqual(await engine.wait(`[
      new URL("../x?y=1", "http://a/b/c/d").href, new TextDecoder().decode(new TextEncoder().encode("é€😀")), Buffer.from("aGk", "base64").toString(), (1234567.5).toLocaleString(), structuredClone(new Map([[1, { a: [2] }]])).get(1).a[0],
      AbortSignal.abort("x").reason, [...new Intl.Segmenter().segment("e\\u0301x")].length, new Date(0).toLocaleDateString("en-US", { timeZone: "UTC" }), typeof crypto.randomUUID(), btoa("hi"), new Headers({ A: "1" }).get("a"), await new Response("body").text(),
      await new Promise((done) => setTimeout(() => done("timer"), 1)), Buffer.from(await crypto.subtle.digest("SHA-256", new Uint8Array(0))).toString("hex").slice(0, 8), process.env.HOME === process.cwd(),
    ]`), ["http://a/b/x?y=1", "é€😀", "hi", "1,234,567.5", 2, "x", 2, "1/1/1970", "string", "aGk=", "1", "body", "timer", "e3b0c442", true]);
  } finally {
    engine.stop();
  }
});

test("handlers, tools, components and errors work there", { skip }, async () => {
  const engine = start();
  try {
    engine.module(`globalThis.make = (pi) => {
      pi.on("input", async (e) => ({ action: "transform", text: e.text + "!" }));
      pi.on("tool_call", () => { throw new Error("no"); });
      pi.registerTool({ name: "t", description: "", parameters: {}, execute: async (id, params) => ({ content: [{ type: "text", text: String(params.n + 1) }] }) });
      pi.registerCommand("c", { handler: async (args, ctx) => { const { stdout } = await pi.exec("echo", [args]); ctx.ui.notify(stdout.trim()); } });
      setTimeout(() => { throw new Error("late"); }, 1);
    };`);
    assert.deepEqual((await engine.wait('api.load("/e.js", () => ({ default: make }))')).extension.tools, ["t"]);
    assert.equal((await engine.wait('api.dispatch("input", { text: "a" })')).outcome.text, "a!");
    const { outcome, records } = await engine.wait('api.dispatch("tool_call", { input: { a: 1 } })');
    assert.deepEqual(outcome, { block: true, reason: "no", failed: true, input: { a: 1 } });
    assert.match(records[0].error.stack, /main\.js/);
    assert.equal((await engine.wait('api.callTool("t", "1", { n: 1 })')).result.content[0].text, "2");
    await engine.wait('api.callCommand("c", "hello")');
    assert.equal(engine.host.notices[0].message, "hello");
    await engine.wait("new Promise((done) => setTimeout(done, 20))");
    assert.equal(engine.host.reports[0].message, "late");
  } finally {
    engine.stop();
  }
});

test("every example loads there", { skip: skip || (!(HAS_EXAMPLES && HAS_TYPESCRIPT) && "the examples are not installed") }, async () => {
  const engine = start({ cwd: folder() });
  try {
    const refused = [];
    const units = exampleUnits(EXAMPLES);
    for (const { name, file } of units) {
      const { error } = await engine.load(file);
      if (error) refused.push(`${name}: ${error.message}`);
    }
    console.log(`# ${units.length - refused.length} of ${units.length}`);
    // Packages of their own may be missing on this machine; nothing else may.
    assert.deepEqual(refused.filter((line) => !/Cannot find module '(ms|@anthropic-ai\/[\w-]+)'/.test(line)), []);

    // All of them together live through one run of a session, and answer as they do elsewhere.
    const message = { role: "assistant", content: [{ type: "text", text: "done" }], usage: { input: 1, output: 1, cost: { total: 0 } }, stopReason: "stop" };
    engine.host.onDialog = () => null;
    engine.host.onCall["ui.available"] = () => false;
    const all = {
      session_start: { reason: "startup" }, input: { text: "?quick why", source: "interactive" }, before_agent_start: { prompt: "p", systemPrompt: "s" }, agent_start: {},
      turn_start: { turnIndex: 0, timestamp: 0 }, context: { messages: [{ role: "user", content: "x" }] }, tool_call: { toolName: "write", toolCallId: "1", input: { path: ".env" } },
      tool_result: { toolName: "bash", toolCallId: "1", input: {}, content: [], isError: false }, turn_end: { turnIndex: 0, message, toolResults: [] }, agent_end: { messages: [message] },
      model_select: { model: { id: "m", provider: "p" }, source: "set" }, resources_discover: { cwd: "/", reason: "startup" }, session_shutdown: {},
    };
    const outcomes = {};
    for (const [event, payload] of Object.entries(all)) {
      const { outcome, records } = await engine.wait(`api.dispatch(${JSON.stringify(event)}, ${JSON.stringify(payload)})`);
      outcomes[event] = outcome;
      // file-trigger watches a fixed file that is not there.
      assert.deepEqual(records.filter((record) => record.error && !/agent-trigger/.test(record.error.message)).map((record) => `${record.path}: ${record.error.message}`), [], event);
    }
    assert.match(outcomes.input.text, /why$/);
    assert.equal(outcomes.tool_call.block, true);
    assert.equal(outcomes.resources_discover.skillPaths.length, 1);
    assert.deepEqual(engine.host.reports, []);
    assert.deepEqual(await engine.wait('api.callTool("hello", "1", { name: "Ada" })').then(({ result }) => result.details), { greeted: "Ada" });
    await engine.wait('api.callCommand("pirate", "")');
    assert.match((await engine.wait('api.dispatch("before_agent_start", { prompt: "p", systemPrompt: "s" })')).outcome.systemPrompt, /pirate/i);
  } finally {
    engine.stop();
  }
});
