//! What the other threads of the project do meanwhile.

use super::geometry;
use super::message::{Effect, Level};
use super::model::Model;
use super::picker::PickerKind;
use super::thread_row::ThreadRow;
use super::thread_view::Link;

impl Model {
    /// Asks for as much of the threads as is shown: all rows for a list, else those that ask.
    pub(super) fn look_at_threads(&mut self) -> Vec<Effect> {
        let listed = geometry::shows_panel(self) || self.has_kin() || self.list(PickerKind::Threads).is_some();
        let archived = self.lists_archived().then_some(Effect::LoadArchived);
        let looked = if listed { Effect::LoadThreads } else { Effect::LookForRunning };
        std::iter::once(looked).chain(archived).collect()
    }

    /// Takes over who asks, and tells of whoever did not before. The title says it too, so that nothing which was told
    /// as a mistake gives way to it.
    pub(super) fn told_asking<'a>(&mut self, rows: impl Iterator<Item = &'a ThreadRow>) {
        let rows: Vec<&ThreadRow> = rows.collect();
        let untold: Vec<&&ThreadRow> =
            rows.iter().filter(|row| !self.threads.asking_told.contains(&row.thread_id) && !self.shows(row)).collect();
        let stands = self.notice().is_some_and(|notice| notice.level != Level::Info);
        if !stands {
            let text = match untold.as_slice() {
                [] => None,
                [row] => Some(format!("another thread needs approval: {} (/threads lists them)", row.name())),
                several => Some(format!("{} other threads need approval (/threads lists them)", several.len())),
            };
            if let Some(text) = text {
                self.calling = Some(text.clone());
                self.say(Level::Info, text);
            }
            self.threads.asking_told = rows.iter().map(|row| row.thread_id.clone()).collect();
        }
        let asking: Vec<_> = rows.iter().map(|row| row.thread_id.clone()).collect();
        self.changed |= self.threads.asking != asking;
        self.threads.asking = asking;
    }

    /// Reads the shown thread again and follows it when somebody else runs it: another window, or a run.
    pub(super) fn rejoin<'a>(&mut self, mut rows: impl Iterator<Item = &'a ThreadRow>) -> Vec<Effect> {
        let apart = self.view.link == Link::Resting && self.view.alone;
        let row = rows.find(|row| row.runs && self.shows(row)).filter(|_| apart);
        // Where nobody answered at that time, it is not tried twice.
        match row.filter(|row| self.view.rejoined.replace(row.updated_at) != Some(row.updated_at)) {
            Some(_) => self.read_again(),
            None => Vec::new(),
        }
    }

    /// Reads the shown thread again, and follows it if somebody runs it.
    pub(super) fn read_again(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.view.thread.clone().filter(|_| self.view.link == Link::Resting) else {
            return Vec::new();
        };
        self.view.reading = None;
        self.view.alone = false;
        self.view.log_end = 0;
        self.view.link = Link::Opening;
        vec![Effect::Open { thread_id }]
    }

    fn shows(&self, row: &ThreadRow) -> bool {
        self.view.thread.as_ref() == Some(&row.thread_id)
    }

    /// How many threads ask that are not on the screen.
    #[must_use]
    pub fn asks_elsewhere(&self) -> usize {
        self.threads.asking.iter().filter(|id| self.view.thread.as_ref() != Some(*id)).count()
    }
}
