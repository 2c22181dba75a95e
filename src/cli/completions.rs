//! `levain completions`: the command line for shells.

use super::Cli;
use super::failure::{Failure, written};
use crate::session::people::out;
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell to print for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), "levain", &mut script);
    written(out().write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
