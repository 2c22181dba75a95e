//! Bytes become server-sent events, whatever way they are cut.
//!
//! Framing is the `eventsource-stream` crate's. Before it, bytes become text here: a letter cut in two waits for its
//! other half, bytes that are no UTF-8 become `U+FFFD` (the crate would hold back everything after them), and text passes in
//! small pieces of whole lines (the crate copies its whole buffer for every line, and reads the beginning of a line again
//! with every piece of it). An event that the end of the stream cuts short is not reported, so whoever needs to know that an
//! answer is whole must look for its end marker. An event that never ends is an error.

use crate::domain::event::CallError;
use eventsource_stream::{EventStream, EventStreamError};
use futures_util::stream::{Stream, StreamExt};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub(crate) use eventsource_stream::Event as SseEvent;

/// Bytes handed to the framing at once, where lines are shorter: small enough to copy per line.
const PIECE: usize = 1024;

/// Most bytes of one event. A provider's largest is a whole answer in one piece: as much as an answer may have, and what
/// comes with it.
const LARGEST: usize = 12 << 20;

/// The events of `bytes`. Errors of the source pass through, and the stream ends where the source ends.
pub(crate) fn events<S, B>(bytes: S) -> impl Stream<Item = Result<SseEvent, CallError>> + Send + Unpin
where
    S: Stream<Item = Result<B, CallError>> + Send + Unpin,
    B: AsRef<[u8]> + Send + Unpin,
{
    EventStream::new(Texts::new(bytes, LARGEST)).map(|event| {
        event.map_err(|error| match error {
            EventStreamError::Transport(error) => error,
            EventStreamError::Utf8(error) => super::http::protocol_error(&error.to_string()),
            EventStreamError::Parser(error) => super::http::protocol_error(&error.to_string()),
        })
    })
}

/// Whole lines out of any bytes, in pieces of about [`PIECE`].
struct Texts<S> {
    source: S,
    /// Most bytes without an empty line.
    largest: usize,
    /// Decoded text, of which the first `given` bytes have been passed on and the first `whole` are whole lines.
    batch: String,
    given: usize,
    whole: usize,
    /// The beginning of a letter whose other bytes have not come: three bytes at most.
    tail: Vec<u8>,
    /// Bytes passed on since an empty line ended an event.
    event: usize,
    /// The last piece ended between the two signs of a line's end.
    after_return: bool,
}

const LINE_ENDS: [char; 2] = ['\n', '\r'];

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
                if piece.is_empty() {
                    continue;
                }
                return Poll::Ready(Some(Ok(piece)));
            }
            if this.event + this.batch.len() > this.largest {
                let detail = format!("the provider sent an event of more than {} MB", this.largest >> 20);
                return Poll::Ready(Some(Err(CallError::over_bounds(detail))));
            }
            match ready!(Pin::new(&mut this.source).poll_next(context)) {
                Some(Ok(bytes)) => this.take(bytes.as_ref()),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<S> Texts<S> {
    fn new(source: S, largest: usize) -> Self {
        Self {
            source,
            largest,
            batch: String::new(),
            given: 0,
            whole: 0,
            tail: Vec::new(),
            event: 0,
            after_return: false,
        }
    }

    /// The next lines: as many as fit, and one at least. Afterwards only the beginning of a line is left.
    fn piece(&mut self) -> Option<String> {
        let lines = self.batch.get(self.given..self.whole).filter(|lines| !lines.is_empty())?;
        let most = lines.floor_char_boundary(PIECE);
        let fitting = lines.get(..most).and_then(|lines| lines.rfind(LINE_ENDS));
        let end = fitting.or_else(|| lines.find(LINE_ENDS)).map_or(lines.len(), |at| at + 1);
        let piece = lines.get(..end).unwrap_or(lines).to_owned();
        self.given += piece.len();
        if self.given == self.whole {
            drop(self.batch.drain(..self.whole));
            (self.given, self.whole) = (0, 0);
        }
        let after_return = std::mem::replace(&mut self.after_return, piece.ends_with('\r'));
        let blank = piece.starts_with(LINE_ENDS) && !(after_return && piece.starts_with('\n'));
        let ends = blank || ["\n\n", "\r\n\r\n", "\r\r"].iter().any(|end| piece.contains(end));
        self.event = if ends { 0 } else { self.event + piece.len() };
        Some(without_padding(piece, after_return))
    }

    fn take(&mut self, bytes: &[u8]) {
        let known = self.batch.len();
        self.decode(bytes);
        let fresh = self.batch.get(known..).unwrap_or_default();
        if let Some(at) = fresh.rfind(LINE_ENDS) {
            self.whole = known + at + 1;
        }
    }

    /// Appends `bytes` to the batch.
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

/// Whole lines without comments, and one blank line in the place of many: the framing takes long over each line. Behind a
/// line that ended with a `\r`, of a comment its sign and its end stay: what follows may begin with a `\n`, which would be
/// taken for the second half of that end.
fn without_padding(piece: String, after_return: bool) -> String {
    // However the line before ended, there is a blank line in three ends.
    if piece.len() > 2 && piece.bytes().all(|byte| matches!(byte, b'\n' | b'\r')) {
        return "\n\n".to_owned();
    }
    if !piece.starts_with(':') && !piece.contains("\n:") {
        return piece;
    }
    let says_something = |line: &&str| !line.starts_with(':') || line.contains('\r');
    let first = piece.split_inclusive('\n').next().unwrap_or_default();
    let kept = if after_return && !says_something(&first) { ":\n" } else { "" };
    std::iter::once(kept).chain(piece.split_inclusive('\n').filter(says_something)).collect()
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
    fn a_comment_behind_a_bare_return_swallows_no_blank_line() {
        let bytes = b"data: a\r: c\n\nx\n";
        let every: Vec<usize> = (0..bytes.len()).collect();
        let whole = [("message".to_owned(), "a".to_owned())];
        assert_eq!(read(bytes, &[]), whole);
        assert_eq!(read(bytes, &every), whole);
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

    #[test]
    fn lines_may_end_in_three_ways() {
        let expected = [("message".to_owned(), "a\nb".to_owned()), ("message".to_owned(), "c".to_owned())];
        for end in ["\n", "\r\n", "\r"] {
            let text = "data: a|data: b||data: c||: more|".replace('|', end);
            for size in 1..4 {
                let cuts: Vec<usize> = (0..text.len()).step_by(size).collect();
                assert_eq!(read(text.as_bytes(), &cuts), expected, "{end:?} {size}");
            }
        }
    }

    /// Also a test that a long line takes no time: read again with every packet, this one would take minutes.
    #[test]
    fn a_line_of_megabytes_in_small_packets_stays_whole() {
        let long = "x".repeat(8 << 20);
        let text = format!("data: {long}\n\ndata: next\n\n");
        let cuts: Vec<usize> = (0..text.len()).step_by(1_400).collect();
        let read = read(text.as_bytes(), &cuts);
        assert!(read[0].1 == long && read[1].1 == "next");
    }

    #[test]
    fn an_event_without_an_end_is_an_error() {
        let told = |pieces: &[&str]| -> Vec<bool> {
            let pieces: Vec<Result<Vec<u8>, CallError>> =
                pieces.iter().map(|piece| Ok(piece.as_bytes().to_vec())).collect();
            let texts = Texts::new(futures_util::stream::iter(pieces), 20);
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(texts.take(6).map(|text| text.is_ok()).collect())
        };
        assert_eq!(told(&["data: a", "aaaaaaaaaaaaaaaaaaaa", "never"]).first(), Some(&false));
        assert_eq!(told(&["data: aaaaa\n", "data: aaaaa\n", "x"])[..3], [true, true, false]);
        assert_eq!(told(&["data: aaaaa\n\n", "data: aaaaa\r\n\r\n", "data: aaaaa\n", "\n", "x"]), [true; 4]);
    }

    proptest! {
        #[test]
        fn every_cut_gives_the_same_events(cuts in proptest::collection::vec(0_usize..200, 0..20)) {
            let bytes = "event: a\r\ndata: größe 🦀\r\n\r\n: note\n\ndata: 1\ndata: 2\n\nevent: z\ndata: €\n\n".as_bytes();
            prop_assert_eq!(read(bytes, &cuts), read(bytes, &[]));
        }
    }
}
