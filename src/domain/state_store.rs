//! What a thread keeps under names: hooks, conditions and tools read and write it as `${state.NAME}`.
//!
//! It is what the thread's log makes of it, so it survives whatever the thread does. Bounds keep it small: it goes
//! into every question to hooks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// As many names it may hold.
pub const MOST_NAMES: usize = 64;

/// As many bytes its values may take, written as JSON.
pub const MOST_BYTES: usize = 16 << 10;

/// As many letters a name may have.
const LONGEST_NAME: usize = 64;

/// The named values of a thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StateStore(Map<String, Value>);

impl StateStore {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As conditions and placeholders see it.
    #[must_use]
    pub fn value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Each name with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }

    /// Takes these values in the place of what stood under their names; null takes a name away.
    pub fn set(&mut self, values: &Map<String, Value>) {
        for (name, value) in values {
            if value.is_null() {
                self.0.remove(name);
            } else {
                self.0.insert(name.clone(), value.clone());
            }
        }
    }

    /// It with these values, if they are within its bounds.
    ///
    /// # Errors
    /// Why not, in a sentence.
    pub fn with(&self, values: &Map<String, Value>) -> Result<Self, String> {
        if let Some(name) = values.keys().find(|name| !is_name(name)) {
            return Err(format!("`{name}` cannot be a name: use letters, digits, `_` and `-`, {LONGEST_NAME} at most"));
        }
        let mut next = self.clone();
        next.set(values);
        if next.0.len() > MOST_NAMES {
            return Err(format!("a thread keeps {MOST_NAMES} values at most: take some away by setting them to null"));
        }
        let bytes = next.value().to_string().len();
        if bytes > MOST_BYTES {
            return Err(format!("the values of a thread take {MOST_BYTES} bytes at most, these would take {bytes}"));
        }
        Ok(next)
    }
}

fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    !name.is_empty() && name.chars().count() <= LONGEST_NAME && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn values_replace_each_other_and_null_takes_away() {
        let store = StateStore::default().with(&map(&json!({"tries": 1, "gone": true}))).unwrap();
        let store = store.with(&map(&json!({"tries": {"build": 2}, "gone": null, "never": null}))).unwrap();
        assert_eq!(store.value(), json!({"tries": {"build": 2}}));
    }

    #[test]
    fn what_is_out_of_bounds_changes_nothing() {
        let store = StateStore::default().with(&map(&json!({"a": 1}))).unwrap();
        let many: Map<String, Value> = (0..MOST_NAMES).map(|name| (format!("n{name}"), json!(1))).collect();
        for (values, why) in [
            (map(&json!({"a.b": 1})), "cannot be a name"),
            (map(&json!({"": 1})), "cannot be a name"),
            (map(&json!({"long": "x".repeat(MOST_BYTES)})), "bytes at most"),
            (many, "values at most"),
        ] {
            let refused = store.with(&values).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
