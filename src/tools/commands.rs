//! Looking after commands that run beside the conversation.

use super::output::MOST_SPILLED;
use super::{Answer, Failed, ToolContext, off_loop};
use crate::domain::CallId;
use crate::domain::background::{BackgroundCommand, CommandsAsked};
use crate::ports::ToolListener;
use crate::ports::beneath::Page;
use serde::Deserialize;
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
    if operation == Operation::Wait {
        return outcome(context, &stand, &name).await;
    }
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
async fn read(context: &ToolContext, commands: &[BackgroundCommand], name: &CallId, offset: Option<u64>) -> Answer {
    let found = commands.iter().find(|command| command.name == *name);
    let command = found.ok_or_else(|| Failed(format!("There is no command `{}`:\n{}", name.0, list(commands))))?;
    let file = context.spill.as_ref().map(|folder| folder.join(name.output_file()));
    let file = file.ok_or_else(|| Failed("What commands print is not kept here.".to_owned()))?;
    let told = context.root.told(&file.path());
    let read = move |_: &AtomicBool| {
        file.page(offset, PAGE).map_err(|error| Failed(format!("What it printed could not be read: {error}.")))
    };
    let Page { bytes, from, size } = off_loop(read).await?;
    let (to, text) = (from + bytes.len() as u64, String::from_utf8_lossy(&bytes));
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let place = match (size, to < size) {
        (0, _) => "it has printed nothing".to_owned(),
        (_, true) => format!("bytes {from} to {to} of {size}; go on with offset {to}"),
        (MOST_SPILLED.., false) => {
            format!("the end of its first {} MB; what came later is not kept", MOST_SPILLED >> 20)
        }
        (_, false) if from == 0 => "all that it printed".to_owned(),
        (_, false) => format!("bytes {from} to {to}, the end of what it printed, all of which is in `{told}`"),
    };
    Ok(format!("{text}{gap}({} {}; {place})", name.0, command.stands()))
}

/// The same for who waited for its end: where that was an error, it is one.
pub(super) async fn outcome(context: &ToolContext, commands: &[BackgroundCommand], name: &CallId) -> Answer {
    let failed = |command: &BackgroundCommand| command.ended.as_ref().is_some_and(|end| end.error.is_some());
    let answer = read(context, commands, name, None).await?;
    if commands.iter().any(|command| command.name == *name && failed(command)) {
        Err(Failed(answer))
    } else {
        Ok(answer)
    }
}
