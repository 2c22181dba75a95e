//! Markdown that grows: what is finished is rendered once, only the open end is rendered again.
//!
//! The text is cut into segments at places that no later text can change: a top-level block is closed when the next
//! one has begun on a whole line, a list is closed item by item, an open code block line by line. Where the cuts lie
//! depends on the text alone, not on how it arrived, so the rows are the same for every chunking (link definitions, which
//! show nothing, only reach what stands in their own piece). A segment knows where its text is and how high it is; its
//! rows can be dropped and rendered again.

mod fence;
mod render;
mod table;
mod units;

use super::lines::Lines;
use super::theme::Role;
use crate::workbench::code::{Code, CodeId, Colours};
use fence::Fence;
use pulldown_cmark::Options;
use render::Look;
use std::ops::Range;
use units::{UnitSort, units};

/// An open block longer than this is cut: nothing that arrives may cost more than the piece it extends.
const LONGEST_PARAGRAPH: usize = 8 << 10;
const LONGEST_BLOCK: usize = 32 << 10;

/// Text that is looked at first when searching for closed blocks.
const WINDOW: usize = 4 << 10;

/// Text in one segment of an open code block; a longer line is cut.
const CODE_SEGMENT: usize = 4 << 10;

/// Code beyond this has no colours: working them out takes seconds.
const LONGEST_COLOURED: usize = 64 << 10;

pub(super) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// A growing text and its rows.
#[derive(Debug)]
pub struct Document {
    look: Look,
    segments: Vec<Segment>,
    /// Bytes of text in the segments.
    consumed: usize,
    /// Bytes in which closed blocks were searched.
    searched: usize,
    state: State,
    tail: Lines,
    /// Length of the text the tail was rendered for.
    tail_of: Option<usize>,
    /// Whether drawing rendered something again.
    again: bool,
    /// The fenced blocks at the top level.
    codes: Vec<CodeBlock>,
}

/// A fenced block.
#[derive(Debug)]
struct CodeBlock {
    /// Where the line that opens it begins.
    opened: usize,
    /// Where its code begins, and where it ends once the block is closed.
    start: usize,
    end: Option<usize>,
    indent: u8,
    /// The name of its code, if it can have colours.
    id: Option<CodeId>,
}

impl CodeBlock {
    /// What of its code can have colours, in which language. Code with a line that was cut has none: nobody wrote it to
    /// be read.
    fn code(&self, text: &str) -> Option<(String, String)> {
        let language = fence::language(text.get(self.opened..self.start)?)?;
        let source = text.get(self.start..self.end?)?;
        let source = source.get(..source.floor_char_boundary(LONGEST_COLOURED))?;
        let is_cut = source.split('\n').any(|line| line.len() > CODE_SEGMENT);
        (!is_cut && !source.trim().is_empty()).then(|| (language.to_owned(), fence::bare_code(source, self.indent)))
    }
}

#[derive(Clone, Debug)]
enum State {
    /// Between blocks; after an item the list may go on.
    Blocks {
        list: Option<OpenList>,
    },
    Code(Fence),
}

/// A list of which items are frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpenList {
    /// The number of its next item, if it counts.
    next: Option<u64>,
    /// What stands before its items: another mark is another list.
    marker: char,
}

#[derive(Debug)]
struct Segment {
    start: usize,
    end: usize,
    first_row: usize,
    rows: usize,
    sort: Sort,
    /// Whether a blank row stands before it.
    spaced: bool,
    lines: Option<Lines>,
    /// Whether those have colours.
    coloured: bool,
    used: u32,
}

/// How a segment's text is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Block,
    /// A list item with its number.
    Item(Option<u64>),
    /// The line that opens a code block.
    CodeStart,
    CodeLines {
        indent: u8,
    },
}

impl Document {
    /// An empty document for rows of `width` columns. Without `links` addresses are written behind their labels.
    #[must_use]
    pub fn new(width: usize, base: Role, links: bool) -> Self {
        Self {
            look: Look { width: width.max(2), base, links },
            segments: Vec::new(),
            consumed: 0,
            searched: 0,
            state: State::Blocks { list: None },
            tail: Lines::default(),
            tail_of: None,
            again: false,
            codes: Vec::new(),
        }
    }

    /// Takes in what was added to `text` since the last call. `finished` tells that nothing more comes.
    pub fn grow(&mut self, text: &str, finished: bool) {
        self.grow_within(text, finished, &mut { usize::MAX });
    }

    /// The same for `budget` further bytes at most; what was taken in is taken off that.
    pub(super) fn grow_within(&mut self, text: &str, finished: bool, budget: &mut usize) {
        let known = self.tail_of.unwrap_or(0);
        let end = text.ceil_char_boundary(known.saturating_add(*budget).min(text.len()));
        *budget -= end.saturating_sub(known).min(*budget);
        let finished = finished && end == text.len();
        let text = text.get(..end).unwrap_or(text);
        let in_code = self.codes.last().is_some_and(|code| code.end.is_none());
        if self.tail_of == Some(text.len()) && !(finished && (in_code || self.consumed < text.len())) {
            return;
        }
        while self.advance(text, finished) {}
        if finished {
            self.close_code(text, self.consumed);
        }
        self.render_tail(text);
        self.tail_of = Some(text.len());
    }

    /// Bytes of the text that were taken in.
    pub(super) fn taken_in(&self) -> usize {
        self.tail_of.unwrap_or(0)
    }

    /// Rows so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.frozen_rows() + self.tail.len()
    }

    fn frozen_rows(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.first_row + segment.rows)
    }

    /// Bytes held for rows.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let rows: usize = self.segments.iter().filter_map(|segment| segment.lines.as_ref()).map(Lines::bytes).sum();
        rows + self.segments.capacity() * size_of::<Segment>()
            + self.codes.capacity() * size_of::<CodeBlock>()
            + self.tail.bytes()
    }

    /// Whether drawing rendered something again since this was last asked.
    pub(super) fn take_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    /// Drops the rows of segments that were not drawn in frame `now`.
    pub(super) fn forget(&mut self, now: u32) {
        for segment in &mut self.segments {
            if segment.used != now {
                segment.lines = None;
            }
        }
    }

    /// The rows of pieces whose text is one that `holds` wants, from the top.
    pub(super) fn pieces(&self, text: &str, holds: impl Fn(&str) -> bool) -> impl Iterator<Item = Range<usize>> {
        let frozen = self.frozen_rows();
        let tail = (self.consumed..self.taken_in(), frozen..self.rows());
        let segments = self.segments.iter();
        let segments =
            segments.map(|segment| (segment.start..segment.end, segment.first_row..segment.first_row + segment.rows));
        segments
            .chain(std::iter::once(tail))
            .filter(move |(bytes, rows)| !rows.is_empty() && text.get(bytes.clone()).is_some_and(&holds))
            .map(|(_, rows)| rows)
    }

    /// The first closed code within these rows whose colours are not known.
    pub(super) fn uncoloured(&self, text: &str, rows: &Range<usize>, colours: &Colours) -> Option<Code> {
        let from = self.segments.partition_point(|segment| segment.first_row + segment.rows <= rows.start);
        let seen = self.segments.get(from..)?.iter().take_while(|segment| segment.first_row < rows.end);
        let plain = seen.filter(|segment| !segment.coloured).filter_map(|segment| code_of(&self.codes, segment));
        let (id, code) =
            plain.filter_map(|code| code.id.map(|id| (id, code))).find(|(id, _)| colours.of(*id).is_none())?;
        let (language, text) = code.code(text)?;
        Some(Code { id, language, text })
    }

    /// Notes that the open code block ends here.
    fn close_code(&mut self, text: &str, end: usize) {
        let Some(code) = self.codes.last_mut().filter(|code| code.end.is_none()) else { return };
        code.end = Some(end);
        code.id = code.code(text).map(|(language, text)| CodeId::of(&language, &text));
    }

    /// Calls `draw` for rows `first..first + count`; a blank row has no lines.
    pub(super) fn draw(
        &mut self,
        text: &str,
        now: u32,
        rows: Range<usize>,
        colours: &Colours,
        mut draw: impl FnMut(usize, &Lines, usize),
    ) {
        let Range { start: first, end } = rows;
        let look = self.look;
        let from = self.segments.partition_point(|segment| segment.first_row + segment.rows <= first);
        for segment in self.segments.get_mut(from..).unwrap_or_default() {
            if segment.first_row >= end {
                break;
            }
            segment.used = now;
            let (start, rows) = (segment.first_row, segment.rows);
            let lead = usize::from(segment.spaced);
            let code = code_of(&self.codes, segment);
            let known = code.and_then(|code| colours.of(code.id?).map(|known| (known, code.start)));
            if known.is_some() && !segment.coloured {
                segment.lines = None;
            }
            self.again |= segment.lines.is_none();
            let (coloured, sort) = (&mut segment.coloured, segment.sort);
            let lines = segment.lines.get_or_insert_with(|| {
                let source = text.get(segment.start..segment.end).unwrap_or_default();
                *coloured = known.is_some();
                match (known, sort) {
                    (Some((known, start)), Sort::CodeLines { indent }) => {
                        let above = text.get(start..segment.start).unwrap_or_default();
                        let line = above.bytes().filter(|byte| *byte == b'\n').count();
                        fence::code_rows(source, indent, look.width, Some((known, line)))
                    }
                    _ => render_segment(source, sort, look),
                }
            });
            for row in first.max(start + lead)..end.min(start + rows) {
                draw(row, lines, row - start - lead);
            }
        }
        let frozen = self.frozen_rows();
        for row in first.max(frozen)..end.min(frozen + self.tail.len()) {
            draw(row, &self.tail, row - frozen);
        }
    }

    /// Freezes what is closed; true when something was and more may be.
    fn advance(&mut self, text: &str, finished: bool) -> bool {
        match self.state.clone() {
            State::Code(fence) => self.advance_code(text, &fence, finished),
            State::Blocks { list } => self.advance_blocks(text, list, finished),
        }
    }

    fn advance_code(&mut self, text: &str, fence: &Fence, finished: bool) -> bool {
        let mut from = self.consumed;
        let mut at = from;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let (line, is_cut) = match code_line(rest) {
                Some(line) => line,
                None if finished && !rest.is_empty() => (rest, false),
                None => break,
            };
            if !is_cut && self.begins_code_line(text, at) && fence.is_closed_by(line) {
                self.freeze_code(text, from, at, fence);
                self.close_code(text, at);
                self.consumed = at + line.len();
                self.state = State::Blocks { list: None };
                return true;
            }
            at += line.len();
            if is_cut || at - from >= CODE_SEGMENT {
                self.freeze_code(text, from, at, fence);
                from = at;
            }
        }
        self.freeze_code(text, from, at, fence);
        self.consumed = at;
        false
    }

    /// Whether a line of the open code begins at `at`, and not the rest of one that was cut.
    fn begins_code_line(&self, text: &str, at: usize) -> bool {
        let start = self.codes.last().map_or(0, |code| code.start);
        at == start || text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\n')
    }

    /// Adds whole code lines to the last segment while that is short, otherwise to a new one.
    fn freeze_code(&mut self, text: &str, from: usize, to: usize, fence: &Fence) {
        if from == to {
            return;
        }
        let source = text.get(from..to).unwrap_or_default();
        let sort = Sort::CodeLines { indent: fence.indent };
        let mut lines = render_segment(source, sort, self.look);
        let begins_line = self.begins_code_line(text, from);
        match self.segments.last_mut() {
            Some(Segment { sort: known, start, end, rows, lines: Some(held), .. })
                if begins_line && *known == sort && *end == from && to - *start <= CODE_SEGMENT =>
            {
                held.append(&lines);
                *rows += lines.len();
                *end = to;
            }
            _ => {
                lines.shrink();
                self.push(from, to, sort, false, lines);
            }
        }
    }

    fn push(&mut self, start: usize, end: usize, sort: Sort, spaced: bool, lines: Lines) {
        let first_row = self.frozen_rows();
        let spaced = spaced && first_row > 0 && !lines.is_empty();
        let rows = lines.len() + usize::from(spaced);
        self.segments.push(Segment {
            start,
            end,
            first_row,
            rows,
            sort,
            spaced,
            lines: Some(lines),
            coloured: false,
            used: 0,
        });
    }

    fn advance_blocks(&mut self, text: &str, list: Option<OpenList>, finished: bool) -> bool {
        self.consumed += blank_lines(text.get(self.consumed..).unwrap_or_default(), finished);
        let rest = text.get(self.consumed..).unwrap_or_default();
        // A single line that long is what it is: no end is looked for further up, or each piece of it would cost the rest.
        let recent = rest.len().saturating_sub(LONGEST_PARAGRAPH);
        let end = rest.as_bytes().get(recent..).and_then(|recent| recent.iter().rposition(|byte| *byte == b'\n'));
        let whole = match end {
            _ if finished => rest,
            Some(end) => rest.get(..=recent + end).unwrap_or_default(),
            None if recent == 0 => "",
            None => rest,
        };
        if whole.is_empty() || (!finished && self.consumed + whole.len() == self.searched) {
            return false;
        }
        if let Some((fence, length)) = Fence::opens(whole) {
            self.open_code(text, fence, length);
            return true;
        }
        let mut window = WINDOW;
        loop {
            let (looked_at, is_all) = window_of(whole, window);
            if self.freeze_closed(text, looked_at, list, finished && is_all) {
                return true;
            }
            if is_all {
                self.searched = self.consumed + whole.len();
                return false;
            }
            window *= 2;
        }
    }

    /// A code block begins: the line that opens it has `length` bytes.
    fn open_code(&mut self, text: &str, fence: Fence, length: usize) {
        let start = self.consumed;
        let source = text.get(start..start + length).unwrap_or_default();
        let lines = render_segment(source, Sort::CodeStart, self.look);
        self.push(start, start + length, Sort::CodeStart, true, lines);
        // A block without a language still stands apart.
        if self.segments.last().is_some_and(|segment| segment.rows == 0) && self.frozen_rows() > 0 {
            self.push(start + length, start + length, Sort::Block, false, blank_row());
        }
        self.searched = 0;
        self.consumed += length;
        self.codes.push(CodeBlock { opened: start, start: self.consumed, end: None, indent: fence.indent, id: None });
        self.state = State::Code(fence);
    }

    /// Freezes the closed units of `source`, which begins at `consumed`; all of it when `whole`.
    fn freeze_closed(&mut self, text: &str, source: &str, mut list: Option<OpenList>, whole: bool) -> bool {
        let origin = self.consumed;
        let units = units(source);
        if units.is_empty() {
            if whole {
                // Definitions alone show nothing.
                self.consumed = origin + source.len();
            }
            return false;
        }
        let mut at = 0;
        for (index, unit) in units.iter().enumerate() {
            let end = units.get(index + 1).map(|next| next.start);
            if index > 0 && unit.sort == UnitSort::Fenced {
                self.consumed = origin + at;
                let (Some(end), Some((fence, length))) = (end, Fence::opens(source.get(at..).unwrap_or_default()))
                else {
                    break;
                };
                // Line by line like an open one, so that its rows are the same; what follows is known already.
                self.open_code(text, fence.clone(), length);
                let closed = self.advance_code(text.get(..origin + end).unwrap_or_default(), &fence, false);
                let between = text.get(self.consumed..origin + end).unwrap_or("?");
                if !closed || !between.trim().is_empty() {
                    return true;
                }
                list = None;
                at = end;
                continue;
            }
            let longest = match unit.sort {
                UnitSort::Paragraph => LONGEST_PARAGRAPH,
                UnitSort::Fenced | UnitSort::Item { .. } | UnitSort::Other => LONGEST_BLOCK,
            };
            let too_long = end.unwrap_or(source.len()) - at > longest;
            let (sort, spaced) = match unit.sort {
                UnitSort::Item { first, number } => {
                    let mark = marker_of(source.get(unit.start..).unwrap_or_default());
                    // The list may have begun in an earlier segment.
                    let before = list.filter(|list| !first || (index == 0 && Some(list.marker) == mark));
                    let number = before.map_or(number, |list| list.next);
                    list = mark.map(|marker| OpenList { next: number.map(|number| number.saturating_add(1)), marker });
                    let above = text.get(..origin + unit.start).unwrap_or_default();
                    (Sort::Item(number), before.is_none() || blank_before(above))
                }
                UnitSort::Paragraph | UnitSort::Fenced | UnitSort::Other => {
                    list = None;
                    (Sort::Block, true)
                }
            };
            let end = match end {
                _ if too_long => {
                    list = None;
                    at + cut(source.get(at..).unwrap_or_default(), longest)
                }
                Some(end) => end,
                None if whole => source.len(),
                None => break,
            };
            let piece = source.get(at..end).unwrap_or_default();
            let mut lines = render_segment(piece, sort, self.look);
            lines.shrink();
            self.push(origin + at, origin + end, sort, spaced && !self.continues_cut(origin + at), lines);
            at = end;
            self.state = State::Blocks { list };
            if too_long {
                break;
            }
        }
        self.consumed = origin + at;
        if at > 0 {
            self.searched = 0;
        }
        at > 0
    }

    /// Whether the text at `start` goes on with a block that was cut for its length.
    fn continues_cut(&self, start: usize) -> bool {
        self.segments.last().is_some_and(|segment| {
            segment.end == start && segment.end - segment.start > LONGEST_PARAGRAPH / 2 && segment.sort == Sort::Block
        })
    }

    fn render_tail(&mut self, text: &str) {
        self.tail.clear();
        let rest = text.get(self.consumed..).unwrap_or_default();
        if rest.trim().is_empty() && !matches!(self.state, State::Code(_)) {
            return;
        }
        match &self.state {
            State::Code(fence) => {
                // What may become the closing line is not shown as code.
                let may_close = self.begins_code_line(text, self.consumed) && fence.may_close(rest);
                if !rest.is_empty() && !may_close {
                    self.tail = render_segment(rest, Sort::CodeLines { indent: fence.indent }, self.look);
                }
            }
            State::Blocks { list } => {
                let goes_on = list.filter(|list| marker_of(rest) == Some(list.marker));
                let spaced = match goes_on {
                    Some(_) => blank_before(text.get(..self.consumed).unwrap_or_default()),
                    None => !self.continues_cut(self.consumed),
                };
                let number = goes_on.map(|list| render::Counting(list.next));
                let rendered = render::Renderer::new(rest, self.look).open().number(number).run();
                if spaced && self.frozen_rows() > 0 && !rendered.is_empty() {
                    self.tail.end_row();
                }
                self.tail.append(&rendered);
            }
        }
    }
}

/// The code block whose lines a segment holds.
fn code_of<'codes>(codes: &'codes [CodeBlock], segment: &Segment) -> Option<&'codes CodeBlock> {
    let Sort::CodeLines { .. } = segment.sort else { return None };
    let after = codes.partition_point(|code| code.start <= segment.start);
    codes.get(after.checked_sub(1)?)
}

fn render_segment(source: &str, sort: Sort, look: Look) -> Lines {
    match sort {
        Sort::Block if source.is_empty() => blank_row(),
        Sort::Block => render::Renderer::new(source, look).run(),
        Sort::Item(number) => render::Renderer::new(source, look).number(Some(render::Counting(number))).run(),
        Sort::CodeStart => fence::start_rows(source, look.width),
        Sort::CodeLines { indent } => fence::code_rows(source, indent, look.width, None),
    }
}

fn blank_row() -> Lines {
    let mut lines = Lines::default();
    lines.end_row();
    lines
}

/// Bytes of the blank lines at the start. Looks no further than the first letter.
fn blank_lines(text: &str, finished: bool) -> usize {
    let blank = text.find(|letter: char| !letter.is_whitespace());
    if blank.is_none() && finished {
        return text.len();
    }
    let before = text.get(..blank.unwrap_or(text.len())).unwrap_or_default();
    before.rfind('\n').map_or(0, |end| end + 1)
}

/// Whether the line before the end of `text` is blank, quote marks aside.
fn blank_before(text: &str) -> bool {
    let is_blank = |line: &str| line.chars().all(|letter| matches!(letter, ' ' | '\t' | '>' | '\r'));
    let mut lines = text.rsplit('\n');
    lines.next().is_some_and(is_blank) && lines.next().is_some_and(is_blank)
}

/// What stands before the list item with which a text seems to begin: a bullet, or what follows its number.
fn marker_of(text: &str) -> Option<char> {
    let text = text.trim_start_matches(' ');
    let after = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let counted = after.len() < text.len();
    after
        .chars()
        .next()
        .filter(|letter| if counted { matches!(letter, '.' | ')') } else { matches!(letter, '-' | '*' | '+') })
}

/// The first lines of `text`, about `length` bytes, and whether that is all. A line that is longer than any block stays
/// is not looked for its end: it will be cut whatever follows.
fn window_of(text: &str, length: usize) -> (&str, bool) {
    if text.len() <= length {
        return (text, true);
    }
    let longest = (length + 2 * LONGEST_BLOCK).min(text.len());
    let rest = text.as_bytes().get(length..longest).unwrap_or_default();
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) if length + end + 1 < text.len() => (text.get(..=length + end).unwrap_or(text), false),
        None if longest < text.len() => (text.get(..text.floor_char_boundary(longest)).unwrap_or(text), false),
        _ => (text, true),
    }
}

/// The first line of open code, if it is whole; a longer one than a segment holds is cut, which the flag tells.
fn code_line(rest: &str) -> Option<(&str, bool)> {
    let near = rest.as_bytes().get(..rest.len().min(CODE_SEGMENT + 1))?;
    match near.iter().position(|byte| *byte == b'\n') {
        Some(end) => rest.get(..=end).map(|line| (line, false)),
        None if rest.len() > CODE_SEGMENT => {
            rest.get(..rest.floor_char_boundary(CODE_SEGMENT)).map(|line| (line, true))
        }
        None => None,
    }
}

/// Where a text that is too long is cut: after a line, else after a word, else between letters.
fn cut(text: &str, longest: usize) -> usize {
    let head = text.get(..text.floor_char_boundary(longest)).unwrap_or(text);
    let late = |place: &usize| *place > longest / 2;
    let place = head.rfind('\n').filter(late).or_else(|| head.rfind(' ').filter(late));
    place.map_or(head.len(), |place| place + 1)
}

#[cfg(test)]
mod tests;
