//! `levain threads conversation` and `levain threads label`: what was said in a thread and all that go on with it, as a tree.

use super::failure::{Failure, written};
use super::{find, runtime};
use crate::domain::conversation::{Conversation, Listed, Said, entry_at};
use crate::domain::{ThreadId, Timestamp};
use crate::session::people::{err, json_line, out};
use crate::session::pi_import::{self, Imported};
use crate::session::{Setup, conversation};
use crate::worker::detached::Detached;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ConversationArguments {
    /// A thread of it, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// What is listed: words, prompts, labelled, or all with calls of tools and what they gave
    #[arg(long, value_name = "WHAT", default_value = "words", value_parser = listed)]
    list: Listed,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct LabelArguments {
    /// The thread in which it was said, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// What was said, by the id that `levain threads conversation` lists
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// What it is to be called; without, it has no label any more
    #[arg(value_name = "LABEL")]
    label: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct ImportArguments {
    /// The file of the session
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// One JSON object a line, for each thread
    #[arg(long)]
    json: bool,
}

/// A line of `--json` of `import`.
#[derive(Serialize)]
struct ImportedLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
}

/// Makes threads of a session of pi; what was left out of it is told beside them.
pub(super) fn import(setup: &Setup, arguments: &ImportArguments) -> Result<ExitCode, Failure> {
    let Imported { threads, problems } = pi_import::import(setup, &arguments.file).map_err(Failure::new)?;
    for problem in problems {
        let _closed = writeln!(err(), "warning: {problem}");
    }
    let mut output = out();
    for thread_id in &threads {
        written(if arguments.json {
            json_line(&mut output, &ImportedLine { schema: "levain.imported/1", thread_id })
        } else {
            writeln!(output, "{thread_id}")
        })?;
    }
    if let Some(first) = threads.first().filter(|_| !arguments.json) {
        let _closed = writeln!(err(), "hint: levain --continue {first}");
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(word: &str) -> Result<Listed, String> {
    let found = Listed::ALL.into_iter().find(|(known, _)| *known == word).map(|(_, listed)| listed);
    found.ok_or_else(|| format!("use {}", Listed::ALL.map(|(word, _)| word).join(", ")))
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    /// So many branches are around it.
    level: usize,
    /// Whether the thread that was asked for has it.
    here: bool,
    /// What was said; without it the thread begins here.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    said: Option<SaidLine<'a>>,
    /// Where a thread begins: the one it goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a ThreadId>,
}

#[derive(Serialize)]
struct SaidLine<'a> {
    entry: String,
    kind: &'static str,
    at: Timestamp,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
}

pub(super) fn show(setup: &Setup, arguments: &ConversationArguments) -> Result<ExitCode, Failure> {
    let id = find::thread(setup, &arguments.id)?;
    let conversation = conversation::read(&setup.layout, &id, setup.now())?;
    let mut output = io::BufWriter::new(out());
    let mut write = || -> io::Result<()> {
        for row in conversation.rows(&id, arguments.list) {
            let Some(branch) = conversation.branches().get(row.branch) else { continue };
            let said = row.entry.and_then(|entry| branch.said.get(entry));
            let from = branch.from.as_ref().filter(|_| said.is_none());
            if arguments.json {
                let line = Line {
                    schema: "levain.conversation/1",
                    thread_id: &branch.thread,
                    level: row.level,
                    here: row.here,
                    said: said.map(said_line),
                    from: from.map(|from| &from.thread),
                };
                json_line(&mut output, &line)?;
                continue;
            }
            let (mark, indent) = (if row.here { "│" } else { " " }, "  ".repeat(row.level));
            if let Some(said) = said {
                let label = said.label.as_ref().map(|label| format!("[{label}] ")).unwrap_or_default();
                writeln!(output, "{mark} {}  {indent}{label}{}: {}", said.id(), said.kind.word(), said.text)?;
            } else {
                let how = if from.is_some_and(|from| from.handed_off) { "continued" } else { "fork" };
                writeln!(output, "{mark} {:8}  {indent}{how}: {} {}", "", branch.thread, branch.title)?;
            }
        }
        output.flush()
    };
    written(write())?;
    if !arguments.json {
        let _closed = writeln!(err(), "hint: levain threads fork ID --at ENTRY goes on from there");
    }
    Ok(ExitCode::SUCCESS)
}

fn said_line(said: &Said) -> SaidLine<'_> {
    let (entry, kind, at, label) = (said.id(), said.kind.word(), said.when, said.label.as_deref());
    SaidLine { entry, kind, at, text: &said.text, label }
}

/// The byte of the thread's log that `entry` names, where something was said.
pub(super) fn entry(setup: &Setup, id: &ThreadId, entry: &str) -> Result<u64, Failure> {
    let conversation: Conversation = conversation::read(&setup.layout, id, setup.now())?;
    let said = conversation.branches().iter().filter(|branch| branch.thread == *id).flat_map(|branch| &branch.said);
    let at = entry_at(entry).filter(|at| said.clone().any(|said| said.at == *at));
    at.ok_or_else(|| {
        Failure::usage(format!("nothing that was said in {id} has the id `{entry}`"))
            .hint(format!("levain threads conversation {id} --list all lists the ids"))
    })
}

pub(super) fn label(setup: &Setup, arguments: &LabelArguments) -> Result<ExitCode, Failure> {
    let id = find::thread(setup, &arguments.id)?;
    entry(setup, &id, &arguments.entry)?;
    let label = Some(arguments.label.join(" ")).filter(|label| !label.trim().is_empty());
    let told = match &label {
        Some(label) => format!("{} of {id} is called {}", arguments.entry, label.trim()),
        None => format!("{} of {id} has no label", arguments.entry),
    };
    let executor = Detached { launcher: setup.launcher()? };
    runtime()?
        .block_on(executor.label(&id, arguments.entry.clone(), label))
        .map_err(|error| Failure::new(error.to_string()))?;
    written(writeln!(out(), "{told}"))?;
    Ok(ExitCode::SUCCESS)
}
