//! The list of handlers.

use super::{Session, id, session};
use crate::domain::command::Breakpoint;
use crate::domain::event::StopReason;
use crate::domain::{Event, RequestEvent, Stage, Status, Step, StepOutcome};
use crate::workbench::pipeline_list::{AskedRow, KnownHandler, PipelineRow, PipelineRows};
use crate::workbench::{Effect, Link, Message};
use crate::worker::protocol::Command;
use std::sync::Arc;

fn rows() -> PipelineRows {
    let step = Step {
        stage: Stage::Input,
        handler: "typos".to_owned(),
        place: None,
        outcome: StepOutcome::Unchanged,
        took_ms: 1,
        before: None,
        after: None,
        saw: Vec::new(),
        said: String::new(),
        edited: false,
    };
    let known = KnownHandler { stage: Stage::Input, id: "typos".to_owned(), place: None };
    let asked = AskedRow { of: "prompt 1 · hello".into(), place: 0, step };
    PipelineRows { asked: vec![Arc::new(asked)], known: vec![Arc::new(known)], printed: Vec::new() }
}

fn connected() -> Session {
    let mut session = session();
    (session.model.view.thread, session.model.view.link) = (Some(id()), Link::Connected);
    session
}

#[test]
fn the_newest_handler_is_chosen_whatever_is_told_while_the_list_is_read() {
    let mut session = connected();
    session.write("/pipeline").keys("enter");
    session.state(Status::Waiting, Vec::new());
    session.tell(Message::Pipeline(Some(id()), Ok(rows())));
    assert_eq!(session.model.chosen_step(), Some(&PipelineRow::Asked(Arc::clone(&rows().asked[0]))));
    // Read again, it leads nobody away from what they look at.
    session.keys("G");
    session.tell(Message::Pipeline(Some(id()), Ok(rows())));
    assert!(matches!(session.model.chosen_step(), Some(PipelineRow::Stage(_))), "{:?}", session.model.chosen_step());
}

#[test]
fn what_handlers_did_that_answered_at_once_is_listed_when_the_turn_is_over() {
    let mut session = connected();
    session.state(Status::Running, Vec::new());
    session.write("/pipeline").keys("enter");
    session.tell(Message::Pipeline(Some(id()), Ok(rows())));
    session.state(Status::Waiting, Vec::new());
    let read = |effect: &Effect| matches!(effect, Effect::LoadPipeline { .. });
    assert!(session.effects().iter().any(read), "{:?}", session.effects());
}

/// The log says it before the answer, which whoever watched has seen arrive by then.
#[test]
fn what_handlers_made_of_an_answer_is_told_behind_it() {
    let mut session = connected();
    let step = Step { stage: Stage::MessageEnd, outcome: StepOutcome::Changed, ..rows().asked[0].step.clone() };
    session.event(Event::Request(RequestEvent::AnswerPrepared { request: 1, steps: vec![step] }));
    assert!(session.story().is_empty(), "{:?}", session.story());
    session.answer(1, "hi", StopReason::EndTurn);
    let story = session.story();
    let place = |words: &str| story.iter().position(|line| line.contains(words));
    assert!(place("hi").is_some() && place("hi") < place("message_end changed by typos"), "{story:?}");
}

#[test]
fn a_breakpoint_is_on_and_off_by_one_key_and_a_new_worker_hears_of_it_first() {
    let mut session = session();
    session.write("/pipeline").keys("enter");
    session.tell(Message::Pipeline(None, Ok(PipelineRows { asked: Vec::new(), ..rows() })));
    session.keys("b");
    let before_typos = Breakpoint { stage: Stage::Input, handler: Some("typos".to_owned()), contains: None };
    assert_eq!(session.model.view.breakpoints, std::slice::from_ref(&before_typos));
    session.keys("b");
    assert!(session.model.view.breakpoints.is_empty());
    session.keys("b esc").write("hello").keys("enter");
    let effects = session.effects();
    let place = |is_it: &dyn Fn(&Effect) -> bool| effects.iter().position(is_it);
    let first = place(&|effect| {
        matches!(effect, Effect::SayFirst { command: Command::SetBreakpoints { breakpoints }, .. }
            if *breakpoints == [before_typos.clone()])
    });
    let start = place(&|effect| matches!(effect, Effect::Start { .. }));
    assert!(first.is_some() && start.is_some() && first < start, "{effects:?}");
}
