//! What a thread keeps under names, and hooks that go by it.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/terminal.rs"]
mod terminal;

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output, Stdio};
use terminal::Home;

const STATE: &str = "<tool>levain/state</tool>";

fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

/// A project with one directive and a script that answers for it.
struct Project {
    home: Home,
    model: String,
}

impl Project {
    /// `replies` of the script: what stands anywhere in the conversation, after which tool, and what is done then.
    fn new(replies: &[Value]) -> Self {
        let home = Home::new();
        let mut script = "name: hooked\nrate: 0\nreplies:\n".to_owned();
        for reply in replies {
            writeln!(script, "  - {reply}").unwrap();
        }
        let path = home.path().join("hooked.yaml");
        fs::write(&path, script).unwrap();
        Self { model: format!("scripted/{}", path.display()), home }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.home.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn directive(&self, id: &str, permissions: &str, hooks: &str, body: &str) {
        let name = id.rsplit('/').next().unwrap();
        let text = format!(
            "```xml\n<directive name=\"{name}\"><metadata><permissions><execute>{permissions}</execute></permissions>\
             <hooks>{hooks}</hooks></metadata></directive>\n```\n{body}\n"
        );
        self.write(&format!(".ai/directives/{id}.md"), &text);
    }

    fn trusted(&self) {
        let (code, _, err) = output(&mut self.home.levain(&["trust"]));
        assert_eq!(code, 0, "{err}");
    }

    fn run(&self, directive: &str) -> Value {
        let arguments = ["run", "--json", "--model", &self.model, "--directive", directive];
        let (_, out, err) = output(&mut self.home.levain(&arguments));
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
    }

    fn says(&self, arguments: &[&str]) -> String {
        let (code, out, err) = output(&mut self.home.levain(arguments));
        assert_eq!(code, 0, "{arguments:?}: {err}");
        out
    }

    /// What the events of that name say, in order.
    fn told(&self, id: &str, event: &str) -> Vec<Value> {
        let path = self.home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl");
        let lines = fs::read_to_string(path).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["event_type"] == event).map(|line| line["payload"].clone()).collect()
    }
}

/// The words of a run's `thread_id`.
fn id(result: &Value) -> String {
    result["thread_id"].as_str().unwrap().to_owned()
}

fn sets(values: &Value) -> Value {
    json!({"tool_call": {"name": "levain_state", "input": {"set": values}}})
}

#[test]
fn a_thread_keeps_values_that_hooks_see_and_forks_and_those_that_go_on_have() {
    let project = Project::new(&[
        json!({"when": {"after_tool": "levain_state"}, "steps": [{"text": "done"}]}),
        json!({"when": {"anywhere": "Count"}, "steps": [sets(&json!({"tries": 1})), sets(&json!({"tries": 2, "by": {"who": "ada"}}))]}),
    ]);
    let stop = "<hook id=\"enough\" event=\"after_step\"><condition path=\"state.tries\" op=\"gte\" value=\"2\"/>\
                <action primary=\"execute\" item_type=\"tool\" item_id=\"levain/control\"><param name=\"action\">fail</param>\
                </action></hook>";
    project.directive("count", STATE, stop, "Count.");
    project.trusted();
    let result = project.run("count");
    assert_eq!(result["status"], "error", "{result}");
    let thread = id(&result);
    let decided = project.told(&thread, "hook_decided");
    assert_eq!(decided[0]["hook"], "enough", "{decided:?}");
    assert!(decided[0]["why"].as_str().unwrap().contains("state.tries"), "{decided:?}");
    assert_eq!(project.told(&thread, "state_set")[0], json!({"values": {"tries": 1}}));
    assert_eq!(project.says(&["threads", "state", &thread]), "by = {\"who\":\"ada\"}\ntries = 2\n");
    let kept = json!({"by": {"who": "ada"}, "tries": 2});
    let state_of = |id: &str| -> Value {
        let line: Value = serde_json::from_str(&project.says(&["threads", "state", "--json", id])).unwrap();
        line["state"].clone()
    };
    assert_eq!(state_of(&thread), kept);
    let fork: Value = serde_json::from_str(&project.says(&["threads", "fork", "--json", &thread])).unwrap();
    assert_eq!(state_of(&id(&fork)), kept);
    let next: Value =
        serde_json::from_str(&project.says(&["threads", "resume", "--json", &thread, "and now?"])).unwrap();
    assert_eq!(state_of(next["new_thread_id"].as_str().unwrap()), kept);
}
