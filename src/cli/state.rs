//! `levain threads state`: what a thread keeps under names.

use super::failure::{Failure, written};
use super::find;
use super::orchestrate::ThreadNamed;
use crate::domain::{StateStore, ThreadId};
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::store::kept;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// `--json` of `state`.
#[derive(Serialize)]
struct StateLine<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
    state: &'a StateStore,
}

pub(super) fn state(setup: &Setup, ThreadNamed { id, json }: &ThreadNamed) -> Result<ExitCode, Failure> {
    let thread_id = find::thread(setup, id)?;
    let state = kept::of(&setup.layout, &thread_id).map_err(|error| Failure::new(error.to_string()))?;
    let mut output = out();
    if *json {
        let line = StateLine { schema: "levain.state/1", thread_id: &thread_id, state: &state };
        written(json_line(&mut output, &line))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (name, value) in state.iter() {
        written(writeln!(output, "{name} = {value}"))?;
    }
    if state.is_empty() {
        let _closed = writeln!(err(), "{thread_id} keeps no values");
    }
    Ok(ExitCode::SUCCESS)
}
