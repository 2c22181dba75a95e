//! Components of extensions: who has the keys, and what extensions are told of.

use super::dialog::showing;
use super::*;
use crate::domain::{
    ContentHash, Gesture, Indicator, Insertion, Looks, NumberedText, NumberedWish, OfExtensions, OfferedShortcut,
    OpenComponent, ScreenSize, Suggested, Themes,
};
use crate::workbench::overlay::Overlay;
use std::time::Duration;

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
    let themes = Themes { names: session.model.themes.clone(), chosen: Some("dark".to_owned()) };
    let [Gesture::Draft { text }, Gesture::Resize(ScreenSize { .. }), Gesture::Themes(first)] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!((text.as_str(), first), ("", &themes));
    showing(&mut session, open(vec![component(1, true)]));
    assert_eq!(session.gestures(), []);
    session.tell(Message::Resize { columns: 90, rows: 20 });
    assert_eq!(session.gestures(), [Gesture::Resize(ScreenSize { columns: 90, rows: 20, inner: 90 })]);
    // As the terminal is, until one is chosen.
    session.model.light = Some(true);
    showing(&mut session, open(vec![]));
    let light = Themes { chosen: Some("light".to_owned()), ..themes.clone() };
    assert_eq!(session.gestures(), [Gesture::Themes(light)]);
    session.model.theme = Some("sixteen".to_owned());
    showing(&mut session, open(vec![]));
    assert_eq!(session.gestures(), [Gesture::Themes(Themes { chosen: Some("sixteen".to_owned()), ..themes })]);
}

#[test]
fn extensions_are_told_of_the_draft_and_of_details_as_they_change() {
    let mut session = connected();
    showing(&mut session, open(vec![]));
    session.gestures();
    let written = |text: &str| Gesture::Draft { text: text.to_owned() };
    session.keys("h i");
    let effects = session.effects();
    let told = |effect: &Effect| {
        let Effect::Send { id, command: Command::Gesture { gesture } } = effect else { return None };
        Some((*id, gesture.clone()))
    };
    let told: Vec<_> = effects.iter().filter_map(told).collect();
    assert_eq!(told.iter().map(|(_, gesture)| gesture.clone()).collect::<Vec<_>>(), [written("h"), written("hi")]);
    // A worker of somebody else does not want to know; nobody is told of that with each letter.
    session.tell(Message::Worker(id(), FromWorker::Error { id: told[0].0, message: "nothing was allowed".to_owned() }));
    assert!(session.model.notice().is_none());
    // Where nothing changed nothing is told.
    session.keys("left");
    showing(&mut session, open(vec![]));
    assert_eq!(session.gestures(), []);
    session.keys("ctrl-o");
    assert_eq!(session.gestures(), [Gesture::Unfold { open: true }]);
    let wish = |number, wish| {
        let looks = Looks { unfolds: Some(NumberedWish { number, wish }), ..Looks::default() };
        OfExtensions { looks, ..open(vec![]) }
    };
    // What was wished before this screen came was for somebody else.
    showing(&mut session, wish(1, false));
    assert!(!session.model.details, "a first wish after none");
    session.gestures();
    showing(&mut session, wish(2, true));
    assert!(session.model.details);
    session.keys("ctrl-o");
    showing(&mut session, wish(2, true));
    assert!(!session.model.details, "a wish is followed once");
}

#[test]
fn a_text_of_an_extension_stands_in_the_place_of_what_it_has_read_and_of_nothing_else() {
    let put = |number: u64, text: &str, how: Insertion| {
        let text = NumberedText { number, text: text.to_owned() };
        OfExtensions { suggested: Some(Suggested { text, how }), ..open(vec![]) }
    };
    let instead = |read: &str| Insertion::Instead(ContentHash::of(read.as_bytes()));
    for (how, draft) in [
        (instead("some words"), "SHOUTED"),
        (instead("other words"), "SHOUTED\nsome words"),
        (Insertion::Before, "SHOUTED\nsome words"),
        (Insertion::Pasted, "some wordsSHOUTED"),
    ] {
        let mut session = connected();
        showing(&mut session, open(vec![]));
        session.model.composer.set("some words");
        showing(&mut session, put(1, "SHOUTED", how));
        assert_eq!(session.model.composer.text(), draft);
        // Nothing that a person wrote is lost.
        session.model.composer.undo();
        session.model.composer.undo();
        session.model.composer.undo();
        assert!(session.model.composer.text().contains("some words"), "{}", session.model.composer.text());
    }
}

#[test]
fn marks_of_an_extension_stand_in_turn_while_a_model_is_waited_for() {
    let mut session = connected();
    let showing = |session: &mut Session, frames: &[&str], hides_working| {
        let frames = frames.iter().map(|frame| (*frame).to_owned()).collect();
        let indicator = Some(Indicator { frames, interval_ms: 120 });
        showing(
            session,
            OfExtensions { looks: Looks { indicator, hides_working, ..Looks::default() }, ..open(vec![]) },
        );
    };
    showing(&mut session, &["a", "b"], false);
    assert_eq!(session.model.indicator_interval(), None, "the prompt is on its way");
    let delta = Delta::Text { text: "An answer".into() };
    session.tell(Message::Worker(id(), FromWorker::Delta { request: 1, delta }));
    assert_eq!(session.model.indicator_interval(), Some(Duration::from_millis(120)));
    let marks = [0; 3].map(|_| {
        session.tell(Message::IndicatorTick);
        session.model.working_mark().to_owned()
    });
    assert_eq!(marks, ["b", "a", "b"]);
    for (frames, mark) in [(&["one"][..], "one"), (&[], "")] {
        showing(&mut session, frames, true);
        assert_eq!((session.model.indicator_interval(), session.model.working_mark()), (None, mark));
    }
    assert!(session.model.hides_working());
    showing(&mut session, &["a", "b"], false);
    session.state(Status::Completed, Vec::new());
    assert_eq!(session.model.indicator_interval(), None, "nobody waits");
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
fn an_extension_that_shuts_down_leads_out_of_the_program() {
    use crate::domain::{MoveTo, Moved};
    let mut session = connected();
    showing(&mut session, OfExtensions::default());
    let text = NumberedText { number: 1, text: String::new() };
    session.model.composer.set("unsent");
    showing(&mut session, OfExtensions { moved: Some(Moved { text, to: MoveTo::Leave }), ..OfExtensions::default() });
    assert!(session.model.quitting);
    let effects = session.effects();
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Quit)), "{effects:?}");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Remember(text) if text == "unsent")), "{effects:?}");
}

/// Its board stayed, and the draft below it: what was typed was sent unseen.
#[test]
fn a_component_goes_with_the_worker_that_drew_it() {
    let mut session = connected();
    showing(&mut session, open(vec![component(1, true), component(2, false)]));
    assert_eq!(session.keyed(), Some(1));
    session.tell(Message::Disconnected { thread_id: id(), expected: false, detail: String::new() });
    assert_eq!((session.keyed(), session.model.components().count()), (None, 0));
    session.keys("x");
    assert_eq!(session.model.composer.text(), "x");
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
