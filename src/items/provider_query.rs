//! The command of a context provider, as the metadata of its knowledge item has it. Planning and checking read it here, so
//! that what is told of it is what happens.

use serde_json::{Map, Value};
use std::time::Duration;

/// How long a command may take when its file says nothing, at least and at most, in seconds.
const USUAL_SECONDS: f64 = 5.0;
const LEAST_SECONDS: f64 = 0.1;
const MOST_SECONDS: f64 = 30.0;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryTarget {
    /// A program and its arguments. Nothing in them is filled in.
    Command(Vec<String>),
    /// A resource of an MCP server, which is an item.
    Resource { server: String, uri: String },
}

impl QueryTarget {
    /// The keys of metadata that ask something.
    pub const KEYS: [&str; 2] = ["command", "resource"];

    /// What `metadata` asks, also where it is not asked as it should be; none where it asks nothing.
    #[must_use]
    pub fn of(metadata: &Map<String, Value>) -> Option<Self> {
        let [command, resource] = Self::KEYS;
        let given = |key: &str| metadata.get(key).filter(|value| !value.is_null());
        if let Some(command) = given(command) {
            let words = command.as_array().into_iter().flatten().filter_map(Value::as_str);
            return Some(Self::Command(words.map(str::to_owned).collect()));
        }
        // What is no mapping is a word of a person's own.
        let resource = given(resource).filter(|resource| resource.is_object())?;
        let word = |key: &str| resource.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let server = word("server");
        let server = if server.contains('/') { server } else { format!("mcp/servers/{server}") };
        Some(Self::Resource { server, uri: word("uri") })
    }

    /// As words, by which it is known again.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Command(words) => words.clone(),
            Self::Resource { server, uri } => vec![format!("resource:{server}"), uri.clone()],
        }
    }
}

/// What a context provider has asked to know how something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderQuery {
    pub target: QueryTarget,
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

impl ProviderQuery {
    /// Reads what `metadata` asks, with all that is wrong with it; none where it asks nothing, or nothing that can be asked.
    #[must_use]
    pub fn read(metadata: &Map<String, Value>) -> (Option<Self>, Vec<BadEntry>) {
        let Some(target) = QueryTarget::of(metadata) else { return (None, Vec::new()) };
        let mut wrong = Vec::new();
        let mut refused = |key: &'static str, message: String, remedy: &'static str, breaks: bool| {
            wrong.push(BadEntry { key, message, remedy, breaks });
            None
        };
        let given = |key: &str| metadata.get(key).filter(|value| !value.is_null());
        let target = match target {
            QueryTarget::Command(_) if given("resource").is_some_and(Value::is_object) => {
                let message = "it has a `command` and a `resource`".to_owned();
                refused("resource", message, "leave one of them out", true)
            }
            QueryTarget::Command(_) => {
                let command = given("command");
                let is_empty = command.and_then(Value::as_array).is_some_and(Vec::is_empty);
                if let Some(words) = command.and_then(texts).filter(|words| !words.is_empty()) {
                    Some(QueryTarget::Command(words))
                } else {
                    let what = if is_empty { "empty" } else { "not a list of texts" };
                    let remedy = "write command: [program, argument]";
                    refused("command", format!("its `command` is {what}"), remedy, !is_empty)
                }
            }
            QueryTarget::Resource { ref server, ref uri } if server.ends_with('/') || uri.is_empty() => {
                let message = "its `resource` names no server, or no uri".to_owned();
                refused("resource", message, "write resource: {server: NAME, uri: \"file:///x\"}", true)
            }
            QueryTarget::Resource { .. } => Some(target),
        };
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
        let read = target.zip(inputs).map(|(target, inputs)| Self { target, inputs, deadline, optional });
        (read, wrong)
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|part| part.as_str().map(str::to_owned)).collect()
}
