//! How the thread goes on: limits, hooks, people who stop it.

use super::CancelScope;
use crate::domain::control::Control;
use crate::domain::hook_step::{HookCall, HookStep};
use crate::domain::note::{Note, NoteKind, limit_in_words};
use crate::domain::status::{Cost, LimitKind};
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// How the thread goes on: limits, hooks, people who stop it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ControlEvent {
    /// The hooks of an event make calls before they answer how to go on; these are they, in order.
    HooksCalled { event: String, hooks: Vec<HookStep> },
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
    /// A limit was reached before a turn. An interactive thread waits for a higher one, a one-shot thread ends.
    Limit { code: LimitKind, current: u64, maximum: u64 },
    /// The thread may not begin yet: as many run as may. Its time stands still.
    ThreadQueued { reason: String },
    /// It asks again whether it may begin.
    ThreadAdmitted {},
    /// Someone asked to stop the running work.
    CancelRequested { scope: CancelScope },
    /// The running work has stopped: the connection is closed.
    TurnCancelled { after_ms: u64 },
    /// The thread waits until a person lets it go on; at a limit, whose word `limit` is.
    ThreadSuspended {
        cost: Cost,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<LimitKind>,
    },
}

impl ControlEvent {
    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(self, Self::ThreadSuspended { .. })
    }

    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        let (kind, text) = match self {
            Self::HookDecided { event, hook: Some(hook), action: Some(action), .. } if *action != Control::Retry => {
                (NoteKind::Info, format!("the hook {hook} answers {event}: {}", action.word()))
            }
            Self::HooksCalled { event, hooks } => (NoteKind::Info, called(event, hooks)),
            Self::Limit { code, current, maximum } => (NoteKind::Limit, limit_in_words(*code, *current, *maximum)),
            Self::CancelRequested { scope: CancelScope::Thread | CancelScope::Kill } => {
                (NoteKind::Stopped, "stopping the thread".to_owned())
            }
            Self::TurnCancelled { .. } => (NoteKind::Info, "stopped".to_owned()),
            Self::ThreadSuspended { reason, .. } => (NoteKind::Limit, format!("suspended: {reason}")),
            Self::ThreadQueued { reason } => (NoteKind::Info, format!("queued: {reason}")),
            Self::HookDecided { .. } | Self::CancelRequested { .. } | Self::ThreadAdmitted {} => return None,
        };
        Some(Note { kind, text })
    }
}

/// `after_step: the hook note calls team/notify`
fn called(event: &str, hooks: &[HookStep]) -> String {
    let calls = |step: &HookStep| {
        let tools: Vec<&str> = step.calls.iter().map(HookCall::item).collect();
        (!tools.is_empty()).then(|| format!("the hook {} calls {}", step.hook, tools.join(", ")))
    };
    format!("{event}: {}", hooks.iter().filter_map(calls).collect::<Vec<_>>().join("; "))
}
