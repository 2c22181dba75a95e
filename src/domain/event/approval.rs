//! Whether a call of the model may run.

use super::{Approve, Denial};
use crate::domain::id::{CallId, ContentHash, ThreadId};
use crate::domain::note::{Note, NoteKind};
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Whether a call of the model may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ApprovalEvent {
    /// A call waits until a person allows or denies it. `args_hash` names the exact arguments.
    ApprovalRequested {
        id: u64,
        call_id: CallId,
        tool: String,
        item: String,
        capability: String,
        /// The grant that asks, where one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
        args_hash: ContentHash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
        /// It will run in a sandbox, with what it asks for beside.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confined: bool,
        /// Why a person is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// They answered; `said` is what the model is told with a refusal.
    ApprovalGiven {
        id: u64,
        decision: Approve,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// A call was not run.
    PermissionDenied {
        call_id: CallId,
        tool: String,
        capability: String,
        reason: Denial,
        /// The grant that only counts after asking.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
        /// The thread above whose permissions are in the way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        above: Option<ThreadId>,
        /// What the person who refused it said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
}

impl ApprovalEvent {
    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(self, Self::ApprovalGiven { .. })
    }

    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        let (kind, text) = match self {
            Self::ApprovalGiven { decision: Approve::Thread, .. } => {
                (NoteKind::Info, "allowed for the rest of this thread".to_owned())
            }
            Self::ApprovalGiven { decision: Approve::Always, .. } => {
                (NoteKind::Info, "allowed from now on in every thread of this project".to_owned())
            }
            Self::ApprovalRequested { .. } | Self::ApprovalGiven { .. } | Self::PermissionDenied { .. } => return None,
        };
        Some(Note { kind, text })
    }
}
