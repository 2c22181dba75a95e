//! `levain context test`: the requests of a project's cases, compared with how they were.

use super::compare::write_difference;
use crate::cli::Common;
use crate::cli::failure::{Failure, code, written};
use crate::cli::text::several;
use crate::context::diff::{Difference, Side, difference};
use crate::context::words::{kind, origin};
use crate::domain::{Decision, Layer, Message, ModelRef};
use crate::ports::Beneath;
use crate::session::Setup;
use crate::session::cases::{self, Case};
use crate::session::people::{json_line, out};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct TestArguments {
    /// Names of cases; all of .ai/context-tests when left out
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Write new snapshots of the requests instead of comparing
    #[arg(long)]
    update: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// `NAME.snapshot.json`, beside the case.
#[derive(Serialize, Deserialize)]
struct Snapshot {
    schema: String,
    model: ModelRef,
    system: String,
    messages: Vec<Message>,
    layers: Vec<LayerKept>,
}

const SCHEMA: &str = "levain.context_snapshot/1";

#[derive(Serialize, Deserialize)]
struct LayerKept {
    #[serde(flatten)]
    layer: Layer,
    text: String,
}

/// How a case came out.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Outcome {
    Same,
    Changed {
        #[serde(flatten)]
        difference: Difference,
        /// Candidates that were left out before or are now, and stand in no other list.
        left_out: Vec<String>,
        /// The side that is compared with, and the new one.
        #[serde(skip)]
        sides: Box<(Side, Side)>,
    },
    /// There is nothing to compare with yet.
    New,
    Updated,
    Failed {
        message: String,
    },
}

/// A line of `--json`.
#[derive(Serialize)]
struct CaseLine<'a> {
    schema: &'static str,
    case: &'a str,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

pub(super) fn run(common: &Common, arguments: &TestArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let mut found = cases::list(&setup.project.root);
    if let Some(unknown) = arguments.cases.iter().find(|name| !found.iter().any(|(own, _)| own == *name)) {
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Failure::usage(format!("there is no case `{unknown}`")).hint(names.join(", ")));
    }
    if !arguments.cases.is_empty() {
        found.retain(|(name, _)| arguments.cases.contains(name));
    }
    if found.is_empty() {
        let hint = "write one, such as chat.yaml with the line `directive: levain/chat`";
        return Err(Failure::usage(format!("there are no cases in {}", cases::FOLDER)).hint(hint));
    }
    let mut output = io::BufWriter::new(out());
    let (count, mut wrong) = (found.len(), 0);
    for (name, path) in found {
        let outcome = outcome(&setup, &path, arguments.update).unwrap_or_else(|message| Outcome::Failed { message });
        wrong += usize::from(!matches!(outcome, Outcome::Same | Outcome::Updated));
        written(if arguments.json {
            json_line(&mut output, &CaseLine { schema: "levain.context_test/1", case: &name, outcome: &outcome })
        } else {
            write_outcome(&mut output, &name, &outcome)
        })?;
    }
    if !arguments.json {
        written(writeln!(output, "{}, {wrong} not as before", several(count, "case")))?;
    }
    written(output.flush())?;
    Ok(if wrong > 0 { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
}

fn snapshot_file(case: &Beneath) -> Beneath {
    case.with_ending("snapshot.json")
}

/// The largest snapshot that is read, in bytes.
const LARGEST: u64 = 64 << 20;

fn outcome(setup: &Setup, path: &Beneath, update: bool) -> Result<Outcome, String> {
    let (model, assembly) = Case::read(path)?.assembled(setup)?;
    let new = Side::from(&assembly);
    let kept = snapshot_file(path);
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", kept.path().display());
    if update {
        let text = written_out(setup, model, new).map_err(|error| unreadable(&error))?;
        kept.replace_shared(text.as_bytes()).map_err(|error| unreadable(&error))?;
        return Ok(Outcome::Updated);
    }
    let Some(bytes) = kept.read(LARGEST).map_err(|error| unreadable(&error))? else { return Ok(Outcome::New) };
    let old: Snapshot = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    if old.schema != SCHEMA {
        return Err(unreadable(&format!("is of the form {}, and this levain knows {SCHEMA}", old.schema)));
    }
    let (layers, texts) = old.layers.into_iter().map(|kept| (kept.layer, kept.text)).unzip();
    let old = Side { system: old.system, messages: old.messages, layers, texts };
    let (difference, left_out) = (difference(&old, &new), left_out(&old, &new));
    if difference.layers.is_empty() && left_out.is_empty() && old.system == new.system && old.messages == new.messages {
        return Ok(Outcome::Same);
    }
    Ok(Outcome::Changed { difference, left_out, sides: Box::new((old, new)) })
}

/// What is written beside the case. Places on this machine are left out.
fn written_out(setup: &Setup, model: ModelRef, side: Side) -> serde_json::Result<String> {
    let Side { system, messages, layers, texts } = side;
    let layers = layers.into_iter().zip(texts).map(|(layer, text)| LayerKept { layer, text }).collect();
    let snapshot = Snapshot { schema: SCHEMA.to_owned(), model, system, messages, layers };
    let here = format!("{}/", setup.project.root.display());
    Ok(serde_json::to_string_pretty(&snapshot)?.replace(&here, "") + "\n")
}

/// Candidates with the reason they are left out for, where only one side has them so.
fn left_out(old: &Side, new: &Side) -> Vec<String> {
    let told = |side: &Side| -> Vec<String> {
        let skipped = side.layers.iter().filter_map(|layer| match &layer.decision {
            Decision::Skipped { absence } => Some(format!("{} {}: {absence}", kind(layer.kind), layer.id)),
            Decision::Included => None,
        });
        skipped.collect()
    };
    let (old, new) = (told(old), told(new));
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let fresh = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(fresh).collect()
}

fn write_outcome(output: &mut impl Write, name: &str, outcome: &Outcome) -> io::Result<()> {
    match outcome {
        Outcome::Same => writeln!(output, "same     {name}"),
        Outcome::Updated => writeln!(output, "written  {name}"),
        Outcome::New => writeln!(output, "new      {name}: nothing to compare with; `--update` writes it"),
        Outcome::Failed { message } => writeln!(output, "failed   {name}: {message}"),
        Outcome::Changed { difference, left_out, sides } => {
            writeln!(output, "changed  {name}")?;
            let (old, new) = sides.as_ref();
            let owner = |id: &str, of: crate::domain::LayerKind| {
                let layers = new.layers.iter().chain(&old.layers);
                let mut owners = layers.filter(|layer| layer.id == id && layer.kind == of);
                owners.next().map(|layer| origin(&layer.origin))
            };
            write_difference(output, difference, &owner)?;
            for line in left_out {
                writeln!(output, "  left out {line}")?;
            }
            Ok(())
        }
    }
}
