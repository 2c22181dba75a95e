//! What a directive grants, from its file to the call: capability files, levels of risk, decisions and ceilings.

use crate::support::terminal::{Home, output};
use levain::domain::capability::{PRIMARIES, WRITE_ITEMS, matches, to_execute};
use levain::domain::{Grant, Permissions, Verdict};
use levain::items::capability::{ProjectFiles, stem};
use levain::items::directive::Located;
use levain::items::{Capabilities, Items, Kind, Spaces};
use levain::tools;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const CAPABILITIES: &str = ".ai/tools/rye/agent/permissions/capabilities";

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A project with the directive `x`, whose permissions stand on line 3, and a model that calls `tool` once.
struct Project {
    home: Home,
    model: String,
}

impl Project {
    fn new(permissions: &str, tool: &str, input: &Value) -> Self {
        let home = Home::new();
        let project = Self { model: format!("scripted/{}", home.path().join("s.yaml").display()), home };
        project.directive("x", permissions);
        let call = json!({ "tool_call": { "name": tool, "input": input } });
        let done = json!({ "when": { "after_tool": tool }, "steps": [{ "text": "Done." }] });
        let script = format!("name: s\nrate: 0\nreplies:\n  - {done}\n  - {}\n", json!({ "steps": [call] }));
        write(project.home.path(), "s.yaml", &script);
        project
    }

    fn directive(&self, name: &str, permissions: &str) {
        let text = format!(
            "```xml\n<directive name=\"{name}\" version=\"1.0.0\"><metadata><description>d</description>\n{permissions}\n\
             </metadata></directive>\n```\nDo it.\n"
        );
        write(&self.home.project(), &format!(".ai/directives/{name}.md"), &text);
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        write(&self.home.project(), path, text);
        self
    }

    fn trusted(&self) -> &Self {
        let (code, _, err) = self.levain(&["trust"]);
        assert_eq!(code, 0, "{err}");
        self
    }

    fn levain(&self, arguments: &[&str]) -> (i32, String, String) {
        output(&mut self.home.levain(arguments))
    }

    fn run(&self) -> (i32, String, String) {
        self.levain(&["run", "--json", "--model", &self.model, "--directive", "x", "go"])
    }

    /// A run is refused with `words`, and nothing was begun.
    #[track_caller]
    fn assert_refused(&self, words: &str) {
        let (code, out, err) = self.run();
        let error = err.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        assert!(code != 0 && error.contains(words), "{words}\n{code} {out}{err}");
        assert!(!self.home.project().join(".ai/agent/threads").exists(), "a thread was begun");
    }

    /// What the events of that name say in the only thread of `x`, and all that went to standard error.
    #[track_caller]
    fn told(&self, event: &str) -> (Vec<Value>, String) {
        let (_, out, err) = self.run();
        let result: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let id = result["thread_id"].as_str().unwrap();
        let log = self.home.project().join(format!(".ai/agent/threads/{id}/transcript.jsonl"));
        let lines = fs::read_to_string(log).unwrap();
        let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        (events.filter(|line| line["event_type"] == event).map(|line| line["payload"].clone()).collect(), err)
    }
}

// ---------------------------------------------------------------------------------------------- capability files

#[test]
fn s02_each_shipped_file_names_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    // Of these nothing is built in: they are for what a project brings.
    let brought = ["db", "git", "mcp"];
    for name in brought {
        write(folder.path(), &format!(".ai/tools/{name}/read/one.py"), "__tool_type__ = \"python\"\n");
    }
    let items = Items::list(&Spaces::new(folder.path(), folder.path(), []));
    let built_in: Vec<String> = tools::ids().map(to_execute).chain([WRITE_ITEMS.to_owned()]).collect();
    let own: Vec<String> = brought.map(|name| to_execute(&format!("{name}/read/one"))).into();
    for id in &own {
        let id = id.trim_start_matches("rye.execute.tool.").replace('.', "/");
        assert!(items.find(Kind::Tool, &id).is_ok(), "{id}");
    }
    let capabilities = Capabilities::read(&items, ProjectFiles::Counted);
    let files: Vec<_> = items.iter().filter_map(|found| Some((found.item, stem(found.item)?.to_owned()))).collect();
    let mut names: Vec<&str> = files.iter().map(|(_, name)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["agent", "db", "fs", "git", "mcp", "net", "primary", "process", "registry"]);
    for (item, name) in &files {
        assert_eq!(levain::items::check::item(&items, item), [], "{name}");
        let text = items.read(item).unwrap();
        let (file, _) = levain::items::capability::CapabilityFile::parse(&text, &items.file(item), name);
        assert_eq!(file.name.as_ref(), Some(name));
        assert!(file.description.is_some() && !file.aliases.is_empty(), "{name}");
        let all = [&file.aliases, &file.hierarchy].into_iter().flatten();
        for capability in all.flat_map(|entry| entry.stands_for.iter().chain([&entry.name])) {
            let there = if brought.contains(&name.as_str()) { &own } else { &built_in };
            let is_alias = !capability.starts_with("rye.");
            assert!(is_alias || there.iter().any(|id| matches(capability, id)), "{name}: {capability} fits nothing");
        }
        for entry in &file.implies {
            let primaries = entry.stands_for.iter().chain([&entry.name]);
            assert!(primaries.map(|one| format!("rye/{one}")).all(|one| PRIMARIES.contains(&one.as_str())));
        }
        for alias in &file.aliases {
            let said = [Located { value: Grant::new(alias.name.clone(), false), lines: (1, 1) }];
            assert!(!capabilities.expand(&said, Path::new("a.md")).unwrap().is_empty(), "{}", alias.name);
        }
    }
}

#[test]
fn s02_a_grant_by_alias_is_expanded_once_and_seen_everywhere() {
    let project = Project::new("<permissions><cap>fs.read</cap></permissions>", "rye_file_system_ls", &json!({}));
    project.trusted();
    let (told, _) = project.told("permissions_set");
    let grants = told[0]["grants"].as_array().unwrap();
    let names: Vec<_> = grants.iter().map(|grant| grant["capability"].as_str().unwrap()).collect();
    let expected = ["read", "ls", "glob", "grep"].map(|name| format!("rye.execute.tool.rye.file-system.{name}"));
    assert_eq!(names, expected);
    assert!(grants.iter().all(|grant| grant["via"].as_str().unwrap().starts_with("fs.read, levain:")), "{grants:?}");
    let (calls, _) = project.told("tool_call_start");
    assert_eq!(calls[0]["capability"], expected[1]);
    assert_eq!(calls[0]["grant"], expected[1]);
    let (_, shown, _) = project.levain(&["context", "show", "x", "--model", "scripted/demo"]);
    assert!(shown.contains(&format!("may {} (fs.read, levain:/{CAPABILITIES}/fs.yaml:", expected[0])), "{shown}");
    assert!(shown.contains("rye/file-system/glob") && !shown.contains("rye/file-system/write"), "{shown}");
    let (code, checked, _) = project.levain(&["check"]);
    assert_eq!(code, 0, "{checked}");
}

#[test]
fn s02_an_alias_that_asks_asks_for_all_of_it() {
    let project =
        Project::new("<permissions><cap ask=\"true\">fs.read</cap></permissions>", "rye_file_system_ls", &json!({}));
    project.trusted();
    let (denied, _) = project.told("permission_denied");
    assert_eq!(denied[0]["reason"], "unattended");
    assert_eq!(denied[0]["grant"], "rye.execute.tool.rye.file-system.ls");
}

#[test]
fn s02_what_an_alias_is_not_starts_nothing_and_check_tells_it_too() {
    let project = Project::new("<permissions><cap>fs.raed</cap></permissions>", "rye_bash", &json!({}));
    project.assert_refused(
        ".ai/directives/x.md:3: `fs.raed` is no capability, and no alias of one; did you mean `fs.read`?",
    );
    let (code, checked, _) = project.levain(&["check"]);
    assert_eq!(code, 1, "{checked}");
    assert!(checked.contains("fatal: ") && checked.contains("x.md:3: `fs.raed` is no capability"), "{checked}");
}

#[test]
fn s02_a_file_that_does_not_read_concerns_who_uses_it() {
    let project = Project::new("<permissions><cap>team.look</cap></permissions>", "rye_file_system_ls", &json!({}));
    project.file(&format!("{CAPABILITIES}/team.yaml"), "aliases:\n  team.look: [rye execute]\n").trusted();
    project.assert_refused("x.md:3: `team.look` cannot be granted: ");
    project.directive("x", "<permissions><cap>fs.read</cap></permissions>");
    assert_eq!(project.trusted().told("tool_call_start").0.len(), 1);
    let (code, checked, _) = project.levain(&["check"]);
    assert!(
        code == 1 && checked.contains("team.yaml:2: `rye.execute` is no capability")
            || checked.contains("team.yaml:2: `rye execute`"),
        "{checked}"
    );
}

#[test]
fn s02_a_project_that_is_not_trusted_gives_no_word_a_meaning() {
    let project = Project::new("<permissions><cap>team.look</cap></permissions>", "rye_file_system_ls", &json!({}));
    let file = format!("{CAPABILITIES}/team.yaml");
    project.file(&file, "aliases: {team.look: rye.execute.tool.rye.file-system.ls}\n");
    project.assert_refused("team.yaml is of a project that you do not trust; look at it, then run levain trust");
    assert_eq!(project.trusted().told("tool_call_start").0.len(), 1);
    // What it means now nobody looked at.
    let dir = project.home.project().join(".ai/agent");
    fs::remove_dir_all(dir).unwrap();
    project.file(&file, "aliases: {team.look: rye.execute.*}\n");
    project.assert_refused("of a project that you do not trust");
    // The shipped meaning stays, whatever the project says.
    project.file(&format!("{CAPABILITIES}/fs.yaml"), "aliases: {fs.read: rye.*}\n");
    project.directive("x", "<permissions><cap>fs.read</cap></permissions>");
    let (told, _) = project.told("permissions_set");
    assert_eq!(told[0]["grants"].as_array().unwrap().len(), 4);
    assert!(told[0]["grants"].as_array().unwrap().iter().all(|grant| grant["ask"] == true), "{told:?}");
}

// ------------------------------------------------------------------------------------------------------- risk

#[test]
fn s03_what_is_unrestricted_starts_when_it_is_acknowledged() {
    let project = Project::new("<permissions>*</permissions>", "rye_file_system_ls", &json!({}));
    project.trusted();
    project.assert_refused(
        "x.md:3: grants `rye.*`, whose risk is unrestricted, and does not acknowledge it; grant less, or write \
         <acknowledge risk=\"unrestricted\">why</acknowledge> in <permissions>",
    );
    let (code, checked, _) = project.levain(&["check"]);
    assert!(code == 1 && checked.contains("fatal: ") && checked.contains("x.md:3: grants `rye.*`"), "{checked}");
    let known = "<permissions><cap>*</cap><acknowledge risk=\"elevated\">why</acknowledge></permissions>";
    project.directive("x", known);
    project.assert_refused("whose risk is unrestricted");
    project.directive("x", &known.replace("elevated", "unrestricted"));
    let (calls, err) = project.trusted().told("tool_call_start");
    assert_eq!((calls.len(), &calls[0]["grant"]), (1, &"rye.*".into()));
    assert!(!err.contains("risk"), "{err}");
    let (told, _) = project.told("permissions_set");
    assert_eq!(told[0]["grants"][0]["risk"], "unrestricted");
}

#[test]
fn s03_what_is_elevated_starts_with_a_warning_where_it_is_not_acknowledged() {
    let granted = "<permissions><execute><tool>rye/bash</tool></execute></permissions>";
    let project = Project::new(granted, "rye_bash", &json!({ "command": "true" }));
    let warning = "x.md:3: grants `rye.execute.tool.rye.bash`, whose risk is elevated; write <acknowledge";
    let (calls, err) = project.trusted().told("tool_call_start");
    assert!(calls.len() == 1 && err.contains(warning), "{err}");
    let (code, checked, _) = project.levain(&["check"]);
    assert!(code == 0 && checked.contains("warning: ") && checked.contains(warning), "{checked}");
    let (_, linted, _) = project.levain(&["context", "lint", "x"]);
    assert!(linted.contains("whose risk is elevated"), "{linted}");
    let (_, shown, _) = project.levain(&["context", "show", "x"]);
    assert!(shown.contains("risk elevated: rye.execute.tool.rye.bash\n"), "{shown}");
    let known = "<acknowledge risk=\"elevated\">it builds</acknowledge></permissions>";
    project.directive("x", &granted.replace("</permissions>", known));
    let (calls, err) = project.trusted().told("tool_call_start");
    assert!(calls.len() == 1 && !err.contains("risk"), "{err}");
    let (_, shown, _) = project.levain(&["context", "show", "x"]);
    assert!(shown.contains("risk elevated: rye.execute.tool.rye.bash (acknowledged)\n"), "{shown}");
}

#[test]
fn s03_a_project_makes_its_directives_stricter_and_nothing_milder() {
    let granted = "<permissions><execute><tool>rye/bash</tool></execute></permissions>";
    let project = Project::new(granted, "rye_bash", &json!({ "command": "true" }));
    let file = ".ai/config/agent/capability_risk.yaml";
    project.file(
        file,
        "classifications:\n- {id: shell_itself, pattern: rye.execute.tool.rye.bash, level: unrestricted}\n",
    );
    project.trusted().assert_refused("whose risk is unrestricted");
    project.directive("x", "<permissions>*</permissions>");
    project.file(
        file,
        "levels: {unrestricted: {policy: allow}}\nclassifications:\n- {id: everything, pattern: \"*\", level: safe}\n",
    );
    project.trusted().assert_refused("grants `rye.*`, whose risk is unrestricted");
    project.file(file, "classifications:\n- {id: odd, pattern: x, level: saef}\n");
    project
        .trusted()
        .assert_refused("capability_risk.yaml:2: `odd` is of an unknown level: `saef`; did you mean `safe`?");
}

#[test]
fn s03_the_shipped_directives_start_without_a_word() {
    let home = Home::new();
    let (code, checked, _) = output(&mut home.levain(&["check"]));
    assert_eq!((code, checked.lines().count()), (0, 1), "{checked}");
}

// -------------------------------------------------------------------------------------------------- being asked

/// A call that nothing grants is denied also where somebody could be asked; what the directive asks for beside is asked.
#[test]
fn s06_nobody_is_asked_about_what_nothing_grants_unless_the_directive_says_so() {
    let exact = Grant::new("rye.execute.tool.rye.file-system.read", false);
    let bash = [to_execute("rye/bash")];
    let closed = Permissions::below(Some(vec![exact.clone()]), Vec::new());
    assert_eq!(closed.verdict(&bash), Verdict::Denied);
    let open = Permissions::below(Some(vec![exact.clone(), Grant::new("rye.execute.*", true)]), Vec::new());
    assert_eq!(open.verdict(&bash), Verdict::Ask);
    assert_eq!(open.verdict(&[exact.capability]), Verdict::Allowed);
}
