//! Threads that continue others: what the new one is told and may use, who follows it, and what stays of the old one.

use crate::support::conversation::{has_said, say, screen};
use crate::support::model_server::{Call, KEY, ModelServer};
use crate::support::terminal::{Home, poll};
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};

const LS: &str = "rye_file_system_ls";

fn against(home: &Home, server: &ModelServer, arguments: &[&str]) -> Command {
    let mut command = home.levain(arguments);
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    command
}

fn run(home: &Home, server: &ModelServer, more: &[&str]) -> Child {
    let arguments = [&["run", "--json", "--model", "anthropic/test-model"], more].concat();
    against(home, server, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn result(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    let output = home.levain(arguments).stdin(Stdio::null()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn log(home: &Home, id: &str) -> Vec<Value> {
    let path = home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl");
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn event<'a>(log: &'a [Value], name: &str) -> &'a Value {
    let found = log.iter().find(|record| record["event_type"] == name);
    &found.unwrap_or_else(|| panic!("no {name} in {log:#?}"))["payload"]
}

/// A home in which full windows lead to another thread, with a directive that wants to be told something.
fn home() -> Home {
    let home = Home::new();
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("home/.ai/config/agent/coordination.yaml", "continuation: { hand_off: true, keep_tokens: 0 }\n");
    write(
        "project/.ai/directives/team/long.md",
        "```xml\n<directive name=\"long\"><metadata><limits turns=\"9\" spawns=\"3\"/><permissions><execute>\
         <tool>rye/file-system/*</tool><tool>rye/agent/threads/*</tool></execute></permissions></metadata>\
         <inputs><input name=\"what\" required=\"true\">what to count</input></inputs></directive>\n```\n\
         Count all {input:what}.\n",
    );
    assert!(home.levain(&["trust"]).output().unwrap().status.success());
    home
}

/// The call does not fit into the window.
fn too_long(call: &Call) {
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message":
        "prompt is too long: 210000 tokens > 200000 maximum"}});
    call.raw(format!("event: error\ndata: {error}\n\n").into_bytes());
}

/// Takes two turns of tools, and has the next request not fit; answers the request for the summary.
fn fill_window(server: &ModelServer, summary: &str) {
    for path in [".", ".ai"] {
        server.call().tool(LS, &json!({ "path": path }));
    }
    too_long(&server.call());
    let call = server.call();
    assert!(has_said(&call.messages(), "<conversation>"), "{:?}", call.messages());
    call.answer(summary);
}

#[test]
fn chain_of_three_threads_ends_in_one_answer() {
    let (home, server) = (home(), ModelServer::start());
    let child = run(&home, &server, &["--directive", "team/long", "--input", "what=files", "and say how many"]);
    fill_window(&server, "Half of them: 21.");
    let call = server.call();
    let messages = call.messages();
    let body = call.body["messages"].as_array().unwrap();
    let (first, last) = (body[0].to_string(), body.last().unwrap());
    assert!(first.contains("This conversation began in the thread") && first.contains("Half of them: 21."), "{first}");
    // What was said last stays, and what the thread is about comes behind what was taken over.
    assert!(has_said(&messages[..messages.len() - 1], "and say how many"), "{messages:#?}");
    let told = last.to_string();
    assert!(last["role"] == "user" && told.contains("Count all files.") && told.contains("next open step"), "{last}");
    let said = call.body["messages"].to_string();
    assert_eq!(said.matches("\"tool_use\"").count(), said.matches("\"tool_result\"").count(), "{said}");
    call.tool(LS, &json!({"path": ".ai"}));
    too_long(&server.call());
    let summary = server.call();
    // The older summary is among what is summarised.
    assert!(has_said(&summary.messages(), "Half of them: 21."), "{:?}", summary.messages());
    summary.answer("All but one: 41.");
    let call = server.call();
    assert!(call.body["messages"][0].to_string().contains("All but one: 41."));
    call.answer("There are 42.");
    let result = result(child);
    assert_eq!((&result["success"], &result["result"]), (&json!(true), &json!("There are 42.")), "{result}");
    let ids: Vec<&str> = result["continues"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let [a, b] = ids[..] else { panic!("{result}") };
    let c = result["thread_id"].as_str().unwrap();
    assert_eq!(result["cost"]["turns"], 4, "the turns of all three");

    // The same place in the tree, the rest of the limits, the same inputs; each end is told once.
    for (id, next, turns) in [(a, b, 9), (b, c, 7)] {
        let log = log(&home, id);
        assert_eq!(event(&log, "thread_handoff")["new_thread_id"], next);
        assert_eq!(event(&log, "thread_continued")["new_thread_id"], next);
        let started = event(&log, "thread_started");
        assert_eq!((&started["limits"]["turns"], &started["inputs"]["what"]), (&json!(turns), &json!("files")));
        let ends = ["thread_completed", "thread_error", "thread_continued", "thread_cancelled"];
        assert_eq!(log.iter().filter(|record| ends.iter().any(|end| record["event_type"] == *end)).count(), 1);
    }
    let started = log(&home, c);
    let lineage = &event(&started, "thread_started")["lineage"];
    assert_eq!((&lineage["previous"], &lineage["chain"], &lineage["parent"]), (&json!(b), &json!(a), &Value::Null));
    for member in [a, b, c] {
        let chain = json(&home, &["threads", "chain", "--json", member]);
        let told: Vec<&Value> = chain["chain"].as_array().unwrap().iter().map(|link| &link["thread_id"]).collect();
        assert_eq!(told, [a, b, c]);
        let waited = json(&home, &["threads", "wait", "--json", member]);
        assert_eq!((&waited["thread_id"], &waited["status"]), (&json!(c), &json!("completed")));
    }
    let result = json(&home, &["threads", "result", "--json", a]);
    assert_eq!((&result["status"], &result["continuation_thread_id"]), (&json!("continued"), &json!(b)));
    home.wait_until_quiet();
}

#[test]
fn a_parent_gets_the_answer_of_the_thread_that_continues_its_child() {
    let (home, server) = (home(), ModelServer::start());
    let child = run(&home, &server, &["--directive", "team/long", "--input", "what=stones"]);
    let input = json!({"directive_name": "team/long", "inputs": {"what": "pebbles"}});
    server.call().tool("rye_agent_threads_thread_directive", &input);
    fill_window(&server, "So far 7.");
    server.call().answer("Eight pebbles.");
    let call = server.call();
    let told = call.body["messages"].to_string();
    assert!(told.contains("Eight pebbles.") && told.contains("completed"), "{told}");
    call.answer("Eight in all.");
    let result = result(child);
    assert_eq!(result["result"], "Eight in all.", "{result}");
    let tree = String::from_utf8(home.levain(&["threads", "tree"]).output().unwrap().stdout).unwrap();
    assert_eq!(tree.lines().filter(|line| line.starts_with("  ")).count(), 2, "beside each other:\n{tree}");
    home.wait_until_quiet();
}

#[test]
fn a_running_thread_is_handed_off_by_command_with_what_waits_in_it() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = screen(&home, &server).size(120, 36).start();
    terminal.wait_for("test-model");
    say(&terminal, &server, "the first question", "One.");
    terminal.send_keys("list them\r");
    let call = server.call();
    let id = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().flatten().next().unwrap().file_name();
    let id = id.into_string().unwrap();
    let answer = home.levain(&["threads", "handoff", &id]).output().unwrap();
    assert!(answer.status.success(), "{answer:?}");
    call.tool(LS, &json!({"path": "."}));
    // All that was said has room: nothing has to be summarised.
    let call = server.call();
    assert!(has_said(&call.messages(), "list them") && has_said(&call.messages(), "next open step"));
    call.answer("Two files.");
    terminal.wait_for("Two files.");
    terminal.wait_for("continues chat-");
    // The screen has followed; what is said goes on there.
    say(&terminal, &server, "and now?", "Nothing more.");
    terminal.send_keys("/previous\r");
    terminal.wait_for("handed off to");
    terminal.wait_for("the first question");
    terminal.send_keys("/next\r");
    terminal.wait_for("Nothing more.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn an_idle_thread_is_handed_off_and_has_nothing_to_do() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = screen(&home, &server).size(80, 24).start();
    terminal.wait_for("test-model");
    say(&terminal, &server, "the first question", "One.");
    say(&terminal, &server, "the second question", "Two.");
    terminal.send_keys("/handoff\r");
    terminal.wait_for("continues chat-");
    terminal.send_keys("half a draft");
    terminal.wait_for("› half a draft");
    terminal.send_keys("\r");
    let call = server.call();
    let (messages, first) = (call.messages(), call.body["messages"][0].to_string());
    assert!(
        first.contains("This conversation began in")
            && has_said(&messages, "Two.")
            && has_said(&messages, "half a draft"),
        "{messages:#?}"
    );
    assert!(!has_said(&messages, "next open step"), "nothing was left to do");
    call.answer("Three.");
    terminal.wait_for("Three.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_killed_process_loses_nothing_of_what_was_handed_off() {
    let (home, server) = (home(), ModelServer::start());
    let mut child = run(&home, &server, &["--directive", "team/long", "--input", "what=files"]);
    fill_window(&server, "Half of them.");
    // The thread that continues has asked, and its process dies.
    let call = server.call();
    let rows = || {
        let output = home.levain(&["threads", "--json"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let with = |status: &str| {
        let row = rows().into_iter().find(|row| row["status"] == status);
        row.map(|row| row["thread_id"].as_str().unwrap().to_owned())
    };
    poll("it is listed as running", || with("running").is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    call.closed();
    let (old, new) = (with("continued").expect("the old one"), with("error").expect("the new one"));
    // Any thread of a chain stands for the newest.
    let resumed = against(&home, &server, &["threads", "resume", "--json", &old, "go on"]).output().unwrap();
    let resumed: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!((&resumed["success"], &resumed["old_thread_id"]), (&json!(true), &json!(new)), "{resumed}");
    let call = server.call();
    assert!(call.body["messages"][0].to_string().contains("Half of them."), "{:#}", call.body);
    call.answer("All.");
    let next = resumed["new_thread_id"].as_str().unwrap();
    assert_eq!(json(&home, &["threads", "wait", "--json", next])["status"], "completed");
    home.wait_until_quiet();
}

#[test]
fn s17_a_thread_that_goes_on_with_another_is_opened_by_the_hooks_for_that() {
    let (home, server) = (home(), ModelServer::start());
    let write = |path: &str, text: &str| {
        let path = home.project().join(".ai").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("knowledge/team/fresh.yaml", "name: fresh\nbody: FRESH START\n");
    write("knowledge/team/again.yaml", "name: again\nbody: AGAIN AFTER ${previous_thread_id}\n");
    let hook = |name: &str, event: &str| {
        format!(
            "  - {{id: {name}, event: {event}, position: before, action: {{primary: fetch, item_type: knowledge, \
             item_id: team/{name}}}}}\n"
        )
    };
    let hooks = format!("hooks:\n{}{}", hook("fresh", "thread_started"), hook("again", "thread_continued"));
    write("config/agent/hooks.yaml", &hooks);
    assert!(home.levain(&["trust"]).output().unwrap().status.success());
    let child = run(&home, &server, &["--directive", "team/long", "--input", "what=files"]);
    let call = server.call();
    let opening = call.body["messages"].to_string();
    assert!(opening.contains("FRESH START") && !opening.contains("AGAIN AFTER"), "{opening}");
    call.tool(LS, &json!({ "path": "." }));
    server.call().tool(LS, &json!({ "path": ".ai" }));
    too_long(&server.call());
    server.call().answer("Half of them.");
    let call = server.call();
    let opening = call.body["messages"].to_string();
    call.answer("There are 42.");
    let result = result(child);
    let before = result["continues"][0].as_str().unwrap();
    assert!(opening.contains(&format!("AGAIN AFTER {before}")) && !opening.contains("FRESH START"), "{opening}");
    // So is one that a person goes on with.
    let last = result["thread_id"].as_str().unwrap();
    let resumed = against(&home, &server, &["threads", "resume", "--json", last, "and now?"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    let call = server.call();
    let opening = call.body["messages"].to_string();
    assert!(opening.contains(&format!("AGAIN AFTER {last}")) && !opening.contains("FRESH START"), "{opening}");
    call.answer("Nothing more.");
    home.wait_until_quiet();
}

#[test]
fn s17_whoever_waits_for_the_first_of_a_chain_gets_the_answer_of_the_last() {
    let (home, server) = (home(), ModelServer::start());
    let arguments = ["--directive", "team/long", "--input", "what=files", "--background"];
    let first = result(run(&home, &server, &arguments));
    let first = first["thread_id"].as_str().unwrap();
    let waits = home.levain(&["threads", "wait", "--json", first]).stdout(Stdio::piped()).spawn().unwrap();
    fill_window(&server, "A third.");
    server.call().tool(LS, &json!({ "path": "." }));
    too_long(&server.call());
    server.call().answer("Two thirds.");
    server.call().answer("All of them.");
    let told = result(waits);
    assert_eq!((&told["status"], &told["result"]), (&json!("completed"), &json!("All of them.")), "{told}");
    let chain = json(&home, &["threads", "chain", "--json", first]);
    let links = chain["chain"].as_array().unwrap();
    let statuses: Vec<&Value> = links.iter().map(|link| &link["status"]).collect();
    assert_eq!(statuses, ["continued", "continued", "completed"], "{chain}");
    assert_eq!(links[2]["thread_id"], told["thread_id"]);
    home.wait_until_quiet();
}

#[test]
fn s17_each_thread_of_a_chain_has_what_the_one_before_it_left() {
    let (home, server) = (home(), ModelServer::start());
    let arguments = ["run", "--json", "--model", "anthropic/claude-sonnet-4-5", "--limit-spend", "0.40"];
    let arguments = [&arguments[..], &["--directive", "team/long", "--input", "what=files"]].concat();
    let child = against(&home, &server, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    fill_window(&server, "A third.");
    server.call().tool(LS, &json!({ "path": "." }));
    too_long(&server.call());
    server.call().answer("Two thirds.");
    server.call().answer("All of them.");
    let result = result(child);
    let mut ids: Vec<&str> = result["continues"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    ids.push(result["thread_id"].as_str().unwrap());
    // In millionths of a dollar.
    let mut left = 400_000;
    for id in &ids {
        let log = log(&home, id);
        assert_eq!(event(&log, "thread_started")["limits"]["spend"], left, "{id}");
        let ends = ["thread_continued", "thread_completed"];
        let end = log.iter().find(|record| ends.iter().any(|end| record["event_type"] == *end)).unwrap();
        let spent = end["payload"]["cost"]["spend"].as_u64().unwrap();
        assert!(spent > 0, "{end}");
        left -= spent;
        let budget = json(&home, &["threads", "budget", "--json", id]);
        assert_eq!((&budget["live"], &budget["spend"]["reserved"]), (&json!(false), &json!(0.0)), "{budget}");
    }
    assert_eq!(ids.len(), 3);
    home.wait_until_quiet();
}
