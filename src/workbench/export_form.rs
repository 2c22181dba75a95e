//! In which forms a thread is written out.

/// A form in which a thread is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    Markdown,
    Html,
    /// The log itself.
    JsonLines,
}

impl ExportForm {
    pub const ALL: [Self; 3] = [Self::Markdown, Self::Html, Self::JsonLines];

    /// Its word in commands, and the ending of its files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::JsonLines => "jsonl",
        }
    }
}
