//! Which code on the screen wants its colours.

use super::code::{CodeId, Colouring};
use super::geometry;
use super::layout::TranscriptLayout;
use super::message::Effect;
use super::model::Model;
use super::thread_view::Phase;

impl Model {
    /// Takes in what the pieces of some code are.
    pub(super) fn coloured(&mut self, id: CodeId, colouring: Colouring) {
        self.colours.keep(id, colouring);
        self.changed = true;
    }

    /// Asks for the colours of the first finished code on the screen that has none.
    pub(super) fn want_colours(&mut self, layout: &mut dyn TranscriptLayout) -> Option<Effect> {
        let busy = match self.view.activity.phase {
            Phase::Sending | Phase::Asking | Phase::Thinking | Phase::Writing => !self.colours.readable,
            Phase::Idle | Phase::Tool(_) | Phase::Approval | Phase::Retrying { .. } | Phase::Cancelling => false,
        };
        if busy || self.colours.asked.is_some() {
            return None;
        }
        let area = geometry::regions(self).transcript;
        let shown = std::iter::once((&self.view, area));
        let shown = shown.chain(geometry::peek(self).map(|area| (&self.peek.view, area)));
        let colours = &self.colours;
        let code = shown.into_iter().find_map(|(view, area)| {
            view.first_in_view(layout, area, |layout, block, rows| layout.uncoloured(block, area.width, rows, colours))
        })?;
        self.colours.asked = Some(code.id);
        Some(Effect::Colour(code))
    }
}
