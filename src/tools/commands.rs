//! Looking after commands that run beside the conversation.

use super::{Answer, Failed, ToolContext, off_loop, spill_name};
use crate::domain::CallId;
use crate::domain::background::{BackgroundCommand, CommandsAsked};
use crate::ports::{Beneath, ToolListener};
use serde::Deserialize;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::time::timeout;

/// As many bytes of output are told at once.
const PAGE: u64 = 15_000;

/// How long a call waits for the end of a command when nothing is said, and at most.
const USUAL: f64 = 60.0;
const LONGEST: f64 = 600.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    #[default]
    List,
    Output,
    Wait,
    Stop,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(default)]
    operation: Operation,
    command: Option<String>,
    /// First byte to read.
    offset: Option<u64>,
    /// Seconds.
    timeout: Option<f64>,
}

/// Does what is asked, and answers with how the command stands and what it printed.
pub(super) async fn commands(context: &ToolContext, arguments: Arguments, listener: &dyn ToolListener) -> Answer {
    let Arguments { operation, command, offset, timeout: seconds } = arguments;
    let asked = |asked| async move { listener.commands(asked).await.map_err(|why| Failed(format!("{why}."))) };
    let now = asked(CommandsAsked::Now).await?;
    if operation == Operation::List {
        return Ok(list(&now));
    }
    let named = command.map(|name| CallId(name.trim().to_owned()));
    let only = || if let [one] = now.as_slice() { Some(one.name.clone()) } else { None };
    let name = named.or_else(only).ok_or_else(|| Failed(format!("Say which `command`:\n{}", list(&now))))?;
    let stand = match operation {
        Operation::List | Operation::Output => now,
        Operation::Stop => asked(CommandsAsked::Stop(name.clone())).await?,
        Operation::Wait => {
            let within = Duration::from_secs_f64(seconds.unwrap_or(USUAL).clamp(0.0, LONGEST));
            match timeout(within, asked(CommandsAsked::Over(name.clone()))).await {
                Ok(over) => over?,
                Err(_still_runs) => asked(CommandsAsked::Now).await?,
            }
        }
    };
    read(context, &stand, &name, offset).await
}

fn list(commands: &[BackgroundCommand]) -> String {
    let line = |command: &BackgroundCommand| format!("{} {}: {}", command.name.0, command.stands(), command.line());
    if commands.is_empty() {
        "There are none.".to_owned()
    } else {
        commands.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// How the command `name` stands, with what it printed: from `offset` on, else the end.
pub(super) async fn read(
    context: &ToolContext,
    commands: &[BackgroundCommand],
    name: &CallId,
    offset: Option<u64>,
) -> Answer {
    let found = commands.iter().find(|command| command.name == *name);
    let command = found.ok_or_else(|| Failed(format!("There is no command `{}`:\n{}", name.0, list(commands))))?;
    let file = context.spill.as_ref().map(|folder| folder.join(spill_name(&name.0)));
    let file = file.ok_or_else(|| Failed("What commands print is not kept here.".to_owned()))?;
    let told = context.root.told(&file.path());
    let read = move |_: &AtomicBool| {
        page(&file, offset).map_err(|error| Failed(format!("What it printed could not be read: {error}.")))
    };
    let Page { text, from, to, size } = off_loop(read).await?;
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let place = match (size, to < size) {
        (0, _) => "it has printed nothing".to_owned(),
        (_, true) => format!("bytes {from} to {to} of {size}; go on with offset {to}"),
        (_, false) if from == 0 => "all that it printed".to_owned(),
        (_, false) => format!("bytes {from} to {to}, the end of what it printed, all of which is in `{told}`"),
    };
    let answer = format!("{text}{gap}({} {}; {place})", name.0, command.stands());
    // What stopped by itself in an error is one.
    match &command.ended {
        Some(end) if end.error.is_some() && command.was_not_stopped() => Err(Failed(answer)),
        Some(_) | None => Ok(answer),
    }
}

/// A part of what a command printed.
struct Page {
    text: String,
    from: u64,
    to: u64,
    /// Bytes of all of it, so far.
    size: u64,
}

/// A page of a file: from `offset` on, else its end. Of a file that is not there yet, nothing.
fn page(file: &Beneath, offset: Option<u64>) -> io::Result<Page> {
    let Some(mut opened) = file.open()? else { return Ok(Page { text: String::new(), from: 0, to: 0, size: 0 }) };
    let size = opened.metadata()?.len();
    let from = opened.seek(SeekFrom::Start(offset.unwrap_or(size.saturating_sub(PAGE)).min(size)))?;
    let mut bytes = Vec::new();
    opened.take(PAGE).read_to_end(&mut bytes)?;
    let to = from + bytes.len() as u64;
    Ok(Page { text: String::from_utf8_lossy(&bytes).into_owned(), from, to, size: size.max(to) })
}
