//! Going on with a thread in one of the person's own.

use super::{DirectivePlanner, Setup};
use crate::domain::ThreadId;
use crate::store::fork::{self, Fork};
use crate::store::summary::Summary;
use crate::worker::host::REPLAY;

/// Makes a thread of one's own that begins with what was said in `from`, with the model that this person would use and
/// the limits that its directive has now.
///
/// # Errors
/// The sentence a person should read.
pub fn fork(setup: &Setup, from: &ThreadId) -> Result<ThreadId, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let Summary { directive, inputs, .. } =
        Summary::look(&setup.layout, from, REPLAY.summary).map_err(|error| said(&error))?;
    let planner = DirectivePlanner::prepare(setup, &directive, Some(inputs.clone())).map_err(|error| said(&error))?;
    let model = setup.choose(&setup.items(), &directive).map_err(|error| said(&error))?.model;
    let fork = Fork { directive, inputs, model, limits: planner.limits };
    fork::make(&setup.layout, from, fork, setup.now()).map_err(|error| said(&error))
}
