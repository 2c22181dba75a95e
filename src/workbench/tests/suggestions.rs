//! What extensions say that completes the draft.

use super::dialog::showing;
use super::*;
use crate::domain::{DraftEdit, ExtensionCompletion, OfExtensions, OfferedCommand, Suggestion, ToComplete};

fn offering(completes: bool) -> OfExtensions {
    let commands = [("deploy", true), ("greet", false)].map(|(name, completes)| OfferedCommand {
        name: name.to_owned(),
        about: String::new(),
        completes,
    });
    OfExtensions { commands: commands.to_vec(), completes, ..OfExtensions::default() }
}

fn offered(text: &str, from: usize, to: usize) -> Suggestion {
    let edit = DraftEdit { from, to, text: text.to_owned(), cursor: from + text.chars().count() };
    Suggestion::Extension(ExtensionCompletion { label: text.to_owned(), about: String::new(), edit })
}

impl Session {
    /// What extensions were asked last.
    fn asked_extensions(&mut self) -> Option<(u64, ToComplete)> {
        let asked = |effect| if let Effect::Complete { id, draft } = effect { Some((id, draft)) } else { None };
        self.effects().into_iter().filter_map(asked).last()
    }

    fn suggested(&mut self, number: u64, suggestions: &[Suggestion]) {
        let suggestions = suggestions.to_vec();
        self.tell(Message::Worker(id(), FromWorker::Suggested { id: number, suggestions }));
    }

    fn listed(&self) -> Vec<String> {
        self.model.completion.entries.iter().map(super::super::completion::Completed::word).collect()
    }
}

#[test]
fn arguments_of_a_command_are_offered_and_narrowed_as_one_writes() {
    let mut session = connected();
    showing(&mut session, offering(false));
    session.write("/deploy");
    assert_eq!(session.asked_extensions(), None);
    session.write(" ");
    let (number, draft) = session.asked_extensions().unwrap();
    assert_eq!((draft.command.as_deref(), draft.line, draft.column), (Some("deploy"), 0, 8));
    session.suggested(number, &[offered("staging", 8, 8), offered("production", 8, 8)]);
    assert_eq!(session.listed(), ["staging", "production"]);
    assert!(session.model.completion.is_only_offered());
    // What still fits is there before the answer.
    session.write("p");
    assert_eq!(session.listed(), ["production"]);
    let (number, _) = session.asked_extensions().unwrap();
    session.suggested(number, &[offered("production", 8, 9)]);
    session.keys("enter");
    assert_eq!((session.draft(), session.listed()), ("/deploy production".to_owned(), Vec::new()));
    // It is closed until something is written, and what stands there is not offered.
    let (number, _) = session.asked_extensions().unwrap();
    session.suggested(number, &[offered("production", 8, 18)]);
    assert_eq!(session.listed(), Vec::<String>::new());
    session.keys("enter");
    let sends = |effect: &Effect| matches!(effect, Effect::Send { command: Command::Submit { text, .. }, .. } if text == "/deploy production");
    assert!(session.effects().iter().any(sends));
}

#[test]
fn enter_sends_what_is_written_unless_an_argument_was_begun_or_gone_to() {
    let mut session = connected();
    showing(&mut session, offering(false));
    session.write("/deploy ");
    let (number, _) = session.asked_extensions().unwrap();
    session.suggested(number, &[offered("staging", 8, 8), offered("production", 8, 8)]);
    session.keys("down enter");
    assert_eq!(session.draft(), "/deploy production");
    session.keys("ctrl-u");
    session.write("/deploy ");
    let (number, _) = session.asked_extensions().unwrap();
    session.suggested(number, &[offered("staging", 8, 8)]);
    session.keys("enter");
    let sends = |effect: &Effect| matches!(effect, Effect::Send { command: Command::Submit { text, .. }, .. } if text.trim() == "/deploy");
    assert!(session.effects().iter().any(sends));
}

#[test]
fn answers_of_an_older_question_are_for_nobody() {
    let mut session = connected();
    showing(&mut session, offering(true));
    session.write("a");
    let (older, draft) = session.asked_extensions().unwrap();
    assert_eq!((draft.command, draft.lines), (None, vec!["a".to_owned()]));
    session.write("b");
    let (newer, _) = session.asked_extensions().unwrap();
    session.suggested(older, &[offered("apple", 0, 1)]);
    assert_eq!(session.listed(), Vec::<String>::new());
    session.suggested(newer, &[offered("abbot", 0, 2)]);
    assert_eq!(session.listed(), ["abbot"]);
    // An empty draft asks for nothing.
    session.keys("ctrl-u");
    assert_eq!((session.asked_extensions(), session.listed()), (None, Vec::new()));
}

#[test]
fn what_the_program_offers_stands_where_extensions_put_it() {
    let mut session = connected();
    showing(&mut session, offering(true));
    session.write("/hel");
    let (number, draft) = session.asked_extensions().unwrap();
    assert_eq!((draft.word.as_str(), draft.own[0].word.as_str()), ("/hel", "/help"));
    let own = Suggestion::Program { word: "/help".to_owned() };
    session.suggested(number, &[offered("/hello", 0, 4), own, Suggestion::Program { word: "/gone".to_owned() }]);
    assert_eq!(session.listed(), ["/hello", "/help"]);
    session.keys("tab");
    assert_eq!(session.draft(), "/hello");
    // A change of more lines is one step back.
    session.keys("ctrl-u");
    session.write("a").keys("ctrl-j").write("b");
    let (number, draft) = session.asked_extensions().unwrap();
    assert_eq!((draft.lines, draft.line, draft.column), (vec!["a".to_owned(), "b".to_owned()], 1, 1));
    session.suggested(number, &[offered("é\nc", 0, 3)]);
    session.keys("tab");
    assert_eq!((session.draft(), session.model.composer.cursor()), ("é\nc".to_owned(), (1, 1)));
}
