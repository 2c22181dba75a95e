//! The threads around the one on the screen.

use super::others::row;
use super::*;
use crate::domain::{Lineage, ThreadEvent};
use crate::workbench::ThreadRow;

fn below(id: &str, parent: Option<&str>) -> ThreadRow {
    ThreadRow { parent: parent.map(|parent| parent.parse().unwrap()), ..row(id, None) }
}

fn tree() -> Vec<ThreadRow> {
    vec![
        below("plan-1", None),
        below("part-2", Some("plan-1")),
        below("part-3", Some("plan-1")),
        below("deep-5", Some("part-3")),
        below("part-4", Some("plan-1")),
    ]
}

fn started(id: &ThreadId, parent: Option<&str>) -> Record {
    let parent = parent.map(|parent| parent.parse().unwrap());
    let event = ThreadEvent::ThreadStarted {
        directive: "levain/chat".into(),
        kind: ThreadKind::OneShot,
        model: ModelRef::new("a", "one"),
        limits: Limits::default(),
        limits_by: crate::domain::LimitSources::default(),
        project: "/shop".into(),
        inputs: Values::new(),
        lineage: Lineage { parent, ..Lineage::default() },
        ceilings: Vec::new(),
    };
    Record { timestamp: Timestamp(1), thread_id: id.clone(), event: Event::Thread(event) }
}

fn shows(session: &mut Session, id: &str, parent: Option<&str>) {
    let thread_id: ThreadId = id.parse().unwrap();
    let (text, role) = ("hello".into(), "user".into());
    let said = PromptEvent::CognitionIn { text, role, prompt: None, images: Vec::new(), files: Vec::new() };
    let said = Record { timestamp: Timestamp(1), thread_id: thread_id.clone(), event: Event::Prompt(said) };
    let newest = vec![started(&thread_id, parent), said];
    session.tell(Message::Opened { thread_id, newest, older: None, state: None, elsewhere: false });
}

/// A child is opened from the list.
fn child(id: &str, parent: &str) -> Session {
    let mut session = session();
    session.tell(Message::threads(tree()));
    session.keys("ctrl-t /").write(id).keys("enter");
    shows(&mut session, id, Some(parent));
    session.effects();
    session
}

#[test]
fn the_way_to_a_thread_leads_over_those_that_started_it() {
    let session = child("deep-5", "part-3");
    assert_eq!(session.model.ancestors(), ["about plan-1", "about part-3"]);
    assert_eq!(session.model.own_name(), Some("about deep-5"));
    let mut session = session;
    session.tell(Message::threads(vec![below("deep-5", Some("part-3")), below("part-3", Some("deep-5"))]));
    assert!(session.model.ancestors().len() <= 64, "threads that name each other have an end");
}

#[test]
fn keys_lead_to_siblings_in_the_order_in_which_they_were_started_and_to_the_parent() {
    let opens = |session: &mut Session, keys: &str| {
        session.keys(keys);
        let opened = session.effects().into_iter().find_map(|effect| {
            if let Effect::Open { thread_id } = effect { Some(thread_id.to_string()) } else { None }
        });
        let opened = opened.unwrap_or_default();
        let parent = if opened.starts_with("part") { Some("plan-1") } else { None };
        if !opened.is_empty() {
            shows(session, &opened, parent);
        }
        opened
    };
    let mut session = child("part-3", "plan-1");
    assert_eq!(opens(&mut session, "alt-."), "part-4");
    assert_eq!(opens(&mut session, "alt-."), "");
    assert_eq!(session.model.obstacle(CommandId::ThreadSiblingNext), Some("its parent started no thread after it"));
    assert_eq!(opens(&mut session, "alt-,"), "part-3");
    // While the transcript is read, without Alt.
    assert_eq!(opens(&mut session, "tab ,"), "part-2");
    assert_eq!(opens(&mut session, "tab u"), "plan-1");
    assert_eq!(session.model.obstacle(CommandId::ThreadSiblingNext), Some("no other thread started this one"));
}

#[test]
fn the_threads_around_a_child_are_asked_for_where_nobody_listed_them() {
    let mut session = session();
    session.model.view = session.model.view.successor("part-2".parse().ok());
    shows(&mut session, "part-2", Some("plan-1"));
    assert!(session.effects().contains(&Effect::LoadThreads));
    assert_eq!(session.model.ancestors(), ["plan-1"]);
    session.tell(Message::threads(tree()));
    assert_eq!(session.model.ancestors(), ["about plan-1"]);
    // They are brought up to date while it is on the screen.
    session.effects();
    session.tell(Message::ThreadsChanged);
    assert_eq!(session.effects(), [Effect::LoadThreads]);
}
