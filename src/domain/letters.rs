//! Letters that a terminal obeys, or that nobody sees: they turn the reading direction, join, mark or stand for nothing.

use std::borrow::Cow;

/// Shown in the place of such a letter.
pub const MARK: char = '\u{FFFD}';

/// Whether `letter` must not reach a terminal as it is, line ends and tabs included.
#[must_use]
pub fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\u{1F}'
            | '\u{7F}'..='\u{9F}'
            | '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'
            | '\u{200E}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Whether `letter` joins what is before it with what follows, or chooses how it looks. Scripts and emoji need these; behind
/// a Latin letter they are only there to hide something.
fn joins(letter: char) -> bool {
    matches!(letter, '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}

/// Whether `letter` must not be shown as it is behind `before`.
#[must_use]
pub fn is_hidden_behind(before: char, letter: char) -> bool {
    let is_keycap = letter == '\u{FE0F}' && matches!(before, '0'..='9' | '#' | '*');
    let is_emoji = letter == '\u{200D}' && before == '\u{FE0F}';
    let behind_nothing = before.is_ascii() || joins(before) || is_unseen(before);
    is_unseen(letter) || (joins(letter) && behind_nothing && !is_keycap && !is_emoji)
}

/// `text` for a terminal: line ends and tabs stay, what else it would obey or hide becomes a mark.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut before = ' ';
    let mut is_shown = |letter: char| {
        let shown = matches!(letter, '\n' | '\t') || !is_hidden_behind(before, letter);
        before = letter;
        shown
    };
    if text.chars().all(&mut is_shown) {
        return Cow::Borrowed(text);
    }
    let mut before = ' ';
    let shown = |letter: char| {
        let shown = matches!(letter, '\n' | '\t') || !is_hidden_behind(before, letter);
        before = letter;
        if shown { letter } else { MARK }
    };
    Cow::Owned(text.chars().map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s06_what_steers_or_hides_becomes_a_mark() {
        for (text, shown) in [
            ("a\x1b[2Jb\u{202e}c\td\n\u{9b}1m", "a\u{fffd}[2Jb\u{fffd}c\td\n\u{fffd}1m"),
            ("\x1b]52;c;x\x07\r", "\u{fffd}]52;c;x\u{fffd}\u{fffd}"),
            ("a\u{200b}b\u{e0041}\u{e0100}\u{feff}", "a\u{fffd}b\u{fffd}\u{fffd}\u{fffd}"),
            ("a\u{200d}b\u{fe0f}", "a\u{fffd}b\u{fffd}"),
            ("漢\u{fe0f}\u{fe0f}", "漢\u{fe0f}\u{fffd}"),
        ] {
            assert_eq!(visible(text), shown);
        }
        for plain in ["plain é 漢字", "👩\u{200d}👧", "1\u{fe0f}\u{20e3}", "می\u{200c}خواهم", "❤\u{fe0f}\u{200d}🔥"]
        {
            assert!(matches!(visible(plain), Cow::Borrowed(_)), "{plain}");
        }
    }
}
