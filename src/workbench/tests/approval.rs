//! Calls that wait for the person: what shows them, what answers them, what does not.

use super::*;
use crate::domain::ContentHash;
use crate::domain::ToolEvent;
use crate::domain::event::Approve;
use crate::worker::protocol::Approval;

/// The state of a thread in which these calls wait.
fn asking(session: &mut Session, calls: &[(u64, &str)]) {
    let approval = |(id, command): &(u64, &str)| Approval {
        id: *id,
        call_id: CallId(format!("c{id}")),
        tool: "rye_bash".into(),
        item: "rye/bash".into(),
        capability: "rye.execute.tool.rye.bash".into(),
        args_hash: ContentHash::of(command.as_bytes()),
        input: serde_json::json!({"command": command}),
        preview: None,
        confined: false,
        why: None,
    };
    let mut state = session.model.view.state.clone().unwrap();
    state.status = Status::Waiting;
    state.waiting = Some(Waiting::Approval);
    state.approvals = calls.iter().map(approval).collect();
    session.tell(Message::Worker(id(), FromWorker::State(state)));
}

impl Session {
    /// Draws a frame and lets so many milliseconds pass.
    fn drawn(&mut self, milliseconds: u64) -> &mut Self {
        if let Some(id) = self.model.approval_in_view() {
            self.tell(Message::ApprovalDrawn { id });
        }
        let now = Timestamp(self.model.now.0 + milliseconds);
        self.model.set_now(now);
        self
    }

    fn answers(&mut self) -> Vec<(u64, Approve)> {
        let answer = |effect| {
            if let Effect::Send { command: Command::Approve { id, decision, .. }, .. } = effect {
                Some((id, decision))
            } else {
                None
            }
        };
        self.effects().into_iter().filter_map(answer).collect()
    }
}

#[test]
fn a_call_that_was_seen_is_allowed_by_a_letter() {
    for (key, decision) in [
        ("y", Approve::Once),
        ("t t", Approve::Thread),
        ("a a", Approve::Always),
        ("n", Approve::Deny),
        ("esc", Approve::Deny),
    ] {
        let mut session = connected();
        asking(&mut session, &[(1, "ls")]);
        session.drawn(600).keys(key);
        assert_eq!(session.answers(), [(1, decision)], "{key}");
        assert!(session.model.view.approvals.is_empty());
        asking(&mut session, &[(1, "ls")]);
        assert!(session.model.view.approvals.is_empty(), "it is not shown again before the worker has heard");
    }
}

#[test]
fn s16_a_second_on_the_screen_arms_no_call_before_its_time() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(300).tell(Message::Second);
    assert!(!session.model.is_armed(), "the clock is told by whoever looks at it");
    session.drawn(300).tell(Message::Second);
    assert!(session.model.is_armed());
}

/// Without another event, too, the screen tells the keys by which the rest of a call is read.
#[test]
fn that_a_call_was_drawn_asks_for_another_frame() {
    let long: Vec<String> = (0..60).map(|line| format!("echo {line}")).collect();
    let mut session = connected();
    asking(&mut session, &[(1, &long.join("\n"))]);
    assert!(session.model.take_changed() && !session.model.view.approval_goes_on());
    session.drawn(0);
    assert!(session.model.view.approval_goes_on() && session.model.take_changed());
    session.drawn(0);
    assert!(!session.model.take_changed());
}

#[test]
fn s11_a_call_is_allowed_where_its_end_was_seen() {
    let long: Vec<String> = (0..60).map(|line| format!("echo {line}")).collect();
    let long = long.join("\n") + "\nrm -rf ~";
    for keys in ["end", "pagedown pagedown pagedown pagedown pagedown pagedown pagedown pagedown pagedown"] {
        let mut session = connected();
        asking(&mut session, &[(1, &long)]);
        session.drawn(600).keys("y").drawn(600);
        assert_eq!((session.answers(), session.model.composer.text().as_str()), (vec![], "y"), "its end was not seen");
        session.keys("backspace").drawn(600);
        assert!(session.model.view.approval_goes_on() && !session.model.is_armed());
        for key in keys.split(' ') {
            session.keys(key).drawn(10);
        }
        assert!(!session.model.view.approval_goes_on(), "{keys}");
        let place =
            |session: &Session| session.model.view.approvals.shown().map(|panel| (panel.top, panel.lines.len()));
        let (top, lines) = place(&session).unwrap();
        assert!(top + 5 < lines, "rows behind its end are not scrolled to: {top} of {lines}");
        session.keys("pagedown").drawn(10);
        assert_eq!(place(&session), Some((top, lines)));
        session.drawn(600).keys("y");
        assert_eq!(session.answers(), [(1, Approve::Once)]);
    }
    // Nobody has to read what they do not want.
    let mut session = connected();
    asking(&mut session, &[(1, &long)]);
    session.drawn(600).keys("esc");
    assert_eq!(session.answers(), [(1, Approve::Deny)]);
}

#[test]
fn s24_for_the_thread_is_said_twice_and_no_other_answer_is_the_second() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(600).keys("t");
    assert!(session.model.notice().is_some_and(|notice| notice.text.contains("the rest of this thread")));
    session.keys("a");
    assert_eq!(session.answers(), []);
    session.keys("t");
    assert_eq!(session.answers(), []);
    session.keys("t");
    assert_eq!(session.answers(), [(1, Approve::Thread)]);
    assert_eq!(session.model.notice(), None);
}

#[test]
fn s10_always_is_said_twice() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(600).keys("a");
    assert_eq!(session.answers(), []);
    assert!(session.model.notice().is_some_and(|notice| notice.text.contains("always allow")));
    session.keys("a");
    assert_eq!(session.answers(), [(1, Approve::Always)]);
    assert_eq!(session.model.notice(), None);
}

#[test]
fn a_key_in_flight_approves_nothing() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.keys("y");
    assert_eq!((session.answers(), session.model.composer.text().as_str()), (vec![], "y"), "not drawn yet");
    session.keys("backspace").drawn(100).keys("y");
    assert_eq!((session.answers(), session.model.composer.text().as_str()), (vec![], "y"), "drawn a moment ago");
    session.drawn(10_000).keys("y");
    assert_eq!((session.answers(), session.model.composer.text().as_str()), (vec![], "yy"), "there is a draft");
    session.keys("tab").drawn(600).keys("y");
    assert_eq!((session.answers(), session.model.composer.text().as_str()), (vec![(1, Approve::Once)], "yy"));
}

#[test]
fn the_next_call_does_not_inherit_the_key() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(600).keys("y");
    asking(&mut session, &[(2, "rm -rf .")]);
    session.keys("y y y").drawn(50).keys("y");
    assert_eq!(session.answers(), [(1, Approve::Once)]);
}

#[test]
fn a_shown_call_is_never_exchanged() {
    let mut session = connected();
    asking(&mut session, &[(1, "one")]);
    session.drawn(600);
    asking(&mut session, &[(2, "two"), (1, "one")]);
    assert_eq!(session.model.view.approvals.shown().unwrap().approval.id, 1);
    assert_eq!(session.model.view.approvals.len(), 2);
    // Answered elsewhere: the next one comes, and has to be seen.
    asking(&mut session, &[(2, "two")]);
    session.keys("y");
    assert_eq!(session.answers(), []);
    assert_eq!(session.model.view.approvals.shown().unwrap().approval.id, 2);
}

#[test]
fn esc_denies_the_call_and_interrupts_nothing() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(0).write("wait").keys("esc");
    assert_eq!(
        session.effects(),
        [send(2, Command::Approve { id: 1, args_hash: ContentHash::of(b"ls"), decision: Approve::Deny, said: None })]
    );
    assert_eq!(session.model.composer.text(), "wait");
}

#[test]
fn an_answer_that_was_not_taken_brings_the_call_back() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(600).keys("y");
    session.tell(Message::Worker(id(), FromWorker::Error { id: 2, message: "no".into() }));
    assert_eq!(session.model.view.approvals.shown().unwrap().approval.id, 1);
    assert!(!session.model.shows_time() || session.model.notice().is_some());
}

#[test]
fn a_running_tool_shows_what_it_prints() {
    let mut session = connected();
    let call_id = CallId("c".into());
    let input = serde_json::json!({"command": "make"});
    session.event(Event::Tool(ToolEvent::ToolCallStart {
        capability: None,
        grant: None,
        parallel: false,
        confined: false,
        tool: "rye_bash".into(),
        call_id: call_id.clone(),
        item: Some("rye/bash".into()),
        input,
        change: None,
    }));
    session.tell(Message::Worker(id(), FromWorker::ToolOutputSoFar { call_id: call_id.clone(), text: "one\n".into() }));
    session.tell(Message::Worker(id(), FromWorker::ToolOutput { call_id: call_id.clone(), text: "two\n".into() }));
    let output = |session: &Session| {
        session.model.view.transcript.iter().find_map(|block| {
            let Kind::Tool(tool) = &block.kind else { return None };
            Some((tool.name.clone(), tool.output.clone()))
        })
    };
    assert_eq!(output(&session), Some(("bash".into(), "one\ntwo\n".into())));
    session.event(Event::Tool(ToolEvent::ToolCallResult {
        call_id: call_id.clone(),
        output: "all".into(),
        error: None,
    }));
    session.tell(Message::Worker(id(), FromWorker::ToolOutput { call_id, text: "late".into() }));
    assert_eq!(output(&session).unwrap().1, "all");
}

#[test]
fn a_whole_word_answers_a_call_that_was_read_out() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.tell(Message::Line("yes".into()));
    assert_eq!(session.answers(), [], "it was not read out yet");
    session.write("a draft").tell(Message::ApprovalTold { id: 1 });
    session.drawn(100).tell(Message::Line("once".into()));
    assert_eq!(session.answers(), [], "it was only just read out");
    session.drawn(600).tell(Message::Line("yep".into()));
    assert_eq!(session.answers(), [], "that is a prompt, not a word");
    session.drawn(600).tell(Message::Line("Y".into()));
    assert_eq!(session.answers(), [(1, Approve::Once)]);
}

#[test]
fn a_call_says_that_it_can_be_answered_whatever_came_at_that_moment() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(600);
    session.model.take_changed();
    // Its time is over before the clock that waits for it is heard.
    session.tell(Message::Running(Vec::new()));
    assert!(session.model.is_armed() && session.model.take_changed());
    session.tell(Message::Deadline);
    assert!(!session.model.take_changed());
}

#[test]
fn a_call_that_is_seen_whole_does_not_scroll() {
    let mut session = connected();
    asking(&mut session, &[(1, "ls")]);
    session.drawn(600).keys("down down");
    assert_eq!(session.model.view.approvals.shown().map(|panel| panel.top), Some(0));
    let long: Vec<String> = (0..60).map(|line| format!("echo {line}")).collect();
    let mut session = connected();
    asking(&mut session, &[(1, &long.join("\n"))]);
    session.drawn(600).keys("down down");
    assert_eq!(session.model.view.approvals.shown().map(|panel| panel.top), Some(2));
}

/// What was typed for a game is no answer.
#[test]
fn a_component_gives_way_to_a_call_and_its_keys_answer_nothing() {
    use crate::domain::OpenComponent;
    use crate::workbench::overlay::Overlay;
    let mut session = connected();
    let game = OpenComponent {
        id: 7,
        from: "game.ts".into(),
        at: None,
        focused: true,
        editor: None,
        lines: vec!["a game".into()],
    };
    let mut state = session.model.view.state.clone().unwrap();
    state.extensions.components = vec![game];
    session.tell(Message::Worker(id(), FromWorker::State(state)));
    assert!(matches!(session.model.overlay, Some(Overlay::Component(_))));
    asking(&mut session, &[(1, "ls")]);
    assert!(session.model.overlay.is_none());
    session.drawn(2_000).drawn(2_000).keys("a a y");
    assert_eq!(session.answers(), []);
    session.keys("ctrl-u").drawn(2_000).keys("a a y");
    assert_eq!(session.answers(), []);
    session.keys("ctrl-u tab").drawn(2_000).keys("y");
    assert_eq!(session.answers(), [(1, Approve::Once)]);
    asking(&mut session, &[]);
    assert!(matches!(session.model.overlay, Some(Overlay::Component(_))));
}
