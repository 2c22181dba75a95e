//! What people and parents say to the thread.

use super::PromptMode;
use crate::domain::assembly::Piece;
use crate::domain::attachment::Attachment;
use crate::domain::custom_message::CustomMessage;
use crate::domain::image::Image;
use crate::domain::note::{Note, NoteKind};
use crate::domain::pipeline::Step;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// What people and parents say to the thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PromptEvent {
    /// Something a person sent was accepted.
    PromptQueued {
        prompt: u64,
        text: String,
        mode: PromptMode,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// Texts that go along, as they were when it was sent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<Attachment>,
        /// What the client that sent it calls it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
    },
    /// A queued prompt was taken back before it was used, or was given back to the person.
    PromptWithdrawn {
        prompt: u64,
        /// Why nothing could be made of it, where nobody took it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Queued prompts stand in this order from here on, before those that are not named.
    QueueArranged { prompts: Vec<u64> },
    /// What waits after the person stopped the thread is taken now.
    QueueReleased {},
    /// A prompt is through its handlers and joins the history next: with these messages behind it, and with another system
    /// text until the next prompt, where they made one.
    PromptPrepared {
        prompt: u64,
        /// What the person wrote, where something else is sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        typed: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<Step>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<CustomMessage>,
        /// Every candidate for the system text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<Vec<Piece>>,
    },
    /// A handler took the prompt: no model is called.
    PromptHandled {
        prompt: u64,
        /// What the person wrote.
        text: String,
        by: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<Step>,
    },
    /// A message joined the history: what the user (or a parent) said. `prompt` is the queue entry it came from.
    CognitionIn {
        text: String,
        role: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// Texts that go along, as they were when it was sent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<Attachment>,
    },
}

/// What handlers did, in a line; none where nobody did anything.
pub(super) fn pipeline_in_words(steps: &[Step]) -> Option<Note> {
    let told = steps.iter().filter_map(super::super::pipeline::Step::in_words);
    let told: Vec<String> = told.collect();
    let failed = steps.iter().any(|step| step.outcome.is_failure());
    let kind = if failed { NoteKind::Warning } else { NoteKind::Context };
    (!told.is_empty()).then(|| Note { kind, text: format!("pipeline: {}", told.join("; ")) })
}

impl PromptEvent {
    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        match self {
            Self::PromptPrepared { steps, .. } => pipeline_in_words(steps),
            Self::PromptHandled { by, .. } => {
                Some(Note { kind: NoteKind::Info, text: format!("handled by {by}: no model was called") })
            }
            Self::PromptWithdrawn { why: Some(why), .. } => Some(Note { kind: NoteKind::Warning, text: why.clone() }),
            Self::PromptQueued { .. }
            | Self::PromptWithdrawn { why: None, .. }
            | Self::QueueArranged { .. }
            | Self::QueueReleased {}
            | Self::CognitionIn { .. } => None,
        }
    }

    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(
            self,
            Self::PromptQueued { .. }
                | Self::PromptWithdrawn { .. }
                | Self::QueueArranged { .. }
                | Self::QueueReleased {}
        )
    }
}
