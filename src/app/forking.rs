//! Making forks for the screen.

use super::notices::notice;
use crate::domain::{ForkPoint, ThreadId};
use crate::session::Setup;
use crate::session::{conversation, fork};
use crate::store::fork::Forked;
use crate::workbench::fork::{ForkAsked, ForkMade, LeftBranch, SummaryAsked};
use crate::workbench::{Level, Message};

/// Makes a fork for whoever looks at `shown`, and reads what is left behind where that is wanted.
pub(super) fn make(setup: &Setup, shown: ThreadId, asked: ForkAsked) -> Message {
    let ForkAsked { from, at, forking, model, request, summary, changes } = asked;
    let left = summary.map(|asked| left_branch(setup, (&shown, &from), at, asked)).transpose();
    match left.and_then(|left| Ok((left, fork(setup, &from, at, model, changes)?))) {
        Ok((left, Forked { id: thread_id, prompt })) => {
            let (prompt, files) = prompt.map(|left| (left.text, left.files)).unzip();
            let files = files.unwrap_or_default();
            let made = ForkMade { from, shown, thread_id, forking, prompt, files, request, left };
            Message::ForkMade(Box::new(made))
        }
        Err(why) => notice(Level::Error, why),
    }
}

/// What somebody in `shown` leaves behind who goes on from there in `from`.
fn left_branch(
    setup: &Setup,
    (shown, from): (&ThreadId, &ThreadId),
    at: ForkPoint,
    asked: SummaryAsked,
) -> Result<LeftBranch, String> {
    let ForkPoint::Entry(at) = at else { return Err("only a fork at an entry tells what is left behind".to_owned()) };
    let read = || {
        let left = conversation::read(&setup.layout, shown, setup.now())?.left_behind(shown, from, at);
        conversation::left(&setup.layout, &left)
    };
    read().map(|text| LeftBranch { text, asked }).map_err(|error| error.to_string())
}
