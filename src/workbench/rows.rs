//! Rows of lists and pages that are read off the loop.

use crate::domain::{Input, ModelRef, Problem};
use std::path::PathBuf;

/// A skill or template that a prompt can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptRow {
    /// As it stands in the draft, with its `/`.
    pub word: String,
    /// What may be written behind it, and what it is for.
    pub about: String,
}

/// A model as the picker shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelChoice {
    /// The model, or a provider none of whose models can be used now.
    pub label: String,
    /// None where there is nothing to use.
    pub model: Option<ModelRef>,
    /// Window and price, or what is missing.
    pub note: String,
}

/// A directive as the picker shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectiveChoice {
    pub id: String,
    /// `project`, `user`, `system`, or `system:` with the name of a bundle.
    pub space: String,
    pub description: String,
    pub inputs: Vec<Input>,
    /// The model it wishes for, or what stands in for that; none when it wishes for none.
    pub model: Option<ModelRef>,
    /// Why that is not the one it wishes for.
    pub notice: Option<String>,
    /// Why it cannot be started.
    pub refusal: Option<String>,
}

/// An item as the list shows it, or what goes with items: a hook of a settings file, a skill, a template, an extension.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemRow {
    /// `directive`, `knowledge`, `tool`, `hook`, `skill`, `template` or `extension`.
    pub kind: &'static str,
    pub id: String,
    /// As in [`DirectiveChoice::space`].
    pub space: String,
    /// Where it lies, as told to people.
    pub place: String,
    /// Its file; none when it is in the program itself.
    pub file: Option<PathBuf>,
    /// Where in its file it begins, where that holds several.
    pub line: Option<u32>,
    /// The spaces of the files it hides.
    pub shadows: Vec<String>,
    /// What its signature is worth, in a word; none where nobody looks at signatures.
    pub signature: Option<&'static str>,
    pub problems: Vec<Problem>,
    /// How a directive is started.
    pub directive: Option<DirectiveChoice>,
}

/// How an MCP server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    pub name: String,
    /// Its name, its state, and where it is written.
    pub heading: String,
    /// What there is to say of it, each with its name.
    pub about: Vec<(&'static str, String)>,
}
