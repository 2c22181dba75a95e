//! In which order lists of threads stand, on the screen and on the command line.

use super::amount::Money;
use super::event::Timestamp;
use super::status::{Status, Waiting};

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadOrder {
    /// Each below the one that started it, the newest tree first.
    #[default]
    Tree,
    /// Those that wait for the person first, then those that failed; of each the one that has waited longest first.
    NeedsYou,
    /// The most expensive first.
    Cost,
    /// Those that run and have been quiet the longest first.
    Quiet,
}

/// How a thread stands, as far as an order asks.
#[derive(Clone, Copy, Debug)]
pub struct Stand {
    pub status: Status,
    /// What for, while it waits.
    pub waiting: Option<Waiting>,
    /// Whether a process runs it now.
    pub runs: bool,
    pub updated_at: Timestamp,
    pub spend: Money,
}

impl Stand {
    /// Whether it goes on only once a person does something.
    #[must_use]
    pub fn needs_you(&self) -> bool {
        let waits = matches!(self.waiting, Some(Waiting::Approval | Waiting::Storage | Waiting::Breakpoint));
        self.status == Status::Suspended || (self.status == Status::Waiting && waits)
    }
}

impl ThreadOrder {
    /// Every order with its word on the command line.
    pub const ALL: [(&'static str, Self); 4] =
        [("tree", Self::Tree), ("attention", Self::NeedsYou), ("cost", Self::Cost), ("quiet", Self::Quiet)];

    /// The heading below which a thread stands. Only in a tree it has none.
    #[must_use]
    pub fn heading(self, stand: &Stand) -> Option<&'static str> {
        match self {
            Self::Tree => None,
            Self::NeedsYou if stand.needs_you() => Some("needs you"),
            Self::NeedsYou if stand.status == Status::Error => Some("failed"),
            Self::NeedsYou => Some("the others"),
            Self::Cost => Some("by cost"),
            Self::Quiet if stand.runs => Some("running, quiet the longest"),
            Self::Quiet => Some("not running"),
        }
    }

    /// By which it stands among others; those of the same rank stay as they are.
    #[must_use]
    pub fn rank(self, stand: &Stand) -> (u8, i64) {
        let since = i64::try_from(stand.updated_at.0).unwrap_or(i64::MAX);
        match self {
            Self::NeedsYou if stand.needs_you() => (0, since),
            Self::NeedsYou if stand.status == Status::Error => (1, since),
            Self::Cost => (0, stand.spend.0.saturating_neg()),
            Self::Quiet if stand.runs => (0, since),
            Self::NeedsYou | Self::Quiet => (2, 0),
            Self::Tree => (0, 0),
        }
    }
}
