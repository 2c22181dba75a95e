//! What the person answers to a call that waits, and when a letter is taken for an answer.

use super::approval::{ARMING, Approvals, Panel, Seen};
use super::geometry;
use super::message::{Effect, Level};
use super::model::Model;
use super::thread_view::{Link, Sent, ThreadView};
use crate::domain::Timestamp;
use crate::domain::event::Approve;
use crate::worker::protocol::Command;

impl ThreadView {
    /// Whether the end of the waiting call has not been on the screen yet.
    #[must_use]
    pub fn approval_goes_on(&self) -> bool {
        self.approvals.shown().is_some_and(|panel| panel.seen == Seen::Begun)
    }

    /// Whether the waiting call has been on the screen.
    pub(super) fn has_seen_call(&self) -> bool {
        self.approvals.shown().is_some_and(|panel| panel.seen > Seen::Not)
    }
}

impl Model {
    /// Whether the keyboard is on the waiting call: nothing lies over it, and there is no draft or it was left. A component that
    /// gave way had the keys until now, so that the person has to take them for the call.
    #[must_use]
    pub fn is_answering(&self) -> bool {
        let had_keys = self.components().any(|open| open.focused);
        let free = |panel: &Panel| panel.taken || (self.composer.is_empty() && !had_keys);
        self.overlay.is_none() && self.view.approvals.shown().is_some_and(free)
    }

    /// Whether a letter answers now.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        let since = self.view.approvals.shown().and_then(|panel| panel.ready_since);
        self.is_answering() && since.is_some_and(|since| self.now.since(since) >= ARMING)
    }

    /// When a letter will answer, if that is still to come.
    pub(super) fn arms_at(&self) -> Option<Timestamp> {
        let since = self.view.approvals.shown().and_then(|panel| panel.ready_since)?;
        (self.is_answering() && !self.is_armed()).then_some(Timestamp(since.0 + ARMING))
    }

    /// The waiting call that has not been on the screen before, or not to its end, and is there now, if a frame was drawn.
    #[must_use]
    pub fn approval_in_view(&self) -> Option<u64> {
        let visible = geometry::regions(self).approval.height >= 3 && self.overlay.is_none();
        let news = |panel: &&Panel| match panel.seen {
            Seen::Not => true,
            Seen::Begun => geometry::approval_ends(self),
            Seen::ToItsEnd => false,
        };
        self.view.approvals.shown().filter(|_| visible).filter(news).map(|panel| panel.approval.id)
    }

    pub(super) fn approval_drawn(&mut self, id: u64) {
        let ends = geometry::approval_ends(self);
        if let Some(panel) = self.view.approvals.queue.front_mut().filter(|panel| panel.approval.id == id) {
            let seen = panel.seen.max(if ends { Seen::ToItsEnd } else { Seen::Begun });
            // The keys that are told depend on it.
            self.changed |= std::mem::replace(&mut panel.seen, seen) != seen;
        }
    }

    /// All of the waiting call was read out.
    pub(super) fn approval_told(&mut self, id: u64) {
        if let Some(panel) = self.view.approvals.queue.front_mut().filter(|panel| panel.approval.id == id) {
            panel.seen = Seen::ToItsEnd;
        }
    }

    /// Brings the waiting calls in line with what the worker told.
    pub(super) fn follow_approvals(&mut self) {
        let waiting = self.view.state.as_ref().map(|state| state.approvals.clone()).unwrap_or_default();
        self.view.approvals.follow(&waiting);
    }

    /// Forgets them: the worker is gone, or another thread is shown.
    pub(super) fn forget_approvals(&mut self) {
        self.view.approvals = Approvals::default();
    }

    /// An answer was not taken: the call is shown again if it still waits.
    pub(super) fn answer_failed(&mut self) {
        self.view.approvals.answered.clear();
        self.follow_approvals();
    }

    /// Keeps the time since when a letter would answer.
    pub(super) fn settle_approval(&mut self) {
        let (now, answering) = (self.now, self.is_answering());
        for (place, panel) in self.view.approvals.queue.iter_mut().enumerate() {
            if place == 0 && panel.seen == Seen::ToItsEnd && answering {
                panel.ready_since.get_or_insert(now);
            } else {
                panel.ready_since = None;
            }
        }
        // Whatever came first when its time was there: the screen says so then.
        let armed = self.is_armed();
        if let Some(panel) = self.view.approvals.queue.front_mut() {
            self.changed |= std::mem::replace(&mut panel.armed, armed) != armed;
        }
    }

    /// Gives the keyboard to the waiting call, or back to the draft.
    pub(super) fn take_keyboard(&mut self, taken: bool) {
        if let Some(panel) = self.view.approvals.queue.front_mut() {
            panel.taken = taken;
        }
    }

    pub(super) fn scroll_approval(&mut self, step: isize) {
        if geometry::approval_fits(self) {
            return;
        }
        let Some((top, last)) = self.view.approvals.shown().map(|panel| (panel.top, panel.lines.len().max(1) - 1))
        else {
            return;
        };
        // The first line from which it is on the screen to its end: lines take as many rows as they need.
        let (mut bottom, mut ends) = (0, last);
        while bottom < ends {
            let middle = usize::midpoint(bottom, ends);
            self.place_approval(middle);
            if geometry::approval_ends(self) { ends = middle } else { bottom = middle + 1 }
        }
        self.place_approval(top.saturating_add_signed(step).min(bottom));
    }

    fn place_approval(&mut self, top: usize) {
        if let Some(panel) = self.view.approvals.queue.front_mut() {
            panel.top = top;
        }
    }

    /// Shows or hides the raw arguments of the waiting call.
    pub(super) fn fold_approval(&mut self) {
        if let Some(panel) = self.view.approvals.queue.front_mut() {
            panel.fold();
        }
    }

    /// Begins to write why the waiting call is refused; what is in the draft is the beginning of that.
    pub(super) fn begin_refusal(&mut self) {
        let draft = self.composer.text();
        self.composer.set(&format!("/deny {draft}"));
        self.take_keyboard(false);
        self.complete();
        self.say(Level::Info, "write the reason; Enter denies the call and sends it to the model");
    }

    /// Answers the call that is shown.
    pub(super) fn answer(&mut self, decision: Approve) -> Vec<Effect> {
        self.answer_saying(decision, None)
    }

    /// The same; `said` is told to the model with a refusal.
    pub(super) fn answer_saying(&mut self, decision: Approve, said: Option<String>) -> Vec<Effect> {
        let Some(panel) = self.view.approvals.shown() else {
            self.say(Level::Info, "no call needs approval");
            return Vec::new();
        };
        if decision != Approve::Deny && panel.seen == Seen::Not {
            self.say(Level::Warning, "the waiting call has not been shown yet");
            return Vec::new();
        }
        if decision != Approve::Deny && panel.seen < Seen::ToItsEnd {
            self.say(Level::Warning, "the waiting call continues below: scroll to its end before you answer");
            return Vec::new();
        }
        if self.view.link != Link::Connected {
            return Vec::new();
        }
        // What lasts is not begun by the first letter of a sentence.
        let lasts = [
            (Approve::Thread, format!("repeat to allow {} for the rest of this thread", panel.approval.capability)),
            (Approve::Always, format!("repeat to always allow {} in this project", panel.approval.capability)),
        ];
        if let Some((_, text)) = lasts.iter().find(|(lasts, _)| *lasts == decision && panel.confirms != Some(decision))
        {
            let text = text.clone();
            self.view.approvals.queue.iter_mut().take(1).for_each(|panel| panel.confirms = Some(decision));
            self.say(Level::Warning, text);
            return Vec::new();
        }
        let (id, args_hash) = (panel.approval.id, panel.approval.args_hash.clone());
        self.view.approvals.queue.pop_front();
        self.view.approvals.answered.push(id);
        self.unsay(&lasts.map(|(_, text)| text));
        self.changed = true;
        vec![Effect::Send {
            id: self.sending(Sent::Approval),
            command: Command::Approve { id, args_hash, decision, said },
        }]
    }
}
