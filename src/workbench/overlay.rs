//! What can lie over the transcript: a list to choose from, a page to read, a form to fill in, or a page about a request. Each
//! is a module that knows its keys, what is typed and pasted into it, and how it is gone through; this passes on.

use super::dialog::DialogPanel;
use super::form::InputForm;
use super::picker::Picker;
use super::request_page::{RequestPage, Row, row_ends};
use crate::commands::Context;
use crate::domain::OpenComponent;
use unicode_width::UnicodeWidthStr as _;

#[derive(Clone, Debug)]
pub enum Overlay {
    Picker(Picker),
    Pager(Pager),
    Form(InputForm),
    /// A question of an extension.
    Dialog(Box<DialogPanel>),
    /// A component of an extension, which has all keys.
    Component(Box<OpenComponent>),
    /// A page about the request whose layers are listed.
    RequestPage(RequestPage),
}

impl Overlay {
    /// The list that is open, also while something that leads back to it lies over it.
    pub(super) fn list(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Picker(picker) => Some(picker),
            Self::RequestPage(sheet) => Some(&mut sheet.under),
            Self::Pager(pager) => pager.under.as_mut()?.list(),
            Self::Form(_) | Self::Dialog(_) | Self::Component(_) => None,
        }
    }

    /// What keys mean while it is open. `preview` tells whether the request behind it has not been sent.
    pub(super) fn contexts(&self, preview: bool) -> Vec<Context> {
        match self {
            Self::Picker(picker) => picker.contexts(preview),
            Self::Pager(pager) => pager.contexts(),
            Self::Form(_) => InputForm::contexts(),
            Self::Dialog(panel) => panel.contexts(),
            Self::Component(_) => Vec::new(),
            Self::RequestPage(sheet) => sheet.contexts(preview),
        }
    }

    /// Takes a letter; whether it had a use for it.
    pub(super) fn letter(&mut self, letter: char) -> bool {
        match self {
            Self::Picker(picker) => picker.letter(letter),
            Self::Pager(pager) => pager.letter(letter),
            Self::Form(form) => form.letter(letter),
            Self::Dialog(panel) => panel.letter(letter),
            Self::Component(_) => false,
            Self::RequestPage(sheet) => sheet.letter(letter),
        }
    }

    /// Takes what is pasted; whether it had a use for it.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        match self {
            Self::Picker(picker) => picker.paste(text),
            Self::Pager(_) | Self::Component(_) => false,
            Self::Form(form) => form.paste(text),
            Self::Dialog(panel) => panel.paste(text),
            Self::RequestPage(sheet) => sheet.paste(text),
        }
    }

    /// Goes on by `step` entries or rows; it is so many columns wide and rows high.
    pub(super) fn step(&mut self, step: isize, (width, rows): (usize, usize)) {
        match self {
            Self::Picker(picker) => picker.step(step),
            Self::Pager(pager) => pager.step(step, (width, rows)),
            Self::Form(form) => form.vertical(step),
            Self::Dialog(panel) => panel.step(step),
            Self::Component(_) => {}
            Self::RequestPage(sheet) => sheet.step(step, rows),
        }
    }

    /// The wheel, in lines; positive is up. A form goes by one field, however far the wheel was turned.
    pub(super) fn wheel(&mut self, lines: i32, size: (usize, usize)) {
        let lines = if let Self::Form(_) | Self::Dialog(_) = self { lines.signum() } else { lines };
        self.step(-isize::try_from(lines).unwrap_or(0), size);
    }

    /// Rows around what can be gone through: frame, filter, what is searched for.
    pub(super) fn rows_around(&self) -> u16 {
        match self {
            Self::Picker(_) => 3,
            Self::Pager(_) | Self::Form(_) | Self::Dialog(_) => 2,
            Self::Component(_) => 0,
            Self::RequestPage(sheet) => 2 + u16::from(sheet.search.is_some()),
        }
    }
}

/// A page that scrolls.
#[derive(Clone, Debug)]
pub struct Pager {
    pub title: &'static str,
    pub lines: Vec<PagerLine>,
    /// First row on the screen.
    pub top: usize,
    /// What its rows are searched for.
    pub filter: String,
    /// Whether letters go into the filter.
    pub filtering: bool,
    /// Its lines where nothing is searched for.
    all: Vec<PagerLine>,
    /// What it lies over; that is there again when it is closed.
    pub(super) under: Option<Box<Overlay>>,
}

impl Pager {
    /// A page of these lines.
    pub(super) fn new(title: &'static str, lines: Vec<PagerLine>) -> Self {
        Self { title, all: lines.clone(), lines, top: 0, filter: String::new(), filtering: false, under: None }
    }

    /// Has these lines from here on.
    pub(super) fn fill(&mut self, lines: Vec<PagerLine>) {
        self.all.clone_from(&lines);
        self.lines = lines;
    }

    /// What keys mean in it.
    pub(super) fn contexts(&self) -> Vec<Context> {
        vec![if self.filtering { Context::Picker } else { Context::Pager }, Context::Anywhere]
    }

    /// Takes a letter; whether it had a use for it.
    fn letter(&mut self, letter: char) -> bool {
        if self.filtering && !letter.is_control() {
            self.filter.push(letter);
            self.refilter();
        }
        self.filtering
    }

    /// Leaves the rows that hold every word of the filter, under their headings; all lines without one.
    pub(super) fn refilter(&mut self) {
        self.top = 0;
        let wanted = self.filter.to_lowercase();
        let words: Vec<&str> = wanted.split_whitespace().collect();
        if words.is_empty() {
            self.lines.clone_from(&self.all);
            return;
        }
        let mut heading: Option<&PagerLine> = None;
        let mut lines: Vec<PagerLine> = Vec::new();
        for line in &self.all {
            match line {
                PagerLine::Blank => {}
                PagerLine::Heading(_) => heading = Some(line),
                PagerLine::Row { .. } | PagerLine::Whole(_) => {
                    let seen = line.words().to_lowercase();
                    if words.iter().all(|word| seen.contains(word)) {
                        if let Some(heading) = heading.take() {
                            lines.extend((!lines.is_empty()).then_some(PagerLine::Blank));
                            lines.push(heading.clone());
                        }
                        lines.push(line.clone());
                    }
                }
            }
        }
        self.lines = lines;
    }

    /// Takes the last letter off the filter.
    pub(super) fn unwrite(&mut self) {
        let _letter = self.filter.pop();
    }

    /// Takes the filter off, if there is one.
    pub(super) fn unfilter(&mut self) -> bool {
        let filters = std::mem::take(&mut self.filtering) || !self.filter.is_empty();
        self.filter.clear();
        if filters {
            self.refilter();
        }
        filters
    }

    /// Columns of what stands on the left, in a page that is `width` wide, and of what it says there.
    #[must_use]
    pub fn columns(&self, width: usize) -> (usize, usize) {
        let lefts = self.lines.iter().map(|line| match line {
            PagerLine::Row { left, .. } => left.width(),
            PagerLine::Blank | PagerLine::Heading(_) | PagerLine::Whole(_) => 0,
        });
        let left = lefts.max().unwrap_or(0).min(width / 3).max(8);
        (left, width.saturating_sub(left + 3).max(1))
    }

    /// Its rows in a page that is `width` wide, as bytes of what a line says. What does not fit goes on in the next.
    #[must_use]
    pub fn rows(&self, width: usize) -> Vec<Row> {
        let (_, room) = self.columns(width);
        let rows = |(line, said): (usize, &PagerLine)| {
            let ends = match said {
                PagerLine::Row { text, .. } => row_ends(text, room),
                PagerLine::Blank | PagerLine::Heading(_) | PagerLine::Whole(_) => row_ends("", room),
            };
            ends.into_iter().map(move |bytes| Row { line, bytes })
        };
        self.lines.iter().enumerate().flat_map(rows).collect()
    }

    /// Scrolls by rows; the last stays at the bottom.
    pub(super) fn step(&mut self, step: isize, (width, height): (usize, usize)) {
        let last = self.rows(width).len().saturating_sub(height);
        // A page that has become wider has fewer rows.
        self.top = self.top.min(last).saturating_add_signed(step).min(last);
    }
}

/// One line of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PagerLine {
    Blank,
    Heading(String),
    /// Has the whole width; what does not fit is cut.
    Whole(String),
    /// A key or command and what it does.
    Row {
        left: String,
        text: String,
    },
}

impl PagerLine {
    /// What it says, for a search.
    fn words(&self) -> String {
        match self {
            Self::Blank => String::new(),
            Self::Heading(text) | Self::Whole(text) => text.clone(),
            Self::Row { left, text } => format!("{left} {text}"),
        }
    }
}
