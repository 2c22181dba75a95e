//! Which code on the screen wants its colours.

use super::code::{Code, CodeId, Colouring, Colours};
use super::geometry::{self, Area};
use super::layout::TranscriptLayout;
use super::message::Effect;
use super::model::Model;
use super::thread_view::{Phase, ThreadView};

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
        let code = shown.into_iter().find_map(|(view, area)| uncoloured(view, area, layout, &self.colours))?;
        self.colours.asked = Some(code.id);
        Some(Effect::Colour(code))
    }
}

/// The first code without colours that a view shows.
fn uncoloured(view: &ThreadView, area: Area, layout: &mut dyn TranscriptLayout, colours: &Colours) -> Option<Code> {
    let mut left = usize::from(area.height);
    let top = view.top(layout, area.width, left);
    let mut line = top.line;
    for index in top.index..view.transcript.len() {
        let block = view.transcript.get(index)?;
        if let Some(code) = layout.uncoloured(block, area.width, line..line + left, colours) {
            return Some(code);
        }
        left = left.saturating_sub(layout.height(block, area.width).saturating_sub(line));
        line = 0;
        if left == 0 {
            break;
        }
    }
    None
}
