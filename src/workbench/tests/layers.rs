//! The context screen: asking for requests, going through them and their layers.

use super::*;
use crate::domain::FrozenRequest;
use crate::domain::{Assembly, WireForm};
use crate::workbench::overlay::Overlay;
use crate::workbench::picker::PickerKind;
use crate::workbench::request::{Compared, EditedValue, LineKind, PageContent, SheetLine, View, WhatIf};
use crate::workbench::{AssembledRequest, LayerRow, RequestShown, Source};
use std::sync::Arc;

fn request(number: Option<u32>) -> RequestShown {
    let layer = |id: &str, absence: Option<&str>| LayerRow {
        id: id.into(),
        kind: "hook",
        part: "system".into(),
        text: format!("text of {id}").into(),
        absence: absence.map(str::to_owned),
        source: (id == "a").then(|| Source { file: "/x/a.md".into(), line: Some(7) }),
        ..LayerRow::default()
    };
    RequestShown {
        title: "chat-1#2".into(),
        numbers: vec![1, 2, 4],
        number,
        layers: vec![layer("a", None), layer("b", Some("suppressed by c"))],
        ..RequestShown::default()
    }
}

#[test]
fn help_leads_back_to_what_it_lies_over() {
    let mut session = session();
    session.write("hello").keys("ctrl-p");
    let under = |session: &Session| matches!(&session.model.overlay, Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Layers);
    assert!(under(&session));
    session.keys("f1");
    assert!(matches!(session.model.overlay, Some(Overlay::Pager(_))));
    // What is read meanwhile is there afterwards.
    session.tell(Message::Request(Ok(Box::new(request(None)))));
    session.keys("esc");
    assert!(under(&session));
    assert_eq!(session.model.chosen_layer().unwrap().id, "a");
    session.keys("esc");
    assert!(session.model.overlay.is_none());
    session.keys("ctrl-l f1");
    session.tell(Message::Models(Vec::new()));
    session.keys("esc");
    assert!(matches!(&session.model.overlay, Some(Overlay::Picker(list)) if !list.loading));
}

#[test]
fn a_preview_is_of_the_draft_and_sends_nothing() {
    let mut session = session();
    session.write("what if").keys("ctrl-p");
    let expected = Effect::PreviewRequest {
        thread_id: None,
        directive: "levain/chat".into(),
        model: ModelRef::new("a", "one"),
        prompt: "what if".into(),
        images: Vec::new(),
        files: Vec::new(),
        inputs: session.model.inputs.clone(),
    };
    assert_eq!(session.effects(), [expected]);
    session.tell(Message::Request(Ok(Box::new(request(None)))));
    assert_eq!(session.model.chosen_layer().unwrap().id, "a");
    session.keys("o down");
    assert_eq!(session.effects(), [Effect::OpenFile(Source { file: "/x/a.md".into(), line: Some(7) })]);
    assert_eq!(session.model.chosen_layer().unwrap().absence.as_deref(), Some("suppressed by c"));
    session.keys("y o");
    assert_eq!(session.effects(), [Effect::Copy("text of b".into()), Effect::ShowText("text of b".into())]);
    session.keys("esc");
    assert_eq!((session.draft().as_str(), session.model.overlay.is_none()), ("what if", true));
}

#[test]
fn who_asks_for_a_layer_is_opened_or_named() {
    let mut session = session();
    session.write("what if").keys("ctrl-p");
    let mut request = request(None);
    request.layers[0].asked_by = Some(Source { file: "/x/hooks.yaml".into(), line: Some(4) });
    request.layers[1].asker = Some("by levain/core/base, line 21".into());
    request.layers.push(LayerRow { id: "c".into(), ..LayerRow::default() });
    session.tell(Message::Request(Ok(Box::new(request))));
    session.effects();
    session.keys("O");
    assert_eq!(session.effects(), [Effect::OpenFile(Source { file: "/x/hooks.yaml".into(), line: Some(4) })]);
    session.keys("down O");
    assert_eq!(
        session.model.notice().unwrap().text,
        "it is named by levain/core/base, line 21: there is no file to open"
    );
    session.keys("down O");
    assert_eq!(session.model.notice().unwrap().text, "no hook or directive names it: there is no file to open");
    assert_eq!(session.effects(), []);
}

#[test]
fn requests_are_gone_through_in_order() {
    let mut session = connected();
    session.answer(4, "said", StopReason::EndTurn);
    session.effects.clear();
    let load = |number| Effect::LoadRequest { thread_id: id(), number };
    session.keys("F4");
    assert_eq!(session.effects(), [load(None)]);
    session.tell(Message::Request(Ok(Box::new(request(Some(4))))));
    session.keys("]");
    assert_eq!(session.effects(), []);
    session.keys("[");
    assert_eq!(session.effects(), [load(Some(2))]);
    session.tell(Message::Request(Ok(Box::new(request(Some(2))))));
    session.keys("] esc");
    assert_eq!(session.effects(), [load(Some(4))]);
    // A block leads to its own request; a prompt to the one that answered it.
    session.keys("tab r");
    assert_eq!(session.effects(), [load(Some(4))]);
    session.keys("esc k r");
    assert_eq!(session.effects(), [load(Some(4))]);
}

#[test]
fn keys_that_are_faster_than_the_reading_of_requests_all_count() {
    let mut session = connected();
    session.answer(4, "said", StopReason::EndTurn);
    session.keys("F4");
    session.tell(Message::Request(Ok(Box::new(request(Some(4))))));
    session.effects();
    session.keys("[ [");
    let load = |number| Effect::LoadRequest { thread_id: id(), number: Some(number) };
    assert_eq!(session.effects(), [load(2), load(1)]);
    // What was asked for last is shown, in whatever order they come.
    session.tell(Message::Request(Ok(Box::new(request(Some(1))))));
    session.tell(Message::Request(Ok(Box::new(request(Some(2))))));
    assert_eq!(session.model.browser.request.as_ref().unwrap().number, Some(1));
}

#[test]
fn a_request_that_is_not_there_is_told() {
    let mut session = connected();
    session.keys("F4").tell(Message::Request(Err("this thread has sent nothing yet".into())));
    assert!(session.model.overlay.is_none());
    assert!(session.model.notice().unwrap().text.contains("nothing yet"));
}

fn held() -> Arc<FrozenRequest> {
    let hash = crate::domain::ContentHash::of(b"all");
    Arc::new(FrozenRequest {
        thread_id: id(),
        images: Vec::new(),
        files: Vec::new(),
        model: ModelRef::new("a", "one"),
        max_output_tokens: 1,
        system: Vec::new(),
        opening: Vec::new(),
        text: None,
        messages: Vec::new(),
        system_edit: None,
        history: None,
        payload: None,
        steps: Vec::new(),
        state: Vec::new(),
        tools: Vec::new(),
        hash,
    })
}

fn previewed(session: &mut Session, text: &str) {
    session.write(text).keys("ctrl-p");
    session.tell(Message::Request(Ok(Box::new(RequestShown { held: Some(held()), ..request(None) }))));
    session.effects.clear();
}

#[test]
fn enter_in_a_preview_sends_what_it_shows() {
    let mut session = session();
    previewed(&mut session, "go");
    session.keys("enter");
    let start = Effect::Start {
        directive: "levain/chat".into(),
        model: ModelRef::new("a", "one"),
        inputs: Values::new(),
        id: 1,
        first: Command::SubmitHeld {
            text: "go".into(),
            held: Box::new(FrozenRequest::clone(&held())),
            client: client(1),
        },
    };
    assert_eq!(session.effects(), [Effect::Remember("go".into()), start]);
    assert!(session.model.overlay.is_none() && session.draft().is_empty());
    // Nothing has changed until the worker says so; then it is looked at again.
    session.tell(Message::Opened { thread_id: id(), newest: Vec::new(), older: None, state: None, elsewhere: false });
    session.tell(Message::Connected { thread_id: id() });
    session.tell(Message::Worker(id(), FromWorker::Error { id: 1, message: "not as it was".into() }));
    assert!(matches!(&session.effects()[..], [Effect::PreviewRequest { prompt, .. }] if prompt == "go"));
    assert_eq!((session.draft().as_str(), session.story()), ("go", Vec::new()));
    session.tell(Message::Request(Ok(Box::new(RequestShown { held: Some(held()), ..request(None) }))));
    session.keys("enter");
    let submit =
        Command::SubmitHeld { text: "go".into(), held: Box::new(FrozenRequest::clone(&held())), client: client(2) };
    assert_eq!(session.effects(), [Effect::Remember("go".into()), send(2, submit)]);
    // How the thread stood before it was heard does not count.
    session.state(Status::Waiting, Vec::new());
    assert!(session.model.view.is_working());
    session.tell(Message::Worker(id(), FromWorker::Ack { id: 2 }));
    assert!(session.model.view.is_working());
}

#[test]
fn a_preview_is_left_for_the_draft_or_dropped_with_it() {
    let mut session = session();
    previewed(&mut session, "go");
    session.keys("e");
    assert_eq!((session.effects(), session.draft().as_str()), (Vec::new(), "go"));
    previewed(&mut session, "!");
    session.keys("x");
    assert_eq!((session.effects(), session.draft().as_str()), (vec![Effect::Remember("go!".into())], ""));
    assert!(session.model.overlay.is_none());
    // Without a prompt there is nothing to send, and a command is none.
    session.keys("ctrl-p").tell(Message::Request(Ok(Box::new(request(None)))));
    session.effects.clear();
    session.keys("enter");
    assert_eq!(session.effects(), []);
    assert!(session.model.notice().unwrap().text.contains("nothing to send"));
    session.keys("esc").write("/model a/b").keys("ctrl-p");
    assert_eq!((session.effects(), session.model.overlay.is_none()), (Vec::new(), true));
}

#[test]
fn a_preview_while_the_thread_works_is_not_sent() {
    let mut session = connected();
    previewed(&mut session, "go");
    session.keys("enter");
    assert_eq!(session.effects(), []);
    assert!(session.model.overlay.is_some() && session.draft() == "go");
}

fn whole(name: &str) -> Arc<AssembledRequest> {
    Arc::new(AssembledRequest {
        name: name.into(),
        thread_id: id(),
        model: ModelRef::new("a", "one"),
        max_output_tokens: 1,
        payload: None,
        sent: None,
        assembly: Assembly { system: String::new(), messages: Vec::new(), layers: Vec::new(), texts: Vec::new() },
    })
}

fn sent(number: u32) -> RequestShown {
    RequestShown { whole: Some(whole(&format!("chat-1#{number}"))), ..request(Some(number)) }
}

impl Session {
    /// Looks at a request that was sent.
    fn looks(&mut self, number: u32) -> &mut Self {
        self.keys("F4").tell(Message::Request(Ok(Box::new(sent(number)))));
        self.effects.clear();
        self
    }

    fn page(&mut self, view: View, lines: usize) -> &mut Self {
        let line = |number: usize| SheetLine {
            layer: number.is_multiple_of(20).then(|| if number == 40 { "b".into() } else { "a".into() }),
            ..SheetLine::new(
                LineKind::Plain,
                format!("line {number} of {}", if number == 30 { "Needle" } else { "hay" }),
            )
        };
        let lines = (0..lines).map(line).collect();
        let shown = self.model.browser.request.as_ref().and_then(|request| request.whole.as_ref());
        let of = shown.map(|whole| whole.name.clone()).unwrap_or_default();
        self.tell(Message::Page(Ok(Box::new(PageContent { view, title: "page".into(), lines, copy: None, of }))))
    }

    fn top(&self) -> usize {
        self.model.sheet().unwrap().top
    }
}

#[test]
fn a_page_is_scrolled_searched_and_left_for_the_layers() {
    let mut session = connected();
    session.answer(4, "said", StopReason::EndTurn);
    session.looks(4).keys("down t");
    assert_eq!(session.effects(), [Effect::ViewRequest { whole: whole("chat-1#4"), view: View::Text }]);
    // It opens where the chosen layer begins.
    session.page(View::Text, 100);
    assert_eq!(session.top(), 40);
    session.keys("tab shift-tab shift-tab");
    assert_eq!(session.top(), 20);
    session.keys("g / n e e");
    let search = session.model.sheet().unwrap().search.clone().unwrap();
    assert!(search.found && search.writing && session.top() > 0 && session.top() <= 30, "{}", session.top());
    session.keys("z");
    assert!(!session.model.sheet().unwrap().search.as_ref().unwrap().found);
    session.keys("backspace enter n");
    assert_eq!(session.model.sheet().unwrap().hits, [30]);
    session.keys("y");
    assert!(matches!(&session.effects()[..], [Effect::Copy(text)] if text.lines().count() == 100));
    session.tell(Message::Resize { columns: 20, rows: 12 });
    assert!(session.model.sheet().unwrap().rows.len() > 100);
    session.keys("esc");
    assert_eq!(session.model.chosen_layer().unwrap().id, "b");
    session.keys("esc");
    assert!(session.model.overlay.is_none());
    // What comes too late opens nothing.
    session.page(View::Text, 3);
    assert!(session.model.overlay.is_none());
}

#[test]
fn the_wire_forms_are_gone_round_from_the_models_own() {
    let mut session = connected();
    session.looks(4);
    let mut forms = vec![None];
    for own in [WireForm::Compatible, WireForm::Responses, WireForm::Gemini, WireForm::Anthropic, WireForm::OpenAi] {
        session.keys("w");
        assert_eq!(
            session.effects(),
            [Effect::ViewRequest { whole: whole("chat-1#4"), view: View::Wire(forms.pop().unwrap()) }]
        );
        session.page(View::Wire(Some(own)), 3);
        forms.push(WireForm::ALL.iter().position(|one| *one == own).map(|place| WireForm::ALL[(place + 1) % 5]));
    }
    session.keys("w");
    assert_eq!(session.effects(), [Effect::ViewRequest { whole: whole("chat-1#4"), view: View::Text }]);
}

#[test]
fn a_request_is_compared_with_the_one_before_or_the_marked_one() {
    let mut session = connected();
    session.looks(4).keys("d");
    let before = |number| View::Difference(Compared::Sent { thread_id: id(), number });
    let view = |number: u32, view| Effect::ViewRequest { whole: whole(&format!("chat-1#{number}")), view };
    assert_eq!(session.effects(), [view(4, before(2))]);
    session.page(View::Difference(Compared::Whole(whole("chat-1#2"))), 3);
    // From request to request, each with the one before it.
    session.keys("[");
    session.effects.clear();
    session.tell(Message::Request(Ok(Box::new(sent(2)))));
    assert_eq!(session.effects(), [view(2, before(1))]);
    session.keys("m [");
    session.effects.clear();
    session.tell(Message::Request(Ok(Box::new(sent(1)))));
    assert_eq!(session.effects(), [view(1, View::Difference(Compared::Whole(whole("chat-1#2"))))]);
    session.keys("esc esc").looks(4).keys("d");
    assert_eq!(session.effects(), [view(4, View::Difference(Compared::Whole(whole("chat-1#2"))))]);
    session.tell(Message::Request(Ok(Box::new(sent(2))))).keys("m");
    session.tell(Message::Request(Ok(Box::new(sent(1)))));
    session.effects.clear();
    session.keys("d");
    assert_eq!(session.effects(), []);
    assert!(session.model.notice().unwrap().text.contains("mark another one with m"));
}

#[test]
fn a_preview_is_made_anew_when_something_is_saved_and_says_what_changed() {
    let mut session = session();
    previewed(&mut session, "go");
    session.tell(Message::Saved);
    assert!(matches!(&session.effects()[..], [Effect::PreviewRequest { prompt, .. }] if prompt == "go"));
    let mut now = RequestShown { held: Some(held()), ..request(None) };
    session.tell(Message::Request(Ok(Box::new(now.clone()))));
    assert!(session.model.notice().is_none());
    now.layers[0].text = "other".into();
    let other = FrozenRequest { hash: crate::domain::ContentHash::of(b"other"), ..FrozenRequest::clone(&held()) };
    now.held = Some(Arc::new(other.clone()));
    session.tell(Message::Request(Ok(Box::new(now))));
    assert_eq!(session.model.notice().unwrap().text, "changed since you looked: a");
    session.effects.clear();
    session.keys("enter");
    let effects = session.effects();
    let [_, Effect::Start { first: Command::SubmitHeld { held, .. }, .. }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(**held, other);
}

#[test]
fn the_context_beside_the_conversation_follows_what_is_chosen_in_it() {
    let mut session = connected();
    session.tell(Message::Resize { columns: 160, rows: 45 });
    session.answer(1, "one", StopReason::EndTurn).joined("more", Some(2)).answer(2, "two", StopReason::EndTurn);
    session.state(Status::Waiting, Vec::new());
    session.effects();
    let asked = |session: &mut Session| {
        let effects = session.effects().into_iter();
        effects
            .filter_map(|effect| if let Effect::LoadBeside { number, .. } = effect { Some(number) } else { None })
            .collect::<Vec<_>>()
    };
    let read = |session: &mut Session, number: Option<u32>, shown: u32| {
        let request = Ok(Box::new(request(Some(shown)).without_texts()));
        session.tell(Message::Beside { thread_id: id(), number, request });
    };
    let shown = |session: &Session| session.model.beside.shown.clone().and_then(Result::ok).and_then(|it| it.number);
    session.keys("F6");
    assert_eq!(asked(&mut session), [None], "the newest, as nothing is chosen");
    // One is read at a time; where the person went meanwhile is asked for when it has come.
    session.keys("tab home");
    assert_eq!(asked(&mut session), []);
    read(&mut session, None, 2);
    assert_eq!(asked(&mut session), [Some(1)]);
    read(&mut session, Some(1), 1);
    assert_eq!((shown(&session), asked(&mut session)), (Some(1), Vec::new()));
    assert!(session.model.beside.shown.as_ref().unwrap().as_ref().unwrap().layers.iter().all(|it| it.text.is_empty()));
    session.keys("esc");
    assert_eq!(asked(&mut session), [None]);
    read(&mut session, None, 2);
    // Another request is made: it is the newest.
    session.event(Event::Request(RequestEvent::RequestRecorded {
        request: 3,
        turn: 3,
        attempt: 1,
        model: ModelRef::new("a", "one"),
        tokens: Tokens(0),
    }));
    assert_eq!(asked(&mut session), [None]);
    read(&mut session, None, 3);
    // Where there is no room for it nothing is read.
    session.tell(Message::Resize { columns: 139, rows: 45 }).keys("tab home");
    assert_eq!(asked(&mut session), []);
    session.keys("esc").write("/split").keys("enter");
    assert_eq!(session.model.notice().unwrap().text, "the terminal has fewer than 140 columns");
}

#[test]
fn a_request_is_shown_as_it_would_be_without_a_layer() {
    let mut session = connected();
    session.looks(4).keys("down -");
    let asked = |without: &[usize]| WhatIf {
        whole: whole("chat-1#4"),
        number: Some(4),
        numbers: sent(4).numbers,
        texts: without.iter().map(|place| (*place, None)).collect(),
    };
    let shown = |session: &Session| session.model.browser.request.clone().unwrap();
    assert_eq!(session.effects(), [Effect::WhatIf(asked(&[1]))]);
    let as_if = RequestShown { whole: Some(whole("chat-1#4 as if")), ..sent(4) };
    session.tell(Message::WhatIf(asked(&[1]), Ok(Box::new(as_if.clone()))));
    assert_eq!(shown(&session), as_if);
    // It is compared with what it was, and another layer is taken from it as well.
    session.keys("d");
    let view = View::Difference(Compared::Whole(whole("chat-1#4")));
    assert_eq!(session.effects(), [Effect::ViewRequest { whole: whole("chat-1#4 as if"), view }]);
    session.keys("up -");
    assert_eq!(session.effects(), [Effect::WhatIf(asked(&[0, 1]))]);
    // Keys that are faster than the answers lose nothing, and only the last answer counts.
    session.keys("-");
    assert_eq!(session.effects(), [Effect::WhatIf(asked(&[1]))]);
    session.tell(Message::WhatIf(asked(&[0, 1]), Ok(Box::new(sent(4)))));
    assert_eq!(shown(&session), as_if);
    // With the last one back it is what was sent, as it was shown.
    session.keys("down -");
    assert_eq!((session.effects(), shown(&session)), (Vec::new(), sent(4)));
    // A text of the person's own, which an editor ended with a line; the same text changes nothing.
    session.keys("E");
    let text = shown(&session).layers[1].text.to_string();
    assert_eq!(session.effects(), [Effect::EditValue(EditedValue::Layer(1), text.clone())]);
    session.tell(Message::ValueEdited(EditedValue::Layer(1), format!("{text}\n")));
    assert!(!session.effects().iter().any(|effect| matches!(effect, Effect::WhatIf(_))));
    session.tell(Message::ValueEdited(EditedValue::Layer(1), "another\n".into()));
    let other = WhatIf { texts: [(1, Some("another".to_owned()))].into(), ..asked(&[]) };
    assert!(session.effects().contains(&Effect::WhatIf(other)));
    session.keys("-").effects();
    // What cannot be left out is told of, and nothing is left out.
    session.keys("-").effects();
    session.tell(Message::WhatIf(asked(&[1]), Err("b stays".into())));
    assert_eq!(shown(&session), sent(4));
    // What comes once another is looked at is dropped.
    session.keys("- [").effects();
    session.tell(Message::Request(Ok(Box::new(sent(2)))));
    session.tell(Message::WhatIf(asked(&[1]), Ok(Box::new(as_if))));
    assert_eq!(shown(&session).number, Some(2));
}
