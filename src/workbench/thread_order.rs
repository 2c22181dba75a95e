//! In which order the list of threads stands.

use super::message::ThreadRow;
use crate::domain::{Status, ThreadId, Waiting};
use std::cmp::Reverse;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ThreadOrder {
    /// Each below the one that started it, the newest tree first.
    #[default]
    Tree,
    /// Those that wait for the person first, then those that failed.
    NeedsYou,
    /// The most expensive first.
    Cost,
    /// Those that run and have been quiet the longest first.
    Quiet,
}

impl ThreadOrder {
    /// The one behind it.
    #[must_use]
    pub(super) fn next(self) -> Self {
        match self {
            Self::Tree => Self::NeedsYou,
            Self::NeedsYou => Self::Cost,
            Self::Cost => Self::Quiet,
            Self::Quiet => Self::Tree,
        }
    }

    /// In words, for whoever changed it.
    #[must_use]
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Tree => "threads stand below those that started them",
            Self::NeedsYou => "threads that need you come first",
            Self::Cost => "the most expensive threads come first",
            Self::Quiet => "running threads that were quiet the longest come first",
        }
    }

    /// The rows in this order, each with the heading that it stands below. Only in a tree does one stand below another.
    #[must_use]
    pub(super) fn arranged(self, rows: &[ThreadRow]) -> Vec<(ThreadRow, Option<&'static str>)> {
        let heading = |row: &ThreadRow| match self {
            Self::Tree => None,
            Self::NeedsYou if row.needs_you() => Some("needs you"),
            Self::NeedsYou if row.status == Status::Error => Some("failed"),
            Self::NeedsYou => Some("the others"),
            Self::Cost => Some("by cost"),
            Self::Quiet if row.runs => Some("running, quiet the longest"),
            Self::Quiet => Some("not running"),
        };
        let level = |row: &ThreadRow| if self == Self::Tree { row.level } else { 0 };
        let mut rows: Vec<_> =
            rows.iter().map(|row| (ThreadRow { level: level(row), ..row.clone() }, heading(row))).collect();
        match self {
            Self::Tree => {}
            // Whoever has waited longest comes first.
            Self::NeedsYou => rows.sort_by_key(|(row, _)| match (row.needs_you(), row.status == Status::Error) {
                (true, _) => (0, row.updated_at),
                (false, true) => (1, row.updated_at),
                (false, false) => (2, crate::domain::Timestamp(0)),
            }),
            Self::Cost => rows.sort_by_key(|(row, _)| Reverse(row.spend)),
            Self::Quiet => rows.sort_by_key(|(row, _)| {
                (!row.runs, if row.runs { row.updated_at } else { crate::domain::Timestamp(0) })
            }),
        }
        rows
    }
}

impl ThreadRow {
    /// Whether it goes on only once a person does something.
    #[must_use]
    pub fn needs_you(&self) -> bool {
        self.asks()
            || self.status == Status::Suspended
            || (self.status == Status::Waiting && self.waiting == Some(Waiting::Storage))
    }
}

/// Every listed thread below one of `above`, at any depth.
#[must_use]
pub(super) fn below<'a>(rows: &'a [ThreadRow], above: &[ThreadId]) -> Vec<&'a ThreadRow> {
    let mut found: Vec<&ThreadRow> = Vec::new();
    loop {
        let more: Vec<&ThreadRow> = rows
            .iter()
            .filter(|row| {
                !above.contains(&row.thread_id) && !found.iter().any(|known| known.thread_id == row.thread_id)
            })
            .filter(|row| {
                let parent = row.parent.as_ref();
                parent.is_some_and(|parent| {
                    above.contains(parent) || found.iter().any(|known| known.thread_id == *parent)
                })
            })
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}
