//! What a screen costs: update and view, without the terminal's output.

use divan::Bencher;
use levain::commands::{Key, KeyCode, Keymap};
use levain::domain::event::Delta;
use levain::domain::{Event, ModelRef, PromptEvent, Record, RequestEvent, ThreadId, Timestamp};
use levain::ui::{ColourDepth, Painter, Theme, view};
use levain::workbench::request::{LineKind, PageContent, SheetLine, View};
use levain::workbench::{LayerRow, Message, Model, Options, RequestShown, update};
use levain::worker::protocol::FromWorker;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const ANSWER: &str = "## Plan\n\nI'll run the **checks** first, then build with `cargo build` and look at what it says about the rest.\n\n\
1. lint everything\n2. test the whole program\n\n| step | takes |\n|---|--:|\n| lint | 12 s |\n\n\
```rust\nfn main() {\n    let answer = 42;\n    println!(\"{answer}\");\n}\n```\n\n";

struct Session {
    model: Model,
    painter: Painter,
    terminal: Terminal<TestBackend>,
}

fn thread() -> ThreadId {
    ThreadId::new("chat", 1)
}

impl Session {
    /// A connected thread with `bytes` of earlier answers.
    fn new(bytes: usize) -> Self {
        let (model, _) = Model::new(Options {
            directive: "chat".into(),
            model: ModelRef::new("a", "b"),
            model_is_scripted: false,
            project: "p".into(),
            screen: "s".into(),
            open: Some(thread()),
            size: (120, 40),
            keymap: Keymap::embedded(),
            now: Timestamp(0),
            themes: Vec::new(),
            theme: None,
            draft: None,
            by_name: false,
        });
        let painter = Painter::new(Painter::theme_for_background(false), ColourDepth::Sixteen);
        let terminal = Terminal::new(TestBackend::new(120, 40)).expect("a test terminal");
        let mut session = Self { model, painter, terminal };
        let mut newest = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let text = ANSWER.repeat(10);
            left = left.saturating_sub(text.len());
            newest.push(Record {
                timestamp: Timestamp(0),
                thread_id: thread(),
                event: Event::Prompt(PromptEvent::CognitionIn {
                    text: "go on".into(),
                    role: "user".into(),
                    prompt: None,
                    images: Vec::new(),
                    files: Vec::new(),
                }),
            });
            newest.push(Record {
                timestamp: Timestamp(0),
                thread_id: thread(),
                event: Event::Request(RequestEvent::CognitionOut {
                    message: levain::domain::Message::assistant(""),
                    text,
                    model: ModelRef::new("a", "b"),
                    request: 1,
                    stop: levain::domain::event::StopReason::EndTurn,
                    usage: levain::domain::Usage::default(),
                    spend: None,
                    elapsed_ms: 0,
                }),
            });
        }
        session.tell(Message::Opened { thread_id: thread(), newest, older: None, state: None, elsewhere: false });
        session.tell(Message::Connected { thread_id: thread() });
        session.draw();
        session
    }

    fn tell(&mut self, message: Message) {
        update(&mut self.model, &mut self.painter, message);
    }

    fn stream(&mut self, text: &str) {
        let delta = Delta::Text { text: text.to_owned() };
        self.tell(Message::Worker(thread(), FromWorker::Delta { request: 9, delta }));
    }

    /// Draws into the buffer and compares it with the one before, without writing anything out.
    fn draw(&mut self) {
        let (model, painter) = (&self.model, &mut self.painter);
        view(model, painter, self.terminal.current_buffer_mut());
        self.terminal.swap_buffers();
    }
}

fn main() {
    divan::main();
}

/// One frame while text streams at the end of a long answer.
#[divan::bench]
fn streaming_frame(bencher: Bencher<'_, '_>) {
    let mut session = Session::new(0);
    session.stream(&ANSWER.repeat(20));
    session.draw();
    bencher.bench_local(|| {
        session.stream("a few words ");
        session.draw();
    });
}

/// The same within a long code block.
#[divan::bench]
fn streaming_frame_in_code(bencher: Bencher<'_, '_>) {
    let mut session = Session::new(0);
    session.stream(&format!("```rust\n{}", "    let x = call(argument, another);\n".repeat(2_000)));
    session.draw();
    bencher.bench_local(|| {
        session.stream("    let x = 1;\n");
        session.draw();
    });
}

/// A letter typed and taken back, each with its frame, under one megabyte of transcript.
#[divan::bench(args = [0, 1_000_000])]
fn key_press(bencher: Bencher<'_, '_>, bytes: usize) {
    let mut session = Session::new(bytes);
    bencher.bench_local(|| {
        session.tell(Message::Key(Key::char('x')));
        session.draw();
        session.tell(Message::Key(Key::plain(KeyCode::Backspace)));
        session.draw();
    });
}

/// A page up and down in one megabyte.
#[divan::bench]
fn scroll_pages(bencher: Bencher<'_, '_>) {
    let mut session = Session::new(1_000_000);
    bencher.bench_local(|| {
        for code in [KeyCode::PageUp, KeyCode::PageUp, KeyCode::PageDown] {
            session.tell(Message::Key(Key::plain(code)));
            session.draw();
        }
    });
}

/// The context of a request with one layer of a megabyte, which is chosen.
fn context_of_a_megabyte() -> Session {
    let mut session = Session::new(0);
    let layer = |id: &str, text: &str| LayerRow { id: id.into(), text: text.into(), ..LayerRow::default() };
    let layers = vec![layer("small", "A rule."), layer("large", &"A rule of a few words.\n".repeat(1_000_000 / 23))];
    session.tell(Message::Key(Key::plain(KeyCode::F(4))));
    session.tell(Message::Request(Ok(Box::new(RequestShown { number: Some(1), layers, ..RequestShown::default() }))));
    session.draw();
    session
}

/// From layer to layer, each with its frame.
#[divan::bench]
fn keys_in_a_context_of_a_megabyte(bencher: Bencher<'_, '_>) {
    let mut session = context_of_a_megabyte();
    bencher.bench_local(|| {
        for key in ['j', 'J', 'J', 'k'] {
            session.tell(Message::Key(Key::char(key)));
            session.draw();
        }
    });
}

/// A page of a megabyte, scrolled and searched letter by letter.
#[divan::bench]
fn keys_in_a_page_of_a_megabyte(bencher: Bencher<'_, '_>) {
    let mut session = context_of_a_megabyte();
    let line = |number: usize| SheetLine::new(LineKind::Plain, format!("{number} A rule of a few words."));
    let (view, title) = (View::Text, "page".to_owned());
    let page =
        PageContent { view, title, lines: (0..1_000_000 / 28).map(line).collect(), copy: None, of: String::new() };
    session.tell(Message::Page(Ok(Box::new(page))));
    bencher.bench_local(|| {
        for letter in [' ', 'j', '/', '9', '9'] {
            session.tell(Message::Key(Key::char(letter)));
            session.draw();
        }
        session.tell(Message::Key(Key::plain(KeyCode::Enter)));
        session.draw();
    });
}

/// 250 KB in pieces of 4 KB, laid out after each.
#[divan::bench]
fn firehose(bencher: Bencher<'_, '_>) {
    let text = ANSWER.repeat(250_000 / ANSWER.len());
    let pieces: Vec<&str> =
        (0..text.len()).step_by(4_096).filter_map(|at| text.get(at..(at + 4_096).min(text.len()))).collect();
    bencher.with_inputs(|| Session::new(0)).bench_local_values(|mut session| {
        for piece in &pieces {
            session.stream(piece);
            session.draw();
        }
        session
    });
}

/// The same as one open code block.
#[divan::bench]
fn firehose_of_code(bencher: Bencher<'_, '_>) {
    let text = format!("```rust\n{}", "    let x = call(argument, another);\n".repeat(250_000 / 38));
    let pieces: Vec<&str> =
        (0..text.len()).step_by(4_096).filter_map(|at| text.get(at..(at + 4_096).min(text.len()))).collect();
    bencher.with_inputs(|| Session::new(0)).bench_local_values(|mut session| {
        for piece in &pieces {
            session.stream(piece);
            session.draw();
        }
        session
    });
}

/// The first frame of a long thread.
#[divan::bench]
fn open_a_megabyte(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| Session::new(1_000_000));
}

/// Reading a theme that came along, as at the start.
#[divan::bench]
fn read_a_theme() -> Option<Theme> {
    Theme::named("dark")
}
