//! Messages that handlers of the pipeline add.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What summaries of branches are called, as pi does.
pub const BRANCH_SUMMARY: &str = "branch_summary";

/// A message that a handler adds to the conversation. The model gets it in the user's role, whether or not it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomMessage {
    /// What its maker calls messages of this kind.
    pub custom_type: String,
    pub text: String,
    /// Whether it is shown in the conversation as a matter of course.
    pub display: bool,
    /// For whoever draws it; the model does not get it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// The handler that made it.
    pub by: String,
}

impl CustomMessage {
    /// What was said in a branch that was left, in short.
    #[must_use]
    pub fn branch_summary(text: String) -> Self {
        Self {
            custom_type: BRANCH_SUMMARY.to_owned(),
            text,
            display: true,
            details: Value::Null,
            by: "levain".to_owned(),
        }
    }
}
