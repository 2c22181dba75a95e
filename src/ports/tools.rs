//! Running a tool call.

use crate::domain::{ToolCall, ToolSpec};
use std::future::Future;
use std::pin::Pin;

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The text the model sees.
    pub output: String,
    /// The failure in a few words, when it failed.
    pub error: Option<String>,
}

/// Runs tool calls. Dropping the future stops the tool.
pub trait ToolRunner: Send + Sync {
    /// The tools to offer to the model, asked for before each call.
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;
}
