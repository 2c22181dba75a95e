//! The event stream of a Gemini answer: each event is a whole small response, to be put together in order.
//!
//! A signature belongs to the part it comes with. It is passed on before a call and behind a text, marked as which.

use super::MADE;
use crate::domain::event::{CallError, StopReason};
use crate::domain::{Tokens, Usage};
use crate::ports::ProviderEvent;
use crate::providers::answer::{Events, Reader, parsed};
use crate::providers::calls::Calls;
use crate::providers::error_body;
use crate::providers::http;
use crate::providers::signature::{Maker, mark};
use crate::providers::sse::SseEvent;
use crate::providers::wire::{Text, or_default};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, deserialize_with = "or_default")]
    candidates: Vec<Candidate<'a>>,
    usage_metadata: Option<WireUsage>,
    #[serde(borrow, deserialize_with = "or_default")]
    prompt_feedback: Feedback<'a>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Candidate<'a> {
    index: u32,
    #[serde(borrow, deserialize_with = "or_default")]
    content: Content<'a>,
    #[serde(borrow)]
    finish_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content<'a> {
    #[serde(borrow, deserialize_with = "or_default")]
    parts: Vec<Part<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(deserialize_with = "or_default")]
    thought: bool,
    #[serde(borrow)]
    thought_signature: Text<'a>,
    #[serde(borrow)]
    function_call: Option<WireCall<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCall<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow)]
    block_reason: Text<'a>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    #[serde(rename = "promptTokenCount", deserialize_with = "or_default")]
    prompt: u64,
    #[serde(rename = "cachedContentTokenCount", deserialize_with = "or_default")]
    cached: u64,
    #[serde(rename = "toolUsePromptTokenCount", deserialize_with = "or_default")]
    tool_use: u64,
    #[serde(rename = "candidatesTokenCount", deserialize_with = "or_default")]
    candidates: u64,
    #[serde(rename = "thoughtsTokenCount", deserialize_with = "or_default")]
    thoughts: u64,
}

/// Reads a Gemini answer.
#[derive(Debug)]
pub(super) struct GeminiReader {
    secrets: Vec<SecretString>,
    calls: Calls<()>,
}

impl GeminiReader {
    pub(super) fn new(secrets: Vec<SecretString>, earlier: usize) -> Self {
        Self { secrets, calls: Calls::new(MADE, earlier) }
    }

    fn part(&mut self, part: Part<'_>, events: &mut Events) {
        let sign = |maker, events: &mut Events| {
            if !part.thought_signature.is_empty() {
                events.push_back(ProviderEvent::ThinkingSignature(mark(maker, part.thought_signature.as_str())));
            }
        };
        if let Some(call) = part.function_call {
            sign(Maker::GeminiCall, events);
            let number = self.calls.begin((), call.id.as_str(), call.name.into_string(), events);
            let args = call.args.map(RawValue::get).filter(|args| *args != "null");
            self.calls.end(number, args.unwrap_or_default().to_owned(), events);
        } else if part.thought {
            if !part.text.is_empty() {
                events.push_back(ProviderEvent::Thinking(part.text.into_string()));
            }
        } else {
            if !part.text.is_empty() {
                events.push_back(ProviderEvent::Text(part.text.as_str().to_owned()));
            }
            sign(Maker::GeminiText, events);
        }
    }

    fn stop(&self, word: &str) -> StopReason {
        match word {
            "STOP" | "FUNCTION_CALL" | "TOOL_CALLS" if !self.calls.is_empty() => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
                StopReason::Refusal
            }
            // What the model wrote as a call is none: another try may write it well.
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
                StopReason::Truncated { detail: format!("the model's call could not be read ({word})") }
            }
            other => StopReason::Other { word: other.to_ascii_lowercase() },
        }
    }

    fn error(&self, error: &RawValue) -> CallError {
        let value: serde_json::Value = serde_json::from_str(error.get()).unwrap_or_default();
        let told = error_body::from_json(&value).unwrap_or_default();
        http::streamed_error(&told, &self.secrets)
    }
}

impl Reader for GeminiReader {
    const END_MARKER: &'static str = "the finish reason";

    fn read(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), CallError> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let chunk: Chunk<'_> = parsed(event)?;
        if let Some(error) = chunk.error.filter(|error| error.get() != "null") {
            return Err(self.error(error));
        }
        let mut stop = None;
        for candidate in chunk.candidates.into_iter().filter(|candidate| candidate.index == 0) {
            for part in candidate.content.parts {
                self.part(part, events);
            }
            if !candidate.finish_reason.is_empty() {
                stop = Some(self.stop(candidate.finish_reason.as_str()));
            }
        }
        if !chunk.prompt_feedback.block_reason.is_empty() {
            stop = Some(StopReason::Refusal);
        }
        if let Some(usage) = chunk.usage_metadata {
            events.push_back(ProviderEvent::Usage(usage.into()));
        }
        events.extend(stop.map(ProviderEvent::Finished));
        Ok(())
    }
}

impl From<WireUsage> for Usage {
    /// The wire counts cached tokens within the prompt and thoughts beside the answer.
    fn from(wire: WireUsage) -> Self {
        let prompt = wire.prompt.saturating_add(wire.tool_use);
        let cached = wire.cached.min(prompt);
        Self {
            input: Tokens(prompt - cached),
            output: Tokens(wire.candidates.saturating_add(wire.thoughts)),
            cache_read: Tokens(cached),
            cache_write: Tokens(0),
            reasoning: Tokens(wire.thoughts),
        }
    }
}

#[cfg(test)]
mod tests;
