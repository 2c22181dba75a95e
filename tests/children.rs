//! Threads that start threads: what a child may do and use, who waits for whom, and what stays when one is stopped.

use crate::support::terminal::{Home, key, kill, output, poll};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;

/// The tool by which threads start others, as it is offered.
const START: &str = "rye_agent_threads_thread_directive";
const ORCHESTRATOR: &str = "rye_agent_threads_orchestrator";

/// What lets a directive start and look after threads.
const THREADS: &str = "<tool>rye/agent/threads/*</tool>";

/// A project with directives, and a script that answers for all of them.
struct Tree {
    home: Home,
    model: String,
}

impl Tree {
    /// `replies` of the script: `(what the newest message contains, the tool and its input | the text)`.
    fn new(replies: &[(&str, Reply)]) -> Self {
        let home = Home::new();
        let mut script = "name: tree\nrate: 0\nreplies:\n".to_owned();
        for (contains, reply) in replies {
            let when = json!({ "anywhere": contains });
            let steps: Vec<Value> = match reply {
                Reply::Says(text) => vec![json!({ "text": text })],
                Reply::Hangs => vec![json!({ "text": "I begin" }), json!({ "hang": true })],
                Reply::Calls(calls) => {
                    calls.iter().map(|(name, input)| json!({ "tool_call": { "name": name, "input": input } })).collect()
                }
            };
            writeln!(script, "  - {}", json!({ "when": when, "steps": steps })).unwrap();
        }
        let path = home.path().join("tree.yaml");
        fs::write(&path, script).unwrap();
        Self { model: format!("scripted/{}", path.display()), home }
    }

    /// A directive whose body is `body`.
    fn directive(self, id: &str, permissions: &str, limits: &str, body: &str) -> Self {
        let path = self.home.project().join(format!(".ai/directives/{id}.md"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let name = id.rsplit('/').next().unwrap();
        let permissions = if permissions.is_empty() {
            String::new()
        } else {
            format!("<permissions><execute>{permissions}</execute></permissions>")
        };
        let limits = if limits.is_empty() { String::new() } else { format!("<limits {limits}/>") };
        fs::write(
            path,
            format!("```xml\n<directive name=\"{name}\"><metadata>{limits}{permissions}</metadata></directive>\n```\n{body}\n"),
        )
        .unwrap();
        self
    }

    fn trusted(self) -> Self {
        let (code, _, err) = output(&mut self.home.levain(&["trust"]));
        assert_eq!(code, 0, "{err}");
        self
    }

    /// The result of a run of `directive`.
    fn run(&self, directive: &str, more: &[&str]) -> Value {
        let arguments = [&["run", "--json", "--model", &self.model, "--directive", directive], more].concat();
        let (_, out, err) = output(&mut self.home.levain(&arguments));
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
    }

    /// The events of a thread, by name.
    fn events(&self, id: &str) -> Vec<(String, Value)> {
        let path = self.home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl");
        let line = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap();
            (value["event_type"].as_str().unwrap().to_owned(), value["payload"].clone())
        };
        fs::read_to_string(path).unwrap().lines().map(line).collect()
    }

    /// What the events of that name say.
    fn told(&self, id: &str, event: &str) -> Vec<Value> {
        self.events(id).into_iter().filter(|(name, _)| name == event).map(|(_, payload)| payload).collect()
    }

    fn threads(&self) -> Vec<Value> {
        let (_, out, _) = output(&mut self.home.levain(&["threads", "--json"]));
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The only thread of `directive`.
    fn thread(&self, directive: &str) -> Value {
        let mut found = self.threads().into_iter().filter(|thread| thread["directive"] == directive);
        let thread = found.next().unwrap_or_else(|| panic!("no thread of {directive}"));
        assert!(found.next().is_none(), "several threads of {directive}");
        thread
    }
}

enum Reply {
    Says(&'static str),
    Hangs,
    Calls(Vec<(&'static str, Value)>),
}

use Reply::{Calls, Hangs, Says};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn a_child_runs_in_a_thread_of_its_own_and_its_result_comes_back() {
    let tree = Tree::new(&[
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "team/child", "inputs": { "n": 7 } }))])),
        ("do the part", Says("The part is done.")),
        ("the part is done", Says("All is done.")),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("team/child", "", "", "Do the part.")
    .trusted();
    let result = tree.run("lead", &[]);
    assert_eq!((&result["success"], text(&result["result"])), (&json!(true), "All is done."), "{result}");
    let (lead, child) = (tree.thread("lead"), tree.thread("team/child"));
    let (lead_id, child_id) = (text(&lead["thread_id"]), text(&child["thread_id"]));
    assert_eq!((&child["status"], &child["lineage"]["parent"]), (&json!("completed"), &lead["thread_id"]));
    assert_eq!((&child["lineage"]["root"], &child["lineage"]["depth"]), (&lead["thread_id"], &json!(1)));
    let started = tree.told(lead_id, "child_thread_started");
    assert_eq!(
        (started.len(), &started[0]["child"], &started[0]["directive"]),
        (1, &child["thread_id"], &json!("team/child"))
    );
    let ended = tree.told(lead_id, "child_thread_ended");
    assert_eq!((&ended[0]["status"], &ended[0]["cost"]["turns"]), (&json!("completed"), &json!(1)));
    // The shape that programs for this format read.
    let outputs = tree.told(lead_id, "tool_call_result");
    let told: Value = serde_json::from_str(text(&outputs[0]["output"])).unwrap();
    assert_eq!(
        (&told["success"], &told["status"], &told["directive"]),
        (&json!(true), &json!("completed"), &json!("team/child"))
    );
    assert_eq!((&told["thread_id"], &told["result"]), (&json!(child_id), &json!("The part is done.")));
    assert!(told["cost"]["turns"] == 1 && told["cost"]["spend"].is_number(), "{told}");
    // The child's limits are its parent's at most, with one level less.
    let limits = &tree.told(child_id, "thread_started")[0]["limits"];
    assert_eq!((&limits["depth"], &limits["spawns"], &limits["turns"]), (&json!(9), &json!(50), &json!(25)));
    tree.home.wait_until_quiet();
}

#[test]
fn depth_counts_down_and_at_zero_no_thread_is_started() {
    let start = |directive: &str| Calls(vec![(START, json!({ "directive_name": directive }))]);
    let tree = Tree::new(&[
        ("lead the work", start("middle")),
        ("do the middle", start("last")),
        ("do the last", start("beyond")),
        ("depth_exceeded", Says("I may not.")),
        ("i may not", Says("Then not.")),
        ("then not", Says("Ended.")),
    ])
    .directive("lead", THREADS, "depth=\"2\"", "Lead the work.")
    .directive("middle", THREADS, "depth=\"7\"", "Do the middle.")
    .directive("last", THREADS, "", "Do the last.")
    .directive("beyond", THREADS, "", "Nobody gets here.")
    .trusted();
    let result = tree.run("lead", &[]);
    assert_eq!(text(&result["result"]), "Ended.", "{result}");
    let depth = |directive: &str| {
        let id = tree.thread(directive)["thread_id"].clone();
        let started = tree.told(text(&id), "thread_started");
        (started[0]["limits"]["depth"].clone(), started[0]["limits_by"]["depth"].clone())
    };
    assert_eq!(depth("lead"), (json!(2), json!("directive")));
    assert_eq!(depth("middle"), (json!(1), json!("parent")), "what the directive says is more than there is");
    let lead = tree.thread("lead")["thread_id"].clone();
    let drawn = output(&mut tree.home.levain(&["threads", "timeline", text(&lead), "--width", "60"])).1;
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(lines[0].starts_with("lead") && lines[2].starts_with("    last"), "{drawn}");
    assert!(lines[..3].iter().all(|line| line.contains('█')) && lines[0].contains('░'), "{drawn}");
    assert!(lines.iter().all(|line| line.chars().count() <= 60), "{drawn}");
    assert_eq!(depth("last"), (json!(0), json!("parent")));
    assert_eq!(tree.threads().len(), 3, "the fourth leaves no thread");
}

#[test]
fn spawns_are_counted_for_good() {
    let start = || (START, json!({ "directive_name": "child" }));
    let tree = Tree::new(&[
        ("lead the work", Calls(vec![start(), start(), start()])),
        ("do the part", Says("Part.")),
        ("spawns_exceeded", Says("Two are enough.")),
    ])
    .directive("lead", THREADS, "spawns=\"2\"", "Lead the work.")
    .directive("child", "", "", "Do the part.")
    .trusted();
    let result = tree.run("lead", &[]);
    assert_eq!(text(&result["result"]), "Two are enough.", "{result}");
    let lead = tree.thread("lead")["thread_id"].clone();
    assert_eq!(tree.told(text(&lead), "child_thread_started").len(), 2);
    assert_eq!(tree.threads().iter().filter(|thread| thread["directive"] == "child").count(), 2);
    let results = tree.told(text(&lead), "tool_call_result");
    assert_eq!(results.iter().filter(|result| result["error"].is_null()).count(), 2, "{results:?}");
}

#[test]
fn a_child_may_do_nothing_that_its_parent_may_not() {
    let bash = |command: &str| ("rye_bash", json!({ "command": command }));
    let tree = Tree::new(&[
        (
            "lead the work",
            Calls(vec![(START, json!({ "directive_name": "greedy" })), (START, json!({ "directive_name": "modest" }))]),
        ),
        ("take all", Calls(vec![bash("touch taken"), ("rye_file_system_ls", json!({}))])),
        ("take little", Calls(vec![bash("touch inherited"), ("rye_file_system_ls", json!({}))])),
        ("permission denied", Says("Denied.")),
        ("denied.", Says("Ended.")),
    ])
    .directive("lead", &format!("{THREADS}<tool>rye/file-system/*</tool>"), "", "Lead the work.")
    .directive("greedy", "<tool>*</tool>", "", "Take all.")
    .directive("modest", "", "", "Take little.")
    .trusted();
    let result = tree.run("lead", &[]);
    assert_eq!(text(&result["result"]), "Ended.", "{result}");
    for directive in ["greedy", "modest"] {
        let id = tree.thread(directive)["thread_id"].clone();
        let denied = tree.told(text(&id), "permission_denied");
        assert_eq!((denied.len(), text(&denied[0]["capability"])), (1, "rye.execute.tool.rye.bash"), "{directive}");
        let listed = tree.told(text(&id), "tool_call_start");
        assert_eq!((listed.len(), text(&listed[0]["item"])), (1, "rye/file-system/ls"), "{directive}");
    }
    assert!(!tree.home.project().join("taken").exists() && !tree.home.project().join("inherited").exists());
    // Who goes on with it later may do no more.
    let greedy = tree.thread("greedy")["thread_id"].clone();
    let summary = tree.home.project().join(".ai/agent/threads").join(text(&greedy)).join("thread.json");
    let summary = fs::read_to_string(summary).unwrap();
    assert!(summary.contains("\"ceilings\""), "{summary}");
}

#[test]
fn s01_a_child_that_grants_nothing_may_do_nothing_and_who_is_in_the_way_is_named() {
    let tree = Tree::new(&[
        ("take little", Calls(vec![("rye_file_system_ls", json!({}))])),
        ("take all", Calls(vec![("rye_bash", json!({ "command": "touch taken" }))])),
        ("\"directive\":\"empty\"", Calls(vec![(START, json!({ "directive_name": "greedy" }))])),
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "empty" }))])),
        ("permission denied", Says("Denied.")),
        ("denied.", Says("Ended.")),
    ])
    .directive("lead", &format!("{THREADS}<tool>rye/file-system/*</tool>"), "", "Lead the work.")
    .directive("greedy", "<tool>*</tool>", "", "Take all.");
    let empty =
        "```xml\n<directive name=\"empty\"><metadata><permissions /></metadata></directive>\n```\nTake little.\n";
    fs::write(tree.home.project().join(".ai/directives/empty.md"), empty).unwrap();
    let tree = tree.trusted();
    let result = tree.run("lead", &[]);
    let (lead, id) = (result["thread_id"].clone(), tree.thread("empty")["thread_id"].clone());
    let denied = tree.told(text(&id), "permission_denied");
    assert_eq!(text(&denied[0]["capability"]), "rye.execute.tool.rye.file-system.ls");
    assert!(denied[0].get("above").is_none(), "its own directive is in the way: {denied:?}");
    let id = tree.thread("greedy")["thread_id"].clone();
    let denied = tree.told(text(&id), "permission_denied");
    assert_eq!((&denied[0]["above"], text(&denied[0]["reason"])), (&lead, "missing"), "{denied:?}");
    let ceilings = &tree.told(text(&id), "thread_started")[0]["ceilings"];
    assert_eq!((ceilings.as_array().unwrap().len(), &ceilings[0]["thread"]), (1, &lead));
}

#[test]
fn s05_what_a_child_may_do_is_believed_as_this_program_wrote_it() {
    let tree = Tree::new(&[
        ("and now again", Calls(vec![("rye_bash", json!({ "command": "touch taken" }))])),
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "child" }))])),
        ("do the part", Says("Part done.")),
        ("permission denied", Says("Denied.")),
        ("part done", Says("All done.")),
    ])
    .directive("lead", &format!("{THREADS}<tool>rye/file-system/*</tool>"), "", "Lead the work.")
    .directive("child", "<tool>*</tool>", "", "Do the part.")
    .trusted();
    assert_eq!(text(&tree.run("lead", &[])["result"]), "All done.");
    let child = text(&tree.thread("child")["thread_id"]).to_owned();
    let folder = tree.home.project().join(".ai/agent/threads").join(&child);
    let resumed = |words: &str| {
        let (code, out, err) = output(&mut tree.home.levain(&["threads", "resume", &child, words]));
        if code != 0 {
            return Err(err);
        }
        let next = out.trim().to_owned();
        output(&mut tree.home.levain(&["threads", "wait", &next]));
        Ok(next)
    };
    let before = tree.told(&child, "thread_started")[0]["ceilings"].clone();
    let summary = folder.join("thread.json");
    let written = fs::read_to_string(&summary).unwrap();
    assert!(written.contains("\"mac\":\""), "it is sealed: {written}");
    let freer = written.replace("rye.execute.tool.rye.file-system.*", "rye.execute.*");
    assert_ne!(freer, written);
    fs::write(&summary, freer).unwrap();
    // The log says the same, and is authenticated line by line: it counts where the snapshot does not fit or is gone.
    for gone in [false, true] {
        if gone {
            fs::remove_file(&summary).unwrap();
        }
        let next = resumed("and now again").unwrap();
        assert_eq!(tree.told(&next, "thread_started")[0]["ceilings"], before);
        assert_eq!(tree.told(&next, "permission_denied").len(), 1);
    }
    assert!(!tree.home.project().join("taken").exists());
    tree.home.wait_until_quiet();
}

#[test]
fn a_child_in_the_background_works_on_by_itself_and_can_be_waited_for() {
    let tree = Tree::new(&[
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "child", "async": true }))])),
        ("active_threads", Says("Started.")),
        ("\"status\":\"running\"", Calls(vec![(ORCHESTRATOR, json!({ "operation": "list_active" }))])),
        ("do the part", Says("Done beside.")),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("child", "", "", "Do the part.")
    .trusted();
    let result = tree.run("lead", &[]);
    assert_eq!(text(&result["result"]), "Started.", "{result}");
    let child = tree.thread("child")["thread_id"].clone();
    let (code, out, err) = output(&mut tree.home.levain(&["threads", "wait", text(&child), "--json"]));
    assert_eq!(code, 0, "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&told["status"], &told["result"]), (&json!("completed"), &json!("Done beside.")));
    let lead = tree.thread("lead")["thread_id"].clone();
    let started = &tree.told(text(&lead), "tool_call_result")[0]["output"];
    let started: Value = serde_json::from_str(text(started)).unwrap();
    // One that is quick has ended when it is looked at: it has no process then.
    let pid = started.get("pid").is_some_and(|pid| pid.is_number() || pid.is_null());
    assert!(pid && started["thread_id"] == child, "{started}");
    assert_eq!(tree.told(text(&lead), "child_thread_started")[0]["background"], true);
    tree.home.wait_until_quiet();
}

#[test]
fn stopping_a_parent_stops_the_child_it_waits_for() {
    let tree = Tree::new(&[
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "child" }))])),
        ("do the part", Hangs),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("child", "", "", "Do the part.")
    .trusted();
    let arguments = ["run", "--background", "--model", &tree.model, "--directive", "lead"];
    let (code, out, err) = output(&mut tree.home.levain(&arguments));
    assert_eq!(code, 0, "{err}");
    let lead = out.trim().to_owned();
    let child = || tree.threads().into_iter().find(|thread| thread["directive"] == "child");
    poll("the child answers", || child().is_some_and(|child| child["status"] == "running"));
    let (code, _, err) = output(&mut tree.home.levain(&["threads", "cancel", &lead]));
    assert_eq!(code, 0, "{err}");
    tree.home.wait_until_quiet();
    let status = |directive: &str| tree.thread(directive)["status"].clone();
    assert_eq!((status("lead"), status("child")), (json!("cancelled"), json!("cancelled")));
}

#[test]
fn a_thread_reaches_no_thread_of_another_tree() {
    let tree = Tree::new(&[
        ("other work", Says("My secret is 42.")),
        ("not of the tree", Says("I see nothing.")),
        ("lead the work", Calls(vec![(ORCHESTRATOR, json!({ "operation": "read_transcript", "thread_id": "OTHER" }))])),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("other", "", "", "Other work.")
    .trusted();
    let other = text(&tree.run("other", &[])["thread_id"]).to_owned();
    let script = tree.home.path().join("tree.yaml");
    let text_of = fs::read_to_string(&script).unwrap().replace("OTHER", &other);
    fs::write(&script, text_of).unwrap();
    assert_eq!(text(&tree.run("lead", &[])["result"]), "I see nothing.");
}

#[test]
fn a_limit_of_time_ends_a_call_that_hangs() {
    let tree = Tree::new(&[("wait for ever", Hangs)])
        .directive("slow", "", "duration_seconds=\"1\"", "Wait for ever.")
        .trusted();
    let result = tree.run("slow", &[]);
    assert_eq!(
        (&result["success"], &result["limit"]),
        (&json!(false), &json!("duration_seconds_exceeded")),
        "{result}"
    );
    tree.home.wait_until_quiet();
}

#[test]
fn a_sixth_child_beside_five_is_queued_and_says_why() {
    let start = |topic: usize| (START, json!({ "directive_name": "child", "async": true, "inputs": { "n": topic } }));
    let tree = Tree::new(&[
        ("lead the work", Calls((1..=6).map(start).collect())),
        ("do the part", Hangs),
        ("\"pid\"", Says("Six are started.")),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("child", "", "", "Do the part.")
    .trusted();
    let result = tree.run("lead", &[]);
    assert_eq!(text(&result["result"]), "Six are started.", "{result}");
    let children = || tree.threads().into_iter().filter(|thread| thread["directive"] == "child").collect::<Vec<_>>();
    let of = |status: &str| children().into_iter().filter(|child| child["status"] == status).collect::<Vec<_>>();
    poll("five run and one is queued", || of("running").len() == 5 && of("queued").len() == 1);
    let queued = of("queued").remove(0);
    let why = text(&queued["waits_for"]);
    assert!(why.contains("5 running, limit 5"), "{why}");
    let (_, listed, _) = output(&mut tree.home.levain(&["threads"]));
    assert!(listed.contains("5 running, limit 5"), "{listed}");
    // One ends, and it begins.
    let one = text(&of("running").remove(0)["thread_id"]).to_owned();
    assert_eq!(output(&mut tree.home.levain(&["threads", "kill", &one])).0, 0);
    poll("the queued one runs", || of("queued").is_empty() && of("running").len() == 5);
    let ids: Vec<String> = of("running").iter().map(|child| text(&child["thread_id"]).to_owned()).collect();
    let kill: Vec<&str> = ["threads", "kill"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    assert_eq!(output(&mut tree.home.levain(&kill)).0, 0);
    tree.home.wait_until_quiet();
}

#[test]
fn the_tree_of_the_demo_is_watched_approved_and_gone_through_on_the_screen() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&["demo", "tree"]).size(160, 45).start();
    terminal.wait_for("enter starts it without a prompt");
    terminal.send_keys(key::ENTER);
    // Side by side: one is done, one asks, one is at its limit.
    terminal.wait_for("topic=water");
    terminal.wait_for("another thread needs approval");
    terminal.wait_for("2 of 2 turns are used");
    terminal.wait_for("Bakers take coarse rye flour");
    let screen = terminal.screen_text();
    for row in ["└ research · topic=flour", "└ research · topic=water", "└ research · topic=salt"] {
        assert!(screen.contains(row), "{row} is not in\n{screen}");
    }
    // Into the one that asks, by the list, and the answer is given there.
    terminal.send_keys("\x14");
    terminal.wait_for("┌ threads · ");
    terminal.send_keys("/water");
    terminal.wait_for("needs approval: rye/bash");
    terminal.send_keys(key::ENTER);
    terminal.send_keys(key::ENTER);
    terminal.wait_for("wants rye/bash");
    terminal.wait_for("tree › research · topic=water");
    terminal.wait_until("the call can be answered", |screen| screen.contents().contains("y allow once"));
    terminal.send_keys("y");
    terminal.wait_for("2000 g of water");
    // And back up.
    terminal.send_keys("\x1bu");
    terminal.wait_for("The loaf is planned");
    terminal.wait_for("└ review");
    // What all of them did when, on the screen.
    terminal.send_keys("/timeline\r");
    terminal.wait_for("┌ timeline");
    terminal.wait_for("waits for children");
    terminal.wait_for("█");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ timeline");
    // Into a child from its call.
    terminal.send_keys(key::TAB);
    terminal.wait_for("reading");
    terminal.send_keys("/Flour and water fit");
    terminal.wait_for("enter keep");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("enter open thread");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("levain/demo/review ");
    terminal.wait_for("✓ completed: 1 turn");
    terminal.send_keys("/quit");
    terminal.send_keys(key::ENTER);
    terminal.wait_exit();
    home.wait_until_quiet();
}

#[test]
fn a_thread_that_has_ended_is_gone_on_with_in_a_new_one_behind_it() {
    let tree = Tree::new(&[
        ("and now again", Says("Said again.")),
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "child" }))])),
        ("do the part", Calls(vec![("rye_bash", json!({ "command": "touch ran" }))])),
        ("permission denied", Says("Part done.")),
        ("part done", Says("All done.")),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("child", "<tool>*</tool>", "", "Do the part.")
    .trusted();
    assert_eq!(text(&tree.run("lead", &[])["result"]), "All done.");
    let (lead, child) = (tree.thread("lead"), tree.thread("child"));
    let child_id = text(&child["thread_id"]).to_owned();
    let before = tree.events(&child_id).len();
    let (code, _, err) = output(&mut tree.home.levain(&["threads", "resume", &child_id, " "]));
    assert!(code != 0 && err.contains("give a message"), "{err}");
    let (code, out, err) = output(&mut tree.home.levain(&["threads", "resume", &child_id, "and now again"]));
    assert_eq!(code, 0, "{err}");
    let next = out.trim().to_owned();
    let (code, out, err) = output(&mut tree.home.levain(&["threads", "wait", &child_id, "--json"]));
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        serde_json::from_str::<Value>(&out).unwrap()["thread_id"],
        child_id,
        "it was not continued: it had ended"
    );
    let (_, out, _) = output(&mut tree.home.levain(&["threads", "wait", &next, "--json"]));
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&told["status"], &told["result"]), (&json!("completed"), &json!("Said again.")));
    // Beside it in the tree, behind it in the chain, and no freer than it was.
    let started = tree.told(&next, "thread_started").remove(0);
    assert_eq!(
        (&started["lineage"]["parent"], &started["lineage"]["previous"]),
        (&lead["thread_id"], &child["thread_id"])
    );
    assert_eq!(started["ceilings"], tree.told(&child_id, "thread_started")[0]["ceilings"]);
    assert_eq!(tree.events(&child_id).len(), before, "the old one is as it was");
    let (_, chain, _) = output(&mut tree.home.levain(&["threads", "chain", &next]));
    let ids: Vec<&str> = chain.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, [child_id.as_str(), next.as_str()]);
    let (_, found, _) = output(&mut tree.home.levain(&["threads", "search", &next, "again"]));
    assert!(found.contains(&format!("{next}:")) && found.contains("Said again."), "{found}");
    let (_, listed, _) = output(&mut tree.home.levain(&["threads", "tree", &next]));
    assert!(listed.lines().count() == 3 && listed.lines().skip(1).all(|line| line.starts_with("  child-")), "{listed}");
    tree.home.wait_until_quiet();
}

#[test]
fn a_tree_is_cancelled_with_what_works_by_itself() {
    let tree = Tree::new(&[
        (
            "lead the work",
            Calls(vec![
                (START, json!({ "directive_name": "child", "async": true })),
                (START, json!({ "directive_name": "child" })),
            ]),
        ),
        ("do the part", Hangs),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("child", "", "", "Do the part.")
    .trusted();
    let arguments = ["run", "--background", "--model", &tree.model, "--directive", "lead"];
    let lead = output(&mut tree.home.levain(&arguments)).1.trim().to_owned();
    let running = || tree.threads().iter().filter(|thread| thread["status"] == "running").count();
    poll("all three run", || running() == 3);
    let (code, _, err) = output(&mut tree.home.levain(&["threads", "cancel", "--tree", &lead]));
    assert_eq!(code, 0, "{err}");
    tree.home.wait_until_quiet();
    assert!(tree.threads().iter().all(|thread| thread["status"] == "cancelled"), "{:?}", tree.threads());
}

#[test]
fn a_child_commands_nobody_above_it() {
    let above = |operation: &str| (ORCHESTRATOR, json!({ "operation": operation, "thread_id": "ROOT" }));
    let mut resume = above("resume_thread");
    resume.1["message"] = json!("run all");
    let tree = Tree::new(&[
        ("try above", Calls(vec![above("kill_thread"), above("cancel_thread"), resume])),
        ("is not below this thread", Says("I may not.")),
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "child" }))])),
        ("do the part", Says("Part done.")),
        ("part done", Says("All done.")),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("child", "", "", "Do the part.")
    .trusted();
    let lead = text(&tree.run("lead", &[])["thread_id"]).to_owned();
    let script = tree.home.path().join("tree.yaml");
    fs::write(&script, fs::read_to_string(&script).unwrap().replace("ROOT", &lead)).unwrap();
    let child = text(&tree.thread("child")["thread_id"]).to_owned();
    let next = output(&mut tree.home.levain(&["threads", "resume", &child, "try above"])).1.trim().to_owned();
    let (_, out, err) = output(&mut tree.home.levain(&["threads", "wait", "--json", &next]));
    let told: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!(told["result"], "I may not.", "{told}");
    let results = tree.told(&next, "tool_call_result");
    let last = text(&results[results.len() - 1]["output"]);
    assert!(results.iter().all(|result| !result["error"].is_null()), "{results:?}");
    assert!(last.contains("only a person resumes a thread"), "{last}");
}

#[test]
fn what_a_tool_of_a_thread_starts_by_the_command_line_is_a_child_of_that_thread() {
    let tree = Tree::new(&[
        ("Name it", Reply::Calls(vec![("rye_bash", json!({"command": "echo parent=$RYE_PARENT_THREAD_ID"}))])),
        ("Go on", Reply::Calls(vec![("rye_bash", json!({"command": "echo never"}))])),
        ("parent=", Reply::Says("done")),
        ("Permission denied", Reply::Says("I may not")),
    ])
    .directive("lead", "<tool>rye/bash</tool>", "depth=\"1\" spend=\"0.5\"", "Name it.")
    .directive("leaf", "<tool>rye/*</tool>", "", "Leaf says hello.")
    .trusted();
    let lead = tree.run("lead", &[]);
    let id = lead["thread_id"].as_str().unwrap();
    let said = &tree.told(id, "tool_call_result")[0]["output"];
    assert!(said.as_str().unwrap().contains(&format!("parent={id}")), "{said}");
    let below = |parent: &str| {
        let arguments = ["run", "--json", "--model", &tree.model, "--directive", "leaf", "hello"];
        output(tree.home.levain(&arguments).env("RYE_PARENT_THREAD_ID", parent))
    };
    let (_, out, err) = below(id);
    let started: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let below_it = started["thread_id"].as_str().unwrap().to_owned();
    let started = &tree.told(&below_it, "thread_started")[0];
    assert_eq!((&started["lineage"]["parent"], &started["lineage"]["depth"]), (&json!(id), &json!(1)));
    assert_eq!((&started["limits"]["depth"], &started["ceilings"][0]["thread"]), (&json!(0), &json!(id)), "{started}");
    // There is no thread below one that may have none, nor below one that is not there.
    let (code, _, err) = below(&below_it);
    assert!(code != 0 && err.contains("depth_exceeded"), "{err}");
    let (code, _, err) = below("gone-1700000000000");
    assert!(code != 0 && err.contains("there is no thread gone-1700000000000"), "{err}");
}

#[test]
fn the_transcript_of_a_thread_is_read_as_knowledge_of_its_id() {
    let tree = Tree::new(&[("Dig", Reply::Says("forty-two fossils"))]).directive("dig", "", "", "Dig.").trusted();
    let dug = tree.run("dig", &[]);
    let id = dug["thread_id"].as_str().unwrap().to_owned();
    let item = format!("agent/threads/{id}");
    let write = |name: &str, head: &str, body: &str| {
        let text = format!("```xml\n<directive name=\"{name}\"><metadata>{head}</metadata></directive>\n```\n{body}\n");
        fs::write(tree.home.project().join(format!(".ai/directives/{name}.md")), text).unwrap();
    };
    write("cite", &format!("<permissions /><context><before>{item}</before></context>"), "Say how many.");
    let (code, out, err) = output(&mut tree.home.levain(&["check"]));
    assert_eq!(code, 0, "{out}{err}");
    let shown = output(&mut tree.home.levain(&["context", "show", "cite", "--text"])).1;
    assert!(shown.contains("[assistant]\nforty-two fossils"), "{shown}");
    write("cite", "<permissions /><context><before>agent/threads/gone-1</before></context>", "Say how many.");
    let (code, out, err) = output(&mut tree.home.levain(&["context", "show", "cite"]));
    assert!(code != 0 && (out + &err).contains("there is no thread `gone-1`"), "{err}");
}

#[test]
fn a_transcript_is_fetched_only_where_knowledge_of_its_id_is_granted() {
    for (granted, expected) in [("agent/threads/*", "forty-two fossils"), ("team/*", "Permission denied")] {
        let home = Home::new();
        let script = home.path().join("dig.yaml");
        fs::write(&script, "name: dig\nrate: 0\nreplies:\n  - {steps: [{text: forty-two fossils}]}\n").unwrap();
        let run = |directive: &str, script: &std::path::Path| -> Value {
            let model = format!("scripted/{}", script.display());
            let (_, out, err) =
                output(&mut home.levain(&["run", "--json", "--model", &model, "--directive", directive, "go"]));
            serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
        };
        let dug = run("levain/chat", &script);
        let item = format!("agent/threads/{}", dug["thread_id"].as_str().unwrap());
        let call = json!({"tool_call": {"name": "rye_fetch", "input": {"item_type": "knowledge", "item_id": item}}});
        let replies =
            [json!({"when": {"after_tool": "rye_fetch"}, "steps": [{"text": "read"}]}), json!({"steps": [call]})];
        let lines = replies.iter().fold(String::new(), |all, reply| all + &format!("  - {reply}\n"));
        let script = home.path().join("read.yaml");
        fs::write(&script, format!("name: read\nrate: 0\nreplies:\n{lines}")).unwrap();
        let path = home.project().join(".ai/directives/reader.md");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            format!(
                "```xml\n<directive name=\"reader\"><metadata><permissions><fetch><knowledge>{granted}</knowledge></fetch>\
                 </permissions></metadata></directive>\n```\nRead it.\n"
            ),
        )
        .unwrap();
        assert_eq!(output(&mut home.levain(&["trust"])).0, 0);
        let read = run("reader", &script);
        let id = read["thread_id"].as_str().unwrap();
        let log = home.project().join(".ai/agent/threads").join(id).join("transcript.jsonl");
        let text = fs::read_to_string(log).unwrap();
        let result = text.lines().find(|line| line.contains("\"tool_call_result\"")).unwrap();
        assert!(result.contains(expected), "{granted}: {result}");
    }
}

#[test]
fn s17_the_hooks_of_a_thread_are_told_who_started_it_and_how_deep_it_stands() {
    let tree = Tree::new(&[
        ("stands 2 below middle-", Says("I am the lowest.")),
        ("i am the lowest", Says("I am between.")),
        ("i am between", Says("All is done.")),
        ("stands 1 below lead-", Calls(vec![(START, json!({ "directive_name": "lowest" }))])),
        ("stands 0 below none", Calls(vec![(START, json!({ "directive_name": "middle" }))])),
    ])
    .directive("lead", THREADS, "", "Lead.")
    .directive("middle", THREADS, "", "Go between.")
    .directive("lowest", "", "", "Be low.");
    let write = |path: &str, text: &str| {
        let path = tree.home.project().join(".ai").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("knowledge/who.yaml", "name: who\nbody: It stands ${depth} below ${parent_thread_id}.\n");
    write(
        "config/agent/hooks.yaml",
        "hooks:\n  - {id: who, event: thread_started, position: before, action: {primary: fetch, item_type: knowledge, item_id: who}}\n",
    );
    let tree = tree.trusted();
    let result = tree.run("lead", &[]);
    assert_eq!(text(&result["result"]), "All is done.", "{result}");
}

#[test]
fn s17_what_a_child_asks_for_is_bounded_by_what_its_parent_may_each_limit_by_itself() {
    let overrides = json!({ "turns": 99, "tokens": 40_000, "duration_seconds": 9_999, "spend": 5.0 });
    let tree = Tree::new(&[
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "child", "limit_overrides": overrides }))])),
        ("do the part", Says("The part is done.")),
        ("the part is done", Says("All is done.")),
    ])
    .directive("lead", THREADS, "turns=\"6\" tokens=\"50000\" duration_seconds=\"50\" spend=\"0.80\"", "Lead the work.")
    .directive("child", "", "turns=\"3\"", "Do the part.")
    .trusted();
    tree.run("lead", &[]);
    let child = tree.thread("child");
    let started = tree.told(text(&child["thread_id"]), "thread_started").remove(0);
    let limits = &started["limits"];
    assert_eq!((&limits["turns"], &limits["duration_seconds"]), (&json!(6), &json!(50)), "{started}");
    assert_eq!(limits["tokens"], json!(40_000), "what asks for less than there is gets it: {started}");
    assert_eq!(limits["spend"], json!(800_000), "in millionths of a dollar: {started}");
}

#[test]
fn s17_two_children_and_a_grandchild_count_their_depth_down_and_have_no_more_than_the_root() {
    let bash = json!({ "command": "true" });
    let starts = |name: &str| (START, json!({ "directive_name": name }));
    let tree = Tree::new(&[
        ("run low", Calls(vec![("rye_bash", bash.clone())])),
        ("stay beside", Calls(vec![("rye_bash", bash)])),
        ("go between", Calls(vec![starts("c")])),
        ("lead the work", Calls(vec![starts("a"), starts("b")])),
    ])
    .directive("root", THREADS, "depth=\"3\" turns=\"2\"", "Lead the work.")
    .directive("a", "", "turns=\"2\"", "Go between.")
    .directive("b", "", "turns=\"1\"", "Stay beside.")
    .directive("c", "", "turns=\"1\"", "Run low.")
    .trusted();
    tree.run("root", &[]);
    let root = tree.thread("root");
    for (name, depth, left) in [("root", 0, 3), ("a", 1, 2), ("b", 1, 2), ("c", 2, 1)] {
        let thread = tree.thread(name);
        let started = tree.told(text(&thread["thread_id"]), "thread_started").remove(0);
        assert_eq!(started["limits"]["depth"], left, "{name}: {started}");
        assert_eq!(started["lineage"]["depth"].as_u64().unwrap_or(0), depth, "{name}: {started}");
        if depth > 0 {
            assert_eq!(started["lineage"]["root"], root["thread_id"], "{name}");
        }
    }
    // The root may start threads, and nothing else: so may none below it.
    for name in ["b", "c"] {
        let denied = tree.told(text(&tree.thread(name)["thread_id"]), "permission_denied");
        assert_eq!(denied.len(), 1, "{name}");
    }
}

#[test]
fn s17_a_limit_of_time_ends_a_tool_that_runs() {
    let tree = Tree::new(&[("sleep now", Calls(vec![("rye_bash", json!({ "command": "sleep 600" }))]))])
        .directive("slow", "<tool>rye/bash</tool>", "duration_seconds=\"1\"", "Sleep now.")
        .trusted();
    let result = tree.run("slow", &[]);
    assert_eq!(result["limit"], "duration_seconds_exceeded", "{result}");
    let results = tree.told(text(&result["thread_id"]), "tool_call_result");
    assert_eq!(results.len(), 1, "{results:?}");
    assert!(results[0]["error"].is_string(), "{results:?}");
    tree.home.wait_until_quiet();
}

#[test]
fn s17_a_thread_over_all_that_may_run_is_queued_until_the_process_of_another_has_died() {
    let start = (START, json!({ "directive_name": "child", "async": true }));
    let tree =
        Tree::new(&[("do the part", Hangs), ("\"pid\":", Hangs), ("lead the work", Calls(vec![start.clone(), start]))])
            .directive("lead", THREADS, "", "Lead the work.")
            .directive("child", "", "", "Do the part.")
            .trusted();
    let settings = tree.home.home().join(".ai/config/agent/coordination.yaml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, "children: { max_threads: 1 }\n").unwrap();
    let lead = text(&tree.run("lead", &["--background"])["thread_id"]).to_owned();
    let children =
        || -> Vec<Value> { tree.threads().into_iter().filter(|thread| thread["directive"] == "child").collect() };
    let with = |status: &str| children().into_iter().find(|thread| thread["status"] == status);
    poll("one runs and one is queued", || {
        with("queued").is_some() && with("running").is_some_and(|thread| thread["pid"].is_i64())
    });
    let (queued, running) = (with("queued").unwrap(), with("running").unwrap());
    let queued = text(&queued["thread_id"]);
    assert!(tree.told(queued, "thread_admitted").is_empty());
    let pid = i32::try_from(running["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid).unwrap(), Signal::KILL);
    // Nobody lists the threads: it finds by itself that there is room.
    poll("it begins", || !tree.told(queued, "thread_admitted").is_empty());
    for id in [queued, &lead] {
        output(&mut tree.home.levain(&["threads", "kill", id]));
    }
    tree.home.wait_until_quiet();
}

#[test]
fn s17_a_child_whose_directive_is_not_signed_does_not_begin_where_signatures_are_required() {
    let tree = Tree::new(&[
        ("is not signed", Says("It may not begin.")),
        ("lead the work", Calls(vec![(START, json!({ "directive_name": "child" }))])),
    ])
    .directive("lead", THREADS, "", "Lead the work.")
    .directive("child", "", "", "Do the part.");
    assert_eq!(output(&mut tree.home.levain(&["keys", "generate"])).0, 0);
    let lead = tree.home.project().join(".ai/directives/lead.md");
    assert_eq!(output(&mut tree.home.levain(&["sign", lead.to_str().unwrap()])).0, 0);
    fs::create_dir_all(tree.home.config()).unwrap();
    fs::write(tree.home.config().join("config.toml"), "signatures = \"project=require\"\n").unwrap();
    let tree = tree.trusted();
    let result = tree.run("lead", &[]);
    assert_eq!(text(&result["result"]), "It may not begin.", "{result}");
    assert_eq!(tree.threads().len(), 1, "no thread was made of it");
}
