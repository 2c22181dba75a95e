//! Placeholders of what is guarded and is not there: only what is there can be mounted over. They are there as long as a
//! command runs that is held to them.
//!
//! A placeholder is told by its mode and by having nothing in it, from the moment it is there, so one that a killed keeper
//! left goes with the next command. Who uses one holds a lock on it that others may hold, too, and takes it away only when
//! it gets the lock alone: a file that is taken away takes the mounts of all others with it.

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// As long somebody may hold a placeholder alone, who takes it away then.
const PATIENCE: Duration = Duration::from_secs(1);

/// What tells a folder that is a placeholder. It has no meaning for anybody who writes into that.
const STICKY: u32 = 0o1000;

/// Placeholders that are used.
#[derive(Debug, Default)]
pub(super) struct Placeholders(Vec<(PathBuf, File)>);

/// What a file at `path` has in it that means the same as none; nothing for a folder.
fn no_meaning(path: &Path) -> Option<&'static str> {
    match path.file_name()?.to_str()? {
        "config" | "config.worktree" => Some(""),
        // git reads it before all others, and fails on an empty one.
        "commondir" => Some(".\n"),
        _ => None,
    }
}

impl Placeholders {
    /// Makes those of `paths` that are missing, and holds those that are there already.
    ///
    /// # Errors
    /// Why one could not be made. None is left then.
    pub(super) fn make<'a>(paths: impl Iterator<Item = &'a Path>) -> io::Result<Self> {
        let mut held = Self::default();
        for path in paths {
            match hold(path) {
                Ok(file) => held.0.extend(file.map(|file| (path.to_owned(), file))),
                Err(error) => {
                    held.clear();
                    return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
                }
            }
        }
        Ok(held)
    }

    /// Takes away those that nobody else uses and nobody put anything into. Answers what could not be, in words.
    pub(super) fn clear(self) -> Vec<String> {
        let told = |(path, file): (PathBuf, File)| match clear_one(&path, &file) {
            Ok(()) => None,
            Err(error) => Some(format!("{} is left: {error}", path.display())),
        };
        self.0.into_iter().rev().filter_map(told).collect()
    }
}

/// Holds the placeholder at `path`, made if nothing is there; nothing if it is somebody's own.
fn hold(path: &Path) -> io::Result<Option<File>> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match path.symlink_metadata() {
            Ok(there) if !is_placeholder(path, &there) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if stays_missing(path) {
                    return Ok(None);
                }
                match create(path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    created => created?,
                }
            }
            Err(error) => return Err(error),
        }
        if let Some(file) = lock(path)? {
            return Ok(Some(file));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "somebody holds it alone"))
}

/// Whether nobody can make anything at `path`: it is not there, and its file system cannot be written.
pub(super) fn stays_missing(path: &Path) -> bool {
    let of = path.parent().and_then(|folder| rustix::fs::statvfs(folder).ok());
    path.symlink_metadata().is_err() && of.is_some_and(|of| of.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// A lock on what is at `path`; nothing if somebody holds it alone, or has taken it away.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => File::from(opened),
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(is_at(&file, path).then_some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let which = |of: io::Result<Metadata>| of.ok().map(|of| (of.dev(), of.ino()));
    which(path.symlink_metadata()).is_some_and(|there| which(file.metadata()) == Some(there))
}

/// Makes the placeholder at `path`, whole at once: others see it from then on.
fn create(path: &Path) -> io::Result<()> {
    let Some(text) = no_meaning(path) else {
        fs::DirBuilder::new().mode(STICKY | 0o755).create(path)?;
        if path.symlink_metadata()?.mode() & STICKY == 0 {
            fs::remove_dir(path)?;
            return Err(io::Error::new(io::ErrorKind::Unsupported, "its file system keeps no modes"));
        }
        return Ok(());
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mode = Mode::from_raw_mode(0o444);
    let Ok(nameless) = rustix::fs::open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode) else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        return File::from(rustix::fs::open(path, flags, mode)?).write_all(text.as_bytes());
    };
    let mut file = File::from(nameless);
    file.write_all(text.as_bytes())?;
    let opened = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    Ok(rustix::fs::linkat(CWD, opened, CWD, path, rustix::fs::AtFlags::SYMLINK_FOLLOW)?)
}

fn is_placeholder(path: &Path, there: &Metadata) -> bool {
    match no_meaning(path) {
        None => there.is_dir() && there.mode() & STICKY != 0 && is_empty(path),
        Some(text) => {
            let is_marked = there.is_file() && there.mode() & 0o222 == 0 && there.len() == text.len() as u64;
            is_marked && fs::read(path).is_ok_and(|read| read == text.as_bytes())
        }
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn clear_one(path: &Path, file: &File) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        // Whoever uses it still takes it away.
        Err(Errno::WOULDBLOCK) => return Ok(()),
        locked => locked?,
    }
    if !is_at(file, path) {
        return Ok(());
    }
    let there = file.metadata()?;
    if is_placeholder(path, &there) {
        return if there.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
    }
    if there.is_dir() {
        // Somebody put something into it, so it is theirs.
        fs::set_permissions(path, fs::Permissions::from_mode(there.mode() & 0o777))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stays_as_long_as_anybody_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["hooks", "config.worktree", "commondir"].map(|name| folder.path().join(name));
        let make = || Placeholders::make(paths.iter().map(PathBuf::as_path)).unwrap();
        let (one, other) = (make(), make());
        assert_eq!(one.clear(), Vec::<String>::new());
        assert!(paths.iter().all(|path| path.exists()), "the other one is held to them");
        assert_eq!(other.clear(), Vec::<String>::new());
        assert!(paths.iter().all(|path| !path.exists()));
        // A keeper that is killed clears nothing: the next one does.
        drop(make());
        assert!(paths.iter().all(|path| path.exists()));
        make().clear();
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn what_is_somebodys_own_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [empty, config, filled] = ["hooks", "config", "info"].map(|name| folder.path().join(name));
        fs::create_dir(&empty).unwrap();
        fs::write(&config, "").unwrap();
        let made = Placeholders::make([&empty, &config, &filled].map(PathBuf::as_path).into_iter()).unwrap();
        fs::write(filled.join("exclude"), "x").unwrap();
        assert_eq!(made.clear(), Vec::<String>::new());
        assert!(empty.exists() && config.exists() && filled.join("exclude").exists());
        assert_eq!(filled.metadata().unwrap().mode() & STICKY, 0, "it is no placeholder any more");
    }

    #[test]
    fn what_cannot_be_made_is_told_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["hooks", "missing/hooks"].map(|name| folder.path().join(name));
        let error = Placeholders::make([&one, &other].map(PathBuf::as_path).into_iter()).unwrap_err();
        assert!(error.to_string().contains("missing/hooks") && !one.exists(), "{error}");
    }
}
