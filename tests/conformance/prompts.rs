//! `input`, skills and templates, `before_agent_start`: once for each prompt, before a model is called.

use super::{Conversation, answer};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::PromptMode;
use levain::domain::{ContentHash, CustomMessage, Event, ExtensionEntry, PromptEvent, Stage, StepOutcome};
use levain::ports::NotExpanded;
use serde_json::{Value, json};

fn transforms(text: &str) -> Value {
    json!({"action": "transform", "text": text})
}

fn note(text: &str) -> Value {
    json!({"message": {"customType": "note", "content": text, "display": false}})
}

#[tokio::test(start_paused = true)]
async fn transforms_of_a_prompt_chain_and_what_was_typed_is_kept() {
    let handlers = ScriptedHandlers::default()
        .that("one", Stage::Input, |event| Reply::Says(transforms(&format!("{} one", event["text"].as_str().unwrap()))))
        .listens("none", Stage::Input)
        .says("continue", Stage::Input, json!({"action": "continue"}))
        .that("two", Stage::Input, |event| {
            Reply::Says(transforms(&format!("{} two", event["text"].as_str().unwrap())))
        });
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("go").await;
    assert_eq!(thread.handlers.order(), ["one", "none", "continue", "two"], "in the order in which they stand");
    let got: Vec<_> = ["one", "none", "two"].iter().map(|id| thread.handlers.told(id)[0]["text"].clone()).collect();
    assert_eq!(got, ["go", "go one", "go one"]);
    assert_eq!(thread.handlers.told("one")[0]["source"], "interactive");
    assert_eq!(thread.sent(0), ["go one two"]);
    let typed = thread.log().into_iter().find_map(|event| match event {
        Event::Prompt(PromptEvent::PromptPrepared { typed, .. }) => typed,
        _ => None,
    });
    assert_eq!(typed.as_deref(), Some("go"));
}

#[tokio::test(start_paused = true)]
async fn the_first_that_handles_a_prompt_ends_the_chain_and_asks_no_model() {
    let handlers = ScriptedHandlers::default()
        .says("takes", Stage::Input, json!({"action": "handled"}))
        .listens("later", Stage::Input)
        .listens("begins", Stage::BeforeAgentStart)
        .listens("run", Stage::AgentStart);
    let mut thread = Conversation::new(handlers, Vec::new());
    thread.say("go").await;
    assert_eq!(thread.handlers.order(), ["takes"]);
    assert_eq!((thread.recorded(), thread.joined().len()), (0, 0));
    let by = thread.log().into_iter().find_map(|event| match event {
        Event::Prompt(PromptEvent::PromptHandled { by, text, .. }) => Some((by, text)),
        _ => None,
    });
    assert_eq!(by, Some(("takes".to_owned(), "go".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn what_input_makes_is_expanded_and_is_never_a_command() {
    let handlers = ScriptedHandlers::default()
        .that("turns", Stage::Input, |event| {
            Reply::Says(transforms(if event["text"] == "t" { "/fix it" } else { "/status it" }))
        })
        .named("/fix", Ok("Fix all of it."))
        .listens("begins", Stage::BeforeAgentStart)
        .command("status", Ok(()));
    let mut thread = Conversation::new(handlers, vec![answer("well"), answer("well")]);
    thread.say("t").await;
    thread.say("c").await;
    assert_eq!(thread.joined(), ["Fix all of it.", "/status it"]);
    assert_eq!(thread.handlers.ran(), [], "no command was run");
    let prompts: Vec<_> = thread.handlers.told("begins").into_iter().map(|event| event["prompt"].clone()).collect();
    assert_eq!(prompts, ["Fix all of it.", "/status it"], "it gets the text that is sent");
}

#[tokio::test(start_paused = true)]
async fn what_was_expanded_is_not_expanded_again() {
    let handlers = ScriptedHandlers::default().named("/skill:one", Ok("/two now")).named("/two", Ok("never"));
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("/skill:one").await;
    assert_eq!(thread.joined(), ["/two now"]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_name_passes_as_it_was_written() {
    let mut thread = Conversation::new(ScriptedHandlers::default(), vec![answer("well")]);
    thread.say("/nobody knows").await;
    assert_eq!(thread.joined(), ["/nobody knows"]);
}

#[tokio::test(start_paused = true)]
async fn a_skill_that_cannot_be_read_is_told_and_its_prompt_is_sent_as_written() {
    let unread = NotExpanded::AsWritten("SKILL.md: gone".into());
    let handlers = ScriptedHandlers::default().named("/skill:lost", Err(unread));
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("/skill:lost now").await;
    assert_eq!(thread.joined(), ["/skill:lost now"]);
    let steps = thread.steps();
    assert_eq!(steps[0].outcome, StepOutcome::Failed { error: "SKILL.md: gone".into() });
    assert_eq!((steps[0].stage, steps[0].handler.as_str()), (Stage::Skill, "/skill:lost"));
}

#[tokio::test(start_paused = true)]
async fn a_command_is_run_before_any_stage_with_its_words_as_they_were_written() {
    let handlers = ScriptedHandlers::default()
        .command("status", Ok(()))
        .listens("typed", Stage::Input)
        .named("/status", Ok("a template of the same name"));
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    for text in ["/status", "/status  two  words "] {
        thread.say(text).await;
    }
    assert_eq!(
        thread.handlers.ran(),
        [("status".to_owned(), String::new()), ("status".to_owned(), " two  words ".to_owned())]
    );
    assert_eq!((thread.handlers.order().len(), thread.recorded()), (0, 0));
    thread.say("/statuses").await;
    assert_eq!((thread.handlers.order(), thread.recorded()), (vec!["typed".to_owned()], 1));
}

/// Its failure is told; the text was the command's, so it is no prompt.
#[tokio::test(start_paused = true)]
async fn a_command_that_fails_is_told_by_its_name_and_was_handled() {
    let handlers = ScriptedHandlers::default().command("broken", Err("it broke"));
    let mut thread = Conversation::new(handlers, Vec::new());
    thread.send("/broken now", PromptMode::FollowUp).await.unwrap();
    let told = thread.notice("broken").await;
    assert!(told.contains("it broke"), "{told}");
    assert_eq!((thread.joined().len(), thread.recorded()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_that_says_nothing() {
    let handlers = ScriptedHandlers::default().listens("typed", Stage::Input);
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("go").await;
    for empty in ["", "  \n"] {
        assert!(thread.send(empty, PromptMode::FollowUp).await.is_err(), "{empty:?}");
    }
    assert_eq!((thread.handlers.order().len(), thread.recorded()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn system_texts_chain_from_the_base_of_each_prompt_and_the_constitution_stays() {
    let adds = |text: &'static str| {
        move |event: &Value| {
            Reply::Says(json!({"systemPrompt": format!("{}\n\n{text}", event["systemPrompt"].as_str().unwrap())}))
        }
    };
    let handlers = ScriptedHandlers::default().that("one", Stage::BeforeAgentStart, adds("One.")).that(
        "two",
        Stage::BeforeAgentStart,
        adds("Two."),
    );
    let mut thread = Conversation::new(handlers, vec![answer("well"), answer("well")]);
    thread.say("go").await;
    thread.say("on").await;
    let bases: Vec<_> = thread.handlers.told("one").into_iter().map(|event| event["systemPrompt"].clone()).collect();
    assert_eq!(bases, ["Be brief.", "Be brief."], "without the constitution, and each time from the base");
    for request in thread.requests() {
        assert_eq!(request.system, "Be honest.\n\nBe brief.\n\nOne.\n\nTwo.");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_system_text_or_none_is_the_base() {
    for answer_of in [json!({"systemPrompt": ""}), json!({"systemPrompt": null}), json!({}), Value::Null] {
        let handlers = ScriptedHandlers::default().says("h", Stage::BeforeAgentStart, answer_of);
        let mut thread = Conversation::new(handlers, vec![answer("well")]);
        thread.say("go").await;
        assert_eq!(thread.requests()[0].system, "Be honest.\n\nBe brief.");
    }
}

#[tokio::test(start_paused = true)]
async fn a_system_text_of_one_prompt_is_gone_with_the_next() {
    let handlers = ScriptedHandlers::default().that("h", Stage::BeforeAgentStart, |event| {
        Reply::Says(if event["prompt"] == "go" { json!({"systemPrompt": "Pirate."}) } else { Value::Null })
    });
    let mut thread = Conversation::new(handlers, vec![answer("well"), answer("well")]);
    thread.say("go").await;
    thread.say("on").await;
    let systems: Vec<_> = thread.requests().into_iter().map(|request| request.system).collect();
    assert_eq!(systems, ["Be honest.\n\nPirate.", "Be honest.\n\nBe brief."]);
}

#[tokio::test(start_paused = true)]
async fn messages_of_handlers_accumulate_behind_the_prompt_in_their_order() {
    let handlers = ScriptedHandlers::default().says("one", Stage::BeforeAgentStart, note("m1")).says(
        "two",
        Stage::BeforeAgentStart,
        note("m2"),
    );
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("go").await;
    assert_eq!(thread.sent(0), ["go", "m1", "m2"], "what is not displayed is sent, too");
}

/// The bytes are looked at and kept like those of an image that a person attaches; handlers behind get its name.
#[tokio::test(start_paused = true)]
async fn a_handler_adds_images_to_a_prompt() {
    let png = "iVBORw0KGgo=";
    let image = json!({"type": "image", "mimeType": "image/png", "data": png});
    let handlers = ScriptedHandlers::default()
        .says("adds", Stage::Input, json!({"action": "transform", "text": "look", "images": [image]}))
        .listens("next", Stage::Input)
        .listens("begins", Stage::BeforeAgentStart);
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("go").await;
    let hash = ContentHash::of(b"\x89PNG\r\n\x1a\n");
    for id in ["next", "begins"] {
        let images = &thread.handlers.told(id)[0]["images"];
        assert_eq!(*images, json!([{"type": "image", "mimeType": "image/png", "hash": hash.as_str()}]), "{id}");
    }
    let kept = thread.log().into_iter().find_map(|event| match event {
        Event::Prompt(PromptEvent::CognitionIn { images, .. }) => Some(images),
        _ => None,
    });
    assert_eq!(kept.unwrap().iter().map(|image| (&image.hash, image.bytes)).collect::<Vec<_>>(), [(&hash, 8)]);
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_refused_is_told_and_the_prompt_goes_as_it_was() {
    for (data, why) in [("PHN2Zz4=", "it is not a PNG"), ("no base64!", "its data is not in base64")] {
        let image = json!({"type": "image", "mimeType": "image/png", "data": data});
        let answer_of = json!({"action": "transform", "text": "other", "images": [image]});
        let handlers = ScriptedHandlers::default().says("adds", Stage::Input, answer_of);
        let mut thread = Conversation::new(handlers, vec![answer("well")]);
        thread.say("go").await;
        assert_eq!(thread.sent(0), ["go"]);
        let StepOutcome::Failed { error } = thread.steps()[0].outcome.clone() else { panic!("{:?}", thread.steps()) };
        assert!(error.starts_with("its image 1 was not taken in") && error.contains(why), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_says_whether_a_person_a_program_or_an_extension_sent_it() {
    let handlers = ScriptedHandlers::default().listens("typed", Stage::Input);
    let mut thread = Conversation::new(handlers, vec![answer("one"), answer("two"), answer("three")]);
    for client in [None, Some("rpc-1"), Some("extension-1")] {
        thread.send_as("go", PromptMode::FollowUp, client.map(str::to_owned)).await.unwrap();
        thread.rests().await;
    }
    let sources: Vec<_> = thread.handlers.told("typed").iter().map(|event| event["source"].clone()).collect();
    assert_eq!(sources, ["interactive", "rpc", "extension"]);
}

/// Nothing is made of it, so whoever wrote it has it still.
#[tokio::test(start_paused = true)]
async fn a_prompt_that_nobody_could_answer_is_refused_before_anything_is_made_of_it() {
    let handlers = ScriptedHandlers::default().listens("typed", Stage::Input).command("status", Ok(()));
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    *thread.bench.script.keyless.lock().unwrap() = Some("no key for script");
    let refused = thread.send("go", PromptMode::FollowUp).await;
    assert_eq!(refused, Err("no key for script".to_owned()));
    thread.send("/status", PromptMode::FollowUp).await.unwrap();
    assert_eq!((thread.handlers.told("typed").len(), thread.handlers.ran().len()), (0, 1), "commands need no model");
    let queued = |event: &Event| matches!(event, Event::Prompt(PromptEvent::PromptQueued { text, .. }) if text == "go");
    assert!(!thread.log().iter().any(queued));
    *thread.bench.script.keyless.lock().unwrap() = None;
    thread.say("go").await;
    assert_eq!(thread.sent(0), ["go"]);
}

/// Before it what extensions left in the conversation, behind it what is for the next prompt, then what handlers add.
#[tokio::test(start_paused = true)]
async fn messages_for_the_next_prompt_stand_between_it_and_those_of_handlers() {
    let handlers = ScriptedHandlers::default().says("adds", Stage::BeforeAgentStart, note("of a handler"));
    let mut thread = Conversation::new(handlers, vec![answer("one"), answer("two")]);
    thread.say("go").await;
    let access = thread.bench.handle.access();
    for (text, behind) in [("for the next", true), ("left", false), ("also for the next", true)] {
        let (custom_type, text, details) = ("note".to_owned(), text.to_owned(), Value::Null);
        let message = CustomMessage { custom_type, text, display: true, details, by: "e".to_owned() };
        access.append(ExtensionEntry::Message { message, behind, turn: None }).await;
    }
    thread.say("on").await;
    assert_eq!(
        thread.sent(1)[3..],
        ["left", "on", "for the next", "also for the next", "of a handler"].map(str::to_owned)
    );
}
