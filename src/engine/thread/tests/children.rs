//! Threads that start others: what is counted, when time stands still, and who is asked.

use super::*;
use crate::domain::{Ceiling, ControlEvent, LimitKind, Lineage, SettingsEvent, ThreadEvent};
use ThreadKind::{Interactive, OneShot};

impl Bench {
    fn starts(&mut self, call: &str, background: bool) {
        let child = ThreadId::new("child", u64::from(self.thread.cost.spawns) + 7);
        let (directive, call_id) = ("child".into(), CallId(call.into()));
        self.feed(Event::Thread(ThreadEvent::ChildThreadStarted { child, directive, call_id, background }));
    }

    fn limited(kind: ThreadKind, limits: Limits) -> Self {
        let mut bench = Self::new(kind);
        bench.feed(Event::Settings(SettingsEvent::LimitsChanged { limits }));
        bench
    }

    fn result(&mut self, call: &str) {
        let call_id = CallId(call.into());
        self.feed(Event::Tool(ToolEvent::ToolCallResult { call_id, output: "done".into(), error: None }));
    }
}

#[test]
fn children_are_counted_and_refused_beyond_the_limits() {
    let mut bench = Bench::limited(OneShot, Limits { spawns: Some(2), depth: Some(1), ..Limits::default() });
    assert_eq!(bench.thread.refuses_children(), None);
    bench.starts("a", true);
    bench.starts("b", true);
    let refusal = bench.thread.refuses_children().unwrap();
    assert!(refusal.contains("2 of 2") && refusal.contains("spawns_exceeded"), "{refusal}");
    let bottom = Bench::limited(OneShot, Limits { depth: Some(0), ..Limits::default() });
    assert!(bottom.thread.refuses_children().unwrap().contains("depth_exceeded"));
}

#[test]
fn limits_of_a_child_are_never_above_its_parents() {
    let parent = Limits { turns: Some(9), spawns: Some(3), depth: Some(2), ..Limits::default() };
    let child = Limits { turns: Some(20), tokens: Some(Tokens(5)), depth: Some(7), ..Limits::default() };
    let below = child.below(&parent).unwrap();
    assert_eq!((below.turns, below.tokens, below.spawns, below.depth), (Some(9), Some(Tokens(5)), Some(3), Some(1)));
    let grandchild = child.below(&below).unwrap();
    assert_eq!(grandchild.depth, Some(0));
    assert_eq!(child.below(&grandchild), None, "nothing is below a thread with depth 0");
}

#[test]
fn time_stands_still_while_only_children_work() {
    let mut bench = Bench::limited(OneShot, Limits { duration_seconds: Some(60), ..Limits::default() });
    bench.calling("go");
    let effects = bench.answer(calls_of("look", &["1", "2"]), StopReason::ToolUse);
    assert_eq!(effects.len(), 2, "both run: {effects:?}");
    bench.starts("1", false);
    bench.now += 10_000;
    bench.starts("2", false);
    let before = bench.thread.cost.elapsed_ms;
    assert_eq!(bench.thread.time_left(Timestamp(bench.now)), None, "nothing is counted");
    bench.now += 500_000;
    bench.result("1");
    assert_eq!(bench.thread.cost.elapsed_ms, before);
    bench.result("2");
    bench.now += 4_000;
    let effects = vec![Effect::Prepare { request: bench.thread.requests + 1, attempt: 1 }];
    bench.send(&effects);
    assert!(bench.thread.cost.elapsed_ms >= before + 4_000, "its own work counts again");
}

#[test]
fn a_child_that_works_by_itself_holds_nobodys_time() {
    let mut bench = Bench::limited(OneShot, Limits { duration_seconds: Some(60), ..Limits::default() });
    bench.calling("go");
    bench.answer(calls(&["1"]), StopReason::ToolUse);
    bench.starts("1", true);
    assert!(bench.thread.time_left(Timestamp(bench.now)).is_some());
}

#[test]
fn the_limit_of_time_interrupts_a_running_call() {
    let mut bench = Bench::limited(OneShot, Limits { duration_seconds: Some(60), ..Limits::default() });
    bench.calling("go");
    assert!((59_000..=60_000).contains(&bench.thread.time_left(Timestamp(bench.now)).unwrap()));
    bench.now += 60_000;
    assert_eq!(bench.thread.time_left(Timestamp(bench.now)), Some(0));
    let stops = bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Limit }));
    assert_eq!(stops, [Effect::StopCall]);
    assert_eq!(bench.thread.time_left(Timestamp(bench.now)), None, "it is being stopped");
    bench.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 }));
    let codes: Vec<LimitKind> =
        bench
            .log
            .iter()
            .filter_map(|record| {
                if let Event::Control(ControlEvent::Limit { code, .. }) = record.event { Some(code) } else { None }
            })
            .collect();
    assert_eq!((codes.as_slice(), bench.thread.status()), (&[LimitKind::Duration][..], Status::Error));
}

#[test]
fn the_limit_of_time_interrupts_a_running_tool() {
    let mut bench = Bench::limited(OneShot, Limits { duration_seconds: Some(60), ..Limits::default() });
    bench.calling("go");
    bench.answer(calls(&["1"]), StopReason::ToolUse);
    bench.now += 61_000;
    let stops = bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Limit }));
    assert!(stops.contains(&Effect::StopTools), "{stops:?}");
    assert_eq!(bench.thread.status(), Status::Error);
    assert_eq!(results(&bench).len(), 1, "every call has a result");
}

#[test]
fn a_cancel_of_a_person_wins_over_the_limit_of_time() {
    let mut bench = Bench::limited(OneShot, Limits { duration_seconds: Some(60), ..Limits::default() });
    bench.calling("go");
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Limit }));
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Thread }));
    bench.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 }));
    assert_eq!(bench.thread.status(), Status::Cancelled);
}

#[test]
fn a_queued_thread_waits_without_its_time_and_can_be_cancelled() {
    let mut bench = Bench::new(OneShot);
    bench.prompt("go", PromptMode::FollowUp);
    let reason = "waits for a child of lead-1 to end: 5 running, limit 5".to_owned();
    let waits = bench.feed(Event::Control(ControlEvent::ThreadQueued { reason: reason.clone() }));
    assert_eq!(waits, [Effect::WaitForSlot]);
    assert_eq!((bench.thread.status(), bench.thread.waits_for()), (Status::Queued, Some(reason.clone())));
    let before = bench.thread.cost.elapsed_ms;
    bench.now += 90_000;
    let goes = bench.feed(Event::Control(ControlEvent::ThreadAdmitted {}));
    assert_eq!(goes, [Effect::Prepare { request: 1, attempt: 1 }]);
    assert_eq!(bench.thread.cost.elapsed_ms, before);
    bench.feed(Event::Control(ControlEvent::ThreadQueued { reason }));
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Thread }));
    assert_eq!(bench.thread.status(), Status::Cancelled);
}

#[test]
fn a_child_below_a_conversation_asks_and_one_below_a_run_does_not() {
    for (attended, asks) in [(true, true), (false, false)] {
        let mut bench = Bench::new(OneShot);
        bench.thread.lineage = Lineage { attended, ..Lineage::default() };
        bench.calling("go");
        bench.answer(calls_of("rm", &["1"]), StopReason::ToolUse);
        assert_eq!(bench.thread.approval().is_some(), asks);
    }
    let parent = Bench::new(Interactive).thread.as_parent();
    assert!(parent.lineage.attended && parent.lineage.parent.is_some());
    assert!(!Bench::new(OneShot).thread.as_parent().lineage.attended);
}

#[test]
fn what_a_thread_above_may_not_is_denied_whatever_the_own_grants_say() {
    let grant = |capability: &str, ask| Grant::new(capability, ask);
    let mut bench = Bench::new(OneShot);
    bench.thread.lineage.attended = true;
    bench.thread.permissions.grants = vec![grant("*", false)];
    bench.thread.permissions.ceilings = [vec![grant("*", false)], vec![grant(&to_execute("ls"), true)]]
        .map(|grants| Ceiling { thread: None, grants })
        .into();
    bench.calling("go");
    bench.answer(calls_of("rm", &["1"]), StopReason::ToolUse);
    let denied =
        bench.log.iter().any(|record| matches!(&record.event, Event::Approval(ApprovalEvent::PermissionDenied { .. })));
    assert!(denied, "the thread above it grants only ls");
    let effects = vec![Effect::Prepare { request: bench.thread.requests + 1, attempt: 1 }];
    bench.send(&effects);
    bench.answer(calls(&["2"]), StopReason::ToolUse);
    assert!(bench.thread.approval().is_some(), "and that only after asking");
}
