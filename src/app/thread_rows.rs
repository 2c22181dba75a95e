//! Rows of the registry as the screen lists them.

use super::notices::failed;
use crate::domain::tree::order;
use crate::domain::{ModelRef, ThreadId};
use crate::ports::{Clock as _, StoreError, SystemClock};
use crate::store::layout::Layout;
use crate::store::registry::{Part, ThreadEntry};
use crate::store::threads::{Follower, Found, Threads};
use crate::workbench::{Message, ThreadRow};
use crate::worker::host::REPLAY;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// As many threads as a list shows; older ones are found by their id.
const MOST_THREADS: usize = 10_000;

/// The threads that nobody put away, each below the one that started it; kept, so that only what changed is read again, and
/// a row that did not change is the one that the screen holds. They are rows each by itself, and no long array of them: what
/// such a one took is seldom given back to the system.
#[derive(Debug, Default)]
pub(super) struct ThreadList {
    follower: Follower,
    said: Said,
    rows: Vec<Arc<ThreadRow>>,
}

/// Looks at the threads and tells how their list is now.
pub(super) async fn tell(list: Arc<Mutex<ThreadList>>, layout: Layout, messages: mpsc::Sender<Message>) {
    let look = move || {
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        let told = list.look(&layout).map_or_else(|error| failed(&error), Message::Threads);
        // While the list is held, so that what was found later is told later.
        let _ending = messages.blocking_send(told);
    };
    if let Err(error) = tokio::task::spawn_blocking(look).await {
        tracing::error!(%error, "the threads were not listed");
    }
}

impl ThreadList {
    /// How the list is now.
    fn look(&mut self, layout: &Layout) -> Result<Vec<Arc<ThreadRow>>, StoreError> {
        let found = self.follower.look(layout, SystemClock.now(), REPLAY)?;
        let taken = self.take(&found);
        if taken.is_err() {
            self.follower.forget();
        }
        taken.map(|()| self.rows.clone())
    }

    fn take(&mut self, found: &Found) -> Result<(), StoreError> {
        let mut changed: HashMap<ThreadId, Option<Arc<ThreadRow>>> = HashMap::new();
        let mut fresh = Vec::new();
        let said = &mut self.said;
        let known = found.since.is_some();
        found.each(MOST_THREADS, |entry| match (known, entry.archived) {
            (false, _) => fresh.push(Arc::new(said.row(entry))),
            (true, true) => drop(changed.insert(entry.thread_id, None)),
            (true, false) => drop(changed.insert(entry.thread_id.clone(), Some(Arc::new(said.row(entry))))),
        })?;
        let mut rows = if known { std::mem::take(&mut self.rows) } else { fresh };
        if known {
            let whole = rows.len() < MOST_THREADS;
            rows.retain(|row| !changed.contains_key(&row.thread_id));
            rows.extend(changed.into_values().flatten());
            rows.sort_unstable_by(|a, b| (b.updated_at, &b.thread_id).cmp(&(a.updated_at, &a.thread_id)));
            // Which comes in from below where one went is not known here.
            if !whole && rows.len() < MOST_THREADS {
                self.follower.forget();
            }
            rows.truncate(MOST_THREADS);
        }
        self.rows = leveled(rows);
        Ok(())
    }
}

/// In the order of their tree, newest change first.
fn leveled(rows: Vec<Arc<ThreadRow>>) -> Vec<Arc<ThreadRow>> {
    let with_level = |(mut row, level): (Arc<ThreadRow>, usize)| {
        if row.level != level {
            Arc::make_mut(&mut row).level = level;
        }
        row
    };
    order(rows).into_iter().map(with_level).collect()
}

/// Those that were put away.
pub(super) fn archived(threads: &Threads) -> Result<Vec<Arc<ThreadRow>>, StoreError> {
    let mut said = Said::default();
    Ok(leveled(threads.list_as(Part::Archived, MOST_THREADS, |entry| Arc::new(said.row(entry)))?))
}

/// The threads that a process runs.
pub(super) fn running(threads: &Threads) -> Result<Vec<ThreadRow>, StoreError> {
    let mut said = Said::default();
    Ok(threads.running()?.into_iter().map(|entry| said.row(entry)).collect())
}

/// What many rows of a list say alike, held once.
#[derive(Debug, Default)]
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
            elapsed_ms: entry.cost.elapsed_ms,
            outputs: entry.outputs,
            risk: entry.risk,
            commands: entry.commands,
            updated_at: entry.updated_at,
            runs: entry.pid.is_some(),
            elsewhere: entry.elsewhere,
            parent: entry.lineage.parent,
            level: 0,
            limits: entry.limits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Status, ThreadKind, Timestamp};
    use crate::store::registry::Registry;
    use crate::store::summary::Summary;
    use proptest::prelude::*;

    /// What happens to one of eight threads.
    #[derive(Clone, Copy, Debug)]
    enum Change {
        Writes,
        Archived,
        Removed,
    }

    fn id(number: u64) -> ThreadId {
        ThreadId::new("t", 1_700_000_000_000 + number)
    }

    fn write(layout: &Layout, number: u64, time: u64, archived: bool) {
        let model = ModelRef::new("scripted", "demo");
        let made = Summary::new(id(number), "x".into(), ThreadKind::OneShot, model, Timestamp(1));
        let summary = Summary { status: Status::Completed, updated_at: Timestamp(time), ..made };
        std::fs::create_dir_all(layout.thread(&id(number)).path().path()).unwrap();
        let mut entry = ThreadEntry { archived, ..summary.entry(None) };
        entry.lineage.parent = (!number.is_multiple_of(3)).then(|| id(number - 1));
        Registry::open(&layout.registry()).unwrap().put(&entry).unwrap();
    }

    fn told(rows: &[Arc<ThreadRow>]) -> Vec<ThreadRow> {
        rows.iter().map(|row| row.as_ref().clone()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn s17_a_list_that_is_kept_is_the_list_read_anew(
            changes in prop::collection::vec((0_u64..8, prop_oneof![
                4 => Just(Change::Writes), 1 => Just(Change::Archived), 1 => Just(Change::Removed)
            ], any::<bool>()), 1..25)
        ) {
            let project = tempfile::tempdir().unwrap();
            let layout = Layout::new(project.path(), &project.path().join("state"));
            layout.prepare_own().unwrap();
            let mut kept = ThreadList::default();
            for (time, (number, change, looks)) in (2..).zip(changes) {
                match change {
                    Change::Writes => write(&layout, number, time, false),
                    Change::Archived => write(&layout, number, time, true),
                    Change::Removed => drop(std::fs::remove_dir(layout.thread(&id(number)).path().path())),
                }
                if looks {
                    prop_assert_eq!(told(&kept.look(&layout).unwrap()), told(&ThreadList::default().look(&layout).unwrap()));
                }
            }
            let before = kept.look(&layout).unwrap();
            prop_assert_eq!(told(&before), told(&ThreadList::default().look(&layout).unwrap()));
            // What did not change is the same row, not one like it.
            for (row, again) in before.iter().zip(kept.look(&layout).unwrap()) {
                prop_assert!(Arc::ptr_eq(row, &again));
            }
        }
    }
}
