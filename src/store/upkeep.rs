//! What a person does with threads as a whole while none of them runs: calling them something, putting them away, removing
//! them.
//!
//! What a thread is called and where it is listed are facts of its log, so a lost registry loses neither. Of a thread that
//! is removed nothing stays but its texts in the content store, which other threads may share, and what the ledger counted.

use super::layout::{Layout, failed};
use super::processes;
use super::recover::{self, Replay};
use super::registry::Registry;
use super::summaries::Summaries;
use super::thread::{FileStore, Lock, Opened};
use crate::domain::{Event, Record, SettingsEvent, ThreadEvent, ThreadId, Timestamp};
use crate::ports::beneath::Lies;
use crate::ports::store::Snapshot;
use crate::ports::{StoreError, ThreadStore};

/// Names under which a folder that is being removed may lie until it is gone. No thread is called so.
const REMOVED: &str = ".removed-";

/// As many of those names are tried.
const MOST_NAMES: u32 = 1_000;

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// Whoever runs it may be asked to do it.
    #[error("a process runs it")]
    Running,
    #[error("nothing has been said in it")]
    Unbegun,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes `event`, which only says how the thread `id` is listed or what something in it is called, into its log, its
/// `thread.json` and the registry. How it is listed already is not written again.
///
/// # Errors
/// [`UpkeepError`]; [`StoreError::Elsewhere`] for a thread of somebody else's, which is read-only.
pub fn file(layout: &Layout, id: &ThreadId, event: Event, now: Timestamp, replay: Replay) -> Result<(), UpkeepError> {
    debug_assert!(event.is_filing());
    recover::reap_thread(layout, id, now, replay)?;
    let opened = FileStore::open(layout, id, None, replay.summary, &Summaries::start(layout))?;
    let Opened { mut store, summary, records, .. } = opened.ok_or(UpkeepError::Running)?;
    let begun = |record: &Record| matches!(record.event, Event::Thread(ThreadEvent::ThreadStarted { .. }));
    if !records.iter().any(begun) {
        return Err(UpkeepError::Unbegun);
    }
    let (mut title, mut archived) = (summary.title.clone(), summary.archived);
    let mut changes = true;
    if let Event::Settings(SettingsEvent::TitleSet { title: given }) = &event {
        changes = title != *given;
        title.clone_from(given);
    } else if let Event::Settings(SettingsEvent::Archived { archived: given }) = &event {
        changes = std::mem::replace(&mut archived, *given) != *given;
    }
    if changes {
        store.append(&Record { timestamp: now, thread_id: id.clone(), event })?;
        store.sync()()?;
    }
    store.save(&Snapshot {
        status: summary.status,
        waiting: summary.waiting,
        waits_for: summary.waits_for,
        model: summary.model,
        cost: summary.cost,
        context: summary.context,
        limits: summary.limits,
        title: Some(title),
        archived,
        capabilities: None,
    });
    store.close();
    Ok(())
}

/// Removes the thread `id`, its own or somebody else's: its folder with everything in it, no link of which is followed, its
/// row in the registry and the notes of its processes, which are ended.
///
/// # Errors
/// [`UpkeepError::Running`] while a process runs it; [`StoreError`] where there is none, or something of it stays.
pub fn remove(layout: &Layout, id: &ThreadId) -> Result<(), UpkeepError> {
    let folder = layout.thread(id);
    let path = folder.path();
    if path.lies().map_err(failed("look at", path))? != Some(Lies::Folder) {
        return Err(StoreError::NoSuchThread { id: id.to_string() }.into());
    }
    // What is no regular file holds no lock.
    let held = match folder.lock().lies().map_err(failed("look at", path))? {
        None | Some(Lies::File) => Some(Lock::take(&folder)?.ok_or(UpkeepError::Running)?),
        Some(Lies::Folder | Lies::Else) => None,
    };
    processes::end_left_behind(layout, id);
    // Gone from the list at once, whatever keeps it from being gone altogether.
    let removed = (0..MOST_NAMES).find_map(|number| match path.rename(&format!("{REMOVED}{number}")) {
        Err(error) if is_taken(&error) => None,
        result => Some(result),
    });
    let taken = || std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    let removed = removed.unwrap_or_else(|| Err(taken())).map_err(failed("remove", path))?;
    if layout.registry().exists() {
        Registry::open(&layout.registry())?.remove(id.as_str())?;
    }
    drop(held);
    removed.remove_tree().map_err(failed("remove all of", &removed))?;
    Ok(())
}

fn is_taken(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

/// Removes what an earlier removal that was cut off left behind.
pub fn sweep(layout: &Layout) {
    let folder = layout.threads();
    for name in folder.entries().unwrap_or_default().iter().filter(|name| name.starts_with(REMOVED)) {
        if let Err(error) = folder.join(name).remove_tree() {
            tracing::warn!(name, %error, "a removed thread stays");
        }
    }
}
