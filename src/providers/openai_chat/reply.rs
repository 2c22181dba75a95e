//! The event stream of a Chat Completions answer, read without copying more than its text.
//!
//! Servers differ in detail: thinking comes under two names, call indexes and ids may be missing, a whole call may
//! come in one piece, and `stop` may stand where calls were made. The end marker is `[DONE]` everywhere.

use crate::domain::event::{CallError, StopReason};
use crate::domain::{Tokens, Usage};
use crate::ports::ProviderEvent;
use crate::providers::answer::{Events, Reader, parsed};
use crate::providers::calls::Calls;
use crate::providers::error_body::{self, ErrorDetail};
use crate::providers::http;
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
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    reasoning_content: Text<'a>,
    #[serde(borrow)]
    reasoning: Text<'a>,
    #[serde(borrow)]
    refusal: Text<'a>,
    #[serde(borrow, deserialize_with = "or_default")]
    tool_calls: Vec<CallDelta<'a>>,
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
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "or_default")]
    cached_tokens: u64,
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

/// Reads a Chat Completions answer.
#[derive(Debug)]
pub(super) struct ChatReader {
    key: Option<SecretString>,
    calls: Calls<Key>,
    refused: bool,
    finish: Option<String>,
}

impl ChatReader {
    /// `earlier` calls stand before this answer.
    pub(super) fn new(key: Option<SecretString>, earlier: usize) -> Self {
        Self { key, calls: Calls::new("call_", earlier), refused: false, finish: None }
    }

    fn grow(&mut self, delta: Delta<'_>, events: &mut Events) {
        for thought in [delta.reasoning_content, delta.reasoning] {
            // Some servers fill both with the same text.
            if !thought.is_empty() {
                events.push_back(ProviderEvent::Thinking(thought.into_string()));
                break;
            }
        }
        if !delta.content.is_empty() {
            events.push_back(ProviderEvent::Text(delta.content.into_string()));
        }
        if !delta.refusal.is_empty() {
            self.refused = true;
            events.push_back(ProviderEvent::Text(delta.refusal.into_string()));
        }
        for (position, call) in delta.tool_calls.into_iter().enumerate() {
            self.grow_call(position, &call, events);
        }
    }

    fn grow_call(&mut self, position: usize, delta: &CallDelta<'_>, events: &mut Events) {
        let wire_index = delta.index.unwrap_or_else(|| u32::try_from(position).unwrap_or(u32::MAX));
        let known = self.calls.find(|call| {
            // Another id under the same index is another call: some servers number every call 0.
            call.wire_index == wire_index && (delta.id.is_empty() || call.id == delta.id.as_str())
        });
        // So is another name where neither was given: then each call comes whole, and one after the other.
        let nameless = delta.index.is_none() && delta.id.is_empty();
        let whole = |number: &usize| nameless && !delta.function.name.is_empty() && self.calls.has_grown(*number);
        let number = known.filter(|number| !whole(number)).unwrap_or_else(|| {
            let id = delta.id.as_str();
            let tool = delta.function.name.as_str().to_owned();
            self.calls.begin(Key { wire_index, id: id.to_owned() }, id, tool, events)
        });
        self.calls.grow(number, written(delta.function.arguments), events);
    }

    fn finish(&mut self, events: &mut Events) {
        let Some(finish) = self.finish.take() else {
            let detail = "the provider ended the stream without a finish reason".to_owned();
            events.push_back(ProviderEvent::Finished(StopReason::Truncated { detail }));
            return;
        };
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
            other => StopReason::Other { word: other.to_owned() },
        }));
    }

    fn error(&self, error: &RawValue) -> CallError {
        let told = match serde_json::from_str::<serde_json::Value>(error.get()) {
            Ok(serde_json::Value::String(message)) => ErrorDetail { kind: String::new(), message },
            Ok(value) => error_body::from_json(&value).unwrap_or_default(),
            Err(_) => ErrorDetail::default(),
        };
        http::streamed_error(&told, self.key.as_ref())
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
        }
        if let Some(usage) = chunk.usage {
            events.push_back(ProviderEvent::Usage(usage.into()));
        }
        Ok(())
    }
}

impl From<WireUsage> for Usage {
    /// The wire counts cached tokens within the prompt; here the classes do not overlap.
    fn from(wire: WireUsage) -> Self {
        let cached = wire.prompt_tokens_details.cached_tokens.min(wire.prompt_tokens);
        Self {
            input: Tokens(wire.prompt_tokens - cached),
            output: Tokens(wire.completion_tokens),
            cache_read: Tokens(cached),
            cache_write: Tokens(0),
            reasoning: Tokens(wire.completion_tokens_details.reasoning_tokens.min(wire.completion_tokens)),
        }
    }
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
