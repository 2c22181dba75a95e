//! What is known of a fork: a thread that begins with the words of another.

use super::request::Compared;
use crate::domain::{Attachment, ForkPoint, LayerChange, ModelRef, ThreadId};

/// What is left behind is told in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryAsked {
    /// What that is to look at.
    pub instructions: Option<String>,
}

/// What was said in a branch that is left, which is to be told in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBranch {
    pub text: String,
    pub asked: SummaryAsked,
}

/// What becomes of the prompt that a fork leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forking {
    /// It is sent again.
    Again,
    /// It is the draft, to be changed and sent; without one the fork begins behind what was said.
    Revise,
    /// It stays, and so do its answers: the fork begins behind them.
    Here,
}

/// A fork that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkAsked {
    /// The thread whose words it begins with, and up to where.
    pub from: ThreadId,
    pub at: ForkPoint,
    pub forking: Forking,
    /// The model it has, else that of the thread.
    pub model: Option<ModelRef>,
    /// The request that the prompt led to.
    pub request: Option<u32>,
    /// Whether what is left behind is told in short.
    pub summary: Option<SummaryAsked>,
    /// What is otherwise in its requests.
    pub changes: Vec<LayerChange>,
}

impl ForkAsked {
    /// One that is like the thread it is of.
    pub(super) fn of(from: ThreadId, at: ForkPoint, forking: Forking) -> Self {
        Self { from, at, forking, model: None, request: None, summary: None, changes: Vec::new() }
    }
}

/// A fork that was made (answer to [`Effect::Fork`](super::message::Effect)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkMade {
    pub from: ThreadId,
    /// The thread that was on the screen when it was asked for.
    pub shown: ThreadId,
    pub thread_id: ThreadId,
    pub forking: Forking,
    /// The prompt that was left behind.
    pub prompt: Option<String>,
    /// What went along with it.
    pub files: Vec<Attachment>,
    /// The request that it led to there.
    pub request: Option<u32>,
    pub left: Option<LeftBranch>,
}

/// What is done as soon as the fork is on the screen.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) thread_id: ThreadId,
    pub(super) forking: Forking,
    pub(super) prompt: Option<String>,
    pub(super) files: Vec<Attachment>,
    /// The branch that was left, where it is to be told in short, with the thread it is in.
    pub(super) left: Option<(ThreadId, LeftBranch)>,
    /// What its first request is compared with.
    pub(super) compared: Option<Compared>,
}
