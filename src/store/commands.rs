//! The commands that a thread ran beside its conversation, read from its log, and what they printed.

use super::layout::Layout;
use super::outcome::each;
use super::recover::is_held;
use crate::domain::background::{BackgroundCommand, CommandEnd};
use crate::domain::event::COMMAND_LOST;
use crate::domain::{CallId, Event, ThreadId, ToolEvent};
use crate::ports::StoreError;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;

/// All commands of the thread `id`, oldest first. None runs where no process runs the thread.
///
/// # Errors
/// [`StoreError`].
pub fn of(layout: &Layout, id: &ThreadId) -> Result<Vec<BackgroundCommand>, StoreError> {
    let mut commands: Vec<BackgroundCommand> = Vec::new();
    let held = is_held(layout, id).unwrap_or(true);
    each(layout, id, |record| {
        let at = record.timestamp;
        if let Event::Tool(ToolEvent::CommandStarted { call_id, command, .. }) = &record.event {
            let (name, command) = (call_id.clone(), command.clone());
            commands.push(BackgroundCommand { name, command, started: at, ended: None });
        } else if let Event::Tool(ToolEvent::CommandEnded { call_id, error, .. }) = &record.event
            && let Some(command) = commands.iter_mut().find(|command| command.name == *call_id)
        {
            command.ended = Some(CommandEnd { at, error: error.clone() });
        }
        ControlFlow::Continue(())
    })?;
    if !held {
        for command in commands.iter_mut().filter(|command| command.runs()) {
            command.ended = Some(CommandEnd { at: command.started, error: Some(COMMAND_LOST.to_owned()) });
        }
    }
    Ok(commands)
}

/// The end of what the command printed, `most` bytes of it; without control characters but ends of lines and tabs.
///
/// # Errors
/// Why it cannot be read.
pub fn output(layout: &Layout, id: &ThreadId, name: &CallId, most: u64) -> io::Result<String> {
    let file = layout.thread(id).output().join(format!("{}.txt", name.0));
    let Some(mut file) = file.open()? else { return Ok(String::new()) };
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may be a part of one.
    let text = if size > most { text.split_once('\n').map_or(&*text, |(_, rest)| rest) } else { &*text };
    Ok(text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect())
}
