//! `levain completions`: the command line for shells. The script that a shell reads asks this program, with
//! `LEVAIN_COMPLETE` set to the shell's name, what the word under the cursor may become: also directives, models, threads and
//! settings of the project at hand.
//!
//! Asking reads and does nothing else. Whatever a project's files are called, a shell is handed words that mean themselves.

use super::Cli;
use super::candidates::{Asked, with_candidates};
use super::failure::{Failure, written};
use crate::session::people::out;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::{EnvCompleter, Shells};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Set by the script of a shell that asks.
const VARIABLE: &str = "LEVAIN_COMPLETE";

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell to print for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let shells = Shells::builtins();
    let name = arguments.shell.to_string();
    let shell =
        shells.completer(&name).ok_or_else(|| Failure::usage(format!("there are no completions for {name}")))?;
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let bin = program.file_name().and_then(|name| name.to_str()).unwrap_or("levain").to_owned();
    let completer = whole(&program);
    let mut script = Vec::new();
    written(shell.write_registration(VARIABLE, &bin, &bin, &completer, &mut script))?;
    written(out().write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// The program as the script calls it: by its name where a shell finds it so, else by its whole path.
fn whole(program: &Path) -> String {
    let found_by_name = program.components().count() <= 1;
    let path =
        if found_by_name { program.to_owned() } else { std::path::absolute(program).unwrap_or(program.to_owned()) };
    path.to_string_lossy().into_owned()
}

/// Answers a shell; None where none asks. A shell is told of no failure, which would stand in the middle of the line that is
/// being written.
pub(super) fn answer() -> Option<ExitCode> {
    let name = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())?;
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // Before `--` stands how this program was called.
    let own = words.iter().position(|word| word == "--").map_or(words.len(), |place| place + 1);
    words.drain(..own);
    let shells = Shells::builtins();
    let told = shells.completer(&name).map_or(Ok(()), |shell| tell(shell, words));
    Some(if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(shell: &dyn EnvCompleter, words: Vec<OsString>) -> io::Result<()> {
    let folder = std::env::current_dir().ok();
    let mut all = Cli::command();
    // The arguments of subcommands are deferred.
    all.build();
    let mut command = with_candidates(all, &Asked::of(&words));
    let mut answer = Vec::new();
    shell.write_complete(&mut command, words, folder.as_deref(), &mut answer)?;
    out().write_all(&answer)
}
