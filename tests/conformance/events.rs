//! What those who only watch are told of, in which order, and with which fields.

use super::{Conversation, Tools, answer, calls};
use crate::support::driven_thread::failure;
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::{CancelScope, ErrorCategory, PromptMode};
use levain::domain::{Command, Event, ModelRef, PromptEvent, Stage, ThinkingLevel};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

const WATCHED: [Stage; 9] = [
    Stage::SessionStart,
    Stage::AgentStart,
    Stage::TurnStart,
    Stage::MessageEnd,
    Stage::ToolExecutionStart,
    Stage::ToolExecutionEnd,
    Stage::TurnEnd,
    Stage::AgentEnd,
    Stage::SessionShutdown,
];

/// One that listens at each of these stages, with the name of the stage.
fn watching(stages: &[Stage]) -> ScriptedHandlers {
    stages.iter().fold(ScriptedHandlers::default(), |all, stage| all.listens(stage.name(), *stage))
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_in_the_order_in_which_it_happens() {
    let plays = vec![calls(&[("look", json!({"at": 1}))]), answer("well")];
    let mut thread = Conversation::new(watching(&WATCHED), plays);
    thread.say("go").await;
    thread.bench.handle.ask(Command::Shutdown).await.unwrap();
    thread.handlers.until_asked("session_shutdown", 1).await;
    assert_eq!(
        thread.handlers.order(),
        [
            "session_start",
            "agent_start",
            "turn_start",
            "message_end",
            "message_end",
            "tool_execution_start",
            "tool_execution_end",
            "message_end",
            "turn_end",
            "turn_start",
            "message_end",
            "turn_end",
            "agent_end",
            "session_shutdown",
        ]
    );
}

/// A prompt, with the messages of handlers behind it, each answer, and each result.
#[tokio::test(start_paused = true)]
async fn every_message_of_a_run_is_told_once_and_its_end_has_them_all() {
    let handlers = watching(&[Stage::MessageEnd, Stage::AgentEnd]).says(
        "adds",
        Stage::BeforeAgentStart,
        json!({"message": {"customType": "note", "content": "m"}}),
    );
    let plays = vec![answer("one"), calls(&[("look", json!({"at": 1})), ("look", json!({"at": 2}))]), answer("two")];
    let mut thread = Conversation::new(handlers, plays);
    thread.say("go").await;
    thread.say("on").await;
    thread.handlers.until_asked("agent_end", 2).await;
    let roles = |messages: &[Value]| messages.iter().map(|message| message["role"].clone()).collect::<Vec<_>>();
    let told: Vec<_> = thread.handlers.told("message_end").into_iter().map(|event| event["message"].clone()).collect();
    let first = ["user", "custom", "assistant"];
    let second = ["user", "custom", "assistant", "toolResult", "toolResult", "assistant"];
    assert_eq!(roles(&told), [&first[..], &second[..]].concat());
    assert_eq!((&told[6]["toolName"], &told[6]["toolCallId"]), (&json!("look"), &json!("c0")));
    let ends = thread.handlers.told("agent_end");
    assert_eq!(ends[0]["messages"].as_array().unwrap(), &told[..3], "those of the run alone");
    assert_eq!(ends[1]["messages"].as_array().unwrap(), &told[3..]);
}

/// What follows and what steers belongs to the run that it was sent in.
#[tokio::test(start_paused = true)]
async fn a_run_has_all_prompts_that_were_delivered_in_it() {
    let may = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&may);
    let handlers =
        watching(&[Stage::AgentStart, Stage::AgentEnd, Stage::TurnStart])
            .that("slow", Stage::Context, move |_| Reply::SaysLater(Arc::clone(&waits), Value::Null));
    let mut thread = Conversation::new(handlers, vec![answer("one"), answer("two"), answer("three")]);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("slow", 1).await;
    thread.send("on", PromptMode::FollowUp).await.unwrap();
    may.add_permits(3);
    thread.rests().await;
    thread.handlers.until_asked("agent_end", 1).await;
    thread.say("last").await;
    thread.handlers.until_asked("agent_end", 2).await;
    assert_eq!(thread.handlers.told("agent_start").len(), 2);
    let said: Vec<_> = thread.handlers.told("agent_end").iter().map(|event| event["messages"].to_string()).collect();
    assert!(said[0].contains("go") && said[0].contains("on") && !said[0].contains("last"), "{said:?}");
    assert!(said[1].contains("last") && !said[1].contains("two"), "{said:?}");
    let turns: Vec<_> =
        thread.handlers.told("turn_start").into_iter().map(|event| event["turnIndex"].clone()).collect();
    assert_eq!(turns, [0, 1, 0], "turns are counted anew in each run");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_turn_has_its_answer_and_its_results() {
    let plays = vec![calls(&[("look", json!({"at": 1}))]), answer("well")];
    let mut thread = Conversation::new(watching(&[Stage::TurnEnd, Stage::AgentEnd]), plays);
    thread.say("go").await;
    thread.handlers.until_asked("agent_end", 1).await;
    let ends = thread.handlers.told("turn_end");
    assert_eq!((&ends[0]["turnIndex"], &ends[1]["turnIndex"]), (&json!(0), &json!(1)));
    assert_eq!(ends[0]["message"]["content"][0]["type"], "toolCall", "{}", ends[0]);
    let result = &ends[0]["toolResults"][0];
    assert_eq!((&result["toolName"], &result["content"][0]["text"]), (&json!("look"), &json!("saw 1")));
    assert_eq!((&ends[1]["message"]["content"][0]["text"], &ends[1]["toolResults"]), (&json!("well"), &json!([])));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_told_with_its_tool_when_it_begins_and_when_it_ends() {
    let handlers = watching(&[Stage::ToolExecutionStart, Stage::ToolExecutionEnd, Stage::AgentEnd]).says(
        "guard",
        Stage::ToolCall,
        json!({"input": {"at": 7, "fails": true}}),
    );
    let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
    thread.say("go").await;
    thread.handlers.until_asked("agent_end", 1).await;
    let told = |id: &str| thread.handlers.told(id).remove(0);
    let (start, end) = (told("tool_execution_start"), told("tool_execution_end"));
    for event in [&start, &end] {
        assert_eq!((&event["toolCallId"], &event["toolName"]), (&json!("c0"), &json!("look")));
    }
    assert_eq!((&end["isError"], &end["result"]["content"][0]["text"]), (&json!(true), &json!("saw 7")));
    // A call is told of before its guards are asked, with the arguments of the model.
    assert_eq!(start["args"], json!({"at": 1}));
    assert_eq!(thread.handlers.order()[..2], ["tool_execution_start", "guard"]);
}

#[tokio::test(start_paused = true)]
async fn a_blocked_call_is_told_of_before_its_guard_and_ends() {
    let handlers = watching(&[Stage::ToolExecutionStart, Stage::ToolExecutionEnd, Stage::AgentEnd]).says(
        "guard",
        Stage::ToolCall,
        json!({"block": true}),
    );
    let mut thread = Conversation::new(handlers, vec![calls(&[("look", json!({"at": 1}))]), answer("well")]);
    thread.say("go").await;
    thread.handlers.until_asked("agent_end", 1).await;
    assert_eq!(thread.handlers.order(), ["tool_execution_start", "guard", "tool_execution_end", "agent_end"]);
    assert_eq!(thread.handlers.told("tool_execution_end")[0]["isError"], true);
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_an_answer_ends_before_its_run() {
    let watched = [Stage::TurnStart, Stage::TurnEnd, Stage::AgentEnd];
    let plays = vec![vec![failure(ErrorCategory::Permanent)], Vec::new()];
    let mut thread = Conversation::new(watching(&watched), plays);
    thread.say("go").await;
    thread.handlers.until_asked("agent_end", 1).await;
    thread.send("on", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("turn_start", 2).await;
    thread.bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    thread.handlers.until_asked("agent_end", 2).await;
    let one = ["turn_start", "turn_end", "agent_end"];
    assert_eq!(thread.handlers.order(), [one, one].concat());
    let reasons: Vec<_> =
        thread.handlers.told("turn_end").iter().map(|event| event["message"]["stopReason"].clone()).collect();
    assert_eq!(reasons, ["error", "aborted"]);
    assert!(thread.handlers.told("turn_end").iter().all(|event| event["toolResults"] == json!([])));
}

#[tokio::test(start_paused = true)]
async fn what_watchers_answer_is_passed_over() {
    // An answer can be another one by what is said of its end.
    let only_watched = WATCHED.iter().filter(|stage| **stage != Stage::MessageEnd);
    let handlers = only_watched.fold(ScriptedHandlers::default(), |all, stage| {
        all.that(stage.name(), *stage, |_| {
            Reply::Says(json!({"block": true, "cancel": true, "action": "handled", "messages": [], "message": {"role": "user"}}))
        })
    });
    let plays = vec![calls(&[("look", json!({"at": 1}))]), answer("well")];
    let mut thread = Conversation::new(handlers, plays);
    thread.say("go").await;
    assert_eq!((thread.ran().len(), thread.recorded(), thread.sent(0)), (1, 2, vec!["go".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn another_model_is_told_with_the_one_before_and_the_same_is_not() {
    let mut thread = Conversation::new(watching(&[Stage::ModelSelect, Stage::AgentEnd]), vec![answer("well")]);
    for name in ["x", "y", "y"] {
        let model = ModelRef::new("script", name);
        thread.bench.handle.ask(Command::SetModel { model }).await.unwrap();
    }
    thread.say("go").await;
    thread.handlers.until_asked("agent_end", 1).await;
    let told = thread.handlers.told("model_select");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["model"]["id"], &told[0]["previousModel"]["id"]), (&json!("y"), &json!("x")));
    assert_eq!(told[0]["source"], "set");
}

#[tokio::test(start_paused = true)]
async fn a_level_of_thinking_is_told_apart_from_the_model_and_goes_with_its_requests() {
    let watched = [Stage::ModelSelect, Stage::ThinkingLevelSelect, Stage::AgentEnd];
    let mut thread = Conversation::new(watching(&watched), vec![answer("well")]);
    for name in ["script/x:high", "script/x:high", "script/y:low"] {
        thread.bench.handle.ask(Command::SetModel { model: name.parse().unwrap() }).await.unwrap();
    }
    thread.say("go").await;
    thread.handlers.until_asked("agent_end", 1).await;
    let told = |name: &str, fields: [&str; 2]| -> Vec<[Value; 2]> {
        let events = thread.handlers.told(name).into_iter();
        events.map(|event| fields.map(|field| event.pointer(field).cloned().unwrap_or_default())).collect()
    };
    assert_eq!(told("model_select", ["/model/id", "/previousModel/id"]), [[json!("y"), json!("x")]]);
    let levels = told("thinking_level_select", ["/level", "/previousLevel"]);
    assert_eq!(levels, [[json!("high"), json!("off")], [json!("low"), json!("high")]]);
    let request = &thread.requests()[0];
    assert_eq!((request.model.as_str(), request.thinking), ("y", Some(ThinkingLevel::Low)));
}

/// Only the beginning of the thread is waited for, since whoever is told may register more.
#[tokio::test(start_paused = true)]
async fn the_first_prompt_waits_for_those_who_are_told_that_the_thread_begins() {
    let may = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&may);
    let handlers = ScriptedHandlers::default()
        .that("begins", Stage::SessionStart, move |_| Reply::SaysLater(Arc::clone(&waits), Value::Null))
        .listens("typed", Stage::Input);
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("begins", 1).await;
    assert_eq!(thread.handlers.told("begins")[0]["reason"], "startup");
    assert_eq!(thread.joined(), [] as [String; 0]);
    may.add_permits(1);
    thread.rests().await;
    assert_eq!(
        (thread.handlers.order(), thread.joined()),
        (vec!["begins".to_owned(), "typed".to_owned()], vec!["go".to_owned()])
    );
}

/// pi tells of it where a session that is opened has a model of its own.
#[tokio::test(start_paused = true)]
async fn a_thread_that_is_gone_on_with_tells_of_its_model() {
    let before = vec![Event::Prompt(PromptEvent::CognitionIn {
        text: "go".into(),
        role: "user".into(),
        prompt: None,
        images: Vec::new(),
        files: Vec::new(),
    })];
    let handlers = watching(&[Stage::SessionStart, Stage::ModelSelect]);
    let thread = Conversation::going_on(before, handlers, vec![answer("well")], Tools::default(), None);
    thread.handlers.until_asked("model_select", 1).await;
    assert_eq!(thread.handlers.order(), ["session_start", "model_select"]);
    assert_eq!(thread.handlers.told("session_start")[0]["reason"], "resume");
    let told = &thread.handlers.told("model_select")[0];
    assert_eq!(
        (&told["source"], &told["model"]["id"], told.get("previousModel")),
        (&json!("restore"), &json!("x"), None)
    );
}

#[tokio::test(start_paused = true)]
async fn what_waits_and_what_the_thread_is_called_is_told() {
    let may = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&may);
    let handlers = watching(&[Stage::QueueUpdate, Stage::SessionInfoChanged])
        .that("slow", Stage::Context, move |_| Reply::SaysLater(Arc::clone(&waits), Value::Null));
    let mut thread = Conversation::new(handlers, vec![answer("one"), answer("two"), answer("three")]);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.handlers.until_asked("slow", 1).await;
    thread.send("aside", PromptMode::Steer).await.unwrap();
    thread.send("later", PromptMode::FollowUp).await.unwrap();
    thread.bench.handle.ask(Command::Rename { title: "Bread".into() }).await.unwrap();
    may.add_permits(3);
    thread.rests().await;
    thread.handlers.until_asked("queue_update", 6).await;
    let queue: Vec<_> = thread.handlers.told("queue_update");
    let told: Vec<_> = queue.iter().map(|event| (event["steering"].clone(), event["followUp"].clone())).collect();
    let of = |steering: &[&str], following: &[&str]| (json!(steering), json!(following));
    assert_eq!(told[..4], [of(&[], &["go"]), of(&[], &[]), of(&["aside"], &[]), of(&["aside"], &["later"])]);
    assert_eq!(*told.last().unwrap(), of(&[], &[]));
    assert_eq!(thread.handlers.told("session_info_changed")[0]["name"], "Bread");
}

/// Whoever wants to know that nothing is done any more, by other extensions either.
#[tokio::test(start_paused = true)]
async fn a_run_has_settled_when_all_have_answered_that_were_told_of_its_end() {
    let may = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&may);
    let handlers = ScriptedHandlers::default()
        .that("end", Stage::AgentEnd, move |_| Reply::SaysLater(Arc::clone(&waits), Value::Null))
        .listens("settled", Stage::AgentSettled);
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    thread.say("go").await;
    thread.handlers.until_asked("end", 1).await;
    assert!(thread.handlers.told("settled").is_empty());
    may.add_permits(1);
    thread.handlers.until_asked("settled", 1).await;
}
