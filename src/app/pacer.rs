//! When the next frame is drawn: a key at once, everything else at most sixty times a second, nothing when nothing
//! changed.

use std::future::pending;
use std::time::{Duration, Instant};

/// A sixtieth of a second.
const FRAME: Duration = Duration::from_micros(16_667);

/// Decides on frames.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    due: Option<Instant>,
    drawn: Option<Instant>,
}

impl Pacer {
    /// Something visible changed.
    pub(super) fn request(&mut self, now: Instant) {
        let earliest = self.drawn.map_or(now, |drawn| (drawn + FRAME).max(now));
        self.due = Some(self.due.map_or(earliest, |due| due.min(earliest)));
    }

    /// A person did something and waits to see it.
    pub(super) fn request_now(&mut self, now: Instant) {
        self.due = Some(now);
    }

    /// A frame was drawn. What counts is when it was due: the clock's own lateness, up to two milliseconds a frame,
    /// would otherwise add up, and text that comes about once a frame would wait for most of the next.
    pub(super) fn drawn(&mut self, now: Instant) {
        self.drawn = Some(self.due.take().filter(|due| now.duration_since(*due) < FRAME).unwrap_or(now));
    }

    /// Waits until a frame is due; for ever when none was asked for. Losing this future loses nothing.
    pub(super) async fn frame_due(&self) {
        match self.due {
            Some(due) if due <= Instant::now() => {}
            Some(due) => tokio::time::sleep_until(due.into()).await,
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_paced_and_a_key_is_not() {
        let start = Instant::now();
        let mut pacer = Pacer::default();
        pacer.request(start);
        assert_eq!(pacer.due, Some(start));
        pacer.drawn(start);
        assert_eq!(pacer.due, None);
        pacer.request(start + Duration::from_millis(1));
        pacer.request(start + Duration::from_millis(2));
        assert_eq!(pacer.due, Some(start + FRAME));
        pacer.request_now(start + Duration::from_millis(3));
        assert_eq!(pacer.due, Some(start + Duration::from_millis(3)));
    }

    #[test]
    fn a_late_frame_does_not_delay_the_next() {
        let start = Instant::now();
        let mut pacer = Pacer::default();
        pacer.drawn(start);
        pacer.request(start + Duration::from_millis(1));
        pacer.drawn(start + FRAME + Duration::from_millis(2));
        pacer.request(start + FRAME + Duration::from_millis(3));
        assert_eq!(pacer.due, Some(start + 2 * FRAME));
        // After a pause there is nothing to catch up with.
        pacer.drawn(start + 9 * FRAME);
        pacer.request(start + 9 * FRAME);
        assert_eq!(pacer.due, Some(start + 10 * FRAME));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_request_no_frame_is_due() {
        let pacer = Pacer::default();
        let waited = tokio::time::timeout(Duration::from_hours(1), pacer.frame_due()).await;
        assert!(waited.is_err());
    }
}
