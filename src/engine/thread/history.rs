//! What was said in a thread, and what joins that next.

use super::state::Thread;
use crate::domain::{AnswerFacts, CustomMessage, Entry, Message, MessageFacts};

impl Thread {
    /// What joins the history together with the next prompt: before it, then behind it.
    pub fn notes(&self) -> impl Iterator<Item = &Message> {
        self.notes_before().chain(&self.notes_behind)
    }

    fn notes_before(&self) -> impl Iterator<Item = &Message> {
        self.turn_notes.iter().map(|(_, note)| note).chain(&self.notes)
    }

    /// What was said, with `said` as the next prompt.
    #[must_use]
    pub fn history_with(&self, said: Message) -> Vec<Entry> {
        let added = self.notes_before().cloned().chain([said]).chain(self.notes_behind.iter().cloned()).map(Entry::new);
        self.history.iter().cloned().chain(added).collect()
    }

    /// The same, with what handlers added behind it.
    #[must_use]
    pub fn history_said(&self, said: Message, added: &[CustomMessage]) -> Vec<Entry> {
        let mut history = self.history_with(said);
        history.extend(added.iter().cloned().map(|custom| Entry::new(Message::custom(custom))));
        history
    }

    pub(super) fn push(&mut self, message: Message) {
        self.push_said(message, MessageFacts::at(self.now));
    }

    /// An answer that has just ended.
    pub(super) fn answer(&self, message: Message, answer: AnswerFacts) -> Entry {
        Entry::said(message, MessageFacts { answer: Some(answer), ..MessageFacts::at(self.now) })
    }

    pub(super) fn push_answer(&mut self, message: Message, answer: AnswerFacts) {
        self.push_entry(self.answer(message, answer));
    }

    pub(super) fn push_said(&mut self, message: Message, said: MessageFacts) {
        self.push_entry(Entry::said(message, said));
    }

    pub(super) fn push_entry(&mut self, entry: Entry) {
        if !entry.message.blocks.is_empty() {
            self.history.push(entry);
        }
    }
}
