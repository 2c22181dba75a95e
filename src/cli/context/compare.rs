//! `levain context diff`.

use super::Draft;
use super::subject::named;
use crate::cli::Common;
use crate::cli::failure::{Failure, written};
use crate::context::diff::{Change, Difference, LayerChange, Word, difference, near};
use crate::context::words::kind;
use crate::domain::LayerKind;
use crate::session::Setup;
use crate::session::people::{json_line, out};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct DiffArguments {
    /// The request before
    #[arg(value_name = "A")]
    before: String,
    /// The request after
    #[arg(value_name = "B")]
    after: String,
    #[command(flatten)]
    draft: Draft,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// `--json`.
#[derive(Serialize)]
struct ContextDiff<'a> {
    schema: &'static str,
    before: &'a str,
    after: &'a str,
    #[serde(flatten)]
    difference: &'a Difference,
}

pub(super) fn run(common: &Common, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let (before, old) = named(&setup, &arguments.before, &arguments.draft)?;
    let (after, new) = named(&setup, &arguments.after, &arguments.draft)?;
    let difference = difference(&old, &new);
    let mut output = io::BufWriter::new(out());
    let mut write = || -> io::Result<()> {
        if arguments.json {
            let shown = ContextDiff {
                schema: "levain.context_diff/1",
                before: &before,
                after: &after,
                difference: &difference,
            };
            json_line(&mut output, &shown)?;
        } else {
            writeln!(output, "{before} → {after}")?;
            write_difference(&mut output, &difference, &|_, _| None)?;
        }
        output.flush()
    };
    written(write())?;
    Ok(ExitCode::SUCCESS)
}

/// Layers that changed, each with its owner where `owner` knows one, then where a cached beginning ends.
pub(super) fn write_difference(
    output: &mut impl Write,
    difference: &Difference,
    owner: &dyn Fn(&str, LayerKind) -> Option<String>,
) -> io::Result<()> {
    for change in &difference.layers {
        write_change(output, change)?;
        if let Some(owner) = owner(&change.id, change.kind) {
            writeln!(output, "    by {}", &owner)?;
        }
    }
    writeln!(output, "{}", difference.in_short())?;
    match &difference.leaves {
        None if difference.layers.is_empty() => writeln!(output, "nothing differs"),
        None => writeln!(output, "the second only adds to the end of the first: a cached prefix stays valid"),
        Some(leaving) => writeln!(output, "{}", &leaving.told()),
    }
}

fn write_change(output: &mut impl Write, change: &LayerChange) -> io::Result<()> {
    let name = format!("{:<13} {}", kind(change.kind), &change.id);
    match &change.change {
        Change::Added { tokens } => writeln!(output, "+ {name}  ~{}", tokens.0),
        Change::Removed { tokens } => writeln!(output, "- {name}  ~{}", tokens.0),
        Change::Messages { same, before, after } => {
            writeln!(output, "~ {name}  {before} → {after} messages, the first {same} the same")
        }
        Change::Moved { before, after } => writeln!(output, "> {name}  from place {before} to {after}"),
        Change::Reason { before, after } => {
            writeln!(output, "~ {name}  left out: {before} → {after}")
        }
        Change::Words { words } => {
            writeln!(output, "~ {name}")?;
            write!(output, "    ")?;
            for (number, word) in words.iter().enumerate() {
                match word {
                    Word::Same(text) => {
                        write!(output, "{}", &near(text, number > 0, number + 1 < words.len()))?;
                    }
                    Word::Gone(text) => write!(output, "[-{text}-]")?,
                    Word::New(text) => write!(output, "{{+{text}+}}")?,
                }
            }
            writeln!(output)
        }
    }
}
