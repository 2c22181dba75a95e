//! The context screen: asking for requests, going through them and their layers.

use super::*;
use crate::domain::Held;
use crate::workbench::{LayerRow, RequestShown, Source};
use std::sync::Arc;

fn request(number: Option<u32>) -> RequestShown {
    let layer = |id: &str, absence: Option<&str>| LayerRow {
        id: id.into(),
        kind: "hook",
        part: "system".into(),
        text: format!("text of {id}").into(),
        absence: absence.map(str::to_owned),
        source: (id == "a").then(|| Source { file: "/x/a.md".into(), line: Some(7) }),
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
    session.keys("o down");
    assert_eq!(session.effects(), [Effect::OpenFile(Source { file: "/x/a.md".into(), line: Some(7) })]);
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

fn held() -> Arc<Held> {
    let hash = crate::domain::ContentHash::of(b"all");
    Arc::new(Held {
        thread_id: id(),
        model: ModelRef::new("a", "one"),
        max_output_tokens: 1,
        system: Vec::new(),
        opening: Vec::new(),
        state: Vec::new(),
        tools: Vec::new(),
        hash,
    })
}

fn previewed(session: &mut Session, text: &str) {
    session.write(text).keys("ctrl-p");
    session.tell(Message::Request(Ok(Box::new(RequestShown { held: Some(held()), ..request(None) }))));
    session.effects.clear();
}

#[test]
fn enter_in_a_preview_sends_what_it_shows() {
    let mut session = session();
    previewed(&mut session, "go");
    session.keys("enter");
    let start = Effect::Start {
        directive: "levain/chat".into(),
        model: ModelRef::new("a", "one"),
        prompt: "go".into(),
        inputs: Values::new(),
        held: Some(held()),
    };
    assert_eq!(session.effects(), [Effect::Remember("go".into()), start]);
    assert!(session.model.overlay.is_none() && session.draft().is_empty());
    // Nothing has changed until the worker says so; then it is looked at again.
    session.tell(Message::Opened { thread_id: id(), newest: Vec::new(), older: None, state: None });
    session.tell(Message::Connected { thread_id: id() });
    session.tell(Message::Worker(FromWorker::Error { id: 0, message: "not as it was".into() }));
    assert!(matches!(&session.effects()[..], [Effect::PreviewRequest { prompt, .. }] if prompt == "go"));
    assert_eq!((session.draft().as_str(), session.story()), ("go", Vec::new()));
    session.tell(Message::Request(Ok(Box::new(RequestShown { held: Some(held()), ..request(None) }))));
    session.keys("enter");
    let submit = Command::SubmitHeld { text: "go".into(), held: Box::new(Held::clone(&held())) };
    assert_eq!(session.effects(), [Effect::Remember("go".into()), Effect::Send(submit)]);
    session.tell(Message::Worker(FromWorker::Ack { id: 1 }));
    assert!(session.model.is_working());
}

#[test]
fn a_preview_is_left_for_the_draft_or_dropped_with_it() {
    let mut session = session();
    previewed(&mut session, "go");
    session.keys("e");
    assert_eq!((session.effects(), session.draft().as_str()), (Vec::new(), "go"));
    previewed(&mut session, "!");
    session.keys("x");
    assert_eq!((session.effects(), session.draft().as_str()), (vec![Effect::Remember("go!".into())], ""));
    assert!(session.model.overlay.is_none());
    // Without a prompt there is nothing to send, and a command is none.
    session.keys("ctrl-p").tell(Message::Request(Ok(Box::new(request(None)))));
    session.effects.clear();
    session.keys("enter");
    assert_eq!(session.effects(), []);
    assert!(session.model.notice().unwrap().text.contains("nothing to send"));
    session.keys("esc").write("/model a/b").keys("ctrl-p");
    assert_eq!((session.effects(), session.model.overlay.is_none()), (Vec::new(), true));
}

#[test]
fn a_preview_while_the_thread_works_is_not_sent() {
    let mut session = connected();
    previewed(&mut session, "go");
    session.keys("enter");
    assert_eq!(session.effects(), []);
    assert!(session.model.overlay.is_some() && session.draft() == "go");
}
