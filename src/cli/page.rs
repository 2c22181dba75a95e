//! `levain page`: makes text of a page of the web. Started by levain itself.

use crate::session::people;
use crate::tools::page;
use clap::Args;
use std::io;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct PageArguments {
    /// The words alone, without marks for headings and links
    #[arg(long)]
    plain: bool,
}

pub(super) fn run(arguments: &PageArguments) -> ExitCode {
    // Whoever waits for it goes first.
    let _as_it_was = rustix::process::nice(5);
    match page::serve(io::stdin().lock(), people::wire(), arguments.plain) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
