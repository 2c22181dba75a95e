//! What was typed, on its way through extensions that hear it before the screen does anything with it.

use super::component::sequence;
use crate::commands::{Key, KeyCode};
use crate::domain::Timestamp;
use std::collections::VecDeque;
use std::sync::OnceLock;

/// What begins and what ends a paste, as terminals send it.
const PASTE: (&str, &str) = ("\x1b[200~", "\x1b[201~");

/// Something that a person typed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Typed {
    Key(Key),
    Paste(String),
}

/// What waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Hearing {
    pub(super) asked: Option<Question>,
    pub(super) waiting: VecDeque<Typed>,
    /// The question that took too long, or that the worker does not ask: nothing is asked until it is answered.
    pub(super) late: Option<u64>,
}

/// What extensions are asked about.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) id: u64,
    pub(super) typed: Typed,
    /// So long what was typed waits for them.
    pub(super) until: Timestamp,
}

impl Hearing {
    /// The worker does not ask them for this screen: what was typed is done as it was, and what is typed from here on.
    pub(super) fn is_refused(&mut self, id: u64) {
        self.late = Some(id);
        if let Some(question) = self.asked.take_if(|question| question.id == id) {
            self.waiting.push_front(question.typed);
        }
    }
}

impl Typed {
    /// As a terminal sends it.
    pub(super) fn data(&self) -> String {
        match self {
            Self::Key(key) => sequence(*key),
            // What ends a paste is no part of one.
            Self::Paste(text) => format!("{}{}{}", PASTE.0, text.replace('\x1b', ""), PASTE.1),
        }
    }
}

/// What was typed where a terminal sends that.
pub(super) fn typed_of(data: &str) -> Vec<Typed> {
    let mut typed = Vec::new();
    let mut rest = data;
    while let Some(letter) = rest.chars().next() {
        let paste = rest.strip_prefix(PASTE.0).map(|pasted| pasted.split_once(PASTE.1).unwrap_or((pasted, "")));
        if let Some((text, behind)) = paste {
            typed.push(Typed::Paste(text.to_owned()));
            rest = behind;
            continue;
        }
        let named = keys().iter().filter(|(sequence, _)| rest.starts_with(sequence.as_str()));
        let (length, key) = match named.max_by_key(|(sequence, _)| sequence.len()) {
            Some((sequence, key)) => (sequence.len(), *key),
            None => (letter.len_utf8(), Key::plain(KeyCode::Char(letter))),
        };
        typed.push(Typed::Key(key));
        rest = rest.get(length..).unwrap_or_default();
    }
    typed
}

/// Keys that are no letters, as terminals send them. Of several that send the same the first is meant.
fn keys() -> &'static [(String, Key)] {
    static KEYS: OnceLock<Vec<(String, Key)>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let named = [
            KeyCode::Enter,
            KeyCode::Tab,
            KeyCode::Esc,
            KeyCode::Backspace,
            KeyCode::BackTab,
            KeyCode::Delete,
            KeyCode::Insert,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::PageDown,
        ];
        let codes = named.into_iter().chain((1..=12).map(KeyCode::F));
        let letters = ('a'..='z').chain([' ']).map(KeyCode::Char);
        let held = |code: KeyCode| {
            [(false, false), (true, false), (false, true), (true, true)]
                .into_iter()
                .flat_map(move |(ctrl, alt)| [false, true].map(|shift| Key { code, ctrl, alt, shift }))
        };
        let with_ctrl = letters.clone().map(|code| Key { ctrl: true, ..Key::plain(code) });
        let with_alt = letters.map(|code| Key { alt: true, ..Key::plain(code) });
        let mut keys: Vec<(String, Key)> = Vec::new();
        for key in codes.flat_map(held).chain(with_ctrl).chain(with_alt) {
            let sent = sequence(key);
            if !keys.iter().any(|(known, _)| *known == sent) {
                keys.push((sent, key));
            }
        }
        keys
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> Typed {
        Typed::Key(text.parse().unwrap())
    }

    #[test]
    fn what_extensions_make_of_keys_is_read_as_keys() {
        for (data, typed) in [
            ("x", vec![key("x")]),
            ("hé!", vec![key("h"), key("é"), key("!")]),
            ("\r", vec![key("enter")]),
            ("\x1b", vec![key("esc")]),
            ("\x1b[A\x1b[1;5D", vec![key("up"), key("ctrl-left")]),
            ("\x01a\x1bf", vec![key("ctrl-a"), key("a"), key("alt-f")]),
            ("\x1b[200~two\nlines\x1b[201~\r", vec![Typed::Paste("two\nlines".to_owned()), key("enter")]),
            ("", vec![]),
        ] {
            assert_eq!(typed_of(data), typed, "{data:?}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_read(data in any::<String>()) {
            let letters: usize = typed_of(&data).len();
            prop_assert!(letters <= data.chars().count());
        }

        #[test]
        fn keys_come_back_as_they_went(place in 0..200_usize) {
            if let Some((sent, key)) = keys().get(place) {
                prop_assert_eq!(typed_of(sent), vec![Typed::Key(*key)]);
            }
        }
    }
}
