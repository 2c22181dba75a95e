//! Fenced code blocks, line by line, so that an open one costs only its new lines.

use crate::ui::lines::Lines;
use crate::ui::theme::Role;
use crate::ui::wrap::{Breaks, Inline};
use crate::workbench::code::{CodeKind, Colouring};

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
        // The end of the line is looked for only where a fence begins: it may be megabytes away.
        let begins = text.trim_start_matches(' ');
        let letter = begins.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
        let length = text.find('\n').map_or(text.len(), |end| end + 1);
        let line = text.get(..length)?;
        let bare = line.trim_start_matches(' ');
        let indent = u8::try_from(line.len() - bare.len()).ok().filter(|indent| *indent <= 3)?;
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
    let mut lines = Lines::default();
    if let Some(language) = info(line) {
        language_row(language, width, &mut lines, |_| {});
    }
    lines
}

/// The first word behind the fence.
fn info(line: &str) -> Option<&str> {
    line.trim().trim_start_matches(['`', '~']).split_whitespace().next()
}

/// The language that the line which opens a block names: `rs` in "```rs,ignore" and in "``` {.rs}".
pub(super) fn language(line: &str) -> Option<&str> {
    let word = info(line)?.trim_start_matches(['{', '.']);
    word.split([',', '}', '{', ':', ';']).next().filter(|word| !word.is_empty())
}

/// Writes the row above a code block.
pub(super) fn language_row(language: &str, width: usize, lines: &mut Lines, begin: impl FnMut(&mut Lines)) {
    let mut inline = Inline::default();
    inline.put(INDENT, Role::MarkdownCodeLanguage);
    // Without it the name would read like the first line of the code.
    inline.put("── ", Role::MarkdownCodeLanguage);
    inline.put(language, Role::MarkdownCodeLanguage);
    inline.wrap(width, Breaks::Letters, lines, begin);
}

/// The colours of code, from this line of it on.
pub(super) type ColouredFrom<'colours> = (&'colours Colouring, usize);

/// Rows of whole code lines; `indent` blanks are taken off each, as the fence had them.
pub(super) fn code_rows(source: &str, indent: u8, width: usize, colours: Option<ColouredFrom<'_>>) -> Lines {
    let mut lines = Lines::default();
    write_code(source, indent, width, colours, &mut lines, |_| {});
    lines
}

/// The code of a block as its language knows it: without its indent.
pub(super) fn bare_code(source: &str, indent: u8) -> String {
    source.split_inclusive('\n').map(|line| bare_line(line, indent)).collect()
}

fn bare_line(line: &str, indent: u8) -> &str {
    let blanks = line.bytes().take(usize::from(indent)).take_while(|byte| *byte == b' ').count();
    line.get(blanks..).unwrap_or_default()
}

fn role_of(kind: Option<CodeKind>) -> Role {
    match kind {
        None => Role::MarkdownCodeBlock,
        Some(CodeKind::Keyword) => Role::CodeKeyword,
        Some(CodeKind::String) => Role::CodeString,
        Some(CodeKind::Comment) => Role::CodeComment,
        Some(CodeKind::Number) => Role::CodeNumber,
        Some(CodeKind::Type) => Role::CodeType,
        Some(CodeKind::Function) => Role::CodeFunction,
        Some(CodeKind::Added) => Role::CodeAdded,
        Some(CodeKind::Removed) => Role::CodeRemoved,
    }
}

/// Writes code lines with whatever `begin` puts before each row.
pub(super) fn write_code(
    source: &str,
    indent: u8,
    width: usize,
    colours: Option<ColouredFrom<'_>>,
    lines: &mut Lines,
    mut begin: impl FnMut(&mut Lines),
) {
    let room = width > INDENT.len() + 6;
    let width = if room { width - INDENT.len() } else { width };
    let mut inline = Inline::default();
    for (number, line) in source.split_inclusive('\n').enumerate() {
        let line = bare_line(line, indent).trim_end_matches(['\n', '\r']);
        inline.clear();
        let mut at = 0;
        for (bytes, kind) in colours.map(|(known, from)| known.line(from + number)).unwrap_or_default() {
            let Some(run) = line.get(at..line.len().min(at + *bytes as usize)) else { break };
            inline.put(run, role_of(*kind));
            at += run.len();
        }
        inline.put(line.get(at..).unwrap_or_default(), Role::MarkdownCodeBlock);
        inline.wrap(width, Breaks::Letters, lines, |lines| {
            begin(lines);
            if room {
                lines.put(INDENT, Role::MarkdownCodeBlock.into());
            }
        });
    }
}
