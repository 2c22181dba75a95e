//! The beginning of a turn: prompts are taken from the queue, each goes through its handlers and joins the history or does not,
//! then the limits are checked and the request is made.

use super::control_point::ask;
use super::effect::Effect;
use super::handoff::make_room;
use super::nudge::nudge;
use super::room::{CompactionCause, Handoff};
use super::state::{ControlPoint, Phase, ReturnState, Thread};
use crate::domain::event::PromptMode;
use crate::domain::{ControlEvent, Event, Message, SettingsEvent, ThreadKind};
use std::sync::Arc;

/// What was sent goes on where the thread waits. At a limit it also allows as much again: the person was told so.
pub(super) fn prompted(thread: &mut Thread) -> Vec<Effect> {
    if !thread.can_take() {
        return Vec::new();
    }
    let raised = if let Phase::Suspended { limit: Some(code) } = thread.phase {
        Some(Effect::Emit(Event::Settings(SettingsEvent::LimitsChanged {
            limits: thread.limits.raised(code, &thread.cost),
        })))
    } else {
        None
    };
    raised.into_iter().chain(take_prompts(thread, true)).collect()
}

/// What an extension sent for the model begins a turn of a thread at rest; one that waits for a person waits on, and so does
/// one that has not begun, or only holds what was copied from another.
pub(super) fn noted(thread: &mut Thread) -> Vec<Effect> {
    let at_rest = thread.phase == Phase::Idle && thread.kind == ThreadKind::Interactive && thread.requests > 0;
    if at_rest && take_notes(thread, true) { prepare(thread, 1) } else { Vec::new() }
}

/// Has what extensions sent join the history, as far as it is due. Whether any did.
pub(super) fn take_notes(thread: &mut Thread, may_follow_up: bool) -> bool {
    let is_due = |mode: PromptMode| may_follow_up || mode == PromptMode::Steer;
    let due = thread.turn_notes.extract_if(.., |(mode, _)| is_due(*mode)).collect::<Vec<_>>();
    let any = !due.is_empty();
    for (_, note) in due {
        thread.push(note);
    }
    if any {
        thread.handing = ReturnState::Nothing;
    }
    any
}

/// Takes due prompts from the queue, and what extensions sent; without any, waits.
pub(super) fn take_prompts(thread: &mut Thread, may_follow_up: bool) -> Vec<Effect> {
    let noted = take_notes(thread, may_follow_up);
    let due = thread.due_prompts(may_follow_up);
    if due.is_empty() {
        return if noted { prepare(thread, 1) } else { rest(thread) };
    }
    let prompts: Vec<u64> = due.iter().map(|queued| queued.prompt).collect();
    let first = prompts.first().map(|prompt| Effect::TakePrompt { prompt: *prompt });
    thread.phase = Phase::Taking { prompts, answers: noted || !may_follow_up };
    first.into_iter().collect()
}

/// Nothing to do: an interactive thread waits, a one-shot thread that was asked something is done.
pub(super) fn rest(thread: &mut Thread) -> Vec<Effect> {
    thread.phase = Phase::Idle;
    match thread.kind {
        ThreadKind::Interactive => Vec::new(),
        ThreadKind::OneShot => nudge(thread).unwrap_or_else(|| ask(thread, ControlPoint::Completion { error: None })),
    }
}

pub(super) fn joined(thread: &mut Thread, said: Message, prompt: Option<u64>) -> Vec<Effect> {
    for note in std::mem::take(&mut thread.notes) {
        thread.push(note);
    }
    thread.push(said);
    if prompt.is_some() {
        for note in std::mem::take(&mut thread.notes_behind) {
            thread.push(note);
        }
    }
    let prepared = thread.prepared.take();
    // What handlers made of the system text for an earlier prompt is over with it; a reminder belongs to that prompt.
    if prompt.is_some() || prepared.is_some() {
        // A conversation that was taken over has no numbers.
        let prepared = prepared.filter(|prepared| prepared.prompt == prompt.unwrap_or_default());
        let (messages, system) = prepared.map_or_else(Default::default, |made| (made.messages, made.system));
        thread.system_edit = system.map(Arc::new);
        for message in messages {
            thread.push(Message::custom(message));
        }
    }
    thread.handing = ReturnState::Nothing;
    if let Phase::Retrying { .. } = thread.phase {
        // The log does not tell that a retry was due: that what steers was taken does.
        thread.phase = Phase::Preparing { request: thread.requests + 1, attempt: 1 };
    }
    match prompt {
        Some(prompt) => taken(thread, prompt, true),
        None if matches!(thread.phase, Phase::Taking { .. }) => prepare(thread, 1),
        None => Vec::new(),
    }
}

/// A prompt that was being taken joined the history, or was handled or withdrawn: the next one comes, or the request.
pub(super) fn taken(thread: &mut Thread, prompt: u64, joins: bool) -> Vec<Effect> {
    let Phase::Taking { prompts, answers } = &mut thread.phase else { return Vec::new() };
    let worked_on = prompts.first() == Some(&prompt);
    prompts.retain(|taken| *taken != prompt);
    *answers |= joins;
    let (next, answers) = (prompts.first().copied(), *answers);
    match next {
        Some(prompt) if worked_on => vec![Effect::TakePrompt { prompt }],
        Some(_) => Vec::new(),
        None if answers => prepare(thread, 1),
        None => take_prompts(thread, true),
    }
}

/// Begins a turn: what steers goes first, then the limits are checked.
pub(super) fn start_turn(thread: &mut Thread, attempt: u32) -> Vec<Effect> {
    if thread.due_prompts(false).is_empty() {
        take_notes(thread, false);
        return prepare(thread, attempt);
    }
    take_prompts(thread, false)
}

pub(super) fn prepare(thread: &mut Thread, attempt: u32) -> Vec<Effect> {
    if let Some((code, current, maximum)) = thread.limits.reached(&thread.cost) {
        return vec![Effect::Emit(Event::Control(ControlEvent::Limit { code, current, maximum }))];
    }
    // The second where the summary is asked for again.
    if matches!(thread.handoff, Handoff::Due | Handoff::Asked) {
        return make_room(thread, CompactionCause::ForRequest { attempt }, Handoff::Asked);
    }
    prepare_anyway(thread, attempt)
}

/// The next request, whatever the limits say.
pub(super) fn prepare_anyway(thread: &mut Thread, attempt: u32) -> Vec<Effect> {
    let request = thread.requests + 1;
    thread.phase = Phase::Preparing { request, attempt };
    vec![Effect::Prepare { request, attempt }]
}
