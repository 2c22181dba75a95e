//! Commands that run beside the conversation: the thread knows how they stand, and what it says of them goes to the model with
//! each call.

use super::effect::Effect;
use super::state::Thread;
use crate::domain::background::{BackgroundCommand, CommandEnd, MOST_ENDED};
use crate::domain::event::Timestamp;
use crate::domain::{CallId, Event};
use serde_json::Value;

pub(super) fn started(
    thread: &mut Thread,
    (call_id, command): (&CallId, &str),
    input: &Value,
    confined: bool,
    now: Timestamp,
) -> Vec<Effect> {
    thread.commands_started += 1;
    let (name, command) = (call_id.clone(), command.to_owned());
    thread.commands.push(BackgroundCommand { name, command, started: now, ended: None });
    vec![Effect::RunCommand { call_id: call_id.clone(), input: input.clone(), confined }]
}

pub(super) fn ended(thread: &mut Thread, call_id: &CallId, error: Option<&str>, now: Timestamp) -> Vec<Effect> {
    let open = thread.commands.iter_mut().find(|command| command.name == *call_id && command.runs());
    if let Some(command) = open {
        command.ended = Some(CommandEnd { at: now, error: error.map(str::to_owned) });
    }
    let mut too_many = thread.commands.iter().filter(|command| !command.runs()).count().saturating_sub(MOST_ENDED);
    thread.commands.retain(|command| {
        let forgotten = too_many > 0 && !command.runs();
        too_many -= usize::from(forgotten);
        !forgotten
    });
    Vec::new()
}

/// The process that ran them is gone.
pub(super) fn interrupted(thread: &Thread) -> Vec<Effect> {
    let open = thread.commands.iter().filter(|command| command.runs());
    open.map(|command| Effect::Emit(Event::command_interrupted(&command.name))).collect()
}
