//! Messages that handlers of the pipeline add.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
