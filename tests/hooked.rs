//! What a thread keeps under names, and hooks that go by it.

use crate::support::terminal::{Home, output};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

const STATE: &str = "<tool>levain/state</tool>";

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

/// A hook of `event` that calls a tool with parameters.
fn hook(id: &str, event: &str, more: &str, item: (&str, &str), params: &[(&str, &str)]) -> String {
    let param = |all: String, (name, value): &(&str, &str)| all + &format!("<param name=\"{name}\">{value}</param>");
    let params = params.iter().fold(String::new(), param);
    let (kind, item) = item;
    format!(
        "<hook id=\"{id}\" event=\"{event}\" {more}><action primary=\"execute\" item_type=\"{kind}\" \
         item_id=\"{item}\">{params}</action></hook>"
    )
}

const WRITE: &str = "<tool>rye/file-system/write</tool>";
const LS: &str = "<tool>rye/file-system/ls</tool>";

fn lists() -> Value {
    json!({"tool_call": {"name": "rye_file_system_ls", "input": {}}})
}

/// A model that calls a tool once and is done.
fn once() -> [Value; 2] {
    [
        json!({"when": {"after_tool": "rye_file_system_ls"}, "steps": [{"text": "done"}]}),
        json!({"when": {"anywhere": "Look"}, "steps": [lists()]}),
    ]
}

#[test]
fn hooks_run_tools_with_what_the_event_says_and_the_thread_goes_on_after_them() {
    let project = Project::new(&once());
    let params = [("path", "note.txt"), ("content", "turn ${loop_count} of ${directive}")];
    let after = [("path", "end.txt"), ("content", "it cost ${cost.turns} turns")];
    let hooks = hook("note", "after_step", "", ("tool", "rye/file-system/write"), &params)
        + &hook("end", "after_complete", "timeout_seconds=\"5\"", ("tool", "rye/file-system/write"), &after);
    project.directive("look", &[LS, WRITE].concat(), &hooks, "Look.");
    project.trusted();
    let result = project.run("look");
    assert_eq!(result["status"], "completed", "{result}");
    let read = |name: &str| fs::read_to_string(project.home.project().join(name)).unwrap();
    assert_eq!((read("note.txt").as_str(), read("end.txt").as_str()), ("turn 1 of look", "it cost 2 turns"));
    let thread = id(&result);
    let called = project.told(&thread, "hooks_called");
    assert_eq!((called.len(), &called[0]["hooks"][0]["hook"]), (2, &json!("note")), "{called:?}");
    assert_eq!(called[1]["hooks"][0]["calls"][0]["within_ms"], 5_000);
    let started = project.told(&thread, "tool_call_start");
    let grants: Vec<&Value> = started
        .iter()
        .filter(|call| call["call_id"].as_str().unwrap().starts_with("hook-"))
        .map(|call| &call["grant"])
        .collect();
    assert_eq!(grants, ["rye.execute.tool.rye.file-system.write"; 2], "{started:?}");
    assert_eq!(project.told(&thread, "hook_decided").len(), 2);
    let ends = project.told(&thread, "thread_completed");
    assert_eq!(ends.len(), 1);
}

#[test]
fn a_hook_whose_call_is_not_permitted_ends_the_thread_unless_it_is_optional() {
    for (more, status) in [("", "error"), ("optional=\"true\"", "completed")] {
        let project = Project::new(&once());
        let params = [("path", "note.txt"), ("content", "x")];
        let hooks = hook("note", "after_step", more, ("tool", "rye/file-system/write"), &params);
        project.directive("look", LS, &hooks, "Look.");
        project.trusted();
        let result = project.run("look");
        assert_eq!(result["status"], status, "{result}");
        let thread = id(&result);
        let denied = project.told(&thread, "permission_denied");
        assert_eq!(denied[0]["capability"], "rye.execute.tool.rye.file-system.write", "{denied:?}");
        assert!(!project.home.project().join("note.txt").exists());
    }
}

#[test]
fn a_hook_runs_a_directive_in_a_thread_below_and_does_what_that_hands_back() {
    let project = Project::new(&[
        json!({"when": {"anywhere": "Judge the work"}, "steps": [{"tool_call": {"name": "directive_return", "input": {"action": "fail"}}}]}),
        json!({"when": {"after_tool": "rye_file_system_ls"}, "steps": [{"text": "done"}]}),
        json!({"when": {"anywhere": "Look"}, "steps": [lists()]}),
    ]);
    project.write(
        ".ai/directives/judge.md",
        "```xml\n<directive name=\"judge\"><metadata><permissions /></metadata><inputs><input name=\"of\" \
         required=\"true\"/></inputs><outputs><output name=\"action\" required=\"true\">how to go on</output></outputs>\
         </directive>\n```\nJudge the work of {input:of}.\n",
    );
    let hooks = hook("gate", "after_step", "", ("directive", "judge"), &[("of", "${directive}")]);
    project.directive("look", &format!("{LS}<directive>judge</directive>"), &hooks, "Look.");
    project.trusted();
    let result = project.run("look");
    assert_eq!(result["status"], "error", "{result}");
    let thread = id(&result);
    let decided = project.told(&thread, "hook_decided");
    assert_eq!((&decided[0]["hook"], &decided[0]["action"]), (&json!("gate"), &json!("fail")), "{decided:?}");
    let child = &project.told(&thread, "child_thread_started")[0];
    assert_eq!(child["directive"], "judge");
    assert_eq!(project.told(&thread, "child_thread_ended")[0]["child"], child["child"]);
    let inputs = &project.told(child["child"].as_str().unwrap(), "thread_started")[0]["inputs"];
    assert_eq!(inputs["of"], "look");
}

#[test]
fn a_call_of_a_hook_that_takes_too_long_is_stopped() {
    let project = Project::new(&once());
    let hooks =
        hook("slow", "after_step", "timeout_seconds=\"0.2\"", ("tool", "rye/bash"), &[("command", "sleep 600")]);
    project.directive("look", &format!("{LS}<tool>rye/bash</tool>"), &hooks, "Look.");
    project.trusted();
    let result = project.run("look");
    assert_eq!(result["status"], "error", "{result}");
    let decided = project.told(&id(&result), "hook_decided");
    assert!(decided[0]["why"].as_str().unwrap().contains("it took longer than 200 ms"), "{decided:?}");
}

#[test]
fn hooks_of_a_project_that_is_not_trusted_run_nothing() {
    let project = Project::new(&once());
    let params = [("path", "note.txt"), ("content", "x")];
    let hooks = hook("note", "after_complete", "", ("tool", "rye/file-system/write"), &params);
    project.directive("look", WRITE, &hooks, "Look.");
    let result = project.run("look");
    assert_eq!(result["status"], "completed", "{result}");
    assert_eq!(project.told(&id(&result), "hooks_called"), Vec::<Value>::new());
}

#[test]
fn a_post_mortem_tells_from_the_files_why_a_thread_ended_and_what_had_failed() {
    let project = Project::new(&once());
    let hooks =
        hook("slow", "after_step", "timeout_seconds=\"0.2\"", ("tool", "rye/bash"), &[("command", "sleep 600")]);
    project.directive("look", &format!("{LS}{STATE}<tool>rye/bash</tool>"), &hooks, "Look.");
    project.trusted();
    let thread = id(&project.run("look"));
    let told = project.says(&["threads", "postmortem", &thread]);
    for line in [
        "why           error: ",
        "request       #1 of turn 1, attempt 1",
        "rye/bash: Stopped: it took longer",
        "spent         1 turn",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let json: Value = serde_json::from_str(&project.says(&["threads", "postmortem", "--json", &thread])).unwrap();
    assert_eq!(json["rows"][1]["about"], "why", "{json}");
    // The files alone are enough.
    fs::remove_file(project.home.project().join(".ai/agent/threads").join(&thread).join("thread.json")).unwrap();
    assert!(project.says(&["threads", "postmortem", &thread]).contains("error: "));
}

#[test]
fn a_conversation_says_when_it_begins_that_its_directive_grants_what_is_risky() {
    for (acknowledged, told) in [("", true), ("<acknowledge risk=\"elevated\">it builds</acknowledge>", false)] {
        let project = Project::new(&once());
        let text = format!(
            "```xml\n<directive name=\"look\"><metadata><permissions><execute><tool>rye/bash</tool></execute>{acknowledged}\
             </permissions></metadata></directive>\n```\nLook.\n"
        );
        project.write(".ai/directives/look.md", &text);
        project.trusted();
        let mut command = project.home.levain(&["--plain", "--model", &project.model, "look"]);
        let mut plain = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        writeln!(plain.stdin.take().unwrap(), "hello").unwrap();
        let said = plain.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        let risk = "grants what is elevated: rye.execute.tool.rye.bash, and does not acknowledge it";
        assert_eq!(said.contains(risk), told, "{said}");
    }
}

#[test]
fn s17_a_thread_that_a_hook_suspended_is_gone_on_with_or_ended_by_command() {
    let [done, look] = once();
    let again = json!({"when": {"contains": "go on"}, "steps": [{"text": "went on"}]});
    let project = Project::new(&[again, done, look]);
    let suspend = hook("s", "after_step", "", ("tool", "levain/control"), &[("action", "suspend")]);
    project.directive("x", LS, &suspend, "Look.");
    project.trusted();
    for ends in [false, true] {
        let result = project.run("x");
        let id = id(&result);
        assert_eq!(result["status"], "suspended", "{result}");
        let (code, _, err) = output(&mut project.home.levain(&["threads", "approve", &id]));
        assert!(code != 0 && err.contains("is not at a limit"), "{err}");
        if ends {
            project.says(&["threads", "approve", "--deny", &id]);
            let (_, told, _) = output(&mut project.home.levain(&["threads", "result", "--json", &id]));
            let told: Value = serde_json::from_str(&told).unwrap();
            assert_eq!(told["status"], "cancelled", "{told}");
        } else {
            let resumed = project.says(&["threads", "resume", "--json", &id, "go on"]);
            let resumed: Value = serde_json::from_str(&resumed).unwrap();
            assert_eq!(resumed["new_thread_id"], id, "the same thread goes on");
        }
    }
    project.home.wait_until_quiet();
}
