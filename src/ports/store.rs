//! Keeping a thread: its log, its request records, its row in the registry.
//!
//! One owner (the driver) writes, in order. Calls are short file operations; [`ThreadStore::sync`] is the slow one and
//! is called off the loop.

use crate::domain::event::{Delta, Process};
use crate::domain::{
    Assembly, Attachment, ContentHash, Cost, Image, Limits, ModelRef, Record, RequestRecord, Status, Successor,
    ThreadId, Timestamp, Tokens, Waiting,
};
use std::path::PathBuf;
use std::sync::Arc;

/// A failure to keep or to read something. Nothing follows from what could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("could not {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("could not {doing} in {}: {source}", path.display())]
    Database { doing: &'static str, path: PathBuf, source: rusqlite::Error },
    #[error("{} was written by a newer levain (schema {found}, this one knows {known}); update levain to open it", path.display())]
    NewerSchema { path: PathBuf, found: u32, known: u32 },
    #[error("could not read {} as {what}: {detail}", path.display())]
    Malformed { what: &'static str, path: PathBuf, detail: String },
    #[error("{what} is not in the log of {id}; `levain transcript {id}` shows its messages")]
    NotSaid { what: String, id: String },
    #[error("there is no thread {id}; `levain threads` lists all threads")]
    NoSuchThread { id: String },
    #[error(
        "thread {id} is from elsewhere: this program did not write its files for you, or they were changed since, so you can \
         read it but not continue it; `levain threads fork {id}` makes a thread of your own that begins with its messages"
    )]
    Elsewhere { id: String },
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
    /// Estimate of the next request without a prompt.
    pub context: Tokens,
    pub title: Option<String>,
    /// Whether it is listed apart.
    pub archived: bool,
    /// The item of the call that waits to be allowed, or the limit that was reached.
    pub waits_for: Option<String>,
    /// What it may do, as a tree with the tools of its newest request; `None` as long as this process made none.
    pub capabilities: Option<Vec<String>>,
}

/// Reads an image; `None` when it is not there.
pub type Fetch = Box<dyn FnOnce() -> Result<Option<Vec<u8>>, StoreError> + Send>;

/// Waits until something is on disk.
pub type SyncJob = Box<dyn FnOnce() -> Result<(), StoreError> + Send>;

/// Takes an image into the store.
pub type Attach = Box<dyn FnOnce() -> Result<Image, String> + Send>;

/// Keeps an image of this name, if the bytes are one; else says why not.
pub type KeepImage = Arc<dyn Fn(String, Vec<u8>) -> Result<Image, String> + Send + Sync>;

/// Reads what goes along with a prompt by its name; nothing where the name is of nothing and may be a word.
pub type Include = Box<dyn FnOnce() -> Result<Option<Attachment>, String> + Send>;

/// Makes the thread that goes on with another at this time, on disk.
pub type HandOff = Box<dyn FnOnce(Timestamp) -> Result<ThreadId, StoreError> + Send>;

/// The files of one thread.
pub trait ThreadStore: Send {
    /// Appends `record` to the log and returns the byte offset of its line and of the line after it.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the line could not be written whole.
    fn append(&mut self, record: &Record) -> Result<(u64, u64), StoreError>;

    /// Takes back the line at `offset`, which was appended last, because it did not come on disk.
    fn take_back(&mut self, offset: u64);

    /// A function that waits until everything appended and recorded so far is on disk. It is run off the loop.
    fn sync(&self) -> SyncJob;

    /// A function that notes that a tool runs as `process`, so that it can be ended should this process die. It is run off
    /// the loop, before the tool begins.
    fn note_process(&self, process: &Process) -> SyncJob;

    /// The tool's process has ended.
    fn forget_process(&self, process: &Process);

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

    /// Keeps the whole of a result that is cut for the model. It is on disk after [`ThreadStore::sync`].
    ///
    /// # Errors
    /// [`StoreError::Io`].
    fn keep_result(&mut self, text: &str) -> Result<ContentHash, StoreError>;

    /// A function that reads the image under `hash`. It is run off the loop.
    fn fetch(&self, hash: &ContentHash) -> Fetch;

    /// A function that takes the image in a file into the store; `name` is its path, from the project's root where it
    /// does not begin at the root or home. It is run off the loop, and fails with a sentence for the person.
    fn attach(&self, name: &str) -> Attach;

    /// A function that keeps images that handlers add to a prompt. It is run off the loop.
    fn keeps_images(&self) -> KeepImage;

    /// A function that reads the file, the names of a folder or the transcript of a thread that `name` means. It is run off
    /// the loop, and fails with a sentence for the person.
    fn include(&self, name: &str) -> Include;

    /// A function that makes the thread that goes on with this one. It is run off the loop.
    fn hand_off(&self, successor: Successor) -> HandOff;

    /// Brings `thread.json` and the registry row up to date, some time soon: both can be made again from the log.
    fn save(&mut self, snapshot: &Snapshot);

    /// Says in the registry that no process runs the thread any more, and waits until that is written.
    fn close(&mut self);

    /// The same for a thread in which nothing was said: one that was made to look at a request which was not sent need not
    /// stay.
    fn discard(&mut self) {
        self.close();
    }
}
