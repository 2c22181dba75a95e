//! The mouse, where it is not left to the terminal: a click chooses, a second one opens, and what is marked by dragging
//! is copied when the button is let go.

use super::geometry::{self, Area};
use super::layout::TranscriptLayout;
use super::message::{Button, Effect, Level};
use super::model::Model;
use super::overlay::Overlay;
use super::transcript::BlockId;
use crate::domain::Timestamp;

/// A press so soon after the window got the focus is the one that gave it the focus.
const FOCUSING: u64 = 250;

/// A cell of the transcript: its block, the row of the block, the column of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub block: BlockId,
    pub row: usize,
    pub column: u16,
}

/// Where the mouse is, as far as it matters.
#[derive(Clone, Debug, Default)]
pub struct Pointer {
    /// Where the button went down, until it is let go.
    pressed: Option<(u16, u16)>,
    /// Where marking began and how far it goes; stays until the next key or press.
    marked: Option<(Spot, Spot)>,
    /// The window is not in front: a press brings it there and does nothing else.
    away: bool,
    focused_at: Option<Timestamp>,
}

impl Pointer {
    /// Whether the window is not in front.
    pub(super) fn is_away(&self) -> bool {
        self.away
    }
}

impl Model {
    /// The window came to the front, or left it. What came back is drawn anew: whoever was there meanwhile may have
    /// written over it.
    pub(super) fn focused(&mut self, focused: bool) -> Vec<Effect> {
        let back = std::mem::replace(&mut self.pointer.away, !focused) && focused;
        self.pointer.focused_at = focused.then_some(self.now);
        self.pointer.pressed = None;
        self.changed |= back;
        if back { vec![Effect::Redraw] } else { Vec::new() }
    }

    /// The marked cells of the transcript, first and last.
    #[must_use]
    pub fn marked(&self) -> Option<(Spot, Spot)> {
        let (one, other) = self.pointer.marked?;
        Some((one.min(other), one.max(other)))
    }

    pub(super) fn unmark(&mut self) {
        self.changed |= self.pointer.marked.take().is_some();
    }

    pub(super) fn pointed(&mut self, layout: &mut dyn TranscriptLayout, button: Button, at: (u16, u16)) -> Vec<Effect> {
        match button {
            Button::Pressed => {
                self.unmark();
                let since = self.pointer.focused_at.map(|focused| self.now.since(focused));
                let focusing = self.pointer.away || since.is_some_and(|since| since < FOCUSING);
                self.pointer.pressed = (!focusing).then_some(at);
            }
            Button::Dragged => self.mark(layout, at),
            Button::Released => {
                if let Some(pressed) = self.pointer.pressed.take() {
                    if self.pointer.marked.is_some() {
                        return self.copy_marked(layout);
                    }
                    if pressed == at {
                        self.changed = true;
                        return self.click(layout, at);
                    }
                }
            }
        }
        Vec::new()
    }

    /// Marks from where the button went down to `at`; beyond an edge the transcript scrolls.
    fn mark(&mut self, layout: &mut dyn TranscriptLayout, at: (u16, u16)) {
        let Some(pressed) = self.pointer.pressed.filter(|_| self.overlay.is_none()) else { return };
        let area = geometry::regions(self).transcript;
        let begun = self.pointer.marked.map(|(begun, _)| begun).or_else(|| self.spot(layout, area, pressed));
        let Some(begun) = begun else { return };
        if at.1 < area.y {
            self.scroll(layout, 1);
        } else if at.1 >= area.y + area.height {
            self.scroll(layout, -1);
        }
        let last = |start: u16, length: u16| (start + length).saturating_sub(1).max(start);
        let inside = (at.0.clamp(area.x, last(area.x, area.width)), at.1.clamp(area.y, last(area.y, area.height)));
        if let Some(to) = self.spot(layout, area, inside) {
            self.pointer.marked = Some((begun, to));
            self.changed = true;
        }
    }

    /// What the transcript shows in a cell; below its end that is its end.
    fn spot(&self, layout: &mut dyn TranscriptLayout, area: Area, (column, row): (u16, u16)) -> Option<Spot> {
        if !contains(area, (column, row)) {
            return None;
        }
        let top = self.view.top(layout, area.width, usize::from(area.height));
        let mut left = usize::from(row - area.y) + top.line;
        let mut last = None;
        for index in top.index..self.view.transcript.len() {
            let block = self.view.transcript.get(index)?;
            let height = layout.height(block, area.width);
            if left < height {
                return Some(Spot { block: block.id, row: left, column });
            }
            last = height.checked_sub(1).map(|row| Spot { block: block.id, row, column: u16::MAX }).or(last);
            left -= height;
        }
        last
    }

    fn copy_marked(&self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let Some((first, last)) = self.marked() else { return Vec::new() };
        let area = geometry::regions(self).transcript;
        let indices = self.view.transcript.index_of(first.block)..=self.view.transcript.index_of(last.block);
        let mut text = String::new();
        for block in indices.filter_map(|index| self.view.transcript.get(index)) {
            let from = if block.id == first.block { (first.row, first.column.saturating_sub(area.x)) } else { (0, 0) };
            let to = if block.id == last.block {
                (last.row, last.column.saturating_sub(area.x))
            } else {
                (usize::MAX, u16::MAX)
            };
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&layout.text(block, area.width, from, to));
        }
        let text = text.trim_matches('\n');
        if text.trim().is_empty() { Vec::new() } else { vec![Effect::Copy(text.to_owned())] }
    }

    fn click(&mut self, layout: &mut dyn TranscriptLayout, at: (u16, u16)) -> Vec<Effect> {
        let regions = geometry::regions(self);
        if self.overlay.is_some() {
            let list = geometry::list(self);
            if !contains(list, at) {
                return Vec::new();
            }
            let row = usize::from(at.1 - list.y);
            let was_chosen = self.choose_layer_row(row).unwrap_or_else(|| match &mut self.overlay {
                Some(Overlay::Picker(picker)) => picker.choose_row(row, usize::from(list.height)),
                _ => false,
            });
            return if was_chosen { self.accept(layout) } else { Vec::new() };
        }
        if contains(regions.panel, at) {
            let row = usize::from(at.1 - regions.panel.y).checked_sub(1);
            let place = row.map(|row| row / 2).filter(|place| *place < geometry::panel_threads(&regions));
            let thread = place.and_then(|place| self.threads.rows.get(place)).map(|row| row.thread_id.clone());
            return thread.map(|thread| self.open_thread(thread)).unwrap_or_default();
        }
        if contains(regions.composer, at) {
            self.stop_reading();
        } else if contains(regions.transcript, at)
            && let Some(spot) = self.spot(layout, regions.transcript, at)
        {
            if self.view.reading.as_ref().is_some_and(|reading| reading.block == spot.block) {
                return self.fold(layout);
            }
            self.read(layout);
            self.choose(layout, self.view.transcript.index_of(spot.block), None);
            self.say(Level::Info, "another click shows it in full or folds it; Esc goes back to writing");
        }
        Vec::new()
    }
}

fn contains(area: Area, (column, row): (u16, u16)) -> bool {
    (area.x..area.x + area.width).contains(&column) && (area.y..area.y + area.height).contains(&row)
}
