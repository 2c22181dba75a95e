//! `tool_call` and `tool_result`: around each call of a tool.

use super::{Conversation, Tools, answer, calls};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::PromptMode;
use levain::domain::{Stage, StepOutcome};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

async fn with_call(handlers: ScriptedHandlers, input: Value) -> Conversation {
    let mut thread = Conversation::new(handlers, vec![calls(&[("look", input)]), answer("well")]);
    thread.say("go").await;
    thread
}

fn text_of(event: &Value) -> &str {
    event["content"][0]["text"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_first_block_of_a_call_wins_and_later_guards_are_not_asked() {
    let handlers = ScriptedHandlers::default()
        .listens("looks", Stage::ToolCall)
        .says("blocks", Stage::ToolCall, json!({"block": true, "reason": "not today"}))
        .says("later", Stage::ToolCall, json!({"block": true, "reason": "never heard"}));
    let thread = with_call(handlers, json!({"at": 1})).await;
    assert_eq!(thread.handlers.order(), ["looks", "blocks"]);
    assert_eq!(thread.ran(), [] as [Value; 0]);
    assert_eq!(thread.results(), [("not today".to_owned(), true)], "the text of the result is the reason alone");
    assert_eq!(thread.steps().last().unwrap().outcome, StepOutcome::Blocked { reason: "not today".into() });
    assert_eq!(thread.recorded(), 2, "the model is told, and goes on");
}

#[tokio::test(start_paused = true)]
async fn a_block_without_a_reason_has_a_fixed_text() {
    for answer_of in [json!({"block": true}), json!({"block": true, "reason": ""})] {
        let thread = with_call(ScriptedHandlers::default().says("h", Stage::ToolCall, answer_of), json!({})).await;
        assert_eq!(thread.results(), [("Tool execution was blocked".to_owned(), true)]);
    }
    for answer_of in [json!({"block": false, "reason": "no"}), json!({"reason": "no"})] {
        let thread =
            with_call(ScriptedHandlers::default().says("h", Stage::ToolCall, answer_of), json!({"at": 1})).await;
        assert_eq!(thread.results(), [("saw 1".to_owned(), false)], "a reason alone blocks nothing");
    }
}

/// A guard before one that changes arguments is asked again about those that are run: pi asks each once.
#[tokio::test(start_paused = true)]
async fn what_guards_make_of_arguments_is_run_and_seen_by_all_of_them() {
    let handlers = ScriptedHandlers::default()
        .listens("first", Stage::ToolCall)
        .says("changes", Stage::ToolCall, json!({"input": {"at": 2}}))
        .listens("last", Stage::ToolCall)
        .listens("result", Stage::ToolResult);
    let thread = with_call(handlers, json!({"at": 1})).await;
    assert_eq!(thread.handlers.order(), ["first", "changes", "last", "first", "result"]);
    let seen = |id: &str| thread.handlers.told(id).iter().map(|event| event["input"]["at"].clone()).collect::<Vec<_>>();
    assert_eq!((seen("first"), seen("last")), (vec![json!(1), json!(2)], vec![json!(2)]));
    assert_eq!((thread.ran(), seen("result")), (vec![json!({"at": 2})], vec![json!(2)]));
}

#[tokio::test(start_paused = true)]
async fn fields_of_a_result_override_one_by_one_and_the_next_sees_them() {
    let handlers = ScriptedHandlers::default()
        .says("text", Stage::ToolResult, json!({"content": [{"type": "text", "text": "other"}]}))
        .says("details", Stage::ToolResult, json!({"details": {"n": 1}}))
        .listens("sees", Stage::ToolResult);
    let thread = with_call(handlers, json!({"at": 1})).await;
    let told = |id: &str| thread.handlers.told(id).remove(0);
    assert_eq!((text_of(&told("text")), told("text")["isError"].clone()), ("saw 1", json!(false)));
    assert_eq!((text_of(&told("sees")), told("sees")["details"].clone()), ("other", json!({"n": 1})));
    assert_eq!((told("sees")["toolName"].clone(), told("sees")["toolCallId"].clone()), (json!("look"), json!("c0")));
    assert_eq!(thread.results(), [("other".to_owned(), false)]);
}

/// pi drops what handlers make of a failed call, and never takes `isError`: both count here.
#[tokio::test(start_paused = true)]
async fn results_of_failed_calls_are_changed_and_a_failure_can_be_made_and_mended() {
    let says = |value: Value| ScriptedHandlers::default().says("h", Stage::ToolResult, value);
    let fails = json!({"at": 1, "fails": true});
    let thread = with_call(says(json!({"content": "mended", "isError": false})), fails.clone()).await;
    assert_eq!(thread.results(), [("mended".to_owned(), false)]);
    assert_eq!(thread.handlers.told("h")[0]["isError"], true);
    let thread = with_call(says(json!({"content": "softer"})), fails).await;
    assert_eq!(thread.results(), [("softer".to_owned(), true)]);
    let thread = with_call(says(json!({"isError": true})), json!({"at": 1})).await;
    assert_eq!(thread.results(), [("saw 1".to_owned(), true)]);
}

#[tokio::test(start_paused = true)]
async fn only_tools_that_ran_have_results_for_handlers() {
    let handlers = ScriptedHandlers::default()
        .says("blocks", Stage::ToolCall, json!({"block": true}))
        .listens("result", Stage::ToolResult);
    let thread = with_call(handlers, json!({"at": 1})).await;
    assert_eq!(thread.handlers.told("result"), [] as [Value; 0]);
    let handlers = ScriptedHandlers::default().listens("guard", Stage::ToolCall).listens("result", Stage::ToolResult);
    let mut thread = Conversation::new(handlers, vec![calls(&[("nothing", json!({}))]), answer("well")]);
    thread.say("go").await;
    assert_eq!(thread.handlers.told("result"), [] as [Value; 0], "a tool that is not there does not run");
    assert!(thread.results()[0].1);
}

#[tokio::test(start_paused = true)]
async fn guards_of_one_answer_are_asked_in_the_order_of_its_calls() {
    let handlers = ScriptedHandlers::default().listens("guard", Stage::ToolCall);
    let all = [("look", json!({"at": 1})), ("change", json!({"at": 2})), ("look", json!({"at": 3}))];
    let mut thread = Conversation::new(handlers, vec![calls(&all), answer("well")]);
    thread.say("go").await;
    let guarded: Vec<_> = thread.handlers.told("guard").into_iter().map(|event| event["input"]["at"].clone()).collect();
    assert_eq!(guarded, [1, 2, 3]);
    let results = thread.requests()[1].messages.last().unwrap().to_json();
    let place = |text: &str| results.find(text).unwrap();
    assert!(place("saw 1") < place("saw 2") && place("saw 2") < place("saw 3"), "{results}");
}

/// One blocked call holds up none beside it.
#[tokio::test(start_paused = true)]
async fn a_blocked_call_leaves_the_others_of_its_answer_alone() {
    let handlers = ScriptedHandlers::default().that("guard", Stage::ToolCall, |event| {
        Reply::Says(if event["input"]["at"] == 1 { json!({"block": true}) } else { Value::Null })
    });
    let all = [("look", json!({"at": 1})), ("look", json!({"at": 2}))];
    let mut thread = Conversation::new(handlers, vec![calls(&all), answer("well")]);
    thread.say("go").await;
    assert_eq!(thread.ran(), [json!({"at": 2})]);
    assert_eq!(thread.recorded(), 2);
}

/// As later versions of pi do it: earlier ones skipped what had not begun.
#[tokio::test(start_paused = true)]
async fn all_calls_of_an_answer_are_made_before_what_steers_is_delivered() {
    let may_end = Arc::new(Semaphore::new(0));
    let tools = Tools { may_end: Some(Arc::clone(&may_end)), ..Tools::default() };
    let all = [("change", json!({"at": 1})), ("change", json!({"at": 2}))];
    let plays = vec![calls(&all), answer("well")];
    let mut thread = Conversation::with(ScriptedHandlers::default(), plays, tools, None);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.tools.one_began.notified().await;
    thread.send("rather this", PromptMode::Steer).await.unwrap();
    may_end.add_permits(2);
    thread.rests().await;
    assert_eq!(thread.results(), [("saw 1".to_owned(), false), ("saw 2".to_owned(), false)]);
    let sent = thread.sent(1);
    assert_eq!(sent.last().unwrap(), "rather this", "behind the results: {sent:?}");
}
