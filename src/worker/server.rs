//! The worker's side of the protocol: clients come and go, the thread goes on.
//!
//! One [`Hub`] a thread. It hears everything from the driver and passes it to every client that has caught up with the
//! log. A client in the socket form and one in the channel form run through the same [`Hub::serve`].

use super::outbox::Outbox;
use super::protocol::{Command, FromWorker, ToWorker, VERSION};
use super::socket::{self, LineReader, LineWriter};
use crate::domain::event::Delta;
use crate::domain::{CallId, ContentHash, Event, Record, State, ThreadId};
use crate::engine::driver::{Audience, Handle};
use crate::store::log::{self, ThreadLog};
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};

/// How much of the log is read at a time for a client that catches up.
const PAGE: u64 = 256 * 1024;

/// How much of a running tool's output is kept for those who come in the middle of it.
const TOOL_TAIL: usize = 16 << 10;

/// What a client is told that may not approve calls.
const NOT_APPROVED: &str =
    "nothing was allowed: only the screen that started this thread's worker may approve its calls";

/// Who listens to a thread.
#[derive(Clone, Debug)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    thread_id: ThreadId,
    log: ThreadLog,
    /// What a client has to say to approve calls; without it nobody may over the socket.
    secret: Option<SecretString>,
    presence: watch::Sender<Presence>,
    state: watch::Sender<Option<State>>,
    live: Mutex<Live>,
}

/// Who is looking, and how the last one left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    pub clients: usize,
    /// Whether there has ever been one.
    pub ever: bool,
    /// Whether the last one to leave said goodbye.
    pub orderly: bool,
}

#[derive(Debug, Default)]
struct Live {
    clients: Vec<(u64, Outbox)>,
    next_client: u64,
    /// Where the next log line will begin.
    end: u64,
    /// The answer in flight, for those who come in the middle of it.
    inflight: Option<(u32, Vec<Delta>)>,
    /// The end of what each running call has printed, for the same.
    printed: HashMap<CallId, String>,
}

impl Hub {
    /// A hub for the thread whose log is `log` and ends at `end`.
    #[must_use]
    pub fn new(thread_id: ThreadId, log: ThreadLog, end: u64, secret: Option<SecretString>) -> Self {
        let live = Mutex::new(Live { end, ..Live::default() });
        let (presence, _) = watch::channel(Presence::default());
        let (state, _) = watch::channel(None);
        Self { shared: Arc::new(Shared { thread_id, log, secret, presence, state, live }) }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.shared.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes when a client comes or goes.
    #[must_use]
    pub fn presence(&self) -> watch::Receiver<Presence> {
        self.shared.presence.subscribe()
    }

    /// How the thread stands; changes whenever that does.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<Option<State>> {
        self.shared.state.subscribe()
    }

    /// Accepts clients of this user for as long as the listener lives.
    pub async fn listen(self, listener: UnixListener, handle: Handle) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) if socket::same_user(&stream) => {
                    drop(tokio::spawn(self.clone().serve_socket(stream, handle.clone())));
                }
                Ok(_) => tracing::warn!("a client of another user was refused"),
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn serve_socket(self, stream: UnixStream, handle: Handle) {
        let (read, write) = stream.into_split();
        let (mut reader, mut writer) = (LineReader::new(read), LineWriter::new(write));
        let (sender, messages) = mpsc::channel(64);
        let outbox = Outbox::default();
        let drain = outbox.clone();
        let write = tokio::spawn(async move {
            while let Some(waiting) = drain.take().await {
                if let Err(error) = writer.send(&waiting).await {
                    tracing::debug!(%error, "a client went away");
                    return;
                }
            }
        });
        let read = tokio::spawn(async move {
            loop {
                match reader.next::<ToWorker>().await {
                    Ok(Some(message)) => {
                        if sender.send(message).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(%error, "a client said something that is no message");
                        return;
                    }
                }
            }
        });
        self.serve(messages, outbox.clone(), handle, false).await;
        read.abort();
        outbox.close();
        // What is queued goes out, unless the client no longer reads.
        if tokio::time::timeout(Duration::from_millis(500), write).await.is_err() {
            tracing::debug!("a client did not read its last messages");
        }
    }

    /// A client in this process.
    #[must_use]
    pub fn connect(&self, handle: Handle) -> super::client::Client {
        let (to_worker, messages) = mpsc::channel(64);
        let (sender, from_worker) = mpsc::channel(64);
        let outbox = Outbox::default();
        let (hub, drain) = (self.clone(), outbox.clone());
        drop(tokio::spawn(async move {
            hub.serve(messages, outbox.clone(), handle, true).await;
            outbox.close();
        }));
        drop(tokio::spawn(async move {
            while let Some(waiting) = drain.take().await {
                for message in waiting {
                    if sender.send(message).await.is_err() {
                        return;
                    }
                }
            }
        }));
        super::client::Client::new(to_worker, from_worker)
    }

    /// Whether a client that says `secret` was told it by whoever started this worker. Compared by hash, so that time tells
    /// nothing of it.
    fn knows(&self, secret: Option<&str>) -> bool {
        let hash = |text: &str| ContentHash::of(text.as_bytes());
        let own = self.shared.secret.as_ref().map(|own| hash(own.expose_secret()));
        own.is_some() && own == secret.map(hash)
    }

    /// Talks with one client until it leaves. One of `this_process` needs no secret.
    async fn serve(&self, mut messages: mpsc::Receiver<ToWorker>, outbox: Outbox, handle: Handle, this_process: bool) {
        let may_approve = match messages.recv().await {
            Some(ToWorker::Hello { version: VERSION, secret }) => this_process || self.knows(secret.as_deref()),
            Some(ToWorker::Hello { version, .. }) => {
                let reason = format!(
                    "this thread is run by levain {} (protocol {VERSION}), the client speaks protocol {version}; \
                     use the same version for both",
                    env!("CARGO_PKG_VERSION")
                );
                outbox.push(FromWorker::Refused { reason });
                return;
            }
            Some(_) => {
                outbox.push(FromWorker::Refused { reason: "the first message must be hello".into() });
                return;
            }
            None => return,
        };
        outbox.push(FromWorker::Hello {
            version: VERSION,
            thread_id: self.shared.thread_id.clone(),
            pid: std::process::id(),
        });
        self.shared.presence.send_modify(|presence| {
            presence.clients += 1;
            presence.ever = true;
        });
        let mut orderly = false;
        let mut client = None;
        while let Some(message) = messages.recv().await {
            match message {
                ToWorker::Hello { .. } => {}
                ToWorker::Subscribe { from_offset } => {
                    self.leave(client.take());
                    client = self.subscribe(from_offset, &outbox).await;
                }
                ToWorker::Command { id, command: Command::Approve { .. } } if !may_approve => {
                    outbox.push(FromWorker::Error { id, message: NOT_APPROVED.to_owned() });
                }
                ToWorker::Command { id, command } => {
                    // Commands are taken one after another; the driver answers as soon as it has recorded them.
                    outbox.push(match handle.ask(command).await {
                        Ok(()) => FromWorker::Ack { id },
                        Err(message) => FromWorker::Error { id, message },
                    });
                }
                ToWorker::Goodbye => {
                    orderly = true;
                    break;
                }
            }
        }
        self.leave(client);
        self.shared.presence.send_modify(|presence| {
            presence.clients -= 1;
            presence.orderly = orderly;
        });
    }

    /// Sends the log from `from` on, then puts the client among those that hear everything.
    async fn subscribe(&self, from: u64, outbox: &Outbox) -> Option<u64> {
        let mut from = from;
        outbox.subscribed(from);
        loop {
            {
                let mut live = self.live();
                if from >= live.end {
                    let number = live.next_client;
                    live.next_client += 1;
                    if let Some((request, deltas)) = &live.inflight {
                        outbox.push(FromWorker::Inflight { request: *request, deltas: deltas.clone() });
                    }
                    for (call_id, text) in live.printed.clone() {
                        outbox.push(FromWorker::ToolOutputSoFar { call_id, text });
                    }
                    if let Some(state) = self.shared.state.borrow().clone() {
                        outbox.push(FromWorker::State(state));
                    }
                    live.clients.push((number, outbox.clone()));
                    return Some(number);
                }
            }
            let own = self.shared.log.clone();
            let read = tokio::task::spawn_blocking(move || log::read_forward(&own, from, PAGE)).await;
            let page = match read {
                Ok(Ok(page)) if !page.lines.is_empty() => page,
                Ok(Ok(_)) => {
                    // The offset lies inside a line or behind the end: from here on live events only.
                    from = self.live().end;
                    continue;
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the log could not be read for a client");
                    outbox.push(FromWorker::Refused { reason: error.to_string() });
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%error, "reading the log for a client");
                    return None;
                }
            };
            from = page.end;
            for line in page.lines {
                if let Some(record) = line.record {
                    outbox.push(FromWorker::Event { offset: line.offset, next_offset: line.next_offset, record });
                }
            }
            if outbox.lags() {
                return None;
            }
        }
    }

    fn leave(&self, client: Option<u64>) {
        if let Some(number) = client {
            self.live().clients.retain(|(own, _)| *own != number);
        }
    }

    /// Tells every client that the worker ends, and waits until they have been sent everything.
    pub async fn bye(&self, reason: &str) {
        const PATIENCE: Duration = Duration::from_millis(500);
        self.tell(|| FromWorker::Bye { reason: reason.to_owned() });
        let outboxes: Vec<Outbox> = self.live().clients.iter().map(|(_, outbox)| outbox.clone()).collect();
        let all = async {
            for outbox in outboxes {
                outbox.drained().await;
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::debug!("a client did not read its last messages");
        }
    }

    fn tell(&self, message: impl Fn() -> FromWorker) {
        let mut live = self.live();
        for (_, outbox) in &live.clients {
            outbox.push(message());
        }
        // Those who lag hear nothing until they subscribe again.
        live.clients.retain(|(_, outbox)| !outbox.lags());
    }
}

impl Audience for Hub {
    fn recorded(&self, place: Option<(u64, u64)>, record: &Record) {
        // What is not in the log takes no room there.
        let end = self.live().end;
        let (offset, next_offset) = place.unwrap_or((end, end));
        self.live().end = next_offset;
        if matches!(record.event, Event::CognitionOut { .. }) {
            self.live().inflight = None;
        }
        if let Event::ToolCallResult { call_id, .. } | Event::ShellEnded { call_id, .. } = &record.event {
            self.live().printed.remove(call_id);
        }
        self.tell(|| FromWorker::Event { offset, next_offset, record: record.clone() });
    }

    fn streamed(&self, request: u32, deltas: Vec<Delta>) {
        {
            let mut live = self.live();
            match &mut live.inflight {
                Some((own, all)) if *own == request => {
                    for delta in &deltas {
                        delta.clone().join_onto(all);
                    }
                }
                inflight => *inflight = Some((request, deltas.clone())),
            }
        }
        for delta in deltas {
            self.tell(|| FromWorker::Delta { request, delta: delta.clone() });
        }
    }

    fn settled(&self, request: u32) {
        let mut live = self.live();
        if live.inflight.as_ref().is_some_and(|(own, _)| *own == request) {
            live.inflight = None;
        }
    }

    fn tool_said(&self, call_id: &CallId, text: String) {
        {
            let mut live = self.live();
            let all = live.printed.entry(call_id.clone()).or_default();
            all.push_str(&text);
            if all.len() > 2 * TOOL_TAIL {
                let cut = all.ceil_char_boundary(all.len() - TOOL_TAIL);
                all.drain(..cut);
            }
        }
        self.tell(|| FromWorker::ToolOutput { call_id: call_id.clone(), text: text.clone() });
    }

    fn changed(&self, state: State) {
        let news = Some(state.clone());
        let differs = self.shared.state.send_if_modified(|before| {
            let differs = *before != news;
            *before = news;
            differs
        });
        if differs {
            self.tell(|| FromWorker::State(state.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn printed(hub: &Hub) -> Vec<(String, String)> {
        let outbox = Outbox::default();
        hub.subscribe(0, &outbox).await;
        outbox.close();
        let told = outbox.take().await.unwrap_or_default().into_iter().filter_map(|message| {
            let FromWorker::ToolOutputSoFar { call_id, text } = message else { return None };
            Some((call_id.0, text))
        });
        let mut told: Vec<_> = told.collect();
        told.sort();
        told
    }

    #[tokio::test]
    async fn what_a_tool_and_a_command_print_side_by_side_is_told_apart() {
        let id = ThreadId::new("chat", 1);
        let folder = tempfile::tempdir().unwrap();
        let empty = crate::store::Layout::new(folder.path(), folder.path());
        let hub = Hub::new(id.clone(), empty.log(&id).unwrap(), 0, None);
        let (tool, shell) = (CallId("call".into()), CallId("shell-1".into()));
        for (call, text) in [(&tool, "a"), (&shell, "b"), (&tool, "c")] {
            hub.tool_said(call, text.into());
        }
        let both = [("call", "ac"), ("shell-1", "b")].map(|(call, text)| (call.to_owned(), text.to_owned()));
        assert_eq!(printed(&hub).await, both);
        let event = Event::ShellEnded { call_id: shell, output: "b".into(), error: None };
        hub.recorded(None, &Record { timestamp: crate::domain::Timestamp(1), thread_id: id, event });
        assert_eq!(printed(&hub).await, both[..1]);
    }
}
