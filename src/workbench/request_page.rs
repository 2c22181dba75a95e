//! A page about a request: its whole text, its wire form, or how it differs from another. Made elsewhere, scrolled and
//! searched here.

use super::geometry;
use super::message::{Effect, Level, RequestShown};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::Picker;
use super::request::{Compared, PageContent, View};
use super::search::Search;
use crate::commands::{CommandId, Context};
use crate::domain::WireForm;
use std::ops::Range;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Bytes of a page that are wrapped and looked through in one turn: some 6 ms of work.
const WORK_MOST: usize = 128 << 10;
/// What a row costs at least of that.
const ROW_LEAST: usize = 16;

/// A page on the screen, over the layers it was opened from.
#[derive(Clone, Debug)]
pub struct RequestPage {
    pub page: PageContent,
    /// The lines as they are wrapped: bytes of a line. A long page comes in several turns.
    pub rows: Vec<Row>,
    /// Columns in which they are wrapped.
    width: usize,
    /// First row on the screen.
    pub top: usize,
    /// What is to be the first, once it is wrapped: a line, and a byte of it.
    goal: Option<(usize, usize)>,
    pub search: Option<Search>,
    /// Rows where something was found.
    pub hits: Vec<usize>,
    /// The one gone to, by its place in `hits`.
    pub hit: usize,
    /// Rows that were looked through.
    searched: usize,
    /// Where the search began.
    origin: usize,
    /// Whether the first place from there on was not gone to yet.
    seeks: bool,
    pub(super) under: Box<Picker>,
}

/// One row of a wrapped line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub line: usize,
    pub bytes: Range<usize>,
}

impl RequestPage {
    fn new(page: PageContent, under: Box<Picker>) -> Self {
        Self {
            page,
            rows: Vec::new(),
            width: 0,
            top: 0,
            goal: None,
            search: None,
            hits: Vec::new(),
            hit: 0,
            searched: 0,
            origin: 0,
            seeks: false,
            under,
        }
    }

    /// Whether some of it is not wrapped or looked through yet: another turn goes on with it.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.is_wrapped() || !self.is_looked_through()
    }

    fn is_wrapped(&self) -> bool {
        self.wrapped_to().0 >= self.page.lines.len()
    }

    fn is_looked_through(&self) -> bool {
        let looks = self.search.as_ref().is_some_and(|search| !search.text.is_empty());
        !looks || (self.is_wrapped() && self.searched == self.rows.len())
    }

    /// The line and the byte of it at which the next row begins.
    fn wrapped_to(&self) -> (usize, usize) {
        let Some(row) = self.rows.last() else { return (0, 0) };
        let line = self.page.lines.get(row.line).map_or(0, |line| line.text.len());
        if row.bytes.end < line { (row.line, row.bytes.end) } else { (row.line + 1, 0) }
    }

    /// Wraps and looks through as much as a turn allows, anew where the width has changed: what is at the top stays
    /// there.
    pub(super) fn go_on(&mut self, width: usize, height: usize) {
        if width != self.width {
            let top = self.rows.get(self.top).map(|row| (row.line, row.bytes.start));
            self.goal = self.goal.or(top);
            (self.width, self.top) = (width, 0);
            self.rows.clear();
            self.look_anew();
        }
        let mut budget = WORK_MOST;
        self.wrap(&mut budget);
        self.reach_goal(height);
        self.look(&mut budget, height);
    }

    fn wrap(&mut self, budget: &mut usize) {
        let width = self.width.max(1);
        while *budget > 0 {
            let (line, start) = self.wrapped_to();
            let Some(text) = self.page.lines.get(line).and_then(|line| line.text.get(start..)) else { return };
            let length = row_end(text, width);
            *budget -= length.max(ROW_LEAST).min(*budget);
            self.rows.push(Row { line, bytes: start..start + length });
        }
    }

    fn reach_goal(&mut self, height: usize) {
        let Some(goal) = self.goal else { return };
        let row = self.rows.partition_point(|row| (row.line, row.bytes.start) <= goal).saturating_sub(1);
        if self.is_wrapped() || row + height < self.rows.len() {
            (self.top, self.goal) = (row, None);
            self.settle(height);
        }
    }

    /// Scrolls by rows; the last row stays at the bottom.
    pub(super) fn step(&mut self, step: isize, height: usize) {
        self.top = self.top.saturating_add_signed(step);
        // Its end may not be wrapped yet.
        self.goal = (step == isize::MAX).then_some((usize::MAX, 0));
        self.settle(height);
        self.reach_goal(height);
    }

    fn settle(&mut self, height: usize) {
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    /// Goes to where the layer of that id begins.
    fn go_to_layer(&mut self, id: &str, height: usize) {
        let line = self.page.lines.iter().position(|line| line.layer.as_deref() == Some(id));
        if let Some(line) = line {
            self.goal = Some((line, 0));
            self.reach_goal(height);
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
            (self.top, self.goal) = (row, None);
        }
        self.settle(height);
    }

    /// What keys mean in it. `preview` tells whether the request has not been sent.
    pub(super) fn contexts(&self, preview: bool) -> Vec<Context> {
        if self.is_searching() {
            vec![Context::Search, Context::Anywhere]
        } else if preview {
            vec![Context::Preview, Context::Sheet, Context::List, Context::Anywhere]
        } else {
            vec![Context::Sheet, Context::List, Context::Anywhere]
        }
    }

    /// Takes a letter of what is searched for; whether it had a use for it.
    pub(super) fn letter(&mut self, letter: char) -> bool {
        let searching = self.is_searching();
        if searching {
            self.edit_search(|text| text.push(letter));
        }
        searching
    }

    /// Takes the first line of what is pasted, as [`Self::letter`].
    pub(super) fn paste(&mut self, text: &str) -> bool {
        let searching = self.is_searching();
        if searching {
            self.edit_search(|search| search.push_str(text.lines().next().unwrap_or_default()));
        }
        searching
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
        self.look_anew();
    }

    /// Changes the words and goes to the first place from where the search began.
    pub(super) fn edit_search(&mut self, change: impl FnOnce(&mut String)) {
        let Some(search) = &mut self.search else { return };
        let mut text = std::mem::take(&mut search.text);
        change(&mut text);
        search.set(text);
        self.look_anew();
        (self.top, self.goal, self.seeks) = (self.origin, None, true);
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
            (self.top, self.goal) = (self.origin, None);
        }
        self.search = None;
        self.look_anew();
    }

    /// Goes to the next place or the one before, round the ends.
    fn find(&mut self, forward: bool, height: usize) {
        let count = self.hits.len();
        if count > 0 {
            self.hit = if forward { (self.hit + 1) % count } else { (self.hit + count - 1) % count };
            self.seeks = false;
            self.show_hit(height);
        }
    }

    fn show_hit(&mut self, height: usize) {
        let Some(row) = self.hits.get(self.hit).copied() else { return };
        self.goal = None;
        if !(self.top..self.top + height).contains(&row) {
            self.top = row.saturating_sub(height / 3);
        }
        self.settle(height);
    }

    fn look_anew(&mut self) {
        self.hits.clear();
        self.searched = 0;
    }

    /// Finds the places of the words in what is wrapped.
    fn look(&mut self, budget: &mut usize, height: usize) {
        let Some(search) = &self.search else { return };
        while let Some(first) = self.rows.get(self.searched)
            && *budget > 0
        {
            let rows = self.rows.get(self.searched..).unwrap_or_default();
            let (line, start) = (first.line, first.bytes.start);
            let rows = rows.iter().take_while(|row| row.line == line && row.bytes.start - start < *budget);
            let (count, end) = rows.fold((0, start), |(count, _), row| (count + 1, row.bytes.end));
            let text = self.page.lines.get(line).map_or("", |line| line.text.as_str());
            // What begins in these rows may end in later ones.
            let reach = text.ceil_char_boundary((end + 4 * search.text.len()).min(text.len()));
            for place in search.places(text.get(start..reach).unwrap_or_default()) {
                let at = start + place.start;
                if at >= end {
                    break;
                }
                let row = self.rows.partition_point(|row| (row.line, row.bytes.start) <= (line, at)).saturating_sub(1);
                if self.hits.last() != Some(&row) {
                    self.hits.push(row);
                }
            }
            self.searched += count;
            *budget -= (end - start).max(ROW_LEAST).min(*budget);
        }
        let is_done = self.is_looked_through();
        if let Some(search) = &mut self.search {
            search.found = !self.hits.is_empty() || search.text.is_empty() || !is_done;
        }
        if is_done {
            self.hit = self.hit.min(self.hits.len().saturating_sub(1));
        }
        if self.seeks {
            let place = self.hits.iter().position(|row| *row >= self.origin).or_else(|| is_done.then_some(0));
            if let Some(place) = place {
                (self.hit, self.seeks) = (place, false);
                self.show_hit(height);
            }
        }
    }

    /// All of it, for the clipboard.
    fn text(&self) -> String {
        let lines = || self.page.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
        self.page.copy.clone().unwrap_or_else(lines)
    }
}

/// The rows of one line, as bytes of it: each ends after a blank where one fits.
pub(super) fn row_ends(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut start = 0;
    loop {
        let end = start + row_end(text.get(start..).unwrap_or_default(), width.max(1));
        rows.push(start..end);
        if end >= text.len() {
            return rows;
        }
        start = end;
    }
}

/// Bytes of the first row of what is left of a line. Looks little further than that row.
fn row_end(text: &str, width: usize) -> usize {
    /// Bytes of a row with letters that take no room.
    const MOST: usize = 4 << 10;
    let near = text.as_bytes().get(..=width).unwrap_or(text.as_bytes());
    if near.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        if near.len() <= width {
            return near.len();
        }
        let blank = near.get(..width).and_then(|row| row.iter().rposition(|byte| *byte == b' '));
        return blank.map_or(width, |blank| blank + 1);
    }
    let (mut used, mut blank) = (0, None);
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if (used > width || at > MOST) && at > 0 {
            return blank.unwrap_or(at);
        }
        if grapheme == " " {
            blank = Some(at + 1);
        }
    }
    text.len()
}

impl RequestShown {
    /// Asks for a page about it.
    pub(super) fn view(&self, view: View) -> Vec<Effect> {
        let whole = self.whole.clone();
        whole.map(|whole| Effect::ViewRequest { whole, view }).into_iter().collect()
    }
}

impl Model {
    /// The page on the screen.
    #[must_use]
    pub fn sheet(&self) -> Option<&RequestPage> {
        if let Some(Overlay::RequestPage(sheet)) = &self.overlay { Some(sheet) } else { None }
    }

    /// Changes the page on the screen; tells it how many rows are seen of it.
    pub(super) fn with_sheet(&mut self, change: impl FnOnce(&mut RequestPage, usize)) {
        let height = geometry::overlay_rows(self);
        if let Some(Overlay::RequestPage(sheet)) = &mut self.overlay {
            change(sheet, height);
        }
    }

    /// Shows all of the request's text.
    pub(super) fn show_text(&self) -> Vec<Effect> {
        self.browser.request.as_ref().map(|request| request.view(View::Text)).unwrap_or_default()
    }

    /// Shows the request as it goes over the wire; asked again, in the next form, and after the last as text.
    pub(super) fn show_wire(&self) -> Vec<Effect> {
        let Some(request) = &self.browser.request else { return Vec::new() };
        let next = match self.sheet().map(|sheet| &sheet.page.view) {
            Some(View::Wire(Some(form))) => {
                let place = WireForm::ALL.iter().position(|other| other == form).unwrap_or(0);
                let next = WireForm::ALL[(place + 1) % WireForm::ALL.len()];
                let round = self.browser.wire == Some(next);
                if round { View::Text } else { View::Wire(Some(next)) }
            }
            Some(View::Wire(None) | View::Text | View::Difference(_)) | None => View::Wire(None),
        };
        request.view(next)
    }

    /// Shows how the request differs from the one that was marked, else from the one before it.
    pub(super) fn show_difference(&mut self) -> Vec<Effect> {
        let Some(request) = &self.browser.request else { return Vec::new() };
        let Some(whole) = &request.whole else { return Vec::new() };
        // What would be is compared with what is.
        let as_it_is = self.browser.what_if.as_ref().map(|(asked, _)| &asked.whole);
        let marked = as_it_is.or(self.browser.marked.as_ref()).filter(|marked| *marked != whole);
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
        self.say(Level::Info, format!("there is no earlier request; mark another one with {key}, then compare"));
        Vec::new()
    }

    /// Marks the request for comparing, or takes the mark off.
    pub(super) fn mark_request(&mut self) {
        let Some(whole) = self.browser.request.as_ref().and_then(|request| request.whole.clone()) else { return };
        if self.browser.marked.as_ref() == Some(&whole) {
            self.browser.marked = None;
        } else {
            self.say(
                Level::Info,
                format!("marked {}; others are compared with it until you unmark it there", whole.name),
            );
            self.browser.marked = Some(whole);
        }
    }

    /// A page has been made. It belongs to the request on the screen, or comes too late.
    pub(super) fn page_made(&mut self, page: Result<Box<PageContent>, String>) -> Vec<Effect> {
        let shown = self.browser.request.as_ref().and_then(|request| request.whole.as_ref());
        self.browser.awaits = false;
        match page {
            Ok(page) if shown.is_some_and(|whole| whole.name != page.of) => {}
            Ok(page) => self.open_page(*page),
            Err(why) => self.say(Level::Warning, why),
        }
        Vec::new()
    }

    fn open_page(&mut self, page: PageContent) {
        let chosen = self.chosen_layer().map(|layer| layer.id.clone());
        let goes_on = self.sheet().is_some_and(|sheet| matches!(sheet.page.view, View::Wire(_)));
        if let View::Wire(Some(form)) = &page.view
            && !goes_on
        {
            self.browser.wire = Some(*form);
        }
        let (before, under) = match self.overlay.take() {
            Some(Overlay::Picker(picker)) if picker.kind == super::picker::PickerKind::Layers => {
                (None, Box::new(picker))
            }
            Some(Overlay::RequestPage(sheet)) => {
                let top = sheet.rows.get(sheet.top).map(|row| (row.line, row.bytes.start));
                let RequestPage { page, search, origin, under, .. } = sheet;
                (Some((page, top, search, origin)), under)
            }
            other => {
                self.overlay = other;
                return;
            }
        };
        let mut sheet = RequestPage::new(page, under);
        if let Some((before, top, search, origin)) = before {
            let same = std::mem::discriminant(&before.view) == std::mem::discriminant(&sheet.page.view);
            (sheet.search, sheet.origin) = (search, origin);
            sheet.goal = top.filter(|top| same && *top > (0, 0));
        }
        self.overlay = Some(Overlay::RequestPage(sheet));
        let width = geometry::sheet_width(self);
        self.with_sheet(|sheet, height| {
            sheet.go_on(width, height);
            if let Some(id) = chosen.filter(|_| sheet.top == 0 && sheet.goal.is_none()) {
                sheet.go_to_layer(&id, height);
            }
        });
        self.changed = true;
    }

    /// The page on the screen made anew, for the request that is shown now.
    pub(super) fn page_again(&mut self) -> Vec<Effect> {
        let Some(sheet) = self.sheet() else { return Vec::new() };
        match (&sheet.page.view, &self.browser.request) {
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
    use super::super::picker::PickerKind;
    use super::super::request::{LineKind, SheetLine};
    use super::*;

    fn rows(text: &str, width: usize) -> Vec<String> {
        let lines: Vec<SheetLine> = text.lines().map(|line| SheetLine::new(LineKind::Plain, line)).collect();
        let rows = |line: &SheetLine| {
            row_ends(&line.text, width)
                .into_iter()
                .map(|row| line.text.get(row).unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        lines.iter().flat_map(rows).collect()
    }

    fn sheet(text: &str) -> RequestPage {
        let lines = text.lines().map(|line| SheetLine::new(LineKind::Plain, line)).collect();
        let page = PageContent { view: View::Text, title: String::new(), lines, copy: None, of: String::new() };
        RequestPage::new(page, Box::new(Picker::new(PickerKind::Layers, Vec::new(), false)))
    }

    /// Goes on until it is done; how many turns that took.
    fn finish(sheet: &mut RequestPage, width: usize) -> usize {
        let mut turns = 0;
        while turns == 0 || sheet.is_behind() {
            sheet.go_on(width, 20);
            turns += 1;
        }
        turns
    }

    #[test]
    fn a_long_page_comes_in_several_turns_and_is_the_same() {
        let text = format!(
            "first\n{}\n\n{}needle and more\nlast 漢字",
            "wide 漢字 and words ".repeat(40_000),
            "x".repeat(300_000)
        );
        let mut page = sheet(&text);
        let turns = finish(&mut page, 40);
        assert!(turns > text.len() / WORK_MOST, "{turns}");
        let expected: Vec<Row> = page
            .page
            .lines
            .iter()
            .enumerate()
            .flat_map(|(line, said)| row_ends(&said.text, 40).into_iter().map(move |bytes| Row { line, bytes }))
            .collect();
        assert!(page.rows == expected);
        // What was looked for is gone to as soon as it is found, wherever the search began.
        page.start_search();
        page.edit_search(|text| text.push_str("NEEDLE and"));
        page.go_on(40, 20);
        assert!(page.is_behind() && page.search.as_ref().is_some_and(|search| search.found), "nobody knows yet");
        finish(&mut page, 40);
        assert!(!page.search.as_ref().is_some_and(|search| search.found), "capitals find only themselves");
        page.edit_search(|text| *text = "needle and".into());
        finish(&mut page, 40);
        assert_eq!(page.hits.len(), 1);
        assert!((page.top..page.top + 20).contains(&page.hits[0]));
        // Narrower, what is at the top stays there.
        let at = |page: &RequestPage| (page.rows[page.top].line, page.rows[page.top].bytes.clone());
        let (line, before) = at(&page);
        finish(&mut page, 23);
        let (now, after) = at(&page);
        assert!(now == line && after.contains(&before.start), "{before:?} {after:?}");
        assert_eq!(page.hits.len(), 1);
    }

    #[test]
    fn places_are_found_where_the_piece_that_is_looked_through_ends() {
        let text = "ab ".repeat(WORK_MOST);
        let mut page = sheet(&text);
        page.start_search();
        page.edit_search(|text| text.push_str("b ab a"));
        finish(&mut page, 10);
        let expected: Vec<usize> =
            (0..page.rows.len()).filter(|row| *row + 1 < page.rows.len() || page.rows[*row].bytes.len() > 6).collect();
        assert_eq!(page.hits.len(), expected.len());
        assert_eq!(page.hits, expected);
    }

    #[test]
    fn letters_without_room_make_no_endless_row() {
        let rows = row_ends(&"\u{200b}".repeat(20_000), 10);
        assert!(rows.len() > 10 && rows.iter().all(|row| row.len() < 5_000), "{}", rows.len());
        assert_eq!(row_ends("", 10).len(), 1);
        assert_eq!(row_ends("abc\tdef  ghi", 9), [0..9, 9..12]);
    }

    #[test]
    fn lines_are_wrapped_between_words_and_nothing_is_lost() {
        assert_eq!(rows("one two three\n\nabcdefghij", 8), ["one two ", "three", "", "abcdefgh", "ij"]);
        assert_eq!(rows("漢字漢字", 4), ["漢字", "漢字"]);
        assert_eq!(rows("a漢", 1), ["a", "漢"]);
        assert_eq!(rows("é é é é é", 4).concat(), "é é é é é");
    }
}
