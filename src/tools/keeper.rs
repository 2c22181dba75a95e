//! The keeper of a command: a small process of this program that starts it, and ends with it whatever it started.
//!
//! It waits for one line on its input, which says how the command is confined; until then nothing runs, so a worker can
//! first write down that it does. Whatever the command leaves behind becomes the keeper's own child, sessions of their own
//! and double forks included, since on Linux the keeper takes up orphans. It ends all of them when the command ends, and
//! when its input closes: a worker that is killed closes it too. Signals that ask a command for something are passed on.
//!
//! Without a command on its command line it serves one after another, since to start takes it longer than most commands:
//! its input is a socket then, each line names a command and comes with that one's input and outputs, and how it ended goes
//! back when nothing of it is left.

use super::sandbox::{self, Confinement};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, kill_process_group, setrlimit, wait};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The subcommand by which this program is a keeper.
pub const WORD: &str = "keep";

/// What a keeper answers with that did not start its command.
pub const NOT_STARTED: u8 = 125;

/// A command that reads its input to the end has as long to end by itself when that is closed.
const LEAVE: Duration = Duration::from_secs(2);

/// As long is what remains ended again and again: a crowd that forks faster is given up then.
const CROWD: Duration = Duration::from_secs(10);

/// Signals that a command gets when its keeper does.
const PASSED_ON: [Signal; 6] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// What the input of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Input {
    /// There is none.
    Nothing,
    /// As many bytes as follow the line.
    Bytes(u64),
    /// All that follows the line.
    Open,
    /// Pieces that each begin with their length in four bytes, the lowest first; an empty one closes it.
    Pieces,
}

/// The line that lets the command go.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) input: Input,
    pub(super) confinement: Option<Confinement>,
}

/// The line that has a keeper start a command, of those that it serves one after another. The command's input, its output
/// and its error output come with it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) confinement: Option<Confinement>,
}

/// The line that tells how it ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// As the system tells it; or what went wrong.
    pub(super) ended: Result<i32, String>,
    /// Whether the keeper serves another one.
    pub(super) again: bool,
}

/// Answers in the place of the program if it was called as a keeper: before anything else, since a command waits. What its
/// sandbox leaves goes to `tell`, a line at a time.
///
/// # Errors
/// Why the command was not started; the keeper ends with [`NOT_STARTED`] then.
#[must_use]
pub fn answer(tell: impl FnMut(&str)) -> Option<Result<ExitCode, String>> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == WORD).then(|| keep(words.collect(), tell))
}

/// What tells a keeper that somebody has ended, and that it was sent a signal to pass on.
struct Signals {
    ended: UnixStream,
    asked: Vec<(UnixStream, Signal)>,
}

fn keep(command: Vec<OsString>, tell: impl FnMut(&str)) -> Result<ExitCode, String> {
    let told = |error: io::Error| error.to_string();
    // Whoever calls may have called ahead, so all that can be done before the line is.
    let _core = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| told(error.into()))?;
    let ended = signals(signal_hook::consts::SIGCHLD)?;
    let asked = PASSED_ON.iter().map(|signal| Ok((signals(signal.as_raw())?, *signal)));
    let signals = Signals { ended, asked: asked.collect::<Result<Vec<_>, String>>()? };
    if command.is_empty() {
        return serve(&signals);
    }
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line).map_err(told)? == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let Start { input, confinement } = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let redirect = |command: &mut Command| {
        command.stdin(if input == Input::Nothing { Stdio::null() } else { Stdio::piped() });
    };
    let begun = |pipe| feed(input, pipe);
    let (status, _) = run(command, redirect, confinement.as_ref(), begun, (input, &signals, tell))?;
    Ok(leave(status))
}

/// Whether a keeper serves another command after one that was confined like this. A sandbox is in part the keeper's, too; and
/// where orphans are not taken up somebody may be left.
pub(super) fn serves_again(confinement: Option<&Confinement>) -> bool {
    cfg!(target_os = "linux") && confinement.is_none()
}

/// Starts commands one after another, each when nothing is left of the one before, until nobody holds its input any more.
fn serve(signals: &Signals) -> Result<ExitCode, String> {
    let told = |error: io::Error| error.to_string();
    let mut socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned().map_err(told)?);
    loop {
        let received =
            receive(&socket).map_err(|error| format!("no command is named, and none can be received: {error}"));
        let Some((line, fds)) = received? else { return Ok(ExitCode::SUCCESS) };
        let Order { words, folder, confinement } = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
        let [input, output, errors] = fds;
        let mut beside = File::from(errors.try_clone().map_err(told)?);
        let tell = move |line: &str| {
            let _nobody_reads = writeln!(beside, "{line}");
        };
        let redirect = |command: &mut Command| {
            command.current_dir(folder).stdin(input).stdout(output).stderr(errors);
        };
        // Signals of before were for another one.
        for (asked, _) in &signals.asked {
            drain(asked);
        }
        let words = words.into_iter().map(OsString::from).collect();
        let ran = run(words, redirect, confinement.as_ref(), |_| {}, (Input::Nothing, signals, tell));
        let again = serves_again(confinement.as_ref()) && ran.as_ref().map_or(true, |(_, all_gone)| *all_gone);
        let ended = match ran {
            Ok((status, _)) => status.map(WaitStatus::as_raw).ok_or("waiting for the command failed".to_owned()),
            Err(why) => Err(format!("the command could not be started: {why}")),
        };
        let mut report = serde_json::to_vec(&Report { ended, again }).map_err(|error| error.to_string())?;
        report.push(b'\n');
        socket.write_all(&report).map_err(told)?;
        if !again {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// The next line, and what comes with it; none when nobody sends any more.
fn receive(socket: &UnixStream) -> io::Result<Option<(Vec<u8>, [OwnedFd; 3])>> {
    let (mut line, mut fds) = (Vec::new(), Vec::new());
    let mut buffer = [0; 4096];
    while line.last() != Some(&b'\n') {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::empty();
        let received =
            rustix::io::retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(&mut buffer)], &mut control, flags))?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                fds.extend(sent);
            }
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        line.extend_from_slice(buffer.get(..received.bytes).unwrap_or_default());
    }
    #[cfg(not(target_os = "linux"))]
    for fd in &fds {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
    }
    let fds =
        fds.try_into().map_err(|_others: Vec<_>| io::Error::other("a command came without its input and outputs"))?;
    Ok(Some((line, fds)))
}

/// Runs a command to its end, and ends what it leaves. Answers how it ended, and whether all is gone. What its sandbox leaves
/// is told beside its output.
fn run(
    words: Vec<OsString>,
    redirect: impl FnOnce(&mut Command),
    confinement: Option<&Confinement>,
    begun: impl FnOnce(Option<ChildStdin>),
    (input, signals, mut tell): (Input, &Signals, impl FnMut(&str)),
) -> Result<(Option<WaitStatus>, bool), String> {
    let confined = confinement.map(Confined::prepare).transpose()?;
    let started = start(words, redirect, confinement, confined.as_ref());
    let ran = started.map(|(pid, pipe)| {
        begun(pipe);
        let status = watch(pid, input, signals);
        (status, end_all(pid))
    });
    let all_gone = ran.as_ref().map_or(true, |(_, all_gone)| *all_gone);
    for left in confined.map(|confined| confined.clear(all_gone)).unwrap_or_default() {
        tell(&format!("The sandbox could not clear up: {left}"));
    }
    ran
}

/// What is made for a confined command and goes with it.
struct Confined {
    temporary: tempfile::TempDir,
    #[cfg(target_os = "linux")]
    held: sandbox::Held,
}

impl Confined {
    fn prepare(confinement: &Confinement) -> Result<Self, String> {
        let temporary = tempfile::Builder::new().prefix("levain-").tempdir();
        let temporary = temporary.map_err(|error| format!("its temporary folder cannot be made: {error}"))?;
        #[cfg(target_os = "linux")]
        let held = sandbox::hold(confinement, temporary.path());
        #[cfg(not(target_os = "linux"))]
        let _its_profile_says_all = confinement;
        Ok(Self {
            temporary,
            #[cfg(target_os = "linux")]
            held,
        })
    }

    /// Answers what is left, in words. Whoever is not gone is still held to what is mounted.
    fn clear(self, all_gone: bool) -> Vec<String> {
        let _gone = std::fs::remove_dir_all(self.temporary.path());
        if !all_gone {
            return vec!["processes of the command are left, so what guards the project from them stays".to_owned()];
        }
        #[cfg(target_os = "linux")]
        return self.held.clear();
        #[cfg(not(target_os = "linux"))]
        Vec::new()
    }
}

/// The reading end of a pipe that gets a byte with each `signal`.
fn signals(signal: i32) -> Result<UnixStream, String> {
    let told = |error: io::Error| error.to_string();
    let (reader, writer) = UnixStream::pair().map_err(told)?;
    reader.set_nonblocking(true).map_err(told)?;
    signal_hook::low_level::pipe::register(signal, writer).map_err(told)?;
    Ok(reader)
}

/// Starts the command in a group of its own, confined where that is asked for: then in a thread of its own, whose limits
/// it inherits and the keeper does not.
fn start(
    mut words: Vec<OsString>,
    redirect: impl FnOnce(&mut Command),
    confinement: Option<&Confinement>,
    confined: Option<&Confined>,
) -> Result<(Pid, Option<ChildStdin>), String> {
    if words.is_empty() {
        return Err("no command was named".to_owned());
    }
    #[cfg(target_os = "macos")]
    if let Some((confinement, confined)) = confinement.zip(confined) {
        let profile = sandbox::profile(confinement, confined.temporary.path());
        words.splice(0..0, ["sandbox-exec".into(), "-p".into(), profile.into()]);
    }
    let program = words.remove(0);
    let mut command = Command::new(&program);
    command.args(words).process_group(0);
    redirect(&mut command);
    if let Some(confined) = confined {
        command.env("TMPDIR", confined.temporary.path());
    }
    let mut go = || {
        #[cfg(target_os = "linux")]
        if let Some((confinement, confined)) = confinement.zip(confined) {
            let enforced = sandbox::enforce(confinement, confined.temporary.path(), &confined.held);
            enforced.map_err(|why| format!("the sandbox cannot be enforced: {why}"))?;
        }
        command.spawn().map_err(|error| format!("{}: {error}", program.to_string_lossy()))
    };
    let started = match confinement {
        None => Ok(go()),
        Some(_) => std::thread::scope(|scope| scope.spawn(&mut go).join()),
    };
    let mut child: Child = started.map_err(|_panicked| "the keeper failed inside".to_owned())??;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("it has no process")?;
    Ok((pid, child.stdin.take()))
}

/// Passes on what the command reads, beside everything else: it may read slowly, or not at all.
fn feed(input: Input, pipe: Option<ChildStdin>) {
    let Some(mut pipe) = pipe else { return };
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let _closed = match input {
            Input::Nothing => Ok(0),
            Input::Bytes(count) => io::copy(&mut stdin.by_ref().take(count), &mut pipe),
            Input::Open => io::copy(&mut stdin, &mut pipe),
            Input::Pieces => pieces(&mut stdin, pipe),
        };
    });
}

/// Passes on pieces up to the empty one. What a command does not read that has closed its input is lost.
fn pieces(from: &mut impl Read, mut to: impl Write) -> io::Result<u64> {
    let mut read = 0;
    loop {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        if length == 0 {
            return Ok(read);
        }
        let mut piece = from.by_ref().take(length);
        let _it_reads_no_more = io::copy(&mut piece, &mut to);
        io::copy(&mut piece, &mut io::sink())?;
        read += length;
    }
}

/// Waits until the command has ended, or nobody holds the keeper's input any more.
fn watch(pid: Pid, input: Input, Signals { ended, asked }: &Signals) -> Option<WaitStatus> {
    let stdin = io::stdin();
    let mut leaves: Option<Instant> = None;
    loop {
        let (any, status) = reap(Some(pid));
        if status.is_some() || !any {
            return status;
        }
        let left = leaves.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return None;
        }
        let at_most = left.and_then(|left| rustix::event::Timespec::try_from(left).ok());
        let events = if leaves.is_some() { PollFlags::empty() } else { PollFlags::HUP };
        let mut watched = vec![PollFd::new(ended, PollFlags::IN)];
        watched.extend(asked.iter().map(|(asked, _)| PollFd::new(asked, PollFlags::IN)));
        if leaves.is_none() {
            watched.push(PollFd::new(&stdin, events));
        }
        let _interrupted = poll(&mut watched, at_most.as_ref());
        let stdin = watched.get(1 + asked.len());
        let closed = stdin.is_some_and(|stdin| stdin.revents().intersects(PollFlags::HUP | PollFlags::ERR));
        drain(ended);
        for (_, signal) in asked.iter().filter(|(asked, _)| drain(asked)) {
            let _gone = kill_process_group(pid, *signal);
        }
        if closed {
            if input != Input::Open {
                return reap(Some(pid)).1;
            }
            leaves = Some(Instant::now() + LEAVE);
        }
    }
}

/// Whether any byte was there.
fn drain(mut pipe: &UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut any = false;
    while matches!(pipe.read(&mut buffer), Ok(1..)) {
        any = true;
    }
    any
}

/// Takes up all who have ended. Whether anybody is left, and how the one that is `wanted` ended.
fn reap(wanted: Option<Pid>) -> (bool, Option<WaitStatus>) {
    let mut found = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if Some(pid) == wanted => found = Some(status),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return (true, found),
            Err(_no_child) => return (false, found),
        }
    }
}

/// Ends everybody below this process, and whoever they start meanwhile. Whether all are gone.
fn end_all(command: Pid) -> bool {
    let until = Instant::now() + CROWD;
    while reap(None).0 {
        if Instant::now() >= until {
            return false;
        }
        let _gone = kill_process_group(command, Signal::KILL);
        for pid in below() {
            let _gone = rustix::process::kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// All processes below this one. Only Linux tells.
fn below() -> Vec<Pid> {
    let number = |text: &str| text.parse::<i32>().ok();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let parent = |id: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The second field is a name in brackets that may hold anything; the parent is the second behind it.
        number(stat.rsplit_once(')')?.1.split_whitespace().nth(1)?)
    };
    let ids = entries.filter_map(|entry| number(entry.file_name().to_str()?));
    let all: Vec<(i32, i32)> = ids.filter_map(|id| Some((id, parent(id)?))).collect();
    let mut below = vec![rustix::process::getpid().as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(above) = below.get(next).copied() {
        below.extend(all.iter().filter(|(_, parent)| *parent == above).map(|(id, _)| *id));
        next += 1;
    }
    below.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// Ends as the command did.
fn leave(status: Option<WaitStatus>) -> ExitCode {
    let Some(status) = status else { return ExitCode::from(NOT_STARTED) };
    if let Some(signal) = status.terminating_signal() {
        let _ended_by_it = signal_hook::low_level::emulate_default_handler(signal);
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ended_by_it = rustix::process::kill_process(rustix::process::getpid(), signal);
        }
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(NOT_STARTED));
    }
    ExitCode::from(status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_STARTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that has closed its input.
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn pieces_are_passed_on_up_to_the_empty_one() {
        let mut said = Vec::new();
        for piece in ["one ", "two", ""] {
            said.extend(u32::try_from(piece.len()).unwrap().to_le_bytes());
            said.extend(piece.as_bytes());
        }
        said.extend(b"behind it");
        let mut heard = Vec::new();
        assert_eq!(pieces(&mut said.as_slice(), &mut heard).unwrap(), 7);
        assert_eq!(heard, b"one two");
        // A command that reads no more holds up nobody: the next pieces are read, too.
        assert_eq!(pieces(&mut said.as_slice(), Closed).unwrap(), 7);
        assert!(pieces(&mut b"\x05\0\0\0ab".as_slice(), Vec::new()).is_err(), "it is cut off");
    }
}
