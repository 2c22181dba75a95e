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
    /// `string` when nothing is said. Values are texts all the same; those of `integer`, `number` and `boolean` have to
    /// read as one.
    pub kind: String,
    pub required: bool,
    pub default: Option<String>,
    pub description: String,
    /// The values that it takes; any where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// First and last line in the directive's file.
    pub lines: (u32, u32),
}

impl Input {
    /// The values to choose from: those that are named, and both of a boolean.
    #[must_use]
    pub fn options(&self) -> Vec<&str> {
        let is_boolean = matches!(self.kind.to_ascii_lowercase().as_str(), "boolean" | "bool");
        match self.choices.as_slice() {
            [] if is_boolean => vec!["true", "false"],
            choices => choices.iter().map(String::as_str).collect(),
        }
    }

    /// What a value must be, if `text` is none.
    #[must_use]
    pub fn wants(&self, text: &str) -> Option<String> {
        let is_choice = self.choices.is_empty() || self.choices.iter().any(|choice| choice == text);
        let wanted = (!is_choice).then(|| format!("one of: {}", self.choices.join(", ")));
        wanted.or_else(|| unfit(&self.kind, text).map(str::to_owned))
    }
}

/// Why inputs are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadInput {
    #[error("there is no input `{name}`; {}", hint(.near.as_deref(), .known))]
    Unknown { name: String, near: Option<String>, known: Vec<String> },
    #[error("the input `{name}` is missing{}", described(.description))]
    Missing { name: String, description: String },
    #[error("the input `{name}` must be {wanted}")]
    Unfit { name: String, wanted: String },
}

impl BadInput {
    /// The input it is about.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown { name, .. } | Self::Missing { name, .. } | Self::Unfit { name, .. } => name,
        }
    }

    /// The same in few words, for where name and description stand already.
    #[must_use]
    pub fn in_its_field(&self) -> String {
        match self {
            Self::Unknown { .. } => self.to_string(),
            Self::Missing { .. } => "it needs a value".to_owned(),
            Self::Unfit { wanted, .. } => format!("it must be {wanted}"),
        }
    }
}

/// Letters that mean something to whoever names an input: placeholders, paths to a field, `--input name=value`.
const MEANINGFUL: [char; 9] = ['{', '}', '$', '.', ':', '|', '?', '=', '`'];

/// Whether an input can be called this: any letters and signs in one line that a placeholder can hold.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let plain = |letter: char| !letter.is_control() && !MEANINGFUL.contains(&letter);
    !text.is_empty() && text.trim() == text && text.chars().all(plain)
}

/// What a value of `kind` must be, if `text` is none.
#[must_use]
pub fn unfit(kind: &str, text: &str) -> Option<&'static str> {
    let text = text.trim();
    let (fits, wanted) = match kind.to_ascii_lowercase().as_str() {
        "integer" | "int" => (text.parse::<i128>().is_ok(), "a whole number, such as 12"),
        "number" | "float" => (text.parse::<f64>().is_ok_and(f64::is_finite), "a number, such as 0.5"),
        "boolean" | "bool" => (matches!(text.to_ascii_lowercase().as_str(), "true" | "false"), "true or false"),
        _ => return None,
    };
    (!fits).then_some(wanted)
}

fn hint(near: Option<&str>, known: &[String]) -> String {
    near.map_or_else(|| format!("known inputs: {}", known.join(", ")), |near| format!("did you mean `{near}`?"))
}

fn described(description: &str) -> String {
    let line: String = description.lines().next().unwrap_or_default().chars().take(120).collect();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// The values to run with: what was given, and defaults for what was not. Without declared inputs anything passes.
///
/// # Errors
/// All unknown names, or else all that are missing or do not fit. Defaults are taken as they are.
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
    let bad = inputs.iter().filter_map(|input| match given.get(&input.name) {
        Some(value) => input.wants(value).map(|wanted| BadInput::Unfit { name: input.name.clone(), wanted }),
        None if input.required && input.default.is_none() => {
            Some(BadInput::Missing { name: input.name.clone(), description: input.description.clone() })
        }
        None => None,
    });
    let bad: Vec<_> = bad.collect();
    if !bad.is_empty() {
        return Err(bad);
    }
    for (name, default) in defaults(inputs) {
        given.entry(name).or_insert(default);
    }
    Ok(given)
}

/// The values of inputs that nobody gives.
#[must_use]
pub fn defaults(inputs: &[Input]) -> Values {
    let named = |Input { name, default, .. }: &Input| Some((name.clone(), default.clone()?));
    inputs.iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_whatever_a_placeholder_can_hold() {
        for name in ["target", "🚀", "the place", "naïve", "अनुच्छेद", "e\u{301}tape", "to-day", "👩\u{200d}👩\u{200d}👧"]
        {
            assert!(is_name(name), "{name}");
        }
        for name in ["", " a", "a ", "a}", "a:b", "a|b", "a?", "a=b", "a.b", "a\nb", "$a"] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn values_have_to_read_as_what_is_wanted() {
        let input = |kind: &str| Input { name: "n".into(), kind: kind.into(), ..Input::default() };
        let given = |text: &str| Values::from([("n".to_owned(), text.to_owned())]);
        for (kind, text) in
            [("integer", "-12"), ("number", " 0.5 "), ("boolean", "True"), ("string", "twelve"), ("array", "one, two")]
        {
            assert_eq!(accept(&[input(kind)], given(text)), Ok(given(text)), "{kind} {text}");
        }
        for (kind, text) in [("integer", "十二"), ("integer", "1.5"), ("number", "NaN"), ("boolean", "yes")] {
            let bad = accept(&[input(kind)], given(text)).expect_err("refused");
            assert!(matches!(bad.as_slice(), [BadInput::Unfit { .. }]), "{kind} {text}: {bad:?}");
            assert!(!bad[0].to_string().contains(text), "the value is not repeated");
        }
        let choice = Input { choices: vec!["staging".into(), "production".into()], ..input("string") };
        assert_eq!(accept(std::slice::from_ref(&choice), given("staging")), Ok(given("staging")));
        let bad = accept(&[choice], given("moon")).expect_err("refused");
        assert_eq!(bad[0].to_string(), "the input `n` must be one of: staging, production");
        assert_eq!(input("boolean").options(), ["true", "false"]);
        // What stands in the directive is its author's business.
        let stale = Input { default: Some("a dozen".into()), ..input("integer") };
        assert_eq!(accept(&[stale], Values::new()), Ok(given("a dozen")));
    }
}
