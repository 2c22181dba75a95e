//! What extensions draw and write in the place of the program: calls and messages, the draft, programs with the terminal.

use super::dialog::showing;
use super::*;
use crate::domain::{
    CustomEntry, Drawable, Drawing, DrawnKinds, Editor, EditorAct, ExtensionEntry, Foreground, ForegroundProgram,
    Gesture, NumberedAct, OfExtensions, OpenComponent, ThreadEvent, ToDraw, ToolEvent,
};

fn editor(text: &str, acts: &[(u64, EditorAct)]) -> OfExtensions {
    let act = |(number, act): &(u64, EditorAct)| NumberedAct { number: *number, by: "s".to_owned(), act: act.clone() };
    let acts = acts.iter().map(act).collect();
    let editor = Some(Editor { text: text.to_owned(), acts });
    let lines = vec!["───".to_owned(), text.to_owned()];
    let open = OpenComponent { id: 7, from: "e.ts".to_owned(), at: None, focused: false, editor, lines };
    OfExtensions { components: vec![open], draws: true, ..OfExtensions::default() }
}

fn submit(text: &str) -> EditorAct {
    EditorAct::Submit { text: text.to_owned() }
}

impl Session {
    fn told_editor(&mut self) -> Vec<Gesture> {
        let gestures = self.gestures().into_iter();
        gestures.filter(|gesture| !matches!(gesture, Gesture::Resize(_) | Gesture::Themes(_))).collect()
    }

    fn sent_prompts(&mut self) -> Vec<String> {
        let sent = |effect| {
            if let Effect::Send { command: Command::Submit { text, .. }, .. } = effect { Some(text) } else { None }
        };
        self.effects().into_iter().filter_map(sent).collect()
    }

    fn drawn_now(&mut self) -> Vec<(u64, ToDraw)> {
        let asked = |effect| if let Effect::Draw { id, to_draw } = effect { Some((id, to_draw)) } else { None };
        self.effects().into_iter().filter_map(asked).collect()
    }
}

fn typed(data: &str) -> Gesture {
    Gesture::Type { component: 7, data: data.to_owned(), by: "s".to_owned() }
}

#[test]
fn an_editor_has_the_keys_that_write_and_the_draft_follows_it() {
    let mut session = connected();
    showing(&mut session, editor("", &[]));
    session.effects();
    session.keys("a enter esc left ctrl-p");
    assert_eq!(session.told_editor(), [typed("a"), typed("\r"), typed("\x1b"), typed("\x1b[D")]);
    session.keys("esc");
    showing(&mut session, editor("hello", &[]));
    assert_eq!(session.model.composer.text(), "hello");
    session.effects();
    // What another screen sends this one does not.
    let mut other = editor("", &[(1, submit("hello"))]);
    other.components[0].editor.as_mut().unwrap().acts[0].by = "another".to_owned();
    showing(&mut session, editor("hello", &[]));
    showing(&mut session, other);
    assert_eq!((session.sent_prompts(), session.model.composer.text()), (vec![], String::new()));
    showing(&mut session, editor("", &[(2, submit("hello"))]));
    assert_eq!(session.sent_prompts(), ["hello"]);
    assert_eq!(session.model.composer.text(), "");
    // Nor does it twice.
    showing(&mut session, editor("", &[(2, submit("hello"))]));
    assert_eq!(session.sent_prompts(), Vec::<String>::new());
    // What was written right behind it stays.
    showing(&mut session, editor("w", &[(2, submit("hello")), (3, submit("more"))]));
    assert_eq!((session.sent_prompts(), session.model.composer.text()), (vec!["more".to_owned()], "w".to_owned()));
    // A screen that comes later takes what is written, and empties nothing.
    let mut later = connected();
    showing(&mut later, editor("half a pro", &[(3, submit("more"))]));
    assert_eq!((later.model.composer.text(), later.told_editor()), ("half a pro".to_owned(), vec![]));
}

#[test]
fn what_changes_the_draft_here_is_told_to_the_editor() {
    let mut session = connected();
    session.write("before");
    showing(&mut session, editor("", &[]));
    assert_eq!(session.told_editor(), [Gesture::Write { component: 7, text: "before".to_owned() }]);
    showing(&mut session, editor("before", &[]));
    assert_eq!(session.told_editor(), []);
    // What could not be sent comes back.
    session.keys("x");
    showing(&mut session, editor("", &[(1, submit("/nonsens"))]));
    assert_eq!(session.model.composer.text(), "/nonsens");
    let back = Gesture::Write { component: 7, text: "/nonsens".to_owned() };
    assert_eq!(session.told_editor(), [typed("x"), back]);
    // Without it the draft is written as usual.
    showing(&mut session, OfExtensions::default());
    session.keys("!");
    assert_eq!(session.model.composer.text(), "/nonsens!");
}

#[test]
fn calls_on_the_screen_are_drawn_by_extensions_once_for_how_they_stand() {
    let mut session = connected();
    let drawn = DrawnKinds { tools: vec!["look".to_owned()], ..DrawnKinds::default() };
    let shown = |redraws| OfExtensions { drawn: DrawnKinds { redraws, ..drawn.clone() }, ..OfExtensions::default() };
    showing(&mut session, shown(0));
    let (call_id, tool) = (CallId("1".into()), "look".to_owned());
    let start = |item: &str| {
        let (call_id, item, input) = (call_id.clone(), Some(item.to_owned()), serde_json::json!({}));
        Event::Tool(ToolEvent::ToolCallStart {
            tool: tool.clone(),
            call_id,
            item,
            input,
            capability: None,
            grant: None,
            parallel: false,
            confined: false,
            change: None,
        })
    };
    session.event(start("extension/look"));
    let asked = session.drawn_now();
    let [(number, ToDraw { subject: Drawable::Call { call_id: named }, open: false, .. })] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!(*named, call_id);
    // One is asked for after the other.
    session.tell(Message::Second);
    assert_eq!(session.drawn_now(), []);
    let drawing = Drawing { head: Some(vec!["looks".to_owned()]), ..Drawing::default() };
    session.tell(Message::Worker(id(), FromWorker::Drawn { id: *number, drawing: drawing.clone() }));
    let shown_now = |session: &Session| session.model.view.transcript.iter().find_map(|block| block.drawing().cloned());
    assert_eq!(shown_now(&session), Some(drawing));
    assert_eq!(session.drawn_now(), []);
    // It ended, then something is to be drawn anew, then it is shown in full.
    session.event(Event::Tool(ToolEvent::ToolCallResult { call_id, output: "seen".into(), error: None }));
    for step in 0..3 {
        let asked = session.drawn_now();
        let [(number, to_draw)] = asked.as_slice() else { panic!("{step}: {asked:?}") };
        assert_eq!(to_draw.open, step == 2);
        session.tell(Message::Worker(id(), FromWorker::Error { id: *number, message: "too much".into() }));
        assert_eq!(shown_now(&session), Some(Drawing::default()));
        match step {
            0 => showing(&mut session, shown(1)),
            1 => drop(session.keys("ctrl-o")),
            _ => {}
        }
    }
    assert!(session.model.notice().is_none());
    // Without an extension that draws it, what one drew does not stay.
    showing(&mut session, OfExtensions::default());
    assert_eq!((shown_now(&session), session.drawn_now().len()), (None, 0));
}

#[test]
fn a_program_gets_the_terminal_of_the_screen_that_takes_it() {
    let mut session = connected();
    let words = vec!["vi".to_owned()];
    let program = ForegroundProgram {
        from: "e.ts".to_owned(),
        words,
        folder: "/".into(),
        environment: std::collections::BTreeMap::new(),
    };
    let wanted = Foreground { id: 1, program };
    let waiting = || OfExtensions { foreground: Some(wanted.clone()), ..OfExtensions::default() };
    showing(&mut session, waiting());
    showing(&mut session, waiting());
    let sent = session.effects();
    let [Effect::Send { id: number, command: Command::TakeForeground { id: 1 } }] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    session.tell(Message::Worker(id(), FromWorker::Ack { id: *number }));
    assert_eq!(session.effects(), [Effect::RunForeground(Box::new(wanted.clone()))]);
    session.tell(Message::ForegroundOver { id: 1, code: Some(3) });
    let over = session.effects();
    assert!(matches!(
        over.as_slice(),
        [Effect::Send { command: Command::ForegroundOver { id: 1, code: Some(3) }, .. }]
    ));
    // Where another screen has it nothing is said.
    let mut other = connected();
    showing(&mut other, waiting());
    let sent = other.effects();
    let [Effect::Send { id: number, .. }] = sent.as_slice() else { panic!("{sent:?}") };
    other.tell(Message::Worker(id(), FromWorker::Error { id: *number, message: "taken".into() }));
    assert_eq!((other.effects(), other.model.notice().is_none()), (vec![], true));
}

#[test]
fn whole_answers_are_drawn_otherwise_and_entries_only_where_somebody_draws_them() {
    let mut session = connected();
    session.answer(1, "said **so**", StopReason::EndTurn);
    let entry = |name: &str| {
        let (custom_type, data) = (name.to_owned(), serde_json::json!({"n": 1}));
        Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Custom { custom_type, data } })
    };
    session.event(entry("seen"));
    session.event(entry("unseen"));
    assert_eq!(session.drawn_now(), [], "nobody draws anything");
    let drawn = DrawnKinds { entries: vec!["seen".to_owned()], markdown: true, ..DrawnKinds::default() };
    showing(&mut session, OfExtensions { drawn, ..OfExtensions::default() });
    let mut subjects = Vec::new();
    for _ in 0..2 {
        let asked = session.drawn_now();
        let [(id_of, to_draw)] = asked.as_slice() else { panic!("{asked:?}") };
        let drawing = match &to_draw.subject {
            Drawable::Markdown { text } => Drawing { markdown: Some(text.to_uppercase()), ..Drawing::default() },
            Drawable::Call { .. } | Drawable::Message { .. } | Drawable::Entry { .. } => {
                Drawing { body: Some(vec!["an entry".to_owned()]), ..Drawing::default() }
            }
        };
        subjects.push(to_draw.subject.clone());
        session.tell(Message::Worker(id(), FromWorker::Drawn { id: *id_of, drawing }));
    }
    let text = "said **so**".to_owned();
    let entry = Box::new(CustomEntry { custom_type: "seen".to_owned(), data: serde_json::json!({"n": 1}) });
    assert_eq!(subjects, [Drawable::Markdown { text: text.clone() }, Drawable::Entry { entry }]);
    assert_eq!(session.drawn_now(), []);
    assert_eq!(session.model.view.transcript.last_answer(), Some(text), "what was said stays what it was");
}
