//! `levain worker`: runs a thread, or several, for screens to connect to. Started by levain itself, detached.

use super::{Common, ExtensionOptions, runtime};
use crate::config::Arguments;
use crate::domain::ThreadId;
use crate::domain::event::EndReason;
use crate::session::people;
use crate::session::{Factory, Setup, logging, secrets};
use crate::worker::host::HostError;
use crate::worker::launch::FirstLine;
use crate::worker::supervisor::Supervisor;
use clap::Args;
use secrecy::SecretString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, Args)]
pub(super) struct WorkerArguments {
    /// The thread to run; may be given several times
    #[arg(long, value_name = "ID", required = true)]
    thread: Vec<ThreadId>,
    #[command(flatten)]
    extensions: ExtensionOptions,
}

pub(super) fn run(common: &Common, arguments: &WorkerArguments) -> ExitCode {
    // A session of its own: what happens to the terminal does not happen to the worker. Fails only when this process
    // leads a group already, as it does when a person starts it by hand.
    let _leads_already = rustix::process::setsid();
    logging::to_stderr();
    crate::ports::faults::from_environment();
    // Who starts it by hand has it in the environment.
    let input = io::stdin();
    let received = if input.is_terminal() { Ok(None) } else { secrets::receive(input.lock()) };
    let result = received.and_then(|secret| {
        let runtime = runtime().map_err(|failure| failure.message().to_owned())?;
        runtime.block_on(work(common, arguments, secret))
    });
    if let Err(failure) = &result {
        say(&FirstLine::Failed(failure.clone()));
    }
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn work(common: &Common, arguments: &WorkerArguments, secret: Option<SecretString>) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let ExtensionOptions { extension: extensions, flag: flags } = arguments.extensions.clone();
    let told = Arguments { extensions, flags, ..common.arguments(None) };
    let setup = Setup::gather(common.project.as_deref(), told).map_err(|error| text(&error))?;
    let layout = setup.layout.clone();
    let mut factory = Factory::new(setup);
    factory.secret = secret;
    let supervisor = Supervisor::new(layout, Arc::new(factory));
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| text(&error))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| text(&error))?;
    // Listening is enough to survive it.
    let _hangup = signal(SignalKind::hangup()).map_err(|error| text(&error))?;
    for id in &arguments.thread {
        match supervisor.open(id).await {
            Ok(running) => say(&FirstLine::Ready(running.socket().to_owned())),
            Err(HostError::Busy) => say(&FirstLine::Busy),
            Err(error) if arguments.thread.len() == 1 => return Err(error.to_string()),
            // The others are run.
            Err(error) => say(&FirstLine::Failed(error.to_string())),
        }
    }
    tokio::select! {
        () = supervisor.finished() => {}
        _ = terminate.recv() => supervisor.leave(EndReason::Signal).await,
        _ = interrupt.recv() => supervisor.leave(EndReason::Signal).await,
    }
    Ok(())
}

/// Tells the one who started this process.
fn say(line: &FirstLine) {
    let mut output = people::wire();
    let json = serde_json::to_string(line).unwrap_or_default();
    // Whoever started this may be gone already.
    let _gone = writeln!(output, "{json}").and_then(|()| output.flush());
}
