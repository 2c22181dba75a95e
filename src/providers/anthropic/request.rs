//! The body of a Messages request.

use crate::domain::event::CallError;
use crate::domain::{Role, ToolSpec};
use crate::ports::CallRequest;
use crate::providers::http;
use crate::providers::signature::Maker;
use crate::providers::turns::{Part, Turn, turns};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Told<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// A result that is a text goes as a text.
#[derive(Serialize)]
#[serde(untagged)]
enum Told<'a> {
    Text(Cow<'a, str>),
    Shown(Vec<Content<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: String },
}

/// Everything up to here is worth keeping for the next request.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

/// Writes `request`. The system text and the end of the history are marked for the cache: the first stays the same
/// for the whole thread, the second is the beginning of the next request.
pub(in crate::providers) fn body(request: &CallRequest) -> Result<Vec<u8>, CallError> {
    let mut system = Vec::new();
    if !request.system.trim().is_empty() {
        system.push(Content::Text { text: (&request.system).into() }.marked());
    }
    let mut messages: Vec<WireMessage<'_>> =
        turns(request, |maker| maker == Maker::Messages).into_iter().map(message).collect();
    if let Some(last) =
        messages.last_mut().and_then(|message| message.content.iter_mut().rev().find(|block| block.can_be_marked()))
    {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    let tools = request.tools.iter().map(tool).collect();
    let max_tokens = request.max_output_tokens;
    let body = Body { model: &request.model, max_tokens, stream: true, system, tools, messages };
    serde_json::to_vec(&body).map_err(|error| http::protocol_error(&error.to_string()))
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    WireTool { name: &spec.name, description: &spec.description, input_schema: &spec.schema }
}

fn message(turn: Turn<'_>) -> WireMessage<'_> {
    WireMessage { role: turn.role, content: turn.parts.into_iter().map(|part| Block::from(content(part))).collect() }
}

fn content(part: Part<'_>) -> Content<'_> {
    match part {
        Part::Text(text) => Content::Text { text },
        Part::Image { media_type, data } => Content::Image { source: Source::Base64 { media_type, data } },
        Part::Thinking { text, maker: _, signature } => Content::Thinking { thinking: text, signature },
        Part::RedactedThinking(data) => Content::RedactedThinking { data },
        Part::Call(call) => Content::ToolUse { id: &call.call_id.0, name: &call.tool, input: object(&call.input) },
        Part::Result { call_id, output, error, images } => {
            Content::ToolResult { tool_use_id: &call_id.0, content: told(output, images), is_error: error }
        }
    }
}

fn told<'a>(output: Cow<'a, str>, images: Vec<(&'a str, String)>) -> Told<'a> {
    if images.is_empty() {
        return Told::Text(output);
    }
    let text = (!output.trim().is_empty()).then_some(Content::Text { text: output });
    let shown =
        images.into_iter().map(|(media_type, data)| Content::Image { source: Source::Base64 { media_type, data } });
    Told::Shown(text.into_iter().chain(shown).collect())
}

/// The wire takes only objects; arguments that could not be read go back as what they were.
fn object(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::Object(_) => Cow::Borrowed(input),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(json!({ "unreadable_arguments": input }))
        }
    }
}

impl<'a> From<Content<'a>> for Block<'a> {
    fn from(content: Content<'a>) -> Self {
        Self { content, cache_control: None }
    }
}

impl<'a> Content<'a> {
    fn marked(self) -> Block<'a> {
        Block { content: self, cache_control: Some(CacheControl::Ephemeral) }
    }
}

impl Block<'_> {
    fn can_be_marked(&self) -> bool {
        match &self.content {
            Content::Text { .. } | Content::Image { .. } | Content::ToolUse { .. } | Content::ToolResult { .. } => true,
            Content::Thinking { .. } | Content::RedactedThinking { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::Block as DomainBlock;
    use crate::domain::{CallId, ContentHash, Message, ToolCall};
    use std::sync::Arc;

    fn check(system: &str, messages: Vec<Message>, expected: &Value) {
        check_with(system, messages, Vec::new(), expected);
    }

    fn check_with(system: &str, messages: Vec<Message>, tools: Vec<ToolSpec>, expected: &Value) {
        let image = (ContentHash::of(b"png"), b"png".to_vec());
        let request = CallRequest {
            tools,
            images: Arc::new([image].into()),
            model: "claude".into(),
            system: system.into(),
            messages: messages.into_iter().map(Arc::new).collect(),
            max_output_tokens: 100,
            attempt: 1,
        };
        let body: Value = serde_json::from_slice(&body(&request).unwrap()).unwrap();
        assert_eq!(&body, expected, "{body:#}");
    }

    #[test]
    fn system_and_last_block_are_marked() {
        check(
            "Be brief.",
            vec![Message::user("a"), Message::assistant("b"), Message::user("c")],
            &json!({
                "model": "claude", "max_tokens": 100, "stream": true,
                "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "a"}]},
                    {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
                    {"role": "user", "content": [{"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}}]},
                ],
            }),
        );
    }

    #[test]
    fn tools_and_images_are_sent() {
        let schema = json!({"type": "object", "properties": {"at": {"type": "string"}}});
        let tools = vec![ToolSpec { name: "look".into(), description: "Looks.".into(), schema: schema.clone() }];
        let image = DomainBlock::Image { media_type: "image/png".into(), hash: ContentHash::of(b"png") };
        check_with(
            "",
            vec![Message { role: Role::User, blocks: vec![image] }],
            tools,
            &json!({
                "model": "claude", "max_tokens": 100, "stream": true,
                "tools": [{"name": "look", "description": "Looks.", "input_schema": schema}],
                "messages": [{"role": "user", "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
                     "cache_control": {"type": "ephemeral"}},
                ]}],
            }),
        );
    }

    #[test]
    fn thinking_calls_results_and_images() {
        let assistant = Message {
            role: Role::Assistant,
            blocks: vec![
                DomainBlock::Thinking { text: "hm".into(), signature: Some("sig".into()) },
                DomainBlock::RedactedThinking { data: "xx".into() },
                DomainBlock::ToolCall(ToolCall { call_id: CallId("1".into()), tool: "look".into(), input: json!("{") }),
            ],
        };
        let answer = Message {
            role: Role::User,
            blocks: vec![
                DomainBlock::Image { media_type: "image/png".into(), hash: ContentHash::of(b"") },
                DomainBlock::ToolResult {
                    call_id: CallId("1".into()),
                    output: "no".into(),
                    error: true,
                    images: Vec::new(),
                },
            ],
        };
        check(
            " ",
            vec![Message::user("go"), assistant, answer],
            &json!({
                "model": "claude", "max_tokens": 100, "stream": true,
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "go"}]},
                    {"role": "assistant", "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "sig"},
                        {"type": "redacted_thinking", "data": "xx"},
                        {"type": "tool_use", "id": "1", "name": "look", "input": {"unreadable_arguments": "{"}},
                    ]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": true},
                        {"type": "text", "text": "[an image (image/png) that is no longer here]", "cache_control": {"type": "ephemeral"}},
                    ]},
                ],
            }),
        );
    }
}
