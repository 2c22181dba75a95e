//! Wrapping by what a terminal shows: between words, long words between graphemes, never wider than asked.

use super::glyphs::harmless;
use super::lines::{Ink, Lines, Links};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Longest grapheme that is shown as it is; more combining marks than this are an attack on the eyes.
const LONGEST_GRAPHEME: usize = 48;

/// Running text before it is wrapped. A `\n` in it ends a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Inline {
    text: String,
    /// Where each ink ends.
    inks: Vec<(usize, Ink)>,
    links: Links,
}

impl Inline {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.inks.clear();
        self.links.clear();
    }

    /// The number of a link, for the ink of its text.
    pub(super) fn link(&mut self, target: &str) -> u16 {
        self.links.number(target)
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text from a byte on.
    pub(super) fn since(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Takes line ends and blanks off the end.
    pub(super) fn trim_end(&mut self) {
        let end = self.text.trim_end_matches(['\n', ' ']).len();
        self.text.truncate(end);
        while self.inks.last().is_some_and(|(last, _)| *last > end) {
            let before = self.inks.len().checked_sub(2).and_then(|index| self.inks.get(index)).map_or(0, |(at, _)| *at);
            if before >= end {
                self.inks.pop();
            } else if let Some((last, _)) = self.inks.last_mut() {
                *last = end;
            }
        }
    }

    /// Adds text; whatever a terminal would obey is made visible first.
    pub(super) fn put(&mut self, text: &str, ink: impl Into<Ink>) {
        let ink = ink.into();
        self.text.push_str(&harmless(text));
        let end = self.text.len();
        match self.inks.last_mut() {
            Some((last, known)) if *known == ink => *last = end,
            _ => self.inks.push((end, ink)),
        }
    }

    /// Adds text with its line ends.
    pub(super) fn put_lines(&mut self, text: &str, ink: impl Into<Ink>) {
        let ink = ink.into();
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.end_line();
            }
            self.put(line.strip_suffix('\r').unwrap_or(line), ink);
        }
    }

    pub(super) fn end_line(&mut self) {
        self.text.push('\n');
        let end = self.text.len();
        if let Some((last, _)) = self.inks.last_mut() {
            *last = end;
        } else {
            self.inks.push((end, Ink::default()));
        }
    }

    /// Columns of the widest line without wrapping.
    pub(super) fn columns(&self) -> usize {
        self.text.split('\n').map(columns).max().unwrap_or(0)
    }

    /// Writes it into rows of at most `width` columns. `begin` writes what stands before each row.
    pub(super) fn wrap(&self, width: usize, at: Breaks, lines: &mut Lines, mut begin: impl FnMut(&mut Lines)) {
        let mut writer = Writer { inline: self, ink: 0 };
        let mut line_start = 0;
        for line in self.text.split('\n') {
            let end = line_start + line.len();
            let mut ended: Option<usize> = None;
            for_rows(line, width.max(1), at, |from, to| {
                if let Some(before) = ended.replace(to) {
                    lines.go_on(from > before);
                }
                begin(lines);
                lines.begin_text();
                writer.row(line_start + from, line_start + to, width, lines);
            });
            line_start = end + 1;
        }
    }
}

/// Where rows may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    /// Between words; blanks there are dropped.
    Words,
    /// Anywhere; nothing is dropped.
    Letters,
}

/// Columns a terminal needs for `text`.
pub(super) fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { Graphemes::of(text).map(|(_, wide)| wide).sum() }
}

/// The graphemes of a text with the columns of each.
///
/// Between two letters of which neither joins any other there is always an end of a grapheme, so nothing has to be looked up
/// for them: what is drawn with lines, most of Europe's letters, and ideographs.
pub(super) struct Graphemes<'text> {
    rest: &'text str,
}

impl<'text> Graphemes<'text> {
    pub(super) fn of(text: &'text str) -> Self {
        Self { rest: text }
    }
}

impl<'text> Iterator for Graphemes<'text> {
    type Item = (&'text str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let mut letters = self.rest.chars();
        let alone = columns_alone(letters.next()?);
        let end = self.rest.len() - letters.as_str().len();
        let followed = letters.next().is_none_or(|letter| columns_alone(letter).is_some());
        let alone = alone.filter(|_| followed);
        let end = if alone.is_some() { end } else { self.rest.graphemes(true).next()?.len() };
        let (grapheme, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some((grapheme, alone.unwrap_or_else(|| grapheme_columns(grapheme))))
    }
}

/// The columns of a letter that is a grapheme of its own between others of its kind; none for those of which that is not
/// known here.
fn columns_alone(letter: char) -> Option<usize> {
    match letter {
        ' '..='~' | '·' | 'À'..='ʯ' | 'А'..='я' | '‐'..='‧' | '─'..='▟' => Some(1),
        'ぁ'..='ゖ' | 'ァ'..='ヺ' | '一'..='鿿' | '가'..='힣' => Some(2),
        _ => None,
    }
}

/// Columns of a grapheme as it is drawn.
pub(super) fn grapheme_columns(grapheme: &str) -> usize {
    if grapheme.len() > LONGEST_GRAPHEME { 1 } else { grapheme.width().min(2) }
}

/// Calls `row` with the ends of each row of a line.
fn for_rows(line: &str, width: usize, breaks: Breaks, mut row: impl FnMut(usize, usize)) {
    if line.len() <= width && line.is_ascii() {
        row(0, line.len());
        return;
    }
    let mut rows = Rows { start: 0, used: 0, blank: None, width, breaks };
    if line.is_ascii() {
        for (at, byte) in line.bytes().enumerate() {
            rows.step(at, at + 1, 1, byte == b' ', &mut row);
        }
    } else {
        let mut at = 0;
        for (grapheme, wide) in Graphemes::of(line) {
            rows.step(at, at + grapheme.len(), wide.min(width), grapheme == " ", &mut row);
            at += grapheme.len();
        }
    }
    row(rows.start, line.len());
}

/// One line on its way into rows.
struct Rows {
    start: usize,
    used: usize,
    /// The last place to break: end of the row, start of the next, columns up to there.
    blank: Option<(usize, usize, usize)>,
    width: usize,
    breaks: Breaks,
}

impl Rows {
    fn step(&mut self, at: usize, end: usize, wide: usize, is_blank: bool, row: &mut impl FnMut(usize, usize)) {
        let words = self.breaks == Breaks::Words;
        // A blank that does not fit is where the row ends.
        if self.used + wide > self.width && !(words && is_blank) {
            let blank = self.blank.take().filter(|(row_end, _, _)| words && *row_end > self.start);
            let (row_end, next, columns) = blank.unwrap_or((at, at, self.used));
            row(self.start, row_end);
            self.start = next;
            self.used -= columns;
            if self.used + wide > self.width {
                row(self.start, at);
                self.start = at;
                self.used = 0;
            }
        }
        self.used += wide;
        if is_blank && words {
            let row_end = match self.blank {
                // Several blanks in a row are one place to break.
                Some((row_end, next, _)) if next == at => row_end,
                _ => at,
            };
            self.blank = Some((row_end, end, self.used));
        }
    }
}

struct Writer<'inline> {
    inline: &'inline Inline,
    /// The ink at hand; rows come in order.
    ink: usize,
}

impl Writer<'_> {
    fn row(&mut self, from: usize, to: usize, width: usize, lines: &mut Lines) {
        let mut at = from;
        // Blanks that hang over the edge are not drawn.
        let mut left = width;
        while at < to {
            while self.inline.inks.get(self.ink).is_some_and(|(end, _)| *end <= at) {
                self.ink += 1;
            }
            let Some((end, ink)) = self.inline.inks.get(self.ink).copied() else { break };
            let end = end.min(to);
            let text = self.inline.text.get(at..end).unwrap_or_default();
            left -= put_within(text, |text| lines.put_from(&self.inline.links, text, ink), left);
            at = end;
        }
        lines.end_row();
    }
}

/// Writes as much as fits and tells its columns. Graphemes without columns are left out, monsters become a mark.
fn put_within(text: &str, mut put: impl FnMut(&str), width: usize) -> usize {
    if text.is_ascii() {
        let fits = text.len().min(width);
        put(text.get(..fits).unwrap_or_default());
        return fits;
    }
    let mut used = 0;
    for (grapheme, wide) in Graphemes::of(text) {
        if used + wide > width {
            break;
        }
        used += wide;
        if grapheme.len() > LONGEST_GRAPHEME {
            put("\u{FFFD}");
        } else if wide > 0 {
            put(grapheme);
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::theme::Role;
    use proptest::prelude::*;

    fn wrapped(text: &str, width: usize, breaks: Breaks) -> Vec<String> {
        let mut inline = Inline::default();
        inline.put_lines(text, Role::Text);
        let mut lines = Lines::default();
        inline.wrap(width, breaks, &mut lines, |_| {});
        lines.texts()
    }

    #[test]
    fn rows_end_between_words() {
        assert_eq!(wrapped("the quick brown fox", 10, Breaks::Words), ["the quick", "brown fox"]);
        assert_eq!(wrapped("the quick  brown", 9, Breaks::Words), ["the quick", "brown"]);
        assert_eq!(wrapped("a\n\nb", 9, Breaks::Words), ["a", "", "b"]);
        assert_eq!(wrapped("abcdefghij kl", 4, Breaks::Words), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrapped("let a  = 1;", 6, Breaks::Letters), ["let a ", " = 1;"]);
    }

    #[test]
    fn wide_letters_are_not_cut() {
        assert_eq!(wrapped("漢字漢字", 5, Breaks::Words), ["漢字", "漢字"]);
        assert_eq!(wrapped("a👩\u{200d}👩\u{200d}👧b", 3, Breaks::Words), ["a👩\u{200d}👩\u{200d}👧", "b"]);
        assert_eq!(wrapped("e\u{301}e\u{301}e\u{301}", 2, Breaks::Words), ["e\u{301}e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn letters_that_stand_alone_do() {
        let alone = ('\0'..=char::MAX).filter_map(|letter| Some((letter, columns_alone(letter)?)));
        let mut before = ' ';
        for (letter, wide) in alone {
            let text = format!("{before}{letter}");
            assert_eq!(text.graphemes(true).count(), 2, "{text:?}");
            assert_eq!(grapheme_columns(letter.encode_utf8(&mut [0; 4])), wide, "{letter:?}");
            before = letter;
        }
    }

    proptest! {
        #[test]
        fn graphemes_are_those_of_unicode(
            text in "[ -~·À-ʯА-я‐-‧─-▟ぁ-ゖァ-ヺ一-鿿가-힣\u{300}-\u{36F}\u{1100}-\u{11FF}\u{3099}👩\u{200D}\u{FE0F}🇩🇪\r\n]{0,40}",
        ) {
            let found: Vec<_> = Graphemes::of(&text).collect();
            let expected: Vec<_> = text.graphemes(true).map(|one| (one, grapheme_columns(one))).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn no_row_is_wider_than_asked(text in "[a-c 漢e\u{301}👩\u{200d}\u{1b}\n🇩🇪]{0,60}", width in 2usize..12, letters: bool) {
            let breaks = if letters { Breaks::Letters } else { Breaks::Words };
            for row in wrapped(&text, width, breaks) {
                prop_assert!(columns(&row) <= width, "{row:?}");
                prop_assert!(!row.contains(char::is_control));
            }
        }
    }
}
