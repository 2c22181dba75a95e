//! `levain threads rm`, `rename` and `archive`: what a person does with threads as a whole.

use super::failure::{Failure, code, written};
use super::text::several;
use super::{find, runtime};
use crate::domain::{Status, ThreadId, Timestamp};
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::store::registry::ThreadEntry;
use crate::store::upkeep;
use crate::worker::detached::Detached;
use clap::Args;
use futures_util::future::join_all;
use serde::Serialize;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct RemoveArguments {
    /// The threads, or parts of their ids that only they have
    #[arg(value_name = "ID", conflicts_with_all = ["older_than", "failed"])]
    ids: Vec<String>,
    /// All that have not changed for so long: 12h, 30d, 8w
    #[arg(long, value_name = "TIME", value_parser = time)]
    older_than: Option<Duration>,
    /// All that ended with an error
    #[arg(long)]
    failed: bool,
    /// Remove without asking; required without a terminal
    #[arg(long, short = 'y')]
    yes: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RenameArguments {
    /// The thread, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// What it is to be called
    #[arg(value_name = "TITLE", required = true)]
    title: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ArchiveArguments {
    /// The threads, or parts of their ids that only they have
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// List them with the others again
    #[arg(long)]
    undo: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json` of `rm`.
#[derive(Serialize)]
struct RemovedLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    removed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// `--json` of `rename`.
#[derive(Serialize)]
struct RenamedLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    title: &'a str,
}

/// A line of `--json` of `archive`.
#[derive(Serialize)]
struct ArchivedLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    /// How it is now.
    archived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// As many threads are named before a person is asked.
const NAMED: usize = 10;

/// `30d` as a time.
fn time(text: &str) -> Result<Duration, String> {
    let expects = || "write a whole number and h, d or w, for example 30d".to_owned();
    let unit = text.chars().last().ok_or_else(expects)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return Err(expects()),
    };
    let number: u64 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or_else(expects)?;
    Ok(Duration::from_secs(number.saturating_mul(hours).saturating_mul(3_600)))
}

/// Whether a thread that last changed then is as old as that.
fn is_older(updated_at: Timestamp, now: Timestamp, than: Duration) -> bool {
    u128::from(now.since(updated_at)) >= than.as_millis()
}

/// Removes threads. One that stays is told, and the others are removed all the same.
pub(super) fn remove(setup: &Setup, arguments: &RemoveArguments) -> Result<ExitCode, Failure> {
    upkeep::sweep(&setup.layout);
    let ids = chosen(setup, arguments)?;
    if ids.is_empty() {
        if !arguments.json {
            let _closed = writeln!(err(), "no thread fits; nothing was removed");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.yes && !is_wanted(setup, &ids)? {
        let _closed = writeln!(err(), "nothing was removed");
        return Ok(ExitCode::from(code::ERROR));
    }
    let mut output = out();
    let mut code = ExitCode::SUCCESS;
    for thread_id in &ids {
        let error = upkeep::remove(&setup.layout, thread_id).err().map(|error| error.to_string());
        if error.is_some() {
            code = ExitCode::FAILURE;
        }
        written(match (&error, arguments.json) {
            (_, true) => {
                let (schema, removed) = ("levain.removed/1", error.is_none());
                json_line(&mut output, &RemovedLine { schema, thread_id, removed, error })
            }
            (None, false) => writeln!(output, "{thread_id} removed"),
            (Some(error), false) => writeln!(err(), "{thread_id} was not removed: {error}"),
        })?;
    }
    Ok(code)
}

/// The threads that are meant.
fn chosen(setup: &Setup, arguments: &RemoveArguments) -> Result<Vec<ThreadId>, Failure> {
    if !arguments.ids.is_empty() {
        let mut ids: Vec<ThreadId> = Vec::new();
        for id in &arguments.ids {
            let id = find::thread(setup, id)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        return Ok(ids);
    }
    if arguments.older_than.is_none() && !arguments.failed {
        return Err(Failure::usage("levain threads rm removes the threads that you name")
            .hint("give their ids, or --older-than 30d, or --failed"));
    }
    let now = setup.now();
    let fits = |entry: &ThreadEntry| {
        let failed = !arguments.failed || entry.status == Status::Error;
        failed && arguments.older_than.is_none_or(|than| is_older(entry.updated_at, now, than))
    };
    Ok(find::all(setup)?.into_iter().filter(fits).map(|entry| entry.thread_id).collect())
}

/// Asks the person whether these are to go.
fn is_wanted(setup: &Setup, ids: &[ThreadId]) -> Result<bool, Failure> {
    let count = several(ids.len(), "thread");
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!("cannot ask whether to remove {count}: standard input is not a terminal"))
            .hint("with --yes it is done without asking"));
    }
    let titles = find::all(setup)?;
    let mut output = err();
    for id in ids.iter().take(NAMED) {
        let title = titles.iter().find(|entry| entry.thread_id == *id).map_or("", |entry| &entry.title);
        written(writeln!(output, "  {id}  {title}"))?;
    }
    if ids.len() > NAMED {
        written(writeln!(output, "  and {} more", ids.len() - NAMED))?;
    }
    written(write!(output, "Remove {count} for good? [y/N] "))?;
    written(output.flush())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| Failure::new(format!("no answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Calls a thread something.
pub(super) fn rename(setup: &Setup, arguments: &RenameArguments) -> Result<ExitCode, Failure> {
    let thread_id = find::thread(setup, &arguments.id)?;
    let title = arguments.title.join(" ");
    let executor = Detached { launcher: setup.launcher()? };
    runtime()?
        .block_on(executor.rename(&thread_id, &title))
        .map_err(|error| Failure::new(format!("{thread_id} was not renamed: {error}")))?;
    let (mut output, title) = (out(), title.trim());
    if arguments.json {
        let schema = "levain.renamed/1";
        written(json_line(&mut output, &RenamedLine { schema, thread_id: &thread_id, title }))?;
    } else {
        written(writeln!(output, "{thread_id} is called \"{title}\""))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists threads apart, or with the others again. One that cannot be is told, and the others are all the same.
pub(super) fn archive(setup: &Setup, arguments: &ArchiveArguments) -> Result<ExitCode, Failure> {
    let ids = arguments.ids.iter().map(|id| find::thread(setup, id)).collect::<Result<Vec<_>, _>>()?;
    let archived = !arguments.undo;
    let executor = Detached { launcher: setup.launcher()? };
    let done = runtime()?.block_on(join_all(ids.iter().map(|id| executor.archive(id, archived))));
    let mut output = out();
    let (done_word, not_word) =
        if archived { ("archived", "was not archived") } else { ("listed again", "stays archived") };
    let mut code = ExitCode::SUCCESS;
    for (thread_id, result) in ids.iter().zip(done) {
        let error = result.err().map(|error| error.to_string());
        if error.is_some() {
            code = ExitCode::FAILURE;
        }
        written(match (&error, arguments.json) {
            (_, true) => {
                let (schema, archived) = ("levain.archived/1", archived == error.is_none());
                json_line(&mut output, &ArchivedLine { schema, thread_id, archived, error })
            }
            (None, false) => writeln!(output, "{thread_id} {done_word}"),
            (Some(error), false) => writeln!(err(), "{thread_id} {not_word}: {error}"),
        })?;
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_a_time_is_a_number_and_a_unit() {
        let hours = |text: &str| time(text).map(|time| time.as_secs() / 3_600).ok();
        assert_eq!([hours("12h"), hours("30d"), hours("8w"), hours("0d")], [Some(12), Some(720), Some(1_344), Some(0)]);
        for bad in ["", "30", "d", "-1d", "1.5d", "30 days", "1m", "ä"] {
            assert_eq!(hours(bad), None, "{bad}");
        }
        let (now, day) = (Timestamp(10 * 86_400_000), Duration::from_hours(24));
        assert!(is_older(Timestamp(9 * 86_400_000), now, day) && !is_older(Timestamp(9 * 86_400_001), now, day));
    }
}
