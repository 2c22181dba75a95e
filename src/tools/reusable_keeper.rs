//! A [keeper] that runs one command after another, for those that are quick and asked often. Each has pipes
//! of its own, and begins when nothing is left of the one before.

use super::Failed;
use super::command::{Ended, Finished, LAST_WORDS, keep_result, not_started, read_all};
use super::environment::Environment;
use super::keeper::{self, Order, Report};
use super::output::Output;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::time::timeout;

/// Waits for a command, or runs one. Dropping it ends the keeper and whatever it runs.
#[derive(Debug)]
pub struct ReusableKeeper {
    /// Orders go there, and reports come back.
    socket: UnixStream,
}

/// What became of a command.
pub(super) enum Run {
    /// It is over, or the keeper went away with it; with the keeper, if it serves another one.
    Ended(Result<Finished, Failed>, Option<ReusableKeeper>),
    /// The keeper was gone before it had read the order: nothing has begun.
    NotTaken(Failed),
}

fn gone(error: &io::Error) -> Failed {
    Failed(format!("waiting for the command failed: its keeper is gone ({error})"))
}

impl ReusableKeeper {
    /// Starts one in `folder`, by `program`, which is this program. Its commands get this environment.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn start(program: &Path, folder: &Path, environment: &Environment) -> Result<Self, String> {
        let started = || -> io::Result<Self> {
            let (own, its) = std::os::unix::net::UnixStream::pair()?;
            own.set_nonblocking(true)?;
            let mut command = Command::new(program);
            command.arg(keeper::WORD).current_dir(folder).env_clear().envs(environment.variables()).process_group(0);
            command.stdin(OwnedFd::from(its)).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            Ok(Self { socket: UnixStream::from_std(own)? })
        };
        started().map_err(|error| not_started(error).0)
    }

    /// Whether it still waits: somebody may have ended it.
    #[must_use]
    pub fn waits(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(recv(&self.socket, &mut [0_u8], flags), Err(rustix::io::Errno::AGAIN))
    }

    /// Runs a command to its end.
    pub(super) async fn run(mut self, order: &Order, input: &[u8]) -> Run {
        match self.run_one(order, input).await {
            Ok((finished, again)) => Run::Ended(finished.map_err(Failed), again.then_some(self)),
            // A socket tells so of what its other end had not read when it was closed.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
                Run::NotTaken(gone(&error))
            }
            Err(error) => Run::Ended(Err(gone(&error)), None),
        }
    }

    async fn run_one(&mut self, order: &Order, input: &[u8]) -> io::Result<(Result<Finished, String>, bool)> {
        let (its_input, feed) = io::pipe()?;
        let (results, its_output) = io::pipe()?;
        let (errors, its_errors) = io::pipe()?;
        self.send(order, [its_input.into(), its_output.into(), its_errors.into()]).await?;
        let mut feed = pipe::Sender::from_owned_fd(feed.into())?;
        let mut results = pipe::Receiver::from_owned_fd(results.into())?;
        let mut errors = pipe::Receiver::from_owned_fd(errors.into())?;
        let (mut output, mut result) = (Output::new(None), Vec::new());
        let ended = {
            let feed = async move { drop(feed.write_all(input).await) };
            let errors = read_all(&mut errors, |bytes| output.push(bytes));
            let results = read_all(&mut results, |bytes| keep_result(&mut result, bytes));
            let mut pipes = pin!(async { tokio::join!(feed, errors, results) });
            let mut report = pin!(report(&mut self.socket));
            let mut are_closed = false;
            let report = loop {
                tokio::select! {
                    biased;
                    report = &mut report => break report?,
                    _ = &mut pipes, if !are_closed => are_closed = true,
                }
            };
            if !are_closed {
                let _somebody_holds_it = timeout(LAST_WORDS, pipes).await;
            }
            report
        };
        let ended_by = |status| Finished { output, result, ended: Ended::Itself(ExitStatus::from_raw(status)) };
        Ok((ended.ended.map(ended_by), ended.again))
    }

    async fn send(&mut self, order: &Order, fds: [OwnedFd; 3]) -> io::Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let fds = fds.each_ref().map(AsFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(io::Error::other("no room for what the command reads and writes"));
        }
        // Nothing else is on its way, so there is room for the beginning, which brings them.
        let sent = sendmsg(&self.socket, &[IoSlice::new(&line)], &mut control, SendFlags::empty())?;
        self.socket.write_all(line.get(sent..).unwrap_or_default()).await
    }
}

async fn report(socket: &mut UnixStream) -> io::Result<Report> {
    let mut line = String::new();
    if BufReader::new(socket).read_line(&mut line).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}
