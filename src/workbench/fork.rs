//! What is known of a fork: a thread that begins with the words of another.

use super::request::Compared;
use crate::domain::{Attachment, ThreadId};

/// Up to where a fork has what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkAt {
    /// All of it.
    End,
    /// Before the prompt at this place from the end, the newest being 1.
    Prompt(usize),
    /// Before the prompt that led to the request of this number.
    Request(u32),
    /// At what the line at this byte of the log says: without a prompt, with anything else.
    Entry(u64),
}

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
    /// It is the draft, to be changed and sent.
    Revise,
    /// It stays, and so do its answers: the fork begins behind them.
    Here,
    /// It is the draft, if there is one: the fork begins at an entry, whatever that is.
    There,
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
