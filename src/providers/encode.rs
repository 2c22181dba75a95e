//! Requests as bodies: one function for what is sent, previewed and shown.

use super::openai_chat::LimitName;
use super::{anthropic, from_extension, gemini, openai_chat, openai_responses};
use crate::domain::WireForm;
use crate::domain::event::CallError;
use crate::ports::{CallRequest, EncodedRequest, HttpOptions};
use std::sync::Arc;

/// Writes `request` in a form.
///
/// # Errors
/// [`CallError`] when it cannot be written.
pub fn body(form: WireForm, request: &CallRequest) -> Result<Vec<u8>, CallError> {
    match form {
        WireForm::Anthropic => anthropic::request::body(request),
        WireForm::OpenAi => openai_chat::request::body(request, LimitName::MaxCompletionTokens),
        WireForm::Compatible => openai_chat::request::body(request, LimitName::of(&request.model)),
        WireForm::Responses => openai_responses::request::body(request),
        WireForm::Gemini => gemini::request::body(request),
        WireForm::Extension => from_extension::body(request),
    }
}

/// `request` with its body, for a provider of this form.
pub(super) fn encoded(form: WireForm, request: CallRequest) -> Result<EncodedRequest, CallError> {
    Ok(EncodedRequest {
        body: body(form, &request)?,
        form,
        request: Arc::new(request),
        options: HttpOptions::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, CallId, ContentHash, Image, Message, Role, ThinkingLevel, ToolCall};
    use serde_json::{Value, json};

    /// What the forms make of an answer with two calls, the results of both, and an image in the first.
    fn written(form: WireForm) -> Value {
        let hash = ContentHash::of(b"png");
        let image = Image { name: String::new(), media_type: "image/png".into(), hash: hash.clone(), bytes: 3 };
        let call =
            |id: &str| Block::ToolCall(ToolCall { call_id: CallId(id.into()), tool: "look".into(), input: json!({}) });
        let result = |id: &str, images| {
            let (call_id, output) = (CallId(id.into()), format!("seen {id}"));
            Block::ToolResult { call_id, output, error: false, images }
        };
        let gone =
            Image { name: String::new(), media_type: "image/png".into(), hash: ContentHash::of(b"gone"), bytes: 4 };
        let messages = vec![
            Message::user("go"),
            Message { role: Role::Assistant, blocks: vec![call("a"), call("b")] },
            Message { role: Role::User, blocks: vec![result("a", vec![image, gone]), result("b", Vec::new())] },
        ];
        let request = CallRequest {
            messages: messages.into_iter().map(Arc::new).collect(),
            images: Arc::new([(hash, b"png".to_vec())].into()),
            ..CallRequest::default()
        };
        serde_json::from_slice(&body(form, &request).unwrap()).unwrap()
    }

    #[test]
    fn a_result_shows_its_images_in_every_form() {
        let last = |body: &Value, list: &str| body[list].as_array().unwrap().last().unwrap().clone();
        let said = "seen a\n[an image (image/png) that is not shown]";
        let source = json!({"type": "base64", "media_type": "image/png", "data": "cG5n"});
        assert_eq!(
            last(&written(WireForm::Anthropic), "messages")["content"],
            json!([
                {"type": "tool_result", "tool_use_id": "a",
                 "content": [{"type": "text", "text": said}, {"type": "image", "source": source}]},
                {"type": "tool_result", "tool_use_id": "b", "content": "seen b", "cache_control": {"type": "ephemeral"}},
            ])
        );
        let url = "data:image/png;base64,cG5n";
        for form in [WireForm::OpenAi, WireForm::Compatible] {
            assert_eq!(
                written(form)["messages"].as_array().unwrap()[2..],
                [
                    json!({"role": "tool", "tool_call_id": "a", "content": said}),
                    json!({"role": "tool", "tool_call_id": "b", "content": "seen b"}),
                    json!({"role": "user", "content": [
                        {"type": "text", "text": "(shown by the result of a)"},
                        {"type": "image_url", "image_url": {"url": url}},
                    ]}),
                ]
            );
        }
        assert_eq!(
            written(WireForm::Responses)["input"].as_array().unwrap()[3..],
            [
                json!({"type": "function_call_output", "call_id": "a", "output": [
                    {"type": "input_text", "text": said}, {"type": "input_image", "image_url": url}]}),
                json!({"type": "function_call_output", "call_id": "b", "output": "seen b"}),
            ]
        );
        assert_eq!(
            last(&written(WireForm::Gemini), "contents")["parts"],
            json!([
                {"functionResponse": {"id": "a", "name": "look", "response": {"result": said}}},
                {"functionResponse": {"id": "b", "name": "look", "response": {"result": "seen b"}}},
                {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
            ])
        );
    }

    /// Nothing is said of it where nobody chose a level: the provider does what it does by itself.
    #[test]
    fn how_much_a_model_thinks_is_told_in_every_form() {
        let body = |form, model: &str, thinking| -> Value {
            let request =
                CallRequest { model: model.into(), thinking, max_output_tokens: 9_000, ..CallRequest::default() };
            serde_json::from_slice(&body(form, &request).unwrap()).unwrap()
        };
        let high = Some(ThinkingLevel::High);
        let opus = body(WireForm::Anthropic, "claude-opus-4-6", high);
        assert_eq!(
            (&opus["thinking"], &opus["output_config"]),
            (&json!({"type": "adaptive", "display": "summarized"}), &json!({"effort": "high"}))
        );
        let haiku = body(WireForm::Anthropic, "claude-haiku-4-5", high);
        assert_eq!(haiku["thinking"], json!({"type": "enabled", "budget_tokens": 4_500}));
        assert_eq!(haiku.get("output_config"), None);
        assert_eq!(body(WireForm::Responses, "gpt-5", high)["reasoning"], json!({"effort": "high"}));
        assert_eq!(body(WireForm::Responses, "gpt-4o", high).get("reasoning"), None);
        for form in [WireForm::OpenAi, WireForm::Compatible] {
            assert_eq!(body(form, "x", Some(ThinkingLevel::Off))["reasoning_effort"], "none");
        }
        let thinking = |body: Value| body["generationConfig"]["thinkingConfig"].clone();
        let gemini = body(WireForm::Gemini, "gemini-3-pro", high);
        assert_eq!(thinking(gemini), json!({"includeThoughts": true, "thinkingLevel": "high"}));
        assert_eq!(thinking(body(WireForm::Gemini, "gemini-2.5-pro", None)), json!({"includeThoughts": true}));
        let unknown = body(WireForm::Gemini, "gemini-flash-latest", high);
        assert_eq!(thinking(unknown), json!({"includeThoughts": true, "thinkingBudget": 24_576}));
        assert_eq!(thinking(body(WireForm::Gemini, "gemini-flash-latest", None)), Value::Null);
        let usual = [
            body(WireForm::Anthropic, "claude-opus-4-6", None),
            body(WireForm::Responses, "gpt-5", None),
            body(WireForm::OpenAi, "gpt-5", None),
        ];
        for name in ["thinking", "output_config", "reasoning", "reasoning_effort"] {
            assert!(usual.iter().all(|body| body.get(name).is_none()), "{name}");
        }
    }
}
