//! What is kept on disk: the log of each thread, its request records, the content store, the registry of threads and
//! the ledger of their budgets.
//!
//! A thread lies under the project's `.ai/`: `agent/threads/ID/` for its files, `objects/` for texts by hash. The log is
//! the truth; the rest can be made again from it. In the person's state folder lie the list of threads, the key that tells
//! their own logs from others, and which processes of tools run: see [`layout`] and [`authentic`].

pub mod attachment;
pub mod authentic;
pub mod commands;
pub mod console;
pub mod content;
mod database;
pub mod export;
pub mod fork;
pub mod image;
pub mod kept;
pub mod kept_ledger;
pub mod layout;
pub mod ledger;
pub mod log;
pub mod outcome;
pub mod postmortem;
pub mod processes;
pub mod recover;
pub mod registry;
pub mod request;
pub mod summaries;
pub mod summary;
pub mod thread;
pub mod threads;
pub mod timeline;
pub mod upkeep;

pub use kept_ledger::KeptLedger;
pub use layout::Layout;
pub use ledger::SqliteLedger;
pub use summaries::Summaries;
pub use thread::FileStore;
