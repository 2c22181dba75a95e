//! What lies beside the logs and follows from them: each thread's `thread.json`, and its row in the registry.
//!
//! Both are written on one thread of its own for the whole process, so that neither a busy database nor a slow disk holds up
//! a turn, and many threads share one connection. Of what waits only the newest of each thread is written. Both can be made
//! again from the logs, so a failure is logged.

use super::layout::Layout;
use super::registry::Registry;
use super::summary::Summary;
use crate::domain::ThreadId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Changes of a summary within this time are written together.
const TOGETHER: Duration = Duration::from_millis(100);

/// A process that runs a thread, and its socket.
pub(super) type Process = Option<(u32, String)>;

enum Message {
    Put(Box<Summary>, Process),
    /// Answered once everything before it is written.
    Finish(mpsc::Sender<()>),
}

/// Writes the summaries of a process's threads, all of one project. Clones write through the same connection; the last one
/// that is dropped waits until everything is written.
#[derive(Clone, Debug)]
pub struct Summaries(Arc<Writer>);

#[derive(Debug)]
struct Writer {
    sender: Mutex<Option<mpsc::Sender<Message>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Summaries {
    /// For the threads of the project that `layout` is of.
    #[must_use]
    pub fn start(layout: &Layout) -> Self {
        let (sender, receiver) = mpsc::channel();
        let layout = layout.clone();
        let write = move || write_all(&layout, &receiver);
        let thread = std::thread::Builder::new().name("summaries".into()).spawn(write).ok();
        Self(Arc::new(Writer { sender: Mutex::new(Some(sender)), thread: Mutex::new(thread) }))
    }

    fn send(&self, message: Message) {
        let sender = self.0.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = sender.as_ref() {
            let _writer_gone = sender.send(message);
        }
    }

    /// Has it written soon.
    pub(super) fn put(&self, summary: &Summary, process: Process) {
        self.send(Message::Put(Box::new(summary.clone()), process));
    }

    /// Waits until all that was put is written.
    pub(super) fn finish(&self) {
        let (done, written) = mpsc::channel();
        self.send(Message::Finish(done));
        let _writer_gone = written.recv();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.sender.get_mut().map(Option::take));
        if let Ok(Some(thread)) = self.thread.get_mut().map(Option::take) {
            let _panicked = thread.join();
        }
    }
}

fn write_all(layout: &Layout, receiver: &mpsc::Receiver<Message>) {
    let mut registry = None;
    let mut waiting: HashMap<ThreadId, (Box<Summary>, Process)> = HashMap::new();
    let mut finished = Vec::new();
    let take = |message, waiting: &mut HashMap<_, _>, finished: &mut Vec<_>| match message {
        Message::Put(summary, process) => {
            waiting.insert(summary.thread_id.clone(), (summary, process));
        }
        Message::Finish(done) => finished.push(done),
    };
    while let Ok(first) = receiver.recv() {
        take(first, &mut waiting, &mut finished);
        // A turn changes it several times, and has better use for the disk meanwhile.
        let until = Instant::now() + TOGETHER;
        while finished.is_empty()
            && let Ok(next) = receiver.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            take(next, &mut waiting, &mut finished);
        }
        for (_, (summary, process)) in waiting.drain() {
            write(layout, &mut registry, &summary, process);
        }
        for done in finished.drain(..) {
            let _nobody_waits = done.send(());
        }
    }
}

fn write(layout: &Layout, registry: &mut Option<Registry>, summary: &Summary, process: Process) {
    if let Err(error) = summary.write(layout) {
        tracing::error!(%error, "the summary of the thread");
    }
    if registry.is_none() {
        let opened = layout.prepare_own().and_then(|()| Registry::open_or_renew(&layout.registry()));
        *registry = opened.inspect_err(|error| tracing::error!(%error, "the registry does not open")).ok();
    }
    if let Some(Err(error)) = registry.as_mut().map(|registry| registry.put(&summary.entry(process))) {
        tracing::error!(%error, "the registry does not take a row");
        *registry = None;
    }
}
