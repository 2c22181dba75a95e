//! The screen's link to the worker of the thread it shows: one task that connects, passes on what the worker says, and
//! finds out what happened when it falls silent.

use crate::domain::ThreadId;
use crate::ports::{Clock, SystemClock};
use crate::store::{Layout, log, recover};
use crate::workbench::Message;
use crate::worker::client::{Client, Sender};
use crate::worker::host::REPLAY;
use crate::worker::launch::Launcher;
use crate::worker::protocol::{Command, FromWorker, ToWorker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// A link to one thread's worker.
#[derive(Debug)]
pub(super) struct Connection {
    thread_id: ThreadId,
    sender: watch::Receiver<Option<Sender>>,
    /// Takes an approval, and its number, that this side may only send to a worker of its own.
    approvals: mpsc::Sender<(u64, Command)>,
    may_approve: Arc<AtomicBool>,
    /// Where the log goes on behind what has been passed on.
    offset: Arc<AtomicU64>,
    task: JoinHandle<()>,
    /// Whether a command waits for the worker to come up.
    starts: bool,
    /// Whether this side says goodbye: then nobody asks why the worker falls silent.
    leaving: Arc<AtomicBool>,
}

/// How to come by a worker.
#[derive(Debug)]
pub(super) enum Reach {
    /// Only if one runs.
    Find,
    /// Starting one if need be: a call waits there for the person.
    Host,
    /// Starting one if need be, then sending these commands with their numbers. The workbench hears the answers.
    Start(Vec<(u64, Command)>),
}

impl Connection {
    /// Begins to connect. `from_offset` is where the log goes on that the screen has seen.
    pub(super) fn open(
        launcher: Launcher,
        thread_id: ThreadId,
        from_offset: u64,
        reach: Reach,
        messages: mpsc::Sender<Message>,
    ) -> Self {
        let (ready, sender) = watch::channel(None);
        let (id, offset) = (thread_id.clone(), Arc::new(AtomicU64::new(from_offset)));
        let (shared, starts) = (Arc::clone(&offset), !matches!(reach, Reach::Find));
        let leaving = Arc::new(AtomicBool::new(false));
        let left = Arc::clone(&leaving);
        let (approvals, asked) = mpsc::channel(4);
        let may_approve = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&may_approve);
        let task = tokio::spawn(async move {
            let link = Link { launcher, thread_id: id, messages, offset: shared, leaving: left, may_approve: own };
            link.run(reach, ready, asked).await;
        });
        Self { thread_id, sender, approvals, may_approve, offset, task, starts, leaving }
    }

    /// Where to put an approval that the worker would not take from this side; `None` where it takes it.
    pub(super) fn approvals(&self) -> Option<mpsc::Sender<(u64, Command)>> {
        (!self.may_approve.load(Ordering::Relaxed)).then(|| self.approvals.clone())
    }

    /// Where the log of `thread_id` goes on behind what the screen has of it, if this link is to that thread.
    pub(super) fn offset(&self, thread_id: &ThreadId) -> Option<u64> {
        (self.thread_id == *thread_id).then(|| self.offset.load(Ordering::Relaxed))
    }

    /// The way to talk to the worker, once connected.
    pub(super) fn sender(&self) -> Option<Sender> {
        self.sender.borrow().clone()
    }

    /// Whether nothing more will come from here.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Leaves in order: the worker hears that nobody looks any more. A prompt that is on its way to a worker that is
    /// being started still arrives.
    pub(super) async fn leave(mut self) {
        const STARTING: Duration = Duration::from_secs(5);
        const PATIENCE: Duration = Duration::from_millis(200);
        if !self.is_over() {
            // A worker that is just being connected to would take this side for lost.
            let patience = if self.starts { STARTING } else { PATIENCE };
            let connected = self.sender.wait_for(Option::is_some);
            let _gave_up = tokio::time::timeout(patience, connected).await.map(|ready| ready.map(drop));
        }
        let Some(sender) = self.sender() else {
            self.task.abort();
            return;
        };
        self.leaving.store(true, Ordering::Relaxed);
        let goodbye = async {
            if sender.send(ToWorker::Goodbye).await.is_ok() {
                // The worker closes the connection when it has heard.
                let _either_way = (&mut self.task).await;
            }
        };
        let _gave_up = tokio::time::timeout(PATIENCE, goodbye).await;
    }
}

struct Link {
    launcher: Launcher,
    thread_id: ThreadId,
    messages: mpsc::Sender<Message>,
    offset: Arc<AtomicU64>,
    leaving: Arc<AtomicBool>,
    may_approve: Arc<AtomicBool>,
}

/// Why no more is passed on.
enum Passed {
    /// The worker is gone; whether it had said goodbye.
    Ended { expected: bool },
    /// An approval is to go to a worker of this side's own.
    Approve(u64, Command),
}

impl Link {
    async fn run(self, reach: Reach, ready: watch::Sender<Option<Sender>>, mut asked: mpsc::Receiver<(u64, Command)>) {
        let mut client = match self.connect(&reach).await {
            Ok(Some(client)) => client,
            Ok(None) => {
                self.tell(Message::Alone { thread_id: self.thread_id.clone() }).await;
                return;
            }
            Err(detail) => {
                self.disconnected(false, detail).await;
                return;
            }
        };
        let mut sender = client.sender();
        self.may_approve.store(client.may_approve(), Ordering::Relaxed);
        // The commands go first: whoever may talk from here on may also say goodbye.
        if let Reach::Start(commands) = reach {
            for (id, command) in commands {
                if sender.command(id, command).await.is_err() {
                    tracing::debug!("the worker was gone before the first command");
                }
            }
        }
        ready.send_replace(Some(sender.clone()));
        self.tell(Message::Connected { thread_id: self.thread_id.clone() }).await;
        let expected = loop {
            match self.pass_on(&mut client, &mut asked).await {
                Passed::Ended { expected } => break expected || self.leaving.load(Ordering::Relaxed),
                Passed::Approve(id, command) => {
                    let offset = self.offset.load(Ordering::Relaxed);
                    match self.launcher.take_over(&mut client, &self.thread_id, offset).await {
                        Ok(own) => client = own,
                        Err(error) => {
                            ready.send_replace(None);
                            self.disconnected(false, error.to_string()).await;
                            return;
                        }
                    }
                    sender = client.sender();
                    self.may_approve.store(true, Ordering::Relaxed);
                    ready.send_replace(Some(sender.clone()));
                    let _gone = sender.command(id, command).await;
                }
            }
        };
        ready.send_replace(None);
        if !expected {
            self.find_out().await;
        }
        self.disconnected(expected, String::new()).await;
    }

    async fn connect(&self, reach: &Reach) -> Result<Option<Client>, String> {
        match reach {
            Reach::Find => Ok(self.launcher.find(&self.thread_id, self.offset.load(Ordering::Relaxed)).await.ok()),
            Reach::Host | Reach::Start(..) => {
                let client = self.launcher.reach(&self.thread_id, self.offset.load(Ordering::Relaxed)).await;
                client.map(Some).map_err(|error| error.to_string())
            }
        }
    }

    /// Passes messages on until the worker is gone, or has to make room for one of this side's own.
    async fn pass_on(&self, client: &mut Client, asked: &mut mpsc::Receiver<(u64, Command)>) -> Passed {
        loop {
            let message = tokio::select! {
                message = client.next() => match message {
                    Some(message) => message,
                    None => return Passed::Ended { expected: false },
                },
                Some((id, command)) = asked.recv() => return Passed::Approve(id, command),
            };
            match &message {
                FromWorker::Event { next_offset, .. } => {
                    self.offset.store(*next_offset, Ordering::Relaxed);
                }
                // Its process may run other threads and go on.
                FromWorker::Bye { .. } => return Passed::Ended { expected: true },
                FromWorker::Hello { .. }
                | FromWorker::Lagged { .. }
                | FromWorker::Refused { .. }
                | FromWorker::Ack { .. }
                | FromWorker::Error { .. }
                | FromWorker::Delta { .. }
                | FromWorker::Inflight { .. }
                | FromWorker::ToolOutput { .. }
                | FromWorker::ToolOutputSoFar { .. }
                | FromWorker::Preview { .. }
                | FromWorker::Drawn { .. }
                | FromWorker::Suggested { .. }
                | FromWorker::Typed { .. }
                | FromWorker::State(_) => {}
            }
            self.tell(Message::Worker(self.thread_id.clone(), message)).await;
        }
    }

    /// Mends what a dead worker left behind and passes on what the log then says.
    async fn find_out(&self) {
        const TRIES: u32 = 20;
        let (layout, id) = (self.launcher.layout.clone(), self.thread_id.clone());
        for _ in 0..TRIES {
            let (layout, id) = (layout.clone(), id.clone());
            let reaped = tokio::task::spawn_blocking(move || {
                // The lock of a dying process is let go a moment after its socket.
                let held = recover::is_held(&layout, &id)?;
                if !held {
                    recover::reap_thread(&layout, &id, SystemClock.now(), REPLAY)?;
                }
                Ok::<_, crate::ports::StoreError>(!held)
            });
            match reaped.await {
                Ok(Ok(false)) => tokio::time::sleep(Duration::from_millis(10)).await,
                Ok(Ok(true)) => break,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "a dead worker's thread could not be mended");
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, "mending a dead worker's thread");
                    break;
                }
            }
        }
        self.read_on(&layout).await;
    }

    async fn read_on(&self, layout: &Layout) {
        let (layout, id, from) = (layout.clone(), self.thread_id.clone(), self.offset.load(Ordering::Relaxed));
        let read = move || layout.log(&id).and_then(|own| log::read_forward(&own, from, 8 << 20));
        let Ok(Ok(page)) = tokio::task::spawn_blocking(read).await else {
            return;
        };
        self.offset.store(page.end, Ordering::Relaxed);
        for line in page.lines {
            if let Some(record) = line.record {
                let (offset, next_offset) = (line.offset, line.next_offset);
                let event = FromWorker::Event { offset, next_offset, record };
                self.tell(Message::Worker(self.thread_id.clone(), event)).await;
            }
        }
    }

    async fn disconnected(&self, expected: bool, detail: String) {
        self.tell(Message::Disconnected { thread_id: self.thread_id.clone(), expected, detail }).await;
    }

    async fn tell(&self, message: Message) {
        // Without a listener the program is ending.
        let _ending = self.messages.send(message).await;
    }
}
