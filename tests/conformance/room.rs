//! Making room in the window: who is asked before it, and what comes of that.

use super::{Conversation, Tools, answer, calls};
use crate::support::driven_thread::failure;
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::{CancelScope, ErrorCategory, PromptMode};
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
    thread.bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
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
    thread.bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
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
    thread.bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
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

/// What gives way, what stays, and by which rules: as pi prepares it. A turn is never split.
#[tokio::test(start_paused = true)]
async fn the_preparation_names_what_stays_and_what_calls_did_with_files() {
    let handlers = ScriptedHandlers::default().knows_entries().listens("h", Stage::SessionBeforeCompact);
    let plays = vec![calls(&[("look", json!({"at": 7}))]), answer("one"), answer("two"), answer("The model's.")];
    let mut thread = Conversation::with(handlers, plays, Tools::default(), Some(Tokens(100_000)));
    thread.say("go").await;
    thread.say("on").await;
    thread.bench.handle.ask(Command::Compact { instructions: Some("only numbers".into()) }).await.unwrap();
    room_made(&mut thread).await;
    let told = &thread.handlers.told("h")[0];
    let preparation = &told["preparation"];
    // Behind `go` come the calls, the answer `one`, `on` and the answer `two`.
    assert_eq!(preparation["firstKeptEntryId"], "e4", "{told}");
    assert_eq!(told["branchEntries"].as_array().unwrap().len(), 4);
    assert_eq!(told["customInstructions"], "only numbers");
    assert_eq!(preparation["fileOps"], json!({"read": ["7"], "written": [], "edited": []}));
    assert_eq!((&preparation["isSplitTurn"], &preparation["turnPrefixMessages"]), (&json!(false), &json!([])));
    let settings = &preparation["settings"];
    assert_eq!((&settings["enabled"], &settings["keepRecentTokens"]), (&json!(true), &json!(0)));
    assert!(settings["reserveTokens"].as_u64().is_some_and(|spare| spare > 0 && spare < 100_000), "{settings}");
}

#[tokio::test(start_paused = true)]
async fn what_a_person_wants_of_a_summary_reaches_who_makes_it() {
    let mut thread = Conversation::with(
        ScriptedHandlers::default(),
        ["one", "two", "Short.", "three", "Again."].map(answer).into(),
        Tools::default(),
        Some(Tokens(100_000)),
    );
    thread.say("go").await;
    thread.say("on").await;
    thread.bench.handle.ask(Command::Compact { instructions: Some("only numbers".into()) }).await.unwrap();
    room_made(&mut thread).await;
    assert!(thread.sent(2)[0].ends_with("The person wants of this summary: only numbers"), "{:?}", thread.sent(2));
    // It was said of that one summary.
    thread.say("more").await;
    thread.bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    room_made(&mut thread).await;
    assert!(!thread.sent(4)[0].contains("only numbers"), "{:?}", thread.sent(4));
}

/// A handler may keep more than would stay, or less, as long as what was said last stays and no call loses its results.
#[tokio::test(start_paused = true)]
async fn a_summary_of_a_handler_says_with_which_entry_what_stays_begins() {
    for (entry, stays) in [("e2", ["two", "more"].as_slice()), ("e1", ["one", "on", "two", "more"].as_slice())] {
        let answer_of = json!({"compaction": {"summary": "so far", "firstKeptEntryId": entry, "details": {"n": 1}}});
        let handlers = ScriptedHandlers::default()
            .knows_entries()
            .says("h", Stage::SessionBeforeCompact, answer_of)
            .listens("told", Stage::SessionCompact);
        let plays = ["one", "two", "three"].map(answer).into();
        let mut thread = Conversation::with(handlers, plays, Tools::default(), Some(Tokens(100_000)));
        thread.say("go").await;
        thread.say("on").await;
        thread.bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
        room_made(&mut thread).await;
        thread.handlers.until_asked("told", 1).await;
        assert_eq!(thread.handlers.told("told")[0]["compactionEntry"]["details"], json!({"n": 1}));
        thread.say("more").await;
        let sent = thread.sent(2);
        assert!(sent[0].contains("so far"), "{sent:?}");
        assert_eq!(&sent[sent.len() - stays.len()..], stays, "{entry}: {sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_with_which_nothing_can_stay_is_told_and_the_model_is_asked() {
    let handlers = ScriptedHandlers::default().knows_entries().says(
        "h",
        Stage::SessionBeforeCompact,
        json!({"compaction": {"summary": "s", "firstKeptEntryId": "elsewhere"}}),
    );
    let (thread, made) = compacted(handlers, vec!["The model's."]).await;
    assert!(told(&made).0.ends_with("The model's."), "{made:?}");
    assert!(thread.notices().iter().any(|text| text.contains("elsewhere")), "{:?}", thread.notices());
}

#[tokio::test(start_paused = true)]
async fn room_that_could_not_be_made_is_told() {
    let handlers = ScriptedHandlers::default()
        .says("stops", Stage::SessionBeforeCompact, json!({"cancel": true}))
        .listens("made", Stage::SessionCompact)
        .listens("failed", Stage::SessionCompactFailed);
    let (thread, _) = compacted(handlers, Vec::new()).await;
    thread.handlers.until_asked("failed", 1).await;
    let told = &thread.handlers.told("failed")[0];
    assert_eq!((&told["reason"], &told["aborted"]), (&json!("the handler stops cancelled it"), &json!(false)));
    assert!(thread.handlers.told("made").is_empty());
    let handlers = ScriptedHandlers::default()
        .that("never", Stage::SessionBeforeCompact, |_| Reply::Never)
        .listens("failed", Stage::SessionCompactFailed);
    let plays = ["one", "two"].map(answer).into();
    let mut thread = Conversation::with(handlers, plays, Tools::default(), Some(Tokens(100_000)));
    thread.say("go").await;
    thread.say("on").await;
    thread.bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    thread.handlers.until_asked("never", 1).await;
    thread.bench.handle.ask(Command::Cancel { scope: CancelScope::Thread }).await.unwrap();
    thread.handlers.until_asked("failed", 1).await;
    assert_eq!(thread.handlers.told("failed")[0]["aborted"], true);
}

/// The window is made smaller once for a request. Where it is too long all the same, that is a failure like others.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_too_long_again_is_told_and_not_tried_again() {
    let too_long = || vec![failure(ErrorCategory::ContextTooLong)];
    // A quarter of the window stays, so the first answer gives way.
    let long = "o".repeat(160);
    let plays = vec![answer(&long), answer("two"), too_long(), answer("The model's."), too_long(), answer("three")];
    let handlers = ScriptedHandlers::default().listens("turn_end", Stage::TurnEnd).listens("end", Stage::AgentEnd);
    let mut thread = Conversation::with(handlers, plays, Tools::default(), Some(Tokens(200)));
    thread.say("go").await;
    thread.say("on").await;
    thread.say("more").await;
    thread.handlers.until_asked("end", 3).await;
    assert_eq!(thread.recorded(), 5, "the request, the summary, and the request once more");
    assert_eq!(thread.handlers.told("turn_end")[2]["message"]["stopReason"], "error");
    let failures = thread
        .log()
        .into_iter()
        .filter(|event| matches!(event, Event::Request(levain::domain::RequestEvent::ErrorClassified { .. })));
    assert_eq!(failures.count(), 2);
    thread.say("again").await;
    assert_eq!(thread.recorded(), 6, "the thread goes on with the next prompt");
}
