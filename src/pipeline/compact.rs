//! Before older messages give way to a summary.

use super::answer::{Merged, shown};
use serde_json::{Map, Value, json};

/// What is about to be summarised, and what handlers say to that. The answer of the last one counts as a whole; the first
/// that cancels ends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compact {
    /// The messages that would give way.
    pub messages: Vec<Value>,
    pub tokens_before: u64,
    pub previous_summary: Option<String>,
    /// The handler that cancelled it.
    pub cancelled: Option<String>,
    /// The summary of a handler, and who it is.
    pub summary: Option<(String, String)>,
}

impl Compact {
    pub(super) fn event(&self) -> Value {
        json!({
            "preparation": {
                "messagesToSummarize": self.messages,
                "turnPrefixMessages": [],
                "isSplitTurn": false,
                "tokensBefore": self.tokens_before,
                "previousSummary": self.previous_summary,
            },
        })
    }

    pub(super) fn merge(&mut self, map: &Map<String, Value>, by: &str) -> Result<Merged, String> {
        if map.get("cancel").and_then(Value::as_bool) == Some(true) {
            self.cancelled = Some(by.to_owned());
            return Ok(Merged::Blocked);
        }
        match map.get("compaction") {
            None | Some(Value::Null) => {
                // It answered, so the answer before it does not count any more.
                let changed = self.summary.take().is_some();
                Ok(if changed { Merged::Changed } else { Merged::Unchanged })
            }
            Some(compaction) => {
                let text = compaction.get("summary").and_then(Value::as_str).map(str::trim).unwrap_or_default();
                if text.is_empty() {
                    return Err(format!("its compaction has no summary: {}", shown(compaction)));
                }
                self.summary = Some((text.to_owned(), by.to_owned()));
                Ok(Merged::Changed)
            }
        }
    }
}
