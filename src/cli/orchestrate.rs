//! `levain threads wait | result | running | chain | search | tree`: what is done with threads of a tree, from the command
//! line. The same as the orchestrator tool does.

use super::failure::{Failure, written};
use super::{find, runtime};
use crate::domain::timeline::drawn;
use crate::domain::tree::order;
use crate::domain::{Balance, BudgetReport, Limits, Money, Operation, SearchType, ThreadId, ThreadResult, Tokens};
use crate::ports::Ledger;
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::store::registry::{Part, ThreadEntry};
use crate::store::{KeptLedger, export, timeline};
use crate::worker::host::REPLAY;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct WaitArguments {
    /// The threads, or parts of their ids that only they have
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Wait at most this many seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ThreadsNamed {
    /// The threads, or parts of their ids that only they have
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ThreadNamed {
    /// The thread, or a part of its id that only it has
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// One JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct SearchArguments {
    /// The thread, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// What to look for
    #[arg(value_name = "TEXT")]
    query: String,
    /// Take the text for a regular expression
    #[arg(long)]
    regex: bool,
    /// Show at most this many results
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct TreeArguments {
    /// Only the tree that this thread is of
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Show threads at most
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    most: usize,
}

fn operate(setup: &Setup, operation: Operation) -> Result<Value, Failure> {
    let orchestrator = setup.orchestrator()?;
    runtime()?.block_on(orchestrator.operate(operation)).map_err(Failure::new)
}

pub(super) fn wait(setup: &Setup, arguments: &WaitArguments) -> Result<ExitCode, Failure> {
    let thread_ids = arguments.ids.iter().map(|id| find::thread(setup, id)).collect::<Result<Vec<_>, _>>()?;
    let answer = operate(setup, Operation::WaitThreads { thread_ids, timeout: arguments.timeout })?;
    results(&answer, arguments.json)
}

pub(super) fn result(setup: &Setup, arguments: &ThreadsNamed) -> Result<ExitCode, Failure> {
    let thread_ids = arguments.ids.iter().map(|id| find::thread(setup, id)).collect::<Result<Vec<_>, _>>()?;
    let answer = operate(setup, Operation::AggregateResults { thread_ids })?;
    results(&answer, arguments.json)
}

/// Prints each result of an answer; a failure where one of them is none.
fn results(answer: &Value, json: bool) -> Result<ExitCode, Failure> {
    let mut output = io::BufWriter::new(out());
    let mut code = ExitCode::SUCCESS;
    for (id, value) in answer["results"].as_object().into_iter().flatten() {
        if value["success"] != Value::Bool(true) {
            code = ExitCode::FAILURE;
        }
        written(if json {
            json_line(&mut output, &with_schema("levain.result/1", value))
        } else {
            write_result(&mut output, id, value)
        })?;
    }
    written(output.flush())?;
    Ok(code)
}

/// An answer of the orchestrator as one of the objects that docs/json.md lists.
fn with_schema(name: &str, answer: &Value) -> Value {
    let mut object = answer.clone();
    if let Value::Object(fields) = &mut object {
        fields.insert("schema".to_owned(), name.into());
    }
    object
}

fn write_result(output: &mut impl Write, id: &str, value: &Value) -> io::Result<()> {
    let Ok(result) = serde_json::from_value::<ThreadResult>(value.clone()) else {
        return writeln!(output, "{id}: {}", value["error"].as_str().unwrap_or_default());
    };
    let ThreadResult { status, cost, result, outputs, error, .. } = result;
    let turns = if cost.turns == 1 { "turn" } else { "turns" };
    writeln!(output, "{id}: {status}, {} {turns}, ${:.4}", cost.turns, cost.spend)?;
    let outputs = outputs.map(|outputs| format!("{outputs:#}"));
    for text in [error, outputs, result].into_iter().flatten() {
        for line in text.lines() {
            writeln!(output, "    {line}")?;
        }
    }
    Ok(())
}

/// A line of `--json` of `budget`. Money is in US dollars.
#[derive(Serialize)]
struct BudgetLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    parent: Option<&'a ThreadId>,
    live: bool,
    live_children: u32,
    spend: DimensionLine,
    tokens: DimensionLine,
    /// Tokens whose price is not known, of the thread and of those below it: with any, `spend` is a lower bound.
    unpriced: u64,
}

/// One dimension.
#[derive(Serialize)]
struct DimensionLine {
    limit: Option<f64>,
    spent: f64,
    spent_below: f64,
    reserved: f64,
    reserved_below: f64,
    left: Option<f64>,
    capped_by: Option<String>,
}

fn dimension<T: Copy>(balance: &Balance<T>, number: fn(T) -> f64) -> DimensionLine {
    DimensionLine {
        limit: balance.limit.map(number),
        spent: number(balance.spent),
        spent_below: number(balance.spent_below),
        reserved: number(balance.reserved_by_calls),
        reserved_below: number(balance.reserved_by_children),
        left: balance.left.map(number),
        capped_by: balance.capped_by.as_ref().map(ToString::to_string),
    }
}

pub(super) fn budget(setup: &Setup, arguments: &ThreadsNamed) -> Result<ExitCode, Failure> {
    #[expect(clippy::cast_precision_loss, reason = "a number of tokens fits in 53 bits")]
    fn number(tokens: Tokens) -> f64 {
        tokens.0 as f64
    }
    let ledger = KeptLedger::new(&setup.layout, REPLAY);
    let mut output = out();
    for id in &arguments.ids {
        let id = find::thread(setup, id)?;
        let report = ledger.report(&id)().map_err(|error| Failure::new(error.to_string()))?;
        let line = BudgetLine {
            schema: "levain.budget/1",
            thread_id: &report.thread,
            parent: report.parent.as_ref(),
            live: report.live,
            live_children: report.live_children,
            spend: dimension(&report.spend, Money::dollars),
            tokens: dimension(&report.tokens, number),
            unpriced: report.unpriced.0 + report.unpriced_below.0,
        };
        written(if arguments.json { json_line(&mut output, &line) } else { write_budget(&mut output, &report) })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_budget(output: &mut impl Write, report: &BudgetReport) -> io::Result<()> {
    let live = if report.live { "running" } else { "ended" };
    writeln!(output, "{}: {live}, children running: {}", report.thread, report.live_children)?;
    report.in_words().into_iter().try_for_each(|line| writeln!(output, "  {line}"))
}

#[derive(Debug, Args)]
pub(super) struct ResumeArguments {
    /// The thread, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// What to say to it
    #[arg(value_name = "MESSAGE", required = true)]
    message: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Goes on with a thread that has ended, in a worker.
pub(super) fn resume(setup: &Setup, arguments: &ResumeArguments) -> Result<ExitCode, Failure> {
    let (thread_id, message) = (find::thread(setup, &arguments.id)?, arguments.message.join(" "));
    let answer = operate(setup, Operation::ResumeThread { thread_id, message })?;
    let mut output = out();
    if arguments.json {
        written(json_line(&mut output, &with_schema("levain.resumed/1", &answer)))?;
    } else {
        let next = answer["new_thread_id"].as_str().unwrap_or_default();
        written(writeln!(output, "{next}"))?;
        let _closed = writeln!(err(), "hint: levain attach {next} · levain threads wait {next}");
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Args)]
pub(super) struct ApproveArguments {
    /// The thread, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// Allow this many turns in all; without any limit as much again of the one that was reached
    #[arg(long, value_name = "N")]
    turns: Option<u32>,
    /// Allow this many tokens in all
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
    /// Allow spending this much in all
    #[arg(long, value_name = "DOLLARS", value_parser = super::dollars)]
    spend: Option<Money>,
    /// Allow this much working time in all
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// End the thread instead, as cancelled
    #[arg(long, conflicts_with_all = ["turns", "tokens", "spend", "seconds"])]
    deny: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Lets a suspended thread go on, in a worker, or ends it.
pub(super) fn approve(setup: &Setup, arguments: &ApproveArguments) -> Result<ExitCode, Failure> {
    let thread_id = find::thread(setup, &arguments.id)?;
    let orchestrator = setup.orchestrator()?;
    let limits = Limits {
        turns: arguments.turns,
        tokens: arguments.tokens.map(Tokens),
        spend: arguments.spend,
        duration_seconds: arguments.seconds,
        ..Limits::default()
    };
    let work = orchestrator.approve(&thread_id, (!arguments.deny).then_some(limits));
    let answer = runtime()?.block_on(work).map_err(Failure::new)?;
    let mut output = out();
    if arguments.json {
        written(json_line(&mut output, &with_schema("levain.approved/1", &answer)))?;
    } else if arguments.deny {
        written(writeln!(output, "{thread_id} is cancelled"))?;
    } else {
        written(writeln!(output, "{thread_id} goes on"))?;
        let _closed = writeln!(err(), "hint: levain attach {thread_id} · levain threads wait {thread_id}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the registry and the ledger as files.
pub(super) fn export(setup: &Setup) -> Result<ExitCode, Failure> {
    let paths = export::write(&setup.layout, setup.now(), REPLAY).map_err(|error| Failure::new(error.to_string()))?;
    let mut output = out();
    for path in paths {
        written(writeln!(output, "{}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Has a new thread go on with a running one.
pub(super) fn handoff(setup: &Setup, arguments: &ThreadNamed) -> Result<ExitCode, Failure> {
    let thread_id = find::thread(setup, &arguments.id)?;
    let answer = operate(setup, Operation::HandoffThread { thread_id })?;
    let mut output = out();
    if arguments.json {
        written(json_line(&mut output, &with_schema("levain.handoff/1", &answer)))?;
    } else {
        let id = answer["handed_off"].as_str().unwrap_or_default();
        written(writeln!(output, "{id} is handed off before its next request"))?;
        let _closed = writeln!(err(), "hint: levain threads chain {id} · levain threads wait {id}");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn chain(setup: &Setup, arguments: &ThreadNamed) -> Result<ExitCode, Failure> {
    let thread_id = find::thread(setup, &arguments.id)?;
    let answer = operate(setup, Operation::GetChain { thread_id })?;
    let mut output = out();
    if arguments.json {
        written(json_line(&mut output, &with_schema("levain.chain/1", &answer)))?;
    } else {
        for link in answer["chain"].as_array().into_iter().flatten() {
            let word = |name: &str| link[name].as_str().unwrap_or_default().to_owned();
            written(writeln!(output, "{}  {}  {}", word("thread_id"), word("status"), word("directive")))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn search(setup: &Setup, arguments: &SearchArguments) -> Result<ExitCode, Failure> {
    let SearchArguments { id, query, regex, most, json } = arguments;
    let (thread_id, search_type) =
        (find::thread(setup, id)?, if *regex { SearchType::Regex } else { SearchType::Text });
    let operation = Operation::ChainSearch { thread_id, query: query.clone(), search_type, max_results: *most };
    let answer = operate(setup, operation)?;
    let mut output = out();
    if *json {
        written(json_line(&mut output, &with_schema("levain.chain_search/1", &answer)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let hits = answer["results"].as_array().cloned().unwrap_or_default();
    for hit in &hits {
        let word = |name: &str| hit[name].as_str().unwrap_or_default().to_owned();
        let snippet = word("snippet").split_whitespace().collect::<Vec<_>>().join(" ");
        written(writeln!(output, "{}:{} {}: {snippet}", word("thread_id"), hit["line_no"], word("event_type")))?;
    }
    if hits.is_empty() {
        let _closed = writeln!(err(), "nothing found");
    }
    Ok(if hits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Each thread below the one that started it, the newest tree first.
pub(super) fn tree(setup: &Setup, arguments: &TreeArguments) -> Result<ExitCode, Failure> {
    let rows = find::threads(setup, Part::All, arguments.most)?;
    let root = |row: &ThreadEntry| row.lineage.root.clone().unwrap_or_else(|| row.thread_id.clone());
    let only = match &arguments.id {
        Some(id) => {
            let id = find::thread(setup, id)?;
            Some(rows.iter().find(|row| row.thread_id == id).map_or(id, root))
        }
        None => None,
    };
    let rows: Vec<&ThreadEntry> =
        rows.iter().filter(|row| only.as_ref().is_none_or(|only| root(row) == *only)).collect();
    let mut output = io::BufWriter::new(out());
    for (row, level) in order(rows) {
        let turns = row.limits.turns.map(|most| format!("/{most}")).unwrap_or_default();
        let spend = row.limits.spend.map(|most| format!(" of {most}")).unwrap_or_default();
        let status = row.status.waits_for(row.waiting, row.waits_for.as_deref());
        let status = status.unwrap_or_else(|| row.status.told(row.waiting).to_owned());
        let (cost, indent) = (&row.cost, "  ".repeat(level));
        let line = format!(
            "{indent}{}  {status}  {}{turns} turns  {} tokens  {}{spend}  {}",
            row.thread_id,
            cost.turns,
            cost.usage.total(),
            cost.spend,
            row.title
        );
        written(writeln!(output, "{}", line.trim_end()))?;
        // What it runs beside its conversation ends with it, as children that it waits for do.
        for command in row.commands.iter() {
            written(writeln!(output, "{indent}  $ {command}"))?;
        }
    }
    written(output.flush())?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Args)]
pub(super) struct TimelineArguments {
    /// A thread of the tree, or a part of its id that only it has
    #[arg(value_name = "ID")]
    id: String,
    /// How many columns it may take
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(40..=1_000))]
    width: u16,
}

pub(super) fn timeline(setup: &Setup, arguments: &TimelineArguments) -> Result<ExitCode, Failure> {
    let id = find::thread(setup, &arguments.id)?;
    let rows =
        timeline::of(&setup.layout, &id, setup.now(), REPLAY).map_err(|error| Failure::new(error.to_string()))?;
    let mut output = io::BufWriter::new(out());
    for line in drawn(&rows, usize::from(arguments.width)) {
        written(writeln!(output, "{}", line.trim_end()))?;
    }
    written(output.flush())?;
    Ok(ExitCode::SUCCESS)
}

/// The threads that run, from all processes.
pub(super) fn running(setup: &Setup, json: bool) -> Result<ExitCode, Failure> {
    let answer = operate(setup, Operation::ListActive {})?;
    let mut output = out();
    for row in answer["active_threads"].as_array().into_iter().flatten() {
        let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let wrote = if json {
            json_line(&mut output, &with_schema("levain.running/1", row))
        } else {
            writeln!(output, "{}  {}  {}", word("thread_id"), word("status"), word("directive"))
        };
        written(wrote)?;
    }
    Ok(ExitCode::SUCCESS)
}
