//! Reading a stream of bytes in batches, so that many small pieces cost few wake-ups.
//!
//! The first bytes after a quiet spell pass at once. After them the source is left alone until [`WINDOW`] is over:
//! what arrives meanwhile waits in the connection and is then read in one go. A flood is read without a rest.
//!
//! An HTTP/1 connection lives in a task of its own that hands over one chunk at a time, however many it holds. So an
//! empty hand does not mean that nothing is there: that task gets a few turns to run first, which suffices where it
//! shares a thread with the reader, and where it does not, a moment on the clock.

use futures_util::stream::Stream;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The longest that bytes wait: about a frame of the screen, a little less so that with the timer's own millisecond
/// each batch comes when the next frame may be drawn.
pub const WINDOW: Duration = Duration::from_millis(16);

/// From this many bytes in one window on, the source is a flood.
pub const FLOOD: usize = 16 * 1024;

/// How often the connection's task gets a turn before a rest.
const TURNS: u8 = 2;

/// With so few pieces after a rest, turns may not have reached the connection's task: it runs on another thread.
const FEW: u32 = 2;

/// How long a connection on another thread may take to hand over. The clock knows nothing shorter.
const LINGER: Duration = Duration::from_millis(1);

/// `source` with rests between batches. Every byte and every error passes unchanged and in order.
pub fn paced<S, B, E>(source: S) -> Paced<S>
where
    S: Stream<Item = Result<B, E>> + Unpin,
    B: AsRef<[u8]>,
{
    let alarm = Box::pin(tokio::time::sleep(Duration::ZERO));
    Paced { source, state: State::Listening, window: None, bytes: 0, pieces: 0, rested: false, alarm }
}

/// See [`paced`].
#[derive(Debug)]
pub struct Paced<S> {
    source: S,
    state: State,
    /// When the window began, which is when the last wake-up brought bytes.
    window: Option<Instant>,
    /// What has passed in this window.
    bytes: usize,
    pieces: u32,
    /// Whether the window began with bytes that had come during a rest.
    rested: bool,
    alarm: Pin<Box<Sleep>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Woken by the next bytes.
    Listening,
    /// Bytes have come: takes what is there already, and what the connection's task brings within so many turns.
    Taking { turns: u8 },
    /// Woken by the next bytes or, if none come soon, by the clock.
    Lingering,
    /// Woken by the clock alone.
    Resting,
}

impl<S, B, E> Stream for Paced<S>
where
    S: Stream<Item = Result<B, E>> + Unpin,
    B: AsRef<[u8]>,
{
    type Item = Result<B, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            let flooded = this.bytes >= FLOOD;
            if this.state == State::Resting {
                if this.alarm.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                this.window = None;
                this.rested = true;
                this.state = State::Listening;
            }
            // Without a waker where a rest may follow: later bytes must not end it.
            let silent = matches!(this.state, State::Taking { .. }) && !flooded;
            let mut deaf = Context::from_waker(Waker::noop());
            match Pin::new(&mut this.source).poll_next(if silent { &mut deaf } else { context }) {
                Poll::Ready(Some(Ok(bytes))) => {
                    this.count(bytes.as_ref().len());
                    match this.state {
                        State::Lingering => this.alarm.as_mut().reset(Instant::now() + LINGER),
                        State::Listening | State::Taking { .. } | State::Resting => {
                            this.state = State::Taking { turns: TURNS };
                        }
                    }
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Poll::Ready(end) => return Poll::Ready(end),
                Poll::Pending => {}
            }
            match this.state {
                State::Taking { .. } if flooded => this.state = State::Listening,
                State::Taking { turns: turns @ 1.. } => {
                    this.state = State::Taking { turns: turns - 1 };
                    context.waker().wake_by_ref();
                }
                State::Taking { turns: 0 } if this.rested && this.pieces <= FEW => {
                    this.alarm.as_mut().reset(Instant::now() + LINGER);
                    this.state = State::Lingering;
                    continue; // to be woken by the source
                }
                State::Taking { turns: 0 } => {
                    this.rest();
                    continue;
                }
                State::Lingering => {
                    if this.alarm.as_mut().poll(context).is_ready() {
                        this.rest();
                        continue;
                    }
                }
                State::Listening | State::Resting => this.rested = false,
            }
            return Poll::Pending;
        }
    }
}

impl<S> Paced<S> {
    fn rest(&mut self) {
        let start = self.window.unwrap_or_else(Instant::now);
        self.alarm.as_mut().reset(start + WINDOW);
        self.state = State::Resting;
    }

    /// Counts a piece that passes now, in the running window or in a new one.
    fn count(&mut self, length: usize) {
        let now = Instant::now();
        if self.window.is_none_or(|start| now.duration_since(start) >= WINDOW) {
            self.window = Some(now);
            self.bytes = 0;
            self.pieces = 0;
        }
        self.bytes += length;
        self.pieces += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use std::collections::VecDeque;
    use tokio::sync::mpsc;

    /// A source that hands out its pieces at their times and wakes whoever asked last, as a connection does.
    struct Timed {
        pieces: VecDeque<(u64, Vec<u8>)>,
        start: Instant,
        alarm: Pin<Box<Sleep>>,
    }

    impl Stream for Timed {
        type Item = Result<Vec<u8>, ()>;

        fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let Some((at, _)) = self.pieces.front() else { return Poll::Ready(None) };
            let due = self.start + Duration::from_millis(*at);
            if Instant::now() >= due {
                return Poll::Ready(self.pieces.pop_front().map(|(_, bytes)| Ok(bytes)));
            }
            self.alarm.as_mut().reset(due);
            match self.alarm.as_mut().poll(context) {
                Poll::Ready(()) | Poll::Pending => Poll::Pending,
            }
        }
    }

    fn timed(pieces: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Timed {
        Timed {
            pieces: pieces.into_iter().collect(),
            start: Instant::now(),
            alarm: Box::pin(tokio::time::sleep(Duration::ZERO)),
        }
    }

    /// Reads all and returns, for each piece, the millisecond at which it passed.
    async fn times(source: Timed) -> (Vec<u8>, Vec<u64>, u64) {
        let start = source.start;
        let elapsed = || u64::try_from(start.elapsed().as_millis()).unwrap();
        let mut stream = paced(source);
        let (mut bytes, mut times) = (Vec::new(), Vec::new());
        while let Some(piece) = stream.next().await {
            bytes.extend(piece.unwrap());
            times.push(elapsed());
        }
        (bytes, times, elapsed())
    }

    fn millis(duration: Duration) -> u64 {
        u64::try_from(duration.as_millis()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn small_pieces_pass_in_batches() {
        let pieces: Vec<_> = (0..500_u64).map(|at| (at * 2, vec![u8::try_from(at % 251).unwrap()])).collect();
        let expected: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let (bytes, mut times, _) = times(timed(pieces.clone())).await;
        assert_eq!(bytes, expected);
        for ((arrived, _), passed) in pieces.iter().zip(&times) {
            assert!(passed - arrived <= millis(WINDOW) + 1, "a piece of {arrived} ms waited until {passed} ms");
        }
        times.dedup();
        assert!(times.len() <= 70, "{} wake-ups for a second of pieces", times.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_source_is_never_delayed() {
        let (_, times, _) = times(timed((0..20).map(|at| (at * 20, b"x".to_vec())))).await;
        assert_eq!(times, (0..20).map(|at| at * 20).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_comes_within_a_window() {
        let (_, times, end) = times(timed([(0, b"a".to_vec()), (1, b"b".to_vec())])).await;
        assert_eq!(times[0], 0);
        assert!(times[1] <= millis(WINDOW) + 1 && end <= 2 * millis(WINDOW) + 1, "{times:?} {end}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_read_at_full_speed() {
        let (bytes, times, end) = times(timed((0..100).map(|at| (at, vec![b'x'; 20_000])))).await;
        assert_eq!(bytes.len(), 2_000_000);
        assert_eq!(times, (0..100).collect::<Vec<_>>());
        assert_eq!(end, 99);
    }

    /// As an HTTP/1 connection does, whose task decodes one chunk each time there is room for it.
    #[tokio::test(start_paused = true)]
    async fn a_connection_that_hands_over_piece_by_piece_does_not_fall_behind() {
        let (sender, mut receiver) = mpsc::channel::<Result<Vec<u8>, ()>>(1);
        tokio::spawn(async move {
            for at in 0..50_u64 {
                tokio::time::sleep_until(Instant::now() + Duration::from_millis(20 * (at % 2))).await;
                for _ in 0..20 {
                    sender.send(Ok(vec![0])).await.unwrap();
                }
            }
        });
        let start = Instant::now();
        let source = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
        assert_eq!(paced(source).count().await, 1_000);
        assert!(start.elapsed() <= Duration::from_millis(25 * 20) + 50 * WINDOW, "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn errors_pass_in_order() {
        let (sender, mut receiver) = mpsc::channel::<Result<Vec<u8>, &str>>(4);
        for item in [Ok(b"a".to_vec()), Err("cut")] {
            sender.send(item).await.unwrap();
        }
        drop(sender);
        let source = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
        let all: Vec<_> = paced(source).collect().await;
        assert_eq!(all, [Ok(b"a".to_vec()), Err("cut")]);
    }
}
