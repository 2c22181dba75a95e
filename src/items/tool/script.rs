//! JavaScript and shell tools, read by a tolerant scan.
//!
//! Missing for JavaScript until there is a parser for it: values that are computed (calls, names, spreads, templates with
//! `${…}`), `module.exports = {…}` and `export default {…}`.

use super::Said;
use super::literal;
use serde_json::Value;

/// Constants at the start of a line: `export const NAME = <literal>`, also `const`, `let`, `var` and with a type.
pub(super) fn javascript(text: &str) -> Said {
    let mut said = Said::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let Some((name, from)) = constant(line) else { continue };
        let Some(value) = text.get(begin + from..) else { continue };
        let (value, whole) = literal::read(value);
        if !whole && is_ours(name) {
            said.partial.push(name.to_owned());
        }
        if let (Some(value), true) = (value, is_ours(name)) {
            said.values.entry(name.to_owned()).or_insert(value);
        }
    }
    said
}

fn is_ours(name: &str) -> bool {
    (name.starts_with("__") && name.ends_with("__"))
        || matches!(name, "CONFIG_SCHEMA" | "ENV_CONFIG" | "CONFIG" | "CONFIG_RESOLVE")
}

/// The name a line gives a value to, and the byte behind its `=`.
fn constant(line: &str) -> Option<(&str, usize)> {
    let rest = line.strip_prefix("export ").unwrap_or(line).trim_start();
    let rest = ["const ", "let ", "var "].iter().find_map(|word| rest.strip_prefix(word))?.trim_start();
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '$'))?;
    let (name, behind) = rest.split_at_checked(end)?;
    // Up to `=`, a type may stand.
    let (_, value) = behind
        .split_once('=')
        .filter(|(before, after)| before.trim().is_empty() != before.contains(':') && !after.starts_with('='))?;
    Some((name, line.len() - value.len()))
}

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
        let known = ["version", "tool_type", "executor_id", "category", "description", "config_schema", "parameters"];
        let plain = name.trim_matches('_').replace("tool_description", "description").to_lowercase();
        let Some(name) = known.into_iter().find(|known| *known == plain) else { continue };
        let value = match (name, value) {
            ("executor_id", "null" | "none" | "None" | "") => Value::Null,
            ("config_schema" | "parameters", json) => match serde_json::from_str(json) {
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
