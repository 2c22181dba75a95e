//! Reading the transcript: choosing, folding, ranges, search.

use super::*;
use crate::domain::{ContextEvent, PromptEvent, ToolEvent};
use crate::workbench::layout::Place;
use crate::workbench::overlay::{Overlay, PagerLine};
use lines::Slowly;

/// Ten turns; answer 3 is long, a tool was called after answer 5.
fn talked() -> Session {
    let mut session = connected();
    for turn in 1..=10_u32 {
        if turn > 1 {
            let text = format!("prompt {turn}");
            session.event(Event::Prompt(PromptEvent::CognitionIn {
                text,
                role: "user".into(),
                prompt: Some(turn.into()),
                images: Vec::new(),
                files: Vec::new(),
            }));
        }
        let text = if turn == 3 { "line\n".repeat(40) + "Needle" } else { format!("answer {turn}") };
        session.answer(turn, &text, StopReason::EndTurn);
        if turn == 5 {
            let input = serde_json::json!({"command": "ls"});
            session.event(Event::Tool(ToolEvent::ToolCallStart {
                capability: None,
                grant: None,
                parallel: false,
                confined: false,
                tool: "bash".into(),
                call_id: CallId("c".into()),
                input,
                item: None,
                change: None,
            }));
            let output = "a needle in a folded result".into();
            session.event(Event::Tool(ToolEvent::ToolCallResult { call_id: CallId("c".into()), output, error: None }));
        }
    }
    session.state(Status::Waiting, Vec::new());
    session.effects.clear();
    session
}

impl Session {
    fn chosen(&self) -> String {
        let (_, at) = self.model.view.chosen_blocks().unwrap();
        export::plain(self.model.view.transcript.get(at).unwrap())
    }

    /// Whether the chosen block begins on the screen.
    fn sees_chosen(&self) -> bool {
        let area = geometry::regions(&self.model).transcript;
        let rows = usize::from(area.height);
        let top = self.model.view.top(&mut Lines, area.width, rows);
        let (_, at) = self.model.view.chosen_blocks().unwrap();
        let heights = |range: std::ops::Range<usize>| -> usize {
            range.map(|index| Lines.height(self.model.view.transcript.get(index).unwrap(), area.width)).sum()
        };
        at >= top.index && heights(top.index..at) < rows + top.line
    }
}

#[test]
fn the_chosen_block_is_always_in_view_and_the_draft_stays() {
    let mut session = talked();
    session.write("half a thought").keys("tab");
    assert_eq!(session.chosen(), "answer 10");
    session.keys("k k");
    assert_eq!(session.chosen(), "answer 9");
    for _ in 0..30 {
        session.keys("k");
        assert!(session.sees_chosen(), "{}", session.chosen());
    }
    assert_eq!(session.chosen(), "hello");
    session.keys("] ] ]");
    assert_eq!(session.chosen(), "prompt 4");
    assert!(session.sees_chosen());
    session.keys("[ G");
    assert_eq!(session.chosen(), "answer 10");
    // Letters are commands here, and Esc goes back to writing.
    session.write("zzw").keys("esc");
    assert_eq!(session.draft(), "half a thought");
    session.write("!");
    assert_eq!(session.draft(), "half a thought!");
}

#[test]
fn a_range_is_copied_as_markdown_and_a_block_as_written() {
    let mut session = talked();
    session.keys("tab y");
    assert_eq!(session.effects(), [Effect::Copy("answer 10".into())]);
    session.keys("v k k y");
    assert_eq!(session.effects(), [Effect::Copy("answer 9\n\n## You\n\nprompt 10\n\nanswer 10\n".into())]);
    assert_eq!(session.model.view.reading.as_ref().unwrap().mark, None);
    session.keys("o");
    assert_eq!(session.effects(), [Effect::ShowText("answer 9".into())]);
}

#[test]
fn search_goes_up_from_where_one_is_and_opens_what_is_folded() {
    let mut session = talked();
    session.keys("ctrl-s").write("needle");
    assert!(session.chosen().contains("a folded result"), "{}", session.chosen());
    let (_, at) = session.model.view.chosen_blocks().unwrap();
    assert!(session.model.view.transcript.get(at).unwrap().open, "what was found can be seen");
    session.keys("enter N");
    assert!(session.chosen().ends_with("Needle"));
    // Its last line is the one in view.
    let area = geometry::regions(&session.model).transcript;
    let top = session.model.view.top(&mut Lines, area.width, usize::from(area.height));
    let (_, at) = session.model.view.chosen_blocks().unwrap();
    assert_eq!((top.index, top.line + usize::from(area.height) / 3), (at, 41));
    session.keys("n");
    assert!(session.chosen().contains("a folded result"));
    session.keys("n");
    assert!(session.chosen().ends_with("Needle"), "around the end");
}

#[test]
fn a_search_that_finds_nothing_says_so_and_stays() {
    let mut session = talked();
    session.keys("ctrl-s").write("no such words");
    assert!(!session.model.view.reading.as_ref().unwrap().search.as_ref().unwrap().found);
    assert_eq!(session.chosen(), "answer 10");
    session.keys("esc");
    assert!(session.model.view.reading.as_ref().unwrap().search.is_none());
    session.keys("esc").write("/find prompt 7").keys("enter");
    assert_eq!(session.chosen(), "prompt 7");
    assert_eq!(session.draft(), "");
    session.keys("esc").write("/export pdf").keys("enter");
    assert_eq!(session.draft(), "/export pdf");
    session.keys("ctrl-u").write("/export html").keys("enter");
    assert!(session.effects().contains(&Effect::Export { thread_id: id(), form: ExportForm::Html }));
}

#[test]
fn reading_survives_what_arrives_and_a_new_thread_ends_it() {
    let mut session = talked();
    session.keys("tab k k k");
    let before = session.chosen();
    session.event(Event::Prompt(PromptEvent::CognitionIn {
        text: "more".into(),
        role: "user".into(),
        prompt: Some(11),
        images: Vec::new(),
        files: Vec::new(),
    }));
    session.stream(11, "new text\n");
    assert_eq!(session.chosen(), before);
    session.keys("enter");
    let (_, at) = session.model.view.chosen_blocks().unwrap();
    assert!(session.model.view.transcript.get(at).unwrap().open);
    session.keys("esc alt-n");
    assert!(session.model.view.reading.is_none());
    session.keys("tab");
    assert!(session.model.view.reading.is_none(), "there is nothing to read");
}

/// Who comes to a long answer from below sees its end, however much of it is laid out by then.
#[test]
fn an_answer_that_is_not_laid_out_whole_is_reached_at_its_end() {
    let mut session = connected();
    session.answer(1, &"line\n".repeat(400), StopReason::EndTurn);
    session.answer(2, &"after\n".repeat(60), StopReason::EndTurn);
    session.state(Status::Waiting, Vec::new());
    let rows = usize::from(geometry::regions(&session.model).transcript.height);
    let top = |session: &Session, layout: &mut Slowly| session.model.view.top(layout, 80, rows);
    let long = session.model.view.transcript.iter().position(|block| matches!(block.kind, Kind::Answer(_))).unwrap();
    // Up from the end, to the last five rows of the long one as it is laid out now.
    let to_it = i32::try_from(61 - rows + 5).unwrap();
    let _effects = update(&mut session.model, &mut Slowly(100), Message::Wheel { lines: to_it });
    assert_eq!(top(&session, &mut Slowly(100)), Place { index: long, line: 95 });
    for known in [200, 300, 401] {
        let _effects = update(&mut session.model, &mut Slowly(known), Message::GoOn);
        assert_eq!(top(&session, &mut Slowly(known)), Place { index: long, line: known - 5 });
    }
    // Now it is whole, and its line is held whatever arrives.
    assert!(matches!(session.model.view.position, Position::At { line: 396, .. }));
    let _effects = update(&mut session.model, &mut Slowly(300), Message::Wheel { lines: 10 });
    assert!(matches!(session.model.view.position, Position::At { .. }), "from within it stays where it is");
}

#[test]
fn what_is_told_of_the_context_leads_to_the_request_behind_it() {
    let mut session = talked();
    session.event(Event::Prompt(PromptEvent::CognitionIn {
        text: "and then".into(),
        role: "user".into(),
        prompt: Some(11),
        images: Vec::new(),
        files: Vec::new(),
    }));
    session.event(Event::Context(ContextEvent::ContextInjected {
        before: vec!["rules".into()],
        after: Vec::new(),
        layers: Vec::new(),
    }));
    let asked = |session: &mut Session| {
        session
            .effects()
            .into_iter()
            .find_map(|effect| if let Effect::LoadRequest { number, .. } = effect { Some(number) } else { None })
    };
    // Nothing was answered yet: the newest request is meant.
    session.keys("tab G enter");
    assert_eq!(asked(&mut session), Some(None));
    session.keys("esc esc").answer(11, "later", StopReason::EndTurn).state(Status::Waiting, Vec::new());
    session.keys("tab G k");
    assert!(session.chosen().contains("rules") && !session.model.view.chosen_folds());
    session.keys("enter");
    assert_eq!(asked(&mut session), Some(Some(11)));
}

#[test]
fn a_search_outlives_the_only_message() {
    let mut session = session();
    session.write("hello").keys("enter tab /");
    session.tell(opened(id())).tell(Message::Disconnected { thread_id: id(), expected: true, detail: String::new() });
    assert_eq!((session.model.view.transcript.len(), session.draft().as_str()), (0, "hello"));
    session.write("t").keys("enter");
}

#[test]
fn help_begins_with_the_main_keys_and_is_searched() {
    let mut session = session();
    let page = |session: &Session| match &session.model.overlay {
        Some(Overlay::Pager(pager)) => pager.clone(),
        other => panic!("no page is open: {other:?}"),
    };
    session.keys("F1");
    let all = page(&session).lines;
    assert_eq!(all[0], PagerLine::Heading("Main keys".into()));
    assert!(matches!(&all[1], PagerLine::Row { left, .. } if left == "enter"));
    assert!(matches!(&all[11], PagerLine::Blank), "ten of them: {:?}", &all[..12]);
    session.keys("/").write("theme");
    let found = page(&session);
    assert!(found.lines.len() < 12 && found.filtering, "{:?}", found.lines);
    let says = |line: &PagerLine| match line {
        PagerLine::Row { left, text } => format!("{left} {text}").to_lowercase().contains("theme"),
        PagerLine::Blank | PagerLine::Heading(_) | PagerLine::Whole(_) => true,
    };
    assert!(found.lines.iter().all(says) && matches!(found.lines[0], PagerLine::Heading(_)), "{:?}", found.lines);
    session.keys("backspace enter");
    assert_eq!((page(&session).filter.as_str(), page(&session).filtering), ("them", false));
    // Esc takes the filter off first, then it closes.
    session.keys("esc");
    assert_eq!(page(&session).lines, all);
    session.keys("/").write("zzz");
    assert_eq!(page(&session).lines, []);
    session.keys("esc esc");
    assert!(session.model.overlay.is_none());
}
