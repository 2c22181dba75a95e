//! Finding the worker of a thread, and starting one when there is none.
//!
//! A worker is this same program, started with its own session, without the terminal. It gets what is secret in the
//! environment as the first line of its input. It says on its standard output,
//! in one line, that it listens; everything else it has to say goes into `worker.log` in the thread's folder.

use super::client::{Client, ConnectError};
use super::host::socket_path;
use super::protocol::Command;
use crate::domain::{ContentHash, ThreadId};
use crate::store::Layout;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process;

/// How glibc keeps memory in a worker, unless somebody says otherwise: answers and requests of some megabytes go back to the
/// system when they are over, and threads share heaps. Without, what a long answer once took stays taken in each of them
/// (mallopt(3)); other systems do not read it.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "262144")];

/// A worker that has said nothing by then is given up.
const START_WITHIN: Duration = Duration::from_secs(15);

/// As often a worker is looked for that neither listens nor has ended.
const TRIES: u32 = 40;

/// How long after a try, counted from 0, the next one comes. A worker is about to listen, or it ends, for which its handlers
/// have [`LAST_WORDS`](crate::engine::driver::LAST_WORDS); all pauses together are longer.
fn pause(attempt: u32) -> Duration {
    Duration::from_millis(15) * (attempt + 1)
}

/// The line a worker begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstLine {
    /// It listens at this path.
    Ready(PathBuf),
    /// Another process runs the thread.
    Busy,
    Failed(String),
}

/// Why no worker runs the thread.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("a worker could not be started: {0}")]
    Start(#[from] std::io::Error),
    #[error("the worker did not start: {0}")]
    Failed(String),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("another screen runs this thread; approve its calls there")]
    Elsewhere,
}

/// Starts and finds workers.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program to start: this one.
    pub program: PathBuf,
    pub runtime: PathBuf,
    pub layout: Layout,
    /// Arguments for the worker besides project and thread.
    pub arguments: Vec<String>,
    /// The whole environment of the worker. Others can read it, so it holds no secret.
    pub environment: Vec<(OsString, OsString)>,
    /// What of the environment is secret: one line, which the worker finds on its input.
    pub secrets: SecretString,
    /// What the workers that were started from here were told, so that they can be talked to again.
    pub started: Started,
}

/// The workers that a process has started or is starting, by their threads.
#[derive(Clone, Debug, Default)]
pub struct Started(Arc<Mutex<HashMap<ThreadId, Start>>>);

/// What is known of one.
#[derive(Clone, Debug, Default)]
struct Start {
    secret: Option<SecretString>,
    process: Option<u32>,
    /// Held while it is looked for and started: whoever comes second finds it, and starts none that would find the thread
    /// taken.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Started {
    fn threads(&self) -> MutexGuard<'_, HashMap<ThreadId, Start>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn secret(&self, id: &ThreadId) -> Option<SecretString> {
        self.threads().get(id).and_then(|start| start.secret.clone())
    }

    /// What the worker that is this process was told.
    fn secret_of(&self, process: u32) -> Option<SecretString> {
        let started = |start: &&Start| start.process == Some(process);
        self.threads().values().find(started).and_then(|start| start.secret.clone())
    }

    fn turn(&self, id: &ThreadId) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.threads().entry(id.clone()).or_default().turn)
    }
}

/// Something nobody guesses.
fn secret() -> Result<SecretString, LaunchError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(ContentHash::of(&bytes).as_str().into())
}

impl Launcher {
    /// Connects to the worker of a thread, if one runs.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn find(&self, id: &ThreadId, from_offset: u64) -> Result<Client, ConnectError> {
        let client = Client::connect(&socket_path(&self.runtime, &self.layout, id)).await?;
        // A worker runs the children that its thread waits for too, and knows one secret. Which process listens is what the
        // system says, so nobody else is told it.
        let of_process = || client.process().and_then(|pid| self.started.secret_of(pid));
        let secret = self.started.secret(id).or_else(of_process);
        let mut client = client.with_secret(secret);
        client.greet(from_offset).await?;
        Ok(client)
    }

    /// Connects to the worker of a thread, starting one if none runs.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub async fn reach(&self, id: &ThreadId, from_offset: u64) -> Result<Client, LaunchError> {
        let turn = self.started.turn(id);
        let _turn = turn.lock().await;
        for attempt in 0..TRIES {
            match self.find(id, from_offset).await {
                Ok(client) => return Ok(client),
                Err(ConnectError::Refused(reason)) => return Err(LaunchError::Failed(reason)),
                // It may have been dying when it was connected to.
                Err(ConnectError::NotThere(_) | ConnectError::Ended) => {}
            }
            let secret = secret()?;
            let (first, process) = self.start(id, &secret).await?;
            match first {
                FirstLine::Ready(_) => {
                    let mut threads = self.started.threads();
                    let start = threads.entry(id.clone()).or_default();
                    (start.secret, start.process) = (Some(secret), process);
                }
                FirstLine::Busy => tokio::time::sleep(pause(attempt)).await,
                FirstLine::Failed(reason) => return Err(LaunchError::Failed(reason)),
            }
        }
        Err(LaunchError::Failed("another process holds the thread but does not listen".into()))
    }

    /// Has the thread run by a worker that this process starts, so that calls can be approved from here: the one that runs
    /// it now ends in order first. To be asked for only while the thread waits.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub async fn take_over(&self, from: &mut Client, id: &ThreadId, from_offset: u64) -> Result<Client, LaunchError> {
        const PATIENCE: Duration = Duration::from_secs(5);
        let ends = async {
            if from.sender().command(0, Command::Shutdown).await.is_ok() {
                while from.next().await.is_some() {}
            }
        };
        let _ended = tokio::time::timeout(PATIENCE, ends).await;
        let client = self.reach(id, from_offset).await?;
        if client.may_approve() { Ok(client) } else { Err(LaunchError::Elsewhere) }
    }

    /// What a new worker says first, and which process it is.
    async fn start(&self, id: &ThreadId, secret: &SecretString) -> Result<(FirstLine, Option<u32>), LaunchError> {
        let log = self.layout.thread(id).worker_log().open_append()?;
        let mut command = process::Command::new(&self.program);
        command
            .arg("worker")
            .arg("--project")
            .arg(self.layout.project())
            .arg("--thread")
            .arg(id.as_str())
            .args(&self.arguments)
            .env_clear()
            .envs(ALLOCATOR)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        // Whoever starts a process waits until it has begun, about a millisecond: not the loop of a screen.
        let spawned = tokio::task::spawn_blocking(move || command.spawn()).await;
        let mut child = spawned.map_err(|error| LaunchError::Failed(error.to_string()))??;
        let process = child.id();
        if let Some(mut input) = child.stdin.take() {
            // A worker that has ended already says why on its output.
            let lines = format!("{}\n{}\n", self.secrets.expose_secret(), secret.expose_secret());
            let _gone = input.write_all(lines.as_bytes()).await;
        }
        let Some(output) = child.stdout.take() else { return Err(LaunchError::Failed("no output".into())) };
        let mut line = String::new();
        let mut reader = BufReader::new(output);
        let first = tokio::time::timeout(START_WITHIN, reader.read_line(&mut line)).await;
        match first {
            Ok(Ok(_)) => {
                if let Ok(first) = serde_json::from_str(&line) {
                    Ok((first, process))
                } else {
                    let status = child.wait().await.map(|status| status.to_string()).unwrap_or_default();
                    let path = self.layout.thread(id).worker_log();
                    Err(LaunchError::Failed(format!("it ended with {status}; see {}", path.path().display())))
                }
            }
            Ok(Err(error)) => Err(LaunchError::Start(error)),
            Err(_) => Err(LaunchError::Failed(format!("no answer within {} s", START_WITHIN.as_secs()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::driver::LAST_WORDS;

    #[test]
    fn a_worker_has_the_time_to_end_that_its_handlers_have() {
        assert!((0..TRIES).map(pause).sum::<Duration>() > LAST_WORDS + Duration::from_secs(1));
    }
}
