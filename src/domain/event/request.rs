//! Calls of the model: what was asked, what came back, what failed.

use super::prompt::pipeline_in_words;
use super::{CallError, Delta, StopReason};
use crate::domain::amount::{Money, Tokens, Usage};
use crate::domain::id::ModelRef;
use crate::domain::message::Message;
use crate::domain::note::{Note, NoteKind, seconds};
use crate::domain::pipeline::Step;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Calls of the model: what was asked, what came back, what failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RequestEvent {
    /// `requests/<request>.json` was written; the call comes next.
    RequestRecorded {
        request: u32,
        turn: u32,
        attempt: u32,
        model: ModelRef,
        /// Estimate of its size; 0 where it was recorded by a version that did not say.
        #[serde(default)]
        tokens: Tokens,
    },
    /// A piece of an answer in flight. Not in the log.
    TokenDelta { request: u32, delta: Delta },
    /// Thinking that preceded an answer.
    CognitionReasoning { text: String },
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
        spend: Option<Money>,
        /// The answer as it goes back to the provider: text, thinking with signatures, tool calls.
        message: Message,
        /// From the request to the end of the answer.
        elapsed_ms: u64,
    },
    /// The answer to this request is through its handlers; it follows as they left it.
    AnswerPrepared { request: u32, steps: Vec<Step> },
    /// A call failed. `attempt` counts from 1 within the turn.
    ErrorClassified { request: u32, attempt: u32, error: CallError },
    /// The failed call will be tried again after `delay_ms`, as this `attempt` of its turn, because of what
    /// `classification` says of such failures.
    RetryScheduled {
        attempt: u32,
        delay_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classification: Option<String>,
    },
    /// The pause before a retry is over.
    RetryDue { attempt: u32 },
    /// A call has cost this and leaves no answer: it failed, or asked for a summary that did not come. Or it leaves one of which
    /// nothing was reported, and this is an estimate.
    CallCharged {
        request: u32,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<Money>,
    },
}

impl RequestEvent {
    /// See [`super::Event::is_durable`].
    pub(super) fn is_durable(&self) -> bool {
        !matches!(self, Self::TokenDelta { .. } | Self::RetryDue { .. })
    }

    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(self, Self::RequestRecorded { .. } | Self::CognitionOut { .. })
    }

    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        let (kind, text) = match self {
            Self::AnswerPrepared { steps, .. } => return pipeline_in_words(steps),
            Self::ErrorClassified { attempt, error, .. } => {
                (NoteKind::Error, format!("attempt {attempt} failed: {} ({})", error.message, error.code))
            }
            Self::RetryScheduled { attempt, delay_ms, .. } => {
                (NoteKind::Info, format!("attempt {attempt} follows in {}", seconds(*delay_ms)))
            }
            Self::RequestRecorded { .. }
            | Self::TokenDelta { .. }
            | Self::CognitionReasoning { .. }
            | Self::CognitionOut { .. }
            | Self::RetryDue { .. }
            | Self::CallCharged { .. } => return None,
        };
        Some(Note { kind, text })
    }
}
