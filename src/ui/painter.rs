//! What drawing keeps between frames: the theme, and the rendered rows of blocks near the screen.
//!
//! A block's height is kept for good, its rows only while they are near: the whole costs little more than the text.

use super::cells::Canvas;
use super::compose;
use super::lines::Lines;
use super::markdown::Document;
use super::theme::{ColourDepth, Role, Theme};
use crate::workbench::code::{Code, Colours};
use crate::workbench::transcript::{Block, BlockId, Kind, ToolState, Transcript};
use crate::workbench::{Model, Search, TranscriptLayout};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

/// Bytes of rendered rows that are kept at most, about.
const HELD_MOST: usize = 2 << 20;

/// Bytes of growing text that are laid out for one frame: some 16 ms of work, of the 50 ms that nobody notices. Few answers
/// are that long (32,000 tokens), so heights are whole ones; the rest is taken in over several frames.
const LAID_OUT_MOST: usize = 128 << 10;
/// The least that is laid out where frames take long, and how long that is.
const LAID_OUT_LEAST: usize = 16 << 10;
const LONG: Duration = Duration::from_millis(20);

/// Draws, and remembers what it rendered.
#[derive(Debug)]
pub struct Painter {
    themes: Vec<Theme>,
    /// The theme in use, in the terminal's colours.
    theme: Theme,
    depth: ColourDepth,
    /// Chosen by the program around, before the person chose another.
    fixed: bool,
    rendered: HashMap<BlockId, Rendered>,
    frame: u32,
    held: usize,
    /// From this on what is far is dropped.
    held_most: usize,
    /// Bytes that may be laid out for a frame, those left of them, and whether there were more.
    most: usize,
    budget: usize,
    behind: bool,
    /// Whether the terminal knows links.
    links: bool,
    /// The links of the last frame, by the marks of their cells.
    shown: BTreeMap<u32, String>,
}

/// A block as it was last rendered.
#[derive(Debug)]
struct Rendered {
    width: u16,
    revision: u32,
    open: bool,
    /// What else may have changed: lengths and states.
    print: (usize, usize, u8),
    /// Text that grows; above or below it stand `rows`.
    document: Option<Document>,
    rows: Option<Lines>,
    rows_high: usize,
    spaced: bool,
    bytes: usize,
    used: u32,
}

impl Painter {
    #[must_use]
    pub fn new(theme: Theme, colours: ColourDepth) -> Self {
        let themes: Vec<Theme> = Theme::names().iter().filter_map(|name| Theme::named(name)).collect();
        let mut painter = Self {
            themes,
            theme: theme.at(colours),
            depth: colours,
            fixed: false,
            rendered: HashMap::new(),
            frame: 0,
            held: 0,
            held_most: HELD_MOST,
            most: LAID_OUT_MOST,
            budget: LAID_OUT_MOST,
            behind: false,
            links: false,
            shown: BTreeMap::new(),
        };
        painter.add_theme(theme);
        painter
    }

    /// Marks links in the cells instead of writing addresses behind their labels, or not any more. What was rendered the
    /// other way is rendered anew.
    pub fn show_links(&mut self, links: bool) {
        if std::mem::replace(&mut self.links, links) != links {
            self.rendered.clear();
            self.held = 0;
        }
    }

    /// The links of the last frame, by the marks of their cells: see [`super::links`].
    pub fn take_links(&mut self) -> BTreeMap<u32, String> {
        std::mem::take(&mut self.shown)
    }

    /// Draws in this theme from now on, whatever the background.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme.at(self.depth);
        self.fixed = true;
        self.add_theme(theme);
    }

    /// Lets a theme be chosen by name; one of the same name is replaced.
    pub fn add_theme(&mut self, theme: Theme) {
        self.themes.retain(|known| known.name != theme.name);
        self.themes.push(theme);
    }

    /// The theme that goes with a background.
    #[must_use]
    pub fn theme_for_background(light: bool) -> Theme {
        Theme::named(if light { "light" } else { "dark" })
            .unwrap_or_else(|| Theme::from_toml("", std::path::Path::new("none")).0)
    }

    #[must_use]
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Bytes held for rendered rows, about.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held
    }

    /// Takes on the theme the model asks for.
    pub(super) fn follow(&mut self, model: &Model) {
        let wanted = match (&model.theme, model.light) {
            (Some(name), _) => name.as_str(),
            (None, Some(light)) if !self.fixed => Theme::fitting(light, self.depth),
            (None, _) => return,
        };
        if self.theme.name != wanted
            && let Some(theme) = self.themes.iter().find(|theme| theme.name == wanted)
        {
            self.theme = theme.at(self.depth);
        }
    }

    /// Begins a frame.
    pub(super) fn begin(&mut self) {
        self.frame = self.frame.wrapping_add(1);
        (self.budget, self.behind) = (self.most, false);
    }

    /// Tells how long it took to make a frame: after long less is laid out for the next, otherwise more again.
    pub fn took(&mut self, time: Duration) {
        if self.most < usize::MAX {
            let most = if time > LONG { self.most / 2 } else { self.most + self.most / 2 };
            self.most = most.clamp(LAID_OUT_LEAST, LAID_OUT_MOST);
        }
    }

    /// Lays everything out at once from now on: where nobody sees frames.
    pub fn take_all(&mut self) {
        (self.most, self.budget) = (usize::MAX, usize::MAX);
    }

    /// Ends a frame: drops what is far when much is held.
    pub(super) fn end(&mut self, transcripts: &[&Transcript], links: BTreeMap<u32, String>) {
        self.shown = links;
        let blocks: usize = transcripts.iter().map(|transcript| transcript.len()).sum();
        if self.rendered.len() > blocks + 64 {
            self.rendered.retain(|id, _| transcripts.iter().any(|transcript| transcript.block(*id).is_some()));
        }
        if self.held <= self.held_most {
            return;
        }
        self.held = 0;
        for rendered in self.rendered.values_mut() {
            if rendered.used != self.frame {
                rendered.rows = None;
            }
            if let Some(document) = &mut rendered.document {
                document.forget(self.frame);
            }
            rendered.bytes = rendered.weigh();
            self.held += rendered.bytes;
        }
        // Heights stay and grow with the transcript; looking for more to drop must stay rare.
        self.held_most = HELD_MOST.max(self.held * 2);
    }

    /// The block as rendered now.
    fn rendered(&mut self, block: &Block, width: u16) -> &mut Rendered {
        let print = print(block);
        let (frame, links) = (self.frame, self.links);
        let rendered = self.rendered.entry(block.id).or_insert_with(|| Rendered::empty(block, width, links));
        if rendered.width != width || rendered.revision != block.revision || rendered.open != block.open {
            *rendered = Rendered { bytes: rendered.bytes, ..Rendered::empty(block, width, links) };
            rendered.recount(&mut self.held);
        }
        if rendered.print != print {
            if rendered.document.is_some() && self.budget == 0 {
                self.behind = true;
                return rendered;
            }
            if rendered.grow(block, &mut self.budget) {
                rendered.print = print;
            } else {
                self.behind = true;
            }
            rendered.recount(&mut self.held);
            rendered.used = frame;
        }
        rendered
    }

    /// Draws rows of a block from `place` down.
    pub(super) fn draw(
        &mut self,
        block: &Block,
        width: u16,
        rows: Range<usize>,
        colours: &Colours,
        canvas: &mut Canvas<'_>,
        place: (u16, u16),
    ) {
        let frame = self.frame;
        self.rendered(block, width);
        let Some(rendered) = self.rendered.get_mut(&block.id) else { return };
        rendered.used = frame;
        let mut again = rendered.rows.is_none();
        if again {
            rendered.rows = Some(compose::rows(block, compose::text_width(width)));
        }
        rendered.draw(block, frame, rows, colours, canvas, place);
        again |= rendered.document.as_mut().is_some_and(Document::take_again);
        if again {
            rendered.recount(&mut self.held);
        }
    }
}

impl TranscriptLayout for Painter {
    fn height(&mut self, block: &Block, width: u16) -> usize {
        self.rendered(block, width).high()
    }

    fn text_width(&self, width: u16) -> u16 {
        u16::try_from(compose::text_width(width)).unwrap_or(width)
    }

    fn whole_height(&mut self, block: &Block, width: u16) -> usize {
        let rendered = self.rendered(block, width);
        let high = rendered.high();
        match rendered.document.as_ref().map(Document::taken_in) {
            None => high,
            Some(taken) => high.saturating_mul(text_of(block).len()).checked_div(taken).unwrap_or(0),
        }
    }

    fn is_behind(&self) -> bool {
        self.behind
    }

    fn find(
        &mut self,
        block: &Block,
        width: u16,
        search: &Search,
        beyond: Option<usize>,
        forward: bool,
    ) -> Option<usize> {
        let frame = self.frame;
        self.rendered(block, width);
        let rendered = self.rendered.get_mut(&block.id)?;
        let mut pieces = rendered.pieces(block, search);
        let is_beyond = |row: &usize| beyond.is_none_or(|beyond| if forward { *row > beyond } else { *row < beyond });
        if forward {
            pieces.retain(|rows| rows.end > 0 && is_beyond(&(rows.end - 1)));
        } else {
            pieces.retain(|rows| is_beyond(&rows.start));
            pieces.reverse();
        }
        let found = pieces.into_iter().find_map(|piece| {
            let mut rows = rendered.rows_found(block, frame, piece, search).into_iter().filter(is_beyond);
            if forward { rows.next() } else { rows.next_back() }
        });
        rendered.recount(&mut self.held);
        found
    }

    fn text(&mut self, block: &Block, width: u16, from: (usize, u16), to: (usize, u16)) -> String {
        let frame = self.frame;
        self.rendered(block, width);
        let Some(rendered) = self.rendered.get_mut(&block.id) else { return String::new() };
        let gutter = if compose::has_gutter(usize::from(width)) { compose::GUTTER } else { 0 };
        let mut text = String::new();
        let mut next = from.0;
        rendered.rows_of(block, frame, from.0..to.0.saturating_add(1), |at, lines, row| {
            // Rows without lines are blank.
            text.extend(std::iter::repeat_n('\n', at.saturating_sub(next)));
            next = at + 1;
            let first = if at == from.0 { usize::from(from.1) } else { 0 };
            let last = if at == to.0 { usize::from(to.1) + 1 } else { usize::MAX };
            lines.copy_text(row, first.saturating_sub(gutter)..last.saturating_sub(gutter), &mut text);
        });
        rendered.recount(&mut self.held);
        text.truncate(text.trim_end_matches([' ', '\n']).len());
        text
    }

    fn uncoloured(&mut self, block: &Block, width: u16, rows: Range<usize>, colours: &Colours) -> Option<Code> {
        let rendered = self.rendered(block, width);
        let skip = usize::from(rendered.spaced) + rendered.head(block);
        let document = rendered.document.as_ref()?;
        document.uncoloured(text_of(block), &(rows.start.saturating_sub(skip)..rows.end.saturating_sub(skip)), colours)
    }
}

impl Rendered {
    fn empty(block: &Block, width: u16, links: bool) -> Self {
        let text_width = compose::text_width(width);
        let document = match &block.kind {
            Kind::Answer(_) => Some(Document::new(text_width, Role::Markdown, links)),
            Kind::Thinking(_) if block.open => Some(Document::new(text_width, Role::Thinking, links)),
            Kind::Thinking(_) | Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_) => None,
        };
        Self {
            width,
            revision: block.revision,
            open: block.open,
            print: (usize::MAX, 0, 0),
            document,
            rows: None,
            rows_high: 0,
            spaced: compose::is_spaced(block),
            bytes: 0,
            used: 0,
        }
    }

    /// Lays out what is new within the budget; whether that was all.
    fn grow(&mut self, block: &Block, budget: &mut usize) -> bool {
        let text = text_of(block);
        if let Some(document) = &mut self.document {
            document.grow_within(text, is_finished(block), budget);
        }
        let rows = compose::rows(block, compose::text_width(self.width));
        self.rows_high = rows.len();
        self.rows = Some(rows);
        self.document.as_ref().is_none_or(|document| document.taken_in() == text.len())
    }

    /// Calls `visit` for rows of the block, those of its text before the others, with their places.
    fn rows_of(&mut self, block: &Block, frame: u32, rows: Range<usize>, mut visit: impl FnMut(usize, &Lines, usize)) {
        let lead = usize::from(self.spaced);
        let text_rows = self.document.as_ref().map_or(0, Document::rows);
        let above = self.head(block);
        if let Some(document) = &mut self.document {
            let first = lead + above;
            let within = rows.start.saturating_sub(first)..rows.end.saturating_sub(first).min(text_rows);
            let plain = Colours::default();
            document.draw(text_of(block), frame, within, &plain, |row, lines, line| visit(first + row, lines, line));
        }
        let width = compose::text_width(self.width);
        let own = self.rows.get_or_insert_with(|| compose::rows(block, width));
        let first = if above > 0 { lead } else { lead + text_rows };
        for row in 0..own.len() {
            if rows.contains(&(first + row)) {
                visit(first + row, own, row);
            }
        }
    }

    /// Rows that may show what is searched for, in ranges from the top. A long text is looked through as it is written,
    /// and only the pieces that hold the words are rendered.
    fn pieces(&self, block: &Block, search: &Search) -> Vec<Range<usize>> {
        let Some(document) = &self.document else { return std::iter::once(0..self.high()).collect() };
        let first = usize::from(self.spaced) + self.head(block);
        let text = text_of(block);
        let texts = document.pieces(text, |piece| search.is_found_in_markdown(piece, text.len()));
        let texts = texts.map(|rows| first + rows.start..first + rows.end);
        let end = first + document.rows();
        std::iter::once(0..first).chain(texts).chain(std::iter::once(end..self.high())).collect()
    }

    /// The rows of a piece that show what is searched for, from the top. Where the end of a row is within the words, it is
    /// the first.
    fn rows_found(&mut self, block: &Block, frame: u32, piece: Range<usize>, search: &Search) -> Vec<usize> {
        let (mut found, mut text) = (Vec::new(), String::new());
        let first = usize::from(self.spaced) + self.head(block);
        let is_text =
            self.document.as_ref().is_some_and(|document| (first..first + document.rows()).contains(&piece.start));
        let across = is_text.then_some(piece.start);
        self.rows_of(block, frame, piece, |at, lines, row| {
            text.clear();
            text.extend(lines.row(row).map(|(piece, _)| piece));
            if search.is_found_in(&text) {
                found.push(at);
            }
        });
        if found.is_empty() { across.into_iter().collect() } else { found }
    }

    /// Rows of a head above the text; an answer has a foot below it instead.
    fn head(&self, block: &Block) -> usize {
        if matches!(block.kind, Kind::Answer(_)) { 0 } else { self.rows_high }
    }

    /// Counts anew what it holds, as a part of all that is held.
    fn recount(&mut self, held: &mut usize) {
        *held -= self.bytes.min(*held);
        self.bytes = self.weigh();
        *held += self.bytes;
    }

    fn weigh(&self) -> usize {
        self.rows.as_ref().map_or(0, Lines::bytes) + self.document.as_ref().map_or(0, Document::bytes)
    }

    fn high(&self) -> usize {
        let text = self.document.as_ref().map_or(0, Document::rows);
        let all = text + self.rows_high;
        if all == 0 { 0 } else { all + usize::from(self.spaced) }
    }

    fn draw(
        &mut self,
        block: &Block,
        frame: u32,
        rows: Range<usize>,
        colours: &Colours,
        canvas: &mut Canvas<'_>,
        (x, y): (u16, u16),
    ) {
        let Range { start: first, end } = rows;
        let width = self.width;
        let gutter = if compose::has_gutter(usize::from(width)) { 2 } else { 0 };
        let lead = usize::from(self.spaced);
        let at = |row: usize| y + u16::try_from(row - first).unwrap_or(0);
        if gutter > 0 && (first..end).contains(&lead) {
            let (mark, role) = compose::mark(block);
            canvas.put(x, at(lead), x + 1, mark, role);
        }
        let right = x + width;
        let text_rows = self.document.as_ref().map_or(0, Document::rows);
        let above = self.head(block);
        if let Some(document) = &mut self.document {
            let skip = lead + above;
            let from = first.max(skip);
            let to = end.min(skip + text_rows);
            let mut last = None;
            if from < to {
                document.draw(text_of(block), frame, from - skip..to - skip, colours, |row, lines, line| {
                    let stopped = canvas.put_row(x + gutter, at(row + skip), right, lines, line);
                    last = Some((row, stopped));
                });
            }
            if let Some((row, stopped)) = last
                && row + 1 == text_rows
                && !is_finished(block)
            {
                // Where text appears.
                canvas.put(stopped.min(right.saturating_sub(1)), at(row + skip), right, "▌", Role::PromptMark);
            }
        }
        let skip = if above > 0 { lead } else { lead + text_rows };
        if let Some(rows) = &self.rows {
            for row in first.max(skip)..end.min(skip + rows.len()) {
                canvas.put_row(x + gutter, at(row), right, rows, row - skip);
                if let Some(line) = compose::drawn_row(block, row - skip, rows.len()) {
                    // Behind the first row of a call stands how that stands.
                    let text = rows.row(row - skip).next().map_or(0, |(text, _)| super::wrap::columns(text));
                    let end = (x + gutter).saturating_add(u16::try_from(text).unwrap_or(u16::MAX)).min(right);
                    canvas.put_styled(x + gutter, at(row), end, line, Role::Text);
                }
            }
        }
    }
}

fn text_of(block: &Block) -> &str {
    match &block.kind {
        Kind::Prompt(prompt) => &prompt.text,
        Kind::Answer(answer) => {
            let drawn = block.drawing().and_then(|drawing| drawing.markdown.as_deref());
            drawn.unwrap_or(&answer.text)
        }
        Kind::Thinking(thinking) => &thinking.text,
        Kind::Tool(tool) => &tool.output,
        Kind::Marker(marker) => &marker.text,
    }
}

fn is_finished(block: &Block) -> bool {
    match &block.kind {
        Kind::Answer(answer) => answer.ended.is_some(),
        Kind::Thinking(thinking) => thinking.finished,
        Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_) => true,
    }
}

/// What tells that a block of the same revision has grown.
fn print(block: &Block) -> (usize, usize, u8) {
    match &block.kind {
        Kind::Prompt(prompt) => (prompt.text.len(), 0, u8::from(prompt.pending)),
        Kind::Answer(answer) => {
            (answer.text.len(), usize::from(answer.summary.is_some()), u8::from(answer.ended.is_some()))
        }
        Kind::Thinking(thinking) => (thinking.text.len(), 0, u8::from(thinking.finished)),
        Kind::Tool(tool) => {
            let state = match tool.state {
                ToolState::Asked => 0,
                ToolState::Running => 1,
                ToolState::Done => 2,
                ToolState::Failed(_) => 3,
                ToolState::Waiting => 4,
            };
            (tool.input.len(), tool.output.len(), state)
        }
        Kind::Marker(marker) => (marker.text.len(), 0, 0),
    }
}

#[cfg(test)]
mod tests;
