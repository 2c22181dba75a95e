// The 26 examples that use nothing but the API: what each does in a scripted conversation.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { sleep, until } from "./engine.mjs";
import { answers, assistant, example, messages, repository, sent, user } from "./support.mjs";

const commit = repository();
example("auto-commit-on-exit", { cwd: commit.cwd }, async (engine, host) => {
  host.append(assistant("Add the second line\nand more"));
  await engine.dispatch("session_shutdown");
  assert.equal(commit.git("log", "--oneline").trim().split("\n").length, 1, "a clean tree is left alone");
  fs.appendFileSync(path.join(commit.cwd, "a.txt"), "two\n");
  await engine.dispatch("session_shutdown");
  assert.match(commit.git("log", "-1", "--format=%s"), /Add the second line/);
  assert.equal(host.notices.length, 1);
});

example("bookmark", async (engine, host) => {
  await engine.command("bookmark");
  assert.equal(host.notices.at(-1).type, "warning");
  host.append(user("hi"));
  const id = host.append(assistant("hello"));
  await engine.command("bookmark", "here");
  assert.equal(host.labels[id], "here");
  await engine.command("unbookmark");
  assert.equal(host.labels[id], null);
});

example("commands", async (engine, host) => {
  const { result } = await engine.api.completeCommand("commands", "s");
  assert.equal(result[0].value, "skill");
  host.onDialog = (name, args) => (name === "select" ? args.options.find((row) => row.startsWith("/review")) : true);
  await engine.command("commands");
  assert.equal(host.dialogs[0].args.options.length, 6, "three headings, three commands");
  assert.equal(messages(host).at(-1), "/p/review.md");
  host.onDialog = () => undefined;
  await engine.command("commands", "skill");
  assert.deepEqual(host.dialogs.at(-1).args.options.slice(1), ["/skill:x - a skill"]);
});

example("confirm-destructive", async (engine, host) => {
  host.onDialog = () => false;
  assert.deepEqual(await engine.outcome("session_before_switch", { reason: "new" }), { cancel: true });
  assert.equal(await engine.outcome("session_before_switch", { reason: "resume" }), undefined, "nothing to lose");
  host.append(user("work"));
  assert.deepEqual(await engine.outcome("session_before_switch", { reason: "resume" }), { cancel: true });
  host.onDialog = (name, args) => args.options[0];
  assert.equal(await engine.outcome("session_before_fork", { entryId: "0123456789" }), undefined);
  assert.equal(await engine.outcome("session_before_switch", { reason: "new" }, { hasUI: false }), undefined);
});

const dirty = repository();
example("dirty-repo-guard", { cwd: dirty.cwd }, async (engine, host) => {
  assert.equal(await engine.outcome("session_before_switch", { reason: "new" }), undefined);
  fs.appendFileSync(path.join(dirty.cwd, "a.txt"), "x");
  host.onDialog = (name, args) => args.options[1];
  assert.deepEqual(await engine.outcome("session_before_switch", { reason: "new" }), { cancel: true });
  assert.match(host.dialogs[0].args.title, /1 uncommitted/);
  host.onDialog = (name, args) => args.options[0];
  assert.equal(await engine.outcome("session_before_fork", { entryId: "x" }), undefined);
  assert.deepEqual(await engine.outcome("session_before_fork", { entryId: "x" }, { hasUI: false }), { cancel: true });
});

example("dynamic-tools", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  assert.ok(host.active.includes("echo_session"));
  await engine.command("add-echo-tool", "shout");
  const { result } = await engine.tool("shout", { message: "hi" });
  assert.equal(result.content[0].text, "[shout] hi");
  await engine.command("add-echo-tool", "shout");
  assert.equal(host.notices.at(-1).type, "warning");
  assert.equal(engine.api.toolDescriptions().find((tool) => tool.name === "shout").parameters.required[0], "message");
});

example("event-bus", async (engine, host) => {
  await engine.dispatch("session_start");
  assert.match(messages(host)[0], /Session started/);
  await engine.command("emit", "knock");
  assert.match(messages(host)[1], /knock/);
});

const stash = repository();
example("git-checkpoint", { cwd: stash.cwd }, async (engine, host) => {
  const file = path.join(stash.cwd, "a.txt");
  const id = host.append(assistant("working"));
  await engine.dispatch("tool_result", { toolName: "edit", content: [] });
  fs.writeFileSync(file, "changed\n");
  await engine.dispatch("turn_start", { turnIndex: 0 });
  stash.git("checkout", "-q", "a.txt");
  host.onDialog = (name, args) => args.options[0];
  await engine.dispatch("session_before_fork", { entryId: id });
  assert.equal(fs.readFileSync(file, "utf8"), "changed\n");
});

example("hello", async (engine) => {
  const { result } = await engine.tool("hello", { name: "Ada" });
  assert.match(result.content[0].text, /Ada/);
  assert.deepEqual(result.details, { greeted: "Ada" });
});

example("inline-bash", async (engine, host) => {
  const run = (text) => engine.outcome("input", { text, source: "interactive" });
  assert.equal((await run("it is !{echo hi; echo there} now")).text, "it is hi\nthere now");
  assert.deepEqual(await run("plain"), { action: "continue" });
  assert.deepEqual(await run("!ls"), { action: "continue" });
  assert.equal(host.notices.length, 1);
});

example("input-transform", async (engine, host) => {
  const run = (text, source = "interactive") => engine.outcome("input", { text, source });
  const quick = await run("?quick why");
  assert.equal(quick.action, "transform");
  assert.match(quick.text, /why$/);
  assert.deepEqual(await run("ping"), { action: "handled" });
  assert.equal(messages(host)[0], "pong");
  assert.deepEqual(await run("time"), { action: "handled" });
  assert.match(messages(host)[1], /^\d+\/\d+\/\d{4}, \d+:\d\d:\d\d [AP]M$/);
  assert.deepEqual(await run("ping", "extension"), { action: "continue" });
});

example("model-status", async (engine, host) => {
  await engine.dispatch("model_select", { model: { id: "b", provider: "p" }, previousModel: { id: "a", provider: "p" }, source: "set" });
  assert.match(host.statuses.model, /b$/);
  assert.match(messages(host)[0], /p\/b/);
  assert.match(host.logs.at(-1).text, /p\/a/);
  await engine.dispatch("model_select", { model: { id: "c", provider: "p" }, source: "restore" });
  assert.equal(host.notices.length, 1);
});

example("permission-gate", async (engine, host) => {
  const call = (command, ctx) => engine.outcome("tool_call", { toolName: "bash", toolCallId: "1", input: { command } }, ctx);
  assert.deepEqual(await call("ls"), { input: { command: "ls" } });
  host.onDialog = answers("No", "Yes");
  assert.equal((await call("rm -rf /")).block, true);
  assert.equal((await call("sudo ls")).block, undefined);
  assert.equal((await call("rm -rf /", { hasUI: false })).block, true);
  assert.equal(host.dialogs.length, 2);
});

example("pirate", async (engine) => {
  const prompt = async () => (await engine.outcome("before_agent_start", { prompt: "x", systemPrompt: "base" })).systemPrompt;
  assert.equal(await prompt(), undefined);
  await engine.command("pirate");
  assert.match(await prompt(), /^base[\s\S]*pirate/i);
  await engine.command("pirate");
  assert.equal(await prompt(), undefined);
});

example("plan-mode", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  const call = (command) => engine.outcome("tool_call", { toolName: "bash", toolCallId: "1", input: { command } });
  assert.equal((await call("rm x")).block, undefined);
  await engine.command("plan");
  assert.ok(!host.active.includes("write"), "writing tools are off");
  assert.equal((await call("rm x")).block, true);
  assert.equal((await call("ls -la")).block, undefined);
  const { messages: injected } = await engine.outcome("before_agent_start", { prompt: "plan it", systemPrompt: "s" });
  assert.match(injected[0].customType, /^plan/);
  // The agent answers with a plan; the person chooses to have it carried out.
  const plan = { role: "assistant", content: [{ type: "text", text: "Plan:\n1. Read the configuration file\n2. Change the default port" }] };
  host.onDialog = (name, args) => args.options[0];
  await engine.dispatch("agent_end", { messages: [plan] });
  assert.ok(host.active.includes("write"));
  assert.ok(sent(host, "message.send").some(({ options }) => options.triggerTurn));
  assert.match(host.statuses["plan-mode"], /0\/2/);
  assert.equal(host.widgets["plan-todos"].lines.length, 2);
  await engine.dispatch("turn_end", { turnIndex: 0, message: { role: "assistant", content: [{ type: "text", text: "[DONE:1] did it" }] }, toolResults: [] });
  assert.match(host.statuses["plan-mode"], /1\/2/);
  const shortcut = engine.api.shortcutDescriptions()[0];
  assert.match(shortcut.key, /ctrl\+alt\+p/);
});

example("protected-paths", async (engine, host) => {
  const call = (toolName, file) => engine.outcome("tool_call", { toolName, toolCallId: "1", input: { path: file } });
  assert.equal((await call("write", ".env")).block, true);
  assert.equal((await call("edit", "node_modules/a.js")).block, true);
  assert.equal((await call("write", "src/a.js")).block, undefined);
  assert.equal((await call("read", ".env")).block, undefined);
  assert.equal(host.notices.length, 2);
});

example("reload-runtime", async (engine, host) => {
  await engine.command("reload-runtime");
  assert.equal(sent(host, "reload").length, 1);
  await engine.tool("reload_runtime");
  assert.deepEqual(sent(host, "message.sendUser")[0], { content: "/reload-runtime", options: { deliverAs: "followUp" } });
});

example("rpc-demo", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  assert.equal(host.widgets["rpc-demo"].lines.length, 2);
  await engine.dispatch("turn_start", { turnIndex: 0 });
  await engine.dispatch("turn_end", { turnIndex: 0 });
  assert.match(host.statuses["rpc-demo"], /1/);
  host.onDialog = answers("Block", false, "typed", "a\nb");
  assert.equal((await engine.outcome("tool_call", { toolName: "bash", toolCallId: "1", input: { command: "sudo x" } })).block, true);
  assert.deepEqual(await engine.outcome("session_before_switch", { reason: "new" }), { cancel: true });
  await engine.command("rpc-input");
  assert.match(messages(host).at(-1), /typed/);
  await engine.command("rpc-editor");
  assert.match(messages(host).at(-1), /2 lines/);
  await engine.command("rpc-prefill");
  assert.match(host.editorText, /rpc-demo/);
  await engine.api.announceSession(engine.inside({ reason: "new" }));
  assert.match(host.title, /new session/, "an extension of the older generation hears session_switch alone");
  assert.match(host.statuses["rpc-demo"], /0/);
});

example("send-user-message", async (engine, host) => {
  await engine.command("ask", "hello");
  host.idle = false;
  await engine.command("steer", "left");
  await engine.command("followup", "then");
  await engine.command("ask", "no");
  host.idle = true;
  await engine.command("askwith", "parts");
  const all = sent(host, "message.sendUser");
  assert.deepEqual(all.map(({ options }) => options.deliverAs), [undefined, "steer", "followUp", undefined]);
  assert.equal(all[3].content.length, 2);
  assert.equal(host.notices.filter((notice) => notice.type === "warning").length, 1);
});

example("session-name", async (engine, host) => {
  await engine.command("session-name", "  alpha ");
  assert.equal(host.name, "alpha");
  await engine.command("session-name");
  assert.match(messages(host).at(-1), /alpha/);
});

example("shutdown-command", async (engine, host) => {
  const partial = [];
  const { result } = await engine.tool("deploy_and_exit", { environment: "staging" }, {}, (update) => partial.push(update.content[0].text));
  assert.equal(partial.length, 2);
  assert.match(partial[0], /staging/);
  assert.deepEqual(result.details, { environment: "staging" });
  assert.equal(host.shutdown, true);
  host.shutdown = false;
  await engine.command("quit");
  assert.equal(host.shutdown, true);
});

example("status-line", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  assert.match(host.statuses["status-demo"], /Ready/);
  await engine.dispatch("turn_start", { turnIndex: 0 });
  await engine.dispatch("turn_end", { turnIndex: 0 });
  assert.match(host.statuses["status-demo"], /✓.*1/);
  assert.match(host.statuses["status-demo"], /^\x1b\[32m✓\x1b\[39m/);
  await engine.api.announceSession(engine.inside({ reason: "new" }));
  assert.match(host.statuses["status-demo"], /Ready/);
});

example("system-prompt-header", async (engine, host) => {
  host.systemPrompt = "12345";
  await engine.dispatch("agent_start");
  assert.match(host.statuses["system-prompt"], /5/);
  await engine.dispatch("session_shutdown");
  assert.equal(host.statuses["system-prompt"], undefined);
});

example("timed-confirm", async (engine, host) => {
  host.onDialog = () => true;
  await engine.command("timed");
  assert.equal(host.dialogs[0].args.timeout, 5000);
  assert.match(messages(host).at(-1), /Confirmed/);
  // The third form aborts the dialog by a timer of its own; the clock is the host's, so it can be hurried.
  host.onDialog = () => new Promise(() => {});
  const running = engine.command("timed-signal");
  await until(() => host.dialogs.length === 2);
  await sleep(5);
  const [id] = host.timers.keys();
  engine.deliver(id, null);
  await running;
  assert.equal(host.notices.at(-1).type, "warning");
});

example("trigger-compact", async (engine, host) => {
  host.usage = { tokens: 50_000, contextWindow: 200_000, percent: 25 };
  await engine.dispatch("turn_end", {});
  assert.equal(sent(host, "run.compact").length, 0);
  host.usage = { tokens: 150_000, contextWindow: 200_000, percent: 75 };
  await engine.dispatch("turn_end", {});
  await until(() => host.notices.length === 2);
  host.onAction["run.compact"] = () => {
    throw new Error("nothing to compact");
  };
  await engine.command("trigger-compact", "be brief");
  await until(() => host.notices.length === 4);
  assert.equal(sent(host, "run.compact")[1].customInstructions, "be brief");
  assert.match(messages(host).at(-1), /nothing to compact/);
});

example("widget-placement", async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  assert.equal(host.widgets["widget-above"].placement, undefined);
  assert.equal(host.widgets["widget-below"].placement, "belowEditor");
});
