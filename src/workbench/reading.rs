//! Reading the transcript with the keyboard: one block is chosen, or a range; it can be folded, copied, opened in an
//! editor, and searched for words. While one reads the draft stays as it is.

use super::export;
use super::geometry;
use super::message::{Effect, Level};
use super::model::Model;
use super::scroll::TranscriptLayout;
use super::transcript::{Block, BlockId, Kind};
use regex::{Regex, RegexBuilder};
use std::ops::Range;

/// Where the person reads.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The chosen block.
    pub block: BlockId,
    /// The other end of a range.
    pub mark: Option<BlockId>,
    pub search: Option<Search>,
}

/// Words that are looked for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub text: String,
    /// Whether letters go into it.
    pub writing: bool,
    /// Finds `text`; none while that is empty.
    pattern: Option<Regex>,
    /// The line of the chosen block that was found.
    line: usize,
    /// Where the search began, for Esc.
    origin: BlockId,
    /// Whether anything was found.
    pub found: bool,
}

impl Search {
    /// Looks for other words. Upper and lower case differ only when they hold a capital.
    pub(crate) fn set(&mut self, text: String) {
        let exact = text.chars().any(char::is_uppercase);
        let pattern = RegexBuilder::new(&regex::escape(&text)).case_insensitive(!exact).build();
        // Words that are too many for a pattern are not found.
        self.pattern = pattern.ok().filter(|_| !text.is_empty());
        self.text = text;
    }

    /// Places of the words in `text`, as ranges of bytes, in order and apart.
    #[must_use]
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        self.pattern.iter().flat_map(|pattern| pattern.find_iter(text)).map(|found| found.range()).collect()
    }

    /// Whether the words are in `text`.
    #[must_use]
    pub fn is_found_in(&self, text: &str) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }

    /// The same, also across marks of Markdown and ends of lines, unless the text of which this is a part has more than
    /// `LENIENT_MOST` bytes: that would take too long.
    #[must_use]
    pub fn is_found_in_markdown(&self, text: &str, whole: usize) -> bool {
        const LENIENT_MOST: usize = 256 << 10;
        let bare = || text.chars().filter(|letter| !matches!(letter, '*' | '_' | '`' | '~'));
        let joined = || bare().map(|letter| if letter == '\n' { ' ' } else { letter }).collect::<String>();
        self.is_found_in(text) || (whole <= LENIENT_MOST && self.is_found_in(&joined()))
    }

    fn is_in(&self, block: &Block) -> bool {
        match &block.kind {
            Kind::Answer(answer) => self.is_found_in_markdown(&answer.text, answer.text.len()),
            Kind::Thinking(thinking) => self.is_found_in_markdown(&thinking.text, thinking.text.len()),
            Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_) => {
                block.texts().iter().any(|text| self.is_found_in(text))
            }
        }
    }
}

impl Block {
    /// Everything it says, folded or not.
    fn texts(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Prompt(prompt) => vec![&prompt.text],
            Kind::Answer(answer) => vec![&answer.text],
            Kind::Thinking(thinking) => vec![&thinking.text],
            Kind::Tool(tool) => vec![&tool.name, &tool.main, &tool.input, &tool.output],
            Kind::Marker(marker) => vec![&marker.text],
        }
    }

    fn is_prompt(&self) -> bool {
        matches!(self.kind, Kind::Prompt(_))
    }
}

impl Model {
    /// Begins to read at the last block on the screen.
    pub(super) fn read(&mut self, layout: &mut dyn TranscriptLayout) {
        if self.reading.is_some() {
            return;
        }
        let area = geometry::regions(self).transcript;
        let Some(block) = self.last_shown(layout, area.width, usize::from(area.height)) else {
            self.say(Level::Info, "there is nothing to read yet");
            return;
        };
        self.overlay = None;
        self.reading = Some(Reading { block, mark: None, search: None });
    }

    pub(super) fn stop_reading(&mut self) {
        self.reading = None;
    }

    /// Chooses the block `step` blocks away.
    pub(super) fn read_on(&mut self, layout: &mut dyn TranscriptLayout, step: isize) {
        let Some(reading) = &self.reading else { return };
        let last = self.transcript.len().saturating_sub(1);
        let index = self.transcript.index_of(reading.block).saturating_add_signed(step).min(last);
        self.choose(layout, index, None);
    }

    /// Chooses the next prompt in a direction.
    pub(super) fn read_prompt(&mut self, layout: &mut dyn TranscriptLayout, forward: bool) {
        let Some(reading) = &self.reading else { return };
        let at = self.transcript.index_of(reading.block);
        let is_prompt = |index: &usize| self.transcript.get(*index).is_some_and(Block::is_prompt);
        let found =
            if forward { (at + 1..self.transcript.len()).find(is_prompt) } else { (0..at).rev().find(is_prompt) };
        match found {
            Some(index) => self.choose(layout, index, None),
            None if forward => self.choose(layout, self.transcript.len().saturating_sub(1), None),
            None => self.choose(layout, 0, None),
        }
    }

    /// Chooses the block at `index` and brings it, or one line of it, into view.
    pub(super) fn choose(&mut self, layout: &mut dyn TranscriptLayout, index: usize, line: Option<usize>) {
        let Some(block) = self.transcript.get(index) else { return };
        if let Some(reading) = &mut self.reading {
            reading.block = block.id;
        }
        self.show(layout, index, line);
    }

    /// Shows or folds the chosen block; of a line on the context, the whole request.
    pub(super) fn fold(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let Some(reading) = &self.reading else { return Vec::new() };
        let id = reading.block;
        if let Some(block) = self.transcript.block_mut(id) {
            if block.tells_context() {
                return self.show_request_of_block();
            }
            block.set_open(!block.open);
            self.show(layout, self.transcript.index_of(id), None);
        }
        Vec::new()
    }

    /// Whether the chosen block may show more than it does, or less.
    #[must_use]
    pub fn chosen_folds(&self) -> bool {
        let block = self.reading.as_ref().map(|reading| self.transcript.index_of(reading.block));
        block.and_then(|at| self.transcript.get(at)).is_some_and(Block::folds)
    }

    /// Begins a range at the chosen block, or gives it up.
    pub(super) fn mark_range(&mut self) {
        if let Some(reading) = &mut self.reading {
            reading.mark = if reading.mark.is_some() { None } else { Some(reading.block) };
        }
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

    pub(super) fn copy_chosen(&mut self) -> Vec<Effect> {
        let text = self.chosen_text();
        if let Some(reading) = &mut self.reading {
            reading.mark = None;
        }
        text.map(Effect::Copy).into_iter().collect()
    }

    pub(super) fn open_chosen(&self) -> Vec<Effect> {
        self.chosen_text().map(Effect::ShowText).into_iter().collect()
    }

    /// Begins to write what is looked for.
    pub(super) fn start_search(&mut self, layout: &mut dyn TranscriptLayout) {
        self.read(layout);
        if let Some(reading) = &mut self.reading {
            let origin = reading.block;
            reading.search = Some(Search { writing: true, found: true, origin, ..Search::default() });
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
        let Some(reading) = &mut self.reading else { return };
        let Some(search) = &mut reading.search else { return };
        let mut text = std::mem::take(&mut search.text);
        change(&mut text);
        search.set(text);
        search.line = usize::MAX;
        reading.block = search.origin;
        self.find(layout, false);
    }

    pub(super) fn accept_search(&mut self) {
        let Some(reading) = &mut self.reading else { return };
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
        let loaded = if self.older.is_some() { " in what is loaded; scroll up for more" } else { "" };
        self.say(Level::Info, format!("“{text}” was not found{loaded}"));
    }

    /// Gives the search up; the chosen block is the one it began at.
    pub(super) fn drop_search(&mut self, layout: &mut dyn TranscriptLayout) {
        let Some(reading) = &mut self.reading else { return };
        let Some(search) = reading.search.take() else { return };
        if search.writing {
            reading.block = search.origin;
            self.show(layout, self.transcript.index_of(search.origin), None);
        }
    }

    /// Goes to the next place of the words, around the end if need be.
    pub(super) fn find(&mut self, layout: &mut dyn TranscriptLayout, forward: bool) {
        let Some(reading) = &self.reading else { return };
        let Some(search) = reading.search.clone() else { return };
        let width = geometry::regions(self).transcript.width;
        let (at, count) = (self.transcript.index_of(reading.block), self.transcript.len());
        // Its own block is looked at twice: beyond the line one is at, and at last before it.
        let step = |distance: usize| if forward { (at + distance) % count } else { (at + count - distance) % count };
        let mut found = None;
        for distance in 0..=count {
            let index = step(distance);
            let Some(block) = self.transcript.get(index) else { break };
            if !search.is_in(block) {
                continue;
            }
            let id = block.id;
            let mut first = layout.find(block, width, &search, None, forward);
            if first.is_none() && !block.open {
                // What was found is folded away.
                if let Some(block) = self.transcript.block_mut(id) {
                    block.set_open(true);
                }
                let block = self.transcript.get(index);
                first = block.and_then(|block| layout.find(block, width, &search, None, forward));
            }
            let line = match (distance, first, self.transcript.get(index)) {
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
        if let Some(search) = self.reading.as_mut().and_then(|reading| reading.search.as_mut()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn places(wanted: &str, text: &str) -> Vec<Range<usize>> {
        let mut search = Search::default();
        search.set(wanted.into());
        search.places(text)
    }

    #[test]
    fn small_letters_find_capitals_and_capitals_only_themselves() {
        assert_eq!(places("ab", "ab AB aB"), [0..2, 3..5, 6..8]);
        assert_eq!(places("AB", "ab AB aB AB"), [3..5, 9..11]);
        assert_eq!(places("é", "É漢é"), [0..2, 5..7]);
        assert!(places("", "abc").is_empty());
        assert!(places("abcd", "abc").is_empty());
        assert_eq!(places("a.b(", "axb( a.b( A.B("), [5..9, 10..14], "signs mean themselves");
    }
}
