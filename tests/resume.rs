//! Directives with inputs, items and names in the whole program: from the keys to what the model is told.

use crate::support::model_server;
use crate::support::terminal::{Home, Launch, key, poll};
use model_server::{KEY, ModelServer};

const DEPLOY: &str = "```xml\n<directive name=\"deploy\" version=\"1.0.0\"><description>Ship it</description>\
                      <inputs><input name=\"target\" required=\"true\">where to</input>\
                      <input name=\"tag\" default=\"latest\"/></inputs></directive>\n```\nShip {input:tag} to {input:target}.\n";

fn write(home: &Home, path: &str, text: &str) {
    let path = home.project().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn levain(home: &Home, server: &ModelServer, arguments: &[&str]) -> Launch {
    let mut all = vec!["--model", "anthropic/test-model"];
    all.extend(arguments);
    home.levain_in_terminal(&all).env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY)
}

fn told(call: &model_server::Call) -> String {
    call.body.to_string()
}

#[test]
fn inputs_of_a_form_reach_the_model_and_stay_with_the_thread() {
    let (home, server) = (Home::new(), ModelServer::start());
    write(&home, ".ai/directives/team/deploy.md", DEPLOY);
    let terminal = levain(&home, &server, &[]).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("/directive deploy\r");
    terminal.wait_for("team/deploy");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("inputs of team/deploy");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("it needs a value");
    terminal.send_keys("the 月\r");
    terminal.wait_for("A new thread with team/deploy");
    terminal.send_keys("now\r");
    let call = server.call();
    assert!(told(&call).contains("Ship latest to the 月."), "{}", told(&call));
    call.answer("Shipped.");
    terminal.wait_for("Shipped.");
    terminal.leave();
    home.wait_until_quiet();
    // Another process takes the thread over and is told the same.
    let terminal = levain(&home, &server, &["--continue"]).start();
    terminal.wait_for("Shipped.");
    terminal.send_keys("again\r");
    let call = server.call();
    assert!(told(&call).contains("Ship latest to the 月."), "{}", told(&call));
    call.answer("Shipped twice.");
    terminal.wait_for("Shipped twice.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn inputs_may_be_called_by_any_letters() {
    let (home, server) = (Home::new(), ModelServer::start());
    let directive = "```xml\n<directive name=\"fly\" version=\"1.0.0\"><description>Fly</description>\
                     <inputs><input name=\"🚀\" required=\"true\">which one</input>\
                     <input name=\"the place\" required=\"true\"/><input name=\"e\u{301}tape\" default=\"one\"/></inputs></directive>\n```\n\
                     Fly {input:🚀} to {input:the place}, {input:e\u{301}tape}.\n";
    write(&home, ".ai/directives/team/fly.md", directive);
    let terminal = levain(&home, &server, &["team/fly"]).start();
    terminal.wait_for("inputs of team/fly");
    for name in ["🚀", "the place", "e\u{301}tape"] {
        terminal.wait_for(name);
    }
    terminal.send_keys("Ariane\tKourou\r");
    terminal.wait_for("🚀: Ariane");
    terminal.wait_for("the place: Kourou");
    terminal.send_keys("go\r");
    let call = server.call();
    assert!(told(&call).contains("Fly Ariane to Kourou, one."), "{}", told(&call));
    call.answer("Flown.");
    terminal.wait_for("Flown.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_screen_that_opens_with_a_directive_asks_for_its_inputs() {
    let (home, server) = (Home::new(), ModelServer::start());
    write(&home, ".ai/directives/team/deploy.md", DEPLOY);
    let terminal = levain(&home, &server, &["team/deploy"]).start();
    terminal.wait_for("inputs of team/deploy");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("inputs of team/deploy");
    // Without them nothing is sent, and the prompt stays.
    terminal.send_keys("go\r");
    terminal.wait_for("inputs of team/deploy");
    terminal.send_keys("mars\tv2\r");
    terminal.wait_gone("inputs of team/deploy");
    terminal.wait_for("target: mars");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert!(told(&call).contains("Ship v2 to mars."), "{}", told(&call));
    assert_eq!(call.messages(), [("user".into(), "go".into())]);
    call.answer("Gone.");
    terminal.wait_for("Gone.");
    terminal.leave();
    home.wait_until_quiet();
}

/// A directive that was chosen needs no words of the person's, neither from the draft nor from the preview.
#[test]
fn a_directive_starts_without_a_prompt() {
    const GREET: &str = "```xml\n<directive name=\"greet\"><metadata><description>Greets</description></metadata>\
                         </directive>\n```\nSay hello.\n";
    for preview in [false, true] {
        let (home, server) = (Home::new(), ModelServer::start());
        write(&home, ".ai/directives/team/greet.md", GREET);
        let terminal = levain(&home, &server, &["team/greet"]).size(140, 40).start();
        terminal.wait_for("enter start");
        if preview {
            terminal.send_keys("\x10");
            terminal.wait_for("enter send");
        }
        terminal.send_keys(key::ENTER);
        let call = server.call();
        assert!(told(&call).contains("Say hello."), "{}", told(&call));
        call.answer("Hello.");
        terminal.wait_for("Hello.");
        terminal.wait_for("(the directive, without a prompt)");
        // It has begun: now there is something to say.
        terminal.send_keys("more\r");
        let call = server.call();
        assert_eq!(call.messages().last(), Some(&("user".into(), "more".into())));
        call.answer("Well.");
        terminal.wait_for("Well.");
        terminal.leave();
        home.wait_until_quiet();
    }
}

#[test]
fn limits_of_a_directive_hold_in_a_thread_of_the_screen() {
    const TIGHT: &str = "```xml\n<directive name=\"tight\" extends=\"levain/core/base\"><metadata>\
                         <limits turns=\"1\"/></metadata></directive>\n```\nBe brief.\n";
    let (home, server) = (Home::new(), ModelServer::start());
    write(&home, ".ai/directives/team/tight.md", TIGHT);
    let terminal = levain(&home, &server, &["team/tight"]).size(140, 40).start();
    terminal.wait_for("A new thread with team/tight");
    terminal.send_keys("go");
    terminal.wait_for("› go");
    terminal.send_keys("\x10"); // ctrl-p
    terminal.wait_for("what Enter would send");
    terminal.send_keys("/environment");
    terminal.wait_for("Limits of this thread: 1 turns");
    // The first takes the filter off.
    terminal.send_keys("\x1b[27u\x1b[27u");
    terminal.wait_gone("what Enter would send");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert!(told(&call).contains("Limits of this thread: 1 turns"), "{}", told(&call));
    call.answer("Brief.");
    terminal.wait_for("Brief.");
    terminal.wait_gone("●");
    terminal.send_keys("more\r");
    // The second turn stops before its call, and says how it goes on.
    terminal.wait_for("turns_exceeded");
    assert!(server.is_asked().is_none());
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn items_open_in_the_editor_and_what_is_saved_shows() {
    let (home, server) = (Home::new(), ModelServer::start());
    write(&home, ".ai/directives/team/deploy.md", DEPLOY);
    write(&home, "edit.sh", "printf 'Watch it too.\\n' >> \"$1\"\n");
    let editor = format!("/bin/sh {}", home.project().join("edit.sh").display());
    let terminal = levain(&home, &server, &[]).env("VISUAL", &editor).size(160, 45).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("/items\r");
    terminal.wait_for("items · ");
    terminal.send_keys("/deploy");
    terminal.wait_for("Ship {input:tag} to {input:target}.");
    terminal.send_keys("\x0f");
    terminal.wait_for("Watch it too.");
    terminal.send_keys(key::ESC);
    terminal.wait_for("/ to filter");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("items · ");
    terminal.leave();
}

#[test]
fn a_file_is_named_by_a_few_letters() {
    let (home, server) = (Home::new(), ModelServer::start());
    write(&home, ".gitignore", "hidden\n");
    write(&home, "src/crab_漢字.rs", "");
    write(&home, "hidden/crab_too.rs", "");
    let terminal = levain(&home, &server, &[]).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("read @crab");
    terminal.wait_for("▸ @src/crab_漢字.rs");
    assert!(!terminal.screen_text().contains("crab_too"));
    terminal.send_keys("\tplease\r");
    let call = server.call();
    assert_eq!(call.messages(), [("user".into(), "read @src/crab_漢字.rs please".into())]);
    call.answer("It is empty.");
    terminal.wait_for("It is empty.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn the_queue_is_sent_in_the_order_it_was_put_in() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = levain(&home, &server, &[]).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("first\r");
    let call = server.call();
    call.begin();
    call.text("working");
    terminal.wait_for("working");
    for text in ["one", "two", "three"] {
        terminal.send_keys(text);
        terminal.wait_for(&format!("› {text}"));
        terminal.send_keys(key::ALT_ENTER);
        terminal.wait_for(&format!("follow-up  {text}"));
    }
    terminal.wait_for("3 queued");
    terminal.send_keys("\x1bq");
    terminal.wait_for("queued messages · 3 of 3");
    // The second goes first, the third is withdrawn, and what was the first is taken back and changed.
    terminal.send_keys("j");
    terminal.wait_for("▸ follow-up  two");
    terminal.send_keys("K");
    terminal.send_keys("G");
    terminal.wait_for("▸ follow-up  three");
    terminal.send_keys("d");
    terminal.wait_for("queued messages · 2 of 2");
    terminal.wait_for("▸ follow-up  one");
    terminal.send_keys("e");
    terminal.wait_for("› one");
    terminal.send_keys(" changed");
    terminal.wait_for("› one changed");
    terminal.send_keys(key::ALT_ENTER);
    terminal.wait_for("follow-up  one changed");
    // The screen shows a change at once; the worker, which heard of all before this one, has it when it is in the log.
    let threads = home.project().join(".ai/agent/threads");
    poll("the worker has the queue", || {
        std::fs::read_dir(&threads).unwrap().flatten().any(|thread| {
            let log = std::fs::read_to_string(thread.path().join("transcript.jsonl")).unwrap_or_default();
            log.lines().any(|line| line.contains("prompt_queued") && line.contains("one changed"))
        })
    });
    call.end();
    for text in ["two", "one changed"] {
        let call = server.call();
        assert_eq!(call.messages().last().unwrap().1, text);
        call.answer("Done.");
    }
    terminal.wait_for("Done.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn the_context_of_what_would_be_sent_and_of_what_was() {
    let (home, server) = (Home::new(), ModelServer::start());
    std::fs::write(home.project().join("AGENTS.md"), "Use tabs.\n").unwrap();
    let terminal = levain(&home, &server, &[]).size(140, 40).start();
    terminal.wait_for("test-model");
    terminal.send_keys("what do you see?");
    terminal.wait_for("what do you see?");
    terminal.send_keys("\x10"); // ctrl-p
    terminal.wait_for("what Enter would send");
    for layer in ["levain/Constitution", "AGENTS.md", "ctx_environment", "file-system/read"] {
        terminal.wait_for(layer);
    }
    assert!(server.is_asked().is_none(), "a preview sends nothing");
    // The text of the chosen layer stands beside the list.
    terminal.send_keys("/agents.md");
    terminal.wait_for("Use tabs.");
    terminal.send_keys("\x1b[27u\x1b[27u");
    terminal.wait_gone("what Enter would send");
    terminal.send_keys(key::ENTER);
    server.call().answer("Everything.");
    terminal.wait_for("Everything.");
    terminal.send_keys("\x1bOS"); // F4
    terminal.wait_for("#1 ·");
    terminal.wait_for("levain/Constitution");
    terminal.wait_for("1 of 1");
    terminal.send_keys("\x1b[27u");
    terminal.wait_gone("#1 ·");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn room_is_made_at_a_word_and_the_thread_goes_on_from_the_summary() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = levain(&home, &server, &[]).size(120, 40).start();
    terminal.wait_for("test-model");
    for text in ["first", "second"] {
        terminal.send_keys(text);
        terminal.wait_for(&format!("› {text}"));
        terminal.send_keys("\r");
        server.call().answer(&format!("{text} answer"));
        terminal.wait_for(&format!("{text} answer"));
    }
    terminal.wait_gone("●");
    terminal.send_keys("/compact");
    terminal.send_keys("\r");
    let call = server.call();
    let asked = call.messages().last().unwrap().1.clone();
    assert!(asked.starts_with("<conversation>\n[Person]\nfirst\n\n[Assistant]\nfirst answer"), "{asked}");
    call.answer("They greeted.");
    terminal.wait_for("3 earlier messages summarised");
    terminal.send_keys("third");
    terminal.wait_for("› third");
    terminal.send_keys("\r");
    let call = server.call();
    let said: Vec<String> = call.messages().into_iter().map(|(_, text)| text).collect();
    assert!(told(&call).contains("They greeted."), "{}", told(&call));
    assert_eq!(said.last().unwrap(), "third");
    assert!(said.iter().any(|text| text == "second") && !said.iter().any(|text| text == "first"), "{said:?}");
    call.answer("third answer");
    terminal.wait_for("third answer");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn s16_messages_that_were_held_are_seen_and_released_when_the_thread_is_opened_again() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = levain(&home, &server, &[]).start();
    terminal.wait_for("test-model");
    terminal.send_keys("the first question");
    terminal.wait_for("› the first question");
    terminal.send_keys("\r");
    let call = server.call();
    call.begin();
    call.text("So far");
    terminal.wait_for("So far");
    for text in ["the second question", "the third question"] {
        terminal.send_keys(text);
        terminal.wait_for(&format!("› {text}"));
        terminal.send_keys("\r");
        terminal.wait_for(&format!("◌ next turn  {text}"));
    }
    terminal.send_keys("\x1b[27u");
    terminal.wait_for("stopped; 2 queued messages wait");
    terminal.leave();
    home.wait_until_quiet();
    drop(call);
    let terminal = levain(&home, &server, &["--continue"]).start();
    terminal.wait_for("◌ next turn  the third question");
    terminal.wait_for("2 queued messages wait: enter sends them");
    assert!(server.is_asked().is_none(), "nothing is sent by opening it");
    // One is taken back and changed, which starts the worker; the other is released by Enter.
    terminal.send_keys("/queue\r");
    terminal.wait_for("queued messages · 2 of 2");
    terminal.send_keys("G");
    terminal.send_keys("d");
    terminal.wait_for("queued messages · 1 of 1");
    terminal.send_keys("\x1b[27u");
    terminal.wait_gone("queued messages ·");
    // The worker may still be starting.
    let mut asked = None;
    poll("it is released", || {
        terminal.send_keys("\r");
        std::thread::sleep(std::time::Duration::from_millis(100));
        asked = server.is_asked();
        asked.is_some()
    });
    let call = asked.unwrap();
    let said = told(&call);
    assert!(said.contains("the second question") && !said.contains("the third question"), "{said}");
    call.answer("The second answer.");
    terminal.wait_for("The second answer.");
    terminal.leave();
    home.wait_until_quiet();
}
