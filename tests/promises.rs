//! What thread engines of this format promised and did not keep, kept here: each test is named after what holds.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/terminal.rs"]
mod terminal;

use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Output, Stdio};
use terminal::{Home, poll};

/// The events by which a thread ends.
const ENDS: [&str; 5] = ["thread_completed", "thread_error", "thread_cancelled", "thread_killed", "thread_continued"];

fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

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
    for _ in 0..2 {
        let next = project.json(&["threads", "resume", "--json", &thread, "and once more"]);
        let next = next["new_thread_id"].as_str().unwrap().to_owned();
        let started = &project.log(&next)[0].1;
        assert_eq!(started["inputs"], json!({"topic": "bread"}), "{started}");
        assert_eq!(project.levain(&["threads", "wait", &next]).0, 0);
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
