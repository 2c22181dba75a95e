//! The thread itself: that it is there, which process has it, how it ends.

use super::EndReason;
use crate::domain::amount::{Money, Tokens, Usage};
use crate::domain::capability::Ceiling;
use crate::domain::extension_entry::ExtensionEntry;
use crate::domain::id::{CallId, ModelRef, ThreadId};
use crate::domain::input::Values;
use crate::domain::lineage::{LimitSources, Lineage};
use crate::domain::note::{Note, NoteKind, cost_in_words, taken_over_in_words};
use crate::domain::status::{Cost, Limits, Status, ThreadKind};
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// The thread itself: that it is there, which process has it, how it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ThreadEvent {
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
        /// What the threads above it could do when it was made, the nearest first: it may do nothing that one of them could
        /// not.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ceilings: Vec<Ceiling>,
    },
    /// It starts another thread below it. On disk before that thread does anything.
    ChildThreadStarted {
        child: ThreadId,
        directive: String,
        /// The call that started it.
        call_id: CallId,
        /// Whether it works by itself, and the call does not wait for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    },
    /// A child that it waited for has ended, or waits for a person itself.
    ChildThreadEnded {
        child: ThreadId,
        status: Status,
        cost: Cost,
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
    /// What stands above was said in another thread: in its log before this byte. First of what is said here comes behind it.
    ThreadForked {
        from: ThreadId,
        until: u64,
    },
    /// A torn last line was cut off when the log was opened.
    LogRepaired {
        cut_bytes: u64,
        at_offset: u64,
    },
    /// The clock went forward by more than the time that passed for this process: the machine slept, or its clock was set; or the
    /// thread stood at a breakpoint.
    ClockJumped {
        by_ms: u64,
    },
    /// Something a person should know that changes nothing else.
    Notice {
        text: String,
    },
    /// An extension left something for itself.
    ExtensionEntry {
        entry: ExtensionEntry,
    },
    /// Its directive grants what is risky and does not acknowledge it.
    RiskNoted {
        /// The level, and the riskiest of what is granted.
        risk: String,
    },
    /// Another thread goes on with what was said here. That is on disk; it begins when this one has ended.
    ThreadHandoff {
        new_thread_id: ThreadId,
        directive: String,
        /// So many of the newest messages it has as they are.
        kept: usize,
        /// So many it has in a summary.
        summarised: usize,
        /// So many it has nothing of.
        dropped: usize,
        tokens_before: Tokens,
        /// Estimated.
        tokens_after: Tokens,
        /// So many messages that waited here wait there.
        queued: usize,
        /// The request that asked for the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<u32>,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<Money>,
        /// Why there is no summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It has ended because another one goes on with it.
    ThreadContinued {
        cost: Cost,
        new_thread_id: ThreadId,
    },
    /// The directive has handed back what it promises.
    DirectiveReturn {
        outputs: serde_json::Value,
        cost: Cost,
        /// Why it could not be done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
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
}

impl ThreadEvent {
    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(
            self,
            Self::DirectiveReturn { .. }
                | Self::ChildThreadStarted { .. }
                | Self::ThreadHandoff { .. }
                | Self::ThreadContinued { .. }
                | Self::ThreadCompleted { .. }
                | Self::ThreadError { .. }
                | Self::ThreadCancelled { .. }
                | Self::ThreadKilled { .. }
        )
    }

    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        let (kind, text) = match self {
            Self::WorkerEnded { reason: EndReason::Signal } => {
                (NoteKind::Warning, "a signal ended the worker".to_owned())
            }
            Self::LogRepaired { cut_bytes, at_offset } => {
                let text = format!("fixed the log: cut off {cut_bytes} bytes of a partial line at {at_offset}");
                (NoteKind::Warning, text)
            }
            Self::Notice { text } => (NoteKind::Info, text.clone()),
            Self::RiskNoted { risk } => {
                let text = format!(
                    "the directive grants what is {risk}, and does not acknowledge it; `levain check` says where"
                );
                (NoteKind::Warning, text)
            }
            Self::ChildThreadStarted { child, directive, background, .. } => {
                let how = if *background { " in the background" } else { "" };
                (NoteKind::Info, format!("started {directive}{how}: {child}"))
            }
            Self::ChildThreadEnded { child, status, cost } => {
                (NoteKind::Info, format!("{child} is {status}: {}", cost_in_words(cost)))
            }
            Self::ThreadHandoff {
                new_thread_id,
                kept,
                summarised,
                dropped,
                tokens_before,
                tokens_after,
                reason,
                ..
            } => {
                let taken = taken_over_in_words(*kept, *summarised, *dropped, reason.as_deref());
                let text =
                    format!("handed off to {new_thread_id}: {taken} (~{tokens_before} → ~{tokens_after} tokens)");
                (NoteKind::Context, text)
            }
            Self::ThreadContinued { cost, new_thread_id } => {
                (NoteKind::Completed, format!("continues in {new_thread_id}: {}", cost_in_words(cost)))
            }
            Self::ThreadCompleted { cost } => (NoteKind::Completed, format!("completed: {}", cost_in_words(cost))),
            Self::ThreadError { error, cost } => {
                (NoteKind::Error, format!("the thread ended with an error: {error} ({})", cost_in_words(cost)))
            }
            Self::ThreadCancelled { cost } => (NoteKind::Stopped, format!("cancelled: {}", cost_in_words(cost))),
            Self::ThreadKilled { cost } => (NoteKind::Stopped, format!("killed: {}", cost_in_words(cost))),
            Self::ExtensionEntry { entry: ExtensionEntry::Message { message, .. } } if message.display => {
                (NoteKind::Info, format!("{}: {}", message.by, message.text))
            }
            Self::ExtensionEntry { entry: ExtensionEntry::ModelCall { from, model, usage, spend, failed, .. } } => {
                let spend = spend.map(|spend| format!(", {spend}")).unwrap_or_default();
                let used = format!("{} in, {} out{spend}", usage.prompt(), usage.output);
                match failed {
                    Some(why) => {
                        (NoteKind::Warning, format!("{from} called {model}, which gave no answer: {why} ({used})"))
                    }
                    None => (NoteKind::Info, format!("{from} called {model}: {used}")),
                }
            }
            Self::ThreadStarted { .. }
            | Self::ThreadForked { .. }
            | Self::WorkerStarted { .. }
            | Self::WorkerEnded { .. }
            | Self::ClockJumped { .. }
            | Self::ExtensionEntry {
                entry:
                    ExtensionEntry::Custom { .. }
                    | ExtensionEntry::Label { .. }
                    | ExtensionEntry::Details { .. }
                    | ExtensionEntry::Message { .. }
                    | ExtensionEntry::ModelCallSent { .. },
            }
            | Self::DirectiveReturn { .. } => return None,
        };
        Some(Note { kind, text })
    }
}
