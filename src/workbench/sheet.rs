//! A page about a request: its whole text, its wire form, or how it differs from another. Made elsewhere, scrolled and
//! searched here.

use super::geometry;
use super::message::{Effect, Level, RequestShown, Whole};
use super::model::Model;
use super::overlay::{Overlay, Picker};
use super::reading::Search;
use crate::commands::{CommandId, Context};
use crate::domain::ThreadId;
use std::ops::Range;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What a page shows of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// All of its text, with a rule where each layer begins.
    Text,
    /// The body as it goes over the wire; without a form, in the one in which its model is asked.
    Wire(Option<Wire>),
    /// How it differs from this one.
    Difference(Compared),
}

/// The request that another is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Compared {
    Whole(Arc<Whole>),
    /// One that was sent, by its number.
    Sent {
        thread_id: ThreadId,
        number: u32,
    },
}

/// A wire form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAi,
    Compatible,
    Responses,
    Gemini,
}

impl Wire {
    pub const ALL: [Self; 5] = [Self::Anthropic, Self::OpenAi, Self::Compatible, Self::Responses, Self::Gemini];

    /// What people call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic Messages",
            Self::OpenAi => "OpenAI Chat Completions",
            Self::Compatible => "compatible Chat Completions",
            Self::Responses => "OpenAI Responses",
            Self::Gemini => "Gemini",
        }
    }
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    pub view: View,
    pub title: String,
    pub lines: Vec<SheetLine>,
    /// What copying it gives, where that is something else than its lines.
    pub copy: Option<String>,
    /// Name of the request it is about.
    pub of: String,
}

/// A line before it is wrapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetLine {
    pub text: String,
    pub sort: Sort,
    /// Bytes of the text that are of another sort, in order and apart.
    pub marks: Vec<(Range<usize>, Sort)>,
    /// The layer that begins here, by its id.
    pub layer: Option<String>,
}

/// What a piece of a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Plain,
    Muted,
    Heading,
    Added,
    Removed,
    Changed,
}

impl SheetLine {
    #[must_use]
    pub fn new(sort: Sort, text: impl Into<String>) -> Self {
        Self { text: text.into(), sort, ..Self::default() }
    }
}

/// A page on the screen, over the layers it was opened from.
#[derive(Clone, Debug)]
pub struct Sheet {
    pub page: Page,
    /// The lines as they are wrapped: bytes of a line.
    pub rows: Vec<Row>,
    /// Columns in which they are wrapped.
    width: usize,
    /// First row on the screen.
    pub top: usize,
    pub search: Option<Search>,
    /// Rows where something was found.
    pub hits: Vec<usize>,
    /// The one gone to, by its place in `hits`.
    pub hit: usize,
    /// Where the search began.
    origin: usize,
    pub(super) under: Box<Picker>,
}

/// One row of a wrapped line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub line: usize,
    pub bytes: Range<usize>,
}

impl Sheet {
    fn new(page: Page, width: usize, under: Box<Picker>) -> Self {
        let mut sheet =
            Self { page, rows: Vec::new(), width: 0, top: 0, search: None, hits: Vec::new(), hit: 0, origin: 0, under };
        sheet.wrap(width);
        sheet
    }

    /// Wraps the lines anew where the width has changed; the line at the top stays there.
    pub(super) fn wrap(&mut self, width: usize) {
        if width == self.width {
            return;
        }
        let line = self.rows.get(self.top).map_or(0, |row| row.line);
        self.width = width;
        self.rows = wrapped(&self.page.lines, width);
        self.top = self.rows.partition_point(|row| row.line < line);
        self.look();
    }

    /// Scrolls by rows; the last row stays at the bottom.
    pub(super) fn step(&mut self, step: isize, height: usize) {
        self.top = self.top.saturating_add_signed(step);
        self.settle(height);
    }

    fn settle(&mut self, height: usize) {
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    /// Goes to where the layer of that id begins.
    fn go_to_layer(&mut self, id: &str, height: usize) {
        let line = self.page.lines.iter().position(|line| line.layer.as_deref() == Some(id));
        if let Some(line) = line {
            self.top = self.rows.partition_point(|row| row.line < line);
            self.settle(height);
        }
    }

    /// Goes to the next beginning of a layer, or the one before.
    pub(super) fn step_layer(&mut self, forward: bool, height: usize) {
        let begins =
            |row: &Row| row.bytes.start == 0 && self.page.lines.get(row.line).is_some_and(|line| line.layer.is_some());
        let found = if forward {
            self.rows.iter().enumerate().skip(self.top + 1).find(|(_, row)| begins(row))
        } else {
            self.rows.iter().enumerate().take(self.top).rfind(|(_, row)| begins(row))
        };
        if let Some(row) = found.map(|(row, _)| row) {
            self.top = row;
        }
        self.settle(height);
    }

    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.writing)
    }

    /// A command of the search that changes no words.
    pub(super) fn search(&mut self, command: CommandId, height: usize) {
        if command == CommandId::SearchStart {
            self.start_search();
        } else if command == CommandId::SearchAccept {
            self.accept_search();
        } else if command == CommandId::SearchDrop {
            self.drop_search();
        } else {
            self.find(command == CommandId::SearchNext, height);
        }
    }

    fn start_search(&mut self) {
        self.origin = self.top;
        let mut search = Search::default();
        (search.writing, search.found) = (true, true);
        self.search = Some(search);
        self.look();
    }

    /// Changes the words and goes to the first place from where the search began.
    pub(super) fn edit_search(&mut self, height: usize, change: impl FnOnce(&mut String)) {
        let Some(search) = &mut self.search else { return };
        let mut text = std::mem::take(&mut search.text);
        change(&mut text);
        search.set(text);
        self.look();
        let origin = self.origin;
        self.hit = self.hits.iter().position(|row| *row >= origin).unwrap_or(0);
        self.top = origin;
        self.show_hit(height);
    }

    fn accept_search(&mut self) {
        let Some(search) = &mut self.search else { return };
        search.writing = false;
        if search.text.is_empty() {
            self.search = None;
        }
    }

    /// Gives the search up; while it was being written, the page goes back to where it began.
    fn drop_search(&mut self) {
        if self.is_searching() {
            self.top = self.origin;
        }
        self.search = None;
        self.hits.clear();
    }

    /// Goes to the next place or the one before, round the ends.
    fn find(&mut self, forward: bool, height: usize) {
        let count = self.hits.len();
        if count > 0 {
            self.hit = if forward { (self.hit + 1) % count } else { (self.hit + count - 1) % count };
            self.show_hit(height);
        }
    }

    fn show_hit(&mut self, height: usize) {
        let Some(row) = self.hits.get(self.hit).copied() else { return };
        if !(self.top..self.top + height).contains(&row) {
            self.top = row.saturating_sub(height / 3);
        }
        self.settle(height);
    }

    /// Finds every place of the words.
    fn look(&mut self) {
        self.hits.clear();
        let Some(search) = &mut self.search else { return };
        for (number, line) in self.page.lines.iter().enumerate() {
            for place in search.places(&line.text) {
                let after = |row: &Row| row.line < number || (row.line == number && row.bytes.start <= place.start);
                self.hits.push(self.rows.partition_point(after).saturating_sub(1));
            }
        }
        self.hits.dedup();
        search.found = !self.hits.is_empty() || search.text.is_empty();
        self.hit = self.hit.min(self.hits.len().saturating_sub(1));
    }

    /// All of it, for the clipboard.
    fn text(&self) -> String {
        let lines = || self.page.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
        self.page.copy.clone().unwrap_or_else(lines)
    }
}

/// Wraps lines to `width` columns, after a blank where one fits.
fn wrapped(lines: &[SheetLine], width: usize) -> Vec<Row> {
    let width = width.max(1);
    let mut rows = Vec::with_capacity(lines.len());
    for (line, SheetLine { text, .. }) in lines.iter().enumerate() {
        rows.extend(row_ends(text, width).into_iter().map(|bytes| Row { line, bytes }));
    }
    rows
}

/// The rows of one line, as bytes of it: each ends after a blank where one fits.
pub(super) fn row_ends(text: &str, width: usize) -> Vec<Range<usize>> {
    if text.len() <= width {
        return std::iter::once(0..text.len()).collect();
    }
    let mut rows = Vec::new();
    let (mut start, mut used) = (0, 0);
    // Behind the last blank: byte, and columns from the row's start.
    let mut blank: Option<(usize, usize)> = None;
    for (at, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme.width();
        if used + wide > width && at > start {
            let (end, dropped) = blank.take().filter(|(end, _)| *end > start).unwrap_or((at, used));
            rows.push(start..end);
            start = end;
            used -= dropped;
        }
        used += wide;
        if grapheme == " " {
            blank = Some((at + 1, used));
        }
    }
    rows.push(start..text.len());
    rows
}

impl RequestShown {
    /// Asks for a page about it.
    fn view(&self, view: View) -> Vec<Effect> {
        let whole = self.whole.clone();
        whole.map(|whole| Effect::ViewRequest { whole, view }).into_iter().collect()
    }
}

impl Model {
    /// The page on the screen.
    #[must_use]
    pub fn sheet(&self) -> Option<&Sheet> {
        if let Some(Overlay::Sheet(sheet)) = &self.overlay { Some(sheet) } else { None }
    }

    /// Changes the page on the screen; tells it how many rows are seen of it.
    pub(super) fn with_sheet(&mut self, change: impl FnOnce(&mut Sheet, usize)) {
        let height = geometry::overlay_rows(self);
        if let Some(Overlay::Sheet(sheet)) = &mut self.overlay {
            change(sheet, height);
        }
    }

    /// Shows all of the request's text.
    pub(super) fn show_text(&self) -> Vec<Effect> {
        self.shelf.request.as_ref().map(|request| request.view(View::Text)).unwrap_or_default()
    }

    /// Shows the request as it goes over the wire; asked again, in the next form, and after the last as text.
    pub(super) fn show_wire(&self) -> Vec<Effect> {
        let Some(request) = &self.shelf.request else { return Vec::new() };
        let next = match self.sheet().map(|sheet| &sheet.page.view) {
            Some(View::Wire(Some(form))) => {
                let place = Wire::ALL.iter().position(|other| other == form).unwrap_or(0);
                let next = Wire::ALL[(place + 1) % Wire::ALL.len()];
                let round = self.shelf.wire == Some(next);
                if round { View::Text } else { View::Wire(Some(next)) }
            }
            Some(View::Wire(None) | View::Text | View::Difference(_)) | None => View::Wire(None),
        };
        request.view(next)
    }

    /// Shows how the request differs from the one that was marked, else from the one before it.
    pub(super) fn show_difference(&mut self) -> Vec<Effect> {
        let Some(request) = &self.shelf.request else { return Vec::new() };
        let Some(whole) = &request.whole else { return Vec::new() };
        let marked = self.shelf.marked.as_ref().filter(|marked| *marked != whole);
        let before = match request.number {
            None => request.numbers.last(),
            Some(number) => request.numbers.iter().rev().find(|other| **other < number),
        };
        let before = marked
            .map(|marked| Compared::Whole(Arc::clone(marked)))
            .or_else(|| Some(Compared::Sent { thread_id: whole.thread_id.clone(), number: *before? }));
        if let Some(before) = before {
            return request.view(View::Difference(before));
        }
        let key = self.keymap.key_for(CommandId::RequestMark, &[Context::Layers]);
        let key = key.map(|key| key.to_string()).unwrap_or_default();
        self.say(Level::Info, format!("nothing was sent before it; mark another request with {key} and come back"));
        Vec::new()
    }

    /// Marks the request for comparing, or takes the mark off.
    pub(super) fn mark_request(&mut self) {
        let Some(whole) = self.shelf.request.as_ref().and_then(|request| request.whole.clone()) else { return };
        if self.shelf.marked.as_ref() == Some(&whole) {
            self.shelf.marked = None;
        } else {
            self.say(
                Level::Info,
                format!("marked {}; others are compared with it until you unmark it there", whole.name),
            );
            self.shelf.marked = Some(whole);
        }
    }

    /// A page has been made. It belongs to the request on the screen, or comes too late.
    pub(super) fn page_made(&mut self, page: Result<Box<Page>, String>) -> Vec<Effect> {
        let shown = self.shelf.request.as_ref().and_then(|request| request.whole.as_ref());
        self.shelf.awaits = false;
        match page {
            Ok(page) if shown.is_some_and(|whole| whole.name != page.of) => {}
            Ok(page) => self.open_page(*page),
            Err(why) => self.say(Level::Warning, why),
        }
        Vec::new()
    }

    fn open_page(&mut self, page: Page) {
        let chosen = self.chosen_layer().map(|layer| layer.id.clone());
        let goes_on = self.sheet().is_some_and(|sheet| matches!(sheet.page.view, View::Wire(_)));
        if let View::Wire(Some(form)) = &page.view
            && !goes_on
        {
            self.shelf.wire = Some(*form);
        }
        let (before, under) = match self.overlay.take() {
            Some(Overlay::Picker(picker)) if picker.kind == super::overlay::PickerKind::Layers => {
                (None, Box::new(picker))
            }
            Some(Overlay::Sheet(sheet)) => {
                let Sheet { page, top, search, origin, under, .. } = sheet;
                (Some((page, top, search, origin)), under)
            }
            other => {
                self.overlay = other;
                return;
            }
        };
        let mut sheet = Sheet::new(page, 1, under);
        if let Some((before, top, search, origin)) = before {
            let same = std::mem::discriminant(&before.view) == std::mem::discriminant(&sheet.page.view);
            (sheet.search, sheet.origin) = (search, origin);
            sheet.top = if same { top } else { 0 };
        }
        self.overlay = Some(Overlay::Sheet(sheet));
        let (width, opened) = (geometry::sheet_width(self), chosen);
        self.with_sheet(|sheet, height| {
            let top = sheet.top;
            sheet.wrap(width);
            sheet.top = top;
            sheet.settle(height);
            if let Some(id) = opened.filter(|_| top == 0) {
                sheet.go_to_layer(&id, height);
            }
        });
        self.changed = true;
    }

    /// The page on the screen made anew, for the request that is shown now.
    pub(super) fn page_again(&mut self) -> Vec<Effect> {
        let Some(sheet) = self.sheet() else { return Vec::new() };
        match (&sheet.page.view, &self.shelf.request) {
            // It may be another that comes before it.
            (View::Difference(_), Some(_)) => self.show_difference(),
            (view @ (View::Text | View::Wire(_)), Some(request)) => request.view(view.clone()),
            (_, None) => Vec::new(),
        }
    }

    pub(super) fn copy_sheet(&self) -> Vec<Effect> {
        self.sheet().map(|sheet| Effect::Copy(sheet.text())).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: usize) -> Vec<String> {
        let lines: Vec<SheetLine> = text.lines().map(|line| SheetLine::new(Sort::Plain, line)).collect();
        let rows = wrapped(&lines, width);
        rows.into_iter().map(|row| lines[row.line].text.get(row.bytes).unwrap().to_owned()).collect()
    }

    #[test]
    fn lines_are_wrapped_between_words_and_nothing_is_lost() {
        assert_eq!(rows("one two three\n\nabcdefghij", 8), ["one two ", "three", "", "abcdefgh", "ij"]);
        assert_eq!(rows("漢字漢字", 4), ["漢字", "漢字"]);
        assert_eq!(rows("a漢", 1), ["a", "漢"]);
        assert_eq!(rows("é é é é é", 4).concat(), "é é é é é");
    }
}
