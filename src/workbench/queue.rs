//! The list of queued messages: what waits for its turn can be moved, withdrawn, and taken back into the draft.

use super::message::{Effect, Level};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Choice, Entry, PickerKind};
use super::thread_view::Sent;
use crate::domain::event::PromptMode;
use crate::worker::protocol::{Command, QueuedPrompt};

impl Model {
    pub(super) fn queue_entries(&self) -> Vec<Entry> {
        let entry = |queued: &QueuedPrompt| Entry {
            label: queued.text.split_whitespace().take(60).collect::<Vec<_>>().join(" "),
            detail: match queued.mode {
                PromptMode::Steer => "next turn",
                PromptMode::FollowUp => "follow-up",
            }
            .to_owned(),
            usable: true,
            current: false,
            choice: Choice::Queued(Box::new(queued.clone())),
            body: None,
            group: None,
        };
        self.view.queue().iter().map(entry).collect()
    }

    /// The chosen message's number, while the list is open.
    fn chosen_queued(&self) -> Option<u64> {
        let Some(Overlay::Picker(picker)) = &self.overlay else { return None };
        let Choice::Queued(queued) = &picker.chosen()?.choice else { return None };
        Some(queued.prompt)
    }

    /// Moves the chosen message by one place.
    pub(super) fn move_queued(&mut self, step: isize) -> Vec<Effect> {
        if !self.reaches_queue() {
            return Vec::new();
        }
        let Some(prompt) = self.chosen_queued() else { return Vec::new() };
        let Some(state) = &mut self.view.state else { return Vec::new() };
        let Some(at) = state.queue.iter().position(|queued| queued.prompt == prompt) else { return Vec::new() };
        let to = at.saturating_add_signed(step).min(state.queue.len() - 1);
        if to == at {
            return Vec::new();
        }
        state.queue.swap(at, to);
        let prompts = state.queue.iter().map(|queued| queued.prompt).collect();
        self.refill(PickerKind::Queue);
        self.tell_worker(Sent::Queue, Command::Arrange { prompts })
    }

    /// Withdraws the chosen message.
    pub(super) fn drop_queued(&mut self) -> Vec<Effect> {
        let Some(prompt) = self.chosen_queued() else { return Vec::new() };
        self.withdraw(prompt).map(|(_, effects)| effects).unwrap_or_default()
    }

    /// Takes a message out of the queue; gives its text and what tells the worker.
    pub(super) fn withdraw(&mut self, prompt: u64) -> Option<(String, Vec<Effect>)> {
        if !self.reaches_queue() {
            return None;
        }
        let state = self.view.state.as_mut()?;
        let at = state.queue.iter().position(|queued| queued.prompt == prompt)?;
        let queued = state.queue.remove(at);
        self.refill(PickerKind::Queue);
        Some((queued.text, self.tell_worker(Sent::Queue, Command::Withdraw { prompt })))
    }

    /// Withdraws a message and puts it into the draft, to be changed and sent again.
    pub(super) fn edit_queued(&mut self, prompt: u64) -> Vec<Effect> {
        let mode = self.view.queue().iter().find(|queued| queued.prompt == prompt).map(|queued| queued.mode);
        let Some((text, effects)) = self.withdraw(prompt) else { return Vec::new() };
        self.taken_mode = mode;
        self.composer.put_back(&text);
        self.complete();
        effects
    }

    /// Whether somebody listens who has the queue.
    fn reaches_queue(&mut self) -> bool {
        let reaches = self.view.can_be_told();
        if !reaches {
            self.say(Level::Info, "the worker is being started; try again in a moment");
        }
        reaches
    }

    /// The queue of a state that was told. While a change of the person's own is unanswered, what they see stays: the
    /// worker may have told it before it heard of the change, and the choice would move under their fingers.
    pub(super) fn queue_of(&mut self, told: Vec<QueuedPrompt>) -> Vec<QueuedPrompt> {
        if !self.view.sent.values().any(|sent| *sent == Sent::Queue) {
            return told;
        }
        self.view.queue_told = Some(told);
        self.view.queue().to_vec()
    }

    /// A change to the queue was answered. After the last one, what was told meanwhile counts.
    pub(super) fn queue_answered(&mut self) {
        if self.view.sent.values().any(|sent| *sent == Sent::Queue) {
            return;
        }
        if let (Some(told), Some(state)) = (self.view.queue_told.take(), &mut self.view.state)
            && state.queue != told
        {
            state.queue = told;
            self.show_queue();
            self.changed = true;
        }
    }

    /// The queue changed: an open list follows.
    pub(super) fn show_queue(&mut self) {
        self.refill(PickerKind::Queue);
    }
}
