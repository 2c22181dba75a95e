//! Where the transcript is looked at. Either its end is followed, or a line is held: then nothing that arrives moves it.

use super::geometry::{self, Area};
use super::layout::{Place, Position, TranscriptLayout};
use super::message::Effect;
use super::model::Model;
use super::thread_view::ThreadView;
use super::transcript::{Block, BlockId};
use std::ops::Range;

impl ThreadView {
    /// The place at the top row.
    pub fn top(&self, layout: &mut dyn TranscriptLayout, width: u16, rows: usize) -> Place {
        let (Position::At { block, .. } | Position::Before { block, .. }) = self.position else {
            return self.top_of_end(layout, width, rows);
        };
        let index = self.transcript.index_of(block);
        let height = self.transcript.get(index).map_or(0, |block| layout.height(block, width));
        let line = match self.position {
            Position::At { line, .. } => line,
            Position::Before { rows, .. } => height.saturating_sub(rows),
            Position::Follow => 0,
        };
        // A block that has become lower, or another one in its place.
        let place = Place { index, line: line.min(height.saturating_sub(1)) };
        // What is far below is not measured: it may be long.
        if self.rows_from(layout, width, place, rows) >= rows {
            return place;
        }
        place.min(self.top_of_end(layout, width, rows))
    }

    /// Rows from a place to the end, counted no further than `most`.
    fn rows_from(&self, layout: &mut dyn TranscriptLayout, width: u16, place: Place, most: usize) -> usize {
        let mut rows = 0;
        for index in place.index..self.transcript.len() {
            let height = self.transcript.get(index).map_or(0, |block| layout.height(block, width));
            rows += if index == place.index { height.saturating_sub(place.line) } else { height };
            if rows >= most {
                break;
            }
        }
        rows
    }

    /// What is found first in the blocks on the screen, from the top; `find` is told which rows of a block are in view.
    pub(super) fn first_in_view<T>(
        &self,
        layout: &mut dyn TranscriptLayout,
        area: Area,
        mut find: impl FnMut(&mut dyn TranscriptLayout, &Block, Range<usize>) -> Option<T>,
    ) -> Option<T> {
        let mut left = usize::from(area.height);
        let Place { index: first, mut line } = self.top(layout, area.width, left);
        for index in first..self.transcript.len() {
            let block = self.transcript.get(index)?;
            // Behind the last row may be what takes none.
            if left == 0 && layout.height(block, area.width) > 0 {
                break;
            }
            if let Some(found) = find(layout, block, line..line + left) {
                return Some(found);
            }
            left = left.saturating_sub(layout.height(block, area.width).saturating_sub(line));
            line = 0;
        }
        None
    }

    /// The place at the top row when the last row is at the bottom. Walks no further than one screen.
    fn top_of_end(&self, layout: &mut dyn TranscriptLayout, width: u16, rows: usize) -> Place {
        let mut left = rows;
        for index in (0..self.transcript.len()).rev() {
            let Some(block) = self.transcript.get(index) else { break };
            let height = layout.height(block, width);
            if height >= left {
                return Place { index, line: height - left };
            }
            left -= height;
        }
        Place { index: 0, line: 0 }
    }

    /// Whether a held view shows the end all the same.
    fn shows_end(&self, layout: &mut dyn TranscriptLayout, width: u16, rows: usize) -> bool {
        let top = self.top(layout, width, rows);
        self.rows_from(layout, width, top, rows + 1) <= rows
    }

    pub(super) fn follow(&mut self) {
        self.position = Position::Follow;
        self.unseen = 0;
        self.unseen_growth = false;
    }

    /// The place `left` lines above, or the first.
    fn above(&self, layout: &mut dyn TranscriptLayout, width: u16, mut place: Place, mut left: usize) -> Place {
        while left > place.line {
            if place.index == 0 {
                left = place.line;
                break;
            }
            left -= place.line;
            place.index -= 1;
            place.line = self.transcript.get(place.index).map_or(0, |block| layout.height(block, width));
        }
        place.line -= left;
        place
    }

    /// The place `left` lines below, or one on the last block.
    fn below(&self, layout: &mut dyn TranscriptLayout, width: u16, mut place: Place, mut left: usize) -> Place {
        while left > 0 {
            let height = self.transcript.get(place.index).map_or(0, |block| layout.height(block, width));
            if place.line + left < height {
                place.line += left;
                break;
            }
            if place.index + 1 >= self.transcript.len() {
                break;
            }
            left -= (height - place.line.min(height)).min(left);
            place = Place { index: place.index + 1, line: 0 };
        }
        place
    }

    /// Moves up (positive) or down by lines; whether there was anything to move.
    fn scroll(&mut self, layout: &mut dyn TranscriptLayout, (width, rows): (u16, usize), lines: i64) -> bool {
        if rows == 0 || self.transcript.is_empty() {
            return false;
        }
        let top = self.top(layout, width, rows);
        let left = usize::try_from(lines.unsigned_abs()).unwrap_or(usize::MAX);
        let place = if lines > 0 { self.above(layout, width, top, left) } else { self.below(layout, width, top, left) };
        let block = self.transcript.get(place.index).map(|block| block.id);
        let from_below = place.index < top.index
            || matches!(self.position, Position::Before { block: held, .. } if Some(held) == block);
        self.hold(layout, place, width, rows);
        if let Position::At { block, line } = self.position
            && from_below
            && let Some(shown) = self.transcript.block(block)
        {
            let height = layout.height(shown, width);
            if layout.whole_height(shown, width) != height {
                self.position = Position::Before { block, rows: height.saturating_sub(line) };
            }
        }
        true
    }

    /// Holds the line at `place`, or follows the end when that is what it shows.
    fn hold(&mut self, layout: &mut dyn TranscriptLayout, place: Place, width: u16, rows: usize) {
        let end = self.top_of_end(layout, width, rows);
        match self.transcript.get(place.index) {
            Some(block) if place < end => {
                let block = block.id;
                if self.position == Position::Follow {
                    self.unseen = 0;
                    self.unseen_growth = false;
                }
                self.position = Position::At { block, line: place.line };
            }
            _ => self.follow(),
        }
    }

    /// Brings the view in order after a change: one that came to show the end follows it, and the page before is asked
    /// for once when the first loaded block is seen.
    fn settle(&mut self, layout: &mut dyn TranscriptLayout, width: u16, rows: usize) -> Option<Effect> {
        if let Position::Before { block, rows } = self.position
            && let Some(shown) = self.transcript.block(block)
        {
            let height = layout.height(shown, width);
            if layout.whole_height(shown, width) == height {
                self.position = Position::At { block, line: height.saturating_sub(rows) };
            }
        }
        if self.position != Position::Follow {
            let shows_end = self.shows_end(layout, width, rows);
            // Where something is still laid out nobody knows yet.
            if shows_end && !layout.is_behind() {
                self.follow();
            } else {
                self.shown_through = self.last_shown(layout, width, rows);
            }
        }
        let (Some(thread_id), Some(before), false) = (&self.thread, self.older, self.loading_older) else {
            return None;
        };
        let thread_id = thread_id.clone();
        (self.top(layout, width, rows).index == 0).then(|| {
            self.loading_older = true;
            Effect::LoadOlder { thread_id, before }
        })
    }

    pub(super) fn last_shown(&self, layout: &mut dyn TranscriptLayout, width: u16, rows: usize) -> Option<BlockId> {
        let top = self.top(layout, width, rows);
        let mut left = rows + top.line;
        let mut last = None;
        for index in top.index..self.transcript.len() {
            let block = self.transcript.get(index)?;
            last = Some(block.id);
            left = left.saturating_sub(layout.height(block, width));
            if left == 0 {
                break;
            }
        }
        last
    }
}

impl Model {
    /// Moves the view up (positive) or down by lines.
    pub(super) fn scroll(&mut self, layout: &mut dyn TranscriptLayout, lines: i64) {
        let area = geometry::regions(self).transcript;
        self.changed |= self.view.scroll(layout, (area.width, usize::from(area.height)), lines);
    }

    /// The same of the thread that is looked into from the list.
    pub(super) fn scroll_peek(&mut self, layout: &mut dyn TranscriptLayout, lines: i64) {
        let Some(area) = geometry::peek(self) else { return };
        self.changed |= self.peek.view.scroll(layout, (area.width, usize::from(area.height)), lines);
    }

    /// Brings a block, or one line of it, into view and moves no more than that takes.
    pub(super) fn show(&mut self, layout: &mut dyn TranscriptLayout, index: usize, line: Option<usize>) {
        let area = geometry::regions(self).transcript;
        let (width, rows) = (area.width, usize::from(area.height));
        let Some(height) = self.view.transcript.get(index).map(|block| layout.height(block, width)) else { return };
        if rows == 0 {
            return;
        }
        let top = self.view.top(layout, width, rows);
        let bottom = self.view.below(layout, width, top, rows - 1);
        let first = Place { index, line: line.unwrap_or(0) };
        let last = Place { index, line: line.unwrap_or(height.saturating_sub(1)) };
        if first >= top && last <= bottom {
            return;
        }
        let place = if line.is_some() {
            self.view.above(layout, width, first, rows / 3)
        } else if first < top || height >= rows {
            first
        } else {
            self.view.above(layout, width, last, rows - 1)
        };
        self.hold(layout, place, width, rows);
    }

    fn hold(&mut self, layout: &mut dyn TranscriptLayout, place: Place, width: u16, rows: usize) {
        self.view.hold(layout, place, width, rows);
        self.changed = true;
    }

    pub(super) fn scroll_to_top(&mut self, layout: &mut dyn TranscriptLayout) {
        let area = geometry::regions(self).transcript;
        let place = Place { index: 0, line: 0 };
        self.hold(layout, place, area.width, usize::from(area.height));
    }

    /// Brings the views in order after a change.
    pub(super) fn settle_views(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let area = geometry::regions(self).transcript;
        let older = self.view.settle(layout, area.width, usize::from(area.height));
        let peeked =
            geometry::peek(self).and_then(|area| self.peek.view.settle(layout, area.width, usize::from(area.height)));
        older.into_iter().chain(peeked).collect()
    }

    /// Keeps the held line in view when the width changes: a line of a block stays the same share of its height.
    pub(super) fn resized(&mut self, layout: &mut dyn TranscriptLayout, columns: u16, rows: u16) {
        let before = geometry::regions(self).transcript.width;
        let held = match self.view.position {
            Position::Follow | Position::Before { .. } => None,
            Position::At { block, line } => {
                let height = self.view.transcript.block(block).map_or(0, |block| layout.whole_height(block, before));
                Some((block, line, height))
            }
        };
        self.size = (columns, rows);
        self.composer.wrap(geometry::composer_width(self));
        let width = geometry::regions(self).transcript.width;
        if let Some((id, line, height)) = held
            && width != before
            && let Some(block) = self.view.transcript.block(id)
        {
            let now = layout.whole_height(block, width);
            // What was never laid out at one of the widths keeps its number.
            let line = if now == 0 || height == 0 { line } else { line.saturating_mul(now) / height };
            self.view.position = Position::At { block: id, line };
        }
        self.changed = true;
    }
}
