//! What a turn and an opening cost, apart from network and screen. `cargo bench --bench engine`.

#![allow(clippy::expect_used, reason = "a bench that cannot go on fails")]

use divan::{Bencher, black_box};
use levain::domain::event::StopReason;
use levain::domain::{
    Event, Limits, Message, ModelRef, PromptEvent, Record, RequestEvent, ThreadEvent, ThreadId, ThreadKind, Timestamp,
    Usage,
};
use levain::engine::thread::{Thread, apply};
use levain::store::Layout;
use levain::store::log::{LogWriter, ThreadLog, read_backward, read_forward};
use std::sync::OnceLock;

fn main() {
    divan::main();
}

fn record(event: Event) -> Record {
    Record { timestamp: Timestamp(1_700_000_000_000), thread_id: ThreadId::new("chat", 1), event }
}

fn answer(request: u32) -> Event {
    let text = "An answer of some length, as they come. ".repeat(10);
    Event::Request(RequestEvent::CognitionOut {
        message: Message::assistant(text.clone()),
        text,
        model: ModelRef::new("scripted", "demo"),
        request,
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        spend: None,
        elapsed_ms: 10,
    })
}

/// A log of a million events, made once in the folder for temporary files.
fn long_log() -> &'static ThreadLog {
    static LOG: OnceLock<(tempfile::TempDir, ThreadLog)> = OnceLock::new();
    let (_, log) = LOG.get_or_init(|| {
        let (folder, layout) = project();
        let mut writer = writer(&layout);
        let line = record(Event::Thread(ThreadEvent::Notice { text: "one of very many".to_owned() }));
        for _ in 0..1_000_000 {
            writer.append(&line).expect("room");
        }
        (folder, layout.log(&thread()).expect("a log"))
    });
    log
}

fn thread() -> ThreadId {
    ThreadId::new("chat", 1)
}

fn project() -> (tempfile::TempDir, Layout) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let layout = Layout::new(folder.path(), &folder.path().join("state"));
    let _its_id = layout.claim_as(&thread()).expect("a thread");
    (folder, layout)
}

fn writer(layout: &Layout) -> LogWriter {
    let key = layout.own_key().expect("a key");
    LogWriter::open(layout.thread(&thread()).log(), &thread(), key).expect("a log").0
}

/// Target: 300 ms for the first page of a million events.
#[divan::bench]
fn last_page_of_a_million_events(bencher: Bencher<'_, '_>) {
    let log = long_log();
    bencher.bench(|| read_backward(log, None, 256 * 1024));
}

#[divan::bench]
fn replay_10_000_events(bencher: Bencher<'_, '_>) {
    let (_folder, layout) = project();
    let mut writer = writer(&layout);
    for number in 0..2_500 {
        let prompt = Event::Prompt(PromptEvent::CognitionIn {
            text: "a question".into(),
            role: "user".into(),
            prompt: None,
            images: Vec::new(),
            files: Vec::new(),
        });
        let model = ModelRef::new("scripted", "demo");
        let recorded = Event::Request(RequestEvent::RequestRecorded {
            request: number,
            turn: number,
            attempt: 1,
            model,
            tokens: levain::domain::Tokens(0),
        });
        for event in [prompt, recorded, answer(number), Event::Thread(ThreadEvent::Notice { text: "noted".into() })] {
            writer.append(&record(event)).expect("room");
        }
    }
    let log = layout.log(&thread()).expect("a log");
    bencher.bench(|| {
        let model = ModelRef::new("scripted", "demo");
        let mut thread =
            Thread::new(ThreadId::new("chat", 1), "levain/chat", ThreadKind::Interactive, model, Limits::default());
        let page = read_forward(&log, 0, u64::MAX).expect("the log");
        for record in page.into_records() {
            black_box(apply(&mut thread, &record));
        }
        thread
    });
}
