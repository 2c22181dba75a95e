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
use std::sync::{Arc, OnceLock};
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
    /// Makes it: a folder and a small file that is on the disk afterwards, for which a busy disk takes its time.
    ///
    /// # Errors
    /// The sentence a person should read.
    fn make(&self, layout: &Layout, id: Option<ThreadId>) -> Result<ThreadId, String> {
        let Self { directive, model, inputs } = self.clone();
        let spec = ThreadSpec {
            id,
            directive,
            inputs,
            model,
            kind: ThreadKind::Interactive,
            limits: SetLimits::default(),
            lineage: Lineage::of(ThreadOrigin::Screen),
            ceilings: Vec::new(),
        };
        let made = Summary::make(layout, spec, SystemClock.now());
        made.map(|summary| summary.thread_id).map_err(|error| error.to_string())
    }
}

/// What sending would send, and in which thread; else the sentence a person should read.
type Answer = Result<(ThreadId, Box<Preview>), String>;

/// A question, and where its answer goes.
type Ask = (Whose, Draft, oneshot::Sender<Answer>);

/// The thread of a draft, which nothing was said in so far. Whoever needs it first makes it, and others wait for that.
#[derive(Clone, Debug)]
struct Unsent {
    new: NewThread,
    made: Arc<OnceLock<Result<ThreadId, String>>>,
}

impl Unsent {
    fn of(new: NewThread) -> Self {
        Self { new, made: Arc::default() }
    }

    /// Whether a draft for `new` can have it: it is to be made, or there still.
    fn fits(&self, new: &NewThread, layout: &Layout) -> bool {
        self.new == *new
            && self.made.get().is_none_or(|made| made.as_ref().is_ok_and(|id| layout.thread(id).path().exists()))
    }

    fn make(self, layout: &Layout, id: Option<ThreadId>) -> Result<ThreadId, String> {
        self.made.get_or_init(|| self.new.make(layout, id)).clone()
    }
}

/// Whose coming request is looked at.
enum Whose {
    Thread(ThreadId),
    Draft(Unsent),
}

impl Whose {
    /// The thread. A draft's is made off the loop, since a busy disk takes its time.
    async fn thread(self, layout: &Layout) -> Result<ThreadId, String> {
        match self {
            Self::Thread(thread_id) => Ok(thread_id),
            Self::Draft(unsent) => {
                let layout = layout.clone();
                let made = tokio::task::spawn_blocking(move || unsent.make(&layout, None)).await;
                made.map_err(|error| error.to_string())?
            }
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Previewer {
    layout: Layout,
    asks: mpsc::Sender<Ask>,
    task: JoinHandle<()>,
    /// Of the draft on the screen.
    unsent: Option<Unsent>,
}

impl Previewer {
    pub(super) fn start(launcher: Launcher) -> Self {
        let (asks, asked) = mpsc::channel(8);
        let layout = launcher.layout.clone();
        Self { layout, asks, task: tokio::spawn(answer(launcher, asked)), unsent: None }
    }

    /// The thread of the prompt that is sent now: the one that its draft was looked at in, else a new one, with `id` if
    /// that is free. The next draft has another.
    ///
    /// # Errors
    /// The sentence a person should read.
    pub(super) fn take(&mut self, new: NewThread, id: Option<ThreadId>) -> Result<ThreadId, String> {
        self.unsent(new).make(&self.layout, id)
    }

    /// Takes out the thread of a draft for `new`.
    fn unsent(&mut self, new: NewThread) -> Unsent {
        let own = self.unsent.take().filter(|unsent| unsent.fits(&new, &self.layout));
        own.unwrap_or_else(|| Unsent::of(new))
    }

    /// Asks what sending `draft` would send in `thread`, or in the one that is made for a draft for `new`. A worker is
    /// started if need be.
    pub(super) fn ask(
        &mut self,
        thread: Option<ThreadId>,
        new: NewThread,
        draft: Draft,
    ) -> impl Future<Output = Answer> + use<> {
        let (asks, (reply, answer)) = (self.asks.clone(), oneshot::channel());
        let whose = if let Some(thread_id) = thread {
            Whose::Thread(thread_id)
        } else {
            let unsent = self.unsent(new);
            Whose::Draft(self.unsent.insert(unsent).clone())
        };
        async move {
            let gone = || "another request was asked for".to_owned();
            asks.send((whose, draft, reply)).await.map_err(|_ending| gone())?;
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
                let Some((whose, draft, reply)) = ask else { break };
                waiting = None;
                let thread_id = match whose.thread(&launcher.layout).await {
                    Ok(thread_id) => thread_id,
                    Err(why) => {
                        let _gone = reply.send(Err(why));
                        continue;
                    }
                };
                if let Some(other) = link.take_if(|link| link.thread_id != thread_id) {
                    drop(tokio::spawn(other.leave()));
                }
                let sender = match &link {
                    Some(link) => link.client.sender(),
                    // No events are wanted, so none from the log's end on.
                    None => match launcher.reach(&thread_id, u64::MAX).await {
                        Ok(client) => link.insert(Link { thread_id: thread_id.clone(), client }).client.sender(),
                        Err(error) => {
                            let _gone = reply.send(Err(error.to_string()));
                            continue;
                        }
                    },
                };
                number += 1;
                if sender.send(ToWorker::Preview { id: number, draft }).await.is_ok() {
                    waiting = Some((thread_id, reply));
                }
            }
            message = heard(&mut link) => match message {
                Some(FromWorker::Preview { id, preview }) if id == number => {
                    let told = waiting.take();
                    let _gone = told.map(|(of, reply): (_, oneshot::Sender<Answer>)| reply.send(Ok((of, preview))));
                }
                Some(FromWorker::Error { id, message }) if id == number => {
                    let _gone = waiting.take().map(|(_, reply)| reply.send(Err(message)));
                }
                Some(_) => {}
                None => {
                    link = None;
                    let why = "the thread's worker ended before it told what would be sent".to_owned();
                    let _gone = waiting.take().map(|(_, reply)| reply.send(Err(why)));
                }
            },
        }
    }
    if let Some(link) = link {
        link.leave().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Draft;
    use std::path::{Path, PathBuf};

    fn launcher(folder: &Path) -> Launcher {
        Launcher {
            program: PathBuf::from("/there/is/no/such/program"),
            runtime: folder.join("run"),
            layout: Layout::new(&folder.join("project"), &folder.join("state")),
            arguments: Vec::new(),
            environment: Vec::new(),
            secrets: String::new().into(),
            started: crate::worker::launch::Started::default(),
        }
    }

    fn new(directive: &str) -> NewThread {
        let model = ModelRef::new("scripted", "demo");
        NewThread { directive: directive.to_owned(), model, inputs: Values::default() }
    }

    fn made(folder: &Path) -> usize {
        std::fs::read_dir(folder.join("project/.ai/agent/threads")).map_or(0, Iterator::count)
    }

    #[tokio::test]
    async fn a_draft_gets_its_thread_off_the_loop_and_no_more_than_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let mut previewer = Previewer::start(launcher(folder.path()));
        let asks = [(); 2].map(|()| previewer.ask(None, new("a"), Draft::default()));
        assert_eq!(made(folder.path()), 0, "asking waits for no disk");
        for ask in asks {
            ask.await.unwrap_err();
        }
        assert_eq!(made(folder.path()), 1);
        let sent = previewer.take(new("a"), None).unwrap();
        assert_eq!(made(folder.path()), 1, "what was looked at is what is sent");

        // Sent before anybody looked: who asked meanwhile is told of the thread that was sent.
        let asked = previewer.ask(None, new("a"), Draft::default());
        let next = previewer.take(new("a"), None).unwrap();
        assert_ne!(next, sent);
        asked.await.unwrap_err();
        assert_eq!(made(folder.path()), 2);

        previewer.ask(None, new("b"), Draft::default()).await.unwrap_err();
        previewer.take(new("a"), None).unwrap();
        assert_eq!(made(folder.path()), 4, "a draft for something else was looked at in another thread");
        previewer.leave().await;
    }
}
