//! Handlers that a directive brings: asked in its own threads, refused with file and line, trusted with what they do.

use crate::support::scripted_project::{Project, calls_bash, done};
use crate::support::terminal;
use serde_json::{Value, json};
use std::fs;
use terminal::key;

const PATH: &str = ".ai/directives/careful.md";

/// The directive `careful` with these handlers, the first of which stands on line 6.
fn careful(handlers: &str, body: &str) -> String {
    format!(
        "```xml\n<directive name=\"careful\" version=\"1.0.0\">\n<metadata>\n\
         <permissions><execute><tool>rye/bash</tool></execute></permissions>\n<handlers>\n{handlers}</handlers>\n\
         </metadata>\n</directive>\n```\n{body}\n"
    )
}

/// A project with that directive.
fn project(handlers: &str, replies: &[Value]) -> Project {
    let project = Project::with("", replies);
    project.write(PATH, &careful(handlers, "Be careful."));
    project
}

fn run(project: &Project, directive: &str, prompt: &str) -> String {
    let model = ["--model", &project.model];
    let arguments =
        [&["run", "--json", "--directive", directive][..], &model, &["--allow", "rye/bash", prompt]].concat();
    let (_, out, err) = project.levain(&arguments);
    let line: Value = out.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    line["thread_id"].as_str().unwrap_or_else(|| panic!("{out}{err}")).to_owned()
}

#[test]
fn they_are_asked_in_threads_of_their_directive_alone_and_in_order() {
    let handler = |name: &str| format!("- id: {name}\n  stage: input\n  append: \" ({name})\"\n");
    let file = |name: &str| format!("handlers:\n{}", handler(name));
    let project = project(&handler("directive"), &[done()]);
    project.write(".ai/config/agent/pipeline.yaml", &file("project"));
    let own = project.home.home().join(".ai/config/agent");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("pipeline.yaml"), file("person")).unwrap();
    let extension =
        "export default (pi) => pi.on(\"input\", (e) => ({ action: \"transform\", text: `${e.text} (extension)` }));";
    project.write(".ai/extensions/e.ts", extension);
    project.write(".ai/directives/front.md", &format!("---\nname: front\n{}---\nWork.\n", file("front")));
    project.write(".ai/directives/heir.md", "---\nname: heir\nextends: careful\n---\nWork.\n");
    let project = project.trusted();
    for (directive, of) in [("careful", " (directive)"), ("front", " (front)"), ("heir", ""), ("work", "")] {
        let id = run(&project, directive, "hello");
        let text = format!("hello (person) (project){of} (extension)");
        assert_eq!(project.event(&id, "cognition_in")["text"], text, "{directive}");
        let steps = project.event(&id, "prompt_prepared")["steps"].clone();
        let of_file = steps.as_array().unwrap().iter().find(|step| step["handler"] == "directive");
        let place = of_file
            .map(|step| (step["place"]["file"].as_str().unwrap().ends_with(PATH), step["place"]["line"].clone()));
        assert_eq!(place, (directive == "careful").then_some((true, json!(6))), "{steps}");
        // What would be sent is what was sent.
        let arguments = ["context", "show", directive, "--prompt", "hello", "--text", "--model", &project.model];
        let (code, shown, err) = project.levain(&arguments);
        assert_eq!(code, 0, "{err}");
        assert!(shown.contains(&text) && project.told(&id).contains(&text), "{directive}: {shown}");
        // Both lists know them, by the directive and by a thread of it.
        for named in [["--directive", directive], ["--thread", id.as_str()]] {
            let (_, listed, err) = project.levain(&["pipeline", "list", named[0], named[1]]);
            assert_eq!(listed.contains("input directive "), directive == "careful", "{named:?}: {listed}{err}");
        }
    }
}

#[test]
fn a_handler_is_asked_again_as_it_stands_in_the_directive() {
    let project = project("- id: h\n  stage: input\n  append: \" one\"\n", &[done()]).trusted();
    let id = run(&project, "careful", "hello");
    assert_eq!(project.event(&id, "cognition_in")["text"], "hello one");
    project.write(PATH, &careful("- id: h\n  stage: input\n  append: \" two\"\n", "Be careful."));
    let again = ["pipeline", "run", "input", "--handler", "h"];
    let (code, out, err) = project.levain(&[&again[..], &["--thread", &id]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("+text: hello two"), "{out}");
    project.write("event.json", "{\"text\": \"other\"}");
    let event = project.home.project().join("event.json").display().to_string();
    let given = [&again[..], &["--event", &event]].concat();
    let (code, out, err) = project.levain(&[&given[..], &["--directive", "careful"]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("+text: other two"), "{out}");
    let (code, _, err) = project.levain(&[&given[..], &["--directive", "work"]].concat());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no such handler at input"), "{err}");
    let (code, _, err) = project.levain(&["pipeline", "list", "--directive", "carefull"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("did you mean `careful`"), "{err}");
}

#[test]
fn a_mistake_refuses_the_threads_of_the_directive_with_its_line() {
    for (handlers, line, says) in [
        ("- stage: input\n  append: x\n- stage: tool_call\n  blok: true\n", 8, "did you mean `block`"),
        ("- stage: input\n  append: [x\n", 8, "is not valid YAML"),
        ("- stage: context\n  knowledge: team/gone\n", 6, "there is no knowledge `team/gone`"),
    ] {
        let project = project(handlers, &[done()]).trusted();
        let place = format!("careful.md:{line}: ");
        let arguments = ["run", "--model", &project.model, "--directive", "careful", "hello"];
        let (code, _, err) = project.levain(&arguments);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(&place) && err.contains(says), "{err}");
        let (code, out, _) = project.levain(&["check"]);
        assert_eq!(code, 1, "{out}");
        assert!(out.contains("fatal: ") && out.contains(&place) && out.contains(says), "{out}");
        let (_, _, err) = project.levain(&["pipeline", "list", "--directive", "careful"]);
        assert!(err.contains(&place), "{err}");
        // Others begin.
        run(&project, "work", "hello");
    }
}

#[test]
fn what_they_run_waits_for_trust_and_the_words_of_the_directive_do_not() {
    let handlers = "- id: c\n  stage: input\n  command: [sh, scripts/h.sh]\n- id: t\n  stage: input\n  append: \"!\"\n";
    let project = project(handlers, &[done()]);
    project.write("scripts/h.sh", "touch ran");
    let outcomes = |project: &Project| {
        let ran = project.home.project().join("ran");
        let _was_there = fs::remove_file(&ran);
        let id = run(project, "careful", "hello");
        let steps = project.event(&id, "prompt_prepared")["steps"].clone();
        assert_eq!((&steps[0]["handler"], &steps[1]["outcome"]), (&json!("c"), &json!("changed")), "{steps}");
        assert_eq!(project.event(&id, "cognition_in")["text"], "hello!");
        assert_eq!(ran.exists(), steps[0]["outcome"] != "refused", "{steps}");
        ran.exists()
    };
    assert!(!outcomes(&project));
    let (_, out, _) = project.levain(&["trust", "--show"]);
    assert!(out.contains("careful.md:6 runs: sh scripts/h.sh"), "{out}");
    let project = project.trusted();
    assert!(outcomes(&project));
    project.write(PATH, &careful(handlers, "Be more careful."));
    assert!(outcomes(&project), "its words run nothing");
    for (path, text) in [
        ("scripts/h.sh", "touch ran other".to_owned()),
        (PATH, careful(&handlers.replace("sh, ", "sh, -x, "), "Be careful.")),
        (PATH, careful(&handlers.replace("\"!\"", "\"!\"\n- stage: tool_call\n  block: no"), "Be careful.")),
    ] {
        project.write(path, &text);
        assert!(!outcomes(&project), "{path}: {text}");
        let (code, _, err) = project.levain(&["trust"]);
        assert_eq!(code, 0, "{err}");
        assert!(outcomes(&project), "{path}: {text}");
    }
}

#[test]
fn an_untrusted_directive_changes_no_arguments_and_its_guard_blocks() {
    for (handlers, trusted, made) in [
        ("- {id: h, stage: tool_call, set: {command: touch other}}\n", false, ""),
        ("- {id: h, stage: tool_call, set: {command: touch other}}\n", true, "other"),
        ("- {id: h, stage: tool_call, block: not today}\n", true, ""),
        ("- {id: h, stage: tool_call, command: [\"true\"]}\n", false, ""),
        ("- {id: h, stage: tool_call, command: [\"true\"]}\n", true, "made"),
    ] {
        let project = project(handlers, &calls_bash("touch made"));
        let project = if trusted { project.trusted() } else { project };
        run(&project, "careful", "go");
        let there: Vec<&str> =
            ["made", "other"].into_iter().filter(|name| project.home.project().join(name).exists()).collect();
        assert_eq!(there.join(","), made, "{handlers} {trusted}");
    }
}

#[test]
fn a_saved_directive_counts_from_the_next_prompt_on_and_a_mistake_in_it_does_not() {
    let handlers = |word: &str| format!("- id: h\n  stage: input\n  append: \" {word}\"\n");
    let project = project(&handlers("one"), &[done()]).trusted();
    let terminal = project.open(&["careful"], (100, 30));
    let said = |prompt: &str, sent: &str| {
        terminal.send_keys(prompt);
        terminal.wait_for(prompt);
        terminal.send_keys(key::ENTER);
        let threads = project.home.project().join(".ai/agent/threads");
        terminal::poll(sent, || {
            let mut logs = fs::read_dir(&threads).into_iter().flatten().flatten();
            let log = logs.next().and_then(|thread| fs::read_to_string(thread.path().join("transcript.jsonl")).ok());
            log.is_some_and(|log| log.contains(&format!("\"text\":\"{sent}\"")))
        });
    };
    said("first", "first one");
    project.write(PATH, &careful(&handlers("twofold"), "Be careful."));
    said("second", "second twofold");
    project.write(PATH, &careful("- id: h\n  stage: imput\n  append: x\n", "Be careful."));
    said("third", "third twofold");
    terminal.wait_for("the handlers stay as they were");
    terminal.leave();
    project.home.wait_until_quiet();
}

#[test]
fn the_screen_lists_them_and_asks_one_again_as_it_stands_in_the_directive() {
    let handlers = |word: &str| format!("- id: meticulous\n  stage: input\n  append: \" {word}\"\n");
    let project = project(&handlers("once"), &[done()]).trusted();
    let terminal = project.open(&["careful"], (140, 45));
    let enter = |line: &str| {
        terminal.send_keys(line);
        terminal.wait_for(&format!("› {line}"));
        terminal.send_keys(key::ENTER);
        terminal.wait_gone(&format!("› {line}"));
    };
    // Before the thread begins, too.
    enter("/pipeline");
    terminal.wait_for("meticulous");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ pipeline");
    terminal.send_keys("hello");
    terminal.wait_for("› hello");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("Done.");
    enter("/pipeline");
    terminal.wait_for("+text: hello once");
    project.write(PATH, &careful(&handlers("and again"), "Be careful."));
    terminal.send_keys("r");
    terminal.wait_for("now: changed");
    terminal.wait_for("+text: hello and again");
    terminal.leave();
    project.home.wait_until_quiet();
}

#[test]
fn a_fork_and_the_thread_that_continues_one_ask_them_too() {
    let project = project("- id: h\n  stage: input\n  append: \" (directive)\"\n", &[done()]).trusted();
    let id = run(&project, "careful", "hello");
    let arguments = ["run", "--json", "--model", &project.model, "--fork", &id, "again"];
    let (code, out, err) = project.levain(&arguments);
    assert_eq!(code, 0, "{err}");
    let fork: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let fork = fork["thread_id"].as_str().unwrap();
    let texts = |id: &str| -> Vec<String> {
        let told = project.events(id).into_iter().filter(|(event, _)| event == "cognition_in");
        told.map(|(_, payload)| payload["text"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(texts(fork).last().unwrap(), "again (directive)", "{:?}", texts(fork));
    let terminal = project.open(&["careful"], (100, 30));
    let enter = |line: &str| {
        terminal.send_keys(line);
        terminal.wait_for(&format!("› {line}"));
        terminal.send_keys(key::ENTER);
    };
    enter("one");
    terminal.wait_for("Done.");
    enter("/handoff");
    terminal.wait_for("continues careful-");
    enter("two");
    let threads = project.home.project().join(".ai/agent/threads");
    terminal::poll("the thread that continues it", || {
        let logs = fs::read_dir(&threads).into_iter().flatten().flatten();
        let mut logs = logs.filter_map(|thread| fs::read_to_string(thread.path().join("transcript.jsonl")).ok());
        logs.any(|log| log.contains("\"text\":\"two (directive)\""))
    });
    terminal.leave();
    project.home.wait_until_quiet();
}
