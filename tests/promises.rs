//! What thread engines of this format promised and did not keep, kept here: each test is named after what holds.

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, kill, output, poll};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::fs;
use std::process::{Output, Stdio};

/// The events by which a thread ends.
const ENDS: [&str; 5] = ["thread_completed", "thread_error", "thread_cancelled", "thread_killed", "thread_continued"];

/// A project with the directive `work`, which wants to be told `topic`, and a script that answers for it.
struct Project {
    home: Home,
    model: String,
}

impl Project {
    fn new(replies: &[Value]) -> Self {
        let home = Home::new();
        let replies = replies.iter().fold(String::new(), |all, reply| all + &format!("  - {reply}\n"));
        let script = home.path().join("promises.yaml");
        fs::write(&script, format!("name: promises\nrate: 0\nreplies:\n{replies}")).unwrap();
        let path = home.project().join(".ai/directives/work.md");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = "```xml\n<directive name=\"work\"><metadata><permissions /></metadata>\
                    <inputs><input name=\"topic\" required=\"true\"/></inputs></directive>\n```\nWork on {input:topic}.\n";
        fs::write(path, text).unwrap();
        let model = format!("scripted/{}", script.display());
        let project = Self { home, model };
        assert_eq!(project.levain(&["trust"]).0, 0);
        project
    }

    fn levain(&self, arguments: &[&str]) -> (i32, String, String) {
        output(&mut self.home.levain(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (_, out, err) = self.levain(arguments);
        serde_json::from_str(out.lines().next().unwrap_or_default()).unwrap_or_else(|_| panic!("{out}{err}"))
    }

    fn run(&self, more: &[&str]) -> Value {
        let arguments = ["run", "--json", "--model", &self.model, "--directive", "work", "--input", "topic=bread"];
        self.json(&[&arguments[..], more].concat())
    }

    /// The names of a thread's events, and what they say.
    fn log(&self, id: &str) -> Vec<(String, Value)> {
        let path = self.home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl");
        let line = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap();
            (value["event_type"].as_str().unwrap().to_owned(), value["payload"].clone())
        };
        fs::read_to_string(path).unwrap().lines().map(line).collect()
    }

    fn count(&self, id: &str, events: &[&str]) -> usize {
        self.log(id).iter().filter(|(name, _)| events.contains(&name.as_str())).count()
    }
}

fn id(value: &Value) -> String {
    value["thread_id"].as_str().unwrap().to_owned()
}

fn says(text: &str) -> Value {
    json!({"steps": [{"text": text}]})
}

#[test]
fn a_thread_that_needs_no_tool_costs_one_call_and_ends_once_with_what_it_took() {
    let project = Project::new(&[says("done")]);
    let done = project.run(&[]);
    let thread = id(&done);
    assert_eq!((&done["status"], &done["cost"]["turns"]), (&json!("completed"), &json!(1)), "{done}");
    assert_eq!((project.count(&thread, &["request_recorded"]), project.count(&thread, &ENDS)), (1, 1));
    let log = project.log(&thread);
    let (_, end) = log.iter().find(|(name, _)| name == "thread_completed").unwrap();
    assert_eq!(end["cost"]["turns"], 1, "{end}");
}

#[test]
fn a_list_names_the_model_and_has_what_the_last_turn_cost() {
    let project = Project::new(&[says("done")]);
    let done = project.run(&[]);
    let listed = project.json(&["threads", "--json"]);
    assert_eq!(listed["thread_id"], done["thread_id"]);
    assert_eq!((&listed["model"], &listed["cost"]["turns"]), (&done["model"], &json!(1)), "{listed}");
    assert_eq!(listed["status"], "completed");
}

#[test]
fn a_call_that_is_made_again_leaves_what_was_said_once() {
    let project = Project::new(&[
        json!({"when": {"attempt": 1}, "steps": [{"error": {"status": 529, "message": "overloaded"}}]}),
        says("done"),
    ]);
    let done = project.run(&["be quick"]);
    assert_eq!(done["status"], "completed", "{done}");
    let thread = id(&done);
    assert_eq!(project.count(&thread, &["retry_scheduled"]), 1);
    assert_eq!((project.count(&thread, &["cognition_in"]), project.count(&thread, &ENDS)), (1, 1));
}

#[test]
fn a_thread_that_is_gone_on_with_keeps_its_inputs_and_a_failed_try_leaves_it_as_it_was() {
    let project = Project::new(&[says("done")]);
    let thread = id(&project.run(&[]));
    let before = project.log(&thread);
    assert_ne!(project.levain(&["threads", "resume", &thread, " "]).0, 0, "nothing was said");
    assert_eq!(project.log(&thread), before);
    let mut chain = vec![thread.clone()];
    for _ in 0..2 {
        let next = project.json(&["threads", "resume", "--json", &thread, "and once more"]);
        let next = next["new_thread_id"].as_str().unwrap().to_owned();
        let started = &project.log(&next)[0].1;
        assert_eq!(started["inputs"], json!({"topic": "bread"}), "{started}");
        assert_eq!(project.levain(&["threads", "wait", &next]).0, 0);
        // The first is named each time: what went on with it last goes on.
        chain.push(next.clone());
        let told = project.json(&["threads", "chain", "--json", &next]);
        let links = told["chain"].as_array().unwrap().iter().map(|link| link["thread_id"].as_str().unwrap());
        assert_eq!(links.collect::<Vec<_>>(), chain, "{told}");
    }
}

#[test]
fn another_process_cancels_and_kills_a_thread_and_whoever_waits_is_told_at_once() {
    for (word, status) in [("cancel", "cancelled"), ("kill", "killed")] {
        let project = Project::new(&[json!({"steps": [{"text": "I begin"}, {"hang": true}]})]);
        let thread = id(&project.run(&["--background"]));
        poll("it answers", || project.count(&thread, &["request_recorded"]) == 1);
        assert_eq!(project.levain(&["threads", word, &thread]).0, 0);
        let result = project.json(&["threads", "wait", "--json", "--timeout", "60", &thread]);
        assert_eq!((&result["status"], &result["success"]), (&json!(status), &json!(false)), "{result}");
        assert_eq!(project.count(&thread, &ENDS), 1);
        let budget = project.json(&["threads", "budget", "--json", &thread]);
        assert_eq!((&budget["live"], &budget["spend"]["reserved"]), (&json!(false), &json!(0.0)), "{budget}");
        project.home.wait_until_quiet();
    }
}

#[test]
fn a_first_run_needs_no_key_no_signature_and_no_project() {
    let home = Home::new();
    let folder = home.path().join("new");
    fs::create_dir(&folder).unwrap();
    let levain = |arguments: &[&str]| output(home.levain(arguments).current_dir(&folder));
    let (code, out, err) = levain(&["run", "--json", "hello"]);
    let done: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!((code, &done["status"], &done["cost"]["spend"]), (0, &json!("completed"), &json!(0)), "{done}");
    assert!(done["model"].as_str().unwrap().starts_with("scripted/"), "{done}");
    // Nobody was made a key for, and nothing was signed.
    let (_, keys, _) = levain(&["keys", "list"]);
    assert_eq!(keys, "");
    let (code, _, err) = levain(&["check"]);
    assert_eq!((code, err.contains("error")), (0, false), "{err}");
    home.wait_until_quiet();
}

#[test]
fn a_window_is_the_models_own() {
    let project = Project::new(&[says("done")]);
    let (_, out, err) = output(project.home.levain(&["models", "--json"]).env("ANTHROPIC_API_KEY", "k"));
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let window = |model: &str| {
        let row = rows.iter().find(|row| row["model"] == model);
        row.and_then(|row| row["window"].as_u64()).unwrap_or_else(|| panic!("{model}: {out}{err}"))
    };
    assert_eq!(window("anthropic/claude-sonnet-4-5"), 200_000);
    assert_eq!(window("gemini/gemini-2.5-pro"), 1_048_576);
    assert_ne!(window("openai/gpt-4o"), window("openai/gpt-5"));
}

#[test]
fn what_a_provider_read_from_its_cache_or_put_there_is_counted_and_paid_for() {
    let (project, server) = (Project::new(&[]), ModelServer::start());
    let mut command = project.home.levain(&[
        "run",
        "--json",
        "--model",
        "anthropic/claude-sonnet-4-5",
        "--directive",
        "work",
        "--input",
        "topic=bread",
    ]);
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let call = server.call();
    let usage = json!({"input_tokens": 11, "cache_read_input_tokens": 2_000, "cache_creation_input_tokens": 1_000,
        "output_tokens": 1});
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap()).into_bytes();
    call.raw(event(json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
        "model": "test", "content": [], "stop_reason": null, "usage": usage}})));
    call.raw(event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})));
    call.text("done");
    call.end();
    let Output { stdout, stderr, .. } = child.wait_with_output().unwrap();
    let done: Value =
        serde_json::from_slice(&stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&stderr)));
    let counted = json!({"input": 11, "output": 12, "cache_read": 2_000, "cache_write": 1_000, "reasoning": 0});
    assert_eq!(done["cost"]["usage"], counted, "{done}");
    // A read costs a tenth of a prompt, a write a quarter more than one: $3 a million, and $15 of answer.
    let spent = 11.0 * 3.0 + 2_000.0 * 0.3 + 1_000.0 * 3.75 + 12.0 * 15.0;
    assert!((done["cost"]["spend"].as_f64().unwrap() - spent).abs() <= 1.0, "{spent}: {done}");
    project.home.wait_until_quiet();
}

#[test]
fn what_was_decided_about_a_thread_is_in_its_log() {
    let call = json!({"steps": [{"tool_call": {"name": "rye_bash", "input": {"command": "true"}}}]});
    let again = json!({"when": {"attempt": 1}, "steps": [{"error": {"status": 529, "message": "overloaded"}}]});
    let project = Project::new(&[again, call]);
    let done = project.run(&["--limit-turns", "2"]);
    let thread = id(&done);
    assert_eq!(done["success"], false, "{done}");
    let names: Vec<String> = project.log(&thread).into_iter().map(|(name, _)| name).collect();
    for decided in ["error_classified", "retry_scheduled", "permission_denied", "limit"] {
        assert!(names.iter().any(|name| name == decided), "{decided} is missing in {names:?}");
    }
    // The shipped hooks answer by themselves: no tool and no process was started for them.
    for started in ["hooks_called", "tool_process"] {
        assert!(!names.iter().any(|name| name == started), "{started} in {names:?}");
    }
    // It waits at its limit for a person, whose refusal is the one event that ends it, with the time that it took.
    assert_eq!((&done["status"], project.count(&thread, &ENDS)), (&json!("suspended"), 0), "{names:?}");
    assert_eq!(project.levain(&["threads", "approve", "--deny", &thread]).0, 0);
    assert_eq!(project.count(&thread, &ENDS), 1);
    let log = project.log(&thread);
    let ended = log.iter().rfind(|(name, _)| ENDS.contains(&name.as_str())).unwrap();
    assert!(ended.1["cost"]["elapsed_ms"].is_u64(), "{ended:?}");
}

#[test]
fn what_came_of_a_thread_is_told_by_any_process_with_its_outputs_and_what_it_cost() {
    let project = Project::new(&[says("the bread is baked")]);
    let thread = id(&project.run(&[]));
    let result = project.json(&["threads", "result", "--json", &thread]);
    assert_eq!((&result["success"], &result["status"]), (&json!(true), &json!("completed")), "{result}");
    assert_eq!((&result["result"], &result["cost"]["turns"]), (&json!("the bread is baked"), &json!(1)), "{result}");
    assert_eq!(project.levain(&["threads", "running"]).1, "", "it has ended");
}

#[test]
fn the_names_of_tiers_that_the_texts_and_the_programs_have_mean_the_same_models() {
    let project = Project::new(&[says("done")]);
    let (_, out, _) = output(project.home.levain(&["models", "--json"]).env("ANTHROPIC_API_KEY", "k"));
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let model = |tier: &str| {
        let of_tier = |row: &&Value| {
            let tiers = row["tiers"].as_array().unwrap();
            row["model"].as_str().unwrap().starts_with("anthropic/") && tiers.contains(&json!(tier))
        };
        rows.iter().find(of_tier).map_or_else(|| panic!("{tier}: {out}"), |row| row["model"].clone())
    };
    assert_eq!((model("high"), model("max")), (model("orchestrator"), model("reasoning")));
    assert_ne!(model("fast"), model("general"));
}

#[test]
fn a_thread_is_started_by_either_name_of_the_parameter() {
    let (project, server) = (Project::new(&[]), ModelServer::start());
    let lead = "```xml\n<directive name=\"lead\"><metadata><permissions><execute><tool>rye/agent/threads/*</tool></execute>\
                </permissions></metadata></directive>\n```\nLead the work.\n";
    fs::write(project.home.project().join(".ai/directives/lead.md"), lead).unwrap();
    assert_eq!(project.levain(&["trust"]).0, 0);
    let mut command = project.home.levain(&["run", "--json", "--model", "anthropic/test", "--directive", "lead"]);
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for name in ["directive_name", "directive_id"] {
        server.call().tool("rye_agent_threads_thread_directive", &json!({name: "work", "inputs": {"topic": name}}));
        let call = server.call();
        assert!(call.body.to_string().contains(&format!("Work on {name}.")), "{}", call.body);
        call.answer("done");
    }
    server.call().answer("all is done");
    let Output { stdout, stderr, .. } = child.wait_with_output().unwrap();
    let done: Value =
        serde_json::from_slice(&stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&stderr)));
    assert_eq!((&done["status"], &done["result"]), (&json!("completed"), &json!("all is done")), "{done}");
    assert_eq!(project.count(&id(&done), &["child_thread_started"]), 2);
    project.home.wait_until_quiet();
}

/// A thread whose process was killed while it waited for an answer.
fn left_behind(project: &Project) -> String {
    let thread = id(&project.run(&["--background"]));
    poll("it answers", || project.count(&thread, &["request_recorded"]) == 1);
    kill_process(project, &thread);
    thread
}

fn kill_process(project: &Project, thread: &str) {
    let process = || {
        let (_, listed, _) = project.levain(&["threads", "--json"]);
        let mut rows = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.find(|row| row["thread_id"] == thread)?["pid"].as_i64()
    };
    poll("its row names its process", || process().is_some());
    kill(Pid::from_raw(i32::try_from(process().unwrap()).unwrap()).unwrap(), Signal::KILL);
}

#[test]
fn s17_whoever_asks_about_a_thread_whose_process_died_is_told_that_it_failed() {
    let project = Project::new(&[json!({"steps": [{"text": "I begin"}, {"hang": true}]})]);
    // Nobody lists the threads in between.
    let thread = left_behind(&project);
    let result = project.json(&["threads", "result", "--json", &thread]);
    assert_eq!((&result["status"], result["error"].is_string()), (&json!("error"), true), "{result}");
    assert_eq!(project.count(&thread, &ENDS), 1);
    let thread = left_behind(&project);
    let result = project.json(&["threads", "wait", "--json", "--timeout", "60", &thread]);
    assert_eq!((&result["status"], result["error"].is_string()), (&json!("error"), true), "{result}");
    assert_eq!(project.count(&thread, &ENDS), 1);
    // Somebody who waits already is told when it dies.
    let thread = id(&project.run(&["--background"]));
    poll("it answers", || project.count(&thread, &["request_recorded"]) == 1);
    let mut waits = project.home.levain(&["threads", "wait", "--json", &thread]);
    let waits = waits.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    kill_process(&project, &thread);
    let waited = waits.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&waited.stdout).unwrap_or_else(|_| panic!("{waited:?}"));
    assert_eq!(result["status"], "error", "{result}");
    project.home.wait_until_quiet();
}

#[test]
fn s17_how_long_a_thread_took_is_the_time_that_went_by() {
    let project = Project::new(&[json!({"steps": [{"pause": 400}, {"text": "done"}]})]);
    let begun = std::time::Instant::now();
    let done = project.run(&[]);
    let most = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let log = project.log(&id(&done));
    let (_, ended) = log.iter().find(|(name, _)| name == "thread_completed").unwrap();
    let took = ended["cost"]["elapsed_ms"].as_u64().unwrap();
    assert!((400..=most).contains(&took), "{took} ms of {most}");
    assert_eq!(done["cost"]["elapsed_ms"], took, "{done}");
}

#[test]
fn s17_what_a_model_thought_is_in_the_log_once_and_no_piece_of_it_is() {
    let project = Project::new(&[json!({"steps": [{"thinking": "Flour first."}, {"text": "done"}]})]);
    let thread = id(&project.run(&[]));
    let log = project.log(&thread);
    let thought: Vec<&Value> =
        log.iter().filter(|(name, _)| name == "cognition_reasoning").map(|(_, payload)| payload).collect();
    assert_eq!(thought.len(), 1, "{log:?}");
    assert_eq!(thought[0]["text"], "Flour first.");
    assert!(log.iter().all(|(name, _)| !name.contains("delta")), "{log:?}");
}

#[test]
fn s17_a_provider_that_says_when_to_come_again_is_asked_then() {
    let project = Project::new(&[
        json!({"when": {"attempt": 1}, "steps": [{"error": {"status": 429, "message": "slow down", "retry_after": 0.05}}]}),
        says("done"),
    ]);
    let thread = id(&project.run(&[]));
    let log = project.log(&thread);
    let (_, pause) = log.iter().find(|(name, _)| name == "retry_scheduled").unwrap();
    assert_eq!(pause["delay_ms"], 50, "{pause}");
}

#[test]
fn s17_a_thread_that_cannot_be_gone_on_with_stays_as_it_was() {
    let project = Project::new(&[says("done")]);
    let thread = id(&project.run(&[]));
    let folder = project.home.project().join(".ai/agent/threads").join(&thread);
    let bytes = || ["transcript.jsonl", "thread.json"].map(|name| fs::read(folder.join(name)).unwrap());
    let before = bytes();
    let (directive, away) =
        (project.home.project().join(".ai/directives/work.md"), project.home.path().join("away.md"));
    fs::rename(&directive, &away).unwrap();
    let failed = project.levain(&["threads", "resume", "--json", &thread, "go on"]);
    assert_ne!(failed.0, 0, "{failed:?}");
    assert_eq!(bytes(), before);
    let listed = project.levain(&["threads", "--json"]).1;
    let ids: Vec<String> = listed.lines().map(|line| id(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(ids, std::slice::from_ref(&thread), "nothing is left of the try");
    fs::rename(&away, &directive).unwrap();
    let next = project.json(&["threads", "resume", "--json", &thread, "go on"]);
    let next = next["new_thread_id"].as_str().unwrap().to_owned();
    assert_eq!(project.levain(&["threads", "wait", &next]).0, 0);
    let chain = project.json(&["threads", "chain", "--json", &next]);
    let told: Vec<&str> =
        chain["chain"].as_array().unwrap().iter().map(|link| link["thread_id"].as_str().unwrap()).collect();
    assert_eq!(told, [&thread, &next]);
}
