//! Keeps the context beside the conversation at the turn that is chosen there.

use super::beside::Beside;
use super::geometry;
use super::message::{Effect, RequestShown};
use super::model::Model;
use super::transcript::{Block, Kind};
use crate::domain::ThreadId;

impl Model {
    /// The request that block `at` of the transcript belongs to. A prompt led to the request of the answer behind it, as what
    /// is told of the context did; a call is part of the answer before it.
    pub(super) fn request_of(&self, at: usize) -> Option<u32> {
        let request = |index: usize| match self.view.transcript.get(index).map(|block| &block.kind) {
            Some(Kind::Answer(answer)) => Some(answer.request),
            Some(Kind::Thinking(thinking)) => Some(thinking.request),
            Some(Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_)) | None => None,
        };
        if self.begins_request(at) {
            (at..self.view.transcript.len()).find_map(request)
        } else {
            (0..=at).rev().find_map(request)
        }
    }

    /// Whether a request follows block `at`, answered or not.
    pub(super) fn begins_request(&self, at: usize) -> bool {
        let begins = |block: &Block| matches!(block.kind, Kind::Prompt(_)) || block.tells_context();
        self.view.transcript.get(at).is_some_and(begins)
    }

    /// Shows the context beside the conversation, or takes it away.
    pub(super) fn toggle_beside(&mut self) {
        self.beside = Beside { on: !self.beside.on, ..Beside::default() };
    }

    /// A request was made: the newest is another one now.
    pub(super) fn beside_outdated(&mut self) {
        if matches!(&self.beside.asked, Some((_, None))) {
            self.beside.asked = None;
        }
    }

    /// Asks for the request that belongs beside the conversation now, if another one is there.
    pub(super) fn follow_beside(&mut self) -> Option<Effect> {
        if !geometry::shows_beside(self) || self.beside.awaits {
            return None;
        }
        let Some(thread_id) = self.view.thread.clone() else {
            (self.beside.shown, self.beside.asked) = (None, None);
            return None;
        };
        let number = self.view.chosen_blocks().and_then(|(_, at)| self.request_of(at));
        let wanted = Some((thread_id.clone(), number));
        if self.beside.asked == wanted {
            return None;
        }
        if self.beside.asked.as_ref().is_none_or(|(shown, _)| *shown != thread_id) {
            self.beside.shown = None;
        }
        (self.beside.asked, self.beside.awaits) = (wanted, true);
        Some(Effect::LoadBeside { thread_id, number })
    }

    /// Takes what was asked for, unless the person has gone elsewhere meanwhile.
    pub(super) fn beside_read(
        &mut self,
        thread_id: &ThreadId,
        number: Option<u32>,
        request: Result<Box<RequestShown>, String>,
    ) {
        self.beside.awaits = false;
        let is_wanted = |asked: &(ThreadId, Option<u32>)| (&asked.0, asked.1) == (thread_id, number);
        if self.beside.on && self.beside.asked.as_ref().is_none_or(is_wanted) {
            self.beside.shown = Some(request.map(|request| *request));
            self.changed = true;
        }
    }
}
