//! Earlier prompts, one after the other in the composer.

use super::model::Model;

/// Most prompts that are kept.
const MOST: usize = 1_000;

/// Earlier prompts and where in them the composer stands.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Oldest first.
    pub(super) prompts: Vec<String>,
    at: Option<usize>,
    /// The draft that was left to look at them.
    draft: String,
}

impl History {
    pub(super) fn load(&mut self, earlier: Vec<String>) {
        // What was sent before they were loaded is newer.
        let since = std::mem::replace(&mut self.prompts, earlier);
        for prompt in since {
            self.add(&prompt);
        }
    }

    pub(super) fn remember(&mut self, prompt: &str) {
        self.left();
        self.add(prompt);
    }

    fn add(&mut self, prompt: &str) {
        if self.prompts.last().is_none_or(|last| last != prompt) {
            self.prompts.push(prompt.to_owned());
        }
        let over = self.prompts.len().saturating_sub(MOST);
        self.prompts.drain(..over);
    }

    /// The composer was changed by hand, or what it shows was sent. The draft that an earlier prompt stood in for is among them,
    /// so that it can be gone back to.
    pub(super) fn left(&mut self) {
        if self.at.take().is_some() {
            let draft = std::mem::take(&mut self.draft);
            if !draft.trim().is_empty() {
                self.add(&draft);
            }
        }
    }
}

impl Model {
    pub(super) fn earlier_prompt(&mut self) {
        let at = match self.history.at {
            Some(at) => at.checked_sub(1),
            None => self.history.prompts.len().checked_sub(1),
        };
        let Some(at) = at else { return };
        if self.history.at.is_none() {
            self.history.draft = self.composer.raw();
        }
        self.history.at = Some(at);
        self.composer.set(&self.history.prompts[at]);
    }

    /// Back to the draft from whatever prompt is shown in its place.
    pub(super) fn back_from_history(&mut self) {
        if self.history.at.take().is_some() {
            self.composer.set_raw(&self.history.draft);
        }
    }

    pub(super) fn later_prompt(&mut self) {
        let Some(at) = self.history.at else { return };
        if at + 1 < self.history.prompts.len() {
            self.history.at = Some(at + 1);
            self.composer.set(&self.history.prompts[at + 1]);
        } else {
            self.history.at = None;
            self.composer.set_raw(&self.history.draft);
        }
    }
}
