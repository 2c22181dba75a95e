//! Bytes become server-sent events, whatever way they are cut, as WHATWG's HTML says (§9.2, "Server-sent events").
//!
//! Bytes that are no UTF-8 become `U+FFFD`. An event that the end of the stream cuts short is not reported, so whoever needs
//! to know that an answer is whole must look for its end marker. An event that never ends is an error.

use crate::domain::event::CallError;
use futures_util::stream::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Most bytes of one event, comments between its lines included. A provider's largest is a whole answer in one piece: as much
/// as an answer may have, and what comes with it.
const LARGEST: usize = 12 << 20;

/// One event. Ids and times to try again after are for those that connect again by themselves, which costs money here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// `message`, where the stream does not say.
    pub event: String,
    pub data: String,
}

/// The events of `bytes`. Errors of the source pass through, and the stream ends where the source ends.
pub(crate) fn events<S>(bytes: S) -> SseEvents<S> {
    SseEvents { source: bytes, framing: Framing::new(LARGEST) }
}

#[derive(Debug)]
pub(crate) struct SseEvents<S> {
    source: S,
    framing: Framing,
}

impl<S, B> Stream for SseEvents<S>
where
    S: Stream<Item = Result<B, CallError>> + Unpin,
    B: AsRef<[u8]>,
{
    type Item = Result<SseEvent, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { source, framing } = &mut *self;
        loop {
            if let Some(event) = framing.whole.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if framing.size + framing.line.len() > framing.largest {
                let detail = format!("the provider sent an event of more than {} MB", framing.largest >> 20);
                return Poll::Ready(Some(Err(CallError::over_bounds(detail))));
            }
            match ready!(Pin::new(&mut *source).poll_next(context)) {
                Some(Ok(bytes)) => framing.take(bytes.as_ref()),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// What has been read of a stream.
#[derive(Debug)]
struct Framing {
    /// Most bytes of one event.
    largest: usize,
    /// Events that nobody has taken yet.
    whole: VecDeque<SseEvent>,
    /// What the event whose lines come is called.
    event: String,
    /// Its lines so far; `None` before the first.
    data: Option<String>,
    /// The bytes of those lines and of comments among them.
    size: usize,
    /// The beginning of a line.
    line: Vec<u8>,
    /// The last byte was a `\r`: a `\n` now is the second half of that line's end.
    after_return: bool,
    /// Nothing was read: a byte order mark may come.
    is_first: bool,
}

impl Framing {
    fn new(largest: usize) -> Self {
        let (whole, event, line) = (VecDeque::new(), String::new(), Vec::new());
        Self { largest, whole, event, data: None, size: 0, line, after_return: false, is_first: true }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(bytes);
                return;
            };
            let (line, rest) = bytes.split_at(end);
            self.after_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.read(line);
            } else {
                self.line.extend_from_slice(line);
                let mut line = std::mem::take(&mut self.line);
                self.read(&line);
                line.clear();
                self.line = line;
            }
        }
    }

    fn read(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let mark = if std::mem::take(&mut self.is_first) { "\u{feff}" } else { "" };
        let line = line.strip_prefix(mark).unwrap_or(&line);
        if line.is_empty() {
            self.end();
            return;
        }
        self.size += line.len() + 1;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => data.extend(["\n", value]),
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.event),
            _ => {}
        }
    }

    /// An empty line ends the event.
    fn end(&mut self) {
        let event = std::mem::take(&mut self.event);
        self.size = 0;
        if let Some(data) = self.data.take() {
            let event = if event.is_empty() { "message".to_owned() } else { event };
            self.whole.push_back(SseEvent { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream::StreamExt;
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
            let source = pieces.iter().map(|piece| Ok(piece.as_bytes().to_vec()));
            let events = SseEvents { source: futures_util::stream::iter(source), framing: Framing::new(20) };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(events.take(3).map(|event| event.is_ok()).collect())
        };
        assert!(!told(&["data: a", "aaaaaaaaaaaaaaaaaaaa", "never"])[0]);
        assert!(!told(&["data: aaaaa\n", "data: aaaaa\n", "never"])[0]);
        assert!(!told(&[": a\n"; 6])[0]);
        let three = told(&["data: aaaaa\n\n", "data: aaaaa\r\n\r\n", "data: aaaaa\n", "\n", "x"]);
        assert_eq!(three, [true; 3]);
        assert_eq!(told(&["data: a\n\n", "data: aaaaaaaaaaaaaaaaaaaaa"])[..2], [true, false]);
    }

    #[test]
    fn the_stream_is_read_as_the_standard_says() {
        let marked = b"\xef\xbb\xbfevent: one\nevent: two\ndata\nodd: line\nnothing\ndata:  x\nretry: soon\n\n\n";
        let nameless = b"event: lost\n\ndata: y\n\n";
        let expected = [("two".into(), "\n x".into()), ("message".into(), "y".into())];
        assert_eq!(read(&[&marked[..], nameless].concat(), &[]), expected);
        // One mark is none of the text; a second is.
        assert_eq!(read(b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\ndata: y\n\n", &[]), [("message".into(), "y".into())]);
    }

    proptest! {
        #[test]
        fn every_cut_gives_the_same_events(cuts in proptest::collection::vec(0_usize..200, 0..20)) {
            let bytes = "event: a\r\ndata: größe 🦀\r\n\r\n: note\n\ndata: 1\ndata: 2\n\nevent: z\ndata: €\n\n".as_bytes();
            prop_assert_eq!(read(bytes, &cuts), read(bytes, &[]));
        }
    }
}
