//! The body of a Responses request: a flat list of items instead of messages.

use super::reply::Sealed;
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
    store: bool,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    include: &'static [&'static str],
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    input: Vec<Item<'a>>,
}

/// No `summary` of it is asked for: the vendor refuses that to organisations that it has not verified (`Your organization must be
/// verified to generate reasoning summaries`, 400), and with it the effort.
#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    /// Strict schemas must name every property as required, which tools of people do not.
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: Vec<Content<'a>>,
    },
    Reasoning {
        #[serde(skip_serializing_if = "String::is_empty")]
        id: String,
        summary: Vec<Content<'a>>,
        encrypted_content: String,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Told<'a>,
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
enum Content<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: String },
    OutputText { text: Cow<'a, str> },
    SummaryText { text: &'a str },
}

/// Writes `request`.
pub(in crate::providers) fn body(request: &CallRequest) -> Result<Vec<u8>, CallError> {
    let mut input = Vec::with_capacity(request.messages.len());
    for turn in turns(request, |maker| maker == Maker::Responses) {
        push(turn, &mut input);
    }
    let level = request.thinking.filter(|_| reasons(&request.model));
    let body = Body {
        model: &request.model,
        stream: true,
        store: false,
        reasoning: level.map(|level| Reasoning { effort: thinking::effort(level) }),
        include: if reasons(&request.model) { &["reasoning.encrypted_content"] } else { &[] },
        max_output_tokens: request.max_output_tokens,
        instructions: request.system.trim(),
        tools: request.tools.iter().map(tool).collect(),
        input,
    };
    serde_json::to_vec(&body).map_err(|error| http::protocol_error(&error.to_string()))
}

/// The vendor refuses to be asked for reasoning where a model has none.
fn reasons(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|beginning| model.starts_with(beginning))
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    let ToolSpec { name, description, schema } = spec;
    WireTool { kind: "function", name, description, parameters: object_schema(schema), strict: false }
}

fn push<'a>(turn: Turn<'a>, input: &mut Vec<Item<'a>>) {
    // A reasoning item is refused without the item that it led to, so it waits for one.
    let mut thought = None;
    for part in turn.parts {
        match part {
            Part::Thinking { text, maker: _, signature } => thought = reasoning(text, signature).or(thought),
            Part::RedactedThinking(_) => {}
            Part::Text(text) => {
                input.extend(thought.take());
                let content = match turn.role {
                    Role::User => Content::InputText { text },
                    Role::Assistant => Content::OutputText { text },
                };
                say(turn.role, content, input);
            }
            Part::Image { media_type, data } => say(turn.role, Content::image(media_type, &data), input),
            Part::Call(call) => {
                input.extend(thought.take());
                let arguments = arguments(call);
                input.push(Item::FunctionCall { call_id: &call.call_id.0, name: &call.tool, arguments });
            }
            Part::Result { call_id, output, error: _, images } => {
                let output = if images.is_empty() { Told::Text(output) } else { shown(output, images) };
                input.push(Item::FunctionCallOutput { call_id: &call_id.0, output });
            }
        }
    }
}

fn shown<'a>(output: Cow<'a, str>, images: Vec<(&'a str, String)>) -> Told<'a> {
    let images = images.into_iter().map(|(media_type, data)| Content::image(media_type, &data));
    Told::Shown([Content::InputText { text: output }].into_iter().chain(images).collect())
}

impl Content<'_> {
    fn image(media_type: &str, data: &str) -> Self {
        Self::InputImage { image_url: format!("data:{media_type};base64,{data}") }
    }
}

/// Adds to the message at the end, if it is one of `role`.
fn say<'a>(role: Role, content: Content<'a>, input: &mut Vec<Item<'a>>) {
    match input.last_mut() {
        Some(Item::Message { role: last, content: all }) if *last == role => all.push(content),
        _ => input.push(Item::Message { role, content: vec![content] }),
    }
}

fn reasoning<'a>(text: &'a str, sealed: &'a str) -> Option<Item<'a>> {
    let Sealed { id, encrypted_content } = serde_json::from_str(sealed).ok()?;
    let summary = if text.is_empty() { Vec::new() } else { vec![Content::SummaryText { text }] };
    Some(Item::Reasoning { id, summary, encrypted_content })
}

fn arguments(call: &ToolCall) -> Cow<'_, str> {
    // Arguments are a text here; those that could not be read go back as they came.
    match &call.input {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Cow::Owned(other.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, CallId, ContentHash, Message};
    use crate::providers::signature::mark;
    use serde_json::json;
    use std::sync::Arc;

    fn written(request: CallRequest, messages: Vec<Message>) -> Value {
        let messages = messages.into_iter().map(Arc::new).collect();
        serde_json::from_slice(&body(&CallRequest { messages, ..request }).unwrap()).unwrap()
    }

    #[test]
    fn a_question_with_tools_and_an_image() {
        let image = Block::Image { media_type: "image/png".into(), hash: ContentHash::of(b"png") };
        let request = CallRequest {
            model: "gpt-5".into(),
            system: "Be brief.".into(),
            max_output_tokens: 100,
            tools: vec![ToolSpec { name: "look".into(), description: "Looks.".into(), schema: json!({}) }],
            images: Arc::new([(ContentHash::of(b"png"), b"png".to_vec())].into()),
            ..CallRequest::default()
        };
        let blocks = vec![Block::Text { text: "what?".into() }, image];
        assert_eq!(
            written(request, vec![Message { role: Role::User, blocks }]),
            json!({
                "model": "gpt-5", "stream": true, "store": false, "max_output_tokens": 100,
                "include": ["reasoning.encrypted_content"], "instructions": "Be brief.",
                "tools": [{
                    "type": "function", "name": "look", "description": "Looks.",
                    "parameters": {"type": "object", "properties": {}}, "strict": false,
                }],
                "input": [{"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "what?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,cG5n"},
                ]}],
            })
        );
    }

    #[test]
    fn reasoning_goes_back_before_what_it_led_to() {
        let thought = |id: &str| Block::Thinking {
            text: String::new(),
            signature: Some(mark(Maker::Responses, &format!(r#"{{"id":"{id}","encrypted_content":"x"}}"#))),
        };
        let foreign = Block::Thinking { text: "hm".into(), signature: Some("sig".into()) };
        let call = ToolCall { call_id: CallId("1".into()), tool: "look".into(), input: json!({"a": 1}) };
        let blocks =
            vec![foreign, thought("r1"), Block::ToolCall(call), Block::Text { text: "so".into() }, thought("r2")];
        let body = written(
            CallRequest { model: "gpt-4o".into(), ..CallRequest::default() },
            vec![Message::user("go"), Message { role: Role::Assistant, blocks }],
        );
        assert_eq!(body.get("include"), None);
        assert_eq!(
            body["input"],
            json!([
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "x"},
                {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{\"a\":1}"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
                {"type": "function_call_output", "call_id": "1",
                 "output": "This call was not run: the turn was stopped before it."},
            ])
        );
    }
}
