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

/// An extension left it for the next prompt; what a process that died had of it is in the log.
#[test]
fn what_is_for_the_next_prompt_outlives_its_process() {
    let left = |text: &str, behind| {
        let message = CustomMessage {
            custom_type: "note".into(),
            text: text.into(),
            display: true,
            details: serde_json::Value::Null,
            by: "e".into(),
        };
        Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message, behind } })
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
