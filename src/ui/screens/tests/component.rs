//! What extensions draw: around the draft, below the conversation, over the screen.

use super::*;
use crate::domain::{OfExtensions, OpenComponent, Shown, ShownPlace, Spot};

fn drawn(columns: u16, rows: u16) -> Session {
    let mut session = Session::started(columns, rows);
    let shown = |key: &str, place, line: &str| Shown { key: key.to_owned(), place, lines: vec![line.to_owned()] };
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    let overlay = OpenComponent {
        id: 1,
        from: "overlay.ts".into(),
        at: Some(Spot { column: columns - 30, row: 2, width: 28 }),
        focused: false,
        editor: None,
        lines: lines(&[
            "╭──────────────────────────╮",
            "│ \u{1b}[31mred\u{1b}[39m 漢字 \u{1b}]0;no\u{7}          │",
            "╰──────────────────────────╯",
        ]),
    };
    let pad = OpenComponent {
        id: 2,
        from: "pad.ts".into(),
        at: None,
        focused: true,
        editor: None,
        lines: lines(&[
            "\u{1b}[36m────────────────\u{1b}[39m",
            "\u{1b}[1mchoose\u{1b}[22m one of these",
            "→ \u{1b}[7mfirst\u{1b}[27m",
            "  second",
        ]),
    };
    let extensions = OfExtensions {
        shown: vec![
            shown("s", ShownPlace::Status, "\u{1b}[32m3 tasks\u{1b}[39m"),
            shown("h", ShownPlace::Header, "a header"),
            shown("a", ShownPlace::AboveDraft, "above"),
            shown("b", ShownPlace::BelowDraft, "below"),
            shown("f", ShownPlace::Footer, "a footer"),
        ],
        components: vec![overlay, pad],
        ..OfExtensions::default()
    };
    let state = State { extensions: Box::new(extensions), ..session.model.view.state.clone().unwrap() };
    session.tell(Message::Worker(thread(), FromWorker::State(state)));
    session
}

#[test]
fn components_are_drawn_where_they_say() {
    for (columns, rows) in [(160, 45), (80, 24)] {
        let mut session = drawn(columns, rows);
        insta::assert_snapshot!(format!("components_{columns}x{rows}"), session.screen());
    }
}
