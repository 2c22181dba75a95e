//! Questions of extensions: when they open, what answers them, what does not.

use super::*;
use crate::domain::{Dialog, DialogReply, OfExtensions, OpenDialog, Shown, ShownPlace};
use crate::workbench::overlay::Overlay;

fn question(id: u64, dialog: Dialog) -> OpenDialog {
    OpenDialog { id, from: "gate.ts".to_owned(), dialog, since: Timestamp(1), ends: None }
}

fn select(id: u64) -> OpenDialog {
    question(id, Dialog::Select { title: "Allow?\nreally".into(), options: vec!["Yes".into(), "No".into()] })
}

/// The state of a thread whose extensions do this.
pub(super) fn showing(session: &mut Session, extensions: OfExtensions) {
    let state = State { extensions: Box::new(extensions), ..session.model.view.state.clone().unwrap() };
    session.tell(Message::Worker(id(), FromWorker::State(state)));
}

/// The state of a thread in which these questions wait.
fn asking(session: &mut Session, dialogs: Vec<OpenDialog>) {
    showing(session, OfExtensions { dialogs, ..OfExtensions::default() });
}

fn is_open(session: &Session) -> bool {
    matches!(session.model.overlay, Some(Overlay::Dialog(_)))
}

impl Session {
    fn later(&mut self, milliseconds: u64) -> &mut Self {
        let now = Timestamp(self.model.now.0 + milliseconds);
        self.model.set_now(now);
        self
    }

    fn replies(&mut self) -> Vec<(u64, Option<DialogReply>)> {
        let reply = |effect| {
            if let Effect::Send { command: Command::AnswerDialog { id, reply }, .. } = effect {
                Some((id, reply))
            } else {
                None
            }
        };
        self.effects().into_iter().filter_map(reply).collect()
    }
}

#[test]
fn a_question_opens_by_itself_and_is_answered() {
    let text = |text: &str| Some(DialogReply::Text(text.to_owned()));
    let confirm = || Dialog::Confirm { title: "Sure?".into(), message: "It is gone then.".into() };
    let input = || Dialog::Input { title: "Name?".into(), placeholder: "a name".into() };
    let editor = || Dialog::Editor { title: "Change it".into(), text: "one\ntwo".into() };
    for (open, keys, reply) in [
        (select(1), "enter", text("Yes")),
        (select(1), "down enter", text("No")),
        (select(1), "n enter", text("No")),
        (select(1), "down down up enter", text("Yes")),
        (select(1), "esc", None),
        (question(1, confirm()), "enter", Some(DialogReply::Confirmed(true))),
        (question(1, confirm()), "down enter", Some(DialogReply::Confirmed(false))),
        (question(1, input()), "A d a enter", text("Ada")),
        (question(1, input()), "A esc", None),
        (question(1, editor()), "! ctrl-j x enter", text("one\ntwo!\nx")),
    ] {
        let mut session = connected();
        asking(&mut session, vec![open.clone()]);
        assert!(is_open(&session));
        session.later(600).keys(keys);
        assert_eq!(session.replies(), [(1, reply)], "{keys}");
        asking(&mut session, vec![open]);
        assert!(!is_open(&session), "it is not shown again before the worker has heard");
    }
}

#[test]
fn a_key_that_was_on_its_way_answers_nothing() {
    let mut session = connected();
    asking(&mut session, vec![select(1)]);
    session.later(100).keys("enter");
    assert!(session.replies().is_empty() && is_open(&session));
    session.later(500).keys("enter");
    assert_eq!(session.replies().len(), 1);
}

#[test]
fn a_question_waits_behind_what_is_written_and_what_is_open() {
    let mut session = connected();
    session.write("hel");
    asking(&mut session, vec![select(1)]);
    assert!(!is_open(&session));
    assert!(session.model.notice().unwrap().text.contains("gate.ts asks: Allow? (/answer)"));
    session.keys("ctrl-u").tell(Message::Second);
    assert!(is_open(&session));
    let mut session = connected();
    session.keys("F1");
    asking(&mut session, vec![select(1)]);
    assert!(!is_open(&session));
    session.keys("esc");
    assert!(is_open(&session));
}

#[test]
fn a_question_that_no_longer_waits_is_closed_and_the_next_opens() {
    let mut session = connected();
    asking(&mut session, vec![select(1), select(2)]);
    session.later(600).keys("enter");
    assert_eq!(session.replies().len(), 1);
    assert!(is_open(&session), "the second");
    asking(&mut session, Vec::new());
    assert!(!is_open(&session));
    session.write("/answer").keys("enter");
    assert!(session.model.notice().unwrap().text.contains("no extension asks"));
}

#[test]
fn lines_answer_where_lines_are_all_there_is() {
    for (line, reply) in [("2", Some("No")), ("ye", Some("Yes")), ("", None)] {
        let mut session = connected();
        asking(&mut session, vec![select(1)]);
        session.tell(Message::Line(line.to_owned()));
        assert_eq!(session.replies(), [(1, reply.map(|reply| DialogReply::Text(reply.to_owned())))], "{line}");
    }
    let mut session = connected();
    asking(&mut session, vec![select(1)]);
    session.tell(Message::Line("7".into()));
    assert!(session.replies().is_empty() && is_open(&session));
}

#[test]
fn what_extensions_show_has_its_place() {
    let mut session = connected();
    let shown = |key: &str, place, line: &str| Shown { key: key.to_owned(), place, lines: vec![line.to_owned()] };
    let all = vec![
        shown("a", ShownPlace::Status, "one"),
        shown("b", ShownPlace::Status, "two"),
        shown("c", ShownPlace::AboveDraft, "widget"),
        shown("working", ShownPlace::Working, "\u{1b}[1mbaking\u{1b}[22m \u{200b} bread"),
    ];
    showing(&mut session, OfExtensions { shown: all, ..OfExtensions::default() });
    assert_eq!(session.model.shown_at(ShownPlace::Status), ["one · two"]);
    assert_eq!(session.model.shown_at(ShownPlace::AboveDraft), ["widget"]);
    assert!(session.model.shown_at(ShownPlace::BelowDraft).is_empty());
    assert_eq!(session.model.working_message().unwrap(), "baking  bread");
}

#[test]
fn a_question_with_an_end_says_how_long_it_waits_and_counts_down() {
    let mut session = connected();
    let ends = Some(Timestamp(session.model.now.0 + 2_500));
    asking(&mut session, vec![OpenDialog { ends, ..select(1) }]);
    let panel = |session: &Session| match &session.model.overlay {
        Some(Overlay::Dialog(panel)) => panel.open.seconds_left(session.model.now),
        other => panic!("{other:?}"),
    };
    assert_eq!((panel(&session), session.model.shows_time()), (Some(3), true));
    session.model.set_now(Timestamp(session.model.now.0 + 2_000));
    assert_eq!(panel(&session), Some(1));
    asking(&mut session, vec![select(2)]);
    assert_eq!(panel(&session), None);
}
