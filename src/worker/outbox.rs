//! What waits to be sent to one client: a queue that is bounded by dropping, never by holding up the thread.
//!
//! A client that does not read gets no more than waits for it already, and is told that it lagged; the log has everything
//! that counts. What is large waits in no queue: a note stands for it, and what it stands for is made when its turn comes.

use super::protocol::{FromWorker, State};
use crate::domain::Record;
use crate::domain::event::Delta;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// About this much may wait for a client before it is said to lag, in bytes of text.
const MOST_WAITING: usize = 4 << 20;

/// The same for all clients of a worker together: each may have its share.
const MOST_TOGETHER: usize = 8 << 20;

/// A message of more bytes waits as a note.
pub(super) const LARGE: usize = 64 << 10;

/// About this much is taken at once.
const TAKEN: usize = 64 << 10;

/// Text is joined to text up to here.
const JOINED: usize = 16 << 10;

/// With so many messages waiting, a client's own commands wait too.
const MOST_ANSWERS: usize = 1_024;

/// The sending end and the draining end of one client's queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    news: Notify,
    drained: Notify,
    /// One for each outbox of the worker, and one of the worker's own.
    all: Arc<()>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Item>,
    size: usize,
    /// Where the client must read on in the log, once it has lagged.
    lagged: Option<u64>,
    /// Where the next log event for this client begins.
    next_offset: u64,
    closed: bool,
    /// Whether a note stands for all of the answer in flight.
    inflight: bool,
    /// Whether the draining end has sent everything and waits for more.
    idle: bool,
}

/// What waits for a client.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all that waits are messages")]
enum Item {
    Message(FromWorker),
    Note(Note),
}

/// Stands for a message that is too large to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// The line of the log that begins and ends there.
    Line { offset: u64, next_offset: u64 },
    /// All of the answer in flight.
    Inflight,
    /// How the thread stands.
    State,
}

/// What is to be sent next.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Taken {
    Messages(Vec<FromWorker>),
    /// A message that is large once it is written.
    Large(FromWorker),
    /// It waits until [`Outbox::made`] is called.
    Note(Note),
}

impl Outbox {
    /// The outbox of one more client of the worker whose `all` is this.
    pub(super) fn among(all: &Arc<()>) -> Self {
        Self { shared: Arc::new(Shared { all: Arc::clone(all), ..Shared::default() }) }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        let result = change(&mut self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.news.notify_one();
        result
    }

    /// How much may wait here.
    fn most(&self) -> usize {
        let clients = Arc::strong_count(&self.shared.all).saturating_sub(1).max(1);
        MOST_WAITING.min(MOST_TOGETHER / clients)
    }

    fn push_item(&self, item: Item) {
        let most = self.most();
        self.with(|queue| queue.push(item, most));
    }

    /// Queues a message. Text that follows text of the same answer is joined to it.
    pub(super) fn push(&self, message: FromWorker) {
        self.push_item(Item::Message(message));
    }

    /// Queues an event, which lies there in the log.
    pub(super) fn push_event(&self, offset: u64, next_offset: u64, record: &Record) {
        self.push_item(if is_large(next_offset.saturating_sub(offset)) {
            Item::Note(Note::Line { offset, next_offset })
        } else {
            Item::Message(FromWorker::Event { offset, next_offset, record: record.clone() })
        });
    }

    /// Queues the line of the log between these places, which is large.
    pub(super) fn push_line(&self, offset: u64, next_offset: u64) {
        self.push_item(Item::Note(Note::Line { offset, next_offset }));
    }

    /// Queues a piece of the answer in flight, which already is part of all of it.
    pub(super) fn push_delta(&self, request: u32, delta: &Delta) {
        self.push_item(if size_of_delta(delta) > LARGE {
            Item::Note(Note::Inflight)
        } else {
            Item::Message(FromWorker::Delta { request, delta: delta.clone() })
        });
    }

    /// Queues all of the answer in flight.
    pub(super) fn push_inflight(&self) {
        self.push_item(Item::Note(Note::Inflight));
    }

    /// Queues how the thread stands.
    pub(super) fn push_state(&self, state: &State) {
        self.push_item(if size_of_state(state) > LARGE {
            Item::Note(Note::State)
        } else {
            Item::Message(FromWorker::State(state.clone()))
        });
    }

    /// Whether the client has lagged and not subscribed again yet.
    pub(super) fn lags(&self) -> bool {
        self.with(|queue| queue.lagged.is_some())
    }

    /// The client subscribed from `offset`.
    pub(super) fn subscribed(&self, offset: u64) {
        self.with(|queue| (queue.lagged, queue.next_offset) = (None, offset));
    }

    /// Nothing more will come; what waits is still sent.
    pub(super) fn close(&self) {
        self.with(|queue| queue.closed = true);
        self.shared.drained.notify_waiters();
    }

    /// Waits for messages and takes some; `None` once closed and empty.
    pub(super) async fn take(&self) -> Option<Taken> {
        loop {
            let news = self.shared.news.notified();
            {
                let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
                queue.idle = queue.waiting.is_empty();
                if let Some(taken) = queue.take() {
                    drop(queue);
                    self.shared.drained.notify_waiters();
                    return Some(taken);
                }
                self.shared.drained.notify_waiters();
                if queue.closed {
                    return None;
                }
            }
            news.await;
        }
    }

    /// What `note` stands for has been made.
    pub(super) fn made(&self, note: Note) {
        self.with(|queue| {
            if queue.waiting.front() == Some(&Item::Note(note)) {
                queue.pop();
            }
        });
    }

    /// Waits until everything queued has been sent.
    pub(super) async fn drained(&self) {
        self.until(|queue| queue.idle && queue.waiting.is_empty()).await;
    }

    /// Waits until the client has taken most of what it was answered, or is gone.
    pub(super) async fn has_room(&self) {
        self.until(|queue| queue.closed || queue.waiting.len() < MOST_ANSWERS).await;
    }

    async fn until(&self, holds: impl Fn(&Queue) -> bool) {
        loop {
            let drained = self.shared.drained.notified();
            if holds(&self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)) {
                return;
            }
            drained.await;
        }
    }
}

impl Queue {
    fn pop(&mut self) -> Option<Item> {
        let item = self.waiting.pop_front()?;
        self.inflight &= item != Item::Note(Note::Inflight);
        self.size = self.size.saturating_sub(size(&item));
        Some(item)
    }

    fn take(&mut self) -> Option<Taken> {
        let mut messages = Vec::new();
        let mut taken = 0;
        while taken < TAKEN {
            match self.waiting.front() {
                Some(Item::Note(note)) if messages.is_empty() => return Some(Taken::Note(*note)),
                Some(Item::Message(FromWorker::Preview { .. })) if messages.is_empty() => {
                    let Some(Item::Message(message)) = self.pop() else { break };
                    return Some(Taken::Large(message));
                }
                Some(Item::Note(_) | Item::Message(FromWorker::Preview { .. })) | None => break,
                Some(item @ Item::Message(_)) => {
                    taken += size(item);
                    if let Some(Item::Message(message)) = self.pop() {
                        messages.push(message);
                    }
                }
            }
        }
        (!messages.is_empty()).then_some(Taken::Messages(messages))
    }

    fn push(&mut self, item: Item, most: usize) {
        if is_preview(&item) {
            // Whoever asked for another looks at that one.
            self.waiting.retain(|waiting| !is_preview(waiting));
            self.size = self.waiting.iter().map(size).sum();
        }
        let live = is_live(&item);
        if live && self.lagged.is_some() {
            return;
        }
        // It will be part of the whole.
        let is_piece = matches!(&item, Item::Message(FromWorker::Delta { .. }) | Item::Note(Note::Inflight));
        if is_piece && self.inflight {
            return;
        }
        if live && self.size + size(&item) > most && !self.waiting.is_empty() {
            // Events that wait are still sent: else a client that reads on before one larger than all that may wait would
            // be sent back to those before it again and again.
            let from_offset = place(&item).map_or(self.next_offset, |(offset, _)| offset);
            self.waiting.retain(|waiting| !is_live(waiting) || place(waiting).is_some());
            self.size = self.waiting.iter().map(size).sum();
            self.inflight = false;
            self.waiting.push_back(Item::Message(FromWorker::Lagged { from_offset }));
            self.lagged = Some(from_offset);
            return;
        }
        if let Some((_, next_offset)) = place(&item) {
            self.next_offset = next_offset;
        }
        let before = self.waiting.back().map_or(0, size);
        match (self.waiting.back_mut(), item) {
            (
                Some(Item::Message(FromWorker::Delta { request: before, delta: Delta::Text { text: all } })),
                Item::Message(FromWorker::Delta { request, delta: Delta::Text { text } }),
            ) if *before == request && all.len() < JOINED => all.push_str(&text),
            (
                Some(Item::Message(FromWorker::ToolOutput { call_id: before, text: all })),
                Item::Message(FromWorker::ToolOutput { call_id, text }),
            ) if *before == call_id && all.len() < JOINED => all.push_str(&text),
            // Only how the thread stands last is of interest.
            (
                Some(waiting @ (Item::Message(FromWorker::State(_)) | Item::Note(Note::State))),
                item @ (Item::Message(FromWorker::State(_)) | Item::Note(Note::State)),
            ) => *waiting = item,
            (_, item) => {
                self.inflight |= item == Item::Note(Note::Inflight);
                self.size += size(&item);
                self.waiting.push_back(item);
                return;
            }
        }
        self.size = self.size.saturating_sub(before) + self.waiting.back().map_or(0, size);
    }
}

/// Whether so many bytes are too many to wait.
pub(super) fn is_large(bytes: u64) -> bool {
    bytes > LARGE as u64
}

/// Where it lies in the log, if it does.
fn place(item: &Item) -> Option<(u64, u64)> {
    match item {
        Item::Message(FromWorker::Event { offset, next_offset, .. })
        | Item::Note(Note::Line { offset, next_offset }) => Some((*offset, *next_offset)),
        Item::Message(_) | Item::Note(_) => None,
    }
}

/// What it shares with the thread costs nothing; its own texts are not counted, since one alone waits for a client.
fn is_preview(item: &Item) -> bool {
    matches!(item, Item::Message(FromWorker::Preview { .. }))
}

/// Whether the log, or a new look at what is in flight, has it too.
fn is_live(item: &Item) -> bool {
    matches!(
        item,
        Item::Note(Note::Line { .. } | Note::Inflight)
            | Item::Message(
                FromWorker::Event { .. }
                    | FromWorker::Delta { .. }
                    | FromWorker::Inflight { .. }
                    | FromWorker::ToolOutput { .. }
                    | FromWorker::ToolOutputSoFar { .. }
            )
    )
}

fn size_of_delta(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text } | Delta::Thinking { text } | Delta::ToolInputDelta { partial_json: text } => text.len(),
        Delta::ToolCallStart { name, .. } => name.len(),
    }
}

fn size_of_state(state: &State) -> usize {
    let queued: usize = state.queue.iter().map(|queued| queued.text.len()).sum();
    let asked = state.approvals.iter().map(|approval| {
        approval.preview.as_ref().map_or(0, String::len)
            + serde_json::to_string(&approval.input).map_or(0, |all| all.len())
    });
    queued + asked.sum::<usize>()
}

/// About how much memory it takes while it waits.
fn size(item: &Item) -> usize {
    200 + match item {
        Item::Note(_) => 0,
        Item::Message(message) => match message {
            FromWorker::Event { offset, next_offset, .. } => {
                usize::try_from(next_offset.saturating_sub(*offset)).unwrap_or(0)
            }
            FromWorker::Delta { delta, .. } => size_of_delta(delta),
            FromWorker::Inflight { deltas, .. } => deltas.iter().map(size_of_delta).sum(),
            FromWorker::ToolOutput { text, .. } | FromWorker::ToolOutputSoFar { text, .. } => text.len(),
            FromWorker::Hello { .. }
            | FromWorker::Refused { .. }
            | FromWorker::Ack { .. }
            | FromWorker::Error { .. }
            | FromWorker::Preview { .. }
            | FromWorker::Drawn { .. }
            | FromWorker::Suggested { .. }
            | FromWorker::Typed { .. }
            | FromWorker::State(_)
            | FromWorker::Lagged { .. }
            | FromWorker::Bye { .. } => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ThreadEvent;

    fn text(request: u32, length: usize) -> FromWorker {
        FromWorker::Delta { request, delta: Delta::Text { text: "x".repeat(length) } }
    }

    /// Everything that can be taken without waiting, with notes as they are.
    async fn all(outbox: &Outbox) -> (Vec<FromWorker>, Vec<Note>) {
        let (mut messages, mut notes) = (Vec::new(), Vec::new());
        while !outbox.shared.queue.lock().unwrap().waiting.is_empty() {
            match outbox.take().await.unwrap() {
                Taken::Messages(some) => messages.extend(some),
                Taken::Large(message) => messages.push(message),
                Taken::Note(note) => {
                    notes.push(note);
                    outbox.made(note);
                }
            }
        }
        (messages, notes)
    }

    #[tokio::test]
    async fn text_of_one_answer_is_joined() {
        let outbox = Outbox::default();
        for message in [text(1, 2), text(1, 3), text(2, 1), FromWorker::Ack { id: 1 }] {
            outbox.push(message);
        }
        assert_eq!(all(&outbox).await.0, [text(1, 5), text(2, 1), FromWorker::Ack { id: 1 }]);
        assert_eq!(outbox.shared.queue.lock().unwrap().size, 0);
    }

    fn record() -> Record {
        Record {
            timestamp: crate::domain::Timestamp(0),
            thread_id: crate::domain::ThreadId::new("a", 1),
            event: crate::domain::Event::Thread(ThreadEvent::Notice { text: String::new() }),
        }
    }

    /// However often the client has to ask again, each time it gets further.
    #[tokio::test]
    async fn an_event_larger_than_all_that_may_wait_arrives() {
        let log: Vec<(u64, u64)> = (0..400).map(|at| (at * 60_000, (at + 1) * 60_000)).collect();
        let (outbox, mut got, mut from) = (Outbox::default(), Vec::new(), 0);
        for _ in 0..10 {
            outbox.subscribed(from);
            // The log is read faster than the client takes.
            for (offset, next_offset) in log.iter().filter(|(offset, _)| *offset >= from) {
                outbox.push_event(*offset, *next_offset, &record());
            }
            for message in all(&outbox).await.0 {
                if let FromWorker::Lagged { from_offset } = message {
                    from = from_offset;
                } else if let FromWorker::Event { offset, next_offset, .. } = message {
                    got.push((offset, next_offset));
                }
            }
            if got.len() == log.len() {
                break;
            }
        }
        assert_eq!(got, log);
    }

    #[tokio::test]
    async fn s16_what_is_large_waits_as_a_note() {
        let outbox = Outbox::default();
        outbox.push_event(0, 10 << 20, &record());
        outbox.push_delta(1, &Delta::Text { text: "x".repeat(1 << 20) });
        outbox.push_delta(1, &Delta::Text { text: "part of the whole".into() });
        assert!(outbox.shared.queue.lock().unwrap().size < 1_000);
        let line = Note::Line { offset: 0, next_offset: 10 << 20 };
        assert_eq!(all(&outbox).await, (vec![], vec![line, Note::Inflight]));
        outbox.push_delta(1, &Delta::Text { text: "more".into() });
        assert_eq!(all(&outbox).await.0.len(), 1);
    }

    #[test]
    fn s16_clients_share_what_may_wait() {
        let worker = Arc::new(());
        let boxes: Vec<Outbox> = (0..32).map(|_| Outbox::among(&worker)).collect();
        for outbox in &boxes {
            for request in 0..200 {
                outbox.push(text(request, 60 << 10));
            }
            assert!(outbox.lags());
        }
        let waiting: usize = boxes.iter().map(|outbox| outbox.shared.queue.lock().unwrap().size).sum();
        assert!(waiting <= MOST_TOGETHER, "{waiting}");
    }

    #[tokio::test]
    async fn a_slow_client_is_told_once_that_it_lagged() {
        let outbox = Outbox::default();
        outbox.subscribed(77);
        outbox.push(FromWorker::Ack { id: 1 });
        for request in 0..6 {
            outbox.push(text(request, 1 << 20));
        }
        assert!(outbox.lags());
        let expected = [FromWorker::Ack { id: 1 }, FromWorker::Lagged { from_offset: 77 }];
        assert_eq!(all(&outbox).await.0, expected);
        outbox.subscribed(77);
        outbox.push(text(9, 1));
        outbox.close();
        assert_eq!(all(&outbox).await.0, [text(9, 1)]);
        assert_eq!(outbox.take().await, None);
    }
}
