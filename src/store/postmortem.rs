//! What became of a thread, from its files alone.

use super::layout::Layout;
use super::outcome::each;
use super::recover::is_held;
use super::summary::{Summarise, Summary};
use crate::domain::ThreadId;
use crate::domain::postmortem::Postmortem;
use crate::ports::StoreError;
use std::ops::ControlFlow;

/// As many of the last lines that the thread's process had to say.
const LAST_WORDS: usize = 3;

/// The largest file of such lines that is looked at.
const LARGEST_WORDS: u64 = 1 << 20;

/// What is known of the thread `id`, as rows: what about, and what.
///
/// # Errors
/// [`StoreError`]; [`StoreError::NoSuchThread`] where there is none.
pub fn of(layout: &Layout, id: &ThreadId, summarise: Summarise) -> Result<Vec<(&'static str, String)>, StoreError> {
    let mut found = Postmortem::default();
    each(layout, id, |record| {
        found.hear(record.timestamp, &record.event);
        ControlFlow::Continue(())
    })?;
    let summary = Summary::look(layout, id, summarise)?;
    let mut rows = found.rows(&summary.cost, is_held(layout, id)?);
    let directive = format!("{} with {}", summary.directive, summary.model);
    rows.insert(0, ("thread", format!("{id}, {directive}")));
    rows.extend(last_words(layout, id).into_iter().map(|line| ("process said", line)));
    Ok(rows)
}

/// The last lines of what the thread's process had to say.
fn last_words(layout: &Layout, id: &ThreadId) -> Vec<String> {
    let Ok(Some(bytes)) = layout.thread(id).worker_log().read(LARGEST_WORDS) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.iter().skip(lines.len().saturating_sub(LAST_WORDS)).map(|line| (*line).to_owned()).collect()
}
