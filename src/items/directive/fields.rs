//! Inputs that a directive takes and outputs that it promises.

use super::Reading;
use crate::domain::input::is_name;
use crate::domain::{Input, meant};
use crate::items::markup::{Element, Lines};

/// A named output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub name: String,
    pub kind: String,
    pub required: bool,
    pub description: String,
    pub lines: Lines,
}

const INPUT: [&str; 5] = ["name", "type", "required", "default", "choices"];

const OUTPUT: [&str; 3] = ["name", "type", "required"];

const KINDS: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "any"];

pub(super) fn inputs(element: &Element, reading: &mut Reading<'_>) -> Vec<Input> {
    let mut found: Vec<Input> = Vec::new();
    for child in &element.children {
        if child.tag != "input" {
            reading.warn(
                child.lines.0,
                format!("<{}> in <inputs> has no effect", child.tag),
                "write <input name=\"…\">",
            );
            continue;
        }
        reading.attributes(child, &INPUT);
        let Some(name) = name(child, reading) else { continue };
        if !is_name(&name) {
            let message = format!("`{name}` cannot be the name of an input");
            reading.fatal(child.lines.0, message, "leave out `{ } $ . : | ? =`, backticks and line ends");
            continue;
        }
        if found.iter().any(|input| input.name == name) {
            reading.warn(
                child.lines.0,
                format!("the input `{name}` is declared twice; the first counts"),
                "remove one of them",
            );
            continue;
        }
        let default = child.attribute("default").map(str::to_owned);
        let required = truth("required", child, reading);
        if required && default.is_some() {
            let message = format!("the input `{name}` is required and has a default, so it is never missed");
            reading.warn(child.lines.0, message, "remove one of the two");
        }
        let (kind, description) = (kind(child, reading), child.text.clone());
        let choices = child.attribute("choices").unwrap_or_default().split(',').map(str::trim);
        let choices: Vec<String> = choices.filter(|choice| !choice.is_empty()).map(str::to_owned).collect();
        if child.attribute("choices").is_some() && choices.is_empty() {
            // What was to hold a value to a list would let anything in.
            let message = format!("the choices of the input `{name}` are empty");
            reading.fatal(child.lines.0, message, "write choices=\"one, another\"");
        }
        let input = Input { name, kind, required, default, description, choices, lines: child.lines };
        let name = &input.name;
        let written = input.default.as_deref().filter(|text| !text.trim().is_empty());
        if let Some(wanted) = written.and_then(|text| input.wants(text)) {
            let message = format!("the default of the input `{name}` must be {wanted}");
            reading.warn(child.lines.0, message, "fix the default or the type");
        }
        found.push(input);
    }
    found
}

pub(super) fn outputs(element: &Element, reading: &mut Reading<'_>) -> Vec<Output> {
    let mut found: Vec<Output> = Vec::new();
    for child in &element.children {
        if child.tag != "output" {
            // These never made an output; the files that have them work without.
            let message = format!("<{}> in <outputs> is an old form and declares no output", child.tag);
            reading.warn(child.lines.0, message, "write <output name=\"…\" type=\"string\">what it is</output>");
            continue;
        }
        reading.attributes(child, &OUTPUT);
        let Some(name) = name(child, reading) else { continue };
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
        if name.len() > 64 || !name.chars().all(fits) {
            reading.fatal(
                child.lines.0,
                format!("`{name}` cannot be the name of an output"),
                "use up to 64 letters of a to z, digits, `_`, `.` and `-`",
            );
            continue;
        }
        if found.iter().any(|output| output.name == name) {
            reading.warn(
                child.lines.0,
                format!("the output `{name}` is declared twice; the first counts"),
                "remove one of them",
            );
            continue;
        }
        let (kind, required) = (kind(child, reading), truth("required", child, reading));
        found.push(Output { name, kind, required, description: child.text.clone(), lines: child.lines });
    }
    if element.children.is_empty() && !element.text.is_empty() {
        reading.warn(
            element.lines.0,
            "text in <outputs> declares no output",
            "write <output name=\"…\">what it is</output>",
        );
    }
    found
}

fn name(element: &Element, reading: &mut Reading<'_>) -> Option<String> {
    let name = element.attribute("name").map(str::trim).filter(|name| !name.is_empty());
    if name.is_none() {
        reading.fatal(element.lines.0, format!("<{}> has no name", element.tag), "write name=\"…\"");
    }
    name.map(str::to_owned)
}

fn kind(element: &Element, reading: &mut Reading<'_>) -> String {
    let kind = element.attribute("type").unwrap_or("string").trim();
    if !KINDS.contains(&kind) {
        reading.warn(element.lines.0, format!("`{kind}` is no type"), meant(kind, KINDS));
    }
    kind.to_owned()
}

/// Whether the attribute is set. `required="required"` is, as in HTML.
pub(super) fn truth(attribute: &str, element: &Element, reading: &mut Reading<'_>) -> bool {
    match element.attribute(attribute).map(str::to_lowercase).as_deref() {
        None | Some("false" | "no" | "0" | "") => false,
        Some("true" | "yes" | "1") => true,
        Some(itself) if itself == attribute => true,
        Some(other) => {
            reading.fatal(element.lines.0, format!("{attribute} cannot be `{other}`"), "write true or false");
            false
        }
    }
}
