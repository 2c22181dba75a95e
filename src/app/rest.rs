//! What a screen does that has nothing to do: it gives back the code it does not need.
//!
//! Soon after it was busy somebody may type, so then it draws once, which brings what a key needs back before the key comes.
//! Later it keeps no more than it must, and the next key takes a third of a millisecond longer.

use crate::worker::code_pages::{self, REST};
use std::time::{Duration, Instant};

/// So long after it was busy a screen keeps nothing for the next key. People who type pause for less.
const LONG: Duration = Duration::from_secs(2);

/// How long a screen has done nothing, and what it did about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    since: Instant,
    /// When to do more about it.
    pub(super) due: Option<Instant>,
}

impl Rest {
    pub(super) fn since(now: Instant) -> Self {
        Self { since: now, due: Some(now + REST) }
    }

    /// Gives code back, and has `draw` bring what the next key needs.
    pub(super) fn give_back<E>(&mut self, now: Instant, draw: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let released = code_pages::release();
        let soon = now < self.since + LONG;
        self.due = soon.then_some(self.since + LONG);
        if released && soon { draw() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_rests_twice_and_then_no_more() {
        let begin = Instant::now();
        let mut rest = Rest::since(begin);
        assert_eq!(rest.due, Some(begin + REST));
        let draw = || Ok::<_, ()>(());
        rest.give_back(begin + REST, draw).unwrap();
        assert_eq!(rest.due, Some(begin + LONG));
        rest.give_back(begin + LONG, || Err("what is kept for a key was to be given back")).unwrap();
        assert_eq!(rest.due, None);
    }
}
