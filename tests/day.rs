//! A day with threads, from a fresh home, in one session of the screen: what is done in it is seen by the model server, by the
//! terminal and on disk.

use crate::support::conversation::{has_said, say, screen, threads};
use crate::support::model_server::ModelServer;
use crate::support::terminal::{Home, Terminal, key, poll};
use serde_json::{Value, json};
use std::fs;

const DIRECTIVE: &str = "```xml\n<directive name=\"ship\" version=\"1.0.0\" extends=\"levain/core/base\"><metadata>\
                         <description>Ships it</description><permissions><execute><tool>rye.bash</tool></execute></permissions>\
                         </metadata></directive>\n```\nShip it.\n";

/// Back from the difference that a new request opens with, to the conversation.
fn close_difference(terminal: &Terminal, answer: &str) {
    terminal.send_keys(key::ESC);
    terminal.wait_for("┌ context · ");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ context · ");
    terminal.wait_for(answer);
}

fn listed(home: &Home) -> String {
    String::from_utf8(home.levain(&["threads"]).output().unwrap().stdout).unwrap()
}

fn trust_of(home: &Home) -> Value {
    let output = home.levain(&["trust", "--show", "--json"]).output().unwrap();
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["status"].clone()
}

/// What the model was told came of its call.
fn result_of_call(body: &Value) -> String {
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let found = last["content"].as_array().unwrap().iter().find(|block| block["type"] == "tool_result");
    found.unwrap_or_else(|| panic!("no result: {last}")).to_string()
}

fn was_sent(terminal: &Terminal, bytes: &[u8]) -> bool {
    terminal.bytes().windows(bytes.len()).any(|window| window == bytes)
}

/// One session: the steps build on each other.
#[test]
fn s16_a_day_with_threads() {
    let (home, server) = (Home::new(), ModelServer::start());
    fs::create_dir_all(home.project().join(".ai/directives/team")).unwrap();
    fs::write(home.project().join(".ai/directives/team/ship.md"), DIRECTIVE).unwrap();
    let tool = home.project().join(".ai/tools/team/deploy.sh");
    fs::create_dir_all(tool.parent().unwrap()).unwrap();
    fs::write(&tool, "#!/bin/sh\n# Deploys.\n").unwrap();
    let terminal = screen(&home, &server).size(120, 36).start();
    terminal.wait_for("test-model");

    // Two turns, and the thread gets a name.
    say(&terminal, &server, "the first question", "One.");
    say(&terminal, &server, "the second question", "Two.");
    terminal.send_keys("/rename release notes\r");
    terminal.wait_for("has its new name");
    poll("it is listed so", || listed(&home).contains("release notes"));

    // Another branch goes on behind the first answer.
    terminal.send_keys(key::TAB);
    terminal.wait_for("reading");
    terminal.send_keys("[");
    terminal.send_keys("[");
    terminal.send_keys("f");
    terminal.wait_for("up to here");
    terminal.wait_gone("the second question");
    terminal.send_keys("a third question\r");
    let call = server.call();
    assert!(has_said(&call.messages(), "One.") && !has_said(&call.messages(), "the second question"));
    call.answer("Three.");
    terminal.wait_for("Three.");
    terminal.wait_gone("● ");
    assert_eq!(threads(&home), 2);

    // Its prompt is changed and sent again; the new request stands beside the old one.
    terminal.send_keys("/edit\r");
    terminal.wait_gone("Three.");
    terminal.wait_for("› a third question");
    terminal.send_keys(", put otherwise\r");
    let call = server.call();
    assert!(has_said(&call.messages(), "a third question, put otherwise") && !has_said(&call.messages(), "Three."));
    call.answer("Better.");
    terminal.wait_for("difference · ");
    terminal.wait_for(", put otherwise");
    close_difference(&terminal, "Better.");
    assert_eq!(threads(&home), 3);

    // Whoever looks elsewhere is called; a call is denied with a reason, which the model reads.
    terminal.send_keys("write it down");
    terminal.wait_for("› write it down");
    terminal.send_keys("\x1b[O\r");
    let input = json!({"path": "notes.txt", "content": "shipped\n"});
    server.call().tool("rye_file_system_write", &input);
    terminal.wait_for("┌ approval · write");
    let called = b"\x1b]9;levain: levain/chat needs approval: write\x1b\\\x07";
    poll("the person is called, with a bell", || was_sent(&terminal, called));
    terminal.send_keys("\x1b[I");
    terminal.wait_for("allow once");
    terminal.wait_for("+shipped");
    terminal.wait_for("arguments: 2 (content, path)");
    terminal.send_keys("v");
    terminal.wait_for("hides them");
    terminal.send_keys("v");
    terminal.wait_for("shows them");
    terminal.send_keys("r");
    terminal.wait_for("› /deny");
    terminal.send_keys("put it below docs\r");
    let call = server.call();
    assert!(result_of_call(&call.body).contains("put it below docs"), "{}", result_of_call(&call.body));
    call.answer("Below docs, then.");
    terminal.wait_for("Below docs, then.");
    terminal.wait_gone("● ");
    assert!(!home.project().join("notes.txt").exists());

    // What the project can run is listed and trusted on the screen.
    assert_eq!(trust_of(&home), "untrusted");
    terminal.send_keys("/trust\r");
    terminal.wait_for("Trust this project as it is now");
    terminal.wait_for(".ai/tools/team/deploy.sh");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("you trust this project as it is now");
    assert_eq!(trust_of(&home), "trusted");

    // The first thread is found under its name and deleted, which is asked for twice.
    terminal.send_keys("\x14"); // ctrl-t
    terminal.wait_for("threads · 3 of 3");
    terminal.send_keys("G");
    terminal.wait_for("Two.");
    terminal.send_keys("d");
    terminal.wait_for("repeat to delete `release notes`");
    assert_eq!(threads(&home), 3);
    terminal.send_keys("d");
    poll("its folder is gone", || threads(&home) == 2);
    terminal.wait_gone("release notes");
    assert!(!listed(&home).contains("release notes"));
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ threads");
    terminal.leave();
    home.wait_until_quiet();
}
