//! Going on with a thread in one of the person's own.

use super::{DirectivePlanner, Setup};
use crate::domain::{ForkPoint, LayerChange, LimitSource, Lineage, ModelRef, SetLimits, ThreadId, ThreadKind};
use crate::store::fork::{self, Fork, Forked};
use crate::store::summary::Summary;
use crate::store::threads::is_elsewhere;
use crate::worker::host::REPLAY;

/// Makes a thread of one's own that begins with what was said in `from`, with `model`, else the one that this person would
/// use, the limits that its directive has now, and what the person wants otherwise in its requests. Of a thread of one's own the model is the one it had.
///
/// # Errors
/// The sentence a person should read.
pub fn fork(
    setup: &Setup,
    from: &ThreadId,
    until: ForkPoint,
    model: Option<ModelRef>,
    changes: Vec<LayerChange>,
) -> Result<Forked, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let summary = Summary::look(&setup.layout, from, REPLAY.summary).map_err(|error| said(&error))?;
    let Summary { directive, inputs, .. } = summary;
    let planner = DirectivePlanner::prepare(setup, &directive, Some(inputs.clone())).map_err(|error| said(&error))?;
    let own = !is_elsewhere(&setup.layout, from);
    let model = match model.or_else(|| own.then_some(summary.model)) {
        Some(model) => model,
        None => setup.choose(&setup.items(), &directive).map_err(|error| said(&error))?.model,
    };
    let limits = SetLimits::by(LimitSource::Override, planner.limits);
    let fork = Fork {
        directive,
        inputs,
        model,
        kind: ThreadKind::Interactive,
        limits,
        lineage: Lineage::fork(from),
        ceilings: Vec::new(),
        changes,
    };
    fork::make(&setup.layout, from, until, fork, setup.now()).map_err(|error| said(&error))
}
