//! From what a person typed to a thread.

use super::failure::Failure;
use crate::domain::{ForkPoint, ThreadId};
use crate::session::Setup;
use crate::store::registry::{Part, ThreadEntry};
use crate::store::threads::Threads;
use crate::worker::host::REPLAY;

/// As many threads are looked through.
const MOST: usize = 100_000;

/// The threads of the project, newest first, after those whose process died were reaped.
pub(super) fn threads(setup: &Setup, part: Part, most: usize) -> Result<Vec<ThreadEntry>, Failure> {
    Ok(Threads::look(&setup.layout, setup.now(), REPLAY)?.list(part, most)?)
}

/// All of them, archived ones too.
pub(super) fn all(setup: &Setup) -> Result<Vec<ThreadEntry>, Failure> {
    threads(setup, Part::All, MOST)
}

/// The thread that was changed last and is not archived.
pub(super) fn newest(setup: &Setup) -> Result<ThreadId, Failure> {
    let none = || Failure::new("there is no thread in this project yet").hint("start one with: levain");
    threads(setup, Part::Open, MOST)?.into_iter().next().map(|entry| entry.thread_id).ok_or_else(none)
}

/// The thread with this id, or the only one whose id has `text` in it.
pub(super) fn thread(setup: &Setup, text: &str) -> Result<ThreadId, Failure> {
    let id: ThreadId =
        text.parse().map_err(|error: crate::domain::id::BadThreadId| Failure::usage(error.to_string()))?;
    let folder = setup.layout.thread(&id);
    if folder.summary().exists() || folder.log().exists() {
        return Ok(id);
    }
    let mut found: Vec<ThreadId> =
        all(setup)?.into_iter().map(|entry| entry.thread_id).filter(|id| id.as_str().contains(text)).collect();
    match (found.pop(), found.as_slice()) {
        (Some(only), []) => Ok(only),
        (Some(one), more) => {
            const SHOWN: usize = 4;
            let names: Vec<&str> = [one.as_str()].into_iter().chain(more.iter().map(ThreadId::as_str)).collect();
            let shown = names.get(..SHOWN.min(names.len())).unwrap_or_default().join(", ");
            Err(Failure::usage(format!("`{text}` fits {} threads: {shown} …", names.len())))
        }
        (None, _) => {
            Err(Failure::usage(format!("there is no thread `{text}` in {}", setup.layout.project().display()))
                .hint("levain threads lists those that are there"))
        }
    }
}

/// A thread, and with `#N` behind it up to which of its requests.
pub(super) fn place(setup: &Setup, text: &str) -> Result<(ThreadId, ForkPoint), Failure> {
    let Some((id, number)) = text.rsplit_once('#') else { return Ok((thread(setup, text)?, ForkPoint::End)) };
    let number =
        number.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(|| {
            Failure::usage(format!("`{number}` is not the number of a request")).hint("write it as ID#3")
        })?;
    Ok((thread(setup, id)?, ForkPoint::Request(number)))
}
