//! How often those who watch are told of something that goes on, and how far they were told of an answer.

use crate::domain::Timestamp;
use crate::pipeline::Arriving;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Of one answer or call nobody is told more often.
const EVERY: Duration = Duration::from_millis(50);

/// How often something is told.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// There is something that was not told.
    pub(super) fresh: bool,
    told_at: Option<Instant>,
}

impl Pace {
    /// When it is to be told; none where there is nothing.
    pub(super) fn due(&self) -> Option<Instant> {
        self.fresh.then(|| self.told_at.map_or_else(Instant::now, |at| at + EVERY))
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.fresh && self.told_at.is_none_or(|at| at + EVERY <= now)
    }

    pub(super) fn told(&mut self, now: Instant) {
        (self.fresh, self.told_at) = (false, Some(now));
    }
}

/// An answer of whose beginning those who watch were told.
pub(super) struct Streaming {
    pub(super) request: u32,
    pub(super) since: Timestamp,
    pub(super) far: Arriving,
    pub(super) pace: Pace,
    /// As it was told last, or when it ended.
    pub(super) message: Value,
}
