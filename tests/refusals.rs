//! What does not read is not passed over where that would give a thread more power, more spend or less context than was
//! written: nothing starts. The table in `docs/faults.md` lists these faults; here is one of each.

use crate::support::terminal::Home;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// A home with one directive, whose metadata stands on line 3 and behind.
fn home(metadata: &str) -> Home {
    let home = Home::new();
    let text = format!(
        "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>d</description>\n{metadata}\n</metadata></directive>\n\
         ```\nDo it.\n"
    );
    write(&home.project(), ".ai/directives/x.md", &text);
    home
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A run of `x` is refused with `words`, after `place` as file and line, and no request was made.
#[track_caller]
fn assert_refused(home: &Home, place: &str, words: &str) {
    let mut run = home.levain(&["run", "--model", "scripted/demo", "--directive", "x", "--json", "go"]);
    let output = run.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it ran: {}", String::from_utf8_lossy(&output.stdout));
    let error = said.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(error.contains(place) && error.contains(words), "{place} {words}: {said}");
    assert!(!home.project().join(".ai/agent/threads").exists(), "a thread was begun");
}

#[test]
fn a_grant_whose_question_is_not_closed_runs_nothing() {
    let home = home("<permissions><execute ask=\"true><tool>rye/bash</tool></execute></permissions>");
    let trusted = home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap();
    assert!(trusted.status.success(), "{trusted:?}");
    let marker = home.path().join("ran");
    let scenario = format!(
        "name: s\nrate: 0\nreplies:\n  - steps:\n      - tool_call: {{ name: rye_bash, input: {{ command: \"touch {}\" }} }}\n",
        marker.display()
    );
    write(home.path(), "s.yaml", &scenario);
    let model = format!("scripted/{}", home.path().join("s.yaml").display());
    let mut run = home.levain(&["run", "--model", &model, "--directive", "x", "go"]);
    let output = run.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("x.md:3: the value of `ask`"), "{said}");
    assert!(!marker.exists(), "the command ran");
}

#[test]
fn metadata_that_does_not_read_refuses_to_start() {
    for (metadata, words) in [
        ("<limits turns=\"3\" spend=\"0,01\" />", "the limit `spend` cannot be `0,01`"),
        ("<limits trns=\"3\" />", "unknown limit `trns`"),
        ("<limits turns=\"3\" turns=\"300\" />", "`turns` is given twice"),
        ("<limits turns=\"3\" max_turns=\"300\" />", "the limit `turns` is given twice"),
        ("<limits>turns=3</limits>", "text in <limits> has no effect"),
        ("<limits spend=\"100\" spend_currency=\"JPY\" />", "amounts in `JPY`"),
        ("<limit turns=\"3\" />", "<limit> has no effect"),
        ("<limits turns=\"3\"", "the tag `<limits` is not finished"),
        ("<permissions><execute aks=\"true\">*</execute></permissions>", "unknown attribute `aks` in <execute>"),
        ("<permissions><execute ask>*</execute></permissions>", "`ask` in `<execute>` has no value"),
        ("<permissions><execute ask=\"ture\">*</execute></permissions>", "neither true nor false"),
        ("<permissions><execute>*</permissions>", "`<execute>` is never closed"),
        ("<permissions><execute><tool>rye bash</tool></execute></permissions>", "cannot be granted"),
        ("<permission></permission>", "<permission> has no effect"),
        ("<context><befor>team/rules</befor></context>", "<befor> in <context> has no effect"),
        ("<context><before></before></context>", "<before> names nothing"),
        ("<context>team/rules</context>", "text in <context> has no effect"),
        ("<model teir=\"fast\" />", "unknown attribute `teir` in <model>"),
        ("<model provider=\"openai\" />", "<model> names no model"),
        ("<model tier=\"fast\" /><model tier=\"max\" />", "a second <model>"),
        ("<hooks><hook event=\"after_stp\"><action primary=\"fetch\" item_id=\"a\"/></hook></hooks>", "no event"),
        ("</metadata><limits turns=\"3\"/><metadata>", "<limits> stands beside <metadata>"),
        ("</metadata><outputs><output nam=\"a\"/></outputs><metadata>", "unknown attribute `nam` in <output>"),
        ("</metadata><inputs><input name=\"a\" required=\"ture\"/></inputs><metadata>", "required cannot be `ture`"),
        (
            "</metadata><inputs><input name=\"a\" choices=\" , \"/></inputs><metadata>",
            "choices of the input `a` are empty",
        ),
    ] {
        assert_refused(&home(metadata), "x.md:3", words);
    }
    assert_refused(&home("< limits turns=\"3\" />"), "x.md:2", "text in <metadata> has no effect");
    let whole = [
        ("Do it, without metadata.\n", "x.md:1", "no XML code block found"),
        ("```xml\n<directive name=\"x\"></directive>\nDo it.\n", "x.md:1", "the xml block is never closed"),
        ("```xml\n<directiv name=\"x\"></directiv>\n```\nDo it.\n", "x.md:2", "holds no <directive>"),
        ("```xml\n<directive name=\"x\" extend=\"a\"></directive>\n```\nDo it.\n", "x.md:2", "`extend` in <directive>"),
        ("---\nname: x\nlimits: {spend: [1]}\n---\nDo it.\n", "x.md:3", "the limit `spend` cannot be"),
        ("---\nname: x\nlimits: 3\n---\nDo it.\n", "x.md:3", "text in <limits>"),
        ("---\nname: x\nhooks: {event: error}\n---\nDo it.\n", "x.md:3", "text in <hooks>"),
        ("---\nname: \"x\n---\nDo it.\n", "x.md:", "is not valid YAML"),
    ];
    for (text, place, words) in whole {
        let home = Home::new();
        write(&home.project(), ".ai/directives/x.md", text);
        assert_refused(&home, place, words);
    }
}

/// What more than fifty mistakes hide is not passed over.
#[test]
fn what_stands_behind_many_mistakes_is_not_passed_over() {
    let home = home(&format!("{}<limits turns=\"3\"/>", "</b>".repeat(60)));
    assert_refused(&home, "x.md:", "");
    let output = home.levain(&["check"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("has more than 50 mistakes"), "{output:?}");
}

#[test]
fn a_question_around_grants_holds_for_each_of_them() {
    let metadata = "<permissions ask=\"true\"><execute><tool>rye/bash</tool></execute></permissions>";
    let home = home(metadata);
    assert!(home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap().status.success());
    let output = home.levain(&["context", "show", "x", "--model", "scripted/demo", "--text"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    let bash = said.lines().find(|line| line.contains("rye/bash")).unwrap_or_default().to_owned();
    assert!(!bash.is_empty(), "{said}");
    let scenario =
        "name: s\nrate: 0\nreplies:\n  - steps:\n      - tool_call: { name: rye_bash, input: { command: \"true\" } }\n";
    write(home.path(), "s.yaml", scenario);
    let model = format!("scripted/{}", home.path().join("s.yaml").display());
    let mut run = home.levain(&["run", "--model", &model, "--directive", "x", "--json", "go"]);
    let output = run.stdin(Stdio::null()).output().unwrap();
    let thread: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = thread["thread_id"].as_str().unwrap();
    let log = fs::read_to_string(home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl")).unwrap();
    assert!(log.contains("\"ask\":true") && !log.contains("\"exit_code\""), "{log}");
}

#[test]
fn a_parent_that_does_not_read_refuses_its_children() {
    let home = Home::new();
    write(
        &home.project(),
        ".ai/directives/base.md",
        "```xml\n<directive name=\"base\"><metadata>\n<permissions>*</permissions\n</metadata></directive>\n```\n",
    );
    write(
        &home.project(),
        ".ai/directives/x.md",
        "```xml\n<directive name=\"x\" extends=\"base\"></directive>\n```\nDo it.\n",
    );
    assert_refused(&home, "base.md:3", "`<permissions>` is never closed");
}

#[test]
fn hooks_that_do_not_read_hold_threads_up() {
    for (hooks, place, words) in [
        (
            "hooks:\n- id: a\n  event: after_stp\n  action: {primary: fetch, item_id: a}\n",
            "hooks.yaml:2",
            "no event `after_stp`",
        ),
        ("hook:\n- id: a\n", "hooks.yaml:1", "unknown name `hook`"),
        ("hooks: {id: a}\n", "hooks.yaml:1", "`hooks` is no list of hooks"),
        ("hooks: [\n", "hooks.yaml:", "is not valid YAML"),
    ] {
        let home = home("");
        write(&home.project(), ".ai/config/agent/hooks.yaml", hooks);
        assert_refused(&home, place, words);
    }
}

#[test]
fn settings_that_decide_and_do_not_read_hold_threads_up() {
    for (settings, words) in [
        ("signatures = \"requird\"\n", "config.toml:1: `signatures` cannot be"),
        ("signature = \"require\"\n", "config.toml:1: unknown setting `signature`"),
        ("signatures = \"require\n", "config.toml:1: not TOML"),
        ("model = \"opus\"\n", "config.toml:1: `model` cannot be"),
        ("max_calls = \"4\"\n", "config.toml:1: `max_calls` cannot be"),
    ] {
        let home = home("");
        fs::write(home.config().join("config.toml"), settings).unwrap();
        assert_refused(&home, "no thread can start", words);
    }
    let home = home("");
    write(&home.project(), ".ai/config/agent/resilience.yaml", "retry:\n  max_attempts: one\n");
    assert_refused(&home, "resilience.yaml:2", "`retry.max_attempts` must be");
    // What only changes the look costs itself.
    let home = self::home("");
    fs::write(home.config().join("config.toml"), "theme = 3\nmouse = \"yes\"\nlinks = \"x\n").unwrap();
    let mut run = home.levain(&["run", "--model", "scripted/demo", "--directive", "x", "go"]);
    let output = run.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_provider_whose_file_has_a_mistake_is_not_asked() {
    let home = home("");
    let file = "tool_id: anthropic\npricing:\n  test-model: {input: free}\n";
    let run = |model: &str| {
        let mut run = home.levain(&["run", "--model", model, "--directive", "x", "go"]);
        // Nobody listens there.
        let variables = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
        let output = run.envs(variables).stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!run("anthropic/test-model").contains("does not use provider"), "without a file");
    for text in [file, "tool_id: [\n"] {
        write(&home.project(), ".ai/tools/providers/anthropic.yaml", text);
        let said = run("anthropic/test-model");
        assert!(said.contains("does not use provider anthropic while its file has a mistake"), "{said}");
        assert!(said.contains("anthropic.yaml:"), "{said}");
        assert!(!run("scripted/demo").contains("does not use provider"), "others are");
        let listed = home.levain(&["models"]).env("ANTHROPIC_API_KEY", "k").output().unwrap();
        assert!(listed.status.success());
    }
}

/// Limits and prices are the person's money: a project that they have not trusted makes neither milder.
#[test]
fn a_project_that_is_not_trusted_raises_no_limit_and_sets_no_price() {
    let home = home("");
    let settings = "limits: {one_shot: {spend: 500, turns: 2, tokens: 900000000}}\n";
    write(&home.project(), ".ai/config/agent/resilience.yaml", settings);
    let prices = "tool_id: anthropic\npricing: {claude-sonnet-5-5: {input: 0.0001, output: 0.0001}}\n";
    write(&home.project(), ".ai/tools/providers/anthropic.yaml", prices);
    let started = || {
        let mut run = home.levain(&["run", "--model", "scripted/demo", "--directive", "x", "--json", "go"]);
        let output = run.stdin(Stdio::null()).output().unwrap();
        let done: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let id = done["thread_id"].as_str().unwrap().to_owned();
        let log = home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl");
        let log = fs::read_to_string(log).unwrap();
        let first: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        let limits = &first["payload"]["limits"];
        let said = String::from_utf8_lossy(&output.stderr).contains("prices of a project that you have not trusted");
        (limits["turns"].as_u64(), limits["tokens"].as_u64(), limits["spend"].as_u64(), said)
    };
    let checked = |words: &[&str]| home.levain(words).stdin(Stdio::null()).output().unwrap();
    assert_eq!(started(), (Some(2), Some(200_000), Some(1_000_000), true));
    assert!(checked(&["trust"]).status.success());
    assert_eq!(started(), (Some(2), Some(900_000_000), Some(500_000_000), false));
}
