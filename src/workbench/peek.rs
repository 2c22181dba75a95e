//! The thread that is looked into from the list of threads: its end, live, as the conversation would show it.
//!
//! One at a time. Whoever moves on to another leaves it, and what still comes of it is known by its number. A thread that
//! is asked for is waited for, so however fast a list is gone through, one log is read at a time.

use super::message::{Effect, PeekNews};
use super::thread_view::{Link, ThreadView};
use super::transcript::Transcript;
use crate::domain::event::StopReason;
use crate::domain::{Event, RequestEvent, ThreadId, Timestamp};
use crate::worker::protocol::FromWorker;

/// See the module.
#[derive(Clone, Debug)]
pub struct Peek {
    /// Whether it stands in the place of the list.
    pub whole: bool,
    /// What is looked into; a view of no thread while nothing is.
    pub view: ThreadView,
    /// Why its log cannot be read.
    pub failed: Option<String>,
    /// Of what was asked for last.
    pub(super) number: u64,
    /// It has not come yet.
    pub(super) awaits: bool,
    /// How old the row of the thread was then.
    pub(super) asked_at: Timestamp,
}

impl Peek {
    pub(super) fn new() -> Self {
        Self {
            whole: false,
            view: ThreadView::new(None, Transcript::apart()),
            failed: None,
            number: 0,
            awaits: false,
            asked_at: Timestamp(0),
        }
    }

    /// Whether it shows this thread.
    #[must_use]
    pub fn shows(&self, thread_id: &ThreadId) -> bool {
        self.view.is_of(thread_id) && self.view.link != Link::Opening
    }

    pub(super) fn turn_to(&mut self, thread: Option<ThreadId>) {
        self.view = self.view.successor(thread);
        (self.failed, self.awaits) = (None, false);
    }

    /// Asks for a thread; one that is shown already stays until its log was read again.
    pub(super) fn ask(&mut self, thread_id: ThreadId, asked_at: Timestamp) -> Effect {
        if !self.view.is_of(&thread_id) {
            self.turn_to(Some(thread_id.clone()));
        }
        self.number += 1;
        (self.awaits, self.asked_at) = (true, asked_at);
        Effect::Peek { thread_id, number: self.number }
    }

    /// Takes in what is told; whether what is seen changes.
    pub(super) fn hear(&mut self, news: PeekNews) -> bool {
        match news {
            PeekNews::Opened { newest, older } => {
                self.turn_to(self.view.thread.clone());
                self.view.link = Link::Connected;
                self.view.older = older;
                for record in newest {
                    self.view.transcript.apply(record);
                }
                true
            }
            PeekNews::Failed(why) => {
                (self.failed, self.awaits) = (Some(why), false);
                (self.view.link, self.view.alone) = (Link::Resting, true);
                true
            }
            PeekNews::Alone => {
                (self.view.link, self.view.alone) = (Link::Resting, true);
                self.view.grow(|transcript| transcript.end_live(&StopReason::Lost))
            }
            PeekNews::Worker(message) => self.hear_worker(*message),
        }
    }

    fn hear_worker(&mut self, message: FromWorker) -> bool {
        match message {
            FromWorker::Event { offset, next_offset, record } => {
                if !self.view.takes(&record, offset, next_offset) {
                    return false;
                }
                if let Event::Request(RequestEvent::ErrorClassified { .. }) = &record.event {
                    let detail = "the call failed".to_owned();
                    self.view.transcript.end_live(&StopReason::Truncated { detail });
                }
                self.view.grow(|transcript| transcript.apply(record))
            }
            FromWorker::Delta { request, delta } => self.view.grow(|transcript| transcript.delta(request, delta)),
            FromWorker::Inflight { request, deltas } => {
                self.view.grow(|transcript| transcript.inflight(request, deltas))
            }
            FromWorker::ToolOutput { call_id, text } => {
                self.view.grow(|transcript| transcript.tool_said(&call_id, &text))
            }
            FromWorker::ToolOutputSoFar { call_id, text } => {
                self.view.grow(|transcript| transcript.tool_has_said(&call_id, text))
            }
            FromWorker::Hello { .. }
            | FromWorker::Refused { .. }
            | FromWorker::Ack { .. }
            | FromWorker::Error { .. }
            | FromWorker::Preview { .. }
            | FromWorker::Drawn { .. }
            | FromWorker::Suggested { .. }
            | FromWorker::Typed { .. }
            | FromWorker::State(_)
            | FromWorker::Lagged { .. }
            | FromWorker::Bye { .. } => false,
        }
    }
}
