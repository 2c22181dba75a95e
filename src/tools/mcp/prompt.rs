//! Prompts of a server: the file that keeps one, and the text that the server makes of it.

use super::server::{ListedPrompt, Server, yaml};
use rmcp::model::GetPromptResult;
use serde_json::{Value, json};

/// Longest text that is taken of a prompt, in bytes.
const LONGEST: usize = 1 << 20;

impl From<rmcp::model::Prompt> for ListedPrompt {
    fn from(prompt: rmcp::model::Prompt) -> Self {
        let arguments = prompt.arguments.unwrap_or_default().into_iter().map(|argument| {
            (argument.name, argument.description.unwrap_or_default(), argument.required.unwrap_or_default())
        });
        let description = prompt.description.or(prompt.title).unwrap_or_default();
        Self { name: prompt.name, description, arguments: arguments.collect() }
    }
}

/// The text of the file of one prompt of a server, which people use like a template.
#[must_use]
pub fn prompt_file(server: &Server, prompt: &ListedPrompt) -> String {
    let arguments = prompt.arguments.iter();
    let arguments: Vec<Value> = arguments
        .map(|(name, about, required)| json!({ "name": name, "description": about, "required": required }))
        .collect();
    yaml(&json!({
        "description": prompt.description, "prompt": { "server": server.id, "name": prompt.name },
        "arguments": arguments,
    }))
}

/// The text of a prompt: what its messages say, below each other. A role that is not the person's is named, and what is no
/// text is told of.
///
/// # Errors
/// That there is no text, or too much of it.
pub(super) fn prompt_text(result: &GetPromptResult) -> Result<String, String> {
    let mut parts = Vec::new();
    for message in result.messages.iter().filter_map(|message| serde_json::to_value(message).ok()) {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        let text = block_text(message.get("content").unwrap_or(&Value::Null));
        parts.push(if role == "user" { text } else { format!("{role}: {text}") });
    }
    let text = parts.join("\n\n");
    if text.trim().is_empty() {
        return Err("it answered without a text".to_owned());
    }
    if text.len() > LONGEST {
        return Err(format!("its text is longer than {} MB", LONGEST >> 20));
    }
    Ok(text)
}

fn block_text(block: &Value) -> String {
    let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    let media = |value: &Value| word(value, "mimeType").map(|kind| format!(", {kind}")).unwrap_or_default();
    match word(block, "type").as_deref() {
        Some("text") => word(block, "text").unwrap_or_default(),
        Some("resource") => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            let uri = word(resource, "uri").unwrap_or_default();
            let left_out = || format!("[a file{}, left out: {uri}]", media(resource));
            word(resource, "text").unwrap_or_else(left_out)
        }
        Some("resource_link") => {
            format!("[a link, not followed: {}]", word(block, "uri").unwrap_or_default())
        }
        Some(kind @ ("image" | "audio")) => format!("[{kind}{}, left out]", media(block)),
        Some(_) | None => "[a part of a kind that levain does not know, left out]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(messages: &Value) -> Result<String, String> {
        prompt_text(&serde_json::from_value(json!({ "messages": messages })).unwrap())
    }

    #[test]
    fn messages_become_one_text_that_names_other_roles_and_what_is_left_out() {
        let said = text(&json!([
            { "role": "user", "content": { "type": "text", "text": "Look:" } },
            { "role": "user", "content": { "type": "image", "data": "AAAA", "mimeType": "image/png" } },
            { "role": "assistant", "content": { "type": "text", "text": "I see." } },
            { "role": "user", "content": { "type": "resource", "resource": { "uri": "a:b", "text": "BODY" } } },
            { "role": "user", "content": { "type": "resource", "resource":
                { "uri": "a:c", "mimeType": "application/pdf", "blob": "AAAA" } } },
            { "role": "user", "content": { "type": "resource_link", "uri": "a:d", "name": "d" } },
        ]));
        let expected = "Look:\n\n[image, image/png, left out]\n\nassistant: I see.\n\nBODY\n\n\
                        [a file, application/pdf, left out: a:c]\n\n[a link, not followed: a:d]";
        assert_eq!(said.unwrap(), expected);
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert!(text(&json!([])).unwrap_err().contains("without a text"));
        let much = json!([{ "role": "user", "content": { "type": "text", "text": "x".repeat(LONGEST + 1) } }]);
        assert!(text(&much).unwrap_err().contains("longer than 1 MB"));
    }
}
