//! Context providers: who explains something to the model once, and says for each call how it stands.
//!
//! A directive or a base asks for them by name. Some are part of the program; a knowledge item whose metadata holds
//! `instructions` or `state` is one too.

use super::library::{ProjectFile, Skill};
use super::plan::{included, skipped};
use crate::domain::{Absence, LayerKind, Origin, Piece, Space};

/// What was seen around the thread just before a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Date, time to the minute, and zone, as people write them.
    pub now: Option<String>,
    /// The project's folder.
    pub folder: String,
    /// The branch that is checked out, where git manages the folder.
    pub branch: Option<String>,
    /// How many files differ from the last commit.
    pub changed: Option<u32>,
}

/// One provider's word on how it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    name: String,
    origin: Origin,
    says: Says,
}

#[derive(Clone, Debug, PartialEq)]
enum Says {
    Time,
    Project,
    /// Always the same.
    Text(String),
}

/// The instructions of a provider that is part of the program, and its state.
pub(super) fn built_in(name: &str) -> Option<(&'static str, State)> {
    let (instructions, says) = match name {
        "time" => (
            "Just before the newest message, under \"Current context\", you are told the date and time of this call.",
            Says::Time,
        ),
        "project" => (
            "Under \"Current context\" you are also told the project's folder and how its git branch stands. It is \
             true now and may differ from what was true earlier in the conversation.",
            Says::Project,
        ),
        _ => return None,
    };
    Some((instructions, State { name: name.to_owned(), origin: Origin::Provider { name: name.to_owned() }, says }))
}

impl State {
    pub(super) fn written(name: &str, origin: Origin, text: &str) -> Self {
        Self { name: name.to_owned(), origin, says: Says::Text(text.to_owned()) }
    }

    /// Whether it has to be looked what is around.
    #[must_use]
    pub fn needs_surroundings(&self) -> bool {
        !matches!(self.says, Says::Text(_))
    }

    pub(super) fn piece(&self, surroundings: &Surroundings) -> Piece {
        let text = match &self.says {
            Says::Time => surroundings.now.as_ref().map(|now| format!("Now: {now}")),
            Says::Project => Some(project(surroundings)),
            Says::Text(text) => Some(text.clone()),
        };
        let kind = LayerKind::ContextState;
        match text {
            Some(text) => included(&self.name, kind, self.origin.clone(), &text),
            None => skipped(&self.name, kind, self.origin.clone(), Absence::NothingToSay),
        }
    }
}

fn project(surroundings: &Surroundings) -> String {
    let mut text = format!("Project: {}", surroundings.folder);
    if let Some(branch) = &surroundings.branch {
        text.push_str(", git branch ");
        text.push_str(branch);
        let count = match surroundings.changed {
            None => return text,
            Some(0) => "nothing".to_owned(),
            Some(1) => "1 file".to_owned(),
            Some(count) => format!("{count} files"),
        };
        text = format!("{text}, {count} changed since the last commit");
    }
    text
}

/// The project's and the person's own words, one layer a file.
pub(super) fn files(files: &[ProjectFile]) -> Vec<Piece> {
    let kind = LayerKind::ProjectFile;
    if files.is_empty() {
        let origin = Origin::Provider { name: "project_files".to_owned() };
        return vec![skipped("project_files", kind, origin, Absence::NothingToSay)];
    }
    let piece = |file: &ProjectFile| {
        let origin = Origin::File { space: file.space, path: file.path.clone() };
        match &file.text {
            Ok(text) if text.trim().is_empty() => skipped(&file.path, kind, origin, Absence::Empty),
            Ok(text) => included(&file.path, kind, origin, &format!("# {}\n\n{}", file.path, text.trim())),
            Err(message) => skipped(&file.path, kind, origin, Absence::Refused { message: message.clone() }),
        }
    };
    files.iter().map(piece).collect()
}

/// The list of skills: their names, what they are for, and where they can be read.
pub(super) fn skills(skills: &[Skill]) -> Piece {
    let origin = Origin::Provider { name: "skills".to_owned() };
    if skills.is_empty() {
        return skipped("skills", LayerKind::Skills, origin, Absence::NothingToSay);
    }
    let line = |Skill { name, description, path, space }: &Skill| {
        let below = if *space == Space::User { "~/" } else { "" };
        format!("\n- {name}: {description} ({below}{path})")
    };
    let lines: String = skills.iter().map(line).collect();
    let text = format!("Skills: when one fits the task, read its file first and follow it.\n{lines}");
    included("skills", LayerKind::Skills, origin, &text)
}
