//! Front matter of a directive: the same metadata in YAML, turned into the elements the XML form would have.

use super::Reading;
use crate::items::brackets::is_shallow;
use crate::items::hook::entry_lines;
use crate::items::knowledge::json;
use crate::items::markup::{Attribute, Element, Lines};
use serde_yaml::Value;

/// The `<directive>` that the YAML stands for.
pub(super) fn element(text: &str, first: u32, reading: &mut Reading<'_>) -> Element {
    let count = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let mut root =
        Element { tag: "directive".into(), lines: (first, first.saturating_add(count)), ..Element::default() };
    if !is_shallow(text) {
        reading.fatal(first, "the front matter is nested too deeply to be read", "nest it less");
        return root;
    }
    let mapping = match serde_yaml::from_str::<Value>(text) {
        Ok(Value::Mapping(mapping)) => mapping,
        Ok(_other) => {
            reading.fatal(first, "the front matter is not a mapping", "write lines such as name: deploy");
            return root;
        }
        Err(error) => {
            let line =
                error.location().map_or(first, |place| first.saturating_add(line_of(place.line()).saturating_sub(1)));
            reading.fatal(line, format!("the front matter is not valid YAML: {}", reason(&error)), "fix that line");
            return root;
        }
    };
    let mut metadata = Element { tag: "metadata".into(), lines: root.lines, ..Element::default() };
    for (key, value) in &mapping {
        let Some(key) = key.as_str() else { continue };
        let at = line_of_key(text, key, first);
        match key {
            "name" | "version" | "extends" => {
                root.attributes.extend(scalar(value).map(|value| Attribute {
                    name: key.to_owned(),
                    value,
                    line: at.0,
                }));
            }
            "inputs" | "outputs" => root.children.push(fields(key, value, at)),
            "permissions" => metadata.children.push(permissions(value, at)),
            "context" => metadata.children.push(lists("context", value, at)),
            "hooks" => metadata.children.push(hooks(value, at)),
            "handlers" => metadata.children.push(handlers(value, at, text, first)),
            _ => metadata.children.push(leaf(key, value, at)),
        }
    }
    root.children.insert(0, metadata);
    root
}

/// What a YAML error says, without the place.
fn reason(error: &serde_yaml::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

fn line_of(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

fn line_of_key(text: &str, key: &str, first: u32) -> Lines {
    let is_key = |line: &str| {
        line.trim_start_matches(['"', '\''])
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    let line = (first..).zip(text.lines()).find(|(_, line)| is_key(line)).map_or(first, |(line, _)| line);
    (line, line)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}

/// As [`scalar`], and what is no plain value as it would be written: whoever wants a plain one says that it is none.
fn plain(value: &Value) -> Option<String> {
    scalar(value).or_else(|| (!value.is_null()).then(|| json(value).to_string()))
}

/// A map becomes attributes, anything else text.
fn leaf(tag: &str, value: &Value, lines: Lines) -> Element {
    with_attributes(tag, value, lines, plain)
}

/// As [`leaf`], for maps whose lists and maps are read by themselves.
fn flat(tag: &str, value: &Value, lines: Lines) -> Element {
    with_attributes(tag, value, lines, scalar)
}

fn with_attributes(tag: &str, value: &Value, lines: Lines, read: fn(&Value) -> Option<String>) -> Element {
    let mut element = Element { tag: tag.to_owned(), lines, ..Element::default() };
    if let Value::Mapping(mapping) = value {
        element.attributes = mapping
            .iter()
            .filter_map(|(name, value)| {
                Some(Attribute { name: name.as_str()?.to_owned(), value: read(value)?, line: lines.0 })
            })
            .collect();
    } else if let Value::Sequence(values) = value {
        element.text = values.iter().filter_map(scalar).collect::<Vec<_>>().join(", ");
    } else {
        scalar(value).unwrap_or_default().trim().clone_into(&mut element.text);
    }
    element
}

/// `permissions: [rye.execute.*]`, `permissions: "*"`, or the elements as a map.
fn permissions(value: &Value, lines: Lines) -> Element {
    let mut element = Element { tag: "permissions".into(), lines, ..Element::default() };
    match value {
        Value::Sequence(values) => {
            element.children = values.iter().map(|value| leaf("capability", value, lines)).collect();
        }
        Value::Mapping(mapping) => {
            let named = mapping.iter().filter_map(|(name, value)| Some((name.as_str()?, value)));
            element.children = named
                .map(
                    |(name, value)| {
                        if value.is_mapping() { lists(name, value, lines) } else { leaf(name, value, lines) }
                    },
                )
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => {
            element.text = scalar(value).unwrap_or_default();
        }
    }
    element
}

/// A map from tags to a text or a list of texts. A text `{id: …, optional: true}` has attributes.
fn lists(tag: &str, value: &Value, lines: Lines) -> Element {
    let mut element = Element { tag: tag.to_owned(), lines, ..Element::default() };
    let Value::Mapping(mapping) = value else { return Element { text: scalar(value).unwrap_or_default(), ..element } };
    for (name, value) in mapping {
        let Some(name) = name.as_str() else { continue };
        let one = |value: &Value| {
            let mut child = leaf(name, value, lines);
            if let Some(id) = child.attribute("id").map(str::to_owned) {
                child.text = id;
            }
            child
        };
        match value {
            Value::Sequence(values) => element.children.extend(values.iter().map(one)),
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Mapping(_) | Value::Tagged(_) => {
                element.children.push(one(value));
            }
        }
    }
    element
}

/// Inputs or outputs: a list of maps with a name, or a map from names to a description or a map.
fn fields(tag: &str, value: &Value, lines: Lines) -> Element {
    let mut element = Element { tag: tag.to_owned(), lines, ..Element::default() };
    let singular = tag.trim_end_matches('s');
    let described = |mut field: Element| {
        if let Some(at) = field.attributes.iter().position(|attribute| attribute.name == "description") {
            field.text = field.attributes.remove(at).value;
        }
        field
    };
    match value {
        Value::Sequence(values) => element.children.extend(values.iter().map(|value| {
            let mut field = described(leaf(singular, value, lines));
            if !value.is_mapping() {
                field.attributes.push(Attribute {
                    name: "name".into(),
                    value: std::mem::take(&mut field.text),
                    line: lines.0,
                });
            }
            field
        })),
        Value::Mapping(mapping) => {
            for (name, value) in mapping {
                let Some(name) = name.as_str() else { continue };
                let mut field = described(leaf(singular, value, lines));
                field.attributes.push(Attribute { name: "name".into(), value: name.to_owned(), line: lines.0 });
                element.children.push(field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => {
            element.text = scalar(value).unwrap_or_default();
        }
    }
    element
}

fn hooks(value: &Value, lines: Lines) -> Element {
    let mut element = Element { tag: "hooks".into(), lines, ..Element::default() };
    let Value::Sequence(values) = value else {
        plain(value).unwrap_or_default().clone_into(&mut element.text);
        return element;
    };
    for value in values {
        let mut hook = flat("hook", value, lines);
        hook.attributes.retain(|attribute| attribute.name != "layer");
        if let Some(value) = value.get("condition") {
            hook.children.push(condition("condition", value, lines, 0));
        }
        for part in ["action", "inputs"] {
            if let Some(value) = value.get(part) {
                let mut child = flat(part, value, lines);
                if let Some(Value::Mapping(params)) = value.get("params") {
                    let param = |(name, value): (&Value, &Value)| {
                        let name = Attribute { name: "name".into(), value: name.as_str()?.to_owned(), line: lines.0 };
                        Some(Element {
                            tag: "param".into(),
                            attributes: vec![name],
                            text: scalar(value)?,
                            lines,
                            ..Element::default()
                        })
                    };
                    child.children = params.iter().filter_map(param).collect();
                }
                if part == "inputs" {
                    child.children = child
                        .attributes
                        .drain(..)
                        .map(|one| Element { tag: one.name, text: one.value, lines, ..Element::default() })
                        .collect();
                }
                hook.children.push(child);
            }
        }
        element.children.push(hook);
    }
    element
}

/// Handlers are YAML in both forms: each entry of the list is an element whose text it is, as JSON, which is YAML as well.
fn handlers(value: &Value, lines: Lines, text: &str, first: u32) -> Element {
    let mut element = Element { tag: "handlers".into(), lines, ..Element::default() };
    let Value::Sequence(entries) = value else {
        element.text = json(value).to_string();
        return element;
    };
    let known = entry_lines(text, "handlers");
    let line = |number: usize| {
        let known = known.get(number).filter(|_| known.len() == entries.len())?;
        Some(first.saturating_add(known - 1))
    };
    element.children.extend(entries.iter().enumerate().map(|(number, entry)| {
        let line = line(number).unwrap_or(lines.0);
        Element { tag: "handler".into(), text: json(entry).to_string(), lines: (line, line), ..Element::default() }
    }));
    element
}

/// A condition as the elements the XML form would have. What is nested too deep is left to whoever reads the elements.
fn condition(tag: &str, value: &Value, lines: Lines, depth: usize) -> Element {
    /// More than any reader takes.
    const DEEPEST: usize = 40;
    let mut element = flat(tag, value, lines);
    let Value::Mapping(map) = value else { return element };
    for (name, value) in map {
        let Some(name) = name.as_str().filter(|_| depth <= DEEPEST) else { continue };
        match (name, value) {
            ("any" | "all" | "not", Value::Sequence(parts)) => {
                let children = parts.iter().map(|part| condition("condition", part, lines, depth + 1)).collect();
                element.children.push(Element { tag: name.to_owned(), children, lines, ..Element::default() });
            }
            ("any" | "all" | "not", part) => {
                let children = vec![condition("condition", part, lines, depth + 1)];
                element.children.push(Element { tag: name.to_owned(), children, lines, ..Element::default() });
            }
            ("value", Value::Sequence(values)) => {
                element.children.extend(values.iter().map(|value| leaf("value", value, lines)));
            }
            _ => {}
        }
    }
    element
}
