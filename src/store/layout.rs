//! Where everything lies under a project's `.ai/`.

use super::files;
use crate::domain::{ThreadId, Timestamp};
use crate::ports::StoreError;
use std::path::{Path, PathBuf};

/// The run-time folders of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    project: PathBuf,
}

impl Layout {
    #[must_use]
    pub fn new(project: &Path) -> Self {
        Self { project: project.to_owned() }
    }

    /// The project's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.project
    }

    #[must_use]
    pub fn project(&self) -> &Path {
        &self.project
    }

    #[must_use]
    pub fn threads(&self) -> PathBuf {
        self.project.join(".ai/agent/threads")
    }

    #[must_use]
    pub fn registry(&self) -> PathBuf {
        self.threads().join("registry.db")
    }

    #[must_use]
    pub fn objects(&self) -> PathBuf {
        self.project.join(".ai/objects")
    }

    /// Prompts typed in this project, newest last.
    #[must_use]
    pub fn prompt_history(&self) -> PathBuf {
        self.project.join(".ai/agent/history.jsonl")
    }

    /// What the project's threads remember together.
    #[must_use]
    pub fn memory(&self) -> PathBuf {
        self.project.join(".ai/agent/memory.json")
    }

    /// The parts that the project's threads can play.
    #[must_use]
    pub fn personas(&self) -> PathBuf {
        self.project.join(".ai/agent/personas.json")
    }

    #[must_use]
    pub fn thread(&self, id: &ThreadId) -> Folder {
        Folder { path: self.threads().join(id.as_str()) }
    }

    /// Makes the run-time folders, each with a `.gitignore` of its own.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming the folder.
    pub fn prepare(&self) -> Result<(), StoreError> {
        for folder in [self.project.join(".ai/agent"), self.objects()] {
            files::make_folder(&folder)?;
            let ignore = folder.join(".gitignore");
            if !ignore.exists() {
                files::replace(&ignore, b"*\n")?;
            }
        }
        files::make_folder(&self.threads())
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
            let path = self.thread(&id).path;
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(id),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => id = plain.numbered(number),
                Err(source) => return Err(StoreError::Io { doing: "make the folder", path, source }),
            }
        }
        let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        Err(StoreError::Io { doing: "find a free name beside", path: self.thread(plain).path, source })
    }
}

/// The folder of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.path.join("transcript.jsonl")
    }

    #[must_use]
    pub fn inflight(&self) -> PathBuf {
        self.path.join("inflight.jsonl")
    }

    #[must_use]
    pub fn summary(&self) -> PathBuf {
        self.path.join("thread.json")
    }

    #[must_use]
    pub fn request(&self, number: u32) -> PathBuf {
        self.path.join("requests").join(format!("{number}.json"))
    }

    /// Held by the process that runs the thread, for as long as it lives.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.path.join("worker.lock")
    }

    /// What the worker process itself has to say.
    #[must_use]
    pub fn worker_log(&self) -> PathBuf {
        self.path.join("worker.log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_of_one_millisecond_get_two_folders() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        let ids: Vec<_> = (0..3).map(|_| layout.claim("levain/chat", Timestamp(5)).unwrap().to_string()).collect();
        assert_eq!(ids, ["chat-5", "chat-5-2", "chat-5-3"]);
        assert_eq!(std::fs::read_to_string(project.path().join(".ai/agent/.gitignore")).unwrap(), "*\n");
    }
}
