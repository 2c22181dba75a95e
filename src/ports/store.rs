//! Keeping a thread: its log, its request records, its row in the registry.
//!
//! One owner (the driver) writes, in order. Calls are short file operations; [`ThreadStore::sync`] is the slow one and
//! is called off the loop.

use crate::domain::event::Delta;
use crate::domain::{Assembly, ContentHash, Cost, Image, Limits, ModelRef, Record, RequestRecord, Status, Waiting};
use std::path::PathBuf;

/// A failure to keep something. The thread goes on in memory; the person is told.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("could not {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("could not {doing} in {}: {source}", path.display())]
    Database { doing: &'static str, path: PathBuf, source: rusqlite::Error },
    #[error("{} was written by a newer levain (schema {found}, this one knows {known}); update levain to open it", path.display())]
    NewerSchema { path: PathBuf, found: u32, known: u32 },
    #[error("{} does not read as {what}: {detail}", path.display())]
    Malformed { what: &'static str, path: PathBuf, detail: String },
    #[error("thread {id} is not here; `levain threads` lists those that are")]
    NoSuchThread { id: String },
}

/// What `thread.json` and the registry row say of a thread now.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub status: Status,
    /// What for, while it waits.
    pub waiting: Option<Waiting>,
    pub model: ModelRef,
    pub cost: Cost,
    pub limits: Limits,
    pub title: Option<String>,
    /// What it may do, as a tree with the tools of its newest request; `None` as long as this process made none.
    pub capabilities: Option<Vec<String>>,
}

/// Reads an image; `None` when it is not there.
pub type Fetch = Box<dyn FnOnce() -> Result<Option<Vec<u8>>, StoreError> + Send>;

/// Takes an image into the store.
pub type Attach = Box<dyn FnOnce() -> Result<Image, String> + Send>;

/// The files of one thread.
pub trait ThreadStore: Send {
    /// Appends `record` to the log and returns the byte offset of its line and of the line after it.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the line could not be written whole.
    fn append(&mut self, record: &Record) -> Result<(u64, u64), StoreError>;

    /// A function that waits until everything appended so far is on disk. It is run off the loop.
    fn sync(&self) -> Box<dyn FnOnce() -> Result<(), StoreError> + Send>;

    /// Keeps pieces of the answer in flight, so that a killed worker loses little.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    fn keep_inflight(&mut self, request: u32, deltas: &[Delta]) -> Result<(), StoreError>;

    /// Forgets the pieces kept, because the finished answer is in the log.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    fn clear_inflight(&mut self) -> Result<(), StoreError>;

    /// Writes the record of a request and the texts it refers to.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    fn record_request(&mut self, record: &RequestRecord, assembly: &Assembly) -> Result<(), StoreError>;

    /// A function that reads the image under `hash`. It is run off the loop.
    fn fetch(&self, hash: &ContentHash) -> Fetch;

    /// A function that takes the image in a file into the store; `name` is its path, from the project's root where it
    /// does not begin at the root or home. It is run off the loop, and fails with a sentence for the person.
    fn attach(&self, name: &str) -> Attach;

    /// Brings `thread.json` and the registry row up to date.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Database`].
    fn save(&mut self, snapshot: &Snapshot) -> Result<(), StoreError>;

    /// Says in the registry that no process runs the thread any more.
    fn close(&mut self);
}
