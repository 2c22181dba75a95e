//! Calls that hooks make before they answer.

use super::*;
use crate::domain::{Control, HookCall, HookStep, Rules};
use serde_json::json;

/// A hook that calls these tools.
fn step(hook: &str, tools: &[&str]) -> HookStep {
    let call = |(number, tool): (usize, &&str)| HookCall {
        call: ToolCall { call_id: CallId(format!("{hook}-{number}")), tool: (*tool).to_owned(), input: json!({}) },
        within_ms: 500,
    };
    let calls = tools.iter().enumerate().map(call).collect();
    HookStep { hook: hook.into(), why: "it holds".into(), action: None, calls, optional: false, unheard: false }
}

/// A one-shot thread whose hooks are asked after its last answer.
fn asked() -> Bench {
    let mut bench = Bench::new(ThreadKind::OneShot);
    let rules = Rules { asks: vec!["after_complete".into()], ..Rules::default() };
    bench.feed(Event::Settings(SettingsEvent::RulesSet { rules }));
    bench.calling("hi");
    let effects = bench.answer(Message::assistant("done"), StopReason::EndTurn);
    assert!(matches!(effects[..], [Effect::AskHooks { event: "after_complete", .. }]), "{effects:?}");
    bench
}

impl Bench {
    fn call(&mut self, hooks: Vec<HookStep>) -> Vec<Effect> {
        self.feed(Event::Control(ControlEvent::HooksCalled { event: "after_complete".into(), hooks }))
    }

    fn gives(&mut self, call_id: &str, output: &str, failed: bool) -> Vec<Effect> {
        let (call_id, output) = (CallId(call_id.into()), output.to_owned());
        let error = failed.then(|| output.clone());
        self.feed(Event::Tool(ToolEvent::ToolCallResult { call_id, output, error }))
    }

    /// What hooks decided last: whose answer, which, and why.
    fn decided(&self) -> Option<(Option<String>, Option<Control>, String)> {
        let decided = |record: &Record| {
            let Event::Control(ControlEvent::HookDecided { hook, action, why, .. }) = &record.event else {
                return None;
            };
            Some((hook.clone(), *action, why.clone()))
        };
        self.log.iter().rev().find_map(decided)
    }

    fn is_replayed(&self) {
        let mut again = Bench::new(self.thread.kind).thread;
        for record in self.log.iter().filter(|record| record.event.is_durable()) {
            let _done_then = apply(&mut again, record);
        }
        assert_eq!(again, self.thread);
    }
}

#[test]
fn calls_of_hooks_run_one_after_the_other_and_the_thread_waits_for_them() {
    let mut bench = asked();
    let effects = bench.call(vec![step("first", &["ls", "look"]), step("second", &["ls"])]);
    let [Effect::RunTool { call, within_ms: Some(500), .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((call.call_id.0.as_str(), bench.thread.status()), ("first-0", Status::Running));
    // The second may run beside others, and does not.
    let effects = bench.gives("first-0", "ok", false);
    assert!(matches!(&effects[..], [Effect::RunTool { call, .. }] if call.call_id.0 == "first-1"), "{effects:?}");
    let effects = bench.gives("first-1", "ok", false);
    assert!(matches!(&effects[..], [Effect::RunTool { call, .. }] if call.call_id.0 == "second-0"), "{effects:?}");
    bench.is_replayed();
    assert_eq!(bench.gives("second-0", "ok", false), [Effect::End(Status::Completed)]);
    assert_eq!(bench.decided().unwrap(), (None, None, "no hook had an answer".to_owned()));
    assert_eq!(bench.thread.hook_calls, 3);
    // What hooks are told is no part of the conversation.
    assert_eq!(bench.said().len(), 2);
    bench.is_replayed();
}

#[test]
fn a_failed_call_of_a_hook_ends_the_thread_and_what_was_to_follow_is_not_called() {
    for denied in [false, true] {
        let mut bench = asked();
        let tools: &[&str] = if denied { &["unknown", "ls"] } else { &["ls", "look"] };
        let mut effects = bench.call(vec![step("check", tools), step("later", &["ls"])]);
        if !denied {
            effects = bench.gives("check-0", "\nit is broken\nmore", true);
        }
        assert_eq!(effects, [Effect::End(Status::Error)], "{denied}");
        let (hook, action, why) = bench.decided().unwrap();
        assert_eq!((hook.as_deref(), action), (Some("check"), Some(Control::Fail)));
        let expected = if denied { "Permission denied" } else { "its call of ls failed: it is broken" };
        assert!(why.contains(expected), "{why}");
        bench.is_replayed();
    }
}

#[test]
fn an_optional_hook_may_fail_and_the_first_answer_counts() {
    let mut bench = asked();
    let optional = HookStep { optional: true, ..step("note", &["ls"]) };
    let unheard = HookStep { optional: true, unheard: true, ..step("infra", &["ls"]) };
    let suspends = HookStep { action: Some(Control::Suspend), ..step("late", &[]) };
    bench.call(vec![optional, unheard, step("gate", &["look"]), suspends]);
    bench.gives("note-0", "broken", true);
    bench.gives("infra-0", r#"{"action": "abort"}"#, false);
    let effects = bench.gives("gate-0", r#"{"success": true, "outputs": {"action": "fail"}}"#, false);
    assert_eq!(effects, [Effect::End(Status::Error)]);
    assert_eq!(
        bench.decided().unwrap(),
        (Some("gate".into()), Some(Control::Fail), "its call of look answered".into())
    );
}

#[test]
fn a_cancel_stops_calls_of_hooks_and_each_that_had_begun_gets_a_result() {
    let mut bench = asked();
    bench.call(vec![step("long", &["ls", "look"])]);
    let effects = bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Thread }));
    assert_eq!(effects, [Effect::StopTools, Effect::End(Status::Cancelled)]);
    let results: Vec<&Event> = bench
        .log
        .iter()
        .map(|record| &record.event)
        .filter(|event| matches!(event, Event::Tool(ToolEvent::ToolCallResult { .. })))
        .collect();
    assert_eq!(results.len(), 1, "{results:?}");
    bench.is_replayed();
}

#[test]
fn a_call_of_a_hook_is_asked_about_like_any_and_the_question_outlives_the_process() {
    let mut bench = asked();
    bench.thread.lineage.attended = true;
    assert_eq!(bench.call(vec![step("careful", &["rm"])]), []);
    assert_eq!((bench.thread.status(), bench.thread.waiting()), (Status::Waiting, Some(Waiting::Approval)));
    let id = bench.thread.approval().unwrap().id;
    bench.feed(Event::Thread(ThreadEvent::WorkerEnded { reason: EndReason::Asked }));
    bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 1, version: "x".into() }));
    assert!(bench.thread.approval().is_some());
    let decision = Approve::Once;
    let effects = bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id, decision, said: None }));
    assert!(matches!(&effects[..], [Effect::RunTool { within_ms: Some(500), .. }]), "{effects:?}");
    assert_eq!(bench.gives("careful-0", "gone", false), [Effect::End(Status::Completed)]);
}

#[test]
fn a_call_of_a_hook_whose_process_died_has_a_result() {
    let mut bench = asked();
    bench.call(vec![step("long", &["ls"])]);
    bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 1, version: "x".into() }));
    assert!(matches!(&bench.log.last().unwrap().event, Event::Tool(ToolEvent::ToolCallResult { error: Some(_), .. })));
    assert_eq!(bench.thread.phase, Phase::Idle);
    bench.is_replayed();
}
