//! The content store: texts under their hash, written once. `objects/ab/cdef…` holds the text whose hash is `abcdef…`.

use super::layout::{Folder, failed};
use crate::domain::ContentHash;
use crate::domain::image::LARGEST_IMAGE;
use crate::ports::{Beneath, KeptResults, StoreError, faults};
use std::collections::HashSet;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

/// Texts by hash.
#[derive(Debug)]
pub struct ContentStore {
    folder: Beneath,
    /// The same, once something was kept in it.
    opened: Option<Beneath>,
    /// What this process has seen there: asked for again with every request of a thread.
    known: HashSet<ContentHash>,
    unsynced: Unsynced,
}

/// The largest text that is read back, in bytes.
const LARGEST_TEXT: u64 = 64 << 20;

/// So many files are synced side by side.
const AT_ONCE: usize = 4;

/// So many files are open at most before they are synced; a process may often open 256 on macOS, 1,024 on Linux.
const MOST_UNSYNCED: usize = 100;

/// The folder of a text, and its name there.
fn split(hash: &ContentHash) -> (&str, &str) {
    hash.as_str().split_at_checked(2).unwrap_or((hash.as_str(), ""))
}

/// Files that were written and are not known to be on disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsynced(Arc<Mutex<Vec<(File, Beneath)>>>);

impl Unsynced {
    /// Answers with how many there are.
    pub(super) fn push(&self, file: File, path: Beneath) -> usize {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.push((file, path));
        files.len()
    }

    /// Takes note of a thread's files that may have been made just now.
    pub(super) fn push_new(&self, folder: &Folder) -> Result<(), StoreError> {
        for path in [folder.log(), folder.summary()] {
            if let Some(file) = path.open().map_err(failed("open", &path))? {
                self.push(file, path);
            }
        }
        Ok(())
    }

    /// Waits until all of them are on disk, with their names and the folders above; those that could not be brought there
    /// are tried again the next time.
    ///
    /// # Errors
    /// [`StoreError::Io`] of the first.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let files = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let sync = |files: &[(File, Beneath)]| {
            let one = |(file, path): &(File, Beneath)| {
                faults::point().and_then(|()| file.sync_all()).map_err(failed("sync", path))
            };
            files.iter().try_for_each(one)
        };
        // Side by side: the system brings many of them to disk at once.
        let synced = std::thread::scope(|scope| {
            let (first, rest) = files.split_at(files.len().div_ceil(AT_ONCE));
            let others: Vec<_> =
                rest.chunks(first.len().max(1)).map(|files| scope.spawn(move || sync(files))).collect();
            let own = sync(first);
            let ended = others.into_iter().map(|part| {
                let lost = || {
                    Err(failed(
                        "sync",
                        &first
                            .first()
                            .map_or_else(|| Beneath::new("the content store".as_ref(), ""), |(_, path)| path.clone()),
                    )(std::io::Error::other("the sync task failed")))
                };
                part.join().unwrap_or_else(|_panicked| lost())
            });
            // All of them are waited for, whatever the first comes to.
            ended.collect::<Vec<_>>().into_iter().fold(own, Result::and)
        });
        let named = || {
            let mut done = HashSet::new();
            let mut folders: Vec<Beneath> = files.iter().filter_map(|(_, path)| path.folder()).collect();
            while let Some(folder) = folders.pop() {
                if done.insert(folder.clone()) {
                    folder.sync_folder().map_err(failed("sync", &folder))?;
                    folders.push(folder.folder().unwrap_or_else(|| folder.base_folder()));
                }
            }
            Ok(())
        };
        let result = synced.and_then(|()| named());
        if result.is_err() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(files);
        }
        result
    }
}

impl ContentStore {
    #[must_use]
    pub fn new(folder: Beneath) -> Self {
        Self { folder, opened: None, known: HashSet::new(), unsynced: Unsynced::default() }
    }

    /// Files that [`ContentStore::keep`] has written.
    pub(super) fn unsynced(&self) -> &Unsynced {
        &self.unsynced
    }

    fn path(&self, hash: &ContentHash) -> Beneath {
        let (front, rest) = split(hash);
        self.folder.join(front).join(rest)
    }

    /// Keeps what `hash` names; `content` is only called when it is not there yet, or is something else. It is on disk
    /// after [`ContentStore::sync`].
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn keep<C: AsRef<[u8]>>(&mut self, hash: &ContentHash, content: impl FnOnce() -> C) -> Result<(), StoreError> {
        if self.known.contains(hash) {
            return Ok(());
        }
        let objects = if let Some(objects) = &self.opened {
            objects.clone()
        } else {
            let opened = self.folder.make_folder().and_then(|_| self.folder.opened());
            self.opened.insert(opened.map_err(failed("make the folder", &self.folder))?).clone()
        };
        let (front, rest) = split(hash);
        let folder = objects.join(front);
        let path = folder.join(rest);
        let there = path.read(LARGEST_TEXT);
        if !there.is_ok_and(|bytes| bytes.is_some_and(|bytes| ContentHash::of(&bytes) == *hash)) {
            folder.make_private_folder().map_err(failed("make the folder", &folder))?;
            let file = path.put(content().as_ref()).map_err(failed("write", &path))?;
            if self.unsynced.push(file, path) >= MOST_UNSYNCED {
                self.unsynced.sync()?;
            }
        }
        self.known.insert(hash.clone());
        Ok(())
    }

    /// Waits until everything kept is on disk.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn sync(&self) -> Result<(), StoreError> {
        self.unsynced.sync()
    }

    /// The bytes of the image under `hash`; `None` when there are none, others than the name says, or more than an
    /// image has that was taken in.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn image(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(hash);
        match path.read(LARGEST_IMAGE) {
            Ok(bytes) => Ok(bytes.filter(|bytes| ContentHash::of(bytes) == *hash)),
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Ok(None),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    /// The bytes under `hash`; `None` when there are none, or others than the name says.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn bytes(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(hash);
        let bytes = path.read(LARGEST_TEXT).map_err(failed("read", &path))?;
        Ok(bytes.filter(|bytes| ContentHash::of(bytes) == *hash))
    }

    /// The text under `hash`.
    ///
    /// # Errors
    /// [`StoreError::Io`], and [`StoreError::Malformed`] when the text is not there or is not what its name says.
    pub fn text(&self, hash: &ContentHash) -> Result<String, StoreError> {
        let path = self.path(hash);
        let malformed = |what, detail: &str| StoreError::Malformed { what, path: path.path(), detail: detail.into() };
        let bytes = path.read(LARGEST_TEXT).map_err(failed("read", &path))?;
        let bytes = bytes.ok_or_else(|| malformed("a stored text", "there is no such file"))?;
        let changed = || malformed("the text of that hash", "the file was changed after it was written");
        if ContentHash::of(&bytes) != *hash {
            return Err(changed());
        }
        String::from_utf8(bytes).map_err(|_bytes| changed())
    }
}

/// The fewest letters of a hash by which a text is found: nobody guesses so many.
const SHORTEST_PREFIX: usize = 16;

/// Texts of a project, read back by the beginning of their hash.
#[derive(Clone, Debug)]
pub struct KeptTexts(Beneath);

impl KeptTexts {
    #[must_use]
    pub fn new(folder: Beneath) -> Self {
        Self(folder)
    }
}

impl KeptResults for KeptTexts {
    fn keep(&self, bytes: &[u8]) -> Result<ContentHash, String> {
        let (hash, mut store) = (ContentHash::of(bytes), ContentStore::new(self.0.clone()));
        store.keep(&hash, || bytes).and_then(|()| store.sync()).map_err(|error| error.to_string())?;
        Ok(hash)
    }

    fn result(&self, prefix: &str) -> Result<Option<String>, String> {
        let is_prefix =
            (SHORTEST_PREFIX..=64).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some((front, rest)) = prefix.split_at_checked(2).filter(|_| is_prefix) else { return Ok(None) };
        let folder = self.0.join(front);
        let names = match folder.entries() {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let mut found = names.into_iter().filter(|name| name.starts_with(rest));
        let (Some(name), None) = (found.next(), found.next()) else { return Ok(None) };
        let bytes = folder.join(&name).read(LARGEST_TEXT).map_err(|error| error.to_string())?;
        let whole = format!("{front}{name}");
        let bytes = bytes.filter(|bytes| ContentHash::of(bytes).as_str() == whole);
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_once_and_checked_when_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = ContentStore::new(Beneath::new(folder.path(), "objects"));
        let hash = ContentHash::of(b"hello");
        store.keep(&hash, || "hello").unwrap();
        store.keep(&hash, || -> String { panic!("it is known") }).unwrap();
        ContentStore::new(Beneath::new(folder.path(), "objects"))
            .keep(&hash, || -> String { panic!("it is there") })
            .unwrap();
        assert_eq!(store.text(&hash).unwrap(), "hello");
        assert_eq!(store.image(&hash).unwrap(), Some(b"hello".to_vec()));
        store.sync().unwrap();
        std::fs::write(store.path(&hash).path(), "other").unwrap();
        assert!(store.text(&hash).unwrap_err().to_string().contains("changed after"));
        assert_eq!(store.image(&hash).unwrap(), None);
        assert_eq!(store.image(&ContentHash::of(b"x")).unwrap(), None);
        assert!(store.text(&ContentHash::of(b"x")).unwrap_err().to_string().contains("no such file"));
        // Whoever keeps it again finds that it is something else.
        ContentStore::new(Beneath::new(folder.path(), "objects")).keep(&hash, || "hello").unwrap();
        assert_eq!(store.text(&hash).unwrap(), "hello");
    }

    #[test]
    fn few_files_are_open_however_many_texts_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = ContentStore::new(Beneath::new(folder.path(), "objects"));
        let waiting = |store: &ContentStore| store.unsynced.0.lock().unwrap().len();
        for number in 0..3 * MOST_UNSYNCED {
            let text = number.to_string();
            store.keep(&ContentHash::of(text.as_bytes()), || &text).unwrap();
            assert!(waiting(&store) < MOST_UNSYNCED, "{number}");
        }
        store.sync().unwrap();
        assert_eq!(waiting(&store), 0);
    }

    #[test]
    fn a_text_is_read_back_by_the_beginning_of_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Beneath::new(folder.path(), "objects");
        let hash = ContentHash::of(b"hello");
        ContentStore::new(objects.clone()).keep(&hash, || "hello").unwrap();
        let kept = KeptTexts::new(objects);
        let prefix = |letters: usize| hash.as_str().get(..letters).unwrap().to_owned();
        for letters in [16, 20, 64] {
            assert_eq!(kept.result(&prefix(letters)), Ok(Some("hello".to_owned())), "{letters}");
        }
        for unknown in [prefix(15), "../../../../etc/passwd".to_owned(), "0".repeat(64), String::new()] {
            assert_eq!(kept.result(&unknown), Ok(None), "{unknown}");
        }
        std::fs::write(folder.path().join("objects").join(prefix(2)).join(hash.as_str().get(2..).unwrap()), "other")
            .unwrap();
        assert_eq!(kept.result(&prefix(20)), Ok(None));
    }
}
