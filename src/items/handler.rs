//! Handlers of the pipeline as they are written: in `.ai/config/agent/pipeline.yaml` of the person and of the project, and in
//! a directive for its own threads. One reader for all.
//!
//! Each names a stage, a condition and one thing that it does. A mistake holds up every thread that it would be asked in, as one
//! in a hook does: who wrote a handler counts on it.

use super::hook::{Condition, Place, Source, entry_lines, entry_lines_behind, line_of};
use super::knowledge::{json, mapping, yaml};
use super::{Items, Kind};
use crate::domain::{Problem, Severity, Space, Stage, meant, nearest};
use regex::Regex;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where handlers are written, below a space.
pub const FILE: &str = ".ai/config/agent/pipeline.yaml";

/// Most handlers that are read of one list.
const MOST: usize = 500;

/// The longest that one may take.
const LONGEST: f64 = 3_600.0;

/// One handler.
#[derive(Clone, Debug)]
pub struct Handler {
    pub id: String,
    pub stage: Stage,
    pub condition: Condition,
    pub action: Action,
    pub timeout: Option<Duration>,
    /// The space it is written in, which decides whether it may run something.
    pub space: Space,
    pub file: PathBuf,
    pub line: u32,
}

/// What a handler does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Changes the text of the stage: what was typed, the system text, the texts of messages, a result.
    Edit(Vec<Edit>),
    /// Adds the text of an item.
    Knowledge(String),
    /// Adds a message.
    Message(String),
    /// Takes the prompt: no model is called.
    Handled,
    /// Has a call not made, or older messages stay, for this reason.
    Block(String),
    /// Puts these fields into the arguments of a call, or into a request.
    Set(Map<String, Value>),
    /// Sends no more than so many of the newest messages.
    KeepLast(usize),
    /// Asks a program: the event on its input, the answer on its output, both JSON.
    Command(Vec<String>),
}

/// A change of a text.
#[derive(Clone, Debug)]
pub enum Edit {
    Prepend(String),
    Append(String),
    Replace { find: Regex, with: String },
}

impl Edit {
    /// The text after the change.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        match self {
            Self::Prepend(before) => format!("{before}{text}"),
            Self::Append(after) => format!("{text}{after}"),
            Self::Replace { find, with } => find.replace_all(text, with.as_str()).into_owned(),
        }
    }
}

/// Handlers in the order in which they are asked: the person's, the project's, then those of the thread's directive.
#[derive(Clone, Debug, Default)]
pub struct Handlers {
    pub handlers: Vec<Handler>,
    /// Those that are switched off where they are written.
    pub disabled: Vec<String>,
    pub problems: Vec<Problem>,
    /// The project's directive that brings some of them: its path, and what it decides (`Directive::authority`).
    pub authority: Option<(String, String)>,
}

/// What a handler may say.
const KNOWN: [&str; 16] = [
    "id",
    "stage",
    "when",
    "condition",
    "description",
    "enabled",
    "timeout_seconds",
    "prepend",
    "append",
    "replace",
    "knowledge",
    "message",
    "handled",
    "block",
    "set",
    "keep_last",
];

/// The same, which runs a program.
const COMMAND: &str = "command";

impl Handlers {
    /// Reads the files of the person and of the project.
    #[must_use]
    pub fn read(items: &Items) -> Self {
        let mut all = Self::default();
        for root in items.roots().iter().rev() {
            if root.space == Space::System {
                continue;
            }
            match items.read_at(root, FILE) {
                None => {}
                Some(Ok((text, objection))) => {
                    all.problems.extend(objection);
                    all.file(&text, &root.file(FILE), root.space);
                }
                Some(Err(problem)) => all.problems.push(Problem { severity: Severity::Fatal, ..problem }),
            }
        }
        all.problems.append(&mut missing(&all.handlers, items));
        all
    }

    /// Reads one file.
    #[must_use]
    pub fn parse(text: &str, file: &Path, space: Space) -> Self {
        let mut all = Self::default();
        all.file(text, file, space);
        all
    }

    fn file(&mut self, text: &str, file: &Path, space: Space) {
        if text.trim().is_empty() {
            return;
        }
        let map = match mapping(text, 1, file) {
            Ok(map) => map,
            Err(problem) => return self.problems.push(Problem { severity: Severity::Fatal, ..problem }),
        };
        for (key, value) in &map {
            let Some(name) = key.as_str() else { continue };
            let line = line_of(text, name);
            if name != "handlers" {
                let slip = nearest(name, ["handlers"]).is_some();
                let described = ["description", "version", "schema_version"].contains(&name);
                let severity = if slip { Severity::Fatal } else { Severity::Warning };
                if !described {
                    let message = format!("unknown name `{name}`");
                    self.problems.push(Problem::at(file, line, severity, message, "write handlers:"));
                }
                continue;
            }
            self.list(&json(value), &entry_lines(text, name), (file, line), space);
        }
    }

    /// Reads the list that is the text in a directive's `<handlers>`, whose first line is line `first` of `file`. Which space the
    /// directive lies in is not known here: until somebody says it, they are a project's.
    pub(super) fn text(&mut self, text: &str, first: u32, file: &Path) {
        match yaml(text, first, file) {
            Ok(value) => {
                let lines: Vec<u32> =
                    entry_lines_behind(text, 0).iter().map(|line| first.saturating_add(line - 1)).collect();
                self.list(&json(&value), &lines, (file, first), Space::Project);
            }
            Err(problem) => self.problems.push(Problem { severity: Severity::Fatal, ..problem }),
        }
    }

    /// Reads a list of handlers. `lines` are those of its entries; one that has none there stands on `line`, as the list does.
    pub(super) fn list(&mut self, list: &Value, lines: &[u32], (file, line): (&Path, u32), space: Space) {
        let entries = match list {
            Value::Null => return,
            Value::Array(entries) if entries.len() <= MOST => entries,
            Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                let message = format!("`handlers` is no list of at most {MOST} handlers");
                let remedy = "begin each handler with `- ` and its stage";
                return self.problems.push(Problem::at(file, line, Severity::Fatal, message, remedy));
            }
        };
        for (number, entry) in entries.iter().enumerate() {
            let line = lines.get(number).copied().unwrap_or(line);
            // Conditions are YAML here, wherever the list stands.
            let source = Source::Project;
            let mut place = Place { source, file, lines: (line, line), problems: &mut self.problems };
            let Value::Object(map) = entry else {
                place.fatal("a handler must be a mapping", "write stage and what it does");
                continue;
            };
            let handler = read(map, space, &mut place);
            let twin = |one: &&Handler| {
                let (id, stage) = (&one.id, one.stage);
                one.file == file && handler.as_ref().is_some_and(|new| new.id == *id && new.stage == stage)
            };
            if let Some(twin) = self.handlers.iter().find(twin) {
                let message = format!("the handler `{}` stands at line {} already", twin.id, twin.line);
                place.fatal(message, "give one of them another id");
                continue;
            }
            match handler {
                Some(handler) if map.get("enabled") == Some(&Value::Bool(false)) => self.disabled.push(handler.id),
                Some(handler) => self.handlers.push(handler),
                None => {}
            }
        }
    }
}

/// Knowledge that handlers add and that is not there.
pub(super) fn missing(handlers: &[Handler], items: &Items) -> Vec<Problem> {
    let lost = |one: &Handler| {
        let Action::Knowledge(id) = &one.action else { return None };
        let missing = items.find(Kind::Knowledge, id).err()?;
        let remedy = "write the item, or remove the handler";
        Some(Problem::at(&one.file, one.line, Severity::Fatal, missing.to_string(), remedy))
    };
    handlers.iter().filter_map(lost).collect()
}

fn read(map: &Map<String, Value>, space: Space, place: &mut Place<'_>) -> Option<Handler> {
    let known = KNOWN.into_iter().chain([COMMAND]);
    for name in map.keys().filter(|name| !known.clone().any(|known| known == name.as_str())) {
        place.fatal(format!("unknown name `{name}` in a handler"), meant(name, known.clone()));
    }
    let said = map.get("stage").and_then(Value::as_str).unwrap_or_default();
    let Some(stage) = Stage::from_name(said).filter(|stage| stage.takes_handlers()) else {
        let names = || Stage::all().filter(|stage| stage.takes_handlers() && !stage.streams()).map(Stage::name);
        let near = nearest(said, names()).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        let all: Vec<_> = names().collect();
        place.fatal(format!("there is no stage `{said}`{near}"), format!("known stages: {}", all.join(", ")));
        return None;
    };
    if stage.streams() {
        let remedy = "watch message_end or tool_execution_end, or write an extension";
        place.fatal(format!("{stage} comes many times a second, too often to run a program each time"), remedy);
        return None;
    }
    if let Some(other) = map.get("enabled").filter(|value| !value.is_boolean()) {
        place.fatal(format!("enabled cannot be {other}"), "write true or false");
    }
    let condition = map.get("when").or_else(|| map.get("condition"));
    let condition = condition.map_or(Condition::Always, |value| Condition::read(value, place));
    let timeout = map.get("timeout_seconds").and_then(|value| {
        let held = value.as_f64().filter(|seconds| (0.1..=LONGEST).contains(seconds)).map(Duration::from_secs_f64);
        if held.is_none() {
            place.fatal(format!("timeout_seconds cannot be {value}"), "write a number of seconds from 0.1 to 3600");
        }
        held
    });
    let action = action(map, stage, place)?;
    let line = place.lines.0;
    let id = map.get("id").and_then(Value::as_str).map_or_else(|| format!("{stage}@{line}"), str::to_owned);
    Some(Handler { id, stage, condition, action, timeout, space, file: place.file.to_owned(), line })
}

/// What stages take; one that is not listed only watches, so it takes a command.
const TAKES: [(Stage, &[&str]); 9] = [
    (Stage::Input, &["prepend", "append", "replace", "handled", COMMAND]),
    (Stage::BeforeAgentStart, &["prepend", "append", "replace", "knowledge", "message", COMMAND]),
    (Stage::Context, &["replace", "knowledge", "message", "keep_last", COMMAND]),
    (Stage::BeforeProviderHeaders, &[COMMAND]),
    (Stage::BeforeProviderRequest, &["set", COMMAND]),
    (Stage::MessageEnd, &["prepend", "append", "replace", COMMAND]),
    (Stage::ToolCall, &["block", "set", COMMAND]),
    (Stage::ToolResult, &["prepend", "append", "replace", COMMAND]),
    (Stage::SessionBeforeCompact, &["block", COMMAND]),
];

/// What a stage takes.
fn takes(stage: Stage) -> &'static [&'static str] {
    TAKES.iter().find(|(at, _)| *at == stage).map_or(&[COMMAND], |(_, all)| all)
}

fn action(map: &Map<String, Value>, stage: Stage, place: &mut Place<'_>) -> Option<Action> {
    const ACTIONS: [&str; 9] =
        ["prepend", "append", "replace", "knowledge", "message", "handled", "block", "set", "keep_last"];
    let said: Vec<&str> = ACTIONS.into_iter().chain([COMMAND]).filter(|name| map.contains_key(*name)).collect();
    let edits = said.iter().all(|name| ["prepend", "append", "replace"].contains(name));
    let choice = takes(stage).join(", ");
    if said.is_empty() {
        place.fatal("the handler does nothing", format!("write one of: {choice}"));
        return None;
    }
    if said.len() > 1 && !edits {
        place.fatal(format!("the handler does several things: {}", said.join(", ")), "write a handler for each");
        return None;
    }
    if let Some(other) = said.iter().find(|name| !takes(stage).contains(name)) {
        place.fatal(format!("`{other}` has no meaning at {stage}"), format!("write one of: {choice}"));
        return None;
    }
    let text = |name: &str, place: &mut Place<'_>| {
        let text = map.get(name).and_then(Value::as_str).map(str::to_owned);
        if text.is_none() {
            place.fatal(format!("`{name}` must be a text"), format!("write {name}: \"…\""));
        }
        text
    };
    if edits {
        let mut all = Vec::new();
        for name in said {
            all.extend(match name {
                "prepend" => vec![Edit::Prepend(text(name, place)?)],
                "append" => vec![Edit::Append(text(name, place)?)],
                _ => replacements(map.get(name)?, place)?,
            });
        }
        return Some(Action::Edit(all));
    }
    let name = *said.first()?;
    let value = map.get(name)?;
    match name {
        "knowledge" => text(name, place).map(Action::Knowledge),
        "message" => text(name, place).map(Action::Message),
        "block" => match value {
            Value::Bool(true) => Some(Action::Block("Tool execution was blocked".to_owned())),
            Value::String(reason) => Some(Action::Block(reason.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                place.fatal("`block` must be true or a reason", "write block: \"why\"");
                None
            }
        },
        "handled" => {
            if let Value::Bool(true) = value {
                Some(Action::Handled)
            } else {
                place.fatal("`handled` can only be true", "write handled: true, or remove it");
                None
            }
        }
        "set" => match value {
            Value::Object(fields) if !fields.is_empty() => Some(Action::Set(fields.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                place.fatal("`set` must be a mapping of fields", "write set: {temperature: 0.2}");
                None
            }
        },
        "keep_last" => {
            if let Some(count) = value.as_u64().and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0)
            {
                Some(Action::KeepLast(count))
            } else {
                place.fatal("`keep_last` must be a number from 1", "write keep_last: 20");
                None
            }
        }
        _ => {
            let words: Option<Vec<String>> =
                value.as_array().and_then(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
            if let Some(words) = words.filter(|words| words.first().is_some_and(|program| !program.is_empty())) {
                Some(Action::Command(words))
            } else {
                let remedy = "write command: [python3, .ai/config/handlers/tidy.py]";
                place.fatal("`command` must be a list of words", remedy);
                None
            }
        }
    }
}

fn replacements(value: &Value, place: &mut Place<'_>) -> Option<Vec<Edit>> {
    let remedy = "write replace: {find: \"teh\", with: \"the\"}, or a list of these; regex: true makes find a pattern";
    let list = match value {
        Value::Array(list) if !list.is_empty() => list.as_slice(),
        Value::Object(_) => std::slice::from_ref(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => &[],
    };
    if list.is_empty() {
        place.fatal("`replace` names nothing", remedy);
        return None;
    }
    list.iter()
        .map(|one| {
            let text = |name: &str| one.get(name).and_then(Value::as_str);
            let (Some(find), Some(with)) = (text("find").filter(|find| !find.is_empty()), text("with")) else {
                place.fatal("`replace` has no `find` and `with`", remedy);
                return None;
            };
            let is_pattern = one.get("regex").and_then(Value::as_bool).unwrap_or_default();
            // In a pattern's replacement `$1` is a group; else a text is what it says.
            let (pattern, with) = if is_pattern {
                (find.to_owned(), with.to_owned())
            } else {
                (regex::escape(find), with.replace('$', "$$"))
            };
            match regex::RegexBuilder::new(&pattern).size_limit(1 << 20).build() {
                Ok(find) => Some(Edit::Replace { find, with }),
                Err(error) => {
                    place.fatal(format!("`{find}` is no pattern: {error}"), remedy);
                    None
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Handlers {
        Handlers::parse(text, Path::new("pipeline.yaml"), Space::Project)
    }

    #[test]
    fn handlers_are_read_in_order_with_their_lines() {
        let read = parse(
            "handlers:\n- id: tidy\n  stage: input\n  when: {path: text, op: contains, value: teh}\n  \
             replace: {find: teh, with: \"the $1\"}\n  append: \"!\"\n\n- stage: tool_call\n  block: no\n  \
             enabled: false\n- stage: agent_end\n  timeout_seconds: 2\n  command: [notify-send, done]\n",
        );
        assert_eq!(read.problems, []);
        let shape: Vec<_> = read.handlers.iter().map(|one| (one.id.as_str(), one.stage, one.line)).collect();
        assert_eq!(shape, [("tidy", Stage::Input, 2), ("agent_end@11", Stage::AgentEnd, 11)]);
        assert_eq!(read.disabled, ["tool_call@8"]);
        let Action::Edit(edits) = &read.handlers[0].action else { panic!() };
        let text = edits.iter().fold("teh end".to_owned(), |text, edit| edit.apply(&text));
        assert_eq!(text, "!the $1 end".replace('!', "") + "!");
    }

    #[test]
    fn what_streams_is_not_for_programs() {
        for stage in Stage::all().filter(|stage| stage.streams()) {
            let read = parse(&format!("handlers:\n- stage: {stage}\n  command: [cat]\n"));
            assert!(read.handlers.is_empty() && read.problems[0].severity == Severity::Fatal, "{stage}");
            let told = read.problems[0].to_string();
            assert!(told.contains("many times a second") && told.contains("write an extension"), "{told}");
        }
        let known = parse("handlers:\n- stage: nothing\n  command: [cat]\n").problems[0].to_string();
        assert!(!known.contains("message_update") && known.contains("message_start"), "{known}");
    }

    #[test]
    fn every_mistake_is_fatal_and_names_its_line() {
        for (text, expected) in [
            ("handlers: 3", "`handlers` is no list"),
            ("handlres: []", "unknown name `handlres`"),
            ("handlers:\n- 3", "must be a mapping"),
            ("handlers:\n- stage: imput\n  handled: true", "no stage `imput` (did you mean `input`?)"),
            ("handlers:\n- stage: skill\n  handled: true", "no stage `skill`"),
            ("handlers:\n- stage: input", "does nothing"),
            (
                "handlers:\n- {id: a, stage: input, handled: true}\n- {id: a, stage: input, handled: true}",
                "`a` stands at line 2 already",
            ),
            ("handlers:\n- stage: input\n  block: x", "`block` has no meaning at input"),
            ("handlers:\n- stage: input\n  handled: true\n  append: x", "several things"),
            ("handlers:\n- stage: input\n  apend: x", "unknown name `apend`"),
            ("handlers:\n- stage: input\n  append: 3", "`append` must be a text"),
            ("handlers:\n- stage: input\n  handled: false", "can only be true"),
            ("handlers:\n- stage: input\n  replace: {find: \"(\", with: x, regex: true}", "is no pattern"),
            ("handlers:\n- stage: input\n  replace: {find: x}", "no `find` and `with`"),
            ("handlers:\n- stage: tool_call\n  set: {}", "`set` must be a mapping"),
            ("handlers:\n- stage: tool_call\n  block: 3", "`block` must be true or a reason"),
            ("handlers:\n- stage: context\n  keep_last: 0", "`keep_last` must be a number"),
            ("handlers:\n- stage: input\n  command: ls", "`command` must be a list"),
            ("handlers:\n- stage: input\n  command: [ls]\n  timeout_seconds: 0", "timeout_seconds cannot be 0"),
            ("handlers:\n- stage: input\n  command: [ls]\n  enabled: si", "enabled cannot be"),
            ("handlers:\n- stage: input\n  command: [ls]\n  when: {op: like}", "the condition is not valid"),
        ] {
            let problems = parse(text).problems;
            let found = problems.iter().find(|problem| problem.to_string().contains(expected));
            let found = found.unwrap_or_else(|| panic!("{expected}: {problems:?}"));
            assert_eq!(found.severity, Severity::Fatal, "{expected}");
            assert!(found.line.is_some(), "{expected}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_written_is_read_or_told(text in "[ -~\n]{0,200}") {
            let _no_panic = parse(&text);
            let _no_panic = parse(&format!("handlers:\n{text}"));
        }
    }
}
