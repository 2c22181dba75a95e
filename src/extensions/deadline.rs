//! By when an entry into the engine is interrupted.

use super::message::Lost;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// So old the clock of the thread may be that an entry counts from: nothing beside a limit of seconds.
const FRESH: Duration = Duration::from_millis(1);

/// So many times its limit may pass on the clock: a machine that stalls for longer, or a file that takes so long to read,
/// would keep everybody else from the engine.
const PATIENCE: u32 = 24;

/// When the engine is interrupted, and whether it was.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Set when nobody waits for anything.
    gone: Lost,
    /// What runs now.
    running: Cell<Option<Running>>,
    /// The clock of the thread when it was read last.
    clock: Cell<Option<Clock>>,
    /// Set when nobody waits for the call that is made.
    pub(super) lost: RefCell<Option<Lost>>,
    pub(super) tripped: Cell<bool>,
}

/// The time, and what this thread had used of processors by then.
#[derive(Clone, Copy, Debug)]
struct Clock {
    at: Instant,
    used: Duration,
}

impl Clock {
    fn read() -> Self {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Self { at: Instant::now(), used: used.try_into().unwrap_or_default() }
    }
}

/// One entry into the engine. Its time is the thread's own on a processor: a machine that stalls for seconds, and a program
/// that JavaScript stands still for, take nothing of it.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Clock,
    limit: Duration,
}

impl Running {
    fn is_over(&self) -> bool {
        // No thread uses more than passes, and to ask for what passed costs a tenth.
        let passed = self.since.at.elapsed();
        let used = || Clock::read().used.saturating_sub(self.since.used);
        passed >= self.limit && (used() >= self.limit || passed >= self.limit * PATIENCE)
    }
}

impl Watch {
    pub(super) fn new(gone: &Lost) -> Self {
        Self { gone: Lost::clone(gone), ..Self::default() }
    }

    pub(super) fn start(&self, limit: Duration) {
        self.tripped.set(false);
        // What was read a moment ago will do, as a handler is entered several times and takes microseconds.
        let known = self.clock.get().filter(|clock| clock.at.elapsed() < FRESH);
        let since = known.unwrap_or_else(Clock::read);
        self.clock.set(Some(since));
        self.running.set(Some(Running { since, limit }));
    }

    pub(super) fn stop(&self) {
        self.running.set(None);
    }

    pub(super) fn is_over(&self) -> bool {
        self.running.get().is_some_and(|running| {
            is_set(&self.gone) || self.lost.borrow().as_ref().is_some_and(is_set) || running.is_over()
        })
    }

    /// The deadline of what runs now, for work of this thread that is done outside the engine.
    pub(super) fn deadline(&self) -> Deadline {
        let lost = [Some(Lost::clone(&self.gone)), self.lost.borrow().clone()];
        Deadline { running: self.running.get(), lost }
    }
}

/// See [`Watch::deadline`].
#[derive(Debug, Default)]
pub(super) struct Deadline {
    running: Option<Running>,
    lost: [Option<Lost>; 2],
}

impl Deadline {
    pub(super) fn is_over(&self) -> bool {
        self.lost.iter().flatten().any(is_set) || self.running.is_some_and(|running| running.is_over())
    }
}

fn is_set(lost: &Lost) -> bool {
    lost.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn what_stands_still_has_not_run() {
        let running = Running { since: Clock::read(), limit: Duration::from_millis(20) };
        thread::sleep(Duration::from_millis(60));
        assert!(!running.is_over());
        while Clock::read().used < running.since.used + running.limit {
            std::hint::spin_loop();
        }
        assert!(running.is_over());
    }
}
