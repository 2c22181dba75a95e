//! Programs that have the person's terminal while they run: those of extensions, and our own that signs somebody in.

use crate::domain::ForegroundProgram;
use crate::session::{Setup, program, secrets};
use serde::Deserialize;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use tokio::process::Command;

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
    Command::new(command)
        .args(arguments)
        .current_dir(&program.folder)
        .env_clear()
        .envs(others)
        .envs(own)
        .status()
        .await
        .map_err(|error| format!("{} could not start {command}: {error}", program.from))
}

/// A line of `levain login --json`.
#[derive(Deserialize)]
struct SignedIn {
    signed_in: bool,
    problem: Option<String>,
}

/// Signs the person in to a provider of an extension: `levain login`, which asks at the terminal.
///
/// # Errors
/// Why they are not signed in.
pub(super) fn sign_in(setup: &Arc<Setup>, provider: &str) -> impl Future<Output = Result<String, String>> + use<> {
    let (setup, provider) = (Arc::clone(setup), provider.to_owned());
    async move {
        let failed = |error: std::io::Error| format!("levain login {provider} could not start: {error}");
        let child = Command::new(program().map_err(failed)?)
            .args(["login", "--json", "--project"])
            .arg(&setup.project.root)
            .args(setup.worker_arguments())
            .args(["--", &provider])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let output = child.wait_with_output().await.map_err(failed)?;
        match serde_json::from_slice(&output.stdout) {
            Ok(SignedIn { signed_in: true, .. }) => Ok(format!("signed in to {provider}")),
            Ok(SignedIn { problem: Some(why), .. }) => Err(why),
            _ => Err(format!("you are not signed in to {provider}")),
        }
    }
}
