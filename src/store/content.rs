//! The content store: texts under their hash, written once. `objects/ab/cdef…` holds the text whose hash is `abcdef…`.

use super::files;
use crate::domain::ContentHash;
use crate::domain::image::LARGEST_IMAGE;
use crate::ports::StoreError;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Texts by hash.
#[derive(Debug)]
pub struct ContentStore {
    folder: PathBuf,
    /// What this process has seen there: asked for again with every request of a thread.
    known: HashSet<ContentHash>,
}

impl ContentStore {
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), known: HashSet::new() }
    }

    fn path(&self, hash: &ContentHash) -> PathBuf {
        let (front, rest) = hash.as_str().split_at_checked(2).unwrap_or((hash.as_str(), ""));
        self.folder.join(front).join(rest)
    }

    /// Keeps what `hash` names; `content` is only called when it is not there yet.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn keep<C: AsRef<[u8]>>(&mut self, hash: &ContentHash, content: impl FnOnce() -> C) -> Result<(), StoreError> {
        if self.known.contains(hash) {
            return Ok(());
        }
        let path = self.path(hash);
        if !path.exists() {
            if let Some(folder) = path.parent() {
                files::make_folder(folder)?;
            }
            files::replace(&path, content().as_ref())?;
        }
        self.known.insert(hash.clone());
        Ok(())
    }

    /// The bytes of the image under `hash`; `None` when there are none, others than the name says, or more than an
    /// image has that was taken in.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn image(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = files::read_bytes(&self.path(hash), LARGEST_IMAGE)?;
        Ok(bytes.filter(|bytes| ContentHash::of(bytes) == *hash))
    }

    /// The text under `hash`.
    ///
    /// # Errors
    /// [`StoreError::Io`], and [`StoreError::Malformed`] when the text is not there or is not what its name says.
    pub fn text(&self, hash: &ContentHash) -> Result<String, StoreError> {
        let path = self.path(hash);
        let text = files::read(&path)?;
        match text {
            Some(text) if ContentHash::of(text.as_bytes()) == *hash => Ok(text),
            Some(_) => Err(StoreError::Malformed {
                what: "the text its name stands for",
                path,
                detail: "the file was changed after it was written".into(),
            }),
            None => Err(StoreError::Malformed { what: "a stored text", path, detail: "there is no such file".into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_once_and_checked_when_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = ContentStore::new(folder.path());
        let hash = ContentHash::of(b"hello");
        store.keep(&hash, || "hello").unwrap();
        store.keep(&hash, || -> String { panic!("it is known") }).unwrap();
        ContentStore::new(folder.path()).keep(&hash, || -> String { panic!("it is there") }).unwrap();
        assert_eq!(store.text(&hash).unwrap(), "hello");
        assert_eq!(store.image(&hash).unwrap(), Some(b"hello".to_vec()));
        std::fs::write(store.path(&hash), "other").unwrap();
        assert!(store.text(&hash).unwrap_err().to_string().contains("changed after"));
        assert_eq!(store.image(&hash).unwrap(), None);
        assert_eq!(store.image(&ContentHash::of(b"x")).unwrap(), None);
        assert!(store.text(&ContentHash::of(b"x")).unwrap_err().to_string().contains("no such file"));
    }
}
