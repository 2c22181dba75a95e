//! Where file tools may go: below the project's root, links followed.
//!
//! A path is resolved as the system would resolve it, every link included, and must end below the root. What it was
//! resolved to is then opened folder by folder from the root on, following no link at all: that keeps out `..`, absolute paths
//! and links that lead away, whoever wrote them, and also who exchanges a folder for a link while a call runs.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, readlinkat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The largest file that is read whole: sixteen megabytes.
pub(super) const LARGEST: u64 = 16 << 20;

/// The folder that tools stay in.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    /// Folders below it that no tool reads or writes.
    kept: Vec<PathBuf>,
    beside: Option<Beside>,
    /// Whether the project's items may be written.
    items: bool,
}

/// What may be read beside the project: the files of skills that models are told to read.
#[derive(Clone)]
struct Beside {
    home: PathBuf,
    /// Files, and folders with all that is in them. Looked for when something there is asked for.
    places: Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>,
}

impl fmt::Debug for Beside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Beside").field("home", &self.home).finish_non_exhaustive()
    }
}

/// A path below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) exists: bool,
}

/// Why a path is not used. The sentences are for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum PathError {
    #[error("`{0}` is outside the project; only files below the project's folder can be used")]
    Outside(String),
    #[error("`{0}` belongs to {1}; tools cannot use it")]
    Reserved(String, &'static str),
    #[error("`{0}` leads to the project's items now, which it did not when this call was judged; call it again")]
    Item(String),
    #[error("there is no file or folder `{0}`")]
    Missing(String),
    #[error("`{0}` is a folder")]
    Folder(String),
    #[error("`{0}` is not a folder")]
    NoFolder(String),
    #[error("`{0}` is neither a file nor a folder")]
    Special(String),
    #[error("`{asked}` is too large to be read whole ({bytes} bytes); search in it, or read a part with a command")]
    TooLarge { asked: String, bytes: u64 },
    #[error("`{asked}` could not be {doing}: {source}")]
    Io { asked: String, doing: &'static str, source: io::Error },
}

impl Root {
    /// The folder at `path`.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            kept: Vec::new(),
            beside: None,
            items: true,
        }
    }

    /// Keeps tools out of `folders`, where these lie below the root: levain's own, which hold keys.
    #[must_use]
    pub fn without(mut self, folders: &[&Path]) -> Self {
        let real = folders.iter().map(|folder| std::fs::canonicalize(folder).unwrap_or_else(|_| (*folder).to_owned()));
        self.kept = real.filter(|folder| folder.starts_with(&self.path) && *folder != self.path).collect();
        self
    }

    /// Lets files and folders beside it be read, which `places` finds; `~/` is `home` there.
    #[must_use]
    pub fn reading(mut self, home: &Path, places: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) -> Self {
        self.beside = Some(Beside { home: home.to_owned(), places: Arc::new(places) });
        self
    }

    /// The folder beside the project from which `asked` may be read, and what to read there.
    fn beside(&self, asked: &str) -> Option<(Self, String)> {
        let Beside { home, places } = self.beside.as_ref()?;
        let path = asked.strip_prefix("~/").map_or_else(|| PathBuf::from(asked), |below| home.join(below));
        let real = path.is_absolute().then(|| std::fs::canonicalize(&path).ok())??;
        if real.starts_with(&self.path) {
            return None;
        }
        places().into_iter().find_map(|place| {
            let place = std::fs::canonicalize(place).ok()?;
            let folder = if place.is_dir() { place.as_path() } else { place.parent().filter(|_| real == place)? };
            let below = real.strip_prefix(folder).ok()?.to_str()?.to_owned();
            Some((Self::new(folder), below))
        })
    }

    /// Whether `path`, which is whole and without links, lies where no tool reads or writes.
    pub(super) fn is_kept(&self, path: &Path) -> bool {
        self.kept.iter().any(|folder| path.starts_with(folder))
    }

    /// Whether `asked` leads to the project's items or settings.
    pub(super) fn is_item(&self, asked: &str) -> bool {
        self.resolve(asked).is_ok_and(|place| self.holds_items(&place.path))
    }

    fn holds_items(&self, path: &Path) -> bool {
        path.strip_prefix(&self.path).is_ok_and(|below| below.starts_with(".ai"))
    }

    /// Lets nothing be written where [items](Self::is_item) lie.
    pub(super) fn without_items(&self) -> Self {
        Self { items: false, ..self.clone() }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path as people and models are told it: relative to the root.
    pub(super) fn told(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.path).unwrap_or(path);
        if below.as_os_str().is_empty() { ".".to_owned() } else { below.display().to_string() }
    }

    /// Where `asked` leads, which need not exist yet.
    pub(super) fn resolve(&self, asked: &str) -> Result<Place, PathError> {
        let outside = || PathError::Outside(asked.to_owned());
        let failed = |source| PathError::Io { asked: asked.to_owned(), doing: "looked up", source };
        if asked.contains('\0') {
            return Err(outside());
        }
        let mut at = self.path.join(asked);
        let mut missing = Vec::new();
        let real = loop {
            match std::fs::canonicalize(&at) {
                Ok(real) => break real,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // A link that leads nowhere would be followed by whoever makes the file.
                    if at.symlink_metadata().is_ok() {
                        return Err(PathError::Missing(asked.to_owned()));
                    }
                    let Some(Component::Normal(name)) = at.components().next_back() else { return Err(outside()) };
                    missing.push(name.to_owned());
                    if !at.pop() {
                        return Err(outside());
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        };
        if !real.starts_with(&self.path) {
            return Err(outside());
        }
        if self.is_kept(&real) {
            return Err(PathError::Reserved(asked.to_owned(), "levain"));
        }
        let exists = missing.is_empty();
        let path = missing.into_iter().rev().fold(real, |path, name| path.join(name));
        Ok(Place { path, exists })
    }

    /// Where `asked` leads, which must exist.
    pub(super) fn existing(&self, asked: &str) -> Result<PathBuf, PathError> {
        let place = self.resolve(asked)?;
        if place.exists { Ok(place.path) } else { Err(PathError::Missing(asked.to_owned())) }
    }

    /// The folder that `asked` leads to.
    pub(super) fn folder(&self, asked: &str) -> Result<PathBuf, PathError> {
        let path = self.existing(asked)?;
        if path.is_dir() { Ok(path) } else { Err(PathError::NoFolder(asked.to_owned())) }
    }

    /// Where a file may be written: below the root, and not where git or levain keep their own.
    pub(super) fn writable(&self, asked: &str) -> Result<Place, PathError> {
        let place = self.resolve(asked)?;
        let below = place.path.strip_prefix(&self.path).unwrap_or(&place.path);
        if below.components().any(|part| part.as_os_str() == ".git") {
            return Err(PathError::Reserved(asked.to_owned(), "git"));
        }
        if below.starts_with(".ai/agent") || below.starts_with(".ai/objects") {
            return Err(PathError::Reserved(asked.to_owned(), "levain's own records"));
        }
        if !self.items && self.holds_items(&place.path) {
            return Err(PathError::Item(asked.to_owned()));
        }
        if place.path.is_dir() {
            return Err(PathError::Folder(asked.to_owned()));
        }
        Ok(place)
    }

    /// The bytes of the file that `asked` leads to, and where that is.
    pub(super) fn read(&self, asked: &str) -> Result<(PathBuf, Vec<u8>), PathError> {
        if let Some((folder, below)) = self.beside(asked) {
            return folder.read(&below);
        }
        let path = self.existing(asked)?;
        let failed = |source| PathError::Io { asked: asked.to_owned(), doing: "read", source };
        let mut file = self.open(&path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Err(PathError::Folder(asked.to_owned()));
        }
        if !meta.is_file() {
            return Err(PathError::Special(asked.to_owned()));
        }
        if meta.len() > LARGEST {
            return Err(PathError::TooLarge { asked: asked.to_owned(), bytes: meta.len() });
        }
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
        Ok((path, bytes))
    }
}

/// How folders on the way are opened: only if they are folders and no links.
const WAY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What lies in a folder: a name, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Folder(String),
    /// And where it leads.
    Link(String, String),
    File(String),
}

impl Root {
    /// The folder at `path`, which was resolved before, opened from the root on. With `make`, folders that are missing are made.
    fn enter(&self, path: &Path, make: bool) -> io::Result<OwnedFd> {
        let below =
            path.strip_prefix(&self.path).map_err(|_outside| io::Error::from(io::ErrorKind::PermissionDenied))?;
        let mut folder = rustix::fs::open(&self.path, WAY | OFlags::RDONLY, Mode::empty())?;
        for part in below.components() {
            let Component::Normal(name) = part else { return Err(io::ErrorKind::PermissionDenied.into()) };
            if make && let Err(error) = mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                // Whatever is there has to be a folder, or it is not entered.
                if error != Errno::EXIST {
                    return Err(error.into());
                }
            }
            folder = openat(&folder, name, WAY | OFlags::RDONLY, Mode::empty())?;
        }
        Ok(folder)
    }

    /// The folder that holds the file at `path`, and the file's name.
    fn place_of<'a>(&self, path: &'a Path, make: bool) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.enter(path.parent().unwrap_or(Path::new("")), make)?, name))
    }

    /// Opens the file at `path`, which was resolved before, for reading; a pipe without a writer does not hold it up.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        if path == self.path {
            return Ok(self.enter(path, false)?.into());
        }
        let (folder, name) = self.place_of(path, false)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&folder, name, flags, Mode::empty())?.into())
    }

    /// Writes the file at `path`, which was resolved before, by a temporary one beside it, so that nobody sees half of it. Its
    /// mode stays as it was; folders that are missing are made.
    pub(super) fn put(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let (folder, name) = self.place_of(path, true)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let new = format!(".new-{:016x}", u64::from_le_bytes(random));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // As any new file would be made: what the person's mask takes away is taken away.
        let mut file = File::from(openat(&folder, &new, flags, Mode::from_raw_mode(0o666))?);
        let mut write = || -> io::Result<()> {
            file.write_all(content)?;
            if let Ok(before) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                && FileType::from_raw_mode(before.st_mode) == FileType::RegularFile
            {
                rustix::fs::fchmod(&file, Mode::from_raw_mode(before.st_mode & 0o7777))?;
            }
            Ok(renameat(&folder, &new, &folder, name)?)
        };
        write().inspect_err(|_| {
            let _gone = unlinkat(&folder, &new, AtFlags::empty());
        })
    }

    /// Removes the file at `path`, which was resolved before.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.place_of(path, false)?;
        Ok(unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// What lies in the folder at `path`, which was resolved before, in no order.
    pub(super) fn entries(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let folder = self.enter(path, false)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let told = name.to_string_lossy().into_owned();
            let kind =
                statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|meta| FileType::from_raw_mode(meta.st_mode));
            entries.push(match kind {
                Ok(FileType::Directory) => Entry::Folder(told),
                Ok(FileType::Symlink) => {
                    let target = readlinkat(&folder, name, Vec::new()).unwrap_or_default();
                    Entry::Link(told, target.to_string_lossy().into_owned())
                }
                Ok(_) | Err(_) => Entry::File(told),
            });
        }
        Ok(entries)
    }
}

/// Whether bytes are no text: a zero byte near their beginning.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8 << 10).any(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir_all(project.join(".git/hooks")).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        fs::write(project.join("src/a.rs"), "fn a() {}").unwrap();
        symlink(folder.path(), project.join("up")).unwrap();
        symlink("../secret", project.join("away")).unwrap();
        symlink("../nothing-yet", project.join("dangling")).unwrap();
        symlink("src", project.join("inside")).unwrap();
        let root = Root::new(&project);
        (folder, root)
    }

    #[test]
    fn nothing_outside_can_be_named() {
        let (folder, root) = tree();
        let absolute = folder.path().join("secret").display().to_string();
        for asked in
            ["..", "../secret", "src/../../secret", "/etc/passwd", &absolute, "up/secret", "away", "up/new", "a\0"]
        {
            let error = root.resolve(asked).unwrap_err();
            assert!(matches!(error, PathError::Outside(_)), "{asked}: {error}");
        }
        for asked in ["dangling", "src/../nothing/../../secret"] {
            assert!(root.resolve(asked).is_err(), "{asked}");
        }
        assert!(!folder.path().join("nothing-yet").exists());
    }

    #[test]
    fn what_is_inside_is_found_by_any_way() {
        let (_folder, root) = tree();
        let file = root.path().join("src/a.rs");
        for asked in ["src/a.rs", "./src/../src/a.rs", "inside/a.rs", &file.display().to_string()] {
            assert_eq!(root.existing(asked).unwrap(), file, "{asked}");
        }
        let new = root.resolve("new/deep/file.txt").unwrap();
        assert_eq!((root.told(&new.path).as_str(), new.exists), ("new/deep/file.txt", false));
        assert!(matches!(root.existing("gone"), Err(PathError::Missing(_))));
        assert!(matches!(root.read("src"), Err(PathError::Folder(_))));
    }

    /// Somebody exchanges a folder for a link all the time while files in it are read and written. With
    /// `LEVAIN_LONG_TESTS` a hundred thousand times.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_becomes_a_link_during_a_call_leads_nowhere() {
        let (folder, root) = tree();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("a.rs"), "outside").unwrap();
        let times = if std::env::var_os("LEVAIN_LONG_TESTS").is_some() { 100_000 } else { 3_000 };
        let (project, stop) = (root.path().to_owned(), std::sync::atomic::AtomicBool::new(false));
        symlink(&outside, project.join("trap")).unwrap();
        let (written, swaps) = std::thread::scope(|scope| {
            let swapping = scope.spawn(|| {
                let (src, trap) = (project.join("src"), project.join("trap"));
                let mut swaps = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let here = rustix::fs::CWD;
                    rustix::fs::renameat_with(here, &src, here, &trap, rustix::fs::RenameFlags::EXCHANGE).unwrap();
                    swaps += 1;
                }
                swaps
            });
            let mut written = 0;
            for _ in 0..times {
                if let Ok(place) = root.writable("src/a.rs")
                    && place.exists
                {
                    written += u32::from(root.put(&place.path, b"inside").is_ok());
                }
                if let Ok((_, bytes)) = root.read("src/a.rs") {
                    assert_ne!(bytes, b"outside", "a file outside was read");
                }
                if let Ok(path) = root.folder("src") {
                    let listed = root.entries(&path).unwrap_or_default();
                    assert!(!listed.contains(&Entry::File("secret".into())));
                }
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            (written, swapping.join().unwrap())
        });
        assert_eq!(fs::read_to_string(outside.join("a.rs")).unwrap(), "outside", "a file outside was written");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert!(written > 0 && swaps > 0, "{written} written, {swaps} swaps");
    }

    #[test]
    fn git_and_the_records_are_not_written() {
        let (_folder, root) = tree();
        for asked in [".git/hooks/pre-commit", "src/../.git/config", ".ai/agent/threads/x", ".ai/objects/ab"] {
            assert!(matches!(root.writable(asked), Err(PathError::Reserved(..))), "{asked}");
        }
        assert!(root.writable(".ai/knowledge/a.md").is_ok() && root.writable(".gitignore").is_ok());
        assert!(matches!(root.writable("src"), Err(PathError::Folder(_))));
    }
}
