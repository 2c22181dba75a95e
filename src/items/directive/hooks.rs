//! Hooks as a directive writes them, kept as values for whoever runs them.

use super::Reading;
use crate::items::markup::{Attribute, Element, Lines};
use serde_json::{Map, Value};

/// One hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hook {
    pub id: Option<String>,
    /// When it is asked.
    pub event: String,
    /// Whether injected text is put into an element of its own.
    pub wrap: bool,
    /// `before` or `after`, for events that take text in.
    pub position: Option<String>,
    /// `path`, `op`, `value`; from front matter also `any`, `all`, `not`.
    pub condition: Option<Value>,
    /// `primary`, `item_type`, `item_id`, `params` and whatever else was written; `actions` for several.
    pub action: Value,
    pub inputs: Map<String, Value>,
    pub lines: Lines,
}

pub(super) fn hook(element: &Element, reading: &mut Reading<'_>) -> Option<Hook> {
    let line = element.lines.0;
    if element.tag != "hook" {
        reading.warn(line, format!("<{}> in <hooks> has no effect", element.tag), "write <hook id=\"…\" event=\"…\">");
        return None;
    }
    let mut hook = Hook { wrap: true, lines: element.lines, ..Hook::default() };
    for Attribute { name, value, line } in &element.attributes {
        match name.as_str() {
            "id" => hook.id = Some(value.clone()),
            "event" => value.trim().clone_into(&mut hook.event),
            "wrap" => match coerced(value).as_bool() {
                Some(wrap) => hook.wrap = wrap,
                None => reading.error(*line, format!("wrap cannot be `{value}`"), "write true or false"),
            },
            "position" if matches!(value.as_str(), "before" | "after") => hook.position = Some(value.clone()),
            "position" => reading.error(*line, format!("position cannot be `{value}`"), "write before or after"),
            "layer" => reading.warn(*line, "the layer of a directive's hook is fixed", "remove layer"),
            other => {
                reading.warn(
                    *line,
                    format!("`{other}` in <hook> means nothing"),
                    "known are id, event, wrap, position",
                );
            }
        }
    }
    let mut action = Map::new();
    for child in &element.children {
        match child.tag.as_str() {
            "condition" => hook.condition = Some(condition(child)),
            "action" => action.append(&mut self::action(child)),
            "inputs" => hook.inputs.append(&mut texts(&child.children)),
            "when" => {
                reading.warn(
                    child.lines.0,
                    "<when> is an old form and decides nothing",
                    "write event=\"…\" and <condition path=\"…\" op=\"…\" value=\"…\" />",
                );
            }
            "execute" | "fetch" | "sign" => drop(action.insert("actions".into(), Value::Array(vec![nested(child)]))),
            other => drop(action.insert(other.to_owned(), Value::String(child.text.clone()))),
        }
    }
    if hook.event.is_empty() {
        reading.error(
            line,
            "the hook names no event, so it never runs",
            "write event=\"after_step\" or another event in <hook>",
        );
        return None;
    }
    if action.is_empty() {
        reading.error(line, "the hook has no action", "write <action primary=\"…\" item_type=\"…\" item_id=\"…\" />");
        return None;
    }
    hook.action = Value::Object(action);
    Some(hook)
}

fn condition(element: &Element) -> Value {
    let values = element.attributes.iter().map(|attribute| {
        let value =
            if attribute.name == "value" { coerced(&attribute.value) } else { Value::String(attribute.value.clone()) };
        (attribute.name.clone(), value)
    });
    Value::Object(values.collect())
}

fn action(element: &Element) -> Map<String, Value> {
    let mut action: Map<String, Value> =
        element.attributes.iter().map(|one| (one.name.clone(), Value::String(one.value.clone()))).collect();
    let params = params(element);
    if !params.is_empty() {
        action.insert("params".into(), Value::Object(params));
    }
    let several: Vec<Value> = element
        .children
        .iter()
        .filter(|child| matches!(child.tag.as_str(), "execute" | "fetch" | "sign"))
        .map(nested)
        .collect();
    if !several.is_empty() {
        action.insert("actions".into(), Value::Array(several));
    }
    action
}

fn nested(element: &Element) -> Value {
    let mut one = Map::from_iter([("primary".to_owned(), Value::String(element.tag.clone()))]);
    one.append(&mut action(element));
    Value::Object(one)
}

fn params(element: &Element) -> Map<String, Value> {
    let named = element
        .all("param")
        .filter_map(|child| Some((child.attribute("name")?.to_owned(), Value::String(child.text.clone()))));
    named.collect()
}

fn texts(elements: &[Element]) -> Map<String, Value> {
    elements.iter().map(|child| (child.tag.clone(), Value::String(child.text.clone()))).collect()
}

/// A truth value or a number if the text is one.
fn coerced(text: &str) -> Value {
    let text = text.trim();
    match text {
        "true" | "True" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        _ => {
            let whole = text.parse::<i64>().ok().map(Value::from);
            let fraction = || text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number);
            whole.or_else(fraction).unwrap_or_else(|| Value::String(text.to_owned()))
        }
    }
}
