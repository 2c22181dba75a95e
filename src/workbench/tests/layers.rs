//! The context screen: asking for requests, going through them and their layers.

use super::*;
use crate::workbench::{LayerRow, RequestShown};

fn request(number: Option<u32>) -> RequestShown {
    let layer = |id: &str, absence: Option<&str>| LayerRow {
        id: id.into(),
        kind: "hook",
        part: "system".into(),
        text: format!("text of {id}"),
        absence: absence.map(str::to_owned),
        file: (id == "a").then(|| "/x/a.md".into()),
        ..LayerRow::default()
    };
    RequestShown {
        title: "chat-1#2".into(),
        numbers: vec![1, 2, 4],
        number,
        layers: vec![layer("a", None), layer("b", Some("suppressed by c"))],
        ..RequestShown::default()
    }
}

#[test]
fn a_preview_is_of_the_draft_and_sends_nothing() {
    let mut session = session();
    session.write("what if").keys("ctrl-p");
    let expected = Effect::PreviewRequest {
        thread_id: None,
        directive: "levain/chat".into(),
        model: ModelRef::new("a", "one"),
        prompt: "what if".into(),
        inputs: session.model.inputs.clone(),
    };
    assert_eq!(session.effects(), [expected]);
    session.tell(Message::Request(Ok(Box::new(request(None)))));
    assert_eq!(session.model.chosen_layer().unwrap().id, "a");
    session.keys("enter");
    assert_eq!(session.effects(), [Effect::ShowText("text of a".into())]);
    session.keys("o down");
    assert_eq!(session.effects(), [Effect::OpenFile("/x/a.md".into())]);
    assert_eq!(session.model.chosen_layer().unwrap().absence.as_deref(), Some("suppressed by c"));
    session.keys("y o");
    assert_eq!(session.effects(), [Effect::Copy("text of b".into()), Effect::ShowText("text of b".into())]);
    session.keys("esc");
    assert_eq!((session.draft().as_str(), session.model.overlay.is_none()), ("what if", true));
}

#[test]
fn requests_are_gone_through_in_order() {
    let mut session = connected();
    session.answer(4, "said", StopReason::EndTurn);
    session.effects.clear();
    let load = |number| Effect::LoadRequest { thread_id: id(), number };
    session.keys("F4");
    assert_eq!(session.effects(), [load(None)]);
    session.tell(Message::Request(Ok(Box::new(request(Some(4))))));
    session.keys("]");
    assert_eq!(session.effects(), []);
    session.keys("[");
    assert_eq!(session.effects(), [load(Some(2))]);
    session.tell(Message::Request(Ok(Box::new(request(Some(2))))));
    session.keys("] esc");
    assert_eq!(session.effects(), [load(Some(4))]);
    // A block leads to its own request; a prompt to the one that answered it.
    session.keys("tab r");
    assert_eq!(session.effects(), [load(Some(4))]);
    session.keys("esc k r");
    assert_eq!(session.effects(), [load(Some(4))]);
}

#[test]
fn a_request_that_is_not_there_is_told() {
    let mut session = connected();
    session.keys("F4").tell(Message::Request(Err("this thread has sent nothing yet".into())));
    assert!(session.model.overlay.is_none());
    assert!(session.model.notice().unwrap().text.contains("nothing yet"));
}
