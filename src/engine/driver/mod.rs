//! The driver: the only part of the engine that waits.
//!
//! It records what happens, lets the machine apply it, carries out the effects and tells the audience. Commands come in
//! through a [`Handle`]; one thread has one driver.

mod account;
mod answering;
mod background;
mod bounds;
mod budget;
mod calls;
mod commands;
mod compaction;
mod context;
mod dialogs;
mod early;
mod extensions;
mod guard;
mod handlers;
mod handoff;
mod hooks;
mod inbox;
mod jobs;
mod observe;
mod pace;
mod pipeline;
mod prepare;
mod prepare_error;
mod preview;
mod ready;
mod record;
mod run;
mod side_calls;
mod stage;
mod steady;
mod tools;
mod updates;
mod user_commands;

pub use account::Budgets;
pub use context::Planner;
pub use inbox::Handle;
pub use observe::LAST_WORDS;
pub use preview::{Previewed, Subject, previewed};
pub use run::{Driver, Ended, ModelRegistry, Settings};

use crate::domain::event::Delta;
use crate::domain::{CallId, Record, State};

/// Who is told what happens to a thread: the worker's server, which passes it on to its clients.
pub trait Audience: Send {
    /// Something happened. `place` is where its line begins in the log and where the next one will; none when it could
    /// not be written.
    fn recorded(&self, place: Option<(u64, u64)>, record: &Record);

    /// More of the answer to `request`.
    fn streamed(&self, request: u32, deltas: Vec<Delta>);

    /// The answer to `request` is whole in the log, or given up.
    fn settled(&self, request: u32);

    /// More output of the tool call under way.
    fn tool_said(&self, call_id: &CallId, text: String);

    /// The thread stands differently.
    fn changed(&self, state: State);
}
