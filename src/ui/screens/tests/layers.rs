//! The context screen, with wide letters in every field.

use super::*;
use crate::domain::Assembly;
use crate::workbench::changes::{ChangedFile, Stands, Which};
use crate::workbench::request::{LineKind, PageContent, SheetLine, View, WhatIf};
use crate::workbench::{AssembledRequest, LayerRow, News, RequestShown};
use std::sync::Arc;

/// A request with layers of many kinds.
pub(super) fn request() -> RequestShown {
    let layer = |part: &str, kind: &'static str, id: &str, tokens: u64, absence: Option<&str>| LayerRow {
        part: part.into(),
        kind,
        id: id.into(),
        tokens,
        lifetime: "made once",
        origin: format!("project .ai/knowledge/{id}.md:12, by hook 環境 (layer 2, .ai/config/agent/hooks.yaml:4)"),
        absence: absence.map(str::to_owned),
        text: format!("# {id}\n\nBe kind 親切 👩‍👩‍👧 to people who read this, line by line, as long as it is.\n")
            .repeat(12)
            .into(),
        news: (id == "team/規則").then_some(News::Changed),
        source: None,
        asked_by: None,
        asker: None,
    };
    RequestShown {
        title: "chat-1772758807565#3".into(),
        size: "~6.4k of 200k tokens · 3%".into(),
        numbers: vec![1, 2, 3],
        number: Some(3),
        whole: None,
        held: None,
        since: Some("since chat-1772758807565#2: 1 changed · +12 tokens".into()),
        layers: vec![
            layer("system", "constitution", "levain/Constitution", 80, None),
            layer("system", "context", "team/規則", 210, None),
            layer(
                "system",
                "hook",
                "team/only-on-fridays",
                0,
                Some("condition false: day eq friday, was monday 月曜日"),
            ),
            layer("message 1", "hook", "ctx_environment", 154, None),
            layer("messages 2 to 9", "history", "history", 4_401, None),
            layer("message 10", "said", "user", 12, None),
            layer("tools", "tool", "rye/file-system/read", 96, None),
        ],
    }
}

/// A page with every sort of line.
pub(super) fn difference() -> PageContent {
    let rule = |text: &str, id: &str| SheetLine { layer: Some(id.into()), ..SheetLine::new(LineKind::Heading, text) };
    let lines = vec![
        SheetLine::new(LineKind::Added, "+ hook          ctx_環境  ~154 tokens"),
        SheetLine::new(LineKind::Removed, "- context       team/規則  ~210 tokens"),
        SheetLine::new(LineKind::Changed, "~ state         time  other words, below"),
        SheetLine::new(
            LineKind::Changed,
            "a cached beginning holds up to byte 5 of message 10, in `time`: ~6012 tokens",
        ),
        SheetLine::default(),
        rule("── state · time", "time"),
        SheetLine {
            marks: vec![(9..22, LineKind::Removed), (22..36, LineKind::Added)],
            ..SheetLine::new(
                LineKind::Plain,
                "Now: the [-月曜日-]{+金曜日+} of a week that is as long as the others, and longer than this line",
            )
        },
    ];
    let title = "difference · chat-1772758807565#2 → chat-1772758807565#3".to_owned();
    PageContent { view: View::Text, title, lines, copy: None, of: String::new() }
}

/// The layers of `request`, the third of them chosen.
pub(super) fn opened(columns: u16, rows: u16, request: &RequestShown) -> Session {
    let mut session = Session::started(columns, rows);
    session.answered(3, "All is well.", StopReason::EndTurn);
    session.state(Status::Waiting, 2, Vec::new());
    session
        .keys(if request.number.is_none() { "ctrl-p" } else { "F4" })
        .tell(Message::Request(Ok(Box::new(request.clone()))));
    session.keys("down down");
    session
}

/// A page in one of the other views.
fn page(view: View) -> PageContent {
    let rule = |text: &str, id: &str| SheetLine { layer: Some(id.into()), ..SheetLine::new(LineKind::Heading, text) };
    let plain = |text: &str| SheetLine::new(LineKind::Plain, text);
    let (title, lines) = match view {
        View::Wire(_) => {
            let text = "{\n  \"model\": \"claude-sonnet-4-5\",\n  \"system\": \"Be kind 親切 to people who read this, line by line, as \
                        long as it is, and longer than any screen\",\n  \"messages\": []\n}";
            ("wire · Anthropic Messages · chat-1772758807565#3", text.lines().map(plain).collect())
        }
        View::Text | View::Difference(_) => (
            "text · chat-1772758807565#3",
            vec![
                rule(
                    "── system · constitution · levain/Constitution · ~80 tokens · from system knowledge/levain/Constitution.md",
                    "a",
                ),
                plain("Be kind 親切 👩‍👩‍👧 to people who read this, line by line, as long as it is."),
                SheetLine::default(),
                rule("── message 10 · attached · src/main.rs · ~812 tokens · from project src/main.rs", "b"),
                plain("fn main() {"),
                plain("    println!(\"a line of code that is longer than sixty columns, and than eighty\");"),
                SheetLine::default(),
                rule("── message 10 · hook · team/only-on-fridays · from project .ai/knowledge/team/only.md", "c"),
                SheetLine::new(
                    LineKind::Changed,
                    "left out: condition false: day == \"friday\" (actual \"monday 月曜日\")",
                ),
            ],
        ),
    };
    PageContent { view, title: title.to_owned(), lines, copy: None, of: String::new() }
}

#[test]
fn s16_a_request_as_text_and_on_the_wire() {
    for (name, view) in [("context_text", View::Text), ("context_wire", View::Wire(None))] {
        check(name, |columns, rows| {
            let mut session = opened(columns, rows, &request());
            session.tell(Message::Page(Ok(Box::new(page(view.clone())))));
            session
        });
    }
}

#[test]
fn the_context_of_a_request() {
    let request = request();
    check("context", |columns, rows| opened(columns, rows, &request));
    let whole = AssembledRequest {
        name: "plan-1772758800000#2".into(),
        thread_id: ThreadId::new("plan", 1_772_758_800_000),
        model: ModelRef::new("scripted", "demo"),
        max_output_tokens: 1,
        payload: None,
        sent: None,
        assembly: Assembly { system: String::new(), messages: Vec::new(), layers: Vec::new(), texts: Vec::new() },
    };
    check("context_marked", |columns, rows| {
        let marked = RequestShown { whole: Some(Arc::new(whole.clone())), ..request.clone() };
        let mut session = opened(columns, rows, &marked);
        session.keys("m O");
        session
    });
    check("context_what_if", |columns, rows| {
        let shown = RequestShown { whole: Some(Arc::new(whole.clone())), ..request.clone() };
        let mut session = opened(columns, rows, &shown);
        session.keys("-");
        let mut as_if = RequestShown { title: format!("{} as if", request.title), ..shown };
        as_if.layers[2].absence = Some("taken out, to see what if".into());
        as_if.since = Some("what if: 1 removed · -26 tokens".into());
        let asked = WhatIf {
            whole: Arc::new(whole.clone()),
            number: request.number,
            numbers: request.numbers.clone(),
            texts: [(2, None)].into(),
        };
        session.tell(Message::WhatIf(asked, Ok(Box::new(as_if))));
        session
    });
    let unsent = RequestShown { title: "what Enter would send".into(), number: None, ..request.clone() };
    check("context_preview", |columns, rows| {
        let mut session = opened(columns, rows, &unsent);
        session.keys("enter");
        session
    });
    check("context_difference", |columns, rows| {
        let mut session = opened(columns, rows, &request);
        session.tell(Message::Page(Ok(Box::new(difference())))).keys("/ t i m e");
        session
    });
}

#[test]
fn the_context_stands_beside_the_conversation_from_140_columns_on() {
    for (columns, rows) in [(160, 45), (140, 20), (200, 20)] {
        let mut session = Session::started(columns, rows);
        session.answered(1, "Shipped. What was run is above.", StopReason::EndTurn).keys("F6");
        let request = Ok(Box::new(request().without_texts()));
        session.tell(Message::Beside { thread_id: thread(), number: None, request });
        insta::assert_snapshot!(format!("beside_{columns}x{rows}"), session.screen());
    }
}

#[test]
fn s18_the_files_that_a_thread_changed() {
    let file =
        |path: &str, stands, text: &str| ChangedFile { path: path.into(), stands, text: text.into(), lines: (1, 2) };
    let difference =
        "--- src/lib.rs\n+++ src/lib.rs\n@@ -1,3 +1,2 @@\n-pub fn new() {}\n-\n+pub fn old() {}\n use std::fs;\n";
    check("changes", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.answered(3, "All is well.", StopReason::EndTurn);
        session.state(Status::Waiting, 2, Vec::new());
        session.type_in("/undo").keys("enter");
        let which = Which { thread_id: "plan-1772758800000".parse().unwrap(), request: None };
        let files = vec![
            file("notes/plan.md", Stands::Changed, "notes/plan.md: somebody changed it since"),
            file("src/lib.rs", Stands::AsLeft, difference),
            file("src/main.rs", Stands::AsLeft, difference),
            file("tests/old.rs", Stands::AsBefore, "tests/old.rs: is as it was before"),
        ];
        session.tell(Message::Changes(which, Ok(files))).keys("down down enter");
        session
    });
}
