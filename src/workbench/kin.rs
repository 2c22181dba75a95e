//! The threads around the one on the screen, as far as they are listed: those above it, and those beside it that the same
//! thread started.

use super::message::{Effect, Level};
use super::model::Model;
use super::thread_row::ThreadRow;
use super::thread_view::Link;
use crate::commands::CommandId;
use crate::domain::ThreadId;

/// More threads above another are not looked for: a list from elsewhere may name a thread as its own ancestor.
const DEEPEST: usize = 64;

impl Model {
    /// Whether the list of threads tells something about the one on the screen that nothing else does.
    pub(super) fn has_kin(&self) -> bool {
        self.view.parent.is_some()
    }

    /// Asks for the threads around one that was opened, if they are not known.
    pub(super) fn want_kin(&mut self) -> Option<Effect> {
        let known = self.view.thread.as_ref().is_some_and(|thread| self.threads.find(thread).is_some());
        if !self.has_kin() || known || self.view.link == Link::Opening {
            return None;
        }
        self.threads.loaded = true;
        Some(Effect::LoadThreads)
    }

    /// Names of the threads above the one on the screen, the first of the tree at the front.
    #[must_use]
    pub fn ancestors(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut above = self.view.parent.as_ref();
        while let Some(id) = above.filter(|_| names.len() < DEEPEST) {
            let row = self.threads.find(id);
            names.push(row.map_or_else(|| id.to_string(), |row| row.name().to_owned()));
            above = row.and_then(|row| row.parent.as_ref());
        }
        names.reverse();
        names
    }

    /// What the thread on the screen is called among those around it; its id where nobody listed it.
    #[must_use]
    pub fn own_name(&self) -> Option<&str> {
        let thread = self.view.thread.as_ref()?;
        Some(self.threads.find(thread).filter(|_| self.has_kin()).map_or(thread.as_str(), ThreadRow::name))
    }

    /// Opens the sibling after this thread or before it, or says that there is none.
    pub(super) fn open_sibling(&mut self, command: CommandId) -> Vec<Effect> {
        if let Some(why) = self.obstacle(command) {
            self.say(Level::Info, why);
        }
        self.open_near(self.sibling(command == CommandId::ThreadSiblingNext))
    }

    /// The thread that the same parent started after this one, or before it.
    pub(super) fn sibling(&self, after: bool) -> Option<ThreadId> {
        let (own, parent) = (self.view.thread.as_ref()?, self.view.parent.as_ref()?);
        let place = |id: &ThreadId| (id.begun(), id.as_str().to_owned());
        let beside =
            self.threads.rows.iter().filter(|row| row.parent.as_ref() == Some(parent)).map(|row| &row.thread_id);
        let mut beside: Vec<_> = beside.filter(|id| (place(id) > place(own)) == after && *id != own).collect();
        beside.sort_by_cached_key(|id| place(id));
        if after { beside.first().copied().cloned() } else { beside.last().copied().cloned() }
    }
}

impl ThreadRow {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.title.is_empty() { self.thread_id.as_str() } else { &self.title }
    }
}
