//! Calling somebody who looks elsewhere: the bell, a notification of the desktop, the name of the window.
//!
//! Inside tmux a notification would be taken for tmux's own: there the bell does it, which tmux shows as an alert.

use super::tty::Tty;
use std::io::{self, Write};

/// How a terminal is asked for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    Osc9,
    Osc777,
}

impl Notify {
    /// What the terminal of that `TERM` takes; none inside tmux and screen.
    #[must_use]
    pub fn known(term: &str) -> Option<Self> {
        if term.starts_with("tmux") || term.starts_with("screen") || term == "linux" {
            return None;
        }
        let by_name = ["foot", "rxvt"].iter().any(|name| term.contains(name));
        Some(if by_name { Self::Osc777 } else { Self::Osc9 })
    }
}

/// Calls: with the bell, and with a notification that says `text`.
///
/// # Errors
/// When the terminal is gone.
pub fn call(tty: &Tty, text: &str, bell: bool, notify: Option<Notify>) -> io::Result<()> {
    let text = plain(text);
    let said = match notify {
        // A number behind the first `;` means progress to some.
        Some(Notify::Osc9) => format!("\x1b]9;levain: {text}\x1b\\"),
        Some(Notify::Osc777) => format!("\x1b]777;notify;levain;{text}\x1b\\"),
        None => String::new(),
    };
    let bell = if bell { "\x07" } else { "" };
    (&*tty.output()).write_all(format!("{said}{bell}").as_bytes())
}

/// What the window is called.
pub(super) fn title(text: &str) -> String {
    format!("\x1b]2;{}\x1b\\", plain(text))
}

/// `text` without anything that a terminal would obey, and without the mark that parts what is in a notification.
fn plain(text: &str) -> String {
    const LONGEST: usize = 200;
    text.chars().filter(|letter| !letter.is_control() && *letter != ';').take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_obeys_nobody() {
        assert_eq!(title("a\x1b]52;c;x\x07b"), "\x1b]2;a]52cxb\x1b\\");
    }

    #[test]
    fn terminals_are_known_by_their_names() {
        assert_eq!(Notify::known("foot"), Some(Notify::Osc777));
        assert_eq!(Notify::known("xterm-256color"), Some(Notify::Osc9));
        assert_eq!(Notify::known("tmux-256color"), None);
    }
}
