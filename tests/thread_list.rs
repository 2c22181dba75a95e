//! Threads are managed from their list on the screen.

use crate::support::terminal::{Home, key, poll};
use std::fs;

const SCENARIO: &str = r#"
name: echo
rate: 0
replies:
  - steps: [ { text: "Heard: {input}", echo: true } ]
"#;

fn threads(home: &Home) -> usize {
    fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().count()
}

fn ask(home: &Home, prompt: &str) {
    let model = format!("scripted/{}", home.path().join("scenario.yaml").display());
    let output = home.levain(&["run", "--model", &model, prompt]).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn listed(home: &Home, arguments: &[&str]) -> String {
    String::from_utf8(home.levain(arguments).output().unwrap().stdout).unwrap()
}

#[test]
fn threads_are_renamed_put_away_and_removed() {
    let home = Home::new();
    fs::write(home.path().join("scenario.yaml"), SCENARIO).unwrap();
    ask(&home, "the oldest");
    ask(&home, "the middle");
    ask(&home, "the newest");
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo"]).size(160, 45).start();
    terminal.wait_for("A new thread");
    terminal.send_keys("\x14"); // ctrl-t
    terminal.wait_for("threads · 3 of 3");
    // The newest is chosen, and its last words stand beside the list.
    terminal.wait_for("Heard: the newest");
    terminal.send_keys("r");
    terminal.wait_for("rename: the newest");
    terminal.send_keys("\x15called so\r");
    terminal.wait_for("has its new name");
    terminal.wait_for("called so");
    assert!(listed(&home, &["threads"]).contains("called so"));
    terminal.send_keys("j");
    terminal.wait_for("Heard: the middle");
    terminal.send_keys("a");
    terminal.wait_for("is archived");
    terminal.wait_for("threads · 2 of 2");
    assert!(listed(&home, &["threads", "--archived"]).contains("the middle"));
    terminal.send_keys("G");
    terminal.wait_for("Heard: the oldest");
    terminal.send_keys("d");
    terminal.wait_for("repeat to delete `the oldest`");
    assert_eq!(threads(&home), 3);
    terminal.send_keys("d");
    terminal.wait_for("threads · 1 of 1");
    poll("its folder is gone", || threads(&home) == 2);
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ threads");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_running_thread_is_looked_into_live_and_left_as_it_is() {
    let home = Home::new();
    let script = "name: hangs\nrate: 0\nreplies:\n  - steps: [ { text: \"I begin\" }, { hang: true } ]\n";
    fs::write(home.path().join("scenario.yaml"), script).unwrap();
    let model = format!("scripted/{}", home.path().join("scenario.yaml").display());
    let begun = home.levain(&["run", "--background", "--model", &model, "work"]).output().unwrap();
    assert!(begun.status.success(), "{begun:?}");
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo"]).size(160, 45).start();
    terminal.wait_for("A new thread");
    terminal.send_keys("\x14"); // ctrl-t
    // What arrives is not in the log yet.
    terminal.wait_for("I begin▌");
    terminal.send_keys("p");
    terminal.wait_gone("● running");
    terminal.send_keys("p");
    terminal.wait_for("● running");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ threads");
    let status = || listed(&home, &["threads", "running"]);
    assert!(!status().is_empty(), "it goes on when nobody looks any more");
    terminal.send_keys("\x14");
    terminal.wait_for("I begin▌");
    terminal.send_keys("s");
    // Its end is told by its worker.
    terminal.wait_for("■ cancelled: ");
    terminal.send_keys(key::ESC);
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn s16_a_thread_that_was_started_without_a_prompt_is_called_after_its_directive_and_inputs() {
    let home = Home::new();
    fs::write(home.path().join("scenario.yaml"), SCENARIO).unwrap();
    fs::create_dir_all(home.project().join(".ai/directives/team")).unwrap();
    let text = "```xml\n<directive name=\"ship\" version=\"1.0.0\"><metadata><description>d</description></metadata>\
                <inputs><input name=\"target\" required=\"true\">t</input></inputs></directive>\n```\nShip.\n";
    fs::write(home.project().join(".ai/directives/team/ship.md"), text).unwrap();
    let model = format!("scripted/{}", home.path().join("scenario.yaml").display());
    let arguments = ["run", "--model", &model, "--directive", "team/ship", "--input", "target=staging"];
    let output = home.levain(&arguments).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(listed(&home, &["threads"]).contains("ship · target=staging"), "{}", listed(&home, &["threads"]));
    // The log alone says so too.
    for file in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _may_be_missing = fs::remove_file(home.project().join(".ai/agent").join(file));
    }
    assert!(listed(&home, &["threads"]).contains("ship · target=staging"));
}
