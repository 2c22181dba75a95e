//! `levain threads`: what there is.

use super::Common;
use super::failure::{Failure, written};
use super::find;
use crate::app::Setup;
use crate::app::people::{err, json_line, out};
use crate::domain::{Cost, ModelRef, Status, ThreadId, ThreadKind, Timestamp, Waiting};
use crate::store::registry::ThreadEntry;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ThreadsArguments {
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    most: usize,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct ThreadLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    directive: &'a str,
    kind: ThreadKind,
    status: Status,
    /// What for, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Waiting>,
    title: &'a str,
    model: &'a ModelRef,
    created_at: Timestamp,
    updated_at: Timestamp,
    cost: Cost,
    pid: Option<u32>,
}

pub(super) fn run(common: &Common, arguments: &ThreadsArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let threads = find::threads(&setup, arguments.most)?;
    let mut output = io::BufWriter::new(out());
    let mut write = || -> io::Result<()> {
        for entry in &threads {
            if arguments.json {
                json_line(&mut output, &line(entry))?;
            } else {
                write_row(&mut output, entry, setup.now())?;
            }
        }
        output.flush()
    };
    written(write())?;
    if threads.is_empty() && !arguments.json {
        let _closed = writeln!(err(), "no threads in {} yet", setup.layout.project().display());
    }
    Ok(ExitCode::SUCCESS)
}

fn line(entry: &ThreadEntry) -> ThreadLine<'_> {
    ThreadLine {
        schema: "levain.thread/1",
        thread_id: &entry.thread_id,
        directive: &entry.directive,
        kind: entry.kind,
        status: entry.status,
        waiting: entry.waiting,
        title: &entry.title,
        model: &entry.model,
        created_at: entry.created_at,
        updated_at: entry.updated_at,
        cost: entry.cost,
        pid: entry.pid,
    }
}

fn write_row(output: &mut impl Write, entry: &ThreadEntry, now: Timestamp) -> io::Result<()> {
    let turns = entry.cost.turns;
    writeln!(
        output,
        "{:<10} {:<24} {:>9} {:>4} {} {:>8}  {}",
        entry.status.told(entry.waiting),
        entry.thread_id.as_str(),
        age(now.since(entry.updated_at)),
        turns,
        if turns == 1 { "turn " } else { "turns" },
        entry.cost.spend.to_string(),
        &entry.title
    )
}

/// `12 s ago`, `5 min ago`, `3 h ago`, `8 d ago`.
fn age(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..=59 => format!("{seconds} s ago"),
        60..=3_599 => format!("{} min ago", seconds / 60),
        3_600..=86_399 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}
