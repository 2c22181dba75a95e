//! The thread that is looked into from the list of threads.

use super::others::row;
use super::*;
use crate::workbench::ThreadRow;
use crate::workbench::message::PeekNews;

fn said(text: &str) -> Record {
    let (text, role) = (text.into(), "user".into());
    let event = PromptEvent::CognitionIn { text, role, prompt: None, images: Vec::new(), files: Vec::new() };
    Record { timestamp: Timestamp(1), thread_id: id(), event: Event::Prompt(event) }
}

fn opened(texts: &[&str]) -> PeekNews {
    PeekNews::Opened { newest: texts.iter().map(|text| said(text)).collect(), older: None }
}

/// A list of two threads, the first of which is chosen.
fn listed() -> Session {
    let mut session = session();
    session.tell(Message::threads(vec![row("chat-2", None), row("chat-3", None)]));
    session.keys("ctrl-t");
    session
}

/// Which threads were asked for since this was last asked, with their numbers; none for the end of looking.
fn looks(session: &mut Session) -> Vec<Option<(String, u64)>> {
    let looks = |effect| {
        if let Effect::Peek { thread_id, number } = effect {
            return Some(Some((thread_id.to_string(), number)));
        }
        (effect == Effect::StopPeek).then_some(None)
    };
    session.effects().into_iter().filter_map(looks).collect()
}

fn told(session: &Session) -> Vec<String> {
    let text = |block: &Block| match &block.kind {
        Kind::Prompt(prompt) => prompt.text.clone(),
        Kind::Answer(answer) => answer.text.clone(),
        Kind::Thinking(_) | Kind::Tool(_) | Kind::Marker(_) => String::new(),
    };
    session.model.peek.view.transcript.iter().map(text).collect()
}

#[test]
fn the_chosen_thread_is_looked_into_live_until_another_is_chosen() {
    let mut session = listed();
    assert_eq!(looks(&mut session), [Some(("chat-2".into(), 1))]);
    session.tell(Message::Peeked { number: 1, news: opened(&["hello"]) });
    let delta = |text: &str| {
        let delta = Delta::Text { text: text.into() };
        Message::Peeked { number: 1, news: PeekNews::Worker(Box::new(FromWorker::Delta { request: 1, delta })) }
    };
    session.tell(delta("wor")).tell(delta("ld"));
    assert_eq!(told(&session), ["hello", "world"]);
    session.keys("j");
    assert_eq!(looks(&mut session), [Some(("chat-3".into(), 2))]);
    // What still comes of the one before belongs to nobody.
    session.tell(delta("late"));
    assert_eq!(told(&session), [""; 0]);
    session.keys("esc");
    assert_eq!(looks(&mut session), [None]);
    assert!(session.model.peek.view.thread.is_none());
}

#[test]
fn one_log_is_read_at_a_time_however_fast_the_list_is_gone_through() {
    let mut session = listed();
    session.keys("j k j");
    assert_eq!(looks(&mut session), [Some(("chat-2".into(), 1))]);
    session.tell(Message::Peeked { number: 1, news: opened(&["hello"]) });
    assert_eq!(looks(&mut session), [Some(("chat-3".into(), 2))]);
}

#[test]
fn a_thread_that_nobody_ran_is_read_again_once_its_row_changes() {
    let mut session = listed();
    session.tell(Message::Peeked { number: 1, news: opened(&["hello"]) });
    session.tell(Message::Peeked { number: 1, news: PeekNews::Alone });
    session.effects();
    let rows = |at| vec![ThreadRow { updated_at: Timestamp(at), ..row("chat-2", None) }, row("chat-3", None)];
    session.tell(Message::threads(rows(1)));
    assert_eq!(looks(&mut session), []);
    session.tell(Message::threads(rows(2)));
    assert_eq!(looks(&mut session), [Some(("chat-2".into(), 2))]);
    // It stays on the screen meanwhile.
    assert_eq!(told(&session), ["hello"]);
    session.tell(Message::Peeked { number: 2, news: opened(&["hello", "again"]) });
    assert_eq!(told(&session), ["hello", "again"]);
}

#[test]
fn it_is_scrolled_and_older_pages_go_to_the_view_that_asked() {
    let mut session = listed();
    let texts: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
    let newest = texts.iter().map(|text| said(text)).collect();
    session.tell(Message::Peeked { number: 1, news: PeekNews::Opened { newest, older: Some(9) } });
    assert_eq!(session.model.peek.view.position, Position::Follow);
    session.effects();
    for _ in 0..60 {
        session.keys("K");
    }
    let thread_id: ThreadId = "chat-2".parse().unwrap();
    assert_eq!(session.effects(), [Effect::LoadOlder { thread_id: thread_id.clone(), before: 9 }]);
    session.tell(Message::Older { thread_id, before: 9, records: vec![said("older")], older: None });
    assert_eq!(told(&session)[..2], ["older", "line 0"]);
    for _ in 0..60 {
        session.keys("J");
    }
    assert_eq!(session.model.peek.view.position, Position::Follow);
}

#[test]
fn it_takes_the_place_of_the_list_and_gives_it_back() {
    let mut session = listed();
    let height = |session: &Session| geometry::peek(&session.model).map_or(0, |area| area.height);
    let beside = height(&session);
    session.keys("p");
    assert!(height(&session) > beside);
    // The list is gone through all the same.
    session.keys("j");
    assert_eq!(session.model.chosen_thread().map(|row| row.thread_id.as_str()), Some("chat-3"));
    session.keys("esc");
    assert_eq!(height(&session), beside);
    session.keys("p").keys("enter");
    assert_eq!(session.model.view.thread.as_ref().map(ThreadId::as_str), Some("chat-3"));
    session.keys("ctrl-t");
    assert_eq!(height(&session), beside);
}
