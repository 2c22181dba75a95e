//! The command of a context provider, as the metadata of its knowledge item has it. Planning and checking read it here, so
//! that what is told of it is what happens.

use serde_json::{Map, Value};
use std::time::Duration;

/// How long a command may take when its file says nothing, at least and at most, in seconds.
const USUAL_SECONDS: f64 = 5.0;
const LEAST_SECONDS: f64 = 0.1;
const MOST_SECONDS: f64 = 30.0;

/// A command that says how something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCommand {
    /// The program and its arguments. Nothing in them is filled in.
    pub command: Vec<String>,
    /// Files of the project: while they stay as they are the command is not asked again.
    pub inputs: Vec<String>,
    pub deadline: Duration,
    /// Whether a call goes on when the command fails.
    pub optional: bool,
}

/// An entry that does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEntry {
    pub key: &'static str,
    pub message: String,
    pub remedy: &'static str,
    /// Whether the command cannot run at all; else it runs with the usual value.
    pub breaks: bool,
}

impl ProviderCommand {
    /// Reads the command in `metadata`, with all that is wrong with it; none where there is no command, or none that can run.
    #[must_use]
    pub fn read(metadata: &Map<String, Value>) -> (Option<Self>, Vec<BadEntry>) {
        let Some(command) = metadata.get("command").filter(|value| !value.is_null()) else { return (None, Vec::new()) };
        let mut wrong = Vec::new();
        let command = texts(command).filter(|command| !command.is_empty()).or_else(|| {
            let is_empty = command.as_array().is_some_and(Vec::is_empty);
            let what = if is_empty { "empty" } else { "not a list of texts" };
            let (message, remedy) = (format!("its `command` is {what}"), "write command: [program, argument]");
            wrong.push(BadEntry { key: "command", message, remedy, breaks: !is_empty });
            None
        });
        let inputs = metadata.get("inputs").filter(|value| !value.is_null()).map_or(Some(Vec::new()), texts);
        if inputs.is_none() {
            let (message, remedy) = ("its `inputs` is not a list of texts".to_owned(), "write inputs: [Cargo.lock]");
            wrong.push(BadEntry { key: "inputs", message, remedy, breaks: true });
        }
        let mut odd = |key: &'static str, value: &Value, counts: String, remedy: &'static str| {
            let message = format!("its `{key}` is {value}; levain uses {counts}");
            wrong.push(BadEntry { key, message, remedy, breaks: false });
        };
        let seconds = match metadata.get("timeout_seconds") {
            None => USUAL_SECONDS,
            Some(value) => {
                let given = value.as_f64().filter(|seconds| *seconds > 0.0);
                let held = given.map_or(USUAL_SECONDS, |seconds| seconds.clamp(LEAST_SECONDS, MOST_SECONDS));
                if given != Some(held) {
                    odd("timeout_seconds", value, held.to_string(), "write a number from 0.1 to 30");
                }
                held
            }
        };
        let optional = match metadata.get("optional") {
            None => true,
            Some(value) => value.as_bool().unwrap_or_else(|| {
                odd("optional", value, true.to_string(), "write true or false");
                true
            }),
        };
        let deadline = Duration::from_secs_f64(seconds);
        let read = command.zip(inputs).map(|(command, inputs)| Self { command, inputs, deadline, optional });
        (read, wrong)
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|part| part.as_str().map(str::to_owned)).collect()
}
