//! Context providers: who explains something to the model once, and says for each call how it stands.
//!
//! A directive or a base asks for them by name. Some are part of the program; a knowledge item whose metadata holds
//! `instructions` or `state` is one too.

use super::library::{Library, ProjectFile, Skill, ToolWords};
use super::plan::{included, skipped};
use crate::domain::background::BackgroundCommand;
use crate::domain::capability::{COMMANDS, flattened};
use crate::domain::{Absence, LayerKind, Origin, Persona, Piece, Space, TodoList};
use crate::items::directive::BuiltInProvider;
use crate::items::provider_query::{ProviderQuery, QueryTarget};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What was seen around the thread just before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentSnapshot {
    /// Date, time to the minute, and zone, as people write them.
    pub now: Option<String>,
    /// The project's folder.
    pub folder: String,
    /// The branch that is checked out, where git manages the folder.
    pub branch: Option<String>,
    /// What the project's threads remember, the oldest first: number and text. In words why, where that does not read.
    pub memory: Result<Vec<(u64, String)>, String>,
    /// Who the thread speaks and works as.
    pub persona: Option<Persona>,
    /// The steps of its work.
    pub todo: Option<TodoList>,
    /// Commands that run beside its conversation, and the last that did.
    pub background: Vec<BackgroundCommand>,
    /// What commands of providers said, by the provider's name; in words why, where one did not. Those that were not
    /// asked are missing.
    pub commands: BTreeMap<String, Result<String, String>>,
}

impl Default for EnvironmentSnapshot {
    fn default() -> Self {
        Self {
            now: None,
            folder: String::new(),
            branch: None,
            memory: Ok(Vec::new()),
            persona: None,
            todo: None,
            background: Vec::new(),
            commands: BTreeMap::new(),
        }
    }
}

/// What is asked for a context provider to know how something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextQuery {
    /// The provider's name.
    pub name: String,
    /// The space it was written in, which decides whether it may run.
    pub space: Space,
    /// The file that holds it, below that space's folder.
    pub file: String,
    pub target: QueryTarget,
    pub deadline: Duration,
    /// Files of the project: while they stay as they are the command is not asked again. Without any it is asked for
    /// each call.
    pub inputs: Vec<String>,
    /// Whether a call goes on when the command fails.
    pub optional: bool,
}

/// One provider's word on how it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    name: String,
    origin: Origin,
    says: ContextSource,
}

#[derive(Clone, Debug, PartialEq)]
enum ContextSource {
    Time,
    Project,
    Memory,
    Persona,
    Todo,
    /// Always the same.
    Text(String),
    Command(ContextQuery),
    /// It is not asked, and why.
    Refused(String),
}

/// Notes that are told without being searched for, and how much of each.
const MOST_NOTES: usize = 8;
const NOTE_LETTERS: usize = 300;

/// The instructions of a provider that is part of the program, and its state; none of those that bring files.
pub(super) fn built_in(provider: BuiltInProvider) -> Option<(&'static str, State)> {
    let (instructions, says) = match provider {
        BuiltInProvider::Time => (
            "Just before the newest message, under \"Current context\", you are told the date and time of this call.",
            ContextSource::Time,
        ),
        BuiltInProvider::Project => (
            "Under \"Current context\" you are also told the project's folder and the git branch it is on. It is \
             true now and may differ from what was true earlier in the conversation.",
            ContextSource::Project,
        ),
        BuiltInProvider::Memory => (
            "This project has a memory that its threads share. Under \"Current context\" you are told its newest notes; \
             they were written by other threads and may be outdated. Where you have the tools for it, search it before \
             you find out again what somebody may know, and remember what will matter to others.",
            ContextSource::Memory,
        ),
        BuiltInProvider::Persona => (
            "When \"Current context\" names a persona, speak and work as it says. What stands above it still holds.",
            ContextSource::Persona,
        ),
        BuiltInProvider::Todo => (
            "You have a to-do list. For work of more than two steps write it first, all steps as tasks, and keep exactly one of \
             them active; set a task done as soon as it is, before you begin the next. Under \"Current context\" you are told \
             how it stands, while something on it is left to do.",
            ContextSource::Todo,
        ),
        BuiltInProvider::ProjectFiles | BuiltInProvider::Skills => return None,
    };
    let name = provider.name().to_owned();
    Some((instructions, State { name: name.clone(), origin: Origin::Provider { name }, says }))
}

impl State {
    pub(super) fn written(name: &str, origin: Origin, text: &str) -> Self {
        Self { name: name.to_owned(), origin, says: ContextSource::Text(text.to_owned()) }
    }

    pub(super) fn asked(origin: Origin, command: ContextQuery) -> Self {
        Self { name: command.name.clone(), origin, says: ContextSource::Command(command) }
    }

    /// Whether it has to be looked what is around.
    #[must_use]
    pub fn needs_snapshot(&self) -> bool {
        !matches!(
            self.says,
            ContextSource::Text(_) | ContextSource::Persona | ContextSource::Todo | ContextSource::Refused(_)
        )
    }

    /// The command that has to be asked.
    #[must_use]
    pub fn command(&self) -> Option<&ContextQuery> {
        if let ContextSource::Command(command) = &self.says { Some(command) } else { None }
    }

    /// Has nothing asked of an MCP server, because nobody has trusted who wants it.
    pub fn ask_no_server(&mut self) {
        if let ContextSource::Command(ContextQuery { target: QueryTarget::Resource { .. }, .. }) = &self.says {
            let why =
                "its server is not asked: you have not trusted this project, whose directive wants it (levain trust)";
            self.says = ContextSource::Refused(why.to_owned());
        }
    }

    /// Whether the project's memory has to be read.
    #[must_use]
    pub fn needs_memory(&self) -> bool {
        self.says == ContextSource::Memory
    }

    /// Why no call can be made, where a command failed that must not.
    #[must_use]
    pub fn failure(&self, snapshot: &EnvironmentSnapshot) -> Option<String> {
        let command = self.command().filter(|command| !command.optional)?;
        let Some(Err(why)) = snapshot.commands.get(&command.name) else { return None };
        Some(format!("the context provider `{}` is required, but {why}", command.name))
    }

    pub(super) fn piece(&self, snapshot: &EnvironmentSnapshot) -> Piece {
        let kind = LayerKind::ContextState;
        let refused = |message: &String| {
            skipped(&self.name, kind, self.origin.clone(), Absence::Refused { message: message.clone() })
        };
        let text = match &self.says {
            ContextSource::Time => snapshot.now.as_ref().map(|now| format!("Now: {now}")),
            ContextSource::Project => Some(project(snapshot)),
            ContextSource::Memory => match &snapshot.memory {
                Ok(notes) => memory(notes),
                Err(message) => return refused(message),
            },
            ContextSource::Persona => {
                snapshot.persona.as_ref().map(|Persona { name, text }| format!("You are {name}. {text}"))
            }
            ContextSource::Todo => {
                let open = snapshot.todo.as_ref().filter(|list| list.is_open());
                open.map(|list| format!("To-do list:\n{}", list.words().trim_end()))
            }
            ContextSource::Text(text) => Some(text.clone()),
            ContextSource::Refused(message) => return refused(message),
            ContextSource::Command(command) => match snapshot.commands.get(&command.name) {
                Some(Ok(said)) => Some(format!("{}:\n{said}", command.name)).filter(|_| !said.is_empty()),
                Some(Err(message)) => return refused(message),
                None => {
                    let message = "it is asked only for requests, previews and `levain context show`".to_owned();
                    return skipped(&self.name, kind, self.origin.clone(), Absence::NotRun { message });
                }
            },
        };
        match text {
            Some(text) => included(&self.name, kind, self.origin.clone(), &text),
            None => skipped(&self.name, kind, self.origin.clone(), Absence::NothingToSay),
        }
    }
}

/// Letters of a command that are told.
const COMMAND_LETTERS: usize = 200;

/// How the commands beside the conversation stand, where there are any: no directive has to ask for it.
pub(super) fn background(commands: &[BackgroundCommand]) -> Option<Piece> {
    let name = "commands";
    let line = |command: &BackgroundCommand| {
        let told: String = command.line().chars().take(COMMAND_LETTERS).collect();
        format!("\n{} {}: {told}", command.name.0, command.stands())
    };
    let lines: String = commands.iter().map(line).collect();
    let text =
        format!("Commands that you started in the background ({} reads their output):{lines}", flattened(COMMANDS));
    let origin = Origin::Provider { name: name.to_owned() };
    (!commands.is_empty()).then(|| included(name, LayerKind::ContextState, origin, &text))
}

/// The command of a provider that somebody wrote; none when it has none.
///
/// # Errors
/// What is wrong with it.
pub(super) fn command(
    name: &str,
    (space, file): (Space, &str),
    metadata: &Map<String, Value>,
) -> Result<Option<ContextQuery>, String> {
    let (read, wrong) = ProviderQuery::read(metadata);
    if let Some(broken) = wrong.into_iter().find(|entry| entry.breaks) {
        return Err(broken.message);
    }
    Ok(read.map(|ProviderQuery { target, inputs, deadline, optional }| ContextQuery {
        name: name.to_owned(),
        space,
        file: file.to_owned(),
        target,
        deadline,
        inputs,
        optional,
    }))
}

/// The newest notes, the newest first.
fn memory(notes: &[(u64, String)]) -> Option<String> {
    let mut text = match notes.len() {
        0 => return None,
        count @ 1..=MOST_NOTES => format!("Remembered in this project ({count}):"),
        count => format!("Remembered in this project (the newest {MOST_NOTES} of {count}):"),
    };
    for (id, note) in notes.iter().rev().take(MOST_NOTES) {
        let cut: String = note.chars().take(NOTE_LETTERS).collect();
        let more = if cut.len() < note.len() { " …" } else { "" };
        for part in ["\n- [", &id.to_string(), "] ", &cut.replace('\n', " "), more] {
            text.push_str(part);
        }
    }
    Some(text)
}

fn project(snapshot: &EnvironmentSnapshot) -> String {
    let mut text = format!("Project: {}", snapshot.folder);
    if let Some(branch) = &snapshot.branch {
        text.push_str(", git branch ");
        text.push_str(branch);
    }
    text
}

/// The project's and the person's own words, one layer a file.
pub(super) fn files(library: &dyn Library) -> Vec<Piece> {
    let (appended, files) = (library.appended(), library.files());
    let kind = LayerKind::ProjectFile;
    let piece = |file: &ProjectFile, kind, title: &str| {
        let origin = Origin::File { space: file.space, path: file.path.clone() };
        match &file.text {
            Ok(text) if text.trim().is_empty() => skipped(&file.path, kind, origin, Absence::Empty),
            Ok(text) => included(&file.path, kind, origin, &format!("{title}{}", text.trim())),
            Err(message) => skipped(&file.path, kind, origin, Absence::Refused { message: message.clone() }),
        }
    };
    let appended = appended.iter().map(|file| piece(file, LayerKind::AppendSystem, ""));
    let mut pieces: Vec<Piece> = appended.collect();
    if files.is_empty() {
        let name = BuiltInProvider::ProjectFiles.name();
        let origin = Origin::Provider { name: name.to_owned() };
        pieces.push(skipped(name, kind, origin, Absence::NothingToSay));
    }
    pieces.extend(files.iter().map(|file| piece(file, kind, &title(&file.path))));
    pieces
}

/// What stands above the text of a project file.
fn title(path: &str) -> String {
    format!("# {path}\n\n")
}

/// The text of a file as it is in a piece of the system text, without its title; none where the piece is of no project file.
#[must_use]
pub fn project_file(piece: &Piece) -> Option<&str> {
    (piece.kind == LayerKind::ProjectFile && piece.is_included())
        .then(|| piece.text.strip_prefix(&title(&piece.id)).unwrap_or(&piece.text))
}

/// What is said of a file's tools may be so long together, in bytes.
const LONGEST_WORDS: usize = 16 << 10;

/// What makers of tools say of them: for each file that registers some a list of these, and what to keep to. What was said
/// already is not said again, and where nobody says anything there is nothing.
pub(super) fn tools(tools: &[ToolWords]) -> Vec<Piece> {
    let mut said: BTreeSet<String> = BTreeSet::new();
    let mut pieces = Vec::new();
    let mut files: Vec<(Space, &str)> = Vec::new();
    for tool in tools {
        let file = (tool.space, tool.path.as_str());
        if files.contains(&file) {
            continue;
        }
        files.push(file);
        let of_file = || tools.iter().filter(|tool| (tool.space, tool.path.as_str()) == file);
        let told = |tool: &ToolWords| Some(format!("- {}: {}", tool.name, one_line(tool.snippet.as_ref()?)?));
        let snippets: Vec<String> = of_file().filter_map(told).collect();
        let guidelines: Vec<String> = of_file()
            .flat_map(|tool| &tool.guidelines)
            .filter_map(|one| one_line(one))
            .filter(|one| said.insert(one.clone()))
            .map(|one| format!("- {one}"))
            .collect();
        for (kind, id, title, lines) in [
            (LayerKind::ToolSnippets, "tools", "More tools:", snippets),
            (LayerKind::Guidelines, "guidelines", "Guidelines for these tools:", guidelines),
        ] {
            if lines.is_empty() {
                continue;
            }
            let (id, origin) = (format!("{}#{id}", file.1), Origin::File { space: file.0, path: file.1.to_owned() });
            let text = format!("{title}\n{}", lines.join("\n"));
            pieces.push(if text.len() > LONGEST_WORDS {
                let message = format!("it says more than {} kB of its tools", LONGEST_WORDS >> 10);
                skipped(&id, kind, origin, Absence::Refused { message })
            } else {
                included(&id, kind, origin, &text)
            });
        }
    }
    pieces
}

/// A text in one line; nothing where it says nothing.
fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// The list of skills: their names, what they are for, and where they can be read.
pub(super) fn skills(skills: &[Skill]) -> Piece {
    let name = BuiltInProvider::Skills.name();
    let origin = Origin::Provider { name: name.to_owned() };
    if skills.is_empty() {
        return skipped(name, LayerKind::Skills, origin, Absence::NothingToSay);
    }
    let line = |Skill { name, description, path, space }: &Skill| {
        let below = if *space == Space::User { "~/" } else { "" };
        format!("\n- {name}: {description} ({below}{path})")
    };
    let lines: String = skills.iter().map(line).collect();
    let text = format!("Skills: when one fits the task, read its file first and follow it.\n{lines}");
    included(name, LayerKind::Skills, origin, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_tools_is_a_layer_for_each_file_and_said_once() {
        let tool = |name: &str, path: &str, snippet: Option<&str>, guidelines: &[&str]| ToolWords {
            name: name.to_owned(),
            space: Space::User,
            path: path.to_owned(),
            snippet: snippet.map(str::to_owned),
            guidelines: guidelines.iter().map(|one| (*one).to_owned()).collect(),
        };
        assert_eq!(tools(&[]), []);
        assert_eq!(tools(&[tool("a", "a.ts", None, &[]), tool("b", "b.ts", Some(" \n"), &[" "])]), []);
        let long = "x".repeat(LONGEST_WORDS);
        let pieces = tools(&[
            tool("a", "a.ts", Some("Does\n a."), &["Be kind.", " Be  brief. "]),
            tool("b", "b.ts", Some(&long), &["Be brief."]),
            tool("c", "a.ts", None, &["Be kind.", "Be exact."]),
        ]);
        let told: Vec<_> = pieces.iter().map(|piece| (piece.id.as_str(), piece.kind, &*piece.text)).collect();
        let guidelines = "Guidelines for these tools:\n- Be kind.\n- Be brief.\n- Be exact.";
        assert_eq!(
            told,
            [
                ("a.ts#tools", LayerKind::ToolSnippets, "More tools:\n- a: Does a."),
                ("a.ts#guidelines", LayerKind::Guidelines, guidelines),
                ("b.ts#tools", LayerKind::ToolSnippets, ""),
            ]
        );
        assert!(!pieces[2].is_included(), "{:?}", pieces[2].decision);
        assert_eq!(pieces[0].origin, Origin::File { space: Space::User, path: "a.ts".to_owned() });
    }
}
