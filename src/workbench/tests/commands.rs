//! Commands to the worker and what it answers, told apart by their numbers.

use super::*;

/// A command as it is sent. Of [`connected`] the first prompt was number 1.
pub(super) fn send(id: u64, command: Command) -> Effect {
    Effect::Send { id, command }
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
