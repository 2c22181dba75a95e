//! Events as plain lines, for terminals and pipes.

use crate::domain::event::StopReason;
use crate::domain::{Event, Record};
use serde::Serialize;
use std::io::{self, Write};

/// A line of `--json` output about an event.
#[derive(Serialize)]
pub(super) struct EventLine<'a> {
    pub(super) schema: &'static str,
    /// Where the line begins in the log.
    pub(super) offset: u64,
    #[serde(flatten)]
    pub(super) record: &'a Record,
}

impl EventLine<'_> {
    pub(super) const SCHEMA: &'static str = "levain.event/1";
}

/// Writes what a person wants to read of an event; most events are bookkeeping and write nothing.
pub(super) fn write_event(output: &mut impl Write, event: &Event) -> io::Result<()> {
    match event {
        Event::CognitionIn { text, .. } => {
            writeln!(output, "› {}\n", text.replace('\n', "\n  "))
        }
        Event::CognitionOut { text, stop, .. } => {
            writeln!(output, "{}", text.trim_end())?;
            if let Some(mark) = stop_mark(stop) {
                writeln!(output, "[{}]", &mark)?;
            }
            writeln!(output)
        }
        Event::ToolCallStart { tool, item, input, .. } => {
            writeln!(output, "▸ {} {}", item.as_ref().unwrap_or(tool), &input.to_string())
        }
        Event::ApprovalRequested { id, item, capability, preview, .. } => {
            write_question(output, *id, item, capability, preview.as_deref())
        }
        Event::ApprovalGiven { id, decision } => writeln!(output, "· approval {id}: {decision:?}\n"),
        Event::ShellStarted { command, shared, .. } => {
            let sign = if *shared { "!" } else { "!!" };
            writeln!(output, "▸ {sign} {command}")
        }
        Event::ToolCallResult { output: result, error, .. } | Event::ShellEnded { output: result, error, .. } => {
            let mark = if error.is_some() { "✗" } else { "✓" };
            writeln!(output, "{mark} {}\n", result.replace('\n', "\n  "))
        }
        Event::ErrorClassified { error, .. } => {
            writeln!(output, "✗ {} ({})", &error.message, &error.code)
        }
        Event::RetryScheduled { attempt, delay_ms, .. } => {
            writeln!(output, "  attempt {attempt} in {} s\n", delay_ms.div_ceil(1_000))
        }
        Event::Limit { code, current, maximum } => {
            writeln!(output, "✗ limit reached: {} ({current}/{maximum})\n", code.code())
        }
        Event::ThreadSuspended { reason, .. } => writeln!(output, "○ suspended: {reason}\n"),
        Event::ContextCompacted { summarised, dropped, reason, .. } => {
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            writeln!(output, "· room was made: {summarised} messages summarised, {dropped} left out{why}\n")
        }
        Event::TurnCancelled { .. } => writeln!(output, "[stopped]\n"),
        Event::ThreadError { error, .. } => writeln!(output, "✗ {error}\n"),
        Event::LogRepaired { cut_bytes, at_offset } => {
            writeln!(output, "! a torn last line was cut off the log ({cut_bytes} bytes at {at_offset})\n")
        }
        Event::ModelChanged { model } => writeln!(output, "· model is now {model}\n"),
        Event::PersonaChanged { persona: Some(persona) } => {
            writeln!(output, "· persona is now {}\n", &persona.name)
        }
        Event::PersonaChanged { persona: None } => writeln!(output, "· no persona any more\n"),
        Event::Notice { text } => writeln!(output, "! {text}\n"),
        Event::ThreadStarted { .. }
        | Event::ClockJumped { .. }
        | Event::WorkerStarted { .. }
        | Event::WorkerEnded { .. }
        | Event::PromptQueued { .. }
        | Event::PromptWithdrawn { .. }
        | Event::QueueArranged { .. }
        | Event::LimitsChanged { .. }
        | Event::SystemPrompt { .. }
        | Event::ContextInjected { .. }
        | Event::RulesSet { .. }
        | Event::HookDecided { .. }
        | Event::ContextWindowPressure { .. }
        | Event::ContextLimitReached { .. }
        | Event::CompactRequested {}
        | Event::DirectiveReturn { .. }
        | Event::PermissionsSet { .. }
        | Event::PermissionDenied { .. }
        | Event::ToolProcess { .. }
        | Event::RequestRecorded { .. }
        | Event::TokenDelta { .. }
        | Event::CognitionReasoning { .. }
        | Event::RetryDue { .. }
        | Event::CancelRequested { .. }
        | Event::CallCharged { .. }
        | Event::ThreadCompleted { .. }
        | Event::ThreadCancelled { .. }
        | Event::ThreadKilled { .. }
        | Event::Unknown { .. } => Ok(()),
    }
}

/// Asks for a person's word on a call.
pub(super) fn write_question(
    output: &mut impl Write,
    id: u64,
    item: &str,
    capability: &str,
    preview: Option<&str>,
) -> io::Result<()> {
    if let Some(preview) = preview {
        writeln!(output, "{preview}")?;
    }
    writeln!(output, "? approval {id}: {item} (needs {capability})")?;
    writeln!(output, "  answer with /approve {id} once, thread, always or deny\n")
}

/// What to say behind an answer that is not whole.
pub(super) fn stop_mark(stop: &StopReason) -> Option<String> {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other { .. } => None,
        StopReason::MaxTokens => Some("the answer reached the model's output limit".into()),
        StopReason::Refusal => Some("the model refused".into()),
        StopReason::Truncated { detail } => Some(format!("truncated: {detail}")),
        StopReason::TooLarge { detail } => Some(format!("cut off: {detail}")),
        StopReason::Cancelled => Some("stopped".into()),
        StopReason::Lost => Some("the process ended here; this is what had been saved".into()),
    }
}

/// `1 error`, `2 errors`.
pub(super) fn several(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
