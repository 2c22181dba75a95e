//! What extensions say that can complete a draft. Places in drafts are counted in letters (Unicode scalar values) here.

use serde::{Deserialize, Serialize};

/// A draft of which somebody asks what can complete it where the cursor stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToComplete {
    pub lines: Vec<String>,
    /// The line of the cursor, from 0, and the letters before it there.
    pub line: usize,
    pub column: usize,
    /// The command of an extension whose arguments are being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What the program itself offers for the word that ends at the cursor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnCompletion>,
    /// That word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub word: String,
}

/// Something that the program itself offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCompletion {
    /// As it would stand in the draft.
    pub word: String,
    pub about: String,
}

/// What can complete a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Suggestion {
    /// One of [`ToComplete::own`], by its word.
    Program {
        word: String,
    },
    Extension(ExtensionCompletion),
}

/// Something that an extension offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtensionCompletion {
    /// For the list.
    pub label: String,
    pub about: String,
    pub edit: DraftEdit,
}

/// A change of a draft: what stands from `from` to `to` becomes `text`, with the cursor at `cursor` of what comes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftEdit {
    pub from: usize,
    pub to: usize,
    pub text: String,
    pub cursor: usize,
}
