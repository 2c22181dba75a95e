//! What was said to the person.

use super::message::Level;
use std::collections::VecDeque;

/// How long a notice stays on the screen, in seconds, and how many are kept.
const SECONDS: u8 = 8;
const KEPT: usize = 200;

/// A message to the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeLine {
    pub level: Level,
    pub text: String,
}

/// The newest notices.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    lines: VecDeque<NoticeLine>,
    said: usize,
    /// So long the newest stays on the screen.
    seconds: u8,
}

impl Notices {
    /// Those that are kept, the oldest first.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &NoticeLine> + ExactSizeIterator {
        self.lines.iter()
    }

    /// How many there were in all.
    #[must_use]
    pub fn said(&self) -> usize {
        self.said
    }

    /// The one on the screen.
    pub(super) fn shown(&self) -> Option<&NoticeLine> {
        self.lines.back().filter(|_| self.seconds > 0)
    }

    pub(super) fn say(&mut self, level: Level, text: String) {
        self.lines.push_back(NoticeLine { level, text });
        self.said += 1;
        if self.lines.len() > KEPT {
            self.lines.pop_front();
        }
        self.seconds = SECONDS;
    }

    /// Takes back those with such a text: from the screen, and from the list. Whether there were any.
    pub(super) fn unsay(&mut self, texts: &[String]) -> bool {
        let is_gone = |notice: &NoticeLine| texts.contains(&notice.text);
        if self.shown().is_some_and(is_gone) {
            self.seconds = 0;
        }
        let before = self.lines.len();
        self.lines.retain(|notice| !is_gone(notice));
        before != self.lines.len()
    }

    /// What is on the screen was about something else than what is done now; it stays in the list.
    pub(super) fn clear(&mut self) {
        self.seconds = 0;
    }

    /// A second went by.
    pub(super) fn second(&mut self) {
        self.seconds = self.seconds.saturating_sub(1);
    }
}
