//! Transitions: events in, state and effects out.

use super::{Effect, Filing, Phase, Thread, apply};
use crate::domain::capability::to_execute;
use crate::domain::event::{Approve, CallError, CancelScope, EndReason, ErrorCategory, PromptMode, StopReason};
use crate::domain::{
    ApprovalEvent, Block, CallId, ControlEvent, Cost, Event, FollowUp, Grant, KnownTool, Limits, Message, ModelRef,
    Money, Origin, PromptEvent, Record, RequestEvent, Role, Rules, SettingsEvent, Status, Steering, ThreadEvent,
    ThreadId, ThreadKind, Timestamp, Tokens, ToolCall, ToolEvent, ToolSpec, Usage, Waiting,
};
use crate::engine::permission;
use std::collections::VecDeque;

mod branches;
mod calls;
mod children;
mod control;
mod hooks;
mod pipeline;
mod returning;

/// A thread driven without a driver: emitted events are applied at once, calls are decided about by the rule, the other
/// effects are collected.
struct Bench {
    thread: Thread,
    now: u64,
    log: Vec<Record>,
}

impl Bench {
    fn new(kind: ThreadKind) -> Self {
        let model = ModelRef::new("scripted", "demo");
        let mut thread = Thread::new(ThreadId::new("chat", 1), "levain/chat", kind, model, Limits::default());
        let grant = |tool: &str, ask| Grant::new(to_execute(tool), ask);
        thread.permissions.grants =
            vec![grant("ls", false), grant("rm", true), grant("look", false), grant("peek", true)];
        Self { thread, now: 1_000, log: Vec::new() }
    }

    fn feed(&mut self, event: Event) -> Vec<Effect> {
        let mut todo = VecDeque::from([Effect::Emit(event)]);
        let mut rest = Vec::new();
        while let Some(effect) = todo.pop_front() {
            let event = if let Effect::Emit(event) = effect {
                event
            } else if let Effect::TakePrompt { prompt } = effect {
                self.joins(prompt)
            } else if let Effect::Authorise(call) = &effect {
                let meant = permission::meant(&[parallel("look"), parallel("peek")], call);
                match (self.thread.begins_beside(&call.call_id), permission::decide(&self.thread, meant.clone(), call))
                {
                    (None, _) | (Some(true), Event::Approval(ApprovalEvent::ApprovalRequested { .. })) => continue,
                    (Some(true), _) if !meant.parallel => continue,
                    (Some(_), event) => event,
                }
            } else {
                rest.push(effect);
                continue;
            };
            self.now += 10;
            let record = Record { timestamp: Timestamp(self.now), thread_id: self.thread.id.clone(), event };
            for effect in apply(&mut self.thread, &record).into_iter().rev() {
                todo.push_front(effect);
            }
            self.log.push(record);
        }
        rest
    }

    /// How a prompt joins that meets no handlers.
    fn joins(&self, prompt: u64) -> Event {
        let queued = self.thread.queue.iter().find(|queued| queued.prompt == prompt).unwrap().clone();
        Event::Prompt(PromptEvent::CognitionIn {
            text: queued.text,
            role: "user".into(),
            prompt: Some(prompt),
            images: queued.images,
            files: queued.files,
        })
    }

    /// From here on with other rules.
    fn steering(&mut self, steering: Steering) {
        let rules = Rules { steering, ..Rules::clone(&self.thread.rules) };
        self.feed(Event::Settings(SettingsEvent::RulesSet { rules }));
    }

    fn prompt(&mut self, text: &str, mode: PromptMode) -> Vec<Effect> {
        let prompt = self.thread.prompts + 1;
        self.feed(Event::Prompt(PromptEvent::PromptQueued {
            prompt,
            text: text.into(),
            mode,
            images: Vec::new(),
            files: Vec::new(),
            client: None,
        }))
    }

    /// Sends a prompt and gets as far as a call under way.
    fn calling(&mut self, text: &str) {
        let effects = self.prompt(text, PromptMode::FollowUp);
        self.send(&effects);
    }

    fn send(&mut self, effects: &[Effect]) {
        let Some(Effect::Prepare { request, attempt }) = effects.last() else { panic!("no request in {effects:?}") };
        let (request, attempt, turn) = (*request, *attempt, self.thread.turn());
        let model = self.thread.model.clone();
        let sent = self.feed(Event::Request(RequestEvent::RequestRecorded {
            request,
            turn,
            attempt,
            model,
            tokens: self.thread.conversation(),
        }));
        assert_eq!(sent, [Effect::Send { request }]);
    }

    fn answer(&mut self, message: Message, stop: StopReason) -> Vec<Effect> {
        let usage = Usage { input: Tokens(10), output: Tokens(5), ..Usage::default() };
        self.feed(Event::Request(RequestEvent::CognitionOut {
            text: message.text(),
            model: self.thread.model.clone(),
            request: self.thread.requests,
            stop,
            usage,
            spend: Some(Money(7)),
            message,
            elapsed_ms: 5,
        }))
    }

    fn fail(&mut self, category: ErrorCategory, attempt: u32) -> Vec<Effect> {
        let error =
            CallError { category, code: "x".into(), message: "it broke".into(), status: None, retry_after_ms: None };
        self.feed(Event::Request(RequestEvent::ErrorClassified { request: self.thread.requests, attempt, error }))
    }

    fn said(&self) -> Vec<(Role, String)> {
        self.thread.history.iter().map(|entry| (entry.message.role, entry.message.text())).collect()
    }
}

/// A tool whose calls run side by side.
fn parallel(item: &str) -> KnownTool {
    let spec = ToolSpec { name: item.into(), description: String::new(), schema: serde_json::json!({}) };
    KnownTool {
        item: item.into(),
        aliases: Vec::new(),
        origin: Origin::Thread,
        absent: None,
        parallel: true,
        confinable: false,
        spec,
    }
}

fn calls(ids: &[&str]) -> Message {
    calls_of("ls", ids)
}

fn calls_of(tool: &str, ids: &[&str]) -> Message {
    let blocks = ids.iter().map(|id| {
        Block::ToolCall(ToolCall { call_id: CallId((*id).into()), tool: tool.into(), input: serde_json::json!({}) })
    });
    Message { role: Role::Assistant, blocks: blocks.collect() }
}

/// Outputs and failures of the newest results in the history.
fn results(bench: &Bench) -> Vec<(String, bool)> {
    let results = bench.thread.history.iter().rev().map(|entry| &entry.message.blocks).find_map(|blocks| {
        let found: Vec<_> = blocks
            .iter()
            .filter_map(|block| {
                let Block::ToolResult { output, error, .. } = block else { return None };
                Some((output.clone(), *error))
            })
            .collect();
        (!found.is_empty()).then_some(found)
    });
    results.unwrap()
}

fn result(id: &str) -> Event {
    Event::Tool(ToolEvent::ToolCallResult { call_id: CallId(id.into()), output: "done".into(), error: None })
}

#[test]
fn an_interactive_thread_answers_and_waits() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("hi");
    assert_eq!(bench.thread.status(), Status::Running);
    assert_eq!(bench.answer(Message::assistant("hello"), StopReason::EndTurn), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
    assert_eq!(bench.said(), [(Role::User, "hi".into()), (Role::Assistant, "hello".into())]);
    assert_eq!((bench.thread.cost.turns, bench.thread.cost.spend), (1, Money(7)));
    assert_eq!(bench.thread.counted, Some(Tokens(15)));
    assert_eq!(bench.thread.context(), bench.thread.conversation());
}

#[test]
fn a_one_shot_thread_completes() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    bench.calling("go");
    let effects = bench.answer(Message::assistant("done"), StopReason::EndTurn);
    assert_eq!(effects, [Effect::End(Status::Completed)]);
    assert_eq!(bench.thread.status(), Status::Completed);
}

#[test]
fn what_is_sent_while_streaming_waits_for_the_next_turn() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("one");
    assert_eq!(bench.prompt("later", PromptMode::FollowUp), []);
    assert_eq!(bench.prompt("now", PromptMode::Steer), []);
    assert_eq!(bench.prompt("also now", PromptMode::Steer), []);
    let effects = bench.answer(Message::assistant("1"), StopReason::EndTurn);
    bench.send(&effects);
    let texts: Vec<_> = bench.said().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "1", "now", "also now"]);
    let effects = bench.answer(Message::assistant("2"), StopReason::EndTurn);
    bench.send(&effects);
    assert_eq!(bench.said().last().unwrap().1, "later");
    assert!(bench.thread.queue.is_empty());
}

#[test]
fn a_withdrawn_prompt_is_never_sent() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("one");
    bench.prompt("no", PromptMode::Steer);
    bench.feed(Event::Prompt(PromptEvent::PromptWithdrawn { prompt: 2, why: None }));
    assert_eq!(bench.answer(Message::assistant("1"), StopReason::EndTurn), []);
}

#[test]
fn queued_prompts_go_in_the_order_they_were_put_in() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("one");
    for text in ["a", "b", "c"] {
        bench.prompt(text, PromptMode::Steer);
    }
    // Number 9 is gone already; what is not named comes last.
    bench.feed(Event::Prompt(PromptEvent::QueueArranged { prompts: vec![9, 4, 2] }));
    let effects = bench.answer(Message::assistant("1"), StopReason::EndTurn);
    bench.send(&effects);
    let texts: Vec<_> = bench.said().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "1", "c", "a", "b"]);
}

#[test]
fn tool_calls_run_in_order_and_their_results_go_back_together() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    let effects = bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
    assert!(matches!(effects.as_slice(), [Effect::RunTool { call, .. }] if call.call_id.0 == "a"), "{effects:?}");
    let effects = bench.feed(result("a"));
    assert!(matches!(effects.as_slice(), [Effect::RunTool { call, .. }] if call.call_id.0 == "b"), "{effects:?}");
    let effects = bench.feed(result("b"));
    bench.send(&effects);
    assert_eq!(bench.thread.history.last().unwrap().message.blocks.len(), 2);
}

#[test]
fn cancelling_a_call_keeps_what_had_arrived() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    assert_eq!(
        bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn })),
        [Effect::StopCall]
    );
    bench.answer(Message::assistant("half"), StopReason::Cancelled);
    assert_eq!(bench.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 3 })), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
    assert_eq!(bench.said().last().unwrap(), &(Role::Assistant, "half".into()));
    assert_eq!(bench.thread.cost.turns, 0);
}

#[test]
fn cancelling_tools_answers_every_call() {
    for scope in [CancelScope::Turn, CancelScope::Thread] {
        let mut bench = Bench::new(ThreadKind::Interactive);
        bench.calling("go");
        bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
        let effects = bench.feed(Event::Control(ControlEvent::CancelRequested { scope }));
        assert_eq!(effects.first(), Some(&Effect::StopTools));
        let (waits, ended) = (bench.thread.phase == Phase::Idle, bench.thread.status() == Status::Cancelled);
        assert_eq!((waits, ended), (scope == CancelScope::Turn, scope == CancelScope::Thread));
        let last = bench.thread.history.last().unwrap();
        assert_eq!((last.message.role, last.message.blocks.len()), (Role::User, 2));
    }
}

#[test]
fn what_was_queued_waits_after_a_stop_until_it_is_let_go() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.prompt("rather this", PromptMode::Steer);
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }));
    assert_eq!(bench.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 })), []);
    assert_eq!((&bench.thread.phase, bench.thread.queue.len()), (&Phase::Idle, 1));
    let effects = bench.feed(Event::Prompt(PromptEvent::QueueReleased {}));
    bench.send(&effects);
    assert_eq!(bench.said().last().unwrap().1, "rather this");
}

#[test]
fn a_cancel_while_idle_changes_nothing() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    assert_eq!(bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn })), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
}

#[test]
fn failures_are_retried_and_the_tries_counted() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    for attempt in 1..4 {
        let effects = bench.fail(ErrorCategory::Transient, attempt);
        assert!(
            matches!(effects.as_slice(), [Effect::Wait { attempt: next, .. }] if *next == attempt + 1),
            "{effects:?}"
        );
        assert_eq!(bench.thread.status(), Status::Waiting);
        let effects = bench.feed(Event::Request(RequestEvent::RetryDue { attempt: attempt + 1 }));
        bench.send(&effects);
    }
    assert_eq!(bench.fail(ErrorCategory::Transient, 4), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
    assert_eq!(bench.thread.requests, 4);
    assert_eq!(bench.said().len(), 1, "the prompt is in the history once");
}

#[test]
fn a_final_failure_ends_a_one_shot_thread_only() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    bench.calling("go");
    assert_eq!(bench.fail(ErrorCategory::Auth, 1), [Effect::End(Status::Error)]);
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    assert_eq!(bench.fail(ErrorCategory::Auth, 1), []);
    assert_eq!(bench.thread.phase, Phase::Idle);
}

#[test]
fn a_cut_answer_is_tried_again_and_kept_in_the_end() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    let cut = || StopReason::Truncated { detail: "cut".into() };
    for attempt in 2..=4 {
        let effects = bench.answer(Message::assistant("ha"), cut());
        assert!(matches!(effects.as_slice(), [Effect::Wait { .. }]), "{effects:?}");
        assert_eq!(bench.said().len(), 1);
        let effects = bench.feed(Event::Request(RequestEvent::RetryDue { attempt }));
        bench.send(&effects);
    }
    assert_eq!(bench.answer(Message::assistant("half"), cut()), []);
    assert_eq!(bench.said().last().unwrap().1, "half");
    assert_eq!(bench.thread.cost.turns, 0, "no whole answer, no turn");
}

#[test]
fn a_limit_stops_before_the_call_and_a_higher_one_goes_on() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.thread.limits.turns = Some(1);
    bench.calling("one");
    bench.answer(Message::assistant("1"), StopReason::EndTurn);
    assert_eq!(bench.prompt("two", PromptMode::FollowUp), []);
    assert!(matches!(
        bench.log.last().unwrap().event,
        Event::Control(ControlEvent::Limit { current: 1, maximum: 1, .. })
    ));
    assert_eq!(bench.thread.phase, Phase::Idle);
    let effects = bench
        .feed(Event::Settings(SettingsEvent::LimitsChanged { limits: Limits { turns: Some(5), ..Limits::default() } }));
    bench.send(&effects);
}

#[test]
fn a_limit_ends_a_one_shot_thread_with_its_code() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    bench.thread.limits.tokens = Some(Tokens(15));
    bench.calling("one");
    bench.answer(calls(&["a"]), StopReason::ToolUse);
    assert_eq!(bench.feed(result("a")), [Effect::End(Status::Error)]);
    let error = bench.log.iter().find_map(|record| {
        if let Event::Thread(ThreadEvent::ThreadError { error, .. }) = &record.event {
            Some(error.clone())
        } else {
            None
        }
    });
    assert_eq!(error.as_deref(), Some("Limit exceeded: tokens_exceeded (15/15)"));
}

#[test]
fn waiting_for_the_user_costs_no_time() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("one");
    bench.answer(Message::assistant("1"), StopReason::EndTurn);
    let worked = bench.thread.cost.elapsed_ms;
    bench.now += 3_600_000;
    bench.calling("two");
    assert!(bench.thread.cost.elapsed_ms - worked < 1_000);
}

#[test]
fn a_new_worker_finishes_what_the_last_one_left_open() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
    bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 1, version: "1".into() }));
    assert_eq!(bench.thread.phase, Phase::Idle);
    assert_eq!(bench.thread.history.last().unwrap().message.blocks.len(), 2);
}

#[test]
fn a_thread_that_ended_in_error_goes_on_with_a_new_prompt() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(Message::assistant("half"), StopReason::Lost);
    bench.feed(Event::Thread(ThreadEvent::ThreadError { cost: Cost::default(), error: "the worker died".into() }));
    bench.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 2, version: "1".into() }));
    assert_eq!(bench.thread.status(), Status::Error);
    bench.calling("and?");
    assert_eq!(bench.thread.status(), Status::Running);
}

#[test]
fn an_event_out_of_place_changes_nothing() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    let before = bench.thread.clone();
    for event in [
        Event::Request(RequestEvent::RetryDue { attempt: 2 }),
        result("nobody"),
        Event::Control(ControlEvent::TurnCancelled { after_ms: 0 }),
        Event::Thread(ThreadEvent::WorkerEnded { reason: EndReason::Idle }),
        Event::Request(RequestEvent::RequestRecorded {
            request: 0,
            turn: 1,
            attempt: 1,
            model: before.model.clone(),
            tokens: Tokens(0),
        }),
    ] {
        assert_eq!(bench.feed(event), []);
    }
    assert_eq!(bench.thread, before);
}

#[test]
fn a_log_replays_to_the_same_thread() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("one");
    bench.prompt("steer", PromptMode::Steer);
    bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
    bench.feed(result("a"));
    let effects = bench.feed(result("b"));
    bench.send(&effects);
    bench.fail(ErrorCategory::RateLimited, 1);
    let mut again = Bench::new(ThreadKind::Interactive).thread;
    for record in &bench.log {
        apply(&mut again, record);
    }
    assert_eq!(again, bench.thread);
}

#[test]
fn a_call_that_nothing_grants_is_denied_and_the_thread_goes_on() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    let effects = bench.answer(calls_of("format_disk", &["a"]), StopReason::ToolUse);
    bench.send(&effects);
    let (words, failed) = results(&bench).remove(0);
    assert!(failed && words.contains("does not grant `rye.execute.tool.format_disk`"), "{words}");
    assert!(!bench.log.iter().any(|record| matches!(record.event, Event::Tool(ToolEvent::ToolCallStart { .. }))));
}

#[test]
fn a_call_that_asks_waits_and_time_stands_still() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    assert_eq!(bench.answer(calls_of("rm", &["a"]), StopReason::ToolUse), []);
    assert_eq!((bench.thread.status(), bench.thread.waiting()), (Status::Waiting, Some(Waiting::Approval)));
    let asked = bench.thread.approval().unwrap().clone();
    assert_eq!((asked.id, asked.capability.as_str()), (1, "rye.execute.tool.rm"));
    let worked = bench.thread.cost.elapsed_ms;
    bench.now += 3_600_000;
    let effects =
        bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id: 1, decision: Approve::Once, said: None }));
    assert!(matches!(effects.as_slice(), [Effect::RunTool { item, .. }] if item == "rm"), "{effects:?}");
    assert!(bench.thread.cost.elapsed_ms < worked + 1_000, "waiting for a person is no work");
    assert_eq!(
        bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id: 1, decision: Approve::Deny, said: None })),
        [],
        "the first answer counts"
    );
    let effects = bench.feed(result("a"));
    bench.send(&effects);
    // Once is once.
    bench.answer(calls_of("rm", &["b"]), StopReason::ToolUse);
    assert_eq!(bench.thread.approval().unwrap().id, 2);
}

#[test]
fn an_answer_for_the_thread_or_for_good_is_not_asked_again() {
    for decision in [Approve::Thread, Approve::Always] {
        let mut bench = Bench::new(ThreadKind::Interactive);
        bench.calling("go");
        bench.answer(calls_of("rm", &["a", "b"]), StopReason::ToolUse);
        let effects = bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id: 1, decision, said: None }));
        let remembered = effects.contains(&Effect::Remember("rye.execute.tool.rm".into()));
        assert_eq!(remembered, decision == Approve::Always);
        assert!(matches!(effects.last(), Some(Effect::RunTool { .. })));
        let effects = bench.feed(result("a"));
        assert!(matches!(effects.as_slice(), [Effect::RunTool { call, .. }] if call.call_id.0 == "b"), "{effects:?}");
    }
}

#[test]
fn a_refusal_reaches_this_call_only() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(calls_of("rm", &["a", "b"]), StopReason::ToolUse);
    assert_eq!(
        bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id: 1, decision: Approve::Deny, said: None })),
        []
    );
    assert_eq!(bench.thread.approval().unwrap().call_id.0, "b");
    bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id: 2, decision: Approve::Once, said: None }));
    let effects = bench.feed(result("b"));
    bench.send(&effects);
    let results = results(&bench);
    assert!(results[0].1 && results[0].0.starts_with("Refused"), "{results:?}");
    assert_eq!(results[1], ("done".into(), false));
}

#[test]
fn nobody_is_asked_in_a_run_of_its_own() {
    let mut bench = Bench::new(ThreadKind::OneShot);
    bench.calling("go");
    let effects = bench.answer(calls_of("rm", &["a"]), StopReason::ToolUse);
    bench.send(&effects);
    assert!(results(&bench)[0].0.starts_with("Approval needed"));
}

#[test]
fn a_cancel_while_a_call_waits_answers_every_call() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(calls_of("rm", &["a", "b"]), StopReason::ToolUse);
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }));
    assert_eq!((bench.thread.phase.clone(), bench.thread.approval()), (Phase::Idle, None));
    assert_eq!(results(&bench).len(), 2);
}

#[test]
fn s06_nobody_is_asked_about_what_nothing_grants_unless_a_broad_grant_asks() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    let effects = bench.answer(calls_of("curl", &["a"]), StopReason::ToolUse);
    assert!(bench.thread.approval().is_none(), "nothing grants it");
    assert!(results(&bench)[0].0.contains("does not grant"), "{:?}", results(&bench));
    bench.thread.permissions.grants.push(Grant::new("rye.execute.*", true));
    bench.send(&effects);
    bench.answer(calls_of("curl", &["b", "c"]), StopReason::ToolUse);
    assert_eq!(bench.thread.approval().unwrap().item, "curl");
    bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id: 1, decision: Approve::Thread, said: None }));
    let effects = bench.feed(result("b"));
    assert!(matches!(effects.as_slice(), [Effect::RunTool { call, .. }] if call.call_id.0 == "c"), "{effects:?}");
    let effects = bench.feed(result("c"));
    bench.send(&effects);
    bench.answer(calls_of("wget", &["d"]), StopReason::ToolUse);
    assert_eq!(bench.thread.approval().unwrap().item, "wget", "the answer was for one tool");
}

#[test]
fn a_replayed_log_gives_the_same_thread() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(calls_of("rm", &["a", "b"]), StopReason::ToolUse);
    bench.feed(Event::Approval(ApprovalEvent::ApprovalGiven { id: 1, decision: Approve::Thread, said: None }));
    bench.feed(result("a"));
    let mut again = Bench::new(ThreadKind::Interactive).thread;
    for record in &bench.log {
        let _done_then = apply(&mut again, record);
    }
    assert_eq!(again, bench.thread);
}

#[test]
fn a_persons_command_runs_beside_the_turn_and_is_told_with_the_next_prompt() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("first");
    let (call_id, command) = (CallId("shell-1".into()), "ls".to_owned());
    let started =
        Event::Tool(ToolEvent::ShellStarted { call_id: call_id.clone(), command: command.clone(), shared: true });
    assert_eq!(bench.feed(started), [Effect::RunShell { call_id: call_id.clone(), command, shared: true }]);
    assert_eq!(bench.feed(Event::Tool(ToolEvent::ShellEnded { call_id, output: "a file\n".into(), error: None })), []);
    assert_eq!(bench.thread.history.len(), 1, "nothing comes between a call and its answer");
    bench.answer(Message::assistant("done"), StopReason::EndTurn);
    bench.calling("second");
    let texts: Vec<String> = bench.thread.history.iter().map(|entry| entry.message.text()).collect();
    assert_eq!((texts[0].as_str(), texts[1].as_str(), texts[3].as_str()), ("first", "done", "second"));
    assert!(texts[2].contains("    ls\n") && texts[2].contains("a file"), "{texts:?}");
}

#[test]
fn a_persons_command_alone_is_work_that_can_be_stopped() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    let call_id = CallId("shell-1".into());
    bench.feed(Event::Tool(ToolEvent::ShellStarted {
        call_id: call_id.clone(),
        command: "sleep 9".into(),
        shared: false,
    }));
    assert!(bench.thread.is_working());
    assert_eq!((bench.thread.status(), bench.thread.waiting()), (Status::Running, None));
    let effects = bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }));
    assert_eq!(effects, [Effect::StopShell]);
    assert!(bench.thread.is_working(), "until it has ended");
    bench.feed(Event::Tool(ToolEvent::ShellEnded {
        call_id,
        output: "half\n(stopped)".into(),
        error: Some("(stopped)".into()),
    }));
    assert!(!bench.thread.is_working());
    bench.calling("go on");
    assert_eq!(bench.thread.history.len(), 1, "the model never hears of it");
}

#[test]
fn a_killed_thread_ends_wherever_it_stands() {
    let kill = || Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Kill });
    let killed = [Effect::End(Status::Killed)];
    for kind in [ThreadKind::Interactive, ThreadKind::OneShot] {
        let mut idle = Bench::new(kind);
        assert_eq!(idle.feed(kill()), killed);
        let mut calling = Bench::new(kind);
        calling.calling("go");
        assert_eq!(calling.feed(kill()), [Effect::StopCall]);
        calling.answer(Message::assistant("half"), StopReason::Cancelled);
        assert_eq!(calling.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 })), killed);
        assert_eq!(calling.said().last().unwrap().1, "half");
        let mut working = Bench::new(kind);
        working.calling("go");
        working.answer(calls(&["a", "b"]), StopReason::ToolUse);
        assert_eq!(working.feed(kill()), [Effect::StopTools, Effect::End(Status::Killed)]);
        assert_eq!(results(&working).len(), 2, "each call has a result");
    }
    // One that ended in an error could be talked to; one that is asked about does not ask any more.
    let mut ended = Bench::new(ThreadKind::Interactive);
    ended.feed(Event::Thread(ThreadEvent::ThreadError { cost: Cost::default(), error: "x".into() }));
    assert_eq!(ended.feed(kill()), killed);
    let mut asking = Bench::new(ThreadKind::Interactive);
    asking.calling("go");
    asking.answer(calls_of("rm", &["a"]), StopReason::ToolUse);
    assert_eq!(asking.feed(kill()), [Effect::StopTools, Effect::End(Status::Killed)]);
    assert_eq!((asking.thread.status(), asking.thread.approval()), (Status::Killed, None));
}

#[test]
fn a_kill_while_a_cancel_is_under_way_counts() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }));
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Kill }));
    bench.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Thread }));
    assert_eq!(bench.feed(Event::Control(ControlEvent::TurnCancelled { after_ms: 1 })), [Effect::End(Status::Killed)]);
}

#[test]
fn a_persons_command_ends_with_its_thread_and_is_told() {
    for (scope, status) in [(CancelScope::Thread, Status::Cancelled), (CancelScope::Kill, Status::Killed)] {
        let mut bench = Bench::new(ThreadKind::Interactive);
        let call_id = CallId("shell-1".into());
        bench.feed(Event::Tool(ToolEvent::ShellStarted {
            call_id: call_id.clone(),
            command: "sleep 9".into(),
            shared: true,
        }));
        let effects = bench.feed(Event::Control(ControlEvent::CancelRequested { scope }));
        assert_eq!(effects, [Effect::EndShell, Effect::End(status)]);
        assert_eq!(bench.thread.status(), status);
        let ended = |record: &Record| matches!(&record.event, Event::Tool(ToolEvent::ShellEnded { call_id: id, .. }) if *id == call_id);
        assert!(bench.log.iter().any(ended));
    }
}

#[test]
fn s16_a_title_stays_and_a_prompt_brings_an_archived_thread_back() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.feed(Event::Settings(SettingsEvent::TitleSet { title: "Release".into() }));
    bench.feed(Event::Settings(SettingsEvent::Archived { archived: true }));
    assert_eq!(bench.thread.filing, Filing { title: Some("Release".into()), archived: true });
    bench.prompt("what is new?", PromptMode::FollowUp);
    assert_eq!(bench.thread.filing, Filing { title: Some("Release".into()), archived: false });
}
