//! Faults of the file system on demand, so that tests can see what each leaves behind.
//!
//! Whatever changes a file of a thread passes [`point`] first. A test, or `LEVAIN_FAULT` for a worker, says at which one
//! the operation fails, or the process dies as if it had been killed. Only debug builds listen.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const NEVER: u64 = u64::MAX;

/// Points passed so far.
static PASSED: AtomicU64 = AtomicU64::new(0);
/// The point where it happens.
static AT: AtomicU64 = AtomicU64::new(NEVER);
static DIES: AtomicBool = AtomicBool::new(false);
/// How much of the newest log is known to be on disk, in bytes.
static SYNCED: AtomicU64 = AtomicU64::new(0);

/// The operation after `points` more fails, once.
pub fn fail_after(points: u64) {
    AT.store(PASSED.load(Ordering::SeqCst).saturating_add(points), Ordering::SeqCst);
}

/// Nothing fails from here on.
pub fn never() {
    AT.store(NEVER, Ordering::SeqCst);
}

/// How many operations there were.
#[must_use]
pub fn passed() -> u64 {
    PASSED.load(Ordering::SeqCst)
}

/// How much of the log that was synced last is on disk, in bytes.
#[must_use]
pub fn synced() -> u64 {
    SYNCED.load(Ordering::SeqCst)
}

/// Does what `LEVAIN_FAULT` says: `fail-at:N` or `die-at:N`.
pub fn from_environment() {
    let asked = std::env::var("LEVAIN_FAULT").unwrap_or_default();
    let Some((what, number)) = asked.split_once(':') else { return };
    let Ok(number) = number.parse() else { return };
    if matches!(what, "fail-at" | "die-at") {
        DIES.store(what == "die-at", Ordering::SeqCst);
        fail_after(number);
    }
}

/// Passed before a file is changed.
pub(crate) fn point() -> io::Result<()> {
    if !cfg!(debug_assertions) || PASSED.fetch_add(1, Ordering::SeqCst) != AT.load(Ordering::SeqCst) {
        return Ok(());
    }
    if DIES.load(Ordering::SeqCst) {
        let _never_returns = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
    Err(io::Error::from(io::ErrorKind::StorageFull))
}

/// The log is on disk up to `end`.
pub(crate) fn log_synced(end: u64) {
    if cfg!(debug_assertions) {
        SYNCED.store(end, Ordering::SeqCst);
    }
}
