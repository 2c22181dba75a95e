//! Which processes of tools run, noted in the person's state folder for as long as they do.
//!
//! A worker that dies leaves its tools' processes behind; whoever opens the thread next ends them. What to end is never
//! read from the project: its log may be somebody else's, and a number in it would be somebody else's process. A note names
//! the boot, the group and when its leader was started, and lies where only this person's programs write.

use super::layout::{Layout, private_folder};
use crate::domain::ThreadId;
use crate::domain::event::Process;
use crate::ports::{StoreError, faults, process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest note that is read, in bytes.
const LARGEST: u64 = 64 << 10;

/// A note takes no longer to write.
const WRITTEN_WITHIN: Duration = Duration::from_mins(1);

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    thread_id: ThreadId,
    /// The kernel's name for the time since it came up.
    boot: String,
    process: Process,
}

fn path(layout: &Layout, process: &Process) -> PathBuf {
    layout.processes().join(format!("{}.json", process.group))
}

/// A function that notes `process` of `thread`, on disk when it returns.
pub(super) fn note(
    layout: &Layout,
    thread: &ThreadId,
    process: &Process,
) -> impl FnOnce() -> Result<(), StoreError> + Send + use<> {
    let (layout, thread_id, process) = (layout.clone(), thread.clone(), *process);
    move || {
        let path = path(&layout, &process);
        let note = Note { thread_id, boot: process::boot(), process };
        let write = || -> io::Result<()> {
            let folder = layout.processes();
            faults::point()?;
            private_folder(&folder)?;
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            file.write_all(&serde_json::to_vec(&note)?)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            fs::File::open(&folder)?.sync_all()
        };
        write().map_err(|source| StoreError::Io { doing: "note a process in", path: path.clone(), source })
    }
}

/// Forgets `process`, which has ended.
pub(super) fn forget(layout: &Layout, process: &Process) {
    let _not_noted = fs::remove_file(path(layout, process));
}

/// Ends what the tools of `thread` left running, and forgets it. Only the holder of the thread's lock may do this.
pub fn end_left_behind(layout: &Layout, thread: &ThreadId) {
    let entries = fs::read_dir(layout.processes()).into_iter().flatten().flatten();
    for entry in entries {
        if !is_note(&entry.path()) {
            // Another thread of the project is writing it, or its worker ended in the middle.
            if is_old(&entry) {
                let _gone_already = fs::remove_file(entry.path());
            }
            continue;
        }
        match read(&entry.path()) {
            Ok(note) if note.thread_id == *thread => {
                if note.boot == process::boot() {
                    tracing::info!(group = note.process.group, %thread, "ending what a tool left behind");
                    process::end_left_behind(&note.process);
                }
            }
            Ok(_other_threads) => continue,
            Err(error) => tracing::warn!(path = %entry.path().display(), %error, "is no note of a process"),
        }
        let _gone_already = fs::remove_file(entry.path());
    }
}

/// Whether a note has been put there whole: it is written under another name before.
fn is_note(path: &Path) -> bool {
    let number = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem.parse::<u32>().is_ok());
    number && path.extension().is_some_and(|ending| ending == "json")
}

/// Whether nobody writes it any more.
fn is_old(entry: &fs::DirEntry) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > WRITTEN_WITHIN))
}

fn read(path: &Path) -> io::Result<Note> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_another_thread_writes_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &folder.path().join("state"));
        private_folder(&layout.processes()).unwrap();
        let [begun, broken, old] = [".tmpAb12", "12.json", ".tmpOld"].map(|name| layout.processes().join(name));
        for path in [&begun, &broken, &old] {
            fs::write(path, "").unwrap();
        }
        let long_ago = std::time::SystemTime::now() - 2 * WRITTEN_WITHIN;
        fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        end_left_behind(&layout, &ThreadId::new("chat", 1));
        assert_eq!([&begun, &broken, &old].map(|path| path.exists()), [true, false, false]);
    }
}
