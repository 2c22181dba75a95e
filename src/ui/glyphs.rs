//! Letters that a terminal would obey or hide, shown as something harmless.
//!
//! What a model or a file says is shown, never obeyed: control letters become their pictures, and what turns the
//! reading direction or cannot be seen becomes a mark, so that hidden text does not stay hidden.

use std::borrow::Cow;

/// Shown for what has no picture of its own.
const MARK: char = '\u{FFFD}';

/// Columns of a tab.
const TAB: &str = "    ";

/// Whether `letter` must not reach the terminal as it is.
fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\u{1F}'
            | '\u{7F}'..='\u{9F}'
            | '\u{AD}'
            | '\u{61C}'
            | '\u{180E}'
            | '\u{200B}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

/// `text` with those letters replaced; line ends become blanks.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let plain = if text.is_ascii() {
        !text.bytes().any(|byte| byte < 0x20 || byte == 0x7F)
    } else {
        !text.chars().any(is_unseen)
    };
    if plain {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\t' => shown.push_str(TAB),
            '\n' => shown.push(' '),
            '\0'..='\u{1F}' => shown.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or(MARK)),
            '\u{7F}' => shown.push('\u{2421}'),
            letter if is_unseen(letter) => shown.push(MARK),
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
