//! What a hook does at an event at which a thread can go on in more than one way.

use super::control::Control;
use super::message::ToolCall;
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// A hook whose condition holds: its own answer, and the calls that it makes before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookStep {
    pub hook: String,
    /// What its condition saw.
    pub why: String,
    /// What it answers itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Control>,
    /// In order, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<HookCall>,
    /// Whether the thread goes on where a call of it fails.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub optional: bool,
    /// Whether what its calls answer is passed over.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub unheard: bool,
}

/// A call that a hook makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookCall {
    #[serde(flatten)]
    pub call: ToolCall,
    /// It is stopped after so long.
    pub within_ms: u64,
}

impl HookCall {
    /// The item that is called: the tool, or the directive that runs in a thread of its own.
    #[must_use]
    pub fn item(&self) -> &str {
        let directive = self.call.input.get("item_id").and_then(serde_json::Value::as_str);
        directive.filter(|_| self.call.tool == EXECUTE).unwrap_or(&self.call.tool)
    }
}

/// What runs a directive.
pub const EXECUTE: &str = "rye/execute";
