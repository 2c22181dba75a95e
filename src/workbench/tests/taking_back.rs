//! Taking back what a thread did to files, from the screen.

use super::*;
use crate::workbench::changes::{ChangedFile, Stands, Which};
use crate::workbench::overlay::Overlay;
use crate::workbench::picker::PickerKind;

fn file(path: &str, stands: Stands) -> ChangedFile {
    ChangedFile { path: path.into(), stands, text: format!("text of {path}").into(), lines: (1, 2) }
}

fn talking() -> Session {
    let mut session = connected();
    session.state(Status::Waiting, Vec::new());
    session.effects.clear();
    session
}

fn listed() -> Session {
    let mut session = talking();
    session.write("/undo").keys("enter");
    let which = Which { thread_id: id(), request: None };
    assert_eq!(session.effects(), [Effect::LoadChanges(which.clone())]);
    let files = vec![file("a.txt", Stands::AsLeft), file("b.txt", Stands::Changed), file("c.txt", Stands::AsLeft)];
    session.tell(Message::Changes(which, Ok(files)));
    session
}

fn warned(session: &Session) -> String {
    session.model.notice().map(|notice| notice.text.clone()).unwrap_or_default()
}

#[test]
fn s18_a_file_is_taken_back_by_a_second_word() {
    let mut session = listed();
    session.keys("down");
    assert_eq!(session.model.chosen_change().unwrap().path, "a.txt");
    let shown = session.model.browser.preview.clone().unwrap();
    assert_eq!(shown.text, Some(Ok("text of a.txt".into())), "what taking back changes stands beside");
    session.keys("enter");
    assert!(warned(&session).starts_with("repeat to take back `a.txt`"), "{}", warned(&session));
    assert_eq!(session.effects(), []);
    session.keys("enter");
    let which = Which { thread_id: id(), request: None };
    assert_eq!(session.effects(), [Effect::TakeBack(which, vec!["a.txt".into()])]);
    assert!(matches!(&session.model.overlay, Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Changes));
    // Another file is asked for anew.
    session.keys("enter down down enter");
    assert_eq!(session.effects(), []);
    // So is one after too long.
    session.keys("enter");
    assert_eq!(session.effects().len(), 1);
    session.keys("enter");
    session.model.set_now(Timestamp(session.model.now.0 + 60_000));
    session.keys("enter");
    assert_eq!(session.effects(), []);
}

#[test]
fn s18_all_that_can_be_is_taken_back_and_what_somebody_changed_is_not() {
    let mut session = listed();
    session.keys("enter enter");
    let paths = vec!["a.txt".into(), "c.txt".into()];
    assert_eq!(session.effects(), [Effect::TakeBack(Which { thread_id: id(), request: None }, paths)]);
    session.keys("down down enter enter");
    assert_eq!(session.effects(), []);
    assert_eq!(warned(&session), "`b.txt` stays as it is: somebody changed it since");
}

#[test]
fn s18_why_changes_cannot_be_listed_is_told() {
    let mut session = talking();
    session.write("/undo").keys("enter");
    session.tell(Message::Changes(Which { thread_id: id(), request: None }, Err("it is from elsewhere".into())));
    assert!(session.model.overlay.is_none());
    assert_eq!(warned(&session), "it is from elsewhere");
}

#[test]
fn s18_changes_that_were_asked_for_before_are_not_shown_in_the_place_of_others() {
    let mut session = listed();
    let whole = Which { thread_id: id(), request: None };
    session.keys("esc").write("/undo").keys("enter");
    // Of one answer, while those of the whole thread are on their way.
    session.effects.clear();
    session.model.browser.taking_back.which = Some(Which { request: Some(3), ..whole.clone() });
    session.tell(Message::Changes(whole, Ok(vec![file("a.txt", Stands::AsLeft)])));
    assert!(session.model.chosen_change().is_none());
    session.tell(Message::Changes(Which { thread_id: id(), request: Some(2) }, Err("gone".into())));
    assert!(session.model.overlay.is_some(), "what became of another list closes nothing");
    let answer = Which { thread_id: id(), request: Some(3) };
    session.tell(Message::Changes(answer, Ok(vec![file("b.txt", Stands::AsLeft)])));
    assert_eq!(session.model.chosen_change().unwrap().path, "b.txt");
}

#[test]
fn s17_the_registry_is_exported_from_the_screen() {
    let mut session = talking();
    session.write("/export registry").keys("enter");
    assert_eq!(session.effects(), [Effect::ExportRegistry]);
}
