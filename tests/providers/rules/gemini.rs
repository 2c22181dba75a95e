//! What Gemini would refuse.

use super::{list, rule};
use serde_json::Value;

pub(super) fn gemini(body: &Value) -> Result<(), String> {
    rule(body.get("model").is_none() && body.get("stream").is_none(), "the address says model and stream")?;
    rule(body["systemInstruction"]["parts"][0]["text"] == "Be brief.", "the system text")?;
    rule(body["generationConfig"]["maxOutputTokens"].as_u64().is_some_and(|limit| limit > 0), "maxOutputTokens")?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        for function in list(&tool["functionDeclarations"])? {
            rule(function["name"].is_string() && function["parametersJsonSchema"].is_object(), "declarations")?;
        }
    }
    let contents = list(&body["contents"])?;
    let mut open: Vec<&str> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "model" };
        rule(content["role"] == role, "roles alternate from the user on")?;
        let mut called = Vec::new();
        for part in list(&content["parts"])? {
            let signed = part.get("thoughtSignature").is_some();
            let known = ["text", "inlineData", "functionCall", "functionResponse"];
            rule(part.as_object().is_some_and(|part| part.len() == 1 + usize::from(signed)), "one thing a part")?;
            rule(known.iter().any(|name| part.get(name).is_some()), "known parts")?;
            rule(part["text"] != "" || signed, "texts are not empty")?;
            if let Some(call) = part.get("functionCall") {
                rule(call["args"].is_object(), "args are an object")?;
                called.extend(call["name"].as_str());
            }
            if let Some(response) = part.get("functionResponse") {
                rule(response["response"].is_object(), "a response is an object")?;
                let position = open.iter().position(|name| response["name"] == *name);
                open.remove(position.ok_or("a response without its call")?);
            }
        }
        rule(open.is_empty(), "a call without its response")?;
        open = called;
    }
    rule(open.is_empty() && contents.len() % 2 == 1, "the user has the last word")
}
