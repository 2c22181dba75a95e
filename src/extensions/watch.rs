//! Files that extensions watch: `fs.watch`.

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// As many files and folders are watched at once.
const MOST: usize = 32;
/// As many changes of one wait to be told; more are left out.
const WAITING: usize = 256;

/// What is watched, by the channels that are told.
#[derive(Debug, Default)]
pub(super) struct Watched(HashMap<u64, Watcher>);

#[derive(Debug)]
struct Watcher {
    _kept: RecommendedWatcher,
    waiting: Arc<AtomicUsize>,
}

/// One change: what kind, and the name of what changed.
#[derive(Debug)]
pub(super) struct Change {
    /// `change` or `rename`.
    pub(super) event: &'static str,
    pub(super) name: Option<String>,
    /// Counts those of its watcher that wait.
    waiting: Arc<AtomicUsize>,
}

impl Watched {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Watches a file or folder; its changes go to `to`.
    ///
    /// # Errors
    /// Why not, in words.
    pub(super) fn add(
        &mut self,
        channel: u64,
        (path, recursive): (&Path, bool),
        to: impl Fn(Change) + Send + 'static,
    ) -> Result<(), String> {
        if self.0.len() >= MOST {
            return Err(format!("no more than {MOST} files and folders are watched at once"));
        }
        let waiting = Arc::new(AtomicUsize::new(0));
        let told = Arc::clone(&waiting);
        let tell = move |event: notify::Result<notify::Event>| {
            let Some(event) = event.ok() else { return };
            let Some(kind) = kind(event.kind) else { return };
            for path in event.paths {
                if told.fetch_add(1, Ordering::Relaxed) >= WAITING {
                    told.fetch_sub(1, Ordering::Relaxed);
                    return;
                }
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                to(Change { event: kind, name, waiting: Arc::clone(&told) });
            }
        };
        let mode = if recursive { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        let mut watcher = notify::recommended_watcher(tell).map_err(|error| error.to_string())?;
        watcher.watch(path, mode).map_err(|error| error.to_string())?;
        self.0.insert(channel, Watcher { _kept: watcher, waiting });
        Ok(())
    }

    pub(super) fn remove(&mut self, channel: u64) {
        self.0.remove(&channel);
    }

    /// A change is being told; whether its channel is still watched, by the same watcher.
    pub(super) fn takes(&self, channel: u64, change: &Change) -> bool {
        change.waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.get(&channel).is_some_and(|watcher| Arc::ptr_eq(&watcher.waiting, &change.waiting))
    }
}

/// What Node calls it; none for what it does not tell.
fn kind(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => Some("rename"),
        EventKind::Modify(_) => Some("change"),
        EventKind::Access(_) | EventKind::Any | EventKind::Other => None,
    }
}
