//! Drafts and questions of threads that are not on the screen.

use super::*;
use crate::domain::Money;
use crate::domain::{PromptEvent, ThreadEvent, ToolEvent};
use crate::workbench::ThreadRow;
use crate::workbench::message::Upkeep;
use crate::workbench::overlay::Overlay;
use crate::workbench::picker::ListRow;

pub(super) fn row(id: &str, waiting: Option<Waiting>) -> ThreadRow {
    ThreadRow {
        thread_id: id.parse().unwrap(),
        directive: "levain/chat".into(),
        status: if waiting.is_some() { Status::Waiting } else { Status::Running },
        waiting,
        title: format!("about {id}"),
        model: ModelRef::new("a", "one").into(),
        waits_for: None,
        outputs: crate::domain::Outputs::default(),
        risk: None,
        commands: crate::domain::background::RunningCommands::default(),
        turns: 1,
        tokens: Tokens(1_200),
        spend: Money::ZERO,
        elapsed_ms: 0,
        updated_at: Timestamp(1),
        runs: false,
        elsewhere: false,
        parent: None,
        level: 0,
        limits: Limits::default(),
    }
}

#[test]
fn a_draft_stays_with_its_thread() {
    let mut session = session();
    let other: ThreadId = "chat-2".parse().unwrap();
    session.write("for the next one");
    session.tell(Message::threads(vec![row("chat-2", None), row("chat-3", None)]));
    session.keys("ctrl-t /").write("chat-2").keys("enter");
    assert_eq!((session.model.view.thread.as_ref(), session.draft()), (Some(&other), String::new()));
    session.tell(Message::Opened { thread_id: other, newest: Vec::new(), older: None, state: None, elsewhere: false });
    session.write("for the second");
    session.keys("ctrl-t /").write("chat-3").keys("enter");
    assert_eq!(session.draft(), "");
    session.keys("ctrl-t /").write("chat-2").keys("enter");
    assert_eq!(session.draft(), "for the second");
    // What is written goes along to a new thread; what waits for one is taken up with nothing written.
    session.keys("alt-n");
    assert_eq!(session.draft(), "for the second");
    session.keys("ctrl-u alt-n");
    assert_eq!(session.draft(), "for the next one");
    session.effects();
    session.keys("ctrl-t /").write("chat-3").keys("enter").write("third");
    session.keys("ctrl-c ctrl-c");
    let remembered: Vec<Effect> =
        session.effects().into_iter().filter(|effect| matches!(effect, Effect::Remember(_))).collect();
    assert_eq!(remembered, [Effect::Remember("for the next one".into()), Effect::Remember("third".into())]);
}

#[test]
fn an_earlier_prompt_that_is_looked_at_is_no_draft_of_the_next_thread() {
    let mut session = session();
    session.tell(Message::History(vec!["old".into()]));
    session.write("mine").keys("up");
    assert_eq!(session.draft(), "old");
    session.tell(Message::threads(vec![row("chat-2", None)]));
    session.keys("ctrl-t /").write("chat-2").keys("enter").keys("ctrl-t");
    assert_eq!(session.draft(), "");
    session.keys("esc alt-n");
    assert_eq!(session.draft(), "mine");
}

#[test]
fn a_follow_up_that_is_edited_stays_one() {
    let mut session = connected();
    let queued = QueuedPrompt {
        prompt: 2,
        text: "later".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    session.state(Status::Running, vec![queued.clone()]);
    let sent = |session: &mut Session| {
        session.effects().into_iter().find_map(|effect| {
            if let Effect::Send { command: Command::Submit { text, mode, .. }, .. } = effect {
                Some((text, mode))
            } else {
                None
            }
        })
    };
    session.keys("alt-up").write(" on").keys("enter");
    assert_eq!(sent(&mut session), Some(("later on".into(), PromptMode::FollowUp)));
    session.write("now").keys("enter");
    assert_eq!(sent(&mut session), Some(("now".into(), PromptMode::Steer)));
    // What takes the place of one that was deleted is a message like any other.
    session.state(Status::Running, vec![queued]);
    session.keys("alt-up ctrl-u").write("else").keys("enter");
    assert_eq!(sent(&mut session), Some(("else".into(), PromptMode::Steer)));
}

#[test]
fn who_asks_elsewhere_is_told_once() {
    let mut session = connected();
    session.effects();
    session.tell(Message::ThreadsChanged);
    assert_eq!(session.effects(), [Effect::LookForRunning]);
    let mine = ThreadRow { thread_id: id(), ..row("chat-1", Some(Waiting::Approval)) };
    session.tell(Message::Running(vec![mine.clone()]));
    assert_eq!((session.model.asks_elsewhere(), session.model.notice().is_none()), (0, true));
    session.tell(Message::Running(vec![mine.clone(), row("chat-2", Some(Waiting::Approval))]));
    assert_eq!(session.model.asks_elsewhere(), 1);
    assert_eq!(
        session.model.notice().unwrap().text,
        "another thread needs approval: about chat-2 (/threads lists them)"
    );
    let said = session.model.notices.said();
    session.tell(Message::Running(vec![mine, row("chat-2", Some(Waiting::Approval))]));
    assert_eq!(session.model.notices.said(), said);
    // What was told as a mistake stays, and the next look tells.
    session.tell(Message::Notice { level: Level::Warning, text: "no key".into() });
    let (second, third, fourth) = (
        row("chat-2", Some(Waiting::Approval)),
        row("chat-3", Some(Waiting::Approval)),
        row("chat-4", Some(Waiting::Approval)),
    );
    let all = vec![second, third, fourth];
    session.tell(Message::Running(all.clone()));
    assert_eq!((session.model.notice().unwrap().text.as_str(), session.model.asks_elsewhere()), ("no key", 3));
    for _ in 0..20 {
        session.tell(Message::Second);
    }
    session.tell(Message::Running(all));
    assert_eq!(session.model.notice().unwrap().text, "2 other threads need approval (/threads lists them)");
    // A list shows all, and the threads that retry ask nobody.
    session.keys("ctrl-t").effects();
    session.tell(Message::ThreadsChanged);
    assert_eq!(session.effects(), [Effect::LoadThreads]);
    session.tell(Message::threads(vec![row("chat-2", Some(Waiting::RateLimit)), row("chat-3", None)]));
    assert_eq!(session.model.asks_elsewhere(), 0);
}

#[test]
fn a_thread_that_somebody_else_runs_again_is_followed() {
    let mut session = connected();
    let running = |time| ThreadRow { thread_id: id(), runs: true, updated_at: Timestamp(time), ..row("chat-1", None) };
    session.tell(Message::Running(vec![running(1)]));
    assert_eq!(session.effects(), [], "it is followed already");
    session.tell(Message::Disconnected { thread_id: id(), expected: false, detail: String::new() });
    session.tell(Message::Running(vec![ThreadRow { runs: false, ..running(2) }]));
    session.effects();
    session.write("a draft").tell(Message::Running(vec![running(3)]));
    assert_eq!(session.effects(), [Effect::Open { thread_id: id() }]);
    // Nobody answers there: it is tried again only when something changed.
    session.tell(Message::Opened { thread_id: id(), newest: Vec::new(), older: None, state: None, elsewhere: false });
    session.tell(Message::Running(vec![running(4)]));
    assert_eq!(session.effects(), [], "it is being connected");
    session.tell(Message::Alone { thread_id: id() }).tell(Message::Running(vec![running(3)]));
    assert_eq!(session.effects(), []);
    session.tell(Message::threads(vec![running(5)]));
    assert_eq!(session.effects(), [Effect::Open { thread_id: id() }]);
    assert_eq!(session.draft(), "a draft");
}

#[test]
fn the_prompt_that_wakes_a_thread_stands_behind_what_the_log_has_before_it() {
    let mut session = connected();
    session.answer(1, "half", StopReason::EndTurn);
    session.tell(Message::Disconnected { thread_id: id(), expected: false, detail: String::new() });
    session.write("resume now").keys("enter").tell(Message::Connected { thread_id: id() });
    session.joined("queued before", Some(2));
    session.answer(2, "to the first", StopReason::EndTurn);
    session.accepted(2, 3, "resume now").joined("resume now", Some(3));
    session.answer(3, "to the second", StopReason::EndTurn);
    let story = session.story();
    let newest: Vec<_> = story.iter().rev().take(4).rev().map(String::as_str).collect();
    assert_eq!(newest, ["prompt queued before", "answer to the first", "prompt resume now", "answer to the second"]);
    assert_eq!(story.iter().filter(|block| block.ends_with("resume now")).count(), 1, "{story:?}");
}

#[test]
fn who_comes_back_is_told_what_runs() {
    let mut session = connected();
    let call = |call_id: &str| {
        Event::Tool(ToolEvent::ToolCallStart {
            capability: None,
            grant: None,
            parallel: false,
            confined: false,
            tool: "rye_bash".into(),
            call_id: CallId(call_id.into()),
            item: Some("rye/bash/bash".into()),
            input: serde_json::json!({"command": "sleep 9"}),
            change: None,
        })
    };
    session.event(call("c1"));
    session.model.view.activity.phase = Phase::Idle;
    session.state(Status::Running, Vec::new());
    assert_eq!(session.model.view.activity.phase, Phase::Tool("bash".into()));
    // One of two calls ends, and the other goes on.
    session.event(call("c2"));
    session.event(Event::Tool(ToolEvent::ToolCallResult {
        call_id: CallId("c2".into()),
        output: "x".into(),
        error: None,
    }));
    assert_eq!(session.model.view.activity.phase, Phase::Tool("bash".into()));
    session.event(Event::Tool(ToolEvent::ToolCallResult {
        call_id: CallId("c1".into()),
        output: "x".into(),
        error: None,
    }));
    assert_eq!(session.model.view.activity.phase, Phase::Asking);
    // A command of the person's goes on when an answer ends.
    let mut session = connected();
    session.answer(1, "done", StopReason::EndTurn);
    session.event(Event::Tool(ToolEvent::ShellStarted {
        call_id: CallId("s1".into()),
        command: "sleep 9".into(),
        shared: true,
    }));
    assert!(session.model.view.runs_command_alone());
    session.answer(2, "done again", StopReason::EndTurn);
    assert_eq!(session.model.view.activity.phase, Phase::Tool("!".into()));
}

#[test]
fn a_worker_that_is_late_says_nothing_into_the_next_thread() {
    let mut session = connected();
    session.keys("alt-n").write("next").keys("enter");
    let next = ThreadId::new("chat", 2);
    session.tell(opened(next.clone()));
    session.tell(Message::Connected { thread_id: next.clone() });
    let blocks = session.model.view.transcript.len();
    session.offset = 9_000;
    session.answer(1, "late", StopReason::EndTurn);
    assert_eq!((session.model.view.transcript.len(), session.model.view.log_end), (blocks, 0));
    let event = Event::Prompt(PromptEvent::CognitionIn {
        text: "next".into(),
        role: "user".into(),
        prompt: Some(1),
        images: Vec::new(),
        files: Vec::new(),
    });
    let record = Record { timestamp: Timestamp(5), thread_id: next.clone(), event };
    session.tell(Message::Worker(next, FromWorker::Event { offset: 0, next_offset: 10, record }));
    assert_eq!(session.model.view.log_end, 10, "what the next thread says counts from its own beginning");
}

#[test]
fn s04_what_is_sent_to_a_thread_from_elsewhere_goes_into_one_of_our_own() {
    let mut session = session();
    session.keys("ctrl-t");
    session.model.threads.rows = vec![ThreadRow { elsewhere: true, ..row("chat-1", None) }.into()];
    assert_eq!(session.model.threads.rows[0].told(), "elsewhere");
    let (newest, state) = (Vec::new(), None);
    session.model.view.thread = Some(id());
    session.model.view.link = super::Link::Opening;
    session.tell(Message::Opened { thread_id: id(), newest, older: Some(9), state, elsewhere: true });
    assert!(session.model.view.elsewhere);
    session.keys("esc").write("go on").keys("enter");
    let fork = ThreadId::new("chat", 9);
    session.tell(Message::Forked { from: ThreadId::new("other", 1), thread_id: fork.clone() });
    assert!(session.model.view.elsewhere, "that was another thread");
    session.tell(Message::Forked { from: id(), thread_id: fork.clone() });
    session.tell(Message::Connected { thread_id: fork.clone() });
    assert_eq!((session.model.view.thread.as_ref(), session.model.view.elsewhere), (Some(&fork), false));
    assert_eq!(session.model.view.link, super::Link::Connected);
}

#[test]
fn nothing_of_a_thread_stays_when_another_is_shown() {
    let mut session = connected();
    session.stream(1, "some words").keys("ctrl-up");
    let before = session.model.view.clone();
    session.write("half a thought").keys("alt-n");
    let view = &session.model.view;
    assert_eq!((&view.thread, view.link, view.is_working()), (&None, super::Link::Draft, false));
    assert!(view.transcript.is_empty() && view.state.is_none() && view.waits.is_empty() && view.sent.is_empty());
    assert_eq!((view.position, view.log_end, view.older), (Position::Follow, 0, None));
    assert_eq!(session.draft(), "half a thought", "what is written is of the screen");
    // What the thread before still tells is not taken for this one's.
    session.stream(1, "more").tell(Message::Opened {
        thread_id: id(),
        newest: Vec::new(),
        older: Some(9),
        state: before.state.clone(),
        elsewhere: true,
    });
    assert_eq!((session.model.view.elsewhere, session.model.view.older), (false, None));
    // One from elsewhere leaves nothing behind either.
    session.model.view = before;
    session.model.view.elsewhere = true;
    session.keys("alt-n");
    assert!(!session.model.view.elsewhere);
}

#[test]
fn a_thread_is_not_removed_by_a_second_word_long_after_the_first() {
    let mut session = session();
    session.tell(Message::threads(vec![row("chat-2", None)]));
    let removed = |session: &mut Session| {
        session.keys("d");
        session.effects().iter().any(|effect| matches!(effect, Effect::Manage { upkeep: Upkeep::Remove, .. }))
    };
    session.keys("ctrl-t");
    assert!(!removed(&mut session));
    session.model.set_now(Timestamp(session.model.now.0 + 60_000));
    assert!(!removed(&mut session), "it was asked for a minute ago");
    session.model.set_now(Timestamp(session.model.now.0 + 1_000));
    assert!(removed(&mut session));
}

#[test]
fn s24_a_thread_that_could_not_be_removed_is_shown_again() {
    let mut session = connected();
    let removes = |session: &mut Session| {
        session.state(Status::Waiting, Vec::new());
        for _ in 0..2 {
            session.model.perform(&mut Lines, CommandId::ThreadRemove, false);
        }
        assert_eq!(session.model.view.thread, None, "{:?}", session.model.notice());
        session.effects();
    };
    removes(&mut session);
    session.tell(Message::NotRemoved(id()));
    assert_eq!(session.model.view.thread, Some(id()));
    assert!(!session.effects().is_empty(), "it is read again");
    // Whoever wrote on meanwhile stays where they are.
    let mut session = connected();
    removes(&mut session);
    session.write("something new").keys("enter").tell(Message::NotRemoved(id()));
    assert_eq!(session.model.view.thread, None);
}

#[test]
fn the_end_of_a_connection_from_before_does_not_disturb_a_thread_that_is_opened_again() {
    let mut session = connected();
    session.model.view.link = Link::Opening;
    session.tell(Message::Disconnected { thread_id: id(), expected: true, detail: String::new() });
    assert_eq!(session.model.view.link, Link::Opening);
    session.tell(opened(id()));
    assert_eq!(session.model.view.link, Link::Resting);
    // What is said meanwhile goes to the worker that is started for it.
    session.write("thanks").keys("enter");
    assert_eq!(session.model.view.link, Link::Reviving);
    session.tell(Message::Disconnected { thread_id: id(), expected: true, detail: String::new() });
    assert_eq!((session.model.view.link, session.draft().as_str()), (Link::Reviving, ""));
}

#[test]
fn the_screen_follows_a_thread_that_is_handed_off_and_keeps_the_draft() {
    let mut session = connected();
    session.write("half a draft");
    let next = ThreadId::new("chat", 9);
    session.effects();
    session.event(Event::Thread(ThreadEvent::ThreadContinued { cost: Cost::default(), new_thread_id: next.clone() }));
    session.tell(Message::Disconnected { thread_id: id(), expected: true, detail: String::new() });
    let effects = session.effects();
    assert!(effects.contains(&Effect::Open { thread_id: next.clone() }), "{effects:?}");
    assert_eq!((session.model.view.thread.as_ref(), session.draft().as_str()), (Some(&next), "half a draft"));
    // What is opened later does not lead on by itself.
    let mut session = connected();
    session.tell(Message::Disconnected { thread_id: id(), expected: true, detail: String::new() });
    assert!(!session.effects().iter().any(|effect| matches!(effect, Effect::Open { .. })));
}

/// Titles of the listed threads with their headings.
fn listed(session: &Session) -> Vec<String> {
    let Some(Overlay::Picker(picker)) = &session.model.overlay else { panic!("no list is open") };
    let entry = |row: &ListRow| match row {
        ListRow::Heading(heading) => format!("# {heading}"),
        ListRow::Entry(place) => picker.entries[picker.shown[*place]].label().to_owned(),
    };
    picker.rows().iter().map(entry).collect()
}

fn several() -> Vec<ThreadRow> {
    let costs = |row: ThreadRow, spend, at| ThreadRow { spend: Money(spend), updated_at: Timestamp(at), ..row };
    let child = |row: ThreadRow| ThreadRow { parent: "chat-2".parse().ok(), level: 1, runs: true, ..row };
    let mut failed = costs(row("chat-4", None), 9, 4);
    failed.status = Status::Error;
    vec![
        costs(row("chat-2", None), 5, 9),
        costs(child(row("chat-3", Some(Waiting::Approval))), 7, 7),
        failed,
        costs(child(row("chat-5", None)), 1, 5),
    ]
}

#[test]
fn threads_that_need_a_person_come_first_and_the_list_has_other_orders() {
    let mut session = session();
    session.tell(Message::threads(several()));
    session.write("/attention").keys("enter");
    assert!(session.effects().contains(&Effect::LoadThreads));
    let needs =
        ["# needs you", "about chat-3", "# failed", "about chat-4", "# the others", "about chat-2", "about chat-5"];
    assert_eq!(listed(&session), needs);
    session.keys("o");
    assert_eq!(listed(&session), ["# by cost", "about chat-4", "about chat-3", "about chat-2", "about chat-5"]);
    session.keys("o");
    let quiet = [
        "# running, quiet the longest",
        "about chat-5",
        "about chat-3",
        "# not running",
        "about chat-2",
        "about chat-4",
    ];
    assert_eq!(listed(&session), quiet);
    session.keys("o");
    assert_eq!(listed(&session), ["about chat-2", "about chat-3", "about chat-4", "about chat-5"]);
    // The order stays while the list is brought up to date.
    session.keys("o").tell(Message::threads(several()));
    assert_eq!(listed(&session)[0], "# needs you");
}

#[test]
fn what_is_done_with_marked_threads_is_done_with_all_of_them() {
    let mut session = session();
    session.tell(Message::threads(several()));
    session.keys("ctrl-t m space");
    session.effects();
    session.keys("s");
    let stopped = |effects: Vec<Effect>, wanted: &Upkeep| {
        let manage = |effect: Effect| {
            let Effect::Manage { thread_id, upkeep } = effect else { return None };
            (upkeep == *wanted).then(|| thread_id.to_string())
        };
        effects.into_iter().filter_map(manage).collect::<Vec<_>>()
    };
    assert_eq!(stopped(session.effects(), &Upkeep::Stop), ["chat-2", "chat-3"]);
    // Marks are taken off then, and a mark off again by the same key.
    session.keys("g m g m s");
    assert_eq!(stopped(session.effects(), &Upkeep::Stop).len(), 1);
}

#[test]
fn a_tree_is_marked_and_stopped_as_one() {
    let mut session = session();
    session.tell(Message::threads(several()));
    let managed = |session: &mut Session, wanted: &Upkeep| {
        let manage = |effect: Effect| {
            let Effect::Manage { thread_id, upkeep } = effect else { return None };
            (upkeep == *wanted).then(|| thread_id.to_string())
        };
        session.effects().into_iter().filter_map(manage).collect::<Vec<_>>()
    };
    // chat-3 and chat-5 run below chat-2, which does not go on with what becomes of them.
    session.keys("ctrl-t g S");
    let effects = session.effects();
    let [.., Effect::StopTrees { generations: stops }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(stops[0], ["chat-2".parse::<ThreadId>().unwrap()]);
    assert_eq!(stops.concat(), ["chat-2", "chat-3", "chat-5"].map(|id| id.parse::<ThreadId>().unwrap()));
    session.keys("M X X");
    assert_eq!(managed(&mut session, &Upkeep::Kill), ["chat-2", "chat-3", "chat-5"]);
    // A second time it takes the marks off.
    session.keys("M M s");
    assert_eq!(managed(&mut session, &Upkeep::Stop), ["chat-2"]);
}

#[test]
fn a_kill_says_what_stops_and_happens_only_when_it_is_repeated() {
    let mut session = session();
    session.tell(Message::threads(several()));
    session.keys("ctrl-t g X");
    let killed =
        |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Manage { upkeep: Upkeep::Kill, .. }));
    assert!(!killed(&session.effects()));
    let told = session.model.notice().unwrap().text.clone();
    assert!(told.contains("repeat to kill `about chat-2`") && told.contains("2 threads run below"), "{told}");
    // Another thread is another question.
    session.keys("j X");
    assert!(!killed(&session.effects()));
    session.keys("X");
    assert!(killed(&session.effects()));
    session.keys("X");
    session.model.set_now(Timestamp(session.model.now.0 + 60_000));
    session.keys("X");
    assert!(!killed(&session.effects()), "it was asked for a minute ago");
}

#[test]
fn another_threads_messages_are_not_shown() {
    let mut session = connected();
    session.keys("alt-n");
    session.stream(1, "late");
    session.tell(Message::Connected { thread_id: id() });
    session.stream(1, "late");
    assert_eq!(session.story(), [""; 0]);
    assert_eq!(session.model.view.link, Link::Draft);
}

#[test]
fn archived_threads_are_listed_apart_and_come_back() {
    let mut session = session();
    session.tell(Message::threads(vec![row("chat-2", None)]));
    session.keys("ctrl-t").effects();
    session.keys("A");
    assert!(session.effects().contains(&Effect::LoadArchived));
    session.tell(Message::Archived(vec![row("chat-7", None).into(), row("chat-8", None).into()]));
    let listed = |session: &Session| {
        let Some(Overlay::Picker(picker)) = &session.model.overlay else { panic!("no list") };
        (
            session.model.list_title(picker),
            picker.entries.iter().map(|entry| entry.label().to_owned()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(listed(&session), ("archived threads", vec!["about chat-7".to_owned(), "about chat-8".to_owned()]));
    session.keys("a");
    let back = Effect::Manage { thread_id: "chat-7".parse().unwrap(), upkeep: Upkeep::Unarchive };
    assert!(session.effects().contains(&back));
    // What is filed elsewhere meanwhile is seen in both.
    session.tell(Message::ThreadsChanged);
    assert!(session.effects().ends_with(&[Effect::LoadThreads, Effect::LoadArchived]));
    session.keys("A");
    assert_eq!(listed(&session), ("threads", vec!["about chat-2".to_owned()]));
    // A list that is closed begins with the others again, and what comes late for it is dropped.
    session.keys("A esc");
    session.tell(Message::Archived(vec![row("chat-7", None).into()]));
    session.keys("ctrl-t");
    assert_eq!(listed(&session).0, "threads");
}
