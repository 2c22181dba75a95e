//! What of the transcript extensions draw: asked of the worker for what is on the screen, one piece after the other.

use super::component::AskedDrawing;
use super::geometry;
use super::layout::TranscriptLayout;
use super::message::Effect;
use super::model::Model;
use super::thread_view::{Link, Sent};
use super::transcript::{Block, DrawingTerms, Drawn, Kind, ToolState};
use crate::domain::{Drawable, Drawing, DrawnKinds, ToDraw};

/// Bytes of an answer that extensions may draw otherwise.
const LONGEST_MARKDOWN: usize = 256 << 10;

impl Model {
    /// Asks how the first block on the screen is drawn that is not drawn as it stands now.
    pub(super) fn want_drawing(&mut self, layout: &mut dyn TranscriptLayout) -> Option<Effect> {
        if self.view.link != Link::Connected {
            self.view.asked_drawing = None;
            return None;
        }
        let kinds = &self.view.state.as_ref()?.extensions.drawn;
        if kinds.is_none() || self.view.asked_drawing.is_some() {
            return None;
        }
        let area = geometry::regions(self).transcript;
        let (width, redraws) = (layout.text_width(area.width), kinds.redraws);
        let (block, subject, terms) = self.view.first_in_view(layout, area, |_, block, _| {
            let subject = drawable(block, kinds)?;
            // What an answer says has no width yet.
            let width = if matches!(subject, Drawable::Markdown { .. }) { 0 } else { width };
            let terms = DrawingTerms { width, open: block.open, ended: has_ended(block), redraws };
            let is_drawn = block.drawn.as_ref().is_some_and(|drawn| drawn.terms == terms);
            (!is_drawn).then_some((block.id, subject, terms))
        })?;
        let to_draw = ToDraw { subject, width: terms.width, open: terms.open };
        let id = self.sending(Sent::Drawing);
        self.view.asked_drawing = Some(AskedDrawing { id, block, terms });
        Some(Effect::Draw { id, to_draw })
    }

    /// How something is drawn; by the program where nothing came.
    pub(super) fn drawn(&mut self, id: u64, drawing: Drawing) {
        let Some(AskedDrawing { block, terms, .. }) = self.view.asked_drawing.take_if(|asked| asked.id == id) else {
            return;
        };
        if let Some(block) = self.view.transcript.block_mut(block) {
            block.drawn = Some(Box::new(Drawn { terms, drawing }));
            block.revision += 1;
            self.changed = true;
        }
    }
}

fn has_ended(block: &Block) -> bool {
    matches!(&block.kind, Kind::Tool(tool) if matches!(tool.state, ToolState::Done | ToolState::Failed(_)))
}

/// What of a block an extension draws. A call is drawn once it is whole.
fn drawable(block: &Block, kinds: &DrawnKinds) -> Option<Drawable> {
    if let Some(message) = &block.message {
        return kinds.messages.contains(&message.custom_type).then(|| Drawable::Message { message: message.clone() });
    }
    if let Some(entry) = &block.entry {
        return kinds.entries.contains(&entry.custom_type).then(|| Drawable::Entry { entry: entry.clone() });
    }
    if let Kind::Answer(answer) = &block.kind {
        let is_whole = answer.ended.is_some() && (1..=LONGEST_MARKDOWN).contains(&answer.text.len());
        return (kinds.markdown && is_whole).then(|| Drawable::Markdown { text: answer.text.clone() });
    }
    let Kind::Tool(tool) = &block.kind else { return None };
    let is_whole = tool.state != ToolState::Asked && tool.denied.is_none();
    (is_whole && kinds.tools.contains(&tool.name)).then(|| Drawable::Call { call_id: tool.call_id.clone() })
}
