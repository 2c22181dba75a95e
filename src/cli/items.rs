//! `levain items`: every item that can be named, where it lies and what it hides.

use super::Common;
use super::check::Told;
use super::failure::{Failure, written};
use super::text::{harmless, json_line};
use crate::app::Setup;
use crate::domain::{Problem, Severity};
use crate::items::signature::Verdict;
use crate::items::{Found, Item, Items, Kind, check};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ItemsArguments {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct ItemLine<'a> {
    schema: &'static str,
    kind: Kind,
    id: &'a str,
    #[serde(flatten)]
    place: Where<'a>,
    /// Files of the same id that come later.
    shadows: Vec<Where<'a>>,
    /// Null where signatures are not looked at: in the program itself, and where the settings say `off`.
    signature: Option<Signed>,
    problems: Vec<Told>,
}

/// What an item's signature is worth.
#[derive(Serialize)]
struct Signed {
    verdict: &'static str,
    /// Whose key.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

impl From<Verdict> for Signed {
    fn from(verdict: Verdict) -> Self {
        let word = verdict.word();
        let (fingerprint, owner) = match verdict {
            Verdict::Unsigned | Verdict::Malformed { .. } => (None, None),
            Verdict::Valid { fingerprint, owner, .. } => (Some(fingerprint), Some(owner)),
            Verdict::Changed { fingerprint } | Verdict::Untrusted { fingerprint } | Verdict::Forged { fingerprint } => {
                (Some(fingerprint), None)
            }
        };
        Self { verdict: word, fingerprint, owner }
    }
}

/// What an item's signature is worth, and all that is wrong with it.
fn look(items: &Items, item: &Item) -> (Option<Verdict>, Vec<Problem>) {
    match items.look(item) {
        Ok(text) => (items.signature(item, &text), check::looked(items, item, &text)),
        Err(problem) => (None, vec![problem]),
    }
}

/// Where a file lies.
#[derive(Serialize)]
struct Where<'a> {
    space: String,
    path: &'a str,
}

fn place<'a>(items: &Items, item: &'a Item) -> Where<'a> {
    Where { space: items.root(item).map(ToString::to_string).unwrap_or_default(), path: &item.path }
}

pub(super) fn run(common: &Common, arguments: &ItemsArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let items = setup.items();
    let mut output = io::BufWriter::new(io::stdout().lock());
    let mut write = || -> io::Result<()> {
        for found in items.iter() {
            if arguments.json {
                json_line(&mut output, &line(&items, found))?;
            } else {
                write_row(&mut output, &items, found)?;
            }
        }
        output.flush()
    };
    written(write())?;
    for problem in items.problems() {
        let _closed = writeln!(io::stderr(), "{}: {problem}", problem.severity.word());
    }
    Ok(ExitCode::SUCCESS)
}

fn line<'a>(items: &Items, found: Found<'a>) -> ItemLine<'a> {
    let (verdict, problems) = look(items, found.item);
    ItemLine {
        schema: "levain.item/1",
        kind: found.item.kind,
        id: found.item.id.as_str(),
        place: place(items, found.item),
        shadows: found.shadows.iter().map(|item| place(items, item)).collect(),
        signature: verdict.map(Signed::from),
        problems: problems.into_iter().map(Told::from).collect(),
    }
}

fn write_row(output: &mut impl Write, items: &Items, found: Found<'_>) -> io::Result<()> {
    let Where { space, path } = place(items, found.item);
    let (kind, id) = (found.item.kind.word(), harmless(found.item.id.as_str()));
    write!(output, "{kind:<9}  {id:<36}  {space:<8}  {}", harmless(path))?;
    let shadows: Vec<String> = found.shadows.iter().map(|item| place(items, item).space).collect();
    if !shadows.is_empty() {
        write!(output, "  (hides {})", shadows.join(", "))?;
    }
    let (verdict, problems) = look(items, found.item);
    // Most items are not signed, and need not be.
    if let Some(verdict) = verdict.filter(|verdict| *verdict != Verdict::Unsigned) {
        write!(output, "  ({})", verdict.word())?;
    }
    match problems.iter().map(|problem| problem.severity).max() {
        Some(Severity::Error) => write!(output, "  ✗ levain check")?,
        Some(Severity::Warning) => write!(output, "  ! levain check")?,
        None => {}
    }
    writeln!(output)
}
