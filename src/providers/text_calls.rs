//! Tool calls for models that have none of their own: the model writes them into its text.
//!
//! [`TextCalls`] stands before another provider. On the way there it describes the tools in the system text and writes
//! earlier calls and results as text; on the way back [`Parser`] finds the calls in what arrives.

mod parser;

use crate::domain::event::{CallError, StopReason};
use crate::domain::{Block, ContentHash, Message, OpenHeaders, ToolCall, ToolSpec, WireForm};
use crate::ports::{CallRequest, Counting, EncodedRequest, Provider, ProviderEvent, ProviderStream};
use futures_util::stream::{self, StreamExt};
use parser::Parser;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

/// A provider whose model is told of tools in words. See the module.
pub struct TextCalls {
    inner: Arc<dyn Provider>,
}

impl TextCalls {
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner }
    }
}

impl std::fmt::Debug for TextCalls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TextCalls").field("inner", &self.inner.name()).finish()
    }
}

impl Provider for TextCalls {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn endpoint(&self) -> String {
        self.inner.endpoint()
    }

    fn headers(&self) -> OpenHeaders {
        self.inner.headers()
    }

    fn count(&self, request: CallRequest) -> Option<Counting> {
        self.inner.count(in_words(request))
    }

    fn form(&self) -> WireForm {
        self.inner.form()
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        let original = Arc::new(request.clone());
        Ok(EncodedRequest { request: original, ..self.inner.encode(in_words(request))? })
    }

    fn send(&self, request: EncodedRequest) -> ProviderStream {
        let (specs, earlier) = (request.request.tools.clone(), request.request.next_call());
        let inner = self.inner.send(request);
        if specs.is_empty() && earlier == 0 {
            return inner;
        }
        let reading = Reading { inner, parser: Parser::new(specs, earlier), ready: VecDeque::new() };
        Box::pin(stream::unfold(reading, Reading::step))
    }
}

/// `request` without any tool of the wire form: as it is where it has none.
#[must_use]
pub fn in_words(request: CallRequest) -> CallRequest {
    if request.tools.is_empty() && request.calls() == 0 {
        return request;
    }
    let system = described(&request.system, &request.tools);
    let messages = request.messages.iter().map(told).collect();
    CallRequest { system, messages, tools: Vec::new(), ..request }
}

/// The system text with the tools behind it.
fn described(system: &str, tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return system.to_owned();
    }
    let mut text = system.trim_end().to_owned();
    text.push_str(if text.is_empty() { "" } else { "\n\n" });
    text.push_str(
        "# Tools\n\nTo call a tool, write this in your answer, with the tool's name and a line for each argument:\n\n\
         <invoke name=\"tool\">\n<parameter name=\"argument\">value</parameter>\n</invoke>\n\n\
         Several calls may follow each other. Then stop: the results come with the next message. The tools:\n",
    );
    for ToolSpec { name, description, schema } in tools {
        // Writing to a text does not fail.
        let _written = write!(text, "\n## {name}\n{}\nArguments as JSON schema: {schema}\n", description.trim());
    }
    text
}

/// `message` with calls and results as the text they stand for.
fn told(message: &Arc<Message>) -> Arc<Message> {
    let is_tool = |block: &Block| matches!(block, Block::ToolCall(_) | Block::ToolResult { .. });
    if !message.blocks.iter().any(is_tool) {
        return Arc::clone(message);
    }
    let shown = |block: &Block| {
        let images = block.images().filter(|_| matches!(block, Block::ToolResult { .. }));
        let image = |(media_type, hash): (&str, &ContentHash)| Block::Image {
            media_type: media_type.to_owned(),
            hash: hash.clone(),
        };
        images.map(image).collect::<Vec<_>>()
    };
    let in_text = |block: &Block| match block {
        Block::ToolCall(call) => Block::Text { text: written(call) },
        Block::ToolResult { call_id, output, error, .. } => {
            let outcome = if *error { "error" } else { "result" };
            Block::Text { text: format!("<{outcome} of=\"{}\">\n{output}\n</{outcome}>\n", call_id.0) }
        }
        other @ (Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::Image { .. }
        | Block::Attached(_)
        | Block::Custom(_)) => other.clone(),
    };
    let blocks = message.blocks.iter().flat_map(|block| [in_text(block)].into_iter().chain(shown(block))).collect();
    Arc::new(Message { role: message.role, blocks })
}

/// A call as the model would write it.
fn written(call: &ToolCall) -> String {
    let mut text = format!("\n<invoke name=\"{}\">\n", call.tool);
    for (name, value) in call.input.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let _written = writeln!(text, "<parameter name=\"{name}\">{value}</parameter>");
    }
    text.push_str("</invoke>\n");
    text
}

/// An answer on its way back.
struct Reading {
    inner: ProviderStream,
    parser: Parser,
    ready: VecDeque<ProviderEvent>,
}

impl Reading {
    async fn step(mut self) -> Option<(Result<ProviderEvent, CallError>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((Ok(event), self));
            }
            match self.inner.next().await? {
                Ok(ProviderEvent::Text(text)) => self.parser.push(&text, &mut self.ready),
                Ok(ProviderEvent::Finished(stop)) => {
                    self.parser.finish(&mut self.ready);
                    let called = self.parser.calls() > 0 && stop == StopReason::EndTurn;
                    let stop = if called { StopReason::ToolUse } else { stop };
                    self.ready.push_back(ProviderEvent::Finished(stop));
                }
                Ok(other) => self.ready.push_back(other),
                Err(error) => return Some((Err(error), self)),
            }
        }
    }
}

/// Finds the calls in `text`, for the fuzzer: whole and letter by letter, which must give the same.
#[cfg(fuzzing)]
pub(super) fn calls_in(text: &str) {
    let read = |pieces: Vec<&str>| {
        let (mut parser, mut events) = (Parser::new(Vec::new(), 0), VecDeque::new());
        for piece in pieces {
            parser.push(piece, &mut events);
        }
        parser.finish(&mut events);
        let (mut said, mut calls) = (String::new(), Vec::new());
        for event in events {
            match event {
                ProviderEvent::Text(text) => said.push_str(&text),
                other => calls.push(format!("{} {other:?}", said.len())),
            }
        }
        (said, calls)
    };
    let letters = text.char_indices().map(|(at, letter)| text.get(at..at + letter.len_utf8()).unwrap_or_default());
    assert_eq!(read(vec![text]), read(letters.collect()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, Role};
    use crate::providers::scripted::Scripted;
    use serde_json::json;

    #[test]
    fn tools_calls_and_results_become_text() {
        let call =
            ToolCall { call_id: CallId("textcall_0".into()), tool: "look".into(), input: json!({"a": 1, "b": "x"}) };
        let result = Block::ToolResult {
            call_id: CallId("textcall_0".into()),
            output: "seen".into(),
            error: false,
            images: Vec::new(),
        };
        let message = |role, block| Arc::new(Message { role, blocks: vec![block] });
        let request = CallRequest {
            system: "Be brief.".into(),
            messages: vec![message(Role::Assistant, Block::ToolCall(call)), message(Role::User, result)],
            tools: vec![ToolSpec {
                name: "look".into(),
                description: "Looks.".into(),
                schema: json!({"type": "object"}),
            }],
            ..CallRequest::default()
        };
        let request = in_words(request);
        assert!(request.tools.is_empty());
        assert!(request.system.starts_with("Be brief.\n\n# Tools\n"), "{}", request.system);
        assert!(request.system.ends_with("\n## look\nLooks.\nArguments as JSON schema: {\"type\":\"object\"}\n"));
        let texts: Vec<String> = request.messages.iter().map(|message| message.text()).collect();
        assert_eq!(
            texts,
            [
                "\n<invoke name=\"look\">\n<parameter name=\"a\">1</parameter>\n<parameter name=\"b\">x</parameter>\n</invoke>\n",
                "<result of=\"textcall_0\">\nseen\n</result>\n",
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn calls_in_the_text_are_calls() {
        let scenario = "replies:\n  - steps:\n      - text: 'I look. <invoke name=\"look\"><parameter name=\"at\">Rome</parameter></invoke>'\n";
        let provider = TextCalls::new(Arc::new(Scripted::from_text(scenario)));
        let tools = vec![ToolSpec { name: "look".into(), description: String::new(), schema: json!({}) }];
        let messages = vec![Arc::new(Message::user("go"))];
        let events: Vec<_> = provider
            .call(CallRequest { messages, tools, ..CallRequest::default() })
            .map(Result::unwrap)
            .collect()
            .await;
        let call_id = CallId("textcall_0".into());
        assert!(
            events.contains(&ProviderEvent::ToolCallStarted { index: 0, call_id, tool: "look".into() }),
            "{events:?}"
        );
        let partial_json = r#"{"at":"Rome"}"#.to_owned();
        assert!(events.contains(&ProviderEvent::ToolInput { index: 0, partial_json }), "{events:?}");
        assert_eq!(events.last(), Some(&ProviderEvent::Finished(StopReason::ToolUse)));
    }
}
