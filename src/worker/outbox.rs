//! What waits to be sent to one client: a queue that is bounded by dropping, never by holding up the thread.
//!
//! A client that does not read gets no more than waits for it already, and is told that it lagged; the log has everything
//! that counts.

use super::protocol::FromWorker;
use crate::domain::event::Delta;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// About this much may wait for a client before it is said to lag, in bytes of text.
const MOST_WAITING: usize = 4 << 20;

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
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<FromWorker>,
    size: usize,
    /// Where the client must read on in the log, once it has lagged.
    lagged: Option<u64>,
    /// Where the next log event for this client begins.
    next_offset: u64,
    closed: bool,
    /// Whether the draining end has sent everything and waits for more.
    idle: bool,
}

impl Outbox {
    fn with<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        let result = change(&mut self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.news.notify_one();
        result
    }

    /// Queues a message. Text that follows text of the same answer is joined to it.
    pub(super) fn push(&self, message: FromWorker) {
        self.with(|queue| queue.push(message));
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
    }

    /// Waits for messages and takes all of them; `None` once closed and empty.
    pub(super) async fn take(&self) -> Option<Vec<FromWorker>> {
        loop {
            let news = self.shared.news.notified();
            {
                let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
                queue.idle = queue.waiting.is_empty();
                if !queue.waiting.is_empty() {
                    queue.size = 0;
                    return Some(queue.waiting.drain(..).collect());
                }
                self.shared.drained.notify_waiters();
                if queue.closed {
                    return None;
                }
            }
            news.await;
        }
    }

    /// Waits until everything queued has been sent.
    pub(super) async fn drained(&self) {
        loop {
            let drained = self.shared.drained.notified();
            {
                let queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
                if queue.idle && queue.waiting.is_empty() {
                    return;
                }
            }
            drained.await;
        }
    }
}

impl Queue {
    fn push(&mut self, message: FromWorker) {
        let size = size_of_text(&message);
        let live = is_live(&message);
        if live && self.lagged.is_some() {
            return;
        }
        if live && self.size + size > MOST_WAITING && !self.waiting.is_empty() {
            // Events that wait are still sent: else a client that reads on before one larger than all that may wait would
            // be sent back to those before it again and again.
            let from_offset = if let FromWorker::Event { offset, .. } = &message { *offset } else { self.next_offset };
            self.waiting.retain(|waiting| !is_live(waiting) || matches!(waiting, FromWorker::Event { .. }));
            self.waiting.push_back(FromWorker::Lagged { from_offset });
            self.lagged = Some(from_offset);
            return;
        }
        if let FromWorker::Event { next_offset, .. } = &message {
            self.next_offset = *next_offset;
        }
        self.size += size;
        match (self.waiting.back_mut(), message) {
            (
                Some(FromWorker::Delta { request: before, delta: Delta::Text { text: all } }),
                FromWorker::Delta { request, delta: Delta::Text { text } },
            ) if *before == request => all.push_str(&text),
            (Some(FromWorker::ToolOutput { call_id: before, text: all }), FromWorker::ToolOutput { call_id, text })
                if *before == call_id =>
            {
                all.push_str(&text);
            }
            // Only how the thread stands last is of interest.
            (Some(waiting @ FromWorker::State(_)), message @ FromWorker::State(_)) => *waiting = message,
            (_, message) => self.waiting.push_back(message),
        }
    }
}

/// Whether the log, or a new look at what is in flight, has it too.
fn is_live(message: &FromWorker) -> bool {
    matches!(
        message,
        FromWorker::Event { .. }
            | FromWorker::Delta { .. }
            | FromWorker::Inflight { .. }
            | FromWorker::ToolOutput { .. }
            | FromWorker::ToolOutputSoFar { .. }
    )
}

/// About how much memory a message takes.
fn size_of_text(message: &FromWorker) -> usize {
    let delta = |delta: &Delta| match delta {
        Delta::Text { text } | Delta::Thinking { text } | Delta::ToolInputDelta { partial_json: text } => text.len(),
        Delta::ToolCallStart { name, .. } => name.len(),
    };
    200 + match message {
        FromWorker::Event { offset, next_offset, .. } => {
            usize::try_from(next_offset.saturating_sub(*offset)).unwrap_or(0)
        }
        FromWorker::Delta { delta: own, .. } => delta(own),
        FromWorker::Inflight { deltas, .. } => deltas.iter().map(delta).sum(),
        FromWorker::ToolOutput { text, .. } | FromWorker::ToolOutputSoFar { text, .. } => text.len(),
        FromWorker::Hello { .. }
        | FromWorker::Refused { .. }
        | FromWorker::Ack { .. }
        | FromWorker::Error { .. }
        | FromWorker::State(_)
        | FromWorker::Lagged { .. }
        | FromWorker::Bye { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(request: u32, length: usize) -> FromWorker {
        FromWorker::Delta { request, delta: Delta::Text { text: "x".repeat(length) } }
    }

    #[tokio::test]
    async fn text_of_one_answer_is_joined() {
        let outbox = Outbox::default();
        for message in [text(1, 2), text(1, 3), text(2, 1), FromWorker::Ack { id: 1 }] {
            outbox.push(message);
        }
        assert_eq!(outbox.take().await.unwrap(), [text(1, 5), text(2, 1), FromWorker::Ack { id: 1 }]);
    }

    /// However often the client has to ask again, each time it gets further.
    #[tokio::test]
    async fn an_event_larger_than_all_that_may_wait_arrives() {
        let event = |offset, next_offset| FromWorker::Event {
            offset,
            next_offset,
            record: crate::domain::Record {
                timestamp: crate::domain::Timestamp(0),
                thread_id: crate::domain::ThreadId::new("a", 1),
                event: crate::domain::Event::Notice { text: String::new() },
            },
        };
        let log = [event(0, 10), event(10, 10 << 20), event(10 << 20, 11 << 20)];
        let (outbox, mut got, mut from) = (Outbox::default(), Vec::new(), 0);
        for _ in 0..10 {
            outbox.subscribed(from);
            // The log is read faster than the client takes.
            for message in &log {
                if matches!(message, FromWorker::Event { offset, .. } if *offset >= from) {
                    outbox.push(message.clone());
                }
            }
            for message in outbox.take().await.unwrap() {
                if let FromWorker::Lagged { from_offset } = message {
                    from = from_offset;
                } else {
                    got.push(message);
                }
            }
            if got.len() == log.len() {
                break;
            }
        }
        assert_eq!(got, log);
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
        assert_eq!(outbox.take().await.unwrap(), expected);
        outbox.subscribed(77);
        outbox.push(text(9, 1));
        outbox.close();
        assert_eq!(outbox.take().await.unwrap(), [text(9, 1)]);
        assert_eq!(outbox.take().await, None);
    }
}
