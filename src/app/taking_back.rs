//! What a thread did to files, for the screen, and taking it back.

use crate::session::{Setup, undo};
use crate::tools::{State, Taken};
use crate::workbench::taking_back::{ChangedFile, Changes, Stands, Which};
use crate::workbench::{Level, Message};

/// The files that the thread changed, as they stand now.
pub(super) fn read(setup: &Setup, which: Which) -> Message {
    let changes = changes(setup, &which);
    Message::Changes(which, changes)
}

/// Takes these files back; tells what became of them, and how all of them stand then.
pub(super) fn take_back(setup: &Setup, which: Which, paths: &[String]) -> [Message; 2] {
    let told = match undo::take_back(setup, &which.thread_id, which.request, paths) {
        Ok(results) => {
            let failed = results.iter().find_map(|(path, result)| Some((path, result.as_ref().err()?)));
            match (failed, results.as_slice()) {
                (Some((path, why)), _) => Err(format!("`{path}` stays as it is: {why}")),
                (None, [(path, _)]) => Ok(format!("`{path}` is as it was")),
                (None, results) => Ok(format!("{} files are as they were", results.len())),
            }
        }
        Err(why) => Err(why),
    };
    let (level, text) = told.map_or_else(|why| (Level::Error, why), |text| (Level::Info, text));
    [Message::Notice { level, text }, read(setup, which)]
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
    let text = one.told(state);
    let begins =
        |sign: char, head: &str| text.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count();
    let lines = (begins('+', "+++"), begins('-', "---"));
    ChangedFile { path: one.path.clone(), stands, text: text.into(), lines }
}
