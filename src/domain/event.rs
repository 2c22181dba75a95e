//! Everything that happens to a thread. An [`Event`] is what the thread machine applies and what `transcript.jsonl`
//! holds: one JSON object a line with `timestamp`, `thread_id`, `event_type` and `payload`.
//!
//! Events say what happened, in the past. `docs/events.md` lists them all; a test keeps that list true. Live text
//! ([`Event::TokenDelta`]) goes to screens and to the short-lived `inflight.jsonl` only: the log holds finished text.

use super::amount::{Tokens, Usage};
use super::capability::Grant;
use super::control::Control;
use super::id::{CallId, ContentHash, ModelRef, ThreadId};
use super::image::Image;
use super::input::Values;
use super::lineage::{LimitSources, Lineage};
use super::message::Message;
use super::rules::Rules;
use super::status::{Cost, LimitKind, Limits, ThreadKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the epoch. On disk a float of seconds, as logs of this format have always had it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Milliseconds from `earlier` to this, zero when the clock went back.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Serialize for Timestamp {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit in 53 bits")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1_000.0)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative times become zero")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self((f64::deserialize(deserializer)? * 1_000.0).round() as u64))
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub timestamp: Timestamp,
    pub thread_id: ThreadId,
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
pub enum Event {
    /// The thread exists. First line of every log.
    ThreadStarted {
        directive: String,
        kind: ThreadKind,
        model: ModelRef,
        limits: Limits,
        /// Who set each of them.
        #[serde(default, skip_serializing_if = "LimitSources::is_empty")]
        limits_by: LimitSources,
        project: String,
        /// What the directive was told; what is not here has its default.
        #[serde(default, skip_serializing_if = "Values::is_empty")]
        inputs: Values,
        #[serde(default)]
        lineage: Lineage,
    },
    /// A process has taken the thread over.
    WorkerStarted {
        pid: u32,
        version: String,
    },
    /// That process has let go of it.
    WorkerEnded {
        reason: EndReason,
    },
    /// A torn last line was cut off when the log was opened.
    LogRepaired {
        cut_bytes: u64,
        at_offset: u64,
    },
    /// Something a person sent was accepted.
    PromptQueued {
        prompt: u64,
        text: String,
        mode: PromptMode,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A queued prompt was taken back before it was used.
    PromptWithdrawn {
        prompt: u64,
    },
    /// Queued prompts stand in this order from here on, before those that are not named.
    QueueArranged {
        prompts: Vec<u64>,
    },
    /// The thread answers with another model from here on.
    ModelChanged {
        model: ModelRef,
    },
    /// The limits are different from here on.
    LimitsChanged {
        limits: Limits,
    },
    /// A message joined the history: what the user (or a parent) said. `prompt` is the queue entry it came from.
    CognitionIn {
        text: String,
        role: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// The system text of the coming request, when it differs from the one before.
    SystemPrompt {
        text: String,
        layers: Vec<String>,
    },
    /// What opens the first message, around the directive: `before` and `after` name the sources, `layers` holds
    /// every candidate with its text, so that each later request begins the same.
    ContextInjected {
        before: Vec<String>,
        after: Vec<String>,
        #[serde(default)]
        layers: Vec<super::assembly::Piece>,
    },
    /// `requests/<request>.json` was written; the call comes next.
    RequestRecorded {
        request: u32,
        turn: u32,
        attempt: u32,
        model: ModelRef,
    },
    /// A piece of an answer in flight. Not in the log.
    TokenDelta {
        request: u32,
        delta: Delta,
    },
    /// Thinking that preceded an answer.
    CognitionReasoning {
        text: String,
    },
    /// An answer, whole or cut short.
    CognitionOut {
        /// The text of the answer, as people read it.
        text: String,
        model: ModelRef,
        request: u32,
        stop: StopReason,
        usage: Usage,
        /// Spend of this answer in millionths of a dollar; absent when the model has no known price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<super::amount::Money>,
        /// The answer as it goes back to the provider: text, thinking with signatures, tool calls.
        message: Message,
        /// From the request to the end of the answer.
        elapsed_ms: u64,
    },
    /// A call failed. `attempt` counts from 1 within the turn.
    ErrorClassified {
        request: u32,
        attempt: u32,
        error: CallError,
    },
    /// The failed call will be tried again after `delay_ms`, as this `attempt` of its turn, because of what
    /// `classification` says of such failures.
    RetryScheduled {
        attempt: u32,
        delay_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classification: Option<String>,
    },
    /// The pause before a retry is over.
    RetryDue {
        attempt: u32,
    },
    /// What the thread does from here on about failures, limits and a full window.
    RulesSet {
        rules: Rules,
    },
    /// The hooks of an event were asked how to go on: `action` is the first answer and `hook` whose it is; without one
    /// the thread does what it does by itself.
    HookDecided {
        event: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hook: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<Control>,
        /// What the hook's condition saw.
        why: String,
    },
    /// What the thread may do from here on.
    PermissionsSet {
        grants: Vec<Grant>,
        allowed: Vec<String>,
    },
    /// A call waits until a person allows or denies it. `args_hash` names the exact arguments.
    ApprovalRequested {
        id: u64,
        call_id: CallId,
        tool: String,
        item: String,
        capability: String,
        args_hash: ContentHash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
    },
    /// They answered.
    ApprovalGiven {
        id: u64,
        decision: Approve,
    },
    /// A call was not run.
    PermissionDenied {
        call_id: CallId,
        tool: String,
        capability: String,
        reason: Denial,
    },
    /// A tool is about to run.
    ToolCallStart {
        tool: String,
        call_id: CallId,
        /// Id of the item that `tool` means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<String>,
        input: serde_json::Value,
        /// Others may begin before it has ended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        parallel: bool,
    },
    /// A tool's process was made and waits to be let go.
    ToolProcess {
        call_id: CallId,
        process: Process,
    },
    ToolCallResult {
        call_id: CallId,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A command of a person's own is about to run. With `shared`, the model gets what it printed with the next prompt.
    ShellStarted {
        call_id: CallId,
        command: String,
        shared: bool,
    },
    /// It has ended. As a call, it may have a `tool_process` between.
    ShellEnded {
        call_id: CallId,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The thread speaks and works as somebody else from here on, or as itself again.
    PersonaChanged {
        persona: Option<super::persona::Persona>,
    },
    /// A limit was reached before a turn. An interactive thread waits for a higher one, a one-shot thread ends.
    Limit {
        code: LimitKind,
        current: u64,
        maximum: u64,
    },
    /// The coming request takes a large share of the model's window.
    ContextWindowPressure {
        usage_ratio: f64,
        tokens_used: Tokens,
        tokens_limit: Tokens,
    },
    /// The coming request fills the model's window, or the provider refused it as too long.
    ContextLimitReached {
        usage_ratio: f64,
        tokens_used: Tokens,
        tokens_limit: Tokens,
    },
    /// Someone asked for room in the window.
    CompactRequested {},
    /// Older messages have given way to `summary` in later requests. The log keeps them.
    ContextCompacted {
        /// What the model is told instead of them.
        summary: String,
        /// So many of the newest messages stay as they are.
        kept: usize,
        /// So many went into the summary.
        summarised: usize,
        /// So many were left out without being read.
        dropped: usize,
        tokens_before: Tokens,
        /// Estimated.
        tokens_after: Tokens,
        /// The request that asked for the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<u32>,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<super::amount::Money>,
        /// Why there is no summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The directive has handed back what it promises.
    DirectiveReturn {
        outputs: serde_json::Value,
        cost: Cost,
        /// Why it could not be done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The thread waits until a person lets it go on; at a limit, whose word `limit` is.
    ThreadSuspended {
        cost: Cost,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<LimitKind>,
    },
    /// Someone asked to stop the running work.
    CancelRequested {
        scope: CancelScope,
    },
    /// A call has cost this and leaves no answer: it failed, or asked for a summary that did not come.
    CallCharged {
        request: u32,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<super::amount::Money>,
    },
    /// The running work has stopped: the connection is closed.
    TurnCancelled {
        after_ms: u64,
    },
    ThreadCompleted {
        cost: Cost,
    },
    ThreadError {
        cost: Cost,
        error: String,
    },
    ThreadCancelled {
        cost: Cost,
    },
    ThreadKilled {
        cost: Cost,
    },
    /// The clock went forward by more than the time that passed for this process: the machine slept, or its clock was set.
    ClockJumped {
        by_ms: u64,
    },
    /// Something a person should know that changes nothing else.
    Notice {
        text: String,
    },
    /// An event of another version of this program, kept as it is.
    #[serde(untagged)]
    Unknown {
        event_type: String,
        #[serde(default)]
        payload: serde_json::Value,
    },
}

const INTERRUPTED: &str = "Interrupted: the process that ran this call ended.";

impl Event {
    /// The result of a call whose process died before it had one: every call needs a result.
    #[must_use]
    pub fn interrupted(call_id: &CallId) -> Self {
        let why = INTERRUPTED.to_owned();
        Self::ToolCallResult { call_id: call_id.clone(), output: why.clone(), error: Some(why) }
    }

    /// The same for a person's own command.
    #[must_use]
    pub fn shell_interrupted(call_id: &CallId) -> Self {
        Self::ShellEnded { call_id: call_id.clone(), output: String::new(), error: Some(INTERRUPTED.to_owned()) }
    }

    /// Whether the event belongs in the log.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        !matches!(self, Self::TokenDelta { .. } | Self::RetryDue { .. } | Self::Unknown { .. })
    }

    /// Whether the log is synced to disk before the event's effects are carried out: after it comes something that
    /// costs money or cannot be taken back, or somebody is told that what they asked for is done.
    #[must_use]
    pub fn is_critical(&self) -> bool {
        matches!(
            self,
            Self::PromptQueued { .. }
                | Self::PromptWithdrawn { .. }
                | Self::QueueArranged { .. }
                | Self::ModelChanged { .. }
                | Self::LimitsChanged { .. }
                | Self::ApprovalGiven { .. }
                | Self::CompactRequested {}
                | Self::RequestRecorded { .. }
                | Self::CognitionOut { .. }
                | Self::ToolCallStart { .. }
                | Self::ShellStarted { .. }
                | Self::ToolProcess { .. }
                | Self::DirectiveReturn { .. }
                | Self::ThreadSuspended { .. }
                | Self::ThreadCompleted { .. }
                | Self::ThreadError { .. }
                | Self::ThreadCancelled { .. }
                | Self::ThreadKilled { .. }
        )
    }
}

/// A piece of a streamed answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    Text { text: String },
    Thinking { text: String },
    ToolCallStart { id: CallId, name: String },
    ToolInputDelta { partial_json: String },
}

impl Delta {
    /// Adds this piece to `deltas`, joined to the last one when both are text of the same kind.
    pub fn join_onto(self, deltas: &mut Vec<Self>) {
        match (deltas.last_mut(), self) {
            (Some(Self::Text { text: all }), Self::Text { text })
            | (Some(Self::Thinking { text: all }), Self::Thinking { text })
            | (Some(Self::ToolInputDelta { partial_json: all }), Self::ToolInputDelta { partial_json: text }) => {
                all.push_str(&text);
            }
            (_, delta) => deltas.push(delta),
        }
    }
}

/// When a prompt is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptMode {
    /// At the next turn: what is sent while the thread works reaches the model with the next request.
    Steer,
    /// When the thread would otherwise wait.
    FollowUp,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    /// The model's output limit.
    MaxTokens,
    Refusal,
    /// The stream ended without its provider's end marker.
    Truncated {
        detail: String,
    },
    /// It grew larger than an answer may be, and was cut off here.
    TooLarge {
        detail: String,
    },
    /// The user stopped it.
    Cancelled,
    /// The process that received it died; the text is what it had saved.
    Lost,
    Other {
        word: String,
    },
}

impl StopReason {
    /// Whether the model itself ended the answer.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::EndTurn | Self::ToolUse | Self::MaxTokens | Self::Refusal | Self::Other { .. })
    }
}

/// A person's answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    /// This call.
    Once,
    /// This capability, for as long as the thread lives.
    Thread,
    /// This capability, in every thread of this project.
    Always,
    Deny,
}

impl Approve {
    /// The decision that `word` names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "once" => Some(Self::Once),
            "thread" => Some(Self::Thread),
            "always" => Some(Self::Always),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// Why a call was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// Nothing grants the capability.
    Missing,
    /// A person would have to be asked, and this thread has none to ask.
    Unattended,
    /// The person said no.
    Refused,
}

/// The process group of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Number of the group and of the process that leads it.
    pub group: u32,
    /// When that process was started, as the system tells it: numbers are given again, this pair is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
}

/// How far a cancel reaches; each reaches further than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelScope {
    /// The running turn; an interactive thread waits for the next prompt.
    Turn,
    /// The thread, which ends as cancelled.
    Thread,
    /// The thread, which ends as killed: whatever it is doing or waiting for, one that could be talked to included.
    Kill,
}

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Nothing to do and nobody looking.
    Idle,
    Finished,
    Asked,
    Signal,
}

/// A failed call, in the terms on which whether to try again is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallError {
    pub category: ErrorCategory,
    /// The provider's own word or the HTTP status, for example `overloaded_error` or `http_429`.
    pub code: String,
    /// What happened and what to do, without keys.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl CallError {
    /// The code of an answer that is larger, or takes longer, than one may.
    const OVER_BOUNDS: &str = "over_bounds";

    /// The answer is larger, or takes longer, than one may: another try would, too.
    #[must_use]
    pub fn over_bounds(message: String) -> Self {
        Self {
            category: ErrorCategory::Permanent,
            code: Self::OVER_BOUNDS.to_owned(),
            message,
            status: None,
            retry_after_ms: None,
        }
    }

    /// The request could not be written in its provider's form.
    #[must_use]
    pub fn unwritten(why: &str) -> Self {
        Self {
            category: ErrorCategory::Permanent,
            code: "no_request".to_owned(),
            message: format!("the request could not be written: {why}"),
            status: None,
            retry_after_ms: None,
        }
    }

    /// How an answer ended that had begun.
    #[must_use]
    pub fn cuts(self) -> StopReason {
        let detail = self.message;
        if self.code == Self::OVER_BOUNDS { StopReason::TooLarge { detail } } else { StopReason::Truncated { detail } }
    }
}

/// What a failure means for the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// May well work the next time.
    Transient,
    /// The provider asked for a pause.
    RateLimited,
    /// The account cannot pay.
    Quota,
    /// Missing or refused key.
    Auth,
    /// The request does not fit the model's window.
    ContextTooLong,
    /// Will fail the same way again.
    Permanent,
    /// Somebody stopped it.
    Cancelled,
}

impl ErrorCategory {
    /// Every category with its word in files.
    pub const ALL: [(&'static str, Self); 7] = [
        ("transient", Self::Transient),
        ("rate_limited", Self::RateLimited),
        ("quota", Self::Quota),
        ("auth", Self::Auth),
        ("context_too_long", Self::ContextTooLong),
        ("permanent", Self::Permanent),
        ("cancelled", Self::Cancelled),
    ];

    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, category)| *category == self).map_or("", |(word, _)| word)
    }

    /// Whether such a failure may pass by itself.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Transient | Self::RateLimited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_four_fields_of_the_format() {
        let record = Record {
            timestamp: Timestamp(1_700_000_000_250),
            thread_id: ThreadId::new("chat", 1),
            event: Event::CognitionIn { text: "hi".into(), role: "user".into(), prompt: None, images: Vec::new() },
        };
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(
            line,
            r#"{"timestamp":1700000000.25,"thread_id":"chat-1","event_type":"cognition_in","payload":{"text":"hi","role":"user"}}"#
        );
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }

    #[test]
    fn an_event_of_another_version_is_kept() {
        let line = r#"{"timestamp":1.0,"thread_id":"x-1","event_type":"moon_phase","payload":{"full":true}}"#;
        let record: Record = serde_json::from_str(line).unwrap();
        assert!(matches!(record.event, Event::Unknown { ref event_type, .. } if event_type == "moon_phase"));
    }
}
