//! Making forks for the screen.

use super::notices::notice;
use crate::domain::ThreadId;
use crate::session::Setup;
use crate::session::{conversation, fork};
use crate::store::fork::{Forked, Until};
use crate::workbench::fork::{ForkAt, ForkMade, LeftBranch, SummaryAsked};
use crate::workbench::{Effect, Level, Message};

/// Makes what an [`Effect::Fork`] asks for, and reads what is left behind where that is wanted.
pub(super) fn make(setup: &Setup, effect: Effect) -> Message {
    let Effect::Fork { thread_id: from, shown, at, model, forking, request, summary, changes } = effect else {
        return notice(Level::Error, "no fork was asked for".to_owned());
    };
    let until = match at {
        ForkAt::End => Until::End,
        ForkAt::Prompt(back) => Until::Prompt(back),
        ForkAt::Entry(at) => Until::Entry(at),
        ForkAt::Request(number) => Until::Request(number),
    };
    let left = summary.map(|asked| left_branch(setup, (&shown, &from), at, asked)).transpose();
    let made = left.and_then(|left| Ok((left, fork(setup, &from, until, model, changes)?)));
    match made {
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
    at: ForkAt,
    asked: SummaryAsked,
) -> Result<LeftBranch, String> {
    let ForkAt::Entry(at) = at else { return Err("nothing is left behind".to_owned()) };
    let read = || {
        let left = conversation::read(&setup.layout, shown, setup.now())?.left_behind(shown, from, at);
        conversation::left(&setup.layout, &left)
    };
    read().map(|text| LeftBranch { text, asked }).map_err(|error| error.to_string())
}
