//! `message_end`: an answer that is whole, before it is kept.

use super::{Conversation, answer, calls};
use crate::support::driven_thread::{Heard, Play, end, text};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::command::{Breakpoint, Resume};
use levain::domain::event::{CancelScope, PromptMode, StopReason};
use levain::domain::{Command, Event, RequestEvent, Stage, StepOutcome};
use levain::ports::ProviderEvent;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// One that makes something of the text of answers, and answers nothing to other messages.
fn says(id: &str, handlers: ScriptedHandlers, text: &'static str) -> ScriptedHandlers {
    handlers.that(id, Stage::MessageEnd, move |event| {
        let mut message = event["message"].clone();
        if message["role"] != "assistant" {
            return Reply::Says(Value::Null);
        }
        for block in message["content"].as_array_mut().unwrap().iter_mut().filter(|block| block["type"] == "text") {
            block["text"] = format!("{}{text}", block["text"].as_str().unwrap()).into();
        }
        Reply::Says(json!({ "message": message }))
    })
}

/// The answers in the log: their text, their thinking, how each ended.
fn answers(thread: &Conversation) -> Vec<(String, String, StopReason)> {
    let answer = |event| match event {
        Event::Request(RequestEvent::CognitionOut { text, message, stop, .. }) => {
            assert_eq!(text, message.text());
            Some((text, message.thinking(), stop))
        }
        _ => None,
    };
    thread.log().into_iter().filter_map(answer).collect()
}

fn of_answers(thread: &Conversation, id: &str) -> Vec<String> {
    let told = thread.handlers.told(id).into_iter().map(|event| event["message"].clone());
    let answers = told.filter(|message| message["role"] == "assistant");
    answers.map(|message| message["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_handlers_make_of_an_answer_is_kept_and_sent_with_the_next_request() {
    let handlers = says("first", ScriptedHandlers::default().listens("starts", Stage::MessageStart), " (one)");
    let handlers = says("second", handlers, " (two)").listens("turn", Stage::TurnEnd).listens("end", Stage::AgentEnd);
    let mut thread = Conversation::new(handlers, vec![answer("well"), answer("done")]);
    thread.say("go").await;
    thread.say("on").await;
    thread.handlers.until_asked("end", 2).await;
    assert_eq!(answers(&thread)[0].0, "well (one) (two)");
    assert_eq!(thread.sent(1), ["go", "well (one) (two)", "on"]);
    assert_eq!(of_answers(&thread, "second"), ["well (one)", "done (one)"], "each gets what the one before it made");
    assert_eq!(thread.handlers.told("turn")[0]["message"]["content"][0]["text"], "well (one) (two)");
    // Each message is told once; whoever watches has heard of its beginning before.
    assert_eq!(thread.handlers.told("first").len(), 4);
    let order = thread.handlers.order();
    assert_eq!(order[..6], ["starts", "first", "second", "starts", "first", "second"]);
    let outcomes: Vec<_> = thread.steps().into_iter().map(|step| (step.handler, step.outcome)).collect();
    let changed = |id: &str| (id.to_owned(), StepOutcome::Changed);
    assert_eq!(outcomes, [changed("first"), changed("second"), changed("first"), changed("second")]);
}

#[tokio::test(start_paused = true)]
async fn handlers_of_an_answer_leave_its_calls_alone() {
    for content in [
        json!([{"type": "text", "text": "no calls"}]),
        json!([{"type": "toolCall", "id": "c0", "name": "look", "arguments": {"at": 2}}]),
        json!([{"type": "toolCall", "id": "c9", "name": "look", "arguments": {"at": 1}}]),
        json!([{"type": "toolCall", "id": "c0", "name": "look", "arguments": {"at": 1}}, {"type": "image", "hash": "x"}]),
        json!([]),
        json!(7),
    ] {
        let wrong = json!({"message": {"role": "assistant", "content": content}});
        let handlers = ScriptedHandlers::default().says("wrong", Stage::MessageEnd, wrong);
        let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
        thread.say("go").await;
        assert_eq!((thread.ran(), thread.results()), (vec![json!({"at": 1})], vec![("saw 1".to_owned(), false)]));
        assert!(matches!(thread.steps()[0].outcome, StepOutcome::Failed { .. }), "{content}");
    }
    // Words beside a call can be others, and what it calls the tool does not count.
    let kept = json!([{"type": "text", "text": "let me see"},
        {"type": "toolCall", "id": "c0", "name": "Look", "arguments": {"at": 1.0}}]);
    let says = json!({"message": {"role": "assistant", "content": kept}});
    let handlers = ScriptedHandlers::default().that("says", Stage::MessageEnd, move |event| {
        let calls =
            event["message"]["content"].as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "toolCall"));
        Reply::Says(if calls { says.clone() } else { Value::Null })
    });
    let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
    thread.say("go").await;
    assert_eq!((answers(&thread)[0].0.as_str(), thread.ran()), ("let me see", vec![json!({"at": 1})]));
    assert_eq!(thread.results(), [("saw 1".to_owned(), false)]);
}

/// The signature of what was thought is its maker's, who refuses other words with it.
#[tokio::test(start_paused = true)]
async fn what_was_thought_loses_its_signature_where_a_handler_changes_it() {
    let thoughtful = || {
        let thought = [ProviderEvent::Thinking("hm".into()), ProviderEvent::ThinkingSignature("signed".into())];
        thought.into_iter().map(Ok).chain([text("well"), end()]).collect::<Play>()
    };
    for (now, kept) in [("hm", Some("signed")), ("ha", None)] {
        let handlers = ScriptedHandlers::default().that("thinks", Stage::MessageEnd, move |event| {
            let mut message = event["message"].clone();
            if message["content"][0]["type"] == "thinking" {
                message["content"][0]["thinking"] = now.into();
                message["content"][1]["text"] = "other".into();
            }
            Reply::Says(json!({ "message": message }))
        });
        let mut thread = Conversation::new(handlers, vec![thoughtful(), answer("done")]);
        thread.say("go").await;
        thread.say("on").await;
        assert_eq!(answers(&thread)[0], ("other".to_owned(), now.to_owned(), StopReason::EndTurn));
        let sent = serde_json::to_value(&thread.requests()[1].messages[1]).unwrap().to_string();
        assert_eq!(sent.contains("signed"), kept.is_some(), "{sent}");
        let thought =
            |event: &Event| matches!(event, Event::Request(RequestEvent::CognitionReasoning { text }) if text == now);
        assert!(thread.log().iter().any(thought));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_handlers_are_not_waited_for_is_kept_as_it_came() {
    let handlers = ScriptedHandlers::default().that("slow", Stage::MessageEnd, |event| {
        let waits = Arc::new(Semaphore::new(0));
        let is_answer = event["message"]["role"] == "assistant";
        if is_answer { Reply::SaysLater(waits, Value::Null) } else { Reply::Says(Value::Null) }
    });
    let mut thread = Conversation::new(handlers, vec![answer("well"), answer("done")]);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("slow", 2).await;
    thread.bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    thread.rests().await;
    // The first stop of a person skips the handler that is waited for.
    let skipped = matches!(thread.steps().first().map(|step| &step.outcome), Some(StepOutcome::Skipped));
    assert_eq!((skipped, answers(&thread)[0].0.as_str()), (true, "well"));
    thread.send("on", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("slow", 4).await;
    thread.bench.handle.ask(Command::Cancel { scope: CancelScope::Thread }).await.unwrap();
    let is_kept =
        |heard: &Heard| matches!(heard, Heard::Event { event: Event::Request(RequestEvent::CognitionOut { .. }), .. });
    thread.bench.until(is_kept).await;
    assert_eq!(answers(&thread)[1], ("done".to_owned(), String::new(), StopReason::Cancelled));
    assert_eq!(thread.handlers.told("slow").len(), 4, "it is told of no message twice");
}

#[tokio::test(start_paused = true)]
async fn a_thread_stands_still_before_a_handler_of_answers_and_nowhere_else() {
    let handlers = ScriptedHandlers::default().listens("end", Stage::MessageEnd);
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    let breakpoints = vec![Breakpoint { stage: Stage::MessageEnd, handler: None, contains: None }];
    thread.bench.handle.ask(Command::SetBreakpoints { breakpoints }).await.unwrap();
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.until(|state| state.handling.as_ref().is_some_and(|handling| handling.paused.is_some())).await;
    assert_eq!(thread.handlers.told("end").len(), 1, "of the prompt it was told");
    let value = Some(json!({"message": {"role": "assistant", "content": [{"type": "text", "text": "mine"}]}}));
    thread.bench.handle.ask(Command::Resume { how: Resume::Continue { value } }).await.unwrap();
    thread.rests().await;
    assert_eq!(answers(&thread)[0].0, "mine");
    assert!(thread.steps()[0].edited);
}

/// What was called in an answer that a person gave up does not run, whatever is recorded of it first.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_given_up_at_a_breakpoint_calls_nothing() {
    let thinks = || {
        let mut play = vec![Ok(ProviderEvent::Thinking("hm".into())), text("I look.")];
        play.extend(calls(&[("look", json!({"at": 1}))]));
        play
    };
    for second in [false, true] {
        let handlers =
            ScriptedHandlers::default().listens("first", Stage::MessageEnd).listens("last", Stage::MessageEnd);
        let mut thread = Conversation::new(handlers, vec![thinks(), answer("done")]);
        let handler = second.then(|| "last".to_owned());
        let breakpoints = vec![Breakpoint { stage: Stage::MessageEnd, handler, contains: None }];
        thread.bench.handle.ask(Command::SetBreakpoints { breakpoints }).await.unwrap();
        thread.send("go", PromptMode::FollowUp).await.unwrap();
        thread.until(|state| state.handling.as_ref().is_some_and(|handling| handling.paused.is_some())).await;
        thread.bench.handle.ask(Command::Resume { how: Resume::Abort }).await.unwrap();
        thread.rests().await;
        assert_eq!((thread.ran(), thread.recorded()), (Vec::<Value>::new(), 1), "{second}");
        assert_eq!(answers(&thread), [("I look.".to_owned(), "hm".to_owned(), StopReason::Cancelled)]);
    }
}

/// Where nobody handles answers nothing is recorded but the answer.
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_handles_is_recorded_alone() {
    let mut thread = Conversation::new(ScriptedHandlers::default(), vec![answer("well")]);
    thread.say("go").await;
    assert_eq!((answers(&thread).len(), thread.steps().len()), (1, 0));
}
