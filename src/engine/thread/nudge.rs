//! Reminding a model that has only talked of what its directive has to hand back.

use super::effect::Effect;
use super::state::{Phase, ReturnState, Thread};
use crate::domain::{Event, PromptEvent, Role};

/// As often a model is reminded.
const MOST: u32 = 2;

/// The role of a reminder in the log. The model reads it as a message of the user.
pub(super) const NUDGE: &str = "nudge";

/// The reminder, where one is due in a one-shot thread that would end.
pub(super) fn nudge(thread: &mut Thread) -> Option<Vec<Effect>> {
    let (outputs, last) = (&thread.rules.outputs, thread.history.last()?);
    let returned = thread.handing != ReturnState::Nothing;
    if outputs.is_empty() || returned || thread.nudges >= MOST || last.message.role != Role::Assistant {
        return None;
    }
    let text = format!(
        "You have not handed back what this directive promises. Call `directive_return` now with: {}. If it cannot be done, \
         call it with `status` set to `error`, and say why in `error_detail`.",
        outputs.join(", ")
    );
    thread.phase = Phase::Taking { prompts: Vec::new(), answers: true };
    let (role, images, files) = (NUDGE.to_owned(), Vec::new(), Vec::new());
    Some(vec![Effect::Emit(Event::Prompt(PromptEvent::CognitionIn { text, role, prompt: None, images, files }))])
}
