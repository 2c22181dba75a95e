//! A question of an extension, while the person answers it.
//!
//! It opens by itself where nothing else is being done: no list is open, no call waits, nothing is written. Else it waits
//! to be opened with `/answer`. Its keys answer only after it was on the screen for a moment, as with
//! [calls](super::approval).

use super::approval::ARMING;
use super::composer::Composer;
use crate::commands::Context;
use crate::domain::{Dialog, DialogReply, OpenDialog, Timestamp};

/// See the module.
#[derive(Clone, Debug)]
pub struct DialogPanel {
    pub open: OpenDialog,
    /// The place of what is chosen, where one chooses.
    pub chosen: usize,
    /// What is written, where one writes.
    pub text: Composer,
    /// Since when it is on the screen.
    since: Timestamp,
}

/// What was done about questions that still wait, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Dialogs {
    /// The number of the newest text for the draft that is known; none before the thread has told how it stands.
    pub(super) suggested: Option<u64>,
    /// The same of the draft of the new thread that they were led to last.
    pub(super) moved: Option<u64>,
    /// The program of an extension that this screen was asked to run last.
    pub(super) foreground: u64,
    /// The number of the theme that was taken on last.
    pub(super) theme: u64,
    /// The same of the newest call of the person.
    pub(super) calling: Option<u64>,
    /// The same of the newest text for the clipboard.
    pub(super) copied: Option<u64>,
    /// The same of the newest wish for details in full.
    pub(super) unfolded: Option<u64>,
    /// The person knows of them.
    pub(super) told: Vec<u64>,
    /// Answered here; the worker has not said so yet.
    pub(super) answered: Vec<u64>,
}

impl DialogPanel {
    pub(super) fn new(open: OpenDialog, since: Timestamp) -> Self {
        let mut text = Composer::default();
        if let Dialog::Editor { text: given, .. } = &open.dialog {
            text.set(given);
        }
        Self { open, chosen: 0, text, since }
    }

    /// What can be chosen; none where one writes.
    #[must_use]
    pub fn options(&self) -> Option<Vec<&str>> {
        match &self.open.dialog {
            Dialog::Select { options, .. } => Some(options.iter().map(String::as_str).collect()),
            Dialog::Confirm { .. } => Some(vec!["Yes", "No"]),
            Dialog::Input { .. } | Dialog::Editor { .. } => None,
        }
    }

    /// What is asked, with what is said about it.
    #[must_use]
    pub fn question(&self) -> String {
        let title = self.open.dialog.title();
        if let Dialog::Confirm { message, .. } = &self.open.dialog
            && !message.is_empty()
        {
            return format!("{title}\n\n{message}");
        }
        title.to_owned()
    }

    /// What stands where nothing is written.
    #[must_use]
    pub fn hint(&self) -> &str {
        if let Dialog::Input { placeholder, .. } = &self.open.dialog { placeholder } else { "" }
    }

    /// What keys mean in it.
    pub(super) fn contexts(&self) -> Vec<Context> {
        match self.options() {
            Some(_) => vec![Context::List, Context::Anywhere],
            None => vec![Context::Form, Context::Text, Context::Anywhere],
        }
    }

    /// Takes a letter, which it has always a use for: of choices it takes the next that begins with it.
    pub(super) fn letter(&mut self, letter: char) -> bool {
        let Some(options) = self.options() else {
            self.text.type_letter(letter);
            return true;
        };
        let begins = |option: &str| option.trim_start().to_lowercase().starts_with(letter.to_ascii_lowercase());
        let places = (self.chosen + 1..options.len()).chain(0..options.len());
        if let Some(place) = places.into_iter().find(|place| begins(options[*place])) {
            self.chosen = place;
        }
        true
    }

    pub(super) fn paste(&mut self, text: &str) -> bool {
        if self.options().is_none() {
            self.text.paste(text);
        }
        true
    }

    /// The choice or the line above or below.
    pub(super) fn step(&mut self, step: isize) {
        match self.options().map(|options| options.len()) {
            Some(count) => self.chosen = self.chosen.saturating_add_signed(step).min(count.saturating_sub(1)),
            None if step < 0 => drop(self.text.up()),
            None => drop(self.text.down()),
        }
    }

    /// What is answered now.
    pub(super) fn reply(&self) -> Option<DialogReply> {
        match &self.open.dialog {
            Dialog::Select { options, .. } => options.get(self.chosen).cloned().map(DialogReply::Text),
            Dialog::Confirm { .. } => Some(DialogReply::Confirmed(self.chosen == 0)),
            Dialog::Input { .. } | Dialog::Editor { .. } => Some(DialogReply::Text(self.text.text())),
        }
    }

    /// Whether its keys answer.
    #[must_use]
    pub fn is_armed(&self, now: Timestamp) -> bool {
        now.since(self.since) >= ARMING
    }

    pub(super) fn wrap(&mut self, width: u16) {
        self.text.wrap(width);
    }
}
