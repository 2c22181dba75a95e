//! The clipboard by OSC 52: it reaches the person's own machine over SSH, and needs no window system here.

use super::tty::Tty;
use crossterm::Command as _;
use crossterm::clipboard::CopyToClipboard;
use std::io::{self, Write};

/// Bytes that are copied at most: the screen stands while they are written.
const MOST: usize = 4_000_000;
/// The same through tmux, which drops sequences over one mebibyte (`INPUT_BUF_LIMIT`); base64 takes four for three.
const MOST_THROUGH_TMUX: usize = 750_000;

/// Puts `text` on the clipboard and says by which path; `None` when it is too much.
///
/// # Errors
/// When the terminal is gone.
pub fn copy(tty: &Tty, text: &str, inside_tmux: bool) -> io::Result<Option<&'static str>> {
    if text.len() > if inside_tmux { MOST_THROUGH_TMUX } else { MOST } {
        return Ok(None);
    }
    let mut sequence = String::new();
    CopyToClipboard::to_clipboard_from(text).write_ansi(&mut sequence).map_err(io::Error::other)?;
    let path = if inside_tmux {
        // tmux passes on what is wrapped like this, with every escape doubled.
        sequence = format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"));
        "through tmux (OSC 52)"
    } else {
        "through the terminal (OSC 52)"
    };
    (&*tty.output()).write_all(sequence.as_bytes())?;
    Ok(Some(path))
}
