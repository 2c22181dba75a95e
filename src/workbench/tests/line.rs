//! Lines that are typed where there is no screen.

use super::*;

fn line(session: &mut Session, text: &str) {
    session.tell(Message::Line(text.into()));
}

#[test]
fn a_line_is_a_prompt_or_a_command() {
    let mut session = session();
    line(&mut session, "one \\");
    assert_eq!(session.effects(), []);
    line(&mut session, "two");
    let prompt = |effects: &[Effect]| {
        effects.iter().find_map(|effect| {
            let Effect::Start { first: Command::Submit { text, .. }, .. } = effect else { return None };
            Some(text.clone())
        })
    };
    assert_eq!(prompt(&session.effects()).as_deref(), Some("one \ntwo"));
    line(&mut session, "/quit");
    assert_eq!(session.effects(), [Effect::Quit]);
}

#[test]
fn a_line_that_goes_on_is_no_command() {
    let mut session = session();
    line(&mut session, "one \\");
    line(&mut session, "/quit \\");
    assert!(!session.model.quitting);
    assert_eq!(session.draft(), "one \n/quit \n");
}

#[test]
fn a_number_takes_an_entry_and_words_narrow_the_list() {
    let mut session = session();
    line(&mut session, "/theme");
    line(&mut session, "4");
    assert!(session.model.overlay.is_some(), "there are three");
    line(&mut session, "lig");
    line(&mut session, "1");
    assert_eq!(session.model.theme.as_deref(), Some("light"));
    line(&mut session, "/theme");
    line(&mut session, "");
    assert!(session.model.overlay.is_none());
}

/// A preview of the draft as it is told.
fn previewed(session: &mut Session, number: Option<u32>) {
    let held = crate::domain::FrozenRequest {
        thread_id: id(),
        images: Vec::new(),
        files: Vec::new(),
        model: ModelRef::new("a", "one"),
        max_output_tokens: 1,
        hash: crate::domain::ContentHash::of(b"x"),
        tools: Vec::new(),
        text: None,
        messages: Vec::new(),
        system_edit: None,
        history: None,
        payload: None,
        steps: Vec::new(),
        state: Vec::new(),
        system: Vec::new(),
        opening: Vec::new(),
    };
    let held = number.is_none().then(|| std::sync::Arc::new(held));
    let request = RequestShown { title: "next".into(), number, held, ..RequestShown::default() };
    session.tell(Message::Request(Ok(Box::new(request))));
}

#[test]
fn a_held_request_is_looked_at_and_sent_by_lines() {
    let mut session = session();
    line(&mut session, "/send");
    assert_eq!(session.effects(), []);
    assert!(session.model.notice().unwrap().text.starts_with("no preview is open"));
    line(&mut session, "/preview ship it");
    let asked = session.effects();
    assert!(
        matches!(&asked[..], [Effect::PreviewRequest { prompt, .. }] if prompt == "ship it"),
        "nothing but a preview: {asked:?}"
    );
    previewed(&mut session, None);
    line(&mut session, "/send");
    let sent = session.effects();
    let held = |effect: &Effect| matches!(effect, Effect::Start { first: Command::SubmitHeld { text, .. }, .. } if text == "ship it");
    assert!(sent.iter().any(held), "{sent:?}");
    assert!(session.model.overlay.is_none());
}

#[test]
fn a_held_request_is_dropped_or_kept_by_lines() {
    let mut session = session();
    line(&mut session, "/preview ship it");
    previewed(&mut session, None);
    session.effects();
    // An empty line closes the list and keeps the draft; other commands leave that alone too.
    line(&mut session, "");
    line(&mut session, "/help");
    assert_eq!(session.draft(), "ship it");
    line(&mut session, "/preview");
    previewed(&mut session, None);
    line(&mut session, "/drop");
    assert_eq!((session.draft(), session.model.overlay.is_none()), (String::new(), true));
    assert!(!session.effects().iter().any(|effect| matches!(effect, Effect::Start { .. })));
}

#[test]
fn a_misspelt_command_is_told_and_becomes_no_draft() {
    let mut session = session();
    session.tell(Message::Prompts(Vec::new(), false));
    line(&mut session, "/themme dark");
    assert!(session.model.notice().unwrap().text.contains("did you mean /theme?"));
    assert_eq!(session.draft(), "");
    line(&mut session, " /themme dark");
    assert!(session.effects().iter().any(|effect| matches!(effect, Effect::Start { .. })));
}
