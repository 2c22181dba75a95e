//! What a scenario is: replies in order, each with a condition and steps.

use crate::domain::event::StopReason;
use crate::domain::{Block, Message, Role};
use crate::ports::CallRequest;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A scripted conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    pub name: String,
    pub description: String,
    /// Words a second where a step says nothing else; 0 is all at once.
    pub rate: u32,
    /// The first that fits is given.
    pub replies: Vec<Reply>,
}

/// Something that can be said, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub when: When,
    pub steps: Vec<Step>,
}

/// A condition on the newest message. All parts that are given must hold; texts are compared without regard to case
/// and to blanks around them, and of several texts one must fit. The empty condition always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    pub contains: Vec<String>,
    /// As `contains`, in all that came since the model spoke last: what surrounds a prompt counts too.
    pub anywhere: Vec<String>,
    pub equals: Vec<String>,
    pub starts_with: Vec<String>,
    /// How many messages the user has sent.
    pub turn: Option<u32>,
    /// The message brings the result of this tool.
    pub after_tool: Option<String>,
    /// How often the call has been tried, this time included.
    pub attempt: Option<u32>,
}

/// A step of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Text {
        text: String,
        rate: Option<u32>,
        echo: Echo,
    },
    Thinking {
        text: String,
        rate: Option<u32>,
    },
    ToolCall {
        name: String,
        input: serde_json::Value,
    },
    Pause(Duration),
    /// The call fails here.
    Error {
        status: Option<u16>,
        kind: String,
        message: String,
        retry_after: Option<Duration>,
    },
    /// The connection breaks here.
    Cut,
    /// Nothing more comes.
    Hang,
    /// The answer ends here, for another reason than the usual one.
    Stop(StopReason),
}

/// Whether `{input}` in a text becomes the user's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    Plain,
    Input,
}

/// Something in a scenario's text that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Counts from 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl Scenario {
    /// Reads a scenario. What cannot be read costs only its own reply.
    #[must_use]
    pub fn parse(text: &str) -> (Self, Vec<Problem>) {
        super::parse::parse(text)
    }

    /// The reply to `request`.
    #[must_use]
    pub fn reply(&self, request: &CallRequest) -> Option<&Reply> {
        let input = input(request).to_lowercase();
        self.replies.iter().find(|reply| reply.when.holds(input.trim(), request))
    }
}

impl When {
    fn holds(&self, input: &str, request: &CallRequest) -> bool {
        let one_of = |texts: &[String], fits: fn(&str, &str) -> bool| {
            texts.is_empty() || texts.iter().any(|text| fits(input, text.trim().to_lowercase().as_str()))
        };
        let anywhere = || {
            let whole = whole(request).to_lowercase();
            self.anywhere.iter().any(|text| whole.contains(text.trim().to_lowercase().as_str()))
        };
        one_of(&self.contains, |input, text| input.contains(text))
            && (self.anywhere.is_empty() || anywhere())
            && one_of(&self.equals, |input, text| input == text)
            && one_of(&self.starts_with, |input, text| input.starts_with(text))
            && self.turn.is_none_or(|turn| turn == user_messages(request))
            && self.attempt.is_none_or(|attempt| attempt == request.attempt)
            && self.after_tool.as_ref().is_none_or(|tool| brings_result_of(tool, request))
    }
}

/// What conditions look at: the last text of the newest message, or the tool results it brings.
pub(super) fn input(request: &CallRequest) -> Cow<'_, str> {
    let Some(newest) = request.messages.last() else { return Cow::Borrowed("") };
    let mut texts = newest.blocks.iter().rev();
    let last = texts.find_map(|block| if let Block::Text { text } = block { Some(text) } else { None });
    if let Some(text) = last {
        return Cow::Borrowed(text);
    }
    let outputs: Vec<&str> = newest
        .blocks
        .iter()
        .filter_map(|block| if let Block::ToolResult { output, .. } = block { Some(output.as_str()) } else { None })
        .collect();
    Cow::Owned(outputs.join("\n"))
}

/// All texts and tool results since the model spoke last.
fn whole(request: &CallRequest) -> String {
    let newest = request.messages.iter().rev().take_while(|message| message.role == Role::User);
    let blocks = newest.flat_map(|message| &message.blocks);
    let texts = blocks.filter_map(|block| match block {
        Block::Text { text } | Block::ToolResult { output: text, .. } => Some(text.as_str()),
        Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolCall(_)
        | Block::Image { .. }
        | Block::Attached(_)
        | Block::Custom(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Messages in which the user said something; those that only bring results do not count.
fn user_messages(request: &CallRequest) -> u32 {
    let said = |message: &Message| {
        message.role == Role::User && !message.blocks.iter().all(|block| matches!(block, Block::ToolResult { .. }))
    };
    u32::try_from(request.messages.iter().filter(|message| said(message)).count()).unwrap_or(u32::MAX)
}

fn brings_result_of(tool: &str, request: &CallRequest) -> bool {
    // What handlers put behind it is no message of anybody's.
    let is_added = |message: &&Arc<Message>| message.as_custom().is_some();
    let Some(newest) = request.messages.iter().rev().find(|message| !is_added(message)) else { return false };
    newest.blocks.iter().any(|block| {
        let Block::ToolResult { call_id, .. } = block else { return false };
        request
            .messages
            .iter()
            .flat_map(|message| message.calls())
            .any(|call| call.call_id == *call_id && call.tool == tool)
    })
}
