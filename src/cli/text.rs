//! Events as plain lines, for terminals and pipes.

use crate::domain::event::StopReason;
use crate::domain::{
    ApprovalEvent, CallId, Event, Note, PromptEvent, Record, RequestEvent, SettingsEvent, ToolCall, ToolEvent,
};
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

/// Writes events as a person reads them: what was said and done, and the notes about it.
#[derive(Debug, Default)]
pub(super) struct EventWriter {
    /// The calls of the newest answer that have not begun, as it makes them.
    made: Vec<(CallId, String)>,
    /// The calls that run, the newest last.
    running: Vec<(CallId, String)>,
    /// Whether the newest line is that of the newest call: then its result needs no name.
    below_call: bool,
    /// What the thread may do was told: at first it is what its directive says.
    permitted: bool,
}

impl EventWriter {
    /// Writes one event; nothing of one that nobody needs to read.
    pub(super) fn write(&mut self, output: &mut impl Write, event: &Event) -> io::Result<()> {
        let below_call = std::mem::take(&mut self.below_call);
        if matches!(event, Event::Settings(SettingsEvent::PermissionsSet { .. }))
            && !std::mem::replace(&mut self.permitted, true)
        {
            return Ok(());
        }
        if let Some(Note { kind, text }) = event.note() {
            return writeln!(output, "{} {text}\n", kind.sign());
        }
        if let Event::Prompt(PromptEvent::CognitionIn { text, .. }) = event {
            writeln!(output, "› {}\n", text.replace('\n', "\n  "))
        } else if let Event::Request(RequestEvent::CognitionOut { text, stop, message, .. }) = event {
            let made = |call: &ToolCall| (call.call_id.clone(), format!("{} {}", call.tool, call.input));
            self.made = message.calls().map(made).collect();
            writeln!(output, "{}", text.trim_end())?;
            if let Some(mark) = stop_mark(stop) {
                writeln!(output, "[{}]", &mark)?;
            }
            writeln!(output)
        } else if let Event::Tool(ToolEvent::ToolCallStart { tool, item, input, call_id, .. }) = event {
            let call = format!("{} {input}", item.as_ref().unwrap_or(tool));
            writeln!(output, "▸ {call}")?;
            self.made.retain(|(id, _)| id != call_id);
            self.running.push((call_id.clone(), call));
            self.below_call = true;
            Ok(())
        } else if let Event::Tool(ToolEvent::ShellStarted { command, shared, .. }) = event {
            let sign = if *shared { "!" } else { "!!" };
            writeln!(output, "▸ {sign} {command}")
        } else if let Event::Approval(ApprovalEvent::ApprovalRequested {
            id, item, capability, preview, call_id, ..
        }) = event
        {
            if let Some((_, call)) = self.made.iter().find(|(own, _)| own == call_id) {
                writeln!(output, "▸ {call}")?;
            }
            write_question(output, *id, item, capability, preview.as_deref())
        } else if let Event::Approval(ApprovalEvent::ApprovalGiven { id, decision, said }) = event {
            let said = said.as_ref().map(|said| format!(", \"{said}\"")).unwrap_or_default();
            writeln!(output, "· approval {id}: {decision:?}{said}\n")
        } else if let Event::Tool(
            ToolEvent::ToolCallResult { output: result, error, call_id }
            | ToolEvent::ShellEnded { output: result, error, call_id },
        ) = event
        {
            let mark = if error.is_some() { "✗" } else { "✓" };
            let place = self.running.iter().position(|(id, _)| id == call_id);
            let is_newest = place.is_some_and(|place| place + 1 == self.running.len());
            if let Some((_, call)) = place.map(|place| self.running.remove(place))
                && !(below_call && is_newest)
            {
                writeln!(output, "{mark} {call}\n  {}\n", result.replace('\n', "\n  "))
            } else if let Some(place) = self.made.iter().position(|(id, _)| id == call_id) {
                // It was blocked or denied.
                let (_, call) = self.made.remove(place);
                writeln!(output, "{mark} {call}\n  {}\n", result.replace('\n', "\n  "))
            } else {
                writeln!(output, "{mark} {}\n", result.replace('\n', "\n  "))
            }
        } else {
            Ok(())
        }
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
        StopReason::EndTurn | StopReason::ToolUse => None,
        StopReason::Other { word } => Some(format!("the answer ended with `{word}`")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, ContentHash, Message, ModelRef, Role, Usage};
    use serde_json::json;

    #[test]
    fn a_call_that_did_not_run_is_told_with_what_it_was_to_do() {
        let call = |id: &str, command: &str| {
            let (call_id, tool) = (CallId(id.into()), "rye_bash".to_owned());
            Block::ToolCall(ToolCall { call_id, tool, input: json!({"command": command}) })
        };
        let result = |id: &str, output: &str, error: Option<&str>| {
            let (call_id, output, error) = (CallId(id.into()), output.to_owned(), error.map(str::to_owned));
            Event::Tool(ToolEvent::ToolCallResult { call_id, output, error })
        };
        let events = [
            Event::Request(RequestEvent::CognitionOut {
                text: "So.".into(),
                model: ModelRef::new("scripted", "demo"),
                request: 1,
                stop: StopReason::ToolUse,
                usage: Usage::default(),
                spend: None,
                message: Message { role: Role::Assistant, blocks: vec![call("a", "rm x"), call("b", "ls")] },
                elapsed_ms: 1,
            }),
            result("a", "no rm", Some("no rm")),
            Event::Approval(ApprovalEvent::ApprovalRequested {
                id: 1,
                call_id: CallId("b".into()),
                tool: "rye_bash".into(),
                item: "rye/bash".into(),
                capability: "rye.execute.tool.rye.bash".into(),
                grant: None,
                args_hash: ContentHash::of(b""),
                preview: None,
                confined: false,
                why: None,
            }),
            result("b", "Refused.", Some("Refused.")),
        ];
        let (mut writer, mut output) = (EventWriter::default(), Vec::new());
        for event in &events {
            writer.write(&mut output, event).unwrap();
        }
        let text = String::from_utf8(output).unwrap();
        let told = r#"So.

✗ rye_bash {"command":"rm x"}
  no rm

▸ rye_bash {"command":"ls"}
? approval 1: rye/bash (needs rye.execute.tool.rye.bash)
  answer with /approve 1 once, thread, always or deny

✗ rye_bash {"command":"ls"}
  Refused.

"#;
        assert_eq!(text, told);
    }
}
