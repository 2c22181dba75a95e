//! What the other threads of the project do meanwhile.

use super::geometry;
use super::message::{Effect, Level, ThreadRow};
use super::model::Model;
use super::overlay::PickerKind;
use crate::commands::CommandId;

impl Model {
    /// Asks for as much of the threads as is shown: all rows for a list, else those that ask.
    pub(super) fn look_at_threads(&mut self) -> Vec<Effect> {
        let listed = geometry::shows_panel(self) || self.list(PickerKind::Threads).is_some();
        vec![if listed { Effect::LoadThreads } else { Effect::LookForAsking }]
    }

    /// Takes over who asks, and tells of whoever did not before.
    pub(super) fn told_asking<'a>(&mut self, rows: impl Iterator<Item = &'a ThreadRow>) {
        let rows: Vec<&ThreadRow> = rows.collect();
        let news = rows.iter().find(|row| !self.asking.contains(&row.thread_id) && !self.shows(row));
        if let Some(row) = news {
            let key = self.keymap.key_for(CommandId::ThreadsShow, &self.composer_contexts());
            let way = key.map_or_else(|| "/threads".to_owned(), |key| key.to_string());
            let name = if row.title.is_empty() { row.thread_id.as_str() } else { &row.title };
            self.say(Level::Warning, format!("another thread asks you: {name} ({way} lists threads)"));
        }
        let asking: Vec<_> = rows.iter().map(|row| row.thread_id.clone()).collect();
        self.changed |= self.asking != asking;
        self.asking = asking;
    }

    fn shows(&self, row: &ThreadRow) -> bool {
        self.thread.as_ref() == Some(&row.thread_id)
    }

    /// How many threads ask that are not on the screen.
    #[must_use]
    pub fn asks_elsewhere(&self) -> usize {
        self.asking.iter().filter(|id| self.thread.as_ref() != Some(*id)).count()
    }
}
