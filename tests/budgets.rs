//! What threads may spend: calls are refused before they leave where too little is left, and bounded by what is.

use crate::support::model_server::{Call, KEY, ModelServer};
use crate::support::terminal::{Home, poll};
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};

/// Three dollars for a million tokens of prompt, fifteen for a million of answer.
const MODEL: &str = "anthropic/claude-sonnet-4-5";
const ORCHESTRATOR: &str = "rye_agent_threads_orchestrator";
const START: &str = "rye_agent_threads_thread_directive";

fn against(home: &Home, server: &ModelServer, arguments: &[&str]) -> Command {
    let mut command = home.levain(arguments);
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    command
}

fn run(home: &Home, server: &ModelServer, more: &[&str]) -> Child {
    let arguments = [&["run", "--json", "--model", MODEL], more].concat();
    against(home, server, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn result(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn budget(home: &Home, id: &str) -> Value {
    let output = home.levain(&["threads", "budget", "--json", id]).stdin(Stdio::null()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn log(home: &Home, id: &str) -> String {
    fs::read_to_string(home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl")).unwrap()
}

fn directive(home: &Home, id: &str, metadata: &str, body: &str) {
    let path = home.project().join(format!(".ai/directives/{id}.md"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = format!("```xml\n<directive name=\"{id}\"><metadata>{metadata}</metadata></directive>\n```\n{body}\n");
    fs::write(path, text).unwrap();
}

fn close(told: &Value, expected: f64) -> bool {
    (told.as_f64().unwrap() - expected).abs() < 1e-9
}

#[test]
fn a_call_that_may_cost_more_than_is_left_is_not_sent() {
    let (home, server) = (Home::new(), ModelServer::start());
    let result = result(run(&home, &server, &["--limit-spend", "0.001", "hello"]));
    assert!(server.is_asked().is_none(), "nothing left");
    assert_eq!((&result["success"], &result["limit"]), (&json!(false), &json!("spend_exceeded")), "{result}");
    let id = result["thread_id"].as_str().unwrap();
    let log = log(&home, id);
    assert!(log.contains("no call was sent: $") && log.contains(&format!("the limit of {id} is $0.001")), "{log}");
    assert!(!log.contains("request_recorded"));
}

#[test]
fn an_answer_is_bounded_by_what_is_left_and_what_it_cost_is_counted() {
    let (home, server) = (Home::new(), ModelServer::start());
    let child = run(&home, &server, &["--limit-spend", "0.05", "hello"]);
    let call = server.call();
    let bound = call.body["max_tokens"].as_u64().unwrap();
    assert!((1_024..3_334).contains(&bound), "{bound} tokens of answer cost $0.05 at most");
    let id = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().flatten().next().unwrap();
    let id = id.file_name().into_string().unwrap();
    let running = budget(&home, &id);
    let reserved = running["spend"]["reserved"].as_f64().unwrap();
    assert!(running["live"] == true && reserved > 0.04 && reserved <= 0.05, "{running}");
    call.answer("hi");
    let result = result(child);
    assert_eq!(result["status"], "completed", "{result}");
    // 11 tokens of prompt and 12 of answer, as the server counted.
    let spent = (11.0 * 3.0 + 12.0 * 15.0) / 1e6;
    let ended = budget(&home, &id);
    assert!(close(&ended["spend"]["spent"], spent) && close(&ended["spend"]["reserved"], 0.0), "{ended}");
    assert_eq!((&ended["live"], &ended["tokens"]["spent"]), (&json!(false), &json!(23.0)));
}

#[test]
fn children_without_an_amount_share_what_their_parent_has_left() {
    let (home, server) = (Home::new(), ModelServer::start());
    let threads = "<permissions><execute><tool>rye/agent/threads/*</tool></execute></permissions>";
    directive(&home, "lead", &format!("<limits spend=\"1.00\"/>{threads}"), "Lead the work.");
    directive(&home, "child", "", "Do the part.");
    directive(&home, "rich", "<limits spend=\"0.90\"/>", "Do the rich part.");
    assert!(home.levain(&["trust"]).stdin(Stdio::null()).status().unwrap().success());
    let child = run(&home, &server, &["--directive", "lead"]);
    server.call().tool(START, &json!({ "directive_name": "child" }));
    let call = server.call();
    assert!(call.body.to_string().contains("Do the part."), "{}", call.body);
    let rows = || {
        let output = home.levain(&["threads", "--json"]).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let id_of = |directive: &str| {
        let row = rows().into_iter().find(|row| row["directive"] == directive);
        row.map(|row| row["thread_id"].as_str().unwrap().to_owned())
    };
    poll("the child is listed", || id_of("child").is_some());
    let (lead, part) = (id_of("lead").unwrap(), id_of("child").unwrap());
    // One of five, and one for the parent: a sixth of what is left.
    let share = budget(&home, &part)["spend"]["limit"].as_f64().unwrap();
    assert!((0.15..0.17).contains(&share), "{share}");
    assert!(log(&home, &part).contains("limits_changed"), "the thread says what its share is");
    let above = budget(&home, &lead);
    assert!(above["live_children"] == 1 && above["spend"]["left"].as_f64().unwrap() < 0.85, "{above}");
    call.answer("done");
    // One that names an amount has it, within what there is.
    server.call().tool(START, &json!({ "directive_name": "rich" }));
    let call = server.call();
    poll("the second child is listed", || id_of("rich").is_some());
    assert!(close(&budget(&home, &id_of("rich").unwrap())["spend"]["limit"], 0.90));
    call.answer("done too");
    server.call().answer("all done");
    assert_eq!(result(child)["status"], "completed");
    // Each call is counted once at every thread above it.
    let one = (11.0 * 3.0 + 12.0 * 15.0) / 1e6;
    let ended = budget(&home, &lead);
    assert!(close(&ended["spend"]["spent"], 3.0 * one) && close(&ended["spend"]["spent_below"], 2.0 * one), "{ended}");
    assert!(close(&ended["spend"]["reserved_below"], 0.0) && ended["live_children"] == 0, "{ended}");
}

#[test]
fn the_limit_of_a_parent_holds_for_what_its_children_spend() {
    let (home, server) = (Home::new(), ModelServer::start());
    let threads = "<permissions><execute><tool>rye/agent/threads/*</tool></execute></permissions>";
    directive(&home, "lead", &format!("<limits spend=\"0.03\"/>{threads}"), "Lead the work.");
    directive(&home, "child", "<limits spend=\"9.00\"/>", "Do the part.");
    assert!(home.levain(&["trust"]).stdin(Stdio::null()).status().unwrap().success());
    let child = run(&home, &server, &["--directive", "lead"]);
    server.call().tool(START, &json!({ "directive_name": "child" }));
    let call = server.call();
    let bound = call.body["max_tokens"].as_u64().unwrap();
    assert!(bound < 2_000, "what the parent has left pays for no longer answer than {bound}");
    call.answer("done");
    server.call().answer("all done");
    assert_eq!(result(child)["status"], "completed");
}

#[test]
fn a_thread_of_a_killed_process_gives_back_what_was_reserved() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut child = run(&home, &server, &["--limit-spend", "0.05", "hello"]);
    let call = server.call();
    let id = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().flatten().next().unwrap();
    let id = id.file_name().into_string().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    call.closed();
    assert_eq!(budget(&home, &id)["live"], true, "nobody has looked yet");
    // Whoever needs what it holds finds that it is dead.
    let (code, listed) = {
        let output = home.levain(&["threads", "--json"]).stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(code, Some(0), "{listed}");
    let ended = budget(&home, &id);
    assert!(ended["live"] == false && close(&ended["spend"]["reserved"], 0.0), "{ended}");
}

#[test]
fn a_thread_at_its_limit_is_approved_or_ended_by_command() {
    let (home, server) = (Home::new(), ModelServer::start());
    let suspended = |prompt: &str| {
        let child = run(&home, &server, &["--limit-turns", "1", prompt]);
        server.call().tool("rye_file_system_ls", &json!({"path": "."}));
        let result = result(child);
        assert_eq!((&result["status"], &result["limit"]), (&json!("suspended"), &json!("turns_exceeded")), "{result}");
        result["thread_id"].as_str().unwrap().to_owned()
    };
    let id = suspended("list them");
    let threads = |arguments: &[&str]| against(&home, &server, &[&["threads"], arguments].concat()).output().unwrap();
    let refused = threads(&["approve", &id, "--turns", "1"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("1 turns are used already"), "{refused:?}");
    assert!(server.is_asked().is_none());
    // As much again.
    assert!(threads(&["approve", &id]).status.success());
    server.call().answer("Two files.");
    let waited = threads(&["wait", "--json", &id]);
    let waited: Value = serde_json::from_slice(&waited.stdout).unwrap();
    assert_eq!((&waited["status"], &waited["result"]), (&json!("completed"), &json!("Two files.")), "{waited}");
    let refused = threads(&["approve", &id]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is completed, not suspended"), "{refused:?}");
    let id = suspended("list others");
    assert!(threads(&["approve", &id, "--deny"]).status.success());
    poll("it has ended", || {
        let told: Value = serde_json::from_slice(&threads(&["result", "--json", &id]).stdout).unwrap();
        told["status"] == "cancelled"
    });
    home.wait_until_quiet();
}

#[test]
fn s17_a_thread_gets_no_more_than_it_had_because_its_file_says_so() {
    for lost in [false, true] {
        let (home, server) = (Home::new(), ModelServer::start());
        let child = run(&home, &server, &["--limit-turns", "1", "--limit-spend", "0.50", "list them"]);
        server.call().tool("rye_file_system_ls", &json!({"path": "."}));
        let result = result(child);
        let id = result["thread_id"].as_str().unwrap();
        let path = home.project().join(".ai/agent/threads").join(id).join("thread.json");
        if lost {
            fs::remove_file(&path).unwrap();
        } else {
            let mut told: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            // In millionths of a dollar.
            assert_eq!(told["limits"]["spend"], 500_000, "{told}");
            told["limits"]["spend"] = json!(1_000_000_000);
            told["limits"]["turns"] = json!(500);
            fs::write(&path, told.to_string()).unwrap();
        }
        let approved = against(&home, &server, &["threads", "approve", id]).output().unwrap();
        assert!(approved.status.success(), "{approved:?}");
        server.call().answer("Two files.");
        poll("it has ended", || log(&home, id).contains("\"thread_completed\""));
        let log = log(&home, id);
        let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let changed: Vec<Value> = events.filter(|event| event["event_type"] == "limits_changed").collect();
        let limits = &changed[0]["payload"]["limits"];
        assert_eq!((&limits["turns"], &limits["spend"]), (&json!(2), &json!(500_000)), "{changed:?}");
        home.wait_until_quiet();
    }
}

#[test]
fn the_ledger_and_the_registry_are_exported_as_their_schema_says() {
    let (home, server) = (Home::new(), ModelServer::start());
    directive(&home, "part", "", "Do the part.");
    let grant = "<permissions><execute><tool>rye/agent/threads/*</tool></execute></permissions>";
    directive(&home, "lead", grant, "Lead.");
    assert!(home.levain(&["trust"]).output().unwrap().status.success());
    let child = run(&home, &server, &["--directive", "lead", "--limit-spend", "0.5"]);
    server.call().tool(START, &json!({"directive_name": "part"}));
    server.call().answer("Done.");
    server.call().answer("All done.");
    let result = result(child);
    let exported = home.levain(&["threads", "export"]).output().unwrap();
    assert!(exported.status.success(), "{exported:?}");
    let folder = home.project().join(".ai/agent/threads");
    let read = |name: &str| -> Value { serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap() };
    let (registry, ledger) = (read("registry.json"), read("budget_ledger.json"));
    let schema = include_str!("../assets/system/.ai/config/agent/budget_ledger_schema.yaml");
    let schema: Value = serde_yaml::from_str(schema).unwrap();
    let problems: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&ledger).map(|e| e.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new(), "{ledger:#}");
    let lead = result["thread_id"].as_str().unwrap();
    let (row, entry) = (&registry["threads"][lead], &ledger["threads"][lead]);
    assert_eq!(
        (&row["status"], &row["spawn_count"], &entry["max_spend"]),
        (&json!("completed"), &json!(1), &json!(0.5))
    );
    let part = registry["threads"].as_object().unwrap().values().find(|row| row["directive"] == "part").unwrap();
    assert_eq!(part["parent_id"], lead);
    let spent = |id: &str| ledger["threads"][id]["actual_spend"].as_f64().unwrap();
    let own = row["spend"].as_f64().unwrap() + part["spend"].as_f64().unwrap();
    assert!((spent(lead) - own).abs() < 1e-9 && spent(part["thread_id"].as_str().unwrap()) > 0.0, "{ledger:#}");
    // They are no threads.
    let listed = home.levain(&["threads", "--json"]).output().unwrap();
    assert_eq!(String::from_utf8(listed.stdout).unwrap().lines().count(), 2);
}

#[test]
fn s17_a_thread_looks_at_its_child_waits_for_it_reads_it_and_kills_it() {
    let (home, server) = (Home::new(), ModelServer::start());
    directive(&home, "lead", "<permissions><execute><tool>rye/agent/threads/*</tool></execute></permissions>", "Lead.");
    directive(&home, "child", "", "Do the part.");
    assert!(home.levain(&["trust"]).output().unwrap().status.success());
    let run = run(&home, &server, &["--directive", "lead"]);
    server.call().tool(START, &json!({"directive_name": "child", "async": true}));
    let (one, other) = (server.call(), server.call());
    let leads = |call: &Call| call.body["messages"].to_string().contains("tool_result");
    let (lead, child) = if leads(&one) { (one, other) } else { (other, one) };
    let said = lead.body["messages"].to_string();
    let (_, id) = said.split_once("child-").unwrap();
    let id = format!("child-{}", id.chars().take_while(char::is_ascii_digit).collect::<String>());
    // Its share was set aside before the parent's next call, which takes all that is left for a long answer.
    let share = budget(&home, &id)["spend"]["limit"].as_f64().unwrap();
    assert!((0.1..0.2).contains(&share), "{share}");
    // What comes back of an operation, and the call after it.
    let asks = |call: Call, mut operation: Value| {
        if operation["thread_ids"].is_null() {
            operation["thread_id"] = json!(id);
        }
        call.tool(ORCHESTRATOR, &operation);
        let next = server.call();
        let newest = next.body["messages"].as_array().unwrap().last().unwrap().to_string();
        (next, newest)
    };
    let (lead, told) = asks(lead, json!({"operation": "get_status"}));
    assert!(told.contains("running"), "{told}");
    let (lead, told) = asks(lead, json!({"operation": "read_transcript", "tail_lines": 1}));
    assert!(told.contains("## cognition_in") && !told.contains("\\n"), "one line: {told}");
    let wait = json!({"operation": "wait_threads", "thread_ids": [id], "timeout": 1});
    let (lead, told) = asks(lead, wait);
    assert!(told.contains("still running after 1 s"), "{told}");
    let (lead, told) = asks(lead, json!({"operation": "kill_thread"}));
    assert!(told.contains("success"), "{told}");
    child.closed();
    let (lead, told) = asks(lead, json!({"operation": "get_status"}));
    assert!(told.contains("killed"), "{told}");
    lead.answer("It is gone.");
    assert_eq!(result(run)["result"], "It is gone.");
    home.wait_until_quiet();
}
