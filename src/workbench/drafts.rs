//! What was begun in other threads and not sent.

use super::composer::Composer;
use super::message::Effect;
use super::model::Model;
use super::submit::remembered;
use crate::domain::ThreadId;
use crate::domain::event::PromptMode;

/// Drafts by their thread; none is that of the next new one.
pub(super) type LeftDrafts = Vec<(Option<ThreadId>, Composer)>;

impl Model {
    /// Puts the draft aside, which was written for thread `from`, and takes up what was begun in the thread to come.
    pub(super) fn exchange_draft(&mut self, from: Option<ThreadId>, to: Option<&ThreadId>) {
        let taken = self.take_left(to);
        let left = std::mem::replace(&mut self.composer, taken);
        if !left.is_empty() {
            self.left_drafts.push((from, left));
        }
        self.taken_mode = None;
        self.complete();
    }

    /// A new thread: what is written goes along, else what was begun for one is taken up.
    pub(super) fn draft_for_new(&mut self) {
        if self.composer.is_empty() {
            self.composer = self.take_left(None);
            self.complete();
        }
    }

    fn take_left(&mut self, thread: Option<&ThreadId>) -> Composer {
        let place = self.left_drafts.iter().position(|(of, _)| of.as_ref() == thread);
        place.map(|place| self.left_drafts.swap_remove(place).1).unwrap_or_default()
    }

    /// Everything that was written and not sent, for the history.
    pub(super) fn unsent(&self) -> impl Iterator<Item = Effect> {
        let left = self.left_drafts.iter().map(|(_, draft)| draft);
        left.chain([&self.composer]).filter_map(|draft| remembered(&draft.text()))
    }

    /// How Enter sends the draft. What was taken out of the queue goes back as it was.
    #[must_use]
    pub fn enter_mode(&self) -> PromptMode {
        let usual = if self.view.is_working() { PromptMode::Steer } else { PromptMode::FollowUp };
        self.taken_mode.filter(|_| self.view.is_working()).unwrap_or(usual)
    }
}
