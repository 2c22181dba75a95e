//! What the thread is about, above the draft.

use super::*;
use crate::domain::SettingsEvent;
use crate::domain::background::{BackgroundCommand, CommandEnd};

#[test]
fn a_to_do_list_stands_above_the_draft() {
    let set = |tasks: serde_json::Value| {
        let values = serde_json::Map::from_iter([("todo".to_owned(), tasks)]);
        Event::Settings(SettingsEvent::StateSet { values })
    };
    let task = |text: &str, progress: &str| serde_json::json!({ "text": text, "progress": progress });
    check("to_do", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.stream(1, "I begin with the parser.");
        let mut tasks: Vec<_> = ["read the parser", "find where it stops"].map(|text| task(text, "done")).into();
        tasks.push(task("mend the loop over tokens", "active"));
        let more = [
            "write a test for an empty file",
            "write a test for a long one",
            "run all tests",
            "note it in the changes",
        ];
        tasks.extend(more.map(|text| task(text, "pending")));
        session.event(set(tasks.into()));
        session
    });
    // What is done leaves the screen.
    let mut session = Session::started(80, 24);
    session.event(set(serde_json::json!([task("a", "active")])));
    assert!(session.screen().contains("to do"), "{}", session.screen());
    session.event(set(serde_json::json!([task("a", "done")])));
    assert!(!session.screen().contains("to do"), "{}", session.screen());
}

#[test]
fn commands_in_the_background_stand_above_the_to_do_list() {
    let command = |number: u32, command: &str, ended: Option<CommandEnd>| BackgroundCommand {
        name: CallId(format!("command-{number}")),
        command: command.to_owned(),
        started: Timestamp(NOW),
        ended,
    };
    let commands = vec![
        command(1, "cargo build --release", Some(CommandEnd { at: Some(Timestamp(NOW)), error: None })),
        command(2, "npm run dev -- --port 5173\n# 開発 server", None),
        command(
            3,
            "tail -f log/development.log | grep --line-buffered -i error | tee errors-of-this-session.log",
            None,
        ),
        command(4, "redis-server", None),
        command(5, "sleep 300", None),
    ];
    check("background", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.stream(1, "The server is up.");
        let todo = serde_json::json!([{"text": "look at the page", "progress": "active"}, "write what is wrong"]);
        let state = State {
            background: commands.clone(),
            todo: Some(crate::domain::TodoList::read(todo.as_array().unwrap()).unwrap()),
            ..Session::state_of(Status::Running, 1, Vec::new())
        };
        session.tell(Message::Worker(thread(), FromWorker::State(state)));
        session
    });
}
