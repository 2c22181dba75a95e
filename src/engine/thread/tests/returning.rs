//! How a directive hands back what it promises.

use super::*;
use crate::domain::capability::RETURN;
use crate::domain::{ApprovalEvent, ControlEvent, SettingsEvent, ThreadEvent};
use serde_json::{Value, json};

/// The model has called the tool by which the directive returns, and it was taken.
fn returned(bench: &mut Bench, outputs: &Value) -> Vec<Effect> {
    bench.calling("go");
    let call = ToolCall { call_id: CallId("1".into()), tool: RETURN.into(), input: outputs.clone() };
    let blocks = vec![Block::ToolCall(call.clone())];
    let effects = bench.answer(Message { role: Role::Assistant, blocks }, StopReason::ToolUse);
    // What is promised may be handed back without a grant.
    let run = Effect::RunTool { call, item: RETURN.into(), preview: None, confined: false, within_ms: None };
    assert_eq!(effects.last(), Some(&run));
    let cost = bench.thread.cost;
    let error = outputs["error_detail"].as_str().map(str::to_owned);
    assert_eq!(bench.feed(Event::Thread(ThreadEvent::DirectiveReturn { outputs: outputs.clone(), cost, error })), []);
    bench.feed(result("1"))
}

fn last(bench: &Bench) -> &Event {
    &bench.log.last().unwrap().event
}

#[test]
fn a_one_shot_thread_that_returned_is_done() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    let effects = returned(&mut bench, &json!({"verdict": "good"}));
    assert_eq!(effects, [Effect::End(Status::Completed)]);
    assert!(matches!(last(&bench), Event::Thread(ThreadEvent::ThreadCompleted { .. })));
}

#[test]
fn an_interactive_thread_that_returned_waits() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    assert_eq!(returned(&mut bench, &json!({"verdict": "good"})), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
}

#[test]
fn what_cannot_be_done_ends_in_an_error_that_says_why() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    returned(&mut bench, &json!({"status": "error", "error_detail": "no key"}));
    let Event::Thread(ThreadEvent::ThreadError { error, .. }) = last(&bench) else { panic!("{:?}", last(&bench)) };
    assert_eq!(error, "no key");
}

#[test]
fn hooks_of_the_return_see_what_was_handed_back() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    let asks = vec!["directive_return".to_owned()];
    bench.feed(Event::Settings(SettingsEvent::RulesSet {
        rules: crate::domain::Rules { asks, ..crate::domain::Rules::default() },
    }));
    let effects = returned(&mut bench, &json!({"verdict": "mend"}));
    let [Effect::AskHooks { event: "directive_return", fields }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((&fields["outputs"]["verdict"], &fields["cost"]["turns"]), (&json!("mend"), &json!(1)));
    let suspend = Some(crate::domain::Control::Suspend);
    bench.feed(Event::Control(ControlEvent::HookDecided {
        event: "directive_return".into(),
        hook: None,
        action: suspend,
        why: String::new(),
    }));
    assert!(matches!(last(&bench), Event::Control(ControlEvent::ThreadSuspended { .. })));
}

#[test]
fn a_steering_message_outlives_the_return() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    bench.calling("go");
    let call = ToolCall { call_id: CallId("1".into()), tool: RETURN.into(), input: json!({}) };
    bench.answer(Message { role: Role::Assistant, blocks: vec![Block::ToolCall(call)] }, StopReason::ToolUse);
    let _queued = bench.prompt("one more thing", PromptMode::Steer);
    let cost = bench.thread.cost;
    bench.feed(Event::Thread(ThreadEvent::DirectiveReturn { outputs: json!({}), cost, error: None }));
    let effects = bench.feed(result("1"));
    assert!(matches!(effects.last(), Some(Effect::Prepare { .. })), "{effects:?}");
}

#[test]
fn a_hook_asks_for_another_round() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    let asks = vec!["directive_return".to_owned()];
    bench.feed(Event::Settings(SettingsEvent::RulesSet {
        rules: crate::domain::Rules { asks, ..crate::domain::Rules::default() },
    }));
    returned(&mut bench, &json!({"verdict": "mend"}));
    let action = Some(crate::domain::Control::Continue);
    let effects = bench.feed(Event::Control(ControlEvent::HookDecided {
        event: "directive_return".into(),
        hook: None,
        action,
        why: String::new(),
    }));
    assert!(matches!(effects.last(), Some(Effect::Prepare { .. })), "{effects:?}");
}

#[test]
fn a_thread_that_returned_asks_nothing_more_until_somebody_speaks() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    returned(&mut bench, &json!({"verdict": "good"}));
    assert_eq!(bench.feed(Event::Settings(SettingsEvent::LimitsChanged { limits: Limits::default() })), []);
    let effects = bench.prompt("and now?", PromptMode::FollowUp);
    assert!(matches!(effects.last(), Some(Effect::Prepare { .. })), "{effects:?}");
}

/// What a person allows is what they saw, whatever stars a model wrote into it.
#[test]
fn allowing_for_the_thread_allows_no_pattern_of_the_models() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.thread.permissions.grants = vec![Grant::new("rye.execute.*", true)];
    bench.calling("go");
    bench.answer(calls_of("r*", &["1", "2"]), StopReason::ToolUse);
    let asked = bench.thread.approval().unwrap();
    let (id, capability) = (asked.id, asked.capability.clone());
    assert_eq!(capability, "rye.execute.tool.r*");
    bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven {
        id,
        decision: crate::domain::event::Approve::Thread,
        said: None,
    }));
    let verdict = |name: &str| bench.thread.permissions.verdict(&[name.to_owned()]);
    assert_eq!(verdict("rye.execute.tool.r*"), crate::domain::Verdict::Allowed);
    assert_eq!(verdict("rye.execute.tool.rye.bash"), crate::domain::Verdict::Ask);
}
