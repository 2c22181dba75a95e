//! Takes in again what a person saves: settings, keymap, themes, provider files, items; and tells when a thread of the
//! project changed, whoever runs it.
//!
//! A thread of its own waits for the system to tell of changes, lets a burst of them settle, reads everything again and
//! sends it to the loop. What does not read any more is told there and keeps its old value.

use crate::commands::Keymap;
use crate::config::Arguments;
use crate::domain::{Problem, Severity};
use crate::items::{Hooks, Items, check};
use crate::session::Setup;
use crate::session::setup::SetupError;
use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// So long nothing changes before it is read: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(120);

/// Where something never settles, it is read after so long.
const LONGEST: Duration = Duration::from_secs(1);

/// What changed on disk.
#[derive(Debug)]
pub(super) enum FileChange {
    /// The person saved something.
    Saved(Box<Fresh>),
    /// A row of the registry of threads.
    Threads,
}

/// One thing that happened.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Saved(PathBuf),
    /// A file or folder is no longer where it was: with it went whatever watched it.
    Gone(PathBuf),
    Threads,
}

/// Everything as it is after a change.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) setup: Result<Setup, SetupError>,
    /// `None` when the person's part of it has a problem.
    pub(super) keymap: Option<Keymap>,
    /// All that is wrong: with settings, provider files, the keymap, and with the items that were saved since the screen
    /// was opened.
    pub(super) problems: Vec<String>,
    /// That the project is not as it was trusted, where that is new.
    pub(super) warning: Option<String>,
    /// What is well again.
    pub(super) mended: Option<String>,
    /// The files that changed.
    pub(super) changed: BTreeSet<PathBuf>,
}

/// What is watched, and how to read it again.
#[derive(Clone, Debug)]
pub(super) struct Reload {
    root: PathBuf,
    arguments: Arguments,
    /// Folders with all that is in them.
    deep: Vec<PathBuf>,
    /// Folders with the files in them.
    flat: Vec<PathBuf>,
    /// What extensions registered while threads ran.
    providers: PathBuf,
    /// The file that the registry's changes are written to first. The others beside it change with whoever looks at it.
    registry: PathBuf,
}

impl Reload {
    pub(super) fn new(setup: &Setup) -> Self {
        let mut deep = vec![setup.dirs.themes()];
        let roots = setup.spaces.roots().iter().filter_map(|root| match &root.place {
            crate::items::Place::Folder(folder) => Some(folder.join(".ai")),
            crate::items::Place::Embedded => None,
        });
        // Not `.ai` itself: threads write there all the time.
        for root in roots {
            deep.extend(["config", "directives", "knowledge", "tools"].map(|name| root.join(name)));
        }
        let mut flat = vec![setup.dirs.config.clone()];
        flat.extend(setup.config.keymap.as_ref().and_then(|path| Some(path.value.parent()?.to_owned())));
        let mut registry = setup.layout.registry().into_os_string();
        registry.push("-wal");
        let registry = PathBuf::from(registry);
        let providers = setup.dirs.extension_providers();
        Self { root: setup.project.root.clone(), arguments: setup.arguments.clone(), deep, flat, providers, registry }
    }

    /// Watches for as long as the program runs. A system that cannot watch is logged: everything else works without.
    pub(super) fn start(self, news: mpsc::Sender<FileChange>) {
        let watch = move || {
            let (sender, changes) = channel();
            let reload = self.clone();
            let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                let Ok(event) = event else { return };
                // Nobody listens any more only while the program ends.
                let tell = |change: Change| drop(sender.send(change));
                event.paths.iter().filter_map(|path| reload.change(event.kind, path)).for_each(tell);
            });
            match watcher {
                Ok(watcher) => self.follow(watcher, &changes, &news),
                Err(error) => tracing::warn!(%error, "changes of files are not watched"),
            }
        };
        if let Err(error) = std::thread::Builder::new().name("levain-watch".to_owned()).spawn(watch) {
            tracing::warn!(%error, "changes of files are not watched");
        }
    }

    /// What it means that something happened to `path`.
    fn change(&self, kind: EventKind, path: &Path) -> Option<Change> {
        // Reading is no change; ours would call for the next.
        if matches!(kind, EventKind::Access(_)) {
            return None;
        }
        let is_gone = matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        let comes = kind.is_create() || is_gone;
        let holds = |folder: &PathBuf| path.starts_with(folder) || (comes && folder.starts_with(path));
        if self.deep.iter().chain(&self.flat).any(holds) {
            return Some(if is_gone { Change::Gone(path.to_owned()) } else { Change::Saved(path.to_owned()) });
        }
        if path == self.providers {
            return Some(Change::Saved(path.to_owned()));
        }
        // Whoever opens a database makes this file and sets its mode; only rows are written into it. The folders above
        // it are made with the first thread.
        let written = matches!(kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any));
        let registry = path == self.registry && written;
        let made = path != self.registry && kind.is_create() && self.registry.starts_with(path);
        (registry || made).then_some(Change::Threads)
    }

    fn follow(&self, mut system: RecommendedWatcher, changes: &Receiver<Change>, news: &mpsc::Sender<FileChange>) {
        let (mut places, mut seen) = (BTreeSet::new(), Seen::default());
        self.watch(&mut system, &mut places);
        // What the screen listed before it was watched may have changed since.
        if news.blocking_send(FileChange::Threads).is_err() {
            return;
        }
        loop {
            let Ok(first) = changes.recv() else { return };
            let mut all = vec![first];
            let patience = Instant::now() + LONGEST;
            while let Ok(change) = changes.recv_timeout(SETTLE) {
                all.push(change);
                if Instant::now() > patience {
                    break;
                }
            }
            // What was removed is made again by whoever changes a branch: another folder of that name, which nobody watches.
            for change in &all {
                if let Change::Gone(gone) = change {
                    places.retain(|place| !place.starts_with(gone));
                }
            }
            // Before anything is read: a change after the reading is told of.
            self.watch(&mut system, &mut places);
            let threads = all.contains(&Change::Threads).then_some(FileChange::Threads);
            let saved = |change| match change {
                Change::Saved(path) | Change::Gone(path) => Some(path),
                Change::Threads => None,
            };
            let saved: BTreeSet<PathBuf> = all.into_iter().filter_map(saved).collect();
            let fresh = (!saved.is_empty()).then(|| FileChange::Saved(Box::new(self.read(saved, &mut seen))));
            for one in threads.into_iter().chain(fresh) {
                if news.blocking_send(one).is_err() {
                    return;
                }
            }
        }
    }

    /// Watches each folder that is there; of one that is not, the nearest above, so that its making is noticed. Looks
    /// again after each that is new: what was made meanwhile was not seen.
    fn watch(&self, system: &mut RecommendedWatcher, places: &mut BTreeSet<PathBuf>) {
        let deep = self.deep.iter().map(|folder| (folder.as_path(), RecursiveMode::Recursive));
        let flat = self.flat.iter().map(|folder| (folder.as_path(), RecursiveMode::NonRecursive));
        let files = [&self.registry, &self.providers].into_iter().filter_map(|file| file.parent());
        let files = files.map(|folder| (folder, RecursiveMode::NonRecursive));
        for (folder, mode) in deep.chain(flat).chain(files) {
            while let Some(place) = folder.ancestors().find(|path| path.is_dir()) {
                if !places.insert(place.to_owned()) {
                    break;
                }
                let mode = if place == folder { mode } else { RecursiveMode::NonRecursive };
                if let Err(error) = system.watch(place, mode) {
                    places.remove(place);
                    tracing::warn!(%error, folder = %place.display(), "is not watched");
                    break;
                }
            }
        }
    }

    /// Reads everything again.
    fn read(&self, changed: BTreeSet<PathBuf>, seen: &mut Seen) -> Fresh {
        let setup = Setup::gather(Some(&self.root), self.arguments.clone());
        let (mut keymap, mut problems, mut warning, mut mended) = (None, Vec::new(), None, None);
        match &setup {
            Ok(setup) => {
                problems.extend(setup.problems.iter().map(ToString::to_string));
                let (read, mistakes) = self::keymap(setup);
                keymap = mistakes.is_empty().then_some(read);
                problems.extend(mistakes.iter().map(ToString::to_string));
                let items = setup.items();
                let costly = |problem: &Problem| problem.severity >= Severity::Error;
                problems.extend(setup.doubts(&items).iter().filter(|it| costly(it)).map(ToString::to_string));
                // What was wrong before is looked at until it is mended, whatever else is saved meanwhile.
                let suspects: BTreeSet<PathBuf> = changed.union(&seen.broken).cloned().collect();
                let broken: Vec<Problem> = saved_items(&items, &suspects).into_iter().filter(costly).collect();
                problems.extend(broken.iter().map(ToString::to_string));
                seen.broken = broken.into_iter().filter_map(|problem| problem.file).collect();
                let trust = setup.trust();
                warning = trust.warning_after(&setup.project.root, &changed);
                let warned = !trust.allows() && (seen.warned || warning.is_some());
                if std::mem::replace(&mut seen.warned, warned) && trust.allows() {
                    mended = Some("what this project can run is again what you trusted".to_owned());
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
        Fresh { setup, keymap, problems, warning, mended, changed }
    }
}

/// What was seen of the project by earlier readings.
#[derive(Debug, Default)]
struct Seen {
    /// Whether the person was told that the project is not trusted any more.
    warned: bool,
    /// Files of items that had mistakes.
    broken: BTreeSet<PathBuf>,
}

/// What is wrong with the items in these files, and with those of hooks.
fn saved_items(items: &Items, files: &BTreeSet<PathBuf>) -> Vec<Problem> {
    let all = items.iter().flat_map(|found| std::iter::once(found.item).chain(found.shadows));
    // A folder that came brings files that nobody was told of one by one.
    let changed = |file: &Path| file.ancestors().any(|place| files.contains(place));
    let saved = all.filter(|item| changed(&items.file(item)));
    let mut problems: Vec<Problem> = saved.flat_map(|item| check::item(items, item)).collect();
    let of_these = |problem: &Problem| problem.file.as_ref().is_some_and(|file| changed(file));
    let of_handlers = crate::items::Handlers::read(items).problems;
    problems.extend(Hooks::read(items).problems.into_iter().chain(of_handlers).filter(of_these));
    problems
}

/// The keymap and what is wrong with the person's part of it.
#[must_use]
pub fn keymap(setup: &Setup) -> (Keymap, Vec<Problem>) {
    let path = setup.keymap_file();
    match std::fs::read_to_string(&path) {
        Ok(text) => Keymap::with_user(&text, &path),
        Err(error) if error.kind() == io::ErrorKind::NotFound && setup.config.keymap.is_none() => {
            (Keymap::embedded(), Vec::new())
        }
        Err(error) => {
            let remedy = "fix the file, or the setting `keymap`";
            let problem =
                Problem::at(&path, None, Severity::Error, format!("the keymap could not be read: {error}"), remedy);
            (Keymap::embedded(), vec![problem])
        }
    }
}

impl Fresh {
    /// Whether settings of the person's own can be taken over: none of them has lost its value to a mistake.
    pub(super) fn settings_are_whole(&self) -> bool {
        let Ok(setup) = &self.setup else { return false };
        let (user, project) = (setup.dirs.config_file(), setup.project.root.join(crate::config::PROJECT_FILE));
        let own = |file: &Path| file == user || file == project;
        !setup
            .problems
            .iter()
            .any(|problem| problem.severity >= Severity::Error && problem.file.as_deref().is_some_and(own))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::{FileChange, Reload};
    use crate::config::Arguments;
    use std::fs;
    use tokio::sync::mpsc;

    /// The folders of the registry are made while nobody watches them yet, and a row changes as soon as that was told.
    #[test]
    fn what_changes_while_a_folder_begins_to_be_watched_is_told() {
        for _ in 0..10 {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("state/projects/one");
            let registry = folder.join("registry.db-wal");
            let watched = Reload {
                root: home.path().to_owned(),
                arguments: Arguments::default(),
                deep: Vec::new(),
                flat: Vec::new(),
                providers: home.path().join("state/providers.json"),
                registry: registry.clone(),
            };
            let (sender, mut news) = mpsc::channel(1);
            watched.start(sender);
            let mut told = || matches!(news.blocking_recv(), Some(FileChange::Threads));
            assert!(told(), "the watching begins");
            fs::create_dir_all(&folder).unwrap();
            assert!(told(), "the folder was made");
            fs::write(&registry, "a row").unwrap();
            assert!(told(), "the row changed");
        }
    }
}
