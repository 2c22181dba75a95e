//! Tools and a person's own commands: what ran, and what came of it.

use super::Process;
use super::prompt::pipeline_in_words;
use crate::domain::id::{CallId, ContentHash};
use crate::domain::image::Image;
use crate::domain::note::{Note, NoteKind};
use crate::domain::pipeline::Step;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Tools and a person's own commands: what ran, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ToolEvent {
    /// A tool is about to run.
    ToolCallStart {
        tool: String,
        call_id: CallId,
        /// Id of the item that `tool` means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<String>,
        input: serde_json::Value,
        /// What it needed, and the grant that gave it, where nobody was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capability: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
        /// Others may begin before it has ended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        parallel: bool,
        /// It runs in a sandbox.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confined: bool,
        /// What it changes in files, as a unified difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<String>,
    },
    /// A call that only looks begins while its answer still arrives: nothing that is left to arrive, and nobody, could keep it from
    /// running. `tool_call_start` follows once the answer is whole. Where the answer breaks off it does not, and nothing comes of it.
    ToolCallEarly { call_id: CallId, item: String, input: serde_json::Value },
    /// Its tool has made the arguments of a call ready, and it is through its handlers. It is judged and run with `input` where they
    /// made another one, and not at all where one of them blocked it.
    CallPrepared {
        call_id: CallId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<Step>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<serde_json::Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocked: Option<String>,
    },
    /// The result of a call is through its handlers; it follows.
    ResultPrepared {
        call_id: CallId,
        steps: Vec<Step>,
        /// The images that it shows still, where handlers took some out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        images: Option<Vec<ContentHash>>,
    },
    /// A call is about to change a file: what the file holds and what it will hold is kept under these hashes. Without
    /// `before` there is no file yet. `path` is relative to the project.
    FileCheckpointed {
        call_id: CallId,
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<ContentHash>,
        after: ContentHash,
    },
    /// A tool's process was made and waits to be let go.
    ToolProcess { call_id: CallId, process: Process },
    /// The whole of a result that is cut for the model lies in the content store under this hash; the result follows.
    ResultKept { call_id: CallId, hash: ContentHash, bytes: u64 },
    /// A result will show this image beside its text. It lies in the content store; the result follows.
    ResultImage { call_id: CallId, image: Image },
    ToolCallResult {
        call_id: CallId,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A command of a person's own is about to run. With `shared`, the model gets what it printed with the next prompt.
    ShellStarted { call_id: CallId, command: String, shared: bool },
    /// It has ended. As a call, it may have a `tool_process` between.
    ShellEnded {
        call_id: CallId,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A call has started a command that goes on beside the conversation, under a name of its own. `input` is what the call said.
    CommandStarted {
        call_id: CallId,
        /// The call.
        by: CallId,
        command: String,
        input: serde_json::Value,
        /// It runs in a sandbox.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confined: bool,
    },
    /// It has ended; `output` is the end of what it printed. As a call, it may have a `tool_process` between.
    CommandEnded {
        call_id: CallId,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl ToolEvent {
    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        match self {
            Self::CallPrepared { steps, blocked: None, .. } | Self::ResultPrepared { steps, .. } => {
                pipeline_in_words(steps)
            }
            Self::CommandEnded { call_id, error: None, .. } => {
                Some(Note { kind: NoteKind::Info, text: format!("{} ended well", call_id.0) })
            }
            Self::CommandEnded { call_id, error: Some(error), .. } => {
                let text = format!("{} ended: {}", call_id.0, error.trim_matches(['(', ')', '.']));
                Some(Note { kind: NoteKind::Warning, text })
            }
            // The call that started a command tells of it. Why one was blocked is its result.
            Self::CallPrepared { .. }
            | Self::ToolCallStart { .. }
            | Self::ToolCallEarly { .. }
            | Self::FileCheckpointed { .. }
            | Self::ToolProcess { .. }
            | Self::ResultKept { .. }
            | Self::ResultImage { .. }
            | Self::ToolCallResult { .. }
            | Self::ShellStarted { .. }
            | Self::ShellEnded { .. }
            | Self::CommandStarted { .. } => None,
        }
    }

    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(
            self,
            Self::ToolCallStart { .. }
                | Self::ToolCallEarly { .. }
                | Self::FileCheckpointed { .. }
                | Self::ToolProcess { .. }
                | Self::ShellStarted { .. }
                | Self::CommandStarted { .. }
        )
    }
}
