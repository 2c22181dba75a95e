//! Reading a stream of bytes in batches, so that many small pieces cost few wake-ups.
//!
//! The first bytes after a quiet spell pass at once. After them the source is left alone for a while: what arrives meanwhile
//! waits in the connection and is then read in one go. The first rest is short, since a short answer is often all there by
//! then, and each is twice as long as the one before, up to [`WINDOW`]. A flood is read without a rest.
//!
//! An HTTP/1 connection lives in a task of its own that hands over one chunk at a time, however many it holds. So an
//! empty hand does not mean that nothing is there: that task, on the same thread, gets a few turns to run first.

use futures_util::future::poll_fn;
use futures_util::stream::{Stream, StreamExt};
use std::future::Future;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The longest that bytes wait. Each batch wakes three threads and has a frame drawn, which is most of what a stream costs: these are 40
/// a second, where one for each frame that a screen shows would be 60.
pub(super) const WINDOW: Duration = Duration::from_millis(25);

/// The first rest after a quiet spell.
const SHORTEST: Duration = Duration::from_millis(2);

/// A batch of so many bytes is passed on as it is, and the source read on without a rest.
const FLOOD: usize = 16 * 1024;

/// So many turns of the connection's task without bytes end a batch.
const TURNS: u32 = 2;

/// Passes `source` on in batches until it ends or nobody takes them any more. Every byte and the error that ends it
/// pass unchanged and in order. `rest` waits until an instant without looking at the source.
pub(super) async fn relay<S, B, E, R>(
    mut source: S,
    batches: &mpsc::Sender<Result<Vec<u8>, E>>,
    rest: impl Fn(Instant) -> R,
) where
    S: Stream<Item = Result<B, E>> + Unpin,
    B: AsRef<[u8]>,
    R: Future<Output = ()>,
{
    let (mut pause, mut rested) = (SHORTEST, Instant::now());
    loop {
        let mut item = tokio::select! {
            biased;
            () = batches.closed() => return,
            item = source.next() => Some(item),
        };
        let began = Instant::now();
        if began.duration_since(rested) >= WINDOW {
            pause = SHORTEST;
        }
        let mut batch = Vec::new();
        let mut quiet = 0;
        let mut end = None;
        loop {
            match item {
                Some(Some(Ok(bytes))) => {
                    batch.extend_from_slice(bytes.as_ref());
                    quiet = 0;
                }
                Some(Some(Err(error))) => end = Some(Some(error)),
                Some(None) => end = Some(None),
                None => {
                    quiet += 1;
                    turn().await;
                }
            }
            if end.is_some() || batch.len() >= FLOOD || quiet > TURNS {
                break;
            }
            item = poll_fn(|context| match source.poll_next_unpin(context) {
                Poll::Ready(item) => Poll::Ready(Some(item)),
                Poll::Pending => Poll::Ready(None),
            })
            .await;
        }
        let flooded = batch.len() >= FLOOD;
        if !batch.is_empty() && batches.send(Ok(batch)).await.is_err() {
            return;
        }
        match end {
            Some(Some(error)) => return drop(batches.send(Err(error)).await),
            Some(None) => return,
            None if flooded => rested = began,
            None => {
                rested = began + pause;
                rest(rested).await;
                pause = WINDOW.min(pause * 2);
            }
        }
    }
}

/// Lets the other tasks that are ready run. Tokio's own `yield_now` asks the system for news each time as well.
async fn turn() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::Context;
    use tokio::time::Sleep;

    /// Relays `source` with the clock of the test and hands every batch to `taken`, with its millisecond.
    async fn relayed<S, E>(source: S) -> (Vec<(u64, Result<Vec<u8>, E>)>, u64)
    where
        S: Stream<Item = Result<Vec<u8>, E>> + Unpin,
    {
        let start = Instant::now();
        let elapsed = || u64::try_from(start.elapsed().as_millis()).unwrap();
        let (sender, mut receiver) = mpsc::channel(4);
        let take = async {
            let mut taken = Vec::new();
            while let Some(batch) = receiver.recv().await {
                taken.push((elapsed(), batch));
            }
            (taken, elapsed())
        };
        let relay = async move { relay(source, &sender, tokio::time::sleep_until).await };
        tokio::join!(relay, take).1
    }

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

    /// All bytes, the millisecond of each batch, and that of the end.
    async fn times(source: Timed) -> (Vec<u8>, Vec<u64>, u64) {
        let (taken, end) = relayed(source).await;
        let (times, bytes): (Vec<u64>, Vec<_>) = taken.into_iter().unzip();
        (bytes.into_iter().flat_map(Result::unwrap).collect(), times, end)
    }

    fn millis(duration: Duration) -> u64 {
        u64::try_from(duration.as_millis()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn small_pieces_pass_in_batches() {
        let pieces: Vec<_> = (0..500_u64).map(|at| (at * 2, vec![u8::try_from(at % 251).unwrap()])).collect();
        let expected: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let (bytes, times, _) = times(timed(pieces.clone())).await;
        assert_eq!(bytes, expected);
        for (arrived, _) in &pieces {
            let passed = times.iter().find(|time| *time >= arrived).unwrap();
            assert!(passed - arrived <= millis(WINDOW) + 1, "a piece of {arrived} ms waited until {passed} ms");
        }
        assert!(times.len() <= 48, "{} wake-ups for a second of pieces", times.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_answer_does_not_wait_for_a_window() {
        // What comes at once after a quiet spell: a beginning, a little text, the end.
        for quiet in [0, 400] {
            let before = (0..quiet).step_by(2).map(|at| (at, b"-".to_vec()));
            let at = quiet + 200;
            let answer = [(at, b"a".to_vec()), (at, b"b".to_vec()), (at + 1, b"c".to_vec()), (at + 6, b"d".to_vec())];
            let (_, times, end) = times(timed(before.chain(answer))).await;
            assert!(times.ends_with(&[at, at + 2, at + 6]), "{times:?}");
            assert!(end <= at + 14, "{end}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_source_is_never_delayed() {
        let (_, times, _) = times(timed((0..20).map(|at| (at * 30, b"x".to_vec())))).await;
        assert_eq!(times, (0..20).map(|at| at * 30).collect::<Vec<_>>());
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
        let (taken, _) = relayed(Box::pin(source)).await;
        assert_eq!(taken.into_iter().map(|(_, batch)| batch.unwrap().len()).sum::<usize>(), 1_000);
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
        let all: Vec<_> = relayed(source).await.0.into_iter().map(|(_, batch)| batch).collect();
        assert_eq!(all, [Ok(b"a".to_vec()), Err("cut")]);
    }
}
