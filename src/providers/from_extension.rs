//! Providers whose answers come from the code of an extension (`streamSimple`), in the engine of a thread.
//!
//! A request is written as that code is given it: `model`, `context` and `options`. What it sends back are events of pi, which
//! become ours here. Thoughts are shown and not given back: whose they are nothing tells.

use super::turns::{Part, Turn, turns};
use crate::domain::event::{CallError, ErrorCategory, StopReason};
use crate::domain::{CallId, Role, ThinkingLevel, Tokens, Usage, WireForm};
use crate::ports::{CallRequest, EncodedRequest, HttpOptions, Provider, ProviderEvent, ProviderStream};
use crate::providers::classify;
use futures_util::{Stream, StreamExt as _, stream};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::ready;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Bytes of one answer.
const LARGEST: usize = 32 << 20;

/// What an extension sends back: events of pi, at the end one of the kind `result` with the whole message, or in words what
/// went wrong. Losing it stops the extension.
pub type ExtensionEvents = Pin<Box<dyn Stream<Item = Result<Value, String>> + Send>>;

/// Where the code of extensions runs.
pub trait ExtensionStreams: Send + Sync {
    /// Has the provider of the extension in this file answer.
    fn stream(&self, path: PathBuf, arguments: Value) -> ExtensionEvents;
}

impl fmt::Debug for dyn ExtensionStreams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ExtensionStreams")
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct FromExtension {
    pub(super) name: String,
    /// The file of the extension.
    pub(super) path: PathBuf,
    pub(super) key: Option<SecretString>,
    /// It may send nothing for so long.
    pub(super) silence: Duration,
    /// None outside of threads.
    pub(super) streams: Option<Arc<dyn ExtensionStreams>>,
}

/// What the code is given, but for the key and the signal, which are no part of what is recorded.
pub(super) fn body(request: &CallRequest) -> Result<Vec<u8>, CallError> {
    let mut names = HashMap::new();
    let mut messages = Vec::new();
    for turn in turns(request, |_| false) {
        said(turn, &mut names, &mut messages);
    }
    let tools = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.schema}));
    let context = json!({"systemPrompt": request.system, "messages": messages, "tools": tools.collect::<Vec<_>>()});
    let mut options = json!({"maxTokens": request.max_output_tokens});
    if let Some(level) = request.thinking.filter(|level| *level != ThinkingLevel::Off) {
        options["reasoning"] = level.word().into();
    }
    let body = json!({"model": {"id": request.model}, "context": context, "options": options});
    serde_json::to_vec(&body).map_err(|error| CallError::unwritten(&error.to_string()))
}

/// A turn as messages of pi.
fn said<'a>(turn: Turn<'a>, names: &mut HashMap<&'a CallId, &'a str>, messages: &mut Vec<Value>) {
    let image = |(media_type, data): (&str, String)| json!({"type": "image", "data": data, "mimeType": media_type});
    let mut content = Vec::new();
    for part in turn.parts {
        match part {
            Part::Text(text) => content.push(json!({"type": "text", "text": text})),
            Part::Image { media_type, data } => content.push(image((media_type, data))),
            Part::Call(call) => {
                names.insert(&call.call_id, &call.tool);
                let (id, name) = (&call.call_id.0, &call.tool);
                content.push(json!({"type": "toolCall", "id": id, "name": name, "arguments": call.input}));
            }
            Part::Result { call_id, output, error, images } => {
                let shown =
                    std::iter::once(json!({"type": "text", "text": output})).chain(images.into_iter().map(image));
                messages.push(json!({"role": "toolResult", "toolCallId": call_id.0, "isError": error, "timestamp": 0,
                    "toolName": names.get(call_id).copied().unwrap_or_default(), "content": shown.collect::<Vec<_>>()}));
            }
            Part::Thinking { .. } | Part::RedactedThinking(_) => {}
        }
    }
    if !content.is_empty() {
        let role = if turn.role == Role::Assistant { "assistant" } else { "user" };
        messages.push(json!({"role": role, "content": content, "timestamp": 0}));
    }
}

impl Provider for FromExtension {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> String {
        format!("extension {}", self.path.display())
    }

    fn form(&self) -> WireForm {
        WireForm::Extension
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        Ok(EncodedRequest {
            body: body(&request)?,
            form: self.form(),
            request: Arc::new(request),
            options: HttpOptions::default(),
        })
    }

    fn send(&self, request: EncodedRequest) -> ProviderStream {
        let given = serde_json::from_slice::<Value>(&request.body);
        let (Some(streams), Ok(mut given)) = (&self.streams, given) else {
            let why =
                format!("the provider {} answers by code of an extension, which runs in threads alone", self.name);
            return Box::pin(stream::once(ready(Err(failed(why)))));
        };
        given["provider"] = self.name.clone().into();
        if let Some(key) = &self.key {
            given["options"]["apiKey"] = key.expose_secret().into();
        }
        for (name, value) in request.options.headers {
            given["options"]["headers"][name] = value.map_or(Value::Null, Value::from);
        }
        let events = streams.stream(self.path.clone(), given);
        let answer = Answer { calls_before: request.request.next_call(), ..Answer::default() };
        let state = (events, answer, VecDeque::new(), self.silence);
        Box::pin(stream::unfold(state, |(mut events, mut answer, mut ready, silence)| async move {
            loop {
                if let Some(event) = ready.pop_front() {
                    return Some((event, (events, answer, ready, silence)));
                }
                if answer.over {
                    return None;
                }
                let read = match timeout(silence, events.next()).await {
                    Ok(Some(Ok(event))) => answer.read(&event, &mut ready),
                    Ok(Some(Err(why))) => Err(failed(why)),
                    Ok(None) => Err(failed("the extension ended its answer without `done` or `error`".to_owned())),
                    Err(_late) => Err(CallError {
                        category: ErrorCategory::Transient,
                        ..failed(format!("the extension sent nothing for {} s", silence.as_secs()))
                    }),
                };
                if let Err(error) = read {
                    answer.over = true;
                    ready.push_back(Err(error));
                }
            }
        }))
    }
}

fn failed(message: String) -> CallError {
    let category = classify::category(None, "", &message);
    CallError { category, code: "extension".to_owned(), message, status: None, retry_after_ms: None }
}

/// An answer that arrives.
#[derive(Default)]
struct Answer {
    /// Calls without an id are counted from here.
    calls_before: usize,
    /// The calls that were told, by their ids.
    calls: Vec<String>,
    wrote: bool,
    bytes: usize,
    over: bool,
}

type Ready = VecDeque<Result<ProviderEvent, CallError>>;

impl Answer {
    /// Takes an event in.
    fn read(&mut self, event: &Value, ready: &mut Ready) -> Result<(), CallError> {
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => self.wrote(text("delta"), ready)?,
            "thinking_delta" => {
                self.grow(text("delta").len())?;
                ready.push_back(Ok(ProviderEvent::Thinking(text("delta").to_owned())));
            }
            "toolcall_end" => self.called(&event["toolCall"], ready)?,
            "done" | "result" => self.end(&event["message"], text("reason"), ready)?,
            "error" => return Err(broken_off(&event["error"], text("reason"))),
            _ => {}
        }
        Ok(())
    }

    fn grow(&mut self, by: usize) -> Result<(), CallError> {
        self.bytes = self.bytes.saturating_add(by);
        let most = LARGEST >> 20;
        let is_within = self.bytes <= LARGEST;
        if is_within { Ok(()) } else { Err(CallError::over_bounds(format!("the answer has more than {most} MB"))) }
    }

    fn wrote(&mut self, text: &str, ready: &mut Ready) -> Result<(), CallError> {
        self.grow(text.len())?;
        self.wrote |= !text.is_empty();
        ready.push_back(Ok(ProviderEvent::Text(text.to_owned())));
        Ok(())
    }

    fn called(&mut self, call: &Value, ready: &mut Ready) -> Result<(), CallError> {
        let text = |name: &str| call.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(tool) = text("name") else {
            return Err(failed("the extension called a tool without a name".to_owned()));
        };
        let own = || format!("call_{}", self.calls_before + self.calls.len());
        let id = text("id").map_or_else(own, str::to_owned);
        if self.calls.contains(&id) {
            return Ok(());
        }
        let partial_json =
            call.get("arguments").filter(|given| given.is_object()).map_or("{}".to_owned(), Value::to_string);
        self.grow(partial_json.len() + tool.len())?;
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        let (call_id, tool) = (CallId(id.clone()), tool.to_owned());
        ready.push_back(Ok(ProviderEvent::ToolCallStarted { index, call_id, tool }));
        ready.push_back(Ok(ProviderEvent::ToolInput { index, partial_json }));
        self.calls.push(id);
        Ok(())
    }

    /// The whole message is there: what of it was not told piece by piece is told now.
    fn end(&mut self, message: &Value, reason: &str, ready: &mut Ready) -> Result<(), CallError> {
        let reason = message.get("stopReason").and_then(Value::as_str).unwrap_or(reason);
        if matches!(reason, "error" | "aborted") || !message.is_object() {
            return Err(broken_off(message, reason));
        }
        let wrote = self.wrote;
        for part in message.get("content").and_then(Value::as_array).into_iter().flatten() {
            match part.get("type").and_then(Value::as_str) {
                Some("text") if !wrote => {
                    self.wrote(part.get("text").and_then(Value::as_str).unwrap_or_default(), ready)?;
                }
                Some("toolCall") => self.called(part, ready)?,
                _ => {}
            }
        }
        ready.push_back(Ok(ProviderEvent::Usage(used(&message["usage"]))));
        ready.push_back(Ok(ProviderEvent::Finished(match reason {
            "length" => StopReason::MaxTokens,
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            "" | "stop" | "toolUse" => StopReason::EndTurn,
            word => StopReason::Other { word: word.chars().take(40).collect() },
        })));
        self.over = true;
        Ok(())
    }
}

fn used(usage: &Value) -> Usage {
    let tokens = |name: &str| Tokens(usage.get(name).and_then(Value::as_u64).unwrap_or_default());
    let (cache_read, cache_write) = (tokens("cacheRead"), tokens("cacheWrite"));
    Usage { input: tokens("input"), output: tokens("output"), cache_read, cache_write, reasoning: Tokens(0) }
}

fn broken_off(message: &Value, reason: &str) -> CallError {
    let why = message.get("errorMessage").and_then(Value::as_str).filter(|why| !why.is_empty());
    let why = why.map_or_else(|| format!("the extension broke its answer off ({reason})"), str::to_owned);
    failed(why.chars().take(2_000).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, Message, ToolCall, ToolSpec};

    #[test]
    fn a_request_is_written_as_pi_gives_it_to_a_provider() {
        let call_id = CallId("c1".to_owned());
        let call = ToolCall { call_id: call_id.clone(), tool: "look".to_owned(), input: json!({"at": 1}) };
        let thought = Block::Thinking { text: "hm".to_owned(), signature: Some("s".to_owned()) };
        let result = Block::ToolResult { call_id, output: "seen".to_owned(), error: false, images: Vec::new() };
        let messages = vec![
            Message::user("go"),
            Message { role: Role::Assistant, blocks: vec![thought, Block::ToolCall(call)] },
            Message { role: Role::User, blocks: vec![result] },
        ];
        let request = CallRequest {
            model: "m".to_owned(),
            system: "Be brief.".to_owned(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: vec![ToolSpec { name: "look".to_owned(), description: "looks".to_owned(), schema: json!({}) }],
            max_output_tokens: 99,
            ..CallRequest::default()
        };
        let written: Value = serde_json::from_slice(&body(&request).unwrap()).unwrap();
        let text = |text: &str| json!({"type": "text", "text": text});
        let call = json!({"type": "toolCall", "id": "c1", "name": "look", "arguments": {"at": 1}});
        assert_eq!(
            written,
            json!({"model": {"id": "m"}, "options": {"maxTokens": 99}, "context": {"systemPrompt": "Be brief.",
            "tools": [{"name": "look", "description": "looks", "parameters": {}}],
            "messages": [
                {"role": "user", "content": [text("go")], "timestamp": 0},
                {"role": "assistant", "content": [call], "timestamp": 0},
                {"role": "toolResult", "toolCallId": "c1", "toolName": "look", "isError": false,
                    "content": [text("seen")], "timestamp": 0},
            ]}})
        );
    }

    /// What becomes of the events of an extension.
    fn read(events: &[Value]) -> Vec<Result<ProviderEvent, CallError>> {
        let (mut answer, mut ready) = (Answer { calls_before: 4, ..Answer::default() }, VecDeque::new());
        for event in events {
            if let Err(error) = answer.read(event, &mut ready) {
                ready.push_back(Err(error));
            }
        }
        ready.into()
    }

    #[test]
    fn events_of_pi_become_ours_and_what_came_only_at_the_end_is_told_then() {
        let call = json!({"type": "toolCall", "name": "look", "arguments": {"at": 1}});
        let usage = json!({"input": 5, "output": 7, "cacheRead": 2, "cacheWrite": 1});
        let message = |reason: &str| json!({"content": [{"type": "text", "text": "Hello"}, call], "stopReason": reason, "usage": usage});
        let (input, output) = (Tokens(5), Tokens(7));
        let (cache_read, cache_write, reasoning) = (Tokens(2), Tokens(1), Tokens(0));
        let ended = |stop: StopReason| {
            let call_id = CallId("call_4".to_owned());
            [
                ProviderEvent::ToolCallStarted { index: 0, call_id, tool: "look".to_owned() },
                ProviderEvent::ToolInput { index: 0, partial_json: r#"{"at":1}"#.to_owned() },
                ProviderEvent::Usage(Usage { input, output, cache_read, cache_write, reasoning }),
                ProviderEvent::Finished(stop),
            ]
        };
        let streamed = [
            json!({"type": "start"}),
            json!({"type": "thinking_delta", "delta": "hm"}),
            json!({"type": "text_delta", "delta": "Hel"}),
            json!({"type": "text_delta", "delta": "lo"}),
            json!({"type": "done", "reason": "toolUse", "message": message("toolUse")}),
        ];
        let text = |text: &str| ProviderEvent::Text(text.to_owned());
        let told: Vec<_> = read(&streamed).into_iter().map(Result::unwrap).collect();
        let begin = [ProviderEvent::Thinking("hm".to_owned()), text("Hel"), text("lo")];
        assert_eq!(told, [&begin[..], &ended(StopReason::ToolUse)].concat());
        let told: Vec<_> =
            read(&[json!({"type": "result", "message": message("length")})]).into_iter().map(Result::unwrap).collect();
        assert_eq!(told, [&[text("Hello")][..], &ended(StopReason::MaxTokens)].concat());
    }

    #[test]
    fn an_answer_that_fails_grows_or_means_nothing_is_an_error() {
        let error = |event: Value| read(&[event]).pop().unwrap().unwrap_err();
        let limited = error(json!({"type": "error", "reason": "error", "error": {"errorMessage": "rate_limit: 429"}}));
        assert_eq!(limited.message, "rate_limit: 429");
        assert!(error(json!({"type": "done", "message": 5})).message.contains("broke"));
        assert!(error(json!({"type": "toolcall_end", "toolCall": {}})).message.contains("without a name"));
        let large = "x".repeat(LARGEST + 1);
        assert!(error(json!({"type": "text_delta", "delta": large})).message.contains("32 MB"));
    }
}
