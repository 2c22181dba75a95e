//! Pages about a tree of threads.

use super::*;
use crate::domain::command::{Breakpoint, Handling};
use crate::domain::timeline::{Timeline, TimelineRow};
use crate::domain::{ContentHash, ControlEvent, HandlerPlace, Stage, Step, StepOutcome, ThreadEvent, Timestamp};
use crate::workbench::PeekNews;
use crate::workbench::bisect_list::{BisectAsked, BisectNews};
use crate::workbench::pipeline_list::{AskedRow, KnownHandler, PipelineRows, PrintedRow};
use std::sync::Arc;

fn row(name: &str, level: usize, changes: &[(u64, Event)]) -> TimelineRow {
    let mut timeline = Timeline::default();
    for (at, event) in changes {
        timeline.hear(Timestamp(*at), event);
    }
    TimelineRow { name: name.into(), level, cost: "$0.12".into(), timeline }
}

#[test]
fn the_timeline_of_a_tree() {
    let due = || Event::Request(RequestEvent::RetryDue { attempt: 2 });
    let queued = || Event::Control(ControlEvent::ThreadQueued { reason: "full".into() });
    let again = || {
        let (attempt, delay_ms, classification) = (2, 2_000, None);
        Event::Request(RequestEvent::RetryScheduled { attempt, delay_ms, classification })
    };
    let over = || Event::Thread(ThreadEvent::ThreadCompleted { cost: Cost::default() });
    check("timeline", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.tell(Message::Timeline(Ok(vec![
            row("plan the bread", 0, &[(0, due()), (60_000, over())]),
            row(
                "research 小麦 and other flours",
                1,
                &[(4_000, due()), (20_000, again()), (22_000, due()), (30_000, over())],
            ),
            row("review", 1, &[(5_000, queued()), (30_000, due()), (55_000, over())]),
        ])));
        session
    });
}

#[test]
fn what_became_of_a_thread() {
    check("postmortem", |columns, rows| {
        let mut session = Session::started(columns, rows);
        let rows = [
            ("thread", "team/research-1700000000000, team/research with anthropic/claude-haiku-4-5"),
            ("why", "it has no end: the process 4711 that ran it died"),
            ("last event", "1 min 12 s after it began"),
            (
                "request",
                "#4 of turn 3, attempt 2, ~12.4k tokens to anthropic/claude-haiku-4-5: no answer is in the log",
            ),
            ("running", "rye/bash, without a result"),
            ("error", "after 58 s: overloaded_error: the model has too much to do"),
            ("spent", "2 turns, 18.2k tokens, $0.04, 1 min 9 s of work"),
        ];
        session.tell(Message::Postmortem(Ok(rows.map(|(about, text)| (about, text.to_owned())).to_vec())));
        session
    });
}

#[test]
fn what_handlers_did_and_the_value_at_a_breakpoint() {
    check("pipeline", |columns, rows| pipeline(columns, rows, true));
    check("pipeline_step", |columns, rows| {
        let mut session = pipeline(columns, rows, false);
        session.tell(Message::ItemText {
            kind: "step",
            id: "prompt 1 · /fix 12 by teh rules 0 Difference".to_owned(),
            text: Ok("@@ -1 +1 @@\n-text: /fix 12 by teh rules\n+text: /fix 12 by the rules\n".to_owned()),
        });
        session
    });
}

/// The handlers of a thread, with or without standing still before one.
fn pipeline(columns: u16, rows: u16, stands: bool) -> Session {
    let mut session = Session::started(columns, rows);
    let state = session.model.view.state.as_mut().unwrap();
    let paused = stands.then(|| ContentHash::of(b"value"));
    state.handling = paused.map(|hash| Handling {
        stage: Stage::Context,
        handler: "count".to_owned(),
        since: Timestamp(1),
        paused: Some(hash),
    });
    session.model.view.breakpoints =
        vec![Breakpoint { stage: Stage::Context, handler: Some("count".to_owned()), contains: None }];
    let place = |line| Some(HandlerPlace { file: "/p/.ai/config/agent/pipeline.yaml".to_owned(), line: Some(line) });
    let step = |stage, handler: &str, outcome, took_ms, line| Step {
        stage,
        handler: handler.to_owned(),
        place: place(line),
        outcome,
        took_ms,
        before: Some(ContentHash::of(b"before")),
        after: None,
        saw: Vec::new(),
        said: String::new(),
        edited: false,
    };
    let error = "`sh` failed (exit code 3): no git here".to_owned();
    let steps = [
        step(Stage::Input, "typos", StepOutcome::Changed, 0, 2),
        step(Stage::BeforeAgentStart, "note", StepOutcome::NotAsked, 0, 6),
        step(Stage::BeforeAgentStart, "branch", StepOutcome::Failed { error }, 12, 11),
        step(Stage::Context, "count", StepOutcome::Unchanged, 3, 15),
    ];
    let of: Arc<str> = "prompt 1 · /fix 12 by teh rules".into();
    let asked = steps.into_iter().enumerate();
    let asked = asked.map(|(place, step)| Arc::new(AskedRow { of: Arc::clone(&of), place, step })).collect();
    let known = KnownHandler { stage: Stage::Context, id: "count".to_owned(), place: place(15) };
    let printed = PrintedRow {
        at: "12:00:01".to_owned(),
        extension: "guard".to_owned(),
        level: "info".to_owned(),
        text: "loaded".into(),
    };
    let rows = PipelineRows { asked, known: vec![Arc::new(known)], printed: vec![Arc::new(printed)] };
    session.type_in("/pipeline").keys("enter");
    session.tell(Message::Pipeline(session.model.view.thread.clone(), Ok(rows)));
    if stands {
        let id = ContentHash::of(b"value").as_str().to_owned();
        let text = Ok("messages[0].role: user\nmessages[0].content: hello\ntype: context\n".to_owned());
        session.tell(Message::ItemText { kind: "step", id, text });
    }
    session
}

#[test]
fn threads_that_need_a_person() {
    check("attention", |columns, rows| {
        let mut session = Session::started(columns, rows);
        let mut listed = rows_of_threads();
        let (child, parent) = (listed.remove(1), listed[0].thread_id.clone());
        let (status, waiting, waits_for) = (Status::Waiting, Some(Waiting::Approval), Some("rye/bash".into()));
        listed.insert(1, ThreadRow { status, waiting, waits_for, parent: Some(parent), level: 1, ..child });
        session.tell(Message::threads(listed)).type_in("/attention");
        session.keys("enter m");
        session
    });
}

#[test]
fn a_thread_below_others() {
    check("child", |columns, rows| {
        let mut session = Session::started(columns, rows);
        let mut listed = rows_of_threads();
        let ids: Vec<ThreadId> = listed.iter().map(|row| row.thread_id.clone()).collect();
        // The thread on the screen is below the fourth, which has no title, below the third, below the second.
        for (below, above) in [(0, 3), (3, 2), (2, 1)] {
            listed[below].parent = Some(ids[above].clone());
        }
        session.event(Event::Thread(ThreadEvent::ThreadStarted {
            directive: "levain/chat".into(),
            kind: ThreadKind::OneShot,
            model: ModelRef::new("anthropic", "claude-sonnet-4-5"),
            limits: Limits::default(),
            limits_by: crate::domain::LimitSources::default(),
            project: "/shop".into(),
            inputs: crate::domain::Values::new(),
            lineage: crate::domain::Lineage { parent: Some(ids[3].clone()), ..crate::domain::Lineage::default() },
            ceilings: Vec::new(),
        }));
        session.tell(Message::threads(listed));
        session
    });
}

/// The chosen thread of the list writes an answer.
fn looked_into(columns: u16, rows: u16) -> Session {
    let mut session = Session::started(columns, rows);
    session.tell(Message::threads(rows_of_threads())).keys("ctrl-t j");
    let record = |event| Record { timestamp: Timestamp(NOW), thread_id: thread(), event };
    let prompt = PromptEvent::CognitionIn {
        text: "why is the build slow on the small machines, and what would it take".into(),
        role: "user".into(),
        prompt: None,
        images: Vec::new(),
        files: Vec::new(),
    };
    let newest = vec![record(Event::Prompt(prompt))];
    // The first was asked for when the list was opened.
    session.tell(Message::Peeked { number: 1, news: PeekNews::Opened { newest: Vec::new(), older: None } });
    session.tell(Message::Peeked { number: 2, news: PeekNews::Opened { newest, older: None } });
    let delta = Delta::Text { text: ANSWER.into() };
    session
        .tell(Message::Peeked { number: 2, news: PeekNews::Worker(Box::new(FromWorker::Delta { request: 1, delta })) });
    session
}

#[test]
fn a_thread_that_is_looked_into() {
    check("peek", looked_into);
    check("peek_whole", |columns, rows| {
        let mut session = looked_into(columns, rows);
        session.keys("p");
        session
    });
    check("peek_held", |columns, rows| {
        let mut session = looked_into(columns, rows);
        session.keys("K K");
        session
    });
}

#[test]
fn the_threads() {
    check("threads", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.tell(Message::threads(rows_of_threads())).keys("ctrl-t j");
        session
    });
    check("threads_archived", |columns, rows| {
        let mut session = Session::started(columns, rows);
        let archived = rows_of_threads().into_iter().take(2).map(Arc::new).collect();
        session.tell(Message::threads(rows_of_threads())).keys("ctrl-t A").tell(Message::Archived(archived));
        session
    });
}

#[test]
fn the_layer_that_makes_the_difference() {
    check("bisect", |columns, rows| {
        let mut session = Session::started(columns, rows);
        let asked = BisectAsked {
            thread_id: "chat-1795000000000".parse().unwrap(),
            number: 2,
            check: "grep -q Cheese".to_owned(),
        };
        let tell = |session: &mut Session, news| {
            session.tell(Message::Bisect(asked.clone(), news));
        };
        session.model.look_for_layer(asked.clone());
        tell(
            &mut session,
            BisectNews::Plan(Ok("12 requests to a/one at most, for $0.04 at most, to look among 24 layers".into())),
        );
        session.keys("enter");
        for line in ["12 requests to a/one at most", "without rule1, rule2, rule3: 0", "without rule4, rule5: 1"] {
            tell(&mut session, BisectNews::Line(line.to_owned()));
        }
        tell(&mut session, BisectNews::Found(Ok(vec!["rule5".to_owned()])));
        session
    });
}
