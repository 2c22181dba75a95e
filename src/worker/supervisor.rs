//! The threads of this process: who hosts them, asks them to end, and sees that nothing of one that has ended stays.
//!
//! A thread that fails (a fault of this program in the middle of it) ends alone: its lock is free, its socket gone, and its
//! log says what happened. The others go on.

use super::client::Client;
use super::host::{self, HostError, Hosted, Hosting, REPLAY};
use super::server::Hub;
use crate::domain::event::{CancelScope, EndReason};
use crate::domain::{Command, State, ThreadId};
use crate::engine::driver::{Ended, Handle};
use crate::ports::executor::{Executor, ExecutorError, ThreadSpec};
use crate::ports::tools::Waiting;
use crate::ports::{Clock, SystemClock};
use crate::store::summary::{Specification, Summary};
use crate::store::{Layout, Summaries, recover};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Puts together what a thread needs to be run here.
pub trait ThreadFactory: Send + Sync {
    /// What the thread `id`, which begins like this, is hosted with by `supervisor`.
    ///
    /// # Errors
    /// A sentence for people.
    fn hosting(
        self: Arc<Self>,
        id: &ThreadId,
        begun: Specification,
        supervisor: &Supervisor,
    ) -> Result<Hosting, String>;
}

/// Owns the threads of this process.
#[derive(Clone)]
pub struct Supervisor {
    shared: Arc<Shared>,
}

struct Shared {
    layout: Layout,
    factory: Arc<dyn ThreadFactory>,
    summaries: Summaries,
    threads: Mutex<BTreeMap<ThreadId, Running>>,
    /// Whether the process is about to end: nothing begins any more.
    leaves: AtomicBool,
}

/// A thread that this process runs.
#[derive(Clone, Debug)]
pub struct Running {
    hub: Hub,
    handle: Handle,
    socket: PathBuf,
    ended: watch::Receiver<Option<Outcome>>,
}

/// How a thread of this process came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ended(Ended),
    /// A fault of this program.
    Failed(String),
}

impl Running {
    /// Where clients connect.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// A client in this process.
    #[must_use]
    pub fn client(&self) -> Client {
        self.hub.connect(self.handle.clone())
    }

    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// How the thread stands.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.hub.state().borrow().clone()
    }

    /// How the thread stands, and each change of that.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<Option<State>> {
        self.hub.state()
    }

    /// Waits until nothing of the thread runs in this process any more.
    pub async fn ended(&self) -> Outcome {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.map(|outcome| outcome.clone()) {
            Ok(Some(outcome)) => outcome,
            Ok(None) | Err(_) => Outcome::Failed("the task that hosted the thread is gone".to_owned()),
        }
    }
}

impl Supervisor {
    /// Of a process for threads of the project that `layout` is of.
    #[must_use]
    pub fn new(layout: Layout, factory: Arc<dyn ThreadFactory>) -> Self {
        let (summaries, threads, leaves) = (Summaries::start(&layout), Mutex::default(), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { layout, factory, summaries, threads, leaves }) }
    }

    fn threads(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Running>> {
        self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The threads that run here.
    #[must_use]
    pub fn running(&self) -> Vec<ThreadId> {
        self.threads().keys().cloned().collect()
    }

    /// The thread `id`, if it runs here.
    #[must_use]
    pub fn get(&self, id: &ThreadId) -> Option<Running> {
        self.threads().get(id).cloned()
    }

    /// Runs the thread `id`, which was made before.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn open(&self, id: &ThreadId) -> Result<Running, HostError> {
        let (supervisor, thread) = (self.clone(), id.clone());
        let make = move || {
            let shared = &supervisor.shared;
            let begun = crate::store::summary::specification(&shared.layout, &thread)?;
            Arc::clone(&shared.factory).hosting(&thread, begun, &supervisor).map_err(HostError::Unmade)
        };
        self.host(tokio::task::spawn_blocking(make).await??).await
    }

    /// Runs a thread for which everything is there.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn host(&self, hosting: Hosting) -> Result<Running, HostError> {
        let id = hosting.thread_id.clone();
        let mut hosted: Hosted = host::host(hosting, &self.shared.summaries).await?;
        let (over, ended) = watch::channel(None);
        let (hub, handle, socket) = (hosted.hub(), hosted.handle(), hosted.socket().to_owned());
        let running = Running { hub, handle, socket, ended };
        self.threads().insert(id.clone(), running.clone());
        let supervisor = self.clone();
        drop(tokio::spawn(async move {
            let ended = hosted.over().await;
            if let Ok(Ended::HandedOff(next)) = &ended {
                // Before anybody knows that this thread has ended: who follows finds the other one.
                supervisor.clone().continue_in(next.clone()).await;
            }
            hosted.close(&ended).await;
            let outcome = match ended {
                Ok(ended) => Outcome::Ended(ended),
                Err(error) => {
                    tracing::error!(thread = %id, %error, "a thread failed");
                    supervisor.mend(id.clone()).await;
                    Outcome::Failed(error.to_string())
                }
            };
            supervisor.threads().remove(&id);
            over.send_replace(Some(outcome));
        }));
        Ok(running)
    }

    /// Runs the thread that one of this process handed its work to. Where that fails it stays as it is, and can be resumed.
    fn continue_in(self, next: ThreadId) -> Waiting<'static, ()> {
        Box::pin(async move {
            if self.shared.leaves.load(Ordering::Relaxed) {
                return;
            }
            match self.open(&next).await {
                // In a conversation nothing may wait for it.
                Ok(running) => drop(running.handle.ask(Command::Release).await),
                Err(error) => tracing::error!(thread = %next, %error, "the thread that continues could not be run"),
            }
        })
    }

    /// Says in the log of a thread whose driver failed that it did.
    async fn mend(&self, id: ThreadId) {
        let layout = self.shared.layout.clone();
        let mend = move || recover::mend(&layout, &id, SystemClock.now(), REPLAY);
        if let Err(error) = tokio::task::spawn_blocking(mend).await {
            tracing::error!(%error, "could not be mended");
        }
    }

    /// Asks all threads to end in order, and waits until they have.
    pub async fn leave(&self, reason: EndReason) {
        self.shared.leaves.store(true, Ordering::Relaxed);
        let all: Vec<Running> = self.threads().values().cloned().collect();
        futures_util::future::join_all(all.iter().map(|running| running.handle.leave(reason))).await;
        self.finished().await;
    }

    /// Waits until no thread runs here.
    pub async fn finished(&self) {
        loop {
            let Some(running) = self.threads().values().next().cloned() else { return };
            let _outcome = running.ended().await;
        }
    }

    async fn stop(&self, id: &ThreadId, scope: CancelScope) -> Result<Running, ExecutorError> {
        let running = self.get(id).ok_or_else(|| ExecutorError::NotRunning(id.clone()))?;
        running.handle.ask(Command::Cancel { scope }).await.map_err(ExecutorError::Failed)?;
        Ok(running)
    }
}

impl Executor for Supervisor {
    fn spawn(&self, spec: ThreadSpec, first: Command) -> Waiting<'_, Result<ThreadId, ExecutorError>> {
        Box::pin(async move {
            let failed = |error: &dyn std::fmt::Display| ExecutorError::Failed(error.to_string());
            let layout = self.shared.layout.clone();
            let make = tokio::task::spawn_blocking(move || Summary::make(&layout, spec, SystemClock.now()));
            let summary = make.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
            let running = self.open(&summary.thread_id).await.map_err(|error| failed(&error))?;
            running.handle.ask(first).await.map_err(ExecutorError::Failed)?;
            Ok(summary.thread_id)
        })
    }

    fn cancel<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Result<(), ExecutorError>> {
        Box::pin(async move { self.stop(id, CancelScope::Thread).await.map(drop) })
    }

    fn kill<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Result<(), ExecutorError>> {
        Box::pin(async move {
            let running = self.stop(id, CancelScope::Kill).await?;
            let _outcome = running.ended().await;
            Ok(())
        })
    }

    fn status<'a>(&'a self, id: &'a ThreadId) -> Waiting<'a, Option<State>> {
        Box::pin(std::future::ready(self.get(id).and_then(|running| running.state())))
    }
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Supervisor").field("running", &self.running()).finish_non_exhaustive()
    }
}
