//! What is known of components of extensions beside what their thread says, and keys as they are told of them.

use super::transcript::{BlockId, DrawingTerms};
use crate::commands::{Key, KeyCode};
use crate::domain::{ScreenSize, Themes};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    /// The size that was told last.
    pub(super) screen: Option<ScreenSize>,
    /// The themes that extensions were told of last.
    pub(super) themes: Option<Themes>,
    /// The draft that was told last, by its revision, and whether details are shown.
    pub(super) draft: Option<(u64, bool)>,
    /// Closed here; the worker has not said so yet.
    pub(super) closed: Vec<u64>,
    /// The editor in the place of the draft.
    pub(super) editor: Option<EditorLink>,
}

/// What is known of the editor beside what the thread says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditorLink {
    pub(super) id: u64,
    /// Its text as it told last, and as it was told.
    pub(super) told: String,
    pub(super) sent: Option<String>,
    /// The number of its newest act that was done.
    pub(super) done: u64,
}

/// A drawing that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskedDrawing {
    pub(super) id: u64,
    pub(super) block: BlockId,
    pub(super) terms: DrawingTerms,
}

/// A key as a terminal of xterm's kind sends it. Written here because the library that encodes keys (terminput 0.5.16) refuses
/// ctrl with `[`, `]` and `\`, and its arithmetic overflows for ctrl with letters beyond ASCII.
pub(super) fn sequence(key: Key) -> String {
    let Key { code, ctrl, alt, shift } = key.normal();
    let held = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl);
    let escape = if alt { "\x1b" } else { "" };
    let lettered = |letter: char| match held {
        1 => format!("\x1b[{letter}"),
        held => format!("\x1b[1;{held}{letter}"),
    };
    let numbered = |number: u8| match held {
        1 => format!("\x1b[{number}~"),
        held => format!("\x1b[{number};{held}~"),
    };
    match code {
        KeyCode::Char(letter) if ctrl && letter.is_ascii() => {
            // Ctrl leaves the lower five bits of a letter.
            let byte = if letter == '?' { 0x7F } else { u8::try_from(letter).unwrap_or_default() & 0x1F };
            format!("{escape}{}", char::from(byte))
        }
        KeyCode::Char(letter) => format!("{escape}{letter}"),
        KeyCode::Enter => format!("{escape}\r"),
        KeyCode::Esc => format!("{escape}\x1b"),
        KeyCode::Tab => format!("{escape}\t"),
        KeyCode::Backspace => format!("{escape}{}", if ctrl { '\x08' } else { '\x7f' }),
        KeyCode::BackTab => "\x1b[Z".to_owned(),
        KeyCode::Up => lettered('A'),
        KeyCode::Down => lettered('B'),
        KeyCode::Right => lettered('C'),
        KeyCode::Left => lettered('D'),
        KeyCode::Home => lettered('H'),
        KeyCode::End => lettered('F'),
        KeyCode::Insert => numbered(2),
        KeyCode::Delete => numbered(3),
        KeyCode::PageUp => numbered(5),
        KeyCode::PageDown => numbered(6),
        KeyCode::F(number @ 1..=4) => {
            let letter = char::from(b'O' + number);
            if held == 1 { format!("\x1bO{letter}") } else { lettered(letter) }
        }
        KeyCode::F(number) => {
            // The numbers of VT220, which leave some out.
            const NUMBERS: [u8; 16] = [15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34];
            NUMBERS.get(usize::from(number).wrapping_sub(5)).copied().map(numbered).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_sent_as_terminals_do() {
        for (key, sent) in [
            ("a", "a"),
            ("G", "G"),
            ("é", "é"),
            ("alt-x", "\x1bx"),
            ("ctrl-a", "\x01"),
            ("ctrl-[", "\x1b"),
            ("ctrl-]", "\x1d"),
            ("ctrl-\\", "\x1c"),
            ("ctrl-_", "\x1f"),
            ("ctrl-space", "\0"),
            ("enter", "\r"),
            ("esc", "\x1b"),
            ("shift-tab", "\x1b[Z"),
            ("up", "\x1b[A"),
            ("ctrl-left", "\x1b[1;5D"),
            ("shift-end", "\x1b[1;2F"),
            ("delete", "\x1b[3~"),
            ("alt-pageup", "\x1b[5;3~"),
            ("F1", "\x1bOP"),
            ("F5", "\x1b[15~"),
            ("F12", "\x1b[24~"),
            ("backspace", "\x7f"),
        ] {
            assert_eq!(sequence(key.parse().unwrap()), sent, "{key}");
        }
    }

    proptest! {
        #[test]
        fn every_key_is_sent(letter in any::<char>(), ctrl: bool, alt: bool, shift: bool) {
            drop(sequence(Key { code: KeyCode::Char(letter), ctrl, alt, shift }));
        }
    }
}
