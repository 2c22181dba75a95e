//! Components of extensions: they draw themselves, and one has the person's keys until it is closed.

use serde::{Deserialize, Serialize};

/// A component that is on the screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenComponent {
    /// Counts from 1 in the process that draws it.
    pub id: u64,
    /// The extension it is of.
    pub from: String,
    /// Where it lies over the screen; below the conversation without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Spot>,
    /// Whether it has the keys, where no later one has.
    pub focused: bool,
    /// As drawn for a screen of the size that was told last: text with sequences of styles (SGR) and no others.
    pub lines: Vec<String>,
}

/// A place on the screen, in cells from its top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    pub column: u16,
    pub row: u16,
    pub width: u16,
}

/// How large the screen is, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenSize {
    pub columns: u16,
    pub rows: u16,
    /// Columns of the conversation.
    pub inner: u16,
}

impl Default for ScreenSize {
    /// Where nobody has told.
    fn default() -> Self {
        Self { columns: 80, rows: 24, inner: 80 }
    }
}

/// What a person does that extensions are to know of at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case")]
pub enum Gesture {
    /// Keys or a paste for a component, as a terminal sends them.
    Type { component: u64, data: String },
    /// Closes a component, whatever it does.
    Close { component: u64 },
    /// The screen has this size from here on.
    Resize(ScreenSize),
}

/// A key that runs something of an extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedShortcut {
    /// As extensions write it: `ctrl+x`.
    pub key: String,
    pub about: String,
}
