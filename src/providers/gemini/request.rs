//! The body of a Gemini request.

use super::MADE;
use crate::domain::event::CallError;
use crate::domain::{CallId, Role, ToolSpec};
use crate::ports::CallRequest;
use crate::providers::http;
use crate::providers::signature::Maker;
use crate::providers::thinking;
use crate::providers::turns::{Part, Turn, turns};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// What the vendor's newer models take for the signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<WireContent<'a>>,
    contents: Vec<WireContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    generation_config: Generation,
}

#[derive(Serialize)]
struct WireContent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<WirePart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(flatten)]
    said: Said<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Said<'a> {
    Text(Cow<'a, str>),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'a str,
        data: String,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        args: Cow<'a, Value>,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        response: Value,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    /// The older `parameters` takes only a part of JSON schema.
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation {
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    include_thoughts: bool,
    #[serde(flatten)]
    level: Option<thinking::Gemini>,
}

/// Writes `request`.
pub(in crate::providers) fn body(request: &CallRequest) -> Result<Vec<u8>, CallError> {
    let turns = turns(request, |maker| matches!(maker, Maker::GeminiCall | Maker::GeminiText));
    let mut contents = Vec::with_capacity(turns.len());
    let mut called: Vec<(&CallId, &str)> = Vec::new();
    for turn in turns {
        contents.extend(content(turn, &mut called, &request.model));
    }
    let system = request.system.trim();
    let function_declarations: Vec<_> = request.tools.iter().map(declaration).collect();
    let thinks = version(&request.model) >= (2, 5);
    let level = request.thinking.map(|level| thinking::gemini(level, &request.model));
    let body = Body {
        system_instruction: (!system.is_empty())
            .then(|| WireContent { role: None, parts: vec![Said::Text(system.into()).into()] }),
        contents,
        tools: if function_declarations.is_empty() { Vec::new() } else { vec![Tools { function_declarations }] },
        generation_config: Generation {
            max_output_tokens: request.max_output_tokens,
            thinking_config: (thinks || level.is_some()).then_some(Thinking { include_thoughts: true, level }),
        },
    };
    serde_json::to_vec(&body).map_err(|error| http::protocol_error(&error.to_string()))
}

/// The number in `gemini-3.1-pro`; nothing for a model of another name.
fn version(model: &str) -> (u32, u32) {
    thinking::version(model, "gemini-").unwrap_or_default()
}

fn declaration(spec: &ToolSpec) -> Declaration<'_> {
    Declaration { name: &spec.name, description: &spec.description, parameters_json_schema: &spec.schema }
}

/// `called` are the calls of the turn before, whose names the results need.
fn content<'a>(turn: Turn<'a>, called: &mut Vec<(&'a CallId, &'a str)>, model: &str) -> Option<WireContent<'a>> {
    let before = std::mem::take(called);
    let mut parts: Vec<WirePart<'a>> = Vec::with_capacity(turn.parts.len());
    let mut signature = None;
    // Older models take a picture beside the results alone, and results stand together.
    let mut shown = Vec::new();
    for part in turn.parts {
        if !matches!(part, Part::Result { .. }) {
            parts.extend(shown.drain(..).map(WirePart::from));
        }
        let said = match part {
            Part::Text(text) => Said::Text(text),
            Part::Image { media_type, data } => Said::InlineData { mime_type: media_type, data },
            Part::Thinking { maker: Maker::GeminiText, signature: own, .. } => {
                parts.push(WirePart { said: Said::Text("".into()), thought_signature: Some(own) });
                continue;
            }
            Part::Thinking { signature: own, .. } => {
                signature = Some(own);
                continue;
            }
            Part::RedactedThinking(_) => continue,
            Part::Call(call) => {
                // Of calls made at once only the first is signed.
                let unsigned = called.is_empty() && version(model) >= (3, 0);
                called.push((&call.call_id, &call.tool));
                let thought_signature = signature.take().or(unsigned.then_some(UNSIGNED));
                let said = Said::FunctionCall { id: given(&call.call_id), name: &call.tool, args: object(&call.input) };
                parts.push(WirePart { said, thought_signature });
                continue;
            }
            Part::Result { call_id, output, error, images } => {
                shown.extend(images.into_iter().map(|(mime_type, data)| Said::InlineData { mime_type, data }));
                let name = before.iter().find(|(id, _)| *id == call_id).map_or("", |(_, name)| *name);
                let response = if error { json!({"error": output}) } else { json!({"result": output}) };
                Said::FunctionResponse { id: given(call_id), name, response }
            }
        };
        parts.push(said.into());
    }
    parts.extend(shown.into_iter().map(WirePart::from));
    let role = match turn.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    (!parts.is_empty()).then_some(WireContent { role: Some(role), parts })
}

/// The id, if the model gave one.
fn given(id: &CallId) -> Option<&str> {
    (!id.0.starts_with(MADE)).then_some(id.0.as_str())
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

impl<'a> From<Said<'a>> for WirePart<'a> {
    fn from(said: Said<'a>) -> Self {
        Self { said, thought_signature: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, ContentHash, Message, ToolCall};
    use crate::providers::signature::mark;
    use std::sync::Arc;

    fn written(request: CallRequest, messages: Vec<Message>) -> Value {
        let messages = messages.into_iter().map(Arc::new).collect();
        serde_json::from_slice(&body(&CallRequest { messages, ..request }).unwrap()).unwrap()
    }

    fn call(id: &str) -> Block {
        Block::ToolCall(ToolCall { call_id: CallId(id.into()), tool: "look".into(), input: json!({"a": 1}) })
    }

    #[test]
    fn a_question_with_tools_and_an_image() {
        let image = Block::Image { media_type: "image/png".into(), hash: ContentHash::of(b"png") };
        let request = CallRequest {
            model: "gemini-2.5-pro".into(),
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
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "contents": [{"role": "user", "parts": [
                    {"text": "what?"}, {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
                ]}],
                "tools": [{"functionDeclarations": [
                    {"name": "look", "description": "Looks.", "parametersJsonSchema": {}},
                ]}],
                "generationConfig": {"maxOutputTokens": 100, "thinkingConfig": {"includeThoughts": true}},
            })
        );
    }

    #[test]
    fn signatures_go_back_where_they_came_from() {
        let signed = |maker| Block::Thinking { text: "hm".into(), signature: Some(mark(maker, "sig")) };
        let text = Block::Text { text: "so".into() };
        let made = format!("{MADE}0");
        let answer = vec![
            signed(Maker::Messages),
            text,
            signed(Maker::GeminiText),
            signed(Maker::GeminiCall),
            call(&made),
            call("own"),
        ];
        let result = |id: &str, error| Block::ToolResult {
            call_id: CallId(id.into()),
            output: "seen".into(),
            error,
            images: Vec::new(),
        };
        let body = written(
            CallRequest { model: "gemini-3-pro".into(), ..CallRequest::default() },
            vec![
                Message::user("go"),
                Message { role: Role::Assistant, blocks: answer },
                Message { role: Role::User, blocks: vec![result(&made, false), result("own", true)] },
                Message { role: Role::Assistant, blocks: vec![call("foreign")] },
            ],
        );
        assert_eq!(
            body["contents"],
            json!([
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [
                    {"text": "so"},
                    {"text": "", "thoughtSignature": "sig"},
                    {"functionCall": {"name": "look", "args": {"a": 1}}, "thoughtSignature": "sig"},
                    {"functionCall": {"id": "own", "name": "look", "args": {"a": 1}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "look", "response": {"result": "seen"}}},
                    {"functionResponse": {"id": "own", "name": "look", "response": {"error": "seen"}}},
                ]},
                {"role": "model", "parts": [
                    {"functionCall": {"id": "foreign", "name": "look", "args": {"a": 1}}, "thoughtSignature": UNSIGNED},
                ]},
                {"role": "user", "parts": [{"functionResponse": {
                    "id": "foreign", "name": "look",
                    "response": {"error": "This call was not run: the turn was stopped before it."},
                }}]},
            ])
        );
    }
}
