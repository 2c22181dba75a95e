//! A command of a tool, from being made to its end: under a [keeper](super::keeper), which ends with it whatever it
//! started.
//!
//! The command is made waiting and let go once its process is in the log, so that nothing runs that could not be found
//! and ended after a crash. Losing the future closes the keeper's input, and with it ends everything.

use super::Failed;
use super::environment::Environment;
use super::keeper::{self, Input, Start};
use super::output::Output;
use super::sandbox::Confinement;
use crate::domain::event::Process;
use crate::ports::{Beneath, ToolListener, process};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep_until, timeout};

/// Time between being asked to end and being ended.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Output is shown live at most this often.
const SHOW_EVERY: Duration = Duration::from_millis(50);

/// How long output is read after the command has ended: somebody who got away may hold the pipe.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(200);

/// A keeper that has not ended by then is ended itself.
const KEEPER: Duration = Duration::from_secs(12);

/// Waits for one line, then becomes the command.
const GATE: &str = "read -r go && exec \"$@\"";

/// Who starts commands and ends what they leave.
#[derive(Clone, Debug)]
pub enum Keeper {
    /// A process of this program, which lies there.
    Process(PathBuf),
    /// Nobody: a command leads a group of its own, and whatever leaves that group stays. Nothing is confined.
    Absent,
}

/// A command that is to be run.
#[derive(Clone, Debug)]
pub(super) struct Launch<'a> {
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
    pub(super) folder: &'a Path,
    pub(super) environment: &'a Environment,
    /// Variables beside those.
    pub(super) variables: Vec<(String, OsString)>,
    /// What it reads.
    pub(super) input: Option<Vec<u8>>,
    pub(super) confinement: Option<Confinement>,
    pub(super) longest: Duration,
    /// Where its output goes when it is too long for an answer.
    pub(super) spill: Option<Beneath>,
    /// Whether what it prints as results is told from what it says beside them.
    pub(super) apart: bool,
    /// Whether all of its output goes there, however short.
    pub(super) whole: bool,
}

/// How a command came to its end.
pub(super) enum Ended {
    Itself(ExitStatus),
    TooLong,
    Stopped,
    /// Waiting for it failed.
    Lost(std::io::Error),
}

/// A command that has ended.
pub(super) struct Finished {
    /// What it printed; with `apart`, what it said beside its result.
    pub(super) output: Output,
    /// With `apart`, its result, as far as it is kept.
    pub(super) result: Vec<u8>,
    pub(super) ended: Ended,
}

/// Longest result that is kept whole, in bytes.
pub(super) const LONGEST_RESULT: usize = 8 << 20;

/// A command that waits or runs. Dropping it ends the command with everything it started.
pub(super) struct Running {
    pub(super) child: Child,
    process: Process,
    /// What keeps it alive: once this closes the keeper ends everything.
    gate: Option<ChildStdin>,
    kept: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.kept {
            process::signal(&self.process, Signal::KILL);
        }
    }
}

impl Running {
    /// Lets it go once its process is in the log.
    async fn let_go(&mut self, launch: &Launch<'_>, input: Input, listener: &dyn ToolListener) -> Result<(), Failed> {
        if !listener.started(self.process).await {
            return Err(Failed("The command was not started: its process could not be recorded.".into()));
        }
        let start = Start { input, confinement: launch.confinement.clone() };
        let mut line = serde_json::to_vec(&start).map_err(not_started)?;
        line.push(b'\n');
        if let Some(gate) = self.gate.as_mut() {
            gate.write_all(&line).await.map_err(not_started)?;
        }
        Ok(())
    }

    /// Asks it to end.
    fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Has it get a signal that its keeper passes on.
    pub(super) fn signal(&self, signal: Signal) {
        process::signal(&self.process, signal);
    }

    /// Ends it.
    pub(super) async fn end(&mut self) -> std::io::Result<()> {
        if self.kept {
            drop(self.gate.take());
            if let Ok(ended) = timeout(KEEPER, self.child.wait()).await {
                return ended.map(drop);
            }
        }
        process::signal(&self.process, Signal::KILL);
        self.child.wait().await.map(drop)
    }

    /// Where to write what it reads, for a command that was started with an open input.
    pub(super) fn take_input(&mut self) -> Option<ChildStdin> {
        self.gate.take()
    }

    /// What was taken is only held from here on.
    pub(super) fn give_back(&mut self, input: Option<ChildStdin>) {
        self.gate = input;
    }
}

pub(super) fn not_started(error: impl std::fmt::Display) -> Failed {
    Failed(format!("the command could not be started: {error}"))
}

impl Keeper {
    /// Makes a process for `words`, which waits until it is in the log, and lets it go then. `outputs` says where what it
    /// prints goes.
    ///
    /// # Errors
    /// Why it was not started.
    pub(super) async fn start(
        &self,
        launch: &Launch<'_>,
        input: Input,
        outputs: (Stdio, Stdio),
        listener: &dyn ToolListener,
    ) -> Result<Running, Failed> {
        let mut running = self.make(launch, outputs)?;
        running.let_go(launch, input, listener).await?;
        Ok(running)
    }

    /// Makes a process for `words`, which waits.
    fn make(&self, launch: &Launch<'_>, (stdout, stderr): (Stdio, Stdio)) -> Result<Running, Failed> {
        let mut command = match self {
            Self::Process(program) => {
                let mut command = Command::new(program);
                command.arg(keeper::WORD);
                command
            }
            Self::Absent if launch.confinement.is_some() => {
                return Err(Failed("The command was not started: nobody here could confine it.".to_owned()));
            }
            Self::Absent => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", GATE, "sh"]);
                command
            }
        };
        command
            .args(&launch.words)
            .current_dir(launch.folder)
            .env_clear()
            .envs(launch.environment.variables())
            .envs(launch.variables.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr);
        let mut child = command.spawn().map_err(not_started)?;
        let process = process::identify(child.id().unwrap_or_default());
        let gate = child.stdin.take();
        Ok(Running { child, process, gate, kept: matches!(self, Self::Process(_)) })
    }

    /// Runs a command to its end, or until `stop` is over.
    pub(super) async fn run(
        &self,
        launch: Launch<'_>,
        stop: impl Future<Output = ()>,
        listener: &dyn ToolListener,
    ) -> Result<Finished, Failed> {
        let (reader, writer) = std::io::pipe().map_err(not_started)?;
        let (stdout, second) = if launch.apart {
            let (results, out) = std::io::pipe().map_err(not_started)?;
            (Stdio::from(out), Some(results))
        } else {
            (writer.try_clone().map_err(not_started)?.into(), None)
        };
        let deadline = Instant::now() + launch.longest;
        let size = launch.input.as_ref().map(|bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let input = size.map_or(Input::Nothing, Input::Bytes);
        let mut running = self.start(&launch, input, (stdout, writer.into()), listener).await?;
        let mut reader = pipe::Receiver::from_owned_fd(reader.into()).map_err(not_started)?;
        let mut results = second.map(|fd| pipe::Receiver::from_owned_fd(fd.into())).transpose().map_err(not_started)?;
        let gate = running.gate.take();
        let bytes = launch.input.clone().unwrap_or_default();
        // Written beside reading: a command may print before it reads. The keeper's input stays open until the end.
        let kept = running.kept;
        let feed = async move {
            let mut gate = gate?;
            let _gone = gate.write_all(&bytes).await;
            kept.then_some(gate)
        };
        let mut output = Output::new(launch.spill.clone());
        if launch.whole {
            output.open();
        }
        let mut heard = Heard { output, result: Vec::new() };
        let pipes = (&mut reader, results.as_mut());
        let ended = watch(&mut running, pipes, &mut heard, listener, (deadline, stop), feed).await;
        let _somebody_holds_it = timeout(LAST_WORDS, drain(&mut reader, results.as_mut(), &mut heard)).await;
        drop(running);
        Ok(Finished { output: heard.output, result: heard.result, ended: ended.unwrap_or_else(Ended::Lost) })
    }
}

struct Heard {
    output: Output,
    result: Vec<u8>,
}

/// Adds to a result what is kept of it.
pub(super) fn keep_result(result: &mut Vec<u8>, bytes: &[u8]) {
    let room = LONGEST_RESULT.saturating_sub(result.len()).min(bytes.len());
    result.extend_from_slice(bytes.get(..room).unwrap_or_default());
}

/// Reads and shows until the command ends, or has to be ended: at the deadline, or because somebody stops it.
async fn watch(
    running: &mut Running,
    (reader, mut results): (&mut pipe::Receiver, Option<&mut pipe::Receiver>),
    heard: &mut Heard,
    listener: &dyn ToolListener,
    (deadline, stop): (Instant, impl Future<Output = ()>),
    feed: impl Future<Output = Option<ChildStdin>>,
) -> std::io::Result<Ended> {
    let (mut stop, mut feed) = (std::pin::pin!(stop), Some(Box::pin(feed)));
    let (mut buffer, mut second) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    let (mut open, mut waiting, mut shown) = (true, false, Instant::now());
    let mut results_open = results.is_some();
    let mut ends_at = deadline;
    // Why it was asked to end.
    let mut asked: Option<Ended> = None;
    loop {
        tokio::select! {
            biased;
            () = sleep_until(ends_at) => {
                if let Some(why) = asked {
                    // It may still hold the keeper's input.
                    drop(feed.take());
                    running.end().await?;
                    return Ok(why);
                }
                running.ask();
                (asked, ends_at) = (Some(Ended::TooLong), Instant::now() + GRACE);
            }
            () = &mut stop, if asked.is_none() => {
                running.ask();
                (asked, ends_at) = (Some(Ended::Stopped), Instant::now() + GRACE);
            }
            gate = fed(feed.as_mut()), if feed.is_some() => {
                (running.gate, feed) = (gate, None);
            }
            () = sleep_until(shown + SHOW_EVERY), if waiting => {
                (waiting, shown) = (false, Instant::now());
                listener.said(heard.output.fresh());
            }
            status = running.child.wait() => {
                let status = status?;
                return Ok(asked.unwrap_or(Ended::Itself(status)));
            }
            read = reader.read(&mut buffer), if open => match read {
                Ok(0) | Err(_) => open = false,
                Ok(count) => {
                    heard.output.push(buffer.get(..count).unwrap_or_default());
                    waiting = true;
                }
            },
            read = read_from(results.as_deref_mut(), &mut second), if results_open => match read {
                Ok(0) | Err(_) => results_open = false,
                Ok(count) => keep_result(&mut heard.result, second.get(..count).unwrap_or_default()),
            },
        }
    }
}

async fn fed(feed: Option<&mut (impl Future<Output = Option<ChildStdin>> + Unpin)>) -> Option<ChildStdin> {
    match feed {
        Some(feed) => feed.await,
        None => std::future::pending().await,
    }
}

async fn read_from(pipe: Option<&mut pipe::Receiver>, buffer: &mut [u8]) -> std::io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => std::future::pending().await,
    }
}

async fn drain(reader: &mut pipe::Receiver, results: Option<&mut pipe::Receiver>, heard: &mut Heard) {
    if let Some(results) = results {
        read_all(results, |bytes| keep_result(&mut heard.result, bytes)).await;
    }
    read_all(reader, |bytes| heard.output.push(bytes)).await;
}

/// Reads until nobody writes any more.
pub(super) async fn read_all(pipe: &mut (impl AsyncRead + Unpin), mut take: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        take(buffer.get(..count).unwrap_or_default());
    }
}

/// How a command ended, in words for its output; nothing where it ended well.
pub(super) fn ending(ended: &Ended, longest: Duration) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    Some(match ended {
        Ended::Itself(status) => match (status.code(), status.signal()) {
            (Some(0), _) => return None,
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => status.to_string(),
        },
        Ended::Stopped => "stopped".to_owned(),
        Ended::TooLong => format!("ended after {} s: it took too long", longest.as_secs()),
        Ended::Lost(error) => format!("waiting for the command failed: {error}"),
    })
}
