//! Bytes become server-sent events, whatever way they are cut.
//!
//! Framing is the `eventsource-stream` crate's. Before it, bytes become text here: a letter cut in two waits for its
//! other half, bytes that are no UTF-8 become `U+FFFD` (the crate would hold back everything after them), and large
//! batches pass in pieces (the crate copies its whole buffer for every line). An event that the end of the stream cuts
//! short is not reported, so whoever needs to know that an answer is whole must look for its end marker.

use crate::domain::event::CallError;
use eventsource_stream::{EventStream, EventStreamError};
use futures_util::stream::{Stream, StreamExt};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub(crate) use eventsource_stream::Event as SseEvent;

/// Bytes handed to the framing at once: small enough to copy per line, large enough to hold most lines.
const PIECE: usize = 1024;

/// The events of `bytes`. Errors of the source pass through, and the stream ends where the source ends.
pub(crate) fn events<S, B>(bytes: S) -> impl Stream<Item = Result<SseEvent, CallError>> + Send + Unpin
where
    S: Stream<Item = Result<B, CallError>> + Send + Unpin,
    B: AsRef<[u8]> + Send + Unpin,
{
    EventStream::new(Texts { source: bytes, batch: String::new(), given: 0, tail: Vec::new() }).map(|event| {
        event.map_err(|error| match error {
            EventStreamError::Transport(error) => error,
            EventStreamError::Utf8(error) => super::http::protocol_error(&error.to_string()),
            EventStreamError::Parser(error) => super::http::protocol_error(&error.to_string()),
        })
    })
}

/// Whole letters out of any bytes, in pieces of about [`PIECE`].
struct Texts<S> {
    source: S,
    /// Decoded text, of which the first `given` bytes have been passed on.
    batch: String,
    given: usize,
    /// The beginning of a letter whose other bytes have not come: three bytes at most.
    tail: Vec<u8>,
}

impl<S, B> Stream for Texts<S>
where
    S: Stream<Item = Result<B, CallError>> + Unpin,
    B: AsRef<[u8]>,
{
    type Item = Result<String, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(piece) = this.piece() {
                return Poll::Ready(Some(Ok(piece)));
            }
            match ready!(Pin::new(&mut this.source).poll_next(context)) {
                Some(Ok(bytes)) => this.decode(bytes.as_ref()),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<S> Texts<S> {
    fn piece(&mut self) -> Option<String> {
        let left = self.batch.len() - self.given;
        if left == 0 {
            return None;
        }
        if self.given == 0 && left <= PIECE {
            return Some(std::mem::take(&mut self.batch));
        }
        let end = self.batch.ceil_char_boundary((self.given + PIECE).min(self.batch.len()));
        let piece = self.batch.get(self.given..end).unwrap_or_default().to_owned();
        self.given = end;
        if end == self.batch.len() {
            self.batch.clear();
            self.given = 0;
        }
        Some(piece)
    }

    /// Appends `bytes` to the batch, which is empty.
    fn decode(&mut self, bytes: &[u8]) {
        let joined;
        let bytes = if self.tail.is_empty() {
            bytes
        } else {
            let mut all = std::mem::take(&mut self.tail);
            all.extend_from_slice(bytes);
            joined = all;
            &joined
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.batch.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let unfinished =
                chunks.peek().is_none() && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if unfinished {
                self.tail = invalid.to_vec();
            } else {
                self.batch.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The events' data when `bytes` come in pieces that end at `cuts`.
    fn read(bytes: &[u8], cuts: &[usize]) -> Vec<(String, String)> {
        let mut pieces = Vec::new();
        let mut start = 0;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        for cut in cuts {
            pieces.push(Ok(bytes[start..cut].to_vec()));
            start = cut;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(
            events(futures_util::stream::iter(pieces))
                .map(|event| event.map(|event| (event.event, event.data)).unwrap())
                .collect(),
        )
    }

    #[test]
    fn fields_comments_and_several_lines() {
        let read = read(b": hello\n\nevent: ping\ndata: {}\n\ndata:a\r\ndata: b\r\nid: 1\r\n\r\ndata: cut off", &[]);
        assert_eq!(read, [("ping".into(), "{}".into()), ("message".into(), "a\nb".into())]);
    }

    #[test]
    fn bytes_that_are_no_text_cost_only_themselves() {
        let read = read(b"data: a\xffb\n\ndata: \xe2\x82\n\ndata: c\n\n", &[]);
        assert_eq!(read.iter().map(|(_, data)| data.as_str()).collect::<Vec<_>>(), ["a\u{fffd}b", "\u{fffd}", "c"]);
    }

    #[test]
    fn a_line_longer_than_a_piece_stays_whole() {
        let long = "é€".repeat(20_000);
        assert_eq!(read(format!("data: {long}\n\n").as_bytes(), &[7, 4_001])[0].1, long);
    }

    proptest! {
        #[test]
        fn every_cut_gives_the_same_events(cuts in proptest::collection::vec(0_usize..200, 0..20)) {
            let bytes = "event: a\r\ndata: größe 🦀\r\n\r\n: note\n\ndata: 1\ndata: 2\n\nevent: z\ndata: €\n\n".as_bytes();
            prop_assert_eq!(read(bytes, &cuts), read(bytes, &[]));
        }
    }
}
