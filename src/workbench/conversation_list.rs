//! What the tree of a conversation lists.

use crate::domain::ThreadId;
use crate::domain::conversation::{Conversation, Listed, Said};
use std::sync::Arc;

/// What the list of a conversation shows.
#[derive(Clone, Debug, Default)]
pub(super) struct ConversationList {
    /// Of this thread.
    pub(super) thread: Option<ThreadId>,
    pub(super) conversation: Conversation,
    pub(super) listed: Listed,
    /// A label is on its way into a log.
    pub(super) labelled: bool,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) thread: ThreadId,
    pub(super) said: Option<Arc<Said>>,
    /// Whether nothing was said behind it in its thread.
    pub(super) last: bool,
}
