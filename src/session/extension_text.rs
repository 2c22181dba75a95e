//! Texts of extensions for people: extensions write for a terminal, and what it would obey beside styles is left out.

use anstyle_parse::{DefaultCharAccumulator, Params, Parser, Perform};
use std::fmt::Write as _;

/// Bytes of one line, at most.
const LONGEST_LINE: usize = 16 << 10;

/// Bytes of a text, at most; the rest is left out.
const LONGEST: usize = 64 << 10;

/// Text without any sequence.
pub(super) fn plain(text: &str) -> String {
    let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
    anstream::adapter::strip_str(text).to_string()
}

/// Text with sequences of styles (SGR) and no others.
pub(super) fn styled(text: &str) -> String {
    let mut kept = Kept(String::with_capacity(text.len()));
    let mut parser = Parser::<DefaultCharAccumulator>::new();
    for byte in text.bytes().take(LONGEST_LINE) {
        parser.advance(&mut kept, byte);
    }
    kept.0
}

struct Kept(String);

impl Perform for Kept {
    fn print(&mut self, letter: char) {
        // Terminals that read C1 letters obey them.
        if !letter.is_control() {
            self.0.push(letter);
        }
    }

    fn execute(&mut self, byte: u8) {
        if byte == b'\t' {
            self.0.push_str("    ");
        }
    }

    fn csi_dispatch(&mut self, parameters: &Params, intermediates: &[u8], ignored: bool, action: u8) {
        if action != b'm' || !intermediates.is_empty() || ignored {
            return;
        }
        self.0.push_str("\x1b[");
        for (place, parts) in parameters.iter().enumerate() {
            if place > 0 {
                self.0.push(';');
            }
            for (part, number) in parts.iter().enumerate() {
                let _never_fails = write!(self.0, "{}{number}", if part > 0 { ":" } else { "" });
            }
        }
        self.0.push('m');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn styles_stay_and_nothing_else() {
        assert_eq!(
            styled("\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mmore\x1b[m"),
            "\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mmore\x1b[0m"
        );
        assert_eq!(styled("a\x1b]0;title\x07b\x1b[2Jc\x1b[?25ld\x1b_pi:c\x1b\\e\x07\u{9b}f\tg"), "abcdef    g");
        assert_eq!(plain("\x1b[31mred\x1b]52;c;aGk=\x07 text"), "red text");
    }

    proptest! {
        #[test]
        fn only_styles_are_left_of_anything(text in "(\x1b|\\[|\\]|;|:|[0-9]|m|J|[a-c]|\u{9b}|\x07|\\\\|é){0,60}") {
            let kept = styled(&text);
            let rest = regex::Regex::new("\x1b\\[[0-9;:]*m").unwrap().replace_all(&kept, "").into_owned();
            prop_assert!(!rest.contains(char::is_control), "{kept:?}");
        }
    }
}
