// The 14 examples that need Node modules, the host's tools, HTTP or a model.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { sleep, until } from "./engine.mjs";
import { example, folder, messages, sent } from "./support.mjs";

const json = (value, status = 200) => ({ status, headers: [["content-type", "application/json"]], body: [Buffer.from(JSON.stringify(value))] });

example("antigravity-image-gen", async (engine, host, cwd) => {
  host.keys["google-antigravity"] = JSON.stringify({ token: "T", projectId: "P" });
  const event = { response: { candidates: [{ content: { parts: [{ text: "note" }, { inlineData: { mimeType: "image/png", data: Buffer.from("image").toString("base64") } }] } }] } };
  const text = `data: ${JSON.stringify(event)}\n\n`;
  let request;
  host.fetch = (given) => {
    request = given;
    return { status: 200, headers: [], body: [Buffer.from(text.slice(0, 40)), Buffer.from(text.slice(40))] };
  };
  const { result } = await engine.tool("generate_image", { prompt: "a boat", save: "custom", saveDir: path.join(cwd, "out") });
  assert.ok(!result.isError, result.content[0].text);
  assert.equal(result.content[1].data, Buffer.from("image").toString("base64"));
  assert.equal(fs.readFileSync(result.details.savedPath, "utf8"), "image");
  assert.equal(new Map(request.headers).get("authorization"), "Bearer T");
  host.fetch = () => ({ status: 403, headers: [], body: [Buffer.from("no")] });
  assert.match((await engine.tool("generate_image", { prompt: "x" })).result.content[0].text, /403.*no/);
});

example("bash-spawn-hook", async (engine, host) => {
  const { result } = await engine.tool("bash", { command: "echo hi" });
  assert.match(result.content[0].text, /hi/);
  const [run] = sent(host, "tool.run");
  assert.match(run.params.command, /^source ~\/\.profile\necho hi$/);
  assert.equal(run.env.PI_SPAWN_HOOK, "1");
});

example("claude-rules", async (engine, host, cwd) => {
  fs.mkdirSync(path.join(cwd, ".claude/rules/sub"), { recursive: true });
  fs.writeFileSync(path.join(cwd, ".claude/rules/sub/style.md"), "x");
  await engine.dispatch("session_start", { reason: "startup" });
  assert.equal(host.notices.length, 1);
  const { systemPrompt } = await engine.outcome("before_agent_start", { prompt: "x", systemPrompt: "base" });
  assert.match(systemPrompt, /^base[\s\S]*rules\/sub\/style\.md/);
});

example("custom-compaction", async (engine, host) => {
  host.models.push({ ...host.model, provider: "google", id: "gemini-2.5-flash", name: "Flash" });
  const preparation = {
    messagesToSummarize: [{ role: "user", content: [{ type: "text", text: "build it" }] }], turnPrefixMessages: [], tokensBefore: 12345,
    firstKeptEntryId: "e9", fileOps: { read: ["a"], written: [], edited: [] }, settings: {},
  };
  const ask = () => engine.outcome("session_before_compact", { preparation, branchEntries: [], signal: 7 });
  assert.equal(await ask(), undefined, "without a key the host's own way is used");
  host.keys.google = "K";
  host.onAction["llm.stream"] = ({ channel }) => {
    const message = { role: "assistant", content: [{ type: "text", text: "summary" }], stopReason: "stop", usage: {} };
    engine.deliver(channel, { type: "start", partial: message });
    engine.deliver(channel, { type: "done", reason: "stop", message });
  };
  assert.deepEqual(await ask(), { compaction: { summary: "summary", firstKeptEntryId: "e9", tokensBefore: 12345 } });
  const [call] = sent(host, "llm.stream");
  assert.match(call.context.messages[0].content[0].text, /\[User\]: build it/);
  assert.equal(call.apiKey, "K");
  assert.ok(messages(host).some((text) => text.includes("12,345")), "numbers are grouped as in English");
});

example("custom-provider-gitlab-duo", async (engine, host) => {
  const [provider] = engine.api.providerDescriptions();
  assert.ok(provider.models.length > 0 && provider.streams && provider.oauth);
  host.onAction["login.prompt"] = () => "https://x/cb?code=C&state=S";
  const bodies = [];
  host.fetch = ({ url, body }) => {
    bodies.push(String(body));
    if (url.includes("oauth/token")) return json({ access_token: "A", refresh_token: "R", expires_in: 60, created_at: 1 });
    return json({ token: "D", headers: { "x-a": "1" }, expires_at: 0 });
  };
  const { result: credentials } = await engine.api.providerAuth(engine.inside({ provider: provider.name, step: "login" }));
  assert.equal(credentials.access, "A");
  assert.match(sent(host, "login.open")[0].url, /code_challenge=[\w-]{43}/, "PKCE by SHA-256");
  assert.match(bodies[0], /C/);
  host.onAction["llm.stream"] = () => ({ role: "assistant", content: [], stopReason: "stop" });
  const events = [];
  const model = { ...provider.models[0], provider: provider.name, api: provider.api };
  const { error } = await engine.api.streamProvider(engine.inside({ provider: provider.name, path: provider.path, model, context: { messages: [] }, options: { apiKey: "A" } }), (event) => events.push(event));
  assert.equal(error, undefined);
  const final = events.at(-1).message ?? events.at(-1).error;
  assert.equal(final.stopReason, "stop", final.errorMessage);
  const [call] = sent(host, "llm.stream");
  assert.match(call.model.api, /anthropic|openai/);
});

example("custom-provider-qwen-cli", async (engine, host) => {
  const [provider] = engine.api.providerDescriptions();
  assert.equal(provider.oauth.modifiesModels ?? false, provider.oauth.modifiesModels);
  const asked = [];
  host.fetch = ({ url, body }) => {
    asked.push([url, String(body)]);
    if (url.includes("device/code")) return json({ device_code: "D", user_code: "U", verification_uri: "https://v", verification_uri_complete: "https://v?u", expires_in: 60, interval: 0 });
    return json({ access_token: "A", refresh_token: "R", token_type: "Bearer", expires_in: 60, resource_url: "portal.example" });
  };
  const { result: credentials } = await engine.api.providerAuth(engine.inside({ provider: provider.name, step: "login" }));
  assert.equal(credentials.access, "A");
  assert.match(asked[0][1], /code_challenge_method=S256/);
  const { result: key } = await engine.api.providerAuth(engine.inside({ provider: provider.name, step: "key", credentials: { access: "Z" } }));
  assert.equal(key, "Z");
});

example("dynamic-resources", async (engine) => {
  const found = await engine.outcome("resources_discover", { cwd: "/", reason: "startup" });
  assert.ok(path.isAbsolute(found.skillPaths[0].path) && fs.existsSync(found.skillPaths[0].path));
  assert.equal(found.promptPaths.length + found.themePaths.length, 2);
});

const trigger = "/tmp/agent-trigger.txt";
example("file-trigger", { before: () => fs.writeFileSync(trigger, "") }, async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  await sleep(20);
  fs.writeFileSync(trigger, "go");
  const [message] = await until(() => sent(host, "message.send").length > 0 && sent(host, "message.send"), "the message");
  assert.match(message.message.content, /go$/);
  assert.equal(message.options.triggerTurn, true);
  await until(() => fs.readFileSync(trigger, "utf8") === "");
  fs.rmSync(trigger);
});

const bin = folder();
fs.writeFileSync(path.join(bin, "osascript"), "#!/bin/sh\necho true\n", { mode: 0o755 });
example("mac-system-theme", { env: { PATH: `${bin}:${process.env.PATH}` } }, async (engine, host) => {
  await engine.dispatch("session_start", { reason: "startup" });
  assert.equal(host.themeName, "dark");
  assert.equal(host.timers.size, 1);
  await engine.dispatch("session_shutdown", {});
  assert.equal(host.timers.size, 0);
});

example("notify", async (engine, host) => {
  await engine.dispatch("agent_end", { messages: [] });
  assert.match(host.output, /^\x1b\]777;notify;/);
});
example("notify", { env: { WT_SESSION: "1" } }, async (engine) => {
  // The third way loads child_process through require inside an ES module; the program itself is absent here.
  const { records } = await engine.dispatch("agent_end", { messages: [] });
  assert.equal(records[0].error, undefined);
});

example("provider-payload", async (engine, host, cwd) => {
  fs.mkdirSync(path.join(cwd, ".pi"));
  const { payload } = await engine.outcome("before_provider_request", { payload: { model: "m", n: 1 } });
  assert.deepEqual(payload, { model: "m", n: 1 });
  assert.deepEqual(JSON.parse(fs.readFileSync(path.join(cwd, ".pi/provider-payload.log"), "utf8")), { model: "m", n: 1 });
});

// A stand-in for ssh that runs the command here.
fs.writeFileSync(path.join(bin, "ssh"), '#!/bin/sh\nshift\nexec sh -c "$*"\n', { mode: 0o755 });
const remote = folder();
example("ssh", { env: { PATH: `${bin}:${process.env.PATH}` } }, async (engine, host, cwd) => {
  host.flags.ssh = `me@there:${remote}`;
  fs.writeFileSync(path.join(remote, "f.txt"), "far away\n");
  await engine.dispatch("session_start", { reason: "startup" });
  assert.match(host.statuses.ssh, /me@there/);
  const text = async (name, params) => {
    const { result } = await engine.tool(name, params);
    assert.ok(!result.isError, result.content[0].text);
    return result.content[0].text;
  };
  assert.match(await text("read", { path: "f.txt" }), /far away/);
  await text("edit", { path: "f.txt", oldText: "far", newText: "very far" });
  assert.equal(fs.readFileSync(path.join(remote, "f.txt"), "utf8"), "very far away\n");
  await text("write", { path: "g.txt", content: "new" });
  assert.equal(fs.readFileSync(path.join(remote, "g.txt"), "utf8"), "new");
  assert.match(await text("bash", { command: "cat g.txt; pwd" }), /new/);
  const { operations } = await engine.outcome("user_bash", { command: "echo $((1+1))", cwd });
  const pieces = [];
  const { exitCode } = await engine.api.callOperations(operations, engine.inside({ command: "echo $((1+1))", cwd }), (data) => pieces.push(Buffer.from(data)));
  assert.equal(exitCode, 0);
  assert.equal(Buffer.concat(pieces).toString().trim(), "2");
  const { systemPrompt } = await engine.outcome("before_agent_start", { prompt: "x", systemPrompt: `Current working directory: ${cwd}` });
  assert.ok(systemPrompt.includes(remote));
});

example("titlebar-spinner", async (engine, host) => {
  host.name = "work";
  await engine.dispatch("agent_start");
  await until(() => /^[⠋⠙⠹⠸] /.test(host.title), "a frame");
  await engine.dispatch("agent_end", { messages: [] });
  assert.match(host.title, /^π - work - /);
  assert.equal(host.timers.size, 0);
});

example("tool-override", async (engine, host, cwd) => {
  const agent = path.join(cwd, ".pi/agent");
  fs.mkdirSync(agent, { recursive: true });
  fs.writeFileSync(path.join(cwd, "n.txt"), "1\n2\n3\n4");
  const { result } = await engine.tool("read", { path: "n.txt", offset: 2, limit: 2 });
  assert.match(result.content[0].text, /^2\n3/);
  const denied = await engine.tool("read", { path: ".env" });
  assert.equal(denied.result.details.blocked, true);
  assert.equal(fs.readFileSync(path.join(agent, "read-access.log"), "utf8").trim().split("\n").length, 2);
  await engine.command("read-log");
  assert.ok(host.notices.length > 0);
});
