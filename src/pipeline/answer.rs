//! Reading what handlers answer.

use crate::domain::{ContentHash, CustomMessage};
use serde_json::{Map, Value, json};

/// What an answer did to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    Unchanged,
    Changed,
    /// Nobody after it is asked: the prompt is handled.
    Handled,
    /// Nobody after it is asked: what was about to be done is not done.
    Blocked,
}

impl Merged {
    /// Whether the handlers behind this one are asked.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Unchanged | Self::Changed)
    }
}

/// A message as a handler writes it.
pub(super) fn custom(map: &Map<String, Value>, by: &str) -> Result<CustomMessage, String> {
    let custom_type = map.get("customType").and_then(Value::as_str).unwrap_or(by).to_owned();
    let text = content(map.get("content").ok_or("its message has no content")?)?;
    let display = map.get("display").and_then(Value::as_bool).unwrap_or(true);
    let details = map.get("details").cloned().unwrap_or_default();
    Ok(CustomMessage { custom_type, text, display, details, by: by.to_owned() })
}

/// The text of a content: a text, or a list of blocks.
pub(super) fn content(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block.get("type").and_then(Value::as_str) {
                Some("text") => Ok(block.get("text").and_then(Value::as_str).unwrap_or_default()),
                Some(other) => Err(format!("a block of the type `{other}` cannot be added: write text")),
                None => Err("a block of its content has no type".to_owned()),
            });
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(format!("content is {}, where a text or a list is expected", shown(other)))
        }
    }
}

/// A content without its images: those apart.
pub(super) fn parts(value: &Value) -> Result<(String, Vec<&Value>), String> {
    let Some(blocks) = value.as_array() else { return Ok((content(value)?, Vec::new())) };
    let is_image = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("image");
    let (images, texts): (Vec<&Value>, Vec<&Value>) = blocks.iter().partition(is_image);
    Ok((content(&texts.into_iter().cloned().collect())?, images))
}

/// An image as handlers have it: by its hash.
#[must_use]
pub fn image(media_type: &str, hash: &ContentHash) -> Value {
    json!({"type": "image", "mimeType": media_type, "hash": hash.as_str()})
}

/// A value in an error, cut.
pub(super) fn shown(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}
