//! What reaches the thread of an engine.

use super::outcome::{Answer, Ask, Listing, Loaded, Told};
use super::outside::Refusal;
use super::plain::Plain;
use super::watch::Change;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{hint, thread};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::AbortHandle;

/// Set when nobody waits for something any more.
pub(super) type Lost = Arc<AtomicBool>;

/// So long whoever asked looks for the answer before they sleep. To wake a thread takes longer (30 to 70 µs on two cores, seen on
/// 2026-11-25) than most handlers do, and a chain of ten would have to do it twenty times. Nothing else of the thread goes on
/// meanwhile.
pub(super) const ASKED: Duration = Duration::from_micros(40);

/// So long the engine looks for what it is asked next, which comes when whoever asked was woken.
pub(super) const AWAKE: Duration = Duration::from_micros(120);

/// So long of it they do nothing else: most handlers have answered by then, and to let others run takes longer than to look.
const BUSY: Duration = Duration::from_micros(10);

/// What comes within this time.
pub(super) fn soon<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        match begun.elapsed() {
            waited if waited >= within => return None,
            waited if waited >= BUSY => thread::yield_now(),
            _ => hint::spin_loop(),
        }
    }
}

/// What an engine is asked and told.
pub(super) enum Message {
    Load(PathBuf, oneshot::Sender<Loaded>),
    List(oneshot::Sender<Arc<Listing>>),
    Ask {
        ask: Ask,
        preview: bool,
        lost: Lost,
        reply: oneshot::Sender<(Answer, Told)>,
    },
    /// Something that nobody waits for: a function of the JavaScript side, with its arguments.
    Tell(&'static str, Vec<Value>),
    /// What was done for an extension, by its number, is over.
    Settled(u64, Result<Value, Refusal>),
    /// A program that an extension runs has printed something: for its channel. The next piece is read when this is dropped.
    Printed(u64, Plain, OwnedSemaphorePermit),
    /// A file that is watched has changed, by the channel that is told.
    Changed(u64, Change),
    /// Sockets end: what ends.
    CloseSockets(oneshot::Sender<Vec<AbortHandle>>),
    /// Somebody no longer waits for what they asked.
    Lost,
    /// Nobody wants anything of it any more.
    End,
}
