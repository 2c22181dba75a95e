//! What handlers may make of a request in its provider's form.

use serde_json::Value;

/// The names under which wire forms bound an answer.
const BOUNDS: [&str; 4] = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"];

/// What makes a call dearer than its tokens say.
const MULTIPLIERS: [&str; 11] = [
    "n",
    "best_of",
    "service_tier",
    "models",
    "route",
    "provider",
    "plugins",
    "speed",
    "mcp_servers",
    "web_search_options",
    "candidateCount",
];

/// Whether a payload may be sent in the place of the one that was paid for: the same model, no longer answer, and still
/// with the constitution.
///
/// # Errors
/// Why not.
fn checked(before: &Value, after: &Value, constitution: &str) -> Result<(), String> {
    if !after.is_object() {
        return Err("the payload must be an object".to_owned());
    }
    if before.get("model") != after.get("model") {
        return Err("the model cannot be changed here: its price was reckoned before".to_owned());
    }
    if before.get("stream") != after.get("stream") {
        return Err("`stream` cannot be changed: the answer is read as it arrives".to_owned());
    }
    for name in MULTIPLIERS {
        if before.get(name) != after.get(name) {
            return Err(format!("`{name}` cannot be changed here: it decides what the call costs"));
        }
    }
    for bound in BOUNDS {
        let of = |payload: &Value| find(payload, bound);
        match (of(before), of(after)) {
            (Some(paid), Some(now)) if now > paid => {
                return Err(format!("`{bound}` cannot be raised from {paid} to {now}: only {paid} was reserved"));
            }
            (Some(_), None) => return Err(format!("`{bound}` cannot be removed: it is what was reserved for")),
            (None, Some(_)) => return Err(format!("`{bound}` cannot be added: the answer is bounded already")),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    if constitution.is_empty() { Ok(()) } else { heads(before, after, constitution) }
}

/// The number under this name, where wire forms have it.
fn find(payload: &Value, name: &str) -> Option<u64> {
    const INSIDE: [&str; 2] = ["generationConfig", "options"];
    let own = payload.get(name).and_then(Value::as_u64);
    own.or_else(|| INSIDE.iter().find_map(|inside| payload.get(inside)?.get(name)?.as_u64()))
}

/// What a payload may become: what it was when it was paid for.
#[derive(Clone, Debug, PartialEq)]
pub struct Paid {
    pub before: Value,
    pub constitution: String,
    /// So many bytes more may be sent, where the budget reserved for it.
    pub room: Option<usize>,
}

impl Paid {
    /// Whether `after` may be sent.
    ///
    /// # Errors
    /// Why not.
    pub fn allows(&self, after: &Value) -> Result<(), String> {
        checked(&self.before, after, &self.constitution)?;
        let grown = after.to_string().len().saturating_sub(self.before.to_string().len());
        match self.room {
            Some(room) if grown > room => {
                Err(format!("the request grew by {grown} bytes, of which {room} were reserved in the budget"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether the constitution stands where it stood, at the beginning of the same text.
fn heads(before: &Value, after: &Value, constitution: &str) -> Result<(), String> {
    match (before, after) {
        (Value::String(before), after) if before.starts_with(constitution) => match after {
            Value::String(after) if after.starts_with(constitution) => Ok(()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                Err("the constitution must stay at the head of the system text".to_owned())
            }
        },
        (Value::Object(before), after) => {
            before.iter().try_for_each(|(name, one)| heads(one, after.get(name).unwrap_or(&Value::Null), constitution))
        }
        (Value::Array(before), after) => before
            .iter()
            .enumerate()
            .try_for_each(|(place, one)| heads(one, after.get(place).unwrap_or(&Value::Null), constitution)),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_paid_for_stays() {
        let before = json!({"model": "m", "max_tokens": 100, "system": "Rules.\n\nMore", "stream": true});
        let with = |name: &str, value: Value| {
            let mut after = before.clone();
            after[name] = value;
            checked(&before, &after, "Rules.")
        };
        assert_eq!(with("temperature", json!(0.3)), Ok(()));
        assert_eq!(with("max_tokens", json!(50)), Ok(()));
        for (name, value) in [
            ("model", json!("dear")),
            ("max_tokens", json!(101)),
            ("max_tokens", Value::Null),
            ("system", json!("No rules")),
            ("system", json!("First. Rules.")),
            ("max_completion_tokens", json!(9)),
            ("models", json!(["dear"])),
            ("stream", json!(false)),
            ("n", json!(5)),
        ] {
            assert!(with(name, value.clone()).is_err(), "{name} {value}");
        }
        assert!(checked(&before, &json!("text"), "Rules.").is_err());
        let nested = |most: u64| json!({"generationConfig": {"maxOutputTokens": most}, "s": "Rules."});
        assert!(checked(&nested(5), &nested(6), "Rules.").is_err());
    }
}
