//! Making forks for the screen.

use super::notices::notice;
use crate::session::Setup;
use crate::session::{conversation, fork};
use crate::store::fork::{Forked, Until};
use crate::workbench::fork::{ForkAt, ForkMade};
use crate::workbench::{Effect, Level, Message};

/// Makes what an [`Effect::Fork`] asks for, and reads what is left behind where that is wanted.
pub(super) fn make(setup: &Setup, effect: Effect) -> Message {
    let Effect::Fork { thread_id: from, shown, at, model, forking, request, left } = effect else {
        return notice(Level::Error, "no fork was asked for".to_owned());
    };
    let until = match at {
        ForkAt::End => Until::End,
        ForkAt::Prompt(back) => Until::Prompt(back),
        ForkAt::Entry(at) => Until::Entry(at),
    };
    let left = if left.is_empty() {
        Ok(None)
    } else {
        conversation::left(&setup.layout, &left).map(Some).map_err(|error| error.to_string())
    };
    let made = left.and_then(|left| Ok((left, fork(setup, &from, until, model)?)));
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
