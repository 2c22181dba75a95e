//! A tree of threads over time, read from their logs.

use super::layout::Layout;
use super::outcome::each;
use super::recover::Replay;
use super::registry::{Part, ThreadEntry};
use super::threads::Threads;
use crate::domain::timeline::{Timeline, TimelineRow};
use crate::domain::tree::order;
use crate::domain::{ThreadId, Timestamp};
use crate::ports::StoreError;
use std::ops::ControlFlow;

/// As many threads of a tree are drawn.
const MOST: usize = 500;

/// As many are looked through for those of a tree.
const MOST_LOOKED_AT: usize = 100_000;

/// The threads of the tree that `id` is of, each below the one that started it, with what they did until `now`. One whose log
/// does not read did nothing.
///
/// # Errors
/// [`StoreError`]; [`StoreError::NoSuchThread`] where there is none.
pub fn of(layout: &Layout, id: &ThreadId, now: Timestamp, replay: Replay) -> Result<Vec<TimelineRow>, StoreError> {
    let rows = Threads::look(layout, now, replay)?.list(Part::All, MOST_LOOKED_AT)?;
    let root = |row: &ThreadEntry| row.lineage.root.clone().unwrap_or_else(|| row.thread_id.clone());
    let own = rows.iter().find(|row| row.thread_id == *id);
    let tree = root(own.ok_or_else(|| StoreError::NoSuchThread { id: id.to_string() })?);
    let rows = order(rows.iter().filter(|row| root(row) == tree));
    Ok(rows.into_iter().take(MOST).map(|(row, level)| drawn(layout, row, level, now)).collect())
}

fn drawn(layout: &Layout, row: &ThreadEntry, level: usize, now: Timestamp) -> TimelineRow {
    let mut timeline = Timeline::default();
    let read = each(layout, &row.thread_id, |record| {
        timeline.hear(record.timestamp, &record.event);
        ControlFlow::Continue(())
    });
    if let Err(error) = read {
        tracing::warn!(thread = %row.thread_id, %error, "a log cannot be drawn");
    }
    if row.pid.is_some() {
        timeline.until(now);
    }
    let name = if row.title.is_empty() { row.thread_id.to_string() } else { row.title.clone() };
    TimelineRow { name, level, cost: row.cost.spend.to_string(), timeline }
}
