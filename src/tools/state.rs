//! What a thread keeps under names, for its hooks and for itself later.

use super::{Answer, Failed};
use crate::ports::ToolListener;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(default)]
    set: Option<Value>,
}

/// Sets values, if any are given, and answers with all that the thread keeps.
pub(super) async fn state(Arguments { set }: Arguments, listener: &dyn ToolListener) -> Answer {
    // Some models write an object as a text.
    let set = match set {
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other.unwrap_or_default(),
    };
    let values = match set {
        Value::Null => Map::new(),
        Value::Object(values) => values,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Failed("`set` is an object: each name with its value, null to take it away.".to_owned()));
        }
    };
    match listener.keeps(values).await {
        Ok(kept) => Ok(kept.value().to_string()),
        Err(why) => Err(Failed(format!("Nothing changed: {why}."))),
    }
}
