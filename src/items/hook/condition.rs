//! Conditions: tests of values, joined by any, all and not.

use super::Place;
use crate::domain::nearest;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

/// Deepest nesting of any, all and not.
const DEEPEST: usize = 32;
/// Largest compiled pattern, in bytes; matching takes time in proportion to the text.
const LARGEST_PATTERN: usize = 1 << 20;

/// When a hook is due.
#[derive(Clone, Debug)]
pub enum Condition {
    Always,
    Test(Test),
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    /// It does not read, for this reason, and so never holds.
    Broken(String),
}

/// A value and what it is held against.
#[derive(Clone, Debug)]
pub struct Test {
    /// Names joined by dots, numbers for places in lists; empty for everything.
    pub path: String,
    pub op: Op,
    pub value: Value,
}

/// How a value is tested.
#[derive(Clone, Debug)]
pub enum Op {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    In,
    Contains,
    Exists,
    Regex(Regex),
}

impl Op {
    const WORDS: [&'static str; 10] = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "exists", "regex"];

    /// The word in files.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::In => "in",
            Self::Contains => "contains",
            Self::Exists => "exists",
            Self::Regex(_) => "regex",
        }
    }
}

impl Condition {
    pub(in crate::items) fn read(value: &Value, place: &mut Place<'_>) -> Self {
        let condition = Self::nested(value, 0);
        if let Some(message) = condition.broken() {
            let remedy = "write path, op and value, or any, all or not with conditions";
            place.fatal(format!("the condition is not valid, so it never holds: {message}"), remedy);
            return Self::Broken(message.to_owned());
        }
        condition
    }

    /// What it tests, but for everything at once.
    pub(in crate::items) fn paths(&self) -> Vec<&str> {
        match self {
            Self::Always | Self::Broken(_) => Vec::new(),
            Self::Test(test) => Some(test.path.as_str()).filter(|path| !path.is_empty()).into_iter().collect(),
            Self::Any(parts) | Self::All(parts) => parts.iter().flat_map(Self::paths).collect(),
            Self::Not(part) => part.paths(),
        }
    }

    /// What is wrong with it or with a part of it.
    fn broken(&self) -> Option<&str> {
        match self {
            Self::Always | Self::Test(_) => None,
            Self::Broken(message) => Some(message),
            Self::Any(parts) | Self::All(parts) => parts.iter().find_map(Self::broken),
            Self::Not(part) => part.broken(),
        }
    }

    fn nested(value: &Value, depth: usize) -> Self {
        if depth > DEEPEST {
            return Self::Broken(format!("it is nested more than {DEEPEST} deep"));
        }
        let map = match value {
            Value::Null => return Self::Always,
            Value::Object(map) if map.is_empty() => return Self::Always,
            Value::Object(map) => map,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Self::Broken(format!("`{}` is no condition", shown(value)));
            }
        };
        let parts = |value: &Value| match value {
            Value::Array(values) => values.iter().map(|value| Self::nested(value, depth + 1)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                vec![Self::nested(value, depth + 1)]
            }
        };
        let mut found = Vec::new();
        for (name, value) in map {
            match name.as_str() {
                "any" => found.push(Self::Any(parts(value))),
                "all" => found.push(Self::All(parts(value))),
                "not" => found.push(Self::Not(Box::new(Self::All(parts(value))))),
                "path" | "op" | "value" => {}
                other => return Self::Broken(format!("unknown name `{other}` in a condition")),
            }
        }
        if map.contains_key("path") || map.contains_key("op") {
            found.push(test(map));
        }
        match found.len() {
            0 => Self::Broken("it names no path".to_owned()),
            1 => found.remove(0),
            _ => Self::All(found),
        }
    }
}

fn test(map: &Map<String, Value>) -> Condition {
    let broken = |message: String| Condition::Broken(message);
    let path = match map.get("path") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(path)) => path.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => return broken(format!("path cannot be `{}`", shown(other))),
    };
    let value = map.get("value").cloned().unwrap_or_default();
    let word = map.get("op").and_then(Value::as_str).unwrap_or("eq").trim();
    let op = match word {
        "eq" => Op::Eq,
        "ne" => Op::Ne,
        "gt" => Op::Gt,
        "gte" => Op::Gte,
        "lt" => Op::Lt,
        "lte" => Op::Lte,
        "contains" => Op::Contains,
        "exists" => Op::Exists,
        "in" if value.is_array() => Op::In,
        "in" => return broken(format!("in wants a list, not `{}`", shown(&value))),
        "regex" => match pattern(&value) {
            Ok(regex) => Op::Regex(regex),
            Err(message) => return broken(message),
        },
        other => {
            let near = nearest(other, Op::WORDS).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            return broken(format!("there is no operator `{other}`{near}; known: {}", Op::WORDS.join(", ")));
        }
    };
    Condition::Test(Test { path, op, value })
}

fn pattern(value: &Value) -> Result<Regex, String> {
    let Some(text) = value.as_str() else { return Err(format!("a pattern must be a string, not `{}`", shown(value))) };
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN).nest_limit(50).build().map_err(|error| {
        if matches!(error, regex::Error::CompiledTooBig(_)) {
            return "the pattern is too large to be matched quickly".to_owned();
        }
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("the pattern `{}` is not valid: {last}", shown(value))
    })
}

/// The beginning of a value, for messages.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::hook::Source;
    use serde_json::json;
    use std::path::Path;
    use std::time::Instant;

    fn message(value: &Value) -> Option<String> {
        let mut problems = Vec::new();
        let lines = (1, 1);
        let mut place = Place { source: Source::User, file: Path::new("h"), lines, problems: &mut problems };
        let condition = Condition::read(value, &mut place);
        assert_eq!(matches!(condition, Condition::Broken(_)), !problems.is_empty());
        problems.pop().map(|problem| problem.message)
    }

    #[test]
    fn what_does_not_read_is_told() {
        for (value, expected) in [
            (json!({"path": "a", "op": "equals"}), "there is no operator `equals`"),
            (json!({"path": "a", "op": "in", "value": "b"}), "in wants a list"),
            (json!({"path": "a", "op": "regex", "value": "("}), "is not valid"),
            (json!({"value": 1}), "it names no path"),
            (json!("deploy"), "`deploy` is no condition"),
            (json!({"any": [{"paht": "a"}]}), "unknown name `paht`"),
        ] {
            let said = message(&value).unwrap();
            assert!(said.contains(expected), "{said}");
        }
        for value in [json!(null), json!({}), json!({"path": "", "op": "exists"}), json!({"not": {"path": "a"}})] {
            assert_eq!(message(&value), None);
        }
    }

    #[test]
    fn hostile_conditions_are_refused_at_once() {
        let start = Instant::now();
        let mut deep = json!({"path": "a"});
        for _ in 0..100 {
            deep = json!({"not": deep});
        }
        assert!(message(&deep).unwrap().contains("more than 32 deep"));
        let said = message(&json!({"path": "a", "op": "regex", "value": "(((a{1,1000}){1,1000}){1,1000})"})).unwrap();
        assert!(said.contains("too large"), "{said}");
        assert!(start.elapsed().as_secs() < 5);
    }
}
