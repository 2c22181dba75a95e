//! What a thread did to files, for the screen, and taking it back.

use super::notices::notice;
use crate::session::{Setup, undo};
use crate::tools::{State, Taken};
use crate::workbench::changes::{ChangedFile, Changes, Stands, Which};
use crate::workbench::{Level, Message};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The files that the thread changed, as they stand now.
pub(super) fn read(setup: &Setup, which: Which) -> Message {
    let changes = changes(setup, &which);
    Message::Changes(which, changes)
}

/// Takes these files back; tells what became of them, and how all of them stand then.
pub(super) async fn take_back(setup: Arc<Setup>, which: Which, paths: Vec<String>, messages: mpsc::Sender<Message>) {
    let work = move || {
        let (level, text) =
            taken(&setup, &which, &paths).map_or_else(|why| (Level::Error, why), |text| (Level::Info, text));
        [notice(level, text), read(&setup, which)]
    };
    for message in tokio::task::spawn_blocking(work).await.into_iter().flatten() {
        let _ending = messages.send(message).await;
    }
}

fn taken(setup: &Setup, which: &Which, paths: &[String]) -> Result<String, String> {
    let results = undo::take_back(setup, &which.thread_id, which.request, paths)?;
    let failed = results.iter().find_map(|(path, result)| Some((path, result.as_ref().err()?)));
    match (failed, results.as_slice()) {
        (Some((path, why)), _) => Err(format!("`{path}` stays as it is: {why}")),
        (None, [(path, _)]) => Ok(format!("`{path}` is as it was")),
        (None, results) => Ok(format!("{} files are as they were", results.len())),
    }
}

fn changes(setup: &Setup, which: &Which) -> Result<Changes, String> {
    let root = undo::root(setup);
    let taken = undo::changes(setup, &which.thread_id, which.request)?;
    Ok(taken.iter().map(|one| file(one, &one.state(&root))).collect())
}

fn file(one: &Taken, state: &State) -> ChangedFile {
    let stands = match state {
        State::AsLeft => Stands::AsLeft,
        State::AsBefore => Stands::AsBefore,
        State::Changed(_) => Stands::Changed,
        State::Unreadable(_) => Stands::Unreadable,
    };
    ChangedFile { path: one.path.clone(), stands, text: one.told(state).into(), lines: one.lines() }
}
