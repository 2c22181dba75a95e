//! `levain threads postmortem`: what became of a thread, from its files alone.

use super::failure::{Failure, written};
use super::find;
use super::orchestrate::ThreadNamed;
use crate::domain::ThreadId;
use crate::ports::Ledger;
use crate::session::Setup;
use crate::session::people::{json_line, out};
use crate::store::{KeptLedger, postmortem};
use crate::worker::host::REPLAY;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// `--json` of `postmortem`.
#[derive(Serialize)]
struct PostmortemLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    about: &'static str,
    text: String,
}

pub(super) fn postmortem(setup: &Setup, ThreadNamed { id, json }: &ThreadNamed) -> Result<ExitCode, Failure> {
    let thread_id = find::thread(setup, id)?;
    let mut rows =
        postmortem::of(&setup.layout, &thread_id, REPLAY.summary).map_err(|error| Failure::new(error.to_string()))?;
    // Where the ledger does not answer, the files still do.
    if let Ok(report) = KeptLedger::new(&setup.layout, REPLAY).report(&thread_id)() {
        rows.extend(
            report.in_words().into_iter().map(|line| ("budget", line.split_whitespace().collect::<Vec<_>>().join(" "))),
        );
    }
    let mut output = out();
    if *json {
        let rows = rows.into_iter().map(|(about, text)| Row { about, text }).collect();
        let line = PostmortemLine { schema: "levain.postmortem/1", thread_id: &thread_id, rows };
        written(json_line(&mut output, &line))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (about, text) in rows {
        written(writeln!(output, "{about:<13} {text}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
