//! Trying again from an earlier place, on the screen and on the command line.

use crate::support::conversation::{has_said, say, screen, threads};
use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, Terminal, key};
use serde_json::Value;
use std::process::Stdio;

fn start(home: &Home, server: &ModelServer) -> Terminal {
    let terminal = screen(home, server).start();
    terminal.wait_for("test-model");
    terminal
}

#[test]
fn a_prompt_is_tried_again_beside_the_old_answer() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(&home, &server);
    say(&terminal, &server, "the first question", "One.");
    say(&terminal, &server, "the second question", "Two.");
    // The second prompt is chosen, and tried again without its answer.
    terminal.send_keys(key::TAB);
    terminal.wait_for("reading");
    terminal.send_keys("[");
    terminal.send_keys("a");
    let call = server.call();
    let messages = call.messages();
    assert!(has_said(&messages, "the first question") && has_said(&messages, "One."), "{messages:?}");
    assert!(has_said(&messages, "the second question") && !has_said(&messages, "Two."), "{messages:?}");
    call.answer("Another two.");
    terminal.wait_for("difference · ");
    terminal.send_keys(key::ESC);
    terminal.wait_for("┌ context · ");
    terminal.send_keys(key::ESC);
    terminal.wait_for("Another two.");
    assert_eq!(threads(&home), 2, "the old thread stays");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_prompt_is_changed_and_sent_again() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(&home, &server);
    say(&terminal, &server, "the only question", "One.");
    terminal.send_keys("/edit\r");
    terminal.wait_for("stays as it is");
    terminal.wait_for("› the only question");
    terminal.send_keys(", put otherwise\r");
    let call = server.call();
    let messages = call.messages();
    assert!(has_said(&messages, "the only question, put otherwise") && !has_said(&messages, "One."), "{messages:?}");
    call.answer("Better.");
    terminal.wait_for("difference · ");
    terminal.send_keys(key::ESC);
    terminal.wait_for("┌ context · ");
    terminal.send_keys(key::ESC);
    terminal.wait_for("Better.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_fork_goes_on_behind_an_answer() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(&home, &server);
    say(&terminal, &server, "the first question", "One.");
    say(&terminal, &server, "the second question", "Two.");
    terminal.send_keys(key::TAB);
    terminal.wait_for("reading");
    terminal.send_keys("[");
    terminal.send_keys("[");
    terminal.send_keys("f");
    terminal.wait_for("up to here");
    terminal.wait_gone("the second question");
    terminal.send_keys("a third question\r");
    let call = server.call();
    let messages = call.messages();
    assert!(has_said(&messages, "One.") && !has_said(&messages, "the second question"), "{messages:?}");
    call.answer("Three.");
    terminal.wait_for("Three.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_run_begins_with_the_words_of_a_thread() {
    let (home, server) = (Home::new(), ModelServer::start());
    let run = |arguments: &[&str]| {
        let mut all = vec!["run", "--json"];
        all.extend(arguments);
        let mut command = home.levain(&all);
        command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let result = |child: std::process::Child| -> Value {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let first = run(&["--model", "anthropic/test-model", "the first question"]);
    server.call().answer("One.");
    let first = result(first);
    let id = first["thread_id"].as_str().unwrap().to_owned();
    // Its prompt again, with the model that it had.
    let again = run(&["--fork", &format!("{id}#1")]);
    let call = server.call();
    let messages = call.messages();
    assert!(has_said(&messages, "the first question") && !has_said(&messages, "One."), "{messages:?}");
    call.answer("Again.");
    assert_eq!(result(again)["result"], "Again.");
    // All of it, and a new prompt.
    let on = run(&["--fork", &id, "and the second"]);
    let call = server.call();
    let messages = call.messages();
    assert!(has_said(&messages, "One.") && has_said(&messages, "and the second"), "{messages:?}");
    call.answer("Two.");
    let on = result(on);
    assert_eq!((&on["result"], &on["cost"]["turns"]), (&Value::from("Two."), &Value::from(1)));
    let output = home.levain(&["run", "--fork", &format!("{id}#7"), "x"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("request 7 is not in the log"), "{said}");
    home.wait_until_quiet();
}
