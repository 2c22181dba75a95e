//! Where threads run: in this process, or in a worker of their own.

use super::tools::Waiting;
use crate::domain::{Ceiling, Command, Lineage, ModelRef, SetLimits, State, ThreadId, ThreadKind, Values};

/// A thread that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSpec {
    /// Its id, where that was settled before; else one is made of directive and time.
    pub id: Option<ThreadId>,
    pub directive: String,
    pub inputs: Values,
    pub model: ModelRef,
    pub kind: ThreadKind,
    /// What whoever makes it says of its limits; what the directive limits besides counts too.
    pub limits: SetLimits,
    pub lineage: Lineage,
    /// What the threads above it may do, the nearest first: it may do nothing that one of them may not.
    pub ceilings: Vec<Ceiling>,
}

/// Why a thread was not started or reached, in a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorError {
    /// Nothing runs the thread, so there is nothing to stop or to ask.
    #[error("no process runs the thread {0}")]
    NotRunning(ThreadId),
    #[error("{0}")]
    Failed(String),
}

/// Starts threads, stops them and tells how they stand. Its forms differ in where a thread runs, never in what its log says.
pub trait Executor: Send + Sync {
    /// Makes a thread and has it begin with `first`. It is on disk, and has taken `first`, when this returns.
    fn spawn(&self, spec: ThreadSpec, first: Command) -> Waiting<'_, Result<ThreadId, ExecutorError>>;

    /// Asks the thread to end as cancelled. It is ending, not over, when this returns.
    fn cancel<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Result<(), ExecutorError>>;

    /// Ends the thread whatever it does, as killed. Nothing of it runs when this returns.
    fn kill<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Result<(), ExecutorError>>;

    /// How the thread stands; `None` where nothing runs it.
    fn status<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Option<State>>;
}
