//! What people and parents say to the thread.

use super::PromptMode;
use crate::domain::attachment::Attachment;
use crate::domain::image::Image;
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
    /// A queued prompt was taken back before it was used.
    PromptWithdrawn { prompt: u64 },
    /// Queued prompts stand in this order from here on, before those that are not named.
    QueueArranged { prompts: Vec<u64> },
    /// What waits after the person stopped the thread is taken now.
    QueueReleased {},
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

impl PromptEvent {
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
