//! Whole screens as text, from a model that came about by messages.

use super::view;
use crate::commands::{Key, KeyCode, Keymap};
use crate::domain::background::RunningCommands;
use crate::domain::event::{CallError, Delta, Denial, ErrorCategory, PromptMode, StopReason};
use crate::domain::{
    ApprovalEvent, Block, CallId, ContentHash, ContextEvent, ControlEvent, Cost, Event, LimitKind, Limits,
    Message as Said, ModelRef, Money, PromptEvent, Record, RequestEvent, Status, ThreadId, ThreadKind, Timestamp,
    Tokens, ToolCall, ToolEvent, Usage, Waiting,
};
use crate::ui::{ColourDepth, Narrator, Painter, Theme};
use crate::workbench::protocol::{Approval, FromWorker, QueuedPrompt, State};
use crate::workbench::{Message, Model, ModelChoice, Options, ThreadRow, update};
use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};
use std::fmt::Write as _;

const NOW: u64 = 1_772_758_900_000;

const ANSWER: &str = "# Plan\n\nI'll run the **checks** first, then build with `cargo build --release`.\n\n\
1. lint everything\n2. test\n   - unit\n   - whole program\n3. ship\n\n\
| step | takes | state |\n|:-----|------:|-------|\n| lint | 12 s | done |\n| test | 140 s | 漢字 ok |\n\n\
> Nothing is shipped before the tests pass.\n\n\
```rust\nfn main() {\n    let answer = 42;\n    println!(\"{answer}\");\n}\n```\n\nSee [the manual](https://example.org/manual) for more";

struct Session {
    model: Model,
    painter: Painter,
    offset: u64,
}

impl Session {
    fn new(columns: u16, rows: u16) -> Self {
        let (model, _) = Model::new(Options {
            directive: "levain/chat".into(),
            model: ModelRef::new("scripted", "demo"),
            model_is_scripted: true,
            project: "shop".into(),
            screen: "s".into(),
            open: None,
            size: (columns, rows),
            keymap: Keymap::embedded(),
            now: Timestamp(NOW),
            themes: Theme::names(),
            theme: None,
            draft: None,
            by_name: false,
        });
        let painter = Painter::new(Theme::named("dark").unwrap(), ColourDepth::Sixteen);
        Self { model, painter, offset: 0 }
    }

    fn tell(&mut self, message: Message) -> &mut Self {
        update(&mut self.model, &mut self.painter, message);
        self
    }

    fn keys(&mut self, keys: &str) -> &mut Self {
        for word in keys.split(' ') {
            self.tell(Message::Key(word.parse().unwrap()));
        }
        self
    }

    fn type_in(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            self.tell(Message::Key(Key::char(letter)));
        }
        self
    }

    fn event(&mut self, event: Event) -> &mut Self {
        let record = Record { timestamp: Timestamp(NOW), thread_id: thread(), event };
        let offset = self.offset;
        self.offset += 100;
        self.tell(Message::Worker(thread(), FromWorker::Event { offset, next_offset: self.offset, record }))
    }

    fn stream(&mut self, request: u32, text: &str) -> &mut Self {
        let delta = Delta::Text { text: text.to_owned() };
        self.tell(Message::Worker(thread(), FromWorker::Delta { request, delta }))
    }

    fn state(&mut self, status: Status, turns: u32, queue: Vec<QueuedPrompt>) -> &mut Self {
        let state = Self::state_of(status, turns, queue);
        self.tell(Message::Worker(thread(), FromWorker::State(state)))
    }

    fn state_of(status: Status, turns: u32, queue: Vec<QueuedPrompt>) -> State {
        State {
            status,
            waiting: (status == Status::Waiting).then_some(Waiting::User),
            kind: ThreadKind::Interactive,
            directive: "levain/chat".into(),
            model: ModelRef::new("anthropic", "claude-sonnet-4-5"),
            cost: Cost { turns, spend: Money(180_000), ..Cost::default() },
            limits: Limits::default(),
            context: Tokens(6_412),
            window: Some(Tokens(200_000)),
            queue,
            approvals: Vec::new(),
            todo: None,
            background: Vec::new(),
            handling: None,
            breakpoints: Vec::new(),
            extensions: Box::default(),
        }
    }

    /// A thread that answers the first prompt.
    fn started(columns: u16, rows: u16) -> Self {
        let mut session = Self::new(columns, rows);
        session.type_in("ship it to staging").keys("enter");
        session.tell(Message::Opened {
            thread_id: thread(),
            newest: Vec::new(),
            older: None,
            state: None,
            elsewhere: false,
        });
        session.tell(Message::Connected { thread_id: thread() });
        session
            .event(Event::Context(ContextEvent::SystemPrompt { text: "x".repeat(4_560), layers: vec!["a".into(); 7] }));
        session.event(Event::Prompt(PromptEvent::PromptQueued {
            prompt: 1,
            text: "ship it to staging".into(),
            mode: PromptMode::FollowUp,
            images: Vec::new(),
            files: Vec::new(),
            client: Some("s-1".into()),
        }));
        session.event(Event::Prompt(PromptEvent::CognitionIn {
            text: "ship it to staging".into(),
            role: "user".into(),
            prompt: Some(1),
            images: Vec::new(),
            files: Vec::new(),
        }));
        session.event(Event::Request(RequestEvent::RequestRecorded {
            tokens: Tokens(0),
            request: 1,
            turn: 1,
            attempt: 1,
            model: ModelRef::new("anthropic", "claude-sonnet-4-5"),
        }));
        session.state(Status::Running, 1, Vec::new());
        session
    }

    fn answered(&mut self, request: u32, text: &str, stop: StopReason) -> &mut Self {
        self.event(Event::Request(RequestEvent::CognitionOut {
            text: text.into(),
            model: ModelRef::new("anthropic", "claude-sonnet-4-5"),
            request,
            // One that is stopped says nothing of what it took.
            usage: Usage { output: Tokens(if stop == StopReason::Cancelled { 0 } else { 412 }), ..Usage::default() },
            stop,
            spend: Some(Money(3_100)),
            message: Said::assistant(text),
            elapsed_ms: 2_130,
        }))
    }

    fn draw(&mut self, terminal: &mut Terminal<TestBackend>) {
        let draw = |frame: &mut Frame<'_>| {
            if let Some(cursor) = view(&self.model, &mut self.painter, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        };
        terminal.draw(draw).unwrap();
    }

    fn screen(&mut self) -> String {
        let (columns, rows) = self.model.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        self.draw(&mut terminal);
        let buffer = terminal.backend().buffer();
        let mut screen = String::new();
        for y in 0..rows {
            let mut row = String::new();
            let mut x = 0;
            while x < columns {
                let symbol = buffer[(x, y)].symbol();
                row.push_str(symbol);
                x += u16::try_from(crate::ui::wrap::columns(symbol).max(1)).unwrap();
            }
            screen.push_str(row.trim_end());
            screen.push('\n');
        }
        let at = terminal.backend().cursor_position();
        format!("{screen}cursor {},{}\n", at.x, at.y)
    }
}

fn thread() -> ThreadId {
    ThreadId::new("levain/chat", 1_772_758_807_565)
}

fn rows_of_threads() -> Vec<ThreadRow> {
    let row = |id: u64, status: Status, title: &str, turns: u32, minutes: u64| ThreadRow {
        waiting: None,
        thread_id: ThreadId::new("levain/chat", id),
        directive: "levain/chat".into(),
        status,
        title: title.into(),
        model: ModelRef::new("anthropic", "claude-sonnet-4-5").into(),
        waits_for: None,
        outputs: (0..turns).map(|turn| turn * 97 % 400 + 20).collect::<Vec<_>>().into(),
        commands: RunningCommands::from_words(
            ["", "command-1 cargo watch\ncommand-2 npm run dev"][usize::from(turns == 1)],
        ),
        risk: (turns == 1).then(|| "elevated: rye.execute.tool.rye.bash".to_owned()),
        turns,
        tokens: Tokens(1_200),
        spend: Money(i64::from(turns) * 12_000),
        elapsed_ms: 0,
        updated_at: Timestamp(NOW - minutes * 60_000),
        runs: false,
        elsewhere: false,
        parent: None,
        level: 0,
        limits: crate::domain::Limits::default(),
    };
    let other = |row: ThreadRow| ThreadRow { directive: "team/release".into(), ..row };
    vec![
        row(1_772_758_807_565, Status::Running, "ship it to staging", 3, 0),
        row(2, Status::Waiting, "why is the build slow on the small machines, and what would it take", 1, 25),
        other(row(3, Status::Completed, "tag the release", 12, 60 * 30)),
        row(4, Status::Error, "", 0, 60 * 24 * 9),
    ]
}

/// Sizes of terminals: a whole screen, a window, what every terminal has, half of one, and one that holds hardly anything.
const SIZES: [(u16, u16); 5] = [(160, 45), (100, 30), (80, 24), (60, 20), (20, 5)];

fn check(name: &str, build: impl Fn(u16, u16) -> Session) {
    for (columns, rows) in SIZES {
        let screen = build(columns, rows).screen();
        insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), screen);
    }
    // Every screen has a form without one.
    let told = Narrator::default().tell(&build(100, 40).model);
    insta::assert_snapshot!(format!("{name}_plain"), told);
    check_looks(name, build);
}

/// A screen in the light theme and without colours: its text, and below it the style of each cell as a letter.
fn check_looks(name: &str, build: impl Fn(u16, u16) -> Session) {
    for (word, theme, depth) in [("light", "light", ColourDepth::True), ("no_color", "dark", ColourDepth::None)] {
        let mut session = build(80, 24);
        session.painter = Painter::new(Theme::named(theme).unwrap(), depth);
        let screen = session.screen();
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        session.draw(&mut terminal);
        let buffer = terminal.backend().buffer();
        let (mut styles, mut map) = (Vec::new(), String::new());
        for y in 0..24 {
            let row: String = (0..80)
                .map(|x| {
                    let cell = &buffer[(x, y)];
                    let style = (cell.fg, cell.bg, cell.modifier);
                    let known = styles.iter().position(|other| *other == style);
                    let place = known.unwrap_or_else(|| {
                        styles.push(style);
                        styles.len() - 1
                    });
                    ('a'..='z').chain('A'..='Z').nth(place).unwrap()
                })
                .collect();
            map.push_str(row.trim_end_matches('a'));
            map.push('\n');
        }
        for (letter, (fg, bg, modifier)) in ('a'..='z').chain('A'..='Z').zip(&styles) {
            writeln!(map, "{letter}: {fg:?} on {bg:?} {modifier:?}").unwrap();
        }
        if depth == ColourDepth::None {
            let plain = ratatui::style::Color::Reset;
            assert!(styles.iter().all(|(fg, bg, _)| (*fg, *bg) == (plain, plain)), "{name}: {styles:?}");
        }
        insta::assert_snapshot!(format!("{name}_{word}"), format!("{screen}{map}"));
    }
}

/// A call that nobody was asked about.
fn started(tool: &str, call_id: &str, item: Option<&str>, input: serde_json::Value) -> Event {
    let (tool, call_id, item) = (tool.to_owned(), CallId(call_id.to_owned()), item.map(str::to_owned));
    let (capability, grant, parallel, change) = (None, None, false, None);
    Event::Tool(ToolEvent::ToolCallStart {
        tool,
        call_id,
        item,
        input,
        capability,
        grant,
        parallel,
        confined: false,
        change,
    })
}

#[test]
fn s16_the_lists_of_themes_and_earlier_prompts() {
    check("themes", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.type_in("/theme").keys("enter down");
        session
    });
    check("earlier_prompts", |columns, rows| {
        let mut session = Session::new(columns, rows);
        let long = "compare what the two requests say of the build, line by line, 比べる and tell me which one to keep";
        session.tell(Message::History(vec!["ship it".into(), long.into(), "one\ntwo".into()])).keys("ctrl-r");
        session
    });
}

#[test]
fn s16_what_of_a_project_can_run() {
    check("trust", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.type_in("/trust").keys("enter");
        let file = |path: &str, about: &str| (path.into(), about.to_owned());
        session.tell(Message::Runs(Box::new(crate::workbench::ProjectRuns {
            root: "/home/ann/shop".into(),
            standing: "not trusted: its tools, commands and what its directives grant are asked for".into(),
            hash: Some("h".into()),
            files: vec![
                file(".ai/directives/team/deploy_展開.md", "grants rye.execute.tool.rye.bash without asking"),
                file(".ai/tools/a-tool-with-a-rather-long-name/that-says-what-it-does.sh", "tool"),
                file(".ai/config/agent/hooks.yaml", "hooks"),
            ],
        })));
        session
    });
}

#[test]
fn s16_a_thread_is_renamed_and_a_call_denied_with_a_reason() {
    check("renaming", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.tell(Message::threads(rows_of_threads())).keys("ctrl-t j r");
        session.type_in(" and now 漢字");
        session
    });
    check("denying", |columns, rows| {
        let mut session = changing(columns, rows);
        session.keys("ctrl-u tab pagedown").tell(Message::ApprovalDrawn { id: 1 });
        session.model.set_now(Timestamp(NOW + 900));
        session.keys("r").type_in("not on a Friday");
        session
    });
    check("approval_unfolded", |columns, rows| {
        let mut session = changing(columns, rows);
        session.keys("ctrl-u tab pagedown").tell(Message::ApprovalDrawn { id: 1 });
        session.model.set_now(Timestamp(NOW + 900));
        session.keys("v");
        session
    });
}

#[test]
fn an_empty_draft() {
    check("empty", Session::new);
}

#[test]
fn another_thread_asks() {
    check("asked_elsewhere", |columns, rows| {
        let mut session = Session::new(columns, rows);
        let asks = |row| ThreadRow { status: Status::Waiting, waiting: Some(Waiting::Approval), ..row };
        let rows = rows_of_threads().into_iter().take(1).map(asks).collect();
        session.tell(Message::Running(rows));
        session
    });
}

#[test]
fn an_answer_streams() {
    check("streaming", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.stream(1, ANSWER);
        session.tell(Message::Second).tell(Message::Second);
        let queued = QueuedPrompt {
            prompt: 2,
            text: "also tag the release".into(),
            mode: PromptMode::FollowUp,
            images: Vec::new(),
            files: Vec::new(),
            client: None,
        };
        session.state(Status::Running, 1, vec![queued]);
        session.type_in("and tell me");
        session
    });
}

fn whole_story(columns: u16, rows: u16) -> Session {
    let mut session = Session::started(columns, rows);
    session.event(Event::Request(RequestEvent::CognitionReasoning { text: "The tests come first. ".repeat(12) }));
    session.event(started(
        "bash",
        "c1",
        Some("rye/bash"),
        serde_json::json!({"command": "cargo test --all-features --workspace", "timeout": 60}),
    ));
    session.event(Event::Tool(ToolEvent::ToolCallResult {
        call_id: CallId("c1".into()),
        output: "running 12 tests\ntest result: ok".into(),
        error: None,
    }));
    session.event(started("read_file", "c2", None, serde_json::json!({"path": "src/main.rs"})));
    session.event(Event::Tool(ToolEvent::ToolCallResult {
        call_id: CallId("c2".into()),
        output: String::new(),
        error: Some("no such file\nmore".into()),
    }));
    session.event(Event::Request(RequestEvent::ErrorClassified {
        request: 2,
        attempt: 1,
        error: CallError {
            category: ErrorCategory::Transient,
            code: "overloaded_error".into(),
            message: "the provider is overloaded".into(),
            status: Some(529),
            retry_after_ms: None,
        },
    }));
    session.event(Event::Request(RequestEvent::RetryScheduled { attempt: 2, delay_ms: 3_000, classification: None }));
    session.answered(3, "All tests pass.", StopReason::EndTurn);
    session.event(Event::Control(ControlEvent::Limit { code: LimitKind::Turns, current: 25, maximum: 25 }));
    session.state(Status::Waiting, 3, Vec::new());
    session
}

#[test]
fn a_finished_turn_with_everything() {
    check("finished", whole_story);
}

#[test]
fn details_are_shown() {
    check("details", |columns, rows| {
        let mut session = whole_story(columns, rows);
        session.keys("ctrl-o");
        session
    });
}

#[test]
fn reading_a_range() {
    check("reading", |columns, rows| {
        let mut session = whole_story(columns, rows);
        session.keys("tab k k v k k");
        session
    });
}

#[test]
fn searching() {
    check("searching", |columns, rows| {
        let mut session = whole_story(columns, rows);
        session.keys("ctrl-s").type_in("test");
        session
    });
}

#[test]
fn an_interrupted_answer() {
    check("interrupted", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.stream(1, "I'll run the checks");
        session.keys("esc");
        session.answered(1, "I'll run the checks", StopReason::Cancelled);
        session.event(Event::Control(ControlEvent::TurnCancelled { after_ms: 120 }));
        session.state(Status::Waiting, 1, Vec::new());
        session.keys("ctrl-c");
        session
    });
}

#[test]
fn a_held_view_shows_what_is_new() {
    check("scrolled", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.stream(1, &ANSWER.repeat(4));
        session.keys("pageup pageup");
        session.stream(1, " and more");
        session
    });
}

#[test]
fn a_worker_that_died() {
    check("died", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.stream(1, "I'll run the");
        session.tell(Message::Disconnected { thread_id: thread(), expected: false, detail: "signal 9".into() });
        session
    });
}

#[test]
fn the_palette() {
    check("palette", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("F2").type_in("th");
        session
    });
}

#[test]
fn the_help_page() {
    check("help", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("F1");
        session
    });
}

#[test]
fn the_models() {
    check("models", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("ctrl-l");
        let choice =
            |label: &str, note: &str| ModelChoice { label: label.into(), model: label.parse().ok(), note: note.into() };
        session.tell(Message::Models(vec![
            choice("scripted/demo", "answers from a script"),
            choice("anthropic/claude-sonnet-4-5", "200k tokens · $3.00 / $15.00"),
            choice("anthropic/claude-3-5-haiku-latest", "200k tokens · $0.80 / $4.00"),
            choice("openai", "12 models · no API key: set OPENAI_API_KEY"),
        ]));
        session.keys("down");
        session
    });
}

#[test]
fn completing_a_command() {
    check("completion", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.type_in("/th");
        session
    });
}

#[test]
fn a_long_draft_with_a_paste() {
    check("draft", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.type_in("Here is what the log says about the failing step, 漢字 included: ");
        session.tell(Message::Paste("line\n".repeat(120)));
        session.keys("ctrl-j").type_in("What is wrong?");
        session.tell(Message::Notice {
            level: crate::workbench::Level::Warning,
            text: "keymap.toml:3: there is no command `x`".into(),
        });
        session
    });
}

fn waiting_call(columns: u16, rows: u16, item: &str, input: serde_json::Value, preview: Option<&str>) -> Session {
    let mut session = Session::started(columns, rows);
    session.answered(1, "I would like to do this.", StopReason::ToolUse);
    let asked = started("rye_file_system_ls", "c0", Some("rye/file-system/ls"), serde_json::json!({"path": "src"}));
    session.event(asked);
    let mut state = session.model.view.state.clone().unwrap();
    state.status = Status::Waiting;
    state.waiting = Some(Waiting::Approval);
    state.approvals = vec![Approval {
        id: 1,
        call_id: CallId("c1".into()),
        tool: item.replace(['/', '-'], "_"),
        item: item.into(),
        capability: format!("rye.execute.tool.{}", item.replace('/', ".")),
        args_hash: ContentHash::of(b"x"),
        input,
        preview: preview.map(str::to_owned),
        confined: false,
        why: None,
    }];
    session.tell(Message::Worker(thread(), FromWorker::State(state)));
    session
}

#[test]
fn a_command_waits_for_approval() {
    check("approval_command", |columns, rows| {
        let input = serde_json::json!({"command": "cargo test --all-features\u{202e} && \u{1b}[2Jrm -rf target", "timeout": 60});
        let mut session = waiting_call(columns, rows, "rye/bash", input, None);
        session.tell(Message::ApprovalDrawn { id: 1 });
        session.model.set_now(Timestamp(NOW + 500));
        session
    });
}

#[test]
fn a_change_waits_for_approval() {
    check("approval_change", changing);
}

fn changing(columns: u16, rows: u16) -> Session {
    let content = "a line 漢字\n".repeat(59);
    let preview = "--- src/main.rs\n+++ src/main.rs\n@@ -1,2 +1,2 @@\n fn main() {\n-    old();\n+    new();\n";
    let input = serde_json::json!({"path": "src/main.rs", "content": content});
    let mut session = waiting_call(columns, rows, "rye/file-system/write", input, Some(preview));
    session.type_in("wait, why");
    session
}

#[test]
fn a_running_command_shows_its_last_words() {
    check("running", |columns, rows| {
        let mut session = Session::started(columns, rows);
        let call_id = CallId("c1".into());
        session.event(started(
            "rye_bash",
            &call_id.0,
            Some("rye/bash"),
            serde_json::json!({"command": "make -j2 all"}),
        ));
        let steps: Vec<String> = (1..40).map(|number| format!("step {number}")).collect();
        let text = steps.join("\n");
        session.tell(Message::Worker(thread(), FromWorker::ToolOutput { call_id, text }));
        session
    });
}

/// A call that asks for this command, and that is denied.
fn denied(session: &mut Session, number: u64, command: &str, reason: Denial) {
    let call_id = CallId(format!("d{number}"));
    let input = serde_json::json!({ "command": command });
    let call = Block::ToolCall(ToolCall { call_id: call_id.clone(), tool: "rye_bash".into(), input });
    session.event(Event::Request(RequestEvent::CognitionOut {
        text: String::new(),
        model: ModelRef::new("anthropic", "claude-sonnet-4-5"),
        request: u32::try_from(number).unwrap(),
        stop: StopReason::ToolUse,
        usage: Usage::default(),
        spend: None,
        message: Said { blocks: vec![call], ..Said::assistant("") },
        elapsed_ms: 1,
    }));
    let capability = "rye.execute.tool.rye.bash".to_owned();
    session.event(Event::Approval(ApprovalEvent::PermissionDenied {
        grant: None,
        above: None,
        call_id: call_id.clone(),
        tool: "rye_bash".into(),
        capability,
        reason,
        said: None,
    }));
    let error = Some("Refused: a person looked at this call of `rye_bash` and did not allow it.".to_owned());
    session.event(Event::Tool(ToolEvent::ToolCallResult { call_id, output: String::new(), error }));
}

#[test]
fn a_denied_call_says_what_was_denied_and_by_whom() {
    check("denied", |columns, rows| {
        let mut session = Session::started(columns, rows);
        denied(&mut session, 2, "rm -rf build", Denial::Refused);
        denied(&mut session, 3, &"git push --force origin main && ".repeat(5), Denial::Missing);
        denied(&mut session, 4, "ls", Denial::Unattended);
        session
    });
}

#[test]
fn all_commands_before_anything_was_said() {
    check("palette_all", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("F2 end");
        session
    });
}

#[test]
fn a_notice_is_told_below_what_lies_over_the_transcript() {
    let notice = || Message::Notice { level: crate::workbench::Level::Warning, text: "the disk is full".into() };
    for (columns, rows) in [(160, 45), (80, 24), (60, 16), (40, 10), (20, 5)] {
        for keys in ["F2", "ctrl-t", "F1", "ctrl-l", "ctrl-p", "alt-i"] {
            let mut session = Session::new(columns, rows);
            session.keys(keys).tell(notice());
            let screen = session.screen();
            assert!(screen.contains("the disk is full"), "{keys} at {columns}x{rows}\n{screen}");
        }
    }
}

mod approving;
mod component;
mod layers;
mod plain;
mod pointer;
mod resume;
mod trees;
mod walk;
mod work;
