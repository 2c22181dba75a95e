//! Knowledge: a text with metadata in a YAML fence, or, for `.yaml` files, the file itself.

use super::brackets::is_shallow;
use super::fence::{self, Parts};
use super::id::ItemId;
use super::markup::Lines;
use super::provider_query::{BadEntry, ProviderQuery};
use crate::domain::{Problem, Severity, nearest};
use serde_yaml::{Mapping, Value};
use std::path::Path;

/// The rules that head every system text. Nothing stands before them or leaves them out.
pub const CONSTITUTION: &str = "levain/Constitution";

/// A knowledge item as its file tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knowledge {
    pub name: Option<String>,
    pub title: Option<String>,
    /// `reference`, `learning`, `pattern`, `context`, `thread_transcript` or another word.
    pub entry_type: Option<String>,
    pub category: Option<String>,
    pub version: Option<String>,
    pub description: Option<String>,
    pub author: Option<String>,
    pub tags: Vec<String>,
    /// Everything the metadata says, as JSON, known names included.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The line the metadata begins on; 0 without any.
    pub metadata_line: u32,
    /// The text that is brought along.
    pub body: String,
    pub body_lines: Lines,
}

/// How the metadata of `file` stands in it.
enum KnowledgeShape<'a> {
    Fenced(Parts<'a>),
    Front(Parts<'a>),
    /// The file is YAML as a whole.
    Whole,
    None,
}

impl Knowledge {
    /// Reads the text of `file`.
    #[must_use]
    pub fn parse(text: &str, file: &Path) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let is_yaml = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let form = match (fence::fenced(text, "yaml"), fence::front_matter(text)) {
            (Some(parts), front) if front.as_ref().is_none_or(|front| front.first > parts.first) => {
                KnowledgeShape::Fenced(parts)
            }
            (_, Some(parts)) if !is_yaml => KnowledgeShape::Front(parts),
            _ if is_yaml => KnowledgeShape::Whole,
            _ => KnowledgeShape::None,
        };
        let mut knowledge = Self::default();
        let (yaml, first) = match &form {
            KnowledgeShape::Fenced(parts) | KnowledgeShape::Front(parts) => {
                parts.body.clone_into(&mut knowledge.body);
                knowledge.body_lines = parts.body_lines;
                (parts.inside, parts.first)
            }
            KnowledgeShape::Whole => (text, 1),
            KnowledgeShape::None => {
                let parts = fence::without(text);
                parts.body.clone_into(&mut knowledge.body);
                knowledge.body_lines = parts.body_lines;
                let remedy = "begin it with a block fenced as ```yaml that says name, title, entry_type and version";
                problems.push(Problem::at(file, 1, Severity::Warning, "holds no metadata", remedy));
                return (knowledge, problems);
            }
        };
        if let KnowledgeShape::Fenced(Parts { closed: false, .. }) = form {
            let message = "the yaml block is never closed";
            problems.push(Problem::at(
                file,
                first - 1,
                Severity::Fatal,
                message,
                "write ``` on a line of its own behind it",
            ));
        }
        knowledge.metadata_line = first;
        match mapping(yaml, first, file) {
            Ok(mapping) => {
                knowledge.read((yaml, &mapping), first, file, &mut problems);
                let (_, wrong) = ProviderQuery::read(&knowledge.metadata);
                // Of an item that is no provider it may be a word of a person's own.
                let severity = if knowledge.is_provider() { Severity::Error } else { Severity::Warning };
                problems.extend(wrong.into_iter().map(|BadEntry { key, message, remedy, .. }| {
                    Problem::at(file, line_of(yaml, key, first), severity, message, remedy)
                }));
            }
            Err(problem) => problems.push(problem),
        }
        if matches!(form, KnowledgeShape::Whole) {
            knowledge.take_body(text, file, &mut problems);
        }
        if knowledge.body.is_empty() && !matches!(form, KnowledgeShape::Whole) {
            let message = "has no text for the model";
            problems.push(Problem::at(file, first, Severity::Warning, message, "write the text behind the block"));
        }
        (knowledge, problems)
    }

    fn read(&mut self, yaml: (&str, &Mapping), first: u32, file: &Path, problems: &mut Vec<Problem>) {
        let (text, mapping) = yaml;
        for (key, value) in mapping {
            let Some(key) = key.as_str() else { continue };
            let field = match key {
                "name" => &mut self.name,
                "title" => &mut self.title,
                "entry_type" => &mut self.entry_type,
                "category" => &mut self.category,
                "version" => &mut self.version,
                "description" => &mut self.description,
                "author" => &mut self.author,
                _ => {
                    if key == "tags" {
                        self.tags = value.as_sequence().into_iter().flatten().filter_map(scalar).collect();
                    } else if let Some(meant) = slip(key, mapping) {
                        let message = format!("`{key}` is not a known name, but `{meant}` is");
                        let remedy = format!("did you mean `{meant}`?");
                        problems.push(Problem::at(file, line_of(text, key, first), slip_costs(meant), message, remedy));
                    }
                    continue;
                }
            };
            *field = scalar(value);
            if field.is_none() && !value.is_null() {
                let message = format!("`{key}` is not a text");
                problems.push(Problem::at(file, first, Severity::Error, message, format!("write {key}: \"…\"")));
            }
        }
        self.metadata =
            mapping.iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), json(value)))).collect();
    }

    /// Whether it is written to be a context provider.
    fn is_provider(&self) -> bool {
        let says = |key: &str| self.metadata.contains_key(key);
        self.entry_type.as_deref() == Some("context_provider") || says("instructions") || says("state")
    }

    /// In a file that is YAML as a whole the text stands under `body`.
    fn take_body(&mut self, text: &str, file: &Path, problems: &mut Vec<Problem>) {
        let Some(body) = self.metadata.remove("body") else { return };
        let is_key = |line: &str| line.strip_prefix("body").is_some_and(|rest| rest.trim_start().starts_with(':'));
        let (line, key) = (1..).zip(text.lines()).find(|(_, line)| is_key(line)).unwrap_or((1, ""));
        let serde_json::Value::String(body) = body else {
            if !body.is_null() {
                problems.push(Problem::at(
                    file,
                    line,
                    Severity::Error,
                    "`body` is not a text",
                    "write body: | and the text below",
                ));
            }
            return;
        };
        body.trim().clone_into(&mut self.body);
        // A block begins on the line behind its key.
        let is_block = key.split_once(':').is_some_and(|(_, value)| value.trim_start().starts_with(['|', '>']));
        let first = line + u32::from(is_block);
        let lines = u32::try_from(self.body.lines().count().max(1)).unwrap_or(u32::MAX);
        self.body_lines = (first, first.saturating_add(lines - 1));
    }

    /// Whether the item says what its place says: warnings where it does not.
    #[must_use]
    pub fn compare(&self, id: &ItemId, file: &Path) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut warn = |message: String, remedy: &str| {
            problems.push(Problem::at(
                file,
                Some(self.metadata_line).filter(|line| *line > 0),
                Severity::Warning,
                message,
                remedy,
            ));
        };
        if self.metadata.is_empty() {
            return problems;
        }
        if let Some(name) = self.name.as_ref().filter(|name| name.as_str() != id.stem()) {
            warn(
                format!("is named `{name}`, its file `{}`", id.stem()),
                "use one name for both; levain uses the file's",
            );
        }
        if let Some(category) = self.category.as_ref().filter(|category| category.trim_matches('/') != id.category()) {
            warn(
                format!("says category `{category}`, its folder is `{}`", id.category()),
                "fix the category, or move the file",
            );
        }
        if let Some(version) = self.version.as_ref().filter(|version| !super::id::is_version(version)) {
            warn(format!("version `{version}` is not three numbers"), "write it as \"1.0.0\"");
        }
        problems
    }
}

/// Metadata that describes the item.
const DESCRIPTIVE: [&str; 8] = ["name", "title", "entry_type", "category", "version", "description", "author", "tags"];

/// Metadata that decides what a model is told.
const DECISIVE: [&str; 7] = ["instructions", "state", "command", "inputs", "timeout_seconds", "optional", "body"];

/// The name that `key` was probably meant to be. Metadata may hold names of a person's own, so only what is off by one
/// letter is a slip, in a long name by two; and one that is there already was not meant.
fn slip(key: &str, mapping: &Mapping) -> Option<&'static str> {
    let known = DESCRIPTIVE.into_iter().chain(DECISIVE);
    if known.clone().any(|known| known == key) {
        return None;
    }
    let near = nearest(key, known)?;
    let off = strsim::osa_distance(&key.to_lowercase().replace('-', "_"), near);
    (off <= 1 || near.len() >= LONG_NAME).then_some(near).filter(|near| !mapping.contains_key(*near))
}

/// From so many letters on, two of a name may be wrong.
const LONG_NAME: usize = 8;

fn slip_costs(meant: &str) -> Severity {
    if DECISIVE.contains(&meant) { Severity::Error } else { Severity::Warning }
}

/// The line of a file on which the name `key` stands in its metadata, which begins on line `first`.
fn line_of(yaml: &str, key: &str, first: u32) -> u32 {
    let is_key = |line: &str| {
        let line = line.trim_start_matches(['"', '\'']);
        let rest = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']));
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    (first..).zip(yaml.lines()).find(|(_, line)| is_key(line)).map_or(first, |(number, _)| number)
}

/// The map that a YAML text is.
pub(super) fn mapping(text: &str, first: u32, file: &Path) -> Result<Mapping, Problem> {
    let message = match yaml(text, first, file)? {
        Value::Mapping(mapping) => return Ok(mapping),
        Value::Null => "is empty",
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Sequence(_) | Value::Tagged(_) => {
            "is not a mapping"
        }
    };
    Err(Problem::at(file, first, Severity::Error, message, "write lines such as name: rules"))
}

/// The value that a YAML text is, whose first line is line `first` of `file`.
pub(super) fn yaml(text: &str, first: u32, file: &Path) -> Result<Value, Problem> {
    if !is_shallow(text) {
        return Err(Problem::at(file, first, Severity::Error, "is nested too deeply to be read", "nest it less"));
    }
    serde_yaml::from_str(text).map_err(|error| {
        let place = error.location().map_or(0, |place| u32::try_from(place.line()).unwrap_or(u32::MAX));
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text);
        let line = first.saturating_add(place.saturating_sub(1));
        Problem::at(file, line, Severity::Error, format!("is not valid YAML: {reason}"), "fix that line")
    })
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}

/// The same value as JSON; names that are no texts are left out.
pub(super) fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => serde_json::to_value(number).unwrap_or_default(),
        Value::String(text) => text.as_str().into(),
        Value::Sequence(values) => values.iter().map(json).collect(),
        Value::Mapping(mapping) => serde_json::Value::Object(
            mapping.iter().filter_map(|(key, value)| Some((scalar(key)?, json(value)))).collect(),
        ),
        Value::Tagged(tagged) => json(&tagged.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s06_a_yaml_file_holds_its_text_under_body() {
        let read = |text: &str| Knowledge::parse(text, Path::new("a.yaml"));
        let (knowledge, problems) = read("name: a\nbody: |\n  First.\n\n  Last: not a key.\nversion: \"1.0.0\"\n");
        assert_eq!((knowledge.body.as_str(), problems), ("First.\n\nLast: not a key.", Vec::new()));
        assert_eq!((knowledge.body_lines, knowledge.version.as_deref()), ((3, 5), Some("1.0.0")));
        assert!(!knowledge.metadata.contains_key("body"), "it is the text and no metadata");
        let (knowledge, _) = read("body: One line.\n");
        assert_eq!((knowledge.body.as_str(), knowledge.body_lines), ("One line.", (1, 1)));
        assert_eq!(read("name: a\n").0.body, "");
        let (knowledge, problems) = read("name: a\nbody: [1]\n");
        assert_eq!((knowledge.body.as_str(), problems[0].line), ("", Some(2)));
        // In a file with a block the text stands behind it.
        let (knowledge, _) = Knowledge::parse("```yaml\nname: a\nbody: no\n```\nYes.\n", Path::new("a.md"));
        assert_eq!(knowledge.body, "Yes.");
    }
    #[test]
    fn s16_a_misspelt_name_in_metadata_is_told_with_the_nearest() {
        let told = |yaml: &str| {
            let (_, problems) = Knowledge::parse(&format!("```yaml\n{yaml}```\nText.\n"), Path::new("a.md"));
            let told = |problem: &Problem| format!("{} {:?} {}", problem.severity.word(), problem.line, problem.remedy);
            problems.iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(told("name: a\ntitel: b\n"), ["warning Some(3) did you mean `title`?"]);
        assert_eq!(told("name: a\ndescripton: b\n"), ["warning Some(3) did you mean `description`?"]);
        assert_eq!(told("name: a\nentry-type: b\n"), ["warning Some(3) did you mean `entry_type`?"]);
        assert_eq!(told("name: a\ncomand: [date]\n"), ["error Some(3) did you mean `command`?"]);
        assert_eq!(told("name: a\ninstructons: Do.\n"), ["error Some(3) did you mean `instructions`?"]);
        for own in ["date: 1", "status: open", "extra: {a: 1}", "owner: me", "note: x"] {
            assert_eq!(told(&format!("name: a\n{own}\n")), Vec::<String>::new(), "{own}");
        }
    }

    #[test]
    fn s16_a_command_that_cannot_run_as_written_is_told() {
        let told = |yaml: &str| {
            let (_, problems) = Knowledge::parse(&format!("name: a\ninstructions: x\n{yaml}"), Path::new("a.yaml"));
            problems.iter().map(|problem| format!("{:?} {problem}", problem.severity)).collect::<Vec<_>>()
        };
        for (yaml, expected) in [
            (
                "command: rm -rf x\n",
                "Error a.yaml:3: its `command` is not a list of texts; write command: [program, argument]",
            ),
            (
                "command: [7]\n",
                "Error a.yaml:3: its `command` is not a list of texts; write command: [program, argument]",
            ),
            ("command: []\n", "Error a.yaml:3: its `command` is empty; write command: [program, argument]"),
            (
                "command: [a]\ninputs: x\n",
                "Error a.yaml:4: its `inputs` is not a list of texts; write inputs: [Cargo.lock]",
            ),
            (
                "command: [a]\ntimeout_seconds: 90\n",
                "Error a.yaml:4: its `timeout_seconds` is 90; levain uses 30; write a number from 0.1 to 30",
            ),
            (
                "command: [a]\ntimeout_seconds: -1\n",
                "Error a.yaml:4: its `timeout_seconds` is -1; levain uses 5; write a number from 0.1 to 30",
            ),
            (
                "command: [a]\ntimeout_seconds: soon\n",
                "Error a.yaml:4: its `timeout_seconds` is \"soon\"; levain uses 5; write a number from 0.1 to 30",
            ),
            (
                "command: [a]\noptional: maybe\n",
                "Error a.yaml:4: its `optional` is \"maybe\"; levain uses true; write true or false",
            ),
        ] {
            assert_eq!(told(yaml), [expected]);
        }
        assert_eq!(told("command: [a]\ntimeout_seconds: 0.5\noptional: false\n"), Vec::<String>::new());
    }
    use proptest::prelude::*;

    fn read(text: &str, file: &str) -> (Knowledge, Vec<String>) {
        let (knowledge, problems) = Knowledge::parse(text, Path::new(file));
        (knowledge, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn metadata_stands_in_a_fence_in_front_or_is_the_file() {
        let yaml = "name: Rules\ntitle: Our rules\nversion: \"1.0.0\"\ntags: [a, 2]\nextra: {b: [1]}\n";
        for (text, file, body, lines) in [
            (format!("<!-- signed -->\n```yaml\n{yaml}```\n\nText.\n"), "a.md", "Text.", (10, 10)),
            (format!("---\n{yaml}---\nText.\n"), "a.md", "Text.", (8, 8)),
            (yaml.to_owned(), "a.yaml", "", (0, 0)),
            (format!("---\n{yaml}"), "a.yml", "", (0, 0)),
        ] {
            let (knowledge, problems) = read(&text, file);
            assert_eq!(problems, Vec::<String>::new(), "{text}");
            assert_eq!((knowledge.name.as_deref(), knowledge.title.as_deref()), (Some("Rules"), Some("Our rules")));
            assert_eq!(
                (knowledge.tags.join(" "), knowledge.body.as_str(), knowledge.body_lines),
                ("a 2".into(), body, lines)
            );
            assert_eq!(knowledge.metadata["extra"], serde_json::json!({"b": [1]}));
        }
    }

    #[test]
    fn a_text_without_metadata_is_a_text() {
        let (knowledge, problems) = read("# Only text\n", "a.md");
        assert_eq!((knowledge.body.as_str(), problems.len()), ("# Only text", 1));
        let (knowledge, problems) = read("```yaml\nname: [\n```\nText.", "a.md");
        assert_eq!((knowledge.body.as_str(), problems.len()), ("Text.", 1), "{problems:?}");
    }

    #[test]
    fn name_and_folder_are_compared() {
        let (knowledge, _) = read("```yaml\nname: Rules\ncategory: team\nversion: 1\n```\nText.", "a.md");
        let said = knowledge.compare(&ItemId::parse("other/rules").unwrap(), Path::new("a.md"));
        assert_eq!(said.len(), 3, "{said:?}");
    }

    proptest! {
        #[test]
        fn any_text_is_knowledge(text in "(```yaml\n|\n```\n|---\n|name: a\n|tags: |\\[|\\{|&a |\\*a|!t |- |é| |\n|\"|:){0,30}", yaml in any::<bool>()) {
            read(&text, if yaml { "a.yaml" } else { "a.md" });
        }
    }
}
