//! Which threads a project has.
//!
//! The registry is only the quick answer: the folders below `.ai/agent/threads` are the threads. One that the registry
//! does not know is looked at and taken in, as this person's or as one from elsewhere; one whose folder is gone is left
//! out. So a lost registry costs one longer look, and a project that was cloned or moved shows its threads.

use super::kept_ledger::KeptLedger;
use super::layout::Layout;
use super::recover::{self, Replay};
use super::registry::{Part, Position, Registry, ThreadEntry};
use super::summary::Summary;
use crate::domain::{Status, ThreadId, ThreadOrigin, Timestamp, Waiting};
use crate::ports::StoreError;
use crate::ports::beneath::Lies;
use std::collections::HashSet;

/// As many threads are taken in at once that the registry does not know; the rest the next time.
const MOST_NEW: usize = 10_000;

/// In milliseconds: the thread of a draft that has no worker by then never gets one.
const DRAFT_STARTS_WITHIN: u64 = 60_000;

/// In milliseconds: what came into a folder within so long is not told from what was there by the folder's time alone.
const FOLDER_SETTLES: u64 = 1_000;

/// The threads of a project, after those whose process died were ended.
#[derive(Debug)]
pub struct Threads {
    registry: Registry,
    /// Those that only their row takes for drafts: their worker, or its end, has not told the registry yet.
    spoken: HashSet<ThreadId>,
    /// Threads that were found to have lost their process.
    pub reaped: Vec<ThreadId>,
}

impl Threads {
    /// Brings the registry up to date with the folders there are.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`], and [`StoreError::Database`] where nothing helps. A state folder that cannot be
    /// written costs nothing but the memory of what was found.
    pub fn look(layout: &Layout, now: Timestamp, replay: Replay) -> Result<Self, StoreError> {
        Self::look_again(layout, now, replay, &mut None)
    }

    /// The same. Where the folder of threads has not changed since `folder_seen`, its names are not compared with the
    /// registry; that time is brought up to date.
    fn look_again(
        layout: &Layout,
        now: Timestamp,
        replay: Replay,
        folder_seen: &mut Option<Seen>,
    ) -> Result<Self, StoreError> {
        let nothing = !layout.threads().exists() && !layout.registry().exists();
        let opened = if nothing {
            Registry::in_memory()
        } else {
            layout.prepare_own().and_then(|()| Registry::open_or_renew(&layout.registry()))
        };
        let mut registry = match opened {
            Err(error @ StoreError::NewerSchema { .. }) => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "the registry cannot be used");
                Registry::in_memory()?
            }
            Ok(registry) => registry,
        };
        let folder_now = match layout.threads().changed_at() {
            Ok(at) => Some(Seen { registry: registry.position()?.file().to_owned(), at }),
            Err(_not_there) => None,
        };
        if folder_now.is_none() || *folder_seen != folder_now {
            let all_taken_in = take_in(&mut registry, layout, replay)?;
            let settled = |seen: &Seen| all_taken_in && seen.at + FOLDER_SETTLES < now.0;
            *folder_seen = folder_now.filter(settled);
        }
        let mut spoken = HashSet::new();
        for row in registry.without_a_title()?.into_iter().filter(is_draft) {
            if row.pid.is_none() && now.since(row.created_at) > DRAFT_STARTS_WITHIN {
                recover::clear_draft(layout, &row.thread_id, replay);
            } else if recover::was_spoken_in(layout, &row.thread_id) {
                spoken.insert(row.thread_id);
            }
        }
        let mut at_work = registry.with_process()?;
        at_work.extend(registry.at_work_without_process()?);
        let reaped = recover::reap(layout, at_work, now, replay);
        // What a dead process had reserved is its thread's no more, whether its row ever named the process or not.
        let running: HashSet<ThreadId> = registry.with_process()?.into_iter().map(|row| row.thread_id).collect();
        let ledger = KeptLedger::new(layout, replay);
        if !nothing && let Err(error) = ledger.release_dead(|id| running.contains(id) && !reaped.contains(id)) {
            tracing::warn!(%error, "dead threads stay in the ledger");
        }
        for gone in reaped.iter().filter(|id| !layout.thread(id).path().exists()) {
            registry.remove(gone.as_str())?;
        }
        Ok(Self { registry, spoken, reaped })
    }

    /// The threads of that part of the list, newest change first, at most so many; without those that a screen holds for a
    /// draft.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn list(&self, part: Part, most: usize) -> Result<Vec<ThreadEntry>, StoreError> {
        self.list_as(part, most, |entry| entry)
    }

    /// The same, of each what `take` makes of it.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn list_as<T>(
        &self,
        part: Part,
        most: usize,
        mut take: impl FnMut(ThreadEntry) -> T,
    ) -> Result<Vec<T>, StoreError> {
        let listed = |row: &ThreadEntry| !is_draft(row) || self.spoken.contains(&row.thread_id);
        self.registry.list_as(part, most, |row| listed(&row).then(|| take(row)))
    }

    /// Those that a process runs.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn running(&self) -> Result<Vec<ThreadEntry>, StoreError> {
        self.registry.with_process()
    }
}

/// Brings the registry up to date with the folders of threads. Answers whether each folder has its row now.
fn take_in(registry: &mut Registry, layout: &Layout, replay: Replay) -> Result<bool, StoreError> {
    let folder = layout.threads();
    let entries = folder.entries();
    if let Err(error) = &entries {
        tracing::warn!(path = %folder.path().display(), %error, "threads cannot be listed");
    }
    let mut all = entries.is_ok();
    let names = entries.unwrap_or_default();
    let known = registry.ids()?;
    let here: HashSet<&str> = names.iter().map(String::as_str).collect();
    for gone in known.iter().filter(|id| !here.contains(id.as_str()) && !id.contains('/')) {
        // One that began after the folders were listed has a folder by now, and its process has put in its row.
        let began = gone.parse().is_ok_and(|id| layout.thread(&id).path().exists());
        if !began {
            registry.remove(gone)?;
        }
    }
    let unknown = names.iter().filter(|name| !known.contains(*name));
    let mut fresh = unknown.filter_map(|name| name.parse::<ThreadId>().ok());
    for id in fresh.by_ref().take(MOST_NEW) {
        match entry(layout, &id, replay) {
            Some(entry) => registry.add(&entry)?,
            None => all = false,
        }
    }
    Ok(all && fresh.next().is_none())
}

/// When the folder of threads had last changed as a registry was brought up to date with it.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Which registry: one that was made again knows nothing.
    registry: String,
    at: u64,
}

/// Follows the threads of a project: each look tells what changed since the one before, so that a change of one costs the
/// same among ten thousand.
#[derive(Debug, Default)]
pub struct Follower {
    folder_seen: Option<Seen>,
    position: Option<Position>,
}

/// What a look of a [`Follower`] found.
#[derive(Debug)]
pub struct Found {
    threads: Threads,
    /// Behind which only changes are told; `None` where all threads are.
    pub since: Option<Position>,
}

impl Follower {
    /// Looks as [`Threads::look`] does.
    ///
    /// # Errors
    /// As there.
    pub fn look(&mut self, layout: &Layout, now: Timestamp, replay: Replay) -> Result<Found, StoreError> {
        let since = self.position.take();
        let threads = Threads::look_again(layout, now, replay, &mut self.folder_seen)?;
        let position = threads.registry.position()?;
        let since = since.filter(|since| since.is_continued_by(&position));
        self.position = Some(position);
        Ok(Found { threads, since })
    }

    /// Forgets what was told: the next look tells all threads.
    pub fn forget(&mut self) {
        self.position = None;
    }
}

impl Found {
    /// Gives `take` the threads: all that nobody put away, at most so many, newest change first; or those that changed, put
    /// away or not, in the order of their changes. Threads that a screen holds for a draft are left out.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn each(&self, most: usize, mut take: impl FnMut(ThreadEntry)) -> Result<(), StoreError> {
        let Threads { registry, spoken, .. } = &self.threads;
        let Some(since) = &self.since else {
            return self.threads.list_as(Part::Open, most, take).map(|_: Vec<()>| ());
        };
        registry.changed(since, |row| {
            if !is_draft(&row) {
                take(row);
            }
        })?;
        let mut spoken = spoken.iter().filter_map(|id| registry.get(id).transpose());
        spoken.try_for_each(|row| row.map(&mut take))
    }
}

/// The threads of a project by the names of their folders, newest first, at most so many, and so many of them with their
/// titles. Reads and changes nothing: the registry stays as it is, and no thread is ended or cleared away.
#[must_use]
pub fn peek(layout: &Layout, most: usize, titles: usize) -> Vec<(ThreadId, String)> {
    let names = layout.threads().entries().unwrap_or_default();
    let mut ids: Vec<ThreadId> = names.iter().filter_map(|name| name.parse().ok()).collect();
    ids.sort_by_key(|id| std::cmp::Reverse(id.begun()));
    ids.truncate(most);
    let told = |(place, id): (usize, ThreadId)| {
        let title = (place < titles).then(|| Summary::title(layout, &id)).flatten();
        (id, title.unwrap_or_default())
    };
    ids.into_iter().enumerate().map(told).collect()
}

/// Whether the thread is of a screen on which its first prompt is being written: nothing was said, and nothing ran.
fn is_draft(row: &ThreadEntry) -> bool {
    let rests = (row.status, row.waiting) == (Status::Waiting, Some(Waiting::User));
    row.lineage.origin == ThreadOrigin::Screen
        && (row.status == Status::Created || rests)
        && row.title.is_empty()
        && (row.cost.turns, row.cost.elapsed_ms) == (0, 0)
}

/// What is told of a thread by its files; `None` for a folder that is no thread.
fn entry(layout: &Layout, id: &ThreadId, replay: Replay) -> Option<ThreadEntry> {
    if !matches!(layout.thread(id).path().lies(), Ok(Some(Lies::Folder))) {
        return None;
    }
    match Summary::look(layout, id, replay.summary) {
        Ok(summary) => Some(ThreadEntry { elsewhere: is_elsewhere(layout, id), ..summary.entry(None) }),
        Err(error) => {
            tracing::debug!(thread = %id, %error, "is no thread");
            None
        }
    }
}

/// Whether a thread is from elsewhere: it can be read, and not gone on with.
#[must_use]
pub fn is_elsewhere(layout: &Layout, id: &ThreadId) -> bool {
    !matches!(super::summary::specification(layout, id), Ok(_) | Err(StoreError::NoSuchThread { .. }))
}

#[cfg(test)]
mod tests {
    use super::super::thread::Lock;
    use super::*;
    use crate::domain::{Message, ModelRef, ThreadKind};
    use std::sync::atomic::{AtomicBool, Ordering};

    const REPLAY: Replay =
        Replay { answer: |_| (String::new(), String::new(), Message::assistant("")), summary: |_, _| None };

    #[test]
    fn threads_that_begin_while_others_list_them_keep_their_process() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path(), &project.path().join("state"));
        layout.prepare_own().unwrap();
        let ends = AtomicBool::new(false);
        let locks = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        Threads::look(&layout, Timestamp(2), REPLAY).unwrap();
                    }
                });
            }
            let mut registry = Registry::open(&layout.registry()).unwrap();
            let locks: Vec<Option<Lock>> = (0..150)
                .map(|_| {
                    let id = layout.claim("x", Timestamp(1)).unwrap();
                    let lock = Lock::take(&layout.thread(&id)).unwrap();
                    let model = ModelRef::new("scripted", "demo");
                    let made = Summary::new(id, "x".into(), ThreadKind::OneShot, model, Timestamp(1));
                    let summary = Summary { status: Status::Running, ..made };
                    // As their processes do it: first the file, then the row.
                    summary.write(&layout).unwrap();
                    registry.put(&summary.entry(Some((7, "/run/x".into())))).unwrap();
                    lock
                })
                .collect();
            ends.store(true, Ordering::Relaxed);
            locks
        });
        let all = Threads::look(&layout, Timestamp(2), REPLAY).unwrap().list(Part::All, 1_000).unwrap();
        assert_eq!(all.len(), locks.len());
        assert!(all.iter().all(|row| row.pid == Some(7)), "{all:?}");
    }

    #[test]
    fn s17_a_follower_is_told_of_what_changed_alone() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path(), &project.path().join("state"));
        layout.prepare_own().unwrap();
        let mut registry = Registry::open(&layout.registry()).unwrap();
        let entry = |title: &str| {
            let id = layout.claim("x", Timestamp(1)).unwrap();
            let made =
                Summary::new(id, "x".into(), ThreadKind::OneShot, ModelRef::new("scripted", "demo"), Timestamp(1));
            let summary = Summary { status: Status::Completed, title: title.into(), ..made };
            summary.write(&layout).unwrap();
            summary.entry(None)
        };
        let mut entries: Vec<ThreadEntry> = ["one", "two", "three"].map(entry).into();
        for row in &entries {
            registry.put(row).unwrap();
        }
        // Later than the folder's time, so that the folder counts as settled.
        let later = Timestamp(layout.threads().changed_at().unwrap() + 10 * FOLDER_SETTLES);
        let mut follower = Follower::default();
        let mut look = || {
            let found = follower.look(&layout, later, REPLAY).unwrap();
            let mut titles = Vec::new();
            found.each(10, |row| titles.push(row.title)).unwrap();
            titles.sort();
            (found.since.is_some(), titles)
        };
        let told = |titles: &[&str]| -> Vec<String> { titles.iter().map(ToString::to_string).collect() };
        assert_eq!(look(), (false, told(&["one", "three", "two"])));
        assert_eq!(look(), (true, told(&[])));
        entries[1].title = "two, changed".into();
        registry.put(&entries[1]).unwrap();
        assert_eq!(look(), (true, told(&["two, changed"])));
        // One that came from elsewhere has no row before somebody looks.
        entry("four");
        assert_eq!(look(), (true, told(&["four"])));
        std::fs::remove_dir_all(layout.thread(&entries[0].thread_id).path().path()).unwrap();
        assert_eq!(look(), (false, told(&["four", "three", "two, changed"])), "a removal: all is read again");
        assert_eq!(look(), (true, told(&[])));
        drop(registry);
        for ending in ["", "-wal", "-shm"] {
            let _not_there = std::fs::remove_file(format!("{}{ending}", layout.registry().display()));
        }
        assert_eq!(look(), (false, told(&["four", "three", "two"])), "it was made again, of the threads' files");
    }

    #[test]
    fn s17_a_thread_is_listed_as_created_before_anything_runs_it() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path(), &project.path().join("state"));
        layout.prepare_own().unwrap();
        let spec = crate::ports::ThreadSpec {
            id: None,
            directive: "x".into(),
            inputs: crate::domain::Values::default(),
            model: ModelRef::new("scripted", "demo"),
            kind: ThreadKind::OneShot,
            limits: crate::domain::SetLimits::default(),
            lineage: crate::domain::Lineage::of(ThreadOrigin::CommandLine),
            ceilings: Vec::new(),
        };
        let made = Summary::make(&layout, spec, Timestamp(1)).unwrap();
        let listed = Threads::look(&layout, Timestamp(2), REPLAY).unwrap().list(Part::All, 10).unwrap();
        let told: Vec<_> = listed.iter().map(|row| (&row.thread_id, row.status, row.pid)).collect();
        assert_eq!(told, [(&made.thread_id, Status::Created, None)]);
    }
}
