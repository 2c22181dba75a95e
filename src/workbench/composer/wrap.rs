//! Soft wrapping of the draft: rows end after a blank where one fits, wide words are broken between graphemes.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One row of the wrapped draft: letters `start..end` of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub line: usize,
    pub start: usize,
    pub end: usize,
}

/// Columns a tab takes.
const TAB: usize = 4;

/// Columns of `text`; `special` gives those of a letter that stands for something else.
pub(super) fn columns(text: &str, special: impl Fn(char) -> Option<usize>) -> usize {
    if text.is_ascii() && !text.contains('\t') {
        return text.len();
    }
    text.graphemes(true).map(|grapheme| grapheme_columns(grapheme, &special)).sum()
}

fn grapheme_columns(grapheme: &str, special: &impl Fn(char) -> Option<usize>) -> usize {
    if grapheme == "\t" {
        return TAB;
    }
    // Joined letters that are none together count more than a terminal gives them.
    grapheme.chars().next().and_then(special).unwrap_or_else(|| grapheme.width().min(2))
}

/// Wraps `lines` so that no row with the cursor behind it is wider than `width`.
pub(super) fn rows(lines: &[String], width: usize, special: impl Fn(char) -> Option<usize>) -> Vec<Row> {
    // The cursor may stand behind the last letter.
    let width = width.saturating_sub(1).max(1);
    let mut rows = Vec::new();
    for (line, text) in lines.iter().enumerate() {
        if text.len() <= width && text.is_ascii() && !text.contains('\t') {
            rows.push(Row { line, start: 0, end: text.len() });
            continue;
        }
        let mut start = 0;
        let mut used = 0;
        // After the last blank: letter and columns from the row's start.
        let mut blank: Option<(usize, usize)> = None;
        let mut letter = 0;
        for grapheme in text.graphemes(true) {
            let wide = grapheme_columns(grapheme, &special);
            while used + wide > width && letter > start {
                let (end, dropped) = blank.take().filter(|(end, _)| *end > start).unwrap_or((letter, used));
                rows.push(Row { line, start, end });
                start = end;
                used -= dropped;
            }
            letter += grapheme.chars().count();
            used += wide;
            if grapheme == " " || grapheme == "\t" {
                blank = Some((letter, used));
            }
        }
        rows.push(Row { line, start, end: letter });
    }
    rows
}
