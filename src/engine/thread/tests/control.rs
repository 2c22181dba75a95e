//! What follows from the answers of hooks, and how room is made.

use super::*;
use crate::domain::lineage::LimitSource;
use crate::domain::{ContextEvent, ControlEvent, RequestEvent, SettingsEvent, ThreadEvent};
use crate::domain::{Control, ErrorPattern, LayerKind, LimitKind, Pause, Retry, Rules, WindowRules};
use crate::engine::thread::{CompactionCause, Handoff};
use ThreadKind::{Interactive, OneShot};
use serde_json::{Value, json};

fn bench(kind: ThreadKind, asks: &[&str]) -> Bench {
    let mut bench = Bench::new(kind);
    let asks = asks.iter().map(|event| (*event).to_owned()).collect();
    let rules = Rules { asks, window: Some(WindowRules::default()), ..Rules::default() };
    bench.feed(Event::Settings(SettingsEvent::RulesSet { rules }));
    bench
}

#[test]
fn what_a_thread_keeps_is_what_its_log_makes_of_it_and_hooks_see_it() {
    let mut bench = bench(OneShot, &["after_complete"]);
    let set = |values: Value| Event::Settings(SettingsEvent::StateSet { values: values.as_object().unwrap().clone() });
    bench.feed(set(json!({"tries": 1, "note": "x"})));
    bench.feed(set(json!({"tries": 2, "note": null})));
    bench.calling("hi");
    let effects = bench.answer(Message::assistant("done"), StopReason::EndTurn);
    let [Effect::AskHooks { event: "after_complete", fields }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(fields["state"], json!({"tries": 2}));
    bench.replayed();
}

impl Bench {
    fn decide(&mut self, action: Option<Control>) -> Vec<Effect> {
        let Phase::Asking(_) = &self.thread.phase else { panic!("nobody is asked in {:?}", self.thread.phase) };
        let hook = action.map(|_| "mine".to_owned());
        self.feed(Event::Control(ControlEvent::HookDecided { event: "x".into(), hook, action, why: String::new() }))
    }

    pub(super) fn ended(&self) -> &Event {
        &self.log.last().unwrap().event
    }

    fn full(&mut self) -> Vec<Effect> {
        self.feed(Event::Context(ContextEvent::ContextLimitReached {
            usage_ratio: 0.95,
            tokens_used: Tokens(95),
            tokens_limit: Tokens(100),
        }))
    }

    fn compacted(&mut self, kept: usize) -> Vec<Effect> {
        self.feed(Event::Context(ContextEvent::ContextCompacted {
            summary: "what was said".into(),
            kept,
            summarised: self.thread.history.len() - kept,
            dropped: 0,
            tokens_before: Tokens(90),
            tokens_after: Tokens(20),
            request: Some(self.thread.requests),
            usage: Usage { input: Tokens(80), output: Tokens(8), ..Usage::default() },
            spend: Some(Money(3)),
            reason: None,
            steps: Vec::new(),
            details: None,
        }))
    }

    pub(super) fn replayed(&self) {
        let mut again = Bench::new(self.thread.kind).thread;
        for record in self.log.iter().filter(|record| record.event.is_durable()) {
            let _done_then = apply(&mut again, record);
        }
        assert_eq!(again, self.thread);
    }
}

fn asked(effects: &[Effect]) -> (&'static str, Value) {
    let [Effect::AskHooks { event, fields }] = effects else { panic!("no question in {effects:?}") };
    (event, fields.clone())
}

#[test]
fn a_failed_call_is_a_question_with_what_it_means() {
    let mut bench = bench(ThreadKind::Interactive, &["error"]);
    bench.calling("go");
    let (event, fields) = asked(&bench.fail(ErrorCategory::Transient, 1));
    assert_eq!(event, "error");
    assert_eq!(fields["error"]["message"], "it broke");
    assert_eq!(fields["error"]["type"], "x");
    assert_eq!(
        fields["classification"],
        json!({"id": "builtin", "code": "builtin", "category": "transient", "retryable": true,
            "retry_policy": {"type": "exponential", "first_ms": 2_000, "longest_ms": 60_000}})
    );
    assert_eq!((&fields["attempt"], &fields["max_attempts"]), (&json!(1), &json!(4)));
    assert_eq!((&fields["cost"]["turns"], &fields["loop_count"]), (&json!(0), &json!(0)));
    assert_eq!(fields["model"], "scripted/demo");
}

#[test]
fn each_answer_to_a_failure_does_what_it_says() {
    let failed = |kind, action, category| {
        let mut bench = bench(kind, &["error"]);
        bench.calling("go");
        bench.fail(category, 1);
        let effects = bench.decide(action);
        bench.replayed();
        (bench, effects)
    };
    // Retry: also what would not have been tried again.
    let (_, effects) = failed(Interactive, Some(Control::Retry), ErrorCategory::Permanent);
    assert_eq!(effects, [Effect::Wait { attempt: 2, delay_ms: 2_000 }]);
    // Nobody answers: as without hooks.
    let (_, effects) = failed(Interactive, None, ErrorCategory::Transient);
    assert_eq!(effects, [Effect::Wait { attempt: 2, delay_ms: 2_000 }]);
    let (bench, effects) = failed(Interactive, None, ErrorCategory::Permanent);
    assert_eq!((effects, bench.thread.phase), (vec![], Phase::Idle));
    // Fail: in an error, though it could pass; a person can go on from it.
    let (mut bench, effects) = failed(Interactive, Some(Control::Fail), ErrorCategory::Transient);
    assert_eq!((effects, bench.thread.status()), (vec![Effect::End(Status::Error)], Status::Error));
    bench.calling("again");
    let (bench, _) = failed(OneShot, Some(Control::Fail), ErrorCategory::Transient);
    assert!(matches!(bench.ended(), Event::Thread(ThreadEvent::ThreadError { error, .. }) if error == "it broke"));
    let (bench, _) = failed(OneShot, Some(Control::Abort), ErrorCategory::Transient);
    assert_eq!(bench.thread.status(), Status::Cancelled);
    // Continue and skip give the turn up without an error.
    for action in [Control::Continue, Control::Skip] {
        let (bench, _) = failed(OneShot, Some(action), ErrorCategory::Permanent);
        assert_eq!(bench.thread.status(), Status::Completed);
    }
    for action in [Control::Suspend, Control::Escalate] {
        let (mut bench, effects) = failed(OneShot, Some(action), ErrorCategory::Permanent);
        assert_eq!((effects, bench.thread.status()), (vec![Effect::End(Status::Suspended)], Status::Suspended));
        assert!(matches!(bench.ended(), Event::Control(ControlEvent::ThreadSuspended { reason, limit: None, .. })
                if reason == "it broke; send a message to continue"));
        assert_eq!(bench.thread.waiting(), Some(Waiting::User));
        bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 2, version: "1".into() }));
        assert_eq!(bench.thread.status(), Status::Suspended, "another process does not wake it");
        bench.calling("go on");
        assert_eq!(bench.said().len(), 2);
    }
}

#[test]
fn a_hook_cannot_retry_for_ever() {
    let mut bench = bench(ThreadKind::OneShot, &["error"]);
    bench.calling("go");
    for attempt in 1..=4 {
        bench.fail(ErrorCategory::Permanent, attempt);
        let effects = bench.decide(Some(Control::Retry));
        if attempt < 4 {
            assert!(matches!(effects.as_slice(), [Effect::Wait { .. }]), "{effects:?}");
            let effects = bench.feed(Event::Request(RequestEvent::RetryDue { attempt: attempt + 1 }));
            bench.send(&effects);
        } else {
            assert_eq!(effects, [Effect::End(Status::Error)]);
        }
    }
}

#[test]
fn a_retry_names_the_pattern_and_keeps_its_pause() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    let pattern = ErrorPattern {
        id: "teapot".into(),
        category: ErrorCategory::Transient,
        retryable: true,
        status: Vec::new(),
        codes: vec!["x".into()],
        words: Vec::new(),
        pause: Some(Pause::Fixed { delay_ms: 70 }),
    };
    let retry = Retry { max_attempts: 2, ..Retry::default() };
    bench.feed(Event::Settings(SettingsEvent::RulesSet {
        rules: Rules { retry, patterns: vec![pattern], ..Rules::default() },
    }));
    bench.calling("go");
    assert_eq!(bench.fail(ErrorCategory::Permanent, 1), [Effect::Wait { attempt: 2, delay_ms: 70 }]);
    assert!(
        matches!(bench.ended(), Event::Request(RequestEvent::RetryScheduled { classification: Some(id), .. }) if id == "teapot"),
        "{:?}",
        bench.ended()
    );
    let effects = bench.feed(Event::Request(RequestEvent::RetryDue { attempt: 2 }));
    bench.send(&effects);
    assert_eq!(bench.fail(ErrorCategory::Permanent, 2), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
    bench.replayed();
}

#[test]
fn a_cut_answer_is_kept_when_a_hook_gives_it_up() {
    let mut bench = bench(ThreadKind::Interactive, &["error"]);
    bench.calling("go");
    bench.answer(Message::assistant("half"), StopReason::Truncated { detail: "cut".into() });
    bench.decide(Some(Control::Skip));
    assert_eq!(bench.said().last().unwrap().1, "half");
}

#[test]
fn each_answer_to_a_limit_does_what_it_says() {
    let limited = |kind, action| {
        let mut bench = bench(kind, &["limit"]);
        bench.thread.limits.turns = Some(1);
        bench.calling("one");
        let effects = bench.answer(calls(&["a"]), StopReason::ToolUse);
        assert!(matches!(effects.as_slice(), [Effect::RunTool { .. }]));
        let (event, fields) = asked(&bench.feed(result("a")));
        assert_eq!((event, &fields["limit_code"]), ("limit", &json!("turns_exceeded")));
        assert_eq!((&fields["current_value"], &fields["current_max"]), (&json!(1), &json!(1)));
        let effects = bench.decide(action);
        (bench, effects)
    };
    for action in [Control::Continue, Control::Skip, Control::Retry] {
        let (mut bench, effects) = limited(ThreadKind::OneShot, Some(action));
        bench.send(&effects);
    }
    let (bench, _) = limited(ThreadKind::OneShot, None);
    assert!(
        matches!(bench.ended(), Event::Thread(ThreadEvent::ThreadError { error, .. }) if error.contains("turns_exceeded (1/1)"))
    );
    let (bench, _) = limited(ThreadKind::Interactive, Some(Control::Fail));
    assert!(
        matches!(bench.ended(), Event::Thread(ThreadEvent::ThreadError { error, .. })
            if error == "1 of 1 turns are used (ended by the hook `mine`)"),
        "{:?}",
        bench.ended()
    );
    let (bench, _) = limited(ThreadKind::Interactive, Some(Control::Abort));
    assert_eq!(bench.thread.status(), Status::Cancelled);
}

#[test]
fn a_limit_that_the_starter_of_a_thread_set_is_told_from_its_own() {
    use LimitSource::{Defaults, Directive, Override, Parent};
    for (source, bound) in [(Defaults, false), (Directive, false), (Override, true), (Parent, true)] {
        let mut bench = bench(OneShot, &["limit"]);
        bench.thread.limits.turns = Some(1);
        bench.thread.limits_by.turns = Some(source);
        bench.calling("go");
        bench.answer(calls(&["a"]), StopReason::ToolUse);
        bench.feed(result("a"));
        assert_eq!(bench.thread.asks_past_its_starter(), bound, "{source:?}");
    }
}

#[test]
fn a_message_to_a_thread_at_its_limit_allows_as_much_again() {
    let mut bench = bench(ThreadKind::Interactive, &["limit"]);
    bench.thread.limits.turns = Some(2);
    for text in ["one", "two"] {
        bench.calling(text);
        bench.answer(Message::assistant(text), StopReason::EndTurn);
    }
    bench.prompt("three", PromptMode::FollowUp);
    assert_eq!(bench.decide(Some(Control::Escalate)), [Effect::End(Status::Suspended)]);
    assert!(
        matches!(bench.ended(), Event::Control(ControlEvent::ThreadSuspended { reason, limit: Some(LimitKind::Turns), .. })
            if reason == "2 of 2 turns are used; send a message to allow as much again")
    );
    bench.calling("yes, go on");
    assert_eq!(bench.thread.limits.turns, Some(4));
    assert!(
        bench.log.iter().any(|record| matches!(record.event, Event::Settings(SettingsEvent::LimitsChanged { .. })))
    );
    let mut again = super::Bench::new(ThreadKind::Interactive).thread;
    again.limits.turns = Some(2);
    for record in &bench.log {
        let _done_then = apply(&mut again, record);
    }
    assert_eq!(again, bench.thread);
}

#[test]
fn higher_limits_wake_a_thread_that_was_stopped_by_one() {
    let mut bench = bench(ThreadKind::OneShot, &["limit"]);
    bench.thread.limits.turns = Some(0);
    bench.prompt("one", PromptMode::FollowUp);
    bench.decide(Some(Control::Suspend));
    let effects = bench.feed(Event::Settings(SettingsEvent::LimitsChanged { limits: Limits::default() }));
    bench.send(&effects);
    let mut bench = super::control::bench(ThreadKind::OneShot, &["limit"]);
    bench.thread.limits.turns = Some(0);
    bench.prompt("one", PromptMode::FollowUp);
    bench.decide(Some(Control::Suspend));
    assert_eq!(
        bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn })),
        [Effect::End(Status::Cancelled)]
    );
}

#[test]
fn hooks_are_asked_after_each_round_of_tools_and_before_the_end() {
    let round = |action| {
        let mut bench = bench(ThreadKind::OneShot, &["after_step", "after_complete"]);
        bench.calling("go");
        bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
        let effects = bench.feed(result("a"));
        assert!(matches!(effects.as_slice(), [Effect::RunTool { .. }]), "one question a round");
        let (event, fields) = asked(&bench.feed(result("b")));
        assert_eq!((event, &fields["cost"]["turns"]), ("after_step", &json!(1)));
        assert_eq!((&fields["cost"]["current"], &fields["cost"]["tokens"]), (&json!(7e-6), &json!(15)));
        let effects = bench.decide(action);
        (bench, effects)
    };
    for action in [None, Some(Control::Continue)] {
        let (mut bench, effects) = round(action);
        bench.send(&effects);
        let (event, _) = asked(&bench.answer(Message::assistant("done"), StopReason::EndTurn));
        assert_eq!(event, "after_complete");
        assert_eq!(bench.decide(None), [Effect::End(Status::Completed)]);
        bench.replayed();
    }
    let (mut bench, effects) = round(Some(Control::Suspend));
    assert_eq!(effects, [Effect::End(Status::Suspended)]);
    bench.calling("on");
    // The last question comes before an error, too, and no answer to it makes another end.
    for last in [None, Some(Control::Continue), Some(Control::Suspend), Some(Control::Abort)] {
        let (mut bench, effects) = round(Some(Control::Fail));
        let (event, fields) = asked(&effects);
        assert_eq!((event, &fields["status"]), ("after_complete", &json!("error")));
        let error = fields["error"]["message"].as_str().unwrap().to_owned();
        bench.decide(last);
        assert_eq!(bench.thread.status(), Status::Error);
        assert!(matches!(bench.ended(), Event::Thread(ThreadEvent::ThreadError { error: told, .. }) if *told == error));
        bench.replayed();
    }
    let (bench, _) = round(Some(Control::Abort));
    assert_eq!(bench.thread.status(), Status::Cancelled);
}

/// Two turns behind it, the second with tools, and a third prompt on its way.
fn long(asks: &[&str]) -> Bench {
    let mut bench = bench(ThreadKind::Interactive, asks);
    bench.calling("one");
    bench.answer(Message::assistant("1"), StopReason::EndTurn);
    bench.calling("two");
    bench.answer(calls(&["a"]), StopReason::ToolUse);
    let effects = bench.feed(result("a"));
    bench.send(&effects);
    bench.answer(Message::assistant("2"), StopReason::EndTurn);
    bench.prompt("three", PromptMode::FollowUp);
    bench
}

#[test]
fn a_full_window_makes_room_and_then_sends() {
    let mut bench = long(&[]);
    assert_eq!(bench.full(), [Effect::MakeRoom { request: 4 }]);
    assert_eq!(bench.thread.phase, Phase::Compacting { request: 4, room: CompactionCause::ForRequest { attempt: 1 } });
    let (model, turn) = (bench.thread.model.clone(), bench.thread.turn());
    let sent = bench.feed(Event::Request(RequestEvent::RequestRecorded {
        request: 4,
        turn,
        attempt: 1,
        model,
        tokens: Tokens(0),
    }));
    assert_eq!(sent, [Effect::Send { request: 4 }]);
    let before = bench.thread.cost;
    let effects = bench.compacted(2);
    assert_eq!(effects, [Effect::Prepare { request: 5, attempt: 1 }]);
    assert_eq!(bench.said().iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["2", "three"]);
    let opening = bench.thread.opening.clone().unwrap();
    let told: Vec<_> = opening.iter().map(|piece| (piece.kind, &*piece.text)).collect();
    assert_eq!(told, [(LayerKind::Summary, "what was said")]);
    assert_eq!(bench.thread.cost.spend, before.spend + Money(3));
    assert_eq!(bench.thread.cost.turns, before.turns, "a summary is no turn");
    let summary = Tokens::estimate("what was said");
    assert_eq!((bench.thread.context(), bench.thread.counted), (bench.thread.conversation() + summary, None));
    bench.send(&effects);
    bench.answer(Message::assistant("3"), StopReason::EndTurn);
    bench.replayed();
}

#[test]
fn what_was_said_last_stays_whatever_gives_way() {
    let mut bench = bench(ThreadKind::Interactive, &[]);
    bench.calling("the task");
    for id in ["a", "b"] {
        bench.answer(calls(&[id]), StopReason::ToolUse);
        let effects = bench.feed(result(id));
        if id == "a" {
            bench.send(&effects);
        }
    }
    bench.full();
    bench.compacted(2);
    let history = &bench.thread.history;
    assert_eq!((history.len(), history[0].message.text().as_str()), (3, "the task"));
    assert_eq!(history[1].message.calls().next().unwrap().call_id.0, "b");
    // A second summary takes the place of the first.
    bench.thread.made_room = false;
    bench.thread.phase = Phase::Preparing { request: 9, attempt: 1 };
    bench.full();
    bench.compacted(0);
    let kinds = bench.thread.opening.as_ref().unwrap().iter().filter(|piece| piece.kind == LayerKind::Summary);
    assert_eq!(kinds.count(), 1);
}

#[test]
fn each_answer_to_a_full_window_does_what_it_says() {
    let full = |action| {
        let mut bench = long(&["context_limit_reached"]);
        let (event, fields) = asked(&bench.full());
        assert_eq!((event, &fields["usage_ratio"]), ("context_limit_reached", &json!(0.95)));
        assert_eq!((&fields["tokens_used"], &fields["tokens_limit"]), (&json!(95), &json!(100)));
        let effects = bench.decide(action);
        bench.replayed();
        (bench, effects)
    };
    for action in [None, Some(Control::Continue), Some(Control::Retry)] {
        assert_eq!(full(action).1, [Effect::MakeRoom { request: 4 }]);
    }
    let (bench, effects) = full(Some(Control::Skip));
    assert_eq!(effects, [Effect::Prepare { request: 4, attempt: 1 }]);
    assert!(bench.thread.made_room, "it is not asked again for this request");
    assert_eq!(full(Some(Control::Fail)).0.thread.status(), Status::Error);
    let (bench, _) = full(Some(Control::Suspend));
    assert!(matches!(bench.ended(), Event::Control(ControlEvent::ThreadSuspended { reason, .. })
        if reason == "the context takes 95 % of the window; use /compact, then send a message to continue"));
}

#[test]
fn a_large_share_is_told_once_and_asked_about() {
    let mut bench = long(&["context_window_pressure"]);
    let pressure = || {
        Event::Context(ContextEvent::ContextWindowPressure {
            usage_ratio: 0.8,
            tokens_used: Tokens(80),
            tokens_limit: Tokens(100),
        })
    };
    let (event, fields) = asked(&bench.feed(pressure()));
    assert_eq!((event, &fields["pressure_ratio"]), ("context_window_pressure", &json!(0.8)));
    let effects = bench.decide(None);
    assert_eq!(effects, [Effect::Prepare { request: 4, attempt: 1 }]);
    assert!(bench.thread.pressed);
    let mut bench = long(&[]);
    assert_eq!(bench.feed(pressure()), [Effect::Prepare { request: 4, attempt: 1 }]);
}

#[test]
fn a_request_that_is_refused_as_too_long_makes_room_once() {
    let mut bench = long(&[]);
    let effects = vec![Effect::Prepare { request: 4, attempt: 1 }];
    bench.send(&effects);
    assert_eq!(bench.fail(ErrorCategory::ContextTooLong, 1), [Effect::MakeRoom { request: 5 }]);
    let effects = bench.compacted(1);
    bench.send(&effects);
    assert_eq!(bench.fail(ErrorCategory::ContextTooLong, 1), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
    bench.replayed();
}

#[test]
fn room_can_be_asked_for_while_the_thread_waits() {
    let mut bench = long(&[]);
    assert_eq!(bench.feed(Event::Context(ContextEvent::CompactRequested { instructions: None })), [], "it works");
    bench.send(&[Effect::Prepare { request: 4, attempt: 1 }]);
    bench.answer(Message::assistant("3"), StopReason::EndTurn);
    assert_eq!(
        bench.feed(Event::Context(ContextEvent::CompactRequested { instructions: None })),
        [Effect::MakeRoom { request: 5 }]
    );
    assert_eq!(bench.prompt("meanwhile", PromptMode::FollowUp), []);
    let effects = bench.compacted(1);
    bench.send(&effects);
    assert_eq!(bench.said().last().unwrap().1, "meanwhile");
}

#[test]
fn making_room_can_be_cancelled() {
    let mut bench = long(&[]);
    bench.full();
    assert_eq!(
        bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn })),
        [Effect::StopCall]
    );
    assert_eq!(bench.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 })), []);
    assert_eq!((bench.thread.phase.clone(), bench.thread.history.len()), (Phase::Idle, 7));
    bench.replayed();
}

#[test]
fn a_log_without_rules_behaves_as_before_there_were_any() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    assert!(matches!(bench.fail(ErrorCategory::ContextTooLong, 1).as_slice(), []), "no window is known");
    assert_eq!(bench.thread.phase, Phase::Idle);
    assert!(bench.thread.rules.asks.is_empty());
}

#[test]
fn a_log_that_does_not_tell_when_retries_were_due_leads_to_the_same_thread() {
    // Cut answers until nothing more is tried: the last is kept.
    let mut cut = bench(Interactive, &["error"]);
    cut.calling("go");
    for attempt in 1..=4 {
        let half = Message::assistant(format!("half {attempt}"));
        cut.answer(half, StopReason::Truncated { detail: "cut".into() });
        cut.decide(None);
        cut.replayed();
        if attempt < 4 {
            let effects = cut.feed(Event::Request(RequestEvent::RetryDue { attempt: attempt + 1 }));
            cut.send(&effects);
            cut.replayed();
        }
    }
    assert_eq!(cut.said().last().unwrap().1, "half 4");
    // Something steers in the pause.
    let mut steered = bench(Interactive, &[]);
    steered.calling("go");
    steered.fail(ErrorCategory::Transient, 1);
    steered.prompt("this way", PromptMode::Steer);
    let effects = steered.feed(Event::Request(RequestEvent::RetryDue { attempt: 2 }));
    steered.send(&effects);
    steered.answer(Message::assistant("so"), StopReason::EndTurn);
    steered.replayed();
    // The next request cannot be made, or fills the window.
    for full in [false, true] {
        let mut bench = bench(Interactive, &[]);
        bench.calling("go");
        bench.fail(ErrorCategory::Transient, 1);
        bench.feed(Event::Request(RequestEvent::RetryDue { attempt: 2 }));
        if full {
            assert_eq!(bench.full(), [Effect::MakeRoom { request: 2 }]);
        } else {
            bench.fail(ErrorCategory::Permanent, 2);
        }
        bench.replayed();
    }
}

#[test]
fn what_waits_in_the_queue_when_a_turn_is_given_up_is_told_and_goes_on_with_the_next_message() {
    let mut bench = bench(Interactive, &[]);
    bench.calling("go");
    bench.prompt("later", PromptMode::FollowUp);
    assert_eq!(bench.fail(ErrorCategory::Permanent, 1), []);
    assert!(matches!(bench.ended(), Event::Thread(ThreadEvent::Notice { text })
        if text == "1 message waits in the queue; send another to continue, or take it back"));
    bench.calling("now");
    assert_eq!(bench.said().last().unwrap().1, "later");
    bench.thread.limits.turns = Some(1);
    bench.answer(calls(&["a"]), StopReason::ToolUse);
    bench.feed(result("a"));
    assert_eq!((bench.thread.phase.clone(), bench.thread.queue.len()), (Phase::Idle, 1));
    assert!(matches!(bench.ended(), Event::Thread(ThreadEvent::Notice { .. })));
}

#[test]
fn room_that_is_asked_for_leaves_the_thread_as_it_stood() {
    let limited = || {
        let mut bench = bench(Interactive, &["limit"]);
        bench.thread.limits.turns = Some(1);
        bench.calling("one");
        bench.answer(Message::assistant("1"), StopReason::EndTurn);
        bench.prompt("two", PromptMode::FollowUp);
        bench.decide(Some(Control::Escalate));
        assert_eq!(
            bench.feed(Event::Context(ContextEvent::CompactRequested { instructions: None })),
            [Effect::MakeRoom { request: 2 }]
        );
        bench
    };
    let suspended = Phase::Suspended { limit: Some(LimitKind::Turns) };
    let (mut made, mut stopped, mut dead) = (limited(), limited(), limited());
    assert_eq!(made.compacted(1), []);
    assert_eq!(
        stopped.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn })),
        [Effect::StopCall]
    );
    assert_eq!(stopped.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 })), []);
    dead.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 2, version: "1".into() }));
    for mut bench in [made, stopped, dead] {
        assert_eq!(bench.thread.phase, suspended);
        bench.calling("on");
        assert_eq!(bench.thread.limits.turns, Some(2), "as much again");
    }
    let mut meanwhile = limited();
    assert_eq!(meanwhile.prompt("on", PromptMode::FollowUp), []);
    let effects = meanwhile.compacted(1);
    meanwhile.send(&effects);
    assert_eq!(meanwhile.thread.limits.turns, Some(2));
}

#[test]
fn room_can_be_made_in_a_thread_that_ended_if_a_person_can_go_on_with_it() {
    let ended = |kind| {
        let mut bench = bench(kind, &["error"]);
        bench.calling("go");
        bench.fail(ErrorCategory::Permanent, 1);
        bench.decide(Some(Control::Fail));
        assert_eq!(bench.thread.status(), Status::Error);
        let effects = bench.feed(Event::Context(ContextEvent::CompactRequested { instructions: None }));
        (bench, effects)
    };
    let (mut bench, effects) = ended(Interactive);
    assert_eq!(effects, [Effect::MakeRoom { request: 2 }]);
    bench.compacted(1);
    assert_eq!(bench.thread.status(), Status::Error);
    bench.replayed();
    bench.calling("again");
    assert_eq!(ended(OneShot).1, []);
}

#[test]
fn what_a_call_without_an_answer_costs_is_counted() {
    let mut bench = bench(Interactive, &[]);
    let usage = Usage { input: Tokens(80), output: Tokens(8), ..Usage::default() };
    bench.feed(Event::Request(RequestEvent::CallCharged { request: 1, usage, spend: Some(Money(3)) }));
    assert_eq!((bench.thread.cost.usage, bench.thread.cost.spend, bench.thread.cost.turns), (usage, Money(3), 0));
}

/// The rules of `long`, with another thread that goes on where the window is full.
fn hands_off(bench: &mut Bench) {
    let window = WindowRules { hands_off: true, ..WindowRules::default() };
    let rules = Rules { window: Some(window), ..Rules::clone(&bench.thread.rules) };
    bench.feed(Event::Settings(SettingsEvent::RulesSet { rules }));
}

fn handed_off() -> Event {
    Event::Thread(ThreadEvent::ThreadHandoff {
        new_thread_id: ThreadId::new("next", 7),
        directive: "chat".into(),
        kept: 2,
        summarised: 4,
        dropped: 0,
        tokens_before: Tokens(90),
        tokens_after: Tokens(20),
        queued: 0,
        request: Some(4),
        usage: Usage { input: Tokens(80), ..Usage::default() },
        spend: Some(Money(3)),
        reason: None,
    })
}

#[test]
fn a_thread_that_is_handed_off_ends_once_hooks_have_heard_of_it_whatever_they_say() {
    for action in [None, Some(Control::Fail), Some(Control::Suspend), Some(Control::Continue)] {
        let mut bench = long(&["after_complete"]);
        hands_off(&mut bench);
        assert_eq!(bench.full(), [Effect::MakeRoom { request: 4 }]);
        let before = bench.thread.cost.spend;
        assert_eq!(bench.thread.handoff, Handoff::Full);
        let (event, fields) = asked(&bench.feed(handed_off()));
        assert_eq!((event, &fields["continuation_thread_id"]), ("after_complete", &json!("next-7")));
        assert_eq!(bench.decide(action), [Effect::End(Status::Continued)]);
        assert!(matches!(bench.ended(), Event::Thread(ThreadEvent::ThreadContinued { .. })), "{action:?}");
        assert_eq!((bench.thread.status(), bench.thread.cost.spend), (Status::Continued, before + Money(3)));
        assert!(!bench.thread.can_take() && bench.thread.queue.is_empty());
        bench.replayed();
    }
}

#[test]
fn a_thread_that_could_not_be_handed_off_goes_on_with_room() {
    let mut bench = long(&[]);
    hands_off(&mut bench);
    bench.full();
    assert_eq!(bench.compacted(2), [Effect::Prepare { request: 4, attempt: 1 }]);
    assert_eq!(bench.thread.handoff, Handoff::No);
    // What only inherited messages cannot be made smaller by handing them on.
    let mut next = bench_of_inherited();
    hands_off(&mut next);
    next.full();
    assert_eq!(next.thread.handoff, Handoff::No);
}

fn bench_of_inherited() -> Bench {
    let mut bench = bench(OneShot, &[]);
    let messages = vec![Message::user("before"), Message::assistant("1")];
    let from = ThreadId::new("old", 1);
    bench.feed(Event::Context(ContextEvent::ContextInherited { from, messages, summarised: 4, dropped: 0 }));
    assert_eq!((bench.thread.inherited, bench.thread.history.len()), (2, 2));
    bench.calling("go on");
    bench
}

#[test]
fn a_handoff_that_is_asked_for_waits_for_the_next_request() {
    let mut working = bench(OneShot, &[]);
    working.calling("go");
    assert_eq!(working.feed(Event::Context(ContextEvent::HandoffRequested {})), []);
    working.answer(calls(&["a"]), StopReason::ToolUse);
    assert_eq!(working.feed(result("a")), [Effect::MakeRoom { request: 2 }]);
    assert_eq!(working.thread.handoff, Handoff::Asked);
    working.replayed();
    // The person asks in an idle thread: nothing is left to do, and a message that comes meanwhile goes along.
    let mut idle = bench(Interactive, &[]);
    idle.calling("one");
    idle.answer(Message::assistant("1"), StopReason::EndTurn);
    assert_eq!(idle.feed(Event::Context(ContextEvent::HandoffRequested {})), [Effect::MakeRoom { request: 2 }]);
    assert_eq!(idle.prompt("meanwhile", PromptMode::FollowUp), []);
    assert_eq!(idle.feed(handed_off()), [Effect::End(Status::Continued)]);
    assert_eq!(idle.thread.queue, []);
    idle.replayed();
}
