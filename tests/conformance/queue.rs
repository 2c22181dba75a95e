//! What is sent while the thread works: it waits in one queue, and goes through all stages when it is delivered.

use super::{Conversation, Tools, answer, calls};
use crate::support::scripted_handlers::{Reply, ScriptedHandlers};
use levain::domain::event::PromptMode;
use levain::domain::{Command, Event, PromptEvent, Stage};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A thread that calls two tools at its first prompt, which end when the test lets them.
async fn at_work(handlers: ScriptedHandlers, answers: usize) -> (Conversation, Arc<Semaphore>) {
    let may_end = Arc::new(Semaphore::new(0));
    let tools = Tools { may_end: Some(Arc::clone(&may_end)), ..Tools::default() };
    let first = calls(&[("change", json!({"at": 1})), ("change", json!({"at": 2}))]);
    let plays = [first].into_iter().chain((0..answers).map(|_| answer("well"))).collect();
    let thread = Conversation::with(handlers, plays, tools, None);
    thread.send("go", PromptMode::FollowUp).await.unwrap();
    thread.tools.one_began.notified().await;
    (thread, may_end)
}

/// pi expands queued messages when they are queued, and never asks `before_agent_start` about them.
#[tokio::test(start_paused = true)]
async fn queued_prompts_go_through_every_stage_when_they_are_delivered() {
    for mode in [PromptMode::Steer, PromptMode::FollowUp] {
        let (mut thread, may_end) = at_work(
            ScriptedHandlers::default()
                .that("typed", Stage::Input, |event| {
                    let turns = event["text"] == "short";
                    Reply::Says(if turns { json!({"action": "transform", "text": "/long"}) } else { Value::Null })
                })
                .named("/long", Ok("A longer text."))
                .that("begins", Stage::BeforeAgentStart, |event| {
                    let said = format!("about {}", event["prompt"].as_str().unwrap());
                    Reply::Says(json!({"message": {"content": said}}))
                }),
            2,
        )
        .await;
        thread.send("short", mode).await.unwrap();
        assert_eq!(thread.handlers.told("typed").len(), 1, "nobody is asked before it is delivered");
        may_end.add_permits(2);
        thread.rests().await;
        assert_eq!(thread.joined(), ["go", "A longer text."]);
        let last = thread.sent(thread.requests().len() - 1);
        assert_eq!(last[last.len() - 2..], ["A longer text.", "about A longer text."], "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_steers_goes_before_what_follows_and_each_keeps_its_order() {
    let (mut thread, may_end) = at_work(ScriptedHandlers::default(), 4).await;
    for (text, mode) in [
        ("f1", PromptMode::FollowUp),
        ("s1", PromptMode::Steer),
        ("f2", PromptMode::FollowUp),
        ("s2", PromptMode::Steer),
    ] {
        thread.send(text, mode).await.unwrap();
    }
    may_end.add_permits(2);
    thread.rests().await;
    assert_eq!(thread.joined(), ["go", "s1", "s2", "f1", "f2"]);
    let answers = thread.sent(1);
    assert_eq!(answers.iter().filter(|text| text.starts_with(['s', 'f']) && text.len() == 2).count(), 2, "{answers:?}");
    let numbers = |event| match event {
        Event::Prompt(PromptEvent::CognitionIn { prompt, .. }) => prompt,
        _ => None,
    };
    assert_eq!(
        thread.log().into_iter().filter_map(numbers).collect::<Vec<_>>(),
        [1, 3, 5, 2, 4],
        "each has its number"
    );
}

#[tokio::test(start_paused = true)]
async fn prompts_of_the_same_words_are_told_apart_and_one_can_be_taken_back() {
    let (mut thread, may_end) = at_work(ScriptedHandlers::default(), 3).await;
    for _ in 0..3 {
        thread.send("again", PromptMode::FollowUp).await.unwrap();
    }
    thread.bench.handle.ask(Command::Withdraw { prompt: 3 }).await.unwrap();
    may_end.add_permits(2);
    thread.rests().await;
    assert_eq!(thread.joined(), ["go", "again", "again"]);
}

/// A person sees the command's doing at once; it waits for no turn.
#[tokio::test(start_paused = true)]
async fn a_command_runs_while_the_thread_works() {
    let (mut thread, may_end) = at_work(ScriptedHandlers::default().command("status", Ok(())), 1).await;
    thread.send("/status now", PromptMode::Steer).await.unwrap();
    assert_eq!(thread.handlers.ran(), [("status".to_owned(), "now".to_owned())]);
    assert_eq!(thread.results(), [], "the tool still runs");
    may_end.add_permits(2);
    thread.rests().await;
    assert_eq!(thread.joined(), ["go"]);
}

/// pi drops a second prompt that is sent while handlers of the first are waited for.
#[tokio::test(start_paused = true)]
async fn what_is_sent_while_handlers_of_a_prompt_are_waited_for_is_queued() {
    let may = Arc::new(Semaphore::new(0));
    for stage in [Stage::Input, Stage::BeforeAgentStart] {
        let waits = Arc::clone(&may);
        let handlers =
            ScriptedHandlers::default().that("slow", stage, move |_| Reply::SaysLater(Arc::clone(&waits), Value::Null));
        let mut thread = Conversation::new(handlers, vec![answer("well"), answer("well")]);
        thread.send("first", PromptMode::FollowUp).await.unwrap();
        thread.handlers.until_asked("slow", 1).await;
        thread.send("second", PromptMode::FollowUp).await.unwrap();
        may.add_permits(2);
        thread.rests().await;
        assert_eq!(thread.joined(), ["first", "second"], "{stage}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_of_an_extension_says_so_and_is_queued_while_the_thread_works() {
    let (mut thread, may_end) = at_work(ScriptedHandlers::default().listens("typed", Stage::Input), 2).await;
    let client = Some(levain::domain::command::EXTENSION_CLIENT.to_owned());
    thread.send_as("more", PromptMode::FollowUp, client).await.unwrap();
    may_end.add_permits(2);
    thread.rests().await;
    let sources: Vec<_> = thread.handlers.told("typed").into_iter().map(|event| event["source"].clone()).collect();
    assert_eq!(sources, ["interactive", "extension"]);
    assert_eq!(thread.joined(), ["go", "more"]);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_steers_into_nothing_begins_a_turn() {
    let mut thread = Conversation::new(ScriptedHandlers::default(), vec![answer("well")]);
    thread.send("go", PromptMode::Steer).await.unwrap();
    thread.rests().await;
    assert_eq!(thread.joined(), ["go"]);
}

/// pi sends it as it is written.
#[tokio::test(start_paused = true)]
async fn a_prompt_of_an_extension_may_name_a_command_or_a_template() {
    let handlers = ScriptedHandlers::default().command("status", Ok(())).named("/fix", Ok("Fix it."));
    let mut thread = Conversation::new(handlers, vec![answer("well")]);
    for text in ["/status", "/fix"] {
        let client = Some(levain::domain::command::EXTENSION_CLIENT.to_owned());
        thread.send_as(text, PromptMode::FollowUp, client).await.unwrap();
        thread.rests().await;
    }
    assert_eq!((thread.handlers.ran().len(), thread.joined()), (1, vec!["Fix it.".to_owned()]));
}
