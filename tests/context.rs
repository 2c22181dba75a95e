//! `levain context`, and that what it shows is what is sent.

#![allow(clippy::format_push_string, reason = "a test may be slow")]

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, Terminal, output, poll};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn write(home: &Home, path: &str, text: &str) {
    let path = home.project().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn directive(home: &Home, id: &str, attributes: &str, metadata: &str, body: &str) {
    let name = id.rsplit('/').next().unwrap();
    let text = format!(
        "```xml\n<directive name=\"{name}\" version=\"1.0.0\"{attributes}>\n<metadata>\n<description>{name}</description>\n{metadata}\n</metadata>\n</directive>\n```\n\n{body}\n"
    );
    write(home, &format!(".ai/directives/{id}.md"), &text);
}

fn knowledge(home: &Home, id: &str, body: &str) {
    let name = id.rsplit('/').next().unwrap();
    write(home, &format!(".ai/knowledge/{id}.md"), &format!("```yaml\nname: {name}\n```\n\n{body}\n"));
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    let (code, out, err) = output(&mut home.levain(arguments));
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn json_lines(home: &Home, arguments: &[&str]) -> Vec<Value> {
    output(&mut home.levain(arguments)).1.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn layers(shown: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let layers = shown["layers"].as_array().unwrap().iter();
    layers.map(|layer| (text(&layer["kind"]), text(&layer["id"]))).collect()
}

/// A project that a generator made up.
#[derive(Clone, Debug)]
struct Made {
    /// For each directive of the chain, leaf last: what it brings and leaves out.
    chain: Vec<Vec<(usize, usize, bool)>>,
    bodies: Vec<String>,
    hooks: Vec<(usize, usize, bool, u32)>,
    agents: Option<String>,
    prompt: String,
}

const POSITIONS: [&str; 4] = ["system", "before", "after", "suppress"];

fn made() -> impl Strategy<Value = Made> {
    let text = "[a-zé ${}<>&\"\\\\*#-]{1,40}";
    let mention = (0..4usize, 0..4usize, any::<bool>());
    (
        prop::collection::vec(prop::collection::vec(mention, 0..5), 1..4),
        prop::collection::vec(text, 4),
        prop::collection::vec((0..2usize, 0..4usize, any::<bool>(), 0..5u32), 0..4),
        prop::option::of(text),
        "[a-z${}é]{1,12}( [a-z${}é]{1,12}){0,3}",
    )
        .prop_map(|(chain, bodies, hooks, agents, prompt)| Made { chain, bodies, hooks, agents, prompt })
}

impl Made {
    fn write(&self, home: &Home) {
        let _fresh = fs::remove_dir_all(home.project().join(".ai"));
        for (number, body) in self.bodies.iter().enumerate() {
            knowledge(home, &format!("team/k{number}"), body);
        }
        for (depth, mentions) in self.chain.iter().enumerate() {
            let mut context =
                String::from("<context>\n<provider>project_files</provider><provider>project</provider>\n");
            for (position, item, optional) in mentions {
                let (position, optional) = (POSITIONS[*position], if *optional { " optional=\"true\"" } else { "" });
                context.push_str(&format!("<{position}{optional}>team/k{item}</{position}>\n"));
            }
            context.push_str("</context>");
            let extends = if depth == 0 { String::new() } else { format!(" extends=\"team/d{}\"", depth - 1) };
            directive(home, &format!("team/d{depth}"), &extends, &context, "Do {input:x|it}.");
        }
        let mut hooks = String::from("hooks:\n");
        for (number, (event, item, holds, layer)) in self.hooks.iter().enumerate() {
            let event = ["build_system_prompt", "thread_started"][*event];
            let value = if *holds { "team" } else { "nobody" };
            hooks.push_str(&format!(
                "- {{id: h{number}, event: {event}, layer: {layer}, wrap: {holds}, condition: {{path: directive, op: contains, value: {value}}}, \
                 action: {{primary: fetch, item_type: knowledge, item_id: team/k{item}}}}}\n"
            ));
        }
        write(home, ".ai/config/agent/hooks.yaml", &hooks);
        let _absent = fs::remove_file(home.project().join("AGENTS.md"));
        if let Some(agents) = &self.agents {
            write(home, "AGENTS.md", agents);
        }
    }
}

/// Whatever a project holds, the preview is what a server receives, byte for byte.
#[test]
fn a_preview_is_what_is_sent() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    runner
        .run(&made(), |made| {
            made.write(&home);
            let leaf = format!("team/d{}", made.chain.len() - 1);
            let against = |arguments: &[&str]| {
                let mut command = home.levain(arguments);
                command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
                command
            };
            let show = [
                "context",
                "show",
                &leaf,
                "--model",
                "anthropic/test",
                "--prompt",
                &made.prompt,
                "--wire",
                "anthropic",
            ];
            let (code, preview, err) = output(&mut against(&show));
            assert_eq!(code, 0, "{err}");
            let run = ["run", "--model", "anthropic/test", "--directive", &leaf, "--", &made.prompt];
            let child = against(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let call = server.call();
            let sent = String::from_utf8(call.bytes.clone()).unwrap();
            call.answer("done");
            child.wait_with_output().unwrap();
            prop_assert_eq!(preview.trim_end_matches('\n'), sent);
            Ok(())
        })
        .unwrap();
    home.wait_until_quiet();
}

/// Tools in words are shown as the words that are sent.
#[test]
fn what_a_model_is_told_in_words_is_shown_in_words() {
    let (home, server) = (Home::new(), ModelServer::start());
    let grant = "<permissions><execute><tool>rye/file-system/read</tool></execute></permissions>";
    directive(&home, "team/reader", "", grant, "Read.");
    let file = home.home().join(".ai/tools/providers/anthropic.yaml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, "tool_id: anthropic\ntool_type: http\ntool_use: {mode: text_parsed}\n").unwrap();
    let against = |arguments: &[&str]| {
        let mut command = home.levain(arguments);
        command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
        command
    };
    let model = ["--model", "anthropic/test"];
    let show = ["context", "show", "team/reader", "--prompt", "go", "--wire", "anthropic"];
    let (code, preview, err) = output(&mut against(&[&show[..], &model].concat()));
    assert_eq!(code, 0, "{err}");
    let run = [&["run", "--directive", "team/reader", "go"], &model[..]].concat();
    let child = against(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let call = server.call();
    assert_eq!(preview.trim_end(), String::from_utf8(call.bytes.clone()).unwrap());
    assert!(preview.contains("## rye_file_system_read") && call.body.get("tools").is_none(), "{preview}");
    call.answer("done");
    child.wait_with_output().unwrap();
    home.wait_until_quiet();
}

/// What the program last put on the clipboard.
fn copied(terminal: &Terminal) -> Option<String> {
    let bytes = terminal.bytes();
    let said = String::from_utf8_lossy(&bytes);
    let coded = said.rsplit_once("\x1b]52;c;")?.1.split(['\x07', '\x1b']).next()?.to_owned();
    String::from_utf8(STANDARD.decode(coded).ok()?).ok()
}

/// Whatever a project holds, and whatever changes around it meanwhile, Enter in the preview sends what that showed.
#[test]
fn enter_in_the_preview_sends_what_it_showed() {
    let (home, server) = (Home::new(), ModelServer::start());
    let git = Command::new("git").args(["init", "-q"]).current_dir(home.project()).status().unwrap();
    assert!(git.success());
    let mut runner = TestRunner::new(Config { cases: 8, failure_persistence: None, ..Config::default() });
    let number = std::cell::Cell::new(0);
    runner
        .run(&made(), |made| {
            number.set(number.get() + 1);
            made.write(&home);
            let leaf = format!("team/d{}", made.chain.len() - 1);
            let terminal = home
                .levain_in_terminal(&["--model", "anthropic/test", &leaf])
                .size(120, 40)
                .env("ANTHROPIC_BASE_URL", &server.base())
                .env("ANTHROPIC_API_KEY", KEY)
                .start();
            terminal.wait_for("enter start");
            terminal.send_keys(&made.prompt);
            terminal.send_keys("\x10");
            terminal.wait_for("what Enter would send · anthropic");
            terminal.send_keys("w");
            terminal.wait_for("Anthropic Messages · what Enter");
            terminal.send_keys("y");
            terminal.wait_for("copied");
            let shown = copied(&terminal).unwrap();
            // Put together anew, it would tell of another branch.
            write(&home, ".git/HEAD", &format!("ref: refs/heads/other-{}\n", number.get()));
            terminal.send_keys("\r");
            let call = server.call();
            let sent = String::from_utf8(call.bytes.clone()).unwrap();
            call.answer("done");
            terminal.wait_for("done");
            prop_assert_eq!(shown, sent);
            terminal.send_keys("\x03\x03");
            terminal.wait_exit();
            Ok(())
        })
        .unwrap();
    home.wait_until_quiet();
}

/// A summary is asked for with a system text of its own; the thread keeps the one it has.
#[test]
fn the_preview_after_room_was_made_shows_the_system_text_of_the_thread() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = home
        .levain_in_terminal(&["--model", "anthropic/test"])
        .size(120, 40)
        .env("ANTHROPIC_BASE_URL", &server.base())
        .env("ANTHROPIC_API_KEY", KEY)
        .start();
    terminal.wait_for("enter send");
    let system = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["system"].clone();
    let mut own = Value::Null;
    for words in ["one", "two"] {
        terminal.send_keys(words);
        terminal.wait_for(&format!("› {words}"));
        terminal.send_keys("\r");
        let call = server.call();
        own = system(&call.bytes);
        call.answer(&format!("answer to {words}"));
        terminal.wait_for(&format!("answer to {words}"));
        terminal.wait_gone("●");
    }
    terminal.send_keys("/compact");
    terminal.send_keys("\r");
    let call = server.call();
    assert_ne!(system(&call.bytes), own);
    call.answer("They counted.");
    terminal.wait_for("summarised");
    terminal.wait_gone("●");
    terminal.send_keys("three");
    terminal.wait_for("› three");
    terminal.send_keys("\x10");
    terminal.wait_for("what Enter would send · anthropic");
    terminal.send_keys("\r");
    let call = server.call();
    assert_eq!(system(&call.bytes), own);
    call.answer("answer to three");
    terminal.wait_for("answer to three");
    terminal.send_keys("\x03\x03");
    terminal.wait_exit();
    home.wait_until_quiet();
}

/// One directive that loses a layer to each reason there is. Each reason with the words that are told for it.
fn with_every_absence(home: &Home) -> [(&'static str, &'static str); 9] {
    for (id, text) in [("twice", "Twice."), ("rules", "Rules."), ("empty", "")] {
        knowledge(home, &format!("team/{id}"), text);
    }
    knowledge(home, "levain/core/Identity", "Ours.");
    knowledge(home, "team/huge", &"x".repeat((1 << 20) + 1));
    let context = "<context><provider>skills</provider><suppress>levain/core/protocol/sign</suppress><system>team/twice</system>\
                   <system>team/twice</system><before>team/empty</before><after optional=\"true\">team/gone</after>\
                   <after optional=\"true\">team/huge</after></context>";
    directive(home, "team/leaf", " extends=\"levain/core/base\"", context, "Do it.");
    let hooks = "hooks:\n\
        - {id: for_web, event: thread_started, condition: {path: directive, op: contains, value: web}, action: {primary: fetch, item_id: team/rules}}\n\
        - {id: a_tool, event: thread_started, action: {primary: execute, item_type: tool, item_id: team/x}}\n";
    write(home, ".ai/config/agent/hooks.yaml", hooks);
    [
        ("condition", "condition false: directive contains \"web\" (actual \"team/leaf\")"),
        ("suppressed", "suppressed by `team/leaf`"),
        ("duplicate", "already in the request, from `team/leaf`"),
        ("shadowed", "hidden by project .ai/knowledge/levain/core/Identity.md"),
        ("missing", "there is no knowledge `team/gone`"),
        ("refused", "longer than one mebibyte"),
        ("empty", "holds no text"),
        ("nothing_to_say", "has no content here"),
        ("not_run", "a hook of thread_started can only add knowledge"),
    ]
}

#[test]
fn every_reason_for_an_absence_is_told_with_its_values() {
    let home = Home::new();
    let reasons = with_every_absence(&home);
    let shown = json(&home, &["context", "show", "--json", "team/leaf"]);
    let decisions: Vec<&Value> = shown["layers"].as_array().unwrap().iter().map(|layer| &layer["decision"]).collect();
    for (reason, _) in reasons {
        assert!(decisions.iter().any(|decision| decision["reason"] == reason), "{reason}: {decisions:?}");
    }
    let condition = decisions.iter().find(|decision| decision["reason"] == "condition").unwrap();
    let saw = serde_json::json!({"path": "directive", "op": "contains", "wanted": "web", "value": "team/leaf", "holds": false});
    assert_eq!(condition["saw"], serde_json::json!([saw]));
    // On the screen: in the list, and in full in the whole text.
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo", "team/leaf"]).size(160, 45).start();
    terminal.wait_for("enter start");
    terminal.send_keys("go\x10");
    terminal.wait_for("hidden by project");
    terminal.send_keys("t");
    terminal.wait_for("┌ text · what Enter would send");
    terminal.send_keys("/left out: \r");
    // As many as there are; each is gone to.
    let absent = decisions.iter().filter(|decision| decision["is"] == "skipped").count();
    let mut told = String::new();
    for place in 1..=absent {
        terminal.wait_for(&format!("{place} of {absent}"));
        told.push_str(&terminal.screen_text());
        terminal.send_keys("n");
    }
    for (reason, words) in reasons {
        assert!(told.contains(words), "{reason}: {words}\n{told}");
    }
    terminal.send_keys("\x1b");
    terminal.wait_for("what Enter would send · scripted");
    terminal.send_keys("\x03\x03");
    terminal.wait_exit();
}

/// Two requests of a thread, on the screen: layers, words, the byte where a cache ends, and who owns it.
#[test]
fn requests_are_compared_on_the_screen() {
    let (home, server) = (Home::new(), ModelServer::start());
    knowledge(&home, "team/rules", "Be kind.");
    directive(&home, "team/ship", "", "<context><system>team/rules</system></context>", "Ship it.");
    let start = |arguments: &[&str]| {
        let launch = home.levain_in_terminal(arguments).size(160, 45).env("ANTHROPIC_BASE_URL", &server.base());
        launch.env("ANTHROPIC_API_KEY", KEY).start()
    };
    let terminal = start(&["--model", "anthropic/test", "team/ship"]);
    terminal.wait_for("enter start");
    terminal.send_keys("one\r");
    server.call().answer("yes");
    terminal.wait_for("yes");
    // What this worker has planned it sends again; a thread of its own begins with what is there now.
    knowledge(&home, "team/rules", "Be cruel.");
    terminal.send_keys("\x1bOS");
    terminal.wait_for("#1 · 1 of 1");
    terminal.send_keys("m");
    terminal.wait_for("marked: ship-");
    terminal.send_keys("q");
    terminal.wait_for("enter send");
    terminal.send_keys("\x1bn");
    terminal.wait_for("new thread");
    terminal.send_keys("one\x10");
    terminal.wait_for("preview · marked: ship-");
    terminal.send_keys("d");
    terminal.wait_for("Be [-kind.-]{+cruel.+}");
    terminal.wait_for("of system, in `team/rules`");
    terminal.send_keys("\x1b");
    terminal.wait_for("preview · marked: ship-");
    terminal.send_keys("\x03\x03");
    terminal.wait_exit();
    home.wait_until_quiet();
}

#[test]
fn a_directive_runs_without_a_word_and_its_record_shows_every_layer() {
    let home = Home::new();
    knowledge(&home, "team/rules", "Be kind.");
    let context = "<context><before>team/rules</before><suppress>levain/core/protocol/sign</suppress></context>";
    directive(&home, "team/ship", " extends=\"levain/core/base\"", context, "Ship it.");
    let run = json(&home, &["run", "--json", "--model", "scripted/demo", "--directive", "team/ship"]);
    assert_eq!(run["status"], "completed", "{run}");
    let thread = run["thread_id"].as_str().unwrap();
    let sent = json(&home, &["context", "show", "--json", "--thread", thread, "--turn", "1"]);
    let planned = json(&home, &["context", "show", "--json", "team/ship", "--model", "scripted/demo"]);
    assert_eq!((&sent["schema"], &planned["schema"]), (&"levain.context/1".into(), &"levain.context/1".into()));
    assert_eq!(layers(&sent), layers(&planned));
    assert_eq!((&sent["system"], &sent["messages"][0]), (&planned["system"], &planned["messages"][0]));
    let mut ids: Vec<String> = layers(&sent).into_iter().map(|(_, id)| id).collect();
    let tools = ids.split_off(10);
    assert!(
        tools.len() == 21 && tools.iter().all(|id| id.starts_with("rye/") || id.starts_with("levain/")),
        "{tools:?}"
    );
    let expected = [
        "levain/Constitution",
        "levain/core/Identity",
        "levain/core/Behavior",
        "ctx_environment",
        "ctx_directive_instruction",
        "levain/core/protocol/execute",
        "levain/core/protocol/fetch",
        "levain/core/protocol/sign",
        "team/rules",
        "team/ship",
    ];
    assert_eq!(ids, expected);
    let sign = &sent["layers"][7];
    assert_eq!((&sign["decision"]["reason"], &sign["decision"]["by"]), (&"suppressed".into(), &"team/ship".into()));
    let (_, out, _) = output(&mut home.levain(&["transcript", "--json", thread]));
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let payload = |name: &str| &events.iter().find(|event| event["event_type"] == name).unwrap()["payload"];
    assert_eq!(payload("system_prompt")["layers"], serde_json::json!(["levain/core/Identity", "levain/core/Behavior"]));
    let before: Vec<&str> =
        payload("context_injected")["before"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!(before, ["ctx_environment", "ctx_directive_instruction", expected[5], expected[6], "team/rules"]);
    assert_eq!(payload("cognition_in")["text"], "");
    home.wait_until_quiet();
}

#[test]
fn the_opening_stays_the_same_when_items_change() {
    let (home, server) = (Home::new(), ModelServer::start());
    knowledge(&home, "team/rules", "Be kind.");
    directive(&home, "team/ship", "", "<context><before>team/rules</before></context>", "Ship it.");
    let terminal = home
        .levain_in_terminal(&["--model", "anthropic/test", "team/ship"])
        .env("ANTHROPIC_BASE_URL", &server.base())
        .env("ANTHROPIC_API_KEY", KEY)
        .start();
    terminal.wait_for("team/ship");
    terminal.send_keys("one\r");
    let call = server.call();
    let first = call.body["messages"][0]["content"][0].clone();
    assert!(first["text"].as_str().unwrap().contains("Be kind."), "{first}");
    assert_eq!(call.messages(), [("user".into(), "one".into())]);
    call.answer("yes");
    terminal.wait_for("yes");
    knowledge(&home, "team/rules", "Be cruel.");
    terminal.send_keys("two\r");
    let call = server.call();
    assert_eq!(call.body["messages"][0]["content"][0]["text"], first["text"]);
    call.answer("again");
    terminal.wait_for("again");
    let (_, out, _) = output(&mut home.levain(&["threads", "--json"]));
    let thread: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let id = thread["thread_id"].as_str().unwrap();
    let diff = json(&home, &["context", "diff", "--json", &format!("{id}#1"), &format!("{id}#2")]);
    assert_eq!((&diff["schema"], &diff["leaves"]), (&"levain.context_diff/1".into(), &Value::Null), "{diff}");
    let (_, out, _) = output(&mut home.levain(&[
        "context",
        "diff",
        "--interactive",
        "--model",
        "anthropic/test",
        &format!("{id}#2"),
        "team/ship",
    ]));
    assert!(out.contains("Be [-kind.-]{+cruel.+}") && out.contains("in `team/rules`"), "{out}");
    terminal.send_keys("\x03\x03");
    terminal.wait_exit();
    home.wait_until_quiet();
}

#[test]
fn presence_and_absence_are_explained() {
    let home = Home::new();
    knowledge(&home, "team/rules", "Be kind.");
    knowledge(&home, "team/unused", "Nobody asks.");
    let hooks = "hooks:\n- {id: for_web, event: thread_started, condition: {path: directive, op: contains, value: web}, \
                 action: {primary: fetch, item_id: team/rules}}\n";
    write(&home, ".ai/config/agent/hooks.yaml", hooks);
    directive(&home, "team/ship", " extends=\"levain/core/base\"", "", "Ship it.");
    let explain = |item: &str| output(&mut home.levain(&["context", "explain", item, "--directive", "team/ship"])).1;
    assert!(explain("levain/core/Identity").contains("is in the context of team/ship"));
    for name in ["team/rules", "for_web"] {
        assert!(explain(name).contains("directive contains \"web\" (actual \"team/ship\")"), "{}", explain(name));
    }
    assert!(explain("team/unused").contains("nothing adds it"));
    assert!(explain("team/nowhere").contains("there is no knowledge `team/nowhere`"));
    assert!(explain("levain/core/base_review").contains("does not extend it"));
    let explained = json(&home, &["context", "explain", "team/rules", "--directive", "team/ship", "--json"]);
    assert_eq!((&explained["schema"], &explained["included"]), (&"levain.explanation/1".into(), &false.into()));
    assert_eq!(explained["layers"][0]["decision"]["saw"][0]["value"], "team/ship");
}

#[test]
fn lint_ends_with_a_code() {
    let home = Home::new();
    directive(&home, "team/ship", "", "", "Ship it.");
    let (code, out, _) = output(&mut home.levain(&["context", "lint"]));
    assert_eq!((code, out.as_str()), (0, "1 directive: 0 errors, 0 warnings\n"));
    knowledge(&home, "team/secret", "password: hunter2hunter2hunter2");
    knowledge(&home, "team/same", "The same words in two places.");
    knowledge(&home, "team/other", "The same words in two places.");
    knowledge(&home, "team/which", "This is ${thread_id} with ${nobody.knows}.");
    let hooks = "hooks:\n- {id: which, event: build_system_prompt, action: {primary: fetch, item_id: team/which}}\n";
    write(&home, ".ai/config/agent/hooks.yaml", hooks);
    let context = "<context><system>team/secret</system><before>team/same</before><after>team/other</after><suppress>team/none</suppress>\
                   <before optional=\"true\">team/gone</before></context>";
    directive(&home, "team/ship", "", context, "Ship it.");
    let (code, out, _) = output(&mut home.levain(&["context", "lint", "--json", "team/ship"]));
    let mut rules: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["rule"].as_str().unwrap().to_owned())
        .collect();
    rules.sort();
    assert_eq!(code, 1);
    assert_eq!(rules, ["duplicate", "missing", "placeholder", "problem", "secret", "unstable"], "{out}");
}

#[test]
fn a_directive_that_wants_to_be_told_something_is_linted_with_something() {
    let home = Home::new();
    let inputs = "<inputs><input name=\"target\" required=\"true\"/><input name=\"n\" type=\"integer\" required=\"true\"/></inputs>";
    let text = format!("```xml\n<directive name=\"ship\" version=\"1.0.0\"><metadata/>{inputs}</directive>\n```\n");
    write(&home, ".ai/directives/team/ship.md", &format!("{text}Ship {{input:n}} to {{input:target}}.\n"));
    let (code, out, _) = output(&mut home.levain(&["context", "lint"]));
    assert_eq!((code, out.as_str()), (0, "1 directive: 0 errors, 0 warnings\n"));
    write(&home, ".ai/directives/team/ship.md", &format!("{text}Ship {{input:where}} to {{input:target}}.\n"));
    let (code, out, _) = output(&mut home.levain(&["context", "lint"]));
    assert!(code == 1 && out.contains("`{input:where}`"), "{out}");
}

#[test]
fn hooks_answer_for_any_event() {
    let home = Home::new();
    let asked = ["context", "hooks", "--event", "error", "--field", "classification.retryable=true"];
    let (code, out, _) = output(&mut home.levain(&asked));
    assert!(code == 0 && out.ends_with("answer: retry, from default_retry_transient\n"), "{out}");
    let (code, _, err) = output(&mut home.levain(&["context", "hooks", "--event", "eror"]));
    assert!(code == 2 && err.contains("there is no event `eror`"), "{err}");
}

#[test]
fn the_palette_tells_what_it_left_out() {
    let home = Home::new();
    let grants = "<permissions><execute><tool>*</tool><tool>rye/bash</tool></execute></permissions>";
    directive(&home, "team/ship", "", grants, "Ship it.");
    write(&home, ".ai/tools/team/deploy.py", "__tool_type__ = 'python'\nCONFIG_SCHEMA = {'type': 'object'}\n");
    write(&home, ".ai/tools/team/bare.py", "__tool_type__ = 'python'\n");
    write(&home, ".ai/tools/team/broken.py", "__tool_type__ = 'python'\ndef x(:\n");
    write(&home, ".ai/tools/team/part.py", "def helper(): pass\n");
    write(&home, ".ai/tools/rye/web/fetch/fetch.sh", "# description: mine\n# config_schema: {}\n");
    let shown = |extra: &str| {
        write(&home, ".ai/config/agent/resilience.yaml", extra);
        json(&home, &["context", "show", "team/ship", "--json", "--model", "scripted/demo"])
    };
    let reasons = |shown: &Value| -> std::collections::BTreeMap<String, String> {
        let tools = shown["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] == "tool_schema");
        let reason = |layer: &Value| match layer["decision"]["is"].as_str() {
            Some("included") => "told".to_owned(),
            _ => layer["decision"].to_string(),
        };
        tools.map(|layer| (layer["id"].as_str().unwrap().to_owned(), reason(layer))).collect()
    };
    let all = reasons(&shown(""));
    assert_eq!(all["rye/bash"], "told");
    assert!(all["team/deploy"].contains("you have not trusted this project"), "{all:?}");
    assert!(all["team/bare"].contains("declares no parameters"), "{all:?}");
    assert!(all["team/broken"].contains("is not valid Python"), "{all:?}");
    assert!(
        all["rye/web/fetch/fetch"].contains("you have not trusted this project") && !all.contains_key("team/part"),
        "{all:?}"
    );
    let tight = shown("tool_preload:\n  max_tokens: 180\n");
    let left = reasons(&tight);
    assert_eq!(left["rye/bash"], "told", "what is granted by name comes first: {left:?}");
    assert!(left["rye/file-system/edit_lines"].contains("\"budget\":180"), "{left:?}");
    let tree: Vec<&str> =
        tight["capability_tree"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(tree.contains(&"rye.execute.tool.rye.bash"), "{tree:?}");
    assert!(tree.iter().any(|line| line.trim() == "edit_lines (not offered)"), "{tree:?}");
    let (_, text, _) = output(&mut home.levain(&["context", "show", "team/ship", "--model", "scripted/demo"]));
    assert!(text.contains("of 180 for tools were left") && text.contains("may rye.execute.tool.*"), "{text}");
    let off = reasons(&shown("tool_preload:\n  enabled: false\n"));
    assert!(off["rye/bash"].contains("resilience.yaml:2"), "{off:?}");
    // The thread still runs.
    let run = json(&home, &["run", "--json", "--model", "scripted/demo", "--directive", "team/ship"]);
    assert_eq!(run["status"], "completed", "{run}");
    let sent = json(&home, &["context", "show", "--json", "--thread", run["thread_id"].as_str().unwrap()]);
    assert_eq!(reasons(&sent), off);
    let explain =
        output(&mut home.levain(&["context", "explain", "rye/bash", "--directive", "levain/core/base_review"])).1;
    assert!(explain.contains("grants rye.execute.tool.rye.bash"), "{explain}");
    home.wait_until_quiet();
}

/// What one thread remembers the next one is told; who a thread has become it still is when it goes on.
#[test]
fn memory_and_persona_last() {
    let home = Home::new();
    let metadata = "<permissions><execute><tool>levain/*</tool></execute></permissions>\
                    <context><provider>memory</provider><provider>persona</provider></context>";
    directive(&home, "team/play", "", metadata, "Play.");
    output(&mut home.levain(&["trust"]));
    let state = |shown: &Value| -> Vec<String> {
        let layers = shown["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] == "context_state");
        layers.map(|layer| layer["text"].as_str().unwrap().to_owned()).collect()
    };
    let run = |prompt: &str| {
        let run = json(&home, &["run", "--json", "--model", "scripted/tools", "--directive", "team/play", prompt]);
        assert_eq!(run["status"], "completed", "{run}");
        json(&home, &["context", "show", "--json", "--thread", run["thread_id"].as_str().unwrap()])
    };
    assert_eq!(state(&run("remember this"))[0], "Remembered in this project (1):\n- [1] The script was here.");
    let played = run("a persona please");
    assert_eq!(state(&played)[1], "You are cook. Speaks of soup.");
    let id = played["request"].as_str().unwrap().split('#').next().unwrap().to_owned();
    let (_, events, _) = output(&mut home.levain(&["transcript", &id]));
    assert!(events.contains("persona is now cook"), "{events}");
    home.wait_until_quiet();
}

/// A command of a project runs once the person trusts it, and what it could see is told.
#[test]
fn a_command_of_a_provider_runs_in_a_trusted_project() {
    let home = Home::new();
    let provider = "name: load\nentry_type: context_provider\ncommand: [sh, -c, 'echo low; env']\n";
    write(&home, ".ai/knowledge/team/load.yaml", provider);
    directive(&home, "team/ship", "", "<context><provider>team/load</provider></context>", "Ship it.");
    let state = || {
        let mut command = home.levain(&["context", "show", "team/ship", "--json", "--model", "scripted/demo"]);
        let (_, out, _) = output(command.env("ANTHROPIC_API_KEY", KEY));
        let shown: Value = serde_json::from_str(&out).unwrap();
        let layers = shown["layers"].as_array().unwrap().clone();
        layers.into_iter().find(|layer| layer["kind"] == "context_state").unwrap()
    };
    let before = state();
    assert!(before["decision"]["message"].as_str().unwrap().contains("not trusted this project"), "{before}");
    let (code, _, err) = output(&mut home.levain(&["trust"]));
    assert_eq!(code, 0, "{err}");
    let after = state();
    let text = after["text"].as_str().unwrap();
    assert!(text.starts_with("team/load:\nlow\n") && !text.contains(KEY), "{after}");
    write(&home, ".ai/knowledge/team/load.yaml", &provider.replace("low", "high"));
    assert!(state()["decision"]["message"].as_str().unwrap().contains("not trusted"), "a changed command ran");
    write(&home, ".ai/knowledge/team/load.yaml", "name: load\ncommand: ['false']\noptional: false\n");
    output(&mut home.levain(&["trust"]));
    let (code, out, _) =
        output(&mut home.levain(&["run", "--json", "--model", "scripted/demo", "--directive", "team/ship"]));
    assert!(code == 1 && out.contains("is required, but `false` ended with 1"), "{code} {out}");
    home.wait_until_quiet();
}

/// Whoever opens a project they never trusted runs none of its commands, however those are written down.
#[test]
fn no_way_of_writing_a_command_runs_it_unasked() {
    let ways: [(&str, &str, &str); 4] = [
        ("a block in markdown", "knowledge/team/load.md", "```yaml\nname: load\ncommand: [touch, ran]\n```\nLoad.\n"),
        ("front matter", "knowledge/team/load.md", "---\nname: load\ncommand: [touch, ran]\n---\nLoad.\n"),
        ("other letters", "knowledge/team/load.yaml", "name: load\n\"comm\\x61nd\": [touch, ran]\n"),
        ("a linked folder", "stuff/team/load.yaml", "name: load\ncommand: [touch, ran]\n"),
    ];
    for (way, path, text) in ways {
        let home = Home::new();
        write(&home, &format!(".ai/{path}"), text);
        if path.starts_with("stuff") {
            std::os::unix::fs::symlink("stuff", home.project().join(".ai/knowledge")).unwrap();
        }
        directive(&home, "team/ship", "", "<context><provider>team/load</provider></context>", "Ship it.");
        let ran = || home.project().join("ran").exists();
        let model = ["--model", "scripted/demo"];
        let told = |arguments: &[&str]| output(&mut home.levain(&[arguments, &model].concat()));
        let (code, out, err) = told(&["context", "show", "team/ship"]);
        assert!(code == 0 && out.contains("not trusted") && !ran(), "{way}: {out}{err}");
        let (code, out, err) = told(&["run", "--directive", "team/ship"]);
        assert!(code == 0 && !ran(), "{way}: {out}{err}");
        let (_, out, _) = output(&mut home.levain(&["trust", "--show", "--json"]));
        assert!(out.contains("\"untrusted\"") && out.contains("team/load"), "{way}: {out}");
        output(&mut home.levain(&["trust"]));
        // Looking at a directive's build runs nothing even then.
        output(&mut home.levain(&["context", "lint", "team/ship"]));
        let (_, out, _) = output(&mut home.levain(&["context", "explain", "team/load", "--directive", "team/ship"]));
        assert!(out.contains("team/load") && !ran(), "{way}: {out}");
        let (_, out, _) = told(&["context", "show", "team/ship"]);
        assert!(ran(), "{way}: it is trusted and did not run: {out}");
        home.wait_until_quiet();
    }
}

/// Writing runs nothing even in a trusted project; looking at what Enter would send does, and tells what must answer.
#[test]
fn who_only_writes_runs_no_command() {
    let home = Home::new();
    write(
        &home,
        ".ai/knowledge/team/load.yaml",
        "name: load\ncommand: [sh, -c, 'touch ran; exit 3']\noptional: false\n",
    );
    directive(&home, "team/ship", "", "<context><provider>team/load</provider></context>", "Ship it.");
    output(&mut home.levain(&["trust"]));
    let ran = || home.project().join("ran").exists();
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo", "team/ship"]).start();
    terminal.wait_for("enter start");
    terminal.send_keys("go");
    terminal.wait_for("request ~");
    assert!(!ran(), "it ran while somebody wrote");
    terminal.send_keys("\u{10}");
    terminal.wait_for("is required, but");
    assert!(ran() && !terminal.screen_text().contains("what Enter would send"));
    terminal.send_keys("\u{3}\u{3}");
    terminal.wait_exit().assert_restored();
}

/// Whoever waits for what a context wants to know can be stopped meanwhile.
#[test]
fn a_turn_can_be_stopped_while_a_command_of_its_context_is_asked() {
    let home = Home::new();
    let provider = "name: slow\nentry_type: context_provider\ncommand: [sleep, '14']\ntimeout_seconds: 14\n";
    write(&home, ".ai/knowledge/team/slow.yaml", provider);
    directive(&home, "team/ship", "", "<context><provider>team/slow</provider></context>", "Ship it.");
    let (code, _, err) = output(&mut home.levain(&["trust"]));
    assert_eq!(code, 0, "{err}");
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo", "team/ship"]).size(120, 40).start();
    terminal.wait_for("enter start");
    terminal.send_keys("go");
    terminal.wait_for("› go");
    terminal.send_keys("\r");
    let threads = home.project().join(".ai/agent/threads");
    poll("the prompt is taken", || {
        let mut logs = fs::read_dir(&threads).into_iter().flatten().flatten();
        logs.any(|log| {
            let text = fs::read_to_string(log.path().join("transcript.jsonl"));
            text.is_ok_and(|text| text.contains("context_injected"))
        })
    });
    terminal.wait_for("esc stop");
    terminal.send_keys("\x1b[27u");
    terminal
        .wait_within(Duration::from_secs(7), "the turn is stopped", |screen| screen.contents().contains("· stopped"));
    terminal.send_keys("\x03\x03");
    terminal.wait_exit();
    home.wait_until_quiet();
}

/// The requests of this repository's own cases are as they were, whoever runs this.
#[test]
fn the_projects_own_cases_are_as_they_were() {
    let home = Home::new();
    let mut command = home.levain(&["context", "test", "--project", env!("CARGO_MANIFEST_DIR")]);
    let (code, out, err) = output(&mut command);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_case_tells_who_changed_its_request() {
    let home = Home::new();
    knowledge(&home, "team/rules", "Be kind to all.");
    let grants = "<permissions><execute><tool>rye/bash</tool></execute></permissions>";
    let context = "<context><system>team/rules</system><provider>time</provider><provider>memory</provider></context>";
    directive(&home, "team/ship", "", &format!("{grants}{context}"), "Ship {input:target}.");
    write(
        &home,
        ".ai/context-tests/ship.yaml",
        "directive: team/ship\ninputs: {target: moon}\nmemory: [Wear a helmet]\n",
    );
    let test = |arguments: &[&str]| {
        let (code, out, _) = output(&mut home.levain(&[&["context", "test"], arguments].concat()));
        (code, out)
    };
    assert!(matches!(test(&[]), (1, out) if out.contains("new      ship")));
    assert_eq!(test(&["--update"]).0, 0);
    let snapshot = fs::read_to_string(home.project().join(".ai/context-tests/ship.snapshot.json")).unwrap();
    assert!(snapshot.contains("Wear a helmet") && !snapshot.contains(home.project().to_str().unwrap()), "{snapshot}");
    assert_eq!(test(&[]), (0, "same     ship\n1 case, 0 not as before\n".to_owned()));
    // What is the person's own changes nothing.
    let theirs = home.home().join(".ai/config/agent/hooks.yaml");
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    fs::write(theirs, "hooks:\n- {event: thread_started, action: {primary: fetch, item_id: team/rules}}\n").unwrap();
    assert_eq!(test(&[]).0, 0);
    knowledge(&home, "team/rules", "Be kind to some.");
    let (code, out) = test(&[]);
    assert!(code == 1 && out.contains("[-all.-]{+some.+}"), "{out}");
    assert!(out.contains("by project .ai/knowledge/team/rules.md:5, by team/ship, line 5"), "{out}");
    directive(&home, "team/ship", "", context, "Ship {input:target}.");
    let (_, out) = test(&["ship", "--json"]);
    let line: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&line["schema"], &line["status"]), (&"levain.context_test/1".into(), &"changed".into()));
    let changes: Vec<&str> =
        line["layers"].as_array().unwrap().iter().map(|change| change["change"].as_str().unwrap()).collect();
    assert!(changes.contains(&"words") && changes.contains(&"removed"), "{line}");
    write(&home, ".ai/context-tests/ship.yaml", "directive: team/shop\n");
    assert!(
        matches!(test(&[]), (1, out) if out.contains("failed   ship") && out.contains("did you mean `team/ship`?"))
    );
    assert_eq!(test(&["nobody"]).0, 2);
}

#[test]
fn tokens_are_counted_on_demand_and_estimates_measured() {
    let (home, server) = (Home::new(), ModelServer::start());
    directive(&home, "team/ship", " extends=\"levain/core/base\"", "", "Ship it.");
    let show = |extra: &[&str]| {
        let mut command =
            home.levain(&[&["context", "show", "team/ship", "--model", "anthropic/claude-sonnet-4-5"], extra].concat());
        command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY);
        output(&mut command)
    };
    let (_, before, _) = show(&[]);
    let first = before.lines().next().unwrap();
    assert!(first.contains("(estimated)") && first.contains(" %") && first.contains("to send"), "{first}");
    let (code, counted, err) = show(&["--count"]);
    let first = counted.lines().next().unwrap_or_default();
    assert!(
        code == 0 && first.contains("4321 tokens of") && first.contains("counted by the provider"),
        "{first} {err}"
    );
    let json: Value = serde_json::from_str(&show(&["--count", "--json"]).1).unwrap();
    assert_eq!((&json["counted"], &json["spend"]), (&4321.into(), &12963.into()));
    // A request that was reported measures the estimates of the next.
    let mut run = home.levain(&["run", "--model", "anthropic/claude-haiku-4-5", "--directive", "team/ship"]);
    run.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY);
    let mut running = run.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let call = server.call();
    call.begin();
    call.text("Done.");
    call.end();
    assert!(running.wait().unwrap().success());
    let (_, after, _) = show(&[]);
    assert!(after.lines().next().unwrap().contains("± 1 % by what was reported for 1 earlier request)"), "{after}");
    let json: Value = serde_json::from_str(&show(&["--json"]).1).unwrap();
    assert_eq!(json["gauge"]["requests"], 1, "{}", json["gauge"]);
    let (code, _, err) =
        output(&mut home.levain(&["context", "show", "team/ship", "--model", "scripted/demo", "--count"]));
    assert!(code == 2 && err.contains("no way to count"), "{err}");
    // What nobody called is told after the turns that are asked for.
    let threads = json_lines(&home, &["threads", "--json"]);
    let id = threads[0]["thread_id"].as_str().unwrap().to_owned();
    let (code, out, _) = output(&mut home.levain(&["context", "lint", "--thread", &id, "--turns", "1"]));
    assert!(code == 0 && out.contains("rye/bash: was offered in 1 turns and never called"), "{out}");
    let (_, out, _) = output(&mut home.levain(&["context", "lint", "--thread", &id]));
    assert!(out.starts_with("1 thread: 0 errors, 0 warnings"), "{out}");
    home.wait_until_quiet();
}

/// In the `OpenAI` form the system text is a message of its own.
#[test]
fn system_text_is_a_system_message_for_openai() {
    let home = Home::new();
    directive(&home, "team/ship", " extends=\"levain/core/base\"", "", "Ship it.");
    for form in ["openai", "compatible"] {
        let shown = json(&home, &["context", "show", "team/ship", "--model", "scripted/demo", "--wire", form]);
        assert_eq!(shown["messages"][0]["role"], "system", "{form}");
        assert!(shown.get("system").is_none());
    }
}

/// What a program used while it ran: its time, and the most memory in kB where the system tells.
fn measured(mut command: Command) -> (i32, String, String, Duration, u64) {
    let (out, err) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let code = loop {
        let told = fs::read_to_string(&status).unwrap_or_default();
        let peak = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        most = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(most).max(most);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().unwrap_or(-1);
        }
        std::thread::yield_now();
    };
    let text = |file: &tempfile::NamedTempFile| fs::read_to_string(file.path()).unwrap();
    (code, text(&out), text(&err), start.elapsed(), most)
}

/// Whatever is written in items, it is told in words within a second (five where nothing is optimised and the machine is
/// busy) and 100 MB.
#[test]
fn hostile_texts_are_told_soon_and_in_little_memory() {
    let home = Home::new();
    let told = |arguments: &[&str], words: &str| {
        let (code, out, err, time, memory) = measured(home.levain(arguments));
        assert!(out.contains(words) || err.contains(words), "{arguments:?} {words}: {code} {out} {err}");
        assert!(time < Duration::from_secs(5) && memory < 100_000, "{arguments:?}: {time:?}, {memory} kB");
        code
    };
    let check = |path: &str, text: &str, words: &str| {
        write(&home, path, text);
        told(&["check"], words);
        fs::remove_file(home.project().join(path)).unwrap();
    };
    let entity = |n: usize| format!("<!ENTITY a{n} \"{}\">", format!("&a{};", n - 1).repeat(10));
    let entities = (1..10).map(entity).collect::<Vec<_>>().concat();
    let xml = format!(
        "```xml\n<!DOCTYPE d [<!ENTITY a0 \"ha\">{entities}]>\n<directive name=\"xml\"><metadata><description>&a9;</description></metadata></directive>\n```\nx\n"
    );
    // Entities are not known here, so none grows.
    write(&home, ".ai/directives/xml.md", &xml);
    assert_eq!(told(&["context", "show", "xml", "--text"], "<description>&a9;</description>"), 0);
    let nested = format!("```xml\n<directive name=\"nest\">{}\n```\nx\n", "<a>".repeat(100_000));
    check(".ai/directives/nest.md", &nested, "nest.md");
    let alias = |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(","));
    let bomb = (1..12).map(alias).collect::<Vec<_>>().concat();
    let yaml = format!("```yaml\nname: bomb\na0: &a0 [x]\n{bomb}```\nx\n");
    check(".ai/knowledge/bomb.md", &yaml, "bomb.md");
    let deep = format!("```yaml\nname: {}\n```\nx\n", "[".repeat(100_000));
    check(".ai/knowledge/deep.md", &deep, "nested too deeply");
    check(".ai/directives/front.md", &format!("---\nname: {}\n---\nx\n", "[".repeat(100_000)), "nested too deeply");
    check(".ai/config/agent/resilience.yaml", &format!("retry: {}\n", "[".repeat(100_000)), "resilience.yaml");
    check(".ai/tools/deep.ts", &format!("export const CONFIG_SCHEMA = {}", "{a:".repeat(100_000)), "deep.ts");
    check(".ai/tools/wide.js", &"x".repeat((1 << 20) + 1), "wide.js");
    let regex = "hooks:\n- {id: r, event: thread_started, condition: {path: directive_body, op: regex, value: \"^(a+)+$\"}, \
                 action: {primary: fetch, item_id: levain/core/Identity}}\n";
    write(&home, ".ai/config/agent/hooks.yaml", regex);
    directive(&home, "plain", "", "", &format!("{}b", "a".repeat(100_000)));
    assert_eq!(told(&["context", "show", "plain"], "regex"), 0);
    write(&home, ".ai/config/agent/hooks.yaml", &regex.replace("^(a+)+$", "(a{1000}){1000}{1000}"));
    assert_eq!(told(&["context", "show", "plain"], "the condition is not valid"), 2);
    fs::remove_file(home.project().join(".ai/config/agent/hooks.yaml")).unwrap();
    for id in ["../../etc/passwd", "/etc/passwd", "a/../../b", "a\\..\\b", "team/./x"] {
        directive(&home, "trick", "", &format!("<context><provider>{id}</provider></context>"), "x");
        let (_, out, ..) = measured(home.levain(&["context", "show", "trick", "--json"]));
        assert!(!out.contains("root:"), "{id} {out}");
        assert_eq!(told(&["check"], "trick.md"), 1, "{id}");
    }
}

/// Hostile items are refused in words, and soon.
#[test]
fn hostile_items_are_refused_in_words() {
    let home = Home::new();
    let refused = |id: &str, words: &str| {
        let start = Instant::now();
        let (code, _, err) = output(&mut home.levain(&["context", "show", id]));
        assert!(code == 2 && err.contains(words), "{words}: {code} {err}");
        assert!(start.elapsed() < Duration::from_secs(5), "{words}: {:?}", start.elapsed());
    };
    for number in 0..80 {
        directive(&home, &format!("c{number}"), &format!(" extends=\"c{}\"", number + 1), "", "x");
    }
    refused("c0", "longer than 64");
    directive(&home, "round", " extends=\"round\"", "", "x");
    refused("round", "round → round");
    directive(&home, "escape", "", "<context><system>../../etc/passwd</system></context>", "x");
    refused("escape", "`../../etc/passwd` cannot be an id");
    knowledge(&home, "big", &"x".repeat(1 << 20));
    directive(&home, "large", "", "<context><system>big</system></context>", "x");
    refused("large", "longer than one mebibyte");
    let deep = format!(
        "<hooks><hook id=\"deep\" event=\"thread_started\"><condition>{}<condition path=\"a\"/>{}</condition><action primary=\"fetch\" item_id=\"levain/core/Identity\"/></hook></hooks>",
        "<not>".repeat(5_000),
        "</not>".repeat(5_000)
    );
    directive(&home, "deep", "", &deep, "x");
    refused("deep", "elements deep");
    let bomb = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n\
                e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nhooks: [*g,*g,*g,*g]\n";
    write(&home, ".ai/config/agent/hooks.yaml", bomb);
    directive(&home, "plain", "", "", "x");
    let start = Instant::now();
    let (_, _, err) = output(&mut home.levain(&["context", "show", "plain"]));
    assert!(err.contains("hooks.yaml") && start.elapsed() < Duration::from_secs(5), "{err} {:?}", start.elapsed());
    let line = "- {event: error, action: {primary: fetch, item_id: a}}\n";
    write(&home, ".ai/config/agent/hooks.yaml", &format!("hooks:\n{}", line.repeat(2_001)));
    refused("plain", "more than 2000");
    let (code, out, _) = output(&mut home.levain(&["check"]));
    assert!(code == 1 && out.contains("hooks, more than 2000"), "{out}");
}

const BRING: &str = "action: {primary: fetch, item_type: knowledge, item_id: team/rules}";

/// What `levain context explain` says of something in the context of `team/ship`.
fn explained(home: &Home, name: &str, arguments: &[&str]) -> (String, Value) {
    let asked = [&["context", "explain", name, "--directive", "team/ship"], arguments].concat();
    let (code, out, err) = output(&mut home.levain(&asked));
    assert_eq!(code, 0, "{err}");
    (out, json(home, &[&asked[..], &["--json"]].concat()))
}

#[test]
fn s06_hooks_that_brought_nothing_are_explained() {
    let home = Home::new();
    knowledge(&home, "team/rules", "Be kind.");
    directive(&home, "team/one", "", "", "One.");
    directive(&home, "team/two", "", "", "Two.");
    let own = "<hooks><hook id=\"own\" event=\"thread_started\" enabled=\"false\"><action primary=\"fetch\" item_id=\"team/rules\"/></hook></hooks>";
    directive(&home, "team/ship", "", own, "Ship it.");
    let hooks = format!(
        "hooks:\n- {{id: off, event: thread_started, enabled: false, {BRING}}}\n- {{id: later, event: thread_continued, {BRING}}}\n\
         - {{id: no, event: resolve_extends, condition: {{path: directive, op: contains, value: cook}}, action: {{set_extends: team/two}}}}\n\
         - {{id: first, event: resolve_extends, action: {{set_extends: team/one}}}}\n\
         - {{id: second, event: resolve_extends, action: {{set_extends: team/two}}}}\n"
    );
    write(&home, ".ai/config/agent/hooks.yaml", &hooks);
    for (name, expected, line) in [
        ("off", "is switched off (enabled: false)", 2),
        ("later", "is asked at thread_continued, but this thread continues no other (--continues ID)", 3),
        ("no", "condition false: directive contains \"cook\" (actual \"team/ship\")", 4),
        ("first", "chose `team/one` to extend", 5),
        ("second", "not reached: the hook first chose first", 6),
        ("default_retry_transient", "is asked at error and adds no layer", 0),
    ] {
        let (out, told) = explained(&home, name, &[]);
        assert!(out.contains(&format!("· hook {name} (")) && out.contains(expected), "{name}: {out}");
        let hook = &told["hooks"][0];
        assert_eq!((&hook["id"], &told["absent"]), (&name.into(), &Value::Null), "{told}");
        assert!(line == 0 || hook["line"] == line, "{told}");
    }
    let (out, _) = explained(&home, "own", &[]);
    assert!(out.contains("· hook own (thread_started") && out.contains("is switched off"), "{out}");
    // What nobody brought names those that would have.
    let (out, told) = explained(&home, "team/rules", &[]);
    assert!(out.contains("team/rules is not in the context") && told["hooks"].as_array().unwrap().len() == 3, "{out}");
    // A thread that goes on from another asks the other hooks, and their layers say the rest.
    let (out, told) = explained(&home, "later", &["--continues", "ship-1"]);
    assert!(out.contains("later is in the context") && told["hooks"] == Value::Array(Vec::new()), "{out}");
}

#[test]
fn s06_the_hook_that_routed_is_named_and_a_second_match_is_not_reached() {
    let home = Home::new();
    directive(&home, "team/one", "", "", "One.");
    directive(&home, "team/ship", "", "", "Ship it.");
    let choose =
        |id: &str, target: &str| format!("- {{id: {id}, event: resolve_extends, action: {{set_extends: {target}}}}}\n");
    let hooks = |lines: &[String]| write(&home, ".ai/config/agent/hooks.yaml", &format!("hooks:\n{}", lines.concat()));
    // Two of one id: the place tells which.
    hooks(&[choose("same", "team/one"), choose("same", "team/two")]);
    let lines = json_lines(&home, &["context", "hooks", "team/ship", "--event", "resolve_extends", "--json"]);
    let told: Vec<_> = lines.iter().map(|line| (&line["line"], &line["decides"], &line["note"])).collect();
    let note = Value::from("not reached: the hook same chose first");
    assert_eq!(told, [(&2.into(), &true.into(), &Value::Null), (&3.into(), &false.into(), &note)]);
    let (_, out, _) = output(&mut home.levain(&["context", "hooks", "team/ship"]));
    assert!(out.contains("→ resolve_extends") && out.contains("not reached"), "{out}");
    // What it chose is its fault, not the directive's.
    let refused = |expected: &str| {
        let (code, _, err) = output(&mut home.levain(&["context", "show", "team/ship"]));
        assert!(code != 0 && err.contains(expected) && err.contains("hooks.yaml:2"), "{err}");
        assert!(!err.contains("ship.md"), "{err}");
    };
    hooks(&[choose("lost", "team/gone")]);
    refused("the hook `lost` chose `team/gone` for `team/ship` to extend, but there is no directive `team/gone`");
    directive(&home, "team/round", " extends=\"team/ship\"", "", "Round.");
    hooks(&[choose("round", "team/round")]);
    refused("the hook `round` chose `team/round` for `team/ship` to extend, but that leads back to it by team/round");
}

#[test]
fn s06_a_shown_thread_has_an_id_like_a_started_one() {
    let home = Home::new();
    knowledge(&home, "team/who", "I am ${thread_id}, from ${parent_thread_id}.");
    let hook = "hooks:\n- {id: who, event: thread_started, wrap: false, action: {primary: fetch, item_id: team/who}}\n";
    write(&home, ".ai/config/agent/hooks.yaml", hook);
    directive(&home, "team/ship", "", "", "Ship it.");
    let said = |shown: &Value| {
        let layer = shown["layers"].as_array().unwrap().iter().find(|layer| layer["id"] == "who").unwrap();
        layer["text"].as_str().unwrap().to_owned()
    };
    let shown = said(&json(&home, &["context", "show", "team/ship", "--json", "--model", "scripted/demo"]));
    let run = json(&home, &["run", "--json", "--model", "scripted/demo", "--directive", "team/ship"]);
    let id = run["thread_id"].as_str().unwrap();
    let sent = said(&json(&home, &["context", "show", "--json", "--thread", id]));
    assert_eq!(sent, format!("I am {id}, from none."));
    let digits = |text: &str| text.replace(|letter: char| letter.is_ascii_digit(), "0");
    assert_eq!(digits(&shown), digits(&sent));
    home.wait_until_quiet();
}

#[test]
fn s06_a_secret_in_what_a_thread_sent_is_found() {
    let home = Home::new();
    knowledge(&home, "team/rules", &format!("The key is sk-{}.", "a1".repeat(12)));
    directive(&home, "team/ship", "", "<context><system>team/rules</system></context>", "Ship it.");
    let run = |directive: &str, prompt: &str| {
        let run = json(&home, &["run", "--json", "--model", "scripted/demo", "--directive", directive, prompt]);
        let id = run["thread_id"].as_str().unwrap().to_owned();
        output(&mut home.levain(&["context", "lint", "--thread", &id]))
    };
    let (code, out, _) = run("team/ship", "hello");
    assert!(
        code == 1 && out.contains("team/rules: holds something that looks like a key") && out.contains("[secret]"),
        "{out}"
    );
    let (code, out, _) = run("levain/chat", "password: hunter2hunter2");
    assert!(code == 1 && out.contains("[secret]"), "{out}");
    assert_eq!(run("levain/chat", "hello").0, 0);
    home.wait_until_quiet();
}

#[test]
fn s06_a_tool_that_cannot_run_shows_what_it_would_take() {
    let home = Home::new();
    let grants = "<permissions><execute><tool>team/*</tool></execute></permissions>";
    directive(&home, "team/ship", "", grants, "Ship it.");
    let schema = "{'type': 'object', 'properties': {'target': {'type': 'string'}}}";
    let tool =
        format!("__tool_type__ = 'python'\n__tool_description__ = 'Deploys to a target'\nCONFIG_SCHEMA = {schema}\n");
    write(&home, ".ai/tools/team/deploy.py", &tool);
    let arguments = ["context", "show", "team/ship", "--model", "scripted/demo"];
    let shown = json(&home, &[&arguments[..], &["--json"]].concat());
    let layer = shown["layers"].as_array().unwrap().iter().find(|layer| layer["id"] == "team/deploy").unwrap();
    let text = layer["text"].as_str().unwrap();
    assert!(text.contains("Deploys to a target") && text.contains("\"target\""), "{layer}");
    assert!(layer["tokens"]["count"].as_u64().unwrap() > 10 && layer["decision"]["is"] == "skipped", "{layer}");
    let (_, out, _) = output(&mut home.levain(&arguments));
    let size = format!(
        "(~{})  tool          team/deploy  left out: you have not trusted this project",
        layer["tokens"]["count"]
    );
    assert!(out.contains(&size), "{out}");
    let wire = output(&mut home.levain(&[&arguments[..], &["--wire", "anthropic"]].concat())).1;
    assert!(!wire.contains("Deploys to a target"), "{wire}");
}

#[test]
fn s06_text_of_a_yaml_file_is_brought_along() {
    let home = Home::new();
    write(&home, ".ai/knowledge/team/rules.yaml", "name: rules\nbody: |\n  Be kind.\n  Be brief.\n");
    directive(&home, "team/ship", "", "<context><system>team/rules</system></context>", "Ship it.");
    let shown = json(&home, &["context", "show", "team/ship", "--json"]);
    let layer = shown["layers"].as_array().unwrap().iter().find(|layer| layer["id"] == "team/rules").unwrap();
    assert_eq!(
        (&layer["text"], &layer["origin"]["lines"]),
        (&"Be kind.\nBe brief.".into(), &serde_json::json!([3, 4]))
    );
}

#[test]
fn the_time_is_that_of_where_the_person_is() {
    let home = Home::new();
    directive(&home, "timed", "", "<context><provider>time</provider></context>", "Say when.");
    let now = |zone: &str| {
        let mut show = home.levain(&["context", "show", "timed", "--wire", "--model", "scripted/demo"]);
        let (code, out, err) = output(show.env("TZ", zone));
        assert_eq!(code, 0, "{err}");
        out.lines().find(|line| line.contains("Now: ")).map_or_else(|| panic!("{out}"), str::to_owned)
    };
    assert!(now("Asia/Kathmandu").contains(" +05:45"));
    assert!(now("UTC").contains(" +00:00"));
}
