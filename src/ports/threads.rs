//! The other threads of the project, as the tools of one reach them.

use super::tools::{ToolListener, Waiting};
use crate::domain::{Limits, Operation, ThreadId, ThreadResult, Values};
use serde_json::Value;

/// A directive that is to be run in a thread of its own, below the one that asks.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildRequest {
    pub directive: String,
    pub inputs: Values,
    /// A model or tier, where not the directive's or the parent's is meant.
    pub model: Option<String>,
    /// Said beside what the directive limits; never more than the parent has.
    pub limits: Limits,
    /// Whether it works by itself, in a process of its own, while its parent goes on.
    pub background: bool,
}

/// What came of starting a child.
#[derive(Clone, Debug, PartialEq)]
pub enum ChildStarted {
    /// It was waited for.
    Ended(Box<ThreadResult>),
    /// It works by itself.
    Background { thread_id: ThreadId, pid: Option<u32> },
}

/// Starts the children of a thread, and reaches the threads of its tree.
pub trait Threads: std::fmt::Debug + Send + Sync {
    /// Starts a child; one that does not work by itself is waited for. Dropping the future cancels that.
    ///
    /// # Errors
    /// Why it was not started, in a sentence.
    fn start<'a>(
        &'a self,
        request: ChildRequest,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, Result<ChildStarted, String>>;

    /// Does something with threads of the same tree, and answers with a JSON object.
    ///
    /// # Errors
    /// Why not, in a sentence.
    fn operate(&self, operation: Operation) -> Waiting<'_, Result<Value, String>>;

    /// What was said, called and answered in a thread of the project, the newest of it where that is long.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    fn transcript(&self, id: ThreadId) -> Waiting<'_, Result<String, String>>;
}
