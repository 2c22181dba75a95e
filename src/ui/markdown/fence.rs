//! Fenced code blocks, line by line, so that an open one costs only its new lines.

use crate::ui::lines::Lines;
use crate::ui::theme::Role;
use crate::ui::wrap::{Breaks, Inline};

/// Columns before code.
const INDENT: &str = "  ";

/// How an open code block began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    letter: char,
    length: usize,
    pub(super) indent: u8,
}

impl Fence {
    /// The fence that a text's first line opens, and that line's length. The line must be whole.
    pub(super) fn opens(text: &str) -> Option<(Self, usize)> {
        let length = text.find('\n').map_or(text.len(), |end| end + 1);
        let line = text.get(..length)?;
        let bare = line.trim_start_matches(' ');
        let indent = u8::try_from(line.len() - bare.len()).ok().filter(|indent| *indent <= 3)?;
        let letter = bare.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
        let after = bare.trim_start_matches(letter);
        let count = bare.len() - after.len();
        if count < 3 || (letter == '`' && after.contains('`')) {
            return None;
        }
        Some((Self { letter, length: count, indent }, length))
    }

    /// Whether this line ends the block.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        self.matches(line).is_some_and(|count| count >= self.length)
    }

    /// Whether a line that is not whole yet may become the one that ends the block.
    pub(super) fn may_close(&self, line: &str) -> bool {
        self.matches(line).is_some()
    }

    /// How many fence letters a line has that has nothing else.
    fn matches(&self, line: &str) -> Option<usize> {
        let bare = line.trim_start_matches(' ');
        if line.len() - bare.len() > 3 {
            return None;
        }
        let after = bare.trim_start_matches(self.letter);
        after.trim_matches([' ', '\t', '\r', '\n']).is_empty().then_some(bare.len() - after.len())
    }
}

/// The row that names the language, if one is named.
pub(super) fn start_rows(line: &str, width: usize) -> Lines {
    let info = line.trim().trim_start_matches(['`', '~']).trim();
    let mut lines = Lines::default();
    if let Some(language) = info.split_whitespace().next() {
        language_row(language, width, &mut lines, |_| {});
    }
    lines
}

/// Writes the row above a code block.
pub(super) fn language_row(language: &str, width: usize, lines: &mut Lines, begin: impl FnMut(&mut Lines)) {
    let mut inline = Inline::default();
    inline.put(INDENT, Role::MarkdownCodeLanguage);
    inline.put(language, Role::MarkdownCodeLanguage);
    inline.wrap(width, Breaks::Letters, lines, begin);
}

/// Rows of whole code lines; `indent` blanks are taken off each, as the fence had them.
pub(super) fn code_rows(source: &str, indent: u8, width: usize) -> Lines {
    let mut lines = Lines::default();
    write_code(source, indent, width, &mut lines, |_| {});
    lines
}

/// Writes code lines with whatever `begin` puts before each row.
pub(super) fn write_code(source: &str, indent: u8, width: usize, lines: &mut Lines, mut begin: impl FnMut(&mut Lines)) {
    let room = width > INDENT.len() + 6;
    let width = if room { width - INDENT.len() } else { width };
    let mut inline = Inline::default();
    for line in source.split_inclusive('\n') {
        let line = line.trim_end_matches(['\n', '\r']);
        let blanks = line.bytes().take(usize::from(indent)).take_while(|byte| *byte == b' ').count();
        inline.clear();
        inline.put(line.get(blanks..).unwrap_or_default(), Role::MarkdownCodeBlock);
        inline.wrap(width, Breaks::Letters, lines, |lines| {
            begin(lines);
            if room {
                lines.put(INDENT, Role::MarkdownCodeBlock.into());
            }
        });
    }
}
