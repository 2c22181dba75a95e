//! What a thread is about beside its conversation: its to-do list, and commands that it runs in the background.

use crate::support::terminal::{Home, Terminal, key, kill, output, poll};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::fs;

/// A project with a directive that may use `tools` and asks for the to-do list, and a script whose replies answer for it.
fn project(tools: &str, replies: &[Value]) -> (Home, String) {
    let home = Home::new();
    let lines = replies.iter().fold(String::new(), |lines, reply| lines + &format!("  - {reply}\n"));
    let script = home.path().join("work.yaml");
    fs::write(&script, format!("name: work\nrate: 0\nreplies:\n{lines}")).unwrap();
    let folder = home.project().join(".ai/directives");
    fs::create_dir_all(&folder).unwrap();
    let directive = format!(
        "```xml\n<directive name=\"work\"><metadata><permissions><execute>{tools}</execute></permissions>\
         <context><provider>todo</provider></context></metadata></directive>\n```\nWork.\n"
    );
    fs::write(folder.join("work.md"), directive).unwrap();
    let (code, _, err) = output(&mut home.levain(&["trust"]));
    assert_eq!(code, 0, "{err}");
    let model = format!("scripted/{}", script.display());
    (home, model)
}

fn run(home: &Home, model: &str) -> Value {
    let arguments = ["run", "--json", "--model", model, "--directive", "work"];
    let (_, out, err) = output(&mut home.levain(&arguments));
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
}

/// The text of a request of the thread.
fn request(home: &Home, thread: &str, number: u32) -> String {
    let (code, out, err) =
        output(&mut home.levain(&["context", "show", "--thread", thread, "--request", &number.to_string(), "--text"]));
    assert_eq!(code, 0, "{err}");
    out
}

#[test]
fn a_model_is_told_of_its_to_do_list_while_something_is_left() {
    let sets = |tasks: Value| json!({"tool_call": {"name": "levain_todo", "input": {"tasks": tasks}}});
    let task = |text: &str, progress: &str| json!({"text": text, "progress": progress});
    let (home, model) = project(
        "<tool>levain/todo</tool>",
        &[
            json!({"when": {"anywhere": "[x] mend"}, "steps": [{"text": "done"}]}),
            json!({"when": {"anywhere": "[>] mend"}, "steps": [sets(json!([task("look", "done"), task("mend", "done")]))]}),
            json!({"when": {"anywhere": "Work"}, "steps": [sets(json!([task("look", "done"), task("mend", "active")]))]}),
        ],
    );
    let result = run(&home, &model);
    assert_eq!(result["status"], "completed", "{result}");
    let thread = result["thread_id"].as_str().unwrap();
    let shows = |number, what: &str| request(&home, thread, number).contains(what);
    assert!(shows(1, "You have a to-do list."), "{}", request(&home, thread, 1));
    assert!(!shows(1, "To-do list:\n"), "{}", request(&home, thread, 1));
    assert!(shows(2, "To-do list:\n[x] look\n[>] mend"), "{}", request(&home, thread, 2));
    assert!(!shows(3, "To-do list:\n"), "{}", request(&home, thread, 3));
}

const BASH: &str = "<tool>rye/bash</tool>";

fn calls(name: &str, input: &Value) -> Value {
    json!({"tool_call": {"name": name, "input": input}})
}

fn background(command: &str) -> Value {
    calls("rye_bash", &json!({"command": command, "background": true}))
}

fn looks_after(input: &Value) -> Value {
    calls("rye_agent_threads_internal_commands", input)
}

/// What the events of that name say, in order.
fn told(home: &Home, thread: &str, event: &str) -> Vec<Value> {
    let path = home.project().join(".ai/agent/threads").join(thread).join("transcript.jsonl");
    let lines = fs::read_to_string(path).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event_type"] == event).map(|line| line["payload"].clone()).collect()
}

#[test]
fn a_command_runs_beside_the_conversation_until_it_is_stopped() {
    let (home, model) = project(
        BASH,
        &[
            json!({"when": {"anywhere": "(command-1 ended: stopped"}, "steps": [{"text": "done"}]}),
            json!({"when": {"anywhere": "line-3\n(command-1 runs;"},
                "steps": [looks_after(&json!({"operation": "stop", "command": "command-1"}))]}),
            json!({"when": {"anywhere": "command-1 runs. rye_agent_threads_internal_commands reads"},
                "steps": [looks_after(&json!({"operation": "wait", "timeout": 2}))]}),
            json!({"when": {"anywhere": "Work"}, "steps": [background("for i in 1 2 3; do echo line-$i; sleep 0.1; done; sleep 300")]}),
        ],
    );
    let result = run(&home, &model);
    assert_eq!((&result["status"], &result["result"]), (&json!("completed"), &json!("done")), "{result}");
    let thread = result["thread_id"].as_str().unwrap();
    // The tool that looks after commands is told of once there is one, and how they stand, with each call.
    let about =
        "Commands that you started in the background (rye_agent_threads_internal_commands reads their output):\n";
    assert!(!request(&home, thread, 1).contains("Commands that you started"), "{}", request(&home, thread, 1));
    assert!(
        request(&home, thread, 2).contains(&format!("{about}command-1 runs: for i in 1 2 3;")),
        "{}",
        request(&home, thread, 2)
    );
    assert!(
        request(&home, thread, 4).contains(&format!("{about}command-1 ended: stopped: for i in")),
        "{}",
        request(&home, thread, 4)
    );
    let ended = told(&home, thread, "command_ended");
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!((&ended[0]["call_id"], &ended[0]["error"]), (&json!("command-1"), &json!("(stopped)")));
    assert!(ended[0]["output"].as_str().unwrap().contains("line-3"), "{ended:?}");
    let (code, out, err) = output(&mut home.levain(&["threads", "background", thread]));
    assert_eq!((code, out.starts_with("command-1  ended: stopped  for i in 1 2 3;")), (0, true), "{out}{err}");
    let (_, out, _) = output(&mut home.levain(&["threads", "background", thread, "--output", "command-1"]));
    assert_eq!(out.lines().next(), Some("line-1"), "{out}");
    home.wait_until_quiet();
}

#[test]
fn a_command_ends_with_its_thread_and_no_more_than_eight_run() {
    let nine: Vec<Value> = (0..9).map(|_| background("sleep 300")).collect();
    let (home, model) = project(
        BASH,
        &[
            json!({"when": {"anywhere": "8 commands run already; stop one first"}, "steps": [{"text": "done"}]}),
            json!({"when": {"anywhere": "Work"}, "steps": nine}),
        ],
    );
    let result = run(&home, &model);
    assert_eq!(result["status"], "completed", "{result}");
    let thread = result["thread_id"].as_str().unwrap();
    assert_eq!(told(&home, thread, "command_started").len(), 8);
    let ended = told(&home, thread, "command_ended");
    assert_eq!(ended.len(), 8, "{ended:?}");
    assert!(ended.iter().all(|one| one["error"] == "Stopped with its thread."), "{ended:?}");
    home.wait_until_quiet();
}

#[test]
fn what_ends_at_once_is_an_error_and_what_it_printed_is_told() {
    let (home, model) = project(
        BASH,
        &[
            json!({"when": {"anywhere": "(command-2 ended well; it has printed nothing)"}, "steps": [{"text": "done"}]}),
            json!({"when": {"anywhere": "no such server\n(command-1 ended: exit code 3; all that it printed)"}, "steps": [background("true")]}),
            json!({"when": {"anywhere": "Work"}, "steps": [background("echo no such server; exit 3")]}),
        ],
    );
    let result = run(&home, &model);
    assert_eq!((&result["status"], &result["result"]), (&json!("completed"), &json!("done")), "{result}");
    let results = told(&home, result["thread_id"].as_str().unwrap(), "tool_call_result");
    assert!(results[0]["error"].as_str().unwrap().contains("exit code 3"), "{results:?}");
    assert_eq!(results[1]["error"], Value::Null, "{results:?}");
}

/// A screen in which a model has started a command that goes on.
fn started(home: &Home, model: &str) -> Terminal {
    let terminal = home.levain_in_terminal(&["--model", model, "work"]).size(120, 30).start();
    terminal.wait_for("enter starts it");
    terminal.send_keys("go\r");
    terminal.wait_for("It is up.");
    terminal.wait_for("$ command-1  echo up-$((20+1)); sleep 300");
    terminal
}

fn server_project() -> (Home, String) {
    project(
        BASH,
        &[
            json!({"when": {"after_tool": "rye_bash"}, "steps": [{"text": "It is up."}]}),
            json!({"when": {"anywhere": "go"}, "steps": [background("echo up-$((20+1)); sleep 300")]}),
        ],
    )
}

#[test]
fn a_person_sees_what_runs_beside_the_conversation_and_stops_it() {
    let (home, model) = server_project();
    let terminal = started(&home, &model);
    // It stands in the tree below its thread, also for those who only look at the list.
    poll("the tree shows it", || {
        let (_, out, _) = output(&mut home.levain(&["threads", "tree"]));
        out.lines().nth(1) == Some("  $ command-1 echo up-$((20+1)); sleep 300")
    });
    terminal.send_keys("\x14");
    terminal.wait_for("go  $ command-1 echo up-$((20+1)); sleep 300");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("threads ·");
    terminal.send_keys("/background\r");
    terminal.wait_for("command-1 runs: echo up");
    terminal.wait_for("up-21");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("up-21");
    terminal.send_keys("/background stop command-7\r");
    terminal.wait_for("`command-7` does not run; there is command-1");
    terminal.send_keys("\x15/background stop\r");
    terminal.wait_for("command-1 ended: stopped");
    terminal.wait_gone("$ command-1");
    poll("the tree no longer shows it", || output(&mut home.levain(&["threads", "tree"])).1.lines().count() == 1);
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_command_ends_with_a_worker_that_is_killed() {
    let (home, model) = server_project();
    let terminal = started(&home, &model);
    let threads = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap();
    let mut names = threads.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let thread = names.find(|name| name.starts_with("work-")).unwrap();
    let is_command = |pid: &Pid| {
        let words = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        words.starts_with(b"sleep\x00300")
    };
    poll("the command runs", || home.processes().iter().any(is_command));
    let worker = home.processes().into_iter().find(|pid| {
        let words = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        words.windows(7).any(|part| part == b"\0worker")
    });
    kill(worker.expect("a worker"), Signal::KILL);
    poll("the command is gone", || !home.processes().iter().any(is_command));
    terminal.kill();
    let (_, out, err) = output(&mut home.levain(&["threads", "background", &thread]));
    assert!(out.starts_with("command-1  ended: its thread's process ended"), "{out}{err}");
    // Whoever goes on with the thread finds it ended in the log.
    let terminal = home.levain_in_terminal(&["--model", &model, "--continue"]).size(120, 30).start();
    terminal.wait_for("It is up.");
    terminal.send_keys("and now?\r");
    poll("its end is in the log", || !told(&home, &thread, "command_ended").is_empty());
    terminal.leave();
    home.wait_until_quiet();
}
