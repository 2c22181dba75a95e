//! What the command line does for people who keep a project: checking what they wrote, completing what they type, and
//! managing threads.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/terminal.rs"]
mod terminal;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use terminal::Home;

fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
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
            "error 2: there is no directive `levain/caht`; near is `levain/chat`",
        ),
        ("theme = \"drak\"\n", "error 1: there is no theme `drak`; did you mean `dark`?"),
    ] {
        write(&config, text);
        assert_eq!(checked(&home, &config), [expected]);
    }
    write(&config, "model = \"openai/zzz\"\n");
    assert!(checked(&home, &config)[0].contains("nothing is known of the model `openai/zzz`"));
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
    assert_eq!(checked(&home, &project), ["error 1: there is no directive `team/shp`; near is `team/ship`"]);
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
    assert_eq!(checked(&home, &theme), ["error 2: there is no role `status.eror`; near is `status.error`"]);
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
    assert!(code != 0 && err.contains("near is `levain/chat`"), "{err}");
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
