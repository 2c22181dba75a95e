//! Where everything lies: below a project's `.ai/`, and in the person's own state folder.
//!
//! What lies below the project may come from anybody: it is only opened through [`Beneath`], and believed only as far as
//! [`super::authentic`] says. What this program has to be sure of (which processes it started, the list of threads, the
//! key of its logs) lies in the state folder.

use super::authentic::LogKey;
use super::log::ThreadLog;
use crate::domain::{ContentHash, ThreadId, Timestamp};
use crate::ports::{Beneath, StoreError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The run-time folders of one project.
#[derive(Clone, Debug)]
pub struct Layout {
    project: PathBuf,
    state: PathBuf,
    key: Arc<OnceLock<LogKey>>,
}

impl Layout {
    /// Of the project's folder and the person's state folder (`$XDG_STATE_HOME/levain`).
    #[must_use]
    pub fn new(project: &Path, state: &Path) -> Self {
        Self { project: project.to_owned(), state: state.to_owned(), key: Arc::default() }
    }

    /// The project's folder.
    #[must_use]
    pub fn project(&self) -> &Path {
        &self.project
    }

    #[must_use]
    pub fn threads(&self) -> Beneath {
        Beneath::new(&self.project, ".ai/agent/threads")
    }

    #[must_use]
    pub fn objects(&self) -> Beneath {
        Beneath::new(&self.project, ".ai/objects")
    }

    /// Prompts typed in this project, newest last.
    #[must_use]
    pub fn prompt_history(&self) -> Beneath {
        Beneath::new(&self.project, ".ai/agent/history.jsonl")
    }

    /// What the threads of the project at `project` remember together.
    #[must_use]
    pub fn memory_of(project: &Path) -> Beneath {
        Beneath::new(project, ".ai/agent/memory.json")
    }

    /// The parts that the project's threads can play.
    #[must_use]
    pub fn personas(&self) -> Beneath {
        Beneath::new(&self.project, ".ai/agent/personas.json")
    }

    #[must_use]
    pub fn thread(&self, id: &ThreadId) -> Folder {
        Folder { path: self.threads().join(id.as_str()) }
    }

    /// The log of a thread, which is read as far as it is this program's own; that of a thread from elsewhere as a whole.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn log(&self, id: &ThreadId) -> Result<ThreadLog, StoreError> {
        ThreadLog::find(self.thread(id).log(), id, self.key())
    }

    /// The folder of this project in the person's state folder.
    #[must_use]
    pub fn own(&self) -> PathBuf {
        let name = ContentHash::of(self.project.as_os_str().as_encoded_bytes());
        self.state.join("projects").join(name.as_str().get(..16).unwrap_or_default())
    }

    /// The list of this project's threads.
    #[must_use]
    pub fn registry(&self) -> PathBuf {
        self.own().join("registry.db")
    }

    /// Where processes of tools are noted for as long as they run.
    #[must_use]
    pub fn processes(&self) -> PathBuf {
        self.own().join("processes")
    }

    /// The key of this person's logs, if one was made.
    #[must_use]
    pub fn key(&self) -> Option<&LogKey> {
        if let Some(key) = self.key.get() {
            return Some(key);
        }
        let key = LogKey::load(&self.state).inspect_err(|error| tracing::warn!(%error, "the key of logs")).ok()??;
        Some(self.key.get_or_init(|| key))
    }

    /// The key of this person's logs, made where there is none.
    ///
    /// # Errors
    /// [`StoreError::Io`] when it cannot be read or made.
    pub fn own_key(&self) -> Result<&LogKey, StoreError> {
        if let Some(key) = self.key() {
            return Ok(key);
        }
        let failed = |source| StoreError::Io { doing: "make your log key in", path: self.state.clone(), source };
        private_folder(&self.state).map_err(failed)?;
        let key = LogKey::make(&self.state).map_err(failed)?;
        Ok(self.key.get_or_init(|| key))
    }

    /// Makes the folder of this project in the state folder.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming the folder.
    pub fn prepare_own(&self) -> Result<(), StoreError> {
        let path = self.own();
        private_folder(&path).map_err(|source| StoreError::Io { doing: "make the folder", path, source })
    }

    /// Makes the run-time folders, each with a `.gitignore` of its own.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming the folder.
    pub fn prepare(&self) -> Result<(), StoreError> {
        for folder in [Beneath::new(&self.project, ".ai/agent"), self.objects()] {
            folder.make_folder().map_err(failed("make the folder", &folder))?;
            folder.close_to_others();
            let ignore = folder.join(".gitignore");
            if ignore.lies().map_err(failed("look at", &ignore))?.is_none() {
                ignore.replace(b"*\n").map_err(failed("write", &ignore))?;
            }
        }
        let threads = self.threads();
        threads.make_folder().map(drop).map_err(failed("make the folder", &threads))
    }

    /// Claims an id by making its folder.
    ///
    /// # Errors
    /// [`StoreError::Io`] when no folder could be made.
    pub fn claim(&self, directive: &str, now: Timestamp) -> Result<ThreadId, StoreError> {
        self.claim_as(&ThreadId::new(directive, now.0))
    }

    /// As [`Layout::claim`], with this id if it is free.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn claim_as(&self, plain: &ThreadId) -> Result<ThreadId, StoreError> {
        self.prepare()?;
        let mut id = plain.clone();
        for number in 2..10_000 {
            let folder = self.thread(&id).path;
            if folder.make_folder().map_err(failed("make the folder", &folder))? {
                return Ok(id);
            }
            id = plain.numbered(number);
        }
        let source = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(StoreError::Io { doing: "find a free name beside", path: self.thread(plain).path.path(), source })
    }
}

/// Makes a folder that only its owner enters, and those above it.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Names the file of an error.
pub(super) fn failed(doing: &'static str, file: &Beneath) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { doing, path: file.path(), source }
}

/// The folder of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: Beneath,
}

impl Folder {
    #[must_use]
    pub fn path(&self) -> &Beneath {
        &self.path
    }

    /// The log's file; [`Layout::log`] reads it.
    #[must_use]
    pub fn log(&self) -> Beneath {
        self.path.join("transcript.jsonl")
    }

    #[must_use]
    pub fn inflight(&self) -> Beneath {
        self.path.join("inflight.jsonl")
    }

    #[must_use]
    pub fn summary(&self) -> Beneath {
        self.path.join("thread.json")
    }

    #[must_use]
    pub fn requests(&self) -> Beneath {
        self.path.join("requests")
    }

    #[must_use]
    pub fn request(&self, number: u32) -> Beneath {
        self.requests().join(format!("{number}.json"))
    }

    /// What commands printed, where it was too long for an answer.
    #[must_use]
    pub fn output(&self) -> Beneath {
        self.path.join("output")
    }

    /// Held by the process that runs the thread, for as long as it lives.
    #[must_use]
    pub fn lock(&self) -> Beneath {
        self.path.join("worker.lock")
    }

    /// Removes the thread, in which nothing has been said and answered: with anything else than these files it stays.
    ///
    /// # Errors
    /// When it stays.
    pub(super) fn remove_unused(&self) -> std::io::Result<()> {
        for file in [self.log(), self.inflight(), self.summary(), self.lock(), self.worker_log(), self.console()] {
            file.remove()?;
        }
        for folder in [self.requests(), self.output(), self.session()] {
            folder.remove_tree()?;
        }
        self.path.remove_folder()
    }

    /// What extensions print.
    #[must_use]
    pub fn console(&self) -> Beneath {
        self.path.join("extensions.jsonl")
    }

    /// What extensions keep beside the thread; nothing here reads it.
    #[must_use]
    pub fn session(&self) -> Beneath {
        self.path.join("session")
    }

    /// What extensions are told is the file of the session. There is none: they read it by what they ask of it, and keep files of their
    /// own beside it, in a folder of its name or in others.
    #[must_use]
    pub fn session_file(&self) -> PathBuf {
        let folder = self.path.path();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.session().join(format!("{name}.jsonl")).path()
    }

    /// What the worker process itself has to say.
    #[must_use]
    pub fn worker_log(&self) -> Beneath {
        self.path.join("worker.log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_of_one_millisecond_get_two_folders() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &folder.path().join("state"));
        let ids: Vec<_> = (0..3).map(|_| layout.claim("levain/chat", Timestamp(5)).unwrap().to_string()).collect();
        assert_eq!(ids, ["chat-5", "chat-5-2", "chat-5-3"]);
        assert_eq!(std::fs::read_to_string(folder.path().join(".ai/agent/.gitignore")).unwrap(), "*\n");
    }
}
