//! What became of something, told on the screen.

use crate::ports::StoreError;
use crate::workbench::{Level, Message};

pub(super) fn notice(level: Level, text: String) -> Message {
    Message::Notice { level, text }
}

pub(super) fn failed(error: &StoreError) -> Message {
    notice(Level::Error, error.to_string())
}
