//! Where file tools may go: below the project's root, links followed.
//!
//! A path is resolved as the system would resolve it, every link included, and must end below the root; files are then
//! opened without following a link in the last place. That keeps out `..`, absolute paths and links that lead away,
//! whoever wrote them. It does not keep out somebody who exchanges folders for links while a call runs: whoever can do
//! that may write in the project anyway.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// The largest file that is read whole: sixteen megabytes.
pub(super) const LARGEST: u64 = 16 << 20;

/// The folder that tools stay in.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    /// Folders below it that no tool reads or writes.
    kept: Vec<PathBuf>,
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
    ModelRegistry(String),
    #[error("`{0}` belongs to {1}; tools cannot use it")]
    Reserved(String, &'static str),
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
        Self { path: std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()), kept: Vec::new() }
    }

    /// Keeps tools out of `folders`, where these lie below the root: levain's own, which hold keys.
    #[must_use]
    pub fn without(mut self, folders: &[&Path]) -> Self {
        let real = folders.iter().map(|folder| std::fs::canonicalize(folder).unwrap_or_else(|_| (*folder).to_owned()));
        self.kept = real.filter(|folder| folder.starts_with(&self.path) && *folder != self.path).collect();
        self
    }

    /// Whether `path`, which is whole and without links, lies where no tool reads or writes.
    pub(super) fn is_kept(&self, path: &Path) -> bool {
        self.kept.iter().any(|folder| path.starts_with(folder))
    }

    /// Whether `asked` leads to the project's items or settings.
    pub(super) fn is_item(&self, asked: &str) -> bool {
        let Ok(place) = self.resolve(asked) else { return false };
        place.path.strip_prefix(&self.path).is_ok_and(|below| below.starts_with(".ai"))
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
        let outside = || PathError::ModelRegistry(asked.to_owned());
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
        if place.path.is_dir() {
            return Err(PathError::Folder(asked.to_owned()));
        }
        Ok(place)
    }

    /// The bytes of the file that `asked` leads to, and where that is.
    pub(super) fn read(&self, asked: &str) -> Result<(PathBuf, Vec<u8>), PathError> {
        let path = self.existing(asked)?;
        let failed = |source| PathError::Io { asked: asked.to_owned(), doing: "read", source };
        let mut file = open(&path).map_err(failed)?;
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

/// Opens a file for reading; neither a link in the last place nor a pipe without a writer holds it up.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
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
            assert!(matches!(error, PathError::ModelRegistry(_)), "{asked}: {error}");
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
