//! The body of a Chat Completions request.

use super::LimitName;
use crate::domain::event::CallError;
use crate::domain::{Role, ToolCall, ToolSpec};
use crate::ports::CallRequest;
use crate::providers::http;
use crate::providers::schema::object_schema;
use crate::providers::signature::Maker;
use crate::providers::thinking;
use crate::providers::turns::{Part, Turn, turns};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Declaration<'a>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<String>,
        /// What it thought, in the field in which it was told.
        #[serde(flatten)]
        thought: Option<Thought>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

/// Thoughts go back to the model that had them: `DeepSeek` refuses calls without the thoughts before them.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Thought {
    ReasoningContent(String),
    Reasoning(String),
    ReasoningText(String),
}

/// Texts alone go as one text, which every server takes.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    One(Cow<'a, str>),
    Several(Vec<UserPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum UserPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

/// Writes `request`, with the output limit under the name `limit`.
pub(in crate::providers) fn body(request: &CallRequest, limit: LimitName) -> Result<Vec<u8>, CallError> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(WireMessage::System { content: &request.system });
    }
    // Thinking keeps its place until it is passed over, so that prompts around it stay messages of their own.
    for turn in turns(request, |_| true) {
        push(turn, &mut messages);
    }
    let allowed = Some(request.max_output_tokens);
    let (max_tokens, max_completion_tokens) = match limit {
        LimitName::MaxTokens => (allowed, None),
        LimitName::MaxCompletionTokens => (None, allowed),
    };
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens,
        max_completion_tokens,
        reasoning_effort: request.thinking.map(thinking::effort),
        tools: request.tools.iter().map(tool).collect(),
        messages,
    };
    serde_json::to_vec(&body).map_err(|error| http::protocol_error(&error.to_string()))
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    let function =
        Declaration { name: &spec.name, description: &spec.description, parameters: object_schema(&spec.schema) };
    WireTool { kind: "function", function }
}

/// A turn of results and text becomes a message for each result and one for the text.
fn push<'a>(turn: Turn<'a>, messages: &mut Vec<WireMessage<'a>>) {
    let (mut said, mut tool_calls, mut thought) = (Vec::new(), Vec::new(), None);
    for part in turn.parts {
        match part {
            Part::Text(text) => said.push(UserPart::Text { text }),
            Part::Image { media_type, data } => said.push(UserPart::image(media_type, &data)),
            Part::Call(call) => tool_calls.push(wire_call(call)),
            Part::Result { call_id, output, error: _, images } => {
                messages.push(WireMessage::Tool { tool_call_id: &call_id.0, content: output });
                // The message of a tool takes text alone, so what it shows comes behind all of them.
                if !images.is_empty() {
                    said.push(UserPart::Text { text: format!("(shown by the result of {})", call_id.0).into() });
                    said.extend(images.iter().map(|(media_type, data)| UserPart::image(media_type, data)));
                }
            }
            Part::Thinking { text, maker: Maker::Chat, signature: field } => think(&mut thought, field, text),
            Part::Thinking { .. } | Part::RedactedThinking(_) => {}
        }
    }
    match turn.role {
        Role::User if said.is_empty() => {}
        Role::User => messages.push(WireMessage::User { content: content(said) }),
        Role::Assistant if said.is_empty() && tool_calls.is_empty() => {}
        Role::Assistant => {
            let texts: Vec<Cow<'_, str>> = said.into_iter().filter_map(UserPart::text).collect();
            let content = (!texts.is_empty()).then(|| texts.concat());
            messages.push(WireMessage::Assistant { content, thought, tool_calls });
        }
    }
}

/// Adds a thought that was told in `field`.
fn think(thought: &mut Option<Thought>, field: &str, text: &str) {
    match thought {
        Some(Thought::ReasoningContent(all) | Thought::Reasoning(all) | Thought::ReasoningText(all)) => {
            all.push_str(text);
        }
        None => {
            let text = text.to_owned();
            *thought = match field {
                "reasoning_content" => Some(Thought::ReasoningContent(text)),
                "reasoning" => Some(Thought::Reasoning(text)),
                "reasoning_text" => Some(Thought::ReasoningText(text)),
                _ => None,
            };
        }
    }
}

fn content(said: Vec<UserPart<'_>>) -> Content<'_> {
    if said.iter().any(|part| matches!(part, UserPart::ImageUrl { .. })) {
        return Content::Several(said);
    }
    let mut texts: Vec<Cow<'_, str>> = said.into_iter().filter_map(UserPart::text).collect();
    Content::One(if texts.len() == 1 { texts.remove(0) } else { texts.join("\n\n").into() })
}

impl<'a> UserPart<'a> {
    fn image(media_type: &str, data: &str) -> Self {
        Self::ImageUrl { image_url: ImageUrl { url: format!("data:{media_type};base64,{data}") } }
    }

    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text { text } => Some(text),
            Self::ImageUrl { .. } => None,
        }
    }
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    // Arguments are a text here; those that could not be read go back as they came.
    let arguments = match &call.input {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Cow::Owned(other.to_string())
        }
    };
    WireCall { id: &call.call_id.0, kind: "function", function: Function { name: &call.tool, arguments } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, CallId, ContentHash, Message};
    use serde_json::json;
    use std::sync::Arc;

    fn body_of(system: &str, messages: Vec<Message>, limit: LimitName) -> Value {
        let request = CallRequest {
            model: "gpt".into(),
            system: system.into(),
            messages: messages.into_iter().map(Arc::new).collect(),
            max_output_tokens: 100,
            attempt: 1,
            ..CallRequest::default()
        };
        serde_json::from_slice(&body(&request, limit).unwrap()).unwrap()
    }

    #[test]
    fn a_plain_question_at_the_vendor() {
        assert_eq!(
            body_of("Be brief.", vec![Message::user("a")], LimitName::MaxCompletionTokens),
            json!({
                "model": "gpt", "stream": true, "stream_options": {"include_usage": true},
                "max_completion_tokens": 100,
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a"}],
            })
        );
    }

    #[test]
    fn texts_are_one_and_thoughts_go_back_to_the_model_that_had_them() {
        let text = |text: &str| Block::Text { text: text.into() };
        let thought = |model: &str| {
            let kept = crate::providers::signature::by(model, "chat:reasoning_content");
            Block::Thinking { text: format!("{model} thinks"), signature: Some(kept) }
        };
        let body = body_of(
            "",
            vec![
                Message { role: Role::User, blocks: vec![text("a"), text("b")] },
                Message { role: Role::Assistant, blocks: vec![thought("gpt"), thought("other"), text("c")] },
            ],
            LimitName::MaxTokens,
        );
        assert_eq!(
            body["messages"],
            json!([
                {"role": "user", "content": "a\n\nb"},
                {"role": "assistant", "content": "c", "reasoning_content": "gpt thinks"},
            ])
        );
    }

    #[test]
    fn tools_and_images_are_sent() {
        let schema = json!({"type": "object", "properties": {}});
        let image = Block::Image { media_type: "image/png".into(), hash: ContentHash::of(b"png") };
        let request = CallRequest {
            messages: vec![Arc::new(Message { role: Role::User, blocks: vec![image] })],
            images: Arc::new([(ContentHash::of(b"png"), b"png".to_vec())].into()),
            tools: vec![ToolSpec { name: "look".into(), description: "Looks.".into(), schema: schema.clone() }],
            ..CallRequest::default()
        };
        let body: Value = serde_json::from_slice(&body(&request, LimitName::MaxTokens).unwrap()).unwrap();
        let function = json!({"name": "look", "description": "Looks.", "parameters": schema});
        assert_eq!(body["tools"], json!([{"type": "function", "function": function}]));
        let url = json!({"url": "data:image/png;base64,cG5n"});
        assert_eq!(body["messages"], json!([{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]));
    }

    #[test]
    fn calls_results_and_texts_elsewhere() {
        let call =
            |id: &str, input| Block::ToolCall(ToolCall { call_id: CallId(id.into()), tool: "look".into(), input });
        let result = |id: &str| Block::ToolResult {
            call_id: CallId(id.into()),
            output: id.into(),
            error: false,
            images: Vec::new(),
        };
        let thought = Block::Thinking { text: "hm".into(), signature: Some("s".into()) };
        let body = body_of(
            "",
            vec![
                Message::user("go"),
                Message { role: Role::Assistant, blocks: vec![thought.clone()] },
                Message::user("on"),
                Message {
                    role: Role::Assistant,
                    blocks: vec![thought, call("1", json!({"a": 1})), call("2", json!("{"))],
                },
                Message {
                    role: Role::User,
                    blocks: vec![result("1"), result("2"), Block::Text { text: "more".into() }],
                },
            ],
            LimitName::MaxTokens,
        );
        assert_eq!(body["max_tokens"], 100);
        assert_eq!(
            body["messages"],
            json!([
                {"role": "user", "content": "go"},
                {"role": "user", "content": "on"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}},
                    {"id": "2", "type": "function", "function": {"name": "look", "arguments": "{"}},
                ]},
                {"role": "tool", "tool_call_id": "1", "content": "1"},
                {"role": "tool", "tool_call_id": "2", "content": "2"},
                {"role": "user", "content": "more"},
            ])
        );
    }
}
