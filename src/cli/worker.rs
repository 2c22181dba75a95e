//! `levain worker`: runs one thread for screens to connect to. Started by levain itself, detached.

use super::{Common, runtime};
use crate::app::people;
use crate::app::{DirectivePlanner, Setup, logging, secrets};
use crate::domain::ThreadId;
use crate::domain::event::EndReason;
use crate::store::thread;
use crate::worker::host::{self, HostError};
use crate::worker::launch::FirstLine;
use clap::Args;
use secrecy::SecretString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, Args)]
pub(super) struct WorkerArguments {
    /// The thread to run
    #[arg(long, value_name = "ID")]
    thread: ThreadId,
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
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None)).map_err(|error| text(&error))?;
    let id = &arguments.thread;
    let begun = thread::specification(&setup.layout, id).map_err(|error| text(&error))?;
    let items = setup.items();
    let briefing =
        DirectivePlanner::prepare(&setup, &begun.directive, Some(begun.inputs)).map_err(|error| text(&error))?;
    for problem in &briefing.problems {
        tracing::warn!(%problem, "in the directive");
    }
    let (grants, limits) = (briefing.grants.clone(), briefing.limits);
    let mut hosting = setup.hosting(id.clone(), Arc::new(briefing)).map_err(|error| text(&error))?;
    (hosting.limits, hosting.secret) = (limits, secret);
    setup.equip(&mut hosting, &items, grants, Vec::new());
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| text(&error))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| text(&error))?;
    // Listening is enough to survive it.
    let _hangup = signal(SignalKind::hangup()).map_err(|error| text(&error))?;
    let hosted = match host::host(hosting).await {
        Ok(hosted) => hosted,
        Err(HostError::Busy) => {
            say(&FirstLine::Busy);
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
    };
    say(&FirstLine::Ready(hosted.socket().to_owned()));
    let handle = hosted.handle();
    let leave = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        handle.leave(EndReason::Signal).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = hosted.finished() => ended.map(drop).map_err(|error| error.to_string()),
        () = leave => Ok(()),
    }
}

/// Tells the one who started this process.
fn say(line: &FirstLine) {
    let mut output = people::wire();
    let json = serde_json::to_string(line).unwrap_or_default();
    // Whoever started this may be gone already.
    let _gone = writeln!(output, "{json}").and_then(|()| output.flush());
}
