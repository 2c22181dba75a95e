//! `levain [DIRECTIVE]`: the workbench.

use super::failure::Failure;
use super::{Common, Open, find, runtime, until_left};
use crate::app::setup::SetupError;
use crate::app::{self, Briefing, Opening, Setup, logging, recording};
use crate::config::Dirs;
use crate::providers::is_scripted;
use crate::terminal::{Tty, guard};
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

/// Opens the newest thread of the recording.
pub(super) fn demo(common: &Common, plain: bool) -> Result<ExitCode, Failure> {
    recorded(common, plain, "`levain` in a folder of yours is the real thing")
}

/// Opens the recording, and says how to come to something else.
fn recorded(common: &Common, plain: bool, next: &str) -> Result<ExitCode, Failure> {
    let dirs = Dirs::new(&|name| std::env::var_os(name));
    let failed = |error: std::io::Error| Failure::new(format!("the recording could not be unpacked: {error}"));
    let folder = recording::unpack(&dirs).map_err(failed)?;
    let place = folder.display();
    let text = format!("a recording, in {place}: look around; a script answers what you write. {next}");
    let common = Common { project: Some(folder), ..common.clone() };
    open_with(&common, Open { directive: None, resume: Some(None), plain }, Some(text))
}

/// Whether somebody is here for the first time who has nothing to look at: no key, no model on this machine, no thread in
/// this project, and the recording was not shown yet.
fn is_first_look(setup: &Setup, look: bool) -> bool {
    let nobody_answers = || {
        let found = runtime().map(|runtime| runtime.block_on(setup.models.default_found()));
        found.is_ok_and(|model| is_scripted(&model))
    };
    look && !setup.layout.threads().exists() && !recording::folder(&setup.dirs).exists() && nobody_answers()
}

pub(super) fn open(common: &Common, open: Open) -> Result<ExitCode, Failure> {
    open_with(common, open, None)
}

/// Opens the workbench, which says `notice` first.
fn open_with(common: &Common, open: Open, notice: Option<String>) -> Result<ExitCode, Failure> {
    let asked = open.directive.is_some() || open.resume.is_some() || common.project.is_some();
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
    let mut chosen = setup.choose(&items, &directive).map_err(SetupError::from)?;
    // What is piped in is meant for the project at hand.
    if !asked && io::stdin().is_terminal() && is_first_look(&setup, chosen.look) {
        return recorded(common, open.plain, "`levain` again opens this folder");
    }
    let draft = if thread.is_none() { app::listing::directive(&setup, &items, &directive) } else { None };
    drop(items);
    chosen.notice = chosen.notice.or(notice);
    let opening = Opening { directive, thread, chosen, draft };
    if open.plain {
        logging::to_file(setup.dirs.state.join("levain.log"));
        let talk = app::run_plain(Arc::new(setup), opening);
        return until_left(talk)?.map_err(|error| Failure::new(error.to_string()));
    }
    let tty = Tty::open().map_err(|error| {
        Failure::new(format!("the workbench needs a terminal ({error})"))
            .hint("levain run \"your question\" works without one")
    })?;
    logging::to_file(setup.dirs.state.join("levain.log"));
    guard::install_panic_hook();
    until_left(app::run(Arc::new(setup), tty, opening))?.map_err(|error| Failure::new(error.to_string()))
}
