// The same files and the same events in a published package that runs on this Node, and in ours.
//
// LEVAIN_PI_NEWER names the folder of such a package (0.73 is one). Both load extensions written here and
// the examples; answers, handlers, tools and commands are compared.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { Engine, HAS_TYPESCRIPT, outside } from "./engine.mjs";
import { EXAMPLES, HAS_EXAMPLES, exampleUnits } from "./examples.mjs";
import { folder } from "./support.mjs";

const NEWER = process.env.LEVAIN_PI_NEWER;
const skip = !(NEWER && fs.existsSync(NEWER) && HAS_TYPESCRIPT) && "no package to compare with";

async function both(sources) {
  const cwd = folder();
  const files = sources.map((source, i) => {
    const file = path.join(cwd, `e${i}.ts`);
    fs.writeFileSync(file, `export default (pi) => { ${source} };`);
    return file;
  });
  return load(files, cwd);
}

async function load(files, cwd) {
  const lib = await import(pathToFileURL(path.join(NEWER, "dist/index.js")));
  const loaded = await lib.discoverAndLoadExtensions(files, cwd, path.join(cwd, "agent"));
  const runner = new lib.ExtensionRunner(loaded.extensions, loaded.runtime, cwd, lib.SessionManager.inMemory(cwd), {});
  const errors = [];
  runner.onError((error) => errors.push(error.error));
  const engine = await Engine.start({ cwd });
  for (const file of files) {
    const { error } = await engine.load(file);
    if (error) throw new Error(`${file}: ${error.message}`);
  }
  return { runner, loaded, engine, errors };
}

const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
const ours = async (engine, event, payload) => {
  const { outcome, records } = await engine.dispatch(event, payload, { hasUI: false });
  return { outcome: plain(outcome), errors: records.filter((record) => record.error).map((record) => record.error.message) };
};

const CASES = {
  "input chains": [["pi.on('input', (e) => ({ action: 'transform', text: e.text + '1', images: e.images }))", "pi.on('input', (e) => ({ action: 'transform', text: e.text + '2' }))"], async ({ runner, engine }) => [await runner.emitInput("a", [{ type: "image" }], "interactive"), (await ours(engine, "input", { text: "a", images: [{ type: "image" }], source: "interactive" })).outcome]],
  "input handled": [["pi.on('input', () => ({ action: 'handled' }))"], async ({ runner, engine }) => [await runner.emitInput("a", undefined, "rpc"), (await ours(engine, "input", { text: "a" })).outcome]],
  "input untouched": [["pi.on('input', () => {}); pi.on('input', (e) => ({ action: 'transform', text: e.text }))"], async ({ runner, engine }) => [await runner.emitInput("a", undefined, "rpc"), (await ours(engine, "input", { text: "a" })).outcome]],
  "a handler that throws": [["pi.on('input', () => { throw new Error('x') })", "pi.on('input', () => ({ action: 'transform', text: 'b' }))"], async ({ runner, engine, errors }) => {
    const theirs = await runner.emitInput("a", undefined, "rpc");
    const { outcome, errors: seen } = await ours(engine, "input", { text: "a" });
    return [[theirs, errors], [outcome, seen]];
  }],
  "tool_call blocks": [["pi.on('tool_call', (e) => { e.input.n++ })", "pi.on('tool_call', (e) => (e.input.n > 1 ? { block: true, reason: 'no' } : undefined))"], async ({ runner, engine }) => {
    const input = { n: 1 };
    const theirs = await runner.emitToolCall({ type: "tool_call", toolName: "t", toolCallId: "1", input });
    const { outcome } = await ours(engine, "tool_call", { toolName: "t", toolCallId: "1", input: { n: 1 } });
    return [{ ...theirs, input }, outcome];
  }],
  "tool_call that throws fails closed": [["pi.on('tool_call', () => { throw new Error('oops') })"], async ({ runner, engine }) => {
    const theirs = await runner.emitToolCall({ type: "tool_call", toolName: "t", toolCallId: "1", input: {} }).then(() => "went on", (error) => error.message);
    const { outcome } = await ours(engine, "tool_call", { toolName: "t", input: {} });
    return [theirs, outcome.reason];
  }],
  "tool_result": [["pi.on('tool_result', () => ({ content: [{ type: 'text', text: 'n' }] }))", "pi.on('tool_result', (e) => ({ details: e.content[0].text, isError: true }))"], async ({ runner, engine }) => {
    const event = { type: "tool_result", toolName: "t", toolCallId: "1", input: {}, content: [], details: undefined, isError: false };
    return [await runner.emitToolResult({ ...event }), (await ours(engine, "tool_result", event)).outcome];
  }],
  "tool_result untouched": [["pi.on('tool_result', () => {})"], async ({ runner, engine }) => [await runner.emitToolResult({ type: "tool_result", content: [] }), (await ours(engine, "tool_result", { content: [] })).outcome]],
  "context": [["pi.on('context', (e) => { e.messages.push({ role: 'user', content: 'x' }) })", "pi.on('context', (e) => ({ messages: e.messages.slice(1) }))"], async ({ runner, engine }) => [await runner.emitContext([{ role: "user", content: "a" }]), (await ours(engine, "context", { messages: [{ role: "user", content: "a" }] })).outcome.messages]],
  "before_agent_start": [["pi.on('before_agent_start', (e) => ({ systemPrompt: e.systemPrompt + '1', message: { customType: 'c', content: 'x', display: true } }))", "pi.on('before_agent_start', (e) => ({ systemPrompt: e.systemPrompt + '2' }))"], async ({ runner, engine }) => {
    const theirs = await runner.emitBeforeAgentStart("p", undefined, "s", {});
    const { outcome } = await ours(engine, "before_agent_start", { prompt: "p", systemPrompt: "s" });
    return [{ systemPrompt: theirs.systemPrompt, messages: theirs.messages }, { ...outcome, messages: outcome.messages.map(({ path: _, ...message }) => message) }];
  }],
  "before_provider_request": [["pi.on('before_provider_request', (e) => ({ ...e.payload, a: 1 }))", "pi.on('before_provider_request', () => undefined)"], async ({ runner, engine }) => [await runner.emitBeforeProviderRequest({ z: 1 }), (await ours(engine, "before_provider_request", { payload: { z: 1 } })).outcome.payload]],
  "message_end": [["pi.on('message_end', (e) => ({ message: { ...e.message, content: 'n' } }))", "pi.on('message_end', () => ({ message: { role: 'user' } }))"], async ({ runner, engine, errors }) => {
    const theirs = await runner.emitMessageEnd({ type: "message_end", message: { role: "assistant", content: "o" } });
    const { outcome, errors: seen } = await ours(engine, "message_end", { message: { role: "assistant", content: "o" } });
    return [[theirs, errors.length], [outcome.message, seen.length]];
  }],
  "user_bash": [["pi.on('user_bash', () => undefined)", "pi.on('user_bash', () => ({ result: { output: 'o', exitCode: 0 } }))", "pi.on('user_bash', () => ({ result: { output: 'late' } }))"], async ({ runner, engine }) => [await runner.emitUserBash({ type: "user_bash", command: "c" }), (await ours(engine, "user_bash", { command: "c" })).outcome]],
  "session_before_tree, last answer": [["pi.on('session_before_tree', () => ({ label: 'a', customInstructions: 'x' }))", "pi.on('session_before_tree', () => ({ label: 'b' }))"], async ({ runner, engine }) => [await runner.emit({ type: "session_before_tree", preparation: {} }), (await ours(engine, "session_before_tree", { preparation: {} })).outcome]],
  "session_before_fork, cancel": [["pi.on('session_before_fork', () => ({ cancel: true }))", "pi.on('session_before_fork', () => ({ skipConversationRestore: true }))"], async ({ runner, engine }) => [await runner.emit({ type: "session_before_fork", entryId: "e" }), (await ours(engine, "session_before_fork", { entryId: "e" })).outcome]],
  "resources": [["pi.on('resources_discover', () => ({ skillPaths: ['/a'], promptPaths: ['/b'] }))", "pi.on('resources_discover', () => ({ skillPaths: ['/c'] }))"], async ({ runner, engine }) => {
    const strip = (lists) => ["skillPaths", "promptPaths", "themePaths"].map((name) => lists[name].map((entry) => entry.path));
    return [strip(await runner.emitResourcesDiscover("/", "startup")), strip((await ours(engine, "resources_discover", { cwd: "/", reason: "startup" })).outcome)];
  }],
  "duplicate names": [["pi.registerCommand('x', { description: '1', handler() {} })", "pi.registerCommand('x', { description: '2', handler() {} }); pi.registerCommand('y', { handler() {} })"], async ({ runner, engine }) => {
    const theirs = runner.getRegisteredCommands().map((command) => [command.invocationName, command.description]);
    return [theirs, outside(engine.api.commandDescriptions()).map((command) => [command.name, command.description])];
  }],
};

for (const [name, [sources, run]] of Object.entries(CASES)) {
  test(name, { skip }, async () => {
    const pair = await both(sources);
    try {
      const [theirs, mine] = await run(pair);
      assert.deepEqual(plain(mine), plain(theirs));
    } finally {
      pair.engine.stop();
    }
  });
}

test("the examples register the same things in both", { skip: skip || (!HAS_EXAMPLES && "no examples") }, async () => {
  const lib = await import(pathToFileURL(path.join(NEWER, "dist/index.js")));
  const cwd = folder();
  let compared = 0;
  for (const { name, file } of exampleUnits(EXAMPLES)) {
    const { extensions } = await lib.discoverAndLoadExtensions([file], cwd, path.join(cwd, "agent"));
    // Some examples of the older package no longer load in the newer one.
    if (extensions.length === 0) continue;
    const engine = await Engine.start({ cwd });
    const { extension, error } = await engine.load(file);
    engine.stop();
    if (error) continue;
    compared++;
    const theirs = extensions[0];
    const keys = (map) => [...map.keys()].sort();
    assert.deepEqual(
      [Object.keys(extension.events).sort(), [...extension.tools].sort(), [...extension.commands].sort(), [...extension.flags].sort(), [...extension.messageRenderers].sort(), extension.shortcuts.length],
      [keys(theirs.handlers), keys(theirs.tools), keys(theirs.commands), keys(theirs.flags), keys(theirs.messageRenderers), theirs.shortcuts.size],
      name,
    );
  }
  console.log(`# ${compared} examples compared`);
  assert.ok(compared > 55);
});
