//! What handlers may make of a request in its provider's form.

use serde_json::Value;

/// The names under which wire forms bound an answer.
const BOUNDS: [&str; 4] = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"];

/// What makes a call dearer than its tokens say.
const MULTIPLIERS: [&str; 3] = ["n", "best_of", "service_tier"];

/// Whether a payload may be sent in the place of the one that was paid for: the same model, no longer answer, and still
/// with the constitution.
///
/// # Errors
/// Why not.
pub fn checked(before: &Value, after: &Value, constitution: &str) -> Result<(), String> {
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
            (Some(_) | None, Some(_)) | (None, None) => {}
        }
    }
    if !holds(after, constitution) {
        return Err("the constitution cannot be taken out of a request".to_owned());
    }
    Ok(())
}

/// The number under this name, wherever an object of the first two levels has it.
fn find(payload: &Value, name: &str) -> Option<u64> {
    let map = payload.as_object()?;
    let own = map.get(name).and_then(Value::as_u64);
    own.or_else(|| map.values().find_map(|inner| inner.get(name).and_then(Value::as_u64)))
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(said) => said.contains(text),
        Value::Array(values) => values.iter().any(|value| holds(value, text)),
        Value::Object(map) => map.values().any(|value| holds(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
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
