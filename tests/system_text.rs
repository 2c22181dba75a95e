//! What extensions say of their tools in the system text, and the text that a person or a project adds to it.

use crate::support::scripted_project::{Project, done};
use crate::support::terminal::key;
use serde_json::{Value, json};
use std::fs;

const EXTENSION: &str = r#"
export default (pi: any) => {
  const tool = (name: string, more: any) => pi.registerTool({ name, label: name, description: name + " things",
    parameters: { type: "object", properties: {} }, execute: async () => ({ content: [{ type: "text", text: "ok" }] }), ...more });
  tool("brew", { promptSnippet: "Make\n  tea", promptGuidelines: [" Ask for milk. ", "Boil the water first."] });
  tool("pour", { promptSnippet: "Pour tea", promptGuidelines: ["Ask for milk.", ""] });
  tool("plain", {});
  pi.on("before_agent_start", (event: any) => ({
    message: { customType: "options", content: JSON.stringify(event.systemPromptOptions), display: false } }));
};
"#;

/// A directive with this in its metadata.
fn directive(inside: &str) -> String {
    format!("```xml\n<directive name=\"work\"><metadata>{inside}</metadata></directive>\n```\nWork.\n")
}

fn grant(tools: &[&str]) -> String {
    let tools = tools.join("</tool><tool>");
    format!("<permissions><execute><tool>{tools}</tool></execute></permissions>")
}

/// A project with that extension, whose directive has this in its metadata.
fn project(inside: &str) -> Project {
    let project = Project::extended(EXTENSION, &[done()]);
    project.write(".ai/directives/work.md", &directive(inside));
    project.trusted()
}

/// The layers that were sent or would be, without what says how things stand.
fn layers(project: &Project, arguments: &[&str]) -> Vec<Value> {
    let (code, out, err) =
        project.levain(&[&["context", "show", "--json", "--model", &project.model], arguments].concat());
    assert_eq!(code, 0, "{err}");
    let shown: Value = serde_json::from_str(&out).unwrap();
    let layers = shown["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] != "context_state");
    layers.cloned().collect()
}

fn sent(project: &Project, id: &str) -> Vec<Value> {
    layers(project, &["--thread", id])
}

fn named<'a>(layers: &'a [Value], kind: &str) -> Vec<&'a str> {
    layers.iter().filter(|layer| layer["kind"] == kind).map(|layer| layer["id"].as_str().unwrap()).collect()
}

#[test]
fn what_an_extension_says_of_its_tools_is_in_the_system_text_with_its_file() {
    let project = project(&grant(&["extension/*"]));
    let id = project.run("hello");
    let shown = sent(&project, &id);
    assert_eq!(named(&shown, "tool_snippets"), [".ai/extensions/e.ts#tools"]);
    assert_eq!(named(&shown, "guidelines"), [".ai/extensions/e.ts#guidelines"]);
    assert_eq!(shown[0]["kind"], "constitution");
    let snippets = shown.iter().find(|layer| layer["kind"] == "tool_snippets").unwrap();
    let origin = &snippets["origin"];
    assert_eq!((&origin["path"], &origin["space"]), (&json!(".ai/extensions/e.ts"), &json!("project")), "{origin}");
    let text = project.told(&id);
    assert!(text.contains("More tools:\n- brew: Make tea\n- pour: Pour tea\n"), "{text}");
    assert!(text.contains("Guidelines for these tools:\n- Ask for milk.\n- Boil the water first.\n"), "{text}");
    assert!(!text.contains("- plain"), "{text}");
    // A preview shows the same, tools of extensions among them.
    let told = |layers: Vec<Value>| {
        let one = |layer: Value| {
            (layer["id"].clone(), layer["kind"].clone(), layer["decision"].clone(), layer["hash"].clone())
        };
        layers.into_iter().map(one).filter(|(_, kind, ..)| kind != "extension_message").collect::<Vec<_>>()
    };
    assert_eq!(told(layers(&project, &["work", "--prompt", "hello"])), told(shown));
    // A layer like any other: it can be left out.
    let without = ["context", "what-if", &format!("{id}#1"), "--without", ".ai/extensions/e.ts#guidelines"];
    let (code, out, err) = project.levain(&[&without[..], &["--model", &project.model]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 removed") && out.contains("e.ts#guidelines"), "{out}");
}

#[test]
fn nothing_is_said_of_tools_that_the_thread_may_not_use() {
    for (granted, snippets, says) in [
        (&["extension/pour"][..], 1, "More tools:\n- pour: Pour tea\n"),
        (&["extension/plain"], 0, ""),
        (&["rye/bash"], 0, ""),
    ] {
        let project = project(&grant(granted));
        let id = project.run("hello");
        let shown = sent(&project, &id);
        assert_eq!(named(&shown, "tool_snippets").len(), snippets, "{granted:?}: {shown:?}");
        assert_eq!(named(&shown, "guidelines").len(), snippets, "{granted:?}: {shown:?}");
        let text = project.told(&id);
        assert!(text.contains(says) && !text.contains("- brew"), "{text}");
    }
}

#[test]
fn the_list_of_items_has_hooks_skills_templates_and_extensions() {
    let project = project(&grant(&["extension/pour"]));
    project.write(".ai/skills/steep/SKILL.md", "---\nname: steep\ndescription: How long\n---\nFour minutes.\n");
    project.write(".ai/prompts/boil.md", "---\ndescription: Water\n---\nBoil $1.\n");
    let hooks = "hooks:\n  - id: kettle\n    event: thread_started\n    layer: 2\n    enabled: false\n    action: {primary: fetch, \
                 item_type: knowledge, item_id: nothing}\n";
    project.write(".ai/config/agent/hooks.yaml", hooks);
    let terminal = project.home.levain_in_terminal(&["--model", &project.model]).size(160, 30).start();
    terminal.wait_for("A new thread");
    terminal.send_keys("/items");
    terminal.wait_for("› /items");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("knowledge");
    for (typed, seen) in [
        ("kettle", ["hooks.yaml:2 · layer 2", "switched off"]),
        ("steep", ["skills/steep/SKILL.md", "Four minutes."]),
        ("boil", ["prompts/boil.md", "Boil $1."]),
        ("e.ts", [".ai/extensions/e.ts", "Make"]),
    ] {
        terminal.send_keys("/");
        terminal.send_keys(typed);
        for seen in seen {
            terminal.wait_for(seen);
        }
        // The keys of the list are back once the filter is empty.
        terminal.send_keys(key::ESC);
        terminal.wait_for("/ to filter");
    }
    terminal.send_keys(key::ESC);
    terminal.wait_for("A new thread");
    terminal.leave();
}

#[test]
fn a_handler_is_told_how_the_system_text_is_made() {
    let project = project(&grant(&["extension/pour", "rye/bash"]));
    project.write(".ai/skills/steep/SKILL.md", "---\nname: steep\ndescription: How long\n---\nFour minutes.\n");
    let id = project.run("hello");
    let messages = project.event(&id, "prompt_prepared")["messages"].clone();
    let options: Value = serde_json::from_str(messages[0]["text"].as_str().unwrap()).unwrap();
    let mut selected: Vec<&str> =
        options["selectedTools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    selected.sort_unstable();
    assert!(selected.contains(&"bash") && selected.contains(&"pour") && !selected.contains(&"brew"), "{options}");
    assert_eq!(options["toolSnippets"], json!({"pour": "Pour tea"}));
    assert_eq!(options["promptGuidelines"], json!(["Ask for milk.", ""]));
    assert!(options["cwd"].as_str().unwrap().ends_with("project"), "{options}");
    let [skill] = options["skills"].as_array().unwrap().as_slice() else { panic!("{options}") };
    let text = |name: &str| skill[name].as_str().unwrap();
    assert_eq!((text("name"), text("description")), ("steep", "How long"), "{skill}");
    assert!(text("filePath").ends_with("/steep/SKILL.md") && text("baseDir").ends_with("/steep"), "{skill}");
    assert_eq!(skill["disableModelInvocation"], false, "{skill}");
}

#[test]
fn a_handler_is_told_of_the_files_that_are_in_the_system_text() {
    // Asked twice: what the second is told is the same, and a tool asks for it while a call runs.
    const EXTENSION: &str = r#"
    export default (pi: any) => {
      const kept: any[] = [];
      const keep = (event: any, ctx: any) => void kept.push(event.systemPromptOptions, ctx.getSystemPromptOptions());
      pi.on("before_agent_start", keep);
      pi.on("before_agent_start", keep);
      pi.on("context", (event: any, ctx: any) => pi.appendEntry("kept", [...kept, ctx.getSystemPromptOptions()]));
    };"#;
    const ASKED: &str = "<context><provider>project_files</provider></context>";
    for (asked, expected) in [(ASKED, 2), ("", 0)] {
        let project = Project::extended(EXTENSION, &[done()]);
        project.write(".ai/directives/work.md", &directive(asked));
        project.write("AGENTS.md", "Use tabs.\n");
        project.write(".ai/APPEND_SYSTEM.md", "Never guess.\n");
        let own = project.home.home().join(".ai/AGENTS.md");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(&own, "Be kind.\n").unwrap();
        let project = project.trusted();
        let id = project.run("hello");
        let kept = project.event(&id, "extension_entry")["entry"]["data"].clone();
        let kept = kept.as_array().unwrap_or_else(|| panic!("{kept}"));
        assert_eq!(kept.len(), 5);
        for options in kept {
            let files = options["contextFiles"].as_array().unwrap_or_else(|| panic!("{options}"));
            let told: Vec<(&str, &str)> =
                files.iter().map(|file| (file["path"].as_str().unwrap(), file["content"].as_str().unwrap())).collect();
            let of_project = project.home.project().canonicalize().unwrap().join("AGENTS.md").display().to_string();
            let own = own.display().to_string();
            assert_eq!(told, [(&*own, "Be kind."), (&*of_project, "Use tabs.")][..expected]);
            assert_eq!(options["appendSystemPrompt"].as_str(), (expected > 0).then_some("Never guess."), "{options}");
        }
    }
}

#[test]
fn one_text_is_appended_where_project_files_are_asked_for() {
    const ASKED: &str = "<context><provider>project_files</provider></context>";
    let project = Project::new("");
    let own = |path: &str, text: &str| {
        let path = project.home.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    project.write(".ai/directives/asks.md", &directive(ASKED).replace("\"work\"", "\"asks\""));
    project.write("AGENTS.md", "Use tabs.\n");
    let appended = |directive: &str| {
        let shown = layers(&project, &[directive, "--prompt", "hello"]);
        named(&shown, "append_system").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(appended("asks"), Vec::<String>::new());
    own(".pi/agent/APPEND_SYSTEM.md", "Own, of pi.");
    assert_eq!(appended("asks"), [".pi/agent/APPEND_SYSTEM.md"]);
    own(".ai/APPEND_SYSTEM.md", "Own.");
    let (_, text, _) = project.levain(&["context", "show", "asks", "--text", "--model", &project.model]);
    assert!(text.contains("Own.\n") && !text.contains("Own, of pi."), "{text}");
    project.write(".pi/APPEND_SYSTEM.md", "The project's, of pi.\n");
    project.write(".ai/APPEND_SYSTEM.md", "The project's.\n");
    assert_eq!(appended("work"), Vec::<String>::new());
    let shown = layers(&project, &["asks", "--prompt", "hello"]);
    let kinds: Vec<&str> = shown.iter().map(|layer| layer["kind"].as_str().unwrap()).collect();
    let place = |kind: &str| kinds.iter().position(|one| *one == kind).unwrap_or_else(|| panic!("{kind}: {kinds:?}"));
    assert!(place("constitution") < place("append_system"), "{kinds:?}");
    assert!(place("append_system") < place("project_file"), "{kinds:?}");
    let (_, text, _) = project.levain(&["context", "show", "asks", "--text", "--model", &project.model]);
    assert!(text.contains("The project's.\n\n") && text.contains("# AGENTS.md\n\nUse tabs."), "{text}");
    assert!(!text.contains("of pi") && !text.contains("Own."), "{text}");
    fs::remove_file(project.home.project().join(".ai/APPEND_SYSTEM.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", project.home.project().join(".ai/APPEND_SYSTEM.md")).unwrap();
    let shown = layers(&project, &["asks", "--prompt", "hello"]);
    let refused = shown.iter().find(|layer| layer["kind"] == "append_system").unwrap();
    assert!(refused["decision"].to_string().contains("leads out"), "{refused}");
}

#[test]
fn a_preview_on_the_screen_tells_of_the_tools_of_a_thread_that_has_not_begun() {
    let project = project(&grant(&["extension/pour"]));
    let terminal = project.open(&["work"], (140, 45));
    terminal.send_keys("hello");
    terminal.wait_for("› hello");
    terminal.send_keys("\x10"); // ctrl-p
    terminal.wait_for("what Enter would send");
    terminal.wait_for("e.ts#tools");
    terminal.wait_for("e.ts#guidelines");
    terminal.leave();
    project.home.wait_until_quiet();
}
