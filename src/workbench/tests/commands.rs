//! Commands to the worker and what it answers, told apart by their numbers.

use super::*;
use crate::workbench::PromptRow;

/// A command as it is sent. Of [`connected`] the first prompt was number 1.
pub(super) fn send(id: u64, command: Command) -> Effect {
    Effect::Send { id, command }
}

/// What the screen calls the prompt that command `id` hands over.
#[expect(clippy::unnecessary_wraps, reason = "as it stands in commands and events")]
pub(super) fn client(id: u64) -> Option<String> {
    Some(format!("s-{id}"))
}

impl Session {
    /// The prompt of command `id` is in the log, and the worker calls it `prompt`.
    pub(super) fn accepted(&mut self, id: u64, prompt: u64, text: &str) -> &mut Self {
        self.queued_by(client(id), prompt, text)
    }

    fn queued_by(&mut self, client: Option<String>, prompt: u64, text: &str) -> &mut Self {
        let (text, mode) = (text.into(), PromptMode::FollowUp);
        self.event(Event::Prompt(PromptEvent::PromptQueued {
            prompt,
            text,
            mode,
            images: Vec::new(),
            files: Vec::new(),
            client,
        }))
    }
}

fn ack(session: &mut Session, number: u64) {
    session.tell(Message::Worker(id(), FromWorker::Ack { id: number }));
}

fn refuse(session: &mut Session, number: u64, message: &str) {
    session.tell(Message::Worker(id(), FromWorker::Error { id: number, message: message.into() }));
}

#[test]
fn an_exclamation_mark_runs_a_command() {
    let mut session = connected();
    session.write("! git status ").keys("enter");
    let shell = |id, command: &str, shared| send(id, Command::Shell { command: command.into(), shared });
    assert_eq!(session.effects(), [Effect::Remember("! git status ".into()), shell(2, "git status", true)]);
    assert_eq!(session.draft(), "");
    session.write("!!ls").keys("enter");
    assert_eq!(session.effects(), [Effect::Remember("!!ls".into()), shell(3, "ls", false)]);
    session.tell(Message::Worker(id(), FromWorker::Ack { id: 2 }));
    session.write("more");
    session.tell(Message::Worker(id(), FromWorker::Error { id: 3, message: "`git status` still runs".into() }));
    assert_eq!(session.draft(), "!!ls\nmore");
    session.keys("ctrl-u backspace ctrl-u").write("!!").keys("enter");
    assert_eq!((session.effects(), session.draft()), (Vec::new(), "!!".to_owned()));
}

#[test]
fn a_refused_command_gives_its_text_back() {
    let mut session = connected();
    session.write("one").keys("enter").write("two").keys("enter");
    session.tell(Message::Worker(id(), FromWorker::Ack { id: 2 }));
    session.tell(Message::Worker(id(), FromWorker::Error { id: 3, message: "queue full".into() }));
    assert_eq!(session.draft(), "two");
    assert_eq!(session.model.view.queued().count(), 1);
    assert_eq!(session.model.notice().unwrap().text, "queue full");
}

#[test]
fn a_prompt_of_which_nothing_could_be_made_is_in_the_draft_of_who_wrote_it() {
    let given_back = |prompt| Event::Prompt(PromptEvent::PromptWithdrawn { prompt, why: Some("no city".into()) });
    let mut session = connected();
    session.answer(1, "hi", StopReason::EndTurn).state(Status::Waiting, Vec::new());
    // What begins the work stands in the transcript.
    session.write("/mcp/sky/fore").keys("enter").accepted(2, 2, "/mcp/sky/fore").event(given_back(2));
    assert_eq!((session.draft(), session.model.view.waits.len()), ("/mcp/sky/fore".into(), 0));
    assert!(session.story().iter().any(|line| line.contains("no city")), "{:?}", session.story());
    assert!(!session.story().iter().any(|line| line.contains("fore")), "{:?}", session.story());
    assert!(!session.model.view.is_working());
    // What waits for its turn stands in the queue; that of another screen is that screen's.
    session.keys("ctrl-u").write("work").keys("enter").accepted(3, 3, "work").joined("work", Some(3));
    session.write("/mcp/sky/cast").keys("enter").accepted(4, 4, "/mcp/sky/cast");
    session.queued_by(Some("t-5".into()), 5, "theirs").event(given_back(5)).event(given_back(4));
    assert_eq!((session.draft(), session.model.view.queued().count()), ("/mcp/sky/cast".into(), 0));
}

/// What a handler takes is over at once: the thread rests before the word that its prompt was taken has come.
#[test]
fn a_prompt_that_was_handled_before_it_was_acknowledged_is_waited_for_no_longer() {
    let mut session = connected();
    session.answer(1, "hi", StopReason::EndTurn).state(Status::Waiting, Vec::new());
    session.write("again").keys("enter");
    let prompt = *session.model.view.sent.keys().max().unwrap();
    let (text, by, steps) = ("again".to_owned(), "again".to_owned(), Vec::new());
    session.accepted(prompt, 7, "again");
    session.event(Event::Prompt(PromptEvent::PromptHandled { prompt: 7, text, by, steps }));
    // How the thread stands is told behind what happened.
    session.state(Status::Running, Vec::new()).state(Status::Waiting, Vec::new());
    assert!(session.model.view.is_working());
    ack(&mut session, prompt);
    assert!(!session.model.view.is_working());
}

#[test]
fn an_answer_is_known_by_its_number_and_not_by_its_turn() {
    let mut session = connected();
    session.write("one").keys("enter").write("two").keys("enter").write("!ls").keys("enter");
    // The answers come in another order, and one to what this screen never sent.
    refuse(&mut session, 4, "a command runs");
    assert_eq!(session.draft(), "!ls");
    refuse(&mut session, 99, "nobody asked");
    ack(&mut session, 99);
    assert_eq!(session.model.view.sent.len(), 2);
    session.keys("ctrl-u");
    ack(&mut session, 3);
    refuse(&mut session, 2, "too long");
    assert_eq!(session.draft(), "one");
    assert_eq!(session.model.view.queued().map(|(text, _)| text).collect::<Vec<_>>(), ["two"]);
}

#[test]
fn of_two_prompts_of_the_same_text_the_one_that_was_refused_comes_back() {
    let mut session = connected();
    session.write("go on").keys("enter").write("go on").keys("alt-enter");
    let modes = |session: &Session| session.model.view.queued().map(|(_, mode)| mode).collect::<Vec<_>>();
    assert_eq!(modes(&session), [PromptMode::Steer, PromptMode::FollowUp]);
    ack(&mut session, 2);
    refuse(&mut session, 3, "the queue is full");
    assert_eq!((session.draft(), modes(&session)), ("go on".into(), vec![PromptMode::Steer]));
    // A number is used once, also in the next thread.
    session.keys("alt-n enter");
    assert!(session.effects().iter().any(|effect| matches!(effect, Effect::Start { id: 4, .. })));
}

#[test]
fn a_prompt_of_the_same_text_from_elsewhere_is_not_taken_for_ones_own() {
    let mut session = connected();
    session.answer(1, "hi", StopReason::EndTurn).state(Status::Waiting, Vec::new());
    session.write("go on").keys("enter");
    let waits = |session: &Session| session.model.view.waits.len();
    // Another screen was first, with the same words; and a program that gives its prompts no id.
    session.queued_by(Some("t-2".into()), 2, "go on").joined("go on", Some(2)).queued_by(None, 3, "go on");
    assert_eq!(waits(&session), 1);
    assert_eq!(session.story()[2..], ["pending go on", "prompt go on"]);
    session.accepted(2, 4, "go on").joined("go on", Some(3));
    assert_eq!(session.story()[2..], ["pending go on", "prompt go on", "prompt go on"]);
    session.joined("go on", Some(4));
    assert_eq!((waits(&session), session.story().len()), (0, 5));
    assert!(session.story().iter().all(|line| !line.starts_with("pending")));
}

#[test]
fn of_two_prompts_of_the_same_text_the_first_may_be_said_and_the_second_refused() {
    let mut session = session();
    session.write("go on").keys("enter").write("go on").keys("enter");
    session.tell(opened(id())).tell(Message::Connected { thread_id: id() });
    session.accepted(1, 1, "go on");
    ack(&mut session, 1);
    refuse(&mut session, 2, "the queue is full");
    assert_eq!((session.draft(), session.story()), ("go on".into(), vec!["pending go on".to_owned()]));
    session.joined("go on", Some(1));
    assert_eq!(session.story(), ["prompt go on"]);
    assert_eq!((session.draft(), session.model.view.waits.len()), ("go on".into(), 0));
}

#[test]
fn a_prompt_is_known_by_the_queue_that_is_told_before_its_event() {
    let mut session = connected();
    session.write("later").keys("alt-enter");
    let queued = |client| QueuedPrompt {
        prompt: 2,
        text: "later".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client,
    };
    session.state(Status::Running, vec![queued(client(2))]);
    assert_eq!(session.model.view.queued().count(), 1);
    session.accepted(2, 2, "later");
    assert_eq!(session.model.view.queued().count(), 1);
}

#[test]
fn what_may_be_a_command_of_an_extension_is_no_prompt_where_it_is_none() {
    let mut session = session();
    session.tell(Message::Prompts(Vec::new(), true));
    session.write("/pirate").keys("enter");
    let run = |effect: &Effect| matches!(effect, Effect::Start { first: Command::RunCommand { text, .. }, .. } if text == "/pirate");
    assert!(session.effects().iter().any(run));
    session.tell(opened(id())).tell(Message::Connected { thread_id: id() });
    session.tell(Message::Worker(id(), FromWorker::Error { id: 1, message: "there is no command".into() }));
    assert_eq!(session.draft(), "/pirate");
}

#[test]
fn s24_a_skill_that_is_not_there_is_told_and_not_sent() {
    let mut session = session();
    let row = PromptRow { word: "/skill:review".into(), about: String::new() };
    session.tell(Message::Prompts(vec![row.clone()], false));
    session.write("/skill:reviev now").keys("enter");
    assert_eq!(session.effects(), []);
    assert!(session.model.notice().is_some_and(|notice| notice.text.contains("did you mean /skill:review?")));
    assert_eq!(session.draft(), "/skill:reviev now");
    // An extension may bring it.
    session.tell(Message::Prompts(vec![row], true)).keys("enter");
    assert!(session.effects().iter().any(|effect| matches!(effect, Effect::Start { .. })));
}

#[test]
fn every_command_of_the_palette_can_be_run() {
    for row in crate::commands::TABLE {
        let mut session = connected();
        session.model.perform(&mut Lines, row.id, false);
        session.tell(Message::Second);
        assert_eq!(
            session.model.quitting,
            matches!(row.id, CommandId::AppQuit | CommandId::AppLeaveEmpty),
            "{}",
            row.name
        );
    }
}
