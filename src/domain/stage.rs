//! The stages of the pipeline, and what their handlers can do.

use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// A stage of the pipeline, in the order in which a prompt meets them. Their names are those of the events that
/// extensions of pi listen to.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    EnumIter,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Stage {
    SessionStart,
    /// What a person typed, before anything is made of it.
    Input,
    /// `/skill:NAME` becomes the skill's text.
    Skill,
    /// `/NAME` becomes the template's text.
    Template,
    /// Once for each prompt: messages and system text beside it.
    BeforeAgentStart,
    AgentStart,
    TurnStart,
    /// Before each call: the messages of the conversation.
    Context,
    /// Before each call: the headers with which it goes.
    BeforeProviderHeaders,
    /// Before each call: the request in its provider's form.
    BeforeProviderRequest,
    MessageStart,
    /// More of an answer has arrived.
    MessageUpdate,
    /// An answer is whole, before it is kept. Of other messages whoever watches is told when they are.
    MessageEnd,
    /// Before a tool runs.
    ToolCall,
    ToolExecutionStart,
    /// It has printed something.
    ToolExecutionUpdate,
    /// After it has run.
    ToolResult,
    ToolExecutionEnd,
    TurnEnd,
    AgentEnd,
    /// Whoever was told that the run is over has answered.
    AgentSettled,
    /// Before older messages give way to a summary.
    SessionBeforeCompact,
    SessionCompact,
    SessionCompactFailed,
    ModelSelect,
    /// The model thinks more or less than it did.
    ThinkingLevelSelect,
    /// The thread is called otherwise.
    SessionInfoChanged,
    /// A provider begins to answer.
    AfterProviderResponse,
    /// What waits to be sent is otherwise.
    QueueUpdate,
    SessionShutdown,
}

/// What handlers of a stage can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Each gets what the one before it made.
    Chain,
    /// The first that objects ends it.
    FirstBlocks,
    /// The answer of the last one counts as a whole; the first that cancels ends it.
    LastWins,
    /// Nobody minds what it answers.
    Observe,
    /// Not for handlers: a fixed step of the program.
    Fixed,
}

/// What happens where a handler fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The stage goes on with the value it had.
    Continue,
    /// What it guards is not done.
    Block,
}

impl Stage {
    /// Every stage, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its name in files and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The stage of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// How the answers of its handlers become one.
    #[must_use]
    pub fn merge(self) -> Merge {
        match self {
            Self::Input
            | Self::BeforeAgentStart
            | Self::Context
            | Self::BeforeProviderHeaders
            | Self::BeforeProviderRequest
            | Self::MessageEnd
            | Self::ToolResult => Merge::Chain,
            Self::ToolCall => Merge::FirstBlocks,
            Self::SessionBeforeCompact => Merge::LastWins,
            Self::Skill | Self::Template => Merge::Fixed,
            Self::SessionStart
            | Self::AgentStart
            | Self::TurnStart
            | Self::MessageStart
            | Self::MessageUpdate
            | Self::ToolExecutionStart
            | Self::ToolExecutionUpdate
            | Self::ToolExecutionEnd
            | Self::TurnEnd
            | Self::AgentEnd
            | Self::AgentSettled
            | Self::SessionCompact
            | Self::SessionCompactFailed
            | Self::ModelSelect
            | Self::ThinkingLevelSelect
            | Self::SessionInfoChanged
            | Self::AfterProviderResponse
            | Self::QueueUpdate
            | Self::SessionShutdown => Merge::Observe,
        }
    }

    /// What a failure of a handler means there.
    #[must_use]
    pub fn on_error(self) -> OnError {
        if self == Self::ToolCall { OnError::Block } else { OnError::Continue }
    }

    /// Whether the pipeline can stand still there.
    #[must_use]
    pub fn pauses(self) -> bool {
        // Values of headers are kept nowhere, so there is nothing to be looked at.
        !matches!(self.merge(), Merge::Fixed | Merge::Observe) && self != Self::BeforeProviderHeaders
    }

    /// What is on its way there, for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Input => "What you typed, before anything is made of it.",
            Self::BeforeAgentStart => "Once for each prompt: messages that go along with it, and the system text.",
            Self::Context => "Before each call of the model: the messages of the conversation.",
            Self::BeforeProviderHeaders => "Before each call of the model: the headers with which it goes.",
            Self::BeforeProviderRequest => "Before each call of the model: the request in its provider's form.",
            Self::MessageEnd => "An answer has arrived: what is kept of it. Of other messages handlers are only told.",
            Self::ToolCall => "Before a tool runs: its arguments.",
            Self::ToolResult => "After a tool has run: its result.",
            Self::SessionBeforeCompact => "Before older messages give way to a summary.",
            Self::Skill | Self::Template => "The skill or template that a prompt names.",
            Self::SessionStart
            | Self::AgentStart
            | Self::TurnStart
            | Self::MessageStart
            | Self::MessageUpdate
            | Self::ToolExecutionStart
            | Self::ToolExecutionUpdate
            | Self::ToolExecutionEnd
            | Self::TurnEnd
            | Self::AgentEnd
            | Self::AgentSettled
            | Self::SessionCompact
            | Self::SessionCompactFailed
            | Self::ModelSelect
            | Self::ThinkingLevelSelect
            | Self::SessionInfoChanged
            | Self::AfterProviderResponse
            | Self::QueueUpdate
            | Self::SessionShutdown => "Something that happened: nobody waits for who is told of it.",
        }
    }

    /// Whether it comes many times while something arrives: too often for a process each time.
    #[must_use]
    pub fn streams(self) -> bool {
        matches!(self, Self::MessageUpdate | Self::ToolExecutionUpdate)
    }

    /// Whether handlers can be written for it.
    #[must_use]
    pub fn takes_handlers(self) -> bool {
        self.merge() != Merge::Fixed
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Where a handler is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandlerPlace {
    /// The file, as told to people.
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl fmt::Display for HandlerPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(formatter, ":{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_those_of_the_enum() {
        for stage in Stage::all() {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.name());
            assert_eq!(Stage::from_name(stage.name()), Some(stage));
        }
        assert_eq!(Stage::from_name("imput"), None);
    }

    #[test]
    fn only_the_guard_of_tools_fails_closed() {
        let closed: Vec<Stage> = Stage::all().filter(|stage| stage.on_error() == OnError::Block).collect();
        assert_eq!(closed, [Stage::ToolCall]);
    }
}
