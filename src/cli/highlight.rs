//! `levain highlight`: works out the colours of code for the screen. Started by levain itself.

use crate::app::colouring;
use crate::session::people;
use std::io;
use std::process::ExitCode;

pub(super) fn run() -> ExitCode {
    // Whatever draws goes first.
    let _as_it_was = rustix::process::nice(10);
    // A screen that left has closed both ends: a normal end.
    let _gone = colouring::serve(io::stdin().lock(), people::wire());
    ExitCode::SUCCESS
}
