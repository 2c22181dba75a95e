//! The draft: a text buffer with the keys people know from their shell, large pastes as one letter, earlier prompts.
//!
//! The buffer is [`tui_textarea::TextArea`], used for its editing and its undo; it is never drawn by that crate. A
//! large paste stands in the buffer as one letter of a private plane, so that it moves, is deleted and undone whole.

mod wrap;

pub use wrap::Row;

use crate::domain::DraftEdit;
use std::borrow::Cow;
use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

/// Pastes with more lines or letters than this become a placeholder.
const LARGE_LINES: usize = 10;
const LARGE_CHARS: usize = 2_000;

/// The letter that stands for the first large paste of a draft.
const FIRST_PASTE: u32 = 0xF_0000;
const LAST_PASTE: u32 = 0xF_FFFD;

/// A large paste, and what stands for it on the screen.
#[derive(Clone, Debug)]
struct Paste {
    text: String,
    label: String,
}

/// The draft and its cursor.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    area: TextArea<'static>,
    pastes: Vec<Paste>,
    killed: String,
    width: u16,
    rows: Vec<Row>,
    /// Column that up and down try to keep.
    wanted: Option<usize>,
    /// Counts up when what is written may have changed.
    revision: u64,
}

impl Composer {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Bytes of the draft with pastes in full.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let letter = |letter: char| self.paste_of(letter).map_or(letter.len_utf8(), |paste| paste.text.len());
        let lines = self.area.lines();
        lines.iter().map(|line| line.chars().map(letter).sum::<usize>()).sum::<usize>() + lines.len().saturating_sub(1)
    }

    /// The first letter that is no blank.
    #[must_use]
    pub fn first_letter(&self) -> Option<char> {
        let of_paste = |paste: &Paste| paste.text.chars().find(|letter| !letter.is_whitespace());
        let mut letters = self.area.lines().iter().flat_map(|line| line.chars());
        letters.find_map(|letter| match self.paste_of(letter) {
            Some(paste) => of_paste(paste),
            None => Some(letter).filter(|letter| !letter.is_whitespace()),
        })
    }

    /// The draft with pastes in full.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.bytes());
        for (index, line) in self.area.lines().iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            for letter in line.chars() {
                match self.paste_of(letter) {
                    Some(paste) => text.push_str(&paste.text),
                    None => text.push(letter),
                }
            }
        }
        text
    }

    /// The first line as it stands in the buffer.
    #[must_use]
    pub fn first_line(&self) -> &str {
        self.area.lines().first().map_or("", String::as_str)
    }

    /// Whether the draft is one line with the cursor at its end.
    #[must_use]
    pub fn ends_first_line(&self) -> bool {
        self.area.lines().len() == 1 && self.cursor().1 == self.first_line().chars().count()
    }

    /// Line and letter of the cursor.
    #[must_use]
    pub fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    /// The rows of the wrapped draft.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len().max(1)
    }

    /// Row and column of the cursor on the wrapped draft.
    #[must_use]
    pub fn caret(&self) -> (usize, u16) {
        let (line, letter) = self.cursor();
        let found = self.rows.iter().rposition(|row| row.line == line && row.start <= letter).unwrap_or_default();
        let Some(row) = self.rows.get(found) else { return (0, 0) };
        let before = self.letters(line, row.start, letter);
        (found, u16::try_from(self.columns(before)).unwrap_or(u16::MAX))
    }

    /// Columns it was wrapped for.
    #[must_use]
    pub fn width(&self) -> u16 {
        self.width
    }

    pub(super) fn letter_before(&self, line: usize, letter: usize) -> Option<char> {
        self.letters(line, letter.checked_sub(1)?, letter).chars().next()
    }

    /// What stands between the last blank and the cursor; none where that is nothing.
    pub(super) fn word_before_cursor(&self) -> Option<&str> {
        let (line, letter) = self.cursor();
        let word = self.letters(line, 0, letter).rsplit(char::is_whitespace).next()?;
        (!word.is_empty()).then_some(word)
    }

    /// Puts a text in the place of the letters before the cursor.
    pub(super) fn replace_before(&mut self, letters: usize, text: &str) {
        let (line, letter) = self.cursor();
        self.jump(line, letter.saturating_sub(letters));
        drop_unused(self.area.delete_str(letters));
        self.area.insert_str(text);
        self.edited();
    }

    /// Changes a part of the draft, in one step that can be undone; places are letters of [`Self::raw`].
    pub(super) fn edit(&mut self, edit: &DraftEdit) {
        let place = |letters: usize, lines: &[String]| {
            let mut left = letters;
            for (number, line) in lines.iter().enumerate() {
                let long = line.chars().count();
                if left <= long {
                    return (number, left);
                }
                left -= long + 1;
            }
            (lines.len().saturating_sub(1), lines.last().map_or(0, |line| line.chars().count()))
        };
        let (line, letter) = place(edit.from, self.area.lines());
        self.jump(line, letter);
        self.area.start_selection();
        let (line, letter) = place(edit.to, self.area.lines());
        self.jump(line, letter);
        // Drops what is selected, as it does with an empty text too.
        self.area.insert_str(cleaned(&edit.text));
        self.area.cancel_selection();
        let (line, letter) = place(edit.cursor, self.area.lines());
        self.jump(line, letter);
        self.edited();
    }

    /// Gives `put` what row `row` shows, in pieces: text, and whether it stands for a paste.
    pub fn draw_row(&self, row: usize, mut put: impl FnMut(&str, bool)) {
        let Some(row) = self.rows.get(row) else { return };
        let text = self.letters(row.line, row.start, row.end);
        let mut plain = 0;
        for (at, letter) in text.char_indices() {
            if let Some(paste) = self.paste_of(letter) {
                put(text.get(plain..at).unwrap_or_default(), false);
                put(&paste.label, true);
                plain = at + letter.len_utf8();
            }
        }
        put(text.get(plain..).unwrap_or_default(), false);
    }

    /// Wraps the draft anew after a change or for another width.
    pub fn wrap(&mut self, width: u16) {
        self.width = width;
        let rows = wrap::rows(self.area.lines(), usize::from(width), |letter| {
            self.paste_of(letter).map(|paste| paste.label.len())
        });
        self.rows = rows;
    }

    /// Another one when what is written may be something else.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    fn edited(&mut self) {
        self.wanted = None;
        self.revision += 1;
        self.wrap(self.width);
    }

    pub(super) fn type_letter(&mut self, letter: char) {
        if is_plain(letter) && letter != '\n' {
            self.area.insert_char(letter);
            self.edited();
        }
    }

    pub(super) fn newline(&mut self) {
        self.area.insert_newline();
        self.edited();
    }

    /// Puts a paste in whole: newlines as they are in Unix files, control letters left out.
    pub(super) fn paste(&mut self, text: &str) {
        let text = cleaned(text);
        let large = text.chars().nth(LARGE_CHARS).is_some() || text.matches('\n').nth(LARGE_LINES - 1).is_some();
        if large && let Some(letter) = self.free_letter() {
            self.pastes.push(Paste { label: label(&text), text: text.into_owned() });
            self.area.insert_char(letter);
        } else if !text.is_empty() {
            self.area.insert_str(&text);
        }
        self.edited();
    }

    /// The letter that stands for the next large paste.
    fn free_letter(&self) -> Option<char> {
        let number = u32::try_from(self.pastes.len()).ok()?;
        char::from_u32(FIRST_PASTE + number).filter(|letter| u32::from(*letter) <= LAST_PASTE)
    }

    fn paste_of(&self, letter: char) -> Option<&Paste> {
        let number = u32::from(letter).checked_sub(FIRST_PASTE)?;
        self.pastes.get(usize::try_from(number).ok()?)
    }

    /// Empties the draft and gives its text.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        self.area = TextArea::default();
        self.pastes = Vec::new();
        self.edited();
        text
    }

    /// Replaces the draft; the cursor goes to its end.
    pub(super) fn set(&mut self, text: &str) {
        let text = cleaned(text);
        self.area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        self.go_to_end();
        self.edited();
    }

    /// The same as one step of the person's, which can be undone.
    pub(super) fn replace(&mut self, text: &str) {
        self.area.select_all();
        self.area.insert_str(cleaned(text));
        self.area.cancel_selection();
        self.go_to_end();
        self.edited();
    }

    /// Puts a text back that could not be sent, before what was written meanwhile.
    pub(super) fn put_back(&mut self, text: &str) {
        if self.is_empty() {
            self.paste(text);
            return;
        }
        self.area.move_cursor(CursorMove::Jump(0, 0));
        self.paste(text);
        self.area.insert_newline();
        self.go_to_end();
        self.edited();
    }

    fn go_to_end(&mut self) {
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// The buffer as it stands, for coming back to it from the history.
    pub(super) fn raw(&self) -> String {
        self.area.lines().join("\n")
    }

    pub(super) fn set_raw(&mut self, raw: &str) {
        self.area = TextArea::new(raw.split('\n').map(str::to_owned).collect());
        self.go_to_end();
        self.edited();
    }

    pub(super) fn backspace(&mut self) {
        for _ in 0..self.grapheme_before().max(1) {
            self.area.delete_char();
        }
        self.edited();
    }

    pub(super) fn delete(&mut self) {
        match self.grapheme_after() {
            0 => drop_unused(self.area.delete_next_char()),
            letters => drop_unused(self.area.delete_str(letters)),
        }
        self.edited();
    }

    pub(super) fn left(&mut self) {
        match self.grapheme_before() {
            0 => self.area.move_cursor(CursorMove::Back),
            letters => self.jump(self.cursor().0, self.cursor().1 - letters),
        }
        self.wanted = None;
    }

    pub(super) fn right(&mut self) {
        match self.grapheme_after() {
            0 => self.area.move_cursor(CursorMove::Forward),
            letters => self.jump(self.cursor().0, self.cursor().1 + letters),
        }
        self.wanted = None;
    }

    pub(super) fn word_left(&mut self) {
        self.area.move_cursor(CursorMove::WordBack);
        self.wanted = None;
    }

    pub(super) fn word_right(&mut self) {
        self.area.move_cursor(CursorMove::WordForward);
        self.wanted = None;
    }

    pub(super) fn line_start(&mut self) {
        self.area.move_cursor(CursorMove::Head);
        self.wanted = None;
    }

    pub(super) fn line_end(&mut self) {
        self.area.move_cursor(CursorMove::End);
        self.wanted = None;
    }

    /// One row up on the wrapped draft; false on the first.
    pub(super) fn up(&mut self) -> bool {
        self.vertical(|row| row.checked_sub(1))
    }

    /// One row down; false on the last.
    pub(super) fn down(&mut self) -> bool {
        let last = self.rows() - 1;
        self.vertical(|row| (row < last).then_some(row + 1))
    }

    fn vertical(&mut self, step: impl Fn(usize) -> Option<usize>) -> bool {
        let (row, column) = self.caret();
        let wanted = self.wanted.unwrap_or(usize::from(column));
        let Some(target) = step(row).and_then(|row| self.rows.get(row)).cloned() else { return false };
        let text = self.letters(target.line, target.start, target.end);
        let mut letter = target.start;
        let mut at = 0;
        for grapheme in text.graphemes(true) {
            let next = at + self.columns(grapheme);
            if next > wanted {
                break;
            }
            at = next;
            letter += grapheme.chars().count();
        }
        // The end of a row that goes on is the start of the next one.
        let goes_on = self.rows.iter().any(|row| row.line == target.line && row.start == target.end);
        if goes_on && letter == target.end && letter > target.start {
            letter -= 1;
        }
        self.jump(target.line, letter);
        self.wanted = Some(wanted);
        true
    }

    pub(super) fn delete_word_back(&mut self) {
        self.kill(TextArea::delete_word);
    }

    pub(super) fn delete_word(&mut self) {
        self.kill(TextArea::delete_next_word);
    }

    pub(super) fn delete_to_start(&mut self) {
        self.kill(TextArea::delete_line_by_head);
    }

    pub(super) fn delete_to_end(&mut self) {
        self.kill(TextArea::delete_line_by_end);
    }

    fn kill(&mut self, delete: impl Fn(&mut TextArea<'static>) -> bool) {
        self.area.set_yank_text("");
        delete(&mut self.area);
        let killed = self.area.yank_text();
        if !killed.is_empty() {
            self.killed = killed;
        }
        self.edited();
    }

    pub(super) fn yank(&mut self) {
        if !self.killed.is_empty() {
            self.area.insert_str(&self.killed);
            self.edited();
        }
    }

    pub(super) fn undo(&mut self) {
        self.area.undo();
        self.edited();
    }

    pub(super) fn redo(&mut self) {
        self.area.redo();
        self.edited();
    }

    fn jump(&mut self, line: usize, letter: usize) {
        let narrow = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(narrow(line), narrow(letter)));
    }

    /// Letters of the grapheme before the cursor in its line.
    fn grapheme_before(&self) -> usize {
        let (line, letter) = self.cursor();
        self.letters(line, 0, letter).graphemes(true).next_back().map_or(0, |grapheme| grapheme.chars().count())
    }

    fn grapheme_after(&self) -> usize {
        let (line, letter) = self.cursor();
        self.letters(line, letter, usize::MAX).graphemes(true).next().map_or(0, |grapheme| grapheme.chars().count())
    }

    /// Letters `start..end` of a line.
    fn letters(&self, line: usize, start: usize, end: usize) -> &str {
        let Some(text) = self.area.lines().get(line) else { return "" };
        if text.is_ascii() {
            return text.get(start.min(text.len())..end.min(text.len())).unwrap_or_default();
        }
        let mut places = text.char_indices().map(|(at, _)| at);
        let from = places.by_ref().nth(start).unwrap_or(text.len());
        let to = if end <= start { Some(from) } else { places.nth(end - start - 1) };
        text.get(from..to.unwrap_or(text.len())).unwrap_or_default()
    }

    fn columns(&self, text: &str) -> usize {
        wrap::columns(text, |letter| self.paste_of(letter).map(|paste| paste.label.len()))
    }
}

/// What stands for a paste on the screen, each letter one column.
fn label(paste: &str) -> String {
    match paste.lines().count() {
        0 | 1 => format!("[pasted {} letters]", paste.chars().count()),
        lines => format!("[pasted {lines} lines]"),
    }
}

/// Whether a letter may stand in a draft.
fn is_plain(letter: char) -> bool {
    let private = (FIRST_PASTE..=LAST_PASTE).contains(&u32::from(letter));
    !private && (!letter.is_control() || matches!(letter, '\n' | '\t'))
}

/// A pasted text as it may stand in a draft.
fn cleaned(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let unix = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(without_sequences(&unix).chars().filter(|letter| is_plain(*letter)).collect())
}

/// Text without what a terminal takes for commands: colours of copied output, reports that came in between.
fn without_sequences(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let end = match behind.as_bytes().first() {
            Some(b'[') => {
                behind.get(1..).and_then(|inside| inside.find(|letter| ('@'..='~').contains(&letter))).map(|at| at + 2)
            }
            Some(b']') => {
                behind.find(['\u{7}', '\u{1b}']).map(|at| at + usize::from(behind.as_bytes().get(at) == Some(&7)))
            }
            _ => Some(0),
        };
        // One without an end takes nothing along.
        rest = end.and_then(|end| behind.get(end..)).unwrap_or(behind);
    }
    plain.push_str(rest);
    plain
}

/// The buffer tells whether something changed; the draft is wrapped anew either way.
fn drop_unused(_changed: bool) {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_paste_loses_what_a_terminal_takes_for_commands() {
        for (pasted, text) in [
            ("\u{1b}[1;31mred\u{1b}[0m text", "red text"),
            ("a\u{1b}[I\u{1b}[<35;150;7Mb", "ab"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\!", "link\\!"),
            ("half \u{1b}[12", "half [12"),
            ("\u{1b}\u{1b}(B", "(B"),
            ("tab\there\r\nand", "tab\there\nand"),
        ] {
            assert_eq!(cleaned(pasted), text, "{pasted:?}");
        }
    }

    fn composer(text: &str) -> Composer {
        let mut composer = Composer::default();
        composer.wrap(20);
        composer.paste(text);
        composer
    }

    fn shown(composer: &Composer) -> Vec<String> {
        let mut rows = Vec::new();
        for row in 0..composer.rows() {
            let mut text = String::new();
            composer.draw_row(row, |piece, _| text.push_str(piece));
            rows.push(text);
        }
        rows
    }

    #[test]
    fn a_paste_is_cleaned_and_kept_whole() {
        let composer = composer("one\r\ntwo\rthree\u{1b}[31m\u{7}\u{F0000}");
        assert_eq!(composer.text(), "one\ntwo\nthree");
    }

    #[test]
    fn a_large_paste_is_one_letter() {
        let text = vec!["line"; 120].join("\n");
        let mut composer = composer("see ");
        composer.paste(&text);
        assert_eq!(shown(&composer), ["see ", "[pasted 120 lines]"]);
        assert_eq!(composer.text(), format!("see {text}"));
        assert_eq!((composer.bytes(), composer.first_letter()), (composer.text().len(), Some('s')));
        composer.left();
        assert_eq!(composer.cursor(), (0, 4));
        composer.right();
        composer.backspace();
        assert_eq!(composer.text(), "see ");
        composer.undo();
        assert_eq!(composer.text(), format!("see {text}"));
    }

    #[test]
    fn graphemes_are_deleted_whole() {
        let mut composer = composer("a👩‍👩‍👧e\u{301}");
        composer.backspace();
        assert_eq!(composer.text(), "a👩‍👩‍👧");
        composer.left();
        assert_eq!(composer.caret(), (0, 1));
        composer.delete();
        assert_eq!(composer.text(), "a");
    }

    #[test]
    fn up_and_down_go_by_wrapped_rows() {
        let mut composer = composer("the quick brown fox jumps over");
        assert_eq!(shown(&composer), ["the quick brown ", "fox jumps over"]);
        assert_eq!(composer.caret(), (1, 14));
        assert!(composer.up());
        assert_eq!(composer.caret(), (0, 14));
        assert!(!composer.up());
        assert!(composer.down());
        assert_eq!(composer.caret(), (1, 14));
        assert!(!composer.down());
    }

    #[test]
    fn what_was_killed_comes_back() {
        let mut composer = composer("first second");
        composer.delete_word_back();
        composer.delete_to_start();
        composer.yank();
        composer.yank();
        assert_eq!(composer.text(), "first first ");
    }

    #[test]
    fn a_text_put_back_stands_before_what_was_written_since() {
        let mut composer = composer("new");
        composer.put_back("old");
        assert_eq!(composer.text(), "old\nnew");
        assert_eq!(composer.cursor(), (1, 3));
    }

    #[test]
    fn letters_that_are_joined_wrongly_take_no_more_than_two_columns() {
        let mut composer = Composer::default();
        composer.wrap(3);
        composer.paste("👩\u{301}\u{200d}👩");
        assert_eq!(composer.caret(), (0, 2));
    }

    proptest! {
        #[test]
        fn the_caret_stays_in_view_whatever_is_done(width in 3u16..12, steps in prop::collection::vec((0..12u8, "[a 漢e\u{301}👩\u{200d}\n]{0,8}"), 0..30)) {
            let mut composer = Composer::default();
            composer.wrap(width);
            for (step, text) in steps {
                match step {
                    0 => composer.left(),
                    1 => composer.right(),
                    2 => drop_unused(composer.up()),
                    3 => drop_unused(composer.down()),
                    4 => composer.backspace(),
                    5 => composer.delete(),
                    6 => composer.delete_word_back(),
                    7 => composer.newline(),
                    8 => composer.undo(),
                    9 => composer.word_right(),
                    _ => composer.paste(&text),
                }
                let (row, column) = composer.caret();
                prop_assert!(row < composer.rows());
                prop_assert!(column <= width, "caret at {column} of {width}: {:?}", composer.text());
            }
        }
    }
}
