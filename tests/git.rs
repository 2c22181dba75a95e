//! What a project's git settings say is not run: levain reads the branch by itself.

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, key};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Git with nothing of the machine's own settings.
fn git(project: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments).current_dir(project);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A repository on the branch `moon` whose settings run programs at whatever git does, and whose index has to be looked
/// over. Returns the file that those programs make.
fn hostile(home: &Home) -> std::path::PathBuf {
    let (project, ran) = (home.project(), home.path().join("ran"));
    git(&project, &["init", "-q", "-b", "moon"]);
    fs::write(project.join("file.txt"), "one\n").unwrap();
    git(&project, &["add", "file.txt"]);
    git(&project, &["commit", "-q", "-m", "one"]);
    fs::write(project.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    let touch = format!("touch {} && cat", ran.display());
    let settings = [
        ("filter.x.clean", touch.as_str()),
        ("filter.x.smudge", &touch),
        ("filter.x.process", &touch),
        ("diff.x.textconv", &touch),
        ("diff.x.command", &touch),
        ("core.pager", &touch),
        ("core.sshCommand", &touch),
    ];
    for (name, value) in settings {
        git(&project, &["config", name, value]);
    }
    // As long as before, so that only its contents tell.
    fs::write(project.join("file.txt"), "two\n").unwrap();
    ran
}

#[test]
fn s03_git_of_a_project_runs_nothing() {
    let home = Home::new();
    let ran = hostile(&home);
    // Nor does anything else of levain run git.
    let bin = home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let started = home.path().join("started");
    fs::write(bin.join("git"), format!("#!/bin/sh\necho \"$@\" >> {}\nexec /usr/bin/git \"$@\"\n", started.display()))
        .unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());

    for arguments in [
        &["context", "show", "--text"][..],
        &["context", "show", "--text", "--interactive"],
        &["context", "explain", "project"],
        &["run", "--model", "scripted/demo", "hello"],
        &["threads"],
        &["items"],
        &["check"],
        &["config"],
        &["doctor"],
        &["trust", "--show"],
        &["models"],
    ] {
        let output = home.levain(arguments).env("PATH", &path).stdin(Stdio::null()).output().unwrap();
        assert!(!ran.exists(), "levain {arguments:?} ran what git's settings say");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!arguments.contains(&"--text") || shown.contains(", git branch moon\n"), "{shown}");
    }
    let server = ModelServer::start();
    let launch = home.levain_in_terminal(&["--model", "anthropic/test-model"]).env("PATH", &path);
    let terminal = launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("hello\r");
    let call = server.call();
    assert!(String::from_utf8_lossy(&call.bytes).contains("git branch moon"));
    call.answer("Hello.");
    terminal.wait_for("Hello.");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("again");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_exit().assert_code(0).assert_restored();
    home.wait_until_quiet();
    assert!(!ran.exists());
    assert!(!started.exists(), "git was run: {}", fs::read_to_string(&started).unwrap());
}
