//! Extensions that hear what is typed before the screen does anything with it.
//!
//! They are asked about one key at a time while the next ones wait, so that the order stays. What takes them too long is done as it
//! was typed, and they are asked about nothing more until they have answered after all: no key waits for an extension that
//! hangs. They do not hear the keys that stop and leave, nor what is typed while a call waits for approval or something is asked:
//! no extension answers in the person's place.

use super::hearing::{Question, Typed, typed_of};
use super::layout::TranscriptLayout;
use super::message::Effect;
use super::model::Model;
use super::overlay::Overlay;
use super::thread_view::{Link, Sent};
use crate::commands::{CommandId, Key};
use crate::domain::Timestamp;

/// A key waits for so many milliseconds: more is felt as a fault.
const WITHIN: u64 = 300;

impl Model {
    /// Whether extensions hear what is typed now.
    fn is_heard(&self) -> bool {
        let hears = self.view.state.as_ref().is_some_and(|state| state.extensions.looks.hears_keys);
        let free = matches!(self.overlay, None | Some(Overlay::Component(_))) && self.view.approvals.is_empty();
        hears && free && self.view.link == Link::Connected && self.hearing.late.is_none()
    }

    /// Does what was typed, or asks extensions first.
    pub(super) fn typed(&mut self, layout: &mut dyn TranscriptLayout, typed: Typed) -> Vec<Effect> {
        if self.hearing.asked.is_none() && !self.is_heard() {
            return self.do_typed(layout, typed);
        }
        let leaves = [CommandId::AppLeave, CommandId::AppSuspend];
        let always =
            |key: Key| self.keymap.command(key, &self.contexts()).is_some_and(|command| leaves.contains(&command));
        if matches!(typed, Typed::Key(key) if always(key)) {
            // What was typed before it is done before it.
            let mut effects = self.stop_hearing(layout);
            effects.extend(self.do_typed(layout, typed));
            return effects;
        }
        if self.hearing.asked.is_some() {
            self.hearing.waiting.push_back(typed);
            return Vec::new();
        }
        vec![self.ask_about(typed)]
    }

    fn do_typed(&mut self, layout: &mut dyn TranscriptLayout, typed: Typed) -> Vec<Effect> {
        match typed {
            Typed::Key(key) => self.key(layout, key),
            Typed::Paste(text) => self.pasted(layout, &text),
        }
    }

    /// Does all that waits as it was typed, whatever extensions would make of it.
    fn stop_hearing(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let Some(question) = self.hearing.asked.take() else { return Vec::new() };
        self.hearing.late = Some(question.id);
        let waiting = std::mem::take(&mut self.hearing.waiting);
        [question.typed].into_iter().chain(waiting).flat_map(|typed| self.do_typed(layout, typed)).collect()
    }

    fn ask_about(&mut self, typed: Typed) -> Effect {
        let (id, data) = (self.sending(Sent::Typed), typed.data());
        self.hearing.asked = Some(Question { id, typed, until: Timestamp(self.now.0 + WITHIN) });
        Effect::HearTyped { id, data }
    }

    /// What becomes of something that was typed: nothing, or as if `data` had been typed.
    pub(super) fn typed_was_heard(
        &mut self,
        layout: &mut dyn TranscriptLayout,
        id: u64,
        data: Option<String>,
    ) -> Vec<Effect> {
        self.view.sent.remove(&id);
        self.hearing.late.take_if(|late| *late == id);
        let Some(question) = self.hearing.asked.take_if(|question| question.id == id) else { return Vec::new() };
        match data {
            None => Vec::new(),
            Some(data) if data == question.typed.data() => self.do_typed(layout, question.typed),
            Some(data) => typed_of(&data).into_iter().flat_map(|typed| self.do_typed(layout, typed)).collect(),
        }
    }

    /// When the question about something that was typed has taken too long.
    fn hears_until(&self) -> Option<Timestamp> {
        self.hearing.asked.as_ref().map(|question| question.until)
    }

    /// When [`Message::Deadline`](super::Message) is wanted: something changes then without anybody's doing.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        [self.arms_at(), self.hears_until()].into_iter().flatten().min()
    }

    /// Does what nobody hears any more, and asks about what waits.
    pub(super) fn hear_on(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let mut effects = Vec::new();
        let is_late = self.hears_until().is_some_and(|until| self.now >= until);
        if is_late || (self.hearing.asked.is_some() && !self.is_heard()) {
            let Some(question) = self.hearing.asked.take() else { return effects };
            self.hearing.late = is_late.then_some(question.id);
            effects.extend(self.do_typed(layout, question.typed));
        }
        while self.hearing.asked.is_none()
            && let Some(typed) = self.hearing.waiting.pop_front()
        {
            effects.extend(self.typed(layout, typed));
        }
        // Another worker has not been asked anything.
        if self.view.link != Link::Connected {
            self.hearing.late = None;
        }
        effects
    }
}
