//! Letters that a terminal would obey or hide, shown as something harmless.
//!
//! What a model or a file says is shown, never obeyed: control letters become their pictures, and what turns the
//! reading direction or cannot be seen becomes a mark, so that hidden text does not stay hidden.

use crate::domain::letters::{MARK, is_hidden_behind};
use std::borrow::Cow;

/// Columns of a tab.
const TAB: &str = "    ";

/// `text` with such letters replaced; line ends become blanks.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let plain = if text.is_ascii() {
        !text.bytes().any(|byte| byte < 0x20 || byte == 0x7F)
    } else {
        let mut before = ' ';
        !text.chars().any(|letter| is_hidden_behind(std::mem::replace(&mut before, letter), letter))
    };
    if plain {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for letter in text.chars() {
        let hidden = is_hidden_behind(std::mem::replace(&mut before, letter), letter);
        match letter {
            '\t' => shown.push_str(TAB),
            '\n' => shown.push(' '),
            '\0'..='\u{1F}' => shown.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or(MARK)),
            '\u{7F}' => shown.push('\u{2421}'),
            _ if hidden => shown.push(MARK),
            letter => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_hidden_letters_are_shown() {
        assert_eq!(harmless("plain 漢 é"), "plain 漢 é");
        assert_eq!(harmless("a\u{1b}[31mb\tc\r"), "a␛[31mb    c␍");
        assert_eq!(harmless("a\u{202E}b\u{E0041}"), "a\u{FFFD}b\u{FFFD}");
        assert_eq!(harmless("👩\u{200d}👧"), "👩\u{200d}👧");
    }
}
