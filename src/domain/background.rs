//! Commands that run beside a thread's conversation: servers, watchers, long builds.

use super::event::Timestamp;
use super::id::CallId;
use serde::{Deserialize, Serialize};

/// As many may run at once in a thread.
pub const MOST_COMMANDS: usize = 8;

/// As many that have ended are remembered, the newest.
pub const MOST_ENDED: usize = 4;

/// A command that a call has started and that goes on beside the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundCommand {
    /// `command-1`, counted within the thread.
    pub name: CallId,
    pub command: String,
    pub started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<CommandEnd>,
}

/// How a command came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    pub at: Timestamp,
    /// In words, where it did not end well by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl BackgroundCommand {
    #[must_use]
    pub fn runs(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether it ended without having been asked to.
    #[must_use]
    pub fn was_not_stopped(&self) -> bool {
        self.ended.as_ref().is_some_and(|end| end.error.as_ref().is_none_or(|error| !error.contains("stopped")))
    }

    /// The command in one line.
    #[must_use]
    pub fn line(&self) -> String {
        self.command.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// How it stands, in a few words.
    #[must_use]
    pub fn stands(&self) -> String {
        match &self.ended {
            None => "runs".to_owned(),
            Some(CommandEnd { error: None, .. }) => "ended well".to_owned(),
            Some(CommandEnd { error: Some(error), .. }) => format!("ended: {}", error.trim_matches(['(', ')', '.'])),
        }
    }
}

/// Letters of a command that lists of threads show.
const LISTED: usize = 120;

/// The commands that run beside a conversation, as lists of threads tell of them: `command-1 npm run dev`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Commands(Vec<String>);

impl Commands {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// `name` runs this command.
    pub fn started(&mut self, name: &CallId, command: &str) {
        let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
        self.0.push(format!("{} {}", name.0, line.chars().take(LISTED).collect::<String>()));
    }

    /// `name` has ended.
    pub fn ended(&mut self, name: &CallId) {
        self.0.retain(|line| line.split(' ').next() != Some(name.0.as_str()));
    }

    /// As the registry keeps them: one a line.
    #[must_use]
    pub fn words(&self) -> String {
        self.0.join("\n")
    }

    #[must_use]
    pub fn from_words(words: &str) -> Self {
        Self(words.lines().map(str::to_owned).collect())
    }
}

/// What is asked of a thread's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandsAsked {
    /// How they stand now.
    Now,
    /// The same once this one has ended.
    Over(CallId),
    /// That this one ends, and how they stand then.
    Stop(CallId),
}
