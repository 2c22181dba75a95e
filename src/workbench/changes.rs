//! The files that a thread changed with its file tools: each with what taking it back would change.

use crate::domain::{ThreadId, Timestamp};
use std::sync::Arc;

/// Whose changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which {
    pub thread_id: ThreadId,
    /// Those alone that the answer to this request made.
    pub request: Option<u32>,
}

/// The files that were changed, by path, as they stand now.
pub type Changes = Vec<ChangedFile>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Relative to the project.
    pub path: String,
    pub stands: Stands,
    /// What taking it back would change, or why it is not taken back.
    pub text: Arc<str>,
    /// Lines that taking it back puts in, and takes out.
    pub lines: (usize, usize),
}

/// How a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// As the thread left it: it can be taken back.
    AsLeft,
    /// As it was before the thread.
    AsBefore,
    /// Somebody changed it since.
    Changed,
    Unreadable,
}

/// What is listed, and what was asked for once.
#[derive(Clone, Debug, Default)]
pub(super) struct TakingBack {
    /// Whose changes were asked for last.
    pub(super) which: Option<Which>,
    /// These, once they are there.
    pub(super) listed: Changes,
    /// What is taken back when it is asked for again, and since when.
    pub(super) asked: Option<(Vec<String>, Timestamp)>,
}

impl ChangedFile {
    /// How it stands, in a few words.
    pub(super) fn told(&self) -> String {
        match self.stands {
            Stands::AsLeft => format!("+{} −{}", self.lines.0, self.lines.1),
            Stands::AsBefore => "as it was before".to_owned(),
            Stands::Changed => "somebody changed it since".to_owned(),
            Stands::Unreadable => "cannot be read".to_owned(),
        }
    }
}
