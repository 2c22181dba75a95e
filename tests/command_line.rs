//! What the command line does for people who keep a project: checking what they wrote, completing what they type, and
//! managing threads.

use crate::support::terminal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use terminal::{Home, output, write};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What `levain check` says of the file at `path`: each problem with its severity and line, without its folder.
fn checked(home: &Home, path: &Path) -> Vec<String> {
    let (_, out, err) = output(&mut home.levain(&["check", "--json"]));
    assert_eq!(err, "");
    let of_file = |line: &&Value| line["file"].as_str().is_some_and(|file| Path::new(file) == path);
    let told = |line: &Value| {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let number = line["line"].as_u64().map_or("-".to_owned(), |line| line.to_string());
        format!("{} {number}: {}; {}", text("severity"), text("message"), text("remedy"))
    };
    lines(&out).iter().filter(of_file).map(told).collect()
}

// ---------------------------------------------------------------------------------------------------- check

#[test]
fn s16_unknown_models_and_directives_of_settings_are_told_with_the_nearest() {
    let home = Home::new();
    let (config, project) = (home.config().join("config.toml"), home.project().join(".ai/config/levain.toml"));
    for (text, expected) in [
        ("\nmodel = \"openia/gpt-4o\"\n", "error 2: there is no provider `openia`; did you mean `openai`?"),
        (
            "model = \"anthropic/claude-sonet-4-5\"\n",
            "warning 1: no model `anthropic/claude-sonet-4-5` is listed; did you mean `anthropic/claude-sonnet-4-5`?",
        ),
        (
            "mouse = true\ndirective = \"levain/caht\"\n",
            "error 2: there is no directive `levain/caht` (did you mean `levain/chat`?); levain models lists all models",
        ),
        ("theme = \"drak\"\n", "error 1: there is no theme `drak`; did you mean `dark`?"),
    ] {
        write(&config, text);
        assert_eq!(checked(&home, &config), [expected]);
    }
    write(&config, "model = \"openai/zzz\"\n");
    assert!(checked(&home, &config)[0].contains("the model `openai/zzz` and its price are unknown"));
    for good in
        ["model = \"anthropic/claude-sonnet-4-9\"\n", "model = \"ollama/anything\"\n", "model = \"scripted/demo\"\n"]
    {
        write(&config, good);
        assert_eq!(checked(&home, &config), Vec::<String>::new(), "{good}");
    }
    fs::remove_file(&config).unwrap();
    write(&project, "directive = \"team/shp\"\n");
    write(
        &home.project().join(".ai/directives/team/ship.md"),
        "```xml\n<directive name=\"ship\" version=\"1.0.0\"><description>d</description></directive>\n```\nShip.\n",
    );
    assert_eq!(
        checked(&home, &project),
        ["error 1: there is no directive `team/shp` (did you mean `team/ship`?); levain models lists all models"]
    );
    let agent = home.project().join(".ai/config/agent/agent.yaml");
    write(&agent, "provider:\n  default: antropic\ntier_mapping:\n  fast: claude-opsu-4-6\n");
    let said = checked(&home, &agent);
    assert_eq!(said[0], "error 2: there is no provider `antropic`; did you mean `anthropic`?");
    assert!(
        said[1].starts_with("error 4: `claude-opsu-4-6` is no model or tier; did you mean `claude-opus-4-6`?"),
        "{said:?}"
    );
}

#[test]
fn s16_sections_of_credentials_and_themes_are_told_with_file_and_line() {
    let home = Home::new();
    let credentials = home.config().join("credentials.toml");
    write(&credentials, "[antropic]\napi_key = \"hush\"\n");
    let mut mode = fs::metadata(&credentials).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o600);
    fs::set_permissions(&credentials, mode).unwrap();
    let unused = "there is no provider `antropic`, so the key in `[antropic]` is not used";
    assert_eq!(checked(&home, &credentials), [format!("error 1: {unused}; did you mean `anthropic`?")]);
    let theme = home.config().join("themes/mine.toml");
    write(&theme, "\"text\" = \"red\"\n\"status.eror\" = \"red\"\n");
    assert_eq!(checked(&home, &theme), ["error 2: there is no role `status.eror`; did you mean `status.error`?"]);
    fs::write(&theme, b"\xff\xfe").unwrap();
    let said = checked(&home, &theme);
    assert!(said.len() == 1 && said[0].starts_with("error -: could not be read"), "{said:?}");
}

#[test]
fn s16_the_command_line_names_the_nearest_model_too() {
    let home = Home::new();
    for (model, near) in [("openia/gpt-4o", "did you mean `openai`?"), ("fats", "did you mean `fast`?")] {
        let (code, _, err) = output(&mut home.levain(&["run", "--model", model, "hello"]));
        assert!(code != 0 && err.contains(near), "{model}: {err}");
    }
    let (code, _, err) =
        output(&mut home.levain(&["run", "--model", "scripted/demo", "--directive", "levain/caht", "hello"]));
    assert!(code != 0 && err.contains("did you mean `levain/chat`?"), "{err}");
}

// ---------------------------------------------------------------------------------------------- completions

const DIRECTIVE: &str =
    "```xml\n<directive name=\"ship\" version=\"1.0.0\"><description>d</description></directive>\n```\nShip.\n";

/// What `shell` is told for the last of `words`.
fn completed(home: &Home, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = home.levain(&["--"]);
    command.args(words).env("LEVAIN_COMPLETE", shell).env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
    let (code, out, err) = output(&mut command);
    assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
    let word = |line: &str| line.split(['\t', ':']).next().unwrap_or_default().to_owned();
    out.lines().map(word).filter(|word| !word.starts_with("--")).collect()
}

#[test]
fn s16_directives_models_threads_and_settings_are_completed() {
    let home = Home::new();
    write(&home.project().join(".ai/directives/team/ship.md"), DIRECTIVE);
    let (code, ..) = output(&mut home.levain(&["run", "--model", "scripted/demo", "hello"]));
    assert_eq!(code, 0);
    let id = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().next().unwrap().unwrap();
    let id = id.file_name().into_string().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let told = |words: &[&str]| completed(&home, shell, words);
        assert_eq!(told(&["levain", "run", "--directive", "team/"]), ["team/ship"], "{shell}");
        assert!(told(&["levain", "team/s"]).contains(&"team/ship".to_owned()), "{shell}");
        assert!(told(&["levain", "--model", "fas"]).contains(&"fast".to_owned()), "{shell}");
        assert!(
            told(&["levain", "run", "--model", "anthropic/claude-son"])
                .contains(&"anthropic/claude-sonnet-4-5".to_owned())
        );
        assert_eq!(told(&["levain", "transcript", "chat-"]), [id.as_str()], "{shell}");
        assert_eq!(told(&["levain", "--continue", "chat-"]), [id.as_str()], "{shell}");
        assert_eq!(told(&["levain", "threads", "kill", ""])[0], id, "{shell}");
        assert_eq!(told(&["levain", "config", "idle_"]), ["idle_seconds"], "{shell}");
        assert!(told(&["levain", "config", "resilience.retry."]).len() > 2, "{shell}");
        assert_eq!(told(&["levain", "theme", "high"]), ["high-contrast"], "{shell}");
        assert!(told(&["levain", "thr"]).contains(&"threads".to_owned()), "{shell}");
    }
}

/// The script that a shell reads calls the program that printed it, under its own name.
#[test]
fn s16_completions_are_those_of_the_program_that_is_installed() {
    let home = Home::new();
    let program = home.path().join("bin/lv");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_levain"), &program).unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let mut command = Command::new(&program);
        command.args(["completions", shell]).env_clear().envs(home.environment()).current_dir(home.project());
        let (code, script, _) = output(&mut command);
        assert_eq!(code, 0);
        assert!(script.contains("LEVAIN_COMPLETE") && script.contains(program.to_str().unwrap()), "{shell}: {script}");
    }
    // In a real shell, where there is one.
    write(&home.project().join(".ai/directives/team/ship.md"), DIRECTIVE);
    let asked = "source <(\"$0\" completions bash)\nCOMP_WORDS=(lv run --directive te)\nCOMP_CWORD=3\n\
                 _clap_complete_lv lv te --directive\necho \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(asked).arg(&program).env_clear().envs(home.environment()).current_dir(home.project());
    let (_, out, err) = output(&mut bash);
    assert_eq!(out, "team/ship\n", "{err}");
}

#[test]
fn s16_completing_reads_and_hands_a_shell_only_plain_words() {
    let home = Home::new();
    let project = home.project();
    for name in ["$(touch pwned)", "a\u{1b}]0;x\u{7}", "a b", "`id`", "-rf", "ok"] {
        write(&project.join(format!(".ai/directives/{name}.md")), DIRECTIVE);
        write(&project.join(format!(".ai/agent/threads/{name}/transcript.jsonl")), "");
        write(&project.join(format!("files/{name}")), "");
    }
    let outside = home.path().join("outside");
    write(&outside.join("secret.md"), DIRECTIVE);
    std::os::unix::fs::symlink(&outside, project.join(".ai/directives/link")).unwrap();
    let pipe = project.join(".ai/agent/threads/ok/thread.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let tree = || {
        let (_, out, _) = output(Command::new("find").arg(home.path()).args(["-printf", "%p %T@\n"]));
        out
    };
    let before = tree();
    for shell in ["bash", "zsh", "fish"] {
        let (directives, threads, files) = (
            completed(&home, shell, &["levain", "run", "--directive", ""]),
            completed(&home, shell, &["levain", "attach", ""]),
            completed(&home, shell, &["levain", "check", "files/"]),
        );
        assert!(directives.contains(&"ok".to_owned()) && directives.iter().all(|id| !id.contains("secret")));
        assert_eq!((threads, files), (vec!["ok".to_owned()], vec!["files/ok".to_owned()]), "{shell}");
        for word in directives {
            assert!(word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter)), "{word:?}");
        }
    }
    assert_eq!(tree(), before, "something was written");
}

// -------------------------------------------------------------------------------------------------- threads

/// The id of a thread that answered `prompt`.
fn answered(home: &Home, prompt: &str) -> String {
    let (code, out, err) = output(&mut home.levain(&["run", "--json", "--model", "scripted/demo", prompt]));
    assert_eq!(code, 0, "{err}");
    lines(&out)[0]["thread_id"].as_str().unwrap().to_owned()
}

fn listed(home: &Home, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["threads", "--json"];
    arguments.extend(more);
    let (code, out, _) = output(&mut home.levain(&arguments));
    assert_eq!(code, 0);
    lines(&out)
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["thread_id"].as_str().unwrap()).collect()
}

fn folder(home: &Home, id: &str) -> std::path::PathBuf {
    home.project().join(".ai/agent/threads").join(id)
}

/// The person's state folder of the project.
fn own(home: &Home) -> std::path::PathBuf {
    let (_, out, _) = output(Command::new("find").arg(home.path()).args(["-name", "registry.db"]));
    Path::new(out.trim()).parent().unwrap().to_owned()
}

#[test]
fn s16_a_title_and_the_archive_are_facts_of_the_log() {
    let home = Home::new();
    let (first, second) = (answered(&home, "the first"), answered(&home, "the second"));
    let (code, out, err) = output(&mut home.levain(&["threads", "rename", &first, "Release", "notes"]));
    assert_eq!((code, out), (0, format!("{first} is called \"Release notes\"\n")), "{err}");
    let (code, out, _) = output(&mut home.levain(&["threads", "archive", &first, "--json"]));
    assert_eq!((code, lines(&out)[0]["archived"].as_bool()), (0, Some(true)));
    let rows = listed(&home, &[]);
    assert_eq!((ids(&rows), rows[0]["archived"].as_bool()), (vec![second.as_str()], Some(false)));
    fs::remove_dir_all(own(&home)).unwrap();
    // The registry is lost, and `thread.json` too.
    fs::remove_file(folder(&home, &first).join("thread.json")).unwrap();
    assert_eq!(ids(&listed(&home, &[])), [second.as_str()]);
    let away = listed(&home, &["--archived"]);
    assert_eq!(ids(&away), [first.as_str()]);
    assert_eq!((away[0]["title"].as_str(), away[0]["archived"].as_bool()), (Some("Release notes"), Some(true)));
    // The newest is taken up, and an archived one is not, however new.
    let (code, ..) = output(&mut home.levain(&["threads", "archive", &second]));
    assert_eq!(code, 0);
    let (code, _, err) = output(&mut home.levain(&["--continue", "--plain"]));
    assert!(code != 0 && err.contains("there is no thread in this project yet"), "{err}");
    let (code, ..) = output(&mut home.levain(&["threads", "archive", "--undo", &first, &second]));
    assert_eq!(code, 0);
    // Neither is a change that puts a thread before others.
    assert_eq!(ids(&listed(&home, &[])), [second.as_str(), first.as_str()]);
    for bad in ["", "two\nlines", "\u{1b}[2J"] {
        let (code, _, err) = output(&mut home.levain(&["threads", "rename", &first, bad]));
        assert!(code != 0 && err.contains("was not renamed"), "{err}");
    }
    let log = fs::read_to_string(folder(&home, &first).join("transcript.jsonl")).unwrap();
    assert_eq!(log.matches("\"title_set\"").count(), 1);
    assert_eq!(log.matches("\"archived\"").count(), 2 + 2, "an event and its payload each time:\n{log}");
}

#[test]
fn a_thread_whose_process_was_killed_before_it_began_has_a_transcript_that_says_so() {
    let home = Home::new();
    let (code, out, err) = output(&mut home.levain(&["run", "--json", "--model", "scripted/demo", "hello"]));
    assert_eq!(code, 0, "{err}");
    let id = lines(&out)[0]["thread_id"].as_str().unwrap().to_owned();
    let log = folder(&home, &id).join("transcript.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let (code, out, err) = output(&mut home.levain(&["transcript", &id]));
    assert!(code == 0 && out.contains("hello") && err.is_empty(), "{out}{err}");
    // As it was left behind when nothing but the start was recorded, and when not even that was.
    for left in [whole.lines().next().map(|line| format!("{line}\n")).unwrap(), String::new()] {
        write(&log, &left);
        let (code, out, err) = output(&mut home.levain(&["transcript", &id]));
        assert_eq!((code, out.as_str()), (0, ""), "{err}");
        assert!(err.contains(&format!("nothing was said in {id} yet")), "{err}");
    }
}

#[test]
fn s16_a_thread_that_runs_is_renamed_by_its_worker_and_not_removed() {
    let home = Home::new();
    let scenario = home.path().join("slow.yaml");
    let steps = "name: slow\nrate: 0\nreplies:\n  - steps:\n      - pause: 60000\n      - text: Done.\n";
    write(&scenario, steps);
    let model = format!("scripted/{}", scenario.display());
    let (code, out, err) = output(&mut home.levain(&["run", "--background", "--json", "--model", &model, "go"]));
    assert_eq!(code, 0, "{err}");
    let id = lines(&out)[0]["thread_id"].as_str().unwrap().to_owned();
    let (code, _, err) = output(&mut home.levain(&["threads", "rm", "--yes", &id]));
    assert!(code != 0 && err.contains("a process runs it"), "{err}");
    let (code, _, err) = output(&mut home.levain(&["threads", "rename", &id, "While it runs"]));
    assert_eq!(code, 0, "{err}");
    let told = || listed(&home, &[]).first().and_then(|row| row["title"].as_str().map(str::to_owned));
    terminal::poll("the registry says so", || told().as_deref() == Some("While it runs"));
    let log = fs::read_to_string(folder(&home, &id).join("transcript.jsonl")).unwrap();
    assert_eq!(log.matches("\"title_set\"").count(), 1, "{log}");
    let (code, ..) = output(&mut home.levain(&["threads", "kill", &id]));
    assert_eq!(code, 0);
    let (code, _, err) = output(&mut home.levain(&["threads", "rm", "--yes", &id]));
    assert_eq!(code, 0, "{err}");
    assert!(!folder(&home, &id).exists() && listed(&home, &[]).is_empty());
}

#[test]
fn s16_threads_are_removed_by_name_age_and_failure_and_nobody_is_passed_over() {
    let home = Home::new();
    let (old, new) = (answered(&home, "old"), answered(&home, "new"));
    let scenario = home.path().join("bad.yaml");
    write(
        &scenario,
        "name: bad\nreplies:\n  - steps:\n      - error: { status: 401, type: authentication_error, message: no }\n",
    );
    let model = format!("scripted/{}", scenario.display());
    let (code, ..) = output(&mut home.levain(&["run", "--model", &model, "fails"]));
    assert_ne!(code, 0);
    let failed =
        ids(&listed(&home, &[])).into_iter().find(|id| ![&old, &new].contains(&&(*id).to_owned())).unwrap().to_owned();
    // Without a terminal nobody can be asked.
    let (code, _, err) = output(&mut home.levain(&["threads", "rm", &old]));
    assert!(code == 2 && err.contains("--yes"), "{err}");
    let (code, _, err) = output(&mut home.levain(&["threads", "rm", "--yes"]));
    assert!(code == 2 && err.contains("--older-than"), "{err}");
    let (code, _, err) = output(&mut home.levain(&["threads", "rm", "--yes", "--older-than", "1d"]));
    assert!(code == 0 && err.contains("no thread fits"), "{err}");
    let (code, out, _) = output(&mut home.levain(&["threads", "rm", "--yes", "--failed", "--json"]));
    assert_eq!((code, ids(&lines(&out))), (0, vec![failed.as_str()]));
    let (code, out, err) = output(&mut home.levain(&["threads", "rm", "--yes", &old, "gone-1"]));
    assert!(code == 2 && out.is_empty() && err.contains("gone-1"), "nothing is done where one is unknown: {err}");
    let (code, ..) = output(&mut home.levain(&["threads", "rm", "--yes", "--older-than", "0d", "--failed"]));
    assert_eq!((code, listed(&home, &[]).len()), (0, 2), "both have to hold");
    let (code, out, _) = output(&mut home.levain(&["threads", "rm", "--yes", &old]));
    assert_eq!((code, out), (0, format!("{old} removed\n")));
    assert!(!folder(&home, &old).exists());
    assert_eq!(ids(&listed(&home, &[])), [new.as_str()]);
    let (code, ..) = output(&mut home.levain(&["threads", "rm", "--yes", "--older-than", "0d"]));
    assert_eq!((code, listed(&home, &[]).len()), (0, 0));
    let left: Vec<_> = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn s16_a_person_is_asked_before_a_thread_goes() {
    let home = Home::new();
    let id = answered(&home, "a word");
    for (answer, stays) in [("n\r", true), ("\r", true), ("y\r", false)] {
        let terminal = home.levain_in_terminal(&["threads", "rm", &id]).start();
        terminal.wait_for("Remove 1 thread for good?");
        terminal.wait_for("a word");
        terminal.send_keys(answer);
        assert_eq!(terminal.wait_exit().code(), Some(u32::from(stays)));
        assert_eq!(folder(&home, &id).exists(), stays, "{answer:?}");
    }
}

#[test]
fn s16_a_hostile_thread_goes_alone_and_is_not_renamed() {
    let home = Home::new();
    let outside = home.path().join("outside");
    write(&outside.join("kept"), "kept");
    let hostile = folder(&home, "theirs-1");
    let line = "{\"timestamp\":1.0,\"thread_id\":\"theirs-1\",\"event_type\":\"thread_started\",\"payload\":{\"directive\":\"a\",\
                \"kind\":\"interactive\",\"model\":\"scripted/demo\",\"limits\":{},\"project\":\"/x\"}}\n";
    let said = "{\"timestamp\":2.0,\"thread_id\":\"theirs-1\",\"event_type\":\"prompt_queued\",\"payload\":{\"prompt\":1,\
                \"text\":\"hi\",\"mode\":\"steer\"}}\n";
    write(&hostile.join("transcript.jsonl"), &format!("{line}{said}"));
    assert_eq!(ids(&listed(&home, &[])), ["theirs-1"]);
    let (code, _, err) = output(&mut home.levain(&["threads", "rename", "theirs-1", "Mine"]));
    assert!(code != 0 && err.contains("from elsewhere"), "{err}");
    let (code, _, err) = output(&mut home.levain(&["threads", "archive", "theirs-1"]));
    assert!(code != 0 && err.contains("from elsewhere"), "{err}");
    fs::create_dir_all(hostile.join("a/b/c")).unwrap();
    for link in ["link", "a/link", "a/b/c/link", "requests"] {
        std::os::unix::fs::symlink(&outside, hostile.join(link)).unwrap();
    }
    let _none = fs::remove_file(hostile.join("worker.lock"));
    assert!(Command::new("mkfifo").arg(hostile.join("worker.lock")).status().unwrap().success());
    let (code, _, err) = output(&mut home.levain(&["threads", "rm", "--yes", "theirs-1"]));
    assert_eq!(code, 0, "{err}");
    assert!(!hostile.exists());
    assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    // A link in the place of a thread names nothing that could go.
    std::os::unix::fs::symlink(&outside, folder(&home, "theirs-2")).unwrap();
    let (code, ..) = output(&mut home.levain(&["threads", "rm", "--yes", "theirs-2"]));
    assert!(code != 0 && outside.join("kept").exists());
}

#[test]
fn s16_a_list_of_threads_says_what_each_waits_for() {
    let home = Home::new();
    let scenario = home.path().join("calls.yaml");
    write(
        &scenario,
        "name: calls\nrate: 0\nreplies:\n  - steps:\n      - tool_call: { name: rye_bash, input: { command: date } }\n",
    );
    let directive = "```xml\n<directive name=\"ask\" version=\"1.0.0\"><metadata><description>d</description><permissions>\
                     <execute ask=\"true\"><tool>rye/bash</tool></execute></permissions></metadata></directive>\n```\nGo.\n";
    write(&home.project().join(".ai/directives/ask.md"), directive);
    let model = format!("scripted/{}", scenario.display());
    let terminal = home.levain_in_terminal(&["--model", &model, "ask"]).start();
    terminal.wait_for("enter start");
    terminal.send_keys("\r");
    let row = || listed(&home, &[]).into_iter().next().unwrap_or_default();
    terminal::poll("the thread asks", || row()["waiting"] == "approval");
    assert_eq!(row()["waits_for"].as_str(), Some("rye/bash"));
    let (_, out, _) = output(&mut home.levain(&["threads"]));
    assert!(out.contains("[needs approval: rye/bash"), "{out}");
    drop(terminal);
    let (code, ..) = output(&mut home.levain(&["run", "--model", "scripted/demo", "--limit-turns", "0", "hello"]));
    assert_ne!(code, 0);
    let at_limit = listed(&home, &[]).into_iter().find(|row| row["status"] == "suspended").unwrap();
    assert_eq!(at_limit["waits_for"].as_str(), Some("turns"));
}

// ---------------------------------------------------------------------------------------------- failed starts

/// A directive that needs no prompt.
fn ready(home: &Home, limits: &str) {
    let text = format!(
        "```xml\n<directive name=\"ready\" version=\"1.0.0\"><metadata><description>d</description>{limits}</metadata></directive>\n```\nGo.\n"
    );
    write(&home.project().join(".ai/directives/ready.md"), &text);
}

fn is_clean(home: &Home) -> bool {
    let folders = fs::read_dir(home.project().join(".ai/agent/threads")).into_iter().flatten().count();
    listed(home, &[]).is_empty() && folders == 0
}

#[test]
fn s16_a_run_that_failed_before_anything_was_said_leaves_no_thread() {
    let home = Home::new();
    ready(&home, "");
    let unreachable = ["run", "--directive", "ready", "--model", "ollama/none"];
    for (arguments, variables) in [
        (vec!["run", "--directive", "ready", "--model", "anthropic/claude-sonnet-4-5"], vec![]),
        (vec!["run", "--directive", "ready", "--model", "scripted/demo", "--limit-turns", "0"], vec![]),
        (vec!["run", "--directive", "ready", "--model", "scripted/demo", "--limit-turns", "0", "--json"], vec![]),
        (unreachable.to_vec(), vec![("OLLAMA_BASE_URL", "http://127.0.0.1:1/v1")]),
    ] {
        let agent = home.project().join(".ai/config/agent/resilience.yaml");
        write(&agent, "retry:\n  max_attempts: 1\n");
        let (code, out, err) = output(home.levain(&arguments).envs(variables));
        assert_ne!(code, 0, "{arguments:?} {out} {err}");
        assert!(!err.contains("hint: levain attach"), "{err}");
        assert!(is_clean(&home), "{arguments:?}: {:?}", listed(&home, &[]));
    }
    // A prompt that a person typed is something that was said.
    let (code, ..) = output(&mut home.levain(&["run", "--model", "anthropic/claude-sonnet-4-5", "hello"]));
    assert_ne!(code, 0);
    assert_eq!(listed(&home, &[])[0]["title"].as_str(), Some("hello"));
    // So is an answer.
    let (code, ..) = output(&mut home.levain(&["run", "--directive", "ready", "--model", "scripted/demo"]));
    assert_eq!((code, listed(&home, &[]).len()), (0, 2));
}

#[test]
fn s16_a_start_on_the_screen_that_failed_leaves_no_thread() {
    let home = Home::new();
    write(&home.project().join(".ai/config/agent/resilience.yaml"), "retry:\n  max_attempts: 1\n");
    for (limits, model, told) in [
        ("", "anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("", "ollama/none", "127.0.0.1:1"),
        ("<limits turns=\"0\" />", "scripted/demo", "limit"),
    ] {
        ready(&home, limits);
        let launch =
            home.levain_in_terminal(&["--model", model, "ready"]).env("OLLAMA_BASE_URL", "http://127.0.0.1:1/v1");
        let terminal = launch.size(120, 30).start();
        terminal.wait_for("enter start");
        terminal.send_keys("\r");
        terminal.wait_for(told);
        terminal.send_keys(terminal::key::CTRL_C);
        terminal.wait_for("again");
        terminal.send_keys(terminal::key::CTRL_C);
        terminal.wait_exit().assert_code(0);
        home.wait_until_quiet();
        terminal::poll("the thread is gone", || is_clean(&home));
    }
}
