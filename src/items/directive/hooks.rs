//! Hooks as a directive writes them: the elements become the map that a hook is in every file.

use super::Reading;
use crate::items::hook::{Hook, Place, Source};
use crate::items::markup::{Attribute, Element};
use serde_json::{Map, Value};

pub(super) fn hook(element: &Element, reading: &mut Reading<'_>) -> Option<Hook> {
    let line = element.lines.0;
    if element.tag != "hook" {
        reading.warn(line, format!("<{}> in <hooks> has no effect", element.tag), "write <hook id=\"…\" event=\"…\">");
        return None;
    }
    let mut map: Map<String, Value> = element
        .attributes
        .iter()
        .map(|Attribute { name, value, .. }| {
            let value = if name == "layer" { coerced(value) } else { Value::String(value.clone()) };
            (name.clone(), value)
        })
        .collect();
    let mut action = Map::new();
    for child in &element.children {
        match child.tag.as_str() {
            "condition" => drop(map.insert("condition".into(), condition(child))),
            "action" => action.append(&mut self::action(child)),
            "inputs" => drop(map.insert("inputs".into(), Value::Object(texts(&child.children)))),
            "when" => {
                reading.warn(
                    child.lines.0,
                    "<when> is an old form and has no effect",
                    "write event=\"…\" and <condition path=\"…\" op=\"…\" value=\"…\" />",
                );
            }
            "execute" | "fetch" | "sign" | "load" | "search" => {
                let list = action.entry("actions").or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().into_iter().for_each(|list| list.push(nested(child)));
            }
            other => drop(map.insert(other.to_owned(), Value::String(child.text.clone()))),
        }
    }
    if !action.is_empty() {
        map.insert("action".into(), Value::Object(action));
    }
    let (file, lines) = (reading.file, element.lines);
    Hook::read(&map, &mut Place { source: Source::Directive, file, lines, problems: &mut reading.problems })
}

/// `<condition path op value/>`, or one that holds `<any>`, `<all>`, `<not>` and further conditions.
fn condition(element: &Element) -> Value {
    let mut map: Map<String, Value> = element
        .attributes
        .iter()
        .map(|Attribute { name, value, .. }| {
            let value = if name == "value" { coerced(value) } else { Value::String(value.clone()) };
            (name.clone(), value)
        })
        .collect();
    let listed: Vec<Value> = element.all("value").map(|child| coerced(&child.text)).collect();
    if !listed.is_empty() {
        map.insert("value".into(), Value::Array(listed));
    } else if element.attribute("op").is_some_and(|op| op.trim() == "in") {
        let values = element.attribute("value").unwrap_or_default().split(',').map(coerced).collect();
        map.insert("value".into(), values);
    } else if element.attribute("op").is_some_and(|op| matches!(op.trim(), "regex" | "contains"))
        && let Some(text) = element.attribute("value")
    {
        map.insert("value".into(), text.into());
    }
    let mut parts: Vec<Value> = element.children.iter().filter_map(joined).collect();
    if !map.is_empty() && !parts.is_empty() {
        parts.insert(0, Value::Object(std::mem::take(&mut map)));
    }
    match parts.len() {
        0 => Value::Object(map),
        1 => parts.remove(0),
        _ => Value::Object(Map::from_iter([("all".to_owned(), Value::Array(parts))])),
    }
}

/// A part of a condition; `<value>` and unknown elements are none.
fn joined(element: &Element) -> Option<Value> {
    match element.tag.as_str() {
        "condition" => Some(condition(element)),
        "any" | "all" | "not" => {
            let parts = element.children.iter().filter_map(joined).collect();
            Some(Value::Object(Map::from_iter([(element.tag.clone(), Value::Array(parts))])))
        }
        _ => None,
    }
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
        .filter(|child| matches!(child.tag.as_str(), "execute" | "fetch" | "sign" | "load" | "search"))
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
