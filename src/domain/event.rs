//! Everything that happens to a thread. An [`Event`] is what the thread machine applies and what `transcript.jsonl`
//! holds: one JSON object a line with `timestamp`, `thread_id`, `event_type` and `payload`.
//!
//! Events say what happened, in the past. `docs/events.md` lists them all; a test keeps that list true. Live text
//! ([`RequestEvent::TokenDelta`]) goes to screens and to the short-lived `inflight.jsonl` only: the log holds finished text.

mod approval;
mod context;
mod control;
mod prompt;
mod request;
mod settings;
mod thread;
mod tool;

pub use super::prompt_mode::PromptMode;
pub use approval::ApprovalEvent;
pub use context::ContextEvent;
pub use control::ControlEvent;
pub use prompt::PromptEvent;
pub use request::RequestEvent;
pub use settings::SettingsEvent;
pub use thread::ThreadEvent;
pub use tool::ToolEvent;

use super::extension_entry::ExtensionEntry;
use super::id::{CallId, ThreadId};
use super::note::Note;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use strum::VariantNames;

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
#[serde(from = "Line")]
pub struct Record {
    pub timestamp: Timestamp,
    pub thread_id: ThreadId,
    #[serde(flatten)]
    pub event: Event,
}

/// A line as it stands.
#[derive(Deserialize)]
struct Line {
    timestamp: Timestamp,
    thread_id: ThreadId,
    event_type: String,
    #[serde(default)]
    payload: Value,
}

impl From<Line> for Record {
    fn from(Line { timestamp, thread_id, event_type, payload }: Line) -> Self {
        Self { timestamp, thread_id, event: Event::named(&event_type, &payload) }
    }
}

/// What happened, in families. In files an event is flat: its own name and what it tells, without its family.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// The thread itself: that it is there, which process has it, how it ends.
    Thread(ThreadEvent),
    /// What holds for the thread from here on.
    Settings(SettingsEvent),
    /// What people and parents say to the thread.
    Prompt(PromptEvent),
    /// What the model is told beside what was said, and room for it in the window.
    Context(ContextEvent),
    /// Calls of the model: what was asked, what came back, what failed.
    Request(RequestEvent),
    /// Whether a call of the model may run.
    Approval(ApprovalEvent),
    /// Tools and a person's own commands: what ran, and what came of it.
    Tool(ToolEvent),
    /// How the thread goes on: limits, hooks, people who stop it.
    Control(ControlEvent),
    /// An event of another version of this program, kept as it is.
    Unknown { event_type: String, payload: Value },
}

/// What a command beside the conversation ended with whose process is gone.
pub const COMMAND_LOST: &str = "its thread's process ended";

const INTERRUPTED: &str = "Interrupted: the process that ran this call ended.";

impl Event {
    /// The event of that name with what it tells; [`Event::Unknown`] where the name or the payload is of no event here.
    #[must_use]
    pub fn named(event_type: &str, payload: &Value) -> Self {
        fn read<'a, T: Deserialize<'a>>(fields: [(&'a str, &'a Value); 2], event: fn(T) -> Event) -> Option<Event> {
            T::deserialize(MapDeserializer::<_, serde_json::Error>::new(fields.into_iter())).ok().map(event)
        }
        let (name, nothing) = (Value::from(event_type), Value::Object(Map::new()));
        let fields = [("event_type", &name), ("payload", if payload.is_null() { &nothing } else { payload })];
        let is_of = |names: &[&str]| names.contains(&event_type);
        let known = match () {
            () if is_of(RequestEvent::VARIANTS) => read(fields, Self::Request),
            () if is_of(ToolEvent::VARIANTS) => read(fields, Self::Tool),
            () if is_of(PromptEvent::VARIANTS) => read(fields, Self::Prompt),
            () if is_of(ThreadEvent::VARIANTS) => read(fields, Self::Thread),
            () if is_of(SettingsEvent::VARIANTS) => read(fields, Self::Settings),
            () if is_of(ContextEvent::VARIANTS) => read(fields, Self::Context),
            () if is_of(ApprovalEvent::VARIANTS) => read(fields, Self::Approval),
            () if is_of(ControlEvent::VARIANTS) => read(fields, Self::Control),
            () => None,
        };
        known.unwrap_or_else(|| Self::Unknown { event_type: event_type.to_owned(), payload: payload.clone() })
    }

    /// The result of a call whose process died before it had one: every call needs a result.
    #[must_use]
    pub fn interrupted(call_id: &CallId) -> Self {
        let why = INTERRUPTED.to_owned();
        Self::Tool(ToolEvent::ToolCallResult { call_id: call_id.clone(), output: why.clone(), error: Some(why) })
    }

    /// The same for a person's own command.
    #[must_use]
    pub fn shell_interrupted(call_id: &CallId) -> Self {
        let (call_id, error) = (call_id.clone(), Some(INTERRUPTED.to_owned()));
        Self::Tool(ToolEvent::ShellEnded { call_id, output: String::new(), error })
    }

    /// The same for a command that ran beside the conversation.
    #[must_use]
    pub fn command_interrupted(call_id: &CallId) -> Self {
        let (call_id, error) = (call_id.clone(), Some(COMMAND_LOST.to_owned()));
        Self::Tool(ToolEvent::CommandEnded { call_id, output: String::new(), error })
    }

    /// Whether the event belongs in the log.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        match self {
            Self::Request(event) => event.is_durable(),
            Self::Unknown { .. } => false,
            Self::Thread(_)
            | Self::Settings(_)
            | Self::Prompt(_)
            | Self::Context(_)
            | Self::Approval(_)
            | Self::Tool(_)
            | Self::Control(_) => true,
        }
    }

    /// Whether the log is synced to disk before the event's effects are carried out: after it comes something that
    /// costs money or cannot be taken back, or somebody is told that what they asked for is done.
    #[must_use]
    pub fn is_critical(&self) -> bool {
        match self {
            Self::Thread(event) => event.is_critical(),
            Self::Settings(event) => event.is_critical(),
            Self::Prompt(event) => event.is_critical(),
            Self::Context(event) => event.is_critical(),
            Self::Request(event) => event.is_critical(),
            Self::Approval(event) => event.is_critical(),
            Self::Tool(event) => event.is_critical(),
            Self::Control(event) => event.is_critical(),
            Self::Unknown { .. } => false,
        }
    }

    /// Whether the event is no use of the thread: how it is listed, or that a process took it over or let go of it.
    #[must_use]
    pub fn is_upkeep(&self) -> bool {
        let of_process =
            matches!(self, Self::Thread(ThreadEvent::WorkerStarted { .. } | ThreadEvent::WorkerEnded { .. }));
        of_process || self.is_filing()
    }

    /// Whether the event only says under what name and where the thread is listed, or what something in it is called: it is no change of the thread itself, so
    /// that one which is put away does not come to the top of the list.
    #[must_use]
    pub fn is_filing(&self) -> bool {
        matches!(
            self,
            Self::Settings(SettingsEvent::TitleSet { .. } | SettingsEvent::Archived { .. })
                | Self::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Label { .. } })
        )
    }

    /// What people are told of the event. Nothing of one whose content is shown itself (what was said, calls and their
    /// results), and of one that only changes how the thread stands, which state and lists tell.
    #[must_use]
    pub fn note(&self) -> Option<Note> {
        match self {
            Self::Thread(event) => event.note(),
            Self::Settings(event) => event.note(),
            Self::Context(event) => event.note(),
            Self::Request(event) => event.note(),
            Self::Approval(event) => event.note(),
            Self::Control(event) => event.note(),
            Self::Prompt(event) => event.note(),
            Self::Tool(event) => event.note(),
            Self::Unknown { .. } => None,
        }
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
    /// The running work of a thread whose time is over: it is at its limit then.
    Limit,
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
            event: Event::Prompt(PromptEvent::CognitionIn {
                text: "hi".into(),
                role: "user".into(),
                prompt: None,
                images: Vec::new(),
                files: Vec::new(),
            }),
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
