//! The driver against stores and providers that misbehave.

#![allow(clippy::unnecessary_wraps, reason = "pieces of a play are results")]

use crate::support::driven_thread::{Bench, Disk, Gate, Heard, Opens, Play, SlowPlan, end, failure, text};
use levain::context::{Parts, Plan, assemble};
use levain::domain::event::{Approve, CallError, CancelScope, Delta, ErrorCategory, PromptMode, StopReason};
use levain::domain::{
    ApprovalEvent, Attachment, AttachmentKind, CallId, Command, ContentHash, ContextEvent, Control, ControlEvent,
    Decision, Entry, Event, FrozenRequest, KnownTool, LayerKind, Lifetime, Limits, Message, ModelRef, Money, Origin,
    Piece, PromptEvent, Record, RequestEvent, Status, ThreadEvent, ThreadId, ThreadKind, Timestamp, ToAttach, Tokens,
    ToolCall, ToolEvent, ToolSpec, Usage, Waiting,
};
use levain::engine::driver::Ended;
use levain::engine::thread::{Thread, apply};
use levain::items::{Hooks, Items, Spaces};
use levain::ports::tools::Isolation;
use levain::ports::{CallRequest, ProviderEvent, ToolListener, ToolOutcome, ToolRunner, tools};
use levain::tools::NoTools;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Tools whose arguments take long to look at.
struct SlowTools(Gate);

impl ToolRunner for SlowTools {
    fn guarded<'a>(&'a self, _item: &'a str, _call: &'a ToolCall) -> tools::Waiting<'a, Vec<String>> {
        let gate = self.0.clone();
        Box::pin(async move {
            tokio::task::spawn_blocking(move || gate.pass()).await.unwrap();
            Vec::new()
        })
    }

    fn run<'a>(
        &'a self,
        item: &'a str,
        call: &'a ToolCall,
        isolation: Isolation,
        listener: &'a dyn ToolListener,
    ) -> tools::Waiting<'a, ToolOutcome> {
        NoTools.run(item, call, isolation, listener)
    }
}

#[tokio::test(start_paused = true)]
async fn s12_a_full_disk_takes_no_prompt_and_sends_nothing() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("one"), end()], vec![text("two"), end()]]);
    bench.until_idle().await;
    *bench.disk.full.lock().unwrap() = true;
    let submit = || Command::Submit {
        text: "first".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    for _ in 0..3 {
        let refused = bench.handle.ask(submit()).await.unwrap_err();
        assert!(refused.contains("nothing was done: could not append to log"), "{refused}");
    }
    assert!(bench.disk.log.lock().unwrap().is_empty() && bench.script.asked.lock().unwrap().is_empty());
    *bench.disk.full.lock().unwrap() = false;
    bench.ask("first").await;
    bench.until_answer().await;
    // It fills up while nothing is done, and again while something is.
    bench.until_idle().await;
    bench.ask("second").await;
    bench.until_answer().await;
    assert_eq!(bench.script.asked.lock().unwrap()[1].messages.len(), 3, "the first answer was not forgotten");
}

#[tokio::test(start_paused = true)]
async fn s12_a_thread_waits_for_room_and_can_be_stopped_meanwhile() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("one")], vec![text("two"), end()]]);
    bench.ask("first").await;
    bench.until(|heard| matches!(heard, Heard::Text)).await;
    *bench.disk.full.lock().unwrap() = true;
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    let events =
        bench.until(|heard| matches!(heard, Heard::State(state) if state.waiting == Some(Waiting::Storage))).await;
    assert!(events.iter().any(|(stored, event)| {
        !stored && matches!(event, Event::Thread(ThreadEvent::Notice { text }) if text.contains("the thread pauses because"))
    }));
    let recorded = bench.disk.log.lock().unwrap().len();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(bench.disk.log.lock().unwrap().len(), recorded);
    *bench.disk.full.lock().unwrap() = false;
    let events = bench.until_idle().await;
    let kept = events.iter().any(|(stored, event)| {
        *stored && matches!(event, Event::Request(RequestEvent::CognitionOut { text, stop: StopReason::Cancelled, .. }) if text == "one")
    });
    assert!(kept, "what had arrived was lost: {events:?}");
    bench.ask("second").await;
    bench.until_answer().await;
}

/// A question, a call that a person is asked about, and the answer: with every write to the store failing once, in turn.
#[tokio::test(start_paused = true)]
async fn s12_whichever_write_fails_nothing_is_lost_or_done_twice() {
    let plays = || {
        let call = |partial_json: &str| ProviderEvent::ToolInput { index: 0, partial_json: partial_json.into() };
        let started = ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("c".into()), tool: "t".into() };
        let stop = ProviderEvent::Finished(StopReason::ToolUse);
        vec![vec![text("let me"), Ok(started), Ok(call("{}")), Ok(stop)], vec![text("done"), end()]]
    };
    let run = async |fails: Option<u64>| {
        let disk = Disk { fails, ..Disk::default() };
        let mut bench = Bench::on(disk, ThreadKind::Interactive, plays(), Plan::default(), None);
        let submit = || Command::Submit {
            text: "go".into(),
            mode: PromptMode::FollowUp,
            images: Vec::new(),
            files: Vec::new(),
            client: None,
        };
        while bench.handle.ask(submit()).await.is_err() {}
        let asks = |heard: &Heard| matches!(heard, Heard::State(state) if !state.approvals.is_empty());
        bench.until(asks).await;
        let asked = bench.disk.log.lock().unwrap().iter().find_map(|event| {
            let Event::Approval(ApprovalEvent::ApprovalRequested { id, args_hash, .. }) = event else { return None };
            Some((*id, args_hash.clone()))
        });
        let (id, args_hash) = asked.unwrap();
        let approve = || Command::Approve { id, args_hash: args_hash.clone(), decision: Approve::Once, said: None };
        while bench.handle.ask(approve()).await.is_err() {}
        bench.until(|heard| matches!(heard, Heard::Event { stored: true, event: Event::Request(RequestEvent::CognitionOut { text, .. }) } if text == "done")).await;
        let words: Vec<_> =
            bench.disk.log.lock().unwrap().iter().map(|event| format!("{:?}", std::mem::discriminant(event))).collect();
        assert_eq!(bench.script.asked.lock().unwrap().len(), 2, "write {fails:?}");
        (words, bench.disk.writes.load(Ordering::Relaxed))
    };
    let (undisturbed, writes) = run(None).await;
    assert!(writes > 15, "{writes}");
    for number in 0..writes {
        assert_eq!(run(Some(number)).await.0, undisturbed, "write {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_recorded_before_it_is_sent_and_each_attempt_apart() {
    let plays = vec![vec![failure(ErrorCategory::RateLimited)], vec![text("ok"), end()]];
    let mut bench = Bench::new(ThreadKind::OneShot, plays);
    bench.ask("go").await;
    let started = tokio::time::Instant::now();
    let events = bench.until_answer().await;
    assert!(started.elapsed() >= Duration::from_secs(5), "the pause that was asked for");
    let names: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Request(RequestEvent::RequestRecorded { request, attempt, .. }) => {
                Some(format!("request {request}.{attempt}"))
            }
            Event::Request(RequestEvent::ErrorClassified { attempt, .. }) => Some(format!("failed {attempt}")),
            Event::Request(RequestEvent::RetryScheduled { attempt, delay_ms, .. }) => {
                Some(format!("retry {attempt} in {delay_ms}"))
            }
            Event::Request(RequestEvent::CognitionOut { .. }) => Some("answer".into()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["request 1.1", "failed 1", "retry 2 in 5000", "request 2.2", "answer"]);
    let numbers: Vec<_> =
        bench.disk.requests.lock().unwrap().iter().map(|one| (one.number, one.turn, one.attempt)).collect();
    assert_eq!(numbers, [(1, 1, 1), (2, 1, 2)]);
    assert_eq!(bench.driver.await.unwrap(), Ended::Thread(levain::domain::Status::Completed));
}

#[tokio::test(start_paused = true)]
async fn received_text_is_on_disk_within_a_quarter_of_a_second() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("kept")]]);
    bench.ask("go").await;
    bench.until(|heard| matches!(heard, Heard::Text)).await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(*bench.disk.inflight.lock().unwrap(), [Delta::Text { text: "kept".into() }]);
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    let events = bench.until_answer().await;
    assert!(
        matches!(events.last(), Some((_, Event::Request(RequestEvent::CognitionOut { stop: StopReason::Cancelled, text, .. }))) if text == "kept")
    );
    bench.until_idle().await;
    assert!(bench.disk.inflight.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_which_nothing_is_reported_counts_with_an_estimate() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("so much was said"), end()]]);
    bench.ask("go").await;
    let events = bench.until_answer().await;
    let charged: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Request(RequestEvent::CallCharged { usage, .. }) => Some(*usage),
            _ => None,
        })
        .collect();
    assert_eq!(charged.len(), 1, "{events:?}");
    assert!(charged[0].input > Tokens(0) && charged[0].output > Tokens(0), "{charged:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_time_is_not_over_because_the_clock_jumped() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("half")]]);
    let limits = Limits { duration_seconds: Some(600), ..Limits::default() };
    bench.handle.ask(Command::SetLimits { limits }).await.unwrap();
    bench.ask("go").await;
    bench.until(|heard| matches!(heard, Heard::Text)).await;
    bench.clock.fetch_add(8 * 3_600_000, Ordering::Relaxed);
    // Nothing happens but that time is looked at.
    tokio::time::sleep(Duration::from_secs(5)).await;
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    let events = bench.until_idle().await;
    let scopes: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Control(ControlEvent::CancelRequested { scope }) => Some(*scope),
            _ => None,
        })
        .collect();
    assert_eq!(scopes, [CancelScope::Turn]);
}

#[tokio::test(start_paused = true)]
async fn t33_a_night_of_sleep_is_no_work_and_reaches_no_limit() {
    let plays = vec![vec![text("half")], vec![text("the rest"), end()]];
    let mut bench = Bench::new(ThreadKind::Interactive, plays);
    let limits = Limits { duration_seconds: Some(60), ..Limits::default() };
    bench.handle.ask(Command::SetLimits { limits }).await.unwrap();
    bench.ask("go").await;
    bench.until(|heard| matches!(heard, Heard::Text)).await;
    bench.clock.fetch_add(8 * 3_600_000, Ordering::Relaxed);
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    let events = bench.until_idle().await;
    assert!(
        events.iter().any(
            |(_, event)| matches!(event, Event::Thread(ThreadEvent::ClockJumped { by_ms }) if *by_ms > 28_000_000)
        )
    );
    let took = events.iter().find_map(|(_, event)| match event {
        Event::Request(RequestEvent::CognitionOut { elapsed_ms, .. }) => Some(*elapsed_ms),
        _ => None,
    });
    assert!(took.unwrap() < 60_000, "{took:?}");
    bench.ask("go on").await;
    let events = bench.until_answer().await;
    assert!(!events.iter().any(|(_, event)| matches!(event, Event::Control(ControlEvent::Limit { .. }))), "{events:?}");
    assert!(
        matches!(events.last(), Some((true, Event::Request(RequestEvent::CognitionOut { text, .. }))) if text == "the rest")
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_during_the_pause_before_a_retry_ends_it() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![failure(ErrorCategory::Transient)]]);
    bench.ask("go").await;
    bench.until(|heard| matches!(heard, Heard::State(state) if state.waiting == Some(Waiting::RateLimit))).await;
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    bench.until_idle().await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(bench.script.asked.lock().unwrap().len(), 1, "nothing is tried again");
}

#[tokio::test(start_paused = true)]
async fn leaving_in_the_middle_of_an_answer_keeps_it() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("so far")]]);
    bench.ask("go").await;
    bench.until(|heard| matches!(heard, Heard::Text)).await;
    bench.handle.ask(Command::Shutdown).await.unwrap();
    assert_eq!(bench.driver.await.unwrap(), Ended::Asked);
    let log = bench.disk.log.lock().unwrap();
    assert!(
        log.iter()
            .any(|event| matches!(event, Event::Request(RequestEvent::CognitionOut { text, .. }) if text == "so far"))
    );
    assert!(matches!(log.last(), Some(Event::Thread(ThreadEvent::WorkerEnded { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_spend_refuses_the_next_call() {
    let usage = Usage { output: Tokens(50), ..Usage::default() };
    let call = ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("c".into()), tool: "t".into() };
    let stop = ProviderEvent::Finished(StopReason::ToolUse);
    let mut bench = Bench::new(ThreadKind::OneShot, vec![vec![Ok(call), Ok(ProviderEvent::Usage(usage)), Ok(stop)]]);
    let limits = Limits { spend: Some(Money(50)), ..Limits::default() };
    bench.handle.ask(Command::SetLimits { limits }).await.unwrap();
    bench.ask("go").await;
    let events = bench
        .until(|heard| matches!(heard, Heard::Event { event: Event::Thread(ThreadEvent::ThreadError { .. }), .. }))
        .await;
    let Some((_, Event::Thread(ThreadEvent::ThreadError { error, cost }))) = events.last() else { unreachable!() };
    assert_eq!((error.as_str(), cost.spend), ("Limit exceeded: spend_exceeded (50/50)", Money(50)));
    assert_eq!(bench.script.asked.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_names_the_arguments_that_were_seen() {
    let call = ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("c".into()), tool: "t".into() };
    let stop = ProviderEvent::Finished(StopReason::ToolUse);
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![Ok(call), Ok(stop)], vec![text("done"), end()]]);
    bench.ask("go").await;
    let events = bench
        .until(|heard| {
            matches!(heard, Heard::Event { event: Event::Approval(ApprovalEvent::ApprovalRequested { .. }), .. })
        })
        .await;
    let Some((true, Event::Approval(ApprovalEvent::ApprovalRequested { id, args_hash, .. }))) = events.last() else {
        unreachable!()
    };
    let answer = |args_hash: &ContentHash| Command::Approve {
        id: *id,
        args_hash: args_hash.clone(),
        decision: Approve::Once,
        said: None,
    };
    let other = bench.handle.ask(answer(&ContentHash::of(b"other"))).await.unwrap_err();
    assert!(other.contains("not the ones you saw"), "{other}");
    bench.handle.ask(answer(args_hash)).await.unwrap();
    let late = bench.handle.ask(answer(args_hash)).await.unwrap_err();
    assert!(late.contains("no longer needs approval"), "{late}");
    let events = bench.until_answer().await;
    assert!(events.iter().any(|(_, event)| matches!(event, Event::Tool(ToolEvent::ToolCallStart { .. }))));
}

/// A plan with the hooks of this `hooks.yaml`, without the shipped ones.
fn hooked(text: &str) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".ai/config/agent/hooks.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    let read = Hooks::read(&Items::list(&Spaces::new(&folder.path().join("none"), folder.path(), [])));
    assert_eq!(read.problems, []);
    let hooks = read.hooks.into_iter().filter(|hook| hook.file.starts_with(folder.path())).collect();
    let fields = serde_json::json!({"directive": "team/ship", "inputs": {"target": "moon"}});
    Plan { hooks, fields, ..Plan::default() }
}

const CONTROL: &str = "primary: execute, item_type: tool, item_id: levain/control";

#[tokio::test(start_paused = true)]
async fn a_hook_decides_about_a_failure_and_the_log_says_why() {
    let plan = hooked(&format!(
        "hooks:\n- id: again\n  event: error\n  condition: {{all: [{{path: error.message, op: contains, value: broke}}, \
         {{path: inputs.target, value: moon}}]}}\n  action: {{{CONTROL}, params: {{action: retry}}}}\n"
    ));
    let plays = vec![vec![failure(ErrorCategory::Permanent)], vec![text("ok"), end()]];
    let mut bench = Bench::with(ThreadKind::OneShot, plays, plan, None);
    bench.ask("go").await;
    let events = bench.until_answer().await;
    let decided = events.iter().find_map(|(_, event)| match event {
        Event::Control(ControlEvent::HookDecided { event, hook, action, why }) => {
            Some((event.as_str(), hook.clone(), *action, why.as_str()))
        }
        _ => None,
    });
    let why = "error.message contains \"broke\" (actual \"it broke\"); inputs.target eq \"moon\" (actual \"moon\")";
    assert_eq!(decided, Some(("error", Some("again".into()), Some(Control::Retry), why)));
    assert!(
        events
            .iter()
            .any(|(_, event)| matches!(event, Event::Request(RequestEvent::RetryScheduled { delay_ms: 5_000, .. })))
    );
    assert_eq!(bench.driver.await.unwrap(), Ended::Thread(Status::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_nobody_watches_is_left_suspended_at_its_limit() {
    let plan = hooked(&format!("hooks:\n- event: limit\n  action: {{{CONTROL}, params: {{action: escalate}}}}\n"));
    let mut bench = Bench::with(ThreadKind::OneShot, Vec::new(), plan, None);
    bench.handle.ask(Command::SetLimits { limits: Limits { turns: Some(0), ..Limits::default() } }).await.unwrap();
    bench.ask("go").await;
    let events = bench
        .until(|heard| matches!(heard, Heard::Event { event: Event::Thread(ThreadEvent::WorkerEnded { .. }), .. }))
        .await;
    assert!(
        events
            .iter()
            .any(|(_, event)| matches!(event, Event::Control(ControlEvent::ThreadSuspended { limit: Some(_), .. })))
    );
    assert_eq!(bench.driver.await.unwrap(), Ended::Thread(Status::Suspended));
}

/// A plan that can have summaries made.
fn summarising() -> Plan {
    let piece = |kind, text: &str| Piece {
        id: text.to_owned(),
        kind,
        origin: Origin::User,
        lifetime: Lifetime::Once,
        decision: Decision::Included,
        text: text.into(),
    };
    Plan {
        system: vec![piece(LayerKind::Constitution, "Be honest."), piece(LayerKind::DirectiveSystem, "Be brief.")],
        opening: vec![piece(LayerKind::Prompt, "Do it.")],
        compaction: Some(piece(LayerKind::DirectiveSystem, "Summarise.")),
        ..Plan::default()
    }
}

/// An answer after which the window is nearly full.
fn filling(said: &str) -> Play {
    let usage = Usage { input: Tokens(900), output: Tokens(50), ..Usage::default() };
    vec![text(said), Ok(ProviderEvent::Usage(usage)), end()]
}

fn compacted(events: &[(bool, Event)]) -> (String, usize, usize, usize, Option<String>) {
    let found = events.iter().find_map(|(_, event)| match event {
        Event::Context(ContextEvent::ContextCompacted { summary, kept, summarised, dropped, reason, .. }) => {
            Some((summary.clone(), *kept, *summarised, *dropped, reason.clone()))
        }
        _ => None,
    });
    found.expect("room was made")
}

#[tokio::test(start_paused = true)]
async fn a_full_window_makes_the_next_request_smaller() {
    let plays = vec![
        filling(&"old ".repeat(300)),
        vec![
            text("They spoke of old things."),
            Ok(ProviderEvent::Usage(Usage { output: Tokens(9), ..Usage::default() })),
            end(),
        ],
        vec![text("new"), end()],
    ];
    let mut bench = Bench::with(ThreadKind::Interactive, plays, summarising(), Some(Tokens(1_000)));
    bench.ask("first").await;
    bench.until_answer().await;
    bench.until_idle().await;
    bench.ask("second").await;
    let events = bench.until_answer().await;
    let (summary, kept, summarised, dropped, reason) = compacted(&events);
    assert!(summary.ends_with("They spoke of old things."), "{summary}");
    assert_eq!((kept, summarised, dropped, reason), (1, 2, 0, None));
    let names: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Context(ContextEvent::ContextLimitReached { usage_ratio, .. }) => {
                Some(format!("full {}", *usage_ratio > 0.9))
            }
            Event::Request(RequestEvent::RequestRecorded { request, model, .. }) => {
                Some(format!("request {request} {}", model.model))
            }
            Event::Context(ContextEvent::ContextCompacted { request, .. }) => Some(format!("compacted by {request:?}")),
            Event::Request(RequestEvent::CognitionOut { request, .. }) => Some(format!("answer to {request}")),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["full true", "request 2 quick", "compacted by Some(2)", "request 3 x", "answer to 3"]);
    {
        let asked = bench.script.asked.lock().unwrap();
        assert_eq!((asked[1].system.as_str(), asked[1].tools.len()), ("Be honest.\n\nSummarise.", 0));
        let told = asked[1].messages[0].text();
        assert!(told.starts_with("<conversation>\n[Person]\nfirst\n\n[Assistant]\nold old"), "{told}");
        let said: Vec<_> = asked[2].messages.iter().map(|message| message.text()).collect();
        assert_eq!(said.len(), 2);
        assert!(
            said[0].starts_with("Do it.\n\nWhat was said before, summarised to make room (2 messages):"),
            "{said:?}"
        );
        assert_eq!(said[1], "second");
        assert!(bench.disk.requests.lock().unwrap()[2].layers.iter().any(|layer| layer.kind == LayerKind::Summary));
    }
    // A thread that is read from its log stands the same, and the log has lost nothing.
    let id = ThreadId::new("chat", 1);
    let model = ModelRef::new("script", "x");
    let mut again = Thread::new(id.clone(), "levain/chat", ThreadKind::Interactive, model, Limits::default());
    let log = bench.disk.log.lock().unwrap().clone();
    for event in &log {
        let record = Record { timestamp: Timestamp(1_000), thread_id: id.clone(), event: event.clone() };
        let _done_then = apply(&mut again, &record);
    }
    let texts: Vec<_> = again.history.iter().map(|entry| entry.message.text()).collect();
    assert_eq!(texts, ["second", "new"]);
    assert!(again.opening.unwrap().iter().any(|piece| &*piece.text == summary.as_str()));
    assert!(
        log.iter()
            .any(|event| matches!(event, Event::Prompt(PromptEvent::CognitionIn { text, .. }) if text == "first"))
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_older_messages_are_left_out_and_that_is_told() {
    for broken in [vec![failure(ErrorCategory::Permanent)], vec![text("  "), end()]] {
        let plays = vec![filling("old"), broken, vec![text("new"), end()]];
        let mut bench = Bench::with(ThreadKind::Interactive, plays, summarising(), Some(Tokens(1_000)));
        bench.ask(&"first ".repeat(200)).await;
        bench.until_answer().await;
        bench.until_idle().await;
        bench.ask("second").await;
        let events = bench.until_answer().await;
        let (summary, kept, summarised, dropped, reason) = compacted(&events);
        assert_eq!(summary, "(1 earlier messages were left out to make room.)");
        assert_eq!((kept, summarised, dropped), (2, 0, 1));
        assert!(reason.is_some());
        let asked = bench.script.asked.lock().unwrap();
        let said: Vec<_> = asked[2].messages.iter().map(|message| message.text()).collect();
        assert_eq!(said, ["Do it.\n\n(1 earlier messages were left out to make room.)", "old", "second"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_on_its_way_is_shown_to_nobody_and_can_be_stopped() {
    let plays = vec![vec![text("one"), end()], vec![text("two"), end()], vec![text("half a summ")]];
    let mut bench = Bench::with(ThreadKind::Interactive, plays, summarising(), Some(Tokens(1_000)));
    for words in ["first", "second"] {
        bench.ask(words).await;
        bench.until_answer().await;
        bench.until_idle().await;
    }
    bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    let refused = bench.handle.ask(Command::Compact { instructions: None }).await.unwrap_err();
    assert!(refused.contains("only an idle thread"), "{refused}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    let mut shown = false;
    let events = bench
        .until(|heard| {
            shown |= matches!(heard, Heard::Text);
            matches!(heard, Heard::Event { event: Event::Control(ControlEvent::TurnCancelled { .. }), .. })
        })
        .await;
    assert!(!shown && bench.disk.inflight.lock().unwrap().is_empty());
    assert!(!events.iter().any(|(_, event)| matches!(event, Event::Request(RequestEvent::CognitionOut { .. }))));
    assert!(!events.iter().any(|(_, event)| matches!(event, Event::Context(ContextEvent::ContextCompacted { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_fails_for_a_moment_is_asked_for_again() {
    let plays = vec![
        filling(&"old ".repeat(300)),
        vec![failure(ErrorCategory::Transient)],
        vec![text("Old things."), end()],
        vec![text("new"), end()],
    ];
    let mut bench = Bench::with(ThreadKind::Interactive, plays, summarising(), Some(Tokens(1_000)));
    bench.ask("first").await;
    bench.until_answer().await;
    bench.until_idle().await;
    bench.ask("second").await;
    let events = bench.until_answer().await;
    let (summary, kept, summarised, dropped, reason) = compacted(&events);
    assert!(summary.ends_with("Old things."), "{summary}");
    assert_eq!((kept, summarised, dropped, reason), (1, 2, 0, None));
    let retry = |event: &Event| {
        matches!(event, Event::Request(RequestEvent::RetryScheduled { attempt: 2, delay_ms: 5_000, .. }))
    };
    assert_eq!(events.iter().filter(|(_, event)| retry(event)).count(), 1);
    let attempts: Vec<_> = bench.disk.requests.lock().unwrap().iter().map(|one| (one.number, one.attempt)).collect();
    assert_eq!(attempts, [(1, 1), (2, 1), (3, 2), (4, 1)]);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_room_loses_nothing_without_a_summary() {
    let plays = vec![vec![text("one"), end()], vec![text("two"), end()], vec![failure(ErrorCategory::Transient)]];
    let mut bench = Bench::with(ThreadKind::Interactive, plays, summarising(), Some(Tokens(1_000)));
    for words in ["first", "second"] {
        bench.ask(words).await;
        bench.until_answer().await;
        bench.until_idle().await;
    }
    bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    let events = bench
        .until(|heard| {
            matches!(heard, Heard::Event { event: Event::Context(ContextEvent::ContextCompacted { .. }), .. })
        })
        .await;
    assert_eq!(compacted(&events), (String::new(), 4, 0, 0, Some("it broke".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_gone_is_told_once_and_the_others_are_sent() {
    let plays = vec![vec![text("ok"), end()], vec![text("and"), end()]];
    let mut bench = Bench::new(ThreadKind::Interactive, plays);
    let images = ["a.png", "lost.png", "b.png"].map(str::to_owned).to_vec();
    let look =
        Command::Submit { text: "look".into(), mode: PromptMode::FollowUp, images, files: Vec::new(), client: None };
    bench.handle.ask(look).await.unwrap();
    let mut heard = bench.until_answer().await;
    bench.ask("again").await;
    heard.extend(bench.until_answer().await);
    let notices = heard.iter().filter_map(|(_, event)| {
        if let Event::Thread(ThreadEvent::Notice { text }) = event { Some(text) } else { None }
    });
    let said = "the model is told that an image of this thread is missing: its stored file is missing or has changed";
    assert_eq!(notices.collect::<Vec<_>>(), [said]);
    let asked = bench.script.asked.lock().unwrap();
    for call in asked.iter() {
        assert_eq!(*call.images, [(ContentHash::of(b"png"), b"png".to_vec())].into());
    }
    assert_eq!(asked.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_file_stays_in_the_log_as_it_was_when_its_prompt_was_sent() {
    let plays = vec![vec![text("ok"), end()], vec![text("and"), end()]];
    let mut bench = Bench::new(ThreadKind::Interactive, plays);
    let submit = |text: &str, name: &str| {
        let (text, files) = (text.to_owned(), vec![ToAttach::Name(name.to_owned()), ToAttach::Name(name.to_owned())]);
        Command::Submit { text, mode: PromptMode::FollowUp, images: Vec::new(), files, client: None }
    };
    assert_eq!(bench.handle.ask(submit("look", "gone.rs")).await, Err("`gone.rs` was not attached".to_owned()));
    bench.handle.ask(submit("look at it", "a.rs")).await.unwrap();
    let heard = bench.until_answer().await;
    let file = Attachment::new(AttachmentKind::File, "a.rs".into(), "let x = ${y};");
    let said: Vec<_> = heard
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Prompt(PromptEvent::PromptQueued { files, .. } | PromptEvent::CognitionIn { files, .. }) => {
                Some(files)
            }
            _ => None,
        })
        .collect();
    let once = vec![file.clone()];
    assert_eq!(said, [&once, &once], "once, and whole, in both");
    bench.ask("again").await;
    bench.until_answer().await;
    let asked = bench.script.asked.lock().unwrap();
    for call in asked.iter() {
        let attached: Vec<_> = call.messages.iter().flat_map(|message| message.attachments()).collect();
        assert_eq!(attached, [&file], "no template, and the same in each turn");
    }
    assert_eq!(asked.len(), 2);
}

/// A request that was put together elsewhere for `said`, whose last is the prompt.
fn held(said: &[Message]) -> FrozenRequest {
    held_with(said, "Be kind.")
}

/// The same with this system text.
fn held_with(said: &[Message], words: &str) -> FrozenRequest {
    let piece = |id: &str, kind, text: &str| Piece {
        id: id.into(),
        kind,
        origin: Origin::User,
        lifetime: Lifetime::Once,
        decision: Decision::Included,
        text: text.into(),
    };
    let system = vec![piece("rules", LayerKind::Constitution, words)];
    let opening = vec![piece("env", LayerKind::HookBefore, "You are here.")];
    let state = vec![piece("time", LayerKind::ContextState, "Now: noon")];
    let history: Vec<Entry> = said.iter().cloned().map(Entry::new).collect();
    let assembly = assemble(&Parts {
        system: &system,
        opening: &opening,
        state: &state,
        history: &history,
        inherited: 0,
        edits: None,
    });
    let model = ModelRef::new("script", "x");
    let hash = FrozenRequest::name(&model, 100, &assembly);
    FrozenRequest {
        thread_id: ThreadId::new("chat", 1),
        images: Vec::new(),
        files: Vec::new(),
        model,
        max_output_tokens: 100,
        system,
        opening,
        text: None,
        messages: Vec::new(),
        system_edit: None,
        history: None,
        payload: None,
        steps: Vec::new(),
        state,
        tools: Vec::new(),
        hash,
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_looked_at_is_sent_as_it_was_also_when_it_is_tried_again() {
    let plays = vec![vec![failure(ErrorCategory::RateLimited)], vec![text("ok"), end()], vec![text("and"), end()]];
    let mut bench = Bench::new(ThreadKind::Interactive, plays);
    bench.until_idle().await;
    let send = |held: FrozenRequest| Command::SubmitHeld { text: "go".into(), held: Box::new(held), client: None };
    bench.handle.ask(send(held(&[Message::user("go")]))).await.unwrap();
    bench.until_answer().await;
    bench.until_idle().await;
    {
        let asked = bench.script.asked.lock().unwrap();
        for call in asked.iter() {
            let said: Vec<String> = call.messages.iter().map(|message| message.text()).collect();
            assert_eq!(call.system, "Be kind.");
            assert_eq!(said, ["You are here.", "Current context:\n\nNow: noon", "go"]);
        }
        assert_eq!(asked.len(), 2);
    }
    // Something was said since: the same request is refused, and nothing of it is in the log.
    let refused = bench.handle.ask(send(held(&[Message::user("go")]))).await.unwrap_err();
    assert!(refused.contains("changed after you looked"), "{refused}");
    let other = FrozenRequest { thread_id: ThreadId::new("chat", 2), ..held(&[Message::user("go")]) };
    assert!(bench.handle.ask(send(other)).await.is_err());
    // What was decided with the first request stays: the opening, and the system text.
    bench.ask("more").await;
    bench.until_answer().await;
    let asked = bench.script.asked.lock().unwrap();
    let said: Vec<String> = asked[2].messages.iter().map(|message| message.text()).collect();
    assert_eq!(
        (asked[2].system.as_str(), said),
        ("Be kind.", ["You are here.", "go", "ok", "more"].map(str::to_owned).to_vec())
    );
}

#[tokio::test(start_paused = true)]
async fn the_system_text_that_was_sent_stays_also_when_another_was_looked_at() {
    let plays = vec![vec![text("ok"), end()], vec![text("and"), end()]];
    let mut bench = Bench::new(ThreadKind::Interactive, plays);
    let send = |held: FrozenRequest| Command::SubmitHeld { text: "go".into(), held: Box::new(held), client: None };
    bench.handle.ask(send(held(&[Message::user("go")]))).await.unwrap();
    bench.until_answer().await;
    bench.until_idle().await;
    let said = [Message::user("go"), Message::assistant("ok"), Message::user("go")];
    let refused = bench.handle.ask(send(held_with(&said, "Summarise."))).await.unwrap_err();
    assert!(refused.contains("changed after you looked"), "{refused}");
    bench.handle.ask(send(held(&said))).await.unwrap();
    bench.until_answer().await;
    assert_eq!(bench.script.asked.lock().unwrap()[1].system, "Be kind.");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_looked_at_and_would_fill_the_window_is_refused_in_words() {
    let mut bench =
        Bench::with(ThreadKind::Interactive, vec![vec![text("ok"), end()]], summarising(), Some(Tokens(1_000)));
    let long = "long ".repeat(1_000);
    let held = held(&[Message::user(long.clone())]);
    let refused =
        bench.handle.ask(Command::SubmitHeld { text: long, held: Box::new(held), client: None }).await.unwrap_err();
    assert!(refused.contains("use /compact first"), "{refused}");
    assert!(bench.script.asked.lock().unwrap().is_empty());
    bench.ask("go").await;
    bench.until_answer().await;
}

#[tokio::test(start_paused = true)]
async fn another_model_is_not_sent_what_was_looked_at_for_the_first() {
    let plays = vec![vec![failure(ErrorCategory::RateLimited)], vec![text("ok"), end()]];
    let mut bench = Bench::with(ThreadKind::Interactive, plays, summarising(), None);
    let held = held(&[Message::user("go")]);
    bench.handle.ask(Command::SubmitHeld { text: "go".into(), held: Box::new(held), client: None }).await.unwrap();
    bench.until(|heard| matches!(heard, Heard::State(state) if state.waiting == Some(Waiting::RateLimit))).await;
    bench.handle.ask(Command::SetModel { model: ModelRef::new("script", "y") }).await.unwrap();
    bench.until_answer().await;
    let asked = bench.script.asked.lock().unwrap();
    let said = |call: &CallRequest| call.messages.iter().map(|message| message.text()).collect::<Vec<_>>();
    assert_eq!(said(&asked[0]), ["You are here.", "Current context:\n\nNow: noon", "go"]);
    assert_eq!((asked[1].model.as_str(), said(&asked[1])), ("y", vec!["You are here.".to_owned(), "go".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_suspended_thread_sends_what_was_looked_at_unless_a_limit_holds_it() {
    let hook = |event: &str| {
        hooked(&format!("hooks:\n- event: {event}\n  action: {{{CONTROL}, params: {{action: escalate}}}}\n"))
    };
    let plays = || vec![vec![failure(ErrorCategory::Permanent)], vec![text("ok"), end()]];
    let suspended = |heard: &Heard| matches!(heard, Heard::State(state) if state.status == Status::Suspended);
    let mut bench = Bench::with(ThreadKind::Interactive, plays(), hook("error"), None);
    let send = |held: FrozenRequest| Command::SubmitHeld { text: "go".into(), held: Box::new(held), client: None };
    bench.handle.ask(send(held(&[Message::user("go")]))).await.unwrap();
    bench.until(suspended).await;
    bench.handle.ask(send(held(&[Message::user("go"), Message::user("go")]))).await.unwrap();
    bench.until_answer().await;
    let mut bench = Bench::with(ThreadKind::Interactive, plays(), hook("limit"), None);
    bench.handle.ask(Command::SetLimits { limits: Limits { turns: Some(0), ..Limits::default() } }).await.unwrap();
    bench.ask("go").await;
    bench.until(suspended).await;
    let refused = bench.handle.ask(send(held(&[Message::user("go"), Message::user("go")]))).await.unwrap_err();
    assert!(refused.contains("at its limit of turns") && refused.contains("allows as much again"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_summary_takes_no_messages_place_and_all_of_them_are_paid_for() {
    let usage = || Ok(ProviderEvent::Usage(Usage { output: Tokens(9), ..Usage::default() }));
    let ends = |stop| Ok(ProviderEvent::Finished(stop));
    let plays = vec![
        vec![text("one"), end()],
        vec![text("two"), end()],
        vec![text("I cannot do that."), usage(), ends(StopReason::Refusal)],
        vec![text("half a summ"), usage()],
        vec![text("half a summary"), usage(), ends(StopReason::MaxTokens)],
    ];
    let mut bench = Bench::with(ThreadKind::Interactive, plays, summarising(), Some(Tokens(1_000)));
    for words in ["first", "second"] {
        bench.ask(words).await;
        bench.until_answer().await;
        bench.until_idle().await;
    }
    let spent = |events: &[(bool, Event)]| {
        let charges = events.iter().filter_map(|(_, event)| match event {
            Event::Request(RequestEvent::CallCharged { spend, .. }) => *spend,
            _ => None,
        });
        charges.collect::<Vec<_>>()
    };
    bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    let events = bench
        .until(|heard| {
            matches!(heard, Heard::Event { event: Event::Context(ContextEvent::ContextCompacted { .. }), .. })
        })
        .await;
    assert_eq!(compacted(&events), (String::new(), 4, 0, 0, Some("the model gave no summary".to_owned())));
    assert_eq!(spent(&events), [Money(9)]);
    bench.until_idle().await;
    bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    let events = bench
        .until(|heard| matches!(heard, Heard::Event { event: Event::Control(ControlEvent::TurnCancelled { .. }), .. }))
        .await;
    assert_eq!(spent(&events), [Money(9)]);
    bench.until_idle().await;
    bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    let events = bench
        .until(|heard| {
            matches!(heard, Heard::Event { event: Event::Context(ContextEvent::ContextCompacted { .. }), .. })
        })
        .await;
    let (summary, _, summarised, ..) = compacted(&events);
    assert!(summary.ends_with("half a summary\n\n(The summary was cut off here: it grew too long.)"), "{summary}");
    assert!(summarised > 0);
}

#[tokio::test(start_paused = true)]
async fn s16_an_answer_that_is_too_large_is_kept_and_not_asked_for_again() {
    let call = ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("c".into()), tool: "t".into() };
    let much = text(&"x".repeat(1 << 20));
    let endless = [text("begun "), Ok(call)].into_iter().chain((0..20).map(|_| much.clone())).collect();
    let over = vec![text("half"), Err(CallError::over_bounds("it is too large".into()))];
    let nothing = vec![Err(CallError::over_bounds("it is too large".into()))];
    let mut bench = Bench::new(ThreadKind::Interactive, vec![endless, over, nothing]);
    let mut sizes = Vec::new();
    for prompt in ["first", "second"] {
        bench.ask(prompt).await;
        for (_, event) in bench.until_answer().await {
            if let Event::Request(RequestEvent::CognitionOut {
                text, stop: StopReason::TooLarge { .. }, message, ..
            }) = event
            {
                assert_eq!(message.calls().count(), 0);
                sizes.push(text.len());
            }
        }
        bench.until_idle().await;
    }
    assert!(sizes.len() == 2 && (3 << 20..4 << 20).contains(&sizes[0]) && sizes[1] == 4, "{sizes:?}");
    bench.ask("third").await;
    bench.until_idle().await;
    assert_eq!(bench.script.asked.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_keeps_what_its_client_calls_it() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("ok"), end()]]);
    let submit = |client: String| Command::Submit {
        text: "go".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: Some(client),
    };
    let refused = bench.handle.ask(submit("x".repeat(65))).await.unwrap_err();
    assert!(refused.contains("longer than 64 bytes"), "{refused}");
    bench.handle.ask(submit("x".repeat(64))).await.unwrap();
    bench.until_answer().await;
    let log = bench.disk.log.lock().unwrap().clone();
    let called = log.iter().find_map(|event| match event {
        Event::Prompt(PromptEvent::PromptQueued { client, .. }) => client.clone(),
        _ => None,
    });
    assert_eq!(called, Some("x".repeat(64)));
}

#[tokio::test(start_paused = true)]
async fn s16_prompts_have_a_size_and_a_number() {
    let bench = Bench::new(ThreadKind::Interactive, vec![vec![text("one")]]);
    let submit = |text: String| Command::Submit {
        text,
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    let refused = bench.handle.ask(submit("x".repeat(5 << 20))).await.unwrap_err();
    assert!(refused.contains("5 MB, the limit is 4 MB"), "{refused}");
    let shell = Command::Shell { command: "x".repeat(5 << 20), shared: false };
    assert!(bench.handle.ask(shell).await.is_err());
    bench.ask("works").await;
    let mut waiting = 0;
    while bench.handle.ask(submit("short".into())).await.is_ok() {
        waiting += 1;
    }
    assert_eq!(waiting, 64);
    bench.handle.ask(Command::Withdraw { prompt: 2 }).await.unwrap();
    let refused = bench.handle.ask(submit("x".repeat((4 << 20) - 10))).await.unwrap_err();
    assert!(refused.contains("the queued messages"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn s16_an_answer_that_never_comes_ends() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("begun")]]);
    bench.ask("first").await;
    let answered = bench.heard.recv();
    drop(answered.await);
    let mut stop = None;
    while stop.is_none() {
        if let Some(Heard::Event { event: Event::Request(RequestEvent::CognitionOut { stop: why, .. }), .. }) =
            bench.heard.recv().await
        {
            stop = Some(why);
        }
    }
    assert!(matches!(stop, Some(StopReason::TooLarge { detail }) if detail.contains("6 h")));
}

/// A provider that counts next to nothing, or whose window is not known, does not make a thread grow for ever.
#[tokio::test(start_paused = true)]
async fn s16_a_conversation_grows_no_longer_than_it_may() {
    let long = text(&"x".repeat(3 << 20));
    let one = || Ok(ProviderEvent::Usage(Usage { output: Tokens(1), ..Usage::default() }));
    let mut bench = Bench::new(ThreadKind::Interactive, (0..6).map(|_| vec![long.clone(), one(), end()]).collect());
    for _ in 0..6 {
        bench.ask("go on").await;
        bench.until_answer().await;
        bench.until_idle().await;
    }
    let asked = bench.script.asked.lock().unwrap();
    let size = |request: &CallRequest| request.messages.iter().map(|message| message.to_json().len()).sum::<usize>();
    let most = asked.iter().map(size).max().unwrap();
    assert!((6 << 20..9 << 20).contains(&most), "{most}");
}

/// Stops a turn that a closed gate holds up: that is answered, and the turn is over, before the gate opens.
async fn is_stopped_before(mut bench: Bench, gate: Gate) -> Bench {
    let _opens = Opens(gate.clone());
    gate.is_reached().await;
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    bench
        .until(|heard| matches!(heard, Heard::Event { event: Event::Control(ControlEvent::TurnCancelled { .. }), .. }))
        .await;
    bench.until_idle().await;
    gate.open();
    bench
}

#[tokio::test]
async fn a_cancel_is_answered_while_the_context_is_planned() {
    let gate = Gate::default();
    gate.close();
    let held_up = (SlowPlan(Plan::default(), gate.clone()), Gate::default(), Arc::new(NoTools) as Arc<dyn ToolRunner>);
    let plays = vec![vec![text("later"), end()]];
    let bench = Bench::held_up(Disk::default(), ThreadKind::Interactive, plays, held_up, None);
    bench.ask("go").await;
    let mut bench = is_stopped_before(bench, gate).await;
    assert!(bench.script.asked.lock().unwrap().is_empty());
    bench.ask("go on").await;
    bench.until_answer().await;
}

#[tokio::test]
async fn a_cancel_is_answered_while_a_request_is_written() {
    let gate = Gate::default();
    gate.close();
    let plan = SlowPlan(Plan::default(), Gate::default());
    let plays = vec![vec![text("later"), end()]];
    let held_up = (plan, gate.clone(), Arc::new(NoTools) as Arc<dyn ToolRunner>);
    let bench = Bench::held_up(Disk::default(), ThreadKind::Interactive, plays, held_up, None);
    bench.ask("go").await;
    let mut bench = is_stopped_before(bench, gate).await;
    assert!(bench.script.asked.lock().unwrap().is_empty());
    bench.ask("go on").await;
    bench.until_answer().await;
}

#[tokio::test]
async fn a_cancel_is_answered_while_a_call_is_looked_at() {
    let gate = Gate::default();
    gate.close();
    let started = ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("c".into()), tool: "t".into() };
    let input = ProviderEvent::ToolInput { index: 0, partial_json: "{}".into() };
    let calls = vec![Ok(started), Ok(input), Ok(ProviderEvent::Finished(StopReason::ToolUse))];
    let plan = SlowPlan(Plan::default(), Gate::default());
    let held_up = (plan, Gate::default(), Arc::new(SlowTools(gate.clone())) as Arc<dyn ToolRunner>);
    let bench = Bench::held_up(Disk::default(), ThreadKind::Interactive, vec![calls], held_up, None);
    bench.ask("go").await;
    let bench = is_stopped_before(bench, gate).await;
    let log = bench.disk.log.lock().unwrap();
    let results = log.iter().filter(|event| matches!(event, Event::Tool(ToolEvent::ToolCallResult { .. }))).count();
    assert_eq!(results, 1, "the call has a result: {log:?}");
}

#[tokio::test]
async fn a_cancel_is_answered_while_room_is_made() {
    let gate = Gate::default();
    let plan = SlowPlan(summarising(), Gate::default());
    let plays = vec![vec![text("one"), end()], vec![text("two"), end()]];
    let held_up = (plan, gate.clone(), Arc::new(NoTools) as Arc<dyn ToolRunner>);
    let mut bench = Bench::held_up(Disk::default(), ThreadKind::Interactive, plays, held_up, Some(Tokens(100_000)));
    for prompt in ["go", "go on"] {
        bench.ask(prompt).await;
        bench.until_answer().await;
        bench.until_idle().await;
    }
    gate.close();
    bench.handle.ask(Command::Compact { instructions: None }).await.unwrap();
    let bench = is_stopped_before(bench, gate).await;
    assert_eq!(bench.script.asked.lock().unwrap().len(), 2, "no summary was asked for");
    assert!(
        !bench
            .disk
            .log
            .lock()
            .unwrap()
            .iter()
            .any(|event| matches!(event, Event::Context(ContextEvent::ContextCompacted { .. })))
    );
}

#[tokio::test]
async fn a_cancel_is_answered_while_the_disk_is_slow_and_nothing_begins_after_it() {
    let mut bench = Bench::new(ThreadKind::Interactive, vec![vec![text("later"), end()]]);
    bench.until_idle().await;
    let gate = bench.disk.gate.clone();
    let _opens = Opens(gate.clone());
    gate.close();
    let handle = bench.handle.clone();
    let submit = Command::Submit {
        text: "go".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    let asked = tokio::spawn(async move { handle.ask(submit).await });
    gate.is_reached().await;
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    assert!(!asked.is_finished(), "the prompt is on no disk yet");
    gate.open();
    asked.await.unwrap().unwrap();
    bench
        .until(|heard| matches!(heard, Heard::Event { event: Event::Control(ControlEvent::TurnCancelled { .. }), .. }))
        .await;
    assert!(bench.script.asked.lock().unwrap().is_empty(), "nothing was sent");
}

/// A tool whose calls may run side by side, and end in the other order: the first waits for the last.
struct SideBySide {
    running: Arc<tokio::sync::Barrier>,
    others: Arc<tokio::sync::Semaphore>,
}

impl ToolRunner for SideBySide {
    fn tools(&self) -> Vec<KnownTool> {
        let spec = ToolSpec { name: "look".into(), description: String::new(), schema: serde_json::json!({}) };
        let (item, origin) = ("look".to_owned(), Origin::Thread);
        vec![KnownTool { item, aliases: Vec::new(), origin, absent: None, parallel: true, confinable: false, spec }]
    }

    fn run<'a>(
        &'a self,
        _item: &'a str,
        call: &'a ToolCall,
        _isolation: Isolation,
        _listener: &'a dyn ToolListener,
    ) -> tools::Waiting<'a, ToolOutcome> {
        Box::pin(async move {
            self.running.wait().await;
            if call.call_id.0 == "a" {
                let _all_others_are_through = self.others.acquire_many(2).await.unwrap();
            } else {
                self.others.add_permits(1);
            }
            ToolOutcome { output: format!("seen by {}", call.call_id.0), error: None }
        })
    }
}

#[tokio::test]
async fn parallel_calls_of_one_answer_run_at_once_and_are_told_in_its_order() {
    let call = |index, id: &str| {
        let started = ProviderEvent::ToolCallStarted { index, call_id: CallId(id.into()), tool: "look".into() };
        [Ok(started), Ok(ProviderEvent::ToolInput { index, partial_json: "{}".into() })]
    };
    let all = [(0, "a"), (1, "b"), (2, "c")].into_iter().flat_map(|(index, id)| call(index, id));
    let calls = all.chain([Ok(ProviderEvent::Finished(StopReason::ToolUse))]).collect();
    let (running, others) = (Arc::new(tokio::sync::Barrier::new(3)), Arc::new(tokio::sync::Semaphore::new(0)));
    let tools: Arc<dyn ToolRunner> = Arc::new(SideBySide { running, others });
    let plan = SlowPlan(Plan::default(), Gate::default());
    let plays = vec![calls, vec![text("done"), end()]];
    let mut bench =
        Bench::held_up(Disk::default(), ThreadKind::Interactive, plays, (plan, Gate::default(), tools), None);
    bench.ask("go").await;
    bench.until_answer().await;
    bench.until_answer().await;
    let order = |event: &Event| match event {
        Event::Tool(ToolEvent::ToolCallStart { call_id, .. }) => Some(format!("start {}", call_id.0)),
        Event::Tool(ToolEvent::ToolCallResult { call_id, .. }) => Some(format!("result {}", call_id.0)),
        _ => None,
    };
    let happened: Vec<String> = bench.disk.log.lock().unwrap().iter().filter_map(order).collect();
    assert_eq!(happened[..3], ["start a", "start b", "start c"]);
    assert_eq!(happened[5], "result a", "{happened:?}");
    let asked = bench.script.asked.lock().unwrap();
    let told = asked[1].messages.last().unwrap().to_json();
    let place = |id: &str| told.find(&format!("seen by {id}")).unwrap();
    assert!(place("a") < place("b") && place("b") < place("c"), "{told}");
}

/// Tools of which `look` only looks and `read` remembers what it read; each run is told, and ends when it may.
struct Told {
    runs: mpsc::UnboundedSender<String>,
    may_end: Arc<tokio::sync::Semaphore>,
}

impl ToolRunner for Told {
    fn tools(&self) -> Vec<KnownTool> {
        let tool = |name: &str, parallel| {
            let spec = ToolSpec { name: name.into(), description: String::new(), schema: serde_json::json!({}) };
            let (item, origin) = (name.to_owned(), Origin::Thread);
            KnownTool { item, aliases: Vec::new(), origin, absent: None, parallel, confinable: false, spec }
        };
        vec![tool("look", true), tool("read", true), tool("change", false)]
    }

    fn may_begin_early(&self, item: &str) -> bool {
        item == "look"
    }

    fn run<'a>(
        &'a self,
        item: &'a str,
        call: &'a ToolCall,
        _isolation: Isolation,
        _listener: &'a dyn ToolListener,
    ) -> tools::Waiting<'a, ToolOutcome> {
        Box::pin(async move {
            self.runs.send(format!("{item} {}", call.call_id.0)).unwrap();
            self.may_end.acquire().await.unwrap().forget();
            ToolOutcome { output: format!("{} saw {}", call.call_id.0, call.input["at"]), error: None }
        })
    }
}

/// The beginning of an answer with these calls, each whole but the last, which may be.
fn calls(calls: &[(&str, &str)]) -> Play {
    let pieces = calls.iter().zip(0..).flat_map(|((id, tool), index)| {
        let started = ProviderEvent::ToolCallStarted { index, call_id: CallId((*id).into()), tool: (*tool).into() };
        [Ok(started), Ok(ProviderEvent::ToolInput { index, partial_json: r#"{"at": 1}"#.into() })]
    });
    pieces.collect()
}

/// A thread whose first answer begins with `begun` and goes on with what is sent.
fn answering(
    begun: Play,
) -> (Bench, oneshot::Sender<Play>, mpsc::UnboundedReceiver<String>, Arc<tokio::sync::Semaphore>) {
    let (runs, told) = mpsc::unbounded_channel();
    let may_end = Arc::new(tokio::sync::Semaphore::new(0));
    let tools: Arc<dyn ToolRunner> = Arc::new(Told { runs, may_end: Arc::clone(&may_end) });
    let plan = SlowPlan(Plan::default(), Gate::default());
    let plays = vec![begun, vec![text("done"), end()]];
    let bench = Bench::held_up(Disk::default(), ThreadKind::Interactive, plays, (plan, Gate::default(), tools), None);
    let (rest, goes_on) = oneshot::channel();
    *bench.script.rest.lock().unwrap() = Some(goes_on);
    (bench, rest, told, may_end)
}

#[tokio::test]
async fn a_call_that_only_reads_runs_while_its_answer_still_arrives_and_runs_once() {
    let (mut bench, rest, mut told, may_end) = answering(calls(&[("a", "look"), ("b", "look"), ("c", "look")]));
    bench.ask("go").await;
    let first = [told.recv().await.unwrap(), told.recv().await.unwrap()];
    assert_eq!(first, ["look a", "look b"], "of the last call something may still arrive");
    let noted = |event: &Event| matches!(event, Event::Tool(ToolEvent::ToolCallEarly { .. }));
    assert_eq!(bench.disk.log.lock().unwrap().iter().filter(|event| noted(event)).count(), 2);
    may_end.add_permits(3);
    // Of what ran early, `b` turns out to be another call.
    let more = ProviderEvent::ToolInput { index: 1, partial_json: " ".into() };
    let changed = ProviderEvent::ToolInput { index: 1, partial_json: "x".into() };
    rest.send(vec![Ok(more), Ok(changed), Ok(ProviderEvent::Finished(StopReason::ToolUse))]).unwrap();
    may_end.add_permits(3);
    bench.until_answer().await;
    bench.until_answer().await;
    told.close();
    let mut later = Vec::new();
    while let Some(run) = told.recv().await {
        later.push(run);
    }
    assert_eq!(later, ["look c"], "`a` ran once");
    let asked = bench.script.asked.lock().unwrap();
    let results = asked[1].messages.last().unwrap().to_json();
    assert!(results.contains("a saw 1") && results.contains("c saw 1"), "{results}");
    assert!(!results.contains("b saw") && results.contains("Not run"), "{results}");
}

#[tokio::test]
async fn what_changes_something_and_what_comes_behind_it_waits_for_the_whole_answer() {
    waits_for_the_whole_answer("change").await;
    waits_for_the_whole_answer("read").await;
}

async fn waits_for_the_whole_answer(second: &str) {
    let (mut bench, rest, mut told, may_end) =
        answering(calls(&[("a", "look"), ("b", second), ("c", "look"), ("d", "look")]));
    bench.ask("go").await;
    assert_eq!(told.recv().await.unwrap(), "look a");
    may_end.add_permits(4);
    assert!(told.try_recv().is_err(), "nothing else began");
    rest.send(vec![Ok(ProviderEvent::Finished(StopReason::ToolUse))]).unwrap();
    bench.until_answer().await;
    bench.until_answer().await;
    let started = |event: &Event| matches!(event, Event::Tool(ToolEvent::ToolCallEarly { .. }));
    assert_eq!(bench.disk.log.lock().unwrap().iter().filter(|event| started(event)).count(), 1);
}

#[tokio::test]
async fn a_call_that_began_early_ends_when_its_answer_is_cut() {
    let (mut bench, rest, mut told, may_end) = answering(calls(&[("a", "look"), ("b", "look")]));
    bench.ask("go").await;
    assert_eq!(told.recv().await.unwrap(), "look a");
    rest.send(vec![failure(ErrorCategory::Permanent)]).unwrap();
    bench.until_answer().await;
    bench.until_idle().await;
    may_end.add_permits(1);
    tokio::task::yield_now().await;
    assert_eq!(may_end.available_permits(), 1, "the call has been dropped");
}

#[tokio::test]
async fn a_call_that_began_early_ends_with_its_answer() {
    let (mut bench, _rest, mut told, may_end) = answering(calls(&[("a", "look"), ("b", "look")]));
    bench.ask("go").await;
    assert_eq!(told.recv().await.unwrap(), "look a");
    bench.handle.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    bench.until_idle().await;
    may_end.add_permits(1);
    tokio::task::yield_now().await;
    assert_eq!(may_end.available_permits(), 1, "the call has been dropped");
    let ran = |event: &Event| {
        matches!(event, Event::Tool(ToolEvent::ToolCallStart { .. } | ToolEvent::ToolCallResult { .. }))
    };
    assert!(!bench.disk.log.lock().unwrap().iter().any(ran), "nothing came of it");
}

/// A tool whose results are long, or the same.
struct LongResults;

impl ToolRunner for LongResults {
    fn tools(&self) -> Vec<KnownTool> {
        let spec = ToolSpec { name: "look".into(), description: String::new(), schema: serde_json::json!({}) };
        let (item, origin) = ("look".to_owned(), Origin::Thread);
        vec![KnownTool { item, aliases: Vec::new(), origin, absent: None, parallel: false, confinable: false, spec }]
    }

    fn reader(&self) -> Option<KnownTool> {
        let item = "rye/agent/threads/internal/result".to_owned();
        let name = "rye_agent_threads_internal_result".to_owned();
        let spec = ToolSpec { name, description: String::new(), schema: serde_json::json!({}) };
        Some(KnownTool {
            item,
            aliases: Vec::new(),
            origin: Origin::Thread,
            absent: None,
            parallel: true,
            confinable: false,
            spec,
        })
    }

    fn run<'a>(
        &'a self,
        item: &'a str,
        call: &'a ToolCall,
        _isolation: Isolation,
        _listener: &'a dyn ToolListener,
    ) -> tools::Waiting<'a, ToolOutcome> {
        let lines = |many: u32| (0..many).fold(String::new(), |all, number| all + &format!("line {number}\n"));
        let output = match (item, call.call_id.0.as_str()) {
            ("look", "a" | "b") => lines(300),
            ("look", _) => lines(20_000),
            _ => format!("read {}", call.input["offset"]),
        };
        Box::pin(std::future::ready(ToolOutcome { output, error: None }))
    }
}

#[tokio::test]
async fn a_long_result_is_cut_and_can_be_read_back_and_the_same_is_not_told_twice() {
    let call = |index, id: &str, tool: &str, input: &str| {
        let started = ProviderEvent::ToolCallStarted { index, call_id: CallId(id.into()), tool: tool.into() };
        [Ok(started), Ok(ProviderEvent::ToolInput { index, partial_json: input.into() })]
    };
    let calls = |calls: Vec<[Result<ProviderEvent, CallError>; 2]>| -> Play {
        calls.into_iter().flatten().chain([Ok(ProviderEvent::Finished(StopReason::ToolUse))]).collect()
    };
    let looks = ["a", "b", "c", "d"].into_iter().zip(0..).map(|(id, index)| call(index, id, "look", "{}")).collect();
    let read = call(0, "e", "rye_agent_threads_internal_result", r#"{"result": "x", "offset": 7}"#);
    let plays = vec![calls(looks), calls(vec![read]), vec![text("done"), end()]];
    let plan = SlowPlan(Plan::default(), Gate::default());
    let tools: Arc<dyn ToolRunner> = Arc::new(LongResults);
    let mut bench =
        Bench::held_up(Disk::default(), ThreadKind::Interactive, plays, (plan, Gate::default(), tools), None);
    bench.ask("go").await;
    for _ in 0..3 {
        bench.until_answer().await;
    }
    let log = bench.disk.log.lock().unwrap();
    let results: Vec<&String> = log
        .iter()
        .filter_map(|event| match event {
            Event::Tool(ToolEvent::ToolCallResult { output, .. }) => Some(output),
            _ => None,
        })
        .collect();
    assert!(results[0].ends_with("line 299\n") && results[0].len() > 2_000);
    assert_eq!(
        results[1],
        &format!("The same as the result of your earlier call a: {} bytes, not repeated here.", results[0].len())
    );
    assert!(results[2].len() < 66_000 && results[2].ends_with("line 19999\n"), "{}", results[2].len());
    assert!(results[2].contains("bytes are left out here; read them with rye_agent_threads_internal_result: {"));
    assert!(results[3].starts_with("The same as the result of your earlier call c"), "{}", results[3]);
    assert_eq!(results[4], "read 7");
    let kept = log.iter().filter(|event| matches!(event, Event::Tool(ToolEvent::ResultKept { bytes: 208_890, .. })));
    assert_eq!(kept.count(), 2);
    let asked = bench.script.asked.lock().unwrap();
    let names = |request: usize| asked[request].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert!(!names(0).iter().any(|name| name.ends_with("result")), "{:?}", names(0));
    assert!(names(1).iter().any(|name| name == "rye_agent_threads_internal_result"), "{:?}", names(1));
}
