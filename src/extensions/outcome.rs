//! What comes of loading files and asking handlers.

use super::place::Problem;
use crate::domain::{Messages, StageValue};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// A line that an extension wrote: `console`, or `process.stdout`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// `debug`, `info`, `warn`, `error` or `output`.
    pub level: String,
    pub text: String,
}

/// What an extension asked for that a session would do: a notice, a status, a message, another model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Said {
    pub name: String,
    pub arguments: serde_json::Value,
}

/// What came of loading a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loaded {
    pub path: PathBuf,
    /// Milliseconds.
    pub took: f64,
    /// What it registered, or why it did not load.
    pub result: Result<Registered, Problem>,
    /// What it wrote while it loaded.
    pub lines: Vec<Line>,
    /// Errors in work that nobody waits for.
    pub reports: Vec<Problem>,
}

/// What an extension registered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Registered {
    /// How many handlers each event has.
    pub events: BTreeMap<String, u64>,
    pub tools: Vec<String>,
    pub commands: Vec<String>,
    pub shortcuts: Vec<String>,
    pub flags: Vec<String>,
    pub providers: Vec<String>,
    /// For messages and entries of the log.
    pub renderers: Vec<String>,
}

/// What one handler made of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    pub path: PathBuf,
    /// Which of the handlers of its file, from 0.
    pub index: u64,
    /// Milliseconds.
    pub took: f64,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The event's value, where the handler changed it in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The conversation as it is now, where the event was one and the handler answered or left another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Arc<Messages>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

impl Answer {
    /// The answer of this handler, as long as it has said nothing.
    pub(super) fn of(path: PathBuf, index: u64) -> Self {
        Self { path, index, took: 0.0, result: None, value: None, messages: None, error: None }
    }

    /// Whether the event goes on as if the handler were not there.
    #[must_use]
    pub fn has_no_effect(&self) -> bool {
        self.result.is_none() && self.value.is_none() && self.messages.is_none() && self.error.is_none()
    }
}

/// Everything that is registered now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Handlers of each event, in the order in which they are to be asked.
    pub handlers: Vec<Registration>,
    /// As the JavaScript side describes them (`toolDescriptions`, `commandDescriptions`, `shortcutDescriptions`).
    pub tools: Vec<Value>,
    pub commands: Vec<Value>,
    pub shortcuts: Vec<Value>,
    /// With their types (`flagDescriptions`).
    pub flags: Vec<Value>,
    /// What extensions draw of a conversation (`drawingDescriptions`).
    pub drawings: Vec<Value>,
    /// Who completes drafts (`completionDescriptions`).
    pub completions: Vec<Value>,
}

/// What an engine is asked to do.
#[derive(Debug)]
pub enum Ask {
    /// A handler, about an event with these fields.
    Handler { handler: Registration, payload: StageValue },
    /// A command, with what stands behind its name.
    Command { name: String, arguments: String },
    /// A function of the JavaScript side by its name in `HOST.md`, with its arguments.
    Function { name: &'static str, arguments: Vec<Value> },
    /// A tool. What it has made so far goes to `said`.
    Tool { name: String, call_id: String, arguments: Value, said: UnboundedSender<Value> },
    /// The provider of the extension in this file, for a model. What it sends back goes to `said`, and what it came to is the answer.
    Stream { path: PathBuf, arguments: Value, said: UnboundedSender<Value> },
    /// The runner that an answer to `user_bash` named, for the command in these options. What it prints goes to `said`.
    Runner { path: PathBuf, number: u64, options: Value, said: UnboundedSender<Value> },
}

/// What extensions wrote, reported and wished for while something was asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// What they asked a session for.
    pub said: Vec<Said>,
    pub lines: Vec<Line>,
    pub reports: Vec<Problem>,
}

/// What all handlers made of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Emitted {
    pub answers: Vec<Answer>,
    pub told: Told,
}

/// A handler that is registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    pub event: String,
    pub path: PathBuf,
    /// As in [`Answer`].
    pub index: u64,
}
