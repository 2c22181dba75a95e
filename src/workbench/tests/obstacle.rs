//! What cannot be done now is not offered, or shown with what stands in its way.

use super::*;
use crate::workbench::overlay::Overlay;
use crate::workbench::picker::{Choice, Entry, ListRow};

fn palette(session: &Session) -> &[Entry] {
    let Some(Overlay::Picker(picker)) = &session.model.overlay else { panic!("no list is open") };
    &picker.entries
}

fn entry(session: &Session, command: CommandId) -> &Entry {
    palette(session).iter().find(|entry| entry.choice == Choice::Command(command)).unwrap()
}

#[test]
fn the_palette_offers_no_answer_while_no_call_waits() {
    let mut session = session();
    session.keys("F2");
    for command in
        [CommandId::ApprovalOnce, CommandId::ApprovalThread, CommandId::ApprovalAlways, CommandId::ApprovalDeny]
    {
        let entry = entry(&session, command);
        assert_eq!((entry.usable, entry.detail.as_str()), (false, "no call needs approval"));
    }
    let usable: Vec<bool> = palette(&session).iter().map(|entry| entry.usable).collect();
    assert!(usable.is_sorted_by(|one, other| one >= other), "what can be done comes first");
    // Who picks it all the same is told, and the list stays.
    session.write("allow this call").keys("enter");
    assert!(session.model.overlay.is_some());
    assert_eq!(session.model.notice().unwrap().text, "no call needs approval");
}

#[test]
fn s16_the_palette_begins_with_what_was_chosen_last_and_is_grouped() {
    let mut session = session();
    for wanted in ["choose a theme", "help"] {
        session.keys("F2").write(wanted).keys("enter esc");
    }
    session.keys("F2");
    let Some(Overlay::Picker(picker)) = &session.model.overlay else { panic!("no list is open") };
    let rows = picker.rows();
    let told = |row: &ListRow| match row {
        ListRow::Heading(heading) => format!("[{heading}]"),
        ListRow::Entry(place) => picker.entries[picker.shown[*place]].label.clone(),
    };
    let told: Vec<String> = rows.iter().map(told).collect();
    assert_eq!(told[..4], ["[recent]", "Help", "Choose a theme", "[messages]"], "{told:?}");
    let headings: Vec<&String> = told.iter().filter(|row| row.starts_with('[')).collect();
    assert_eq!(headings.last().unwrap().as_str(), "[not now]");
    assert_eq!(headings.iter().collect::<std::collections::BTreeSet<_>>().len(), headings.len(), "each once: {told:?}");
    // A click on a heading chooses nothing, and one on an entry what stands there.
    let mut clicked = picker.clone();
    assert!(!clicked.choose_row(3, 20) && clicked.chosen == 0);
    assert!(!clicked.choose_row(2, 20) && clicked.chosen == 1);
    // What is filtered has no groups: the best match comes first.
    session.write("th");
    let Some(Overlay::Picker(picker)) = &session.model.overlay else { panic!("no list is open") };
    assert!(picker.rows().iter().all(|row| matches!(row, ListRow::Entry(_))));
}

#[test]
fn every_command_without_a_use_in_an_empty_draft_says_why() {
    let mut session = session();
    session.keys("F2");
    let obstacles: Vec<_> = palette(&session)
        .iter()
        .filter(|entry| !entry.usable)
        .map(|entry| (entry.label.clone(), entry.detail.clone()))
        .collect();
    insta::assert_debug_snapshot!(obstacles);
}

#[test]
fn an_open_palette_follows_what_happens() {
    let mut session = connected();
    session.keys("F2");
    assert!(entry(&session, CommandId::TurnInterrupt).usable);
    assert!(!entry(&session, CommandId::TranscriptCopy).usable);
    session.answer(1, "done", StopReason::EndTurn);
    session.state(Status::Waiting, Vec::new());
    assert!(!entry(&session, CommandId::TurnInterrupt).usable);
    assert!(entry(&session, CommandId::TranscriptCopy).usable);
}

#[test]
fn a_slash_command_without_a_use_is_not_completed_and_says_why() {
    let mut session = session();
    session.write("/sto");
    assert_eq!(session.model.completion.entries, []);
    session.write("p").keys("enter");
    assert_eq!(session.model.notice().unwrap().text, "nothing is running");
    assert_eq!(session.draft(), "");
    let mut session = connected();
    session.write("/st");
    assert!(!session.model.completion.entries.is_empty());
}

/// Words behind a command that takes none are somebody's message: they stay.
#[test]
fn a_message_that_begins_like_a_command_is_not_lost() {
    for text in ["/diff the two parsers", "/quit smoking", "/compact the text below"] {
        let mut session = session();
        session.write(text).keys("enter");
        assert_eq!(session.draft(), text);
        assert!(!session.model.quitting && session.effects().is_empty());
        let mut session = super::session();
        session.write(&format!(" {text}")).keys("enter");
        assert_eq!(session.draft(), "", "with a blank before it is sent");
    }
}

#[test]
fn what_only_resembles_a_command_is_completed_before_it_runs() {
    let mut session = session();
    session.write("/qit").keys("enter");
    assert_eq!((session.model.quitting, session.draft().as_str()), (false, "/quit "));
    session.keys("enter");
    assert!(session.model.quitting);
    let mut session = self::session();
    session.write("/qu").keys("enter");
    assert!(session.model.quitting, "the beginning of a name is enough");
}

#[test]
fn a_whole_word_without_a_use_does_not_become_another_command() {
    let mut session = session();
    session.write("/edit").keys("enter");
    assert_eq!(session.effects(), [], "/editor begins so, too");
    assert_eq!(session.model.notice().unwrap().text, "nothing was said yet");
}
