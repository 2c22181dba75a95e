//! A person's own command: it runs beside the loop, and what it printed waits for the next prompt.

use super::effect::Effect;
use super::state::{Shell, Thread};
use crate::domain::{CallId, Event, Message, ToolEvent};

pub(super) fn started(thread: &mut Thread, call_id: &CallId, command: &str, shared: bool) -> Vec<Effect> {
    thread.shells += 1;
    let (call_id, command) = (call_id.clone(), command.to_owned());
    thread.shell = Some(Shell { call_id: call_id.clone(), command: command.clone(), shared });
    vec![Effect::RunShell { call_id, command, shared }]
}

pub(super) fn ended(thread: &mut Thread, call_id: &CallId, output: &str, error: Option<&str>) -> Vec<Effect> {
    if let Some(shell) = thread.shell.take_if(|shell| shell.call_id == *call_id)
        && shell.shared
    {
        thread.notes.push(Message::user(told(&shell.command, output, error)));
    }
    Vec::new()
}

/// The process that ran it is gone.
pub(super) fn interrupted(thread: &Thread) -> Vec<Effect> {
    thread.shell.iter().map(|shell| Effect::Emit(Event::shell_interrupted(&shell.call_id))).collect()
}

/// The thread ends, and it with it.
pub(super) fn end(thread: &Thread) -> Vec<Effect> {
    let Some(Shell { call_id, .. }) = &thread.shell else { return Vec::new() };
    let error = Some("Stopped with its thread.".to_owned());
    let ended = Event::Tool(ToolEvent::ShellEnded { call_id: call_id.clone(), output: String::new(), error });
    vec![Effect::EndShell, Effect::Emit(ended)]
}

pub(super) fn stop(thread: &Thread) -> Vec<Effect> {
    thread.shell.iter().map(|_| Effect::StopShell).collect()
}

/// What the model reads. The output stands in a fence that nothing in it can close.
fn told(command: &str, output: &str, error: Option<&str>) -> String {
    let longest = output.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let ending = error.map(|error| format!("\n{error}")).unwrap_or_default();
    format!(
        "I ran this command myself:\n\n    {}\n\nIt printed:\n\n{fence}\n{}\n{fence}{ending}",
        command.replace('\n', "\n    "),
        output.trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_printed_closes_its_fence() {
        let text = told("cat notes.md", "```sh\nls\n```\n", Some("(exit code 1)"));
        assert_eq!(
            text,
            "I ran this command myself:\n\n    cat notes.md\n\nIt printed:\n\n````\n```sh\nls\n```\n````\n(exit code 1)"
        );
    }
}
