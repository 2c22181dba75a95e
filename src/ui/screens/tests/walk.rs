//! Random messages and sizes: whatever comes in whatever order, the screen draws and the invariants hold.

use super::*;
use crate::domain::{ControlEvent, PromptEvent, RequestEvent, SettingsEvent, ThreadEvent, ToolEvent};
use crate::workbench::{Level, PeekNews, Position, RequestShown};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Key(usize),
    Letter(char),
    Paste(String),
    Resize(u16, u16),
    Wheel(i32),
    Delta(u32, u8, String),
    Out(u32, u8),
    Event(u8),
    State(u8),
    Around(u8),
}

const KEYS: [&str; 58] = [
    "F4",
    "ctrl-p",
    "t",
    "w",
    "d",
    "m",
    "[",
    "]",
    "x",
    "e",
    "alt-s",
    "alt-i",
    "alt-q",
    "shift-tab",
    "J",
    "K",
    "o",
    "@",
    "enter",
    "alt-enter",
    "shift-enter",
    "esc",
    "ctrl-c",
    "ctrl-t",
    "ctrl-l",
    "F1",
    "F2",
    "ctrl-r",
    "up",
    "down",
    "left",
    "right",
    "pageup",
    "pagedown",
    "ctrl-home",
    "ctrl-end",
    "end",
    "home",
    "ctrl-o",
    "alt-t",
    "backspace",
    "ctrl-w",
    "ctrl-u",
    "ctrl-k",
    "ctrl-y",
    "ctrl-_",
    "alt-n",
    "tab",
    "alt-up",
    "/",
    "j",
    "k",
    "G",
    "g",
    "?",
    "ctrl-up",
    "alt-c",
    "delete",
];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..KEYS.len()).prop_map(Step::Key),
        3 => prop::sample::select(vec!['a', ' ', '漢', '/', '\u{301}', '\\', 'n']).prop_map(Step::Letter),
        1 => "[a\n\r漢\u{1b}]{0,30}".prop_map(Step::Paste),
        1 => Just(Step::Paste("x\n".repeat(40))),
        2 => (1u16..170, 1u16..50).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        2 => (-9i32..9).prop_map(Step::Wheel),
        4 => (1u32..5, 0u8..4, "[a-z #*`\n|-]{0,60}").prop_map(|(request, sort, text)| Step::Delta(request, sort, text)),
        1 => (1u32..5, 0u8..5).prop_map(|(request, sort)| Step::Out(request, sort)),
        3 => (0u8..16).prop_map(Step::Event),
        2 => (0u8..5).prop_map(Step::State),
        4 => (0u8..26).prop_map(Step::Around),
    ]
}

impl Session {
    fn walk(&mut self, step: Step) {
        match step {
            Step::Key(index) => drop(self.keys(KEYS[index])),
            Step::Letter(letter) => {
                self.tell(Message::Key(Key::plain(KeyCode::Char(letter))));
            }
            Step::Paste(text) => drop(self.tell(Message::Paste(text))),
            Step::Resize(columns, rows) => drop(self.tell(Message::Resize { columns, rows })),
            Step::Wheel(lines) => drop(self.tell(Message::Wheel { lines })),
            Step::Delta(request, sort, text) => {
                let delta = match sort {
                    0 => Delta::Thinking { text },
                    1 => Delta::ToolCallStart { id: CallId(text), name: "bash".into() },
                    2 => Delta::ToolInputDelta { partial_json: text },
                    _ => Delta::Text { text },
                };
                let message = if sort == 1 && request == 4 {
                    FromWorker::Inflight { request, deltas: vec![Delta::Text { text: "so far".into() }, delta] }
                } else {
                    FromWorker::Delta { request, delta }
                };
                self.tell(Message::Worker(thread(), message));
            }
            Step::Out(request, sort) => {
                let reason = match sort {
                    0 => StopReason::EndTurn,
                    1 => StopReason::Cancelled,
                    2 => StopReason::Lost,
                    3 => StopReason::Truncated { detail: "cut".into() },
                    _ => StopReason::ToolUse,
                };
                self.answered(request, "done *so*", reason);
            }
            Step::Event(sort) => self.some_event(sort),
            Step::State(sort) => {
                let status = [Status::Running, Status::Waiting, Status::Completed, Status::Error, Status::Queued]
                    [usize::from(sort)];
                let queued = QueuedPrompt {
                    prompt: 9,
                    text: "later".into(),
                    mode: PromptMode::Steer,
                    images: Vec::new(),
                    files: Vec::new(),
                    client: None,
                };
                self.state(status, 2, if sort == 0 { vec![queued; 5] } else { Vec::new() });
            }
            Step::Around(sort) => self.some_message(sort),
        }
    }

    fn some_event(&mut self, sort: u8) {
        let event = match sort {
            0 => Event::Prompt(PromptEvent::CognitionIn {
                text: "a".into(),
                role: "user".into(),
                prompt: None,
                images: Vec::new(),
                files: Vec::new(),
            }),
            1 => Event::Request(RequestEvent::CognitionReasoning { text: "hm".into() }),
            2 => Event::Request(RequestEvent::RequestRecorded {
                tokens: Tokens(0),
                request: 2,
                turn: 1,
                attempt: 2,
                model: ModelRef::new("a", "b"),
            }),
            3 => Event::Tool(ToolEvent::ToolCallStart {
                capability: None,
                grant: None,
                parallel: false,
                confined: false,
                tool: "t".into(),
                call_id: CallId("x".into()),
                item: None,
                input: serde_json::json!([1]),
                change: None,
            }),
            4 => Event::Tool(ToolEvent::ToolCallResult {
                call_id: CallId("x".into()),
                output: "o\n".repeat(9),
                error: None,
            }),
            5 => Event::Control(ControlEvent::TurnCancelled { after_ms: 3 }),
            6 => Event::Thread(ThreadEvent::ThreadCompleted { cost: Cost::default() }),
            7 => Event::Request(RequestEvent::RetryScheduled { attempt: 1, delay_ms: 2_000, classification: None }),
            8 => Event::Prompt(PromptEvent::PromptQueued {
                prompt: 3,
                text: "q".into(),
                mode: PromptMode::FollowUp,
                images: Vec::new(),
                files: Vec::new(),
                client: None,
            }),
            9 => Event::Prompt(PromptEvent::PromptWithdrawn { prompt: 3, why: None }),
            10 => Event::Control(ControlEvent::Limit { code: LimitKind::Spend, current: 2, maximum: 1 }),
            11 => Event::Settings(SettingsEvent::ModelChanged { model: ModelRef::new("scripted", "b") }),
            12 => Event::Thread(ThreadEvent::Notice { text: "n\u{1b}".into() }),
            13 => Event::Thread(ThreadEvent::ThreadKilled { cost: Cost::default() }),
            14 => Event::Thread(ThreadEvent::LogRepaired { cut_bytes: 1, at_offset: 2 }),
            _ => Event::Settings(SettingsEvent::LimitsChanged { limits: Limits::ONE_SHOT }),
        };
        self.event(event);
    }

    fn some_message(&mut self, sort: u8) {
        let thread_id = self.model.view.thread.clone().unwrap_or_else(thread);
        let said = |text: &str| Record {
            timestamp: Timestamp(NOW),
            thread_id: thread(),
            event: Event::Prompt(PromptEvent::CognitionIn {
                text: text.into(),
                role: "user".into(),
                prompt: None,
                images: Vec::new(),
                files: Vec::new(),
            }),
        };
        let message = match sort {
            0..=2 => {
                Message::Opened { thread_id, newest: vec![said("old")], older: Some(7), state: None, elsewhere: false }
            }
            3..=6 => Message::Connected { thread_id },
            7 => Message::Disconnected { thread_id, expected: false, detail: "gone".into() },
            8 => Message::Disconnected { thread_id, expected: true, detail: String::new() },
            9 => {
                let records = vec![said("older"), said("still older")];
                Message::Older { thread_id, before: 7, records, older: None }
            }
            10 => Message::threads(rows_of_threads()),
            11 => Message::Notice { level: Level::Error, text: "it failed".into() },
            12 => Message::Second,
            13 => Message::Edited("from\nthe editor\n".into()),
            14 => Message::Directives(resume::directives()),
            15 => Message::Items(resume::items()),
            16 => Message::Files(resume::files()),
            17 => Message::Saved,
            18 => Message::Worker(thread(), FromWorker::Error { id: 1, message: "no".into() }),
            19 => Message::Request(Ok(Box::new(layers::request()))),
            20 => Message::Request(Ok(Box::new(RequestShown { number: None, ..layers::request() }))),
            21 => Message::Page(Ok(Box::new(layers::difference()))),
            22 => Message::Peeked { number: 1, news: PeekNews::Opened { newest: vec![said("old")], older: Some(7) } },
            23 => {
                let delta = Delta::Text { text: "live\n".into() };
                Message::Peeked { number: 1, news: PeekNews::Worker(Box::new(FromWorker::Delta { request: 1, delta })) }
            }
            24 => Message::Peeked { number: 1, news: PeekNews::Alone },
            _ => Message::Worker(thread(), FromWorker::Ack { id: 1 }),
        };
        self.tell(message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_is_drawn(steps in prop::collection::vec(step(), 1..60)) {
        let mut session = Session::new(80, 24);
        for step in steps {
            session.walk(step);
            let ids: Vec<_> = session.model.view.transcript.iter().map(|block| block.id).collect();
            prop_assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]), "ids {:?}", ids);
            if session.model.view.position == Position::Follow {
                prop_assert_eq!(session.model.view.news(), 0);
            }
            session.model.take_changed();
            session.screen();
            prop_assert!(!session.model.take_changed(), "drawing changes nothing");
        }
    }

    #[test]
    fn a_draft_is_never_lost(steps in prop::collection::vec(step(), 1..40)) {
        let mut session = Session::new(80, 24);
        for step in steps {
            let leaves = matches!(step, Step::Key(_) | Step::Letter(_) | Step::Paste(_))
                || matches!(step, Step::Around(13));
            let before = session.model.composer.text();
            session.walk(step);
            if !leaves {
                // What did not come from the person's hands never takes from the draft.
                prop_assert!(session.model.composer.text().ends_with(&before));
            }
        }
    }
}

#[test]
fn every_size_is_drawn() {
    for columns in 1..45 {
        for rows in 1..14 {
            let mut session = whole_story(columns, rows);
            session.screen();
            for keys in ["F1", "esc", "F2", "esc", "ctrl-t", "esc"] {
                session.keys(keys).screen();
            }
            session.type_in("/t").screen();
        }
    }
    let mut session = Session::started(500, 200);
    session.stream(1, ANSWER);
    session.screen();
}
