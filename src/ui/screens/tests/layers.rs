//! The context screen, with wide letters in every field.

use super::*;
use crate::workbench::{LayerRow, RequestShown};

#[test]
fn the_context_of_a_request() {
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
        source: None,
        asked_by: None,
    };
    let request = RequestShown {
        title: "chat-1772758807565#3".into(),
        size: "anthropic/claude-sonnet-4-5 · ~6.4k of 200k tokens".into(),
        numbers: vec![1, 2, 3],
        number: Some(3),
        whole: None,
        held: None,
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
    };
    check("context", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.answered(3, "All is well.", StopReason::EndTurn);
        session.keys("F4").tell(Message::Request(Ok(Box::new(request.clone()))));
        session.keys("down down");
        session
    });
}
