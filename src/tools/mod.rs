//! Tools a model can call. None are built in yet: every call is answered with what is missing.

use crate::domain::ToolCall;
use crate::ports::{ToolOutcome, ToolRunner};
use std::future::{Future, ready};
use std::pin::Pin;

/// Answers every call with the news that there is no such tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTools;

impl ToolRunner for NoTools {
    fn run<'a>(&'a self, call: &'a ToolCall) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>> {
        let text = format!("There is no tool `{}` in this thread.", call.tool);
        Box::pin(ready(ToolOutcome { output: text.clone(), error: Some(text) }))
    }
}
