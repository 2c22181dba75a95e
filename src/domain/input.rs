//! What a directive wants to be told before it starts, and whether it was.

use super::problem::nearest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values for inputs, by name.
pub type Values = BTreeMap<String, String>;

/// A named input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    pub name: String,
    /// `string` when nothing is said. Values are texts all the same.
    pub kind: String,
    pub required: bool,
    pub default: Option<String>,
    pub description: String,
    /// First and last line in the directive's file.
    pub lines: (u32, u32),
}

/// Why inputs are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadInput {
    #[error("there is no input `{name}`; {}", hint(.near.as_deref(), .known))]
    Unknown { name: String, near: Option<String>, known: Vec<String> },
    #[error("the input `{name}` is missing{}", described(.description))]
    Missing { name: String, description: String },
}

impl BadInput {
    /// The input it is about.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown { name, .. } | Self::Missing { name, .. } => name,
        }
    }
}

fn hint(near: Option<&str>, known: &[String]) -> String {
    near.map_or_else(|| format!("known are {}", known.join(", ")), |near| format!("did you mean `{near}`?"))
}

fn described(description: &str) -> String {
    let line: String = description.lines().next().unwrap_or_default().chars().take(120).collect();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// The values to run with: what was given, and defaults for what was not. Without declared inputs anything passes.
///
/// # Errors
/// All unknown names, or else all missing ones.
pub fn accept(inputs: &[Input], mut given: Values) -> Result<Values, Vec<BadInput>> {
    if inputs.is_empty() {
        return Ok(given);
    }
    let names = || inputs.iter().map(|input| input.name.as_str());
    let unknown: Vec<BadInput> = given
        .keys()
        .filter(|name| !names().any(|known| known == *name))
        .map(|name| BadInput::Unknown {
            name: name.clone(),
            near: nearest(name, names()).map(str::to_owned),
            known: names().map(str::to_owned).collect(),
        })
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    for (name, default) in defaults(inputs) {
        given.entry(name).or_insert(default);
    }
    let missing = inputs.iter().filter(|input| input.required && !given.contains_key(&input.name));
    let missing: Vec<_> = missing
        .map(|input| BadInput::Missing { name: input.name.clone(), description: input.description.clone() })
        .collect();
    if missing.is_empty() { Ok(given) } else { Err(missing) }
}

/// The values of inputs that nobody gives.
#[must_use]
pub fn defaults(inputs: &[Input]) -> Values {
    let named = |Input { name, default, .. }: &Input| Some((name.clone(), default.clone()?));
    inputs.iter().filter_map(named).collect()
}
