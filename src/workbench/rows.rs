//! Rows of lists and pages that are read off the loop.

/// A skill or template that a prompt can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptRow {
    /// As it stands in the draft, with its `/`.
    pub word: String,
    /// What may be written behind it, and what it is for.
    pub about: String,
}

/// A line of the page about a thread's pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineLine {
    /// A prompt, request or call.
    Of(String),
    /// A handler, and what it did.
    Step { handler: String, text: String },
    /// A line of what it changed, or said.
    Detail(String),
}
