//! The worker's side of the protocol: clients come and go, the thread goes on.
//!
//! One [`Hub`] a thread. It hears everything from the driver and passes it to every client that has caught up with the
//! log. A client in the socket form and one in the channel form run through the same [`Hub::serve`].
//!
//! However many clients there are and whatever they do, they cost bounded memory: small messages wait in an outbox, what is
//! large is made when it is sent, two at a time.

use super::answers::{ask_beside, command_answered, previewed};
use super::client::{Resubscriber, Said};
use super::outbox::{LARGE, Note, Outbox, Taken, is_large};
use super::presence::{Admission, Presence};
use super::protocol::{Command, FromWorker, LONGEST_COMMAND, ToWorker, VERSION, needs_secret};
use super::socket::{self, LineReader, LineWriter, Share};
use crate::domain::event::Delta;
use crate::domain::{CallId, ContentHash, Event, Record, RequestEvent, State, ThreadId, ToolEvent};
use crate::engine::driver::{Audience, Handle};
use crate::store::log::{self, ThreadLog};
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How much of the log is read at a time for a client that catches up.
const PAGE: u64 = 256 * 1024;

/// How much of a running tool's output is kept for those who come in the middle of it.
const TOOL_TAIL: usize = 16 << 10;

/// So many connections beyond those of clients may be open: of some that have not said hello yet, and of some that leave.
const UNIDENTIFIED: usize = 32;

/// How long a client may take to say hello, and how long its line is at most.
const HELLO_WITHIN: Duration = Duration::from_secs(5);
const LONGEST_HELLO: usize = 4 << 10;

/// What all clients together may be sending at a moment.
const MOST_INCOMING: usize = 2 * LONGEST_COMMAND;

/// So many large messages are made at a time.
const AT_ONCE: usize = 2;

/// A client that takes nothing of a large message for so long lets others go first.
const PAUSE: Duration = Duration::from_millis(500);

/// One that takes nothing of a message that cannot be gone on with later is gone.
const STALLED: Duration = Duration::from_secs(20);

/// What a client is told that may not approve calls.
const NOT_APPROVED: &str = "nothing was allowed: only the screen that started this thread's worker may approve its calls, answer its extensions, have them complete a draft, send what \
     begins with `/`, and leave out handlers at breakpoints";

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
    admission: Admission,
    state: watch::Sender<Option<State>>,
    live: Mutex<Live>,
    connections: Arc<Semaphore>,
    incoming: Share,
    /// See [`Outbox::among`].
    outboxes: Arc<()>,
    large: Semaphore,
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
    /// What was said to everybody when the worker ended.
    over: Option<String>,
}

impl Hub {
    /// A hub for the thread whose log is `log` and ends at `end`.
    #[must_use]
    pub fn new(
        thread_id: ThreadId,
        log: ThreadLog,
        end: u64,
        secret: Option<SecretString>,
        most_clients: usize,
    ) -> Self {
        let live = Mutex::new(Live { end, ..Live::default() });
        let (state, _) = watch::channel(None);
        let shared = Shared {
            thread_id,
            log,
            secret,
            admission: Admission::new(most_clients),
            state,
            live,
            connections: Arc::new(Semaphore::new(most_clients + UNIDENTIFIED)),
            incoming: Share::of(MOST_INCOMING),
            outboxes: Arc::default(),
            large: Semaphore::new(AT_ONCE),
        };
        Self { shared: Arc::new(shared) }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.shared.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes when a client comes or goes.
    #[must_use]
    pub fn presence(&self) -> watch::Receiver<Presence> {
        self.shared.admission.watch()
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
                    match Arc::clone(&self.shared.connections).try_acquire_owned() {
                        Ok(place) => {
                            let (hub, handle) = (self.clone(), handle.clone());
                            drop(tokio::spawn(async move {
                                hub.serve_socket(stream, handle).await;
                                drop(place);
                            }));
                        }
                        Err(_) => self.turn_away(&stream),
                    }
                }
                Ok(_) => tracing::warn!("a client of another user was refused"),
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Says why to somebody for whom there is no room.
    fn turn_away(&self, stream: &UnixStream) {
        let refused = FromWorker::Refused { reason: self.full() };
        let mut line = serde_json::to_vec(&refused).unwrap_or_default();
        line.push(b'\n');
        // A new connection has room for a line.
        let _gone = stream.try_write(&line);
    }

    fn full(&self) -> String {
        format!("{} clients are connected to this thread, the limit (max_clients)", self.shared.admission.most)
    }

    async fn serve_socket(self, stream: UnixStream, handle: Handle) {
        let (read, write) = stream.into_split();
        let mut reader = LineReader::of_client(read, LONGEST_HELLO, &self.shared.incoming);
        let (sender, messages) = mpsc::channel(1);
        let outbox = Outbox::among(&self.shared.outboxes);
        let (hub, drain) = (self.clone(), outbox.clone());
        let mut write = tokio::spawn(async move {
            if let Err(error) = hub.send_all(&drain, LineWriter::new(write)).await {
                tracing::debug!(%error, "a client went away");
            }
            drain.close();
        });
        let refuse = outbox.clone();
        let read = tokio::spawn(async move {
            loop {
                match reader.next::<ToWorker>().await {
                    Ok(Some(message)) => {
                        reader.allow(LONGEST_COMMAND);
                        if sender.send(Said { message, _share: reader.share() }).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(%error, "a client said something that is no message");
                        refuse.push(FromWorker::Refused { reason: error.to_string() });
                        return;
                    }
                }
            }
        });
        self.serve(messages, outbox.clone(), handle, false).await;
        read.abort();
        outbox.close();
        // What is queued goes out, unless the client no longer reads.
        if timeout(Duration::from_millis(500), &mut write).await.is_err() {
            tracing::debug!("a client did not read its last messages");
            write.abort();
        }
    }

    /// Sends what waits in `outbox` until it is closed.
    async fn send_all(&self, outbox: &Outbox, mut writer: LineWriter) -> io::Result<()> {
        while let Some(taken) = outbox.take().await {
            match taken {
                Taken::Messages(messages) => writer.send(&messages).await?,
                Taken::Note(note @ Note::Line { offset, next_offset }) => {
                    self.send_line(offset, next_offset, &mut writer).await?;
                    outbox.made(note);
                }
                Taken::Note(note @ (Note::Inflight | Note::State)) => {
                    let Ok(_turn) = self.shared.large.acquire().await else { return Ok(()) };
                    let Some(message) = self.make(note, outbox) else { continue };
                    send_large(message, &mut writer).await?;
                }
                Taken::Large(message) => {
                    let Ok(_turn) = self.shared.large.acquire().await else { return Ok(()) };
                    send_large(message, &mut writer).await?;
                }
            }
        }
        Ok(())
    }

    /// Sends a line of the log as it is. While the client pauses, nothing of it is held.
    async fn send_line(&self, offset: u64, next_offset: u64, writer: &mut LineWriter) -> io::Result<()> {
        let mut sent = 0;
        loop {
            {
                let Ok(_turn) = self.shared.large.acquire().await else { return Ok(()) };
                let own = self.shared.log.clone();
                let read = tokio::task::spawn_blocking(move || {
                    let object = log::read_line(&own, offset, next_offset)?;
                    Ok::<_, crate::ports::StoreError>(object.map(|object| {
                        let mut line = format!(
                            "{{\"type\":\"event\",\"offset\":{offset},\"next_offset\":{next_offset},\"record\":"
                        )
                        .into_bytes();
                        line.reserve_exact(object.len() + 2);
                        line.extend_from_slice(&object);
                        line.extend_from_slice(b"}\n");
                        line
                    }))
                });
                let line = match read.await {
                    Ok(Ok(Some(line))) => line,
                    // Nobody's word, or gone.
                    Ok(Ok(None)) if sent == 0 => return Ok(()),
                    Ok(Ok(None)) => return Err(io::ErrorKind::InvalidData.into()),
                    Ok(Err(error)) => return Err(io::Error::other(error)),
                    Err(error) => return Err(io::Error::other(error)),
                };
                sent += writer.send_some(line.get(sent..).unwrap_or_default(), PAUSE).await?;
                if sent >= line.len() {
                    return Ok(());
                }
            }
            writer.has_room().await?;
        }
    }

    /// Makes what `note` stands for, as it is now. Nothing comes in between: what was queued behind it is newer.
    fn make(&self, note: Note, outbox: &Outbox) -> Option<FromWorker> {
        let live = self.live();
        let message = match note {
            Note::Inflight => live
                .inflight
                .as_ref()
                .map(|(request, deltas)| FromWorker::Inflight { request: *request, deltas: deltas.clone() }),
            Note::State => self.shared.state.borrow().clone().map(FromWorker::State),
            Note::Line { .. } => None,
        };
        outbox.made(note);
        message
    }

    /// A client in this process.
    #[must_use]
    pub fn connect(&self, handle: Handle) -> super::client::Client {
        let (to_worker, messages) = mpsc::channel(64);
        let (sender, from_worker) = mpsc::channel(64);
        let outbox = Outbox::among(&self.shared.outboxes);
        let resubscriber = Resubscriber::of(&to_worker);
        let (hub, drain) = (self.clone(), outbox.clone());
        drop(tokio::spawn(async move {
            hub.serve(messages, outbox.clone(), handle, true).await;
            outbox.close();
        }));
        let hub = self.clone();
        drop(tokio::spawn(async move {
            while let Some(taken) = drain.take().await {
                let messages = match taken {
                    Taken::Messages(messages) => messages,
                    Taken::Large(message) => vec![message],
                    Taken::Note(note @ Note::Line { offset, next_offset }) => {
                        let own = hub.shared.log.clone();
                        let read = tokio::task::spawn_blocking(move || {
                            log::read_forward(&own, offset, next_offset.saturating_sub(offset))
                        });
                        let page = read.await.ok().and_then(Result::ok).unwrap_or_default();
                        drain.made(note);
                        let first = page.lines.into_iter().next().and_then(|line| line.record);
                        first.map(|record| FromWorker::Event { offset, next_offset, record }).into_iter().collect()
                    }
                    Taken::Note(note) => hub.make(note, &drain).into_iter().collect(),
                };
                for message in messages {
                    resubscriber.pass(&message).await;
                    if sender.send(message).await.is_err() {
                        drain.close();
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
    async fn serve(&self, mut messages: mpsc::Receiver<Said>, outbox: Outbox, handle: Handle, this_process: bool) {
        let Ok(first) = timeout(HELLO_WITHIN, messages.recv()).await else {
            outbox.push(FromWorker::Refused { reason: "the client sent no hello".into() });
            return;
        };
        let may_approve = match first.map(|said| said.message) {
            Some(ToWorker::Hello { version: VERSION, secret }) => this_process || self.knows(secret.as_deref()),
            Some(ToWorker::Hello { version, .. }) => {
                let reason = format!(
                    "levain {} (protocol {VERSION}) runs this thread, the client uses protocol {version}; \
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
        if !self.shared.admission.enter() {
            // Whoever comes to a worker that ends finds nobody, and starts the next one.
            if !self.shared.admission.is_over() {
                outbox.push(FromWorker::Refused { reason: self.full() });
            }
            return;
        }
        outbox.push(FromWorker::Hello {
            version: VERSION,
            thread_id: self.shared.thread_id.clone(),
            pid: std::process::id(),
            may_approve,
        });
        let mut orderly = false;
        let mut client = None;
        // The program that has the terminal of this client.
        let mut foreground = None;
        // What is asked of extensions about the draft.
        let mut completing = JoinSet::new();
        let (mut previews, mut leaves, mut asked) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
        while let Some(Said { message, _share }) = messages.recv().await {
            outbox.has_room().await;
            while asked.try_join_next().is_some() {}
            if let Some(id) = needs_secret(&message).filter(|_| !may_approve) {
                outbox.push(FromWorker::Error { id, message: NOT_APPROVED.to_owned() });
                continue;
            }
            match message {
                ToWorker::Hello { .. } => {}
                ToWorker::Subscribe { from_offset } => {
                    self.leave(client.take());
                    client = self.subscribe(from_offset, &outbox).await;
                }
                ToWorker::Command { id, command: Command::Leave { leaving } } => {
                    // A person may be asked: others are heard meanwhile.
                    let (handle, outbox) = (handle.clone(), outbox.clone());
                    leaves.spawn(async move {
                        outbox.push(match handle.may_leave(leaving).await {
                            Ok(()) => FromWorker::Ack { id },
                            Err(message) => FromWorker::Error { id, message },
                        });
                    });
                    while leaves.try_join_next().is_some() {}
                }
                ToWorker::Command { id, command } => {
                    // Commands are taken one after another; the driver answers as soon as it has recorded them. A cancel waits as well:
                    // one that overtook what was sent before it would leave that to be sent after it.
                    outbox.push(command_answered(&handle, id, command, &mut foreground).await);
                }
                ToWorker::Preview { id, draft } => {
                    // A command of the context may take long: others are heard meanwhile.
                    previews.abort_all();
                    let (handle, outbox) = (handle.clone(), outbox.clone());
                    previews.spawn(async move { outbox.push(previewed(&handle, id, draft).await) });
                    while previews.try_join_next().is_some() {}
                }
                ToWorker::Draw { .. } | ToWorker::Typed { .. } => ask_beside(&mut asked, message, &handle, &outbox),
                ToWorker::Complete { id, draft } => {
                    let (handle, outbox) = (handle.clone(), outbox.clone());
                    // Of the draft as it was nobody wants to know any more.
                    completing.abort_all();
                    completing.spawn(async move {
                        outbox.push(FromWorker::Suggested { id, suggestions: handle.complete(draft).await });
                    });
                    while completing.try_join_next().is_some() {}
                }
                ToWorker::Goodbye => {
                    orderly = true;
                    break;
                }
            }
        }
        self.leave(client);
        if let Some(id) = foreground {
            let _ended = handle.ask(Command::ForegroundOver { id, code: None }).await;
        }
        self.shared.admission.leave(orderly);
    }

    /// Lets nobody in from here on, unless somebody is there; whether nobody is.
    pub(super) fn end_alone(&self) -> bool {
        self.shared.admission.end_alone()
    }

    /// Sends the log from `from` on, then puts the client among those that hear everything.
    async fn subscribe(&self, from: u64, outbox: &Outbox) -> Option<u64> {
        let mut from = from;
        outbox.subscribed(from);
        loop {
            let end = {
                let mut live = self.live();
                if from >= live.end {
                    let number = live.next_client;
                    live.next_client += 1;
                    if live.inflight.is_some() {
                        outbox.push_inflight();
                    }
                    for (call_id, text) in live.printed.clone() {
                        outbox.push(FromWorker::ToolOutputSoFar { call_id, text });
                    }
                    if let Some(state) = self.shared.state.borrow().as_ref() {
                        outbox.push_state(state);
                    }
                    if let Some(reason) = live.over.clone() {
                        outbox.push(FromWorker::Bye { reason });
                    }
                    live.clients.push((number, outbox.clone()));
                    return Some(number);
                }
                live.end
            };
            let own = self.shared.log.clone();
            let read = {
                let Ok(_turn) = self.shared.large.acquire().await else { return None };
                tokio::task::spawn_blocking(move || log::read_sparing(&own, from, PAGE, LARGE)).await
            };
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
            // What is behind that is not known to be on disk, and is told when it is.
            from = page.end.min(end);
            for line in page.lines.into_iter().take_while(|line| line.next_offset <= end) {
                if is_large(line.next_offset.saturating_sub(line.offset)) {
                    outbox.push_line(line.offset, line.next_offset);
                } else if let Some(record) = line.record {
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

    /// Tells every client that the worker ends, and waits until they have been sent everything. Nobody is let in any more.
    pub async fn bye(&self, reason: &str) {
        const PATIENCE: Duration = Duration::from_millis(500);
        self.shared.admission.end();
        self.live().over = Some(reason.to_owned());
        self.tell(|outbox| outbox.push(FromWorker::Bye { reason: reason.to_owned() }));
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

    fn tell(&self, push: impl Fn(&Outbox)) {
        self.live().tell(push);
    }
}

impl Live {
    fn tell(&mut self, push: impl Fn(&Outbox)) {
        for (_, outbox) in &self.clients {
            push(outbox);
        }
        // Those who lag hear nothing until they subscribe again.
        self.clients.retain(|(_, outbox)| !outbox.lags());
    }
}

impl Audience for Hub {
    fn recorded(&self, place: Option<(u64, u64)>, record: &Record) {
        let mut live = self.live();
        // What is not in the log takes no room there.
        let (offset, next_offset) = place.unwrap_or((live.end, live.end));
        live.end = next_offset;
        if matches!(record.event, Event::Request(RequestEvent::CognitionOut { .. })) {
            live.inflight = None;
        }
        if let Event::Tool(ToolEvent::ToolCallResult { call_id, .. } | ToolEvent::ShellEnded { call_id, .. }) =
            &record.event
        {
            live.printed.remove(call_id);
        }
        live.tell(|outbox| outbox.push_event(offset, next_offset, record));
    }

    fn streamed(&self, request: u32, deltas: Vec<Delta>) {
        // A client that asks for all of it meanwhile waits: it would get a piece twice.
        let mut live = self.live();
        for delta in &deltas {
            live.tell(|outbox| outbox.push_delta(request, delta));
        }
        match &mut live.inflight {
            Some((own, all)) if *own == request => {
                for delta in deltas {
                    delta.join_onto(all);
                }
            }
            inflight => *inflight = Some((request, deltas)),
        }
    }

    fn settled(&self, request: u32) {
        let mut live = self.live();
        if live.inflight.as_ref().is_some_and(|(own, _)| *own == request) {
            live.inflight = None;
        }
    }

    fn tool_said(&self, call_id: &CallId, text: String) {
        let mut live = self.live();
        let all = live.printed.entry(call_id.clone()).or_default();
        all.push_str(&text);
        if all.len() > 2 * TOOL_TAIL {
            let cut = all.ceil_char_boundary(all.len() - TOOL_TAIL);
            all.drain(..cut);
        }
        // Of more than that only the end would be looked at.
        let text = text.get(text.ceil_char_boundary(text.len().saturating_sub(2 * TOOL_TAIL))..).unwrap_or_default();
        live.tell(|outbox| {
            outbox.push(FromWorker::ToolOutput { call_id: call_id.clone(), text: text.to_owned() });
        });
    }

    fn changed(&self, state: State) {
        let differs = self.shared.state.send_if_modified(|before| {
            let differs = before.as_ref() != Some(&state);
            if differs {
                *before = Some(state.clone());
            }
            differs
        });
        if differs {
            self.tell(|outbox| outbox.push_state(&state));
        }
    }
}

/// Sends a message while nothing else is made for this client; one that takes nothing of it is gone.
async fn send_large(message: FromWorker, writer: &mut LineWriter) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    drop(message);
    line.push(b'\n');
    if writer.send_some(&line, STALLED).await? < line.len() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn printed(hub: &Hub) -> Vec<(String, String)> {
        let outbox = Outbox::default();
        hub.subscribe(0, &outbox).await;
        outbox.close();
        let Some(Taken::Messages(messages)) = outbox.take().await else { return Vec::new() };
        let told = messages.into_iter().filter_map(|message| {
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
        let hub = Hub::new(id.clone(), empty.log(&id).unwrap(), 0, None, 4);
        let (tool, shell) = (CallId("call".into()), CallId("shell-1".into()));
        for (call, text) in [(&tool, "a"), (&shell, "b"), (&tool, "c")] {
            hub.tool_said(call, text.into());
        }
        let both = [("call", "ac"), ("shell-1", "b")].map(|(call, text)| (call.to_owned(), text.to_owned()));
        assert_eq!(printed(&hub).await, both);
        let event = Event::Tool(ToolEvent::ShellEnded { call_id: shell, output: "b".into(), error: None });
        hub.recorded(None, &Record { timestamp: crate::domain::Timestamp(1), thread_id: id, event });
        assert_eq!(printed(&hub).await, both[..1]);
    }
}
