//! In which order the list of threads stands.

use super::message::ThreadRow;
use crate::domain::{Stand, ThreadId, ThreadOrder};

/// The order behind this one.
#[must_use]
pub(super) fn next(order: ThreadOrder) -> ThreadOrder {
    match order {
        ThreadOrder::Tree => ThreadOrder::NeedsYou,
        ThreadOrder::NeedsYou => ThreadOrder::Cost,
        ThreadOrder::Cost => ThreadOrder::Quiet,
        ThreadOrder::Quiet => ThreadOrder::Tree,
    }
}

/// In words, for whoever changed it.
#[must_use]
pub(super) fn told(order: ThreadOrder) -> &'static str {
    match order {
        ThreadOrder::Tree => "threads stand below those that started them",
        ThreadOrder::NeedsYou => "threads that need you come first",
        ThreadOrder::Cost => "the most expensive threads come first",
        ThreadOrder::Quiet => "running threads that were quiet the longest come first",
    }
}

/// The rows in this order, each with the heading that it stands below. Only in a tree does one stand below another.
#[must_use]
pub(super) fn arranged(order: ThreadOrder, rows: &[ThreadRow]) -> Vec<(ThreadRow, Option<&'static str>)> {
    let level = |row: &ThreadRow| if order == ThreadOrder::Tree { row.level } else { 0 };
    let row = |row: &ThreadRow| (ThreadRow { level: level(row), ..row.clone() }, order.heading(&row.stand()));
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.sort_by_key(|(row, _)| order.rank(&row.stand()));
    rows
}

impl ThreadRow {
    /// How it stands, as far as an order asks.
    #[must_use]
    pub fn stand(&self) -> Stand {
        let Self { status, waiting, runs, updated_at, spend, .. } = *self;
        Stand { status, waiting, runs, updated_at, spend }
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
