// The same extensions and the same events in pi's own host and in ours: a table of small extensions, the
// examples that pi ships, and chains put together at random. Any difference fails, unless it is in
// `EXPECTED` with its reason; one that stands there and no longer occurs fails as well.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { NO_ORACLE, ORACLE, PROGRAM, Levain, Pi, asTold, both, differences, emit, thread, write } from "./both.mjs";
import { Engine, HAS_TYPESCRIPT } from "./engine.mjs";
import { EXAMPLES, HAS_EXAMPLES, exampleUnits } from "./examples.mjs";

// pi writes what its bus caught to the console.
if (!NO_ORACLE) console.error = () => {};

const NO_PROGRAM = NO_ORACLE || (!PROGRAM && "LEVAIN names no program");

// ---- The table -----------------------------------------------------------------------------------

const text = (value) => [{ type: "text", text: value }];
const INPUT = ["input", { text: "a", images: [{ type: "image", data: "AA==", mimeType: "image/png" }], source: "interactive" }];
const START = ["before_agent_start", { prompt: "p", systemPrompt: "s" }];
const CONTEXT = ["context", { messages: [{ role: "user", content: text("one") }, { role: "assistant", content: text("two") }] }];
const REQUEST = ["before_provider_request", { payload: { model: "m", messages: [{ role: "user" }], n: 1 } }];
const CALL = ["tool_call", { toolName: "bash", toolCallId: "c1", input: { command: "ls", list: [1] } }];
const RESULT = ["tool_result", { toolName: "bash", toolCallId: "c1", input: { command: "ls" }, content: text("out"), details: { n: 1 }, isError: false }];
const MESSAGE = ["message_end", { message: { role: "assistant", content: text("said"), stopReason: "stop" } }];
const BASH = ["user_bash", { command: "ls", excludeFromContext: false, cwd: "/" }];
const TREE = ["session_before_tree", { preparation: { targetId: "t", userWantsSummary: true } }];
const COMPACT = ["session_before_compact", { preparation: { tokensBefore: 5 }, branchEntries: [] }];
const FORK = ["session_before_fork", { entryId: "e" }];
const SWITCH = ["session_before_switch", { reason: "new" }];
const RESOURCES = ["resources_discover", { cwd: "/", reason: "startup" }];
const SESSION = ["session_start", { reason: "startup" }];
const ASKED = [INPUT, START, CONTEXT, REQUEST, CALL, RESULT, MESSAGE, BASH, TREE, COMPACT, FORK, SWITCH, RESOURCES];
const TOLD = [
  SESSION, ["session_shutdown", { reason: "quit" }], ["session_compact", { compactionEntry: {}, fromExtension: false }], ["session_tree", { newLeafId: "a", oldLeafId: "b" }],
  ["agent_start", {}], ["agent_end", { messages: [] }], ["turn_start", { turnIndex: 0, timestamp: 1 }], ["turn_end", { turnIndex: 0, message: {}, toolResults: [] }],
  ["message_start", { message: { role: "user", content: "x" } }], ["message_update", { message: { role: "assistant" }, assistantMessageEvent: { type: "text_delta" } }],
  ["tool_execution_start", { toolCallId: "c", toolName: "bash", args: {} }], ["tool_execution_update", { toolCallId: "c", toolName: "bash", args: {}, partialResult: {} }],
  ["tool_execution_end", { toolCallId: "c", toolName: "bash", result: {}, isError: false }], ["model_select", { model: {}, previousModel: undefined, source: "set" }],
];

const on = (event, ...handlers) => handlers.map((handler) => `pi.on(${JSON.stringify(event)}, ${handler});`).join(" ");
const said = "(word) => pi.appendEntry('said', word)";
const TOOL = (name, rest) => `pi.registerTool({ name: ${JSON.stringify(name)}, label: "L", description: "d", parameters: { type: "object", properties: {} }, ${rest} });`;

/** name → [extensions, steps, options?] */
const CASES = {
  // input
  "input, nobody": [[], [INPUT]],
  "input: transforms chain": [[on("input", "(e) => ({ action: 'transform', text: e.text + '1' })"), on("input", "(e) => ({ action: 'transform', text: e.text + '2' })", "async (e) => ({ action: 'transform', text: e.text + '3' })")], [INPUT]],
  "input: images replaced, then kept": [[on("input", "() => ({ action: 'transform', text: 'b', images: [] })"), on("input", "(e) => ({ action: 'transform', text: e.text + e.images.length })")], [INPUT]],
  "input: images null keeps them": [[on("input", "() => ({ action: 'transform', text: 'b', images: null })")], [INPUT]],
  "input: there and back": [[on("input", "() => ({ action: 'transform', text: 'b' })", "() => ({ action: 'transform', text: 'a' })")], [INPUT]],
  "input: the same text": [[on("input", "(e) => ({ action: 'transform', text: e.text })")], [INPUT]],
  "input: an empty text": [[on("input", "() => ({ action: 'transform', text: '' })")], [INPUT]],
  "input: handled ends it": [[on("input", "() => ({ action: 'transform', text: 'b' })", "() => ({ action: 'handled' })"), `const say = ${said}; ${on("input", "() => say('asked')")}`], [INPUT]],
  "input: handled with more": [[on("input", "() => ({ action: 'handled', text: 'x' })")], [INPUT]],
  "input: continue with a text": [[on("input", "() => ({ action: 'continue', text: 'x' })")], [INPUT]],
  "input: odd answers": [[on("input", "() => null", "() => 'x'", "() => 7", "() => true", "() => []", "() => ({})", "() => ({ text: 'x' })", "() => ({ action: 'other', text: 'x' })", "() => ({ action: null })")], [INPUT]],
  "input: an edit of the event's text is none": [[on("input", "(e) => { e.text = 'b'; e.source = 'rpc' }", "(e) => ({ action: 'transform', text: e.text + e.source })")], [INPUT]],
  "input: images edited in place": [[on("input", "(e) => { e.images.push({ type: 'image', data: 'BB==', mimeType: 'image/png' }) }")], [INPUT]],
  "input: throws": [[on("input", "() => { throw new Error('x') }"), on("input", "() => ({ action: 'transform', text: 'b' })", "() => { throw 'text' }", "() => Promise.reject(new TypeError('t'))", "async () => { await null; throw undefined }")], [INPUT]],
  "input: a transform whose text is none": [[on("input", "() => ({ action: 'transform' })")], [INPUT]],
  "input: a transform whose text is a number": [[on("input", "() => ({ action: 'transform', text: 5 })")], [INPUT]],
  "input: a promise of a promise, a thenable": [[on("input", "async () => Promise.resolve({ action: 'transform', text: 'b' })", "(e) => ({ then: (done) => done({ action: 'transform', text: e.text + 't' }) })")], [INPUT]],
  "input: without images": [[on("input", "(e) => ({ action: 'transform', text: String(e.images) })")], [["input", { text: "a" }]]],
  "input: from elsewhere": [[on("input", "(e) => (e.source === 'extension' ? { action: 'continue' } : { action: 'transform', text: e.source })")], [["input", { text: "a", source: "extension" }], ["input", { text: "a", source: "rpc" }]]],
  "input: an answer with getters of a class": [["class A { get action() { return 'transform' } get text() { return 'b' } } pi.on('input', () => new A())"], [INPUT]],

  // before_agent_start
  "before_agent_start: prompts chain, messages gather": [[on("before_agent_start", "(e) => ({ systemPrompt: e.systemPrompt + '1', message: { customType: 'c', content: 'x', display: true } })"), on("before_agent_start", "async (e) => ({ systemPrompt: e.systemPrompt + '2', message: { customType: 'd', content: [{ type: 'text', text: 'y' }], display: false, details: { a: 1 } } })")], [START]],
  "before_agent_start: an empty prompt is the base": [[on("before_agent_start", "() => ({ systemPrompt: '' })")], [START]],
  "before_agent_start: an empty prompt, then more": [[on("before_agent_start", "() => ({ systemPrompt: '' })", "(e) => ({ systemPrompt: e.systemPrompt + 'x' })")], [START]],
  "before_agent_start: each prompt begins from the base": [[on("before_agent_start", "(e) => ({ systemPrompt: e.systemPrompt + '1' })")], [START, START]],
  "before_agent_start: an edit in place is none": [[on("before_agent_start", "(e) => { e.systemPrompt = 'z'; e.prompt = 'q' }", "(e) => ({ systemPrompt: e.systemPrompt + e.prompt })")], [START]],
  "before_agent_start: odd answers": [[on("before_agent_start", "() => null", "() => 7", "() => 'x'", "() => []", "() => ({})", "() => ({ message: null })", "() => ({ message: '' })", "() => ({ systemPrompt: undefined })", "() => ({ other: 1 })")], [START]],
  "before_agent_start: a message lacks fields": [[on("before_agent_start", "() => ({ message: {} })", "() => ({ message: { content: 'x', more: 1 } })")], [START]],
  "before_agent_start: a message that is a text": [[on("before_agent_start", "() => ({ message: 'x' })")], [START]],
  "before_agent_start: a prompt that is none": [[on("before_agent_start", "() => ({ systemPrompt: 'x' })", "() => ({ systemPrompt: null })")], [START]],
  "before_agent_start: throws": [[on("before_agent_start", "() => ({ systemPrompt: 'x' })", "() => { throw new Error('no') }", "(e) => ({ systemPrompt: e.systemPrompt + 'y' })")], [START]],
  "before_agent_start: the prompt as it is now": [[on("before_agent_start", "(e) => ({ systemPrompt: e.systemPrompt + '1' })"), on("before_agent_start", "(e, ctx) => ({ systemPrompt: ctx.getSystemPrompt() + '2' })"), on("before_agent_start", "async (e, ctx) => { await null; return { systemPrompt: ctx.getSystemPrompt() + (ctx.getSystemPrompt() === e.systemPrompt) } }")], [START, START]],
  "before_agent_start: the prompt elsewhere": [[on("agent_start", "(e, ctx) => { pi.appendEntry('prompt', ctx.getSystemPrompt()) }") + on("before_agent_start", "() => ({ systemPrompt: 'x' })")], [START, ["agent_start", {}]]],

  // context
  "context: in place, then answered": [[on("context", "(e) => { e.messages.push({ role: 'user', content: 'x' }); e.messages[0].content[0].text = 'changed' }"), on("context", "(e) => ({ messages: e.messages.slice(1) })")], [CONTEXT, CONTEXT]],
  "context: both at once": [[on("context", "(e) => { e.messages.length = 0; return { messages: [{ role: 'user', content: 'y' }] } }")], [CONTEXT]],
  "context: replaced on the event is none": [[on("context", "(e) => { e.messages = [] }", "(e) => { e.messages.push({ role: 'user', content: String(e.messages.length) }) }")], [CONTEXT]],
  "context: empty": [[on("context", "() => ({ messages: [] })")], [CONTEXT]],
  "context: throws after an edit": [[on("context", "(e) => { e.messages.pop(); throw new Error('x') }", "async (e) => { e.messages.push({ role: 'user', content: 'z' }) }")], [CONTEXT]],
  "context: odd answers": [[on("context", "() => null", "() => []", "() => 7", "() => ({})", "() => ({ messages: null })", "() => ({ messages: 0 })", "() => ({ messages: '' })")], [CONTEXT]],
  "context: messages that are no list": [[on("context", "() => ({ messages: 'x' })")], [CONTEXT]],
  "context: kept and edited later": [["let kept; pi.on('context', (e) => { kept = e.messages }); pi.on('agent_end', () => { kept.push(1) }); pi.on('context', (e) => { pi.appendEntry('n', e.messages.length) })"], [CONTEXT, ["agent_end", { messages: [] }], CONTEXT]],

  // before_provider_request
  "request: replaced, then edited": [[on("before_provider_request", "(e) => ({ ...e.payload, a: 1 })", "(e) => { e.payload.b = 2; e.payload.messages.push({ role: 'x' }) }")], [REQUEST]],
  "request: edited and answered": [[on("before_provider_request", "(e) => { e.payload.lost = 1; return { model: 'n' } }")], [REQUEST]],
  "request: replaced on the event is none": [[on("before_provider_request", "(e) => { e.payload = { other: 1 } }", "(e) => { e.payload.n++ }")], [REQUEST]],
  "request: anything but undefined": [[on("before_provider_request", "() => 7", "(e) => ({ was: e.payload })", "async () => undefined")], [REQUEST]],
  "request: null": [[on("before_provider_request", "() => null")], [REQUEST]],
  "request: throws after an edit": [[on("before_provider_request", "(e) => { e.payload.n = 9; throw new Error('x') }", "(e) => ({ n: e.payload.n })")], [REQUEST]],

  // tool_call
  "tool_call: nothing said": [[on("tool_call", "() => {}", "() => ({})", "() => null", "() => 0", "() => 'block'", "() => ({ block: false, reason: 'r' })", "() => ({ reason: 'r' })")], [CALL]],
  "tool_call: edits are what runs": [[on("tool_call", "(e) => { e.input.command = 'pwd'; e.input.list.push(2); delete e.input.none }"), on("tool_call", "(e) => { e.input.command += ' -P'; return {} }")], [CALL]],
  "tool_call: the first block ends it": [[on("tool_call", "() => ({ block: true, reason: 'one' })", "() => { pi.appendEntry('asked') }"), on("tool_call", "() => ({ block: true, reason: 'two' })")], [CALL]],
  "tool_call: a block of its edits": [[on("tool_call", "(e) => { e.input.command = 'rm' }"), on("tool_call", "(e) => (e.input.command === 'rm' ? { block: true, reason: 'no rm' } : undefined)")], [CALL]],
  "tool_call: block without a reason": [[on("tool_call", "() => ({ block: true })")], [CALL]],
  "tool_call: block with an empty reason": [[on("tool_call", "() => ({ block: true, reason: '' })")], [CALL]],
  "tool_call: block that is truthy": [[on("tool_call", "() => ({ block: 'yes', reason: 'r' })")], [CALL]],
  "tool_call: block that is falsy": [[on("tool_call", "() => ({ block: 0, reason: 'r' })", "() => ({ block: null })")], [CALL]],
  "tool_call: a reason that is no text": [[on("tool_call", "() => ({ block: true, reason: { a: 1 } })")], [CALL]],
  "tool_call: throws": [[on("tool_call", "() => { throw new Error('broken guard') }"), on("tool_call", "() => { pi.appendEntry('asked') }")], [CALL]],
  "tool_call: rejects": [[on("tool_call", "async () => { await null; throw new RangeError('late') }")], [CALL]],
  "tool_call: throws a text": [[on("tool_call", "() => { throw 'text' }")], [CALL]],
  "tool_call: throws undefined": [[on("tool_call", "() => { throw undefined }")], [CALL]],
  "tool_call: an answered input is none": [[on("tool_call", "() => ({ input: { command: 'x' } })")], [CALL]],
  "tool_call: the input replaced on the event": [[on("tool_call", "(e) => { e.input = { command: 'x' } }", "(e) => { e.input.seen = e.input.command }")], [CALL]],
  "tool_call: other fields are seen by the next": [[on("tool_call", "(e) => { e.toolName = 'other'; e.note = 1 }"), on("tool_call", "(e) => { e.input.saw = e.toolName + e.note + e.toolCallId + e.type }")], [CALL]],
  "tool_call: async guards are waited for": [[on("tool_call", "async (e) => { await new Promise((done) => setTimeout(done, 5)); e.input.command = 'late' }", "(e) => (e.input.command === 'late' ? { block: true, reason: 'saw it' } : undefined)")], [CALL]],
  "tool_call: asks a person": [[on("tool_call", "async (e, ctx) => ((await ctx.ui.confirm('Run?', e.input.command)) ? undefined : { block: true, reason: 'no' })")], [CALL, CALL], { answer: (() => { const list = [true, false, true, false]; return () => list.shift(); })() }],

  // tool_result
  "tool_result: nothing said": [[on("tool_result", "() => {}", "() => null", "() => ({})", "() => 7", "() => 'x'", "() => []", "() => ({ other: 1 })")], [RESULT]],
  "tool_result: field by field": [[on("tool_result", "() => ({ content: [{ type: 'text', text: 'n' }] })"), on("tool_result", "(e) => ({ details: e.content[0].text })", "(e) => ({ isError: e.details === 'n' })")], [RESULT]],
  "tool_result: content edited in place": [[on("tool_result", "(e) => { e.content[0].text = 'redacted' }")], [RESULT]],
  "tool_result: content added to in place": [[on("tool_result", "(e) => { e.content.push({ type: 'text', text: 'more' }) }", "(e) => { e.details.seen = e.content.length }")], [RESULT]],
  "tool_result: edited in place and answered": [[on("tool_result", "(e) => { e.content[0].text = 'redacted'; return { isError: true } }")], [RESULT]],
  "tool_result: edited in place, then throws": [[on("tool_result", "(e) => { e.content[0].text = 'redacted'; throw new Error('x') }")], [RESULT]],
  "tool_result: edited in place by one, answered by another": [[on("tool_result", "(e) => { e.content[0].text += '1' }"), on("tool_result", "(e) => ({ content: [...e.content, { type: 'text', text: '2' }] })")], [RESULT]],
  "tool_result: replaced on the event, another answers": [[on("tool_result", "(e) => { e.content = [{ type: 'text', text: 'r' }]; e.isError = true }"), on("tool_result", "(e) => ({ details: e.content[0].text })")], [RESULT]],
  "tool_result: replaced on the event, nobody answers": [[on("tool_result", "(e) => { e.content = [{ type: 'text', text: 'r' }] }")], [RESULT]],
  "tool_result: other fields are seen by the next": [[on("tool_result", "(e) => { e.note = 1 }"), on("tool_result", "(e) => ({ details: [e.note, e.toolName, e.type] })")], [RESULT]],
  "tool_result: null and false": [[on("tool_result", "() => ({ isError: false, content: [] })", "() => ({ isError: 0 })")], [RESULT]],
  "tool_result: details that are null": [[on("tool_result", "() => ({ details: 5 })", "() => ({ details: null })", "(e) => ({ content: [{ type: 'text', text: String(e.details) }] })")], [RESULT]],
  "tool_result: throws": [[on("tool_result", "() => { throw new Error('x') }", "() => ({ details: 2 })")], [RESULT]],
  "tool_result: of a call that failed": [[on("tool_result", "(e) => (e.isError ? { isError: false, content: [] } : undefined)")], [["tool_result", { ...RESULT[1], isError: true, details: undefined }]]],

  // message_end
  "message_end: replaced": [[on("message_end", "(e) => ({ message: { ...e.message, content: [{ type: 'text', text: 'n' }] } })"), on("message_end", "(e) => ({ message: { ...e.message, seen: e.message.content[0].text } })")], [MESSAGE]],
  "message_end: another role": [[on("message_end", "() => ({ message: { role: 'user', content: 'x' } })", "(e) => ({ message: { role: 'assistant', content: [] } })")], [MESSAGE]],
  "message_end: odd answers": [[on("message_end", "() => null", "() => 7", "() => ({})", "() => ({ message: null })", "() => ({ message: 0 })", "() => []")], [MESSAGE]],
  "message_end: a message that is a text": [[on("message_end", "() => ({ message: 'x' })")], [MESSAGE]],
  "message_end: a message without a role": [[on("message_end", "() => ({ message: { content: [] } })")], [MESSAGE]],
  "message_end: edited in place": [[on("message_end", "(e) => { e.message.content[0].text = 'edited' }")], [MESSAGE]],
  "message_end: edited in place, then seen": [[on("message_end", "(e) => { e.message.note = 1 }", "(e) => ({ message: { ...e.message, seen: e.message.note } })")], [MESSAGE]],
  "message_end: replaced on the event is none": [[on("message_end", "(e) => { e.message = { role: 'assistant', content: [] } }")], [MESSAGE]],
  "message_end: throws": [[on("message_end", "() => { throw new Error('x') }", "async () => { throw new Error('y') }")], [MESSAGE]],

  // user_bash
  "user_bash: the first answer": [[on("user_bash", "() => undefined", "() => null", "() => ({ result: { output: 'o', exitCode: 0, cancelled: false, truncated: false } })"), on("user_bash", "() => { pi.appendEntry('asked') }")], [BASH]],
  "user_bash: an empty answer is one": [[on("user_bash", "() => ({})", "() => ({ result: { output: 'late' } })")], [BASH]],
  "user_bash: odd answers": [[on("user_bash", "() => 0", "() => ''", "() => false", "() => 'x'", "() => ({ result: { output: 'late' } })")], [BASH]],
  "user_bash: operations": [[on("user_bash", "() => ({ operations: { exec: async () => ({ exitCode: 0 }) } })")], [BASH]],
  "user_bash: throws": [[on("user_bash", "() => { throw new Error('x') }", "async (e) => ({ result: { output: e.command + e.cwd + e.excludeFromContext } })")], [BASH]],

  // session_before_*
  "before tree: the last answer counts whole": [[on("session_before_tree", "() => ({ label: 'a', customInstructions: 'x' })"), on("session_before_tree", "async () => ({ label: 'b' })", "() => undefined", "() => null", "() => 0")], [TREE]],
  "before tree: a summary": [[on("session_before_tree", "(e) => ({ summary: { summary: e.preparation.targetId, details: { a: 1 } } })")], [TREE]],
  "before fork: the first that cancels": [[on("session_before_fork", "() => ({ skipConversationRestore: true })", "() => ({ cancel: true })", "() => ({ cancel: false })")], [FORK]],
  "before switch: cancel that is truthy": [[on("session_before_switch", "() => ({ cancel: 1 })", "() => { pi.appendEntry('asked') }")], [SWITCH]],
  "before compact: a summary, then a throw": [[on("session_before_compact", "(e) => ({ compaction: { summary: 's', firstKeptEntryId: 'k', tokensBefore: e.preparation.tokensBefore } })", "() => { throw new Error('x') }", "() => undefined")], [COMPACT]],
  "before compact: an empty answer counts": [[on("session_before_compact", "() => ({ compaction: { summary: 's' } })", "() => ({})")], [COMPACT]],
  "before compact: an answer that is a text": [[on("session_before_compact", "() => ({ compaction: { summary: 's' } })", "() => 'x'")], [COMPACT]],
  "before: edits in place are seen by the next": [[on("session_before_tree", "(e) => { e.preparation.note = 1; e.more = 2 }", "(e) => ({ label: String(e.preparation.note + e.more) })")], [TREE]],

  // resources_discover
  "resources: all in order": [[on("resources_discover", "() => ({ skillPaths: ['/a', '/b'], promptPaths: ['/c'] })"), on("resources_discover", "async (e) => ({ skillPaths: [e.cwd + e.reason], themePaths: ['/t'] })", "() => undefined", "() => ({ skillPaths: [] })")], [RESOURCES]],
  "resources: odd answers": [[on("resources_discover", "() => null", "() => 'x'", "() => ({ skillPaths: null })", "() => ({ promptPaths: 7 })", "() => []")], [RESOURCES]],
  "resources: paths that are a text": [[on("resources_discover", "() => ({ skillPaths: '/a', promptPaths: ['/b'] })")], [RESOURCES]],
  "resources: a path that is no text": [[on("resources_discover", "() => ({ skillPaths: ['/a', 3, null] })")], [RESOURCES]],
  "resources: throws": [[on("resources_discover", "() => { throw new Error('x') }", "() => ({ themePaths: ['/t'] })")], [RESOURCES]],

  // Every event
  "every event: nobody answers": [[[...ASKED, ...TOLD].map(([name]) => on(name, "() => {}", "async () => undefined")).join("\n")], [...ASKED, ...TOLD]],
  "every event: what arrives": [[[...ASKED, ...TOLD].map(([name]) => on(name, "(e) => { pi.appendEntry(e.type, JSON.stringify(Object.keys(e).filter((key) => e[key] !== undefined && key !== 'systemPromptOptions').sort())) }")).join("\n")], [...ASKED.filter(([name]) => name !== "resources_discover"), ...TOLD]],
  "every told event: throws and goes on": [[TOLD.map(([name]) => on(name, "() => { throw new Error('x') }", "(e) => { pi.appendEntry('still', e.type) }")).join("\n"), TOLD.map(([name]) => on(name, "async (e) => { await null; pi.appendEntry('too', e.type); throw 'x' }")).join("\n")], TOLD],
  "every told event: answers count for nothing": [[TOLD.map(([name]) => on(name, "() => ({ cancel: true, block: true, action: 'handled', message: { role: 'x' } })", "() => 7", "() => null")).join("\n")], TOLD],
  "told events: edits are seen by the next": [[on("turn_end", "(e) => { e.note = 1; e.toolResults.push(2) }"), on("turn_end", "(e) => { pi.appendEntry('saw', [e.note, e.toolResults.length]) }")], [["turn_end", { turnIndex: 0, message: {}, toolResults: [] }]]],
  "told events: one waits for the other": [[on("agent_start", "async () => { await new Promise((done) => setTimeout(done, 5)); pi.appendEntry('first') }"), on("agent_start", "() => { pi.appendEntry('second') }")], [["agent_start", {}]]],

  // Handlers that come and go
  "a handler registered by an event, for another": [[on("session_start", `() => { ${on("input", "() => ({ action: 'transform', text: 'late' })")} }`)], [INPUT, SESSION, INPUT]],
  "a handler registered by a command": [["pi.registerCommand('go', { handler() { pi.on('input', () => ({ action: 'transform', text: 'late' })) } })"], [INPUT, ["command", { name: "go" }], INPUT]],
  "a handler registered while its event is asked": [[on("input", `(e) => { if (e.text === 'a') ${on("input", "(e) => ({ action: 'transform', text: e.text + '+' })")} }`)], [INPUT]],
  "a handler that turns itself off": [["let on = true; pi.on('input', (e) => { if (!on) return; on = false; return { action: 'transform', text: e.text + '1' } })"], [INPUT, INPUT]],
  "the same function twice": [["const f = (e) => ({ action: 'transform', text: e.text + '1' }); pi.on('input', f); pi.on('input', f)"], [INPUT]],
  "what pi.on answers": [["const off = pi.on('input', () => {}); pi.on('session_start', () => pi.appendEntry('off', typeof off))"], [SESSION]],
  "an event that nobody knows": [[on("my_event", "() => ({ cancel: true })") + on("session_start", "() => {}")], [SESSION]],
  "a handler that is no function": [["pi.on('input', 'x')", on("input", "() => ({ action: 'transform', text: 'b' })")], [INPUT]],
  "a context that is kept": [["let kept; pi.on('session_start', (e, ctx) => { kept = ctx }); pi.on('agent_end', () => { pi.appendEntry('kept', [kept.cwd.length > 0, kept.hasUI, kept.isIdle(), kept.hasPendingMessages()]) })"], [SESSION, ["agent_end", { messages: [] }]]],
  "a field put on the context": [[on("session_start", "(e, ctx) => { ctx.mine = 1 }", "(e, ctx) => { pi.appendEntry('mine', ctx.mine ?? null) }") + on("agent_start", "(e, ctx) => { pi.appendEntry('mine', ctx.mine ?? null) }")], [SESSION, ["agent_start", {}]]],
  "a field put on the context, for another extension": [[on("session_start", "(e, ctx) => { ctx.mine = 1 }"), on("session_start", "(e, ctx) => { pi.appendEntry('mine', ctx.mine ?? null) }")], [SESSION]],
  "state of one module": [["let n = 0; pi.on('input', () => ({ action: 'transform', text: String(++n) }))", "let n = 0; pi.on('input', (e) => ({ action: 'transform', text: e.text + String(++n) }))"], [INPUT, INPUT]],
  "state of globalThis is shared": [["globalThis.shared = 1; pi.on('agent_end', () => { delete globalThis.shared })", "pi.on('session_start', () => pi.appendEntry('shared', globalThis.shared))"], [SESSION, ["agent_end", { messages: [] }]]],
  "a module that two import": [["import { next } from './beside.js'; export default (pi) => { pi.on('input', (e) => ({ action: 'transform', text: e.text + next() })) }", "import { next } from './beside.js'; export default (pi) => { pi.on('input', (e) => ({ action: 'transform', text: e.text + next() })) }"], [INPUT], { beside: { "beside.js": "let n = 0; export const next = () => ++n;\n" } }],

  // Loading
  "load: an async factory": [["export default async (pi) => { await null; pi.on('input', () => ({ action: 'transform', text: 'b' })) }"], [INPUT]],
  "load: a factory that throws": [["pi.registerCommand('x', { handler() {} }); throw new Error('x')", "pi.registerCommand('y', { handler() {} })"], [INPUT]],
  "load: a factory that rejects": [["export default async () => { throw new Error('x') }", on("input", "() => ({ action: 'transform', text: 'b' })")], [INPUT]],
  "load: no default export": [["export const x = 1", "export default 7", "export default {}", "export default null"], [INPUT]],
  "load: a class": [["export default class { constructor() {} }"], [INPUT]],
  "load: a syntax error": [["export default (pi) => {", on("input", "() => ({ action: 'transform', text: 'b' })")], [INPUT]],
  "load: a module that is not there": [["import x from './nothing.js'; export default () => {}", "import y from 'no-such-package-here'; export default () => {}"], [INPUT]],
  "load: what the factory answers counts for nothing": [["export default (pi) => { pi.registerCommand('x', { handler() {} }); return 7 }"], [INPUT]],
  "load: top-level await": [["const n = await Promise.resolve(3); export default (pi) => { pi.on('input', () => ({ action: 'transform', text: String(n) })) }"], [INPUT]],
  "load: actions throw, questions are answered": [["const names = ['sendMessage', 'sendUserMessage', 'appendEntry', 'setSessionName', 'getSessionName', 'setLabel', 'getActiveTools', 'getAllTools', 'setActiveTools', 'getCommands', 'getThinkingLevel', 'setThinkingLevel']; const threw = names.filter((name) => { try { pi[name]('x', 'y'); return false } catch { return true } }); const model = await pi.setModel({}).then(() => 'set', () => 'rejected'); pi.on('session_start', () => pi.appendEntry('threw', [threw, model, pi.getFlag('none') ?? null]))".replace(/^/, "export default async (pi) => { ") + " }"], [SESSION]],
  "load: helpers of the package": [["import { isToolCallEventType } from '@mariozechner/pi-coding-agent'; export default (pi) => { pi.on('tool_call', (e) => (isToolCallEventType('bash', e) && !isToolCallEventType('read', e) ? { block: true, reason: e.input.command } : undefined)) }"], [CALL]],

  // Tables
  "tools: the first of a name": [[TOOL("t", "execute: async () => ({ content: [{ type: 'text', text: '1' }], details: {} })"), TOOL("t", "execute: async () => ({ content: [{ type: 'text', text: '2' }], details: {} })") + TOOL("u", "execute: async () => ({ content: [], details: {} })")], [["tool", { name: "t", params: {} }], ["tool", { name: "none", params: {} }]]],
  "tools: again in the same file": [[TOOL("t", "execute: async () => ({ content: [{ type: 'text', text: '1' }] })") + TOOL("s", "execute: async () => ({ content: [] })") + TOOL("t", "execute: async () => ({ content: [{ type: 'text', text: '2' }] })")], [["tool", { name: "t", params: {} }]]],
  "tools: what comes back": [[TOOL("t", "execute: async (id, params, signal, update, ctx) => { update({ content: [{ type: 'text', text: 'half' }], details: { n: 1 } }); return { content: [{ type: 'text', text: id + JSON.stringify(params) + typeof signal + (ctx.cwd.length > 0) }], details: { params } } }")], [["tool", { name: "t", params: { a: [1] } }]]],
  "tools: throws": [[TOOL("t", "execute: async () => { throw new Error('no such file') }") + TOOL("u", "execute: () => { throw 'text' }")], [["tool", { name: "t", params: {} }], ["tool", { name: "u", params: {} }]]],
  "tools: arguments made ready": [[TOOL("t", "prepareArguments: (args) => ({ path: args.file }), execute: async (id, params) => ({ content: [{ type: 'text', text: params.path }], details: {} })")], [["tool", { name: "t", params: { file: "/x" } }]]],
  "tools: registered late": [[on("session_start", `() => { ${TOOL("late", "execute: async () => ({ content: [], details: {} })")} }`)], [["tool", { name: "late", params: {} }], SESSION, ["tool", { name: "late", params: {} }]]],
  "tools: no parameters": [["pi.registerTool({ name: 't', label: 'T', description: 'd', execute: async () => ({ content: [] }) }); pi.registerCommand('c', { handler() {} })"], [INPUT]],
  "tools: a result without content": [[TOOL("t", "execute: async () => 'done'")], [["tool", { name: "t", params: {} }]]],
  "commands: the same name in two": [["pi.registerCommand('x', { description: '1', handler: () => pi.appendEntry('one') })", "pi.registerCommand('x', { description: '2', handler: () => pi.appendEntry('two') }); pi.registerCommand('y', { handler: (args) => pi.appendEntry('y', args) })"], [["command", { name: "x:1" }], ["command", { name: "x:2" }], ["command", { name: "y", args: " a  b " }], ["command", { name: "none" }]]],
  "commands: the plain name of a clash": [["pi.registerCommand('x', { handler: () => pi.appendEntry('one') })", "pi.registerCommand('x', { handler: () => pi.appendEntry('two') })"], [["command", { name: "x" }]]],
  "commands: a number that somebody took": [["pi.registerCommand('x', { description: '1', handler: () => pi.appendEntry('one') }); pi.registerCommand('x:2', { description: 't', handler: () => pi.appendEntry('taken') })", "pi.registerCommand('x', { description: '2', handler: () => pi.appendEntry('two') })"], [["command", { name: "x:1" }], ["command", { name: "x:2" }], ["command", { name: "x:3" }]]],
  "commands: a number that is taken later": [["pi.registerCommand('x', { description: '1', handler: () => pi.appendEntry('one') })", "pi.registerCommand('x', { description: '2', handler: () => pi.appendEntry('two') })", "pi.registerCommand('x:1', { description: 't', handler: () => pi.appendEntry('taken') })"], [["command", { name: "x:1" }], ["command", { name: "x:1:2" }], ["command", { name: "x:2" }]]],
  "commands: again in the same file": [["pi.registerCommand('x', { description: '1', handler() {} }); pi.registerCommand('y', { handler() {} }); pi.registerCommand('x', { description: '2', handler: () => pi.appendEntry('last') })"], [["command", { name: "x" }]]],
  "commands: fail": [["pi.registerCommand('x', { handler() { throw new Error('x') } }); pi.registerCommand('y', { async handler() { await null; throw 'y' } })"], [["command", { name: "x" }], ["command", { name: "y" }]]],
  "commands: listed": [["pi.registerCommand('x', { description: 'd', handler: () => pi.appendEntry('list', pi.getCommands().filter((c) => c.source === 'extension').map((c) => [c.name, c.description, c.source])) })"], [["command", { name: "x" }]]],
  "commands: no handler": [["pi.registerCommand('x', { description: 'd' })"], [INPUT]],
  "flags: presets and values": [["pi.registerFlag('f', { type: 'string', default: 'one', description: 'd' }); pi.registerFlag('b', { type: 'boolean' }); pi.on('session_start', () => pi.appendEntry('flags', [pi.getFlag('f'), pi.getFlag('b') ?? null, pi.getFlag('none') ?? null]))"], [SESSION, ["flag", { name: "b", value: true }], ["flag", { name: "f", value: "two" }], SESSION]],
  "flags: the same name in two": [["pi.registerFlag('f', { type: 'string', default: 'one' }); pi.on('session_start', () => pi.appendEntry('first', pi.getFlag('f')))", "pi.registerFlag('f', { type: 'string', default: 'two' }); pi.on('session_start', () => pi.appendEntry('second', pi.getFlag('f')))"], [SESSION]],
  "flags: the first has no preset": [["pi.registerFlag('f', { type: 'string' }); pi.on('session_start', () => pi.appendEntry('first', pi.getFlag('f') ?? null))", "pi.registerFlag('f', { type: 'string', default: 'two' })"], [SESSION]],
  "flags: one may read its own alone": [["pi.registerFlag('f', { type: 'string', default: 'one' })", "pi.on('session_start', () => pi.appendEntry('other', pi.getFlag('f') ?? null))"], [SESSION]],
  "flags: again in the same file": [["pi.registerFlag('f', { type: 'string', default: 'one' }); pi.registerFlag('f', { type: 'string', default: 'two' }); pi.on('session_start', () => pi.appendEntry('f', pi.getFlag('f')))"], [SESSION]],
  "flags: read while loading": [["pi.registerFlag('f', { type: 'boolean', default: true }); const early = pi.getFlag('f'); pi.on('session_start', () => pi.appendEntry('early', early))"], [SESSION]],
  "flags: no type": [["pi.registerFlag('f', { description: 'd' })"], [INPUT]],
  "shortcuts: the last has the key": [["pi.registerShortcut('Ctrl+X', { description: '1', handler: () => pi.appendEntry('one') }); pi.registerShortcut('alt+q', { handler: () => pi.appendEntry('q') })", "pi.registerShortcut('ctrl+x', { description: '2', handler: () => pi.appendEntry('two') })"], [["shortcut", { key: "ctrl+x" }], ["shortcut", { key: "alt+q" }], ["shortcut", { key: "f12" }]]],
  "shortcuts: both spellings in one file": [["pi.registerShortcut('Ctrl+X', { description: '1', handler() {} }); pi.registerShortcut('ctrl+x', { description: '2', handler: () => pi.appendEntry('two') })"], [["shortcut", { key: "ctrl+x" }]]],
  "shortcuts: fail": [["pi.registerShortcut('f2', { handler() { throw new Error('x') } })"], [["shortcut", { key: "f2" }]]],
  "shortcuts: no handler": [["pi.registerShortcut('f2', { description: 'd' })"], [INPUT]],
  "renderers: of messages": [["pi.registerMessageRenderer('a', () => undefined); pi.registerMessageRenderer('b', () => undefined)", "pi.registerMessageRenderer('a', () => undefined)"], [INPUT]],
  "providers: registered and taken back": [["pi.registerProvider('p', { baseUrl: 'http://x' }); pi.registerProvider('q', { baseUrl: 'http://y' }); pi.unregisterProvider('q')", "pi.registerProvider('r', { baseUrl: 'http://z' })"], [SESSION]],
  "providers: late": [["pi.registerProvider('p', { baseUrl: 'http://x' }); pi.on('session_start', () => { pi.registerProvider('q', { baseUrl: 'http://y' }); pi.unregisterProvider('p') })"], [SESSION]],
  "providers: the same name in two": [["pi.registerProvider('p', { baseUrl: 'http://x' })", "pi.registerProvider('p', { baseUrl: 'http://y' })"], [SESSION]],
  "providers: merged": [["pi.registerProvider('p', { baseUrl: 'http://x' }); pi.registerProvider('p', { headers: { a: '1' } })"], [SESSION]],
  "providers: one that cannot be": [["pi.registerProvider('p', { models: [{ id: 'm' }] }); pi.registerCommand('c', { handler() {} })"], [["command", { name: "c" }]]],
  "providers: one that cannot be, late": [["pi.on('session_start', () => { pi.registerProvider('p', { models: [{ id: 'm' }] }) })"], [SESSION]],

  // The bus
  "bus: in order, between extensions": [["pi.events.on('c', (data) => pi.appendEntry('one', data)); pi.events.on('c', async (data) => { pi.appendEntry('two', data.n); await null; pi.appendEntry('three') })", "pi.on('session_start', () => { pi.events.emit('c', { n: 1 }); pi.appendEntry('after') })"], [SESSION, ["agent_start", {}]]],
  "bus: by reference": [["pi.events.on('c', (data) => { data.n++ })", "pi.on('session_start', () => { const data = { n: 1 }; pi.events.emit('c', data); pi.appendEntry('n', data.n) })"], [SESSION]],
  "bus: one that throws": [["pi.events.on('c', () => { throw new Error('x') }); pi.events.on('c', async () => { throw new Error('y') }); pi.events.on('c', () => pi.appendEntry('still'))", "pi.on('session_start', () => { pi.events.emit('c'); pi.appendEntry('after') })"], [SESSION]],
  "bus: taken off": [["const f = () => pi.appendEntry('heard'); const off = pi.events.on('c', f); pi.events.on('c', f); pi.on('session_start', () => { pi.events.emit('c', 1); off(); off(); pi.events.emit('c', 2) })"], [SESSION]],
  "bus: added and taken off meanwhile": [["let off; pi.events.on('c', () => { pi.appendEntry('one'); off(); pi.events.on('c', () => pi.appendEntry('new')) }); off = pi.events.on('c', () => pi.appendEntry('two')); pi.on('session_start', () => pi.events.emit('c')); pi.on('agent_start', () => pi.events.emit('c'))"], [SESSION, ["agent_start", {}]]],
  "bus: while loading": [["pi.events.on('c', (data) => { globalThis.heard = data })", "pi.events.emit('c', 5); pi.on('session_start', () => { pi.appendEntry('heard', globalThis.heard); delete globalThis.heard })"], [SESSION]],
  "bus: names": [["for (const name of ['error', '__proto__', 'constructor', '', 'toString']) pi.events.on(name, (data) => pi.appendEntry('heard', [name, data])); pi.on('session_start', () => { for (const name of ['error', '__proto__', 'constructor', '', 'toString', 'none']) pi.events.emit(name, 1) })"], [SESSION]],
  "bus: a number is a name": [["pi.events.on('1', () => pi.appendEntry('heard')); pi.on('session_start', () => pi.events.emit(1))"], [SESSION]],
  "bus: error that nobody hears": [["pi.on('session_start', () => { pi.events.emit('error', 1); pi.appendEntry('after') })"], [SESSION]],
  "bus: of a file that did not load": [["pi.events.on('c', () => { globalThis.ghost = 1 }); throw new Error('x')", "pi.on('session_start', () => { pi.events.emit('c'); pi.appendEntry('ghost', globalThis.ghost ?? null); delete globalThis.ghost })"], [SESSION]],

  // What is set off
  "actions: messages and entries": [["pi.on('session_start', () => { pi.sendMessage({ customType: 'c', content: 'x', display: true, details: { a: 1 } }, { triggerTurn: true }); pi.sendMessage({ customType: 'c', content: [{ type: 'text', text: 'y' }], display: false }); pi.sendUserMessage('hi'); pi.sendUserMessage([{ type: 'text', text: 'z' }], { deliverAs: 'followUp' }); pi.appendEntry('e', { n: 1 }); pi.appendEntry('f') })"], [SESSION]],
  "actions: names, labels, tools, thinking": [["pi.on('session_start', () => { pi.setSessionName('n'); pi.appendEntry('name', pi.getSessionName()); pi.setLabel('id', 'l'); pi.setLabel('id', undefined); pi.setActiveTools(['read']); pi.appendEntry('tools', pi.getActiveTools()); pi.setThinkingLevel('high'); pi.appendEntry('level', pi.getThinkingLevel()) })"], [SESSION]],
  "actions: of the context": [[on("session_start", "(e, ctx) => { ctx.abort(); ctx.shutdown(); ctx.compact({ customInstructions: 'short' }); ctx.compact(); pi.appendEntry('is', [ctx.isIdle(), ctx.hasPendingMessages(), ctx.getContextUsage() ?? null, ctx.model ?? null, ctx.signal ?? null, ctx.hasUI]) }")], [SESSION]],
  "actions: setModel without a key": [["pi.on('session_start', async () => { pi.appendEntry('set', await pi.setModel({ id: 'm', provider: 'p' })) })"], [SESSION]],
  "actions: of commands": [["pi.registerCommand('x', { handler: async (args, ctx) => { await ctx.waitForIdle(); pi.appendEntry('new', (await ctx.newSession({ parentSession: '/p' })).cancelled); pi.appendEntry('fork', await ctx.fork('e')); pi.appendEntry('tree', await ctx.navigateTree('t', { summarize: true, label: 'l' })); pi.appendEntry('switch', await ctx.switchSession('/s')); await ctx.reload() } })"], [["command", { name: "x" }]]],
  "screen: told": [[on("session_start", "(e, { ui }) => { ui.notify('a'); ui.notify('b', 'error'); ui.setStatus('k', 's'); ui.setStatus('k', undefined); ui.setTitle('t'); ui.setEditorText('d'); ui.pasteToEditor('p'); ui.setWidget('w', ['1', '2']); ui.setWidget('w', ['3'], { placement: 'belowEditor' }); ui.setWorkingMessage('w'); ui.setWorkingMessage() }")], [SESSION]],
  "screen: asked": [[on("session_start", "async (e, { ui }) => { pi.appendEntry('answers', [await ui.select('t', ['a', 'b']), await ui.confirm('c', 'm'), await ui.input('i', 'p'), await ui.editor('e', 'x')]) }")], [SESSION], { answer: (kind) => ({ select: "b", confirm: true, input: "typed", editor: "long" })[kind] }],
  "screen: nobody answers": [[on("session_start", "async (e, { ui }) => { pi.appendEntry('answers', [await ui.select('t', ['a']) ?? null, await ui.confirm('c', 'm'), await ui.input('i') ?? null, await ui.editor('e') ?? null]) }")], [SESSION]],
  "no screen": [[on("session_start", "async (e, ctx) => { const { ui } = ctx; ui.notify('a'); ui.setWidget('w', ['x']); pi.appendEntry('answers', [ctx.hasUI, await ui.select('t', ['a']) ?? null, await ui.confirm('c', 'm'), await ui.input('i') ?? null, await ui.editor('e') ?? null, ui.getEditorText()]) }")], [SESSION], { ui: false }],
  "values: what JSON makes of them": [[on("tool_result", "() => ({ details: { at: new Date(0), not: NaN, no: undefined, f() {}, list: [undefined, () => {}, Infinity], deep: { a: { b: [null] } }, minus: -0, text: '\\u{1f600}\\0' } })")], [RESULT]],
  "values: half a character": [[on("tool_result", "() => ({ details: '\\ud83d' })")], [RESULT]],
  "values: a map": [[on("tool_result", "() => ({ details: { map: new Map([['a', 1]]), set: new Set([1]) } })")], [RESULT]],
  "values: an error": [[on("tool_result", "() => ({ details: { error: new TypeError('x') } })")], [RESULT]],
  "values: an error that is none": [[on("tool_call", "() => { throw { message: 'said' } }")], [CALL]],
  "values: an instance of a class": [["class P { constructor() { this.x = 1 } get y() { return 2 } z() {} } pi.on('tool_result', () => ({ details: new P() }))"], [RESULT]],
  "values: toJSON": [[on("tool_result", "() => ({ details: { toJSON: () => ({ plain: 1 }) } })")], [RESULT]],
};

const STRICT = "a mistake is told where it is made: the file does not load, and says why";
const NO_TEXT = "what must be a text, a list or an object and is none counts as no answer";
const PLAIN = "more of a value is kept than JSON keeps";
const FILE_0 = ["registered.failed.0", "registered.extensions.0"];

/** name → [where they differ, why ours is meant to] */
const EXPECTED = {
  "input: images edited in place": [["steps.0.images.1"], "images change by an answer alone: a handler of `input` is shown them, not given them"],
  "input: a transform whose text is none": [["steps.0.text"], NO_TEXT],
  "input: a transform whose text is a number": [["steps.0.text"], NO_TEXT],
  "input: an answer with getters of a class": [["steps.0.text"], "only own fields of an answer count, so that a changed prototype decides nothing"],
  "before_agent_start: a message that is a text": [["steps.0.messages.0"], NO_TEXT],
  "before_agent_start: a prompt that is none": [["steps.0.systemPrompt"], NO_TEXT],
  "context: messages that are no list": [["steps.0.messages"], NO_TEXT],
  "tool_call: a reason that is no text": [["steps.0.blocked"], NO_TEXT],
  "tool_call: the input replaced on the event": [["steps.0.input.command", "steps.0.input.list", "steps.0.input.seen"], "what the guards after it see is what runs; in pi they see the new input and the old one runs"],
  "tool_result: details that are null": [["steps.0.details"], "null is an answer for the next handler and for the session alike; in pi the session goes back to what it had"],
  "before compact: an answer that is a text": [["steps.0.answer"], NO_TEXT],
  "resources: paths that are a text": [["steps.0.promptPaths.0", "errors.0"], NO_TEXT],
  "resources: a path that is no text": [["steps.0.skillPaths.1", "steps.0.skillPaths.2"], NO_TEXT],
  "a handler registered while its event is asked": [["steps.0.text"], "those are asked that were there when the event came: one that registers itself again would never end"],
  "what pi.on answers": [["effects.0.1.data"], "a function that takes the handler back, as newer versions of pi have it"],
  "a handler that is no function": [["errors.0", "registered.failed.0", "registered.extensions.0.file", "registered.extensions.1"], STRICT],
  "a field put on the context": [["effects.1.1.data"], "a context is one extension's own, and serves it again"],
  "a field put on the context, for another extension": [["effects.0.1.data"], "a context is one extension's own, so that none is handed what another made of it"],
  "a module that two import": [["steps.0.text"], "a file is one module in an engine, as in Node; pi loads it anew for each extension"],
  "tools: no parameters": [[...FILE_0, "registered.commands.0", "registered.tools.0"], STRICT],
  "tools: a result without content": [["steps.0.isError", "steps.0.content", "steps.0.details"], "the model is told what is wrong; in pi the conversation breaks on it"],
  "commands: the plain name of a clash": [["steps.0.missing", "effects.0"], "the plain name still runs the first, as in older versions of pi"],
  "commands: no handler": [[...FILE_0, "registered.commands.0"], STRICT],
  "flags: no type": [[...FILE_0, "registered.flags.0"], STRICT],
  "shortcuts: no handler": [[...FILE_0, "registered.shortcuts.0"], STRICT],
  "bus: error that nobody hears": [["effects.0", "errors.0"], "`error` is a name like any other; in pi it throws, for Node's emitter does"],
  "bus: of a file that did not load": [["effects.0.1.data"], "a file that did not load leaves nothing behind"],
  "values: a map": [["steps.0.details.map", "steps.0.details.set"], PLAIN],
  "values: an error": [["steps.0.details.error.name", "steps.0.details.error.message"], PLAIN],
  "values: an error that is none": [["steps.0.blocked"], "what was thrown says why in its `message`, whatever it is"],
};

for (const [name, [bodies, steps, options]] of Object.entries(CASES)) {
  test(name, { skip: NO_ORACLE }, async () => {
    const { theirs, mine } = await both(bodies, steps, options);
    const where = differences(theirs, mine);
    const [expected = []] = EXPECTED[name] ?? [];
    if (JSON.stringify(where) !== JSON.stringify(expected)) {
      assert.deepEqual(mine, theirs, `expected to differ at [${expected}], but do at [${where}]`);
      assert.fail(`expected to differ at ${expected}`);
    }
  });
}

test("shortcuts: reserved keys are the embedder's matter", { skip: NO_ORACLE }, async () => {
  const { cwd, files } = write(["pi.registerShortcut('ctrl+c', { description: 'mine', handler() {} })"]);
  const [theirs, mine] = [await Pi.start(files, cwd), await Levain.start(files, cwd)];
  mine.engine.stop();
  assert.equal(theirs.runner.getShortcuts({ "app.clear": "ctrl+c" }).size, 0, "pi leaves its own keys out");
  assert.deepEqual(mine.registered().shortcuts, [["ctrl+c", "mine", 0]], "ours lists all: the program knows its keys");
});

test("all that pi gives to extensions is there", { skip: NO_ORACLE }, async () => {
  // The kinds of all members, of `pi`, its bus, a context, a command's context and the screen.
  const kinds = "(object) => Object.fromEntries(Object.keys(object).map((name) => [name, typeof object[name]]))";
  const { cwd, files } = write([`
    const kinds = ${kinds};
    pi.registerCommand("x", { handler: (args, ctx) => pi.appendEntry("command", kinds(ctx)) });
    pi.on("session_start", (e, ctx) => { pi.appendEntry("pi", kinds(pi)); pi.appendEntry("ctx", kinds(ctx)); pi.appendEntry("ui", kinds(ctx.ui)); });`]);
  const seen = [];
  for (const Host of [Pi, Levain]) {
    const host = await Host.start(files, cwd);
    await host.steps([["session_start", { reason: "startup" }], ["command", { name: "x" }]]);
    seen.push(Object.fromEntries(host.done().effects.map(([, { customType, data }]) => [customType, data])));
    host.engine?.stop();
  }
  const [theirs, mine] = seen;
  for (const [what, members] of Object.entries(theirs)) {
    const lacking = Object.entries(members).filter(([name, kind]) => mine[what][name] !== kind).map(([name, kind]) => `${name}: ${kind}, ours ${mine[what][name]}`);
    assert.deepEqual(lacking, [], what);
  }
});

// ---- Chains at random ----------------------------------------------------------------------------

const SEED = Number(process.env.LEVAIN_SEED ?? 20);
const CHAINS = Number(process.env.LEVAIN_CHAINS ?? 400);

/** Numbers below `n` that are the same for the same seed. */
function dice(seed) {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

// What a handler may do to the event and what it may answer; `N` becomes a number of its own.
const ODD = ["return null", "return {}", "return 0", "return false", "return ''", "return { other: N }"];
const GRAMMAR = {
  input: [INPUT[1], ["e.text = 'zN'", "e.source = 'rpc'"], ["return { action: 'transform', text: e.text + 'N' }", "return { action: 'transform', text: e.text + 'N', images: [] }", "return { action: 'transform', text: e.text + (e.images?.length ?? '-'), images: null }", "return { action: 'transform', text: e.text.slice(0, -1) }", "return { action: 'continue', text: 'N' }", "if (e.text.length > 4) return { action: 'handled' }", "return { action: 'N' }", "return []", "return 'N'", ...ODD]],
  before_agent_start: [{ ...START[1], systemPromptOptions: {} }, ["e.systemPrompt = 'zN'", "e.prompt = 'N'"], ["return { systemPrompt: e.systemPrompt + 'N' }", "return { systemPrompt: ctx.getSystemPrompt() + 'N' }", "return { message: { customType: 'cN', content: 'N', display: true } }", "return { systemPrompt: e.systemPrompt + e.prompt, message: { customType: 'd', content: [{ type: 'text', text: 'N' }], display: false, details: { n: N } } }", "return { systemPrompt: '' }", "return { message: null, systemPrompt: undefined }", "return 'N'", ...ODD]],
  context: [CONTEXT[1], ["e.messages.push({ role: 'user', content: 'N' })", "e.messages.pop()", "e.messages.reverse()", "if (e.messages[0]) e.messages[0].note = N", "e.messages = []", "e.messages.length = 1"], ["return { messages: e.messages.slice(1) }", "return { messages: [...e.messages, { role: 'custom', customType: 'c', content: 'N', display: false }] }", "return { messages: [] }", "return { messages: null }", "return { messages: e.messages.map((m) => ({ ...m, nN: 1 })) }", "return 'N'", ...ODD]],
  before_provider_request: [REQUEST[1], ["e.payload.n = N", "e.payload.messages?.push({ role: 'N' })", "delete e.payload.model", "e.payload = { other: N }"], ["return { ...e.payload, aN: 1 }", "return { model: 'N' }", "return { messages: [], ...e.payload }", "return { was: e.payload }"]],
  tool_call: [CALL[1], ["e.input.command += 'N'", "e.input.list.push(N)", "e.toolName = 'tN'", "e.note = N", "e.input.saw = `${e.note} ${e.toolName}`", "delete e.input.command"], ["return { block: true, reason: 'N' }", "if (String(e.input.command).length > 5) return { block: true, reason: String(e.input.command) }", "return { block: false, reason: 'N' }", "return { block: true }", "return 'block'", ...ODD]],
  tool_result: [RESULT[1], ["e.content.push({ type: 'text', text: 'N' })", "if (e.content[0]) e.content[0].text += 'N'", "e.content = [{ type: 'text', text: 'zN' }]", "e.isError = !e.isError", "e.note = N", "if (e.details) e.details.kN = 1"], ["return { content: [...e.content, { type: 'text', text: 'N' }] }", "return { details: { saw: e.content.length, note: e.note } }", "return { isError: true }", "return { isError: false, content: [{ type: 'text', text: 'N' }], details: { n: N } }", "return 'N'", ...ODD]],
  message_end: [MESSAGE[1], ["e.message.note = N", "e.message.content.push({ type: 'text', text: 'N' })", "e.message = { role: 'assistant', content: [] }"], ["return { message: { ...e.message, nN: 1 } }", "return { message: { ...e.message, content: [...e.message.content, { type: 'text', text: 'N' }] } }", "return { message: { role: 'user', content: [] } }", "return { message: 'N' }", "return { message: null }", ...ODD]],
  user_bash: [BASH[1], ["e.command = 'N'", "e.note = N"], ["return { result: { output: e.command + 'N', exitCode: N, cancelled: false, truncated: false } }", "if (e.note) return { operations: { exec: async () => ({ exitCode: 0 }) } }", "return 'N'", ...ODD]],
  session_before_tree: [TREE[1], ["e.preparation.note = N", "e.more = N"], ["return { label: `N ${e.more}` }", "return { summary: { summary: 'N' } }", "if (e.more) return { cancel: true }", "return { cancel: false, label: 'N' }", ...ODD]],
  session_before_compact: [COMPACT[1], ["e.preparation.tokensBefore += N"], ["return { compaction: { summary: 'N', firstKeptEntryId: 'k', tokensBefore: e.preparation.tokensBefore } }", "if (e.preparation.tokensBefore > 60) return { cancel: 1 }", ...ODD]],
  session_before_fork: [FORK[1], ["e.entryId = 'N'"], ["return { skipConversationRestore: true, saw: e.entryId }", "if (e.entryId !== 'e') return { cancel: true }", ...ODD]],
  session_before_switch: [SWITCH[1], ["e.reason = 'N'"], ["if (e.reason !== 'new') return { cancel: e.reason }", ...ODD]],
  resources_discover: [RESOURCES[1], ["e.cwd = 'N'"], ["return { skillPaths: [e.cwd + 'N'] }", "return { promptPaths: ['/pN', '/q'], themePaths: [] }", "return { skillPaths: null, themePaths: ['/tN'] }", "return 'N'", ...ODD]],
  session_start: [SESSION[1], ["e.note = N"], ["return { cancel: true }", ...ODD]],
  agent_start: [{}, ["e.note = N"], ["return { block: true }", ...ODD]],
  agent_end: [{ messages: [] }, ["e.messages.push(N)"], ["return { messages: [] }", ...ODD]],
  turn_start: [{ turnIndex: 0, timestamp: 1 }, ["e.turnIndex += N"], ODD],
  turn_end: [{ turnIndex: 0, message: { role: "assistant" }, toolResults: [] }, ["e.toolResults.push(N)", "e.message.note = N"], ["return { message: { role: 'assistant' } }", ...ODD]],
  message_update: [{ message: { role: "assistant" }, assistantMessageEvent: { type: "text_delta", delta: "x" } }, ["e.message.note = N"], ODD],
  tool_execution_end: [{ toolCallId: "c", toolName: "bash", result: {}, isError: false }, ["e.result.note = N"], ["return { isError: true }", ...ODD]],
};
const NAMES = Object.keys(GRAMMAR);
const SAW = "pi.appendEntry('saw N', JSON.stringify(Object.keys(e).sort().filter((key) => e[key] !== undefined).map((key) => [key, e[key]])))";

/** A handler's source. */
function handler(event, roll, number) {
  const [, edits, answers] = GRAMMAR[event];
  const pick = (list) => list[roll(list.length)];
  const lines = [];
  if (roll(2)) lines.push(SAW);
  for (let n = roll(3); n > 0; n--) lines.push(pick(edits));
  const kind = roll(12);
  if (kind === 0) lines.push("throw new Error('N')");
  else if (kind === 1) lines.push("await null", "throw new TypeError('N')");
  else if (kind === 2) lines.push("return Promise.reject(new Error('N'))");
  else if (kind === 3) lines.push("if (runs++ > 0) throw 'N'");
  else if (kind === 4) lines.push("if (runs++ > 0) return");
  if (roll(5)) lines.push(pick(answers));
  const waits = roll(4);
  if (waits === 0) lines.splice(roll(lines.length + 1), 0, "await null");
  if (waits === 1 && roll(3) === 0) lines.splice(roll(lines.length + 1), 0, "await new Promise((done) => setTimeout(done, 1))");
  // Nothing stands behind an answer.
  const end = lines.findIndex((line) => /^(return|throw)/.test(line));
  const body = (end < 0 ? lines : lines.slice(0, end + 1)).join("; ");
  const source = /\bawait\b/.test(body) ? `async (e, ctx) => { ${body} }` : `(e, ctx) => { ${body} }`;
  return source.replace(/(?<![A-Za-z])N(?![A-Za-z])|(?<=['a-z ])N(?=['\s:`])/g, String(number)).replace(/(?<=[a-z])N(?=\b)/g, String(number));
}

/** Extensions, and the events they get, from one number. */
function chain(seed, among = NAMES) {
  const roll = dice(seed);
  const events = among !== NAMES ? among : Array.from({ length: 1 + roll(3) }, () => NAMES[roll(NAMES.length)]);
  let number = 0;
  const bodies = Array.from({ length: 1 + roll(4) }, () => {
    const parts = ["let runs = 0;"];
    for (let n = 1 + roll(4); n > 0; n--) {
      const event = events[roll(events.length)];
      const one = on(event, handler(event, roll, ++number));
      // Some are registered by another event, which comes first.
      parts.push(roll(8) === 0 ? on("session_start", `() => { ${one} }`) : one);
    }
    return parts.join("\n  ");
  });
  const steps = [...(bodies.some((body) => body.includes("session_start")) && !events.includes("session_start") ? ["session_start"] : []), ...events, events[0]];
  // Registering for the very event that is asked is a difference of its own.
  const usable = !events.includes("session_start") || !/session_start", \(\) => \{ pi\.on\("session_start/.test(bodies.join());
  return usable ? { bodies, steps: steps.map((event) => [event, GRAMMAR[event][0]]) } : chain(seed + 1_000_000);
}

test(`${CHAINS} chains at random from ${SEED}`, { skip: NO_ORACLE }, async () => {
  const engine = await Engine.start();
  const wrong = [];
  let steps = 0;
  try {
    for (let seed = SEED; seed < SEED + CHAINS; seed++) {
      const made = chain(seed);
      steps += made.steps.length;
      const { theirs, mine } = await both(made.bodies, made.steps, { engine });
      const where = differences(theirs, mine);
      if (where.length > 0) wrong.push({ seed, where, ...made, theirs, mine });
    }
  } finally {
    engine.stop();
  }
  console.log(`# ${CHAINS} chains, ${steps} events`);
  if (wrong.length === 0) return;
  const [{ seed, where, bodies, theirs, mine }] = wrong;
  assert.deepEqual(mine, theirs, `${wrong.length} chains differ; LEVAIN_SEED=${seed} LEVAIN_CHAINS=1 at [${where}]:\n${bodies.join("\n---\n")}`);
});

// ---- Handler by handler, in the program as well ---------------------------------------------------------------------------------

/** name → [where, why] a handler that is asked by itself says something else than in pi */
const BOTH = ["the host", "the program"];
const EXPECTED_ALONE = {
  "a handler registered while its event is asked": [BOTH, "as in a chain"],
  "a handler that is no function": [BOTH, "as in a chain"],
  "a module that two import": [BOTH, "as in a chain"],
  "bus: error that nobody hears": [BOTH, "as in a chain"],
  "values: a map": [BOTH, PLAIN],
  "values: an error": [BOTH, PLAIN],
  "values: an error that is none": [BOTH, "as in a chain"],
  "values: half a character": [["the program"], "texts leave the engine as UTF-8, which has no halves"],
};

const pis = async (files, cwd, event, payload) => (await Pi.start(files, cwd, { ui: false })).each(event, payload);

let shared;
test.after(() => shared?.stop());

/** Two ways in which ours asks each handler by itself. */
const ALONE = [
  ["the host", NO_ORACLE, async (files, cwd, event, payload) => {
    shared ??= await Engine.start();
    return (await Levain.start(files, cwd, { ui: false, engine: shared })).each(event, payload);
  }],
  ["the program", NO_PROGRAM, async (files, cwd, event, payload) => emit(files, cwd, event, payload).list, asTold],
];

for (const [where, skip, ours, told = (_event, list) => list] of ALONE) test(`the table in ${where}, handler by handler`, { skip }, async () => {
  const expected = new Set(Object.keys(EXPECTED_ALONE).filter((name) => EXPECTED_ALONE[name][0].includes(where)));
  const differed = new Set();
  const wrong = [];
  let handlers = 0;
  for (const [name, [bodies, steps, options]] of Object.entries(CASES)) {
    const events = new Map(steps.filter(([kind]) => !["command", "tool", "shortcut", "flag"].includes(kind)));
    // What is only in a table, or needs somebody who answers, is not for `emit`.
    if (bodies.length === 0 || options?.answer) continue;
    const { cwd, files } = write(bodies);
    for (const [beside, content] of Object.entries(options?.beside ?? {})) fs.writeFileSync(path.join(cwd, beside), content);
    for (const [event, payload] of events) {
      if (!bodies.some((body) => body.includes(event))) continue;
      const [theirs, mine] = [told(event, await pis(files, cwd, event, payload), payload), await ours(files, cwd, event, payload)];
      handlers += theirs.length;
      const places = differences(theirs, mine);
      if (places.length === 0) continue;
      if (expected.has(name)) differed.add(name);
      else wrong.push({ name, event, places, theirs, mine });
    }
  }
  console.log(`# ${handlers} handlers in ${where}`);
  assert.deepEqual(wrong, [], [...new Set(wrong.map(({ name }) => name))].join("\n"));
  assert.deepEqual([...expected].filter((name) => !differed.has(name)), [], "expected to differ, and do not");
});

for (const [where, skip, ours, told = (_event, list) => list] of ALONE) test(`handlers at random in ${where}`, { skip }, async () => {
  const wrong = [];
  let handlers = 0;
  const bodies = Array.from({ length: Math.min(100, CHAINS) }, (_, i) => chain(SEED + i).bodies).flat();
  const { cwd, files } = write(bodies);
  for (const event of NAMES) {
    const payload = GRAMMAR[event][0];
    const [theirs, mine] = [told(event, await pis(files, cwd, event, payload), payload), await ours(files, cwd, event, payload)];
    handlers += theirs.length;
    const places = new Set(differences(theirs, mine).map((place) => place.split(".")[0]));
    for (const place of places) wrong.push({ event, body: bodies[theirs[place]?.file], theirs: theirs[place], mine: mine[place] });
  }
  console.log(`# ${handlers} handlers in ${where}`);
  assert.deepEqual(wrong, []);
});

test("prompts at random in threads of the program", { skip: NO_PROGRAM }, async () => {
  const wrong = [];
  // Fewer, as each begins a thread. An empty system prompt is left out: there the next handler is shown the base again.
  const seeds = Array.from({ length: Math.ceil(CHAINS / 10) }, (_, i) => SEED + i);
  for (const seed of seeds) {
    const bodies = [on("input", "() => {}"), ...chain(seed, ["input", "before_agent_start"]).bodies.filter((body) => !body.includes("systemPrompt: ''"))];
    const { cwd, files } = write(bodies);
    const mine = thread(files, cwd, "hello");
    const host = await Pi.start(files, cwd, { ui: false });
    await host.step("session_start", { reason: "startup" });
    const theirs = await host.step("input", { text: "hello", images: [] });
    if (theirs.handled || mine.handled) {
      if (theirs.handled !== mine.handled) wrong.push({ seed, bodies, theirs, mine });
      continue;
    }
    const begun = mine.base === undefined ? {} : await host.step("before_agent_start", { prompt: theirs.text, images: [], systemPrompt: mine.base });
    if (theirs.text !== mine.text || begun.systemPrompt !== mine.systemPrompt) wrong.push({ seed, bodies, theirs: [theirs.text, begun.systemPrompt?.slice(-80)], mine: [mine.text, mine.systemPrompt?.slice(-80)] });
  }
  console.log(`# ${seeds.length} prompts`);
  assert.deepEqual(wrong, []);
});

// ---- The examples --------------------------------------------------------------------------------

const NOT_ALONE = {
  "file-trigger": [["alone.session_start.0.error"], "nothing is watched where no session runs"],
  "inline-bash": [["alone.input.0.result.text"], "no program is run where no session runs"],
  "plan-mode": [["alone.context.0.result", "alone.context.0.messages"], "messages that are answered as they were are told as no effect"],
};
const LOG = "a file of the project may not be written where no session runs";

/** example → [where they differ, why]; `alone` is the program, which asks each handler without a session */
const EXPECTED_OF_EXAMPLES = {
  "the examples of 0.58": {
    ...NOT_ALONE,
    "custom-compaction": [["effects.1", "errors.0", "alone.session_before_compact.0.error"], "it asks for a key as in 0.58, which the newer pi no longer answers"],
    "provider-payload": [["alone.before_provider_request.0.error"], LOG],
  },
  "the examples of the package": {
    ...NOT_ALONE,
    "provider-payload": [["alone.before_provider_request.0.error", "alone.after_provider_response.0.error"], LOG],
  },
};

const FOLDERS = [
  ["the examples of 0.58", EXAMPLES, NO_ORACLE || (!HAS_EXAMPLES && "LEVAIN_PI_EXAMPLES names no examples"), 55],
  ["the examples of the package", ORACLE && path.join(ORACLE, "examples/extensions"), NO_ORACLE, 60],
];
for (const [what, from, skip, atLeast] of FOLDERS) test(what, { skip: skip || (!HAS_TYPESCRIPT && "LEVAIN_JS_DEV names no folder with sucrase") }, () => {
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), "differential-examples.mjs");
  const run = spawnSync(process.execPath, ["--no-warnings", "--experimental-vm-modules", script, from], { encoding: "utf8", maxBuffer: 1 << 28, timeout: 600_000 });
  // An example may print, too.
  const lines = run.stdout.split("\n").filter((line) => line.startsWith('{"name"')).map((line) => JSON.parse(line));
  const compared = lines.filter((line) => line.where);
  console.log(`# ${compared.length} examples, ${compared.reduce((sum, line) => sum + line.events, 0)} events; not loaded: ${lines.filter((line) => line.failed).map((line) => `${line.name} (${line.failed})`).join(", ") || "none"}`);
  assert.deepEqual(lines.filter((line) => line.failed === "levain"), []);
  for (const { name, where, values } of compared) {
    const expected = (EXPECTED_OF_EXAMPLES[what][name]?.[0] ?? []).filter((place) => PROGRAM || !place.startsWith("alone."));
    assert.deepEqual(where, expected, `${name}: ${JSON.stringify(values)}`);
  }
  assert.equal(lines.length, exampleUnits(from).length, `it ended early: ${run.stderr}`);
  assert.ok(compared.length >= atLeast);
});
