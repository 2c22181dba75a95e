//! When the next frame is drawn: a key at once, everything else at most sixty times a second, nothing when nothing
//! changed.

use std::future::pending;
use std::time::{Duration, Instant};

/// A sixtieth of a second.
const FRAME: Duration = Duration::from_micros(16_667);

/// After so long without a frame other programs may have written to the screen.
const REST: Duration = Duration::from_secs(2);
/// After the frame that ends a rest, which comes at once, all of the screen is written again: as soon as there was no frame
/// for so long, since a letter that is typed meanwhile would have to wait for it,
const PAUSE: Duration = Duration::from_millis(250);
/// or so long after the rest.
const LATEST: Duration = Duration::from_secs(2);

/// Decides on frames.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    due: Option<Instant>,
    drawn: Option<Instant>,
    /// When the screen is written whole, and when at the latest.
    mend: Option<(Instant, Instant)>,
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
        let rested = self.drawn.is_some_and(|drawn| now.duration_since(drawn) > REST);
        self.drawn = Some(self.due.take().filter(|due| now.duration_since(*due) < FRAME).unwrap_or(now));
        if let Some(latest) = self.mend.map(|(_, latest)| latest).or(rested.then_some(now + LATEST)) {
            self.mend = Some((latest.min(now + PAUSE), latest));
        }
    }

    /// When all of the screen is to be written again, since nobody knows what was written there meanwhile.
    pub(super) fn mends_at(&self) -> Option<Instant> {
        self.mend.map(|(due, _)| due)
    }

    /// The coming frame is the one that writes everything.
    pub(super) fn mends(&mut self, now: Instant) {
        self.mend = None;
        self.due = Some(now);
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

/// Waits for the instant; for ever without one.
pub(super) async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => pending().await,
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

    #[test]
    fn after_a_rest_the_screen_is_written_whole_once() {
        let start = Instant::now();
        let mut pacer = Pacer::default();
        pacer.drawn(start);
        pacer.drawn(start + FRAME);
        assert_eq!(pacer.mends_at(), None);
        let later = start + 2 * REST;
        pacer.drawn(later);
        assert_eq!(pacer.mends_at(), Some(later + PAUSE));
        pacer.mends(later + PAUSE);
        pacer.drawn(later + PAUSE);
        assert_eq!(pacer.mends_at(), None);
    }

    #[test]
    fn who_types_does_not_wait_for_the_whole_screen() {
        let start = Instant::now();
        let mut pacer = Pacer::default();
        pacer.drawn(start);
        let typed = start + 2 * REST;
        pacer.drawn(typed);
        let next = typed + PAUSE / 2;
        pacer.drawn(next);
        assert_eq!(pacer.mends_at(), Some(next + PAUSE));
        // Not for ever.
        pacer.drawn(next + LATEST.saturating_sub(PAUSE));
        assert_eq!(pacer.mends_at(), Some(typed + LATEST));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_request_no_frame_is_due() {
        let pacer = Pacer::default();
        let waited = tokio::time::timeout(Duration::from_hours(1), pacer.frame_due()).await;
        assert!(waited.is_err());
    }
}
