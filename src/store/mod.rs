//! What is kept on disk: the log of each thread, its request records, the content store, the registry of threads.
//!
//! Everything lies under the project's `.ai/`: `agent/threads/ID/` for a thread, `agent/threads/registry.db` for the
//! list of them, `objects/` for texts by hash. The log is the truth; the rest can be made again from it.

pub mod content;
pub mod files;
pub mod image;
pub mod layout;
pub mod log;
pub mod recover;
pub mod registry;
pub mod request;
pub mod thread;

pub use layout::Layout;
pub use thread::FileStore;
