//! The pipeline in the whole program: handlers in files, programs that answer, and what becomes of those that do not.

use crate::support::scripted_project::{Project, calls_bash};
use crate::support::terminal;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use terminal::key;

/// A handler whose program is this shell script.
fn shell(stage: &str, script: &str, more: &str) -> String {
    let script = script.replace('"', "\\\"");
    format!("handlers:\n- id: h\n  stage: {stage}\n  {more}\n  command: [sh, -c, \"{script}\"]\n")
}

#[test]
fn a_program_changes_what_was_typed_and_both_are_kept() {
    let script = r#"cat > /dev/null; echo note >&2; printf '{"action":"transform","text":"the other"}'"#;
    let project = Project::new(&shell("input", script, "")).trusted();
    let id = project.run("this");
    let prepared = project.event(&id, "prompt_prepared");
    assert_eq!((&prepared["typed"], &prepared["steps"][0]["outcome"]), (&json!("this"), &json!("changed")));
    assert_eq!(prepared["steps"][0]["said"], "note\n");
    assert_eq!(project.event(&id, "cognition_in")["text"], "the other");
    assert_eq!(project.event(&id, "prompt_queued")["text"], "this");
}

#[test]
fn a_program_gets_the_event_with_the_thread_on_its_input() {
    let project = Project::new(&shell("input", "cat > got.json", "")).trusted();
    let id = project.run("hello");
    let got: Value =
        serde_json::from_str(&fs::read_to_string(project.home.project().join("got.json")).unwrap()).unwrap();
    assert_eq!((&got["type"], &got["text"], &got["source"]), (&json!("input"), &json!("hello"), &json!("interactive")));
    assert_eq!((&got["thread"]["thread_id"], &got["preview"]), (&json!(id), &json!(false)));
    assert_eq!(project.event(&id, "prompt_prepared")["steps"][0]["outcome"], "unchanged", "no answer is no opinion");
}

/// Programs that do not do their part: a word of it, and the thread goes on with what it had.
#[test]
fn programs_that_fail_leave_a_message_and_a_working_thread() {
    for (script, more, outcome, detail) in [
        ("sleep 60", "timeout_seconds: 0.3", "timed_out", ""),
        ("yes", "timeout_seconds: 0.5", "timed_out", ""),
        ("head -c 6000000 /dev/zero", "", "failed", "more than 4 MB"),
        ("echo nonsense", "", "failed", "did not answer with JSON"),
        ("echo '[1]'", "", "failed", "where an object is expected"),
        ("echo '{\"action\":\"transfrom\"}'", "", "failed", "`transfrom` is no action"),
        ("echo sorry >&2; exit 3", "", "failed", "exit code 3"),
        ("kill -9 $$", "", "failed", "signal 9"),
        ("exec /no/such/program", "", "failed", "exit code 127"),
        ("sleep 0.5; echo '{\"action\":\"handled\"}'", "timeout_seconds: 0.1", "timed_out", ""),
    ] {
        let project = Project::new(&shell("input", script, more)).trusted();
        let id = project.run("hello");
        let step = project.event(&id, "prompt_prepared")["steps"][0].clone();
        assert_eq!(step["outcome"], outcome, "{script}: {step}");
        assert!(step["error"].as_str().unwrap_or_default().contains(detail), "{script}: {step}");
        assert_eq!(project.event(&id, "cognition_in")["text"], "hello", "{script}");
        assert!(project.events(&id).iter().any(|(name, _)| name == "thread_completed"), "{script}");
    }
}

#[test]
fn whatever_a_program_leaves_behind_ends_with_it() {
    let script = "setsid sleep 987 & (setsid sleep 987 &) ; echo '{\"action\":\"continue\"}'";
    let project = Project::new(&shell("input", script, "")).trusted();
    project.run("hello");
    let left = || {
        let named = |entry: fs::DirEntry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            line.starts_with(b"sleep\x00987") && folder.starts_with(project.home.path())
        };
        fs::read_dir("/proc").unwrap().flatten().filter(|entry| entry.path().is_dir()).any(named)
    };
    terminal::poll("they are gone", || !left());
}

/// Handlers of a stage are asked by one process; what one of them does to it, or leaves, costs no other its answer.
#[test]
fn programs_that_are_asked_one_after_another_do_not_meet() {
    let scripts = [
        ("leaves", "(sleep 5; echo nonsense) & cat > /dev/null; echo $PPID >&2", "unchanged", ""),
        ("absent", "", "failed", "/no/such/program"),
        ("reads_nothing", "exec <&-; echo $PPID >&2", "unchanged", ""),
        ("ends_it", "kill -9 $PPID", "failed", "its keeper is gone"),
        (
            "next",
            "echo $PPID >&2; printf '{\\\"action\\\":\\\"transform\\\",\\\"text\\\":\\\"other\\\"}'",
            "changed",
            "",
        ),
        ("last", "grep -q other; echo $PPID >&2", "unchanged", ""),
    ];
    let mut file = "handlers:\n".to_owned();
    for (id, script, ..) in scripts {
        let words = if script.is_empty() { "/no/such/program".to_owned() } else { format!("sh, -c, \"{script}\"") };
        writeln!(file, "- id: {id}\n  stage: input\n  command: [{words}]").unwrap();
    }
    let project = Project::new(&file).trusted();
    let id = project.run("hello");
    let steps = project.event(&id, "prompt_prepared")["steps"].clone();
    for (index, (_, _, outcome, detail)) in scripts.into_iter().enumerate() {
        assert_eq!(steps[index]["outcome"], outcome, "{steps:#}");
        assert!(steps[index]["error"].as_str().unwrap_or_default().contains(detail), "{steps:#}");
    }
    assert_eq!(project.event(&id, "cognition_in")["text"], "other");
    let keeper = |index: usize| steps[index]["said"].as_str().unwrap();
    // It waits for two seconds, and a busy machine may take as long for once.
    if cfg!(target_os = "linux") {
        assert!(keeper(0) == keeper(2) || keeper(4) == keeper(5), "{steps:#}");
    }
    assert_ne!(keeper(0), keeper(4));
}

#[test]
fn a_keeper_that_is_killed_while_it_waits_is_replaced() {
    let handlers = "handlers:\n- id: first\n  stage: input\n  command: [sh, -c, \"echo $PPID > ../keeper\"]\n\
                    - id: second\n  stage: tool_result\n  command: [sh, -c, \"echo $PPID >&2\"]\n";
    let project = Project::with(handlers, &calls_bash("kill -9 $(cat ../keeper); echo killed")).trusted();
    let id = project.run("hello");
    assert!(project.event(&id, "tool_call_result")["output"].as_str().unwrap().contains("killed"));
    let step = project.event(&id, "result_prepared")["steps"][0].clone();
    assert_eq!(step["outcome"], "unchanged", "{step}");
    let first = fs::read_to_string(project.home.path().join("keeper")).unwrap();
    assert_ne!(step["said"], first.as_str());
}

/// An order that nobody has read is given to another keeper.
#[test]
fn a_keeper_that_is_killed_before_it_reads_an_order_is_replaced() {
    let handlers = "handlers:\n- id: first\n  stage: input\n  command: [sh, -c, \"echo $PPID > ../keeper\"]\n\
                    - id: second\n  stage: tool_result\n  command: [sh, -c, \"echo $PPID >&2\"]\n";
    let stops = calls_bash("kill -STOP $(cat ../keeper); touch ../stopped");
    let project = Project::with(handlers, &stops).trusted();
    let (keeper, stopped) = (project.home.path().join("keeper"), project.home.path().join("stopped"));
    let first = std::thread::spawn(move || {
        terminal::poll("it stands still", || stopped.exists());
        let first = fs::read_to_string(keeper).unwrap();
        terminal::kill(Pid::from_raw(first.trim().parse().unwrap()).unwrap(), Signal::KILL);
        first
    });
    let id = project.run("hello");
    let step = project.event(&id, "result_prepared")["steps"][0].clone();
    assert_eq!(step["outcome"], "unchanged", "{step}");
    assert_ne!(step["said"], first.join().unwrap().as_str());
}

#[test]
fn the_words_of_an_answer_are_changed_by_text_and_by_programs_and_both_are_kept() {
    let script = r#"grep -q assistant || exit 0; printf '{"message":{"role":"assistant","content":"Redacted."}}'"#;
    let texts = "- id: signs\n  stage: message_end\n  append: \" -- yours\"\n";
    let project = Project::new(&format!("{}{texts}", shell("message_end", script, ""))).trusted();
    let id = project.run("hello");
    assert_eq!(project.event(&id, "cognition_out")["text"], "Redacted. -- yours");
    let steps = project.event(&id, "answer_prepared")["steps"].clone();
    let outcomes: Vec<_> = steps.as_array().unwrap().iter().map(|step| &step["outcome"]).collect();
    assert_eq!(outcomes, ["changed", "changed"], "{steps:#}");
}

#[test]
fn a_projects_programs_wait_for_trust_and_its_texts_do_not() {
    let handlers = format!("{}- id: tidy\n  stage: input\n  append: \"!\"\n", shell("input", "touch ran", ""));
    let project = Project::new(&handlers);
    let id = project.run("hello");
    let steps = project.event(&id, "prompt_prepared")["steps"].clone();
    assert_eq!((&steps[0]["outcome"], &steps[1]["outcome"]), (&json!("refused"), &json!("changed")));
    assert!(!project.home.project().join("ran").exists());
    assert_eq!(project.event(&id, "cognition_in")["text"], "hello!");
    let project = project.trusted();
    project.run("hello");
    assert!(project.home.project().join("ran").exists());
    // What its command names is trusted with it.
    project.write("scripts/h.sh", "touch again");
    project.write(".ai/config/agent/pipeline.yaml", &shell("input", "sh scripts/h.sh", ""));
    let project = project.trusted();
    project.write("scripts/h.sh", "touch other");
    let id = project.run("hello");
    assert_eq!(project.event(&id, "prompt_prepared")["steps"][0]["outcome"], "refused");
    assert!(!project.home.project().join("other").exists());
}

#[test]
fn a_guard_blocks_changes_and_fails_closed() {
    for (handlers, runs, says) in [
        ("handlers:\n- id: h\n  stage: tool_call\n  when: {path: input.command, op: contains, value: touch}\n  block: not today\n"
            .to_owned(), false, "not today"),
        (shell("tool_call", "exit 1", ""), false, "exit code 1"),
        (shell("tool_call", "sleep 60", "timeout_seconds: 0.2"), false, "did not answer"),
        (shell("tool_call", "echo nonsense", ""), false, "JSON"),
        (shell("tool_call", "cat > /dev/null", ""), true, ""),
        ("handlers:\n- id: h\n  stage: tool_call\n  set: {command: touch other}\n".to_owned(), true, ""),
    ] {
        let project = Project::with(&handlers, &calls_bash("touch made")).trusted();
        let id = project.run("go");
        let folder = project.home.project();
        let made = folder.join("made").exists() || folder.join("other").exists();
        assert_eq!(made, runs, "{handlers}");
        let result = project.event(&id, "tool_call_result");
        assert!(result["output"].as_str().unwrap().contains(says), "{handlers}: {result}");
        assert_eq!(folder.join("other").exists(), handlers.contains("touch other"), "{handlers}");
    }
}

/// What was found trusted holds for the handlers of one value: a tool runs between two.
#[test]
fn a_program_that_a_tool_just_changed_is_not_run() {
    let handler = |id: &str, stage: &str| format!("- {{id: {id}, stage: {stage}, command: [sh, scripts/h.sh]}}\n");
    let all = [handler("a", "tool_call"), handler("b", "tool_call"), handler("c", "tool_result")];
    let handlers = format!("handlers:\n{}", all.concat());
    let project = Project::with(&handlers, &calls_bash("echo touch stolen > scripts/h.sh"));
    project.write("scripts/h.sh", "echo x >> ran");
    let project = project.trusted();
    let id = project.run("go");
    let folder = project.home.project();
    assert_eq!(std::fs::read_to_string(folder.join("ran")).unwrap(), "x\nx\n");
    assert_eq!(std::fs::read_to_string(folder.join("scripts/h.sh")).unwrap(), "touch stolen\n");
    assert!(!folder.join("stolen").exists(), "{:?}", project.event(&id, "tool_call_result"));
}

#[test]
fn a_guard_that_may_not_run_blocks() {
    let project = Project::with(&shell("tool_call", "true", ""), &calls_bash("touch made"));
    let (_, out, err) = project.levain(&[
        "run",
        "--json",
        "--model",
        &project.model,
        "--directive",
        "work",
        "--allow",
        "rye/bash",
        "go",
    ]);
    assert!(!project.home.project().join("made").exists(), "{out}{err}");
}

#[test]
fn a_guard_sees_what_is_run_in_the_end_and_every_guard_is_asked() {
    let guard =
        "- id: g\n  stage: tool_call\n  when: {path: input.command, op: contains, value: evil}\n  block: seen\n";
    // One behind it changes the arguments.
    let handlers = format!("handlers:\n{guard}- id: other\n  stage: tool_call\n  set: {{command: touch evil}}\n");
    let project = Project::with(&handlers, &calls_bash("touch made")).trusted();
    let id = project.run("go");
    assert!(!project.home.project().join("evil").exists());
    assert_eq!(project.event(&id, "tool_call_result")["output"], "seen");
    // The person's and the project's handlers have one name and stand on one line.
    let nameless = |value: &str| {
        format!(
            "handlers:\n- stage: tool_call\n  when: {{path: input.command, op: contains, value: {value}}}\n  block: {value}\n"
        )
    };
    let project = Project::with(&nameless("made"), &calls_bash("touch made"));
    let own = project.home.home().join(".ai/config/agent");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("pipeline.yaml"), nameless("other")).unwrap();
    let project = project.trusted();
    let id = project.run("go");
    assert_eq!(project.event(&id, "call_prepared")["blocked"], "made");
    assert!(!project.home.project().join("made").exists());
}

#[test]
fn a_guard_knows_a_tool_by_one_name_however_it_is_called() {
    let handlers =
        "handlers:\n- id: g\n  stage: tool_call\n  when: {path: toolName, op: eq, value: rye_bash}\n  block: seen\n";
    for call in [
        json!({"name": "rye_bash", "input": {"command": "touch made"}}),
        json!({"name": "rye/bash", "input": {"command": "touch made"}}),
        json!({"name": "rye_execute", "input": {"item_type": "tool", "item_id": "rye/bash", "parameters": {"command": "touch made"}}}),
    ] {
        let replies = [
            json!({"when": {"anywhere": "seen"}, "steps": [{"text": "Done."}]}),
            json!({"steps": [{"tool_call": call}]}),
        ];
        let project = Project::with(handlers, &replies).trusted();
        let id = project.run("go");
        assert_eq!(project.event(&id, "call_prepared")["blocked"], "seen", "{call}");
        assert!(!project.home.project().join("made").exists(), "{call}");
    }
}

#[test]
fn an_untrusted_project_changes_no_arguments() {
    let project = Project::with(
        "handlers:\n- {id: h, stage: tool_call, set: {command: touch evil}}\n",
        &calls_bash("touch made"),
    );
    let arguments = ["run", "--json", "--model", &project.model, "--directive", "work", "--allow", "rye/bash", "go"];
    let (_, out, err) = project.levain(&arguments);
    assert!(!project.home.project().join("evil").exists(), "{out}{err}");
    assert!(!project.home.project().join("made").exists(), "a guard that may not run blocks: {out}{err}");
}

#[test]
fn a_template_behind_a_link_out_of_the_project_is_not_read() {
    let project = Project::new("");
    fs::write(project.home.path().join("secret"), "the secret").unwrap();
    fs::create_dir_all(project.home.project().join(".claude/commands")).unwrap();
    let link = project.home.project().join(".claude/commands/fix.md");
    std::os::unix::fs::symlink(project.home.path().join("secret"), link).unwrap();
    let id = project.run("/fix it");
    assert_eq!(project.event(&id, "cognition_in")["text"], "/fix it");
}

#[test]
fn results_are_changed_failed_ones_too() {
    let handlers = "handlers:\n- id: hide\n  stage: tool_result\n  replace: {find: secret, with: ---}\n";
    for command in ["echo my secret", "echo my secret; exit 1"] {
        let project = Project::with(handlers, &calls_bash(command)).trusted();
        let id = project.run("go");
        let result = project.event(&id, "tool_call_result");
        let output = result["output"].as_str().unwrap();
        assert!(output.contains("my ---") && !output.contains("secret"), "{result}");
        assert_eq!(project.event(&id, "result_prepared")["steps"][0]["outcome"], "changed");
    }
}

#[test]
fn the_conversation_is_changed_for_a_request_and_stays_in_the_log() {
    let handlers = "handlers:\n- id: redact\n  stage: context\n  replace: {find: \"4711\", with: XXXX}\n\
                    - id: rule\n  stage: context\n  message: Mind the rule.\n";
    let project = Project::new(handlers);
    let id = project.run("My number is 4711.");
    let told = project.told(&id);
    assert!(told.contains("My number is XXXX.") && told.contains("Mind the rule."), "{told}");
    assert!(told.contains("handler rule (context)"), "{told}");
    assert!(told.contains("removed by the handler"), "{told}");
    assert_eq!(project.event(&id, "cognition_in")["text"], "My number is 4711.");
    let outcomes: Vec<_> = project.of_request(&id).iter().map(|step| step["outcome"].clone()).collect();
    assert_eq!(outcomes, ["changed", "changed"]);
}

#[test]
fn the_payload_is_changed_within_what_was_paid_for_and_kept() {
    for (set, outcome) in
        [("{temperature: 0.25}", "changed"), ("{model: dear}", "failed"), ("{max_tokens: 999999999}", "failed")]
    {
        let handlers = format!("handlers:\n- id: h\n  stage: before_provider_request\n  set: {set}\n");
        let project = Project::new(&handlers).trusted();
        let id = project.run("hello");
        let steps = project.of_request(&id);
        assert_eq!(steps[0]["outcome"], outcome, "{set}: {steps:?}");
        let (code, wire, err) = project.levain(&["context", "show", "--thread", &id, "--wire"]);
        assert_eq!(code, 0, "{err}");
        assert_eq!(wire.contains("0.25"), outcome == "changed", "{set}: {wire}");
    }
}

#[test]
fn a_prompt_that_is_handled_asks_no_model() {
    let project = Project::new("handlers:\n- id: h\n  stage: input\n  handled: true\n");
    let (_, out, err) =
        project.levain(&["run", "--json", "--model", &project.model, "--directive", "work", "anything"]);
    let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap_or_else(|_| panic!("{out}{err}"));
    let events = project.events(line["thread_id"].as_str().unwrap());
    assert!(events.iter().any(|(name, payload)| name == "prompt_handled" && payload["by"] == "h"), "{events:?}");
    assert!(!events.iter().any(|(name, _)| name == "request_recorded"));
}

#[test]
fn what_would_be_sent_is_shown_with_handlers_at_every_stage() {
    let handlers = "handlers:\n- id: a\n  stage: input\n  append: \" (a)\"\n- id: b\n  stage: before_agent_start\n  \
                    append: \"\\n\\nBe b.\"\n- id: c\n  stage: before_agent_start\n  message: C says.\n- id: d\n  stage: context\n  \
                    replace: {find: says, with: said}\n";
    let project = Project::new(handlers);
    let shown = |arguments: &[&str]| -> Vec<(Value, Value, Value)> {
        let (code, out, err) = project.levain(arguments);
        assert_eq!(code, 0, "{err}");
        let shown: Value = serde_json::from_str(&out).unwrap();
        let layers = shown["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] != "context_state");
        layers.map(|layer| (layer["id"].clone(), layer["decision"].clone(), layer["hash"].clone())).collect()
    };
    let before = shown(&["context", "show", "work", "--prompt", "hello", "--json", "--model", &project.model]);
    let id = project.run("hello");
    let after = shown(&["context", "show", "--thread", &id, "--json"]);
    assert!(before.len() > 5, "{before:?}");
    assert_eq!(before, after);
    assert!(project.told(&id).contains("hello (a)"));
}

#[test]
fn a_handler_is_asked_again_with_what_it_got() {
    let project = Project::new(&shell("input", "sh h.sh", ""));
    project.write("h.sh", "cat > /dev/null; echo '{\"action\":\"transform\",\"text\":\"one\"}'");
    let project = project.trusted();
    let id = project.run("hello");
    project.write("h.sh", "cat > /dev/null; echo '{\"action\":\"transform\",\"text\":\"two\"}'");
    let project = project.trusted();
    let (code, out, err) = project.levain(&["pipeline", "run", "input", "--handler", "h", "--thread", &id]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("-text: hello") && out.contains("+text: two"), "{out}");
    let (_, out, _) = project.levain(&["pipeline", "--thread", &id, "--diff"]);
    assert!(out.contains("-text: hello") && out.contains("+text: one"), "{out}");
    let (_, out, _) = project.levain(&["pipeline", "--thread", &id, "--stats", "--json"]);
    let counts: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((&counts["counts"]["asked"], &counts["counts"]["changed"]), (&json!(1), &json!(1)));
}

#[test]
fn a_mistake_in_the_file_stops_the_start_with_its_line() {
    let project = Project::new("handlers:\n- stage: input\n  append: x\n- stage: tool_call\n  blok: true\n");
    let (code, _, err) = project.levain(&["run", "--model", &project.model, "--directive", "work", "hello"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("pipeline.yaml:4") && err.contains("did you mean `block`"), "{err}");
    let (code, out, _) = project.levain(&["check"]);
    assert_eq!(code, 1);
    assert!(out.contains("pipeline.yaml:4"), "{out}");
}

/// What the page tells people to write works as it says.
#[test]
fn the_examples_of_the_documents_work() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pipeline.md")).unwrap();
    let mut seen = 0;
    let mut parts = page.split("```").skip(1).step_by(2);
    let mut files: Vec<(String, String)> = Vec::new();
    for block in &mut parts {
        let (head, text) = block.split_once('\n').unwrap();
        let mut words = head.split_whitespace();
        let (_language, name) = (words.next(), words.next());
        if let Some(path) = name {
            files.push((path.to_owned(), text.to_owned()));
        }
    }
    let handlers: Vec<_> = files.iter().filter(|(path, _)| path.ends_with("pipeline.yaml")).collect();
    let all = handlers.iter().fold("handlers:\n".to_owned(), |all, (_, text)| {
        seen += 1;
        all + text.strip_prefix("handlers:\n").unwrap()
    });
    assert!(seen >= 5, "{seen} examples");
    let project = Project::with(&all, &calls_bash("curl example.org"));
    for (path, text) in files.iter().filter(|(path, _)| !path.ends_with("pipeline.yaml")) {
        project.write(path, text);
    }
    let project = project.trusted();
    let id = project.run("/fix 12");
    let asked: Vec<(String, String)> = project
        .events(&id)
        .iter()
        .flat_map(|(_, payload)| payload["steps"].as_array().cloned().unwrap_or_default())
        .chain(project.of_request(&id))
        .map(|step| (step["stage"].as_str().unwrap().to_owned(), step["outcome"].as_str().unwrap().to_owned()))
        .collect();
    for stage in ["input", "template", "before_agent_start", "context", "before_provider_request", "tool_call"] {
        assert!(asked.iter().any(|(of, _)| of == stage), "{stage}: {asked:?}");
    }
    assert!(!asked.iter().any(|(_, outcome)| outcome == "failed" || outcome == "refused"), "{asked:?}");
    let arguments = ["context", "show", "team/careful", "--prompt", "hello", "--text", "--model", &project.model];
    let (code, shown, err) = project.levain(&arguments);
    assert_eq!(code, 0, "{err}");
    assert!(shown.contains("hello The smallest change that does it."), "{shown}");
}

/// A project whose directive has 24 layers in its system text, one of which changes the answer.
fn project_of_24_layers() -> (Project, String) {
    let project = Project::with(
        "",
        &[
            json!({"when": {"anywhere": "speak of cheese"}, "steps": [{"text": "Cheese is best."}]}),
            json!({"steps": [{"text": "Bread is best."}]}),
        ],
    );
    let mut context = String::new();
    for number in 1..=24 {
        let text = if number == 17 { "Always speak of cheese." } else { "Be exact." };
        let item = format!("```yaml\nname: rule{number}\n```\n\nRule {number}. {text}\n");
        project.write(&format!(".ai/knowledge/team/rule{number}.md"), &item);
        write!(context, "<before>team/rule{number}</before>").unwrap();
    }
    let directive = format!(
        "```xml\n<directive name=\"work\"><metadata><context>{context}</context></metadata></directive>\n```\nWork.\n"
    );
    project.write(".ai/directives/work.md", &directive);
    let project = project.trusted();
    let id = project.run("What is best?");
    (project, id)
}

#[test]
fn halving_finds_the_one_layer_of_24_that_changes_the_answer() {
    let (project, id) = project_of_24_layers();
    let request = format!("{id}#1");
    let model = ["--model", &project.model];
    let asked = [&["context", "bisect", &request, "--check", "grep -q Cheese"][..], &model].concat();
    let (code, _, err) = project.levain(&asked);
    assert_eq!(code, 2, "nothing is sent without a yes: {err}");
    assert!(err.contains("requests to") && err.contains("nothing was sent"), "{err}");
    let (code, out, err) = project.levain(&[&asked[..], &["--yes", "--json"]].concat());
    assert_eq!(code, 0, "{err}");
    let found: Value = serde_json::from_str(&out).unwrap();
    let ids: Vec<_> = found["layers"].as_array().unwrap().iter().map(|layer| layer["id"].clone()).collect();
    assert_eq!(ids, ["team/rule17"], "{found}");
    assert!(found["requests"].as_u64().unwrap() <= 14, "{found}");
    let never = [&["context", "bisect", &request, "--yes", "--check", "grep -q Wine"][..], &model].concat();
    let (code, _, err) = project.levain(&never);
    assert_eq!(code, 1);
    assert!(err.contains("no layer of these makes the difference"), "{err}");
}

#[test]
fn the_layer_that_changes_the_answer_is_found_on_the_screen() {
    let (project, id) = project_of_24_layers();
    for (columns, rows) in [(160, 45), (80, 24)] {
        let open = ["--continue", &id, "--model", &project.model];
        let terminal = project.home.levain_in_terminal(&open).size(columns, rows).start();
        terminal.wait_for("Cheese");
        terminal.send_keys("/context\r");
        terminal.wait_for("  context       team/rule1");
        terminal.send_keys("b");
        terminal.wait_for("check: ");
        terminal.send_keys("grep -q Cheese");
        terminal.wait_for("grep -q Cheese");
        terminal.send_keys(key::ENTER);
        // What it takes is told before anything is sent.
        terminal.wait_for("requests to");
        terminal.wait_for("▸ Begin");
        terminal.send_keys(key::ENTER);
        terminal.wait_for("▸ team/rule17");
        terminal.send_keys(key::ENTER);
        terminal.wait_for("┌ context · ");
        terminal.wait_for("Rule 17.");
        terminal.leave();
        project.home.wait_until_quiet();
    }
}

#[test]
fn a_request_is_shown_and_sent_as_it_would_be_without_a_layer() {
    let (project, id) = project_of_24_layers();
    let request = format!("{id}#1");
    let what_if = |more: &[&str]| {
        let arguments = [&["context", "what-if", &request, "--model", &project.model][..], more].concat();
        project.levain(&arguments)
    };
    let (code, out, err) = what_if(&["--without", "team/rule17"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 removed") && out.contains("team/rule17"), "{out}");
    let answer = |out: &str| serde_json::from_str::<Value>(out).unwrap()["answer"].clone();
    assert_eq!(answer(&what_if(&["--send", "--json"]).1), "Cheese is best.");
    assert_eq!(answer(&what_if(&["--send", "--json", "--without", "team/rule17"]).1), "Bread is best.");
    project.write("other.md", "Rule 3. Always speak of cheese.");
    let file = project.home.project().join("other.md");
    let with = format!("team/rule3={}", file.display());
    assert_eq!(
        answer(&what_if(&["--send", "--json", "--without", "team/rule17", "--with", &with]).1),
        "Cheese is best."
    );
    let (code, _, err) = what_if(&["--without", "team/rul17"]);
    assert_eq!(code, 2);
    assert!(err.contains("no layer `team/rul17`"), "{err}");
    let before = fs::read_dir(project.home.project().join(".ai/agent/threads")).unwrap().count();
    assert_eq!(before, 1, "it is part of no thread");
}

#[test]
fn what_would_be_is_sent_in_a_fork_that_keeps_to_it() {
    let (project, id) = project_of_24_layers();
    let request = format!("{id}#1");
    project.write("other.md", "Rule 3. Speak of bread.");
    let with = format!("team/rule3={}", project.home.project().join("other.md").display());
    let fork = ["context", "what-if", &request, "--without", "team/rule17", "--with", &with, "--fork", "--json"];
    let (code, out, err) = project.levain(&fork);
    assert_eq!(code, 0, "{err}");
    let made: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&made["schema"], &made["from"]), (&json!("levain.fork/1"), &json!(id)));
    let made = made["thread_id"].as_str().unwrap();
    // Whoever goes on with it has it so, too.
    let run = ["run", "--json", "--model", &project.model, "--fork", made, "What is best?"];
    let (code, out, err) = project.levain(&run);
    assert_eq!(code, 0, "{err}");
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["result"], "Bread is best.");
    let told = project.told(result["thread_id"].as_str().unwrap());
    assert!(told.contains("Speak of bread.") && !told.contains("Rule 17.") && told.contains("Rule 16."), "{told}");
    // On the screen: the layer is taken out, and the prompt goes into a fork.
    let terminal =
        project.home.levain_in_terminal(&["--model", &project.model, "--continue", &id]).size(110, 40).start();
    terminal.wait_for("Cheese is best.");
    terminal.send_keys("\x1bOS");
    terminal.wait_for("┌ context · ");
    terminal.wait_for("team/rule1 ");
    terminal.send_keys("F");
    terminal.wait_for("take a layer out first");
    for _ in 0..19 {
        terminal.send_keys("j");
    }
    terminal.wait_for("Rule 17. Always");
    terminal.send_keys("-");
    terminal.wait_for("taken out, to see what if");
    terminal.wait_for("F send in a fork");
    terminal.send_keys("F");
    terminal.wait_for("difference · ");
    terminal.wait_for("- ");
    terminal.send_keys(key::ESC);
    terminal.wait_for("┌ context · ");
    terminal.send_keys(key::ESC);
    terminal.wait_for("Bread is best.");
    terminal.leave();
}
