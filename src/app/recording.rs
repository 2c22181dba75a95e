//! The recording for a first look: a small project with threads in it, unpacked into a folder of the program's own.
//!
//! It is a project like any other, so every screen is filled by what reads projects anyway; a script answers whoever
//! writes in it. `scripts/record` makes it, at the path that stands in its texts.

use crate::config::{Dirs, Trust, authority, trust::Runnable};
use crate::store::Layout;
use crate::store::thread;
use crate::worker::host::REPLAY;
use include_dir::{Dir, DirEntry, include_dir};
use std::io;
use std::path::{Path, PathBuf};

static RECORDING: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/assets/recording");

/// Where the recording lies, or will.
#[must_use]
pub fn folder(dirs: &Dirs) -> PathBuf {
    dirs.state.join("bakery")
}

/// Puts the recording where it belongs, unless it is there already: what somebody said in it stays. Its directives are
/// ours, so what they allow counts without a question.
///
/// # Errors
/// When a file cannot be written, with its path.
pub fn unpack(dirs: &Dirs) -> io::Result<PathBuf> {
    let folder = folder(dirs);
    if !folder.join(".ai").is_dir() {
        put(dirs, &folder)?;
    }
    if !Trust::is_given(dirs, &folder) {
        let runnable = Runnable::of(&folder)?.unwrap_or_else(Runnable::nothing);
        Trust::grant(dirs, &folder, &runnable, &authority::of_project(&folder))?;
    }
    Ok(folder)
}

/// Puts the recording at `folder`, all of it at once. Somebody else who does the same may be there first.
fn put(dirs: &Dirs, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(&dirs.state).map_err(|error| named(&dirs.state, &error))?;
    let unpacking = tempfile::Builder::new().prefix("bakery-").tempdir_in(&dirs.state)?;
    for (from, to) in [("project", ""), ("agent", ".ai/agent"), ("objects", ".ai/objects")] {
        if let Some(part) = RECORDING.get_dir(from) {
            write(part, part.path(), &unpacking.path().join(to))?;
        }
    }

    adopt(&Layout::new(unpacking.path(), &dirs.state))?;
    match std::fs::rename(unpacking.path(), folder) {
        // What would be removed now is there no more.
        Ok(()) => drop(unpacking.keep()),
        Err(_late) if folder.join(".ai").is_dir() => {}
        Err(error) => return Err(named(folder, &error)),
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes what lies below `base` to `folder`.
fn write(part: &Dir<'_>, base: &Path, folder: &Path) -> io::Result<()> {
    for entry in part.entries() {
        let path = folder.join(entry.path().strip_prefix(base).unwrap_or_else(|_| entry.path()));
        match entry {
            DirEntry::Dir(inner) => write(inner, base, folder)?,
            DirEntry::File(file) => {
                if let Some(above) = path.parent() {
                    std::fs::create_dir_all(above)?;
                }
                std::fs::write(&path, file.contents()).map_err(|error| named(&path, &error))?;
            }
        }
    }
    Ok(())
}

/// Makes the recorded threads the person's own: they were not written by somebody else, but by this program.
fn adopt(layout: &Layout) -> io::Result<()> {
    layout.prepare().map_err(io::Error::other)?;
    for name in layout.threads().entries()? {
        let Ok(id) = name.parse() else { continue };
        thread::adopt(layout, &id, REPLAY.summary).map_err(io::Error::other)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::log;
    use crate::store::registry::Part;
    use crate::store::threads::Threads;

    /// Folders of recordings, whole or begun.
    fn recordings(dirs: &Dirs) -> usize {
        let names = std::fs::read_dir(&dirs.state).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("bakery")).count()
    }

    #[test]
    fn the_recording_is_a_project_with_threads_whose_logs_read() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(home.path());
        let folder = unpack(&dirs).unwrap();
        let layout = Layout::new(&folder, &dirs.state);
        let threads =
            Threads::look(&layout, crate::domain::Timestamp(1), REPLAY).unwrap().list(Part::All, 100).unwrap();
        assert!(threads.len() >= 3, "{threads:?}");
        // The one that shows most is opened, whatever the recorded summaries say.
        assert_eq!(threads[0].title, "what do we bake tonight?");
        assert!(threads.is_sorted_by(|one, other| one.updated_at > other.updated_at), "{threads:?}");
        for thread in threads {
            assert!(!thread.elsewhere);
            let page = log::read_forward(&layout.log(&thread.thread_id).unwrap(), 0, 1 << 20).unwrap();
            assert!(page.lines.iter().all(|line| line.record.is_some()));
        }
        // What was said in it since stays.
        std::fs::write(folder.join("plan.md"), "mine").unwrap();
        assert_eq!(unpack(&dirs).unwrap(), folder);
        assert_eq!(std::fs::read_to_string(folder.join("plan.md")).unwrap(), "mine");
        assert!(Trust::is_given(&dirs, &folder));
    }

    #[test]
    fn who_comes_late_or_failed_before_finds_it_whole() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(home.path());
        let folder = unpack(&dirs).unwrap();
        // Two at once: the second finds the first one's, and leaves nothing of its own.
        put(&dirs, &folder).unwrap();
        assert_eq!(recordings(&dirs), 1);
        // Trust that could not be written is made up for the next time.
        assert!(Trust::revoke(&dirs, &folder).unwrap());
        unpack(&dirs).unwrap();
        assert!(Trust::is_given(&dirs, &folder));
        // A folder that cannot be put there leaves nothing either.
        let other = home.path().join("other");
        std::fs::write(&other, "a file").unwrap();
        assert!(put(&dirs, &other).is_err());
        assert_eq!(recordings(&dirs), 1);
    }
}
