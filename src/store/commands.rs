//! The commands that a thread ran beside its conversation, read from its log, and what they printed.

use super::layout::Layout;
use super::outcome::each;
use super::recover::is_held;
use crate::domain::background::{BackgroundCommand, CommandEnd};
use crate::domain::event::COMMAND_LOST;
use crate::domain::{CallId, Event, ThreadId};
use crate::ports::StoreError;
use std::io;
use std::ops::ControlFlow;

/// All commands of the thread `id`, oldest first. None runs where no process runs the thread.
///
/// # Errors
/// [`StoreError`].
pub fn of(layout: &Layout, id: &ThreadId) -> Result<Vec<BackgroundCommand>, StoreError> {
    let mut commands: Vec<BackgroundCommand> = Vec::new();
    let held = is_held(layout, id).unwrap_or(true);
    each(layout, id, |record| {
        if let Event::Tool(event) = &record.event {
            BackgroundCommand::follow(&mut commands, event, record.timestamp);
        }
        ControlFlow::Continue(())
    })?;
    if !held {
        for command in commands.iter_mut().filter(|command| command.runs()) {
            command.ended = Some(CommandEnd { at: None, error: Some(COMMAND_LOST.to_owned()) });
        }
    }
    Ok(commands)
}

/// The end of what the command printed, `most` bytes of it; without control characters but ends of lines and tabs.
///
/// # Errors
/// Why it cannot be read.
pub fn output(layout: &Layout, id: &ThreadId, name: &CallId, most: u64) -> io::Result<String> {
    let page = layout.thread(id).output().join(name.output_file()).page(None, most)?;
    let text = String::from_utf8_lossy(&page.bytes);
    // The first line may be a part of one.
    let text = if page.from > 0 { text.split_once('\n').map_or(&*text, |(_, rest)| rest) } else { &*text };
    Ok(text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect())
}
