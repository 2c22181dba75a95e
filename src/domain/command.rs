//! What can be asked of a thread, and how it stands: the two ends of every conversation with one.

use super::event::{CancelScope, PromptMode};
use super::{Cost, Limits, ModelRef, Status, ThreadKind, Tokens, Waiting};
use serde::{Deserialize, Serialize};

/// What a client can ask of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Command {
    Submit {
        text: String,
        mode: PromptMode,
    },
    Withdraw {
        prompt: u64,
    },
    Cancel {
        scope: CancelScope,
    },
    SetModel {
        model: ModelRef,
    },
    SetLimits {
        limits: Limits,
    },
    /// End the worker; running work is cancelled first.
    Shutdown,
    /// Let queued prompts stand in this order, before those that are not named.
    Arrange {
        prompts: Vec<u64>,
    },
}

/// How the thread stands, for status lines and lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub status: Status,
    pub waiting: Option<Waiting>,
    pub kind: ThreadKind,
    pub directive: String,
    pub model: ModelRef,
    pub cost: Cost,
    pub limits: Limits,
    /// Tokens of the last request and its answer: what the next one starts from.
    pub context: Tokens,
    /// Whether `context` was reported by the provider.
    pub context_exact: bool,
    /// Size of the model's window, where known.
    pub window: Option<Tokens>,
    /// What is queued, oldest first.
    pub queue: Vec<QueuedPrompt>,
}

/// A prompt that has not reached the model yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    pub prompt: u64,
    pub text: String,
    pub mode: PromptMode,
}
