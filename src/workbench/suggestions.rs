//! What extensions say that completes the draft, and where they were asked.

use crate::domain::Suggestion;

/// A draft with its cursor. Large pastes are one letter in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DraftSnapshot {
    pub(super) text: String,
    /// Line, and letters before it there.
    pub(super) cursor: (usize, usize),
}

impl DraftSnapshot {
    /// Letters of the whole draft before the cursor.
    pub(super) fn letters_before(&self) -> usize {
        let before = self.text.split('\n').take(self.cursor.0).map(|line| line.chars().count() + 1);
        before.sum::<usize>() + self.cursor.1
    }
}

/// What extensions say that can complete the draft.
#[derive(Clone, Debug, Default)]
pub(super) struct Suggestions {
    /// The question that is not answered yet, by its number.
    pub(super) asked: Option<(u64, DraftSnapshot)>,
    pub(super) answered: Option<(DraftSnapshot, Vec<Suggestion>)>,
}

/// A text before and after so many letters.
pub(super) fn split_at_letter(text: &str, letters: usize) -> (&str, &str) {
    let at = text.char_indices().nth(letters).map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}
