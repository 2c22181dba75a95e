//! The headless commands, as a script would use them.

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, kill, output, poll};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = "
name: test
rate: 0
replies:
  - when: { contains: fail }
    steps:
      - error: { status: 401, type: authentication_error, message: bad key }
  - when: { after_tool: nothing }
    steps:
      - text: It is not there.
  - when: { contains: tool }
    steps:
      - tool_call: { name: nothing, input: { a: 1 } }
  - steps:
      - text: A scripted answer.
";

fn scenario(home: &Home) -> String {
    let path = home.path().join("test.yaml");
    std::fs::write(&path, SCENARIO).unwrap();
    format!("scripted/{}", path.display())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_prints_its_answer_and_exits_with_zero() {
    let home = Home::new();
    let model = scenario(&home);
    let (code, out, err) = output(home.levain(&["run", "--model", &model, "hello"]).stdin(Stdio::null()));
    assert_eq!((code, out.as_str(), err.as_str()), (0, "A scripted answer.\n", ""));
    let mut child = home
        .levain(&["run", "--json", "--model", &model])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from a pipe").unwrap();
    let answered = child.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&answered.stdout).unwrap();
    assert_eq!(result["schema"], "levain.run/1");
    assert_eq!((&result["status"], &result["success"]), (&"completed".into(), &true.into()));
    assert_eq!(result["result"], "A scripted answer.");
    assert_eq!(result["cost"]["turns"], 1);
    home.wait_until_quiet();
}

#[test]
fn a_document_of_a_thread_begins_with_what_it_might_do() {
    let home = Home::new();
    let model = scenario(&home);
    let (_, out, _) = output(home.levain(&["run", "--json", "--model", &model, "hello"]).stdin(Stdio::null()));
    let result: Value = serde_json::from_str(&out).unwrap();
    let id = result["thread_id"].as_str().unwrap();
    let export = |form: &str| output(&mut home.levain(&["transcript", id, "--export", form])).1;
    let markdown = export("md");
    let head = format!("# {id}\n\n`levain/chat` · `{model}`\n\nCapabilities:\n\n```\n");
    assert!(markdown.starts_with(&head), "{markdown}");
    let reached = "rye.execute.tool.rye.file-system.read\n";
    assert!(
        markdown.contains(reached) && markdown.contains("rye.execute.tool.rye.bash (needs approval)"),
        "{markdown}"
    );
    assert!(export("html").contains(reached));
    let path = home.project().join(".ai/agent/threads").join(id).join("thread.json");
    let summary: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(summary["capabilities"].as_array().unwrap().len() > 3, "{summary}");
    home.wait_until_quiet();
}

#[test]
fn models_are_listed_with_what_is_missing() {
    let home = Home::new();
    let (code, out, _) = output(&mut home.levain(&["models", "--json"]));
    let rows = lines(&out);
    let find = |model: &str| rows.iter().find(|row| row["model"] == model).unwrap();
    assert_eq!((code, find("scripted/demo")["ready"].clone()), (0, true.into()));
    let haiku = find("anthropic/claude-haiku-5-5");
    assert_eq!((&haiku["schema"], &haiku["tiers"][0]), (&"levain.model/1".into(), &"fast".into()));
    assert!(haiku["missing"].as_str().unwrap().contains("ANTHROPIC_API_KEY"), "{haiku}");
    let (code, _, err) = output(home.levain(&["run", "--model", "zzz", "hello"]).stdin(Stdio::null()));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("`zzz` is no model or tier") && err.contains("fast"), "{err}");
}

#[test]
fn a_tool_round_goes_on_without_the_tool() {
    let home = Home::new();
    let model = scenario(&home);
    let (code, out, _) = output(home.levain(&["run", "--json", "--model", &model, "use a tool"]).stdin(Stdio::null()));
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &result["result"], &result["cost"]["turns"]), (0, &"It is not there.".into(), &2.into()));
    let id = result["thread_id"].as_str().unwrap();
    let (_, out, _) = output(&mut home.levain(&["transcript", "--json", id]));
    let names: Vec<String> = lines(&out).iter().map(|line| line["event_type"].as_str().unwrap().to_owned()).collect();
    let expected = [
        "thread_started",
        "worker_started",
        "permissions_set",
        "rules_set",
        "prompt_queued",
        "cognition_in",
        "context_injected",
        "system_prompt",
        "request_recorded",
        "cognition_out",
        "permission_denied",
        "tool_call_result",
        "request_recorded",
        "cognition_out",
        "thread_completed",
    ];
    assert_eq!(names, expected);
    let request = home.project().join(format!(".ai/agent/threads/{id}/requests/2.json"));
    let record: Value = serde_json::from_slice(&std::fs::read(request).unwrap()).unwrap();
    let layers: Vec<&str> =
        record["layers"].as_array().unwrap().iter().map(|layer| layer["id"].as_str().unwrap()).collect();
    let expected = [
        "levain/Constitution",
        "time",
        "project",
        "memory",
        "todo",
        "project_files",
        "skills",
        "ctx_environment",
        "ctx_directive_instruction",
        "levain/chat",
        "time",
        "project",
        "memory",
        "todo",
        "user",
        "turn",
    ];
    assert_eq!(layers[..expected.len()], expected);
    let tools: Vec<&str> =
        record["tools"].as_array().unwrap().iter().map(|tool| tool["item"].as_str().unwrap()).collect();
    assert_eq!(layers[expected.len()..], tools);
}

#[test]
fn a_run_at_its_limit_is_left_suspended_and_a_message_takes_it_up() {
    let home = Home::new();
    let model = scenario(&home);
    let run = ["run", "--json", "--model", &model, "--limit-turns", "1", "use a tool"];
    let (code, out, _) = output(home.levain(&run).stdin(Stdio::null()));
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &result["status"], &result["limit"]), (3, &"suspended".into(), &"turns_exceeded".into()));
    let reason = result["error"].as_str().unwrap();
    assert!(reason.starts_with("1 of 1 turns are used; send a message"), "{reason}");
    let id = result["thread_id"].as_str().unwrap();
    let rows = lines(&output(&mut home.levain(&["threads", "--json"])).1);
    assert_eq!((&rows[0]["status"], &rows[0]["pid"]), (&"suspended".into(), &Value::Null));
    let mut attach = home.levain(&["attach", id]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    attach.stdin.take().unwrap().write_all(b"please go on\n").unwrap();
    let attached = attach.wait_with_output().unwrap();
    let said = String::from_utf8(attached.stdout).unwrap();
    assert!(attached.status.success() && said.contains("A scripted answer."), "{said}");
    let events = lines(&output(&mut home.levain(&["transcript", "--json", id])).1);
    let of = |name: &str| events.iter().find(|event| event["event_type"] == name).map(|event| &event["payload"]);
    assert_eq!(of("limits_changed").unwrap()["limits"]["turns"], 2);
    let decided = of("hook_decided").unwrap();
    assert_eq!((&decided["hook"], &decided["action"]), (&"default_escalate_limit".into(), &"escalate".into()));
    assert!(of("thread_completed").is_some());
    home.wait_until_quiet();
}

#[test]
fn settings_say_what_is_tried_again() {
    let home = Home::new();
    let scenario = "name: t\nrate: 0\nreplies:\n  - when: {attempt: 2}\n    steps: [{text: Awake.}]\n  - steps:\n      \
                    - error: {status: 418, type: asleep, message: the model is asleep}\n";
    let path = home.path().join("asleep.yaml");
    std::fs::write(&path, scenario).unwrap();
    let model = format!("scripted/{}", path.display());
    let run = || output(home.levain(&["run", "--json", "--model", &model, "hi"]).stdin(Stdio::null()));
    assert_eq!(run().0, 1, "by itself it is final");
    let folder = home.project().join(".ai/config/agent");
    std::fs::create_dir_all(&folder).unwrap();
    let pattern = "{id: asleep, category: transient, codes: [asleep], retry_policy: {type: fixed, delay: 0.01}}";
    std::fs::write(folder.join("error_classification.yaml"), format!("patterns:\n- {pattern}\n")).unwrap();
    let (code, out, err) = run();
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &result["result"]), (0, &"Awake.".into()), "{err}");
    let id = result["thread_id"].as_str().unwrap();
    let events = lines(&output(&mut home.levain(&["transcript", "--json", id])).1);
    let retry = events.iter().find(|event| event["event_type"] == "retry_scheduled").unwrap();
    assert_eq!((&retry["payload"]["classification"], &retry["payload"]["delay_ms"]), (&"asleep".into(), &10.into()));
    std::fs::write(folder.join("resilience.yaml"), "retry: {max_attempts: 1}\n").unwrap();
    assert_eq!(run().0, 1, "one try is one try");
    home.wait_until_quiet();
}

#[test]
fn exit_codes_tell_what_happened() {
    let home = Home::new();
    let model = scenario(&home);
    let run = |arguments: &[&str]| {
        let mut all = vec!["run", "--model", model.as_str()];
        all.extend(arguments);
        output(home.levain(&all).stdin(Stdio::null()))
    };
    let (code, _, err) = run(&["fail please"]);
    assert_eq!(code, 1);
    assert!(err.contains("bad key"), "{err}");
    assert_eq!(run(&[]).0, 2);
    assert_eq!(run(&["--limit-turns", "1", "use a tool"]).0, 3);
    assert_eq!(run(&["--directive", "no/such", "x"]).0, 2);
    let (code, _, err) = output(home.levain(&["run", "--model", "nobody/x", "hi"]).stdin(Stdio::null()));
    assert!(code == 1 && err.contains("no provider `nobody`"), "{code} {err}");
    let (code, _, err) = output(home.levain(&["run", "--model", "anthropic/x", "hi"]).stdin(Stdio::null()));
    assert!(code == 1 && err.contains("ANTHROPIC_API_KEY"), "{code} {err}");
}

#[test]
fn threads_are_listed_newest_first() {
    let home = Home::new();
    let model = scenario(&home);
    assert_eq!(output(&mut home.levain(&["threads", "--json"])).1, "");
    for prompt in ["first", "second"] {
        assert_eq!(output(home.levain(&["run", "--model", &model, prompt]).stdin(Stdio::null())).0, 0);
    }
    let rows = lines(&output(&mut home.levain(&["threads", "--json"])).1);
    let titles: Vec<&str> = rows.iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["second", "first"]);
    assert!(rows.iter().all(|row| row["schema"] == "levain.thread/1" && row["status"] == "completed"), "{rows:?}");
    // In another order as many are looked at as there are.
    let rows = lines(&output(&mut home.levain(&["threads", "--json", "--order", "attention", "--most", "1"])).1);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let (code, _, err) = output(&mut home.levain(&["threads", "--order", "age"]));
    assert!(code == 2 && err.contains("use attention, cost, quiet"), "{err}");
    let (code, _, err) = output(&mut home.levain(&["transcript", "chat-"]));
    assert!(code == 2 && err.contains("fits 2 threads"), "{err}");
    let (code, _, err) = output(&mut home.levain(&["transcript", "nothing"]));
    assert!(code == 2 && err.contains("there is no thread `nothing`"), "{err}");
}

fn against(home: &Home, server: &ModelServer, arguments: &[&str]) -> Command {
    let mut command = home.levain(arguments);
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    command
}

/// Whether a thread keeps that text of an answer that is still under way.
fn keeps(home: &Home, text: &str) -> bool {
    let threads = std::fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().flatten();
    let mut kept = threads.flat_map(|thread| std::fs::read_to_string(thread.path().join("inflight.jsonl")));
    kept.any(|kept| kept.contains(text))
}

#[test]
fn an_interrupted_run_closes_its_connection() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut child = against(&home, &server, &["run", "--json", "--model", "anthropic/test", "hi"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let call = server.call();
    call.begin();
    call.text("so far");
    poll("text has arrived", || keeps(&home, "so far"));
    kill(Pid::from_child(&child), Signal::INT);
    call.closed();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut out = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut out).unwrap();
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&result["status"], &result["result"]), (&"cancelled".into(), &"so far".into()));
}

#[test]
fn who_attaches_is_asked_what_waits() {
    let home = Home::new();
    let piped = |command: &mut Command| {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut plain = piped(&mut home.levain(&["--plain", "--model", "scripted/tools"]));
    plain.stdin.as_mut().unwrap().write_all(b"write\n").unwrap();
    let mut read = std::io::BufRead::lines(std::io::BufReader::new(plain.stdout.take().unwrap()));
    assert!(read.any(|line| line.unwrap().contains("May it run?")));
    let mut attach = piped(&mut home.levain(&["attach", "chat-"]));
    let mut asked = std::io::BufRead::lines(std::io::BufReader::new(attach.stdout.take().unwrap()));
    assert!(asked.any(|line| line.unwrap().starts_with("? approval 1: rye/file-system/write")));
    attach.stdin.take().unwrap().write_all(b"/help\n/approve 7 once\n/approve 1 deny\n").unwrap();
    let Output { status, stderr, .. } = attach.wait_with_output().unwrap();
    let told = String::from_utf8(stderr).unwrap();
    assert!(status.success() && told.contains("/quit") && told.contains("; 1 does"), "{told}");
    drop(plain.stdin.take());
    assert!(plain.wait().unwrap().success());
    assert!(!home.project().join("hello.txt").exists());
    home.wait_until_quiet();
}

#[test]
fn a_run_can_be_watched_and_steered_from_elsewhere() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut run =
        against(&home, &server, &["run", "--model", "anthropic/test", "hi"]).stdout(Stdio::piped()).spawn().unwrap();
    let call = server.call();
    call.begin();
    let mut attach = against(&home, &server, &["attach", "--json", "chat-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = attach.stdin.take().unwrap();
    input.write_all(b"{\"name\":\"submit\",\"text\":\"also this\",\"mode\":\"steer\"}\n").unwrap();
    let mut heard = std::io::BufRead::lines(std::io::BufReader::new(attach.stdout.take().unwrap()));
    let acked = heard.find(|line| line.as_ref().unwrap().contains("\"type\":\"ack\""));
    assert!(acked.is_some());
    call.text("one");
    call.end();
    let call = server.call();
    assert_eq!(call.messages().last().unwrap().1, "also this");
    call.answer("two");
    drop(input);
    let rest: Vec<Value> = heard.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(rest.iter().all(|message| message["schema"] == "levain.worker/1"));
    assert!(rest.iter().any(|message| message["record"]["event_type"] == "thread_completed"), "{rest:?}");
    assert!(attach.wait().unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

#[test]
fn a_transcript_says_whose_a_result_is_where_several_calls_ran() {
    let home = Home::new();
    for (name, text) in [("a.txt", "alpha"), ("b.txt", "beta")] {
        std::fs::write(home.project().join(name), text).unwrap();
    }
    let read = |path: &str| format!("      - tool_call: {{name: rye_file_system_read, input: {{path: {path}}}}}\n");
    let scenario = format!(
        "name: s\nrate: 0\nreplies:\n  - when: {{after_tool: rye_file_system_read}}\n    steps: [{{text: Done.}}]\n  - steps:\n{}{}",
        read("a.txt"),
        read("b.txt")
    );
    let file = home.path().join("s.yaml");
    std::fs::write(&file, scenario).unwrap();
    let model = format!("scripted/{}", file.display());
    let (code, _, told) = output(&mut home.levain(&["run", "--model", &model, "look"]));
    assert_eq!(code, 0, "{told}");
    let (_, out, _) = output(&mut home.levain(&["transcript", "chat-"]));
    let result =
        |path: &str| out.split_once(&format!("✓ rye/file-system/read {{\"path\":\"{path}\"}}\n")).map(|(_, rest)| rest);
    assert!(result("a.txt").is_some_and(|rest| rest.lines().next().unwrap().ends_with("│ alpha")), "{out}");
    // One that stands right below its call needs no name.
    let below = "▸ rye/file-system/read {\"path\":\"b.txt\"}\n✓ 1:";
    assert!(result("b.txt").is_some() || out.contains(below), "{out}");
    assert!(out.contains("│ beta"), "{out}");
}

#[test]
fn a_run_in_the_background_goes_on_by_itself_and_can_be_killed() {
    let (home, server) = (Home::new(), ModelServer::start());
    let start = |words: &str| {
        let arguments = ["run", "--background", "--json", "--limit-turns", "7", "--model", "anthropic/test", words];
        let (code, out, told) = output(&mut against(&home, &server, &arguments));
        assert_eq!(code, 0, "{told}");
        let started: Value = serde_json::from_str(out.trim()).unwrap();
        assert_eq!(started["schema"], "levain.started/1");
        started["thread_id"].as_str().unwrap().to_owned()
    };
    let row = |id: &str| {
        let rows = lines(&output(&mut home.levain(&["threads", "--json"])).1);
        rows.into_iter().find(|row| row["thread_id"] == id).unwrap()
    };
    let done = start("answer me");
    let call = server.call();
    call.begin();
    call.text("done by itself");
    call.end();
    poll("it has completed", || row(&done)["status"] == "completed");
    assert_eq!(row(&done)["lineage"], serde_json::json!({"origin": "command_line"}));
    let (_, log, _) = output(&mut home.levain(&["transcript", &done, "--json"]));
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let payload = &first["payload"];
    assert_eq!(
        (&payload["limits"]["turns"], &payload["limits_by"]["turns"]),
        (&7.into(), &"override".into()),
        "{first}"
    );
    assert_eq!(payload["limits_by"]["spend"], "defaults");
    let hangs = start("never answered");
    let call = server.call();
    call.begin();
    let (code, out, _) = output(&mut home.levain(&["threads", "kill", &hangs, "--json"]));
    let line: Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!((code, &line["stopped"]), (0, &true.into()), "{line}");
    assert_eq!((&row(&hangs)["status"], &row(&hangs)["pid"]), (&"killed".into(), &Value::Null));
    poll("no process is left", || home.processes().is_empty());
}

#[test]
fn a_killed_run_is_reaped_by_the_next_look() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut run = against(&home, &server, &["run", "--model", "anthropic/test", "hi"]).spawn().unwrap();
    let call = server.call();
    call.begin();
    call.text("saved before the end");
    poll("text has arrived", || keeps(&home, "saved before the end"));
    run.kill().unwrap();
    run.wait().unwrap();
    let rows = lines(&output(&mut home.levain(&["threads", "--json"])).1);
    assert_eq!((&rows[0]["status"], &rows[0]["pid"]), (&"error".into(), &Value::Null));
    let (_, out, _) = output(&mut home.levain(&["transcript", "chat-"]));
    assert!(out.contains("saved before the end") && out.contains("ended unexpectedly"), "{out}");
}

#[test]
fn what_a_directive_names_and_is_not_there_is_told_before_it_runs() {
    let home = Home::new();
    let folder = home.project().join(".ai/directives");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, extends: &str, inside: &str| {
        let text = format!(
            "```xml\n<directive name=\"{name}\" version=\"1.0.0\" extends=\"{extends}\">\n<metadata>\n{inside}\n\
             <description>d</description><author>a</author></metadata>\n</directive>\n```\nGo.\n"
        );
        std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
    };
    write("one", "two", "");
    write("two", "one", "");
    let hook = "<hooks><hook id=\"h\" event=\"thread_started\"><action primary=\"fetch\" item_type=\"knowledge\" item_id=\"gone/away\"/></hook></hooks>";
    write("three", "two", hook);
    write("four", "levain/chat", "<model tier=\"genral\"/>");
    let (code, out, _) = output(&mut home.levain(&["check"]));
    assert_eq!(code, 1);
    for said in [
        "one.md:2: `extends` forms a cycle: one → two → one",
        "two.md:2: `extends` forms a cycle: two → one → two",
        "three.md:4: there is no knowledge `gone/away`",
        "four.md:4: `genral` is no model or tier",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    assert!(!out.contains("three.md:2"), "the circle is not its own: {out}");
    let (code, out, told) = output(&mut home.levain(&["context", "show", "four"]));
    assert_eq!(code, 0, "{told}");
    assert!(out.starts_with("four ·") && told.contains("`genral` is no model or tier"), "{told}");
    let folder = home.project().join(".ai/config/agent");
    std::fs::create_dir_all(&folder).unwrap();
    let hooks =
        "hooks:\n  - id: lost\n    event: build_system_prompt\n    action: {primary: fetch, item_id: team/gone}\n";
    std::fs::write(folder.join("hooks.yaml"), hooks).unwrap();
    let (_, out, _) = output(&mut home.levain(&["check"]));
    assert!(out.contains("hooks.yaml:2: there is no knowledge `team/gone`"), "{out}");
}

#[test]
fn a_broken_pipe_is_a_normal_end() {
    let home = Home::new();
    let model = scenario(&home);
    assert_eq!(output(home.levain(&["run", "--model", &model, "x"]).stdin(Stdio::null())).0, 0);
    let mut child =
        home.levain(&["transcript", "--json", "chat-"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn a_store_that_cannot_be_made_is_named() {
    let home = Home::new();
    let model = scenario(&home);
    assert_eq!(output(home.levain(&["run", "--model", &model, "x"]).stdin(Stdio::null())).0, 0);
    // A file where the folder of texts should be: nothing can be kept there.
    let objects = home.project().join(".ai/objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::write(&objects, "in the way").unwrap();
    let (code, out, err) = output(home.levain(&["run", "--model", &model, "y"]).stdin(Stdio::null()));
    assert_ne!(code, 101, "{err}");
    assert!(err.contains("objects"), "{code} {out} {err}");
}

#[test]
fn the_doctor_names_what_is_missing_and_the_remedy() {
    let home = Home::new();
    let settings = home.config().join("config.toml");
    std::fs::write(&settings, "mouse = 3\ntheme = \"mauve\"\n").unwrap();
    std::fs::write(home.config().join("keymap.toml"), "bind = [\n  { keys = \"F9\", command = \"app.qiut\" },\n]\n")
        .unwrap();
    let (code, out, err) = output(home.levain(&["doctor", "--json"]).stdin(Stdio::null()));
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let findings = lines(&out);
    assert!(findings.iter().all(|finding| finding["schema"] == "levain.finding/1"));
    let said = |words: &str| {
        let found = findings.iter().find(|finding| finding["message"].as_str().unwrap().contains(words));
        let found = found.unwrap_or_else(|| panic!("nothing says {words:?}: {out}"));
        (found["health"].clone(), found["remedy"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(said("config.toml:1").0, "error");
    assert_eq!(said("keymap.toml:2: there is no command `app.qiut`").1, "did you mean `app.quit`?");
    assert!(said("no theme `mauve`").1.contains("dark, light"));
    assert!(said("no model is called").1.contains("ANTHROPIC_API_KEY"));
    let (code, out, _) = output(&mut home.levain(&["check"]));
    for mistake in ["config.toml:1", "keymap.toml:2", "no theme `mauve`"] {
        assert!(out.contains(mistake), "the check and the doctor say the same: {out}");
    }
    assert_eq!(code, 1);
    std::fs::remove_file(&settings).unwrap();
    let (code, out, _) = output(&mut home.levain(&["doctor", "--model", "anthropic/x"]));
    assert!(code == 1 && out.contains("ANTHROPIC_API_KEY"), "{code} {out}");
}

#[test]
fn keys_and_themes_are_printed_as_files_to_begin_with() {
    let home = Home::new();
    let own = home.config().join("keymap.toml");
    std::fs::write(&own, "bind = [{ keys = \"F9\", command = \"app.quit\" }]\n").unwrap();
    let (code, out, err) = output(&mut home.levain(&["keymap"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("keys = [\"F9\"") && out.contains("command = \"edit.newline\""), "{out}");
    std::fs::write(&own, &out).unwrap();
    assert_eq!(output(&mut home.levain(&["keymap"])), (0, out, String::new()), "its own output is a keymap");
    let themes = home.config().join("themes");
    std::fs::create_dir_all(&themes).unwrap();
    let (code, dark, _) = output(&mut home.levain(&["theme", "dark"]));
    assert!(code == 0 && dark.contains("\"status.error\" = "), "{dark}");
    std::fs::write(themes.join("mine.toml"), &dark).unwrap();
    std::fs::write(home.config().join("config.toml"), "theme = \"mine\"\n").unwrap();
    let (_, out, _) = output(&mut home.levain(&["theme"]));
    assert!(out.contains("mine.toml, used") && out.lines().any(|line| line.starts_with("light ")), "{out}");
    assert_eq!(output(&mut home.levain(&["theme", "mine"])).1, dark);
    let (code, _, err) = output(&mut home.levain(&["theme", "../config"]));
    assert!(code == 2 && err.contains("there is no theme"), "{err}");
}

#[test]
fn signing_makes_a_file_vouched_for_until_it_changes() {
    let home = Home::new();
    let file = home.project().join("rules.md");
    std::fs::write(&file, "Be kind.\n").unwrap();
    let path = file.to_str().unwrap();
    let (code, _, err) = output(&mut home.levain(&["sign", path]));
    assert!(code == 1 && err.contains("levain keys generate"), "{err}");
    assert_eq!(output(&mut home.levain(&["keys", "generate", "--owner", "ann"])).0, 0);
    let (code, out, _) = output(&mut home.levain(&["sign", "--json", path, "nothing.md"]));
    let signed = lines(&out);
    assert_eq!((code, &signed[0]["status"], &signed[1]["status"]), (1, &"signed".into(), &"error".into()));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("<!-- levain:signed:") && text.ends_with(" -->\nBe kind.\n"), "{text}");
    let keys = lines(&output(&mut home.levain(&["keys", "list", "--json"])).1);
    assert_eq!(keys[0]["fingerprint"], signed[0]["fingerprint"]);
    assert_eq!((&keys[0]["owner"], &keys[0]["own"]), (&"ann".into(), &true.into()));
    let (code, _, err) = output(&mut home.levain(&["keys", "generate"]));
    assert!(code == 1 && err.contains("already"), "{err}");
}

#[test]
fn completions_know_the_commands() {
    let home = Home::new();
    let (code, out, _) = output(&mut home.levain(&["completions", "bash"]));
    assert!(code == 0 && out.contains("LEVAIN_COMPLETE") && out.contains("complete "), "{out}");
}

#[test]
fn items_are_found_by_words() {
    let home = Home::new();
    let write = |path: &str, title: &str| {
        let path = home.project().join(".ai/knowledge").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("```yaml\ntitle: {title}\nversion: 1.0.0\n```\nOf stripes.\n")).unwrap();
    };
    write("a.md", "A zebra");
    write("team/zebra.md", "The quagga");
    write("levain/core/Identity.md", "No horse");
    let search = |arguments: &[&str]| {
        let all: Vec<&str> = ["items"].into_iter().chain(arguments.iter().copied()).collect();
        output(&mut home.levain(&all))
    };
    let (code, out, err) = search(&["zebra", "OR", "\"the quagga\"", "--json", "--limit", "1"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["schema"], &found["query"]), (&"levain.search/1".into(), &"zebra OR \"the quagga\"".into()));
    assert_eq!((&found["total"], &found["limit"], &found["offset"]), (&2.into(), &1.into(), &0.into()));
    let result = &found["results"][0];
    assert_eq!((&result["id"], &result["title"]), (&"team/zebra".into(), &"The quagga".into()));
    assert_eq!((&result["preview"], &result["kind"]), (&"Of stripes.".into(), &"knowledge".into()));
    // A title and a name of two words, each of which weighs 3 of 10.5.
    assert_eq!(result["score"].as_f64(), Some(6.0 / 21.0));
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1));

    let (code, out, err) = search(&["zebra", "--offset", "1"]);
    assert!(code == 0 && out.contains("team/zebra") && out.contains("The quagga"), "{out}");
    assert_eq!(err, "");
    let (_, out, err) = search(&["stripes", "--scope", "knowledge", "--limit", "2"]);
    assert_eq!((out.lines().count(), err.as_str()), (4, "3 items fit; --offset 2 shows the next\n"), "{out}");
    let (_, out, _) = search(&["levain/core/Identity", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["results"][0]["shadows"][0]["space"], "system");
    assert_eq!(found["results"][1]["shadowed_by"]["space"], "project");
    assert_eq!(search(&["no", "such", "thing", "anywhere"]).2, "no item fits `no such thing anywhere`\n");

    let (code, out, err) = search(&["zebra", "(stripes"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let said = "error: the query is not valid at character 7: this parenthesis is never closed\n\
                hint: zebra (stripes\n            ^\n";
    assert_eq!(err, said);
    assert_eq!(search(&["--limit", "3"]).0, 2);
    assert_eq!(search(&["a", "--scope", "thing"]).0, 2);
}

#[test]
fn items_are_listed_and_checked() {
    let home = Home::new();
    let write = |path: &str, text: &str| {
        let path = home.project().join(".ai").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let directive = "```xml\n<directive name=\"greet\" version=\"1.0.0\"><metadata><description>Greets</description></metadata>\n\
                     <inputs><input name=\"who\" required=\"true\"/></inputs></directive>\n```\nGreet {input:who}.\n";
    write("directives/greet.md", directive);
    write("knowledge/levain/core/Identity.md", "Mine.");
    let (code, out, err) = output(&mut home.levain(&["items", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let items = lines(&out);
    let find = |id: &str| items.iter().find(|item| item["id"] == id).unwrap();
    assert_eq!((&find("rye/bash")["kind"], &find("rye/bash")["path"]), (&"tool".into(), &Value::Null));
    let (code, _, err) = output(&mut home.levain(&["items", "bash"]));
    assert_eq!((code, err.as_str()), (0, "built-in tools that fit: rye/bash\n"));
    assert_eq!(output(&mut home.levain(&["items", "--scope", "tool.rye.*", "bash"])).2, err);
    assert!(output(&mut home.levain(&["items", "--scope", "knowledge", "bash"])).2.starts_with("no item fits"));
    assert_eq!(
        (&find("greet")["schema"], &find("greet")["problems"]),
        (&"levain.item/1".into(), &serde_json::json!([]))
    );
    let identity = find("levain/core/Identity");
    assert_eq!((&identity["space"], &identity["shadows"][0]["space"]), (&"project".into(), &"system".into()));
    assert_eq!(identity["problems"][0]["message"], "holds no metadata");
    let (code, out, _) = output(&mut home.levain(&["check", "--json"]));
    assert_eq!((code, lines(&out).len()), (0, 1), "{out}");
    write("directives/bad.md", "no block");
    let (code, out, _) = output(&mut home.levain(&["check", ".ai/directives"]));
    assert_eq!(code, 1);
    assert!(out.contains("bad.md:1: holds no metadata") && out.ends_with("2 items: 1 error, 0 warnings\n"), "{out}");

    let model = scenario(&home);
    let run = |arguments: &[&str]| {
        let all: Vec<&str> =
            ["run", "--model", &model, "--directive"].into_iter().chain(arguments.iter().copied()).collect();
        output(home.levain(&all).stdin(Stdio::null()))
    };
    assert_eq!(run(&["greet", "--input", "who=Ada", "hello"]).0, 0);
    let (code, _, err) = run(&["greet", "hello"]);
    assert!(code == 2 && err.contains("the input `who` is missing"), "{err}");
    let (code, _, err) = run(&["geet", "hello"]);
    assert!(code == 2 && err.contains("did you mean `greet`?"), "{err}");
    // One word may be a directive or a command, two are a command.
    let (code, _, err) = output(home.levain(&["frobnicate"]).stdin(Stdio::null()));
    assert!(code == 2 && err.contains("if a command is meant: levain --help lists them"), "{err}");
    let (code, _, err) = output(home.levain(&["threds"]).stdin(Stdio::null()));
    assert!(code == 2 && err.contains("if a command is meant: levain threads"), "{err}");
    let (code, _, err) = output(home.levain(&["contxt", "show"]).stdin(Stdio::null()));
    assert!(code == 2 && err.contains("there is no command `contxt`; did you mean `context`?"), "{err}");
    home.wait_until_quiet();
}

#[test]
fn s06_a_run_that_completed_names_no_limit() {
    let home = Home::new();
    let model = scenario(&home);
    let control = "{primary: execute, item_type: tool, item_id: levain/control, params: {action: continue}}";
    let hooks = format!("hooks:\n- {{id: on, event: limit, action: {control}}}\n");
    std::fs::create_dir_all(home.home().join(".ai/config/agent")).unwrap();
    std::fs::write(home.home().join(".ai/config/agent/hooks.yaml"), hooks).unwrap();
    let (code, out, err) =
        output(&mut home.levain(&["run", "--json", "--model", &model, "--limit-turns", "1", "use a tool"]));
    let result: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out} {err}"));
    assert_eq!((code, &result["status"], &result["limit"]), (0, &"completed".into(), &Value::Null), "{result}");
    let id = result["thread_id"].as_str().unwrap();
    let events = output(&mut home.levain(&["transcript", id, "--json"])).1;
    assert!(events.contains("turns_exceeded"), "the limit was met: {events}");
    home.wait_until_quiet();
}

#[test]
fn a_run_that_can_never_save_its_texts_ends_and_says_why() {
    let home = Home::new();
    let objects = home.project().join(".ai/objects");
    fs::create_dir_all(&objects).unwrap();
    // No folder can be made where a file is.
    for number in 0..=u8::MAX {
        fs::write(objects.join(format!("{number:02x}")), "").unwrap();
    }
    let output = home.levain(&["run", "--model", "scripted/demo", "hello"]).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains(".ai/objects"), "{told}");
    home.wait_until_quiet();
}

#[test]
fn a_run_says_how_its_answer_ended_where_that_is_not_the_usual_end() {
    let home = Home::new();
    for (stop, told) in [("max_tokens", json!({"reason": "max_tokens"})), ("end_turn", Value::Null)] {
        let scenario = format!("name: s\nrate: 0\nreplies:\n  - steps: [{{text: half an answ}}, {{stop: {stop}}}]\n");
        let file = home.path().join(format!("{stop}.yaml"));
        fs::write(&file, scenario).unwrap();
        let model = format!("scripted/{}", file.display());
        let (_, out, err) = output(&mut home.levain(&["run", "--json", "--model", &model, "go"]));
        let result: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out} {err}"));
        assert_eq!((&result["stop"], &result["result"]), (&told, &json!("half an answ")), "{result}");
    }
    home.wait_until_quiet();
}
