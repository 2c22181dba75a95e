//! What it means that a handler fails, at each stage.

use super::{Conversation, answer, calls};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::{CallError, CancelScope, ErrorCategory, PromptMode};
use levain::domain::{Command, Stage, StepOutcome};
use levain::ports::ProviderEvent;
use serde_json::{Value, json};

/// The ways in which a handler can do no part of its job.
const WAYS: [&str; 4] = ["fails", "answers nonsense", "never answers", "may not run"];

fn does(way: &str) -> Reply {
    match way {
        "fails" => Reply::Fails("it broke"),
        "answers nonsense" => Reply::Says(json!("nonsense")),
        "never answers" => Reply::Never,
        _ => Reply::Refuses("not trusted"),
    }
}

fn is_as_told(way: &str, outcome: &StepOutcome) -> bool {
    match way {
        "fails" => *outcome == StepOutcome::Failed { error: "it broke".into() },
        "answers nonsense" => {
            matches!(outcome, StepOutcome::Failed { error } if error.contains("where an object is expected"))
        }
        "never answers" => *outcome == StepOutcome::TimedOut,
        _ => *outcome == StepOutcome::Refused { reason: "not trusted".into() },
    }
}

/// The chain goes on with the value it had, and the step says why.
#[tokio::test(start_paused = true)]
async fn a_handler_of_a_prompt_that_fails_is_passed_over() {
    for stage in [Stage::Input, Stage::BeforeAgentStart] {
        for way in WAYS {
            let last = if stage == Stage::Input {
                json!({"action": "transform", "text": "changed"})
            } else {
                json!({"systemPrompt": "changed"})
            };
            let handlers =
                ScriptedHandlers::default().that("broken", stage, move |_| does(way)).says("last", stage, last);
            let mut thread = Conversation::new(handlers, vec![answer("well")]);
            thread.say("go").await;
            assert_eq!(thread.handlers.order(), ["broken", "last"], "{stage} {way}");
            let value = |id: &str| thread.handlers.told(id);
            assert_eq!(value("broken"), value("last"), "{stage} {way}: the next gets what this one got");
            assert!(is_as_told(way, &thread.steps()[0].outcome), "{stage} {way}: {:?}", thread.steps()[0]);
            let request = &thread.requests()[0];
            assert!(request.system.ends_with("changed") || thread.sent(0) == ["changed"], "{stage} {way}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_a_request_that_fails_is_passed_over_and_told_once() {
    for stage in [Stage::Context, Stage::BeforeProviderRequest] {
        for way in WAYS {
            // Any payload is one, so there is no nonsense but that which costs more.
            let is_payload = stage == Stage::BeforeProviderRequest && way == "answers nonsense";
            let handlers = ScriptedHandlers::default().that("broken", stage, move |_| does(way)).listens("last", stage);
            let mut thread = Conversation::new(handlers, vec![answer("well"), answer("well")]);
            thread.say("go").await;
            thread.say("on").await;
            assert_eq!(thread.handlers.order(), ["broken", "last", "broken", "last"], "{stage} {way}");
            assert_eq!(thread.handlers.told("broken"), thread.handlers.told("last"), "{stage} {way}");
            let requests = thread.bench.disk.requests.lock().unwrap();
            let step = &requests[0].pipeline[0];
            assert!(is_payload || is_as_told(way, &step.outcome), "{stage} {way}: {step:?}");
            assert!(step.outcome.is_failure() || way == "may not run", "{stage} {way}: {step:?}");
            drop(requests);
            let notices = thread.notices();
            assert_eq!(notices.len(), 1, "{stage} {way}: {notices:?}");
            assert!(notices[0].contains("broken"), "{notices:?}");
        }
    }
}

/// A guard that does not answer blocks, and those behind it are not asked.
#[tokio::test(start_paused = true)]
async fn a_guard_that_fails_blocks_whichever_way_it_fails() {
    for way in WAYS {
        let handlers = ScriptedHandlers::default()
            .that("broken", Stage::ToolCall, move |_| does(way))
            .listens("later", Stage::ToolCall);
        let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
        thread.say("go").await;
        assert_eq!((thread.handlers.order(), thread.ran()), (vec!["broken".to_owned()], Vec::<Value>::new()), "{way}");
        let (says, failed) = thread.results().remove(0);
        let expected = match way {
            "fails" => "it broke",
            "answers nonsense" => "where an object is expected",
            "never answers" => "did not answer within 10 s",
            _ => "not trusted",
        };
        assert!(failed && says.contains(expected), "{way}: {says}");
        assert!(is_as_told(way, &thread.steps()[0].outcome), "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_results_that_fails_leaves_the_result_as_it_was() {
    for way in WAYS {
        let handlers = ScriptedHandlers::default()
            .that("broken", Stage::ToolResult, move |_| does(way))
            .listens("last", Stage::ToolResult);
        let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
        thread.say("go").await;
        assert_eq!(thread.handlers.told("broken"), thread.handlers.told("last"), "{way}");
        assert_eq!(thread.results(), [("saw 1".to_owned(), false)], "{way}");
    }
}

/// Half of an answer never counts.
#[tokio::test(start_paused = true)]
async fn an_answer_with_one_wrong_field_changes_nothing() {
    for (stage, wrong) in [
        (Stage::ToolResult, json!({"content": "other", "details": 1, "isError": "no"})),
        (Stage::BeforeAgentStart, json!({"systemPrompt": "other", "message": "no message"})),
        (Stage::BeforeAgentStart, json!({"systemPrompt": 3, "message": {"content": "m"}})),
    ] {
        let handlers = ScriptedHandlers::default().says("wrong", stage, wrong.clone()).listens("last", stage);
        let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
        thread.say("go").await;
        assert_eq!(thread.handlers.told("wrong"), thread.handlers.told("last"), "{wrong}");
        assert_eq!(thread.results(), [("saw 1".to_owned(), false)], "{wrong}");
        assert_eq!(thread.sent(0), ["go"], "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_only_watches_and_fails_is_told_of_and_holds_nothing_up() {
    for way in ["fails", "never answers"] {
        let handlers = ScriptedHandlers::default()
            .that("broken", Stage::AgentStart, move |_| does(way))
            .listens("last", Stage::AgentStart);
        let mut thread = Conversation::new(handlers, vec![answer("well")]);
        thread.say("go").await;
        assert_eq!(thread.recorded(), 1, "{way}");
        let told = thread.notice("broken").await;
        assert!(told.starts_with("pipeline: "), "{way}: {told}");
        assert_eq!(thread.handlers.order(), ["broken", "last"], "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_gives_a_result_that_says_so() {
    let input = json!({"at": 1, "fails": true});
    let mut thread = Conversation::new(ScriptedHandlers::default(), vec![calls(&[("look", input)]), answer("well")]);
    thread.say("go").await;
    assert_eq!(thread.results(), [("saw 1".to_owned(), true)]);
    assert_eq!(thread.recorded(), 2, "the model is told, and goes on");
}

/// pi cannot leave a handler of a prompt by Escape.
#[tokio::test(start_paused = true)]
async fn escape_goes_on_without_the_handler_that_is_waited_for() {
    for stage in [Stage::Input, Stage::BeforeAgentStart, Stage::Context, Stage::BeforeProviderRequest] {
        let handlers = ScriptedHandlers::default().that("slow", stage, |_| Reply::Never).listens("last", stage);
        let mut thread = Conversation::new(handlers, vec![answer("well")]);
        thread.send("go", PromptMode::FollowUp).await.unwrap();
        thread.until(|state| state.handling.as_ref().is_some_and(|handling| handling.handler == "slow")).await;
        thread.bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
        thread.rests().await;
        assert_eq!(thread.handlers.order(), ["slow", "last"], "{stage}");
        assert_eq!(thread.sent(0), ["go"], "{stage}");
    }
}

fn failure(category: ErrorCategory) -> Vec<Result<ProviderEvent, CallError>> {
    vec![crate::support::driven_thread::failure(category)]
}

/// The prompt and its stages are over: only the call is made again, from what is kept.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_tried_again_asks_the_handlers_of_requests_alone() {
    let handlers = ScriptedHandlers::default()
        .listens("typed", Stage::Input)
        .says("begins", Stage::BeforeAgentStart, json!({"systemPrompt": "Mine."}))
        .listens("context", Stage::Context)
        .listens("payload", Stage::BeforeProviderRequest);
    let plays = vec![failure(ErrorCategory::Transient), answer("well")];
    let mut thread = Conversation::new(handlers, plays);
    thread.say("go").await;
    assert_eq!(thread.handlers.order(), ["typed", "begins", "context", "payload", "context", "payload"]);
    assert_eq!((thread.sent(0), thread.sent(1)), (vec!["go".to_owned()], vec!["go".to_owned()]));
    assert_eq!(thread.requests()[1].system, "Be honest.\n\nMine.", "what was made of the prompt holds");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_for_good_ends_the_run_and_the_next_prompt_goes_on() {
    let handlers = ScriptedHandlers::default().listens("end", Stage::AgentEnd).listens("turn", Stage::TurnEnd);
    let plays = vec![failure(ErrorCategory::Permanent), answer("well")];
    let mut thread = Conversation::new(handlers, plays);
    thread.say("go").await;
    thread.handlers.until_asked("end", 1).await;
    assert_eq!(thread.handlers.order(), ["turn", "end"], "a turn that has begun ends first");
    thread.say("on").await;
    assert_eq!(thread.recorded(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_of_an_extension_that_fails_is_told_and_the_thread_goes_on() {
    let handlers = ScriptedHandlers::default().shortcut("f2", Err("it broke")).shortcut("f3", Ok(()));
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.bench.handle.ask(Command::PressShortcut { key: "f2".into() }).await.unwrap();
    assert_eq!(thread.notice("f2").await, "f2 failed: it broke");
    thread.bench.handle.ask(Command::PressShortcut { key: "f3".into() }).await.unwrap();
    thread.say("go").await;
    assert_eq!((thread.sent(0), thread.notices().len()), (vec!["go".to_owned()], 1));
}
