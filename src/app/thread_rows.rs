//! Rows of the registry as the screen lists them.

use crate::domain::ModelRef;
use crate::domain::tree::order;
use crate::ports::StoreError;
use crate::store::registry::{Part, ThreadEntry};
use crate::store::threads::Threads;
use crate::workbench::ThreadRow;
use std::collections::HashSet;
use std::sync::Arc;

/// As many threads as a list shows; older ones are found by their id.
const MOST_THREADS: usize = 10_000;

/// The threads that nobody put away, each below the one that started it. They are rows each by itself, and no long array of
/// them: what such a one took is seldom given back to the system.
pub(super) fn listed(threads: &Threads) -> Result<Vec<Arc<ThreadRow>>, StoreError> {
    rows(threads, Part::Open)
}

/// Those that were put away, likewise.
pub(super) fn archived(threads: &Threads) -> Result<Vec<Arc<ThreadRow>>, StoreError> {
    rows(threads, Part::Archived)
}

fn rows(threads: &Threads, part: Part) -> Result<Vec<Arc<ThreadRow>>, StoreError> {
    let mut said = Said::default();
    let rows = threads.list_as(part, MOST_THREADS, |entry| Arc::new(said.row(entry)))?;
    let with_level = |(mut row, level): (Arc<ThreadRow>, usize)| {
        if let Some(row) = Arc::get_mut(&mut row) {
            row.level = level;
        }
        row
    };
    Ok(order(rows).into_iter().map(with_level).collect())
}

/// The threads that a process runs.
pub(super) fn running(threads: &Threads) -> Result<Vec<ThreadRow>, StoreError> {
    let mut said = Said::default();
    Ok(threads.running()?.into_iter().map(|entry| said.row(entry)).collect())
}

/// What many rows of a list say alike, held once.
#[derive(Default)]
struct Said {
    directives: HashSet<Arc<str>>,
    models: HashSet<Arc<ModelRef>>,
}

impl Said {
    fn row(&mut self, entry: ThreadEntry) -> ThreadRow {
        let directive = self.directives.get(entry.directive.as_str()).cloned().unwrap_or_else(|| {
            let directive: Arc<str> = entry.directive.into();
            self.directives.insert(Arc::clone(&directive));
            directive
        });
        let model = self.models.get(&entry.model).cloned().unwrap_or_else(|| {
            let model = Arc::new(entry.model);
            self.models.insert(Arc::clone(&model));
            model
        });
        ThreadRow {
            waiting: entry.waiting,
            thread_id: entry.thread_id,
            directive,
            status: entry.status,
            title: entry.title,
            model,
            waits_for: entry.waits_for,
            turns: entry.cost.turns,
            tokens: entry.cost.usage.total(),
            spend: entry.cost.spend,
            outputs: entry.outputs,
            risk: entry.risk,
            updated_at: entry.updated_at,
            runs: entry.pid.is_some(),
            elsewhere: entry.elsewhere,
            parent: entry.lineage.parent,
            level: 0,
            limits: entry.limits,
        }
    }
}
