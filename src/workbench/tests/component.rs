//! Components of extensions: who has the keys, and what extensions are told of.

use super::dialog::showing;
use super::*;
use crate::domain::{Gesture, OfExtensions, OfferedShortcut, OpenComponent, ScreenSize, Themes};
use crate::workbench::overlay::Overlay;

fn component(id: u64, focused: bool) -> OpenComponent {
    OpenComponent { id, from: "pad.ts".to_owned(), at: None, focused, editor: None, lines: vec![format!("drawn {id}")] }
}

fn open(components: Vec<OpenComponent>) -> OfExtensions {
    OfExtensions { components, draws: true, ..OfExtensions::default() }
}

impl Session {
    pub(super) fn gestures(&mut self) -> Vec<Gesture> {
        let gesture = |effect| {
            if let Effect::Send { command: Command::Gesture { gesture }, .. } = effect { Some(gesture) } else { None }
        };
        self.effects().into_iter().filter_map(gesture).collect()
    }

    fn keyed(&self) -> Option<u64> {
        if let Some(Overlay::Component(open)) = &self.model.overlay { Some(open.id) } else { None }
    }
}

fn typed(component: u64, data: &str) -> Gesture {
    Gesture::Type { component, data: data.to_owned(), by: "s".to_owned() }
}

#[test]
fn the_last_component_that_wants_them_has_the_keys() {
    let mut session = connected();
    showing(&mut session, open(vec![component(1, true), component(2, true), component(3, false)]));
    assert_eq!(session.keyed(), Some(2));
    session.gestures();
    session.keys("a enter esc ctrl-d F4");
    let sent: Vec<Gesture> = ["a", "\r", "\x1b", "\x04", "\x1bOS"].iter().map(|data| typed(2, data)).collect();
    assert_eq!(session.gestures(), sent);
    session.keys("ctrl-c");
    assert_eq!(session.gestures(), [Gesture::Close { component: 2 }]);
    // The worker has not said so yet.
    assert_eq!(session.keyed(), Some(1));
    showing(&mut session, open(vec![component(1, true), component(2, true)]));
    assert_eq!(session.keyed(), Some(1));
    showing(&mut session, open(vec![]));
    assert_eq!(session.keyed(), None);
    session.keys("x");
    assert_eq!(session.model.composer.text(), "x");
}

#[test]
fn a_component_waits_for_a_list_that_is_open() {
    let mut session = connected();
    session.keys("F2");
    showing(&mut session, open(vec![component(1, true)]));
    assert_eq!(session.keyed(), None);
    session.keys("esc");
    assert_eq!(session.keyed(), Some(1));
}

#[test]
fn extensions_are_told_how_large_the_screen_is_and_of_its_themes() {
    let mut session = connected();
    session.effects();
    showing(&mut session, OfExtensions::default());
    assert_eq!(session.gestures(), []);
    showing(&mut session, open(vec![]));
    let told = session.gestures();
    let themes = Themes { names: session.model.themes.clone(), chosen: None };
    let [Gesture::Resize(ScreenSize { .. }), Gesture::Themes(first)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(*first, themes);
    showing(&mut session, open(vec![component(1, true)]));
    assert_eq!(session.gestures(), []);
    session.tell(Message::Resize { columns: 90, rows: 20 });
    assert_eq!(session.gestures(), [Gesture::Resize(ScreenSize { columns: 90, rows: 20, inner: 90 })]);
    session.model.theme = Some("light".to_owned());
    showing(&mut session, open(vec![]));
    assert_eq!(session.gestures(), [Gesture::Themes(Themes { chosen: Some("light".to_owned()), ..themes })]);
}

#[test]
fn a_key_that_means_nothing_else_runs_a_shortcut() {
    let mut session = connected();
    let shortcut = |key: &str| OfferedShortcut { key: key.to_owned(), about: String::new() };
    let shortcuts = vec![shortcut("ctrl+x"), shortcut("ctrl+p"), shortcut("x"), shortcut("nonsense+")];
    showing(&mut session, OfExtensions { shortcuts, ..OfExtensions::default() });
    session.effects();
    session.keys("ctrl-x");
    let sent = session.effects();
    assert!(
        sent.iter().any(
            |effect| matches!(effect, Effect::Send { command: Command::PressShortcut { key }, .. } if key == "ctrl+x")
        ),
        "{sent:?}"
    );
    // The first of these is written, the other is levain's own.
    session.keys("x");
    assert_eq!(session.model.composer.text(), "x");
    session.keys("ctrl-p");
    let sent = session.effects();
    assert!(!sent.iter().any(|effect| matches!(effect, Effect::Send { command: Command::PressShortcut { .. }, .. })));
}

#[test]
fn an_extension_leads_to_a_new_thread_once() {
    use crate::domain::{MoveTo, Moved, NumberedText};
    let mut session = connected();
    let moved = |number: u64| OfExtensions {
        moved: Some(Moved { text: NumberedText { number, text: "a draft".to_owned() }, to: MoveTo::New }),
        ..OfExtensions::default()
    };
    // What was there when the thread was opened was for somebody else.
    showing(&mut session, OfExtensions::default());
    showing(&mut session, moved(1));
    assert!(session.model.view.thread.is_none());
    assert_eq!(session.model.composer.text(), "a draft");
}

#[test]
fn a_command_that_levain_has_too_is_offered_by_its_long_name() {
    use crate::domain::OfferedCommand;
    let mut session = connected();
    let command = |name: &str| OfferedCommand { name: name.to_owned(), about: String::new(), completes: false };
    showing(
        &mut session,
        OfExtensions {
            commands: vec![command("handoff"), command("greet"), command("help")],
            ..OfExtensions::default()
        },
    );
    assert!(session.model.is_prompt_name("/extension:handoff now") && session.model.is_prompt_name("/greet"));
    assert!(!session.model.is_prompt_name("/handoff"));
    session.write("/help now").keys("enter");
    let said = session.model.notices.iter().map(|notice| notice.text.clone()).collect::<Vec<_>>().join(" ");
    assert!(said.contains("(the extension's is /extension:help)"), "{said}");
}
