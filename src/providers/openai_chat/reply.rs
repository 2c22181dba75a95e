//! The event stream of a Chat Completions answer, read without copying more than its text.
//!
//! Servers differ in detail: thinking comes under three names or within the content, call indexes and ids may be missing, a
//! whole call may come in one piece, its name behind its arguments, and `stop` may stand where calls were made. The end marker
//! is `[DONE]`; where a server leaves it out, a finish reason ends the answer as well.

use crate::domain::event::{CallError, StopReason};
use crate::domain::{Tokens, Usage};
use crate::ports::ProviderEvent;
use crate::providers::answer::{Events, Reader, parsed};
use crate::providers::calls::Calls;
use crate::providers::error_body::{self, ErrorDetail};
use crate::providers::http;
use crate::providers::signature::{Maker, mark};
use crate::providers::sse::SseEvent;
use crate::providers::wire::{Text, or_default};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What ends the stream.
const DONE: &str = "[DONE]";

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice<'a> {
    index: u32,
    #[serde(borrow, deserialize_with = "or_default")]
    delta: Delta<'a>,
    #[serde(borrow)]
    finish_reason: Text<'a>,
    /// Where some servers tell of it.
    usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Text<'a>,
    #[serde(borrow)]
    reasoning: Text<'a>,
    #[serde(borrow)]
    reasoning_text: Text<'a>,
    #[serde(borrow)]
    refusal: Text<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    tool_calls: Vec<CallDelta<'a>>,
}

/// A piece of a content that is a list.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallDelta<'a> {
    index: Option<u32>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    function: FunctionDelta<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionDelta<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    #[serde(deserialize_with = "or_default")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    completion_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    prompt_tokens_details: PromptDetails,
    #[serde(deserialize_with = "or_default")]
    completion_tokens_details: CompletionDetails,
    /// Tokens of the prompt that were in the cache, as two vendors tell them.
    #[serde(deserialize_with = "or_default")]
    prompt_cache_hit_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    cached_tokens: u64,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "or_default")]
    cached_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    cache_write_tokens: u64,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    #[serde(deserialize_with = "or_default")]
    reasoning_tokens: u64,
}

/// How the wire tells one call from another.
#[derive(Debug)]
struct Key {
    wire_index: u32,
    /// The server's id; empty where it gave none.
    id: String,
}

/// A call whose name has not come.
#[derive(Debug)]
struct Unnamed {
    key: Key,
    arguments: String,
}

/// Reads a Chat Completions answer.
#[derive(Debug)]
pub(super) struct ChatReader {
    secrets: Vec<SecretString>,
    calls: Calls<Key>,
    unnamed: Vec<Unnamed>,
    refused: bool,
    /// The field of the thought that is being told.
    thinks_in: Option<&'static str>,
    finish: Option<String>,
}

impl ChatReader {
    /// `earlier` calls stand before this answer.
    pub(super) fn new(secrets: Vec<SecretString>, earlier: usize) -> Self {
        Self {
            secrets,
            calls: Calls::new("call_", earlier),
            unnamed: Vec::new(),
            refused: false,
            thinks_in: None,
            finish: None,
        }
    }

    fn grow(&mut self, delta: Delta<'_>, events: &mut Events) {
        let told = [
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
            ("reasoning_text", delta.reasoning_text),
        ];
        // Some servers fill several with the same text.
        if let Some((field, thought)) = told.into_iter().find(|(_, thought)| !thought.is_empty()) {
            self.thinks_in = Some(field);
            events.push_back(ProviderEvent::Thinking(thought.into_string()));
        }
        let before = events.len();
        self.say(delta.content, delta.refusal, delta.tool_calls, events);
        if let Some(field) = self.thinks_in.filter(|_| events.len() > before) {
            self.thinks_in = None;
            events.insert(before, signed(field));
        }
    }

    fn say(&mut self, content: Option<&RawValue>, refusal: Text<'_>, calls: Vec<CallDelta<'_>>, events: &mut Events) {
        if let Some(content) = content {
            said(content, events);
        }
        if !refusal.is_empty() {
            self.refused = true;
            events.push_back(ProviderEvent::Text(refusal.into_string()));
        }
        for (position, call) in calls.into_iter().enumerate() {
            self.grow_call(position, &call, events);
        }
    }

    fn grow_call(&mut self, position: usize, delta: &CallDelta<'_>, events: &mut Events) {
        let wire_index = delta.index.unwrap_or_else(|| u32::try_from(position).unwrap_or(u32::MAX));
        let (id, name) = (delta.id.as_str(), delta.function.name.as_str());
        let known = self.calls.find(|call| {
            // Another id and a name under the same index are another call: some servers number every call 0. Another id alone is
            // not: some give each piece its own.
            call.wire_index == wire_index && (id.is_empty() || name.is_empty() || call.id == id)
        });
        // So is another name where neither was given: then each call comes whole, and one after the other.
        let nameless = delta.index.is_none() && id.is_empty();
        let whole = |number: &usize| nameless && !name.is_empty() && self.calls.has_grown(*number);
        let arguments = written(delta.function.arguments);
        if let Some(number) = known.filter(|number| !whole(number)) {
            return self.calls.grow(number, arguments, events);
        }
        let held = self.unnamed.iter().position(|held| held.key.wire_index == wire_index);
        let mut held = match held {
            Some(at) => self.unnamed.swap_remove(at),
            None => Unnamed { key: Key { wire_index, id: String::new() }, arguments: String::new() },
        };
        held.arguments.push_str(&arguments);
        if held.key.id.is_empty() {
            id.clone_into(&mut held.key.id);
        }
        if name.is_empty() {
            self.unnamed.push(held);
        } else {
            self.begin(held, name, events);
        }
    }

    fn begin(&mut self, held: Unnamed, name: &str, events: &mut Events) {
        let id = held.key.id.clone();
        let number = self.calls.begin(held.key, &id, name.to_owned(), events);
        self.calls.grow(number, held.arguments, events);
    }

    fn finish(&mut self, events: &mut Events) {
        let Some(finish) = self.finish.take() else {
            let detail = "the provider ended the stream without a finish reason".to_owned();
            events.push_back(ProviderEvent::Finished(StopReason::Truncated { detail }));
            return;
        };
        events.extend(self.thinks_in.take().map(signed));
        for held in std::mem::take(&mut self.unnamed) {
            self.begin(held, "", events);
        }
        for number in 0..self.calls.count() {
            self.calls.end(number, String::new(), events);
        }
        events.push_back(ProviderEvent::Finished(match finish.as_str() {
            "stop" if self.refused => StopReason::Refusal,
            "stop" if !self.calls.is_empty() => StopReason::ToolUse,
            "stop" => StopReason::EndTurn,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            // Failures within an answer, of several servers.
            "error" | "network_error" | "insufficient_system_resource" => {
                StopReason::Truncated { detail: format!("the provider ended the answer with `{finish}`") }
            }
            other => StopReason::Other { word: other.to_owned() },
        }));
    }

    fn error(&self, error: &RawValue) -> CallError {
        let told = match serde_json::from_str::<serde_json::Value>(error.get()) {
            Ok(serde_json::Value::String(message)) => ErrorDetail { message, ..ErrorDetail::default() },
            Ok(value) => error_body::from_json(&value).unwrap_or_default(),
            Err(_) => ErrorDetail::default(),
        };
        http::streamed_error(&told, &self.secrets)
    }
}

impl Reader for ChatReader {
    const END_MARKER: &'static str = DONE;

    fn read(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), CallError> {
        if event.data.trim() == DONE {
            self.finish(events);
            return Ok(());
        }
        let chunk: Chunk<'_> = parsed(event)?;
        if let Some(error) = chunk.error.filter(|error| error.get() != "null") {
            return Err(self.error(error));
        }
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.grow(choice.delta, events);
            if !choice.finish_reason.is_empty() {
                self.finish = Some(choice.finish_reason.into_string());
            }
            if let Some(usage) = choice.usage {
                events.push_back(ProviderEvent::Usage(usage.into()));
            }
        }
        if let Some(usage) = chunk.usage {
            events.push_back(ProviderEvent::Usage(usage.into()));
        }
        Ok(())
    }

    fn end(&mut self, events: &mut Events) {
        if self.finish.is_some() {
            self.finish(events);
        }
    }
}

impl From<WireUsage> for Usage {
    /// The wire counts cached tokens within the prompt; here the classes do not overlap.
    fn from(wire: WireUsage) -> Self {
        let told = [wire.prompt_tokens_details.cached_tokens, wire.prompt_cache_hit_tokens, wire.cached_tokens];
        let cached = told.into_iter().max().unwrap_or_default().min(wire.prompt_tokens);
        let written = wire.prompt_tokens_details.cache_write_tokens.min(wire.prompt_tokens - cached);
        Self {
            input: Tokens(wire.prompt_tokens - cached - written),
            output: Tokens(wire.completion_tokens),
            cache_read: Tokens(cached),
            cache_write: Tokens(written),
            reasoning: Tokens(wire.completion_tokens_details.reasoning_tokens.min(wire.completion_tokens)),
        }
    }
}

/// That a thought told in `field` is over.
fn signed(field: &str) -> ProviderEvent {
    ProviderEvent::ThinkingSignature(mark(Maker::Chat, field))
}

/// A content: a text, or from some servers a list of texts and thoughts.
fn said(content: &RawValue, events: &mut Events) {
    let Some(pieces) = list(content) else {
        let text = text_of(content);
        if !text.is_empty() {
            events.push_back(ProviderEvent::Text(text));
        }
        return;
    };
    for Piece { text, thinking } in pieces.into_iter().filter_map(|piece| serde_json::from_str(piece.get()).ok()) {
        let thought = thinking.map_or_else(String::new, |thinking| match list(thinking) {
            Some(thoughts) => {
                thoughts.into_iter().filter_map(|one| serde_json::from_str(one.get()).ok()).map(told).collect()
            }
            None => text_of(thinking),
        });
        if !thought.is_empty() {
            events.push_back(ProviderEvent::Thinking(thought));
        }
        if !text.is_empty() {
            events.push_back(ProviderEvent::Text(text.into_string()));
        }
    }
}

/// The items of a list, each for itself: one that is something else costs no other.
fn list(json: &RawValue) -> Option<Vec<&RawValue>> {
    json.get().starts_with('[').then(|| serde_json::from_str(json.get()).unwrap_or_default())
}

fn told(piece: Piece<'_>) -> String {
    piece.text.into_string()
}

fn text_of(json: &RawValue) -> String {
    serde_json::from_str::<Text<'_>>(json.get()).map(Text::into_string).unwrap_or_default()
}

/// Arguments as JSON: usually a text that holds a piece of it, from some servers the object itself.
fn written(arguments: Option<&RawValue>) -> String {
    let json = arguments.map_or("null", RawValue::get);
    if json.starts_with('{') {
        return json.to_owned();
    }
    serde_json::from_str::<Text<'_>>(json).map(Text::into_string).unwrap_or_default()
}

#[cfg(test)]
mod tests;
