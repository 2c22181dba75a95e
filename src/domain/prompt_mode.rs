//! When what was said reaches the model.

use serde::{Deserialize, Serialize};

/// When a prompt is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptMode {
    /// At the next turn: what is sent while the thread works reaches the model with the next request.
    Steer,
    /// When the thread would otherwise wait.
    FollowUp,
}
