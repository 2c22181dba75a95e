//! Extensions that pi's settings name: packages, and files by path.

use crate::support::scripted_project::{Project, say};
use crate::support::terminal;
use std::fs;
use std::path::Path;

/// An extension that puts a word behind each prompt.
fn adds(word: &str) -> String {
    format!(
        "export default (pi: any) => pi.on(\"input\", (event) => ({{ action: \"transform\", text: event.text + \" {word}\" }}));"
    )
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn asked(project: &Project) -> String {
    let id = project.run("hello");
    project.event(&id, "cognition_in")["text"].as_str().unwrap().to_owned()
}

#[test]
fn packages_and_files_that_pis_settings_name_are_loaded() {
    let project = Project::new("");
    let (home, root) = (project.home.home(), project.home.project());
    let agent = home.join(".pi/agent");
    write(&agent, "extensions/own.ts", &adds("own"));
    write(&agent, "extensions/off.ts", &adds("off"));
    write(&agent, "npm/node_modules/of-npm/extensions/e.ts", &adds("npm"));
    write(&agent, "npm/node_modules/of-npm/prompts/greet.md", "Greet everybody");
    write(&home, "named.ts", &adds("named"));
    let settings = r#"{"extensions": ["~/named.ts", "-extensions/off.ts"], "packages": ["npm:of-npm", "npm:missing"]}"#;
    write(&agent, "settings.json", settings);
    assert_eq!(asked(&project), "hello named own npm");
    let (_, out, err) = project.levain(&["extensions"]);
    assert!(out.contains("of-npm/extensions/e.ts") && !out.contains("off.ts"), "{out}{err}");
    let (_, out, err) = project.levain(&["check"]);
    assert!((out + &err).contains("the package npm:missing, which the settings of pi name, is not installed"));
    let id = project.run("/greet");
    assert!(project.event(&id, "cognition_in")["text"].as_str().unwrap().starts_with("Greet everybody"));
    // The project's own are loaded once they are trusted; a package that the person has as well is theirs.
    let package = ".pi/git/example.org/who/what/extensions/g.ts";
    write(&root, package, &adds("git"));
    write(&root, ".pi/npm/node_modules/of-npm/extensions/e.ts", &adds("stolen"));
    write(&root, "tools/t.ts", &adds("tools"));
    let settings = r#"{"extensions": ["../tools/t.ts", "../../outside.ts"], "packages": ["git:example.org/who/what", "npm:of-npm"]}"#;
    write(&root, ".pi/settings.json", settings);
    write(root.parent().unwrap(), "outside.ts", &adds("outside"));
    assert_eq!(asked(&project), "hello named own npm");
    let (_, shown, err) = project.levain(&["trust", "--show"]);
    for file in [".pi/settings.json", package, "tools/t.ts"] {
        assert!(shown.contains(file), "{file}: {shown}{err}");
    }
    let project = project.trusted();
    assert_eq!(asked(&project), "hello tools named own git npm");
    // Whatever of it changes ends the trust.
    for (path, text) in [
        (package, adds("changed")),
        ("tools/t.ts", adds("changed")),
        (".pi/settings.json", "{\"extensions\": [\"../tools\"]}".to_owned()),
    ] {
        write(&root, path, &text);
        assert_eq!(asked(&project), "hello named own npm", "{path}");
        let (code, _, err) = project.levain(&["trust"]);
        assert_eq!(code, 0, "{err}");
    }
    assert_eq!(asked(&project), "hello changed named own npm");
}

#[test]
fn a_projects_extension_imports_only_what_was_looked_through() {
    let project = Project::new("");
    let root = project.home.project();
    let word = |word: &str| format!("export const word = \"{word}\";");
    let imports =
        |path: &str| format!("import {{ word }} from \"{path}\"; {}", adds("X").replace('X', "\" + word + \""));
    write(&root, "src/word.ts", &word("outside"));
    write(&root, "node_modules/of-root/index.js", "exports.word = \"root\";");
    write(&root, ".pi/extensions/lib/word.ts", &word("inside"));
    let file = ".pi/extensions/e.ts";
    let require = |path: &str| {
        imports("./lib/word.ts")
            .replace("import { word } from \"./lib/word.ts\"", &format!("import {{ createRequire }} from \"node:module\"; const {{ word }} = createRequire(import.meta.url)(\"{path}\")"))
    };
    for (source, what) in [
        (imports("../../src/word.ts"), "src/word.ts"),
        (imports("of-root"), "node_modules/of-root/index.js"),
        (require("of-root"), "node_modules/of-root/index.js"),
    ] {
        write(&root, file, &source);
        let (code, _, err) = project.levain(&["trust"]);
        assert_eq!(code, 0, "{err}");
        assert_eq!(asked(&project), "hello", "{source}");
        let (_, out, err) = project.levain(&["extensions"]);
        let told = out + &err;
        assert!(told.contains(&format!("{what} is not among what this project is trusted with")), "{source}: {told}");
    }
    write(&root, file, &imports("./lib/word.ts"));
    let project = project.trusted();
    assert_eq!(asked(&project), "hello inside");
    // What the person names themselves imports what it likes.
    write(&root, "src/named.ts", &imports("./word.ts"));
    let (code, out, err) =
        project.levain(&["extensions", "emit", "input", "--with", "{\"text\":\"a\"}", "src/named.ts"]);
    assert!(code == 0 && out.contains("a outside"), "{out}{err}");
}

#[test]
fn an_extension_changes_nothing_that_decides_what_runs() {
    let project = Project::new("");
    let (home, root) = (project.home.home(), project.home.project());
    write(&home, ".pi/agent/settings.json", r#"{"packages": ["~/mine"]}"#);
    let agent = home.join(".pi/agent");
    let paths = [
        root.join(".pi/settings.json"),
        root.join(".pi/npm/node_modules/a.js"),
        agent.join("settings.json"),
        agent.join("npm/x.js"),
        agent.join("git/x.js"),
        agent.join("extensions/x.ts"),
        // What many keep there, though the folder was not made yet.
        agent.join("other.txt"),
        agent.join("extensions/my.json"),
        home.join(".pi/cache/mine/x.bin"),
        home.join(".pi/extensions/x.ts"),
        home.join(".pi/mine/x.db"),
        home.join(".config/other/x.json"),
        home.join(".config/acme/deep/x.json"),
        project.home.config().join("config.toml"),
    ];
    let writes = format!(
        "import fs from \"node:fs\"; const paths = {paths:?}; const tried = (path: string) => {{ try {{ fs.mkdirSync(path.replace(/\\/[^/]*$/, \"\"), {{ recursive: true }}); fs.writeFileSync(path, \"x\"); return \"done\"; }} catch (error: any) {{ return error.code; }} }};
        export default (pi: any) => pi.on(\"input\", (event: any) => ({{ action: \"transform\", text: paths.map(tried).join(\" \") }}));"
    );
    write(&home, "mine/extensions/m.ts", &writes);
    assert_eq!(
        asked(&project),
        "EACCES EACCES EACCES EACCES EACCES EACCES done done done EACCES done EACCES EACCES EACCES"
    );
    let config = project.home.config().join("config.toml");
    let folders = format!("extension_folders = [\"~/.config/acme\", {:?}]\n", config.parent().unwrap());
    write(config.parent().unwrap(), "config.toml", &folders);
    assert_eq!(
        asked(&project),
        "EACCES EACCES EACCES EACCES EACCES EACCES done done done EACCES done EACCES done EACCES"
    );
}

#[test]
fn an_extension_is_loaded_again_when_a_module_of_its_folder_was_saved() {
    let project = Project::new("");
    let folder = project.home.home().join(".pi/agent/extensions/own");
    write(&folder, "index.ts", "import { handle } from \"./lib/word.ts\"; export default (pi: any) => handle(pi);");
    let module = |word: &str| adds(word).replacen("export default ", "export const handle = ", 1);
    write(&folder, "lib/word.ts", &module("first"));
    let levain = project.home.levain_in_terminal(&["--model", &project.model]);
    let terminal = levain.size(100, 30).start();
    terminal.wait_for("A new thread");
    say(&terminal, "hello");
    let is_asked = |word: &str| {
        let asked = format!("hello {word}");
        terminal::poll(&asked, || {
            let threads =
                fs::read_dir(project.home.project().join(".ai/agent/threads")).into_iter().flatten().flatten();
            let logs = threads.filter_map(|thread| fs::read_to_string(thread.path().join("transcript.jsonl")).ok());
            logs.into_iter().any(|log| log.contains(&asked))
        });
    };
    is_asked("first");
    write(&folder, "lib/word.ts", &module("second one"));
    say(&terminal, "hello");
    is_asked("second one");
    terminal.leave();
}
