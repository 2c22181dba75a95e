//! Where text for people goes: the one way to standard output and standard error.
//!
//! What a model, a tool or a file wrote must not steer the terminal that it is shown on. So nothing is written there but
//! through [`Paper`], which shows letters that a terminal would obey or hide as marks. A pipe or a file gets text as it is:
//! what is read there is data, and whoever shows it decides. JSON is the same in both, with such letters escaped.
//!
//! The screen has a writer of its own, in `terminal`. Processes that levain starts for itself answer in lines of JSON on
//! [`wire`].

use crate::domain::Timestamp;
use crate::domain::letters::{MARK, is_hidden_behind, is_unseen};
use clap::builder::StyledStr;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};

/// Standard output.
#[must_use]
pub fn out() -> Paper<StdoutLock<'static>> {
    let output = io::stdout().lock();
    Paper::new(output.is_terminal(), output)
}

/// Standard error.
#[must_use]
pub fn err() -> Paper<StderrLock<'static>> {
    let output = io::stderr().lock();
    Paper::new(output.is_terminal(), output)
}

/// Standard output of a process that another one of levain reads.
#[must_use]
pub fn wire() -> impl Write {
    io::stdout().lock()
}

/// Whether a person sees standard output as it is written.
#[must_use]
pub fn is_watched() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person sees standard error as it is written.
#[must_use]
pub fn is_err_watched() -> bool {
    io::stderr().is_terminal()
}

/// Writes text. On a terminal every letter that would steer it or stay unseen becomes a mark.
#[derive(Debug)]
pub struct Paper<W: Write> {
    inner: W,
    is_terminal: bool,
    /// The last letter; at the beginning one that others may join, since more of a letter may have been written before.
    before: char,
    /// The beginning of a letter whose rest has not come.
    begun: Vec<u8>,
}

impl<W: Write> Paper<W> {
    fn new(is_terminal: bool, inner: W) -> Self {
        Self { inner, is_terminal, before: MARK, begun: Vec::new() }
    }

    /// Writes what clap says of the program itself, with its styles where the terminal has them.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn help(&mut self, help: &StyledStr) -> io::Result<()> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_styles =
            self.is_terminal && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        if has_styles { write!(self.inner, "{}", help.ansi()) } else { write!(self, "{help}") }
    }

    fn show(&mut self, text: &str, shown: &mut String) {
        for letter in text.chars() {
            let hidden = is_hidden_behind(self.before, letter) && !matches!(letter, '\n' | '\t');
            shown.push(if hidden { MARK } else { letter });
            self.before = letter;
        }
    }
}

impl<W: Write> Write for Paper<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.inner.write(bytes);
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut shown = String::with_capacity(all.len());
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.show(text, &mut shown);
                    rest = &[];
                }
                Err(error) => {
                    let (text, others) = rest.split_at(error.valid_up_to());
                    self.show(std::str::from_utf8(text).unwrap_or_default(), &mut shown);
                    let Some(length) = error.error_len() else {
                        self.begun = others.to_vec();
                        break;
                    };
                    shown.push(MARK);
                    rest = others.get(length..).unwrap_or_default();
                }
            }
        }
        self.inner.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The day and the time, where the person is.
#[must_use]
pub fn day(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(i64::try_from(at.0).unwrap_or_default()).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// The time of day, where the person is.
#[must_use]
pub fn clock(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(i64::try_from(at.0).unwrap_or_default()).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// Writes one JSON value and a line end. Letters that would steer a terminal stand as escapes: the value is the same.
///
/// # Errors
/// When the output is gone.
pub fn json_line(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *output, Escaping))?;
    output.write_all(b"\n")
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Joining letters too: what comes before them may be of another fragment.
        let steers = |letter: char| is_unseen(letter) || is_hidden_behind('a', letter);
        if fragment.is_ascii() && !fragment.contains('\u{7F}') {
            return writer.write_all(fragment.as_bytes());
        }
        for piece in fragment.split_inclusive(steers) {
            let last = piece.chars().next_back().filter(|letter| steers(*letter));
            let plain = piece.strip_suffix(steers).unwrap_or(piece);
            writer.write_all(plain.as_bytes())?;
            for unit in last.into_iter().flat_map(|letter| letter.encode_utf16(&mut [0; 2]).to_vec()) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

/// Has panics told through [`err`], since their words may be somebody's text.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or("no message");
        let mut output = err();
        let _gone = writeln!(output, "thread '{}' panicked at {place}:\n{words}", thread.name().unwrap_or_default());
        let backtrace = std::backtrace::Backtrace::capture();
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            let _gone = writeln!(output, "{backtrace}");
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, pieces: &[&[u8]]) -> String {
        let mut bytes = Vec::new();
        let mut paper = Paper::new(is_terminal, &mut bytes);
        for piece in pieces {
            paper.write_all(piece).unwrap();
        }
        drop(paper);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn s06_a_terminal_gets_marks_and_a_pipe_the_text() {
        let text = "a\u{1b}]52;c;x\u{7}b\u{9b}\u{202e}\u{e0041}é";
        assert_eq!(shown(true, &[text.as_bytes()]), "a\u{fffd}]52;c;x\u{fffd}b\u{fffd}\u{fffd}\u{fffd}é");
        assert_eq!(shown(false, &[text.as_bytes()]), text);
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(shown(true, &pieces), shown(true, &[text.as_bytes()]), "letters in pieces");
        assert_eq!(shown(true, &[b"a\x9b\xffb"]), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn s06_json_is_the_same_value_without_such_letters() {
        let value = serde_json::json!({"\u{202e}k": "a\u{1b}\u{9b}\u{7f}b\u{200d}é漢\u{e0041}"});
        let mut bytes = Vec::new();
        json_line(&mut bytes, &value).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, "{\"\\u202ek\":\"a\\u001b\\u009b\\u007fb\\u200dé漢\\udb40\\udc41\"}\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
