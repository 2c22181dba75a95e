//! Telling time that passed from a clock that jumped.

use crate::domain::Timestamp;
use std::time::{Duration, Instant};

/// A clock that ran ahead of time by less than this was only adjusted.
const JUMP: Duration = Duration::from_secs(5);

/// When the clock was last looked at, and what it showed.
#[derive(Debug, Default)]
pub(super) struct Steady(Option<(Timestamp, Instant)>);

impl Steady {
    /// By how many milliseconds the clock, which shows `now` at the instant `at`, has run ahead of the time that passed
    /// since the last look; none if that is no jump. A clock that is put back takes nothing from anybody.
    pub(super) fn jump(&mut self, now: Timestamp, at: Instant) -> Option<u64> {
        let (shown, before) = self.0.replace((now, at))?;
        let ahead = Duration::from_millis(now.since(shown)).checked_sub(at.duration_since(before))?;
        (ahead > JUMP).then(|| u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t33_time_that_passes_is_no_jump() {
        let (mut steady, start) = (Steady::default(), Instant::now());
        let mut look = |clock: u64, seconds: u64| steady.jump(Timestamp(clock), start + Duration::from_secs(seconds));
        assert_eq!(look(1_000, 0), None);
        assert_eq!(look(601_000, 600), None, "ten minutes of work");
        assert_eq!(look(604_000, 600), None, "the clock was adjusted");
        assert_eq!(look(604_000 + 28_800_000, 601), Some(28_799_000), "the machine slept");
        assert_eq!(look(5_000, 602), None, "the clock was put back");
        assert_eq!(look(6_000, 603), None);
    }
}
