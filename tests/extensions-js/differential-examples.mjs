// Gives each example of a folder the same conversation in pi's host and in ours, and prints one JSON line for each:
// where the two differ, or why it could not be compared. In a process of its own: examples leave timers and watchers behind.
//
// node --experimental-vm-modules tests/extensions-js/differential-examples.mjs FOLDER

import fs from "node:fs";
import path from "node:path";
import { Levain, PROGRAM, Pi, differences, emit, pi } from "./both.mjs";
import { exampleUnits } from "./examples.mjs";
import { repository } from "./support.mjs";

const text = (value) => [{ type: "text", text: value }];
const call = (toolName, input) => ["tool_call", { toolName, toolCallId: "c1", input }];
const result = (toolName, input, output, isError = false) => ["tool_result", { toolName, toolCallId: "c1", input, content: text(output), details: undefined, isError }];

/** A session with a prompt that calls tools, and what may come before it ends. */
const CONVERSATION = [
  ["session_start", { reason: "startup" }],
  ["resources_discover", { cwd: "/", reason: "startup" }],
  ["input", { text: "say !{echo hi} and @who", source: "interactive" }],
  ["input", { text: "?quick why", source: "interactive" }],
  ["input", { text: "ping", source: "interactive" }],
  ["before_agent_start", { prompt: "do it", systemPrompt: "base", systemPromptOptions: { cwd: "/", selectedTools: ["read", "bash"], toolSnippets: {}, promptGuidelines: [], contextFiles: [], skills: [] } }],
  ["agent_start", {}],
  ["turn_start", { turnIndex: 0, timestamp: 1 }],
  ["context", { messages: [{ role: "user", content: text("do it") }, { role: "custom", customType: "plan-mode-context", content: "x", display: false }, { role: "assistant", content: text("ok"), stopReason: "stop" }] }],
  ["before_provider_request", { payload: { model: "m", messages: [] } }],
  ["after_provider_response", { status: 200, headers: {} }],
  ["message_start", { message: { role: "assistant", content: [] } }],
  ["message_end", { message: { role: "assistant", content: text("ok"), stopReason: "stop", usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { total: 0 } } } }],
  call("bash", { command: "sudo rm -rf /tmp/x" }), call("bash", { command: "ls" }), call("write", { path: ".env", content: "x" }), call("write", { path: "a.txt", content: "x" }), call("read", { path: "a.txt" }),
  ["tool_execution_start", { toolCallId: "c1", toolName: "bash", args: { command: "ls" } }],
  result("bash", { command: "ls" }, "a.txt"), result("read", { path: "a.txt" }, "one"), result("edit", { path: "a.txt" }, "no", true),
  ["tool_execution_end", { toolCallId: "c1", toolName: "bash", result: { content: text("a.txt") }, isError: false }],
  ["turn_end", { turnIndex: 0, message: { role: "assistant", content: text("[DONE:1]"), stopReason: "stop" }, toolResults: [] }],
  ["agent_end", { messages: [{ role: "assistant", content: text("What now? Really?"), stopReason: "stop", timestamp: 1 }] }],
  ["model_select", { model: { id: "n", provider: "p", name: "N" }, previousModel: undefined, source: "set" }],
  ["user_bash", { command: "ls", excludeFromContext: false, cwd: "/" }],
  ["session_before_switch", { reason: "new" }], ["session_before_switch", { reason: "resume", targetSessionFile: "/x" }],
  ["session_before_fork", { entryId: "e" }],
  ["session_before_tree", { preparation: { targetId: "t", oldLeafId: "l", entriesToSummarize: [], userWantsSummary: false } }],
  ["session_before_compact", { preparation: { firstKeptEntryId: "k", messagesToSummarize: [], turnPrefixMessages: [], tokensBefore: 5, settings: {} }, branchEntries: [] }],
  ["session_compact", { compactionEntry: {}, fromExtension: false }],
  ["session_tree", { newLeafId: "a", oldLeafId: "b" }],
  ["session_shutdown", { reason: "quit" }],
];
const DIALOGS = { select: (args) => args.options?.[0], confirm: () => true, input: () => "typed", editor: () => undefined };

const late = (promise, what) => Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve({ late: what }), 4000).unref())]);

/** Without the folder of the run, styles, and what only our host draws. */
function cleaned(value, cwd) {
  const clean = (string) => string.replaceAll(cwd, "CWD").replaceAll(path.basename(cwd), "CWD").replace(/\u001b\[[0-9;]*m/g, "");
  return JSON.parse(JSON.stringify(value), (key, item) => (typeof item === "string" ? clean(item) : item));
}

async function talk(Host, unit) {
  const { cwd } = repository();
  process.env.HOME = path.join(cwd, "home");
  process.chdir(cwd);
  const models = [{ provider: "google", id: "gemini-2.5-flash" }];
  const host = await Host.start([unit.file], cwd, { answer: (kind, args) => DIALOGS[kind](args), models });
  try {
    const registered = host.registered();
    if (registered.extensions.length === 0) return { failed: true };
    const { events } = registered.extensions[0];
    const steps = [];
    for (const [kind, payload] of CONVERSATION) {
      if (!events[kind]) continue;
      const payloadHere = JSON.parse(JSON.stringify(payload));
      steps.push([kind, await late(host.step(kind, payloadHere), kind)]);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    // What a built-in tool takes and how it is described is each program's own.
    registered.tools = registered.tools.map(([name, ...rest]) => (["read", "bash", "edit", "write", "grep", "find", "ls"].includes(name) ? [name] : [name, ...rest]));
    return cleaned({ steps, ...host.done(), registered }, cwd);
  } finally {
    host.engine?.stop();
  }
}

/** Each handler by itself in the program, without anybody to ask. */
async function alone(unit, events) {
  const wrong = [];
  for (const [event, payload] of CONVERSATION) {
    if (!events[event]) continue;
    const [here, there] = [repository().cwd, repository().cwd];
    process.env.HOME = path.join(here, "home");
    process.chdir(here);
    const theirs = cleaned(await late(Pi.start([unit.file], here, { ui: false }).then((host) => host.each(event, payload)), event), here);
    const mine = cleaned(emit([unit.file], there, event, payload).list, there);
    for (const place of differences(theirs, mine)) wrong.push(`alone.${event}.${place}`);
  }
  return wrong;
}

const lib = await pi();
lib.initTheme?.("dark");
const get = (value, place) => place.split(".").reduce((inner, name) => inner?.[name], value);
console.error = () => {};
// An example may have begun a line.
const say = (line) => fs.writeSync(1, `\n${JSON.stringify(line)}\n`);
process.on("unhandledRejection", () => {});
for (const unit of exampleUnits(process.argv[2])) {
  const [theirs, mine] = [await talk(Pi, unit), await talk(Levain, unit)];
  if (theirs.failed) {
    say({ name: unit.name, failed: mine.failed ? "both" : "pi" });
    continue;
  }
  const where = differences(theirs, mine);
  if (PROGRAM && !mine.failed) where.push(...(await alone(unit, theirs.registered.extensions[0].events)));
  say({ name: unit.name, events: theirs.steps.length, where, values: where.slice(0, 8).map((place) => [place, get(theirs, place), get(mine, place)]) });
}
process.exit(0);
