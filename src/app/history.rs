//! The person's earlier prompts: one file, the newest at its end.

use crate::store::Layout;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};

/// As many prompts are read, the newest.
const MOST: usize = 500;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;

/// A line of it.
#[derive(Serialize, Deserialize)]
struct Remembered {
    text: String,
}

/// The prompts, the oldest first.
pub(super) fn prompts(layout: &Layout) -> Vec<String> {
    let bytes = layout.prompt_history().read(LARGEST).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let newest_first = text.lines().rev().filter_map(|line| serde_json::from_str::<Remembered>(line).ok());
    let mut prompts: Vec<String> = newest_first.map(|line| line.text).take(MOST).collect();
    prompts.reverse();
    prompts
}

/// Adds one.
///
/// # Errors
/// Why it is not kept.
pub(super) fn remember(layout: &Layout, text: String) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Remembered { text }).unwrap_or_default();
    line.push(b'\n');
    layout.prepare().map_err(io::Error::other)?;
    layout.prompt_history().open_append()?.write_all(&line)
}
