//! In which forms a thread is written out.

/// A form in which a thread is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    Markdown,
    Html,
    /// The log itself.
    JsonLines,
    /// A session of pi, with all forks of the conversation.
    Pi,
}

impl ExportForm {
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Html, Self::JsonLines, Self::Pi];

    /// Its word in commands.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::JsonLines => "jsonl",
            Self::Pi => "pi",
        }
    }

    /// The ending of its files.
    #[must_use]
    pub fn ending(self) -> &'static str {
        if self == Self::Pi { "pi.jsonl" } else { self.word() }
    }
}
