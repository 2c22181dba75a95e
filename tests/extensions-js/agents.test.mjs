// Agents and agent sessions that extensions run: the same scripts in pi's own packages and in ours, and what ours is held to.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { Engine, outside } from "./engine.mjs";

const engine = await Engine.start({});
test.after(() => engine.stop());
await engine.extension(`
  import * as core from "@mariozechner/pi-agent-core"; import * as ai from "@mariozechner/pi-ai"; import * as ca from "@mariozechner/pi-coding-agent";
  globalThis.A = { core, ai, ca };
  export default () => {};`);
const inner = (code) => Promise.resolve(engine.run(`(async () => (${code}))()`)).then(outside);

const oracle = process.env.LEVAIN_PI_ORACLE && path.join(process.env.LEVAIN_PI_ORACLE, "../pi-agent-core");
const skip = !(oracle && fs.existsSync(oracle)) && "pi-agent-core is not installed (LEVAIN_PI_ORACLE)";

// What is run in both: `core` is pi-agent-core, `ai` pi-ai, `Type` makes schemas. It gives what is to be the same.
const PREPARE = `
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const model = { id: "m", name: "m", api: "x", provider: "p", baseUrl: "", reasoning: true, input: ["text"], cost: {}, contextWindow: 1000, maxTokens: 100 };
  const say = (text) => ({ type: "text", text });
  const call = (name, args, id = name) => ({ type: "toolCall", id, name, arguments: args });
  const answer = (content, stopReason = "stop") => ({ role: "assistant", content, api: "x", provider: "p", model: "m", usage, stopReason, timestamp: 0 });
  /** A model that answers these in turn, in pieces where they have some. */
  const scripted = (answers, seen = []) => (asked, context, options) => {
    const events = ai.createAssistantMessageEventStream();
    seen.push([context.messages.map((m) => m.role), (context.tools ?? []).map((t) => t.name), context.systemPrompt, options.reasoning]);
    const message = answers.shift();
    queueMicrotask(() => {
      if (message instanceof Error) {
        const failed = { ...answer([], "error"), errorMessage: message.message };
        return events.push({ type: "error", reason: "error", error: failed });
      }
      if (message.inPieces) {
        events.push({ type: "start", partial: answer([]) });
        events.push({ type: "text_start", contentIndex: 0, partial: answer([say("")]) });
        events.push({ type: "text_delta", contentIndex: 0, delta: "hi", partial: answer([say("hi")]) });
        events.push({ type: "text_end", contentIndex: 0, content: "hi", partial: answer([say("hi")]) });
      }
      const { inPieces, ...whole } = message;
      events.push({ type: "done", reason: whole.stopReason, message: whole });
    });
    return events;
  };
  const log = [];
  const brief = (event) => {
    const { type, message, toolResults, messages, result, isError, partialResult, args, toolName, assistantMessageEvent } = event;
    return [type, message?.role, message?.content?.map?.((c) => c.text ?? c.name), toolResults?.length, messages?.length, result?.content?.[0]?.text, isError, partialResult?.content?.[0]?.text, args, toolName, assistantMessageEvent?.type].map((x) => x ?? null);
  };
  const parameters = Type.Object({ n: Type.Number() });
  const tool = (name, more) => ({ name, label: name, description: name, parameters, execute: async (id, { n }, signal, update) => { update?.({ content: [say("at " + n)], details: {} }); return { content: [say("got " + n)], details: { n } }; }, ...more });
`;
const SCRIPTS = {
  "a turn in pieces": `
    const agent = new core.Agent({ initialState: { model, systemPrompt: "Be kind.", thinkingLevel: "high" }, streamFn: scripted([{ ...answer([say("hi")]), inPieces: true }], log) });
    agent.subscribe((event) => void log.push(brief(event)));
    await agent.prompt("hello");
    return [log, agent.state.messages.map((m) => m.role), agent.state.isStreaming];`,
  "calls side by side, one unknown, one with wrong arguments, one blocked": `
    const agent = new core.Agent({ initialState: { model, tools: [tool("a"), tool("b"), tool("c")] }, streamFn: scripted([answer([call("a", { n: 1 }), call("none", {}), call("b", { n: "x" }), call("c", { n: 3 })], "toolUse"), answer([say("done")])], log),
      beforeToolCall: async ({ toolCall }) => (toolCall.name === "c" ? { block: true, reason: "no" } : undefined), afterToolCall: async ({ toolCall }) => (toolCall.name === "a" ? { content: [say("changed")] } : undefined) });
    agent.subscribe((event) => void log.push(brief(event)));
    await agent.prompt([{ role: "user", content: "go", timestamp: 0 }]);
    return [log.map((row) => row.map((x) => (/^Validation/.test(String(x)) ? "Validation" : x))), agent.state.messages.map((m) => [m.role, m.isError ?? null])];`,
  "calls one after the other": `
    const agent = new core.Agent({ initialState: { model, tools: [tool("a"), tool("b", { executionMode: "sequential" })] }, streamFn: scripted([answer([call("a", { n: 1 }), call("b", { n: 2 })], "toolUse"), answer([say("done")])]) });
    agent.subscribe((event) => void log.push(brief(event)));
    await agent.prompt("go");
    return log;`,
  "a tool that throws, one that ends the run": `
    const agent = new core.Agent({ initialState: { model, tools: [tool("a", { execute: async () => { throw new Error("broke"); } }), tool("z", { execute: async () => ({ content: [say("last")], details: {}, terminate: true }) })] },
      streamFn: scripted([answer([call("a", { n: 1 })], "toolUse"), answer([call("z", { n: 1 })], "toolUse"), answer([say("never")])]) });
    agent.subscribe((event) => void log.push(brief(event)));
    await agent.prompt("go");
    return log;`,
  "what steers and what follows": `
    const agent = new core.Agent({ initialState: { model, tools: [tool("a")] }, streamFn: scripted([answer([call("a", { n: 1 })], "toolUse"), answer([say("two")]), answer([say("three")]), answer([say("four")])], log) });
    agent.subscribe((event) => { log.push(brief(event)); if (event.type === "tool_execution_start") { agent.steer({ role: "user", content: [say("steer 1")], timestamp: 0 }); agent.steer({ role: "user", content: [say("steer 2")], timestamp: 0 }); agent.followUp({ role: "user", content: [say("later")], timestamp: 0 }); } });
    await agent.prompt("go");
    return [log, agent.hasQueuedMessages()];`,
  "an error of the model, then going on": `
    const agent = new core.Agent({ initialState: { model }, streamFn: scripted([new Error("overloaded"), answer([say("well")])]) });
    agent.subscribe((event) => void log.push(brief(event)));
    await agent.prompt("go");
    const first = agent.state.errorMessage;
    const refused = await agent.continue().catch((error) => error.message);
    agent.state.messages = agent.state.messages.slice(0, -1);
    await agent.continue();
    return [log, first, refused, agent.state.errorMessage ?? null];`,
  "a stream that throws, and being stopped": `
    const agent = new core.Agent({ initialState: { model }, streamFn: () => { throw new Error("no stream"); } });
    agent.subscribe((event) => void log.push(brief(event)));
    await agent.prompt("go");
    let begun;
    const asked = new Promise((resolve) => { begun = resolve; });
    const second = new core.Agent({ initialState: { model }, streamFn: (m, c, { signal }) => { begun(); const events = ai.createAssistantMessageEventStream(); signal.addEventListener("abort", () => events.push({ type: "error", reason: "aborted", error: answer([], "aborted") })); return events; } });
    second.subscribe((event) => void log.push(brief(event)));
    const run = second.prompt("go");
    const busy = await second.prompt("again").catch((error) => error.message);
    await asked;
    second.abort();
    await run;
    await second.waitForIdle();
    return [log, agent.state.errorMessage, busy, second.state.messages.at(-1).stopReason];`,
  "loops as streams": `
    const config = { model, convertToLlm: (messages) => messages, shouldStopAfterTurn: ({ toolResults }) => toolResults.length > 0 };
    const events = core.agentLoop([{ role: "user", content: "go", timestamp: 0 }], { systemPrompt: "", messages: [], tools: [tool("a")] }, config, undefined, scripted([answer([call("a", { n: 1 })], "toolUse")]));
    for await (const event of events) log.push(brief(event));
    const after = (await events.result()).map((m) => m.role);
    let refused;
    try { core.agentLoopContinue({ messages: [] }, config); } catch (error) { refused = error.message; }
    return [log, after, refused];`,
};

for (const [title, script] of Object.entries(SCRIPTS)) {
  test(`agents as pi's own: ${title}`, { skip }, async () => {
    const core = await import(pathToFileURL(path.join(oracle, "dist/index.js")));
    const ai = await import(pathToFileURL(path.join(oracle, "../pi-ai/dist/index.js")));
    const run = `${PREPARE}${script}`;
    const theirs = await new Function("core", "ai", "Type", `return (async () => {${run}})()`)(core, ai, ai.Type);
    const ours = await inner(`(async () => { const { core, ai } = A; const { Type } = ai; ${run} })()`);
    assert.deepEqual(ours, outside(theirs));
  });
}

// A session with the host's models and tools, which are scripted here.
const answer = (content, stopReason = "stop") => ({ role: "assistant", content, api: "x", provider: "p", model: "m", usage: { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5, cost: { total: 0.5 } }, stopReason, timestamp: 0 });
const say = (text) => ({ type: "text", text });
const call = (name, args) => ({ type: "toolCall", id: `call-${name}`, name, arguments: args });

test("a session runs tools of the host and its own, tells what happens and keeps it", async () => {
  const { host } = engine;
  fs.writeFileSync(path.join(host.cwd, "notes.txt"), "the notes");
  fs.mkdirSync(path.join(host.cwd, "kept"), { recursive: true });
  const asked = [];
  const answers = [
    answer([call("read", { path: "notes.txt" }), call("own", { n: 2 }), call("edit", { path: "notes.txt", oldText: "the", newText: "my" })], "toolUse"), answer([say("All done.")]), answer([say("Again.")]),
  ];
  host.onAction["llm.stream"] = ({ model, context, options }) => {
    asked.push({ model: model.id, system: context.systemPrompt, tools: context.tools.map(({ name }) => name), roles: context.messages.map(({ role }) => role), reasoning: options.reasoning });
    return answers.shift();
  };
  const told = await inner(`(async () => {
    const { ca, ai } = A;
    const loader = new ca.DefaultResourceLoader({ cwd: process.cwd(), noContextFiles: true, appendSystemPrompt: ["Be brief."], extensionFactories: [{ name: "inline", factory: (pi) => {
      pi.on("before_agent_start", (event) => ({ systemPrompt: event.systemPrompt + " From inline." }));
      pi.on("tool_result", (event) => (event.toolName === "own" ? { content: [{ type: "text", text: event.content[0].text + "!" }] } : undefined));
      pi.registerTool({ name: "inline_tool", label: "i", description: "Inline.", parameters: ai.Type.Object({}), execute: async () => ({ content: [] }) });
    } }] });
    await loader.reload();
    const { session, extensionsResult } = await ca.createAgentSession({ model: { id: "m", provider: "p", contextWindow: 100 }, thinkingLevel: "low", resourceLoader: loader, sessionManager: ca.SessionManager.create(process.cwd(), process.cwd() + "/kept"), tools: ["read", "edit", "own", "inline_tool"],
      customTools: [{ name: "own", label: "own", description: "Own.", parameters: ai.Type.Object({ n: ai.Type.Number() }), execute: async (id, { n }, signal, update, ctx) => ({ content: [{ type: "text", text: "own " + n + " " + ctx.mode + " " + ctx.hasUI }], details: {} }) }] });
    const events = [];
    session.subscribe(({ type, toolName, isError }) => events.push([type, toolName, isError].filter((x) => x !== undefined).join(" ")));
    await session.bindExtensions({});
    await session.prompt("Do it.");
    const stats = session.getSessionStats();
    const results = session.messages.filter((m) => m.role === "toolResult").map((m) => m.content[0].text);
    await session.prompt("And again.");
    session.dispose();
    return [events, session.getActiveToolNames(), session.getLastAssistantText(), stats.toolCalls, stats.cost, results, session.getContextUsage().percent, extensionsResult.extensions.map((e) => e.path), session.sessionFile];
  })()`);
  const [events, active, last, calls, cost, results, percent, inline, file] = told;
  assert.deepEqual(active, ["read", "edit", "inline_tool", "own"]);
  assert.equal(last, "Again.");
  assert.deepEqual([calls, cost, percent, inline], [3, 1, 5, ["<inline:inline>"]]);
  assert.deepEqual(results, ["the notes", "own 2 print false!", "Successfully replaced text in notes.txt."]);
  assert.equal(fs.readFileSync(path.join(host.cwd, "notes.txt"), "utf8"), "my notes");
  assert.deepEqual(events.filter((event) => !event.startsWith("message")), [
    "agent_start", "turn_start", "tool_execution_start read", "tool_execution_start own", "tool_execution_start edit",
    ...events.filter((event) => event.startsWith("tool_execution_end")), "turn_end", "turn_start", "turn_end", "agent_end", "agent_start", "turn_start", "turn_end", "agent_end",
  ]);
  assert.deepEqual(events.filter((event) => event.startsWith("tool_execution_end")).sort(), ["tool_execution_end edit false", "tool_execution_end own false", "tool_execution_end read false"]);
  assert.match(asked[0].system, /Be brief\.[\s\S]*Current working directory: .*From inline\.$/);
  assert.deepEqual(asked.map(({ roles }) => roles.length), [1, 5, 7]);
  assert.deepEqual([asked[0].model, asked[0].tools, asked[0].reasoning], ["m", active, "low"]);
  // What is written reads as a session of pi.
  const lines = fs.readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ type, message }) => message?.role ?? type), ["session", "user", "assistant", "toolResult", "toolResult", "toolResult", "assistant", "user", "assistant"]);
  const opened = await inner(`A.ca.SessionManager.open(${JSON.stringify(file)}).buildSessionContext().messages.length`);
  assert.equal(opened, 8);
});

test("guards of the thread's extensions see the calls of a session, and what the host refuses fails its call alone", async () => {
  const { host } = engine;
  await engine.extension(`export default (pi) => pi.on("tool_call", (event) => (event.toolName === "danger" ? { block: true, reason: "guarded: " + event.input.command } : undefined));`, "/ext/guard.js");
  const answers = [answer([call("danger", { command: "rm -rf x" }), call("write", { path: "w", content: "x", files: [{ path: ".env" }] })], "toolUse"), answer([say("Done.")])];
  host.onAction["llm.stream"] = () => answers.shift();
  host.onAction["tool.run"] = ({ name, callId, params }) => {
    assert.match(callId, /^agent-/);
    assert.deepEqual(params, { path: "w", content: "x" });
    throw new Error(`this thread may not use ${name} for that`);
  };
  const results = await inner(`(async () => {
    const { session } = await A.ca.createAgentSession({ model: { id: "m", provider: "p" }, customTools: [{ name: "danger", description: "d", parameters: A.ai.Type.Object({ command: A.ai.Type.String() }), execute: async () => ({ content: [] }) }] });
    await session.prompt("go");
    return session.messages.filter((m) => m.role === "toolResult").map((m) => [m.isError, m.content[0].text]);
  })()`);
  assert.deepEqual(results, [[true, "guarded: rm -rf x"], [true, "this thread may not use write for that"]]);
  delete host.onAction["tool.run"];
});

test("models, settings and keys are the host's", async () => {
  const { host } = engine;
  fs.mkdirSync(path.join(host.cwd, ".pi/agent"), { recursive: true });
  fs.writeFileSync(path.join(host.cwd, ".pi/agent/settings.json"), '{"defaultModel":"big","compaction":{"enabled":false,"reserveTokens":5}}');
  fs.writeFileSync(path.join(host.cwd, ".pi/settings.json"), '{"compaction":{"reserveTokens":7},"steeringMode":"all"}');
  const told = await inner(`(async () => {
    const { ca } = A;
    const settings = ca.SettingsManager.create(process.cwd(), process.cwd() + "/.pi/agent");
    settings.setTheme("light");
    let refused;
    try { ca.AuthStorage.create().setRuntimeApiKey("p", "k"); } catch (error) { refused = error.code; }
    return [settings.getDefaultModel(), settings.getCompactionSettings(), settings.getSteeringMode(), settings.getTheme(), settings.getShowImages(), ca.SettingsManager.inMemory({ retry: { enabled: false } }).getRetrySettings(), refused, ca.resolveCliModel({ cliModel: "none/such" }).error];
  })()`);
  assert.deepEqual(told, ["big", { enabled: false, reserveTokens: 7, keepRecentTokens: 20000 }, "all", "light", true, { enabled: false, maxRetries: 3, baseDelayMs: 2000 }, "ERR_NOT_SUPPORTED", 'Model "none/such" not found']);
});
