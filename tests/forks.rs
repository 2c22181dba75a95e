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

/// A conversation of two prompts on the screen.
fn two_prompts(home: &Home, server: &ModelServer) -> Terminal {
    let terminal = start(home, server);
    say(&terminal, server, "the first question", "One.");
    say(&terminal, server, "the second question", "Two.");
    terminal
}

#[test]
fn a_conversation_is_a_tree_and_what_is_left_goes_along_in_short() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = two_prompts(&home, &server);
    terminal.send_keys("/tree\r");
    terminal.wait_for("you: the second question");
    // Behind the first answer, with a summary of what comes after it.
    terminal.send_keys("kks");
    let call = server.call();
    let asked = call.messages();
    assert!(has_said(&asked, "the second question") && has_said(&asked, "Two."), "{asked:?}");
    assert!(has_said(&asked, "branch of a conversation that was left") && !has_said(&asked, "One."), "{asked:?}");
    call.answer("The second question led to two.");
    terminal.wait_for("led to two");
    terminal.send_keys("another question\r");
    let call = server.call();
    let messages = call.messages();
    assert!(has_said(&messages, "One.") && call.body.to_string().contains("led to two."), "{}", call.body);
    assert!(!has_said(&messages, "the second question"), "{messages:?}");
    call.answer("Three.");
    terminal.wait_for("Three.");
    // Both branches are listed, and the other one is a key away.
    terminal.send_keys("/tree\r");
    terminal.wait_for("fork: another question");
    terminal.wait_for("branch: A branch of this conversation");
    terminal.send_keys("G\r");
    terminal.wait_gone("another question");
    terminal.wait_for("Two.");
    assert_eq!(threads(&home), 2);
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_prompt_of_the_tree_is_put_into_the_draft_and_labels_are_kept() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = two_prompts(&home, &server);
    terminal.send_keys("/tree\r");
    terminal.wait_for("you: the second question");
    terminal.send_keys("kl");
    terminal.wait_for("label: ");
    terminal.send_keys("here it begins\r");
    terminal.wait_for("[here it begins] you: the second question");
    terminal.send_keys("ff");
    terminal.wait_gone("you: the first question");
    terminal.send_keys("\r");
    terminal.wait_for("before that prompt");
    terminal.wait_for("› the second question");
    // The worker that tells how large the draft's request is: one that is left while it starts ends later.
    terminal.wait_for("request ~");
    terminal.leave();
    home.wait_until_quiet();
    // The same on the command line.
    let levain = |arguments: &[&str]| {
        let output = home.levain(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let lines = |text: &str| text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let (_, listed, _) = levain(&["threads", "--json"]);
    let fork = lines(&listed).into_iter().find(|row| row["lineage"]["origin"] == "fork").unwrap();
    let id = fork["lineage"]["previous"].as_str().unwrap().to_owned();
    let (_, tree, _) = levain(&["threads", "conversation", &id, "--list", "prompts", "--json"]);
    let rows = lines(&tree);
    let labelled = rows.iter().find(|row| row["label"] == "here it begins").expect("the label");
    assert_eq!(labelled["text"], "the second question");
    assert!(rows.iter().any(|row| row["from"] == id.as_str()), "the fork that waits for its prompt: {tree}");
    let entry = labelled["entry"].as_str().unwrap();
    let (done, said, _) = levain(&["threads", "label", &id, entry]);
    assert!(done && said.contains("has no label"), "{said}");
    let (done, said, _) = levain(&["threads", "fork", &id, "--at", entry, "--json"]);
    assert!(done, "{said}");
    let made = lines(&said)[0]["thread_id"].as_str().unwrap().to_owned();
    let (_, tree, _) = levain(&["threads", "conversation", &made, "--list", "labelled", "--json"]);
    assert!(lines(&tree).iter().all(|row| row["entry"].is_null()), "nothing has a label any more: {tree}");
    let (done, _, why) = levain(&["threads", "fork", &id, "--at", "00000001"]);
    assert!(!done && why.contains("has the id `00000001`") && why.contains("--list all"), "{why}");
}
