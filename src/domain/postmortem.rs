//! What became of a thread, from its log alone: why it ended, what it was doing then, and what had gone wrong before.

use super::amount::Tokens;
use super::event::{
    ApprovalEvent, CancelScope, ControlEvent, EndReason, Event, RequestEvent, SettingsEvent, StopReason, ThreadEvent,
    Timestamp, ToolEvent,
};
use super::id::{CallId, ModelRef, ThreadId};
use super::note::{limit_in_words, seconds};
use super::state_store::StateStore;
use super::status::Cost;

/// As many of the newest errors are kept.
const MOST_ERRORS: usize = 5;

/// As many letters of an error or a value are told.
const LONGEST: usize = 300;

/// The error of a thread whose process was lost.
pub const PROCESS_LOST: &str = "the process that ran this thread ended unexpectedly; send a message to continue";

/// What a log tells, the oldest event first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Postmortem {
    begun: Option<Timestamp>,
    last: Timestamp,
    /// How it ended, in words; `None` while it could go on.
    end: Option<String>,
    /// Whether that was in order: its process said so.
    ended: bool,
    /// The process that took it over last, and how that let go of it.
    process: Option<(u32, Option<EndReason>)>,
    /// How far a cancel was to reach that nothing followed yet.
    cancel: Option<CancelScope>,
    request: Option<LastRequest>,
    errors: Vec<(Timestamp, String)>,
    limit: Option<String>,
    /// Calls without a result, and what they call.
    calls: Vec<(CallId, String)>,
    children: Vec<ThreadId>,
    /// The item of the call that a person was asked about.
    asked: Option<(CallId, String)>,
    state: StateStore,
}

/// The newest request.
#[derive(Clone, Debug, PartialEq)]
struct LastRequest {
    number: u32,
    turn: u32,
    attempt: u32,
    model: ModelRef,
    tokens: Tokens,
    /// What came of it; `None` where the log does not say.
    outcome: Option<String>,
}

impl Postmortem {
    /// Takes in one event.
    pub fn hear(&mut self, at: Timestamp, event: &Event) {
        self.begun = self.begun.or(Some(at));
        self.last = at;
        match event {
            Event::Thread(event) => self.thread(at, event),
            Event::Request(event) => self.called(at, event),
            Event::Tool(ToolEvent::ToolCallStart { tool, call_id, item, .. }) => {
                self.asked.take_if(|(asked, _)| asked == call_id);
                self.calls.push((call_id.clone(), item.clone().unwrap_or_else(|| tool.clone())));
            }
            Event::Tool(ToolEvent::ShellStarted { call_id, command, .. }) => {
                self.calls.push((call_id.clone(), format!("! {command}")));
            }
            Event::Tool(
                ToolEvent::ToolCallResult { call_id, error, .. } | ToolEvent::ShellEnded { call_id, error, .. },
            ) => {
                let called = self.calls.iter().position(|(open, _)| open == call_id);
                let called = called.map(|index| self.calls.remove(index).1);
                self.asked.take_if(|(asked, _)| asked == call_id);
                if let Some(error) = error {
                    let called = called.map(|called| format!("{called}: ")).unwrap_or_default();
                    self.failed(at, format!("{called}{error}"));
                }
            }
            Event::Approval(ApprovalEvent::ApprovalRequested { call_id, item, .. }) => {
                self.asked = Some((call_id.clone(), item.clone()));
            }
            Event::Control(ControlEvent::Limit { code, current, maximum }) => {
                self.limit = Some(limit_in_words(*code, *current, *maximum));
            }
            Event::Control(ControlEvent::CancelRequested { scope }) => self.cancel = Some(*scope),
            Event::Control(ControlEvent::TurnCancelled { .. }) => self.cancel = None,
            Event::Control(ControlEvent::ThreadSuspended { reason, .. }) => {
                self.end = Some(format!("suspended: {reason}"));
            }
            Event::Settings(SettingsEvent::StateSet { values }) => self.state.set(values),
            // Somebody goes on with it.
            Event::Prompt(_) => (self.end, self.ended) = (None, false),
            Event::Tool(
                ToolEvent::CommandStarted { .. }
                | ToolEvent::CommandEnded { .. }
                | ToolEvent::ToolProcess { .. }
                | ToolEvent::ToolCallEarly { .. }
                | ToolEvent::FileCheckpointed { .. }
                | ToolEvent::ResultKept { .. }
                | ToolEvent::ResultImage { .. }
                | ToolEvent::CallPrepared { .. }
                | ToolEvent::ResultPrepared { .. },
            )
            | Event::Approval(_)
            | Event::Control(_)
            | Event::Settings(_)
            | Event::Context(_)
            | Event::Unknown { .. } => {}
        }
    }

    fn thread(&mut self, at: Timestamp, event: &ThreadEvent) {
        match event {
            ThreadEvent::WorkerStarted { pid, .. } => (self.process, self.ended) = (Some((*pid, None)), false),
            ThreadEvent::WorkerEnded { reason } => {
                self.process.iter_mut().for_each(|(_, ended)| *ended = Some(*reason));
            }
            ThreadEvent::ChildThreadStarted { child, background: false, .. } => self.children.push(child.clone()),
            ThreadEvent::ChildThreadEnded { child, .. } => self.children.retain(|open| open != child),
            ThreadEvent::ThreadCompleted { .. } => {
                self.ended = true;
                self.end = Some("completed what it was asked".to_owned());
            }
            ThreadEvent::ThreadError { error, .. } => {
                self.failed(at, error.clone());
                self.ended = error != PROCESS_LOST;
                self.end = Some(format!("error: {error}"));
            }
            ThreadEvent::ThreadCancelled { .. } => {
                self.ended = true;
                self.end = Some("cancelled: somebody asked for it".to_owned());
            }
            ThreadEvent::ThreadKilled { .. } => self.end = Some("killed: somebody ended it at once".to_owned()),
            ThreadEvent::ThreadContinued { new_thread_id, .. } => {
                self.ended = true;
                self.end = Some(format!("handed off: {new_thread_id} goes on with it"));
            }
            ThreadEvent::ThreadStarted { .. }
            | ThreadEvent::ChildThreadStarted { .. }
            | ThreadEvent::DirectiveReturn { .. }
            | ThreadEvent::ThreadHandoff { .. }
            | ThreadEvent::ThreadForked { .. }
            | ThreadEvent::LogRepaired { .. }
            | ThreadEvent::ClockJumped { .. }
            | ThreadEvent::ExtensionEntry { .. }
            | ThreadEvent::RiskNoted { .. }
            | ThreadEvent::Notice { .. } => {}
        }
    }

    fn called(&mut self, at: Timestamp, event: &RequestEvent) {
        match event {
            RequestEvent::RequestRecorded { request, turn, attempt, model, tokens } => {
                let (number, turn, attempt, model, tokens) = (*request, *turn, *attempt, model.clone(), *tokens);
                self.request = Some(LastRequest { number, turn, attempt, model, tokens, outcome: None });
            }
            RequestEvent::CognitionOut { request, stop, .. } => {
                let outcome = match stop {
                    StopReason::EndTurn => "answered".to_owned(),
                    StopReason::ToolUse => "answered with calls".to_owned(),
                    StopReason::MaxTokens => "answered up to its output limit".to_owned(),
                    StopReason::Refusal => "refused by the model".to_owned(),
                    StopReason::Truncated { detail } | StopReason::TooLarge { detail } => format!("cut off: {detail}"),
                    StopReason::Cancelled => "stopped".to_owned(),
                    StopReason::Lost => "lost: the process that received the answer died".to_owned(),
                    StopReason::Other { word } => format!("answered ({word})"),
                };
                self.outcome(*request, outcome);
            }
            RequestEvent::ErrorClassified { request, error, .. } => {
                let told = format!("{}: {}", error.code, error.message);
                self.outcome(*request, format!("failed: {told}"));
                self.failed(at, told);
            }
            RequestEvent::CognitionReasoning { .. }
            | RequestEvent::TokenDelta { .. }
            | RequestEvent::RetryScheduled { .. }
            | RequestEvent::RetryDue { .. }
            | RequestEvent::AnswerPrepared { .. }
            | RequestEvent::CallCharged { .. } => {}
        }
    }

    fn outcome(&mut self, number: u32, outcome: String) {
        if let Some(request) = self.request.as_mut().filter(|request| request.number == number) {
            request.outcome = Some(outcome);
        }
    }

    fn failed(&mut self, at: Timestamp, why: String) {
        if self.errors.last().is_some_and(|(_, last)| *last == why) {
            return;
        }
        if self.errors.len() == MOST_ERRORS {
            self.errors.remove(0);
        }
        self.errors.push((at, why));
    }

    /// Everything as rows: what it is about, and what is known of that. `cost` is what the thread has used, `runs` whether
    /// a process has it now.
    #[must_use]
    pub fn rows(&self, cost: &Cost, runs: bool) -> Vec<(&'static str, String)> {
        let since = |at: Timestamp| seconds(at.since(self.begun.unwrap_or(at)));
        let mut rows = vec![("why", self.why(runs)), ("last event", format!("{} after it began", since(self.last)))];
        let mut row = |name: &'static str, text: Option<String>| rows.extend(text.map(|text| (name, cut(&text))));
        row("process", self.process.map(|process| process_in_words(process, runs, self.ended)));
        row("request", self.request.as_ref().map(LastRequest::in_words));
        for (_, item) in &self.calls {
            row("running", Some(format!("{item}, without a result")));
        }
        for child in &self.children {
            row("running", Some(format!("the thread {child}, which it waited for")));
        }
        row("asked", self.asked.as_ref().map(|(_, item)| format!("whether {item} may run; nobody answered")));
        row("limit", self.limit.clone());
        for (at, error) in &self.errors {
            row("error", Some(format!("after {}: {error}", since(*at))));
        }
        let turns = if cost.turns == 1 { "turn" } else { "turns" };
        let spent = format!("{} {turns}, {} tokens, {}", cost.turns, cost.usage.total(), cost.spend);
        row("spent", Some(format!("{spent}, {} of work", seconds(cost.elapsed_ms))));
        for (name, value) in self.state.iter() {
            row("state", Some(format!("{name} = {value}")));
        }
        rows
    }

    fn why(&self, runs: bool) -> String {
        match &self.end {
            Some(end) => cut(end),
            None if runs => "it has not ended: a process runs it".to_owned(),
            None => match self.process {
                Some((pid, None)) => format!("it has no end: the process {pid} that ran it died"),
                Some((_, Some(_))) => "it has not ended: it waits for a message, and no process runs it".to_owned(),
                None => "it never began: no process took it over".to_owned(),
            },
        }
    }
}

impl LastRequest {
    fn in_words(&self) -> String {
        let Self { number, turn, attempt, model, tokens, outcome } = self;
        let outcome = outcome.as_deref().unwrap_or("no answer is in the log");
        format!("#{number} of turn {turn}, attempt {attempt}, ~{tokens} tokens to {model}: {outcome}")
    }
}

fn process_in_words((pid, let_go): (u32, Option<EndReason>), runs: bool, ended: bool) -> String {
    match let_go {
        None if ended => format!("{pid} let go of it with its end"),
        None if runs => format!("{pid} runs it"),
        None => format!("{pid} died without letting go of it"),
        Some(EndReason::Idle) => format!("{pid} let go of it: nothing to do, and nobody looked"),
        Some(EndReason::Finished) => format!("{pid} let go of it when it was done"),
        Some(EndReason::Asked) => format!("{pid} let go of it because somebody asked"),
        Some(EndReason::Signal) => format!("{pid} let go of it because of a signal"),
    }
}

/// One line, no longer than is told.
fn cut(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= LONGEST {
        return words;
    }
    words.chars().take(LONGEST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{CallError, ErrorCategory};
    use serde_json::json;

    fn start(call_id: &str, item: &str) -> Event {
        Event::Tool(ToolEvent::ToolCallStart {
            tool: "t".into(),
            call_id: CallId(call_id.into()),
            item: Some(item.into()),
            input: json!({}),
            capability: None,
            grant: None,
            parallel: false,
            confined: false,
            change: None,
        })
    }

    fn told(events: Vec<Event>, runs: bool) -> String {
        let mut found = Postmortem::default();
        for (at, event) in (0..).zip(events) {
            found.hear(Timestamp(1_000 * at), &event);
        }
        let rows = found.rows(&Cost::default(), runs);
        rows.into_iter().fold(String::new(), |all, (name, text)| all + &format!("{name}: {text}\n"))
    }

    #[test]
    fn a_thread_whose_process_died_tells_what_it_was_doing() {
        let request = |number| {
            let (turn, attempt, model, tokens) = (2, 1, ModelRef::new("a", "b"), Tokens(1_200));
            Event::Request(RequestEvent::RequestRecorded { request: number, turn, attempt, model, tokens })
        };
        let error = CallError {
            category: ErrorCategory::Transient,
            code: "overloaded".into(),
            message: "too\nmany".into(),
            status: None,
            retry_after_ms: None,
        };
        let text = told(
            vec![
                Event::Thread(ThreadEvent::WorkerStarted { pid: 7, version: "x".into() }),
                request(3),
                Event::Request(RequestEvent::ErrorClassified { request: 3, attempt: 1, error }),
                request(4),
                start("1", "rye/bash"),
                start("2", "rye/file-system/read"),
                Event::Tool(ToolEvent::ToolCallResult {
                    call_id: CallId("2".into()),
                    output: String::new(),
                    error: None,
                }),
            ],
            false,
        );
        for line in [
            "why: it has no end: the process 7 that ran it died",
            "last event: 6.0 s after it began",
            "process: 7 died without letting go of it",
            "request: #4 of turn 2, attempt 1, ~1.2k tokens to a/b: no answer is in the log",
            "running: rye/bash, without a result",
            "error: after 2.0 s: overloaded: too many",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
        assert!(!text.contains("file-system/read"), "{text}");
    }

    #[test]
    fn an_end_says_why_and_a_thread_that_runs_has_none() {
        let cost = Cost::default();
        let error = || Event::Thread(ThreadEvent::ThreadError { cost, error: "it broke".into() });
        assert!(told(vec![error()], false).starts_with("why: error: it broke\n"));
        let worker = || Event::Thread(ThreadEvent::WorkerStarted { pid: 7, version: "x".into() });
        assert!(told(vec![worker()], true).starts_with("why: it has not ended: a process runs it\n"));
        assert!(told(Vec::new(), false).starts_with("why: it never began"));
    }
}
