//! Shows another thread in the place of the one on the screen.

use super::message::{Effect, Level};
use super::model::Model;
use crate::domain::ThreadId;

impl Model {
    /// Shows a thread; its own draft comes with it.
    pub(super) fn show_thread(&mut self, thread_id: ThreadId) -> Vec<Effect> {
        if self.view.is_of(&thread_id) {
            return self.read_again();
        }
        let left = self.view.thread.clone();
        // Before what was not handed over comes back into the draft.
        self.back_from_history();
        self.turn_to(Some(thread_id.clone()));
        self.exchange_draft(left, Some(&thread_id));
        self.inputs.clear();
        self.draft = None;
        self.by_name = false;
        vec![Effect::Open { thread_id }]
    }

    /// Goes on in the thread that continues the one on screen; the draft goes along.
    pub(super) fn follow_handoff(&mut self, next: ThreadId) -> Vec<Effect> {
        self.back_from_history();
        self.turn_to(Some(next.clone()));
        self.say(Level::Info, format!("this conversation continues in {next}; /previous opens the thread before"));
        vec![Effect::Open { thread_id: next }, Effect::LoadThreads]
    }

    /// Leaves the thread on screen for a new one; the draft stays.
    pub(super) fn new_thread(&mut self) {
        self.turn_to(None);
    }

    /// Shows another thread, or a new one, in a view of its own.
    fn turn_to(&mut self, thread: Option<ThreadId>) {
        self.overlay = None;
        let next = self.view.successor(thread);
        let left = std::mem::replace(&mut self.view, next);
        // What was handed over is on its way; what was not comes back.
        for waits in left.waits.iter().rev().filter(|waits| waits.held) {
            self.composer.put_back(&waits.text);
        }
        self.complete();
        self.changed = true;
    }
}
