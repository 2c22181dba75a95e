//! What sending a draft would send, as the thread's worker tells it: one task that keeps the connection to the worker that
//! was asked last.
//!
//! Nothing is put together on this side, so what is looked at and what is sent cannot differ. A draft that is no thread yet
//! gets one with its worker, as its first prompt would; where nothing is sent, both are gone when nobody looks any more.

use crate::domain::{Draft, Lineage, ModelRef, Preview, SetLimits, ThreadId, ThreadKind, ThreadOrigin, Values};
use crate::ports::{Clock, SystemClock, ThreadSpec};
use crate::store::Layout;
use crate::store::summary::Summary;
use crate::worker::client::Client;
use crate::worker::launch::Launcher;
use crate::worker::protocol::{FromWorker, ToWorker};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// What a new thread would be of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NewThread {
    pub(super) directive: String,
    pub(super) model: ModelRef,
    pub(super) inputs: Values,
}

impl NewThread {
    /// Makes it: a folder and a small file, which is quick.
    ///
    /// # Errors
    /// The sentence a person should read.
    pub(super) fn make(self, layout: &Layout, id: Option<ThreadId>) -> Result<ThreadId, String> {
        let spec = ThreadSpec {
            id,
            directive: self.directive,
            inputs: self.inputs,
            model: self.model,
            kind: ThreadKind::Interactive,
            limits: SetLimits::default(),
            lineage: Lineage::of(ThreadOrigin::Screen),
            ceilings: Vec::new(),
        };
        let made = Summary::make(layout, spec, SystemClock.now());
        made.map(|summary| summary.thread_id).map_err(|error| error.to_string())
    }
}

/// A question, and where its answer goes.
type Ask = (ThreadId, Draft, oneshot::Sender<Result<Box<Preview>, String>>);

/// See the module.
#[derive(Debug)]
pub(super) struct Previewer {
    asks: mpsc::Sender<Ask>,
    task: JoinHandle<()>,
    /// The thread of the draft on the screen, which nothing was said in so far.
    unsent: Option<(NewThread, ThreadId)>,
}

impl Previewer {
    pub(super) fn start(launcher: Launcher) -> Self {
        let (asks, asked) = mpsc::channel(8);
        Self { asks, task: tokio::spawn(answer(launcher, asked)), unsent: None }
    }

    /// The thread that a draft for `new` is looked at in.
    ///
    /// # Errors
    /// The sentence a person should read.
    pub(super) fn thread(&mut self, layout: &Layout, new: NewThread) -> Result<ThreadId, String> {
        if let Some((of, id)) = &self.unsent
            && *of == new
            && layout.thread(id).path().exists()
        {
            return Ok(id.clone());
        }
        let id = new.clone().make(layout, None)?;
        self.unsent = Some((new, id.clone()));
        Ok(id)
    }

    /// The same, for the prompt that is sent now: it is that thread's first, and the next draft has another.
    ///
    /// # Errors
    /// The sentence a person should read.
    pub(super) fn take(&mut self, layout: &Layout, new: NewThread, id: Option<ThreadId>) -> Result<ThreadId, String> {
        match self.unsent.take() {
            Some((of, own)) if of == new && layout.thread(&own).path().exists() => Ok(own),
            Some(_) | None => new.make(layout, id),
        }
    }

    /// Asks what sending `draft` in `thread_id` would send. A worker is started if need be.
    pub(super) fn ask(
        &self,
        thread_id: ThreadId,
        draft: Draft,
    ) -> impl Future<Output = Result<Box<Preview>, String>> + use<> {
        let (asks, (reply, answer)) = (self.asks.clone(), oneshot::channel());
        async move {
            let gone = || "another request was asked for".to_owned();
            asks.send((thread_id, draft, reply)).await.map_err(|_ending| gone())?;
            answer.await.map_err(|_given_up| gone())?
        }
    }

    /// Lets go of the worker, which ends where nothing was said to it.
    pub(super) async fn leave(self) {
        const PATIENCE: Duration = Duration::from_millis(200);
        drop(self.asks);
        let _gave_up = tokio::time::timeout(PATIENCE, self.task).await;
    }
}

/// A connection to the worker of a thread.
struct Link {
    thread_id: ThreadId,
    client: Client,
}

impl Link {
    async fn leave(mut self) {
        if self.client.sender().send(ToWorker::Goodbye).await.is_ok() {
            // The worker closes the connection when it has heard.
            while self.client.next().await.is_some() {}
        }
    }
}

async fn heard(link: &mut Option<Link>) -> Option<FromWorker> {
    match link {
        Some(link) => link.client.next().await,
        None => std::future::pending().await,
    }
}

/// Answers until nobody can ask any more.
async fn answer(launcher: Launcher, mut asks: mpsc::Receiver<Ask>) {
    let (mut link, mut number): (Option<Link>, u64) = (None, 0);
    // Whoever asked before the newest is given up by dropping where the answer would go.
    let mut waiting = None;
    loop {
        tokio::select! {
            ask = asks.recv() => {
                let Some((thread_id, draft, reply)) = ask else { break };
                waiting = None;
                if let Some(other) = link.take_if(|link| link.thread_id != thread_id) {
                    drop(tokio::spawn(other.leave()));
                }
                let sender = match &link {
                    Some(link) => link.client.sender(),
                    // No events are wanted, so none from the log's end on.
                    None => match launcher.reach(&thread_id, u64::MAX).await {
                        Ok(client) => link.insert(Link { thread_id, client }).client.sender(),
                        Err(error) => {
                            let _gone = reply.send(Err(error.to_string()));
                            continue;
                        }
                    },
                };
                number += 1;
                if sender.send(ToWorker::Preview { id: number, draft }).await.is_ok() {
                    waiting = Some(reply);
                }
            }
            message = heard(&mut link) => match message {
                Some(FromWorker::Preview { id, preview }) if id == number => {
                    let _gone = waiting.take().map(|reply: oneshot::Sender<_>| reply.send(Ok(preview)));
                }
                Some(FromWorker::Error { id, message }) if id == number => {
                    let _gone = waiting.take().map(|reply| reply.send(Err(message)));
                }
                Some(_) => {}
                None => {
                    link = None;
                    let why = "the thread's worker ended before it told what would be sent".to_owned();
                    let _gone = waiting.take().map(|reply| reply.send(Err(why)));
                }
            },
        }
    }
    if let Some(link) = link {
        link.leave().await;
    }
}
