//! `levain threads undo`: take back what a thread's file tools changed.

use super::failure::{Failure, code, written};
use super::find;
use crate::domain::ForkPoint;
use crate::session::people::{err, json_line, out};
use crate::session::{Setup, undo};
use crate::tools::{Root, State, Taken, take_back};
use clap::Args;
use serde::Serialize;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct UndoArguments {
    /// The thread, or a part of its id that only it has; with #N what its answer to request N changed
    #[arg(value_name = "ID[#N]")]
    id: String,
    /// These files only, relative to the project
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Show what would be taken back, and change nothing
    #[arg(long)]
    list: bool,
    /// Take it back without asking; required without a terminal
    #[arg(long, short = 'y')]
    yes: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`: one file.
#[derive(Serialize)]
struct UndoLine<'a> {
    schema: &'static str,
    path: &'a str,
    /// `as_left`, `as_before`, `changed`, `unreadable`.
    state: &'static str,
    /// What taking it back changes.
    difference: String,
    /// What somebody made of it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    taken_back: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(setup: &Setup, arguments: &UndoArguments) -> Result<ExitCode, Failure> {
    let (id, until) = find::place(setup, &arguments.id)?;
    let request = if let ForkPoint::Request(number) = until { Some(number) } else { None };
    if !arguments.list {
        undo::allowed(setup, &id).map_err(Failure::new)?;
    }
    let mut changes = undo::changes(setup, &id, request).map_err(Failure::new)?;
    if let Some(unknown) = arguments.files.iter().find(|file| !changes.iter().any(|one| one.path == **file)) {
        return Err(Failure::new(format!("{id} changed no file `{unknown}`"))
            .hint("levain threads undo --list shows those it did"));
    }
    changes.retain(|one| arguments.files.is_empty() || arguments.files.contains(&one.path));
    let root = undo::root(setup);
    if changes.is_empty() && !arguments.json {
        written(writeln!(out(), "{id} changed no files by its file tools; what commands changed is not kept"))?;
    }
    if !arguments.json {
        for one in &changes {
            written(write!(out(), "{}", one.told(&one.state(&root))))?;
        }
    }
    let open = changes.iter().any(|one| one.state(&root) == State::AsLeft);
    let does = !arguments.list && open && (arguments.yes || asked()?);
    let mut failed = false;
    for one in &changes {
        failed |= tell(one, &root, does, arguments)?;
    }
    Ok(if failed { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
}

/// Takes one back, if that is to be, and says what became of it. Whether it failed.
fn tell(one: &Taken, root: &Root, does: bool, arguments: &UndoArguments) -> Result<bool, Failure> {
    let state = one.state(root);
    let result = if does { take_back(root, one) } else { Ok(false) };
    let error = match &result {
        Err(why) if !arguments.list => Some(why.clone()),
        Ok(_) | Err(_) => None,
    };
    let (word, since) = match &state {
        State::AsLeft => ("as_left", None),
        State::AsBefore => ("as_before", None),
        State::Changed(now) => ("changed", Some(one.since(now.as_deref()))),
        State::Unreadable(_) => ("unreadable", None),
    };
    let taken_back = result == Ok(true);
    if arguments.json {
        let (schema, path) = ("levain.undo/1", one.path.as_str());
        let line = UndoLine {
            schema,
            path,
            state: word,
            difference: one.difference(),
            since,
            taken_back,
            error: error.clone(),
        };
        written(json_line(&mut out(), &line))?;
    } else if taken_back {
        let what = if one.before.is_some() { "is as it was" } else { "is removed again" };
        written(writeln!(out(), "{} {what}", one.path))?;
    } else if let Some(why) = &error {
        written(writeln!(err(), "{} stays as it is: {why}", one.path))?;
    }
    Ok(error.is_some())
}

/// Asks the person.
fn asked() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage("nothing was taken back").hint("without a terminal say --yes"));
    }
    written(write!(out(), "Take this back? [y/N] "))?;
    written(out().flush())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| Failure::new(error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
