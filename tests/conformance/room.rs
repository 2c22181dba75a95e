//! Making room in the window: who is asked before it, and what comes of that.

use super::{Conversation, Tools, answer};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::PromptMode;
use levain::domain::{Command, ContextEvent, Event, Stage, Tokens};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

fn summary(text: &str) -> Value {
    json!({"compaction": {"summary": text, "firstKeptEntryId": "1", "tokensBefore": 3}})
}

/// A thread with two answers, of which a person asks for room.
async fn compacted(handlers: ScriptedHandlers, more: Vec<&str>) -> (Conversation, ContextEvent) {
    let plays = ["one", "two"].into_iter().chain(more).map(answer).collect();
    let mut thread = Conversation::with(handlers, plays, Tools::default(), Some(Tokens(100_000)));
    thread.say("go").await;
    thread.say("on").await;
    thread.bench.handle.ask(Command::Compact).await.unwrap();
    let made = room_made(&mut thread).await;
    (thread, made)
}

async fn room_made(thread: &mut Conversation) -> ContextEvent {
    use crate::support::driven_thread::Heard;
    let is_one = |heard: &Heard| {
        matches!(heard, Heard::Event { event: Event::Context(ContextEvent::ContextCompacted { .. }), .. })
    };
    // Nothing was sent since the thread rested.
    let events = thread.bench.until(is_one).await;
    match events.into_iter().last() {
        Some((_, Event::Context(made))) => made,
        other => panic!("no room was made: {other:?}"),
    }
}

fn told(made: &ContextEvent) -> (&str, usize, Option<&str>) {
    let ContextEvent::ContextCompacted { summary, summarised, reason, .. } = made else { panic!("{made:?}") };
    (summary, *summarised, reason.as_deref())
}

#[tokio::test(start_paused = true)]
async fn the_last_summary_of_handlers_counts_and_no_model_is_asked_for_one() {
    let handlers = ScriptedHandlers::default()
        .says("one", Stage::SessionBeforeCompact, summary("first"))
        .says("two", Stage::SessionBeforeCompact, summary("second"))
        .listens("none", Stage::SessionBeforeCompact)
        .listens("told", Stage::SessionCompact);
    let (thread, made) = compacted(handlers, Vec::new()).await;
    let (summary, summarised, reason) = told(&made);
    assert!(summary.ends_with("second") && !summary.contains("first"), "{summary}");
    assert_eq!((summarised > 0, reason, thread.recorded()), (true, None, 2));
    thread.handlers.until_asked("told", 1).await;
    assert_eq!(thread.handlers.order(), ["one", "two", "none", "told"]);
    let event = &thread.handlers.told("told")[0];
    assert_eq!(event["fromExtension"], true);
    assert!(event["compactionEntry"]["summary"].as_str().unwrap().ends_with("second"), "{event}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_summary_takes_the_one_before_it_away() {
    let handlers = ScriptedHandlers::default()
        .says("one", Stage::SessionBeforeCompact, summary("first"))
        .says("two", Stage::SessionBeforeCompact, json!({}))
        .listens("told", Stage::SessionCompact);
    let (thread, made) = compacted(handlers, vec!["The model's."]).await;
    assert!(told(&made).0.ends_with("The model's."), "{made:?}");
    assert_eq!(thread.recorded(), 3);
    thread.handlers.until_asked("told", 1).await;
    assert_eq!(thread.handlers.told("told")[0]["fromExtension"], false);
}

#[tokio::test(start_paused = true)]
async fn the_first_that_cancels_keeps_the_messages_and_later_ones_are_not_asked() {
    let handlers = ScriptedHandlers::default()
        .says("one", Stage::SessionBeforeCompact, summary("first"))
        .says("stops", Stage::SessionBeforeCompact, json!({"cancel": true}))
        .says("later", Stage::SessionBeforeCompact, summary("never"));
    let (mut thread, made) = compacted(handlers, vec!["three"]).await;
    assert_eq!(thread.handlers.order(), ["one", "stops"]);
    assert_eq!((told(&made).1, told(&made).2), (0, Some("the handler stops cancelled it")));
    thread.say("more").await;
    assert_eq!(thread.sent(2), ["go", "one", "on", "two", "more"], "nothing gave way");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_before_room_is_made_leaves_it_to_the_model() {
    let handlers = ScriptedHandlers::default()
        .that("broken", Stage::SessionBeforeCompact, |_| Reply::Fails("it broke"))
        .says("empty", Stage::SessionBeforeCompact, json!({"compaction": {"summary": " "}}))
        .listens("last", Stage::SessionBeforeCompact);
    let (thread, made) = compacted(handlers, vec!["The model's."]).await;
    assert!(told(&made).0.ends_with("The model's."), "{made:?}");
    assert_eq!(thread.handlers.order(), ["broken", "empty", "last"]);
}

#[tokio::test(start_paused = true)]
async fn who_is_asked_before_room_is_made_gets_the_messages_that_would_give_way() {
    let handlers = ScriptedHandlers::default().says("h", Stage::SessionBeforeCompact, summary("so far"));
    let (mut thread, _) = compacted(handlers, vec!["three"]).await;
    let preparation = thread.handlers.told("h")[0]["preparation"].clone();
    let roles: Vec<_> =
        preparation["messagesToSummarize"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles.first(), Some(&json!("user")));
    assert!(preparation["tokensBefore"].as_u64().unwrap() > 0 && preparation["previousSummary"].is_null());
    thread.say("more").await;
    thread.bench.handle.ask(Command::Compact).await.unwrap();
    room_made(&mut thread).await;
    let earlier = thread.handlers.told("h")[1]["preparation"]["previousSummary"].clone();
    assert!(earlier.as_str().unwrap().ends_with("so far"), "{earlier}");
}

/// pi keeps them in a list of its screen, which was lost in several ways.
#[tokio::test(start_paused = true)]
async fn what_is_sent_while_room_is_made_waits_in_the_queue_and_goes_through_its_stages() {
    let may = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&may);
    let handlers = ScriptedHandlers::default()
        .that("slow", Stage::SessionBeforeCompact, move |_| Reply::SaysLater(Arc::clone(&waits), summary("so far")))
        .listens("typed", Stage::Input)
        .command("status", Ok(()));
    let plays = ["one", "two", "three", "four"].into_iter().map(answer).collect();
    let mut thread = Conversation::with(handlers, plays, Tools::default(), Some(Tokens(100_000)));
    thread.say("go").await;
    thread.say("on").await;
    thread.bench.handle.ask(Command::Compact).await.unwrap();
    thread.handlers.until_asked("slow", 1).await;
    thread.send("first", PromptMode::Steer).await.unwrap();
    thread.send("second", PromptMode::FollowUp).await.unwrap();
    thread.send("/status", PromptMode::Steer).await.unwrap();
    assert_eq!(thread.handlers.ran().len(), 1, "a command waits for nothing");
    assert_eq!(thread.handlers.told("typed").len(), 2);
    may.add_permits(1);
    thread.rests().await;
    assert_eq!(thread.joined(), ["go", "on", "first", "second"]);
    assert_eq!(thread.handlers.told("typed").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_summary_is_not_shown_to_handlers_of_requests() {
    let handlers =
        ScriptedHandlers::default().listens("context", Stage::Context).listens("payload", Stage::BeforeProviderRequest);
    let (thread, made) = compacted(handlers, vec!["The model's."]).await;
    assert!(told(&made).0.ends_with("The model's."), "{made:?}");
    assert_eq!(
        (thread.recorded(), thread.handlers.order()),
        (3, vec!["context", "payload", "context", "payload"].into_iter().map(str::to_owned).collect())
    );
}
