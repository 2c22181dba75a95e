//! The pipeline on the screen: breakpoints, steps, the value changed by a person, a handler asked again.

use crate::support::conversation::{say, screen};
use crate::support::model_server::ModelServer;
use crate::support::terminal::{Home, Terminal, key};
use std::fs;

const HANDLERS: &str = "handlers:
- id: typos
  stage: input
  replace: {find: teh, with: the}
- id: house-style
  stage: input
  append: \" Briefly.\"
- id: rules
  stage: before_agent_start
  message: \"Close no issue.\"
";

fn project() -> (Home, ModelServer) {
    let (home, server) = (Home::new(), ModelServer::start());
    fs::create_dir_all(home.project().join(".ai/config/agent")).unwrap();
    fs::write(home.project().join(".ai/config/agent/pipeline.yaml"), HANDLERS).unwrap();
    (home, server)
}

/// An editor that puts one word into the place of another.
fn editor(home: &Home, from: &str, to: &str) -> String {
    let script = home.project().join("editor.sh");
    fs::write(&script, format!("#!/bin/sh\nsed -i 's/{from}/{to}/' \"$1\"\n")).unwrap();
    format!("sh {}", script.display())
}

/// Writes a line and sends it; Enter in one burst with many letters would be one of a paste.
fn enter(terminal: &Terminal, line: &str) {
    terminal.send_keys(line);
    terminal.wait_for(&format!("› {line}"));
    terminal.send_keys(key::ENTER);
    terminal.wait_gone(&format!("› {line}"));
}

/// Chooses the row that the words find, in the open list of handlers.
fn choose(terminal: &Terminal, words: &str) {
    terminal.send_keys("/");
    terminal.send_keys(words);
    terminal.wait_for(&format!("› {words}"));
    terminal.wait_for("enter keep");
    terminal.send_keys(key::ENTER);
    terminal.wait_gone("enter keep");
}

#[test]
fn a_thread_pauses_from_its_first_prompt_on_and_goes_on_step_by_step() {
    let (home, server) = project();
    let terminal = screen(&home, &server).env("EDITOR", &editor(&home, "Briefly", "At length")).start();
    terminal.wait_for("test-model");
    // Before the thread begins, its handlers are listed, and one gets a breakpoint.
    enter(&terminal, "/pipeline");
    terminal.wait_for("handlers of files");
    choose(&terminal, "typos");
    terminal.send_keys("b");
    terminal.wait_for("typos (input)");
    terminal.send_keys(key::ESC);
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ pipeline");
    terminal.send_keys("mend teh roof");
    terminal.wait_for("› mend teh roof");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("paused before typos (input)");
    enter(&terminal, "/pipeline");
    terminal.wait_for("what typos is about to get");
    terminal.wait_for("text: mend teh roof");
    // A step goes to the next handler, which gets what the first made of it.
    terminal.send_keys("n");
    terminal.wait_for("what house-style is about to get");
    terminal.wait_for("text: mend the roof");
    terminal.send_keys("n");
    terminal.wait_for("what rules is about to get");
    terminal.wait_for("prompt: mend the roof Briefly.");
    // This one is left out.
    terminal.send_keys("s");
    let call = server.call();
    let sent = call.body.to_string();
    assert!(sent.contains("mend the roof Briefly.") && !sent.contains("Close no issue."), "{sent}");
    call.answer("Mended.");
    // What was asked is listed as soon as it is over.
    terminal.wait_for("skipped");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_value_is_changed_at_a_breakpoint_and_a_breakpoint_may_have_a_condition() {
    let (home, server) = project();
    let terminal = screen(&home, &server).env("EDITOR", &editor(&home, "slate", "thatch")).start();
    terminal.wait_for("test-model");
    enter(&terminal, "/break input:house-style contains slate");
    enter(&terminal, "/break");
    terminal.wait_for("where the value contains \"slate\"");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ pipeline");
    say(&terminal, &server, "a roof of tiles", "Tiled.");
    terminal.send_keys("a roof of slate");
    terminal.wait_for("› a roof of slate");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("paused before house-style (input)");
    enter(&terminal, "/pipeline");
    terminal.wait_for("text: a roof of slate");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert!(call.body.to_string().contains("a roof of thatch Briefly."), "{}", call.body);
    call.answer("Thatched.");
    terminal.wait_for("edited by you");
    terminal.send_keys(key::ESC);
    terminal.wait_for("Thatched.");
    // Without it nothing pauses any more.
    enter(&terminal, "/break off");
    say(&terminal, &server, "and more slate", "More.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_handler_is_asked_again_as_it_is_written_now() {
    let (home, server) = project();
    let terminal = screen(&home, &server).size(140, 45).start();
    terminal.wait_for("test-model");
    say(&terminal, &server, "mend teh roof", "Mended.");
    enter(&terminal, "/pipeline");
    terminal.wait_for("prompt 1 · mend teh roof");
    choose(&terminal, "house-style changed");
    terminal.wait_for("+text: mend the roof Briefly.");
    // What it got, and what it made of that.
    terminal.send_keys("d");
    terminal.wait_for("what it got");
    terminal.wait_for("text: mend the roof");
    terminal.send_keys("d");
    terminal.wait_for("what it made of that");
    let file = home.project().join(".ai/config/agent/pipeline.yaml");
    fs::write(&file, HANDLERS.replace("Briefly", "With care")).unwrap();
    terminal.send_keys("r");
    terminal.wait_for("now: changed");
    terminal.wait_for("+text: mend the roof With care.");
    terminal.send_keys("d");
    terminal.wait_for("+text: mend the roof Briefly.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_breakpoint_at_a_handler_that_nobody_has_is_told() {
    let (home, server) = project();
    let terminal = screen(&home, &server).start();
    terminal.wait_for("test-model");
    say(&terminal, &server, "teh roof", "Tiled.");
    enter(&terminal, "/break input:typo");
    terminal.wait_for("no handler at input is called typo now (did you mean typos?)");
    enter(&terminal, "/break off");
    // Where nothing stands still is told apart from what there is not.
    for (stage, told) in [
        ("before_provider_headers", "nothing stands still at before_provider_headers"),
        ("contexts", "there is no stage contexts (did you mean context?)"),
    ] {
        terminal.send_keys(&format!("/break {stage}"));
        terminal.wait_for(&format!("› /break {stage}"));
        terminal.send_keys(key::ENTER);
        terminal.wait_for(told);
        // What was refused is there still.
        terminal.send_keys("\x15");
        terminal.wait_gone("› /break");
    }
    enter(&terminal, "/break input:typos");
    terminal.send_keys("teh wall");
    terminal.wait_for("› teh wall");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("paused before typos (input)");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("paused before typos (input)");
    terminal.leave();
    home.wait_until_quiet();
}
