//! The events of a recorded thread, as handlers of extensions would get them again.
//!
//! They are made of what was said, so a prompt is offered as it was joined, and a request's messages as they came to be without
//! handlers of its own.

use super::entries::Entries;
use super::extension_answers::value_of;
use super::pi_names;
use super::pipeline::in_lines;
use super::tools_of_pi;
use crate::context::diff::unified;
use crate::domain::{Stage, ThreadId};
use crate::extensions::Answer;
use crate::pipeline::{Chain, Merged};
use crate::ports::StoreError;
use crate::store::Layout;
use serde_json::{Value, json};
use std::collections::HashMap;

/// An event of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    pub stage: Stage,
    /// Where it was: `prompt 1`, `request 2`, `call ID`.
    pub of: String,
    pub event: Value,
}

/// The events of a thread that handlers can change something at, in order.
///
/// # Errors
/// [`StoreError`] where the log cannot be read.
pub fn events(layout: &Layout, id: &ThreadId) -> Result<Vec<Replayed>, StoreError> {
    let mut entries = Entries::new(layout.clone(), id.clone());
    entries.follow()?;
    let system = entries.system().unwrap_or_default().to_owned();
    let (mut events, mut messages) = (Vec::new(), Vec::<Value>::new());
    let (mut prompts, mut requests) = (0, 0);
    // What each call was made with, by its id.
    let mut inputs = HashMap::<String, Value>::new();
    for entry in entries.all() {
        // A message of an extension is one of the conversation, too.
        let message = match (entry.get("message"), entry["type"].as_str()) {
            (Some(message), _) => message.clone(),
            (None, Some("custom_message")) => {
                json!({"role": "custom", "customType": entry["customType"], "content": entry["content"],
                    "display": entry["display"], "details": entry["details"]})
            }
            (None, _) => continue,
        };
        let mut offer = |stage: Stage, of: String, event: Value| events.push(Replayed { stage, of, event });
        match message["role"].as_str() {
            Some("user") => {
                prompts += 1;
                let (of, text) = (format!("prompt {prompts}"), text_of(&message));
                offer(Stage::Input, of.clone(), json!({"text": text, "images": [], "source": "interactive"}));
                offer(Stage::BeforeAgentStart, of, json!({"prompt": text, "images": [], "systemPrompt": system}));
            }
            Some("assistant") => {
                requests += 1;
                offer(Stage::Context, format!("request {requests}"), json!({"messages": messages}));
                let mut told = message.clone();
                pi_names::name_tools(&mut told);
                offer(Stage::MessageEnd, format!("answer {requests}"), json!({"message": told}));
                let calls = message["content"].as_array().into_iter().flatten();
                for call in calls.filter(|block| block["type"] == "toolCall") {
                    let id = call["id"].as_str().unwrap_or_default();
                    inputs.insert(id.to_owned(), call["arguments"].clone());
                    let of = format!("call {id}");
                    let event = json!({"toolName": call["name"], "toolCallId": call["id"], "input": call["arguments"]});
                    offer(Stage::ToolCall, of, tools_of_pi::named(event));
                }
            }
            Some("toolResult") => {
                let id = message["toolCallId"].as_str().unwrap_or_default();
                let input = inputs.remove(id).unwrap_or_else(|| json!({}));
                let event = json!({"toolName": message["toolName"], "toolCallId": id, "input": input,
                    "content": message["content"], "isError": message["isError"], "details": message["details"]});
                offer(Stage::ToolResult, format!("call {id}"), event);
            }
            Some(_) | None => {}
        }
        messages.push(message);
    }
    Ok(events)
}

fn text_of(message: &Value) -> String {
    if let Some(text) = message["content"].as_str() {
        return text.to_owned();
    }
    let parts = message["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// What an answer would make of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// `no effect`, `changed`, `handled` or `blocked`.
    pub word: &'static str,
    /// What changed, as a unified difference.
    pub difference: Option<String>,
    /// Why it is blocked.
    pub reason: Option<String>,
}

/// What an answer would make of an event.
///
/// # Errors
/// Why the answer does not fit the event.
pub fn effect(replayed: &Replayed, answer: Answer, by: &str) -> Result<Effect, String> {
    let mut chain = Chain::of(replayed.stage, &replayed.event)?;
    let before = chain.event();
    let word = match chain.merge(&value_of(replayed.stage, answer), by)? {
        Merged::Unchanged => return Ok(Effect { word: "no effect", ..Effect::default() }),
        Merged::Changed => "changed",
        Merged::Handled => "handled",
        Merged::Blocked => "blocked",
    };
    let after = chain.event();
    let difference = (before != after).then(|| unified(&in_lines(&before.json()), &in_lines(&after.json())));
    let reason = if let Chain::ToolCall { blocked, .. } = chain { blocked } else { None };
    Ok(Effect { word, difference, reason })
}
