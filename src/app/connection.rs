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
    /// Where the log goes on behind what has been passed on.
    offset: Arc<AtomicU64>,
    task: JoinHandle<()>,
    /// Whether a command waits for the worker to come up.
    starts: bool,
    /// Whether this side says goodbye: then nobody asks why the worker falls silent.
    leaving: Arc<AtomicBool>,
}

/// Number of the command for which a worker is reached; the performer counts its own from 1.
const FIRST: u64 = 0;

/// How to come by a worker.
#[derive(Debug)]
pub(super) enum Reach {
    /// Only if one runs.
    Find,
    /// Starting one if need be, then sending this command. The workbench hears the answer.
    Start(Command),
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
        let task = tokio::spawn(async move {
            let link = Link { launcher, thread_id: id, messages, offset: shared, leaving: left };
            link.run(reach, ready).await;
        });
        Self { thread_id, sender, offset, task, starts, leaving }
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
        if self.starts && !self.is_over() {
            let connected = self.sender.wait_for(Option::is_some);
            let _gave_up = tokio::time::timeout(STARTING, connected).await.map(|ready| ready.map(drop));
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
}

impl Link {
    async fn run(self, reach: Reach, ready: watch::Sender<Option<Sender>>) {
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
        let sender = client.sender();
        // The command goes first: whoever may talk from here on may also say goodbye.
        if let Reach::Start(command) = reach
            && sender.command(FIRST, command).await.is_err()
        {
            tracing::debug!("the worker was gone before the first command");
        }
        ready.send_replace(Some(sender));
        self.tell(Message::Connected { thread_id: self.thread_id.clone() }).await;
        let expected = self.pass_on(&mut client).await || self.leaving.load(Ordering::Relaxed);
        ready.send_replace(None);
        if !expected {
            self.find_out().await;
        }
        self.disconnected(expected, String::new()).await;
    }

    async fn connect(&self, reach: &Reach) -> Result<Option<Client>, String> {
        match reach {
            Reach::Find => Ok(self.launcher.find(&self.thread_id, self.offset.load(Ordering::Relaxed)).await.ok()),
            Reach::Start(_) => {
                let client = self.launcher.reach(&self.thread_id, self.offset.load(Ordering::Relaxed)).await;
                client.map(Some).map_err(|error| error.to_string())
            }
        }
    }

    /// Passes messages on until the worker is gone; returns whether it had said goodbye.
    async fn pass_on(&self, client: &mut Client) -> bool {
        let mut expected = false;
        while let Some(message) = client.next().await {
            match &message {
                FromWorker::Event { next_offset, .. } => {
                    self.offset.store(*next_offset, Ordering::Relaxed);
                }
                FromWorker::Bye { .. } => expected = true,
                FromWorker::Hello { .. }
                | FromWorker::Lagged { .. }
                | FromWorker::Refused { .. }
                | FromWorker::Ack { .. }
                | FromWorker::Error { .. }
                | FromWorker::Delta { .. }
                | FromWorker::Inflight { .. }
                | FromWorker::ToolOutput { .. }
                | FromWorker::ToolOutputSoFar { .. }
                | FromWorker::State(_) => {}
            }
            self.tell(Message::Worker(self.thread_id.clone(), message)).await;
        }
        expected
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
