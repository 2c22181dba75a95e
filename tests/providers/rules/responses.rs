//! What the Responses API would refuse.

use super::{list, rule};
use serde_json::Value;

pub(super) fn responses(body: &Value) -> Result<(), String> {
    rule(body["store"] == false && body["include"][0] == "reasoning.encrypted_content", "nothing is stored")?;
    rule(body["instructions"] == "Be brief.", "the system text is the instructions")?;
    rule(body["max_output_tokens"].as_u64().is_some_and(|limit| limit >= 16), "max_output_tokens")?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        rule(tool["type"] == "function" && tool["name"].is_string(), "tools are functions")?;
        rule(tool["parameters"].is_object() && tool["strict"] == false, "tools have schemas")?;
    }
    let mut open: Vec<&Value> = Vec::new();
    let mut thought = false;
    for item in list(&body["input"])? {
        let kind = item["type"].as_str().unwrap_or_default();
        rule(!thought || matches!(kind, "message" | "function_call"), "reasoning comes before what it led to")?;
        thought = kind == "reasoning";
        match kind {
            "message" => {
                rule(open.is_empty(), "a call without its result")?;
                let text = if item["role"] == "user" { "input_text" } else { "output_text" };
                for content in list(&item["content"])? {
                    let image = content["type"] == "input_image" && item["role"] == "user";
                    let data = content["image_url"].as_str().is_some_and(|url| url.starts_with("data:image/"));
                    rule(content["type"] == text || (image && data), "contents by role")?;
                }
            }
            "reasoning" => rule(item["encrypted_content"].is_string() && item["summary"].is_array(), "reasoning")?,
            "function_call" => {
                rule(item["arguments"].is_string() && item["name"].is_string(), "arguments are text")?;
                open.push(&item["call_id"]);
            }
            "function_call_output" => {
                let position = open.iter().position(|id| **id == item["call_id"]);
                open.remove(position.ok_or("a result without its call")?);
            }
            other => return Err(format!("an item of type {other}")),
        }
    }
    rule(open.is_empty() && !thought, "a call without its result")
}
