//! `levain models`: what can be asked, and what is missing where it cannot.

use super::failure::{Failure, written};
use super::{Common, runtime};
use crate::session::Setup;
use crate::session::models::Row;
use crate::session::people::{json_line, out};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ModelsArguments {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct ModelLine<'a> {
    schema: &'static str,
    #[serde(flatten)]
    row: &'a Row,
}

pub(super) fn run(common: &Common, arguments: &ModelsArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let rows = runtime()?.block_on(setup.models.rows());
    let width = rows.iter().map(|row| row.model.to_string().chars().count()).max().unwrap_or_default();
    let mut output = io::BufWriter::new(out());
    let mut write = || -> io::Result<()> {
        for row in &rows {
            if arguments.json {
                json_line(&mut output, &ModelLine { schema: "levain.model/1", row })?;
            } else {
                write_row(&mut output, row, width)?;
            }
        }
        output.flush()
    };
    written(write())?;
    Ok(ExitCode::SUCCESS)
}

fn write_row(output: &mut impl Write, row: &Row, width: usize) -> io::Result<()> {
    let window = row.window.map(|window| window.to_string()).unwrap_or_default();
    let price = match (row.input, row.output) {
        (Some(0.0), Some(0.0)) => "free".to_owned(),
        (Some(input), Some(output)) => format!("${input:.2}/${output:.2}"),
        _ => String::new(),
    };
    // Other ways are the same in each line; `--json` has the whole sentence.
    let missing = row.missing.as_deref().and_then(|missing| missing.split(", or ").next()).unwrap_or("ready");
    writeln!(
        output,
        "{:<width$}  {:>7}  {:>13}  {:<24} {}",
        &row.model.to_string(),
        window,
        price,
        row.tiers.join(", "),
        missing
    )
}
