//! `levain [DIRECTIVE]`: the workbench.

use super::failure::Failure;
use super::{Common, ExtensionOptions, Open, find, near_command, runtime, until_left};
use crate::app::{self, Opening, Recording, recording};
use crate::config::Dirs;
use crate::domain::ThreadId;
use crate::domain::letters::visible;
use crate::providers::is_scripted;
use crate::session::people::{err, out};
use crate::session::setup::SetupError;
use crate::session::{DirectivePlanner, PlannerError, Setup, logging};
use crate::terminal::{Tty, guard};
use clap::Args;
use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// What to look at: a recorded thread, or a thread that starts others
    #[arg(value_enum, default_value_t = Demo::Recording)]
    what: Demo,
}

/// What there is to look at without a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Demo {
    /// The newest thread of a recording
    Recording,
    /// A thread that starts three others, which work while you look
    Tree,
}

/// Where a demo ends.
const NEXT: &str = "`levain` in your own folder opens the workbench there";

/// The directive, and the script that plays it.
const TREE: (&str, &str) = ("levain/demo/tree", "scripted/tree");

/// Opens the newest thread of the recording, or a new thread that will start others in its project.
pub(super) fn demo(common: &Common, plain: bool, arguments: &DemoArguments) -> Result<ExitCode, Failure> {
    if arguments.what == Demo::Recording {
        return recorded(common, plain, NEXT);
    }
    let (directive, model) = TREE;
    let common = Common { project: Some(unpacked()?), model: Some(model.to_owned()) };
    let (directive, extensions) = (Some(directive.to_owned()), ExtensionOptions::default());
    open_with(&common, Open { directive, resume: None, plain, extensions }, None)
}

/// The folder of the recording's project.
fn unpacked() -> Result<PathBuf, Failure> {
    let dirs = Dirs::new(&|name| std::env::var_os(name));
    recording::unpack(&dirs).map_err(|error| Failure::new(format!("the recording could not be unpacked: {error}")))
}

/// Opens the recording, and says how to come to something else.
fn recorded(common: &Common, plain: bool, next: &str) -> Result<ExitCode, Failure> {
    let folder = unpacked()?;
    let place = folder.display();
    let recording = Recording { place: place.to_string(), next: next.to_owned() };
    let common = Common { project: Some(folder), ..common.clone() };
    let extensions = ExtensionOptions::default();
    open_with(&common, Open { directive: None, resume: Some(None), plain, extensions }, Some(recording))
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

/// Opens the workbench, on a recording if one is given.
fn open_with(common: &Common, mut open: Open, recording: Option<Recording>) -> Result<ExitCode, Failure> {
    if !open.plain && only_prints() && Tty::open().is_ok() {
        open.plain = true;
        // Without a standard error there is nobody to tell.
        let _closed =
            writeln!(err(), "TERM names no terminal that can be drawn on, so this goes line by line (--plain)");
    }
    let asked = open.directive.is_some() || open.resume.is_some() || common.project.is_some();
    let by_name = open.directive.is_some();
    let mut setup = open.extensions.gather(common, open.directive)?;
    let thread = match open.resume {
        None => None,
        Some(None) => Some(find::newest(&setup)?),
        Some(Some(text)) => Some(find::thread(&setup, &text)?),
    };
    let directive = setup.directive().to_owned();
    let items = setup.items();
    // A thread that is reopened has its own directive. Who names one is told here what is wrong with it; the usual one is
    // looked at while the screen is there already. What it wants to be told is asked for there.
    if thread.is_none() && (by_name || open.plain) {
        let planner = DirectivePlanner::prepare(&setup, &directive, None).map_err(|error| {
            let may_be_command = by_name && matches!(error, PlannerError::NotFound(_)) && !directive.contains('/');
            let failure = Failure::from(error);
            if may_be_command { failure.hint(commands_hint(&directive)) } else { failure }
        })?;
        setup.problems.extend(planner.problems);
    }
    let mut chosen = setup.choose(&items, &directive).map_err(SetupError::from)?;
    // Before a prompt is written for it. A thread that is reopened has its own.
    if thread.is_none() && chosen.notice.is_none() {
        let missing = setup.models.missing(&chosen.model);
        chosen.notice = missing.map(|missing| format!("cannot use {}: {missing}", chosen.model));
    }
    // What is piped in is meant for the project at hand.
    if !asked && io::stdin().is_terminal() && is_first_look(&setup, chosen.look) {
        return recorded(common, open.plain, "`levain` again opens this folder");
    }
    let draft = if thread.is_none() { app::listing::directive(&setup, &items, &directive) } else { None };
    drop(items);
    let opening = Opening { directive, thread, chosen, draft, by_name, recording };
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
    guard::restore_on_quit().map_err(|error| Failure::new(error.to_string()))?;
    let setup = Arc::new(setup);
    let screen = app::run(Arc::clone(&setup), tty, opening);
    let left = until_left(screen)?.map_err(|error| Failure::new(error.to_string()))?;
    if left.code == ExitCode::SUCCESS {
        tell_way_back(&setup, common, left.thread);
    }
    Ok(left.code)
}

/// Whether the terminal can do nothing but print, as far as its name tells.
fn only_prints() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// `text` as one word of a shell's.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '/' | '.' | '_' | '-' | '+' | ',' | '~');
    let text = visible(text);
    if text.chars().all(is_plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// What to try where neither a directive nor a command has this name.
fn commands_hint(word: &str) -> String {
    match near_command(word) {
        Some(near) => format!("if a command is meant: levain {near}; levain --help lists all"),
        None => "if a command is meant: levain --help lists them".to_owned(),
    }
}

/// Where the screen was, the command that leads back to its thread.
fn tell_way_back(setup: &Setup, common: &Common, thread: Option<(ThreadId, bool)>) {
    let Some((thread, works)) = thread else { return };
    let project = match &common.project {
        Some(_) => format!(" --project {}", quoted(&setup.project.root.to_string_lossy())),
        None => String::new(),
    };
    let goes_on = if works { " goes on without you" } else { "" };
    // Who closed the terminal needs no way back.
    let _gone = writeln!(out(), "{thread}{goes_on}. Back to it: levain{project} --continue {thread}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        let cases = [("/a/b-c.d", "/a/b-c.d"), ("/a b", "'/a b'"), ("/it's", r"'/it'\''s'"), ("/$(x)", "'/$(x)'")];
        for (path, word) in cases {
            assert_eq!(quoted(path), word);
        }
    }
}
