//! Keeps the thread that is looked into at the one that is chosen in the list.

use super::geometry;
use super::message::{Effect, PeekNews};
use super::model::Model;

impl Model {
    /// Looks into the chosen thread where there is room for it, and into none elsewhere.
    pub(super) fn follow_peek(&mut self) -> Option<Effect> {
        let row = self.chosen_thread().filter(|_| geometry::peek(self).is_some());
        let Some((thread_id, updated_at)) = row.map(|row| (row.thread_id.clone(), row.updated_at)) else {
            self.peek.view.thread.as_ref()?;
            self.peek.turn_to(None);
            return Some(Effect::StopPeek);
        };
        // One that nobody ran may be run by now, or have been.
        let outdated = self.peek.view.alone && self.peek.asked_at != updated_at;
        if self.peek.awaits || (self.peek.view.is_of(&thread_id) && !outdated) {
            return None;
        }
        self.changed = true;
        Some(self.peek.ask(thread_id, updated_at))
    }

    pub(super) fn peeked(&mut self, number: u64, news: PeekNews) {
        if number == self.peek.number && self.peek.view.thread.is_some() {
            self.changed |= self.peek.hear(news);
        }
    }
}
