//! How a thread is to go on, where there is more than one way.

use serde::{Deserialize, Serialize};

/// What a hook answers at an event that can be gone on from in several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Try the failed call again.
    Retry,
    /// End the thread in an error.
    Fail,
    /// End it as cancelled.
    Abort,
    /// Go on as if nothing had happened.
    Continue,
    /// Leave out what was about to come.
    Skip,
    /// Wait until somebody resumes it.
    Suspend,
    /// Wait until somebody decides.
    Escalate,
}

impl Control {
    /// Every word that files may use.
    pub const ALL: [(&'static str, Self); 8] = [
        ("retry", Self::Retry),
        ("fail", Self::Fail),
        ("terminate", Self::Fail),
        ("abort", Self::Abort),
        ("continue", Self::Continue),
        ("skip", Self::Skip),
        ("suspend", Self::Suspend),
        ("escalate", Self::Escalate),
    ];

    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, control)| *control == self).map_or("", |(word, _)| word)
    }

    /// The control that a word means.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word.trim()).map(|(_, control)| *control)
    }
}
