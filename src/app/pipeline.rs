//! What the screen tells of a thread's pipeline. Reads files, so it runs off the loop; a handler that is asked again runs in
//! a process of its own, since this one runs nothing of a project.

use crate::context::diff::unified;
use crate::domain::{ContentHash, HandlerPlace, ThreadId};
use crate::items::{Handlers, Item, Kind};
use crate::session::people::clock;
use crate::session::pipeline::{self, Passage};
use crate::session::{Setup, program};
use crate::store::console;
use crate::store::content::ContentStore;
use crate::workbench::pipeline_list::{AskedRow, KnownHandler, PipelineRows, PipelineText, PrintedRow, StepView};
use serde::Deserialize;
use serde_json::Value;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// As many prompts, requests and calls are listed, the newest.
const MOST: usize = 100;

/// Lines that extensions printed, the newest.
const MOST_PRINTED: usize = 200;

/// The value at which a thread is paused.
pub(super) fn paused(setup: &Setup, hash: &ContentHash) -> Result<String, String> {
    ContentStore::new(setup.layout.objects()).text(hash).map_err(|error| error.to_string())
}

/// What handlers did, and which there are in threads of `directive`.
pub(super) fn told(setup: &Setup, id: Option<&ThreadId>, directive: &str) -> Result<PipelineRows, String> {
    let handlers = Handlers::of_threads(&setup.items(), directive).handlers;
    let known = handlers.into_iter().filter(|one| one.stage.pauses());
    let known = known.map(|one| {
        let place = HandlerPlace { file: one.file.display().to_string(), line: Some(one.line) };
        Arc::new(KnownHandler { stage: one.stage, id: one.id, place: Some(place) })
    });
    let mut rows = PipelineRows { known: known.collect(), ..PipelineRows::default() };
    let Some(id) = id else { return Ok(rows) };
    let passages = pipeline::passages(&setup.layout, id).map_err(|error| error.to_string())?;
    // Counted from the oldest: a step keeps its place as others come.
    let mut places = 0..;
    let mut listed: Vec<Vec<Arc<AskedRow>>> = Vec::new();
    for Passage { of, title, steps } in passages {
        let of: Arc<str> = format!("{of} · {title}").into();
        let row = |(place, step)| Arc::new(AskedRow { of: Arc::clone(&of), place, step });
        listed.push(places.by_ref().zip(steps).map(row).collect());
    }
    rows.asked = listed.into_iter().rev().take(MOST).flatten().collect();
    let printed = console::printed(&setup.layout, id, MOST_PRINTED).map_err(|error| error.to_string())?;
    let row = |line: console::ConsoleLine| {
        let (at, text) = (clock(line.at), line.text.into());
        Arc::new(PrintedRow { at, extension: line.extension, level: line.level, text })
    };
    rows.printed = printed.into_iter().rev().map(row).collect();
    Ok(rows)
}

/// A text for a row.
pub(super) async fn text(setup: Arc<Setup>, what: PipelineText) -> Result<String, String> {
    let PipelineText::Again(row) = what else {
        let read = tokio::task::spawn_blocking(move || stored(&setup, &what));
        return read.await.map_err(|error| error.to_string())?;
    };
    again(&setup, &row).await
}

fn stored(setup: &Setup, what: &PipelineText) -> Result<String, String> {
    let value = |hash: Option<&ContentHash>, missing: &str| match hash {
        None => Ok(missing.to_owned()),
        Some(hash) => {
            let value = pipeline::value(&setup.layout, hash).map_err(|error| error.to_string())?;
            Ok(pipeline::in_lines(&value))
        }
    };
    match what {
        PipelineText::Value(hash) => value(Some(hash), ""),
        PipelineText::Step(row, StepView::Before) => value(row.step.before.as_ref(), "It was not asked."),
        PipelineText::Step(row, StepView::After) => value(row.step.after.as_ref(), "It changed nothing."),
        PipelineText::Step(row, StepView::Difference) | PipelineText::Again(row) => {
            let difference = pipeline::difference(&setup.layout, &row.step).unwrap_or_default();
            Ok(if difference.is_empty() { "It changed nothing.".to_owned() } else { difference })
        }
    }
}

/// What `levain pipeline run --json` says.
#[derive(Deserialize)]
struct Answer {
    outcome: String,
    after: Option<Value>,
    took_ms: u64,
}

/// The directive that brings the handlers of this place, if one does.
fn directive_at(setup: &Setup, place: &HandlerPlace) -> Option<String> {
    let items = setup.items();
    let brings = |item: &&Item| item.kind == Kind::Directive && items.file(item).display().to_string() == place.file;
    items.iter().map(|found| found.item).find(brings).map(|item| item.id.as_str().to_owned())
}

/// Asks a handler again, as it is written now, with what it got then.
async fn again(setup: &Arc<Setup>, row: &AskedRow) -> Result<String, String> {
    let hash = row.step.before.clone().ok_or("it was not asked then")?;
    let read = |hash: ContentHash| {
        let setup = Arc::clone(setup);
        tokio::task::spawn_blocking(move || pipeline::value(&setup.layout, &hash))
    };
    let event = read(hash).await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let (of, place) = (Arc::clone(setup), row.step.place.clone());
    let directive = tokio::task::spawn_blocking(move || place.and_then(|place| directive_at(&of, &place)));
    let directive = directive.await.map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("the handler could not be asked: {error}");
    let mut child = Command::new(program().map_err(failed)?)
        .args(["pipeline", "run", row.step.stage.name(), "--handler", &row.step.handler, "--event", "-", "--json"])
        .arg("--project")
        .arg(&setup.project.root)
        .args(directive.iter().flat_map(|id| ["--directive", id.as_str()]))
        .args(setup.worker_arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // One that ends before it has read all says why.
        let _gone = input.write_all(event.to_string().as_bytes()).await;
    }
    let output = child.wait_with_output().await.map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let Ok(Answer { outcome, after, took_ms }) = serde_json::from_slice(&output.stdout) else {
        let condition = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        return if output.status.success() { Ok(format!("now: {condition}")) } else { Err(said) };
    };
    let mut told = format!("now: {outcome}, {took_ms} ms\nthen: {}, {} ms\n", row.step.ending(), row.step.took_ms);
    if !said.is_empty() {
        said.lines().for_each(|line| told.extend(["│ ", line, "\n"]));
    }
    told.push('\n');
    let after = after.unwrap_or_else(|| event.clone());
    let difference = unified(&pipeline::in_lines(&event), &pipeline::in_lines(&after));
    told.push_str(if difference.is_empty() { "It changes nothing." } else { &difference });
    Ok(told)
}
