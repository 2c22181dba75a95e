//! Commands that run beside the conversation: the thread knows how they stand, and what it says of them goes to the model with
//! each call.

use super::effect::Effect;
use super::state::Thread;
use crate::domain::background::{BackgroundCommand, MOST_ENDED};
use crate::domain::event::Timestamp;
use crate::domain::{Event, ToolEvent};

/// A command has started or ended.
pub(super) fn changed(thread: &mut Thread, event: &ToolEvent, now: Timestamp) -> Vec<Effect> {
    BackgroundCommand::follow(&mut thread.commands, event, now);
    if let ToolEvent::CommandStarted { call_id, input, confined, .. } = event {
        thread.commands_started += 1;
        return vec![Effect::RunBackground { call_id: call_id.clone(), input: input.clone(), confined: *confined }];
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
