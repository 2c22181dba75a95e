//! Reading what a thread runs beside its conversation.

use crate::domain::ThreadId;
use crate::domain::background::BackgroundCommand;
use crate::store::{Layout, commands};
use crate::workbench::message::Ran;

/// Bytes and lines of what each command printed that are shown: its end.
const SHOWN: u64 = 8 << 10;
const LINES: usize = 30;

/// The commands of the thread with the end of what each printed.
pub(super) fn read(layout: &Layout, thread_id: &ThreadId) -> Result<Vec<Ran>, String> {
    let all = commands::of(layout, thread_id).map_err(|error| error.to_string())?;
    let with_output = |command: BackgroundCommand| {
        let printed = commands::output(layout, thread_id, &command.name, SHOWN).map_err(|error| error.to_string());
        (command, printed.map(|text| last_lines(&text)))
    };
    Ok(all.into_iter().map(with_output).collect())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}
