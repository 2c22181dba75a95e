// `pi` and `ctx`, member by member, and what newer versions of the interface added.

import assert from "node:assert/strict";
import test from "node:test";
import { Engine, outside, until } from "./engine.mjs";
import { answers, assistant, messages, sent, user } from "./support.mjs";

/** An engine with one extension whose command `go` runs `body` and shows what it returns. */
const check = (name, body, run, { setup = "", before } = {}) =>
  test(name, async () => {
    const engine = await Engine.start();
    try {
      if (before) before(engine.host, engine);
      await engine.extension(`export default (pi) => { ${setup}; pi.registerCommand("go", { handler: async (args, ctx) => { const value = await (async () => { ${body} })(); ctx.ui.notify(JSON.stringify(value ?? null)); } }); }`);
      const go = async (args, ctx) => {
        const { error } = await engine.command("go", args, ctx);
        if (error) throw new Error(error.message);
        return JSON.parse(messages(engine.host).at(-1));
      };
      await run(go, engine.host, engine);
    } finally {
      engine.stop();
    }
  });

check("exec: output, code, cwd, timeout, abort, no program", `
  const c = new AbortController(); setTimeout(() => c.abort(), 20);
  return [await pi.exec("sh", ["-c", "echo o; echo e >&2; exit 3"]), (await pi.exec("pwd", [], { cwd: "/" })).stdout, (await pi.exec("sleep", ["5"], { timeout: 20 })).killed, await pi.exec("sleep", ["5"], { signal: c.signal }), (await pi.exec("no-such-program")).code];
`, async (go) => {
  assert.deepEqual(await go(), [{ stdout: "o\n", stderr: "e\n", code: 3, killed: false }, "/\n", true, { stdout: "", stderr: "", code: 0, killed: true }, 1]);
});

check("flags: the command line over the default, and only one's own", 'return [pi.getFlag("a"), pi.getFlag("b"), pi.getFlag("other")];', async (go) => {
  assert.deepEqual(await go(), ["given", true, null]);
}, { setup: 'pi.registerFlag("a", { type: "string", default: "x" }); pi.registerFlag("b", { type: "boolean", default: true });', before: (host) => Object.assign(host.flags, { a: "given", other: 1 }) });

check("the session is read from the host each time", `
  const s = ctx.sessionManager; pi.appendEntry("mark", { n: 1 }); pi.setLabel(s.getLeafId(), "L");
  return [s.getEntries().length, s.getBranch().map((e) => e.type), s.getLeafEntry().data, s.getLabel(s.getLeafId()), s.getTree()[0].children.length, s.getSessionId(), s.getEntry("nope") ?? "none", s.getCwd() === ctx.cwd];
`, async (go) => {
  assert.deepEqual(await go(), [3, ["message", "message", "custom"], { n: 1 }, "L", 1, "session-1", "none", true]);
}, { before: (host) => [user("a"), assistant("b")].forEach((entry) => host.append(entry)) });

check("models, thinking, tools", `
  pi.setThinkingLevel("high"); pi.setActiveTools(["read", "x"]);
  return [ctx.model.id, ctx.modelRegistry.find("test", "m1").name, ctx.modelRegistry.find("a", "b") ?? "none", await ctx.modelRegistry.getApiKey(ctx.model), await ctx.modelRegistry.getApiKeyAndHeaders({ provider: "none" }), await pi.setModel({ provider: "none", id: "z" }), pi.getThinkingLevel(), pi.getActiveTools(), pi.getAllTools().length];
`, async (go) => {
  assert.deepEqual(await go(), ["m1", "Model One", "none", "K", { ok: true }, false, "high", ["read", "x"], 7]);
}, { before: (host) => Object.assign(host.keys, { test: "K" }) });

check("messages go out as they are; what fails is reported", `
  pi.sendMessage({ customType: "c", content: "x", display: false, details: { d: 1 } }, { deliverAs: "nextTurn" });
  pi.sendUserMessage([{ type: "text", text: "t" }], { deliverAs: "steer", expandPromptTemplates: true });
`, async (go, host) => {
  host.onAction["message.sendUser"] = () => {
    throw new Error("busy");
  };
  await go();
  assert.deepEqual(sent(host, "message.send")[0], { message: { customType: "c", content: "x", display: false, details: { d: 1 } }, options: { deliverAs: "nextTurn" } });
  assert.equal(sent(host, "message.sendUser")[0].options.expandPromptTemplates, true);
  await until(() => host.reports.length === 1);
  assert.deepEqual([host.reports[0].event, host.reports[0].message], ["send_user_message", "busy"]);
});

check("dialogs: answers, Escape, timeout, abort, no screen", `
  const c = new AbortController(); setTimeout(() => c.abort(), 5);
  return [await ctx.ui.select("s", ["a", "b"]), await ctx.ui.confirm("c", "m"), await ctx.ui.input("i", "p"), await ctx.ui.editor("e", "x"), (await ctx.ui.select("s", ["a"])) ?? "escape", await ctx.ui.confirm("t", "", { timeout: 5 }), (await ctx.ui.input("q", "", { signal: c.signal })) ?? "aborted", (await ctx.ui.custom(() => ({ render: () => [] }))) ?? "no screen"];
`, async (go, host) => {
  const list = answers("b", true, "typed", "edited", null);
  host.onDialog = (name, args) => (args.timeout || args.title === "q" ? new Promise(() => {}) : list());
  host.mode = "rpc";
  assert.deepEqual(await go(), ["b", true, "typed", "edited", "escape", false, "aborted", "no screen"]);
});

check("command contexts change sessions", `
  const made = await ctx.newSession({ parentSession: "/p", setup: async (s) => { s.appendMessage({ role: "user", content: "first" }); s.appendCustomEntry("k", 1); }, withSession: async (next) => next.sendUserMessage("go on") });
  return [made, await ctx.fork("e1", { position: "at" }), await ctx.navigateTree("e2", { summarize: true, label: "l" }), await ctx.switchSession("/s"), (await ctx.waitForIdle()) ?? "idle", { ...ctx }.cwd === ctx.cwd];
`, async (go, host) => {
  host.onAction["session.fork"] = () => ({ cancelled: true });
  assert.deepEqual(await go(), [{ cancelled: false }, { cancelled: true }, { cancelled: false }, { cancelled: false }, "idle", true]);
  assert.deepEqual(sent(host, "session.new")[0].entries.map((entry) => entry.type), ["message", "custom"]);
  assert.deepEqual(sent(host, "session.navigate")[0], { targetId: "e2", summarize: true, label: "l" });
  assert.equal(sent(host, "message.sendUser")[0].content, "go on");
});

check("command contexts ask before they change sessions", `
  return [await ctx.newSession({ setup: () => seen.push("setup"), withSession: () => seen.push("with") }), await ctx.fork("e1"), await ctx.navigateTree("e2", { summarize: true }), await ctx.switchSession("/s"), seen];
`, async (go, host) => {
  host.onCall["session.treePreparation"] = (args) => ({ targetId: args.targetId, userWantsSummary: args.summarize });
  const [made, fork, tree, switched, seen] = await go();
  assert.deepEqual([made, fork, tree, switched], [{ cancelled: true }, { cancelled: true }, { cancelled: true }, { cancelled: false }]);
  assert.deepEqual(seen, ["new", "e1 before", "e2 true", "resume /s"]);
  assert.deepEqual(["session.new", "session.fork", "session.navigate", "session.switch"].map((name) => sent(host, name).length), [0, 0, 0, 1]);
  assert.deepEqual(host.reports.map(({ event, message }) => [event, message]), [["session_before_switch", "boom"], ["session_before_switch", "boom"]]);
}, { setup: `globalThis.seen = [];
  pi.on("session_before_switch", () => { throw new Error("boom"); });
  pi.on("session_before_switch", (e) => { seen.push([e.reason, e.targetSessionFile].filter(Boolean).join(" ")); return { cancel: e.reason === "new" }; });
  pi.on("session_before_fork", (e) => { seen.push(e.entryId + " " + e.position); return { cancel: true }; });
  pi.on("session_before_tree", ({ preparation: p }) => { seen.push(p.targetId + " " + p.userWantsSummary); return { cancel: true }; });` });

check("modes: hasUI, mode, cwd, signal", 'globalThis.seen = []; return [ctx.hasUI, ctx.mode];', async (go, host, engine) => {
  for (const [mode, hasUI] of [["tui", true], ["rpc", true], ["json", false], ["print", false]]) {
    host.mode = mode;
    assert.deepEqual(await go(), [hasUI, mode]);
  }
  assert.deepEqual(await go("", { mode: "rpc", hasUI: false }), [false, "rpc"]);
  const running = engine.dispatch("agent_start", {}, { signal: 5 });
  engine.api.abort(5, "stop");
  await running;
  assert.deepEqual(outside(engine.run("seen")), ["stop"]);
}, { setup: 'pi.on("agent_start", (e, ctx) => new Promise((done) => ctx.signal.addEventListener("abort", () => { seen.push(ctx.signal.reason.message); done(); })))' });

check("widgets, status, title, editor, theme, header", `
  ctx.ui.setStatus("k", "v"); ctx.ui.setWidget("w", ["1"]); ctx.ui.setWidget("f", () => ({ render: (w) => ["x".repeat(w + 5)], invalidate() {} }), { placement: "belowEditor" }); ctx.ui.setTitle("T"); ctx.ui.setEditorText("e"); ctx.ui.pasteToEditor("p");
  const errors = []; try { ctx.ui.theme.fg("nope", "x"); } catch (e) { errors.push(e.message); }
  return [ctx.ui.getEditorText(), ctx.ui.theme.fg("accent", "x"), ctx.ui.theme.bold("b"), errors, ctx.ui.setTheme("light").success, ctx.ui.getAllThemes().length, ctx.ui.getTheme("none") ?? "none"];
`, async (go, host, engine) => {
  host.themeData = { name: "own", mode: "truecolor", fg: { accent: "\x1b[38;2;1;2;3m" }, bg: {} };
  host.onCall["ui.theme"] = (args) => (args.name ? null : host.themeData);
  assert.deepEqual(await go(), ["ep", "\x1b[38;2;1;2;3mx\x1b[39m", "\x1b[1mb\x1b[22m", ["Unknown theme color: nope"], true, 2, "none"]);
  assert.deepEqual([host.statuses.k, host.widgets.w.lines, host.title], ["v", ["1"], "T"]);
  const place = host.places.get("widget:f");
  assert.equal(place.placement, "belowEditor");
  assert.equal(engine.render(place.component, 10)[0].replace(/\x1b\[0m/, ""), "x".repeat(10));
});

check("raw terminal input can be watched, changed and taken", `
  globalThis.off = ctx.ui.onTerminalInput((data) => data === "x" ? { consume: true } : { data: data + "!" });
`, async (go, host, engine) => {
  await go();
  assert.equal(host.wantsInput, 1);
  assert.deepEqual([engine.api.terminalInput("x"), engine.api.terminalInput("y")], [undefined, "y!"]);
  engine.run("off()");
  assert.deepEqual([engine.api.terminalInput("x"), host.wantsInput], ["x", 0]);
});

check("newer tools: prepared arguments, terminate, updates, render context", "return 1;", async (go, host, engine) => {
  assert.deepEqual(outside(engine.api.prepareArguments("t", engine.inside({ old: 1 }))), { result: { n: 1 } });
  const partial = [];
  const { result } = await engine.tool("t", { n: 1 }, { signal: 9 }, (update) => partial.push(update.content[0].text));
  assert.deepEqual([result.terminate, result.details, partial], [true, { aborted: false, cwd: host.cwd }, ["half"]]);
  const draw = (options) => engine.api.renderToolCall("t", "c1", engine.inside({ n: 2 }), 20, engine.inside(options)).result.map((line) => line.trim());
  assert.deepEqual([draw({ isPartial: true }), draw({ isPartial: false })].map(([line]) => line), ["2 true 1", "2 false 2"]);
}, { setup: `pi.registerTool({ name: "t", label: "T", description: "d", promptSnippet: "s", parameters: { type: "object" }, executionMode: "sequential",
    prepareArguments: (args) => ({ n: args.old ?? args.n }),
    execute: async (id, params, signal, onUpdate, ctx) => { onUpdate({ content: [{ type: "text", text: "half" }] }); onUpdate({ nonsense: 1 }); return { content: [], details: { aborted: signal.aborted, cwd: ctx.cwd }, terminate: true }; },
    renderCall: (args, theme, context) => { context.state.n = (context.state.n ?? 0) + 1; return { render: () => [args.n + " " + context.isPartial + " " + context.state.n], invalidate() {} }; } })` });

check("entry renderers, Markdown, completion", "return 1;", async (go, host, engine) => {
  await engine.dispatch("session_start", { reason: "startup" });
  assert.deepEqual(outside(engine.api.renderEntry(engine.inside({ type: "custom", customType: "e", data: 4 }), 20).result), ["4"]);
  assert.equal(engine.api.transformMarkdown("a b"), "A b");
  const complete = async (asked) => outside(await engine.api.complete(engine.inside(asked))).result;
  const ask = { lines: ["so", "€😀 see #4 now"], line: 1, column: 9, own: { items: [{ value: "own", label: "own" }], prefix: "#4" } };
  const [added, own] = await complete(ask);
  assert.deepEqual(added, { value: "issue-4", label: "4", description: "", edit: { from: 10, to: 12, text: "issue-4", cursor: 17 } });
  assert.deepEqual(own, { value: "own", label: "own", description: "" });
  // Arguments of a command, which fails for one of them; that is told once.
  const argument = (text, more) => complete({ lines: [text], line: 0, column: text.length, command: "c", own: null, ...more });
  assert.deepEqual(await argument("/c st"), [{ value: "issue-4", label: "4", description: "", edit: { from: 3, to: 5, text: "issue-4", cursor: 10 } },
    { value: "start", label: "start", description: "begins", edit: { from: 3, to: 5, text: "start", cursor: 8 } }]);
  await argument("/c !");
  await argument("/c !");
  assert.deepEqual(host.reports.map(({ event, message }) => [event, message]), [["completions:c", "boom"]]);
  // One that never answers is answered with nothing as soon as a newer one is asked.
  const older = argument("/c ?");
  assert.equal((await argument("/c st")).length, 2);
  assert.deepEqual(await older, []);
}, { setup: `pi.registerEntryRenderer("e", (entry) => ({ render: () => [String(entry.data)] })); pi.registerMarkdownTransformer((text) => text.replace("a", "A"));
  pi.on("session_start", (e, ctx) => ctx.ui.addAutocompleteProvider((inner) => ({ ...inner, getSuggestions: async (...args) => { const before = await inner.getSuggestions(...args); return { items: [{ value: "issue-4", label: "4" }, ...(before?.items ?? [])], prefix: before?.prefix ?? "#4" }; } })));
  pi.registerCommand("c", { handler() {}, getArgumentCompletions: (prefix) => { if (prefix === "!") throw new Error("boom"); if (prefix === "?") return new Promise(() => {}); return [{ value: "start", label: "start", description: "begins" }]; } })` });

test("late registration is told to the host", async () => {
  const engine = await Engine.start();
  try {
    await engine.extension("export default (pi) => { pi.registerProvider('p', { baseUrl: 'http://x', apiKey: 'K', models: [] }); pi.on('session_start', () => { pi.registerTool({ name: 'late', description: '', parameters: {}, execute() {} }); pi.registerProvider('q', { baseUrl: 'http://y' }); pi.unregisterProvider('p'); pi.registerCommand('c', { handler() {} }); }); }");
    assert.equal(engine.api.providerDescriptions().length, 1);
    await engine.api.announceSession(engine.inside({ reason: "startup" }));
    const told = engine.host.calls.filter((call) => call.name.endsWith("registered")).map((call) => [call.name, call.args.kind, call.args.name]);
    assert.deepEqual(told, [["registered", "tool", "late"], ["registered", "provider", "q"], ["unregistered", "provider", "p"], ["registered", "command", "c"]]);
    assert.ok(engine.host.active.includes("late"));
  } finally {
    engine.stop();
  }
});

test("both package scopes are one module, and extensions talk over the bus and globalThis", async () => {
  const engine = await Engine.start();
  try {
    await engine.extension('import { Text as A } from "@mariozechner/pi-tui"; import { Text as B } from "@earendil-works/pi-tui"; globalThis.same = A === B; export default (pi) => pi.events.on("x", (data) => { data.seen = true; });');
    await engine.extension('export default (pi) => { const data = {}; pi.events.emit("x", data); globalThis.heard = data.seen; }');
    assert.deepEqual([engine.run("same"), engine.run("heard")], [true, true]);
  } finally {
    engine.stop();
  }
});

