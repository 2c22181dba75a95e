//! `levain context`, and that what it shows is what is sent.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test picks what it wants to see")]
#![allow(clippy::format_push_string, reason = "a test may be slow")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/model_server.rs"]
mod model_server;
#[path = "support/terminal.rs"]
mod terminal;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model_server::{KEY, ModelServer};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use terminal::{Home, Terminal};

fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

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
            terminal.wait_for("enter send");
            terminal.send_keys(&made.prompt);
            terminal.send_keys("\x10");
            terminal.wait_for("what Enter would send · anthropic");
            terminal.send_keys("w");
            terminal.wait_for("Anthropic Messages · what Enter");
            terminal.send_keys("y");
            terminal.wait_for("copied");
            let shown = copied(&terminal).unwrap();
            // Put together anew, it would tell of one more changed file.
            write(&home, &format!("new-{}.txt", number.get()), "x");
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

/// One directive that loses a layer to each reason there is. Each reason with the words that are told for it.
fn with_every_absence(home: &Home) -> [(&'static str, &'static str); 10] {
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
        - {id: broken, event: thread_started, condition: {path: a, op: like}, action: {primary: fetch, item_id: team/rules}}\n\
        - {id: a_tool, event: thread_started, action: {primary: execute, item_type: tool, item_id: team/x}}\n";
    write(home, ".ai/config/agent/hooks.yaml", hooks);
    [
        ("condition", "does not hold: directive contains \"web\", and is \"team/leaf\""),
        ("broken_condition", "does not read: there is no operator `like`"),
        ("suppressed", "suppressed by `team/leaf`"),
        ("duplicate", "already there, from `team/leaf`"),
        ("shadowed", "hidden by project .ai/knowledge/levain/core/Identity.md"),
        ("missing", "there is no knowledge `team/gone`"),
        ("refused", "longer than one mebibyte"),
        ("empty", "holds no text"),
        ("nothing_to_say", "has nothing to say here"),
        ("not_run", "a hook of thread_started brings knowledge along and runs nothing else"),
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
    terminal.wait_for("enter send");
    terminal.send_keys("go\x10");
    terminal.wait_for("✗ hidden");
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
    terminal.wait_for("enter send");
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
    terminal.wait_for("what Enter would send · anthropic");
    terminal.send_keys("d");
    terminal.wait_for("Be [-kind.-]{+cruel.+}");
    terminal.wait_for("of system, in `team/rules`");
    terminal.send_keys("\x1b");
    terminal.wait_for("what Enter would send · anthropic");
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
    assert!(tools.len() == 8 && tools.iter().all(|id| id.starts_with("rye/")), "{tools:?}");
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
        assert!(explain(name).contains("directive contains \"web\", and is \"team/ship\""), "{}", explain(name));
    }
    assert!(explain("team/unused").contains("nobody asks for it"));
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
    assert_eq!((code, out.as_str()), (0, "1 directives: 0 errors, 0 warnings\n"));
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
fn hooks_answer_for_any_event() {
    let home = Home::new();
    let asked = ["context", "hooks", "--event", "error", "--field", "classification.retryable=true"];
    let (code, out, _) = output(&mut home.levain(&asked));
    assert!(code == 0 && out.ends_with("answer: retry, from default_retry_transient\n"), "{out}");
    let (code, _, err) = output(&mut home.levain(&["context", "hooks", "--event", "eror"]));
    assert!(code == 2 && err.contains("there is no event `eror`"), "{err}");
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
    let (code, out, _) = output(&mut home.levain(&["context", "show", "escape", "--json"]));
    assert!(code == 0 && !out.contains("etc/passwd\",\"kind"), "{out}");
    knowledge(&home, "big", &"x".repeat(1 << 20));
    directive(&home, "large", "", "<context><system>big</system></context>", "x");
    refused("large", "longer than one mebibyte");
    let deep = format!(
        "<hooks><hook id=\"deep\" event=\"thread_started\"><condition>{}<condition path=\"a\"/>{}</condition><action primary=\"fetch\" item_id=\"levain/core/Identity\"/></hook></hooks>",
        "<not>".repeat(5_000),
        "</not>".repeat(5_000)
    );
    directive(&home, "deep", "", &deep, "x");
    let shown = json(&home, &["context", "show", "deep", "--json"]);
    let layer = shown["layers"].as_array().unwrap().iter().find(|layer| layer["id"] == "deep").unwrap();
    assert_eq!(layer["decision"]["reason"], "broken_condition");
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
