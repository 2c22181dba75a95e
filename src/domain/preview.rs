//! What sending a draft would send, as a worker tells it before anything is sent.

use super::amount::Tokens;
use super::assembly::Assembly;
use super::attachment::ToAttach;
use super::frozen_request::FrozenRequest;
use super::id::ModelRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a person has written and not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub text: String,
    /// Images that go along, by their paths from the project's root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Files, folders and threads that the text names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ToAttach>,
    /// Whether commands of the context are run for it. Without, what they would say is missing, and the request that is told
    /// of is smaller: enough for an estimate, for which nobody's commands are run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_commands: bool,
}

/// The request that sending a draft would make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    pub model: ModelRef,
    pub max_output_tokens: u64,
    /// Size of the model's window, where known.
    pub window: Option<Tokens>,
    pub assembly: Assembly,
    /// Size of the texts that go along with the draft, as the model reads them, in bytes.
    #[serde(default)]
    pub attached: u64,
    /// What has to be said to send this very request; none where there is nothing to send.
    pub frozen: Option<FrozenRequest>,
    /// The handler that would take the draft: no model would be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<String>,
    /// The request in its provider's form, where handlers changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}
