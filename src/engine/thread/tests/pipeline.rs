//! Prompts and calls that go through handlers: what the machine makes of what those made.

use super::*;
use crate::domain::{CustomMessage, LayerKind, Lifetime, Piece};

fn custom(text: &str) -> CustomMessage {
    let (custom_type, by) = ("note".into(), "h".into());
    CustomMessage { custom_type, text: text.into(), display: false, details: serde_json::Value::Null, by }
}

fn piece(text: &str) -> Piece {
    Piece {
        id: "h".into(),
        kind: LayerKind::ExtensionSystem,
        origin: Origin::Thread,
        lifetime: Lifetime::PerPrompt,
        decision: crate::domain::Decision::Included,
        text: text.into(),
    }
}

fn prepared(prompt: u64, messages: Vec<CustomMessage>, system: Option<Vec<Piece>>) -> Event {
    Event::Prompt(PromptEvent::PromptPrepared { prompt, typed: None, steps: Vec::new(), messages, system })
}

fn handled(prompt: u64) -> Event {
    let (text, by, steps) = (String::new(), "h".to_owned(), Vec::new());
    Event::Prompt(PromptEvent::PromptHandled { prompt, text, by, steps })
}

/// Queues prompts without taking the first through: as a driver does that waits for its handlers.
fn waiting(bench: &mut Bench, texts: &[&str]) {
    for text in texts {
        let prompt = bench.thread.prompts + 1;
        let event = Event::Prompt(PromptEvent::PromptQueued {
            prompt,
            text: (*text).into(),
            mode: PromptMode::Steer,
            images: Vec::new(),
            files: Vec::new(),
            client: None,
        });
        bench.now += 10;
        let record = Record { timestamp: Timestamp(bench.now), thread_id: bench.thread.id.clone(), event };
        let _taken = apply(&mut bench.thread, &record);
        bench.log.push(record);
    }
}

#[test]
fn messages_of_handlers_stand_behind_the_prompt_and_their_system_text_holds_until_the_next() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    waiting(&mut bench, &["go"]);
    assert!(matches!(&bench.thread.phase, Phase::Taking { prompts, .. } if *prompts == [1]));
    bench.feed(prepared(1, vec![custom("one"), custom("two")], Some(vec![piece("pirate")])));
    let effects = bench.feed(bench.joins(1));
    bench.send(&effects);
    let told: Vec<_> = bench.thread.history.iter().map(|entry| entry.message.told()).collect();
    assert_eq!(told, ["go", "one", "two"]);
    assert_eq!(bench.thread.system_edit.as_ref().unwrap().len(), 1);
    bench.answer(Message::assistant("aye"), StopReason::EndTurn);
    bench.calling("again");
    assert_eq!(bench.thread.system_edit, None, "the next prompt begins from the base");
}

#[test]
fn a_prompt_that_is_handled_asks_no_model() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    waiting(&mut bench, &["go"]);
    assert_eq!(bench.feed(handled(1)), []);
    assert_eq!((bench.thread.phase.clone(), bench.thread.queue.len()), (Phase::Idle, 0));
    assert!(bench.thread.history.is_empty());
}

#[test]
fn what_was_sent_while_handlers_ran_comes_after() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    waiting(&mut bench, &["first", "second"]);
    let effects = bench.feed(handled(1));
    bench.send(&effects);
    assert_eq!(bench.said(), [(Role::User, "second".to_owned())]);
}

#[test]
fn a_prompt_taken_back_while_its_handlers_run_is_not_sent() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    waiting(&mut bench, &["go"]);
    assert_eq!(bench.feed(Event::Prompt(PromptEvent::PromptWithdrawn { prompt: 1 })), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
}

#[test]
fn a_steering_message_that_is_handled_lets_the_turn_go_on() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(calls(&["a"]), StopReason::ToolUse);
    waiting(&mut bench, &["/note this"]);
    let record = Record { timestamp: Timestamp(bench.now), thread_id: bench.thread.id.clone(), event: result("a") };
    let effects = apply(&mut bench.thread, &record);
    assert_eq!(effects, [Effect::TakePrompt { prompt: 2 }]);
    let effects = bench.feed(handled(2));
    assert!(matches!(effects.as_slice(), [Effect::Prepare { .. }]), "the answer to the calls is due: {effects:?}");
}

#[test]
fn a_cancel_while_handlers_run_keeps_the_prompt_in_the_queue() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    waiting(&mut bench, &["go"]);
    let effects = bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }));
    assert_eq!(effects, [Effect::StopWaiting]);
    assert_eq!((bench.thread.phase.clone(), bench.thread.queue.len()), (Phase::Idle, 1));
}

#[test]
fn a_process_that_died_while_handlers_ran_leaves_the_prompt_in_the_queue() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    waiting(&mut bench, &["go"]);
    bench.feed(prepared(1, vec![custom("one")], None));
    bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 2, version: "1".into() }));
    assert_eq!((bench.thread.phase.clone(), bench.thread.queue.len()), (Phase::Idle, 1));
    let effects = bench.feed(Event::Prompt(PromptEvent::QueueReleased {}));
    bench.send(&effects);
    assert_eq!(bench.thread.history.len(), 1, "what was prepared is prepared anew");
}

#[test]
fn a_call_runs_with_what_its_handlers_made_of_it() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    // Not decided about yet.
    bench.thread.permissions.grants[0].ask = true;
    bench.answer(calls(&["a"]), StopReason::ToolUse);
    let asked = bench.thread.approval().is_some();
    assert!(asked, "the bench decides at once");
    bench.thread.permissions.grants[0].ask = false;
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    let call = calls(&["a"]).calls().next().unwrap().clone();
    bench.thread.phase = Phase::Tools { calls: vec![crate::engine::thread::StagedCall::new(call)], stopping: None };
    let input = Some(serde_json::json!({"path": "elsewhere"}));
    let prepared = |input, blocked| {
        Event::Tool(ToolEvent::CallPrepared { call_id: CallId("a".into()), steps: Vec::new(), input, blocked })
    };
    let effects = bench.feed(prepared(input.clone(), None));
    assert!(
        matches!(effects.as_slice(), [Effect::RunTool { call, .. }] if Some(&call.input) == input.as_ref()),
        "{effects:?}"
    );
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    let call = calls(&["a"]).calls().next().unwrap().clone();
    bench.thread.phase = Phase::Tools { calls: vec![crate::engine::thread::StagedCall::new(call)], stopping: None };
    let effects = bench.feed(prepared(None, Some("not today".into())));
    assert!(matches!(effects.as_slice(), [Effect::Prepare { .. }]), "{effects:?}");
    let results = bench.thread.history.last().unwrap().message.blocks.clone();
    assert!(matches!(&results[0], Block::ToolResult { output, error: true, .. } if output == "not today"));
}
