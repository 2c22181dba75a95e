// The four examples that bring packages or native code: what works, and what is refused with a reason.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { CAN_RUN, example, folder } from "./support.mjs";
import { EXAMPLES } from "./examples.mjs";

const installed = (name) => {
  for (let dir = EXAMPLES ?? "/"; dir !== "/"; dir = path.dirname(dir)) if (fs.existsSync(path.join(dir, "node_modules", name))) return true;
  return false;
};

if (installed("ms")) {
  example("with-deps", async (engine) => {
    assert.match((await engine.tool("parse_duration", { duration: "2 days" })).result.content[0].text, /172800000/);
    assert.equal((await engine.tool("parse_duration", { duration: "soon" })).result.isError, true);
  });
}

const sse = (events) => events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
if (installed("@anthropic-ai/sdk")) {
  example("custom-provider-anthropic", async (engine, host) => {
    const [provider] = engine.api.providerDescriptions();
    let asked;
    host.fetch = (request) => {
      asked = request;
      return { status: 200, headers: [["content-type", "text/event-stream"]], body: sse([
        { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], model: "x", usage: { input_tokens: 7, output_tokens: 0 } } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hel" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { input_tokens: 7, output_tokens: 3 } },
        { type: "message_stop" },
      ]) };
    };
    const events = [];
    const model = { ...provider.models[0], provider: provider.name, api: provider.api, baseUrl: provider.baseUrl };
    const context = { systemPrompt: "s", messages: [{ role: "user", content: "hi", timestamp: 1 }] };
    const { error } = await engine.api.streamProvider(engine.inside({ provider: provider.name, path: provider.path, model, context, options: { apiKey: "K" } }), (event) => events.push(event));
    assert.equal(error, undefined);
    const final = events.at(-1).message ?? events.at(-1).error;
    assert.equal(final.errorMessage, undefined);
    assert.equal(final.content[0].text, "hello");
    assert.deepEqual([final.usage.input, final.usage.output], [7, 3]);
    assert.ok(final.usage.cost.total > 0);
    assert.ok(events.some((event) => event.type === "text_delta"));
    assert.match(asked.url, /\/v1\/messages/);
    assert.equal(JSON.parse(Buffer.from(asked.body)).stream, true);
  });
}

if (installed("@anthropic-ai/sandbox-runtime")) {
  example("sandbox", { before: (engine, host) => {
    host.flags["no-sandbox"] = true;
  } }, async (engine, host) => {
    await engine.dispatch("session_start", { reason: "startup" });
    assert.equal(host.notices[0].type, "warning");
    assert.match((await engine.tool("bash", { command: "echo open" })).result.content[0].text, /open/);
    // With it switched on the native part cannot start here: that is told, and bash still works.
    host.flags["no-sandbox"] = false;
    await engine.dispatch("session_start", { reason: "startup" });
    assert.ok(host.notices.length > 1);
    assert.match((await engine.tool("bash", { command: "echo still" })).result.content[0].text, /still/);
  });
}

// Its compiled game needs WebAssembly. That ends in a lost promise inside the game's own loader, so it
// runs in a process of its own, where the tracker for those is ours.
test("doom-overlay", { skip: !CAN_RUN && "the examples are not installed" }, () => {
  const cwd = folder();
  fs.writeFileSync(path.join(cwd, "doom1.wad"), "IWAD");
  const script = path.join(import.meta.dirname ?? path.dirname(fileURLToPath(import.meta.url)), "run.mjs");
  const output = execFileSync(process.execPath, ["--no-warnings", "--experimental-vm-modules", script, path.join(EXAMPLES, "doom-overlay/index.ts"), "doom-overlay", path.join(cwd, "doom1.wad")], { encoding: "utf8" });
  const { error, notices, reports, open } = JSON.parse(output);
  assert.equal(error, null);
  assert.equal(notices.at(-1).type, "error");
  assert.match(notices.at(-1).message, /WebAssembly/);
  assert.ok(reports.every((report) => report.path.endsWith("doom-overlay/index.ts") && /WebAssembly/.test(report.message)));
  assert.equal(open, 0);
});
