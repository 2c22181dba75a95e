//! What a tool says of itself, read from its file without ever running it.

mod javascript;
mod python;
mod script;
mod syntax;
#[cfg(test)]
mod tests;

use super::id::ItemId;
use super::knowledge;
use crate::domain::{Problem, Severity};
use serde_json::{Map, Value};
use std::path::Path;

/// A tool's metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    pub version: Option<String>,
    pub tool_type: Option<String>,
    /// The next link of the chain that runs it. `Some(None)` when the file says that there is none.
    pub executor_id: Option<Option<String>>,
    pub category: Option<String>,
    pub description: Option<String>,
    /// JSON Schema of the parameters.
    pub config_schema: Option<Value>,
    pub env_config: Option<Value>,
    pub config: Option<Value>,
    pub config_resolve: Option<Value>,
    /// Parameters as a plain list, where there is no schema.
    pub parameters: Option<Value>,
    pub input_schema: Option<Value>,
    pub docstring: Option<String>,
    /// Names whose value is computed in part; what could be read of them is kept.
    pub partial: Vec<String>,
}

/// What a file says, name by name.
#[derive(Debug, Default)]
struct Said {
    values: Map<String, Value>,
    docstring: Option<String>,
    partial: Vec<String>,
    named: Named,
}

/// How much names may stand for, all together: each may stand for two of the one before it, so that a few lines are more than
/// there is memory.
#[derive(Clone, Copy, Debug)]
struct Named {
    left: usize,
}

impl Default for Named {
    fn default() -> Self {
        Self { left: 20_000 }
    }
}

impl Named {
    /// The value that a name stands for, while that is little.
    fn value(&mut self, value: &Value) -> Option<Value> {
        self.left = self.left.checked_sub(size(value))?;
        Some(value.clone())
    }
}

/// How many values it is, each 64 bytes of a text for one.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
    }
}

impl Tool {
    /// Reads the text of `file`; its ending tells the language.
    #[must_use]
    pub fn parse(text: &str, file: &Path) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let said = match ending {
            "py" => python::read(text, file, &mut problems),
            "js" | "ts" | "mjs" | "cjs" => javascript::read(text, file, &mut problems),
            "sh" => script::shell(text),
            _ => data(ending, text, file, &mut problems),
        };
        let mut tool = Self::default();
        tool.read(said, file, &mut problems);
        (tool, problems)
    }

    fn read(&mut self, said: Said, file: &Path, problems: &mut Vec<Problem>) {
        for (name, value) in said.values {
            let field = match name.as_str() {
                "__version__" | "version" => &mut self.version,
                "__tool_type__" | "tool_type" => &mut self.tool_type,
                "__category__" | "category" => &mut self.category,
                "__tool_description__" | "description" => &mut self.description,
                "__executor_id__" | "executor_id" => {
                    self.executor_id = Some(value.as_str().map(str::to_owned));
                    continue;
                }
                other => {
                    if let Some(field) = self.structured(other) {
                        *field = Some(value).filter(|value| !value.is_null());
                    }
                    continue;
                }
            };
            match value {
                Value::String(text) => *field = Some(text),
                Value::Number(number) => *field = Some(number.to_string()),
                Value::Null => {}
                Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                    let message = format!("`{name}` is not a text");
                    problems.push(Problem::at(file, None, Severity::Error, message, "write it as a text in quotes"));
                }
            }
        }
        self.docstring = said.docstring;
        self.partial = said.partial;
        if let Some(schema) = self.config_schema.take_if(|schema| !schema.is_object()) {
            let message = format!("the schema of its parameters is {}, not an object", word(&schema));
            let remedy = "write {\"type\": \"object\", \"properties\": {…}}";
            problems.push(Problem::at(file, None, Severity::Error, message, remedy));
        }
    }

    fn structured(&mut self, name: &str) -> Option<&mut Option<Value>> {
        Some(match name {
            "CONFIG_SCHEMA" | "config_schema" => &mut self.config_schema,
            "ENV_CONFIG" | "env_config" => &mut self.env_config,
            "CONFIG" | "config" => &mut self.config,
            "CONFIG_RESOLVE" | "config_resolve" => &mut self.config_resolve,
            "parameters" => &mut self.parameters,
            "input_schema" => &mut self.input_schema,
            _ => return None,
        })
    }

    /// Whether the file says anything of a tool. Modules that tools import do not.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        self.tool_type.is_some()
            || self.executor_id.is_some()
            || self.description.is_some()
            || self.config_schema.is_some()
    }

    /// Whether the tool says what its place says: warnings where it does not.
    #[must_use]
    pub fn compare(&self, id: &ItemId, file: &Path) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut warn =
            |message: String, remedy: &str| problems.push(Problem::at(file, None, Severity::Warning, message, remedy));
        if !self.is_declared() {
            return problems;
        }
        if let Some(category) = self.category.as_ref().filter(|category| category.trim_matches('/') != id.category()) {
            warn(
                format!("says category `{category}`, its folder is `{}`", id.category()),
                "fix the category, or move the file",
            );
        }
        if let Some(version) = self.version.as_ref().filter(|version| !super::id::is_version(version)) {
            warn(format!("version `{version}` is not three numbers"), "write it as 1.0.0");
        }
        if self.description.is_none() && self.docstring.is_none() {
            warn("has no description".to_owned(), "say what it is for: the model chooses by it");
        }
        for name in &self.partial {
            warn(format!("`{name}` is partly computed; levain sees only literal values"), "write its value out");
        }
        problems
    }
}

fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// YAML, JSON and TOML files.
fn data(ending: &str, text: &str, file: &Path, problems: &mut Vec<Problem>) -> Said {
    let read = match ending {
        "json" => serde_json::from_str::<Map<String, Value>>(text).map_err(|error| {
            let line = u32::try_from(error.line()).ok().filter(|line| *line > 0);
            Problem::at(
                file,
                line,
                Severity::Error,
                format!(
                    "is not a valid JSON object: {}",
                    error.to_string().split(" at line ").next().unwrap_or_default()
                ),
                "fix that line",
            )
        }),
        "toml" => toml::from_str::<Map<String, Value>>(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX).saturating_add(1);
            Problem::at(file, line, Severity::Error, format!("is not valid TOML: {}", error.message()), "fix that line")
        }),
        _ => knowledge::mapping(text, 1, file).map(|mapping| {
            mapping.iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), knowledge::json(value)))).collect()
        }),
    };
    match read {
        Ok(values) => Said { values, ..Said::default() },
        Err(problem) => {
            problems.push(problem);
            Said::default()
        }
    }
}
