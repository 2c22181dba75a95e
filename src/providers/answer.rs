//! An answer under way, the same for every wire form: send, frame, read, until the end marker.
//!
//! A wire form brings a [`Reader`], which turns one server-sent event into provider events. What it means when the
//! connection ends before the marker is decided here.

use super::http::{Http, Post, protocol_error};
use super::signature::by;
use super::sse::{self, SseEvent};
use crate::domain::event::{CallError, ErrorCategory, StopReason};
use crate::ports::{HttpOptions, ProviderEvent, ProviderStream};
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Events read and not yet taken.
pub(crate) type Events = VecDeque<ProviderEvent>;

/// Reads one wire form.
pub(crate) trait Reader: Send + Unpin + 'static {
    /// What must arrive for an answer to be whole, in words.
    const END_MARKER: &'static str;

    /// Reads one event. Pushes [`ProviderEvent::Finished`] for the end marker and nothing after it.
    ///
    /// # Errors
    /// The error that the event carries, or that it could not be read.
    fn read(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), CallError>;

    /// The server ended the stream before the end marker. Pushes [`ProviderEvent::Finished`] if what came is whole all the same.
    fn end(&mut self, _events: &mut Events) {}
}

/// What an event says.
///
/// # Errors
/// That it could not be read.
pub(crate) fn parsed<'a, T: Deserialize<'a>>(event: &'a SseEvent) -> Result<T, CallError> {
    serde_json::from_str(&event.data).map_err(|error| protocol_error(&error.to_string()))
}

/// Asks `model` and reads, with what goes beside the body (`options`): `post` makes the request, off the caller's path, because a long
/// history takes a while to write.
pub(crate) fn ask<R: Reader>(
    http: Arc<Http>,
    (model, options): (String, HttpOptions),
    post: impl FnOnce() -> Result<Post, CallError> + Send + 'static,
    reader: R,
) -> ProviderStream {
    let started = async move { Ok(read(http.send(Post { options, ..post()? })?, reader)) };
    let sealed = move |event| match event {
        ProviderEvent::ThinkingSignature(sealed) => ProviderEvent::ThinkingSignature(by(&model, &sealed)),
        ProviderEvent::RedactedThinking(sealed) => ProviderEvent::RedactedThinking(by(&model, &sealed)),
        event @ (ProviderEvent::Text(_)
        | ProviderEvent::Thinking(_)
        | ProviderEvent::ToolCallStarted { .. }
        | ProviderEvent::ToolInput { .. }
        | ProviderEvent::Usage(_)
        | ProviderEvent::Finished(_)) => event,
    };
    Box::pin(stream::once(started).try_flatten().map_ok(sealed))
}

/// The answer in `bytes`.
pub(crate) fn read<R, S, B>(
    bytes: S,
    reader: R,
) -> impl Stream<Item = Result<ProviderEvent, CallError>> + Send + use<R, S, B>
where
    R: Reader,
    S: Stream<Item = Result<B, CallError>> + Send + Unpin,
    B: AsRef<[u8]> + Send + Unpin,
{
    let padding = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&padding);
    let bytes = bytes.map(move |bytes| {
        let bytes = bytes?;
        let length = bytes.as_ref().len();
        if counted.fetch_add(length, Ordering::Relaxed) + length > MOST_PADDING {
            let megabytes = MOST_PADDING >> 20;
            return Err(CallError::over_bounds(format!("the provider sent {megabytes} MB without an answer")));
        }
        Ok(bytes)
    });
    let source = sse::events(bytes);
    let answer = Answer { source, reader, read: Events::new(), begun: false, over: false, padding };
    stream::unfold(answer, Answer::step)
}

/// Most bytes in a row that bring nothing: comments, pings, empty pieces, blanks between events. The largest event is
/// smaller.
const MOST_PADDING: usize = 16 << 20;

/// Whether an answer has more than it had.
fn brings_something(event: &ProviderEvent) -> bool {
    match event {
        ProviderEvent::Text(text)
        | ProviderEvent::Thinking(text)
        | ProviderEvent::ThinkingSignature(text)
        | ProviderEvent::RedactedThinking(text)
        | ProviderEvent::ToolInput { partial_json: text, .. } => !text.is_empty(),
        ProviderEvent::ToolCallStarted { .. } | ProviderEvent::Finished(_) => true,
        ProviderEvent::Usage(_) => false,
    }
}

struct Answer<S, R> {
    source: S,
    reader: R,
    read: Events,
    /// Whether a piece of the answer has been passed on, so that a retry would say it twice.
    begun: bool,
    over: bool,
    /// Bytes since something came.
    padding: Arc<AtomicUsize>,
}

impl<S, R> Answer<S, R>
where
    S: Stream<Item = Result<SseEvent, CallError>> + Send + Unpin,
    R: Reader,
{
    async fn step(mut self) -> Option<(Result<ProviderEvent, CallError>, Self)> {
        let item = self.next().await?;
        Some((item, self))
    }

    async fn next(&mut self) -> Option<Result<ProviderEvent, CallError>> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.begun |= !matches!(event, ProviderEvent::Usage(_));
                if brings_something(&event) {
                    self.padding.store(0, Ordering::Relaxed);
                }
                if matches!(event, ProviderEvent::Finished(_)) {
                    self.over = true;
                    self.read.clear();
                }
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            let failed = match self.source.next().await {
                Some(Ok(event)) => self.reader.read(&event, &mut self.read).err(),
                Some(Err(error)) => {
                    self.over = true;
                    return Some(self.broken(error));
                }
                None => {
                    self.over = true;
                    self.reader.end(&mut self.read);
                    if !self.read.is_empty() {
                        continue;
                    }
                    return Some(self.broken(CallError {
                        category: ErrorCategory::Transient,
                        code: "connection_lost".to_owned(),
                        message: format!("the connection ended before {}", R::END_MARKER),
                        status: None,
                        retry_after_ms: None,
                    }));
                }
            };
            if let Some(error) = failed {
                self.over = true;
                self.read.clear();
                return Some(Err(error));
            }
        }
    }

    /// A connection that broke: once something has been said, the answer is cut short; before that the call failed
    /// and can be tried again. A silence is always a failure, because nobody knows whether more would have come.
    fn broken(&self, error: CallError) -> Result<ProviderEvent, CallError> {
        if self.begun && error.code == "connection_lost" {
            Ok(ProviderEvent::Finished(StopReason::Truncated { detail: error.message }))
        } else {
            Err(error)
        }
    }
}
