use super::*;
use std::os::unix::fs::symlink;

fn project() -> (tempfile::TempDir, Dirs, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (dirs, root) = (Dirs::below(folder.path()), folder.path().join("project"));
    fs::create_dir_all(root.join(".ai/tools/team")).unwrap();
    (folder, dirs, root)
}

#[test]
fn extensions_of_pi_can_run_too() {
    let (_folder, dirs, root) = project();
    fs::remove_dir_all(root.join(".ai")).unwrap();
    fs::create_dir_all(root.join(".pi/extensions/a")).unwrap();
    assert_eq!(Trust::of(&dirs, &root), Trust::Nothing);
    let file = root.join(".pi/extensions/a/index.ts");
    fs::write(&file, "export default () => {}").unwrap();
    let trust = Trust::of(&dirs, &root);
    assert!(trust.warning_after(&root, &BTreeSet::from([file.clone()])).is_some());
    let Trust::Unknown(runnable) = trust else { panic!("trusted unasked") };
    assert_eq!(runnable.files, ["../.pi/extensions/a/index.ts"]);
    Trust::grant(&dirs, &root, &runnable, &Authorities::new()).unwrap();
    assert!(Trust::of(&dirs, &root).allows());
    fs::write(&file, "export default () => { for (;;); }").unwrap();
    assert!(!Trust::of(&dirs, &root).allows());
}

#[test]
fn trust_is_given_once_and_ends_with_a_change() {
    let (_folder, dirs, root) = project();
    assert_eq!(Trust::of(&dirs, &root), Trust::Nothing);
    let tool = root.join(".ai/tools/team/ship.sh");
    fs::write(&tool, "echo ship").unwrap();
    let Trust::Unknown(runnable) = Trust::of(&dirs, &root) else { panic!("trusted unasked") };
    assert_eq!(runnable.files, ["tools/team/ship.sh"]);
    Trust::grant(&dirs, &root, &runnable, &Authorities::new()).unwrap();
    assert_eq!(Trust::of(&dirs, &root), Trust::Trusted(runnable));
    // What cannot run changes nothing.
    fs::create_dir_all(root.join(".ai/directives")).unwrap();
    fs::create_dir_all(root.join(".ai/config")).unwrap();
    fs::write(root.join(".ai/directives/a.md"), "a").unwrap();
    fs::write(root.join(".ai/config/levain.toml"), "theme = \"light\"").unwrap();
    assert!(Trust::of(&dirs, &root).allows());
    fs::write(&tool, "echo ruin").unwrap();
    let changed = Trust::of(&dirs, &root);
    assert!(!changed.allows() && changed.warning().unwrap().contains("changed since you trusted"));
    fs::write(&tool, "echo ship").unwrap();
    assert!(Trust::of(&dirs, &root).allows());
    assert!(Trust::revoke(&dirs, &root).unwrap() && !Trust::revoke(&dirs, &root).unwrap());
    assert!(!Trust::of(&dirs, &root).allows());
}

#[test]
fn every_name_content_and_link_counts() {
    let (folder, _, root) = project();
    let ai = root.join(".ai");
    let hash = || Runnable::of(&root).unwrap().unwrap().hash;
    let mut seen = Vec::new();
    let mut differs = || {
        let hash = hash();
        assert!(!seen.contains(&hash));
        seen.push(hash);
    };
    fs::write(ai.join("tools/a.sh"), "x").unwrap();
    differs();
    fs::rename(ai.join("tools/a.sh"), ai.join("tools/b.sh")).unwrap();
    differs();
    fs::write(folder.path().join("outside"), "one").unwrap();
    symlink(folder.path().join("outside"), ai.join("tools/link.sh")).unwrap();
    differs();
    fs::write(folder.path().join("outside"), "two").unwrap();
    differs();
    fs::create_dir_all(ai.join("config/agent")).unwrap();
    fs::write(ai.join("config/agent/hooks.yaml"), "hooks: []").unwrap();
    differs();
    fs::create_dir_all(ai.join("tools/.hidden/node_modules")).unwrap();
    fs::write(ai.join("tools/.hidden/node_modules/x.js"), "x").unwrap();
    differs();
    symlink(folder.path(), ai.join("tools/far")).unwrap();
    assert!(Runnable::of(&root).unwrap_err().to_string().contains("link to a folder"));
}

fn listed(dirs: &Dirs, root: &Path) -> Runnable {
    let Trust::Unknown(runnable) = Trust::of(dirs, root) else { panic!("not asked: {:?}", Trust::of(dirs, root)) };
    runnable
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn knowledge_counts_when_its_metadata_holds_a_command() {
    let (_folder, dirs, root) = project();
    let team = root.join(".ai/knowledge/team");
    fs::create_dir_all(&team).unwrap();
    fs::write(team.join("plain.yaml"), "state: calm\nlist: [command]").unwrap();
    fs::write(team.join("words.md"), "command: nothing").unwrap();
    assert_eq!(Trust::of(&dirs, &root), Trust::Nothing);
    assert!(!Trust::Nothing.covers(".ai/knowledge/team/load.yaml", &words(&["uptime"])));
    fs::write(team.join("load.yaml"), "command: [uptime]").unwrap();
    let runnable = listed(&dirs, &root);
    assert_eq!(runnable.files, ["knowledge/team/load.yaml"]);
    assert!(!Trust::of(&dirs, &root).covers(".ai/knowledge/team/load.yaml", &words(&["uptime"])));
    Trust::grant(&dirs, &root, &runnable, &Authorities::new()).unwrap();
    let trust = Trust::of(&dirs, &root);
    assert!(trust.covers(".ai/knowledge/team/load.yaml", &words(&["uptime"])));
    assert!(!trust.covers(".ai/knowledge/team/load.yaml", &words(&["uptime", "-p"])));
    assert!(!trust.covers(".ai/knowledge/team/other.yaml", &words(&["uptime"])));
}

#[test]
fn a_command_in_markdown_counts() {
    for text in ["```yaml\ncommand: [uptime]\n```\nText.", "---\ncommand: [uptime]\n---\nText."] {
        let (_folder, dirs, root) = project();
        fs::create_dir_all(root.join(".ai/knowledge")).unwrap();
        fs::write(root.join(".ai/knowledge/load.md"), text).unwrap();
        assert_eq!(listed(&dirs, &root).files, ["knowledge/load.md"], "{text}");
        // One that is hidden counts as well.
        fs::write(root.join(".ai/knowledge/load.yaml"), "state: calm").unwrap();
        assert_eq!(listed(&dirs, &root).files, ["knowledge/load.md"], "{text}");
    }
}

#[test]
fn a_command_in_other_letters_counts() {
    let (_folder, dirs, root) = project();
    fs::create_dir_all(root.join(".ai/knowledge")).unwrap();
    fs::write(root.join(".ai/knowledge/load.yaml"), r#""comm\x61nd": [uptime]"#).unwrap();
    assert_eq!(listed(&dirs, &root).files, ["knowledge/load.yaml"]);
}

#[test]
fn a_command_behind_a_link_counts() {
    let (_folder, dirs, root) = project();
    fs::create_dir_all(root.join(".ai/stuff/team")).unwrap();
    fs::write(root.join(".ai/stuff/team/load.yaml"), "command: [uptime]").unwrap();
    assert_eq!(Trust::of(&dirs, &root), Trust::Nothing);
    symlink("stuff", root.join(".ai/knowledge")).unwrap();
    assert_eq!(listed(&dirs, &root).files, ["knowledge/team/load.yaml"]);
    fs::remove_file(root.join(".ai/knowledge")).unwrap();
    fs::create_dir(root.join(".ai/knowledge")).unwrap();
    symlink("../stuff/team", root.join(".ai/knowledge/deep")).unwrap();
    symlink("../stuff/team/load.yaml", root.join(".ai/knowledge/one.yml")).unwrap();
    assert_eq!(listed(&dirs, &root).files, ["knowledge/deep/load.yaml", "knowledge/one.yml"]);
}

#[test]
fn what_a_command_names_counts_as_far_as_it_is_the_projects() {
    let (folder, dirs, root) = project();
    fs::create_dir_all(root.join(".ai/knowledge")).unwrap();
    fs::create_dir_all(root.join("scripts")).unwrap();
    fs::write(folder.path().join("outside"), "x").unwrap();
    for name in ["load.sh", "more.sh"] {
        fs::write(root.join("scripts").join(name), "echo low").unwrap();
    }
    let real = fs::canonicalize(root.join("scripts/more.sh")).unwrap();
    let command = serde_json::to_string(&["./scripts/load.sh", real.to_str().unwrap(), "../outside", "scripts", "-x"]);
    fs::write(root.join(".ai/knowledge/load.yaml"), format!("command: {}", command.unwrap())).unwrap();
    let runnable = listed(&dirs, &root);
    assert_eq!(runnable.files.len(), 3, "{runnable:?}");
    assert!(runnable.files[1].ends_with("scripts/load.sh") && runnable.files[2].ends_with("scripts/more.sh"));
    Trust::grant(&dirs, &root, &runnable, &Authorities::new()).unwrap();
    fs::write(folder.path().join("outside"), "y").unwrap();
    assert!(Trust::of(&dirs, &root).allows());
    for name in ["load.sh", "more.sh"] {
        fs::write(root.join("scripts").join(name), "echo ruin").unwrap();
        assert!(matches!(Trust::of(&dirs, &root), Trust::Changed(..)), "{name}");
        fs::write(root.join("scripts").join(name), "echo low").unwrap();
        assert!(Trust::of(&dirs, &root).allows());
    }
}

#[test]
fn who_saves_a_command_is_warned() {
    let (_folder, dirs, root) = project();
    fs::create_dir_all(root.join(".ai/knowledge")).unwrap();
    let load = root.join(".ai/knowledge/load.yaml");
    let warned = |path: &str| Trust::of(&dirs, &root).warning_after(&root, &BTreeSet::from([root.join(path)]));
    fs::write(&load, "state: calm").unwrap();
    assert_eq!(warned(".ai/knowledge/load.yaml"), None);
    fs::write(&load, "command: [uptime]").unwrap();
    assert!(warned(".ai/knowledge/load.yaml").unwrap().contains("have not trusted"));
    assert_eq!(warned(".ai/knowledge/rules.md"), None);
    fs::write(root.join(".ai/tools/a.sh"), "x").unwrap();
    Trust::grant(&dirs, &root, &listed(&dirs, &root), &Authorities::new()).unwrap();
    assert_eq!(warned(".ai/knowledge/load.yaml"), None);
    fs::write(&load, "state: calm").unwrap();
    let warning = warned(".ai/knowledge/load.yaml").unwrap();
    assert!(warning.starts_with(".ai/knowledge/load.yaml can no longer run since you trusted"), "{warning}");
}

#[test]
fn commands_of_handlers_count_in_a_directive_and_its_words_do_not() {
    let (_folder, dirs, root) = project();
    let path = root.join(".ai/directives/team/ship.md");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let write = |handlers: &str, body: &str| {
        fs::write(&path, format!("---\nname: ship\nhandlers:\n{handlers}---\n{body}\n")).unwrap();
    };
    let warned = || Trust::of(&dirs, &root).warning_after(&root, &BTreeSet::from([path.clone()]));
    write("- {id: a, stage: input, append: x}\n", "Ship.");
    assert_eq!((Trust::of(&dirs, &root), warned()), (Trust::Nothing, None));
    let command =
        |words: &str| format!("- {{id: a, stage: input, append: x}}\n- {{stage: input, command: [{words}]}}\n");
    write(&command("uptime"), "Ship.");
    let runnable = listed(&dirs, &root);
    assert_eq!(runnable.files, ["directives/team/ship.md"]);
    assert_eq!(runnable.commands[".ai/directives/team/ship.md:5"], words(&["uptime"]));
    assert!(warned().unwrap().contains("have not trusted"));
    fs::write(root.join(".ai/tools/a.sh"), "x").unwrap();
    Trust::grant(&dirs, &root, &listed(&dirs, &root), &Authorities::new()).unwrap();
    assert!(Trust::of(&dirs, &root).covers_handler(&words(&["uptime"])));
    write(&format!("- {{id: b, stage: input, append: y}}\n{}", command("uptime")), "Ship it.");
    assert!(Trust::of(&dirs, &root).covers_handler(&words(&["uptime"])) && warned().is_none());
    write(&command("uptime, -p"), "Ship.");
    assert!(!Trust::of(&dirs, &root).allows());
    let warning = warned().unwrap();
    assert!(warning.starts_with(".ai/directives/team/ship.md changed since you trusted"), "{warning}");
    write("", "Ship.");
    let warning = warned().unwrap();
    assert!(warning.starts_with(".ai/directives/team/ship.md can no longer run since you trusted"), "{warning}");
}

#[test]
fn what_changed_is_named() {
    let (_folder, dirs, root) = project();
    let tools = root.join(".ai/tools");
    for name in ["a.sh", "b.sh"] {
        fs::write(tools.join(name), name).unwrap();
    }
    Trust::grant(&dirs, &root, &listed(&dirs, &root), &Authorities::new()).unwrap();
    fs::write(tools.join("a.sh"), "other").unwrap();
    let differs = || {
        let trust = Trust::of(&dirs, &root);
        let Trust::Changed(_, differs) = trust else { panic!("{trust:?}") };
        differs
    };
    assert_eq!(differs(), [".ai/tools/a.sh changed"]);
    fs::write(tools.join("c.sh"), "new").unwrap();
    fs::remove_file(tools.join("b.sh")).unwrap();
    assert_eq!(differs(), [".ai/tools/a.sh changed", ".ai/tools/c.sh is new", ".ai/tools/b.sh can no longer run"]);
    let warning = Trust::of(&dirs, &root).warning().unwrap();
    assert!(warning.starts_with(".ai/tools/a.sh changed, and 2 more, since"), "{warning}");
}

#[test]
fn an_editor_that_is_open_changes_nothing() {
    let (_folder, dirs, root) = project();
    let tools = root.join(".ai/tools");
    fs::write(tools.join("a.sh"), "x").unwrap();
    Trust::grant(&dirs, &root, &listed(&dirs, &root), &Authorities::new()).unwrap();
    fs::write(tools.join(".a.sh.swp"), [&b"b0VIM 9.1\0\0\0"[..], &[0; 64]].concat()).unwrap();
    symlink("somebody@here.123:456", tools.join(".#a.sh")).unwrap();
    assert!(Trust::of(&dirs, &root).allows());
    // What could run is no such file, whatever it is called.
    fs::write(tools.join(".b.sh.swp"), "b0VIM; echo ruin; echo ruin; echo ruin").unwrap();
    assert!(!Trust::of(&dirs, &root).allows());
    fs::remove_file(tools.join(".b.sh.swp")).unwrap();
    assert!(Trust::of(&dirs, &root).allows());
    symlink("a.sh", tools.join(".#b.sh")).unwrap();
    assert!(!Trust::of(&dirs, &root).allows());
}

#[test]
fn a_record_of_another_project_is_worth_nothing() {
    let (_folder, dirs, root) = project();
    fs::write(root.join(".ai/tools/a.sh"), "x").unwrap();
    let runnable = Runnable::of(&root).unwrap().unwrap();
    let path = Trust::grant(&dirs, &root, &runnable, &Authorities::new()).unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("project\"\n", "elsewhere\"\n");
    fs::write(&path, text).unwrap();
    assert!(!Trust::of(&dirs, &root).allows());
}

#[test]
fn files_that_a_command_writes_decide_nothing() {
    for (line, kept) in [
        ("cat > last-run.json", "cat >"),
        ("a.sh >>out/log.txt 2>&1; b.sh", "a.sh > 2>; b.sh"),
        ("sh x.sh>| y; z", "sh x.sh>; z"),
        ("cat > \"$(./x.sh)\"", "cat >\"$(./x.sh)\""),
        ("cat > a$(./x.sh)", "cat >a$(./x.sh)"),
        ("cat > run.sh && sh run.sh", "cat > && sh run.sh"),
        ("no arrow", "no arrow"),
        ("sh <> x.sh > y", "sh <> x.sh >"),
        ("last >", "last >"),
    ] {
        assert_eq!(without_written(line), kept, "{line}");
    }
}
