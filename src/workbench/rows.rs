//! Rows of lists and pages that are read off the loop.

/// A skill or template that a prompt can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptRow {
    /// As it stands in the draft, with its `/`.
    pub word: String,
    /// What may be written behind it, and what it is for.
    pub about: String,
}
