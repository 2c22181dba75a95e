//! What extensions ask a person, and what they show beside the conversation.

use super::event::Timestamp;
use super::id::{ContentHash, ThreadId};
use serde::{Deserialize, Serialize};

/// A question to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "dialog", rename_all = "snake_case")]
pub enum Dialog {
    /// One of these.
    Select { title: String, options: Vec<String> },
    /// Yes or no.
    Confirm {
        title: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// A line of text.
    Input {
        title: String,
        /// What stands in the empty line.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        placeholder: String,
    },
    /// A text of several lines.
    Editor {
        title: String,
        /// What stands there at first.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
}

impl Dialog {
    /// What is asked.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Select { title, .. }
            | Self::Confirm { title, .. }
            | Self::Input { title, .. }
            | Self::Editor { title, .. } => title,
        }
    }

    /// Whether that is an answer to it.
    #[must_use]
    pub fn takes(&self, reply: &DialogReply) -> bool {
        match (self, reply) {
            (Self::Confirm { .. }, DialogReply::Confirmed(_))
            | (Self::Input { .. } | Self::Editor { .. }, DialogReply::Text(_)) => true,
            (Self::Select { options, .. }, DialogReply::Text(chosen)) => options.contains(chosen),
            _ => false,
        }
    }
}

/// What a person answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DialogReply {
    Confirmed(bool),
    /// The option, the line or the text.
    Text(String),
}

/// A question that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDialog {
    /// Counts from 1 in the process that asks.
    pub id: u64,
    /// The extension that asks.
    pub from: String,
    #[serde(flatten)]
    pub dialog: Dialog,
    /// Since when.
    pub since: Timestamp,
    /// When it is taken back, if nobody has answered by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Timestamp>,
}

impl OpenDialog {
    /// So many seconds are left to answer it, where it has an end.
    #[must_use]
    pub fn seconds_left(&self, now: Timestamp) -> Option<u64> {
        self.ends.map(|ends| ends.since(now).div_ceil(1_000))
    }
}

/// What an extension puts into the draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggested {
    pub text: NumberedText,
    #[serde(default)]
    pub how: Insertion,
}

/// How a text of an extension is put into the draft.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Insertion {
    /// Before what is written there.
    #[default]
    Before,
    /// Where the cursor stands, as if it had been pasted.
    Pasted,
    /// In the place of the draft that the extension has read; before what is written, where that is another by now.
    Instead(ContentHash),
}

/// A text of an extension that is to be taken once: for the draft, or to call the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedText {
    /// Counts from 1 in the process that suggests: whoever has taken one knows it again.
    pub number: u64,
    pub text: String,
}

impl NumberedText {
    /// A text that comes after another, or is the first.
    #[must_use]
    pub fn after(before: Option<&Self>, text: String) -> Self {
        Self { number: before.map_or(1, |before| before.number + 1), text }
    }

    /// The text to take now, with what is known of the newest afterwards: `known` is the number that was known, none before
    /// the thread has told how it stands. What was there then was for somebody else.
    #[must_use]
    pub fn take<'a>(newest: Option<&'a Self>, known: &mut Option<u64>) -> Option<&'a str> {
        let number = newest.map_or(0, |newest| newest.number);
        let before = known.replace(number);
        newest.filter(|_| before.is_some_and(|before| before != number)).map(|newest| newest.text.as_str())
    }
}

/// Where an extension leads the person at the thread, to be followed once, with a text for the draft there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    #[serde(flatten)]
    pub text: NumberedText,
    pub to: MoveTo,
}

/// See [`Moved`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum MoveTo {
    /// To a thread that begins.
    New,
    Open {
        thread_id: ThreadId,
    },
    /// Out of the program.
    Leave,
    /// To a fork of that thread at this entry, as a person goes there in the tree of a conversation.
    Entry {
        thread_id: ThreadId,
        entry: String,
        /// Whether what is left behind is told in short, and what that is to look at.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        summarised: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// What the entry is called from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
}

/// What an extension shows for as long as it likes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The extension's name for it: the same name takes its place.
    pub key: String,
    pub place: ShownPlace,
    /// One for a status, more for the others: text with sequences of styles (SGR) and no others.
    pub lines: Vec<String>,
}

/// Where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownPlace {
    Status,
    /// Below the title.
    Header,
    AboveDraft,
    BelowDraft,
    /// Below everything of the draft.
    Footer,
    /// The name of the terminal's window.
    Title,
    /// What the thread does, while it waits for a model.
    Working,
}
