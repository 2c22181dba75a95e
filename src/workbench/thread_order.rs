//! In which order the list of threads stands.

use super::model::Model;
use super::thread_row::ThreadRow;
use crate::domain::ThreadOrder;
use std::sync::Arc;

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

/// The rows in this order, each with the heading that it stands below.
#[must_use]
pub(super) fn arranged(order: ThreadOrder, rows: &[Arc<ThreadRow>]) -> Vec<(Arc<ThreadRow>, Option<&'static str>)> {
    let mut rows: Vec<_> = rows.iter().map(|row| (Arc::clone(row), order.heading(&row.stand()))).collect();
    rows.sort_by_key(|(row, _)| order.rank(&row.stand()));
    rows
}

impl Model {
    /// So many threads the row stands below in the list: only in a tree does one stand below another.
    #[must_use]
    pub fn level_of(&self, row: &ThreadRow) -> usize {
        if self.threads.order == ThreadOrder::Tree { row.level } else { 0 }
    }
}
