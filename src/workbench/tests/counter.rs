//! What the draft comes to.

use super::*;
use crate::domain::Money;
use crate::workbench::counter::{Basis, Coming};

fn coming(context: u64) -> Coming {
    Coming {
        thread: None,
        directive: "levain/chat".into(),
        model: ModelRef::new("a", "one"),
        inputs: Values::new(),
        context: Tokens(context),
        files: Vec::new(),
    }
}

fn basis(coming: Coming) -> Message {
    let (window, per_million) = (Some(Tokens(200_000)), Some(Money(3_000_000)));
    Message::Basis(Box::new(Basis { coming, tokens: Tokens(6_000), attached: 0, window, per_million }))
}

#[test]
fn the_draft_is_reckoned_once_and_counted_with_every_letter() {
    let mut session = session();
    assert_eq!(session.model.counter(), None);
    session.write("twelve letters");
    assert_eq!(session.reckoned, [Effect::LoadBasis(coming(0))]);
    assert_eq!(session.model.counter(), None);
    session.tell(basis(coming(0)));
    let words = session.model.counter().unwrap().words();
    assert_eq!(words, ["~+8 tok · request ~6.0k · 3% of 200.0k · ~$0.02", "~+8 tok · 3% · ~$0.02", "~+8 tok"]);
    session.write(" and more");
    assert_eq!(session.model.counter().unwrap().draft, Tokens(10));
    assert_eq!(session.reckoned.len(), 1);
    // Another model, other items: it no longer holds.
    session.tell(Message::Saved);
    assert_eq!(session.reckoned.len(), 2);
    session.tell(Message::UsualModel(ModelRef::new("a", "two")));
    assert_eq!((session.reckoned.len(), session.model.counter()), (3, None));
    session.tell(basis(coming(0)));
    assert_eq!(session.model.counter(), None);
}
