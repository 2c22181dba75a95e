//! Threads in workers of their own: started detached, reached through their sockets.

use super::client::{Client, ConnectError};
use super::host::{REPLAY, socket_path};
use super::launch::Launcher;
use super::protocol::{Command, FromWorker, ToWorker};
use crate::domain::event::CancelScope;
use crate::domain::{Event, ExtensionEntry, SettingsEvent, State, ThreadEvent, ThreadId, title};
use crate::ports::executor::{Executor, ExecutorError, ThreadSpec};
use crate::ports::tools::Waiting;
use crate::ports::{Clock, SystemClock};
use crate::store::registry::{Registry, ThreadEntry};
use crate::store::summary::Summary;
use crate::store::upkeep::{self, UpkeepError};
use crate::store::{Layout, recover};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

/// A worker that was told to end, and has not after this time, is ended by signals.
const ENDS_WITHIN: Duration = Duration::from_millis(1_500);

/// The same for one that was sent SIGTERM, before SIGKILL.
const TERMINATES_WITHIN: Duration = Duration::from_millis(1_500);

/// How often it is looked whether a process that was signalled is gone. Only done while one is.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Number of the only command of a connection.
const ONLY: u64 = 1;

/// Runs each thread in a detached worker.
#[derive(Clone, Debug)]
pub struct Detached {
    pub launcher: Launcher,
}

impl Detached {
    fn layout(&self) -> Layout {
        self.launcher.layout.clone()
    }

    /// Sends a command and waits for its answer.
    async fn ask(client: &mut Client, command: Command) -> Result<(), ExecutorError> {
        let failed = |error: &dyn std::fmt::Display| ExecutorError::Failed(error.to_string());
        client.sender().command(ONLY, command).await.map_err(|error| failed(&error))?;
        loop {
            match client.next().await {
                Some(FromWorker::Ack { id: ONLY }) => return Ok(()),
                Some(FromWorker::Error { id: ONLY, message }) => return Err(ExecutorError::Failed(message)),
                Some(FromWorker::Refused { reason }) => return Err(ExecutorError::Failed(reason)),
                Some(_) => {}
                None => return Err(failed(&"the worker ended before it answered")),
            }
        }
    }

    /// A client of the worker that runs `id`. Nothing of its log is asked for.
    async fn find(&self, id: &ThreadId) -> Result<Client, ExecutorError> {
        match self.launcher.find(id, u64::MAX).await {
            Ok(client) => Ok(client),
            Err(ConnectError::NotThere(_) | ConnectError::Ended) => Err(ExecutorError::NotRunning(id.clone())),
            Err(ConnectError::Refused(reason)) => Err(ExecutorError::Failed(reason)),
        }
    }

    /// Calls the thread so. Whoever runs it writes that down; where nobody does, it is written here.
    ///
    /// # Errors
    /// [`ExecutorError`], whose sentence says why it is called as before.
    pub async fn rename(&self, id: &ThreadId, title: &str) -> Result<(), ExecutorError> {
        let title = title::given(title).map_err(ExecutorError::Failed)?;
        self.file(id, Command::Rename { title: title.clone() }, SettingsEvent::TitleSet { title }).await
    }

    /// Lists the thread apart, or with the others again.
    ///
    /// # Errors
    /// [`ExecutorError`].
    pub async fn archive(&self, id: &ThreadId, archived: bool) -> Result<(), ExecutorError> {
        self.file(id, Command::Archive { archived }, SettingsEvent::Archived { archived }).await
    }

    /// Calls something that was said in the thread so, or nothing.
    ///
    /// # Errors
    /// [`ExecutorError`], whose sentence says why it is called as before.
    pub async fn label(&self, id: &ThreadId, target: String, label: Option<String>) -> Result<(), ExecutorError> {
        let label = label.as_deref().map(title::given).transpose().map_err(ExecutorError::Failed)?;
        let entry = ExtensionEntry::Label { target: target.clone(), label: label.clone() };
        self.write(id, Command::Label { target, label }, Event::Thread(ThreadEvent::ExtensionEntry { entry })).await
    }

    /// Removes the thread and all it said. The process of one that was just left is waited for.
    ///
    /// # Errors
    /// [`ExecutorError`], whose sentence says why it stays.
    pub async fn remove(&self, id: &ThreadId) -> Result<(), ExecutorError> {
        let failed = |error: &dyn std::fmt::Display| ExecutorError::Failed(error.to_string());
        let since = Instant::now();
        loop {
            let (layout, id) = (self.layout(), id.clone());
            let removed = tokio::task::spawn_blocking(move || upkeep::remove(&layout, &id)).await;
            match removed.map_err(|error| failed(&error))? {
                Err(UpkeepError::Running) if since.elapsed() < ENDS_WITHIN => sleep(LOOK_EVERY).await,
                Err(UpkeepError::Running) => return Err(failed(&"a process runs it; stop it first")),
                removed => return removed.map_err(|error| failed(&error)),
            }
        }
    }

    /// Asks whoever runs the thread by `command`, or writes `event` where nobody does.
    async fn file(&self, id: &ThreadId, command: Command, event: SettingsEvent) -> Result<(), ExecutorError> {
        self.write(id, command, Event::Settings(event)).await
    }

    /// Asks whoever runs the thread by `command`, or writes `event`, from which nothing follows, where nobody does.
    async fn write(&self, id: &ThreadId, command: Command, event: Event) -> Result<(), ExecutorError> {
        let failed = |error: &dyn std::fmt::Display| ExecutorError::Failed(error.to_string());
        let since = Instant::now();
        loop {
            match self.find(id).await {
                Ok(mut client) => {
                    Self::ask(&mut client, command).await?;
                    let _ended_already = client.sender().send(ToWorker::Goodbye).await;
                    return Ok(());
                }
                Err(ExecutorError::NotRunning(_)) => {}
                Err(error) => return Err(error),
            }
            let (layout, id, event) = (self.layout(), id.clone(), event.clone());
            let write = move || upkeep::file(&layout, &id, event, SystemClock.now(), REPLAY);
            match tokio::task::spawn_blocking(write).await.map_err(|error| failed(&error))? {
                // It begins or ends just now.
                Err(UpkeepError::Running) if since.elapsed() < ENDS_WITHIN => sleep(LOOK_EVERY).await,
                written => return written.map_err(|error| failed(&error)),
            }
        }
    }

    /// Whether the process runs other threads as well, as their rows say.
    fn runs_others(&self, id: &ThreadId, pid: Pid) -> bool {
        let rows = Registry::open(&self.layout().registry()).and_then(|registry| registry.with_process());
        let same = |row: &ThreadEntry| row.thread_id != *id && row.pid.map(u32::cast_signed) == Some(pid.as_raw_pid());
        rows.is_ok_and(|rows| rows.iter().any(same))
    }

    /// Ends the process that holds the thread, which did not end when it was asked.
    async fn end_process(&self, id: &ThreadId) -> Result<(), ExecutorError> {
        let held = || recover::is_held(&self.layout(), id).unwrap_or(false);
        let failed = |error: &dyn std::fmt::Display| ExecutorError::Failed(error.to_string());
        let socket = socket_path(&self.launcher.runtime, &self.layout(), id);
        for (signal, patience) in [(Signal::TERM, TERMINATES_WITHIN), (Signal::KILL, ENDS_WITHIN)] {
            // The system tells who listens at the socket; no file does, since the number may belong to somebody else by now.
            let Ok(peer) = UnixStream::connect(&socket).await else { break };
            let pid = peer.peer_cred().ok().and_then(|peer| peer.pid()).and_then(Pid::from_raw);
            let Some(pid) = pid.filter(|_| held()) else { break };
            if self.runs_others(id, pid) {
                return Err(failed(&format!("{id} is stopping; its process runs other threads too, and stays")));
            }
            let _gone_already = kill_process(pid, signal);
            let ends = async {
                while held() {
                    sleep(LOOK_EVERY).await;
                }
            };
            if timeout(patience, ends).await.is_ok() {
                break;
            }
        }
        if held() {
            return Err(failed(&format!("could not stop the process that runs {id}")));
        }
        recover::remove_socket(&self.layout(), id, &socket);
        recover::mend(&self.layout(), id, SystemClock.now(), REPLAY);
        Ok(())
    }
}

impl Detached {
    /// Has a thread that was made before begin with `first`, in a worker of its own, whose process is told.
    ///
    /// # Errors
    /// [`ExecutorError`].
    pub async fn begin(&self, id: &ThreadId, first: Command) -> Result<Option<u32>, ExecutorError> {
        let failed = |error: &dyn std::fmt::Display| ExecutorError::Failed(error.to_string());
        let mut client = self.launcher.reach(id, 0).await.map_err(|error| failed(&error))?;
        Self::ask(&mut client, first).await?;
        let pid = self.process_of(id).await;
        let _ended_already = client.sender().send(ToWorker::Goodbye).await;
        Ok(pid)
    }

    /// Has whoever runs the thread do `command`.
    ///
    /// # Errors
    /// [`ExecutorError`]; [`ExecutorError::NotRunning`] where nobody does.
    pub async fn tell(&self, id: &ThreadId, command: Command) -> Result<(), ExecutorError> {
        let mut client = self.find(id).await?;
        Self::ask(&mut client, command).await?;
        let _ended_already = client.sender().send(ToWorker::Goodbye).await;
        Ok(())
    }

    /// The process that listens for the thread, as the system tells.
    async fn process_of(&self, id: &ThreadId) -> Option<u32> {
        let stream = UnixStream::connect(&socket_path(&self.launcher.runtime, &self.layout(), id)).await.ok()?;
        stream.peer_cred().ok()?.pid().and_then(|pid| u32::try_from(pid).ok())
    }
}

impl Executor for Detached {
    fn spawn(&self, spec: ThreadSpec, first: Command) -> Waiting<'_, Result<ThreadId, ExecutorError>> {
        Box::pin(async move {
            let failed = |error: &dyn std::fmt::Display| ExecutorError::Failed(error.to_string());
            let layout = self.layout();
            let make = tokio::task::spawn_blocking(move || Summary::make(&layout, spec, SystemClock.now()));
            let summary = make.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
            let _process = self.begin(&summary.thread_id, first).await?;
            Ok(summary.thread_id)
        })
    }

    fn cancel<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Result<(), ExecutorError>> {
        Box::pin(async move {
            let mut client = self.find(id).await?;
            let asked = Self::ask(&mut client, Command::Cancel { scope: CancelScope::Thread }).await;
            let Err(error) = asked else { return Ok(()) };
            // One that ends just now, with its parent, does not answer any more.
            let ends = async {
                while recover::is_held(&self.layout(), id).unwrap_or(false) {
                    sleep(LOOK_EVERY).await;
                }
            };
            timeout(ENDS_WITHIN, ends).await.map_err(|_elapsed| error)
        })
    }

    fn kill<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Result<(), ExecutorError>> {
        Box::pin(async move {
            let asked = async {
                let mut client = self.find(id).await?;
                Self::ask(&mut client, Command::Cancel { scope: CancelScope::Kill }).await?;
                // It says goodbye, then the process lets go of the thread.
                while client.next().await.is_some() {}
                while recover::is_held(&self.layout(), id).unwrap_or(false) {
                    sleep(LOOK_EVERY).await;
                }
                Ok(())
            };
            match timeout(ENDS_WITHIN, asked).await {
                Ok(Err(not_running @ ExecutorError::NotRunning(_)))
                    if !recover::is_held(&self.layout(), id).unwrap_or(false) =>
                {
                    Err(not_running)
                }
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(_) => self.end_process(id).await,
            }
        })
    }

    fn status<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Option<State>> {
        Box::pin(async move {
            let mut client = self.find(id).await.ok()?;
            loop {
                if let FromWorker::State(state) = client.next().await? {
                    return Some(state);
                }
            }
        })
    }
}
