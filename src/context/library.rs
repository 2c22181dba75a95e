//! Where plans get items from: reading is somebody else's work.

use crate::domain::{Origin, Space, Via};
use crate::items::{Directive, Knowledge};
use std::fmt;

/// Finds and reads items.
pub trait Library {
    /// # Errors
    /// [`Lost`] when there is none or it may not be used.
    fn directive(&self, id: &str) -> Result<Loaded<Directive>, Lost>;

    /// # Errors
    /// [`Lost`] when there is none or it may not be used.
    fn knowledge(&self, id: &str) -> Result<Loaded<Knowledge>, Lost>;

    /// Texts of the project and the person that are no items, such as `AGENTS.md`.
    fn files(&self) -> Vec<ProjectFile> {
        Vec::new()
    }

    /// What the person or the project adds to the system text, as it stands in a file.
    fn appended(&self) -> Option<ProjectFile> {
        None
    }

    /// What can be read when it is needed.
    fn skills(&self) -> Vec<Skill> {
        Vec::new()
    }

    /// What makers of tools say of them besides their descriptions, of the tools that the thread may use.
    fn tools(&self) -> Vec<ToolWords> {
        Vec::new()
    }
}

/// A text that is no item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    pub space: Space,
    /// As told to people and to the model.
    pub path: String,
    /// What it says, or why it may not be read.
    pub text: Result<String, String>,
}

/// What the maker of a tool wants told of it in the system text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolWords {
    /// As models call it.
    pub name: String,
    pub space: Space,
    /// The file that registers it: below its space's folder, or from the root on.
    pub path: String,
    /// What it is for, in a line.
    pub snippet: Option<String>,
    /// What to keep to when using it.
    pub guidelines: Vec<String>,
}

/// A skill as its file's head tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub path: String,
    pub space: Space,
}

/// An item that was read, and where it lies.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    pub value: T,
    pub space: Space,
    /// The further bundle of the system space that it lies in.
    pub bundle: Option<String>,
    /// Relative to the space.
    pub path: String,
    /// As told to people.
    pub file: String,
    /// What its signature is worth, in a word.
    pub signature: Option<String>,
    /// Files of the same id that come later.
    pub shadows: Vec<Hidden>,
}

/// A file that another of the same id hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    pub space: Space,
    pub bundle: Option<String>,
    /// Relative to the space.
    pub path: String,
}

impl<T> Loaded<T> {
    /// The origin of a layer made from this.
    #[must_use]
    pub fn origin(&self, id: &str, lines: Option<(u32, u32)>, via: Option<Via>) -> Origin {
        let (bundle, path, signature) = (self.bundle.clone(), self.path.clone(), self.signature.clone());
        Origin::Item { space: self.space, bundle, id: id.to_owned(), path, lines, signature, via }
    }
}

/// Why there is no item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Nobody wrote it.
    Missing(String),
    /// It is there and may not be used.
    Refused(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Missing(message) | Self::Refused(message)) = self;
        formatter.write_str(message)
    }
}
