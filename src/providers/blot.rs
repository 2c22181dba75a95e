//! Taking a key out of what its own provider answers: a server that echoes it, whole, in parts or in another case, must not
//! bring it into a log or onto a screen.
//!
//! A run of [`RUN`] letters of the key counts as the key, wherever in it the run stands, however the answer is cut into
//! pieces, and in base64 too. Text is passed on at once; only an ending of [`HELD_FROM`] letters and more that stands in
//! the key waits for the next piece. Less than a run says nothing: keys of one vendor begin alike.

use crate::domain::event::{CallError, StopReason};
use crate::domain::{OpenHeaders, WireForm};
use crate::ports::{CallRequest, Counting, EncodedRequest, Provider, ProviderEvent, ProviderStream};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use futures_util::stream::{self, StreamExt};
use secrecy::{ExposeSecret, SecretString};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// What stands where a key was.
pub(super) const BLOT: &str = "[key]";

/// So many letters of a key in a row are the key. A shorter key (`none`, for a local server) is no secret.
pub(super) const RUN: usize = 8;

/// Shorter keys stay in answers: they are words for servers that want any key, and an answer may well say them.
const SECRET_IN_ANSWERS: usize = 16;

/// From so many letters on, an ending that stands in the key is held back. Fewer are passed on: most words end in letters of a
/// key, and what is held back is not on the screen while a model thinks.
const HELD_FROM: usize = 4;

/// Finds runs of one key. Knows them by hashes and by letters in lower case.
#[derive(Clone)]
pub(super) struct Blot {
    /// The key and its other forms in lower case.
    forms: Vec<Vec<u8>>,
    /// Each run of a form as a number, in order.
    runs: Vec<u64>,
    /// Tells most numbers that are none of `runs` without a search.
    filter: [u64; 16],
    /// Each [`HELD_FROM`] letters of a form as a number, in order.
    begun: Vec<u64>,
}

impl fmt::Debug for Blot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Blot")
    }
}

fn place(run: u64) -> (usize, u32) {
    let hash = run.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
    (usize::try_from(hash >> 6).unwrap_or(0), u32::try_from(hash & 63).unwrap_or(0))
}

impl Blot {
    /// None for a key that is no secret.
    pub(super) fn new(key: &SecretString) -> Option<Self> {
        let key = key.expose_secret().trim();
        if key.len() < RUN || !key.is_ascii() {
            return None;
        }
        let mut forms = vec![key.as_bytes().to_ascii_lowercase()];
        // Base64 of a longer text that holds the key looks in one of three ways; the ends depend on what is around.
        for before in 0..3 {
            let padded = [vec![b' '; before], key.as_bytes().to_vec()].concat();
            let coded = STANDARD_NO_PAD.encode(padded).to_ascii_lowercase().into_bytes();
            let inner = coded.get(if before == 0 { 0 } else { before + 1 }..coded.len().saturating_sub(2));
            forms.extend(inner.map(<[u8]>::to_vec));
        }
        let numbers = |length: usize| {
            let mut numbers: Vec<u64> = forms.iter().flat_map(|form| form.windows(length).map(number)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        let (runs, begun) = (numbers(RUN), numbers(HELD_FROM));
        let mut filter = [0; 16];
        for run in &runs {
            let (word, bit) = place(*run);
            if let Some(word) = filter.get_mut(word) {
                *word |= 1 << bit;
            }
        }
        Some(Self { forms, runs, filter, begun })
    }

    /// The same for answers.
    pub(super) fn of_answers(key: &SecretString) -> Option<Self> {
        if key.expose_secret().trim().len() < SECRET_IN_ANSWERS { None } else { Self::new(key) }
    }

    /// `text` without the key.
    pub(super) fn clean(&self, text: String) -> String {
        let mut piece = Piece::default();
        let mut cleaned = piece.push(self, text);
        cleaned.push_str(&piece.finish());
        cleaned
    }

    fn is_run(&self, run: u64) -> bool {
        let (word, bit) = place(run);
        self.filter.get(word).is_some_and(|word| word >> bit & 1 == 1) && self.runs.binary_search(&run).is_ok()
    }

    /// How many of the last bytes, of which `seen` count, may be the beginning of a run.
    fn open_end(&self, last: u64, seen: usize) -> usize {
        // Whatever is longer ends in these.
        if self.begun.binary_search(&(last & u64::from(u32::MAX))).is_err() {
            return 0;
        }
        let bytes = last.to_be_bytes();
        let may_begin = |length: &usize| {
            let end = bytes.get(RUN - length..).unwrap_or_default();
            self.forms.iter().any(|form| form.windows(*length).any(|part| part == end))
        };
        (HELD_FROM..RUN.min(seen + 1)).rev().find(may_begin).unwrap_or(0)
    }
}

fn number(run: &[u8]) -> u64 {
    run.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What masked forms of a key go on with.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*')
}

/// Text in pieces, on its way.
#[derive(Debug, Default)]
struct Piece {
    /// Held back.
    held: String,
    /// The last eight bytes in lower case, and how many of them there are.
    last: u64,
    seen: usize,
    /// Whether what comes next may still belong to a key that was found.
    inside: bool,
}

impl Piece {
    /// What can be passed on now that `text` has come.
    fn push(&mut self, blot: &Blot, text: String) -> String {
        let whole = if self.held.is_empty() { text } else { std::mem::take(&mut self.held) + &text };
        // What was held is looked at again, so that it does not count twice.
        let before = (self.last, self.seen);
        let hit = |last: u64, seen: usize| seen >= RUN && blot.is_run(last);
        let (mut last, mut seen) = (self.last, self.seen);
        let clean = !self.inside
            && whole.bytes().all(|byte| {
                (last, seen) = (last << 8 | u64::from(byte.to_ascii_lowercase()), seen + 1);
                !hit(last, seen)
            });
        let mut kept = if clean {
            (self.last, self.seen) = (last, seen);
            whole
        } else {
            (self.last, self.seen) = before;
            self.blotted(&whole, hit)
        };
        if !self.inside {
            // Some of them may have been passed on already.
            let open = blot.open_end(self.last, self.seen).min(kept.len());
            if open > 0 {
                self.held = kept.split_off(kept.len() - open);
                // They come again with the next piece.
                (self.last, self.seen) = (self.last >> (8 * open), self.seen.saturating_sub(open));
            }
        }
        kept
    }

    fn blotted(&mut self, text: &str, hit: impl Fn(u64, usize) -> bool) -> String {
        let mut kept: Vec<u8> = Vec::with_capacity(text.len());
        for byte in text.bytes() {
            (self.last, self.seen) = (self.last << 8 | u64::from(byte.to_ascii_lowercase()), self.seen + 1);
            if hit(self.last, self.seen) {
                if !std::mem::replace(&mut self.inside, true) {
                    kept.truncate(kept.len().saturating_sub(RUN - 1));
                    kept.extend_from_slice(BLOT.as_bytes());
                }
            } else if self.inside && is_of_word(byte) {
            } else {
                if std::mem::take(&mut self.inside) {
                    // What was taken out is no part of another run.
                    (self.last, self.seen) = (u64::from(byte.to_ascii_lowercase()), 1);
                }
                kept.push(byte);
            }
        }
        // Only whole letters were taken out.
        String::from_utf8(kept).unwrap_or_default()
    }

    /// What was held back, as nothing more comes.
    fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        *self = Self::default();
        held
    }
}

/// A provider whose answers are looked over for its key.
pub(super) struct Blotted {
    inner: Arc<dyn Provider>,
    blot: Blot,
}

impl Blotted {
    pub(super) fn new(inner: Arc<dyn Provider>, blot: Blot) -> Self {
        Self { inner, blot }
    }
}

impl Provider for Blotted {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn endpoint(&self) -> String {
        self.inner.endpoint()
    }

    fn headers(&self) -> OpenHeaders {
        self.inner.headers()
    }

    fn count(&self, request: CallRequest) -> Option<Counting> {
        let (counting, blot) = (self.inner.count(request)?, self.blot.clone());
        Some(Box::pin(async move { counting.await.map_err(|error| told(&blot, error)) }))
    }

    fn form(&self) -> WireForm {
        self.inner.form()
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        self.inner.encode(request)
    }

    fn send(&self, request: EncodedRequest) -> ProviderStream {
        let answer = Answer {
            inner: self.inner.send(request),
            blot: self.blot.clone(),
            part: Part::Text,
            piece: Piece::default(),
            ready: VecDeque::new(),
        };
        Box::pin(stream::unfold(answer, Answer::step))
    }
}

/// Which text of an answer is under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Text,
    Thinking,
    Input(u32),
}

impl Part {
    fn event(self, text: String) -> ProviderEvent {
        match self {
            Self::Text => ProviderEvent::Text(text),
            Self::Thinking => ProviderEvent::Thinking(text),
            Self::Input(index) => ProviderEvent::ToolInput { index, partial_json: text },
        }
    }
}

type Item = Result<ProviderEvent, CallError>;

struct Answer {
    inner: ProviderStream,
    blot: Blot,
    part: Part,
    piece: Piece,
    ready: VecDeque<Item>,
}

impl Answer {
    async fn step(mut self) -> Option<(Item, Self)> {
        while self.ready.is_empty() {
            let Some(item) = self.inner.next().await else {
                self.close();
                break;
            };
            self.take(item);
        }
        Some((self.ready.pop_front()?, self))
    }

    fn take(&mut self, item: Item) {
        match item {
            Ok(ProviderEvent::Text(text)) => self.more(Part::Text, text),
            Ok(ProviderEvent::Thinking(text)) => self.more(Part::Thinking, text),
            Ok(ProviderEvent::ToolInput { index, partial_json }) => self.more(Part::Input(index), partial_json),
            // Says nothing about where the text is.
            Ok(usage @ ProviderEvent::Usage(_)) => self.ready.push_back(Ok(usage)),
            Ok(other) => {
                self.close();
                let other = self.cleaned(other);
                self.ready.push_back(Ok(other));
            }
            Err(error) => {
                self.close();
                self.ready.push_back(Err(told(&self.blot, error)));
            }
        }
    }

    fn more(&mut self, part: Part, text: String) {
        if part != self.part {
            self.close();
            self.part = part;
        }
        // An empty piece of input is one, too.
        let empty = text.is_empty();
        let text = self.piece.push(&self.blot, text);
        if empty || !text.is_empty() {
            self.ready.push_back(Ok(part.event(text)));
        }
    }

    /// The text under way is over.
    fn close(&mut self) {
        let held = self.piece.finish();
        if !held.is_empty() {
            self.ready.push_back(Ok(self.part.event(held)));
        }
    }

    fn cleaned(&self, event: ProviderEvent) -> ProviderEvent {
        let clean = |text: String| self.blot.clean(text);
        match event {
            ProviderEvent::ToolCallStarted { index, call_id, tool } => {
                let call_id = crate::domain::CallId(clean(call_id.0));
                ProviderEvent::ToolCallStarted { index, call_id, tool: clean(tool) }
            }
            ProviderEvent::Finished(StopReason::Truncated { detail }) => {
                ProviderEvent::Finished(StopReason::Truncated { detail: clean(detail) })
            }
            ProviderEvent::Finished(StopReason::Other { word }) => {
                ProviderEvent::Finished(StopReason::Other { word: clean(word) })
            }
            ProviderEvent::ThinkingSignature(text) => ProviderEvent::ThinkingSignature(clean(text)),
            ProviderEvent::RedactedThinking(text) => ProviderEvent::RedactedThinking(clean(text)),
            other @ (ProviderEvent::Text(_)
            | ProviderEvent::Thinking(_)
            | ProviderEvent::ToolInput { .. }
            | ProviderEvent::Usage(_)
            | ProviderEvent::Finished(_)) => other,
        }
    }
}

fn told(blot: &Blot, error: CallError) -> CallError {
    CallError { code: blot.clean(error.code), message: blot.clean(error.message), ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-ant-Api03-x7Gh2Kq9LmN4pQ8rSt";

    fn blot() -> Blot {
        Blot::new(&SecretString::from(KEY)).unwrap()
    }

    fn cut(from: usize, length: usize) -> String {
        KEY.chars().skip(from).take(length).collect()
    }

    fn in_pieces(text: &str, length: usize) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(length).map(|piece| piece.iter().collect()).collect()
    }

    fn streamed(text: &str, length: usize) -> String {
        let (blot, mut piece) = (blot(), Piece::default());
        let mut kept = String::new();
        for part in in_pieces(text, length) {
            kept.push_str(&piece.push(&blot, part));
        }
        kept + &piece.finish()
    }

    #[test]
    fn s09_a_key_is_found_in_parts_and_in_any_case_and_in_pieces() {
        let cases = [
            (format!("you sent {KEY}!"), "you sent [key]!".to_owned()),
            (format!("you sent {}!", KEY.to_uppercase()), "you sent [key]!".to_owned()),
            (format!("you sent {}***, no", cut(0, 8)), "you sent [key], no".to_owned()),
            (format!("ends in {}.", cut(KEY.len() - 8, 8)), "ends in [key].".to_owned()),
            (format!("{0} and {0}", cut(0, 12)), "[key] and [key]".to_owned()),
            (format!("漢字{KEY}漢字"), "漢字[key]漢字".to_owned()),
            (format!("seven: {}.", cut(0, 7)), format!("seven: {}.", cut(0, 7))),
            ("a task of sk- and s, nothing else".to_owned(), "a task of sk- and s, nothing else".to_owned()),
        ];
        for (text, expected) in cases {
            for length in 1..=text.chars().count() {
                let shown = streamed(&text, length);
                // The first letters of the key may have been passed on before they were many enough.
                let count = expected.matches("[key]").count();
                let extra = shown.chars().count() - expected.chars().count();
                assert_eq!(shown.matches("[key]").count(), count, "{text} in {length}: {shown}");
                assert!(extra < HELD_FROM * count.max(1), "{text} in {length}: {shown}");
                assert!(count > 0 || shown == expected, "{text} in {length}: {shown}");
            }
        }
    }

    #[test]
    fn s09_base64_of_a_key_is_found() {
        for around in ["", "a", "ab", "abc"] {
            let coded = STANDARD_NO_PAD.encode(format!("{around}{KEY}{around}"));
            let shown = streamed(&format!("token {coded} end"), 3);
            let left: String = coded.chars().skip(8).take(12).collect();
            assert!(shown.contains("[key]") && !shown.contains(&left), "{shown}");
        }
    }

    #[test]
    fn text_is_passed_on_at_once() {
        let (blot, mut piece) = (blot(), Piece::default());
        for text in ["plain words ", "one\n", "漢字 ", "A key api ", "x7 g "] {
            assert_eq!(piece.push(&blot, text.to_owned()), text);
        }
        assert_eq!(piece.push(&blot, "is sk-".to_owned()), "is sk-");
        assert_eq!(piece.push(&blot, "a".to_owned()), "");
        assert_eq!(piece.push(&blot, "sk".to_owned()), "ask");
    }

    #[test]
    fn a_short_key_is_no_secret() {
        assert!(Blot::new(&SecretString::from("none")).is_none());
        assert!(Blot::of_answers(&SecretString::from("lm-studio")).is_none());
        assert!(!format!("{:?}", blot()).contains("sk"));
    }
}
