//! The event stream of a Responses answer. Items open, grow and close; the last event carries usage and outcome.

use crate::domain::event::{CallError, StopReason};
use crate::domain::{Tokens, Usage};
use crate::ports::ProviderEvent;
use crate::providers::answer::{Events, Reader, parsed};
use crate::providers::calls::Calls;
use crate::providers::error_body::ErrorDetail;
use crate::providers::http;
use crate::providers::signature::{Maker, mark};
use crate::providers::sse::SseEvent;
use crate::providers::wire::{Text, or_default};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// What must come back with the next request for a reasoning item to count, kept as the signature of its text.
#[derive(Serialize, Deserialize)]
pub(super) struct Sealed {
    #[serde(default)]
    pub(super) id: String,
    pub(super) encrypted_content: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    output_index: Option<u32>,
    summary_index: Option<u32>,
    #[serde(borrow)]
    delta: Text<'a>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    #[serde(borrow)]
    error: Option<WireError<'a>>,
    #[serde(borrow)]
    code: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Text<'a>,
    #[serde(borrow)]
    encrypted_content: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    usage: Option<WireUsage>,
    #[serde(borrow)]
    error: Option<WireError<'a>>,
    #[serde(borrow, deserialize_with = "or_default")]
    incomplete_details: Incomplete<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireError<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    code: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    #[serde(deserialize_with = "or_default")]
    input_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    output_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    input_tokens_details: InputDetails,
    #[serde(deserialize_with = "or_default")]
    output_tokens_details: OutputDetails,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    #[serde(deserialize_with = "or_default")]
    cached_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    cache_write_tokens: u64,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    #[serde(deserialize_with = "or_default")]
    reasoning_tokens: u64,
}

/// Reads a Responses answer.
#[derive(Debug)]
pub(super) struct ResponsesReader {
    secrets: Vec<SecretString>,
    /// By their index in the output.
    calls: Calls<u32>,
    refused: bool,
}

impl ResponsesReader {
    /// `earlier` calls stand before this answer.
    pub(super) fn new(secrets: Vec<SecretString>, earlier: usize) -> Self {
        Self { secrets, calls: Calls::new("call_", earlier), refused: false }
    }

    /// The number of the call at `output_index`, which is opened if it is new.
    fn call(&mut self, output_index: u32, item: &Item<'_>, events: &mut Events) -> usize {
        self.calls.find(|index| *index == output_index).unwrap_or_else(|| {
            let id = if item.call_id.is_empty() { &item.id } else { &item.call_id };
            self.calls.begin(output_index, id.as_str(), item.name.as_str().to_owned(), events)
        })
    }

    fn item_ended(&mut self, output_index: u32, item: Item<'_>, events: &mut Events) {
        match item.kind.as_str() {
            "function_call" => {
                let number = self.call(output_index, &item, events);
                self.calls.end(number, item.arguments.into_string(), events);
            }
            "reasoning" if !item.encrypted_content.is_empty() => {
                let encrypted_content = item.encrypted_content.into_string();
                let sealed = Sealed { id: item.id.into_string(), encrypted_content };
                if let Ok(sealed) = serde_json::to_string(&sealed) {
                    events.push_back(ProviderEvent::ThinkingSignature(mark(Maker::Responses, &sealed)));
                }
            }
            _ => {}
        }
    }

    fn finish(stop: StopReason, response: Option<Response<'_>>, events: &mut Events) {
        if let Some(usage) = response.and_then(|response| response.usage) {
            events.push_back(ProviderEvent::Usage(usage.into()));
        }
        events.push_back(ProviderEvent::Finished(stop));
    }

    fn completed(&self) -> StopReason {
        match (self.refused, self.calls.is_empty()) {
            (_, false) => StopReason::ToolUse,
            (true, true) => StopReason::Refusal,
            (false, true) => StopReason::EndTurn,
        }
    }

    fn error(&self, error: WireError<'_>) -> CallError {
        let kind = if error.code.is_empty() { error.kind } else { error.code };
        let told =
            ErrorDetail { kind: kind.into_string(), message: error.message.into_string(), ..ErrorDetail::default() };
        http::streamed_error(&told, &self.secrets)
    }
}

impl Reader for ResponsesReader {
    const END_MARKER: &'static str = "the end of the response";

    fn read(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), CallError> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let wire: Wire<'_> = parsed(event)?;
        let output_index = wire.output_index.unwrap_or_default();
        let kind = if wire.kind.is_empty() { event.event.as_str() } else { wire.kind.as_str() };
        match kind {
            "response.output_text.delta" if !wire.delta.is_empty() => {
                events.push_back(ProviderEvent::Text(wire.delta.into_string()));
            }
            "response.refusal.delta" if !wire.delta.is_empty() => {
                self.refused = true;
                events.push_back(ProviderEvent::Text(wire.delta.into_string()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if !wire.delta.is_empty() => {
                events.push_back(ProviderEvent::Thinking(wire.delta.into_string()));
            }
            "response.reasoning_summary_part.added" if wire.summary_index.is_some_and(|index| index > 0) => {
                events.push_back(ProviderEvent::Thinking("\n\n".to_owned()));
            }
            "response.output_item.added" => {
                let item = wire.item.unwrap_or_default();
                if item.kind.as_str() == "function_call" {
                    let number = self.call(output_index, &item, events);
                    self.calls.grow(number, item.arguments.into_string(), events);
                }
            }
            "response.function_call_arguments.delta" => {
                if let Some(number) = self.calls.find(|index| *index == output_index) {
                    self.calls.grow(number, wire.delta.into_string(), events);
                }
            }
            "response.output_item.done" => self.item_ended(output_index, wire.item.unwrap_or_default(), events),
            "response.completed" => Self::finish(self.completed(), wire.response, events),
            "response.incomplete" => {
                let reason = wire.response.as_ref().map_or("", |response| response.incomplete_details.reason.as_str());
                let stop = match reason {
                    "max_output_tokens" | "" => StopReason::MaxTokens,
                    "content_filter" => StopReason::Refusal,
                    other => StopReason::Other { word: other.to_owned() },
                };
                Self::finish(stop, wire.response, events);
            }
            "response.failed" => {
                return Err(self.error(wire.response.and_then(|response| response.error).unwrap_or_default()));
            }
            "error" => {
                let bare = WireError { code: wire.code, message: wire.message, ..WireError::default() };
                return Err(self.error(wire.error.unwrap_or(bare)));
            }
            // What repeats in full what has come in pieces, and what was added to the form after this was written.
            _ => {}
        }
        Ok(())
    }
}

impl From<WireUsage> for Usage {
    /// The wire counts cached tokens within the input; here the classes do not overlap.
    fn from(wire: WireUsage) -> Self {
        let cached = wire.input_tokens_details.cached_tokens.min(wire.input_tokens);
        let written = wire.input_tokens_details.cache_write_tokens.min(wire.input_tokens - cached);
        Self {
            input: Tokens(wire.input_tokens - cached - written),
            output: Tokens(wire.output_tokens),
            cache_read: Tokens(cached),
            cache_write: Tokens(written),
            reasoning: Tokens(wire.output_tokens_details.reasoning_tokens.min(wire.output_tokens)),
        }
    }
}

#[cfg(test)]
mod tests;
