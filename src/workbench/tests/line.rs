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
fn a_number_takes_an_entry_and_words_narrow_the_list() {
    let mut session = session();
    line(&mut session, "/theme");
    line(&mut session, "3");
    assert!(session.model.overlay.is_some(), "there are two");
    line(&mut session, "lig");
    line(&mut session, "1");
    assert_eq!(session.model.theme.as_deref(), Some("light"));
    line(&mut session, "/theme");
    line(&mut session, "");
    assert!(session.model.overlay.is_none());
}
