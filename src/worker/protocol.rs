//! What a worker and its clients say to each other: JSON lines over a Unix socket, or the same values over a channel.
//!
//! A client says `hello`, is greeted, then subscribes from a byte offset of the log. From there on it gets every log
//! event with its offset, live text in pieces, and the thread's state whenever that changed. Commands carry a number
//! and get an `ack` or an `error` with it; a draft
//! gets the request that it would make.

use crate::domain::command::Resume;
use crate::domain::event::Delta;
use crate::domain::{CallId, Draft, Drawing, Gesture, Preview, Record, Suggestion, ThreadId, ToComplete, ToDraw};
use serde::{Deserialize, Serialize};

pub use crate::domain::command::{Approval, Command, QueuedPrompt, State};

/// Raised whenever a message changes its meaning. Both sides refuse another version in words.
pub const VERSION: u32 = 8;

/// The longest message of a client, in bytes of its line. A longer one is refused before it is sent.
pub const LONGEST_COMMAND: usize = 16 << 20;

/// From client to worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorker {
    Hello {
        version: u32,
        /// What the worker was given by the one who started it. Only who knows it may approve calls: a command that a tool
        /// runs can reach the socket as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<String>,
    },
    /// Log events from this byte offset on, then live ones. Offset 0 is the whole log.
    Subscribe {
        from_offset: u64,
    },
    Command {
        id: u64,
        command: Command,
    },
    /// What would sending this draft send? Answered by [`FromWorker::Preview`] or an error; of several that were asked for,
    /// only the last is.
    Preview {
        id: u64,
        draft: Draft,
    },
    /// How do extensions draw this? Answered by [`FromWorker::Drawn`] or an error.
    Draw {
        id: u64,
        to_draw: ToDraw,
    },
    /// What do extensions say that can complete this draft? Answered by [`FromWorker::Suggested`]; of several that were asked
    /// for, only the last is.
    Complete {
        id: u64,
        draft: ToComplete,
    },
    /// What do extensions make of this, typed at a terminal? Answered by [`FromWorker::Typed`]. Asked where
    /// [`Looks::hears_keys`](crate::domain::Looks::hears_keys) says so.
    Typed {
        id: u64,
        /// As a terminal sends it.
        data: String,
    },
    /// The client is leaving in order: a worker with nothing left to do may end at once.
    Goodbye,
}

/// From worker to client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromWorker {
    Hello {
        version: u32,
        thread_id: ThreadId,
        pid: u32,
        /// Whether the client may approve calls: it knows what the worker was given by the one who started it.
        #[serde(default)]
        may_approve: bool,
    },
    /// The connection will be closed.
    Refused {
        reason: String,
    },
    Ack {
        id: u64,
    },
    Error {
        id: u64,
        message: String,
    },
    Preview {
        id: u64,
        preview: Box<Preview>,
    },
    Drawn {
        id: u64,
        drawing: Drawing,
    },
    Suggested {
        id: u64,
        suggestions: Vec<Suggestion>,
    },
    /// What is to be done with something that was typed: as if this had been typed, or nothing.
    Typed {
        id: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
    },
    /// A log line. `offset` is where it begins, `next_offset` where the next will.
    Event {
        offset: u64,
        next_offset: u64,
        record: Record,
    },
    /// More of the answer to `request`, which is not in the log yet.
    Delta {
        request: u32,
        delta: Delta,
    },
    /// Everything of the answer in flight so far: it replaces what the client has of it. Sent after a subscription
    /// and after [`FromWorker::Lagged`].
    Inflight {
        request: u32,
        deltas: Vec<Delta>,
    },
    /// More output of a tool that runs.
    ToolOutput {
        call_id: CallId,
        text: String,
    },
    /// The end of what a running tool has printed so far: it replaces what the client has. Sent after a subscription.
    ToolOutputSoFar {
        call_id: CallId,
        text: String,
    },
    State(State),
    /// The client was too slow and missed messages; it reads the log again from `from_offset`.
    Lagged {
        from_offset: u64,
    },
    /// The worker is about to end.
    Bye {
        reason: String,
    },
}

/// The number of a message that only who started the worker may send: what lets a call through, and what has extensions run on a
/// text of the client's.
pub(super) fn needs_secret(message: &ToWorker) -> Option<u64> {
    match message {
        ToWorker::Command { id, command } if decides(command) => Some(*id),
        ToWorker::Complete { id, .. } | ToWorker::Typed { id, .. } => Some(*id),
        ToWorker::Hello { .. }
        | ToWorker::Subscribe { .. }
        | ToWorker::Command { .. }
        | ToWorker::Preview { .. }
        | ToWorker::Draw { .. }
        | ToWorker::Goodbye => None,
    }
}

/// Whether it may let through what a person is asked about: a guard's question can be a component, or hang on what a command
/// or a key runs; a prompt that begins as a command may be one of an extension; and at a breakpoint a guard may be left out, or told
/// something else.
fn decides(command: &Command) -> bool {
    let types = matches!(
        command,
        Command::Gesture {
            gesture: Gesture::Type { .. } | Gesture::Write { .. } | Gesture::Close { .. } | Gesture::Draft { .. }
        }
    );
    let steps_over = matches!(command, Command::Resume { how: Resume::Skip | Resume::Continue { value: Some(_) } });
    let runs = matches!(command, Command::Submit { text, .. } if text.trim_start().starts_with('/'));
    types
        || runs
        || steps_over
        || matches!(
            command,
            Command::Approve { .. }
                | Command::AnswerDialog { .. }
                | Command::PressShortcut { .. }
                | Command::RunCommand { .. }
                | Command::TakeForeground { .. }
                | Command::ForegroundOver { .. }
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{CancelScope, PromptMode};

    #[test]
    fn who_was_not_told_the_secret_runs_nothing_and_steps_over_nothing() {
        let submit = |text: &str| Command::Submit {
            text: text.into(),
            mode: PromptMode::Steer,
            images: Vec::new(),
            files: Vec::new(),
            client: None,
        };
        for command in [submit("/yolo"), submit("  /yolo now"), Command::Resume { how: Resume::Skip }] {
            assert!(decides(&command), "{command:?}");
        }
        let replaced = Resume::Continue { value: Some(serde_json::json!({})) };
        assert!(decides(&Command::Resume { how: replaced }));
        let waits = [Resume::Continue { value: None }, Resume::Step, Resume::Abort].map(|how| Command::Resume { how });
        let others = [submit("hello"), submit("see a/b"), Command::Cancel { scope: CancelScope::Turn }];
        let breaks = Command::SetBreakpoints { breakpoints: Vec::new() };
        for command in waits.into_iter().chain(others).chain([breaks]) {
            assert!(!decides(&command), "{command:?}");
        }
    }
}
