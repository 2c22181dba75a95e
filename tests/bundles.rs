//! Further bundles of the system space: what they add, what they win, and what they cannot take away.

use crate::support::terminal::{Home, write};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn knowledge(folder: &Path, id: &str, body: &str) {
    let name = id.rsplit('/').next().unwrap();
    write(&folder.join(format!(".ai/knowledge/{id}.md")), &format!("```yaml\nname: {name}\n```\n\n{body}\n"));
}

fn directive(folder: &Path, id: &str, attributes: &str, metadata: &str) {
    let name = id.rsplit('/').next().unwrap();
    let text = format!(
        "```xml\n<directive name=\"{name}\" version=\"1.0.0\"{attributes}>\n<metadata>\n<description>{name}</description>\n\
         {metadata}\n</metadata>\n</directive>\n```\n\nDo it.\n"
    );
    write(&folder.join(format!(".ai/directives/{id}.md")), &text);
}

/// A tool as a bundle brings it: Python that says what it takes.
fn tool(folder: &Path, id: &str) {
    let text = "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__tool_description__ = \"From the bundle\"\n\
                CONFIG_SCHEMA = {\"type\": \"object\", \"properties\": {\"other\": {\"type\": \"string\"}}}\n";
    write(&folder.join(format!(".ai/tools/{id}.py")), text);
}

/// Ids of built-in tools as files of bundles have them.
const TOOLS: [&str; 10] = [
    "rye/file-system/read",
    "rye/file-system/ls",
    "rye/file-system/glob",
    "rye/file-system/grep",
    "rye/file-system/write",
    "rye/file-system/edit_lines",
    "rye/bash/bash",
    "rye/execute",
    "rye/fetch",
    "rye/sign",
];

/// Two bundles with the ids of the original's own: tools, bases, what those name, and a hook.
fn bundles(home: &Home) -> [PathBuf; 2] {
    let [one, two] = ["std", "core"].map(|name| home.path().join("bundles").join(name));
    for id in TOOLS {
        tool(&one, id);
    }
    knowledge(&one, "rye/agent/core/Identity", "Who the bundle says you are.");
    knowledge(&one, "rye/agent/core/DirectiveInstruction", "What the bundle says a directive is.");
    let grants = "<permissions><execute>*</execute><fetch>*</fetch><sign>*</sign></permissions>";
    let context = "<context><system>rye/agent/core/Identity</system></context>";
    directive(&one, "rye/agent/core/base", "", &format!("{context}{grants}"));
    let hook = "category: agent\ntool_type: config\ncontext_hooks:\n  - id: ctx_directive_instruction\n    event: thread_started\n    \
                position: after\n    action: {primary: execute, item_type: knowledge, item_id: rye/agent/core/DirectiveInstruction}\n";
    write(&one.join(".ai/config/agent/hook_conditions.yaml"), hook);
    write(&two.join(".ai/knowledge/rye/core/notes.md"), "Notes.\n");
    [one, two]
}

/// What a command prints on its output, with the bundles in place.
fn told(home: &Home, bundles: &[PathBuf], arguments: &[&str]) -> String {
    let folders = std::env::join_paths(bundles).unwrap();
    let mut command = home.levain(arguments);
    let Output { status, stdout, stderr } =
        command.env("LEVAIN_SYSTEM_SPACE", folders).stdin(Stdio::null()).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn shown(home: &Home, bundles: &[PathBuf], directive: &str) -> Value {
    serde_json::from_str(&told(home, bundles, &["context", "show", directive, "--json"])).unwrap()
}

/// Ids of the layers of one kind that are in the request.
fn included(shown: &Value, kind: &str) -> Vec<String> {
    let layers = shown["layers"].as_array().unwrap().iter();
    let there = layers.filter(|layer| layer["kind"] == kind && layer["decision"]["is"] == "included");
    there.map(|layer| layer["id"].as_str().unwrap().to_owned()).collect()
}

fn layer<'a>(shown: &'a Value, id: &str) -> &'a Value {
    let mut layers = shown["layers"].as_array().unwrap().iter();
    layers.find(|layer| layer["id"] == id && layer["decision"]["is"] == "included").unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn s02_a_bundle_takes_no_built_in_tool_away() {
    let home = Home::new();
    let bundles = bundles(&home);
    let plain = shown(&home, &[], "levain/chat");
    let with = shown(&home, &bundles, "levain/chat");
    assert_eq!(included(&with, "tool_schema"), included(&plain, "tool_schema"));
    assert!(included(&with, "tool_schema").len() > 10, "{with}");
    // What the model is told is what the built-in tool takes.
    assert_eq!(layer(&with, "rye/bash")["text"], layer(&plain, "rye/bash")["text"]);
    let described = "(built in), described by system:std .ai/tools/rye/bash/bash.py";
    assert_eq!(layer(&with, "rye/bash")["origin"]["path"], described);
    let listed = told(&home, &bundles, &["items"]);
    assert!(listed.contains("rye/bash/bash") && listed.contains("system:std"), "{listed}");
}

#[test]
fn s02_directives_of_a_bundle_are_offered_what_is_built_in() {
    let home = Home::new();
    let bundles = bundles(&home);
    let grants =
        "<permissions><execute><tool>rye.bash.bash</tool><tool>rye.file-system.*</tool></execute></permissions>";
    directive(&bundles[0], "rye/bash/bash", "", grants);
    let offered = included(&shown(&home, &bundles, "rye/bash/bash"), "tool_schema");
    for id in ["rye/bash", "rye/file-system/read", "rye/file-system/write"] {
        assert!(offered.iter().any(|offered| offered == id), "{id}: {offered:?}");
    }
    let offered = included(&shown(&home, &bundles, "rye/agent/core/base"), "tool_schema");
    for id in ["rye/execute", "rye/fetch", "rye/sign"] {
        assert!(offered.iter().any(|offered| offered == id), "{id}: {offered:?}");
    }
}

#[test]
fn s02_a_file_of_the_project_or_the_person_stands_in_a_built_in_tools_place() {
    let home = Home::new();
    let bundles = bundles(&home);
    tool(&home.project(), "rye/bash");
    tool(&home.home(), "rye/file-system/ls");
    let offered = included(&shown(&home, &bundles, "levain/chat"), "tool_schema");
    // The project's is not offered before the project is trusted; the person's own is what is offered under that id.
    assert!(!offered.contains(&"rye/bash".to_owned()), "{offered:?}");
    let shown = shown(&home, &bundles, "levain/chat");
    let ls = layer(&shown, "rye/file-system/ls");
    assert_eq!(ls["origin"]["space"], "user", "{ls}");
    assert!(offered.contains(&"rye/file-system/read".to_owned()), "{offered:?}");
}

#[test]
fn s02_a_bundles_items_and_hooks_win_over_those_in_the_program() {
    let home = Home::new();
    let [one, two] = bundles(&home);
    knowledge(&one, "levain/core/Behavior", "How the bundle says you work.");
    knowledge(&two, "levain/core/Behavior", "The second bundle loses.");
    let with = shown(&home, &[one, two], "levain/core/base");
    let behavior = layer(&with, "levain/core/Behavior");
    assert_eq!(behavior["text"], "How the bundle says you work.");
    assert_eq!((&behavior["origin"]["space"], &behavior["origin"]["bundle"]), (&"system".into(), &"std".into()));
    let hooked = layer(&with, "ctx_directive_instruction");
    assert_eq!(hooked["kind"], "hook_after", "the bundle's hook replaces ours: {hooked}");
    assert!(hooked["text"].as_str().unwrap().contains("What the bundle says a directive is."), "{hooked}");
}

#[test]
fn s02_a_layer_names_its_bundle() {
    let home = Home::new();
    let bundles = bundles(&home);
    let told = told(&home, &bundles, &["context", "show", "rye/agent/core/base"]);
    assert!(told.contains("system:std .ai/knowledge/rye/agent/core/Identity.md"), "{told}");
    assert!(told.contains("system:std .ai/directives/rye/agent/core/base.md"), "{told}");
}

#[test]
fn s02_settings_of_the_bundle_that_is_named_first_win() {
    let home = Home::new();
    let bundles = bundles(&home);
    for (bundle, turns) in bundles.iter().zip([7, 8]) {
        let text = format!("limits:\n  one_shot:\n    turns: {turns}\n");
        write(&bundle.join(".ai/config/agent/resilience.yaml"), &text);
    }
    let told = told(&home, &bundles, &["config", "resilience.limits.one_shot.turns"]);
    assert!(told.contains("bundles/std/"), "{told}");
}

#[test]
fn s03_base_items_go_by_the_ids_of_the_original() {
    let home = Home::new();
    directive(&home.project(), "team/ship", " extends=\"rye/agent/core/base\"", "");
    let (ours, theirs) = (shown(&home, &[], "levain/core/base"), shown(&home, &[], "team/ship"));
    for kind in ["extends_system", "context_before", "tool_schema"] {
        let of_base = if kind == "extends_system" { "directive_system" } else { kind };
        assert_eq!(included(&theirs, kind), included(&ours, of_base), "{kind}");
    }
    let context =
        "<context><system>rye/agent/core/Behavior</system><before>rye/agent/core/protocol/sign</before></context>";
    directive(&home.project(), "team/named", "", context);
    let named = shown(&home, &[], "team/named");
    let path = &layer(&named, "rye/agent/core/Behavior")["origin"]["path"];
    assert_eq!(path, ".ai/knowledge/levain/core/Behavior.md");
    assert_eq!(included(&named, "context_before"), ["rye/agent/core/protocol/sign"]);
}

#[test]
fn s03_an_item_of_the_project_with_the_original_id_replaces_the_shipped_one() {
    let home = Home::new();
    knowledge(&home.project(), "rye/agent/core/Identity", "Who this project says you are.");
    for base in ["levain/core/base", "rye/agent/core/base_review"] {
        directive(&home.project(), "team/ship", &format!(" extends=\"{base}\""), "");
        let with = shown(&home, &[], "team/ship");
        assert_eq!(layer(&with, "levain/core/Identity")["text"], "Who this project says you are.", "{base}");
        let hidden = "hidden by project .ai/knowledge/rye/agent/core/Identity.md";
        assert!(told(&home, &[], &["context", "show", "team/ship"]).contains(hidden), "{base}");
    }
}

#[test]
fn s03_a_bundles_identity_wins_over_the_shipped_one() {
    let home = Home::new();
    let bundles = bundles(&home);
    let with = shown(&home, &bundles, "levain/core/base");
    assert_eq!(layer(&with, "levain/core/Identity")["text"], "Who the bundle says you are.");
    assert_eq!(layer(&with, "levain/core/Identity")["origin"]["bundle"], "std");
}

#[test]
fn s03_an_item_is_left_out_by_either_id_and_put_in_once() {
    let home = Home::new();
    let context = "<context><suppress>rye/agent/core/protocol/sign</suppress><suppress>rye/agent/core/Environment</suppress>\
                   <system>rye/agent/core/Identity</system></context>";
    directive(&home.project(), "team/ship", " extends=\"levain/core/base\"", context);
    let with = shown(&home, &[], "team/ship");
    assert_eq!(included(&with, "context_before"), ["levain/core/protocol/execute", "levain/core/protocol/fetch"]);
    assert!(!included(&with, "hook_before").contains(&"ctx_environment".to_owned()), "{with}");
    assert_eq!(included(&with, "extends_system"), ["levain/core/Identity", "levain/core/Behavior"]);
    assert_eq!(included(&with, "directive_system"), Vec::<String>::new());
    assert!(!with["problems"].to_string().contains("to leave out"), "{}", with["problems"]);
}
