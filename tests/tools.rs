//! Tools, permissions and approvals in the whole program, with a scripted model.

use crate::support::terminal::{Home, Terminal, key, kill, poll};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::fs;
use std::process::{Output, Stdio};

const SCENARIO: &str = r#"
name: tools
rate: 0
replies:
  - when: { after_tool: rye_file_system_write }
    steps: [ { text: "Seen: {input}", echo: true } ]
  - when: { after_tool: rye_bash }
    steps: [ { text: "Seen: {input}", echo: true } ]
  - when: { after_tool: rye_file_system_read }
    steps: [ { text: "Seen: {input}", echo: true } ]
  - when: { equals: write }
    steps: [ { tool_call: { name: rye_file_system_write, input: { path: made.txt, content: "made by a tool\n" } } } ]
  - when: { equals: run }
    steps: [ { tool_call: { name: rye_bash, input: { command: "echo one; echo two >&2; exit 3" } } } ]
  - when: { equals: env }
    steps: [ { tool_call: { name: rye_bash, input: { command: env } } } ]
  - when: { equals: sleep }
    steps: [ { tool_call: { name: rye_bash, input: { command: "echo so'' far; touch begun; sleep 300 & sleep 300" } } } ]
  - when: { equals: both }
    steps:
      - tool_call: { name: rye_bash, input: { command: "echo first > order" } }
      - tool_call: { name: rye_bash, input: { command: "echo second >> order" } }
  - when: { equals: misfit }
    steps: [ { tool_call: { name: rye_bash, input: { cwd: "." } } } ]
  - when: { equals: outside }
    steps: [ { tool_call: { name: rye_file_system_read, input: { path: ../secret.txt } } } ]
  - when: { equals: link }
    steps: [ { tool_call: { name: rye_file_system_read, input: { path: link/secret.txt } } } ]
  - when: { equals: denied }
    steps: [ { tool_call: { name: team_deploy, input: {} } } ]
  - steps: [ { text: "Well." } ]
"#;

fn home() -> (Home, String) {
    let home = Home::new();
    let path = home.path().join("scenario.yaml");
    fs::write(&path, SCENARIO).unwrap();
    fs::write(home.path().join("secret.txt"), "the-outer-secret").unwrap();
    std::os::unix::fs::symlink(home.path(), home.project().join("link")).unwrap();
    let model = format!("scripted/{}", path.display());
    (home, model)
}

fn open(home: &Home, model: &str) -> Terminal {
    let terminal = home.levain_in_terminal(&["--model", model]).env("ANTHROPIC_API_KEY", "sk-very-secret").start();
    terminal.wait_for("A new thread");
    terminal
}

/// Waits until the panel can be answered, then answers.
fn answer(terminal: &Terminal, letter: &str) {
    terminal.wait_for("allow once");
    terminal.send_keys(letter);
    if letter == "a" {
        // For good is said twice.
        terminal.wait_for("always allow");
        terminal.send_keys(letter);
    }
    terminal.wait_gone("┌ approval");
}

/// The events of the only thread.
fn log(home: &Home) -> Vec<Value> {
    let threads = home.project().join(".ai/agent/threads");
    let logs = fs::read_dir(threads).into_iter().flatten().flatten().map(|entry| entry.path().join("transcript.jsonl"));
    let text: String = logs.filter_map(|path| fs::read_to_string(path).ok()).collect();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn events<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["event_type"] == name).map(|event| &event["payload"]).collect()
}

/// Processes of this home whose command line holds `word`.
fn running(home: &Home, word: &str) -> Vec<Pid> {
    let named = |pid: &Pid| {
        let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    home.processes().into_iter().filter(named).collect()
}

fn run(home: &Home, model: &str, arguments: &[&str]) -> (i32, Value, String) {
    let mut all = vec!["run", "--json", "--model", model];
    all.extend(arguments);
    let Output { status, stdout, stderr } =
        home.levain(&all).env("ANTHROPIC_API_KEY", "sk-very-secret").stdin(Stdio::null()).output().unwrap();
    let result = serde_json::from_slice(&stdout).unwrap_or(Value::Null);
    (status.code().unwrap_or(-1), result, String::from_utf8_lossy(&stderr).into_owned())
}

#[test]
fn a_call_is_approved_and_runs() {
    let (home, model) = home();
    let terminal = open(&home, &model);
    terminal.send_keys("write\r");
    terminal.wait_for("waiting for approval");
    terminal.wait_for("+made by a tool");
    assert!(!home.project().join("made.txt").exists());
    answer(&terminal, "y");
    terminal.wait_for("Seen: created made.txt");
    assert_eq!(fs::read_to_string(home.project().join("made.txt")).unwrap(), "made by a tool\n");
    terminal.leave();
    let log = log(&home);
    assert_eq!(events(&log, "approval_given")[0]["decision"], "once");
    let record = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().flatten();
    let record = record.map(|entry| entry.path().join("requests/1.json")).find(|path| path.exists()).unwrap();
    let record: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    let items: Vec<_> = record["tools"].as_array().unwrap().iter().map(|tool| tool["item"].as_str().unwrap()).collect();
    assert!(items.contains(&"rye/bash") && items.contains(&"rye/file-system/read"), "{items:?}");
    home.wait_until_quiet();
}

#[test]
fn a_refusal_says_why_and_the_question_does_too() {
    let (home, model) = home();
    let terminal = open(&home, &model);
    terminal.send_keys("write\r");
    terminal.wait_for("needs rye.execute.tool.rye.file-system.write · the directive requires approval");
    terminal.wait_for("say why");
    terminal.send_keys("r");
    terminal.wait_for("› /deny");
    terminal.send_keys("put it below docs\r");
    terminal.wait_for("did not allow it, and says:");
    terminal.wait_for("put it below docs");
    assert!(!home.project().join("made.txt").exists());
    terminal.leave();
    let log = log(&home);
    let given = events(&log, "approval_given")[0];
    assert_eq!((&given["decision"], &given["said"]), (&Value::from("deny"), &Value::from("put it below docs")));
    home.wait_until_quiet();
}

#[test]
fn nobody_is_asked_about_a_call_that_cannot_work() {
    let (home, model) = home();
    let terminal = open(&home, &model);
    terminal.send_keys("misfit\r");
    terminal.wait_for("Seen: Not run: command is missing.");
    terminal.leave();
    assert!(events(&log(&home), "approval_requested").is_empty());
    home.wait_until_quiet();
}

#[test]
fn a_project_is_trusted_on_the_screen_with_what_can_run_before_the_eyes() {
    let (home, model) = home();
    let tool = home.project().join(".ai/tools/team/deploy.sh");
    fs::create_dir_all(tool.parent().unwrap()).unwrap();
    fs::write(&tool, "echo deployed\n").unwrap();
    let status = || {
        let output = home.levain(&["trust", "--show", "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["status"].clone()
    };
    let terminal = open(&home, &model);
    terminal.send_keys("/trust\r");
    terminal.wait_for("Trust this project as it is now");
    terminal.wait_for(".ai/tools/team/deploy.sh");
    // What was listed is what is trusted.
    fs::write(&tool, "echo something else\n").unwrap();
    terminal.send_keys(key::ENTER);
    terminal.wait_for("has changed meanwhile");
    assert_eq!(status(), "untrusted");
    terminal.send_keys("/trust\r");
    terminal.wait_for("Trust this project as it is now");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("you trust this project as it is now");
    assert_eq!(status(), "trusted");
    terminal.leave();
}

/// Whether the terminal was sent these bytes.
fn was_sent(terminal: &Terminal, bytes: &[u8]) -> bool {
    terminal.bytes().windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn somebody_who_looks_elsewhere_is_called() {
    for (settings, called) in [
        (&[][..], &b"\x1b]9;levain: levain/chat needs approval: write\x1b\\\x07"[..]),
        (
            &[("LEVAIN_NOTIFICATIONS", "osc777"), ("LEVAIN_BELL", "false")],
            b"\x1b]777;notify;levain;levain/chat needs approval: write\x1b\\",
        ),
    ] {
        let (home, model) = home();
        let mut launch = home.levain_in_terminal(&["--model", &model]);
        for (name, value) in settings {
            launch = launch.env(name, value);
        }
        let terminal = launch.start();
        terminal.wait_for("A new thread");
        poll("the window has its name", || {
            was_sent(&terminal, "\x1b]2;project · levain/chat · levain\x1b\\".as_bytes())
        });
        // While the window is in front nobody is called.
        terminal.send_keys("write\r");
        terminal.wait_for("allow once");
        assert!(!was_sent(&terminal, b"needs approval: write"));
        answer(&terminal, "y");
        terminal.wait_for("Seen: created made.txt");
        terminal.send_keys("write");
        terminal.wait_for("› write");
        terminal.send_keys("\x1b[O\r");
        poll("the person is called", || was_sent(&terminal, called));
        assert!(was_sent(&terminal, "\x1b]2;? project".as_bytes()));
        terminal.send_keys("\x1b[I");
        answer(&terminal, "y");
        terminal.wait_until("the thread has answered again", |screen| screen.contents().matches("Seen: ").count() > 1);
        terminal.wait_gone("● ");
        terminal.leave();
        home.wait_until_quiet();
    }
}

#[test]
fn a_thread_that_asks_is_told_wherever_one_is() {
    let (home, model) = home();
    let here = home.levain_in_terminal(&["--model", &model]).size(80, 24).start();
    here.wait_for("A new thread");
    let there = open(&home, &model);
    there.send_keys("write\r");
    there.wait_for("allow once");
    here.wait_for("another thread needs approval: write");
    // Where the threads have a column of their own, it follows too.
    here.resize(160, 45);
    here.wait_for("approval");
    answer(&there, "y");
    there.wait_for("Seen: created made.txt");
    here.wait_until("the column follows", |screen| {
        let text = screen.contents();
        let title = text.lines().next().unwrap_or_default();
        !title.contains("needs approval") && text.contains("idle")
    });
    there.leave();
    here.send_keys("\x04");
    here.wait_exit().assert_code(0).assert_restored();
    home.wait_until_quiet();
}

#[test]
fn esc_denies_the_call_and_the_thread_goes_on() {
    let (home, model) = home();
    let terminal = open(&home, &model);
    terminal.send_keys("both\r");
    terminal.wait_for("echo first > order");
    terminal.send_keys(key::ESC);
    terminal.wait_for("echo second >> order");
    answer(&terminal, "y");
    terminal.wait_for("Seen: Refused");
    assert_eq!(fs::read_to_string(home.project().join("order")).unwrap(), "second\n");
    terminal.leave();
    let log = log(&home);
    assert_eq!(events(&log, "permission_denied")[0]["reason"], "refused");
    assert_eq!(events(&log, "tool_call_result").len(), 2);
    assert!(events(&log, "turn_cancelled").is_empty());
}

#[test]
fn an_answer_for_good_is_remembered_in_the_next_thread() {
    let (home, model) = home();
    let terminal = open(&home, &model);
    terminal.send_keys("run\r");
    answer(&terminal, "a");
    terminal.wait_for("exit code 3");
    terminal.send_keys("run\r");
    poll("it runs again unasked", || events(&log(&home), "tool_call_result").len() == 2);
    terminal.leave();
    home.wait_until_quiet();
    let terminal = open(&home, &model);
    terminal.send_keys("run\r");
    poll("a new thread does not ask", || events(&log(&home), "tool_call_result").len() == 3);
    assert_eq!(events(&log(&home), "approval_requested").len(), 1);
    let file = fs::read_to_string(home.config().join("approvals.toml")).unwrap();
    assert!(file.contains("rye.execute.tool.rye.bash"), "{file}");
    terminal.leave();
}

#[test]
fn an_interrupt_ends_the_whole_group() {
    let (home, model) = home();
    let terminal = open(&home, &model);
    terminal.send_keys("sleep\r");
    answer(&terminal, "y");
    poll("it runs", || home.project().join("begun").exists());
    assert!(!running(&home, "sleep").is_empty());
    terminal.wait_for("so far");
    terminal.send_keys(key::ESC);
    poll("the group is gone", || running(&home, "sleep").is_empty());
    terminal.wait_for("Stopped by the user");
    let log = log(&home);
    let results = events(&log, "tool_call_result");
    assert_eq!(results.len(), 1, "the call has its result");
    assert_eq!(results[0]["output"], "so far\nStopped by the user.", "what it printed is kept");
    terminal.send_keys("hello\r");
    terminal.wait_for("Well.");
    terminal.leave();
}

#[test]
fn what_a_killed_worker_ran_is_reaped() {
    let (home, model) = home();
    let terminal = open(&home, &model);
    terminal.send_keys("sleep\r");
    answer(&terminal, "y");
    poll("it runs", || home.project().join("begun").exists());
    let workers = running(&home, "worker");
    assert_eq!(workers.len(), 1);
    kill(workers[0], Signal::KILL);
    terminal.wait_for("unexpectedly");
    poll("the group is gone", || running(&home, "sleep").is_empty());
    terminal.send_keys("hello\r");
    terminal.wait_for("Well.");
    let log = log(&home);
    assert!(events(&log, "tool_call_result")[0]["error"].as_str().unwrap().contains("Interrupted"));
    terminal.leave();
}

#[test]
fn nothing_outside_the_project_is_read() {
    let (home, model) = home();
    for (prompt, words) in
        [("outside", "outside the project"), ("link", "outside the project"), ("denied", "does not grant")]
    {
        let (code, result, _) = run(&home, &model, &[prompt]);
        assert_eq!(code, 0, "{result}");
        let log = log(&home);
        let output = events(&log, "tool_call_result").last().unwrap()["output"].as_str().unwrap().to_owned();
        assert!(output.contains(words), "{prompt}: {output}");
        assert!(!result.to_string().contains("the-outer-secret"));
        fs::remove_dir_all(home.project().join(".ai/agent")).unwrap();
    }
}

#[test]
fn a_run_denies_what_would_ask_unless_it_was_allowed() {
    let (home, model) = home();
    let (code, result, err) = run(&home, &model, &["run"]);
    assert_eq!((code, &result["approvals"][0]), (4, &"rye.execute.tool.rye.bash".into()), "{err}");
    assert!(err.contains("--allow rye.execute.tool.rye.bash"), "{err}");
    assert_eq!(result["success"], true);
    let (code, result, err) = run(&home, &model, &["--allow", "bash", "run"]);
    assert_eq!(code, 0, "{err}");
    assert!(result["result"].as_str().unwrap().contains("one\ntwo\n(exit code 3)"), "{result}");
    // What the directive does not grant cannot be allowed.
    let (code, result, _) = run(&home, &model, &["--allow", "team/deploy", "denied"]);
    assert_eq!((code, result["approvals"].is_null()), (0, true));
}

#[test]
fn a_strangers_directive_allows_nothing_until_the_project_is_trusted() {
    let (home, model) = home();
    for (name, extends) in [("own", ""), ("base", " extends=\"levain/core/base\"")] {
        let granted = if extends.is_empty() { "<permissions><execute>*</execute></permissions>" } else { "" };
        let text = format!(
            "```xml\n<directive name=\"{name}\" version=\"1.0.0\"{extends}><metadata>{granted}</metadata></directive>\n```\nDo it.\n"
        );
        let path = home.project().join(format!(".ai/directives/team/{name}.md"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for name in ["team/own", "team/base"] {
        let (code, _, err) = run(&home, &model, &["--directive", name, "run"]);
        assert_eq!(code, 4, "{name}: {err}");
        assert!(err.contains("need approval until you trust") && err.contains("levain trust"), "{err}");
    }
    assert!(home.levain(&["trust"]).status().unwrap().success());
    for name in ["team/own", "team/base"] {
        let (code, result, err) = run(&home, &model, &["--directive", name, "run"]);
        assert_eq!(code, 0, "{name}: {err}");
        assert!(result["result"].as_str().unwrap().contains("one\ntwo"), "{result}");
    }
    assert!(home.levain(&["trust", "--revoke"]).status().unwrap().success());
    assert_eq!(run(&home, &model, &["--directive", "team/own", "run"]).0, 4);
}

#[test]
fn keys_do_not_reach_commands() {
    let (home, model) = home();
    let (code, result, _) = run(&home, &model, &["--allow", "bash", "env"]);
    let seen = result["result"].as_str().unwrap();
    assert!(code == 0 && seen.contains("PATH="), "{seen}");
    assert!(!seen.contains("sk-very-secret") && !seen.contains("ANTHROPIC_API_KEY"), "{seen}");
}
