//! `levain threads`: what there is.

use super::failure::{Failure, written};
use super::find;
use super::orchestrate::{
    self, ApproveArguments, ResumeArguments, SearchArguments, ThreadNamed, ThreadsNamed, TimelineArguments,
    TreeArguments, WaitArguments,
};
use super::undo;
use super::upkeep::{self, ArchiveArguments, RemoveArguments, RenameArguments};
use super::{Common, runtime};
use super::{background, conversation};
use crate::domain::tree;
use crate::domain::{
    Cost, ForkPoint, Lineage, ModelRef, Operation, Outputs, Status, ThreadId, ThreadKind, ThreadOrder, Timestamp,
    Waiting,
};
use crate::session::people::{err, json_line, out};
use crate::session::{self, Setup};
use crate::store::registry::{Part, ThreadEntry};
use clap::{Args, Subcommand};
use futures_util::future::join_all;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ThreadsArguments {
    #[command(subcommand)]
    command: Option<ThreadsCommand>,
    /// Show those that were archived
    #[arg(long)]
    archived: bool,
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    most: usize,
    /// Which come first: attention (those that need you, then those that failed), cost, or quiet (those that run and
    /// have been quiet the longest); without it the newest
    #[arg(long, value_name = "ORDER", value_parser = order)]
    order: Option<ThreadOrder>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// An order by its word. A tree is what `tree` prints.
fn order(word: &str) -> Result<ThreadOrder, String> {
    let known = || ThreadOrder::ALL.into_iter().filter(|(_, order)| *order != ThreadOrder::Tree);
    let found = known().find(|(known, _)| *known == word).map(|(_, order)| order);
    found.ok_or_else(|| format!("use {}", known().map(|(word, _)| word).collect::<Vec<_>>().join(", ")))
}

#[derive(Debug, Subcommand)]
enum ThreadsCommand {
    /// Fork a thread: make your own with the same messages, without the permissions of the first
    Fork {
        /// The thread, or a part of its id that only it has; with #N without the prompt that led to its request N, and
        /// all behind it
        #[arg(value_name = "ID[#N]")]
        id: String,
        /// At what was said there, by the id that `levain threads conversation` lists: without a prompt, with anything else
        #[arg(long, value_name = "ENTRY")]
        at: Option<String>,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show what was said in a thread and in all that go on with it, as a tree
    Conversation(conversation::ConversationArguments),
    /// Give something that was said a label
    Label(conversation::LabelArguments),
    /// Make threads of a session of pi, one for each branch
    Import(conversation::ImportArguments),
    /// Stop running threads; their messages are kept
    Cancel(StopArguments),
    /// End running threads at once, whatever they do
    Kill(StopArguments),
    /// Wait until threads have ended, or wait for you
    Wait(WaitArguments),
    /// Show what came of threads so far
    Result(ThreadsNamed),
    /// List the threads that run
    Running {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// List threads below those that started them
    Tree(TreeArguments),
    /// Draw what the threads of a tree did when, and what they waited for
    Timeline(TimelineArguments),
    /// Say something to a thread that has ended: a new one goes on with its messages
    Resume(ResumeArguments),
    /// Let a new thread continue a running one, with a summary, the newest messages and what is left of its limits
    Handoff(ThreadNamed),
    /// Show what threads may spend, have reserved and have spent, with everything below them
    Budget(ThreadsNamed),
    /// Show why a thread ended, what it was doing then, and what had gone wrong, from its files alone
    Postmortem(ThreadNamed),
    /// Show what a thread keeps under names, for its hooks and tools
    State(ThreadNamed),
    /// Show what a thread runs beside its conversation, what that printed, and stop it
    Background(background::BackgroundArguments),
    /// List the threads of one conversation, in order
    Chain(ThreadNamed),
    /// Search what was said in a conversation
    Search(SearchArguments),
    /// Let a thread that is suspended at a limit go on
    Approve(ApproveArguments),
    /// Write the registry and the budget ledger as JSON files beside the threads, for other programs
    Export,
    /// Remove threads permanently, except those with a running process
    Rm(RemoveArguments),
    /// Give a thread a title
    Rename(RenameArguments),
    /// Take back what a thread's file tools changed, after showing it
    Undo(undo::UndoArguments),
    /// Leave threads out of the list; with --undo, list them again
    Archive(ArchiveArguments),
}

/// As many threads are looked through for those of a tree.
const MOST_OF_A_TREE: usize = 20_000;

#[derive(Debug, Args)]
struct StopArguments {
    /// The threads, or parts of their ids that only they have
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Every running thread below them too
    #[arg(long)]
    tree: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json` of `cancel` and `kill`.
#[derive(Serialize)]
struct StopLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    /// Whether the thread was running and has been told.
    stopped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// `--json` of `fork`.
#[derive(Serialize)]
struct ForkLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    from: &'a ThreadId,
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
    /// The item of the call that a person has to allow, or the limit that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<&'a str>,
    title: &'a str,
    archived: bool,
    model: &'a ModelRef,
    created_at: Timestamp,
    updated_at: Timestamp,
    cost: Cost,
    /// Tokens of its newest answers, the oldest of them first.
    outputs: Outputs,
    /// What is risky of what its directive grants and does not acknowledge.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<&'a str>,
    pid: Option<u32>,
    /// Whether somebody else wrote its log: then all of this is what its files say of themselves.
    elsewhere: bool,
    lineage: &'a Lineage,
}

pub(super) fn run(common: &Common, arguments: &ThreadsArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    match &arguments.command {
        Some(ThreadsCommand::Fork { id, at, json }) => return fork(&setup, id, at.as_deref(), *json),
        Some(ThreadsCommand::Conversation(asked)) => return conversation::show(&setup, asked),
        Some(ThreadsCommand::Import(import)) => return conversation::import(&setup, import),
        Some(ThreadsCommand::Label(label)) => return conversation::label(&setup, label),
        Some(ThreadsCommand::Cancel(stop)) => return stop_all(&setup, stop, false),
        Some(ThreadsCommand::Kill(stop)) => return stop_all(&setup, stop, true),
        Some(ThreadsCommand::Wait(wait)) => return orchestrate::wait(&setup, wait),
        Some(ThreadsCommand::Result(named)) => return orchestrate::result(&setup, named),
        Some(ThreadsCommand::Running { json }) => return orchestrate::running(&setup, *json),
        Some(ThreadsCommand::Tree(tree)) => return orchestrate::tree(&setup, tree),
        Some(ThreadsCommand::Timeline(timeline)) => return orchestrate::timeline(&setup, timeline),
        Some(ThreadsCommand::Resume(resume)) => return orchestrate::resume(&setup, resume),
        Some(ThreadsCommand::Handoff(named)) => return orchestrate::handoff(&setup, named),
        Some(ThreadsCommand::Budget(named)) => return orchestrate::budget(&setup, named),
        Some(ThreadsCommand::Postmortem(named)) => return super::postmortem::postmortem(&setup, named),
        Some(ThreadsCommand::Background(asked)) => return background::background(&setup, asked),
        Some(ThreadsCommand::State(named)) => return super::state::state(&setup, named),
        Some(ThreadsCommand::Approve(approve)) => return orchestrate::approve(&setup, approve),
        Some(ThreadsCommand::Export) => return orchestrate::export(&setup),
        Some(ThreadsCommand::Chain(named)) => return orchestrate::chain(&setup, named),
        Some(ThreadsCommand::Search(search)) => return orchestrate::search(&setup, search),
        Some(ThreadsCommand::Rm(remove)) => return upkeep::remove(&setup, remove),
        Some(ThreadsCommand::Undo(undo)) => return undo::run(&setup, undo),
        Some(ThreadsCommand::Rename(rename)) => return upkeep::rename(&setup, rename),
        Some(ThreadsCommand::Archive(archive)) => return upkeep::archive(&setup, archive),
        None => {}
    }
    let part = if arguments.archived { Part::Archived } else { Part::Open };
    // What comes first is known once all were looked at.
    let most = if arguments.order.is_some() { usize::MAX } else { arguments.most };
    let mut threads = find::threads(&setup, part, most)?;
    if let Some(order) = arguments.order {
        threads.sort_by_key(|entry| order.rank(&entry.stand()));
        threads.truncate(arguments.most);
    }
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
        let project = setup.layout.project().display();
        let _closed = match part {
            Part::Archived => writeln!(err(), "no archived threads in {project}"),
            Part::Open | Part::All => writeln!(err(), "no threads in {project} yet"),
        };
    }
    Ok(ExitCode::SUCCESS)
}

fn fork(setup: &Setup, id: &str, at: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let (from, until) = match at {
        Some(entry) => {
            let from = find::thread(setup, id)?;
            let at = conversation::entry(setup, &from, entry)?;
            (from, ForkPoint::Entry(at))
        }
        None => find::place(setup, id)?,
    };
    let thread_id = session::fork(setup, &from, until, None, Vec::new()).map_err(Failure::new)?.id;
    let mut output = out();
    if json {
        written(json_line(&mut output, &ForkLine { schema: "levain.fork/1", thread_id: &thread_id, from: &from }))?;
    } else {
        written(writeln!(output, "{thread_id} is a fork of {from}"))?;
        let _closed = writeln!(err(), "hint: levain --continue {thread_id}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Cancels threads, or kills them. One that cannot be stopped is told, and the others are stopped all the same.
fn stop_all(setup: &Setup, arguments: &StopArguments, at_once: bool) -> Result<ExitCode, Failure> {
    let ids = arguments.ids.iter().map(|id| find::thread(setup, id)).collect::<Result<Vec<_>, _>>()?;
    let named = ids.len();
    let mut generations = vec![ids.clone()];
    if arguments.tree {
        let rows = find::threads(setup, Part::All, MOST_OF_A_TREE)?;
        // What a thread waits for ends with it; what works by itself does not.
        let running = |rows: Vec<&ThreadEntry>| {
            rows.into_iter().filter(|row| row.pid.is_some()).map(|row| row.thread_id.clone()).collect()
        };
        generations.extend(tree::generations(&rows, &ids).into_iter().map(running));
    }
    let ids: Vec<ThreadId> = generations.concat();
    let orchestrator = setup.orchestrator()?;
    let stop = |thread_id: &ThreadId| {
        let thread_id = thread_id.clone();
        orchestrator.operate(if at_once {
            Operation::KillThread { thread_id }
        } else {
            Operation::CancelThread { thread_id }
        })
    };
    let mut stopped = runtime()?.block_on(async {
        let mut stopped = Vec::new();
        for generation in &generations {
            stopped.extend(join_all(generation.iter().map(stop)).await);
        }
        stopped
    });
    if stopped.iter().skip(named).any(Result::is_err) {
        // What a thread waited for may have ended with it before it was asked.
        let rows = find::threads(setup, Part::All, MOST_OF_A_TREE)?;
        let runs = |id: &ThreadId| rows.iter().any(|row| row.thread_id == *id && row.pid.is_some());
        for (id, result) in ids.iter().zip(&mut stopped).skip(named) {
            if result.is_err() && !runs(id) {
                *result = Ok(serde_json::Value::Null);
            }
        }
    }
    let mut output = out();
    let word = if at_once { "killed" } else { "stopping" };
    let mut code = ExitCode::SUCCESS;
    for (thread_id, result) in ids.iter().zip(stopped) {
        let error = result.err();
        if error.is_some() {
            code = ExitCode::FAILURE;
        }
        let wrote = match (&error, arguments.json) {
            (_, true) => {
                let (schema, stopped) = ("levain.stop/1", error.is_none());
                json_line(&mut output, &StopLine { schema, thread_id, stopped, error })
            }
            (None, false) => writeln!(output, "{thread_id} {word}"),
            (Some(error), false) => writeln!(err(), "{thread_id} was not stopped: {error}"),
        };
        written(wrote)?;
    }
    Ok(code)
}

fn line(entry: &ThreadEntry) -> ThreadLine<'_> {
    ThreadLine {
        schema: "levain.thread/1",
        thread_id: &entry.thread_id,
        directive: &entry.directive,
        kind: entry.kind,
        status: entry.status,
        waiting: entry.waiting,
        waits_for: entry.waits_for.as_deref(),
        title: &entry.title,
        archived: entry.archived,
        model: &entry.model,
        created_at: entry.created_at,
        updated_at: entry.updated_at,
        cost: entry.cost,
        outputs: entry.outputs,
        risk: entry.risk.as_deref(),
        pid: entry.pid,
        elsewhere: entry.elsewhere,
        lineage: &entry.lineage,
    }
}

fn write_row(output: &mut impl Write, entry: &ThreadEntry, now: Timestamp) -> io::Result<()> {
    let turns = entry.cost.turns;
    writeln!(
        output,
        "{:<10} {:<24} {:>9} {:>4} {} {:>8}  {}{}",
        if entry.elsewhere { "elsewhere" } else { entry.status.told(entry.waiting) },
        entry.thread_id.as_str(),
        age(now.since(entry.updated_at)),
        turns,
        if turns == 1 { "turn " } else { "turns" },
        entry.cost.spend.to_string(),
        &entry.title,
        entry
            .status
            .waits_for(entry.waiting, entry.waits_for.as_deref())
            .map(|waits| format!("  [{waits}]"))
            .unwrap_or_default()
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
