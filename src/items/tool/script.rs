//! Shell tools: comments at the head of the script.

use super::Said;
use serde_json::Value;

/// Comments at the head of a shell script: `# name: value` or `# __name__ = "value"`.
pub(super) fn shell(text: &str) -> Said {
    let mut said = Said::default();
    for line in text.lines() {
        let Some(comment) = line.trim_start().strip_prefix('#') else {
            if line.trim().is_empty() {
                continue;
            }
            break;
        };
        let Some((name, value)) = comment.split_once([':', '=']) else { continue };
        let (name, value) = (name.trim(), value.trim());
        let known =
            ["version", "tool_type", "executor_id", "category", "description", "config_schema", "parameters", "config"];
        let plain = name.trim_matches('_').replace("tool_description", "description").to_lowercase();
        let Some(name) = known.into_iter().find(|known| *known == plain) else { continue };
        let value = match (name, value) {
            ("executor_id", "null" | "none" | "None" | "") => Value::Null,
            ("config_schema" | "parameters" | "config", json) => match serde_json::from_str(json) {
                Ok(value) => value,
                Err(_broken) => {
                    said.partial.push(name.to_owned());
                    continue;
                }
            },
            (_, text) => Value::String(text.trim_matches(['"', '\'']).to_owned()),
        };
        said.values.entry(name.to_owned()).or_insert(value);
    }
    said
}
