//! Taking back what a thread's file tools changed, in the whole program.

use crate::support::terminal::{Home, key, write};
use serde_json::{Value, json};
use std::fs;
use std::process::{Output, Stdio};

fn levain(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = home.levain(arguments).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

/// A thread that wrote `a.txt`, which was there, and `new/b.txt`, which was not, in one answer, and `a.txt` again in the next.
fn thread() -> (Home, String) {
    let home = Home::new();
    let write_call = |path: &str, content: &str| json!({ "tool_call": { "name": "rye_file_system_write", "input": { "path": path, "content": content } } });
    let script = json!({ "name": "s", "rate": 0, "replies": [
        { "when": { "after_tool": "rye_file_system_write", "contains": "outside the project" },
          "steps": [write_call("a.txt", "third\n")] },
        { "when": { "after_tool": "rye_file_system_write" }, "steps": [{ "text": "Done." }] },
        { "steps": [write_call("a.txt", "second\n"), write_call("new/b.txt", "b\n"), write_call("../out", "no")] },
    ]});
    write(&home.path().join("s.yaml"), &script.to_string());
    write(&home.project().join("a.txt"), "first\n");
    write(
        &home.project().join(".ai/directives/x.md"),
        "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>d</description><permissions><execute>\
         <tool>rye/file-system/*</tool></execute></permissions></metadata></directive>\n```\nDo.\n",
    );
    assert_eq!(levain(&home, &["trust"]).0, 0);
    let model = format!("scripted/{}", home.path().join("s.yaml").display());
    let (code, out, err) = levain(&home, &["run", "--json", "--model", &model, "--directive", "x", "go"]);
    assert_eq!(code, 0, "{out}{err}");
    let run: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(read(&home, "a.txt").as_deref(), Some("third\n"), "{out}");
    (home, run["thread_id"].as_str().unwrap().to_owned())
}

fn read(home: &Home, path: &str) -> Option<String> {
    fs::read_to_string(home.project().join(path)).ok()
}

#[test]
fn what_a_thread_changed_is_shown_and_taken_back() {
    let (home, id) = thread();
    let (code, out, _) = levain(&home, &["threads", "undo", &id, "--list"]);
    assert!(code == 0 && out.contains("-third\n+first\n") && out.contains("new/b.txt"), "{out}");
    assert_eq!(read(&home, "a.txt").as_deref(), Some("third\n"), "listing changes nothing");
    let (code, _, err) = levain(&home, &["threads", "undo", &id]);
    assert!(code == 2 && err.contains("--yes"), "{err}");
    let (code, out, err) = levain(&home, &["threads", "undo", &id, "--yes"]);
    assert!(
        code == 0 && out.contains("a.txt is as it was") && out.contains("new/b.txt is removed again"),
        "{out}{err}"
    );
    assert_eq!((read(&home, "a.txt").as_deref(), read(&home, "new/b.txt")), (Some("first\n"), None));
    let (code, out, _) = levain(&home, &["threads", "undo", &id, "--yes"]);
    assert!(code == 0 && out.contains("is as it was before"), "{out}");
    home.wait_until_quiet();
}

#[test]
fn some_files_or_one_answer_are_taken_back_alone() {
    let (home, id) = thread();
    let (code, _, err) = levain(&home, &["threads", "undo", &id, "c.txt", "--yes"]);
    assert!(code == 1 && err.contains("changed no file `c.txt`"), "{err}");
    assert_eq!(levain(&home, &["threads", "undo", &id, "new/b.txt", "--yes"]).0, 0);
    assert_eq!((read(&home, "a.txt").as_deref(), read(&home, "new/b.txt")), (Some("third\n"), None));
    // What the first answer wrote was written over by the second.
    let (code, out, err) = levain(&home, &["threads", "undo", &format!("{id}#1"), "a.txt", "--yes"]);
    assert!(code != 0 || out.contains("somebody changed it since"), "{out}{err}");
    assert_eq!(read(&home, "a.txt").as_deref(), Some("third\n"));
    assert_eq!(levain(&home, &["threads", "undo", &format!("{id}#2"), "--yes"]).0, 0);
    assert_eq!(read(&home, "a.txt").as_deref(), Some("second\n"));
    assert_eq!(levain(&home, &["threads", "undo", &format!("{id}#1"), "a.txt", "--yes"]).0, 0);
    assert_eq!(read(&home, "a.txt").as_deref(), Some("first\n"));
}

#[test]
fn a_file_that_somebody_changed_since_stays_and_both_versions_are_shown() {
    let (home, id) = thread();
    write(&home.project().join("a.txt"), "third, and mine\n");
    let (code, out, _) = levain(&home, &["threads", "undo", &id, "--list", "--json"]);
    assert_eq!(code, 0);
    let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((&line["path"], &line["state"]), (&json!("a.txt"), &json!("changed")), "{line}");
    assert!(line["since"].as_str().unwrap().contains("+third, and mine"), "{line}");
    assert!(line["difference"].as_str().unwrap().contains("-third\n+first"), "{line}");
    let (code, _, err) = levain(&home, &["threads", "undo", &id, "--yes"]);
    assert!(code == 1 && err.contains("a.txt stays as it is: somebody changed it since"), "{err}");
    assert_eq!((read(&home, "a.txt").as_deref(), read(&home, "new/b.txt")), (Some("third, and mine\n"), None));
}

#[test]
fn s18_changes_are_taken_back_on_the_screen() {
    let (home, id) = thread();
    write(&home.project().join("new/b.txt"), "of somebody\n");
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo", "--continue", &id]).size(120, 30).start();
    terminal.wait_for("Done.");
    terminal.send_keys("/undo\r");
    terminal.wait_for("files that the thread changed · 2 of 2");
    terminal.wait_for("-third");
    terminal.wait_for("+first");
    terminal.send_keys("\r");
    terminal.wait_for("repeat to take back `a.txt`");
    assert_eq!(read(&home, "a.txt").as_deref(), Some("third\n"), "asking changes nothing");
    terminal.send_keys("\r");
    terminal.wait_for("`a.txt` is as it was");
    assert_eq!(read(&home, "a.txt").as_deref(), Some("first\n"));
    terminal.send_keys("j");
    terminal.wait_for("+of somebody");
    terminal.send_keys("\r");
    terminal.wait_for("`new/b.txt` stays as it is");
    assert_eq!(read(&home, "new/b.txt").as_deref(), Some("of somebody\n"));
    terminal.send_keys(key::ESC);
    terminal.wait_gone("files that the thread changed");
    terminal.send_keys("/export registry\r");
    terminal.wait_for("registry.json");
    terminal.leave();
    home.wait_until_quiet();
}
