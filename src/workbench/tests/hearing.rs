//! Extensions that hear what is typed first.

use super::dialog::showing;
use super::*;
use crate::domain::{Looks, OfExtensions};
use crate::workbench::overlay::Overlay;

fn hearing(hears_keys: bool) -> OfExtensions {
    OfExtensions { looks: Looks { hears_keys, ..Looks::default() }, ..OfExtensions::default() }
}

fn heard() -> Session {
    let mut session = connected();
    showing(&mut session, hearing(true));
    session.effects();
    session
}

impl Session {
    /// What extensions were asked about since.
    fn asked_about(&mut self) -> Vec<(u64, String)> {
        let asked = |effect| if let Effect::HearTyped { id, data } = effect { Some((id, data)) } else { None };
        self.effects().into_iter().filter_map(asked).collect()
    }

    fn hears(&mut self, number: u64, data: Option<&str>) {
        let data = data.map(str::to_owned);
        self.tell(Message::Worker(id(), FromWorker::Typed { id: number, data }));
    }

    fn passes(&mut self, milliseconds: u64) {
        let now = Timestamp(self.model.now.0 + milliseconds);
        self.model.set_now(now);
        self.tell(Message::Deadline);
    }
}

#[test]
fn a_key_waits_for_extensions_and_becomes_what_they_make_of_it() {
    let mut session = heard();
    session.keys("a b c");
    // One question at a time, so that the order stays.
    let asked = session.asked_about();
    let [(first, data)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((data.as_str(), session.draft()), ("a", String::new()));
    session.hears(*first, Some("a"));
    assert_eq!(session.draft(), "a");
    let asked = session.asked_about();
    let [(second, data)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(data, "b");
    session.hears(*second, None);
    assert_eq!(session.draft(), "a", "it was taken");
    let asked = session.asked_about();
    session.hears(asked[0].0, Some("xyz\x7f"));
    assert_eq!(session.draft(), "axy");
    session.tell(Message::Paste("two\nlines".to_owned()));
    let asked = session.asked_about();
    assert_eq!(asked[0].1, "\x1b[200~two\nlines\x1b[201~");
    session.hears(asked[0].0, Some(&asked[0].1));
    assert_eq!(session.draft(), "axytwo\nlines");
    // An answer to nothing is nothing.
    session.hears(asked[0].0, Some("again"));
    assert_eq!(session.draft(), "axytwo\nlines");
}

#[test]
fn a_key_waits_no_longer_than_is_felt() {
    let mut session = heard();
    session.keys("a b");
    let asked = session.asked_about();
    assert!(session.model.next_deadline().is_some());
    session.passes(299);
    assert_eq!(session.draft(), "");
    session.passes(1);
    assert_eq!((session.draft(), session.model.next_deadline()), ("ab".to_owned(), None));
    // Nothing more is asked until they have answered.
    session.keys("c");
    assert_eq!((session.draft().as_str(), session.asked_about()), ("abc", vec![]));
    session.hears(asked[0].0, None);
    assert_eq!(session.draft(), "abc");
    session.keys("d");
    assert_eq!((session.draft().as_str(), session.asked_about().len()), ("abc", 1));
}

#[test]
fn what_is_typed_is_done_where_nobody_hears_it_any_more() {
    for stops in [
        |session: &mut Session| showing(session, hearing(false)),
        |session: &mut Session| {
            session.tell(Message::Disconnected { thread_id: id(), expected: false, detail: String::new() });
        },
    ] {
        let mut session = heard();
        session.keys("a b");
        stops(&mut session);
        assert_eq!((session.draft().as_str(), session.asked_about().len()), ("ab", 1));
    }
    // A worker that does not ask them.
    let mut session = heard();
    session.keys("a");
    let asked = session.asked_about();
    session.tell(Message::Worker(id(), FromWorker::Error { id: asked[0].0, message: "no".to_owned() }));
    assert_eq!(session.draft(), "a");
    assert!(session.model.notice().is_none());
    session.keys("b");
    assert_eq!((session.draft().as_str(), session.asked_about()), ("ab", vec![]));
}

#[test]
fn extensions_hear_neither_the_keys_that_leave_nor_answers_of_the_person() {
    let mut session = heard();
    session.keys("a b ctrl-c");
    let asked = session.asked_about();
    assert_eq!((asked.len(), session.draft().as_str()), (1, "ab"), "in the order in which it was typed");
    assert!(session.model.leaving_seconds > 0, "whatever waits");
    session.hears(asked[0].0, Some("a"));
    assert!(session.model.leaving_seconds > 0 && session.draft() == "ab");
    let mut session = heard();
    session.keys("F1");
    let asked = session.asked_about();
    assert_eq!(asked[0].1, "\x1bOP");
    session.hears(asked[0].0, Some("\x1bOP"));
    assert!(matches!(&session.model.overlay, Some(overlay) if !matches!(overlay, Overlay::Component(_))));
    session.keys("x esc y");
    let asked = session.asked_about();
    assert_eq!(asked.iter().map(|(_, data)| data.as_str()).collect::<Vec<_>>(), ["y"], "a list has its keys");
}
