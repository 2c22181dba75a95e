//! Keys stay where they belong: with the process that asks the provider. A made-up key is put everywhere a person may
//! put one, tools look everywhere a tool may look, and then it is searched for.

#![cfg(target_os = "linux")]

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, Launch, key};
use rustix::process::Pid;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// In the person's file of keys.
const FILED: &str = "canary-filed-51c07e6b";
/// In a variable that only a provider file of the person's names.
const NAMED: &str = "canary-named-9d2f40aa";
/// In a variable that looks like a secret and is none of levain's.
const STRANGE: &str = "canary-strange-77ab01cd";

const CANARIES: [&str; 4] = [KEY, FILED, NAMED, STRANGE];

/// Shows everything that a command can see of itself, its parents and its open files.
const LOOK: &str = "env; cat /proc/self/environ; \
    pid=$$; while [ \"$pid\" -gt 1 ]; do \
      echo \"process $pid\"; cat /proc/$pid/cmdline /proc/$pid/environ; ls -l /proc/$pid/fd; \
      for fd in /proc/$pid/fd/*; do case $(readlink $fd) in *memfd*) cat $fd;; esac; done; \
      grep Core.file /proc/$pid/limits; \
      parent=$(sed 's/.*) //' /proc/$pid/stat | cut -d' ' -f2); \
      case $(cat /proc/$parent/comm) in levain) pid=$parent;; *) pid=0;; esac; done; \
    echo looked around";

/// A home whose person has keys in all the usual places, and a project whose chat may run commands unasked.
fn home() -> Home {
    let home = Home::new();
    let credentials = home.config().join("credentials.toml");
    fs::write(&credentials, format!("[openai]\napi_key = \"{FILED}\"\n")).unwrap();
    fs::set_permissions(&credentials, fs::Permissions::from_mode(0o600)).unwrap();
    let providers = home.home().join(".ai/tools/providers");
    fs::create_dir_all(&providers).unwrap();
    let provider =
        "tool_id: mine\ntool_type: http\nwire: chat\nconfig:\n  url: http://127.0.0.1:1/v1\n  auth:\n    env: MY_LLM\n";
    fs::write(providers.join("mine.yaml"), provider).unwrap();
    home
}

fn variables(server: &ModelServer) -> [(&'static str, String); 4] {
    [
        ("ANTHROPIC_BASE_URL", server.base()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("MY_LLM", NAMED.to_owned()),
        ("STRANGE_TOKEN", STRANGE.to_owned()),
    ]
}

fn with_keys(mut launch: Launch, server: &ModelServer) -> Launch {
    for (name, value) in variables(server) {
        launch = launch.env(name, &value);
    }
    launch
}

/// Every file below `folder` that holds a canary, the person's file of keys aside.
fn files_with_canaries(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && !path.ends_with("credentials.toml") {
                let text = fs::read(&path).unwrap_or_default();
                if CANARIES.iter().any(|canary| holds(&text, canary)) {
                    found.push(path);
                }
            }
        }
    }
    found
}

fn holds(text: &[u8], canary: &str) -> bool {
    text.windows(canary.len()).any(|window| window == canary.as_bytes())
}

/// What is shown of a process: its arguments and its environment.
fn shown(pid: Pid) -> Vec<u8> {
    let read = |name: &str| fs::read(format!("/proc/{}/{name}", pid.as_raw_nonzero())).unwrap_or_default();
    [read("cmdline"), read("environ")].concat()
}

#[track_caller]
fn assert_closed(home: &Home) {
    let processes = home.processes();
    assert!(!processes.is_empty());
    for pid in processes {
        let text = shown(pid);
        for canary in CANARIES {
            assert!(!holds(&text, canary), "{canary} is shown by {}", String::from_utf8_lossy(&text));
        }
        if !text.starts_with(env!("CARGO_BIN_EXE_levain").as_bytes()) {
            continue;
        }
        let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero())).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "{core}");
    }
}

#[test]
fn s08_no_key_is_found_by_a_tool_of_a_worker() {
    let (home, server) = (home(), ModelServer::start());
    let launch = with_keys(home.levain_in_terminal(&["--model", "anthropic/test-model"]), &server);
    let terminal = launch.start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("look\r");
    server.call().tool("rye_bash", &json!({"command": LOOK}));
    terminal.wait_for("allow once");
    assert_closed(&home);
    terminal.send_keys("y");
    let seen = server.call();
    let body = String::from_utf8(seen.bytes.clone()).unwrap();
    assert!(body.contains("looked around") && body.contains("process "), "{body}");
    for canary in CANARIES {
        assert!(!body.contains(canary), "a tool saw {canary}: {body}");
    }
    seen.answer("Nothing to see.");
    terminal.wait_for("Nothing to see.");
    assert_closed(&home);
    for canary in CANARIES {
        assert!(!holds(&terminal.bytes(), canary), "{canary} is on the screen");
    }
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("again");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_exit().assert_code(0).assert_restored();
    home.wait_until_quiet();
    assert_eq!(files_with_canaries(home.path()), Vec::<PathBuf>::new());
}

#[test]
fn s08_no_key_is_found_by_a_tool_of_a_run() {
    let (home, server) = (home(), ModelServer::start());
    let mut command = home.levain(&["run", "--model", "anthropic/test-model", "--allow", "bash", "look"]);
    let child = command.envs(variables(&server)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    server.call().tool("rye_bash", &json!({"command": LOOK}));
    let seen = server.call();
    assert_closed(&home);
    let body = String::from_utf8(seen.bytes.clone()).unwrap();
    assert!(body.contains("looked around") && body.contains("process "), "{body}");
    for canary in CANARIES {
        assert!(!body.contains(canary), "a tool saw {canary}: {body}");
    }
    seen.answer("Nothing to see.");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Nothing to see.\n", "{output:?}");
    home.wait_until_quiet();
    assert_eq!(files_with_canaries(home.path()), Vec::<PathBuf>::new());
}

#[test]
fn s08_what_the_person_names_reaches_a_tool_and_a_key_never() {
    let (home, server) = (home(), ModelServer::start());
    fs::write(
        home.config().join("config.toml"),
        "tool_environment = [\"DOCKER_HOST\", \"MY_LLM\", \"STRANGE_TOKEN\"]\n",
    )
    .unwrap();
    let mut command = home.levain(&["run", "--model", "anthropic/test-model", "--allow", "bash", "look"]);
    command.envs(variables(&server)).env("DOCKER_HOST", "unix:///there").env("OTHER", "not-listed");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    server.call().tool("rye_bash", &json!({"command": "env"}));
    let seen = server.call();
    let body = String::from_utf8(seen.bytes.clone()).unwrap();
    assert!(body.contains("DOCKER_HOST=unix:///there") && body.contains(STRANGE), "{body}");
    assert!(!body.contains("not-listed") && !body.contains(NAMED), "{body}");
    seen.answer("Done.");
    assert!(child.wait_with_output().unwrap().status.success());
    home.wait_until_quiet();
}

#[test]
fn s08_other_processes_of_the_same_user_cannot_look_in() {
    // Root may look into everything, so both are somebody else then.
    let nobody = rustix::process::getuid().is_root().then_some(65_534);
    let start = |program: &str, argument: &str| {
        let mut command = Command::new(program);
        command.arg(argument).env_clear().env("STRANGE_TOKEN", STRANGE).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(nobody) = nobody {
            command.uid(nobody);
        }
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    let mut helper = start(env!("CARGO_BIN_EXE_levain"), "highlight");
    // It answers, so it is beyond its first lines.
    helper.stdin.as_mut().unwrap().write_all(b"{\"language\":\"x\",\"text\":\"x\"}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(helper.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(!answer.is_empty());
    for name in ["environ", "mem", "maps"] {
        let path = format!("/proc/{}/{name}", helper.id());
        let looked = start("/bin/cat", &path).wait_with_output().unwrap();
        assert!(!looked.status.success() && looked.stdout.is_empty(), "{name}: {looked:?}");
    }
    // Who may look in all the same finds nothing.
    if nobody.is_some() {
        let environment = fs::read(format!("/proc/{}/environ", helper.id())).unwrap();
        assert!(!environment.is_empty() && !holds(&environment, STRANGE), "{}", String::from_utf8_lossy(&environment));
    }
    drop(helper.stdin.take());
    assert!(helper.wait().unwrap().success());
}

/// Letters of the key.
fn cut(from: usize, length: usize) -> String {
    KEY.chars().skip(from).take(length).collect()
}

#[test]
fn s09_a_key_that_its_server_echoes_in_pieces_reaches_nobody() {
    let (home, server) = (home(), ModelServer::start());
    let terminal = with_keys(home.levain_in_terminal(&["--model", "anthropic/test-model"]), &server).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("who am I?\r");
    let call = server.call();
    call.begin();
    let echoed = KEY.to_uppercase();
    call.text("You are ");
    for letter in echoed.chars() {
        call.text(&letter.to_string());
    }
    call.text(&format!(", {}***", cut(0, 9)));
    call.text(&format!(" and {}", cut(0, 12)));
    call.text(&format!("{}.", cut(12, KEY.len())));
    call.end();
    // Of letters that come one by one the first are no sign of it yet.
    terminal.wait_for("You are TES[key], [key] and [key].");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("again");
    terminal.send_keys(key::CTRL_C);
    let written = terminal.wait_exit();
    home.wait_until_quiet();
    // Not even a run of eight letters, in any case.
    let runs: Vec<String> = (0..=KEY.len() - 8).map(|at| cut(at, 8)).collect();
    let shows = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).to_lowercase();
        runs.iter().any(|run| text.contains(run.as_str()))
    };
    assert!(!shows(&written.bytes), "the key is on the screen");
    let mut folders = vec![home.project()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                assert!(!shows(&fs::read(&path).unwrap_or_default()), "the key is in {}", path.display());
            }
        }
    }
}
