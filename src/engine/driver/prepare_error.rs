//! Why something was not made.

use crate::domain::event::CallError;

/// Somebody wants to stop, so the work was left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

/// Why there is no request.
#[derive(Debug)]
pub(super) enum PrepareError {
    Failed(CallError),
    /// Somebody wants to stop; the cancel is the next event.
    Stopped,
}

impl From<Stopped> for PrepareError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}
