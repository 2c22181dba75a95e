//! `bash`: a command in a process group of its own, which ends with it whatever happens.
//!
//! The command is made waiting and let go once its group is in the log, so that nothing runs that could not be found
//! and ended after a crash. What it leaves running in its group ends with it; only what starts a session of its own
//! gets away.

use super::environment::Environment;
use super::output::Output;
use super::root::Root;
use super::{Answer, Failed};
use crate::domain::event::Process;
use crate::ports::{Beneath, ToolListener, process};
use rustix::process::Signal;
use serde::Deserialize;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};

/// How long a command may run when nothing is said, and at most.
const USUAL: Duration = Duration::from_mins(2);
const LONGEST: Duration = Duration::from_mins(10);

/// Time between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(2);

/// Output is shown live at most this often.
const SHOW_EVERY: Duration = Duration::from_millis(50);

/// How long output is read after the command has ended: somebody who got away may hold the pipe.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Waits for one line, then becomes the command.
const GATE: &str = "read -r go && exec \"$@\" </dev/null";

#[derive(Deserialize)]
pub(super) struct Bash {
    command: String,
    /// Seconds.
    timeout: Option<f64>,
    working_dir: Option<String>,
}

impl Bash {
    /// A command that a person gave: it may take as long as any.
    pub(super) fn of_a_person(command: &str) -> Self {
        Self { command: command.to_owned(), timeout: Some(LONGEST.as_secs_f64()), working_dir: None }
    }
}

/// A process group. Dropping it ends everyone in it.
struct Group(Process);

impl Drop for Group {
    fn drop(&mut self) {
        process::signal(&self.0, Signal::KILL);
    }
}

/// How a command came to its end.
enum Ended {
    Itself(ExitStatus),
    TooLong,
    Stopped,
}

/// Runs a command to its end, or until `stop` is over; `spill` is where its output goes when it is too long for an
/// answer.
pub(super) async fn bash(
    root: &Root,
    environment: &Environment,
    spill: Option<Beneath>,
    arguments: &Bash,
    stop: impl Future<Output = ()>,
    listener: &dyn ToolListener,
) -> Answer {
    if arguments.command.trim().is_empty() {
        return Err(Failed("`command` is empty".to_owned()));
    }
    let folder = root.folder(arguments.working_dir.as_deref().unwrap_or("."))?;
    let longest = arguments.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let longest = longest.unwrap_or(USUAL).clamp(Duration::from_secs(1), LONGEST);
    let not_started = |error: std::io::Error| Failed(format!("the command could not be started: {error}"));

    let (reader, writer) = std::io::pipe().map_err(not_started)?;
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", GATE, "sh", "bash", "-c", &arguments.command])
        .current_dir(folder)
        .env_clear()
        .envs(environment.variables())
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().map_err(not_started)?)
        .stderr(writer);
    let mut child = command.spawn().map_err(not_started)?;
    // It holds the writing end of the pipe, which must close with the command.
    drop(command);
    let group = Group(process::identify(child.id().unwrap_or_default()));
    if !listener.started(group.0).await {
        return Err(Failed("The command was not started: its process could not be recorded.".into()));
    }
    let begun = Instant::now();
    if let Some(mut gate) = child.stdin.take() {
        gate.write_all(b"go\n").await.map_err(not_started)?;
    }

    let mut reader = pipe::Receiver::from_owned_fd(reader.into()).map_err(not_started)?;
    let mut output = Output::new(spill);
    let ended = watch(&mut child, &mut reader, &mut output, listener, (begun + longest, stop), &group).await;
    drop(group);
    let _somebody_holds_it = timeout(LAST_WORDS, drain(&mut reader, &mut output)).await;
    let text = output.finish(|path| root.told(&path.path()));
    match ended {
        Ok(Ended::Itself(status)) => told(&text, status),
        Ok(Ended::Stopped) => Err(Failed(format!("{text}\n(stopped)"))),
        Ok(Ended::TooLong) => Err(Failed(format!("{text}\n(ended after {} s: it took too long)", longest.as_secs()))),
        Err(error) => Err(Failed(format!("{text}\n(waiting for the command failed: {error})"))),
    }
}

/// Reads and shows until the command ends, or has to be ended: at the deadline, or because somebody stops it.
async fn watch(
    child: &mut Child,
    reader: &mut pipe::Receiver,
    output: &mut Output,
    listener: &dyn ToolListener,
    (deadline, stop): (Instant, impl Future<Output = ()>),
    group: &Group,
) -> std::io::Result<Ended> {
    let mut stop = std::pin::pin!(stop);
    let mut buffer = vec![0; 16 << 10];
    let (mut open, mut waiting, mut shown) = (true, false, Instant::now());
    let mut ends_at = deadline;
    // Why it was asked to end.
    let mut asked: Option<Ended> = None;
    loop {
        tokio::select! {
            biased;
            () = sleep_until(ends_at) => {
                if let Some(why) = asked {
                    process::signal(&group.0, Signal::KILL);
                    child.wait().await?;
                    return Ok(why);
                }
                process::signal(&group.0, Signal::TERM);
                (asked, ends_at) = (Some(Ended::TooLong), Instant::now() + GRACE);
            }
            () = &mut stop, if asked.is_none() => {
                process::signal(&group.0, Signal::TERM);
                (asked, ends_at) = (Some(Ended::Stopped), Instant::now() + GRACE);
            }
            () = sleep_until(shown + SHOW_EVERY), if waiting => {
                (waiting, shown) = (false, Instant::now());
                listener.said(output.fresh());
            }
            status = child.wait() => {
                let status = status?;
                return Ok(asked.unwrap_or(Ended::Itself(status)));
            }
            read = reader.read(&mut buffer), if open => match read {
                Ok(0) | Err(_) => open = false,
                Ok(count) => {
                    output.push(buffer.get(..count).unwrap_or_default());
                    waiting = true;
                }
            },
        }
    }
}

async fn drain(reader: &mut pipe::Receiver, output: &mut Output) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = reader.read(&mut buffer).await {
        output.push(buffer.get(..count).unwrap_or_default());
    }
}

fn told(text: &str, status: ExitStatus) -> Answer {
    use std::os::unix::process::ExitStatusExt;
    let ending = match (status.code(), status.signal()) {
        (Some(0), _) if text.is_empty() => return Ok("(no output)".to_owned()),
        (Some(0), _) => return Ok(text.to_owned()),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => status.to_string(),
    };
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Err(Failed(format!("{text}{gap}({ending})")))
}
