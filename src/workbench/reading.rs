//! Reading the transcript with the keyboard: one block is chosen, or a range; it can be folded, copied, opened in an
//! editor, and searched for words. While one reads the draft stays as it is.

use super::export;
use super::geometry;
use super::layout::TranscriptLayout;
use super::message::{Effect, Level};
use super::model::Model;
use super::search::{Reading, Search};
use super::thread_view::ThreadView;
use super::transcript::{Block, Kind};
use crate::domain::ThreadId;

impl Block {
    fn is_prompt(&self) -> bool {
        matches!(self.kind, Kind::Prompt(_))
    }
}

impl ThreadView {
    /// Whether the chosen block may show more than it does, or less.
    #[must_use]
    pub fn chosen_folds(&self) -> bool {
        let block = self.reading.as_ref().map(|reading| self.transcript.index_of(reading.block));
        block.and_then(|at| self.transcript.get(at)).is_some_and(Block::folds)
    }

    /// The thread that the chosen call started.
    #[must_use]
    pub fn chosen_child(&self) -> Option<ThreadId> {
        let block = self.transcript.get(self.transcript.index_of(self.reading.as_ref()?.block))?;
        if let Kind::Tool(tool) = &block.kind { tool.child.clone() } else { None }
    }

    /// Places of the chosen blocks, first and last.
    #[must_use]
    pub fn chosen_blocks(&self) -> Option<(usize, usize)> {
        let reading = self.reading.as_ref()?;
        let at = self.transcript.index_of(reading.block);
        let mark = reading.mark.map_or(at, |mark| self.transcript.index_of(mark));
        Some((at.min(mark), at.max(mark)))
    }

    /// The chosen blocks as text: one as it was written, several as Markdown.
    fn chosen_text(&self) -> Option<String> {
        let (first, last) = self.chosen_blocks()?;
        let blocks: Vec<&Block> = (first..=last).filter_map(|index| self.transcript.get(index)).collect();
        match blocks.as_slice() {
            [] => None,
            [block] => Some(export::plain(block)),
            blocks => Some(export::markdown(blocks.iter().copied())),
        }
    }
}

impl Model {
    /// Begins to read at the last block on the screen.
    pub(super) fn read(&mut self, layout: &mut dyn TranscriptLayout) {
        if self.view.reading.is_some() {
            return;
        }
        let area = geometry::regions(self).transcript;
        let Some(block) = self.view.last_shown(layout, area.width, usize::from(area.height)) else {
            self.say(Level::Info, "there is nothing to read yet");
            return;
        };
        self.overlay = None;
        self.view.reading = Some(Reading { block, mark: None, search: None });
    }

    pub(super) fn stop_reading(&mut self) {
        self.view.reading = None;
    }

    /// Chooses the block `step` blocks away.
    pub(super) fn read_on(&mut self, layout: &mut dyn TranscriptLayout, step: isize) {
        let Some(reading) = &self.view.reading else { return };
        let last = self.view.transcript.len().saturating_sub(1);
        let index = self.view.transcript.index_of(reading.block).saturating_add_signed(step).min(last);
        self.choose(layout, index, None);
    }

    /// Chooses the next prompt in a direction.
    pub(super) fn read_prompt(&mut self, layout: &mut dyn TranscriptLayout, forward: bool) {
        let Some(reading) = &self.view.reading else { return };
        let at = self.view.transcript.index_of(reading.block);
        let is_prompt = |index: &usize| self.view.transcript.get(*index).is_some_and(Block::is_prompt);
        let found =
            if forward { (at + 1..self.view.transcript.len()).find(is_prompt) } else { (0..at).rev().find(is_prompt) };
        match found {
            Some(index) => self.choose(layout, index, None),
            None if forward => self.choose(layout, self.view.transcript.len().saturating_sub(1), None),
            None => self.choose(layout, 0, None),
        }
    }

    /// Chooses the block at `index` and brings it, or one line of it, into view.
    pub(super) fn choose(&mut self, layout: &mut dyn TranscriptLayout, index: usize, line: Option<usize>) {
        let Some(block) = self.view.transcript.get(index) else { return };
        if let Some(reading) = &mut self.view.reading {
            reading.block = block.id;
        }
        self.show(layout, index, line);
    }

    /// Opens the thread that the chosen call started; of any other block shows more or less.
    pub(super) fn open_or_fold(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        match self.view.chosen_child() {
            Some(child) => self.open_thread(child),
            None => self.fold(layout),
        }
    }

    /// Opens a thread that has to do with the shown one, if there is one.
    pub(super) fn open_near(&mut self, thread: Option<ThreadId>) -> Vec<Effect> {
        thread.map(|thread| self.open_thread(thread)).unwrap_or_default()
    }

    /// Shows or folds the chosen block; of a line on the context, the whole request.
    pub(super) fn fold(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let Some(reading) = &self.view.reading else { return Vec::new() };
        let id = reading.block;
        if let Some(block) = self.view.transcript.block_mut(id) {
            if block.tells_context() {
                return self.show_request_of_block();
            }
            block.set_open(!block.open);
            self.show(layout, self.view.transcript.index_of(id), None);
        }
        Vec::new()
    }

    /// Begins a range at the chosen block, or gives it up.
    pub(super) fn mark_range(&mut self) {
        if let Some(reading) = &mut self.view.reading {
            reading.mark = if reading.mark.is_some() { None } else { Some(reading.block) };
        }
    }

    pub(super) fn copy_chosen(&mut self) -> Vec<Effect> {
        let text = self.view.chosen_text();
        if let Some(reading) = &mut self.view.reading {
            reading.mark = None;
        }
        text.map(Effect::Copy).into_iter().collect()
    }

    pub(super) fn open_chosen(&self) -> Vec<Effect> {
        self.view.chosen_text().map(Effect::ShowText).into_iter().collect()
    }

    /// Begins to write what is looked for.
    pub(super) fn start_search(&mut self, layout: &mut dyn TranscriptLayout) {
        self.read(layout);
        if let Some(reading) = &mut self.view.reading {
            let origin = reading.block;
            reading.search = Some(Search::begun_at(origin));
        }
    }

    /// Looks for `text` at once, backwards from the end: what was said last is what one looks for.
    pub(super) fn search_for(&mut self, layout: &mut dyn TranscriptLayout, text: &str) {
        self.start_search(layout);
        self.edit_search(layout, |search| search.push_str(text));
        self.accept_search();
    }

    /// Changes the words and looks for them from where the search began, upwards.
    pub(super) fn edit_search(&mut self, layout: &mut dyn TranscriptLayout, change: impl FnOnce(&mut String)) {
        let Some(reading) = &mut self.view.reading else { return };
        let Some(search) = &mut reading.search else { return };
        let mut text = std::mem::take(&mut search.text);
        change(&mut text);
        search.set(text);
        search.line = usize::MAX;
        reading.block = search.origin;
        self.find(layout, false);
    }

    pub(super) fn accept_search(&mut self) {
        let Some(reading) = &mut self.view.reading else { return };
        let Some(search) = &mut reading.search else { return };
        search.writing = false;
        let (found, text) = (search.found, search.text.clone());
        if text.is_empty() {
            reading.search = None;
        } else if !found {
            self.say_missing(&text);
        }
    }

    fn say_missing(&mut self, text: &str) {
        let loaded = if self.view.older.is_some() { " in what is loaded; scroll up for more" } else { "" };
        self.say(Level::Info, format!("“{text}” was not found{loaded}"));
    }

    /// Gives the search up; the chosen block is the one it began at.
    pub(super) fn drop_search(&mut self, layout: &mut dyn TranscriptLayout) {
        let Some(reading) = &mut self.view.reading else { return };
        let Some(search) = reading.search.take() else { return };
        if search.writing {
            reading.block = search.origin;
            self.show(layout, self.view.transcript.index_of(search.origin), None);
        }
    }

    /// Goes to the next place of the words, around the end if need be.
    pub(super) fn find(&mut self, layout: &mut dyn TranscriptLayout, forward: bool) {
        let Some(reading) = &self.view.reading else { return };
        let Some(search) = reading.search.clone() else { return };
        let width = geometry::regions(self).transcript.width;
        let (at, count) = (self.view.transcript.index_of(reading.block), self.view.transcript.len());
        // What was there may have come back into the draft.
        if count == 0 {
            return;
        }
        // Its own block is looked at twice: beyond the line one is at, and at last before it.
        let step = |distance: usize| if forward { (at + distance) % count } else { (at + count - distance) % count };
        let mut found = None;
        for distance in 0..=count {
            let index = step(distance);
            let Some(block) = self.view.transcript.get(index) else { break };
            if !search.is_in(block) {
                continue;
            }
            let id = block.id;
            let mut first = layout.find(block, width, &search, None, forward);
            if first.is_none() && !block.open {
                // What was found is folded away.
                if let Some(block) = self.view.transcript.block_mut(id) {
                    block.set_open(true);
                }
                let block = self.view.transcript.get(index);
                first = block.and_then(|block| layout.find(block, width, &search, None, forward));
            }
            let line = match (distance, first, self.view.transcript.get(index)) {
                (0, Some(_), Some(block)) => layout.find(block, width, &search, Some(search.line), forward),
                (0, _, _) => (!forward && search.line > 0).then_some(0),
                // Where it is not shown at all, the block is.
                (_, first, _) => first.or(Some(0)),
            };
            if let Some(line) = line {
                found = Some((index, line));
                break;
            }
        }
        if let Some(search) = self.view.reading.as_mut().and_then(|reading| reading.search.as_mut()) {
            search.found = found.is_some() || search.text.is_empty();
            search.line = found.map_or(search.line, |(_, line)| line);
        }
        match found {
            Some((index, line)) => self.choose(layout, index, Some(line)),
            None if !search.writing => self.say_missing(&search.text),
            None => {}
        }
        self.changed = true;
    }
}
