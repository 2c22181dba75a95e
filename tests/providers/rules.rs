//! What a vendor would refuse: the rules of each wire form, checked on every request.

mod gemini;
mod responses;

use axum::http::{HeaderMap, Uri};
use serde_json::Value;

/// The first rule that a request breaks.
pub(crate) fn broken(uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}"))?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    rule(header("content-type") == "application/json", "content type")?;
    rule(header("user-agent").starts_with("levain/"), "user agent")?;
    let streams = || rule(body["model"] == "test-1" && body["stream"] == true, "model and stream");
    match uri.path() {
        "/v1/responses" => {
            streams()?;
            rule(header("authorization") == format!("Bearer {}", super::KEY), "authorization")?;
            responses::responses(&body)
        }
        "/v1beta/models/test-1:streamGenerateContent" => {
            rule(uri.query() == Some("alt=sse"), "events are asked for")?;
            rule(header("x-goog-api-key") == super::KEY, "x-goog-api-key")?;
            gemini::gemini(&body)
        }
        "/v1/messages" => {
            streams()?;
            rule(header("x-api-key") == super::KEY, "x-api-key")?;
            rule(header("anthropic-version") == "2023-06-01", "anthropic-version")?;
            messages(&body)
        }
        "/v1/chat/completions" => {
            streams()?;
            rule(header("authorization") == format!("Bearer {}", super::KEY), "authorization")?;
            chat(&body)
        }
        other => Err(format!("path {other}")),
    }
}

fn messages(body: &Value) -> Result<(), String> {
    rule(body["max_tokens"].as_u64().is_some_and(|limit| limit > 0), "max_tokens")?;
    rule(body["system"][0]["cache_control"]["type"] == "ephemeral", "the system block is marked")?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        rule(tool["name"].is_string() && tool["input_schema"]["type"] == "object", "tools have schemas")?;
    }
    let marks = body.to_string().matches("cache_control").count();
    rule((1..=4).contains(&marks), "at most four marks")?;
    let messages = list(&body["messages"])?;
    let mut open: Vec<&Value> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        rule(message["role"] == role, "roles alternate from the user on")?;
        let blocks = list(&message["content"])?;
        for block in blocks {
            let text = block["text"].as_str();
            rule(block["type"] != "text" || text.is_some_and(|text| !text.trim().is_empty()), "texts are not empty")?;
            rule(block["type"] != "thinking" || block["signature"].is_string(), "thinking is signed")?;
            let source = &block["source"];
            let inline = source["type"] == "base64" && source["media_type"] == "image/png";
            rule(block["type"] != "image" || (inline && source["data"].is_string()), "images are inline")?;
            rule(block["type"] != "tool_use" || block["input"].is_object(), "input is an object")?;
        }
        let results: Vec<&Value> = blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .map(|block| &block["tool_use_id"])
            .collect();
        let all_results = blocks.iter().filter(|block| block["type"] == "tool_result").count();
        rule(
            results == open && all_results == results.len(),
            "each call has its result at the head of the next message",
        )?;
        open = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| &block["id"]).collect();
    }
    rule(open.is_empty() && messages.len() % 2 == 1, "the user has the last word")
}

fn chat(body: &Value) -> Result<(), String> {
    rule(body["max_tokens"].as_u64().is_some_and(|limit| limit > 0), "max_tokens")?;
    rule(body.get("max_completion_tokens").is_none(), "no vendor's name for the limit")?;
    rule(body["stream_options"]["include_usage"] == true, "usage is asked for")?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        rule(tool["type"] == "function" && function["name"].is_string(), "tools are functions")?;
        rule(function["parameters"].is_object(), "tools have schemas")?;
    }
    let messages = list(&body["messages"])?;
    rule(messages[0]["role"] == "system", "the system text comes first")?;
    let mut open: Vec<&Value> = Vec::new();
    for message in &messages[1..] {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let position = open.iter().position(|id| **id == message["tool_call_id"]);
            open.remove(position.ok_or("a result without its call")?);
            continue;
        }
        rule(open.is_empty(), "a call without its result")?;
        rule(matches!(role, "user" | "assistant"), "known roles")?;
        if let Some(calls) = message["tool_calls"].as_array() {
            open = calls.iter().map(|call| &call["id"]).collect();
            rule(calls.iter().all(|call| call["function"]["arguments"].is_string()), "arguments are text")?;
        } else {
            let content = &message["content"];
            rule(content.as_str().is_some_and(|text| !text.is_empty()) || content.is_array(), "content")?;
        }
    }
    rule(open.is_empty(), "a call without its result")
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().filter(|list| !list.is_empty()).ok_or_else(|| format!("an empty list: {value}"))
}

fn rule(kept: bool, name: &str) -> Result<(), String> {
    if kept { Ok(()) } else { Err(name.to_owned()) }
}
