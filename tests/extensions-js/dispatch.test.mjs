// Merging of answers, event by event, and the records that say what each handler did.

import assert from "node:assert/strict";
import test from "node:test";
import { Engine, outside } from "./engine.mjs";

/** An engine with one extension per body, each body run with `pi`. */
async function withExtensions(...bodies) {
  const engine = await Engine.start();
  for (const body of bodies) await engine.extension(`export default (pi) => { ${body} }`);
  return engine;
}
const check = (name, bodies, run) =>
  test(name, async () => {
    const engine = await withExtensions(...bodies);
    try {
      await run(engine);
    } finally {
      engine.stop();
    }
  });

check("input: transforms chain, images stay unless given", [
  'pi.on("input", (e) => ({ action: "transform", text: e.text + "1" }))',
  'pi.on("input", (e) => ({ action: "transform", text: e.text + "2", images: e.images.slice(1) }))',
  'pi.on("input", (e) => { if (e.text !== "a12" || e.images.length !== 1) throw new Error(e.text) })',
], async (engine) => {
  const { outcome, records } = await engine.dispatch("input", { text: "a", images: [1, 2], source: "interactive" });
  assert.deepEqual(outcome, { action: "transform", text: "a12", images: [2] });
  assert.deepEqual(records.map((record) => record.error), [undefined, undefined, undefined]);
});

check("input: handled stops the chain", ['pi.on("input", () => ({ action: "handled" }))', 'pi.on("input", () => { throw new Error("asked") })'], async (engine) => {
  const { outcome, records } = await engine.dispatch("input", { text: "a" });
  assert.deepEqual(outcome, { action: "handled" });
  assert.equal(records.length, 1);
});

check("input: a handler that throws is skipped and named", ['pi.on("input", () => { throw new TypeError("broken") })', 'pi.on("input", () => ({ action: "transform", text: "b" }))'], async (engine) => {
  const { outcome, records } = await engine.dispatch("input", { text: "a" });
  assert.equal(outcome.text, "b");
  assert.equal(records[0].error.message, "broken");
  assert.equal(records[0].error.path, "/ext/0.js");
  assert.match(records[0].error.stack, /ext\/0\.js/);
});

check("before_agent_start: prompts chain, messages gather, an empty prompt is none", [
  'pi.on("before_agent_start", (e) => ({ systemPrompt: e.systemPrompt + "1", message: { customType: "a", content: "x", display: false } }))',
  'pi.on("before_agent_start", (e) => ({ systemPrompt: e.systemPrompt + "2", message: { customType: "b", content: "y", display: true } }))',
], async (engine) => {
  const outcome = await engine.outcome("before_agent_start", { prompt: "p", systemPrompt: "s" });
  assert.equal(outcome.systemPrompt, "s12");
  assert.deepEqual(outcome.messages.map((message) => [message.customType, message.path]), [["a", "/ext/0.js"], ["b", "/ext/1.js"]]);
});
check("before_agent_start: empty", ['pi.on("before_agent_start", () => ({ systemPrompt: "" }))'], async (engine) => {
  assert.deepEqual(await engine.outcome("before_agent_start", { systemPrompt: "s" }), { messages: [] });
});

check("context: one copy for the chain; edits in place count, the caller's list does not change", [
  'pi.on("context", (e) => { e.messages[0].content = "edited"; e.messages.push({ role: "user", content: "new" }) })',
  'pi.on("context", (e) => ({ messages: e.messages.filter((m) => m.content !== "drop") }))',
], async (engine) => {
  const messages = engine.inside([{ role: "user", content: "a" }, { role: "user", content: "drop" }]);
  const { outcome } = outside(await engine.api.dispatch("context", { messages }));
  assert.deepEqual(outcome.messages.map((message) => message.content), ["edited", "new"]);
  assert.equal(messages.length, 2);
  assert.equal(messages[0].content, "a");
});

check("tool_call: input is shared and handed back; the first block stops", [
  'pi.on("tool_call", (e) => { e.input.command += " -l" })',
  'pi.on("tool_call", (e) => (e.input.command.startsWith("rm") ? { block: true } : { terminate: true }))',
  'pi.on("tool_call", (e) => { e.input.seen = true })',
], async (engine) => {
  assert.deepEqual(await engine.outcome("tool_call", { toolName: "bash", input: { command: "ls" } }), { terminate: true, input: { command: "ls -l", seen: true } });
  assert.deepEqual(await engine.outcome("tool_call", { toolName: "bash", input: { command: "rm" } }), { block: true, reason: "Tool execution was blocked", input: { command: "rm -l" } });
});

check("tool_call: a throw blocks, and later handlers are not asked", ['pi.on("tool_call", async () => { throw new Error("oops") })', 'pi.on("tool_call", (e) => { e.input.asked = true })'], async (engine) => {
  const outcome = await engine.outcome("tool_call", { toolName: "bash", input: {} });
  assert.deepEqual(outcome, { block: true, reason: "oops", failed: true, input: {} });
});

check("tool_result: fields override one by one and are seen", [
  'pi.on("tool_result", () => ({ content: [{ type: "text", text: "new" }] }))',
  'pi.on("tool_result", (e) => ({ details: { from: e.content[0].text }, isError: true }))',
], async (engine) => {
  const outcome = await engine.outcome("tool_result", { toolName: "x", content: [], details: 1, isError: false });
  assert.deepEqual(outcome, { content: [{ type: "text", text: "new" }], details: { from: "new" }, isError: true });
});
check("tool_result: nobody says anything", ['pi.on("tool_result", () => {})'], async (engine) => {
  assert.equal(await engine.outcome("tool_result", { toolName: "x", content: [] }), undefined);
});

check("tool_result: what is edited in place counts, an edit of one handler by itself as well", [
  'pi.on("tool_result", (e) => { e.content[0].text = "redacted"; e.note = 1 })',
  'pi.on("tool_result", (e) => { e.details.seen = [e.content[0].text, e.note] })',
  'pi.on("tool_result", (e) => { e.isError = true })',
], async (engine) => {
  const payload = { toolName: "x", content: [{ type: "text", text: "secret" }], details: {}, isError: false };
  // A field put in the place of another is seen by the next handlers, and counts once one answers.
  assert.deepEqual(await engine.outcome("tool_result", payload), { content: [{ type: "text", text: "redacted" }], details: { seen: ["redacted", 1] }, isError: false });
  const [first, second, third] = outside(engine.api.handlers("tool_result"));
  const alone = async ({ id }) => outside(await engine.api.callHandler(id, "tool_result", engine.inside(payload))).result;
  assert.deepEqual(await alone(first), { content: [{ type: "text", text: "redacted" }] });
  assert.deepEqual(await alone(second), { details: { seen: ["secret", null] } });
  assert.equal(await alone(third), undefined);
});
check("tool_result: edited and answered", ['pi.on("tool_result", (e) => { e.content.push({ type: "text", text: "more" }); e.isError = true; return { details: 2 } })'], async (engine) => {
  const payload = { toolName: "x", content: [], details: 1, isError: false };
  const outcome = { content: [{ type: "text", text: "more" }], details: 2, isError: true };
  assert.deepEqual(await engine.outcome("tool_result", payload), outcome);
  const [{ id }] = outside(engine.api.handlers("tool_result"));
  assert.deepEqual(outside(await engine.api.callHandler(id, "tool_result", engine.inside(payload))).result, outcome);
});

check("before_agent_start: ctx.getSystemPrompt is the prompt as it is now, elsewhere the session's", [
  'pi.on("before_agent_start", (e) => ({ systemPrompt: e.systemPrompt + "1" }))',
  'pi.on("before_agent_start", async (e, ctx) => { await null; return { systemPrompt: ctx.getSystemPrompt() + "2" } })',
  'pi.on("agent_start", (e, ctx) => { pi.setSessionName(ctx.getSystemPrompt()) })',
], async (engine) => {
  assert.equal((await engine.outcome("before_agent_start", { prompt: "p", systemPrompt: "s" })).systemPrompt, "s12");
  await engine.dispatch("agent_start");
  assert.equal(engine.host.name, "base prompt");
});

check("message_end: what is edited in place counts; a text is no message", [
  'pi.on("message_end", (e) => { e.message.content[0].text = "edited" })',
  'pi.on("message_end", () => ({ message: "x" }))',
], async (engine) => {
  const { outcome, records } = await engine.dispatch("message_end", { message: { role: "assistant", content: [{ type: "text", text: "said" }] } });
  assert.deepEqual(outcome, { message: { role: "assistant", content: [{ type: "text", text: "edited" }] } });
  assert.match(records[1].error.message, /role/);
});

check("user_bash: whoever says anything takes the command", ['pi.on("user_bash", () => true)', 'pi.on("user_bash", () => ({ result: { output: "late" } }))'], async (engine) => {
  assert.deepEqual(await engine.outcome("user_bash", { command: "c" }), {});
});

check("message_end: a replacement keeps its role", [
  'pi.on("message_end", (e) => ({ message: { ...e.message, content: "new" } }))',
  'pi.on("message_end", (e) => ({ message: { role: "user", content: "no" } }))',
], async (engine) => {
  const { outcome, records } = await engine.dispatch("message_end", { message: { role: "assistant", content: "old" } });
  assert.deepEqual(outcome, { message: { role: "assistant", content: "new" } });
  assert.match(records[1].error.message, /role/);
});

check("session_before_*: the last answer wins whole, a cancel stops", [
  'pi.on("session_before_tree", () => ({ label: "one", customInstructions: "x" }))',
  'pi.on("session_before_tree", () => ({ label: "two" }))',
  'pi.on("session_before_fork", () => ({ cancel: true }))',
  'pi.on("session_before_fork", () => ({ skipConversationRestore: true }))',
], async (engine) => {
  assert.deepEqual(await engine.outcome("session_before_tree", { preparation: {} }), { label: "two" });
  assert.deepEqual(await engine.outcome("session_before_fork", { entryId: "x" }), { cancel: true });
});

check("user_bash, resources_discover, session_directory, provider events", [
  'pi.on("user_bash", () => undefined); pi.on("user_bash", () => ({ result: { output: "x", exitCode: 0 } })); pi.on("user_bash", () => ({ result: { output: "y" } }))',
  'pi.on("resources_discover", () => ({ skillPaths: ["/a"], themePaths: [3, "/t"] })); pi.on("session_directory", (e, ctx) => ({ sessionDir: ctx === undefined ? e.cwd + "/s" : "ctx" }))',
  'pi.on("before_provider_request", (e) => ({ ...e.payload, a: 1 })); pi.on("before_provider_request", (e) => { e.payload.b = 2 }); pi.on("before_provider_headers", (e) => { e.headers.x = "1" })',
  'pi.on("something_new", () => 7); pi.on("something_new", () => undefined)',
], async (engine) => {
  assert.deepEqual(await engine.outcome("user_bash", { command: "c" }), { result: { output: "x", exitCode: 0 } });
  assert.deepEqual(await engine.outcome("resources_discover", {}), { skillPaths: [{ path: "/a", extension: "/ext/1.js" }], promptPaths: [], themePaths: [{ path: "/t", extension: "/ext/1.js" }] });
  assert.deepEqual(await engine.outcome("session_directory", { cwd: "/c" }), { sessionDir: "/c/s" });
  assert.deepEqual(await engine.outcome("before_provider_request", { payload: { z: 0 } }), { payload: { z: 0, a: 1, b: 2 } });
  assert.deepEqual(await engine.outcome("before_provider_headers", { headers: {} }), { headers: { x: "1" } });
  assert.deepEqual(await engine.outcome("something_new", {}), { answers: [{ path: "/ext/3.js", answer: 7 }] });
});

check("handlers one by one, as a host that merges itself calls them", ['pi.on("tool_call", (e) => { e.input.n++; return { reason: "r" } })', 'pi.on("tool_call", () => { throw "text" })'], async (engine) => {
  const list = outside(engine.api.handlers("tool_call"));
  assert.deepEqual(list.map(({ path, index }) => [path, index]), [["/ext/0.js", 0], ["/ext/1.js", 0]]);
  const first = outside(await engine.api.callHandler(list[0].id, "tool_call", engine.inside({ input: { n: 1 } })));
  assert.deepEqual([first.result, first.value], [{ reason: "r" }, { n: 2 }]);
  const second = outside(await engine.api.callHandler(list[1].id, "tool_call", engine.inside({ input: {} })));
  assert.equal(second.error.message, "text");
  assert.equal(outside(await engine.api.callHandler(99, "tool_call", {})).error.message, "no such handler");
});

check("a chain can be left early with the value so far", ['pi.on("input", (e) => ({ action: "transform", text: e.text + "1" }))', 'pi.on("input", () => new Promise(() => {}))'], async (engine) => {
  const { chain } = engine.api.openChain("input", engine.inside({ text: "a" }));
  assert.equal((await engine.api.stepChain(chain)).stop, false);
  void engine.api.stepChain(chain);
  assert.equal(outside(engine.api.closeChain(chain)).outcome.text, "a1");
});

check("a session that changes is told in the words of both generations", [
  'globalThis.log = []; pi.on("session_start", (e) => { log.push("new:" + e.reason) })',
  'pi.on("session_start", () => { log.push("old:start") }); pi.on("session_switch", (e) => { log.push("old:" + e.reason) })',
], async (engine) => {
  await engine.api.announceSession(engine.inside({ reason: "startup" }));
  await engine.api.announceSession(engine.inside({ reason: "resume", previousSessionFile: "/x" }));
  assert.deepEqual(outside(engine.run("log")), ["new:startup", "old:start", "old:resume", "new:resume"]);
});

check("registration: clashes, names, order", [
  'pi.registerCommand("x", { handler() {} }); pi.registerTool({ name: "t", description: "first", parameters: {}, execute() {} }); pi.registerShortcut("Ctrl+X", { handler() {} }); pi.registerFlag("f", { type: "string", default: "one" })',
  'pi.registerCommand("x", { handler() {} }); pi.registerTool({ name: "t", description: "second", parameters: {}, execute() {} }); pi.registerShortcut("ctrl+x", { description: "last", handler() {} }); pi.registerFlag("f", { type: "boolean", default: true }); globalThis.seen = () => pi.getFlag("f")',
], async (engine) => {
  assert.deepEqual(outside(engine.api.commandDescriptions()).map((command) => command.name), ["x:1", "x:2"]);
  assert.equal(engine.api.toolDescriptions()[0].description, "first");
  assert.equal(engine.api.shortcutDescriptions()[0].description, "last");
  assert.equal(engine.api.flagDescriptions()[0].default, "one");
  assert.equal(engine.run("seen")(), "one", "the first preset holds for all");
  assert.deepEqual(outside(engine.api.clashes()).map(({ kind, used }) => [kind, used]), [["tools", "/ext/0.js"], ["commands", "/ext/0.js"], ["flags", "/ext/0.js"], ["shortcuts", "/ext/1.js"]]);
});

check("commands: a number that somebody took is passed over", [
  'pi.registerCommand("x", { handler() {} }); pi.registerCommand("x:2", { handler() {} })',
  'pi.registerCommand("x", { handler() {} })',
], async (engine) => {
  assert.deepEqual(outside(engine.api.commandDescriptions()).map((command) => command.name), ["x:1", "x:2", "x:3"]);
});

check("providers: what is registered again is put over what was there; one that cannot be is reported, and the file loads", [
  'pi.registerProvider("p", { baseUrl: "http://x" }); pi.registerProvider("p", { headers: { a: "1" } }); pi.registerProvider("q", { models: [{ id: "m" }] })',
], async (engine) => {
  assert.deepEqual(outside(engine.api.providerDescriptions()).map(({ name, baseUrl, headers, mistake }) => [name, baseUrl, headers, mistake]), [
    ["p", "http://x", { a: "1" }, undefined],
    ["q", undefined, undefined, 'Provider q: "baseUrl" is required when defining models.'],
  ]);
  assert.deepEqual(engine.host.reports.map(({ event, message }) => [event, message]), [["register_provider", 'Provider q: "baseUrl" is required when defining models.']]);
});

check("message_update: the answer so far crosses once", ['globalThis.told = []; pi.on("message_update", ({ message, assistantMessageEvent: piece }) => { told.push([piece.delta, piece.partial === message]) })'], async (engine) => {
  const message = { role: "assistant", content: [{ type: "text", text: "ab" }] };
  const piece = { type: "text_delta", contentIndex: 0, delta: "b" };
  for (const partial of [true, undefined]) await engine.dispatch("message_update", { message, assistantMessageEvent: { ...piece, partial } });
  assert.deepEqual(outside(engine.run("told")), [["b", true], ["b", false]]);
});

check("the bus: numbers are names", ['globalThis.heard = []; pi.events.on("1", (data) => { heard.push(data) }); pi.events.emit(1, "a"); pi.events.on(2, () => { heard.push("b") }); pi.events.emit("2")'], async (engine) => {
  assert.deepEqual(outside(engine.run("heard")), ["a", "b"]);
});

test("loading: actions throw, a bad export is named, a failure leaves nothing", async () => {
  const engine = await Engine.start();
  try {
    const load = async (name, source) => outside(await engine.load(name, source));
    assert.match((await load("/a.js", "export default (pi) => { pi.on('x', () => {}); pi.sendUserMessage('hi') }")).error.message, /sendUserMessage/);
    assert.match((await load("/b.js", "export const x = 1")).error.message, /\/b\.js is not a function/);
    assert.match((await load("/c.js", "export default (pi) => { pi.registerTool({ name: 'x' }) }")).error.message, /execute/);
    assert.match((await load("/d.js", "import { nothing } from 'left-pad-2'; export default () => {}")).error.message, /left-pad-2/);
    assert.match((await load("/e.js", "export default (pi) => {")).error.message, /Unexpected/);
    assert.equal((await load("/f.js", "export default async (pi) => { try { await pi.setModel({}) } catch { pi.registerCommand('ok', { handler() {} }) } }")).error, undefined);
    assert.deepEqual(outside(engine.api.listing()).map(({ path, commands }) => [path, commands]), [["/f.js", ["ok"]]]);
    assert.equal(engine.api.handlers("x").length, 0);
  } finally {
    engine.stop();
  }
});

check("speed: ten handlers, and ten over a long message list", Array.from({ length: 10 }, () => 'pi.on("tool_call", async () => {}); pi.on("context", async () => {})'), async (engine) => {
  const payload = engine.inside({ toolName: "x", input: {} });
  for (let i = 0; i < 200; i++) await engine.api.dispatch("tool_call", payload);
  const start = performance.now();
  for (let i = 0; i < 500; i++) await engine.api.dispatch("tool_call", payload);
  const each = (performance.now() - start) / 500;
  const messages = engine.inside({ messages: Array.from({ length: 100 }, () => ({ role: "user", content: [{ type: "text", text: "x".repeat(2000) }] })) });
  const began = performance.now();
  for (let i = 0; i < 20; i++) await engine.api.dispatch("context", messages);
  const long = (performance.now() - began) / 20;
  console.log(`# ten handlers: ${(each * 1000).toFixed(0)} µs; context of 200 kB: ${long.toFixed(2)} ms`);
  assert.ok(each < 5 && long < 50);
});
