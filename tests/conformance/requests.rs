//! `context`, `before_provider_headers` and `before_provider_request`: before each call of a model, for that call alone.

use super::{Conversation, answer, calls};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::{Block, Event, PromptEvent, Stage};
use serde_json::{Value, json};

/// An answer at `context` that adds a message to those it got.
fn adds(text: &'static str) -> impl Fn(&Value) -> Reply + Send + Sync + 'static {
    move |event| {
        let mut messages = event["messages"].as_array().unwrap().clone();
        messages.push(json!({"role": "user", "content": text}));
        Reply::Says(json!({ "messages": messages }))
    }
}

#[tokio::test(start_paused = true)]
async fn conversations_chain_and_each_call_begins_from_what_is_kept() {
    let handlers = ScriptedHandlers::default()
        .that("one", Stage::Context, adds("m1"))
        .says("none", Stage::Context, json!({}))
        .that("two", Stage::Context, adds("m2"));
    let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
    thread.say("go").await;
    assert_eq!(thread.handlers.order(), ["one", "none", "two", "one", "none", "two"], "before each call");
    let got = |id: &str, call: usize| thread.handlers.told(id)[call]["messages"].as_array().unwrap().len();
    assert_eq!((got("one", 0), got("none", 0), got("two", 0)), (1, 2, 2));
    assert_eq!(got("one", 1), 3, "the prompt, the call and its result: nothing that handlers added before");
    assert_eq!(thread.sent(0), ["go", "m1", "m2"]);
    assert!(!thread.sent(1)[..3].iter().any(|text| text == "m1"), "{:?}", thread.sent(1));
    let kept = thread.log().into_iter().filter(|event| matches!(event, Event::Prompt(PromptEvent::CognitionIn { .. })));
    assert_eq!(kept.count(), 1, "the log has none of it");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_at_context_has_no_system_text_and_the_roles_of_pi() {
    let handlers = ScriptedHandlers::default().listens("h", Stage::Context);
    let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
    thread.say("go").await;
    let told = thread.handlers.told("h");
    assert_eq!(told[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["messages", "type"]);
    let messages = told[1]["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult"]);
    assert_eq!(messages[2]["toolName"], "look");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_without_its_prompt_is_sent_as_a_handler_left_it() {
    let handlers = ScriptedHandlers::default().says(
        "h",
        Stage::Context,
        json!({"messages": [{"role": "user", "content": "only this"}]}),
    );
    let mut thread = Conversation::new(handlers, vec![answer("well"), answer("well")]);
    thread.say("go").await;
    thread.say("on").await;
    assert_eq!((thread.sent(0), thread.sent(1)), (vec!["only this".to_owned()], vec!["only this".to_owned()]));
    assert_eq!(thread.joined(), ["go", "on"]);
}

#[tokio::test(start_paused = true)]
async fn payloads_chain_and_what_comes_out_is_sent() {
    let sets = |name: &'static str| {
        move |event: &Value| {
            let mut payload = event["payload"].clone();
            payload[name] = json!(0.5);
            Reply::Says(payload)
        }
    };
    let handlers = ScriptedHandlers::default()
        .that("one", Stage::BeforeProviderRequest, sets("temperature"))
        .listens("none", Stage::BeforeProviderRequest)
        .that("two", Stage::BeforeProviderRequest, sets("top_p"));
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("go").await;
    assert_eq!(thread.handlers.order(), ["one", "none", "two"]);
    assert_eq!(thread.handlers.told("two")[0]["payload"]["temperature"], 0.5);
    let sent = thread.body(0);
    assert_eq!((&sent["temperature"], &sent["top_p"]), (&json!(0.5), &json!(0.5)));
}

/// pi takes any payload; here it has to stay within what the request was paid for.
#[tokio::test(start_paused = true)]
async fn a_payload_that_costs_more_or_loses_the_constitution_is_not_taken() {
    let spoils: [fn(&mut Value); 3] = [
        |payload| payload["model"] = json!("dear"),
        |payload| payload["max_tokens"] = json!(999_999),
        |payload| payload["system"] = json!("anything else"),
    ];
    for spoil in spoils {
        let handlers = ScriptedHandlers::default().that("h", Stage::BeforeProviderRequest, move |event| {
            let mut payload = event["payload"].clone();
            spoil(&mut payload);
            Reply::Says(payload)
        });
        let mut thread = Conversation::new(handlers, vec![answer("well")]);
        thread.say("go").await;
        let sent = thread.body(0);
        assert_eq!(sent, thread.handlers.told("h")[0]["payload"], "the request is sent without the change");
    }
}

#[tokio::test(start_paused = true)]
async fn all_stages_of_a_request_are_asked_for_each_call_behind_the_prompt_and_before_the_answer() {
    let handlers = ScriptedHandlers::default()
        .listens("payload", Stage::BeforeProviderRequest)
        .listens("headers", Stage::BeforeProviderHeaders)
        .listens("context", Stage::Context)
        .listens("begins", Stage::BeforeAgentStart)
        .listens("typed", Stage::Input);
    let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
    thread.say("go").await;
    assert_eq!(
        thread.handlers.order(),
        ["typed", "begins", "context", "headers", "payload", "context", "headers", "payload"]
    );
    let results = |block: &Block| matches!(block, Block::ToolResult { .. });
    assert!(thread.requests()[1].messages.last().unwrap().blocks.iter().any(results));
}
