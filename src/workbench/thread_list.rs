//! The threads of the project, as far as the screen knows them.

use super::thread_row::ThreadRow;
use crate::domain::{ThreadId, ThreadOrder, Timestamp};
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct ThreadList {
    /// All but the archived ones, as they are stored.
    pub rows: Vec<Arc<ThreadRow>>,
    /// Somebody asked for them.
    pub(super) loaded: bool,
    /// The archived ones, while the list shows those.
    pub(super) archived: Option<Vec<Arc<ThreadRow>>>,
    /// In which order the list stands.
    pub(super) order: ThreadOrder,
    /// Those that wait for the person's word on a call, the one on the screen too.
    pub(super) asking: Vec<ThreadId>,
    /// Those of them that were told.
    pub(super) asking_told: Vec<ThreadId>,
    /// Those that the same command again kills, and when that was said.
    pub(super) kills: Option<(Vec<ThreadId>, Timestamp)>,
    /// The one that the same command again removes, and when that was said.
    pub(super) removes: Option<(ThreadId, Timestamp)>,
    /// The one that was left because it is to be removed.
    pub(super) left_to_remove: Option<ThreadId>,
}

impl ThreadList {
    /// The row of a thread that is listed.
    pub(super) fn find(&self, id: &ThreadId) -> Option<&ThreadRow> {
        self.rows.iter().map(Arc::as_ref).find(|row| row.thread_id == *id)
    }
}
