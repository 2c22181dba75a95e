// The 22 examples that draw: components rendered to lines, fed with keys, closed again.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { sleep, until } from "./engine.mjs";
import { assistant, example, folder, messages, sent, user } from "./support.mjs";

const ENTER = "\r";
const ESC = "\x1b";
const DOWN = "\x1b[B";

const plain = (lines) => lines.join("\n").replace(/\x1b\[[\d;]*m|\x1b_pi:c\x07/g, "");
/** The component that was opened last. */
const open = (host) => until(() => [...host.places.values()].at(-1)?.component, "a component");
const opened = async (engine, host, work) => {
  const running = work();
  const id = await open(host);
  return { running, id, text: (width = 80) => plain(engine.render(id, width)), keys: (...list) => list.forEach((key) => engine.input(id, key)) };
};
/** A model that answers with this text. */
const answering = (host, text) => {
  host.onAction["llm.stream"] = () => ({ role: "assistant", content: [{ type: "text", text }], stopReason: "stop", usage: {} });
};

example("built-in-tool-renderer", async (engine, host, cwd) => {
  fs.writeFileSync(path.join(cwd, "f.ts"), "one\ntwo\n");
  const call = engine.api.renderToolCall("read", "1", engine.inside({ path: "f.ts" }), 60);
  assert.match(plain(call.result), /read.*f\.ts/);
  const { result } = await engine.tool("read", { path: "f.ts" });
  const shown = engine.api.renderToolResult("read", "1", engine.inside(result), 60, engine.inside({ expanded: true }));
  assert.match(plain(shown.result), /3 lines|2 lines/);
  const bash = await engine.tool("bash", { command: "echo hi" });
  assert.match(plain(engine.api.renderToolResult("bash", "2", engine.inside(bash.result), 60, engine.inside({ expanded: true })).result), /hi/);
});

example("custom-footer", async (engine, host) => {
  host.append({ type: "message", message: { role: "assistant", content: [], usage: { input: 1500, output: 20, cost: { total: 0.5 } } } });
  await engine.command("footer");
  const footer = host.places.get("footer");
  const [line] = engine.render(footer.component, 60);
  assert.match(plain([line]), /^↑1\.5k ↓20 \$0\.500 +m1 \(main\)$/);
  assert.equal(plain([line]).length, 60);
  await engine.command("footer");
  assert.equal(host.places.has("footer"), false);
  assert.deepEqual(engine.render(footer.component), []);
});

example("custom-header", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  const lines = engine.render(host.places.get("header").component, 40);
  assert.equal(lines.length, 9);
  assert.match(plain(lines), /v0\.84/);
  await engine.command("builtin-header");
  assert.equal(host.places.has("header"), false);
});

example("handoff", async (engine, host) => {
  host.append(user("build a boat"));
  host.append(assistant("a hull first"));
  host.keys.test = "K";
  answering(host, "Continue with the hull");
  host.onDialog = (name, args) => `${args.prefill}!`;
  host.onAction["session.new"] = () => ({ cancelled: false });
  await engine.command("handoff", "finish it");
  assert.equal(host.editorText, "Continue with the hull!");
  assert.match(sent(host, "session.new")[0].parentSession, /session\.jsonl$/);
  assert.match(sent(host, "llm.stream")[0].context.messages[0].content[0].text, /\[User\]: build a boat[\s\S]*finish it/);
  // Escape while the model works cancels the call.
  host.onAction["llm.stream"] = () => new Promise(() => {});
  const { running, keys, text } = await opened(engine, host, () => engine.command("handoff", "again"));
  assert.match(text(), /cancel/);
  keys(ESC);
  await running;
  assert.match(messages(host).at(-1), /Cancelled/);
});

example("interactive-shell", { env: { SHELL: "/bin/sh" } }, async (engine, host) => {
  assert.equal(await engine.outcome("user_bash", { command: "ls", cwd: host.cwd }), undefined);
  const { result } = await engine.outcome("user_bash", { command: "i true", cwd: host.cwd });
  assert.equal(result.exitCode, 0);
  const names = host.calls.map((call) => call.name);
  assert.ok(names.indexOf("ui.suspend") < names.indexOf("ui.resume"), "the screen is given up while it runs");
});

example("message-renderer", async (engine, host) => {
  await engine.command("status", "warn low disk");
  const [{ message }] = sent(host, "message.send");
  assert.equal(message.customType, "status-update");
  const { result } = engine.api.renderMessage(engine.inside(message), 40, engine.inside({ expanded: true }));
  assert.match(plain(result), /\[WARN\] low disk[\s\S]*at \d+:\d\d:\d\d [AP]M/);
  assert.ok(result.every((line) => plain([line]).length === 40), "the box fills the width");
  assert.equal(engine.api.renderMessage(engine.inside({ customType: "other", content: "" }), 40).result, undefined);
});

example("minimal-mode", async (engine, host, cwd) => {
  fs.writeFileSync(path.join(cwd, "x.txt"), "body\n");
  const { result } = await engine.tool("read", { path: "x.txt" });
  const show = (expanded) => plain(engine.api.renderToolResult("read", "1", engine.inside(result), 60, engine.inside({ expanded })).result);
  assert.equal(show(false).trim(), "");
  assert.match(show(true), /body/);
  assert.match(plain(engine.api.renderToolCall("grep", "2", engine.inside({ pattern: "abc" }), 60).result), /grep.*abc/);
});

example("modal-editor", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  const { component } = host.places.get("editor");
  for (const key of "abc") engine.input(component, key);
  assert.match(plain(engine.render(component, 40)), /abc[\s\S]*INSERT/);
  for (const key of [ESC, "h", "x"]) engine.input(component, key);
  assert.match(plain(engine.render(component, 40)), /ab[\s\S]*NORMAL/);
  engine.input(component, ESC);
  assert.equal(host.calls.findLast(({ args }) => args?.action !== undefined)?.args.action, "interrupt");
  for (const key of ["i", "z", ENTER]) engine.input(component, key);
  assert.equal(host.submitted, "abz");
});

example("rainbow-editor", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  const { component } = host.places.get("editor");
  for (const key of "ultrathink") engine.input(component, key);
  assert.ok(engine.render(component, 40).some((line) => line.includes("\x1b[38;2;")));
  assert.equal(host.timers.size, 1);
  await until(() => host.calls.filter((call) => call.name === "ui.redraw").length > 10, "an animation");
  engine.input(component, "\x7f");
  assert.equal(host.timers.size, 0);
});

example("overlay-test", async (engine, host) => {
  const { running, id, text, keys } = await opened(engine, host, () => engine.command("overlay-test"));
  assert.equal(host.places.get(id).kind, "overlay");
  assert.ok(text().length > 50);
  keys(DOWN, ENTER);
  await running;
  assert.equal(host.notices.length, 1);
  assert.equal(host.places.size, 0);
});

example("overlay-qa-tests", async (engine, host) => {
  const close = async (name, check = () => {}) => {
    const { running, id, text, keys } = await opened(engine, host, () => engine.command(name));
    await sleep(30);
    await check(id, text);
    for (let i = 0; i < 12 && host.places.size > 0; i++) {
      for (const place of [...host.places.values()].reverse()) engine.input(place.component, ESC);
      keys(ESC);
      await sleep(5);
    }
    await running;
    assert.equal(host.places.size, 0, `${name} leaves nothing behind`);
  };
  await close("overlay-anchors", (id) => assert.equal(host.places.get(id).options.anchor, "top-left"));
  await close("overlay-animation");
  await close("overlay-margins");
  await close("overlay-stack", () => until(() => host.places.size === 3, "three overlays"));
  await close("overlay-overflow");
  await close("overlay-edge");
  await close("overlay-percent");
  await close("overlay-maxheight");
  await close("overlay-sidepanel", (id) => {
    assert.equal(engine.api.placeOptions(id, 200, 40).visible, true);
    assert.equal(engine.api.placeOptions(id, 40, 40).visible, false);
  });
  await close("overlay-toggle");
  await close("overlay-passive");
  await close("overlay-focus");
  await close("overlay-streaming");
});

example("preset", { before: (engine, host) => {
  fs.mkdirSync(path.join(host.cwd, ".pi"));
  fs.writeFileSync(path.join(host.cwd, ".pi/presets.json"), JSON.stringify({ careful: { provider: "other", model: "big", thinkingLevel: "high", tools: ["read"], instructions: "Take care." } }));
  host.models.push({ ...host.model, provider: "other", id: "big" });
  host.keys.other = "K";
} }, async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  const { running, text, keys } = await opened(engine, host, () => engine.command("preset"));
  assert.match(text(), /Select Preset[\s\S]*→ careful/);
  keys(ENTER);
  await running;
  assert.deepEqual([host.model.id, host.thinking, host.active.join()], ["big", "high", "read"]);
  assert.match(host.statuses.preset, /careful/);
  assert.match((await engine.outcome("before_agent_start", { prompt: "x", systemPrompt: "s" })).systemPrompt, /Take care\./);
  await engine.dispatch("turn_start", { turnIndex: 0 });
  assert.ok(host.entries.some((entry) => entry.customType.startsWith("preset")));
  const [{ key }] = engine.api.shortcutDescriptions();
  assert.equal((await engine.api.callShortcut(key)).error, undefined);
});

example("qna", async (engine, host) => {
  host.append(assistant("What is the name? Which port?"));
  host.keys.test = "K";
  answering(host, "Q: name\nA:");
  await engine.command("qna");
  assert.equal(host.editorText, "Q: name\nA:");
});

example("question", async (engine, host) => {
  const params = { question: "Which colour?", options: [{ label: "red" }, { label: "blue", description: "like the sea" }] };
  const first = await opened(engine, host, () => engine.tool("question", params));
  assert.match(first.text(), /Which colour\?[\s\S]*red[\s\S]*blue[\s\S]*sea/);
  first.keys(DOWN, ENTER);
  const { result } = await first.running;
  assert.equal(result.details.answer, "blue");
  const second = await opened(engine, host, () => engine.tool("question", params));
  second.keys(DOWN, DOWN, ENTER, ..."green", ENTER);
  const own = (await second.running).result;
  assert.deepEqual([own.details.answer, own.details.wasCustom], ["green", true]);
  assert.match(plain(engine.api.renderToolResult("question", "1", engine.inside(own), 60).result), /green/);
  const third = await opened(engine, host, () => engine.tool("question", params));
  third.keys(ESC);
  assert.equal((await third.running).result.details.answer, null);
});

example("questionnaire", async (engine, host) => {
  const questions = [
    { id: "a", label: "Size", prompt: "How big?", options: [{ value: "s", label: "small" }, { value: "l", label: "large" }] },
    { id: "b", label: "Place", prompt: "Where?", options: [{ value: "h", label: "here" }], allowOther: true },
  ];
  const { running, text, keys } = await opened(engine, host, () => engine.tool("questionnaire", { questions }));
  assert.match(text(), /How big\?/);
  keys(DOWN, ENTER);
  assert.match(text(), /Where\?/);
  keys(ENTER);
  keys(ENTER);
  const { result } = await running;
  assert.deepEqual(result.details.answers.map((answer) => answer.value), ["l", "h"]);
});

example("snake", async (engine, host) => {
  const { running, text, keys } = await opened(engine, host, () => engine.command("snake"));
  const before = text();
  keys(DOWN);
  await until(() => text() !== before, "a move");
  keys(ESC);
  await running;
  assert.ok(host.entries.some((entry) => entry.customType?.includes("snake")), "a paused game is kept");
  assert.equal(host.timers.size, 0);
});

example("space-invaders", async (engine, host) => {
  const { running, id, text, keys } = await opened(engine, host, () => engine.command("invaders"));
  const before = text();
  engine.input(id, "\x1b[1;1:1D");
  engine.input(id, "\x1b[32u");
  await until(() => text() !== before, "a move");
  engine.input(id, "\x1b[1;1:3D");
  keys("q");
  await running;
  assert.equal(host.timers.size, 0);
});

const agents = folder();
fs.writeFileSync(path.join(agents, "pi"), `#!/bin/sh
echo '{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"did: '"$(echo "$@" | tail -c 20 | tr -d '"')"'"}],"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"cost":{"total":0.1},"totalTokens":3},"model":"m","stopReason":"stop"}}'
`, { mode: 0o755 });
example("subagent", { env: { PATH: `${agents}:${process.env.PATH}` }, before: (engine, host) => {
  fs.mkdirSync(path.join(host.cwd, ".pi/agent/agents"), { recursive: true });
  fs.writeFileSync(path.join(host.cwd, ".pi/agent/agents/scout.md"), "---\nname: scout\ndescription: looks around\ntools: read, grep\n---\nYou look.\n");
} }, async (engine) => {
  const partial = [];
  const { result } = await engine.tool("subagent", { agent: "scout", task: "find it" }, {}, (update) => partial.push(update));
  assert.match(result.content[0].text, /did: .*find it/);
  assert.ok(partial.length > 0, "output streams");
  assert.match(plain(engine.api.renderToolCall("subagent", "1", engine.inside({ agent: "scout", task: "find it" }), 70).result), /scout/);
  const shown = plain(engine.api.renderToolResult("subagent", "1", engine.inside(result), 70, engine.inside({ expanded: true })).result);
  assert.match(shown, /find it[\s\S]*did:/);
  const both = await engine.tool("subagent", { tasks: [{ agent: "scout", task: "one" }, { agent: "scout", task: "two" }] });
  assert.match(both.result.content[0].text, /2\/2/);
  assert.match((await engine.tool("subagent", { agent: "nobody", task: "x" })).result.content[0].text, /nobody/);
});

example("summarize", async (engine, host) => {
  host.append(user("hello"));
  host.models.push({ ...host.model, provider: "openai", id: "gpt-5.2" });
  host.keys.openai = "K";
  answering(host, "# Summary\n\n- **one** thing");
  const { running, text, keys } = await opened(engine, host, () => engine.command("summarize"));
  assert.match(text(), /Summary[\s\S]*- one thing/);
  keys(ENTER);
  await running;
});

example("todo", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  const add = async (text) => {
    const { result } = await engine.tool("todo", { action: "add", text });
    host.append({ type: "message", message: { role: "toolResult", toolName: "todo", content: result.content, details: result.details } });
    return result;
  };
  await add("buy milk");
  const fork = host.leaf;
  await add("call home");
  await engine.tool("todo", { action: "toggle", id: 1 });
  const { running, text, keys } = await opened(engine, host, () => engine.command("todos"));
  assert.match(text(), /buy milk[\s\S]*call home/);
  keys(ESC);
  await running;
  // The list follows the branch: state is in the results, not in the extension.
  host.leaf = fork;
  await engine.dispatch("session_tree", { newLeafId: fork });
  const { result } = await engine.tool("todo", { action: "list" });
  assert.doesNotMatch(result.content[0].text, /call home/);
  assert.match(plain(engine.api.renderToolResult("todo", "1", engine.inside(result), 60, engine.inside({ expanded: true })).result), /buy milk/);
});

example("tools", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  const { running, text, keys } = await opened(engine, host, () => engine.command("tools"));
  assert.match(text(), /→ read +enabled/);
  keys(ENTER, DOWN, " ");
  assert.match(text(), /read +disabled[\s\S]*→ bash +disabled/);
  keys(ESC);
  await running;
  assert.deepEqual(host.active, ["edit", "write"]);
  host.active = [];
  await engine.dispatch("session_start", { reason: "reload" });
  assert.deepEqual(host.active, ["edit", "write"], "restored from the branch");
});

const rg = folder();
fs.writeFileSync(path.join(rg, "rg"), "#!/bin/sh\nseq 1 3000 | sed 's/^/f.txt:1:line /'\n", { mode: 0o755 });
example("truncated-tool", { env: { PATH: `${rg}:${process.env.PATH}` } }, async (engine) => {
  const { result } = await engine.tool("rg", { pattern: "line" });
  assert.ok(result.details.truncation.truncated);
  assert.match(result.content[0].text, /2000 of 300[01]/);
  assert.equal(fs.readFileSync(result.details.fullOutputPath, "utf8").trim().split("\n").length, 3000);
  assert.match(plain(engine.api.renderToolResult("rg", "1", engine.inside(result), 60, engine.inside({ expanded: false })).result), /300[01]/);
});

