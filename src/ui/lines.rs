//! Rendered rows, small: one text, runs of one ink, ends of rows. No row is wider than it was made for.

use super::theme::{Emphasis, Role};
use super::wrap::Graphemes;
use std::ops::Range;

/// How a run of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ink {
    pub(super) role: Role,
    pub(super) emphasis: Emphasis,
    /// The link it is part of, by its number in the text it stands in; 0 is none.
    pub(super) link: u16,
}

impl From<Role> for Ink {
    fn from(role: Role) -> Self {
        Self { role, emphasis: Emphasis::default(), link: 0 }
    }
}

/// `length` bytes of one ink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    length: u16,
    ink: Ink,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowEnd {
    text: u32,
    run: u32,
    /// Bytes before its text: indents and marks.
    lead: u16,
    end: End,
}

/// Why a row ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Line,
    /// It was full: the text goes on in the next row, and where a blank is left out.
    Within,
    AtBlank,
}

/// Rows of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    text: String,
    runs: Vec<Run>,
    rows: Vec<RowEnd>,
    links: Links,
    /// Bytes before the text of the row being written.
    lead: u16,
}

/// Where the links of a text lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links(Vec<Box<str>>);

impl Links {
    /// The number of a link, which is never 0; more than there are numbers are none.
    pub(super) fn number(&mut self, target: &str) -> u16 {
        let place = self.0.iter().rposition(|known| **known == *target).unwrap_or_else(|| {
            self.0.push(target.into());
            self.0.len() - 1
        });
        u16::try_from(place + 1).unwrap_or(0)
    }

    /// Where a link leads.
    pub(super) fn target(&self, link: u16) -> Option<&str> {
        self.0.get(usize::from(link).checked_sub(1)?).map(|target| &**target)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Lines {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        let links: usize = self.links.0.iter().map(|target| target.len() + size_of::<Box<str>>()).sum();
        self.text.capacity()
            + self.runs.capacity() * size_of::<Run>()
            + self.rows.capacity() * size_of::<RowEnd>()
            + links
    }

    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.runs.shrink_to_fit();
        self.rows.shrink_to_fit();
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
        self.rows.clear();
        self.links.clear();
    }

    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    /// Where a link leads.
    pub(super) fn target(&self, link: u16) -> Option<&str> {
        self.links.target(link)
    }

    /// Adds text whose link is numbered in `links`.
    pub(super) fn put_from(&mut self, links: &Links, text: &str, ink: Ink) {
        let own = links.target(ink.link).map_or(0, |target| self.links.number(target));
        self.put(text, Ink { link: own, ..ink });
    }

    /// Adds text to the row being written.
    pub(super) fn put(&mut self, text: &str, ink: Ink) {
        if text.is_empty() {
            return;
        }
        let row_start = self.rows.last().map_or(0, |end| end.run as usize);
        // A row has at most a few hundred columns and a grapheme few bytes, so this never cuts.
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        let Some(text) = text.get(..usize::from(length)) else { return };
        let begun = self.runs.len() > row_start;
        let longer =
            self.runs.last().filter(|run| begun && run.ink == ink).and_then(|run| run.length.checked_add(length));
        match (longer, self.runs.last_mut()) {
            (Some(longer), Some(run)) => run.length = longer,
            _ => self.runs.push(Run { length, ink }),
        }
        self.text.push_str(text);
    }

    pub(super) fn end_row(&mut self) {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let lead = std::mem::take(&mut self.lead);
        self.rows.push(RowEnd { text: narrow(self.text.len()), run: narrow(self.runs.len()), lead, end: End::Line });
    }

    /// What stands in the row being written is no text: that begins now.
    pub(super) fn begin_text(&mut self) {
        let start = self.rows.last().map_or(0, |end| end.text as usize);
        self.lead = u16::try_from(self.text.len() - start).unwrap_or(u16::MAX);
    }

    /// The row that ended last goes on in the next one; whether a blank between them is left out.
    pub(super) fn go_on(&mut self, at_blank: bool) {
        if let Some(last) = self.rows.last_mut() {
            last.end = if at_blank { End::AtBlank } else { End::Within };
        }
    }

    /// Adds the text of a row between two columns, as it was written, and what separates it from the next row. Indents
    /// and the marks of quotes are left out, and with them whatever stands before a row that goes on from the last.
    pub(super) fn copy_text(&self, row: usize, columns: Range<usize>, text: &mut String) {
        let Some(end) = self.rows.get(row) else { return };
        let goes_on =
            row.checked_sub(1).and_then(|before| self.rows.get(before)).is_some_and(|row| row.end != End::Line);
        let whole: String = self.row(row).map(|(piece, _)| piece).collect();
        let lead = usize::from(end.lead);
        let marks = whole.get(..lead).unwrap_or_default();
        let skipped = if goes_on || marks.chars().all(|letter| matches!(letter, ' ' | '│')) { lead } else { 0 };
        let (mut column, mut at) = (0, 0);
        let before = text.len();
        for (grapheme, wide) in Graphemes::of(&whole) {
            // Of a wide letter one of its cells is enough.
            let next = column + wide;
            if column < columns.end && columns.start < next.max(column + 1) && at >= skipped {
                text.push_str(grapheme);
            }
            column = next;
            at += grapheme.len();
        }
        match end.end {
            End::Line => {
                let kept = text.trim_end_matches(' ').len().max(before);
                text.truncate(kept);
                text.push('\n');
            }
            End::Within => {}
            End::AtBlank => text.push(' '),
        }
    }

    /// The runs of a row.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (&str, Ink)> {
        let start = match row.checked_sub(1) {
            Some(before) => self.rows.get(before).copied(),
            None => Some(RowEnd::default()),
        };
        let (start, end) = start.zip(self.rows.get(row).copied()).unwrap_or_default();
        let mut at = start.text as usize;
        let runs = self.runs.get(start.run as usize..end.run as usize).unwrap_or_default();
        runs.iter().map(move |run| {
            let from = at;
            at += usize::from(run.length);
            (self.text.get(from..at).unwrap_or_default(), run.ink)
        })
    }

    /// Adds a row of another as a row of its own.
    pub(super) fn copy_row(&mut self, other: &Self, row: usize) {
        self.put_row(other, row);
        self.end_row();
        if let Some((own, theirs)) = self.rows.last_mut().zip(other.rows.get(row)) {
            (own.lead, own.end) = (theirs.lead, theirs.end);
        }
    }

    /// Adds another's row to the row being written.
    fn put_row(&mut self, other: &Self, row: usize) {
        for (text, ink) in other.row(row) {
            self.put_from(&other.links, text, ink);
        }
    }

    /// Adds all rows of another.
    pub(super) fn append(&mut self, other: &Self) {
        for row in 0..other.len() {
            self.copy_row(other, row);
        }
    }

    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<String> {
        (0..self.len()).map(|row| self.row(row).map(|(text, _)| text).collect()).collect()
    }
}
