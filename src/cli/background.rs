//! `levain threads background`: what a thread runs beside its conversation.

use super::failure::{Failure, written};
use super::{find, runtime};
use crate::domain::background::BackgroundCommand;
use crate::domain::command::Command;
use crate::domain::{CallId, ThreadId};
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::store::commands;
use crate::worker::detached::Detached;
use clap::Args;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Bytes of output that are shown of one command.
const SHOWN: u64 = 64 << 10;

#[derive(Debug, Args)]
pub(super) struct BackgroundArguments {
    /// The thread, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// Show what this command printed, the end of it
    #[arg(long, value_name = "COMMAND", conflicts_with = "stop")]
    output: Option<String>,
    /// Stop this command
    #[arg(long, value_name = "COMMAND")]
    stop: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct CommandLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    #[serde(flatten)]
    command: &'a BackgroundCommand,
    /// With `--output`, the end of what it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

pub(super) fn background(setup: &Setup, arguments: &BackgroundArguments) -> Result<ExitCode, Failure> {
    let thread_id = find::thread(setup, &arguments.id)?;
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    let all = commands::of(&setup.layout, &thread_id).map_err(|error| failed(&error))?;
    let named = arguments.output.as_ref().or(arguments.stop.as_ref());
    if let Some(name) = named.filter(|name| !all.iter().any(|command| command.name.0 == **name)) {
        let there: Vec<&str> = all.iter().map(|command| command.name.0.as_str()).collect();
        let failure = Failure::new(format!("{thread_id} ran no command `{name}`"));
        return Err(if there.is_empty() { failure } else { failure.hint(format!("there are: {}", there.join(", "))) });
    }
    if let Some(name) = &arguments.stop {
        let executor = Detached { launcher: setup.launcher().map_err(|error| failed(&error))? };
        let stop = Command::StopCommand { command: CallId(name.clone()) };
        let told = runtime()?.block_on(executor.tell(&thread_id, stop));
        told.map_err(|error| failed(&error))?;
    }
    let mut output = out();
    for command in all.iter().filter(|command| named.is_none_or(|name| command.name.0 == *name)) {
        let printed =
            arguments.output.is_some().then(|| commands::output(&setup.layout, &thread_id, &command.name, SHOWN));
        let printed = printed.transpose().map_err(|error| failed(&error))?;
        if arguments.json {
            let schema = "levain.background_command/1";
            written(json_line(&mut output, &CommandLine { schema, thread_id: &thread_id, command, output: printed }))?;
        } else if let Some(printed) = printed {
            written(write!(output, "{printed}"))?;
        } else {
            let stands = if arguments.stop.is_some() { "is being stopped".to_owned() } else { command.stands() };
            written(writeln!(output, "{}  {stands}  {}", command.name.0, command.line()))?;
        }
    }
    if all.is_empty() {
        let _closed = writeln!(err(), "{thread_id} ran nothing beside its conversation");
    }
    Ok(ExitCode::SUCCESS)
}
