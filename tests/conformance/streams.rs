//! What those who watch are told while something arrives, and what messages have beside their words.

use super::{Conversation, Tools, answer, calls};
use crate::support::driven_thread::{Play, end, failure, text};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::{CancelScope, ErrorCategory, PromptMode, StopReason};
use levain::domain::{CallId, Command, Stage, Tokens, Usage};
use levain::ports::ProviderEvent;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot};

const MESSAGES: [Stage; 3] = [Stage::MessageStart, Stage::MessageUpdate, Stage::MessageEnd];

fn watching(stages: &[Stage]) -> ScriptedHandlers {
    stages.iter().fold(ScriptedHandlers::default(), |all, stage| all.listens(stage.name(), *stage))
}

/// The pieces of an answer that were told: what each is, and what it brings.
fn pieces(thread: &Conversation) -> Vec<String> {
    let line = |event: Value| {
        let event = &event["assistantMessageEvent"];
        let brings = ["delta", "content", "toolCall"].iter().find_map(|name| event.get(name));
        format!("{} {} {}", event["contentIndex"], event["type"].as_str().unwrap(), brings.unwrap_or(&Value::Null))
    };
    thread.handlers.told("message_update").into_iter().map(line).collect()
}

/// Lets an answer without an end go on.
fn goes_on(thread: &Conversation) -> oneshot::Sender<Play> {
    let (more, rest) = oneshot::channel();
    *thread.bench.script.rest.lock().unwrap() = Some(rest);
    more
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_told_while_it_arrives_piece_by_piece() {
    let begins: Play = vec![Ok(ProviderEvent::Thinking("hm".into())), text("one ")];
    let mut thread = Conversation::new(watching(&MESSAGES), vec![begins, answer("done")]);
    let more = goes_on(&thread);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("message_update", 5).await;
    let begun = [
        "0 thinking_start null",
        "0 thinking_delta \"hm\"",
        "0 thinking_end \"hm\"",
        "1 text_start null",
        "1 text_delta \"one \"",
    ];
    assert_eq!(pieces(&thread), begun);
    let start = &thread.handlers.told("message_start")[1]["message"];
    assert_eq!((&start["role"], &start["content"], &start["model"]), (&json!("assistant"), &json!([]), &json!("x")));
    let so_far = &thread.handlers.told("message_update")[4]["message"]["content"];
    assert_eq!((&so_far[0]["thinking"], &so_far[1]["text"]), (&json!("hm"), &json!("one ")));
    let call = ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("c0".into()), tool: "look".into() };
    let input = ProviderEvent::ToolInput { index: 0, partial_json: "{\"at\":1}".into() };
    let rest = vec![text("two"), Ok(call), Ok(input), Ok(ProviderEvent::Finished(StopReason::ToolUse))];
    more.send(rest).unwrap();
    thread.rests().await;
    thread.handlers.until_asked("message_end", 4).await;
    let told = pieces(&thread);
    let ended = [
        "1 text_delta \"two\"",
        "1 text_end \"one two\"",
        "2 toolcall_start null",
        "2 toolcall_delta \"{\\\"at\\\":1}\"",
    ];
    assert_eq!(told[5..9], ended);
    assert!(told[9].starts_with("2 toolcall_end") && told[9].contains("\"name\":\"look\""), "{told:?}");
    // Each message begins once and ends once, and pieces come between.
    let order = thread.handlers.order();
    assert_eq!(order[..4], ["message_start", "message_end", "message_start", "message_update"]);
    let of = |name: &str| order.iter().filter(|one| *one == name).count();
    assert_eq!((of("message_start"), of("message_end")), (4, 4));
    let roles: Vec<_> =
        thread.handlers.told("message_start").iter().map(|event| event["message"]["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
}

/// What came meanwhile is told at once, so that nothing piles up behind a slow watcher, and nothing of it is lost.
#[tokio::test(start_paused = true)]
async fn pieces_that_come_faster_than_somebody_answers_are_told_together() {
    let may = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&may);
    let handlers = ScriptedHandlers::default()
        .that("message_update", Stage::MessageUpdate, move |_| Reply::SaysLater(Arc::clone(&waits), Value::Null))
        .listens("message_end", Stage::MessageEnd);
    let mut thread = Conversation::new(handlers, vec![vec![text("0 ")]]);
    let more = goes_on(&thread);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("message_update", 1).await;
    let rest = (1..=200).map(|number| text(&format!("{number} "))).chain([end()]).collect();
    more.send(rest).unwrap();
    thread.rests().await;
    may.add_permits(100);
    let (mut all, mut asked) = (String::new(), 1);
    while !all.ends_with("200 ") {
        asked += 1;
        thread.handlers.until_asked("message_update", asked).await;
        let told = thread.handlers.told("message_update");
        all = told.iter().filter_map(|event| event["assistantMessageEvent"]["delta"].as_str()).collect();
    }
    assert!(asked < 8, "{asked}");
    assert_eq!(all, (0..=200).fold(String::new(), |all, number| all + &format!("{number} ")));
    assert_eq!(thread.handlers.told("message_end")[1]["message"]["content"][0]["text"], all.as_str());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_given_up_ends_for_those_who_were_told_that_it_began() {
    let cut = vec![text("half"), failure(ErrorCategory::Transient)];
    let mut thread = Conversation::new(watching(&MESSAGES), vec![cut, answer("well"), vec![text("never")]]);
    thread.say("go").await;
    thread.handlers.until_asked("message_end", 3).await;
    let ends = thread.handlers.told("message_end");
    assert_eq!(
        (&ends[1]["message"]["stopReason"], &ends[2]["message"]["stopReason"]),
        (&json!("error"), &json!("stop"))
    );
    assert_eq!(ends[1]["message"]["content"][0]["text"], "half");
    thread.send("on", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("message_start", 5).await;
    thread.bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    thread.handlers.until_asked("message_end", 5).await;
    let stopped = &thread.handlers.told("message_end")[4]["message"];
    assert_eq!((&stopped["stopReason"], &stopped["content"][0]["text"]), (&json!("aborted"), &json!("never")));
    assert_eq!(thread.handlers.told("message_start").len(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_prints_is_told_while_it_runs() {
    let stages = [Stage::ToolExecutionStart, Stage::ToolExecutionUpdate, Stage::ToolExecutionEnd, Stage::AgentEnd];
    let may = Arc::new(Semaphore::new(0));
    let tools = Tools { prints: vec!["one\n", "two\n"], may_end: Some(Arc::clone(&may)), ..Tools::default() };
    let plays = vec![calls(&[("look", json!({"at": 1}))]), answer("well")];
    let mut thread = Conversation::with(watching(&stages), plays, tools, None);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("tool_execution_update", 1).await;
    may.add_permits(1);
    thread.rests().await;
    thread.handlers.until_asked("agent_end", 1).await;
    let told = thread.handlers.told("tool_execution_update");
    let last = told.last().unwrap();
    assert_eq!(
        (&last["toolCallId"], &last["toolName"], &last["args"]),
        (&json!("c0"), &json!("look"), &json!({"at": 1}))
    );
    assert_eq!(last["partialResult"]["content"][0]["text"], "one\ntwo\n", "all that it printed so far");
    let order = thread.handlers.order();
    let place = |name: &str| order.iter().rposition(|one| one == name).unwrap();
    assert!(place("tool_execution_start") < place("tool_execution_update"), "{order:?}");
    assert!(place("tool_execution_update") < place("tool_execution_end"), "{order:?}");
}

/// Those that are given to handlers say when they were said, and how an answer came about.
#[tokio::test(start_paused = true)]
async fn messages_have_their_time_and_answers_what_they_took() {
    let stages = [Stage::Context, Stage::MessageEnd, Stage::TurnEnd, Stage::AgentEnd];
    let usage = Usage { input: Tokens(7), output: Tokens(3), ..Usage::default() };
    let mut first = calls(&[("look", json!({"at": 1})), ("look", json!({"at": 2}))]);
    first.insert(0, Ok(ProviderEvent::Usage(usage)));
    let mut thread = Conversation::new(watching(&stages), vec![first, answer("well")]);
    thread.say("go").await;
    thread.handlers.until_asked("agent_end", 1).await;
    let now = thread.bench.clock.load(std::sync::atomic::Ordering::Relaxed);
    let conversation = thread.handlers.told("context")[1]["messages"].clone();
    for place in 0..4 {
        assert_eq!(conversation[place]["timestamp"], now, "{}", conversation[place]);
    }
    let answer = &conversation[1];
    assert_eq!(answer["usage"]["input"], 7);
    assert_eq!((&answer["usage"]["output"], &answer["usage"]["totalTokens"]), (&json!(3), &json!(10)));
    assert_eq!(answer["usage"]["cost"]["total"], json!(0.000_003));
    assert_eq!((&answer["stopReason"], &answer["api"]), (&json!("toolUse"), &json!("anthropic-messages")));
    assert_eq!((&answer["provider"], &answer["model"]), (&json!("script"), &json!("x")));
    assert_eq!(thread.handlers.told("turn_end")[0]["message"], *answer);
    assert_eq!(thread.handlers.told("agent_end")[0]["messages"][1], *answer);
    assert_eq!(thread.handlers.told("message_end")[1]["message"], *answer);
    assert!(conversation[0].get("usage").is_none() && conversation[2].get("usage").is_none());
    // What goes to the model has none of it.
    assert!(!thread.body(1).to_string().contains("timestamp"));
}

/// A message that comes back without its time is still the thread's own.
#[tokio::test(start_paused = true)]
async fn a_message_without_what_stands_beside_its_words_is_the_same() {
    let handlers = ScriptedHandlers::default().that("h", Stage::Context, |event| {
        let bare = |message: &Value| json!({"role": message["role"], "content": message["content"]});
        let messages: Vec<Value> = event["messages"].as_array().unwrap().iter().map(bare).collect();
        Reply::Says(json!({ "messages": messages }))
    });
    let mut thread = Conversation::new(handlers, vec![answer("one"), answer("two")]);
    thread.say("go").await;
    thread.say("on").await;
    assert_eq!(thread.sent(1), ["go", "one", "on"]);
    let records = thread.bench.disk.requests.lock().unwrap();
    let made: Vec<_> =
        records[1].layers.iter().filter(|layer| format!("{:?}", layer.origin).contains("Handler")).collect();
    assert!(made.is_empty(), "{made:?}");
}
