//! From a directive and inputs to the text the model is given.

use super::Directive;
use crate::domain::{BadInput, Values, input};
use std::fmt::Write as _;

impl Directive {
    /// The inputs to run with: what was given, and defaults for what was not. Without declared inputs anything passes.
    ///
    /// # Errors
    /// All unknown names, or else all missing ones.
    pub fn accept(&self, given: Values) -> Result<Values, Vec<BadInput>> {
        input::accept(&self.inputs, given)
    }

    /// The names of what it has to hand back.
    #[must_use]
    pub fn required_outputs(&self) -> Vec<String> {
        self.outputs.iter().filter(|output| output.required).map(|output| output.name.clone()).collect()
    }

    /// The values of inputs that nobody gives.
    #[must_use]
    pub fn defaults(&self) -> Values {
        input::defaults(&self.inputs)
    }

    /// The text that makes a model follow the directive: its description, what it may do, its body with `inputs` filled
    /// in, and what it is to hand back.
    #[must_use]
    pub fn prompt(&self, inputs: &Values) -> String {
        let mut lines: Vec<String> = Vec::new();
        lines.push(match self.name.as_ref().map(|name| name.value.trim()).filter(|name| !name.is_empty()) {
            Some(name) => format!("<directive name=\"{name}\">"),
            None => "<directive>".to_owned(),
        });
        if let Some(description) = self.description.as_ref().filter(|description| !description.value.is_empty()) {
            lines.push(format!("<description>{}</description>", description.value));
        }
        lines.extend(self.permissions_text().map(|text| interpolate(text, inputs)));
        lines.push(interpolate(&self.body, inputs));
        lines.extend(self.return_instruction());
        lines.push("</directive>".to_owned());
        lines.join("\n")
    }

    /// The permissions as they were written.
    fn permissions_text(&self) -> Option<&str> {
        let from = self.fence.find("<permissions>")?;
        let rest = self.fence.get(from..)?;
        let end = rest.find("</permissions>")? + "</permissions>".len();
        rest.get(..end)
    }

    fn return_instruction(&self) -> Option<String> {
        if self.outputs.is_empty() {
            return None;
        }
        let mut text = String::from(
            "\nWhen you are done, call the tool `directive_return` (a real tool call, not text) with these fields:\n{\n",
        );
        for output in &self.outputs {
            let required = if output.required { " [required]" } else { "" };
            let about = if output.description.is_empty() { &output.name } else { &output.description };
            // Writing to a text cannot fail.
            let _ok = writeln!(text, "  \"{}\": \"<{about} ({}){required}>\"", output.name, output.kind);
        }
        text.push_str("}\nIf you cannot finish, call it with `status` set to \"error\" and say why in `error_detail`.");
        Some(text)
    }
}

/// `text` with inputs filled in: `{input:name}`, `{input:name?}`, `{input:name:default}`, `{input:name|default}` and
/// `${inputs.name}`. What has neither value nor default stays as written, and so does everything else in braces: no
/// text of a directive reads the environment.
#[must_use]
pub fn interpolate(text: &str, inputs: &Values) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '$']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        if let Some((value, behind)) = placeholder(from, inputs) {
            out.push_str(value);
            rest = behind;
        } else {
            out.extend(from.chars().next());
            rest = from.get(1..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}

/// The value of the placeholder that `text` begins with, and what follows it.
fn placeholder<'a>(text: &'a str, inputs: &'a Values) -> Option<(&'a str, &'a str)> {
    if let Some(rest) = text.strip_prefix("${inputs.") {
        let (name, rest) = input_name(rest)?;
        return Some((inputs.get(name)?, rest.strip_prefix('}')?));
    }
    let (name, rest) = input_name(text.strip_prefix("{input:")?)?;
    let value = inputs.get(name).map(String::as_str);
    if let Some(behind) = rest.strip_prefix('}') {
        return Some((value?, behind));
    }
    if let Some(behind) = rest.strip_prefix("?}") {
        return Some((value.unwrap_or_default(), behind));
    }
    let (default, behind) = rest.strip_prefix([':', '|'])?.split_once('}')?;
    Some((value.unwrap_or(default), behind))
}

/// The name of an input that `text`, the inside of a placeholder, begins with, and what follows it up to the end of all.
pub(in crate::items) fn input_name(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_at_checked(text.find(['}', ':', '|', '?'])?)?;
    input::is_name(name).then_some((name, rest))
}
