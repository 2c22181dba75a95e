//! The extension host: what loads, what is told of what does not, and that nothing an extension does stops the others.

use crate::support::terminal::{self, Home};
use levain::domain::{Messages, Stage, StageValue};
use levain::extensions::{Answer, Emitted, Engine, Limits, Loaded, Policy, Problem, Registered, Settings};
use levain::items::resource_files::{found_in, unit};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// What a future comes to.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// A folder with files in it, and an engine that knows it.
struct Bench {
    folder: TempDir,
    engine: Engine,
}

impl Bench {
    fn new() -> Self {
        Self::with(Limits { slice: Duration::from_secs(20), ..Limits::default() })
    }

    fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hidden = vec![folder.path().join("secret")];
        let settings = Settings {
            cwd: folder.path().to_owned(),
            home: folder.path().to_owned(),
            environment: vec![("LANG".to_owned(), "C".to_owned())],
            limits,
            policy: Policy { hidden, ..Policy::default() },
            outside: None,
        };
        Self { engine: Engine::start(settings).unwrap(), folder }
    }

    /// In a folder that is there, with this policy.
    fn within(folder: tempfile::TempDir, policy: Policy) -> Self {
        let settings = Settings {
            cwd: folder.path().to_owned(),
            home: folder.path().to_owned(),
            environment: Vec::new(),
            limits: Limits::default(),
            policy,
            outside: None,
        };
        Self { engine: Engine::start(settings).unwrap(), folder }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn load(&self, name: &str, text: &str) -> Loaded {
        wait(self.engine.load(&self.write(name, text))).unwrap()
    }

    /// What a file registers that has to load.
    fn registered(&self, name: &str, text: &str) -> Registered {
        self.load(name, text).result.unwrap_or_else(|problem| panic!("{name}: {problem:?}"))
    }

    fn problem(&self, name: &str, text: &str) -> Problem {
        self.load(name, text).result.expect_err(name)
    }

    fn emit(&self, event: &str, payload: Value) -> Emitted {
        wait(self.engine.emit(event, payload)).unwrap()
    }

    /// That the engine still serves who comes.
    #[track_caller]
    fn assert_works(&self) {
        let name = format!("sound-{}.js", fs::read_dir(self.folder.path()).unwrap().count());
        self.registered(&name, "export default (pi) => { pi.on('input', () => ({ action: 'handled' })); };");
        let emitted = self.emit("input", json!({"text": "x"}));
        let answered = emitted.answers.iter().any(|answer| answer.result == Some(json!({"action": "handled"})));
        assert!(answered, "{emitted:?}");
    }
}

const TYPED: &str = r#"
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { Type } from "@sinclair/typebox";
import * as path from "node:path";
import { half } from "./lib/half.js";

enum Size { Small = 1 }
class Counter { constructor(private readonly step: number) {} next(at: number): number { return at + this.step; } }

export default function (pi: ExtensionAPI): void {
  const counter = new Counter(half(Size.Small * 2));
  pi.on("tool_call", async (event: { input: { command: string } }) => {
    if (event.input.command.includes("rm")) return { block: true, reason: `no ${counter.next(1)}` };
  });
  pi.on("input", () => undefined);
  pi.registerTool({ name: "count", label: "Count", description: "counts", parameters: Type.Object({ a: Type.String() }),
    async execute() { return { content: [{ type: "text", text: path.join("a", "b") }] }; } });
  pi.registerCommand("greet", { description: "greets", handler: async () => {} });
}
"#;

#[test]
fn a_typescript_extension_registers_and_answers() {
    let bench = Bench::new();
    bench.write("lib/half.ts", "export const half = (value: number): number => value / 2;\n");
    let registered = bench.registered("typed.ts", TYPED);
    assert_eq!((registered.tools, registered.commands), (vec!["count".to_owned()], vec!["greet".to_owned()]));
    assert_eq!(registered.events.get("tool_call"), Some(&1));
    let emitted = bench.emit("tool_call", json!({"toolName": "bash", "input": {"command": "rm -r x"}}));
    assert_eq!(emitted.answers[0].result, Some(json!({"block": true, "reason": "no 2"})), "{emitted:?}");
    let emitted = bench.emit("tool_call", json!({"toolName": "bash", "input": {"command": "ls"}}));
    assert!(emitted.answers[0].has_no_effect(), "{emitted:?}");
    assert!(bench.emit("input", json!({"text": "x"})).answers[0].has_no_effect());
}

#[test]
fn a_change_in_place_is_seen() {
    let bench = Bench::new();
    bench.registered("a.js", "export default (pi) => { pi.on('tool_call', (event) => { event.input.b = 2; }); };");
    let emitted = bench.emit("tool_call", json!({"input": {"a": 1}}));
    assert_eq!(emitted.answers[0].value, Some(json!({"a": 1, "b": 2})), "{emitted:?}");
}

#[test]
fn what_an_answer_holds_beside_json_is_read_or_left_out() {
    let bench = Bench::new();
    bench.registered(
        "a.ts",
        r#"export default (pi) => {
  class Kept { constructor() { this.own = 1; } get made() { return 2; } }
  const many = (depth) => { let list = ["word"]; for (let i = 0; i < depth; i++) list = [list, list]; return list; };
  const itself = { role: "user" }; itself.itself = itself;
  let deep = []; for (let i = 0; i < 300; i++) deep = [deep];
  pi.on("context", () => ({ messages: [{ map: new Map([["a", 1]]), set: new Set(["b"]), date: new Date(0), error: new TypeError("e"),
    big: 10n, f() {}, symbol: Symbol("s"), none: undefined, nan: NaN, list: [undefined, () => 1, null], kept: new Kept(),
    bytes: new Uint8Array([104, 105]), own: { toJSON() { return "said"; } }, bare: Object.assign(Object.create(null), { x: 1 }),
    ["__proto__"]: { polluted: true } }] }));
  pi.on("context", () => ({ messages: [itself] }));
  pi.on("context", () => ({ messages: [deep] }));
  pi.on("context", () => ({ messages: many(40) }));
  pi.on("context", () => ({ messages: [{ get text() { throw new Error("no text"); } }] }));
  pi.on("context", (event) => { event.messages[0].text = "in place"; });
  pi.on("context", (event) => {});
};"#,
    );
    let emitted = bench.emit("context", json!({"messages": [{"role": "user"}]}));
    let answers = &emitted.answers;
    let expected = json!([{"map": [["a", 1]], "set": ["b"], "date": "1970-01-01T00:00:00.000Z",
        "error": {"name": "TypeError", "message": "e"}, "big": "10", "nan": null, "list": [null, null, null],
        "kept": {"own": 1}, "bytes": "hi", "own": {}, "bare": {"x": 1}}]);
    assert_eq!(json!(answers[0].messages), expected);
    for (place, words) in [(1, "contains itself"), (2, "nested too deeply"), (3, "too large"), (4, "no text")] {
        let error =
            answers[place].error.as_ref().unwrap_or_else(|| panic!("{words}: {:?}", answers[place].messages.is_some()));
        assert!(error.message.contains(words), "{words}: {}", error.message);
    }
    assert_eq!(json!(answers[5].messages), json!([{"role": "user", "text": "in place"}]));
    assert!(answers[6].has_no_effect());
}

#[test]
fn messages_that_a_handler_leaves_as_they_were_are_shared() {
    let bench = Bench::new();
    bench.registered(
        "a.js",
        r#"export default (pi) => {
  let kept;
  pi.on("context", (event) => { kept = event.messages[0]; return { messages: event.messages.toReversed().concat(event.messages[1]) }; });
  pi.on("context", (event) => { event.messages.shift(); event.messages[0].text = "changed"; });
  pi.on("context", (event) => ({ messages: event.messages.map((message) => ({ ...message })) }));
  pi.on("context", (event) => ({ messages: event.messages.map((message, index) => ({ ...message, text: message.text + (index === 2 ? "!" : "") })) }));
  pi.on("context", (event) => { event.messages.push({ role: "user", text: "new", more() {}, at: new Date(0) }); });
  pi.on("context", (event) => { if (event.messages.at(-1).more || event.messages.at(-1).at !== "1970-01-01T00:00:00.000Z") throw new Error("more than is recorded"); kept.text = "late"; });
  pi.on("context", () => {});
};"#,
    );
    let message = |text: &str| json!({"role": "user", "text": text});
    let mut event = StageValue::of(Stage::Context, json!({"messages": [message("a"), message("b"), message("c")]}));
    let given = event.clone();
    let mut answers = Vec::new();
    for handler in wait(bench.engine.list()).unwrap().handlers.clone() {
        let (answer, _) = wait(bench.engine.call(handler, event.clone())).unwrap();
        assert_eq!((&answer.error, &answer.result, &answer.value), (&None, &None, &None));
        if let Some(messages) = &answer.messages {
            event = StageValue::Messages(Arc::clone(messages));
        }
        answers.push(answer.messages);
    }
    let texts = |messages: &Option<Arc<Messages>>| {
        let messages = messages.as_ref().unwrap_or_else(|| panic!("nothing changed: {answers:?}"));
        messages.iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let [reversed, edited, copied, changed, added, late, looked] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(texts(reversed), "c b a b");
    // The message that stands there twice is one, and was changed in both places.
    assert_eq!(texts(edited), "changed a changed");
    assert_eq!(texts(changed), "changed a changed!");
    assert_eq!(texts(added), "changed a changed! new");
    assert_eq!((copied, late, looked), (&None, &None, &None));
    let StageValue::Messages(given) = given else { panic!() };
    let shared = |one: &Arc<Value>, other: &Arc<Value>| Arc::ptr_eq(one, other);
    let list = |messages: &Option<Arc<Messages>>| Arc::clone(messages.as_ref().unwrap());
    assert!([2, 1, 0, 1].iter().zip(&**list(reversed)).all(|(place, message)| shared(message, &given[*place])));
    assert!(shared(&list(edited)[1], &given[0]) && shared(&list(changed)[0], &list(edited)[0]));
    assert!(shared(&list(changed)[1], &given[0]) && list(added).starts_with(&list(changed)));
}

#[test]
fn a_message_that_a_handler_made_stays_its_own() {
    let bench = Bench::new();
    bench.registered(
        "a.js",
        r#"export default (pi) => {
  const note = Object.freeze({ role: "user", text: "note" });
  pi.on("context", (event) => ({ messages: [...event.messages, note] }));
  pi.on("context", (event) => { event.messages.at(-1).text += "!"; });
};"#,
    );
    let mut event = StageValue::of(Stage::Context, json!({"messages": []}));
    for handler in wait(bench.engine.list()).unwrap().handlers.iter().cycle().take(4) {
        let (answer, _) = wait(bench.engine.call(handler.clone(), event.clone())).unwrap();
        event = StageValue::Messages(answer.messages.unwrap_or_else(|| panic!("{:?}", answer.error)));
    }
    let text = |message: &Arc<Value>| message["text"].as_str().unwrap().to_owned();
    assert_eq!(event.messages().unwrap().iter().map(text).collect::<Vec<_>>(), ["note!", "note!"]);
}

#[test]
fn answers_to_a_conversation_that_are_none_are_told_as_they_are() {
    let bench = Bench::new();
    bench.registered(
        "a.js",
        r#"export default (pi) => {
  for (const answer of [[{ role: "user" }], "text", 3, () => 1, Symbol("s"), null, { messages: null }, { message: 1 }]) {
    pi.on("context", () => answer);
  }
  pi.on("context", (event) => { event.messages[0].text = "b"; return { more: 1 }; });
  pi.on("context", (event) => Object.create({ toJSON: () => ({ messages: [event.x] }) }));
};"#,
    );
    let emitted = bench.emit("context", json!({"messages": [{"role": "user", "text": "a"}]}));
    let told = |answer: &Answer| json!([answer.result, answer.messages]);
    assert!(emitted.answers.iter().all(|answer| answer.error.is_none() && answer.value.is_none()), "{emitted:?}");
    let expected = json!([
        [[{"role": "user"}], null], ["text", null], [3, null], [null, null], [null, null], [null, null],
        [{"messages": null}, null], [{"message": 1}, null], [{"more": 1}, [{"role": "user", "text": "b"}]],
        [{"messages": [null]}, null],
    ]);
    assert_eq!(emitted.answers.iter().map(told).collect::<Value>(), expected);
    // What else an event has is there, too.
    let emitted = bench.emit("context", json!({"messages": [{"role": "user", "text": "a"}], "x": "more"}));
    assert_eq!(emitted.answers[9].result, Some(json!({"messages": ["more"]})), "{emitted:?}");
}

#[test]
fn a_large_message_that_stands_in_a_list_a_thousand_times_is_looked_at_once() {
    let bench = Bench::new();
    bench.registered(
        "a.js",
        r#"export default (pi) => {
  const times = (count, made) => Array.from({ length: count }, made);
  pi.on("context", (event) => ({ messages: times(100_000, () => event.messages[0]) }));
  pi.on("context", (event) => ({ messages: times(10_000_000, () => event.messages[0]) }));
  pi.on("context", (event) => ({ messages: times(4_000, (_, index) => index % 2 ? { ...event.messages[1] } : event.messages[0]) }));
};"#,
    );
    let message = json!({"role": "user", "text": "word ".repeat(200_000)});
    let emitted = bench.emit("context", json!({"messages": [message, message]}));
    let [many, too_many, copies] = emitted.answers.as_slice() else { panic!("{emitted:?}") };
    let many = many.messages.as_ref().unwrap_or_else(|| panic!("{:?}", many.error));
    assert!(many.len() == 100_000 && many.iter().all(|one| Arc::ptr_eq(one, &many[0])));
    for answer in [too_many, copies] {
        let error = answer.error.as_ref().unwrap();
        assert!(error.message.contains("too large"), "{error:?}");
    }
}

#[test]
fn what_is_done_to_a_message_later_is_a_change_of_the_handler_that_runs_and_of_no_other() {
    let bench = Bench::new();
    bench.registered(
        "a.js",
        r#"export default (pi) => {
  let kept;
  pi.on("context", (event) => { kept = event.messages[0]; });
  pi.on("context", () => { kept.text = "late"; });
  pi.on("context", (event) => { event.messages[0].text = "never"; return { messages: 3 }; });
  pi.on("context", (event) => { if (event.messages[0].text !== "a") throw new Error(event.messages[0].text); });
};"#,
    );
    let emitted = bench.emit("context", json!({"messages": [{"role": "user", "text": "a"}]}));
    let [kept, late, unfit, looked] = emitted.answers.as_slice() else { panic!("{emitted:?}") };
    assert!(kept.has_no_effect() && looked.has_no_effect(), "{emitted:?}");
    assert_eq!(json!(late.messages), json!([{"role": "user", "text": "late"}]));
    assert_eq!(unfit.result, Some(json!({"messages": 3})));
}

#[test]
fn folders_packages_and_their_modules_are_found() {
    let bench = Bench::new();
    let root = bench.folder.path().join("x");
    let plain = "export default (pi) => { pi.registerCommand('plain', { handler: async () => {} }); };";
    bench.write("x/b.js", plain);
    bench.write("x/.hidden.js", "");
    bench.write("x/node_modules/y/index.js", "");
    bench.write("x/types/a.d.ts", "");
    bench.write("x/a/index.ts", "import ms from 'ms'; import { two } from 'esm';\nimport data from './data.json';\nexport default (pi) => { pi.registerCommand(`${ms(1)}${two}${data.n}`, { handler: async () => {} }); };");
    bench.write("x/a/data.json", "{\"n\": 3}");
    bench.write("x/a/node_modules/ms/package.json", "{\"name\":\"ms\",\"main\":\"./main\"}");
    bench.write("x/a/node_modules/ms/main.js", "const { join } = require('node:path'); const other = require('./other'); module.exports = (n) => join('m', other.word + n);");
    bench.write("x/a/node_modules/ms/other.js", "exports.word = 'w';");
    bench.write(
        "x/a/node_modules/esm/package.json",
        "{\"name\":\"esm\",\"type\":\"module\",\"exports\":{\".\":\"./e.js\"}}",
    );
    bench.write("x/a/node_modules/esm/e.js", "export const two = 2;");
    bench.write("x/c/package.json", "{\"pi\":{\"extensions\":[\"./src/main.ts\"]}}");
    bench.write("x/c/src/main.ts", plain);
    let found = found_in(&root);
    let names: Vec<_> = found.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["a/index.ts", "b.js", "c/src/main.ts"]);
    assert_eq!(unit(&root.join("c")), [root.join("c/src/main.ts")]);
    let commands: Vec<_> =
        found.iter().map(|path| wait(bench.engine.load(path)).unwrap().result.unwrap().commands).collect();
    assert_eq!(commands, [vec!["m/w123".to_owned()], vec!["plain".to_owned()], vec!["plain".to_owned()]]);
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let bench = Bench::new();
    let problem = bench.problem("broken.ts", "export default () => {};\nconst x: number = ;\n");
    assert_eq!((problem.line, problem.column), (Some(2), Some(19)), "{problem:?}");
    assert!(problem.file.unwrap().ends_with("broken.ts"));
    // The place is that of the person's file, though a comment and types before it are gone.
    let text = "// a comment\ninterface A {\n  b: string;\n}\ntype C = A;\n\nfunction fail(a: C): never {\n  throw new Error(`no ${a.b}`);\n}\n\nexport default () => {\n  fail({ b: 'x' });\n};\n";
    let problem = bench.problem("throws.ts", text);
    assert_eq!((problem.message.as_str(), problem.line), ("no x", Some(8)), "{problem:?}");
    assert!(problem.stack.unwrap().contains("throws.ts:12:"));
    let problem = bench.problem("nothing.ts", "export const a = 1;");
    assert!(problem.message.contains("not a function"), "{problem:?}");
    let problem = bench.problem("missing.ts", "import x from 'nowhere';\nexport default x;");
    assert!(problem.message.contains("Cannot find module 'nowhere'"), "{problem:?}");
    let problem = bench.problem("deep/a.ts", "import './b.ts';\nexport default () => {};");
    assert!(problem.message.contains("Cannot find"), "{problem:?}");
    let inner = bench.write("deep/b.ts", "let a = {;\n");
    let problem = bench.problem("deep/c.ts", "import './b.ts';\nexport default () => {};");
    assert_eq!(problem.file.as_deref(), inner.to_str());
    bench.assert_works();
}

#[test]
fn a_name_that_is_not_there_throws_when_it_is_used() {
    let bench = Bench::new();
    let text = "import { join, fromTheFuture } from 'node:path';\nexport default (pi) => { pi.on('input', () => fromTheFuture(join('a'))); };";
    bench.registered("future.ts", text);
    let emitted = bench.emit("input", json!({"text": "x"}));
    let error = emitted.answers[0].error.as_ref().unwrap();
    assert!(error.message.contains("fromTheFuture"), "{error:?}");
}

#[test]
fn an_extension_that_throws_at_load_leaves_nothing_and_stops_nobody() {
    let bench = Bench::new();
    let text = "export default (pi) => { pi.on('input', () => 1); throw new Error('at load'); };";
    assert_eq!(bench.problem("a.js", text).message, "at load");
    assert_eq!(bench.emit("input", json!({})).answers, []);
    bench.problem("b.js", "throw 'a word';\nexport default () => {};");
    bench.problem("c.js", "await Promise.reject(new Error('later'));\nexport default () => {};");
    bench.assert_works();
}

#[test]
fn commonjs_code_requires_es_modules() {
    let bench = Bench::new();
    bench.write("node_modules/es/package.json", r#"{"type": "module", "main": "main.js"}"#);
    bench.write(
        "node_modules/es/main.js",
        "import { x } from './x.js'; export default function twice() { return x * 2; } export const named = x;",
    );
    bench.write("node_modules/es/x.js", "export let x = 21; export const more = () => { x += 1; };");
    bench.write("node_modules/es/whole.js", "const own = () => 'whole'; export { own as 'module.exports' };");
    bench.write("node_modules/es/bad.js", "export const x = 1; throw new RangeError('bad within');");
    bench.write("node_modules/es/waits.js", "await new Promise((done) => setTimeout(done, 1)); export default 1;");
    bench.write("own.ts", "export const typed: number = 5;");
    bench.write(
        "node_modules/cjs/index.js",
        "const es = require('es'); const x = require('es/x.js');
         const attempt = (name) => { try { return require(name); } catch (error) { return `${error.name} ${error.code} ${error.message.split(':')[0]}`; } };
         module.exports = { twice: es.default(), named: es.named, mark: es.__esModule, x, whole: require('es/whole.js')(), bad: attempt('es/bad.js'), waits: attempt('es/waits.js') };",
    );
    bench.registered(
        "handler.ts",
        "import cjs from 'cjs'; import { createRequire } from 'node:module'; import { x, more } from 'es/x.js';
         const require = createRequire(import.meta.url);
         export default (pi: any) => { more(); pi.on('input', () => ({ action: 'transform', text: JSON.stringify([cjs, cjs.x.x === x, x, require('./own.ts').typed]) })); };",
    );
    let emitted = bench.emit("input", json!({"text": "x"}));
    let told = emitted.answers[0].result.as_ref().unwrap()["text"].as_str().unwrap();
    let waits = "Error ERR_REQUIRE_ASYNC_MODULE require() cannot be used on an ES module that waits for something at its top level; use import() instead";
    let cjs = json!({"twice": 42, "named": 21, "mark": true, "x": {"x": 22}, "whole": "whole",
        "bad": "RangeError undefined bad within", "waits": waits});
    assert_eq!(serde_json::from_str::<Value>(told).unwrap(), json!([cjs, true, 22, 5]));
    assert!(emitted.told.reports.is_empty(), "{emitted:?}");
}

/// A module that waits for nothing itself while one that it imports does was never done for who imported it later.
#[test]
fn modules_are_imported_again_whose_imports_waited() {
    let bench = Bench::new();
    bench.write("package.json", r#"{"type": "module"}"#);
    bench.write("waits.js", "await 0; export const v = 1;");
    bench.write("uses.js", "import { v } from './waits.js'; export const w = v + 1;");
    bench.write("again.js", "export { w } from './uses.js'; export * from './missing-types.js';");
    let text = "import { w } from './uses.js';\nexport default (pi) => { pi.on('input', async () => ({ action: 'transform', \
                text: `${w} ${(await import('./uses.js')).w} ${(await import('./again.js').catch((error) => error)).message}` })); };";
    bench.registered("one.js", text);
    bench.registered(
        "two.js",
        "import { w } from './uses.js';\nexport default (pi) => { pi.on('turn_end', () => w); };",
    );
    let emitted = bench.emit("input", json!({"text": "x"}));
    let told = emitted.answers[0].result.as_ref().unwrap()["text"].as_str().unwrap();
    assert!(told.starts_with("2 2 Cannot find module './missing-types.js'"), "{told}");
    assert_eq!(bench.emit("turn_end", json!({})).answers[0].result, Some(json!(2)));
}

/// A type that a file hands on from another stands among the values there, where nobody can know what it is.
#[test]
fn types_are_handed_on_among_values() {
    let bench = Bench::new();
    bench.write(
        "types.ts",
        "export const v = 'value'; export interface Verdict { a: number } export type Other = string;",
    );
    bench.write("barrel.ts", "export { v, Verdict } from './types.js'; export * from './types'; export { ExtensionAPI } from '@mariozechner/pi-coding-agent';");
    bench.write("second.ts", "import { v, Other } from './barrel.js'; export { v, Other };");
    let text = "import { v, Other } from './second.js';\nexport default (pi: any) => { const a: Other = v; pi.on('turn_end', () => a); };";
    bench.registered("e.ts", text);
    assert_eq!(bench.emit("turn_end", json!({})).answers[0].result, Some(json!("value")));
}

/// `node:vm` as on Node 20, and `jiti`, by which packages load TypeScript of theirs.
#[test]
fn scripts_run_with_the_names_of_their_context_and_jiti_loads_files() {
    let bench = Bench::new();
    bench.write("x.ts", "export const x: number = 1;");
    bench.write("d.ts", "export default { deep: 1 as number };");
    let text = r#"import vm from "node:vm";
import { createJiti } from "jiti";
const at = (w: any) => { try { return w(); } catch (e: any) { return e.name; } };
export default (pi: any) => pi.on("input", async () => {
  const ctx: any = vm.createContext({ a: 2, out: [], add: (x: number, y: number) => x + y });
  const o: any[] = [];
  o.push(vm.runInContext("a + 1", ctx), vm.runInContext("var b = 5; c = 7; function f(x) { return x * b } f(a)", ctx), ctx.b, ctx.c, vm.runInContext("f(3)", ctx));
  o.push(at(() => vm.runInContext("process.exit()", ctx)), at(() => vm.runInContext("nope + 1", ctx)), vm.runInContext("typeof process + typeof nope", ctx), at(() => vm.runInContext("let x = ;", ctx)));
  o.push(await vm.runInContext("(async () => { const r = await Promise.resolve(add(1, 2)); out.push(r); return r * 2; })()", ctx), ctx.out, typeof (globalThis as any).c);
  o.push(vm.runInNewContext("x + y", { x: 1, y: 2 }), new vm.Script("this.a = 9; globalThis.z = 1").runInContext(ctx), ctx.a, ctx.z, vm.isContext(ctx), vm.isContext({}));
  o.push(vm.compileFunction("return p + q", ["p", "q"])(1, 2), vm.runInThisContext("1 + 1"), at(() => vm.runInContext("throw new TypeError('bad')", ctx)), vm.runInContext("[1,2].map((v) => v + a)", ctx), vm.runInContext("const k = 4; k * 2", ctx));
  o.push(at(() => vm.runInContext("function g() { let process = 1; return process } process", ctx)), ctx.process === undefined);
  o.push(vm.runInContext("var fetch = 3; fetch + 1", ctx), ctx.fetch, typeof (globalThis as any).fetch);
  const jiti = createJiti(import.meta.url);
  o.push((await jiti.import("./x.ts") as any).x, await jiti.import("./d.ts", { default: true }), (jiti("./x.ts") as any).x, jiti.esmResolve("./x.ts").startsWith("file://"), await jiti.import("./none.ts", { try: true }) === undefined);
  return { action: "transform", text: JSON.stringify(o) };
});"#;
    bench.registered("e.ts", text);
    let emitted = bench.emit("input", json!({"text": "x"}));
    let told = emitted.answers[0].result.as_ref().unwrap()["text"].as_str().unwrap();
    let of_node = r#"3,10,5,7,15,"ReferenceError","ReferenceError","undefinedundefined","SyntaxError",6,[3],"undefined",3,1,9,1,true,false,3,2,"TypeError",[10,11],8,"ReferenceError",true,4,3,"function""#;
    assert_eq!(told, format!(r#"[{of_node},1,{{"deep":1}},1,true,true]"#));
}

/// A function of an extension that has a database work without an end.
const SQL: &str = "import { DatabaseSync } from 'node:sqlite';
const endless = () => new DatabaseSync(':memory:').exec('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c');
";

#[test]
fn an_endless_loop_is_interrupted() {
    let bench =
        Bench::with(Limits { slice: Duration::from_secs(2), call: Duration::from_secs(4), ..Limits::default() });
    bench.registered("first.js", "export default (pi) => { pi.on('context', () => undefined); };");
    for (name, text) in [
        ("loop.js", "for (;;);\nexport default () => {};"),
        ("factory.js", "export default () => { for (;;) { try { for (;;); } catch {} } };"),
        // Without a value, which would be kept until the memory is full.
        ("sql.js", &format!("{SQL}export default () => {{ for (;;) {{ try {{ endless(); }} catch {{}} }} }};")),
        ("jobs.js", "export default () => { const again = () => { Promise.resolve().then(again); }; again(); };"),
    ] {
        let problem = bench.problem(name, text);
        assert!(problem.message.contains("interrupted"), "{name}: {problem:?}");
    }
    assert_eq!(bench.emit("context", json!({"messages": []})).answers.len(), 1, "the others are there");
    bench.registered("handler.js", "export default (pi) => { pi.on('input', () => { for (;;); }); };");
    let emitted = bench.emit("input", json!({"text": "x"}));
    assert!(emitted.answers[0].error.as_ref().unwrap().message.contains("interrupted"), "{emitted:?}");
    bench.registered("never.js", "export default (pi) => { pi.on('turn_end', () => new Promise(() => {})); };");
    let emitted = bench.emit("turn_end", json!({}));
    assert!(emitted.answers[0].error.as_ref().unwrap().message.contains("did not answer"), "{emitted:?}");
    bench.assert_works();
}

#[test]
fn a_call_that_nobody_waits_for_any_more_is_interrupted() {
    let slice = Duration::from_hours(1);
    for work in ["for (;;);", "endless();"] {
        let bench = Bench::with(Limits { slice, call: slice, ..Limits::default() });
        bench.registered(
            "handler.js",
            &format!("{SQL}export default (pi) => {{ pi.on('input', () => {{ {work} }}); }};"),
        );
        wait(async {
            let handler = bench.engine.list().await.unwrap().handlers[0].clone();
            let call = bench.engine.call(handler, json!({"text": "x"}));
            tokio::time::timeout(Duration::from_millis(50), call).await.expect_err("an endless loop");
        });
        bench.registered("other.js", "export default (pi) => { pi.on('turn_end', () => 1); };");
        assert_eq!(bench.emit("turn_end", json!({})).answers.len(), 1);
    }
}

/// Whatever else was in the queue of the engine made it begin again, and everybody forgot what they had kept.
#[test]
fn a_call_that_nobody_waits_for_any_more_takes_nothing_from_others() {
    let slice = Duration::from_secs(20);
    let bench = Bench::with(Limits { slice, call: slice, ..Limits::default() });
    let text = "let kept = 0;\nexport default (pi) => {\n  \
                pi.on('input', () => { Promise.resolve().then(() => { kept += 1; }); for (;;); });\n  \
                pi.on('tool_call', () => ({ block: true, reason: `kept ${kept}` }));\n};";
    bench.registered("handler.js", text);
    wait(async {
        let handlers = &bench.engine.list().await.unwrap().handlers;
        let handler = handlers.iter().find(|handler| handler.event == "input").unwrap().clone();
        let call = bench.engine.call(handler, json!({"text": "x"}));
        tokio::time::timeout(Duration::from_millis(50), call).await.expect_err("an endless loop");
    });
    let emitted = bench.emit("tool_call", json!({"input": {}}));
    assert_eq!(emitted.answers[0].result, Some(json!({"block": true, "reason": "kept 1"})));
}

/// A guard that is gone would leave open what it guards.
#[test]
fn a_handler_that_cannot_begin_again_is_asked_and_fails() {
    let bench = Bench::with(Limits { slice: Duration::from_millis(500), ..Limits::default() });
    // It loads once and no more: the second time, what it wants to register again is not there.
    let once = "import fs from 'node:fs';\nexport default (pi) => { if (!fs.existsSync('there')) throw new Error('not there'); pi.on('tool_call', () => ({ block: true })); };";
    bench.write("there", "");
    bench.registered("guard.js", once);
    let jobs = "export default (pi) => { pi.on('input', () => { Promise.resolve().then(() => { for (;;) Promise.resolve().then(() => {}); }); }); };";
    bench.registered("stuck.js", jobs);
    fs::remove_file(bench.folder.path().join("there")).unwrap();
    bench.emit("input", json!({}));
    let emitted = bench.emit("tool_call", json!({"input": {}}));
    let [answer] = emitted.answers.as_slice() else { panic!("{emitted:?}") };
    assert!(answer.error.as_ref().unwrap().message.contains("no handler of tool_call any more"), "{emitted:?}");
}

#[test]
fn a_call_that_waits_holds_up_no_other() {
    let bench = Bench::new();
    let text = "export default (pi) => {\n  let go;\n  const gate = new Promise((resolve) => { go = resolve; });\n  \
                pi.on('input', async () => { const timer = setInterval(() => {}, 1000); await gate; clearInterval(timer); return { action: 'handled' }; });\n  \
                pi.on('turn_end', () => go());\n};";
    bench.registered("gate.js", text);
    let (first, second) = wait(async {
        let listing = bench.engine.list().await.unwrap();
        let handler = |event| listing.handlers.iter().find(|handler| handler.event == event).unwrap().clone();
        let (waits, opens) = (handler("input"), handler("turn_end"));
        tokio::join!(bench.engine.call(waits, json!({})), bench.engine.call(opens, json!({})))
    });
    assert_eq!(first.unwrap().0.result, Some(json!({"action": "handled"})));
    assert!(second.unwrap().0.has_no_effect());
}

#[test]
fn memory_has_a_bound() {
    let bench = Bench::new();
    for (name, text) in [
        ("buffer.js", "export default () => { new Uint8Array(2 * 1024 * 1024 * 1024).fill(1); };"),
        ("text.js", "export default () => { 'x'.repeat(2 ** 29).repeat(4); };"),
        ("list.js", "export default () => { const list = []; for (;;) list.push(new Array(1000).fill(0)); };"),
    ] {
        bench.problem(name, text);
    }
    bench.problem("stack.js", "const f = () => f() + 1;\nexport default () => f();");
    bench.assert_works();
}

#[test]
fn what_nobody_waits_for_is_reported() {
    let bench = Bench::new();
    let text = "export default (pi) => {\n  Promise.reject(new Error('lost'));\n  const late = Promise.reject(new Error('caught'));\n  late.catch(() => {});\n};";
    let loaded = bench.load("lost.ts", text);
    assert!(loaded.result.is_ok(), "{loaded:?}");
    let [report] = loaded.reports.as_slice() else { panic!("{loaded:?}") };
    assert!(report.message.contains("lost") && report.line == Some(2), "{report:?}");
    bench.assert_works();
}

#[test]
fn a_listener_of_the_bus_that_throws_is_reported_and_the_others_hear() {
    let bench = Bench::new();
    bench.registered("one.js", "export default (pi) => {\n  pi.events.on('c', () => { throw new Error('first'); });\n  pi.events.on('c', async () => { throw new Error('second'); });\n};");
    bench.registered("two.js", "export default (pi) => { let heard = ''; pi.events.on('c', (data) => { heard += data; });\n  pi.on('input', () => { pi.events.emit('c', 'x'); return { action: 'transform', text: heard }; }); };");
    let emitted = bench.emit("input", json!({"text": "go"}));
    assert_eq!(emitted.answers[0].result, Some(json!({"action": "transform", "text": "x"})), "{emitted:?}");
    let mut reports: Vec<_> =
        emitted.told.reports.iter().map(|report| (report.message.as_str(), report.line)).collect();
    reports.sort_unstable();
    assert_eq!(reports, [("bus:c: first", Some(2)), ("bus:c: second", Some(3))], "{emitted:?}");
    bench.assert_works();
}

/// What the embedder sends once, or as a number or a list, is what an extension of pi expects.
#[test]
fn events_are_dressed_as_extensions_expect_them() {
    let bench = Bench::new();
    bench.registered("e.js", "export default (pi) => {\n  pi.on('session_before_compact', ({ preparation, signal }) => ({ compaction: { summary: [...preparation.fileOps.read, preparation.fileOps.edited.size, signal.aborted].join(' ') } }));\n  pi.on('message_update', ({ message, assistantMessageEvent }) => { pi.events.emit('told', assistantMessageEvent.partial === message); });\n  let same; pi.events.on('told', (data) => { same = data; }); pi.on('input', () => ({ action: 'transform', text: String(same) }));\n};");
    let preparation = json!({"fileOps": {"read": ["a", "b"], "written": [], "edited": []}});
    let emitted = bench.emit("session_before_compact", json!({"preparation": preparation}));
    assert_eq!(emitted.answers[0].result, Some(json!({"compaction": {"summary": "a b 0 false"}})), "{emitted:?}");
    let piece = json!({"type": "text_delta", "contentIndex": 0, "delta": "x", "partial": true});
    let message = json!({"role": "assistant", "content": []});
    bench.emit("message_update", json!({"message": message, "assistantMessageEvent": piece}));
    let emitted = bench.emit("input", json!({"text": "go"}));
    assert_eq!(emitted.answers[0].result, Some(json!({"action": "transform", "text": "true"})), "{emitted:?}");
}

#[test]
fn a_handler_that_throws_stops_no_other() {
    let bench = Bench::new();
    bench.registered(
        "a.ts",
        "export default (pi: any) => {\n  pi.on('input', () => {\n    throw new TypeError('thrown');\n  });\n};",
    );
    bench.registered("b.js", "export default (pi) => { pi.on('input', async (event) => ({ action: 'transform', text: event.text + '!' })); };");
    let emitted = bench.emit("input", json!({"text": "x"}));
    let error = emitted.answers[0].error.as_ref().unwrap();
    assert_eq!((error.message.as_str(), error.line), ("thrown", Some(3)));
    assert_eq!(emitted.answers[1].result, Some(json!({"action": "transform", "text": "x!"})));
}

#[test]
fn pollution_of_prototypes_reaches_nobody() {
    let bench = Bench::new();
    bench.load("evil.js", "export default (pi) => { try { Object.prototype.block = true; } catch {} try { Object.prototype.value = 1; } catch {} globalThis.fetch = 1; };");
    bench.registered("good.js", "export default (pi) => { pi.on('tool_call', () => ({})); };");
    let emitted = bench.emit("tool_call", json!({"input": {}, "__proto__": {"block": true}}));
    assert_eq!(emitted.answers[0].result, Some(json!({})), "{emitted:?}");
    bench.assert_works();
}

#[test]
fn rights_are_few() {
    let bench = Bench::new();
    bench.write("secret/key", "hush");
    bench.write("open.txt", "read me");
    std::os::unix::fs::symlink("secret/key", bench.folder.path().join("link")).unwrap();
    let text = r"
import fs from 'node:fs';
import { spawnSync } from 'node:child_process';
const said = (work) => { try { return String(work()); } catch (error) { return error.code ?? error.message; } };
export default (pi) => {
  pi.on('input', async () => ({
    open: said(() => fs.readFileSync('open.txt', 'utf8')),
    secret: said(() => fs.readFileSync('secret/key', 'utf8')),
    link: said(() => fs.readFileSync('link', 'utf8')),
    own: said(() => fs.readFileSync('/proc/self/environ', 'utf8')),
    gone: said(() => fs.readFileSync('gone', 'utf8')),
    write: said(() => fs.writeFileSync('made', 'x')),
    spawn: said(() => { const done = spawnSync('true'); if (done.error) throw done.error; return done.status; }),
    exec: await pi.exec('true', []).then((done) => `${done.code} ${done.stderr}`, (error) => error.message),
    fetch: await fetch('http://127.0.0.1:1/').then(() => 'fetched', () => 'refused'),
    names: Object.keys(process.env),
    host: typeof globalThis.__levainHost,
  }));
};";
    bench.registered("rights.js", text);
    let emitted = bench.emit("input", json!({"text": "x"}));
    let result = emitted.answers[0].result.as_ref().unwrap_or_else(|| panic!("{emitted:?}"));
    assert_eq!(result["open"], "read me");
    for (name, code) in [
        ("secret", "EACCES"),
        ("link", "EACCES"),
        ("own", "EACCES"),
        ("gone", "ENOENT"),
        ("write", "EACCES"),
        ("spawn", "EACCES"),
    ] {
        assert_eq!(result[name], code, "{result}");
    }
    assert!(result["exec"].as_str().unwrap().contains("may not start processes"), "{result}");
    assert_eq!((&result["fetch"], &result["host"]), (&json!("refused"), &json!("undefined")), "{result}");
    assert_eq!(result["names"], json!(["LANG"]));
    assert!(!bench.folder.path().join("made").exists());
}

#[test]
fn files_are_changed_in_the_folders_of_the_policy_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["open", "open/guarded", "open/holds/guarded", "closed", "secret"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("old", root.join("open/link")).unwrap();
    fs::write(root.join("open/old"), "old").unwrap();
    std::os::unix::fs::symlink("../closed", root.join("open/way")).unwrap();
    std::os::unix::fs::symlink("../closed/made", root.join("open/nowhere")).unwrap();
    let policy = Policy {
        session: None,
        hidden: vec![root.join("secret")],
        write: vec![root.join("open")],
        guarded: vec![root.join("open/guarded"), root.join("open/holds/guarded")],
        data: vec![root.join("open/guarded")],
        only_looks: false,
        looked_through: Vec::new(),
    };
    let bench = Bench::within(folder, policy);
    let text = r"
import fs from 'node:fs';
const said = (work) => { try { const made = work(); return made === undefined ? 'done' : String(made); } catch (error) { return error.code ?? error.message; } };
export default (pi) => {
  pi.on('input', () => [
    said(() => fs.writeFileSync('open/new', 'a')), said(() => fs.appendFileSync('open/new', 'b')), said(() => fs.readFileSync('open/new', 'utf8')),
    said(() => fs.writeFileSync('open/old', 'c', { flag: 'wx' })), said(() => fs.mkdirSync('open/a/b', { recursive: true }) && undefined),
    said(() => fs.renameSync('open/new', 'open/a/b/c')), said(() => fs.copyFileSync('open/a/b/c', 'open/d')), said(() => fs.rmdirSync('open/a')),
    said(() => fs.unlinkSync('open/d')), said(() => fs.rmSync('open/a', { recursive: true })), said(() => fs.existsSync(fs.mkdtempSync('open/t-'))),
    said(() => fs.writeFileSync('closed/x', '')), said(() => fs.writeFileSync('open/../closed/x', '')), said(() => fs.writeFileSync('open/way/x', '')),
    said(() => fs.writeFileSync('open/nowhere', '')), said(() => fs.writeFileSync('open/guarded/x', '')), said(() => fs.renameSync('open/old', 'closed/old')),
    said(() => fs.copyFileSync('secret', 'open/s')), said(() => fs.rmSync('open', { recursive: true })), said(() => fs.mkdirSync('secret/x')),
    said(() => fs.renameSync('open/holds', 'open/other')), said(() => fs.rmSync('open/holds', { recursive: true })),
    said(() => fs.unlinkSync('open/link')), said(() => fs.readFileSync('open/old', 'utf8')), said(() => fs.unlinkSync('open/nowhere')),
    said(() => fs.writeFileSync('open/guarded/my.json', '1')), said(() => fs.writeFileSync('open/guarded/my.json', '2')),
    said(() => fs.writeFileSync('open/guarded/package.json', '')), said(() => fs.mkdirSync('open/guarded/x.json', { recursive: true }) && undefined),
    said(() => fs.renameSync('open/guarded/my.json', 'open/guarded/my.js')), said(() => fs.writeFileSync('open/holds/guarded/my.json', '')),
    said(() => fs.writeFileSync('open/guarded/../guarded/x.js', '')),
  ]);
};";
    bench.registered("files.js", text);
    let emitted = bench.emit("input", json!({}));
    let expected = json!([
        "done",
        "done",
        "ab",
        "EEXIST",
        "done",
        "done",
        "done",
        "ENOTEMPTY",
        "done",
        "done",
        "true",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "done",
        "old",
        "done",
        "done",
        "done",
        "EACCES",
        "done",
        "EACCES",
        "EACCES",
        "EACCES"
    ]);
    assert_eq!(emitted.answers[0].result, Some(expected), "{emitted:?}");
    assert_eq!(fs::read_dir(bench.folder.path().join("closed")).unwrap().count(), 0);
}

/// In as many statements as they like: each module of unknown names is made of all of them.
#[test]
fn names_that_are_not_known_are_imported_statement_by_statement() {
    let bench = Bench::new();
    let text = r#"
import { newNameA, VERSION } from "@earendil-works/pi-coding-agent";
import { newNameB } from "@earendil-works/pi-coding-agent";
import { readFileSync, newFsA } from "node:fs"; import { newFsB } from "node:fs";
export { newNameC } from "@earendil-works/pi-ai"; import { newNameD } from "@earendil-works/pi-ai";
export default (pi: any) => pi.on("input", () => {
  const why = (work: () => unknown) => { try { work(); return "no"; } catch (error: any) { return error.message; } };
  return [typeof readFileSync, typeof VERSION, ...[newNameA, newNameB, newFsA, newFsB, newNameD].map((name: any) => why(() => name()))];
});"#;
    bench.registered("e.ts", text);
    let emitted = bench.emit("input", json!({}));
    let told = emitted.answers[0].result.as_ref().unwrap().as_array().unwrap().clone();
    assert_eq!(told[..2], [json!("function"), json!("string")]);
    for (why, name) in told[2..].iter().zip(["newNameA", "newNameB", "newFsA", "newFsB", "newNameD"]) {
        assert!(why.as_str().unwrap().contains(name), "{why}");
    }
}

/// In a folder of their own, too, and at once, as most write them.
#[test]
fn settings_are_kept_where_extensions_lie_and_nothing_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("open/guarded")).unwrap();
    let policy = Policy {
        write: vec![root.join("open")],
        guarded: vec![root.join("open/guarded")],
        data: vec![root.join("open/guarded")],
        ..Policy::default()
    };
    let bench = Bench::within(folder, policy);
    let text = r"
import fs from 'node:fs';
const said = (work) => { try { const made = work(); return made === undefined ? 'done' : String(made); } catch (error) { return error.code ?? error.message; } };
export default (pi) => {
  pi.on('input', () => [
    said(() => fs.mkdirSync('open/guarded/mine/logs', { recursive: true }) && undefined), said(() => fs.writeFileSync('open/guarded/mine/c.json.12.tmp', '{}')),
    said(() => fs.chmodSync('open/guarded/mine/c.json.12.tmp', 0o600)), said(() => fs.renameSync('open/guarded/mine/c.json.12.tmp', 'open/guarded/mine/c.json')),
    said(() => fs.writeFileSync('open/guarded/mine/index.js', '')), said(() => fs.writeFileSync('open/guarded/mine/t.tmp', 'x')), said(() => fs.renameSync('open/guarded/mine/t.tmp', 'open/guarded/mine/index.js')),
    said(() => fs.renameSync('open/guarded/mine/t.tmp', 'open/guarded/mine/package.json')), said(() => fs.mkdirSync('open/f', { recursive: true }) && undefined), said(() => fs.writeFileSync('open/f/index.js', '')),
    said(() => fs.renameSync('open/f', 'open/guarded/f.json')), said(() => fs.renameSync('open/f', 'open/guarded/mine/logs')), said(() => fs.symlinkSync('../../f/index.js', 'open/guarded/mine/l.json')),
    said(() => fs.mkdirSync('open/guarded/node_modules')), said(() => fs.unlinkSync('open/guarded/mine/t.tmp')), said(() => fs.rmSync('open/guarded/mine', { recursive: true })),
    said(() => fs.mkdirSync('open/guarded/mine/c.json.lock')), said(() => fs.rmdirSync('open/guarded/mine/c.json.lock')), said(() => fs.rmdirSync('open/guarded')), said(() => fs.rmdirSync('open/guarded/mine')),
    said(() => fs.mkdirSync('open/guarded/mine/.pi')), said(() => fs.mkdirSync('open/guarded/Node_Modules')), said(() => fs.writeFileSync('open/guarded/.vscode/tasks.json', '')),
    said(() => fs.writeFileSync('open/guarded/mine/.c.tmp.json', '')), said(() => fs.renameSync('open/guarded/mine/.c.tmp.json', 'open/guarded/mine/c.json')),
    ...['yarn.lock', 'package-lock.json', 'pac\u212Aage.json', 'PACKAGE.JSON', 'package.json.lock'].map((name) => said(() => fs.writeFileSync('open/guarded/mine/' + name, ''))),
    said(() => fs.copyFileSync('open/f/index.js', 'open/guarded/mine/x.js')), said(() => fs.rmSync('open/f', { recursive: true })),
  ]);
};";
    bench.registered("files.js", text);
    let emitted = bench.emit("input", json!({}));
    let expected = json!([
        "done",
        "done",
        "done",
        "done",
        "EACCES",
        "done",
        "EACCES",
        "EACCES",
        "done",
        "done",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "done",
        "EACCES",
        "done",
        "done",
        "EACCES",
        "ENOTEMPTY",
        "EACCES",
        "EACCES",
        "EACCES",
        "done",
        "done",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "EACCES",
        "done"
    ]);
    assert_eq!(emitted.answers[0].result, Some(expected), "{emitted:?}");
}

#[test]
fn timers_bytes_and_digests_work() {
    let bench = Bench::new();
    let text = r"
import { createHash, randomUUID } from 'node:crypto';
export default (pi) => {
  pi.on('input', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const hex = (name) => createHash(name).update('abc').digest('hex').slice(0, 8);
    return { md5: hex('md5'), sha1: hex('sha1'), sha256: hex('sha256'), sha512: hex('sha512'), uuid: randomUUID().length };
  });
};";
    bench.registered("a.js", text);
    let emitted = bench.emit("input", json!({"text": "x"}));
    let expected =
        json!({"md5": "90015098", "sha1": "a9993e36", "sha256": "ba7816bf", "sha512": "ddaf35a1", "uuid": 36});
    assert_eq!(emitted.answers[0].result, Some(expected), "{emitted:?}");
}

/// Dates are shown as they are where a person is, and in zones that are named; stacks begin with what went wrong, as in Node.
const AROUND: &str = r#"
export default (): void => {
  const at = new Date(1e12);
  console.log(Intl.DateTimeFormat().resolvedOptions().timeZone, at.toLocaleString("en-US", { timeZoneName: "short" }), at.getHours());
  console.log(at.toLocaleString("en-US", { timeZone: "Asia/Kathmandu", dateStyle: "medium", timeStyle: "short" }));
  try { new Intl.DateTimeFormat("en", { timeZone: "Mars/Olympus" }); } catch (error: any) { console.log(`${error.name}: ${error.message}`); }
  class Own extends Error { constructor(text: string) { super(text); this.name = "Own"; Error.captureStackTrace(this, Own); } }
  const first = (error: any) => error.stack.split("\n").slice(0, 2).map((row: string) => row.replace(/\(.*\//, "(")).join(" | ");
  const none: any = undefined;
  try { none(); } catch (error) { console.log(first(error)); }
  console.log(first(new Own("no")), "and", first(new RangeError()));
  const of = (work: () => unknown) => { try { work(); return "nothing"; } catch (error: any) { return error.message; } };
  const o: any = { a: { b: 1 }, list: [1] };
  console.log([of(() => o.a.b()), of(() => o.missing(1, 2)), of(() => o.list[0]()), of(() => new o.a()), of(() => o["x y"]()), of(() => o.a.toString().gone()), of(() => o.a.b.c.d), of(() => { o.none.x = 1; }), of(() => [1].map(o.none))].join(" | "));
  const asked = Error.prepareStackTrace;
  Error.prepareStackTrace = (_error: unknown, sites: any) => sites;
  console.log(Array.isArray((new Error("x") as any).stack));
  Error.prepareStackTrace = asked;
};"#;

#[test]
fn zones_and_stacks_are_those_of_node() {
    let home = Home::new();
    let file = home.path().join("around.ts");
    put(&file, AROUND);
    let mut listed = home.levain(&["extensions", file.to_str().unwrap()]);
    let (code, out, err) = terminal::output(listed.env("TZ", "America/New_York"));
    assert_eq!(code, 0, "{out}{err}");
    let expected = [
        "America/New_York 9/8/2001, 9:46:40 PM EDT 21",
        "Sep 9, 2001, 7:31 AM",
        "RangeError: Invalid time zone specified: Mars/Olympus",
        "TypeError: none is not a function |     at default (around.ts:",
        "Own: no |     at default (around.ts:",
        "and RangeError |     at default (around.ts:",
        "o.a.b is not a function | o.missing is not a function | o.list[0] is not a function | o.a is not a constructor | o.x y is not a function \
         | o.a.toString(...).gone is not a function | Cannot read properties of undefined (reading 'd') \
         | Cannot set properties of undefined (setting 'x') | not a function",
        "true",
    ];
    for line in expected {
        assert!(out.contains(line), "{line}: {out}");
    }
}

#[test]
fn fifty_extensions_load() {
    let bench = Bench::new();
    for number in 0..50 {
        let text =
            format!("export default (pi: any): void => {{ pi.on('input', (event: any) => ({{ n: {number} }})); }};");
        bench.registered(&format!("e{number}.ts"), &text);
    }
    assert_eq!(bench.emit("input", json!({"text": "x"})).answers.len(), 50);
}

#[test]
fn the_internals_are_out_of_reach() {
    let bench = Bench::new();
    for name in ["levain:host/registry.js", "levain:host.js", "cjs:/etc/hostname", "node:nothing"] {
        bench.problem("a.js", &format!("import * as inner from '{name}';\nexport default () => {{}};"));
    }
}

// ---------------------------------------------------------------------------------------------- the command

fn lines(home: &Home, arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let output = home.levain(arguments).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn text(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let output = home.levain(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr))
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A file that holds a secret is nobody else's from its beginning.
#[test]
fn a_file_and_a_folder_are_made_with_the_mode_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        cwd: folder.path().to_owned(),
        home: folder.path().to_owned(),
        environment: Vec::new(),
        limits: Limits::default(),
        policy: Policy { write: vec![folder.path().to_owned()], ..Policy::default() },
        outside: None,
    };
    let bench = Bench { engine: Engine::start(settings).unwrap(), folder };
    let text = r"
import fs from 'node:fs';
const mode = (path) => (fs.statSync(path).mode & 0o7777).toString(8);
export default (pi) => {
  pi.on('input', () => {
    fs.writeFileSync('key', 's', { mode: 0o600 });
    fs.mkdirSync('keys/own', { recursive: true, mode: 0o700 });
    fs.writeFileSync('run', 's');
    fs.chmodSync('run', 0o4700);
    return { action: 'transform', text: [mode('key'), mode('keys/own'), mode('run')].join(' ') };
  });
};";
    bench.registered("e.js", text);
    let emitted = bench.emit("input", json!({"text": "go"}));
    assert_eq!(emitted.answers[0].result, Some(json!({"action": "transform", "text": "600 700 700"})), "{emitted:?}");
}

/// The folder for what extensions keep is made where it is not there; times are set, and links made that lead nowhere else.
#[test]
fn folders_of_the_policy_times_and_links_are_made_within_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (cwd, kept) = (root.join("project"), root.join("home/.pi/agent"));
    fs::create_dir_all(cwd.join(".ai")).unwrap();
    fs::write(root.join("secret"), "s").unwrap();
    let policy = Policy {
        write: vec![cwd.clone(), kept.clone(), root.join("other")],
        guarded: vec![cwd.join(".ai")],
        ..Policy::default()
    };
    let settings = Settings {
        cwd,
        home: root.join("home"),
        environment: Vec::new(),
        limits: Limits::default(),
        policy,
        outside: None,
    };
    let bench = Bench { engine: Engine::start(settings).unwrap(), folder };
    let text = r"
import fs from 'node:fs';
import os from 'node:os';
const tried = (what) => { try { return String(what()); } catch (error) { return error.code; } };
export default (pi) => {
  pi.on('input', () => {
    fs.mkdirSync('../other', { recursive: true });
    fs.writeFileSync(os.homedir() + '/.pi/agent/state.json', '{}');
    fs.writeFileSync('a', 'a');
    fs.utimesSync('a', 1000, 2000);
    fs.symlinkSync('a', 'link');
    const all = [fs.statSync('a').mtimeMs, fs.readFileSync('link', 'utf8'),
      tried(() => fs.symlinkSync('../secret', 'out')), tried(() => fs.symlinkSync('.ai', 'in')),
      tried(() => fs.mkdirSync(os.homedir() + '/.ssh')), tried(() => fs.utimesSync('../secret', 1, 1))];
    return { action: 'transform', text: all.join(' ') };
  });
};";
    bench.registered("e.js", text);
    let emitted = bench.emit("input", json!({"text": "go"}));
    let expected = json!({"action": "transform", "text": "2000000 a EACCES EACCES EACCES EACCES"});
    assert_eq!(emitted.answers[0].result, Some(expected), "{emitted:?}");
    assert!(kept.join("state.json").exists() && root.join("other").is_dir());
}

#[test]
fn a_project_has_to_be_trusted_and_a_broken_file_is_told() {
    let home = Home::new();
    let file = home.project().join(".pi/extensions/a.ts");
    put(&file, "export default (pi: any) => { pi.on('input', () => undefined); };\n");
    put(
        &home.home().join(".pi/agent/extensions/own.js"),
        "export default (pi) => { pi.registerCommand('own', { handler: async () => {} }); };\n",
    );
    let (code, found) = lines(&home, &["extensions", "--json"]);
    assert_eq!(
        (code, found[0]["status"].as_str(), found[1]["status"].as_str()),
        (Some(0), Some("untrusted"), Some("loaded")),
        "{found:?}"
    );
    assert_eq!(found[1]["registered"]["commands"], json!(["own"]));
    assert!(text(&home, &["extensions"]).1.contains("not trusted"));
    let (code, said) = text(&home, &["trust"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, found) = lines(&home, &["extensions", "--json"]);
    assert_eq!(
        (code, found[0]["status"].as_str(), &found[0]["registered"]["events"]),
        (Some(0), Some("loaded"), &json!({"input": 1}))
    );
    let broken = home.path().join("broken.ts");
    fs::write(&broken, "export default () => {\n  const = 1;\n};\n").unwrap();
    let (code, found) = lines(&home, &["extensions", "--json", broken.to_str().unwrap(), file.to_str().unwrap()]);
    assert_eq!((code, &found[0]["status"], &found[0]["error"]["line"]), (Some(1), &json!("failed"), &json!(2)));
    assert_eq!((&found[0]["schema"], &found[1]["status"]), (&json!("levain.extension/1"), &json!("loaded")));
    let (code, said) = text(&home, &["extensions", broken.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("broken.ts:2:9: SyntaxError"), "{said}");
    assert_eq!(text(&home, &["extensions", "/nowhere/at/all.ts"]).0, Some(1));
}

#[test]
fn an_event_is_offered_from_the_command_line() {
    let home = Home::new();
    let file = home.path().join("a.ts");
    put(
        &file,
        "export default (pi: any) => {\n  pi.on('input', (event: any, ctx: any) => { ctx.ui.notify('seen'); return { action: 'transform', text: event.text.toUpperCase() }; });\n  pi.on('input', () => {});\n};\n",
    );
    let arguments = ["extensions", "emit", "input", "--with", "{\"text\":\"hi\"}", file.to_str().unwrap()];
    let (code, said) = text(&home, &arguments);
    assert!(code == Some(0) && said.contains("\"text\":\"HI\"") && said.contains("no effect"), "{said}");
    assert!(said.contains("asked for ui.notify"), "{said}");
    let (_, found) = lines(&home, &[&arguments[..], &["--json"]].concat());
    assert_eq!(found[0]["result"]["text"], "HI");
    assert_eq!((&found[1]["no_effect"], &found[2]["handlers"]), (&json!(true), &json!(2)), "{found:?}");
    assert_eq!(text(&home, &["extensions", "emit", "input", "--with", "nonsense"]).0, Some(2));
}

#[test]
fn a_new_extension_works_and_types_are_written() {
    let home = Home::new();
    assert_eq!(text(&home, &["extensions", "new", "mine"]).0, Some(0));
    let file = home.project().join(".ai/extensions/mine/index.ts");
    let (code, found) = lines(&home, &["extensions", "--json", file.to_str().unwrap()]);
    assert_eq!((code, &found[0]["registered"]["tools"]), (Some(0), &json!(["count_words"])), "{found:?}");
    assert_eq!(text(&home, &["extensions", "new", "mine"]).0, Some(1), "what is there stays");
    assert_eq!(text(&home, &["extensions", "new", "../out"]).0, Some(2));
    assert_eq!(text(&home, &["extensions", "types"]).0, Some(0));
    assert!(home.project().join(".ai/extensions/types/pi-coding-agent.d.ts").is_file());
    let (_, found) = lines(&home, &["extensions", "--json"]);
    assert_eq!(found.len(), 1, "types are no extensions: {found:?}");
}

// ---------------------------------------------------------------------------------------------- pi's examples

/// Loads every example of pi, found below `LEVAIN_PI_EXAMPLES` (`examples/extensions` of an installed
/// `@mariozechner/pi-coding-agent@0.58.3`), and prints a table. Those that need a package nobody installed may be refused.
#[test]
fn the_examples_of_pi_load() {
    let Some(folder) = std::env::var_os("LEVAIN_PI_EXAMPLES").map(PathBuf::from) else { return };
    let bench = Bench::new();
    let mut found: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let files = found.into_iter().filter_map(|path| {
        let index = path.join("index.ts");
        if index.is_file() {
            Some(index)
        } else {
            path.extension().is_some_and(|ending| ending == "ts").then_some(path)
        }
    });
    let (mut loaded, mut all) = (0, 0);
    let mut refused = Vec::new();
    for file in files {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        all += 1;
        let Loaded { took, result, reports, .. } = wait(bench.engine.load(&file)).unwrap();
        match result {
            Ok(Registered { events, tools, commands, flags, shortcuts, providers, renderers }) => {
                loaded += 1;
                println!(
                    "{name:<36} {took:7.1} ms  {} events, {} tools, {} commands, {} flags, {} shortcuts, {} providers, {} renderers",
                    events.len(),
                    tools.len(),
                    commands.len(),
                    flags.len(),
                    shortcuts.len(),
                    providers.len(),
                    renderers.len()
                );
            }
            Err(problem) => {
                println!("{name:<36} REFUSED  {}", problem.message.lines().next().unwrap_or_default());
                refused.push(problem.message);
            }
        }
        assert_eq!(reports, [], "{name}");
    }
    println!("{loaded} of {all} loaded");
    assert_eq!(all, 66);
    assert!(refused.iter().all(|why| why.contains("Cannot find module") && why.contains("npm install")), "{refused:?}");
}
