//! Filling placeholders: `${path}`, `${first || second || "words"}` and `{input:…}`.
//!
//! Values are put in once and never looked at again: a placeholder inside a value, which a model may have written,
//! stays what it is. So does a placeholder that names no field of the event.

use super::condition::{at, text};
use crate::domain::input;
use crate::items::directive::{Values, interpolate};
use serde_json::{Map, Value};

/// A field whose absence has a word, because texts tell it to the model: a thread without a parent.
const PARENT: &str = "parent_thread_id";

/// What placeholders are filled from.
#[derive(Clone, Copy, Debug)]
pub struct Filling<'a> {
    /// The fields of the event.
    pub fields: &'a Value,
    pub inputs: &'a Values,
}

impl Filling<'_> {
    /// `text` with everything filled in. What has a name and no value becomes empty.
    #[must_use]
    pub fn text(&self, template: &str) -> String {
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find(['{', '$']) {
            let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            out.push_str(before);
            if let Some((value, behind)) = self.placeholder(from) {
                out.push_str(&text(&value));
                rest = behind;
            } else if let Some((filled, behind)) = self.input(from) {
                out.push_str(&filled);
                rest = behind;
            } else {
                out.extend(from.chars().next());
                rest = from.get(1..).unwrap_or_default();
            }
        }
        out.push_str(rest);
        out
    }

    /// A value with everything filled in: a text that is one placeholder and nothing else keeps the type of what it
    /// names.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(template) => match self.placeholder(template) {
                Some((value, "")) => value,
                _ => Value::String(self.text(template)),
            },
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(map) => Value::Object(self.map(map)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// The same for every value of a map.
    #[must_use]
    pub fn map(&self, map: &Map<String, Value>) -> Map<String, Value> {
        map.iter().map(|(name, value)| (name.clone(), self.value(value))).collect()
    }

    /// The value of the `${…}` that `text` begins with, and what follows it.
    fn placeholder<'a>(&self, text: &'a str) -> Option<(Value, &'a str)> {
        let (inside, behind) = text.strip_prefix("${")?.split_once('}')?;
        let mut known = false;
        for choice in inside.split("||").map(str::trim) {
            let quoted = choice.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            if let Some(words) = quoted {
                return Some((Value::String(words.to_owned()), behind));
            }
            if !is_path(choice) {
                return None;
            }
            let root = choice.split('.').next().unwrap_or_default();
            known |= self.fields.get(root).is_some();
            if let Some(value) = at(self.fields, choice) {
                return Some((value.clone(), behind));
            }
        }
        let nothing =
            if inside.split("||").any(|choice| choice.trim() == PARENT) { "none".into() } else { Value::Null };
        known.then_some((nothing, behind))
    }

    /// The filled `{input:…}` that `text` begins with, and what follows it.
    fn input<'a>(&self, text: &'a str) -> Option<(String, &'a str)> {
        let end = text.strip_prefix("{input:")?.find('}')? + "{input:".len() + 1;
        let (whole, behind) = text.split_at_checked(end)?;
        let filled = interpolate(whole, self.inputs);
        (filled != whole).then_some((filled, behind))
    }
}

fn is_path(text: &str) -> bool {
    if text.strip_prefix("inputs.").is_some_and(input::is_name) {
        return true;
    }
    let allowed = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    !text.is_empty() && text.chars().all(allowed)
}

/// Placeholders that are left in `text`, each once: nothing will fill them any more.
#[must_use]
pub fn unfilled(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for opening in ["${", "{input:"] {
        for (at, _) in text.match_indices(opening) {
            let rest = text.get(at + opening.len()..).unwrap_or_default();
            let Some((inside, _)) = rest.split_once('}') else { continue };
            let is_ours = |letter: char| {
                letter.is_alphanumeric() || !letter.is_ascii() || matches!(letter, '_' | '.' | '-' | ' ' | '|' | '"')
            };
            // Upper case is how shells name their own.
            let is_shell = opening == "${" && !inside.contains(char::is_lowercase);
            let whole = format!("{opening}{inside}}}");
            if !inside.is_empty() && inside.chars().all(is_ours) && !is_shell && !found.contains(&whole) {
                found.push(whole);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn filled(template: &str) -> String {
        let fields = json!({"model": "a/b", "limits": {"turns": 3, "spend": null}, "list": ["x", 2],
            "evil": "${model} {input:name}", "object": {"a": 1},
            "inputs": {"the 🚀": "up"}});
        let inputs = Values::from([("name", "${model}"), ("the 🚀", "up")].map(|(a, b)| (a.to_owned(), b.to_owned())));
        Filling { fields: &fields, inputs: &inputs }.text(template)
    }

    #[test]
    fn names_become_values() {
        for (template, expected) in [
            ("at ${limits.turns}!", "at 3!"),
            ("${limits.spend}|${limits.spend || limits.turns}|${limits.spend || \"no limit\"}", "|3|no limit"),
            ("${list} ${list.0} ${object}", "x, 2 x {\"a\":1}"),
            ("{input:name:x} {input:other:x} {input:other?} {input:other}", "${model} x  {input:other}"),
            ("${nobody} ${nobody || \"else\"} ${PATH} $x ${ {", "${nobody} else ${PATH} $x ${ {"),
            ("é${model}é", "éa/bé"),
            ("${inputs.the 🚀} {input:the 🚀} ${inputs.none 🚀 || \"else\"}", "up up else"),
        ] {
            assert_eq!(filled(template), expected, "{template}");
        }
    }

    #[test]
    fn s06_a_thread_without_a_parent_says_so() {
        let inputs = Values::new();
        let filled = |parent: Value, template: &str| {
            let fields = json!({"parent_thread_id": parent, "model": null});
            Filling { fields: &fields, inputs: &inputs }.text(template)
        };
        let template = "${parent_thread_id}|${model}|${parent_thread_id || \"a person\"}";
        assert_eq!(filled(Value::Null, template), "none||a person");
        assert_eq!(filled("chat-1".into(), template), "chat-1||chat-1");
    }

    #[test]
    fn a_value_is_never_filled_again() {
        assert_eq!(filled("${evil}"), "${model} {input:name}");
    }

    #[test]
    fn a_whole_placeholder_keeps_its_type() {
        let fields = json!({"limits": {"turns": 3}, "list": [1]});
        let inputs = Values::new();
        let filling = Filling { fields: &fields, inputs: &inputs };
        let value = json!({"a": "${limits.turns}", "b": ["${list}", "n ${limits.turns}"], "c": true});
        assert_eq!(filling.value(&value), json!({"a": 3, "b": [[1], "n 3"], "c": true}));
    }

    #[test]
    fn what_is_left_is_found_once() {
        assert_eq!(unfilled("${a.b} {input:x} ${a.b} ${HOME} ${x:-1} ${} {input:}"), ["${a.b}", "{input:x}"]);
    }

    proptest! {
        #[test]
        fn any_text_is_filled_in(template in "(\\$\\{|\\{input:|model|\\}|\\|\\||\"|\\.|é| ){0,20}") {
            let _filled = filled(&template);
        }
    }
}
