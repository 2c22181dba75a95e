//! A program of an extension that has the person's terminal while it runs.

use crate::domain::ForegroundProgram;
use crate::session::secrets;
use std::process::ExitStatus;

/// Variables that say what the terminal is, and what reads texts there: the person's own, where tools have others.
const OF_TERMINAL: [&str; 6] = ["TERM", "COLORTERM", "TERMINFO", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT"];

/// Runs it to its end. It has the environment of tools: keys of the person are none of an extension's.
///
/// # Errors
/// The sentence for the person, where it could not be started.
pub(super) async fn run(program: &ForegroundProgram) -> Result<ExitStatus, String> {
    let Some((command, arguments)) = program.words.split_first() else { return Err("there is no program".to_owned()) };
    let own = OF_TERMINAL.into_iter().filter_map(|name| Some((name, secrets::var_os(name)?)));
    let others = program.environment.iter().filter(|(name, _)| !OF_TERMINAL.contains(&name.as_str()));
    tokio::process::Command::new(command)
        .args(arguments)
        .current_dir(&program.folder)
        .env_clear()
        .envs(others)
        .envs(own)
        .status()
        .await
        .map_err(|error| format!("{} could not start {command}: {error}", program.from))
}
