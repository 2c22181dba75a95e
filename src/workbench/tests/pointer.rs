//! The mouse: choosing, marking, and the click that only brings the window to the front.

use super::*;
use crate::domain::event::CallError;
use crate::domain::{ControlEvent, LimitKind, ThreadEvent};
use crate::workbench::message::Button;

fn press(session: &mut Session, column: u16, row: u16) {
    session.tell(Message::Mouse { button: Button::Pressed, column, row });
}

fn click(session: &mut Session, column: u16, row: u16) {
    press(session, column, row);
    session.tell(Message::Mouse { button: Button::Released, column, row });
}

fn talked() -> Session {
    let mut session = connected();
    session.answer(1, "one\ntwo\nthree", StopReason::EndTurn);
    session.effects();
    session
}

#[test]
fn a_click_chooses_a_block_and_another_folds_it() {
    let mut session = talked();
    let top = geometry::regions(&session.model).transcript.y;
    let prompt = session.model.view.transcript.get(0).unwrap().id;
    click(&mut session, 5, top + 1);
    assert_eq!(session.model.view.reading.as_ref().map(|reading| reading.block), Some(prompt));
    let open = session.model.view.transcript.block(prompt).unwrap().open;
    click(&mut session, 5, top + 1);
    assert_eq!(session.model.view.transcript.block(prompt).unwrap().open, !open);
    // An answer is always shown in full.
    let answer = session.model.view.transcript.get(1).unwrap().clone();
    click(&mut session, 5, top + 3);
    assert_eq!(session.model.view.reading.as_ref().map(|reading| reading.block), Some(answer.id));
    click(&mut session, 5, top + 3);
    assert_eq!(session.model.view.transcript.get(1), Some(&answer));
    let composer = geometry::regions(&session.model).composer;
    click(&mut session, composer.x, composer.y);
    assert!(session.model.view.reading.is_none());
}

#[test]
fn a_list_is_chosen_from_by_two_clicks() {
    let mut session = session();
    session.write("/theme").keys("enter");
    let list = geometry::list(&session.model);
    click(&mut session, list.x + 3, list.y + 2);
    assert_eq!(session.model.theme, None);
    click(&mut session, list.x + 3, list.y + 2);
    assert_eq!(session.model.theme.as_deref(), Some("light"));
    assert!(session.model.overlay.is_none());
    session.write("/theme").keys("enter");
    click(&mut session, list.x + 3, list.y + 5);
    assert!(session.model.overlay.is_some(), "there is no entry");
}

#[test]
fn what_is_marked_is_copied_when_the_button_is_let_go() {
    let mut session = talked();
    let top = geometry::regions(&session.model).transcript.y;
    press(&mut session, 2, top + 3);
    session.tell(Message::Mouse { button: Button::Dragged, column: 4, row: top + 4 });
    assert!(session.model.marked().is_some());
    session.tell(Message::Mouse { button: Button::Released, column: 4, row: top + 4 });
    assert_eq!(session.effects(), [Effect::Copy("(1, 2)-(2, 4)".into())]);
    session.keys("a");
    assert_eq!(session.model.marked(), None);
    assert_eq!(session.draft(), "a");
}

#[test]
fn the_click_that_focuses_the_window_does_nothing_else() {
    let mut session = talked();
    let top = geometry::regions(&session.model).transcript.y;
    session.tell(Message::Focus(false));
    click(&mut session, 5, top + 3);
    session.tell(Message::Focus(true));
    assert_eq!(session.effects(), [Effect::Redraw], "others may have written there");
    click(&mut session, 5, top + 3);
    assert!(session.model.view.reading.is_none());
    session.model.set_now(Timestamp(session.model.now.0 + 1_000));
    click(&mut session, 5, top + 3);
    assert!(session.model.view.reading.is_some());
}

#[test]
fn who_is_away_is_not_told_that_what_failed_or_was_stopped_is_done() {
    let refused = || {
        let error = CallError::over_bounds("too large".into());
        Event::Request(RequestEvent::ErrorClassified { request: 1, attempt: 1, error })
    };
    let told = |session: &mut Session| {
        let effects = session.effects().into_iter();
        effects
            .filter_map(|effect| if let Effect::Attention(text) = effect { Some(text) } else { None })
            .collect::<Vec<_>>()
    };
    let works = |session: &mut Session| {
        session.joined("again", None).state(Status::Running, Vec::new());
        told(session);
    };
    let mut session = connected();
    session.tell(Message::Focus(false));
    // A thread that a person works in waits for them after a failure, and after a limit.
    session.event(refused()).state(Status::Waiting, Vec::new());
    assert_eq!(told(&mut session), ["levain/chat failed"]);
    assert!(session.model.window_title().starts_with('✗'));
    works(&mut session);
    assert!(session.model.window_title().starts_with('●'));
    session.event(Event::Control(ControlEvent::Limit { code: LimitKind::Turns, current: 1, maximum: 1 }));
    session.state(Status::Waiting, Vec::new());
    assert_eq!(told(&mut session), ["levain/chat is at its limit"]);
    // One that nobody works in ends, and its event comes before its status.
    works(&mut session);
    session.event(Event::Thread(ThreadEvent::ThreadError { error: "no".into(), cost: Cost::default() }));
    session.state(Status::Error, Vec::new());
    assert_eq!(told(&mut session), ["levain/chat failed"]);
    works(&mut session);
    session.event(Event::Request(RequestEvent::RetryScheduled { attempt: 2, delay_ms: 1, classification: None }));
    session.answer(2, "hi", StopReason::EndTurn).state(Status::Waiting, Vec::new());
    assert_eq!(told(&mut session), ["levain/chat is done"]);
}
