//! Doors for the fuzzer (`scripts/fuzz`) to what reads answers; not in the program.

use super::answer::{self, Reader};
use super::text_calls::calls_in;
use super::{anthropic, gemini, openai_chat, openai_responses, sse};
use crate::domain::event::CallError;
use crate::ports::ProviderEvent;
use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};

/// Reads server-sent events whole and byte by byte; both must say the same.
///
/// # Panics
/// When they do not, or the reading hangs.
pub fn sse(bytes: &[u8]) {
    let events = |piece: usize| -> Vec<_> {
        let all = sse::events(pieces(bytes, piece)).map(|event| event.map(|event| (event.event, event.data)));
        all.collect::<Vec<_>>().now_or_never().expect("a source that never waits makes no reader wait")
    };
    assert_eq!(events(usize::MAX), events(1));
}

/// Reads an answer of the wire form that the first byte chooses.
///
/// # Panics
/// When it has no end or goes on after it, or differs by where it is cut.
pub fn answer(bytes: &[u8]) {
    let Some((form, bytes)) = bytes.split_first() else { return };
    match form % 5 {
        0 => check(bytes, anthropic::reader),
        1 => check(bytes, openai_chat::reader),
        2 => check(bytes, openai_responses::reader),
        3 => check(bytes, gemini::reader),
        _ => calls_in(&String::from_utf8_lossy(bytes)),
    }
}

fn check<R: Reader>(bytes: &[u8], reader: impl Fn() -> R) {
    let read = |piece: usize| -> Vec<Result<ProviderEvent, CallError>> {
        let all = answer::read(pieces(bytes, piece), reader()).collect::<Vec<_>>();
        all.now_or_never().expect("a source that never waits makes no reader wait")
    };
    let whole = read(usize::MAX);
    let (last, before) = whole.split_last().expect("an answer has an end");
    assert!(matches!(last, Ok(ProviderEvent::Finished(_)) | Err(_)), "{last:?}");
    assert!(before.iter().all(|event| matches!(event, Ok(event) if !matches!(event, ProviderEvent::Finished(_)))));
    assert_eq!(whole, read(3));
}

fn pieces(bytes: &[u8], size: usize) -> impl Stream<Item = Result<&[u8], CallError>> + Send + Unpin {
    stream::iter(bytes.chunks(size.min(bytes.len().max(1))).map(Ok))
}
