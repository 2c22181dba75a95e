//! `levain [DIRECTIVE]`: the workbench.

use super::failure::Failure;
use super::{Common, Open, find, runtime};
use crate::app::setup::SetupError;
use crate::app::{self, Briefing, Opening, Setup, logging};
use crate::terminal::{Tty, guard};
use std::process::ExitCode;
use std::sync::Arc;

pub(super) fn open(common: &Common, open: Open) -> Result<ExitCode, Failure> {
    let mut setup = Setup::gather(common.project.as_deref(), common.arguments(open.directive))?;
    let thread = match open.resume {
        None => None,
        Some(None) => Some(find::newest(&setup)?),
        Some(Some(text)) => Some(find::thread(&setup, &text)?),
    };
    let directive = setup.directive().to_owned();
    let items = setup.items();
    // A thread that is reopened has its own directive.
    if thread.is_none() {
        // What it wants to be told is asked for on the screen.
        let briefing = Briefing::prepare(&setup, &directive, None)?;
        setup.problems.extend(briefing.problems);
    }
    let chosen = setup.choose(&items, &directive).map_err(SetupError::from)?;
    let draft = if thread.is_none() { app::listing::directive(&setup, &items, &directive) } else { None };
    drop(items);
    let opening = Opening { directive, thread, chosen, draft };
    if open.plain {
        logging::to_file(setup.dirs.state.join("levain.log"));
        let talk = app::run_plain(Arc::new(setup), opening);
        return runtime()?.block_on(talk).map_err(|error| Failure::new(error.to_string()));
    }
    let tty = Tty::open().map_err(|error| {
        Failure::new(format!("the workbench needs a terminal ({error})"))
            .hint("levain run \"your question\" works without one")
    })?;
    logging::to_file(setup.dirs.state.join("levain.log"));
    guard::install_panic_hook();
    runtime()?.block_on(app::run(Arc::new(setup), tty, opening)).map_err(|error| Failure::new(error.to_string()))
}
