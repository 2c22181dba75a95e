//! The event stream of a Messages answer. One flat struct holds every event's fields, so that the common event, a
//! text delta, is read without copying more than its text.

use crate::domain::event::{CallError, StopReason};
use crate::domain::{Tokens, Usage};
use crate::ports::ProviderEvent;
use crate::providers::answer::{Events, Reader, parsed};
use crate::providers::calls::Calls;
use crate::providers::error_body::ErrorDetail;
use crate::providers::http;
use crate::providers::sse::SseEvent;
use crate::providers::wire::{Text, or_default};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Text<'a>,
    #[serde(default)]
    index: u32,
    #[serde(borrow, default, deserialize_with = "or_default")]
    delta: Delta<'a>,
    #[serde(borrow, default)]
    content_block: Option<Block<'a>>,
    #[serde(default)]
    message: Option<Start>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(borrow, default)]
    error: Option<WireError<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    thinking: Text<'a>,
    #[serde(borrow)]
    signature: Text<'a>,
    #[serde(borrow)]
    partial_json: Text<'a>,
    #[serde(borrow)]
    stop_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    thinking: Text<'a>,
    #[serde(borrow)]
    signature: Text<'a>,
    #[serde(borrow)]
    data: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireError<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
}

/// The block that is being streamed.
#[derive(Debug)]
enum Open {
    /// Text, or a kind of block this program does not know.
    Plain,
    Thinking {
        signature: String,
    },
    /// Which of the calls.
    Call(usize),
}

/// Reads a Messages answer.
#[derive(Debug)]
pub(super) struct MessagesReader {
    secrets: Vec<SecretString>,
    /// The open blocks by their index on the wire; nearly always one.
    open: Vec<(u32, Open)>,
    calls: Calls<()>,
    usage: Usage,
    stop: Option<StopReason>,
}

impl MessagesReader {
    /// `earlier` calls stand before this answer.
    pub(super) fn new(secrets: Vec<SecretString>, earlier: usize) -> Self {
        Self { secrets, open: Vec::new(), calls: Calls::new("call_", earlier), usage: Usage::default(), stop: None }
    }

    fn count(&mut self, usage: WireUsage, events: &mut Events) {
        // Later counts include earlier ones. Servers that know a class only at the beginning say 0 of it at the end.
        let set = |place: &mut Tokens, count: Option<u64>| *place = Tokens(count.unwrap_or_default().max(place.0));
        set(&mut self.usage.input, usage.input);
        set(&mut self.usage.output, usage.output);
        set(&mut self.usage.cache_write, usage.cache_write);
        set(&mut self.usage.cache_read, usage.cache_read);
        events.push_back(ProviderEvent::Usage(self.usage));
    }

    fn block_started(&mut self, index: u32, block: Block<'_>, events: &mut Events) {
        let mut open = Open::Plain;
        match block.kind.as_str() {
            "text" if !block.text.is_empty() => events.push_back(ProviderEvent::Text(block.text.into_string())),
            "thinking" => {
                if !block.thinking.is_empty() {
                    events.push_back(ProviderEvent::Thinking(block.thinking.into_string()));
                }
                open = Open::Thinking { signature: block.signature.into_string() };
            }
            "redacted_thinking" => events.push_back(ProviderEvent::RedactedThinking(block.data.into_string())),
            "tool_use" => {
                let call = self.calls.begin((), block.id.as_str(), block.name.into_string(), events);
                // Usually `{}` to be replaced by deltas; some servers send the whole object here.
                let input = block.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null"));
                self.calls.grow(call, input.unwrap_or_default().to_owned(), events);
                open = Open::Call(call);
            }
            _ => {}
        }
        self.open.retain(|(other, _)| *other != index);
        self.open.push((index, open));
    }

    fn block_grew(&mut self, index: u32, delta: Delta<'_>, events: &mut Events) {
        match delta.kind.as_str() {
            "text_delta" if !delta.text.is_empty() => events.push_back(ProviderEvent::Text(delta.text.into_string())),
            "thinking_delta" if !delta.thinking.is_empty() => {
                events.push_back(ProviderEvent::Thinking(delta.thinking.into_string()));
            }
            "signature_delta" => {
                if let Some(Open::Thinking { signature }) = self.block(index) {
                    signature.push_str(delta.signature.as_str());
                }
            }
            "input_json_delta" => {
                if let Some(Open::Call(call)) = self.block(index) {
                    let call = *call;
                    self.calls.grow(call, delta.partial_json.into_string(), events);
                }
            }
            _ => {}
        }
    }

    fn block_ended(&mut self, index: u32, events: &mut Events) {
        let Some(position) = self.open.iter().position(|(other, _)| *other == index) else { return };
        match self.open.swap_remove(position).1 {
            Open::Thinking { signature } if !signature.is_empty() => {
                events.push_back(ProviderEvent::ThinkingSignature(signature));
            }
            Open::Call(call) => self.calls.end(call, String::new(), events),
            Open::Plain | Open::Thinking { .. } => {}
        }
    }

    fn block(&mut self, index: u32) -> Option<&mut Open> {
        self.open.iter_mut().find(|(other, _)| *other == index).map(|(_, open)| open)
    }
}

impl Reader for MessagesReader {
    const END_MARKER: &'static str = "the end of the message";

    fn read(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), CallError> {
        let wire: Wire<'_> = parsed(event)?;
        match if wire.kind.is_empty() { event.event.as_str() } else { wire.kind.as_str() } {
            "content_block_delta" => self.block_grew(wire.index, wire.delta, events),
            "content_block_start" => self.block_started(wire.index, wire.content_block.unwrap_or_default(), events),
            "content_block_stop" => self.block_ended(wire.index, events),
            "message_start" => {
                if let Some(usage) = wire.message.and_then(|message| message.usage) {
                    self.count(usage, events);
                }
            }
            "message_delta" => {
                if let Some(usage) = wire.usage {
                    self.count(usage, events);
                }
                self.stop = stop_reason(wire.delta.stop_reason.as_str()).or(self.stop.take());
            }
            "message_stop" => {
                // Blocks that a careless server never closed.
                for index in self.open.iter().map(|(index, _)| *index).collect::<Vec<_>>() {
                    self.block_ended(index, events);
                }
                let unsaid = if self.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
                events.push_back(ProviderEvent::Finished(self.stop.take().unwrap_or(unsaid)));
            }
            "error" => {
                let error = wire.error.unwrap_or_default();
                let told = ErrorDetail {
                    kind: error.kind.into_string(),
                    message: error.message.into_string(),
                    ..ErrorDetail::default()
                };
                return Err(http::streamed_error(&told, &self.secrets));
            }
            // `ping`, and what will be added to the form after this was written.
            _ => {}
        }
        Ok(())
    }
}

fn stop_reason(word: &str) -> Option<StopReason> {
    Some(match word {
        "" => return None,
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        other => StopReason::Other { word: other.to_owned() },
    })
}

#[cfg(test)]
mod tests;
