//! Before older messages give way to a summary.

use super::answer::{Merged, shown};
use crate::domain::{FileOps, SessionTold, Tokens};
use serde_json::{Map, Value, json};

/// What is about to be summarised, and what handlers say to that. The answer of the last one counts as a whole; the first
/// that cancels ends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compact {
    /// The messages that would give way.
    pub messages: Vec<Value>,
    /// So many they are.
    pub from: usize,
    /// Where else what stays can begin: so many messages would give way.
    pub places: Vec<usize>,
    pub tokens_before: u64,
    pub previous_summary: Option<String>,
    /// What the summary is to look at.
    pub instructions: Option<String>,
    pub settings: CompactSettings,
    /// The session around them: an entry is named for each of the places.
    pub session: SessionTold,
    /// The handler that cancelled it.
    pub cancelled: Option<String>,
    pub summary: Option<Summarised>,
}

/// By which rules room is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactSettings {
    /// Whether it is made by itself where the window is full.
    pub enabled: bool,
    /// What of the window is left then.
    pub reserve: Tokens,
    /// So much of the newest messages stays.
    pub keep: Tokens,
}

/// The summary of a handler.
#[derive(Clone, Debug, PartialEq)]
pub struct Summarised {
    pub text: String,
    pub by: String,
    /// So many messages give way to it.
    pub from: usize,
    /// What it leaves with it, for itself.
    pub details: Option<Value>,
}

impl Compact {
    pub(super) fn event(&self) -> Value {
        let FileOps { read, written, edited } = &self.session.files;
        let CompactSettings { enabled, reserve, keep } = self.settings;
        json!({
            "preparation": {
                "firstKeptEntryId": self.entry(self.from),
                "messagesToSummarize": self.messages,
                // A turn is never split: what stays begins with a prompt or an answer, and has all results of its calls.
                "turnPrefixMessages": [],
                "isSplitTurn": false,
                "tokensBefore": self.tokens_before,
                "previousSummary": self.previous_summary,
                "fileOps": {"read": read, "written": written, "edited": edited},
                "settings": {"enabled": enabled, "reserveTokens": reserve.0, "keepRecentTokens": keep.0},
            },
            "branchEntries": self.session.entries,
            "customInstructions": self.instructions,
        })
    }

    /// The entry with which what stays begins where so many messages give way.
    fn entry(&self, from: usize) -> Option<&str> {
        let place = self.places.iter().position(|place| *place == from)?;
        self.session.named.get(place)?.as_deref()
    }

    /// How many messages give way where what stays begins with an entry.
    fn before(&self, entry: &Value) -> Result<usize, String> {
        let id =
            entry.as_str().ok_or_else(|| format!("firstKeptEntryId is {}, where an id is expected", shown(entry)))?;
        let mut known = self.session.named.iter().zip(&self.places);
        let place = known.find(|(name, _)| name.as_deref() == Some(id)).map(|(_, place)| *place);
        place.ok_or_else(|| {
            format!(
                "what stays cannot begin with the entry {}: expected a prompt or an answer behind the first",
                shown(entry)
            )
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
                // Where no entry is known, none can be meant.
                let is_known = self.session.named.iter().any(Option::is_some);
                let from = match compaction.get("firstKeptEntryId").filter(|entry| is_known && !entry.is_null()) {
                    Some(entry) => self.before(entry)?,
                    None => self.from,
                };
                let details = compaction.get("details").filter(|details| !details.is_null()).cloned();
                self.summary = Some(Summarised { text: text.to_owned(), by: by.to_owned(), from, details });
                Ok(Merged::Changed)
            }
        }
    }
}
