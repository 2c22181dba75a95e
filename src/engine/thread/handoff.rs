//! Going on in another thread, where the window of this one is full or somebody asks for it.

use super::effect::{Effect, ignored};
use super::room::{CompactionCause, Handoff};
use super::state::{Phase, Thread};
use crate::domain::{ContextEvent, Entry, Message};

/// What stays of a conversation of which the newest `kept` messages stay: those, and what was said last, whatever its age.
#[must_use]
pub fn staying(history: &[Entry], kept: usize) -> Vec<Entry> {
    let (old, newest) = history.split_at(history.len().saturating_sub(kept));
    let said = |entry: &&Entry| entry.message.is_prompt();
    let last = old.iter().rev().find(said).filter(|_| !newest.iter().any(|entry| said(&entry)));
    last.into_iter().chain(newest).cloned().collect()
}

/// Older messages are to give way, in this thread or in another that goes on.
pub(super) fn make_room(thread: &mut Thread, room: CompactionCause, handoff: Handoff) -> Vec<Effect> {
    let request = thread.requests + 1;
    thread.handoff = handoff;
    thread.phase = Phase::Compacting { request, room };
    vec![Effect::MakeRoom { request }]
}

/// An idle thread is handed off at once, one that works before its next request.
pub(super) fn requested(thread: &mut Thread, event: &ContextEvent) -> Vec<Effect> {
    if thread.can_take() {
        thread.before_room = Some((thread.phase.clone(), thread.prompts));
        make_room(thread, CompactionCause::Asked, Handoff::Asked)
    } else if thread.rests() {
        ignored(thread, event)
    } else {
        thread.handoff = Handoff::Due;
        Vec::new()
    }
}

/// The first messages of a thread that goes on with another.
pub(super) fn inherited(thread: &mut Thread, messages: &[Message]) -> Vec<Effect> {
    for message in messages {
        thread.push(message.clone());
    }
    thread.inherited = thread.history.len();
    Vec::new()
}
