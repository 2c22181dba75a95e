//! The conversation as a tree.

use super::{Session, id, session};
use crate::domain::conversation::{Branch, BranchedFrom, Conversation, Said, SaidKind};
use crate::domain::{
    Assembly, Channel, ContentHash, Decision, ForkPoint, Layer, LayerChange, LayerKind, Lifetime, ModelRef, Origin,
    ThreadId, Timestamp, TokenCount,
};
use crate::workbench::fork::{ForkAsked, Forking, SummaryAsked};
use crate::workbench::message::{RequestShown, Upkeep};
use crate::workbench::request::{AssembledRequest, WhatIf};
use crate::workbench::{Effect, Link, Message};

fn said(at: u64, kind: SaidKind, text: &str) -> Said {
    Said { at, when: Timestamp(at), kind, text: text.to_owned(), label: None }
}

fn other() -> ThreadId {
    ThreadId::new("other", 2)
}

/// A prompt, a call with its result, an answer; another thread forks it before the answer.
fn tree() -> Conversation {
    let own = [
        said(1, SaidKind::Prompt, "one"),
        said(2, SaidKind::Calls, "calls ls"),
        said(3, SaidKind::Result, "a b"),
        said(4, SaidKind::Answer, "done"),
    ];
    let from = BranchedFrom { thread: id(), until: 4, handed_off: false };
    let fork = Branch {
        thread: other(),
        title: "elsewhere".to_owned(),
        from: Some(from),
        copied: 3,
        said: own[..3].iter().cloned().chain([said(5, SaidKind::Prompt, "two")]).collect(),
    };
    let own = Branch { thread: id(), title: String::new(), from: None, copied: 0, said: own.to_vec() };
    Conversation::new(vec![own, fork])
}

fn listed() -> Session {
    let mut session = session();
    session.model.view.thread = Some(id());
    session.model.view.link = Link::Resting;
    session.write("/tree").keys("enter");
    assert!(session.effects().contains(&Effect::LoadConversation { thread_id: id() }));
    session.tell(Message::Conversation(id(), Ok(tree())));
    session
}

fn labels(session: &Session) -> Vec<String> {
    session.model.conversation_entries().iter().map(|entry| entry.label().to_owned()).collect()
}

fn fork(at: u64, summary: Option<SummaryAsked>) -> Effect {
    let asked = ForkAsked::of(id(), ForkPoint::Entry(at), Forking::Revise);
    Effect::Fork { shown: id(), asked: Box::new(ForkAsked { summary, ..asked }) }
}

#[test]
fn the_tree_lists_what_was_said_and_more_or_less_of_it() {
    let mut session = listed();
    assert_eq!(labels(&session), ["│ you: one", "    fork: elsewhere", "    you: two", "│ model: done"]);
    session.keys("f");
    assert_eq!(labels(&session), ["│ you: one", "    fork: elsewhere", "    you: two"]);
    session.keys("f").keys("f");
    assert_eq!(labels(&session)[1..3], ["│ calls ls", "│ gave: a b"]);
}

#[test]
fn one_goes_on_where_a_thread_is_or_in_a_fork() {
    // It begins at the newest that this thread says, behind which nothing is.
    let mut session = listed();
    session.keys("enter");
    assert!(!session.effects().iter().any(|effect| matches!(effect, Effect::Fork { .. } | Effect::Open { .. })));
    let mut session = listed();
    session.keys("up").keys("up").keys("enter");
    assert!(session.effects().contains(&Effect::Open { thread_id: other() }));
    let mut session = listed();
    session.keys("up").keys("up").keys("up").keys("enter");
    assert!(session.effects().contains(&fork(1, None)), "a prompt is said again");
    let mut session = listed();
    session.keys("f").keys("f").keys("f").keys("g").keys("down").keys("s");
    assert!(session.effects().contains(&fork(2, Some(SummaryAsked::default()))));
    // Nothing is left behind from where it is.
    let mut session = listed();
    session.keys("s");
    assert!(!session.effects().iter().any(|effect| matches!(effect, Effect::Fork { .. })));
}

#[test]
fn an_entry_gets_a_label_and_loses_it() {
    let manage = |label: Option<&str>| Effect::Manage {
        thread_id: id(),
        upkeep: Upkeep::Label { target: "00000004".to_owned(), label: label.map(str::to_owned) },
    };
    let mut session = listed();
    session.keys("l").write("the end").keys("enter");
    assert!(session.effects().contains(&manage(Some("the end"))));
    session.tell(Message::ThreadsChanged);
    assert!(session.effects().contains(&Effect::LoadConversation { thread_id: id() }));
    session.keys("l").keys("enter");
    assert!(session.effects().contains(&manage(None)));
    // A thread has a name, not a label.
    session.keys("up").keys("up").keys("l").write("x").keys("enter");
    assert!(!session.effects().iter().any(|effect| matches!(effect, Effect::Manage { .. })));
}

/// The request 4 of this thread, with a layer of the directive and a tool, without the one at this place.
fn as_if(without: usize) -> WhatIf {
    let layer = |id: &str, kind| Layer {
        id: id.to_owned(),
        kind,
        channel: Channel::System,
        origin: Origin::User,
        tokens: TokenCount::estimated(""),
        lifetime: Lifetime::Once,
        decision: Decision::Included,
        hash: ContentHash::of(b""),
        range: 0..0,
    };
    let layers = vec![layer("team/rule", LayerKind::DirectiveSystem), layer("ls", LayerKind::ToolSchema)];
    let assembly = Assembly { system: String::new(), messages: Vec::new(), layers, texts: vec!["".into(), "".into()] };
    let (model, max_output_tokens) = (ModelRef::new("a", "one"), 1);
    let (name, thread_id, sent, payload) = ("chat-1#4".to_owned(), id(), None, None);
    let whole = AssembledRequest { name, thread_id, model, max_output_tokens, sent, payload, assembly };
    WhatIf { whole: whole.into(), number: Some(4), numbers: vec![4], texts: [(without, None)].into() }
}

#[test]
fn what_would_be_is_sent_in_a_fork() {
    let mut session = listed();
    let asks = |session: &mut Session| {
        let effects = session.model.fork_as_if();
        effects.into_iter().find(|effect| matches!(effect, Effect::Fork { .. }))
    };
    assert_eq!(asks(&mut session), None, "nothing is taken out");
    let shown = RequestShown::default();
    session.model.browser.what_if = Some((as_if(1), Box::new(shown.clone())));
    assert_eq!(asks(&mut session), None, "a tool stays");
    assert!(session.model.notice().unwrap().text.contains("ls cannot be changed in a fork"));
    session.model.browser.what_if = Some((as_if(0), Box::new(shown)));
    let change = LayerChange { id: "team/rule".to_owned(), text: None };
    let asked = ForkAsked::of(id(), ForkPoint::Request(4), Forking::Again);
    let asked = ForkAsked { request: Some(4), changes: vec![change], ..asked };
    let fork = Effect::Fork { shown: id(), asked: Box::new(asked) };
    assert_eq!(asks(&mut session), Some(fork));
}
