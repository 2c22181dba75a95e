//! A key press as people write it: `ctrl-p`, `alt-enter`, `F1`, `?`.

use std::fmt;
use std::str::FromStr;

/// One key press with what was held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

/// Which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A key that types a letter; with shift it is the letter that would be typed.
    Char(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Insert,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// The keys that have a name instead of a letter.
const NAMED: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

/// A text that names no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no key; write for example ctrl-p, alt-enter, F1 or ?")]
pub struct BadKey(String);

impl Key {
    /// The key with nothing held down.
    #[must_use]
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    #[must_use]
    pub const fn char(letter: char) -> Self {
        Self::plain(KeyCode::Char(letter))
    }

    #[must_use]
    pub const fn ctrl(letter: char) -> Self {
        Self { code: KeyCode::Char(letter), ctrl: true, alt: false, shift: false }
    }

    /// The one form in which keys are compared: terminals differ in whether shift is told beside a capital letter,
    /// whether ctrl comes with a capital, and in what they call shift-tab.
    #[must_use]
    pub fn normal(self) -> Self {
        let mut key = self;
        match key.code {
            KeyCode::Char(letter) if key.ctrl => {
                let mut small = letter.to_lowercase();
                if let (Some(small), None) = (small.next(), small.next()) {
                    key.code = KeyCode::Char(small);
                }
            }
            KeyCode::Char(letter) => {
                if key.shift {
                    let mut capital = letter.to_uppercase();
                    if let (Some(capital), None) = (capital.next(), capital.next()) {
                        key.code = KeyCode::Char(capital);
                    }
                }
                key.shift = false;
            }
            KeyCode::Tab if key.shift => {
                key.code = KeyCode::BackTab;
                key.shift = false;
            }
            KeyCode::BackTab => key.shift = false,
            KeyCode::Tab
            | KeyCode::Enter
            | KeyCode::Esc
            | KeyCode::Backspace
            | KeyCode::Delete
            | KeyCode::Insert
            | KeyCode::Left
            | KeyCode::Right
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::F(_) => {}
        }
        key
    }

    /// The letter this key types, if it types one.
    #[must_use]
    pub fn typed(self) -> Option<char> {
        match self.normal() {
            Self { code: KeyCode::Char(letter), ctrl: false, alt: false, .. } => Some(letter),
            _ => None,
        }
    }
}

impl FromStr for Key {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadKey(text.to_owned());
        let mut key = Self::plain(KeyCode::Esc);
        // Other blanks are letters that a keyboard may have.
        let mut rest = text.trim_matches(|letter: char| letter.is_ascii_whitespace());
        loop {
            let (held, after) = if let Some(after) = strip_word(rest, "ctrl-") {
                (&mut key.ctrl, after)
            } else if let Some(after) = strip_word(rest, "alt-") {
                (&mut key.alt, after)
            } else if let Some(after) = strip_word(rest, "shift-") {
                (&mut key.shift, after)
            } else {
                break;
            };
            if *held {
                return Err(bad());
            }
            *held = true;
            rest = after;
        }
        let mut letters = rest.chars();
        key.code = match (letters.next(), letters.next()) {
            (Some(letter), None) if !letter.is_control() && letter != ' ' => KeyCode::Char(letter),
            (Some('f' | 'F'), Some(_)) if rest.get(1..).is_some_and(|number| number.parse::<u8>().is_ok()) => {
                let number = rest.get(1..).and_then(|number| number.parse().ok());
                KeyCode::F(number.filter(|number| (1..=24).contains(number)).ok_or_else(bad)?)
            }
            _ => {
                let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(rest));
                named.map(|(_, code)| *code).ok_or_else(bad)?
            }
        };
        Ok(key.normal())
    }
}

/// `text` without `prefix`, whatever its capitals, as long as something is left.
fn strip_word<'text>(text: &'text str, prefix: &str) -> Option<&'text str> {
    let head = text.get(..prefix.len())?;
    let rest = text.get(prefix.len()..)?;
    (head.eq_ignore_ascii_case(prefix) && !rest.is_empty()).then_some(rest)
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.normal();
        for (held, word) in [(key.ctrl, "ctrl-"), (key.alt, "alt-"), (key.shift, "shift-")] {
            if held {
                formatter.write_str(word)?;
            }
        }
        if key.code == KeyCode::BackTab {
            return formatter.write_str("shift-tab");
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == key.code) {
            return formatter.write_str(name);
        }
        match key.code {
            KeyCode::F(number) => write!(formatter, "F{number}"),
            KeyCode::Char(letter) => write!(formatter, "{letter}"),
            // All others are in `NAMED`.
            KeyCode::Enter
            | KeyCode::Esc
            | KeyCode::Tab
            | KeyCode::BackTab
            | KeyCode::Backspace
            | KeyCode::Delete
            | KeyCode::Insert
            | KeyCode::Left
            | KeyCode::Right
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::PageUp
            | KeyCode::PageDown => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, key: Key) {
        assert_eq!(text.parse::<Key>().unwrap(), key.normal(), "{text}");
        assert_eq!(key.to_string(), text);
    }

    #[test]
    fn keys_are_written_as_people_say_them() {
        check("ctrl-p", Key::ctrl('p'));
        check("alt-enter", Key { alt: true, ..Key::plain(KeyCode::Enter) });
        check("F1", Key::plain(KeyCode::F(1)));
        check("?", Key::char('?'));
        check("f", Key::char('f'));
        check("ctrl--", Key::ctrl('-'));
        check("-", Key::char('-'));
        check("\u{a0}", Key::char('\u{a0}'));
        check("ctrl-\u{3000}", Key::ctrl('\u{3000}'));
        check("space", Key::char(' '));
        check("shift-tab", Key { shift: true, ..Key::plain(KeyCode::Tab) });
        check("G", Key { shift: true, ..Key::char('g') });
        check("ctrl-shift-p", Key { shift: true, ..Key::ctrl('P') });
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for bad in ["", "ctrl-", "hyper-x", "F0", "F99", "ctrl-ctrl-a", "entr", "ab"] {
            assert!(bad.parse::<Key>().is_err(), "{bad:?} was accepted");
        }
    }

    proptest! {
        #[test]
        fn parsing_what_was_printed_gives_the_key(letter in any::<char>(), named in 0..NAMED.len(), kind in 0..3, ctrl: bool, alt: bool, shift: bool) {
            prop_assume!(!letter.is_control() && letter != ' ');
            let code = match kind { 0 => KeyCode::Char(letter), 1 => NAMED[named].1, _ => KeyCode::F(12) };
            let key = Key { code, ctrl, alt, shift }.normal();
            prop_assert_eq!(key.to_string().parse::<Key>().unwrap(), key);
        }

        #[test]
        fn parsing_never_panics(text in ".{0,20}") {
            drop(text.parse::<Key>());
        }
    }
}
