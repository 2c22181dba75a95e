//! Commands that run beside a thread's conversation: servers, watchers, long builds.

use super::event::{Timestamp, ToolEvent};
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
    /// When, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// In words, where it did not end well by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl BackgroundCommand {
    #[must_use]
    pub fn runs(&self) -> bool {
        self.ended.is_none()
    }

    /// The command in one line.
    #[must_use]
    pub fn line(&self) -> String {
        one_line(&self.command)
    }

    /// Keeps `commands` as this event leaves them.
    pub fn follow(commands: &mut Vec<Self>, event: &ToolEvent, at: Timestamp) {
        if let ToolEvent::CommandStarted { call_id, command, .. } = event {
            let (name, command) = (call_id.clone(), command.clone());
            commands.push(Self { name, command, started: at, ended: None });
        } else if let ToolEvent::CommandEnded { call_id, error, .. } = event
            && let Some(command) = commands.iter_mut().find(|command| command.name == *call_id && command.runs())
        {
            command.ended = Some(CommandEnd { at: Some(at), error: error.clone() });
        }
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

fn one_line(command: &str) -> String {
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Letters of a command that lists of threads show.
const LISTED: usize = 120;

/// The commands that run beside a conversation, as lists of threads tell of them: `command-1 npm run dev`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunningCommands(Vec<String>);

impl RunningCommands {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Keeps them as this event leaves them.
    pub fn hear(&mut self, event: &ToolEvent) {
        if let ToolEvent::CommandStarted { call_id, command, .. } = event {
            let line: String = one_line(command).chars().take(LISTED).collect();
            self.0.push(format!("{} {line}", call_id.0));
        } else if let ToolEvent::CommandEnded { call_id, .. } = event {
            self.0.retain(|line| line.split(' ').next() != Some(call_id.0.as_str()));
        }
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
