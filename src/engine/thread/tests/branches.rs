//! Telling in short what was said in a branch that was left.

use super::*;
use crate::domain::{
    ContextEvent, ControlEvent, CustomMessage, ExtensionEntry, LayerChange, SettingsEvent, ThreadEvent,
};

#[test]
fn a_branch_that_was_left_joins_in_short_with_the_next_prompt() {
    let from = ThreadId::new("chat", 9);
    let asked = || Event::Context(ContextEvent::BranchSummaryRequested { from: ThreadId::new("chat", 9) });
    let summarised = |summary: &str| {
        Event::Context(ContextEvent::BranchSummarised {
            from: from.clone(),
            summary: summary.to_owned(),
            request: Some(2),
            usage: Usage { input: Tokens(7), ..Usage::default() },
            spend: Some(Money(3)),
            reason: None,
        })
    };
    let begun = || {
        let mut bench = Bench::new(ThreadKind::Interactive);
        bench.calling("one");
        bench.answer(Message::assistant("1"), StopReason::EndTurn);
        bench
    };
    let mut bench = begun();
    let before = bench.thread.cost;
    assert_eq!(bench.feed(asked()), [Effect::MakeRoom { request: 2 }]);
    assert_eq!(bench.prompt("meanwhile", PromptMode::FollowUp), [], "it waits for the summary");
    let effects = bench.feed(summarised("what was tried"));
    assert_eq!(bench.thread.cost.spend, before.spend + Money(3));
    bench.send(&effects);
    let said: Vec<String> = bench.thread.history.iter().map(|entry| format!("{:?}", entry.message.blocks)).collect();
    let place = |text: &str| said.iter().position(|message| message.contains(text)).unwrap();
    assert!(place("what was tried") < place("meanwhile"), "{said:?}");
    bench.replayed();
    // Stopped, without a summary, and while the thread works: as if nobody had asked.
    let mut stopped = begun();
    stopped.feed(asked());
    let cancel = Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn });
    assert_eq!(stopped.feed(cancel), [Effect::StopCall]);
    assert_eq!(stopped.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 })), []);
    assert_eq!(stopped.thread.phase, Phase::Idle);
    let mut none = begun();
    none.feed(asked());
    assert_eq!(none.feed(summarised("")), []);
    assert!(none.thread.phase == Phase::Idle && none.thread.notes().next().is_none());
    let mut works = begun();
    works.calling("two");
    let phase = works.thread.phase.clone();
    assert_eq!(works.feed(asked()), []);
    assert_eq!(works.thread.phase, phase);
}

#[test]
fn what_a_person_wants_otherwise_adds_up() {
    let change = |id: &str, text: Option<&str>| LayerChange { id: id.to_owned(), text: text.map(str::to_owned) };
    let set = |layers: Vec<LayerChange>| Event::Settings(SettingsEvent::LayersChanged { layers });
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.feed(set(vec![change("a", None), change("b", Some("text"))]));
    bench.feed(set(vec![change("b", None), change("c", None)]));
    assert_eq!(bench.thread.changes, [change("a", None), change("b", None), change("c", None)]);
}

/// A message of an extension.
fn note(text: &str) -> CustomMessage {
    let details = serde_json::Value::Null;
    CustomMessage { custom_type: "note".into(), text: text.into(), display: true, details, by: "e".into() }
}

/// An extension left it for the next prompt; what a process that died had of it is in the log.
#[test]
fn what_is_for_the_next_prompt_outlives_its_process() {
    let left = |text: &str, behind| {
        let message = note(text);
        Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message, behind, turn: None } })
    };
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("one");
    bench.feed(left("behind", true));
    bench.feed(left("before", false));
    bench.answer(Message::assistant("1"), StopReason::EndTurn);
    bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 2, version: "2".into() }));
    assert_eq!(bench.thread.notes().count(), 2);
    let effects = bench.prompt("two", PromptMode::FollowUp);
    bench.send(&effects);
    let said: Vec<String> = bench.thread.history.iter().map(|entry| entry.message.told()).collect();
    assert_eq!(said, ["one", "1", "before", "two", "behind"]);
    assert_eq!(bench.thread.notes().count(), 0);
    bench.replayed();
}

/// `pi.sendMessage` with `triggerTurn`, or while the thread works.
#[test]
fn the_model_answers_what_an_extension_sends_without_a_prompt() {
    let sent = |text: &str, mode| {
        let message = note(text);
        let entry = ExtensionEntry::Message { message, behind: false, turn: Some(mode) };
        Event::Thread(ThreadEvent::ExtensionEntry { entry })
    };
    let said = |bench: &Bench| bench.thread.history.iter().map(|entry| entry.message.told()).collect::<Vec<_>>();
    let mut bench = Bench::new(ThreadKind::Interactive);
    // One that has not begun waits for its first prompt.
    assert_eq!(bench.feed(sent("early", PromptMode::Steer)), []);
    bench.calling("one");
    assert_eq!(said(&bench), ["early", "one"]);
    bench.feed(sent("later", PromptMode::FollowUp));
    bench.feed(sent("soon", PromptMode::Steer));
    bench.answer(calls(&["a"]), StopReason::ToolUse);
    let effects = bench.feed(result("a"));
    bench.send(&effects);
    assert_eq!(said(&bench).last().unwrap(), "soon");
    let effects = bench.answer(Message::assistant("2"), StopReason::EndTurn);
    assert!(matches!(effects[..], [Effect::Prepare { .. }]), "{effects:?}");
    bench.send(&effects);
    assert_eq!(bench.answer(Message::assistant("3"), StopReason::EndTurn), []);
    let effects = bench.feed(sent("alone", PromptMode::Steer));
    assert!(matches!(effects[..], [Effect::Prepare { .. }]), "{effects:?}");
    bench.send(&effects);
    bench.answer(Message::assistant("4"), StopReason::EndTurn);
    assert_eq!(said(&bench)[4..], ["soon", "2", "later", "3", "alone", "4"]);
    bench.replayed();
}

/// `terminate` of the result of an extension's tool.
#[test]
fn a_turn_ends_with_its_calls_where_no_tool_wants_an_answer() {
    let terminates = |id: &str| {
        let (call_id, details) = (id.to_owned(), serde_json::Value::Null);
        let entry = ExtensionEntry::Details { call_id, details, terminate: true };
        Event::Thread(ThreadEvent::ExtensionEntry { entry })
    };
    for both in [true, false] {
        let mut bench = Bench::new(ThreadKind::Interactive);
        bench.calling("go");
        bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
        bench.feed(terminates("a"));
        bench.feed(result("a"));
        if both {
            bench.feed(terminates("b"));
        }
        let effects = bench.feed(result("b"));
        assert_eq!(effects.is_empty(), both, "{effects:?}");
        assert_eq!(bench.thread.phase == Phase::Idle, both);
        bench.replayed();
    }
}
