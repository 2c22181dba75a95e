//! The body of a Messages request.

use crate::domain::event::CallError;
use crate::domain::{CallId, ContentHash, Role, ToolSpec};
use crate::ports::CallRequest;
use crate::providers::http;
use crate::providers::schema::object_schema;
use crate::providers::signature::Maker;
use crate::providers::thinking;
use crate::providers::turns::{Part, Turn, turns};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<thinking::Messages>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Cow<'a, Value>,
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
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
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

/// Writes `request`, with at most four marks for the cache: the system text, which stays the same for the whole thread; the end of
/// what was said before this prompt and before the last, behind which the current context moves on from prompt to prompt; and the
/// end, which is the beginning of the next request of this prompt. The cache is searched for twenty blocks back from a mark, so
/// the one before it is marked again.
pub(in crate::providers) fn body(request: &CallRequest) -> Result<Vec<u8>, CallError> {
    let mut system = Vec::new();
    if !request.system.trim().is_empty() {
        system.push(Content::Text { text: (&request.system).into() }.marked());
    }
    let mut messages: Vec<WireMessage<'_>> =
        turns(request, |maker| maker == Maker::Messages).into_iter().map(message).collect();
    let said = ends_before_prompts(&messages);
    if let Some(prompt) = said.last().filter(|_| binds_thinking(&request.model)) {
        messages.iter_mut().take(prompt + 1).for_each(WireMessage::forget_thinking);
        messages.retain(|message| !message.content.is_empty());
    }
    let ends = ends_before_prompts(&messages).into_iter().rev().take(2);
    for end in ends.chain(messages.len().checked_sub(1)).collect::<Vec<_>>() {
        if let Some(message) = messages.get_mut(end) {
            message.mark();
        }
    }
    let tools = request.tools.iter().map(tool).collect();
    let max_tokens = request.max_output_tokens;
    let in_calls = answers_unthought(&messages);
    let (thinking, effort) = thinking::messages(request.thinking, &request.model, max_tokens, in_calls);
    let output_config = effort.map(|effort| OutputConfig { effort });
    let body =
        Body { model: &request.model, max_tokens, thinking, output_config, stream: true, system, tools, messages };
    serde_json::to_vec(&body).map_err(|error| http::protocol_error(&error.to_string()))
}

/// Whether it ends amid calls whose first answer began without a thought: all of them are one turn to the vendor, which has to begin
/// with one where thinking is on.
fn answers_unthought(messages: &[WireMessage<'_>]) -> bool {
    let begins = messages.iter().rposition(WireMessage::is_prompt).map_or(0, |prompt| prompt + 1);
    let first = messages.get(begins..).unwrap_or_default().iter().find(|message| message.role == Role::Assistant);
    let ends_in_calls = messages.last().is_some_and(WireMessage::holds_results);
    ends_in_calls && first.is_some_and(|first| !first.content.first().is_some_and(Block::is_thinking))
}

/// The answers that a prompt follows, by their places.
fn ends_before_prompts(messages: &[WireMessage<'_>]) -> Vec<usize> {
    let pairs = messages.iter().zip(messages.iter().skip(1)).enumerate();
    pairs.filter(|(_, (answer, next))| answer.role == Role::Assistant && next.is_prompt()).map(|(at, _)| at).collect()
}

/// Whether the vendor refuses a thought where anything before it is not as it was when it was thought: since 5.1. What stands
/// before the thoughts of earlier prompts is, since the current context moved on, so they stay here; those of this prompt go back.
fn binds_thinking(model: &str) -> bool {
    thinking::version(model, "claude-").is_some_and(|version| version >= (5, 1))
}

impl WireMessage<'_> {
    fn holds_results(&self) -> bool {
        self.content.iter().any(|block| matches!(block.content, Content::ToolResult { .. }))
    }

    fn is_prompt(&self) -> bool {
        self.role == Role::User && !self.holds_results()
    }

    fn forget_thinking(&mut self) {
        self.content.retain(|block| !block.is_thinking());
    }

    /// Marks its end for the cache.
    fn mark(&mut self) {
        if let Some(last) = self.content.iter_mut().rev().find(|block| !block.is_thinking()) {
            last.cache_control = Some(CacheControl::Ephemeral);
        }
    }
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    WireTool { name: &spec.name, description: &spec.description, input_schema: object_schema(&spec.schema) }
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
        Part::Call(call) => Content::ToolUse { id: id(&call.call_id), name: &call.tool, input: object(&call.input) },
        Part::Result { call_id, output, error, images } => {
            Content::ToolResult { tool_use_id: id(call_id), content: told(output, images), is_error: error }
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

/// The wire takes letters, digits, `_` and `-`; ids of other makers (`functions.look:0`) are written in these, each in its own way.
fn id(call: &CallId) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if !call.0.is_empty() && call.0.len() <= LONGEST_ID && call.0.chars().all(fits) {
        return Cow::Borrowed(&call.0);
    }
    let kept: String =
        call.0.chars().take(LONGEST_ID / 2).map(|letter| if fits(letter) { letter } else { '_' }).collect();
    let hash = ContentHash::of(call.0.as_bytes());
    Cow::Owned(format!("{kept}_{}", hash.as_str().get(..16).unwrap_or_default()))
}

/// The longest id that is sent as it is.
const LONGEST_ID: usize = 64;

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
    fn is_thinking(&self) -> bool {
        matches!(self.content, Content::Thinking { .. } | Content::RedactedThinking { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::Block as DomainBlock;
    use crate::domain::{Message, ToolCall};
    use std::sync::Arc;

    fn body_of(model: &str, messages: Vec<Message>) -> Value {
        let messages = messages.into_iter().map(Arc::new).collect();
        let request = CallRequest { model: model.into(), system: "S".into(), messages, ..CallRequest::default() };
        serde_json::from_slice(&body(&request).unwrap()).unwrap()
    }

    /// Which blocks of its messages are marked for the cache: message and block.
    fn marked(body: &Value) -> Vec<(usize, usize)> {
        let blocks = body["messages"].as_array().unwrap().iter().enumerate().flat_map(|(at, message)| {
            message["content"].as_array().unwrap().iter().enumerate().map(move |(block, content)| (at, block, content))
        });
        let marked = blocks.filter(|(_, _, content)| content.get("cache_control").is_some());
        marked.map(|(at, block, _)| (at, block)).collect()
    }

    fn call(id: &str) -> DomainBlock {
        DomainBlock::ToolCall(ToolCall { call_id: CallId(id.into()), tool: "look".into(), input: json!({}) })
    }

    fn result(id: &str) -> Message {
        let result = DomainBlock::ToolResult {
            call_id: CallId(id.into()),
            output: "ok".into(),
            error: false,
            images: Vec::new(),
        };
        Message { role: Role::User, blocks: vec![result] }
    }

    #[test]
    fn the_cache_is_marked_before_the_last_two_prompts_and_at_the_end() {
        let mut said = vec![Message::user("opening")];
        for prompt in 1..=3 {
            said.push(Message::user(format!("state {prompt}")));
            said.push(Message::user(format!("prompt {prompt}")));
            said.push(Message { role: Role::Assistant, blocks: vec![call(&format!("c{prompt}"))] });
            said.push(result(&format!("c{prompt}")));
            said.push(Message::assistant(format!("answer {prompt}")));
        }
        // What was said to the end of an answer is marked when it is answered, and again with the prompt behind the next one.
        let first = body_of(
            "claude-opus-4-6",
            said[..6].iter().cloned().chain([Message::user("state"), Message::user("on")]).collect(),
        );
        assert_eq!(marked(&first), [(3, 0), (4, 1)]);
        let third =
            body_of("claude-opus-4-6", said.into_iter().chain([Message::user("state"), Message::user("on")]).collect());
        assert_eq!(marked(&third), [(7, 0), (11, 0), (12, 1)]);
        assert!(third["system"][0].get("cache_control").is_some());
    }

    #[test]
    fn thoughts_of_earlier_prompts_stay_here_where_they_are_bound_to_what_came_before() {
        let thought = |model: &str| DomainBlock::Thinking {
            text: "hm".into(),
            signature: Some(crate::providers::signature::by(model, "s")),
        };
        let thinks = |model: &str| {
            let answer = |text: &str| DomainBlock::Text { text: text.into() };
            let said = vec![
                Message::user("a"),
                Message { role: Role::Assistant, blocks: vec![thought(model), answer("one")] },
                Message::user("b"),
                Message { role: Role::Assistant, blocks: vec![thought(model), call("c")] },
                result("c"),
            ];
            let body = body_of(model, said);
            let messages = body["messages"].as_array().unwrap().clone();
            messages.iter().filter(|message| message["content"][0]["type"] == "thinking").count()
        };
        for (model, expected) in [
            ("claude-opus-4-6", 2),
            ("claude-sonnet-4-5-20250929", 2),
            ("claude-opus-5", 2),
            ("claude-opus-5-5", 1),
            ("claude-fable-5-1", 1),
            ("other-5-5", 2),
        ] {
            assert_eq!(thinks(model), expected, "{model}");
        }
    }

    #[test]
    fn a_budget_to_think_is_asked_for_again_where_the_first_answer_to_the_prompt_began_with_a_thought() {
        let model = "claude-sonnet-4-5";
        let thinking = |thought: Option<DomainBlock>| {
            let first = Message { role: Role::Assistant, blocks: thought.into_iter().chain([call("c")]).collect() };
            let second = Message { role: Role::Assistant, blocks: vec![call("d")] };
            let messages = [Message::user("go"), first, result("c"), second, result("d")].map(Arc::new).to_vec();
            let request = CallRequest {
                model: model.into(),
                messages,
                max_output_tokens: 32_000,
                thinking: Some(crate::domain::ThinkingLevel::Low),
                ..CallRequest::default()
            };
            let body: Value = serde_json::from_slice(&body(&request).unwrap()).unwrap();
            body.get("thinking").cloned()
        };
        let signature = Some(crate::providers::signature::by(model, "s"));
        let thought = DomainBlock::Thinking { text: "hm".into(), signature };
        assert_eq!(thinking(Some(thought)), Some(json!({"type": "enabled", "budget_tokens": 2_048})));
        assert_eq!(thinking(None), None);
    }

    #[test]
    fn ids_of_other_makers_are_written_as_the_wire_takes_them() {
        let body = body_of(
            "claude",
            vec![
                Message::user("go"),
                Message {
                    role: Role::Assistant,
                    blocks: vec![call("functions.look:0"), call("functions_look_0"), call("ok-1")],
                },
                Message {
                    role: Role::User,
                    blocks: ["functions.look:0", "functions_look_0", "ok-1"]
                        .into_iter()
                        .flat_map(|id| result(id).blocks)
                        .collect(),
                },
            ],
        );
        let ids = |message: usize, name: &str| -> Vec<String> {
            let blocks = body["messages"][message]["content"].as_array().unwrap().iter();
            blocks.map(|block| block[name].as_str().unwrap().to_owned()).collect()
        };
        let calls = ids(1, "id");
        assert_eq!(calls, ids(2, "tool_use_id"));
        assert_eq!(calls[1..], ["functions_look_0", "ok-1"]);
        assert!(
            calls[0].starts_with("functions_look_0_")
                && calls[0].chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        );
    }

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
            thinking: None,
        };
        let body: Value = serde_json::from_slice(&body(&request).unwrap()).unwrap();
        assert_eq!(&body, expected, "{body:#}");
    }

    #[test]
    fn a_plain_talk() {
        check(
            "Be brief.",
            vec![Message::user("a"), Message::assistant("b"), Message::user("c")],
            &json!({
                "model": "claude", "max_tokens": 100, "stream": true,
                "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "a"}]},
                    {"role": "assistant", "content": [{"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]},
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
