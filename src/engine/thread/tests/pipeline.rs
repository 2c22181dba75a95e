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
    assert_eq!(bench.feed(Event::Prompt(PromptEvent::PromptWithdrawn { prompt: 1, why: None })), []);
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

#[test]
fn a_batch_of_calls_ends_before_what_steers_is_taken() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.calling("go");
    bench.answer(calls(&["a", "b"]), StopReason::ToolUse);
    bench.prompt("rather this", PromptMode::Steer);
    let effects = bench.feed(result("a"));
    assert!(matches!(effects.as_slice(), [Effect::RunTool { call, .. }] if call.call_id.0 == "b"), "{effects:?}");
    let effects = bench.feed(result("b"));
    bench.send(&effects);
    assert_eq!(bench.said().last().unwrap().1, "rather this");
}

#[test]
fn follow_ups_are_taken_one_at_a_time_or_all() {
    for (follow_up, expected) in [(FollowUp::OneAtATime, vec!["first"]), (FollowUp::All, vec!["first", "second"])] {
        let mut bench = Bench::new(ThreadKind::Interactive);
        let rules = Rules { follow_up, ..Rules::default() };
        bench.feed(Event::Settings(SettingsEvent::RulesSet { rules }));
        bench.calling("go");
        bench.prompt("first", PromptMode::FollowUp);
        bench.prompt("second", PromptMode::FollowUp);
        let effects = bench.answer(Message::assistant("done"), StopReason::EndTurn);
        bench.send(&effects);
        let said: Vec<_> = bench.said().into_iter().skip(2).map(|(_, text)| text).collect();
        assert_eq!(said, expected);
    }
}

#[test]
fn steering_skips_the_remaining_tools_where_that_is_set() {
    let mut bench = Bench::new(ThreadKind::Interactive);
    bench.steering(Steering::SkipRemaining);
    bench.calling("go");
    bench.answer(calls(&["a", "b", "c"]), StopReason::ToolUse);
    bench.prompt("stop that", PromptMode::Steer);
    let effects = bench.feed(result("a"));
    bench.send(&effects);
    let results = &bench.thread.history[bench.thread.history.len() - 2];
    let errors: Vec<_> =
        results.message.blocks.iter().map(|block| matches!(block, Block::ToolResult { error: true, .. })).collect();
    assert_eq!(errors, [false, true, true]);
    assert_eq!(bench.said().last().unwrap().1, "stop that");
}

/// Something that happens to a thread whose prompts go through slow handlers.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Sends(PromptMode),
    Joins,
    Handled,
    Withdraws,
    Cancels,
    Releases,
    Answers,
    Calls,
    Fails,
    Compacts,
    Compacted,
    Dies,
}

fn happens() -> impl proptest::strategy::Strategy<Value = Happens> {
    use proptest::prelude::*;
    prop_oneof![
        4 => Just(Happens::Sends(PromptMode::Steer)),
        4 => Just(Happens::Sends(PromptMode::FollowUp)),
        6 => Just(Happens::Joins),
        2 => Just(Happens::Handled),
        1 => Just(Happens::Withdraws),
        2 => Just(Happens::Cancels),
        2 => Just(Happens::Releases),
        4 => Just(Happens::Answers),
        2 => Just(Happens::Calls),
        1 => Just(Happens::Fails),
        1 => Just(Happens::Compacts),
        2 => Just(Happens::Compacted),
        1 => Just(Happens::Dies),
    ]
}

/// A thread whose handlers answer when the test says so.
struct Slow {
    bench: Bench,
    /// The prompt that is on its way through handlers.
    taking: Option<u64>,
    sent: Vec<u64>,
    done: Vec<u64>,
}

impl Slow {
    fn new() -> Self {
        Self { bench: Bench::new(ThreadKind::Interactive), taking: None, sent: Vec::new(), done: Vec::new() }
    }

    /// Applies an event and what follows from it, as a driver does, but for prompts: those wait.
    fn feed(&mut self, event: Event) {
        let mut todo = VecDeque::from([Effect::Emit(event)]);
        while let Some(effect) = todo.pop_front() {
            let event = match effect {
                Effect::Emit(event) => event,
                Effect::TakePrompt { prompt } => {
                    self.taking = Some(prompt);
                    continue;
                }
                Effect::StopWaiting => {
                    self.taking = None;
                    continue;
                }
                Effect::Prepare { request, attempt } => {
                    let (turn, model) = (self.bench.thread.turn(), self.bench.thread.model.clone());
                    Event::Request(RequestEvent::RequestRecorded { request, turn, attempt, model, tokens: Tokens(1) })
                }
                Effect::StopCall | Effect::StopTools => {
                    if matches!(self.bench.thread.phase, Phase::Stopping { .. }) {
                        Event::Control(ControlEvent::TurnCancelled { after_ms: 0 })
                    } else {
                        continue;
                    }
                }
                Effect::Send { .. }
                | Effect::Wait { .. }
                | Effect::WaitForSlot
                | Effect::AskHooks { .. }
                | Effect::MakeRoom { .. }
                | Effect::HandOff(_)
                | Effect::Authorise(_)
                | Effect::RunTool { .. }
                | Effect::Remember(_)
                | Effect::RunShell { .. }
                | Effect::StopShell
                | Effect::EndShell
                | Effect::RunBackground { .. }
                | Effect::End(_) => continue,
            };
            self.bench.now += 10;
            let (timestamp, thread_id) = (Timestamp(self.bench.now), self.bench.thread.id.clone());
            let record = Record { timestamp, thread_id, event };
            for effect in apply(&mut self.bench.thread, &record).into_iter().rev() {
                todo.push_front(effect);
            }
            self.bench.log.push(record);
        }
    }

    fn happens(&mut self, what: Happens) {
        let calling = matches!(self.bench.thread.phase, Phase::Calling { .. });
        match what {
            Happens::Sends(mode) => {
                let prompt = self.bench.thread.prompts + 1;
                self.sent.push(prompt);
                let (text, images, files, client) = (format!("prompt {prompt}"), Vec::new(), Vec::new(), None);
                self.feed(Event::Prompt(PromptEvent::PromptQueued { prompt, text, mode, images, files, client }));
            }
            Happens::Joins => {
                if let Some(prompt) = self.taking.take() {
                    self.feed(prepared(prompt, vec![custom("beside")], None));
                    self.feed(self.bench.joins(prompt));
                }
            }
            Happens::Handled => {
                if let Some(prompt) = self.taking.take() {
                    self.done.push(prompt);
                    self.feed(handled(prompt));
                }
            }
            Happens::Withdraws => {
                if let Some(prompt) = self.bench.thread.queue.last().map(|queued| queued.prompt) {
                    self.done.push(prompt);
                    self.taking = self.taking.filter(|taking| *taking != prompt);
                    self.feed(Event::Prompt(PromptEvent::PromptWithdrawn { prompt, why: None }));
                }
            }
            Happens::Cancels => {
                self.feed(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }));
            }
            Happens::Releases => self.feed(Event::Prompt(PromptEvent::QueueReleased {})),
            Happens::Answers | Happens::Calls if calling => {
                let called = matches!(what, Happens::Calls);
                let id = format!("c{}", self.bench.now);
                let (message, stop) = if called {
                    (calls(&[&id]), StopReason::ToolUse)
                } else {
                    (Message::assistant("done"), StopReason::EndTurn)
                };
                let request = self.bench.thread.requests;
                self.feed(Event::Request(RequestEvent::CognitionOut {
                    text: message.text(),
                    model: self.bench.thread.model.clone(),
                    request,
                    stop,
                    usage: Usage::default(),
                    spend: None,
                    message,
                    elapsed_ms: 1,
                }));
                if called {
                    self.feed(result(&id));
                }
            }
            Happens::Fails if calling => {
                let category = ErrorCategory::Permanent;
                let (code, message) = ("x".to_owned(), "it broke".to_owned());
                let error = CallError { category, code, message, status: None, retry_after_ms: None };
                let request = self.bench.thread.requests;
                self.feed(Event::Request(RequestEvent::ErrorClassified { request, attempt: 1, error }));
            }
            Happens::Compacts if self.bench.thread.can_take() && !self.bench.thread.history.is_empty() => {
                self.feed(Event::Context(crate::domain::ContextEvent::CompactRequested { instructions: None }));
            }
            Happens::Compacted if matches!(self.bench.thread.phase, Phase::Compacting { .. }) => {
                self.feed(Event::Context(crate::domain::ContextEvent::ContextCompacted {
                    summary: String::new(),
                    kept: self.bench.thread.history.len(),
                    summarised: 0,
                    dropped: 0,
                    tokens_before: Tokens(1),
                    tokens_after: Tokens(1),
                    request: None,
                    usage: Usage::default(),
                    spend: None,
                    reason: Some("nothing to do".into()),
                    steps: Vec::new(),
                    details: None,
                }));
            }
            Happens::Answers | Happens::Calls | Happens::Fails | Happens::Compacts | Happens::Compacted => {}
            Happens::Dies => {
                self.taking = None;
                self.feed(Event::Thread(ThreadEvent::WorkerStarted { pid: 2, version: "1".into() }));
            }
        }
    }

    /// Every prompt is in exactly one place: said, queued, handled or taken back.
    fn loses_nothing(&self) -> Result<(), String> {
        let said: Vec<String> = self.bench.thread.history.iter().map(|entry| entry.message.text()).collect();
        for prompt in &self.sent {
            let places = [
                said.iter().filter(|text| **text == format!("prompt {prompt}")).count(),
                self.bench.thread.queue.iter().filter(|queued| queued.prompt == *prompt).count(),
                self.done.iter().filter(|done| *done == prompt).count(),
            ];
            if places.iter().sum::<usize>() != 1 {
                return Err(format!("prompt {prompt} is in {places:?} (said, queued, done)"));
            }
        }
        let works = !self.bench.thread.is_resting();
        let waits = matches!(self.bench.thread.phase, Phase::Taking { .. });
        if waits && self.taking.is_none() {
            return Err(format!("nobody works on {:?}", self.bench.thread.phase));
        }
        if !works && self.taking.is_some() {
            return Err("a prompt is worked on while the thread rests".to_owned());
        }
        Ok(())
    }
}

proptest::proptest! {
    /// A second prompt, a steer, a follow-up, a compaction, a cancel and a crash between any two steps of a prompt's way.
    #[test]
    fn no_text_is_lost_in_any_interleaving(all in proptest::collection::vec(happens(), 1..60)) {
        let mut slow = Slow::new();
        for what in all {
            slow.happens(what);
            let lost = slow.loses_nothing();
            proptest::prop_assert!(lost.is_ok(), "after {:?}: {:?}", what, lost);
        }
        // The log tells the same.
        let mut again = Bench::new(ThreadKind::Interactive).thread;
        for record in &slow.bench.log {
            apply(&mut again, record);
        }
        proptest::prop_assert_eq!(&again.queue, &slow.bench.thread.queue);
        proptest::prop_assert_eq!(&again.history, &slow.bench.thread.history);
    }
}

#[test]
fn a_prompt_that_is_given_back_asks_no_model_and_ends_what_nobody_talks_with() {
    let given_back = || Event::Prompt(PromptEvent::PromptWithdrawn { prompt: 1, why: Some("no".into()) });
    let mut bench = Bench::new(ThreadKind::Interactive);
    waiting(&mut bench, &["go"]);
    assert_eq!(bench.feed(given_back()), []);
    assert_eq!((bench.thread.phase.clone(), bench.thread.queue.len()), (Phase::Idle, 0));
    let mut bench = Bench::new(ThreadKind::OneShot);
    waiting(&mut bench, &["go"]);
    bench.feed(given_back());
    assert!(matches!(bench.ended(), Event::Thread(ThreadEvent::ThreadError { error, .. }) if error == "no"));
}
