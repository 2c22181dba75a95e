//! What a search for the layer that makes the difference lists.

use crate::domain::ThreadId;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BisectAsked {
    pub thread_id: ThreadId,
    pub number: u32,
    /// A command that gets an answer on its input and says by its exit code what it finds.
    pub check: String,
}

/// What is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BisectNews {
    /// How many requests it takes at most, and what they may cost; or why it cannot be done.
    Plan(Result<String, String>),
    /// How it goes.
    Line(String),
    /// The layers that were found, by their ids; or why there are none.
    Found(Result<Vec<String>, String>),
}

/// The search on the screen.
#[derive(Clone, Debug)]
pub(super) struct Bisecting {
    pub(super) asked: BisectAsked,
    pub(super) plan: Option<Result<String, String>>,
    pub(super) begun: bool,
    pub(super) lines: Vec<String>,
    pub(super) found: Option<Result<Vec<String>, String>>,
}

/// A row of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BisectRow {
    /// To begin.
    Begin,
    /// A layer that was found.
    Layer(String),
    /// What is said.
    Told(String),
}
