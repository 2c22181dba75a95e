//! What the thread machine asks for.

use super::state::Thread;
use crate::domain::{CallId, ContextEvent, Event, Status, ToolCall};

/// Work that an event calls for, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Put this event into the log and apply it.
    Emit(Event),
    /// Take this prompt through its handlers, and emit `CognitionIn` or `PromptHandled`.
    TakePrompt { prompt: u64 },
    /// Assemble and record the request, then emit `RequestRecorded`.
    Prepare { request: u32, attempt: u32 },
    /// Send the request that was recorded.
    Send { request: u32 },
    /// Close the connection, emit what has arrived and `TurnCancelled`.
    StopCall,
    /// Emit `RetryDue` after this time.
    Wait { attempt: u32, delay_ms: u64 },
    /// Emit `ThreadAdmitted` after a while: then it is asked again whether the thread may begin.
    WaitForSlot,
    /// Forget the pause.
    StopWaiting,
    /// Ask the hooks of this event, whose fields these are, and emit `HookDecided`; `HooksCalled` where they
    /// make calls before.
    AskHooks { event: &'static str, fields: serde_json::Value },
    /// Ask for a summary of older messages by this request, and emit `ContextCompacted`.
    MakeRoom { request: u32 },
    /// Make the thread that goes on, and emit `ThreadHandoff`; where that fails, this event, with which the thread goes on.
    HandOff(Box<ContextEvent>),
    /// Decide about this call by the thread's permissions and emit what follows. While others run, only a call that may
    /// run beside them is decided on, and only if nobody has to be asked.
    Authorise(ToolCall),
    /// Run the tool, which is this item, and emit its result. With `preview`, only while the call would still change
    /// what it said; where it is `confined`, in a sandbox; with `within_ms`, it is stopped after so long.
    RunTool { call: ToolCall, item: String, preview: Option<String>, confined: bool, within_ms: Option<u64> },
    /// Keep for later threads that this capability is allowed.
    Remember(String),
    /// Stop the running tools.
    StopTools,
    /// Run the person's own command and emit `ShellEnded`.
    RunShell { call_id: CallId, command: String, shared: bool },
    /// Ask it to end; `ShellEnded` follows with what it printed.
    StopShell,
    /// End it at once: the thread ends.
    EndShell,
    /// Run this command beside the conversation and emit `CommandEnded`; `confined`, in a sandbox.
    RunBackground { call_id: CallId, input: serde_json::Value, confined: bool },
    /// The thread has ended.
    End(Status),
}

/// An event that this phase does not expect: logged with both names, so that it can be found.
pub(super) fn ignored(thread: &Thread, event: &impl std::fmt::Debug) -> Vec<Effect> {
    tracing::warn!(thread = %thread.id, phase = ?thread.phase, ?event, "event ignored in this phase");
    Vec::new()
}
