//! The thread whose tool started this process: what is started here is its child, as far as nobody says otherwise.
//!
//! The variable is a hint and no wall: a command may well leave it out. What a thread may run is for its permissions to say.

use super::Setup;
use super::secrets;
use crate::domain::{Parent, SetLimits, ThreadId};
use crate::engine::thread::{Thread, apply};
use crate::store::log;
use crate::store::summary::Summary;
use crate::worker::host::REPLAY;

/// The variable that names the thread to its tools.
pub const PARENT: &str = "RYE_PARENT_THREAD_ID";

impl Setup {
    /// What the thread that the environment names hands on to a child; none where it names none.
    ///
    /// # Errors
    /// Why it may start none, in a sentence; so also where there is no such thread in this project.
    pub fn parent_thread(&self) -> Result<Option<Parent>, String> {
        let Some(named) = secrets::var(PARENT).filter(|named| !named.is_empty()) else { return Ok(None) };
        let why = |why: String| format!("nothing was started below the thread {named} ({PARENT}): {why}");
        let id: ThreadId = named.parse().map_err(|_no_id| why("that is no id of a thread".to_owned()))?;
        let summary = Summary::believed(&self.layout, &id, REPLAY.summary).map_err(|error| why(error.to_string()))?;
        let Summary { directive, kind, model, limits, .. } = summary;
        let mut thread = Thread::new(id.clone(), &directive, kind, model, limits);
        let own = self.layout.log(&id).map_err(|error| why(error.to_string()))?;
        for page in log::pages(&own) {
            for record in page.map_err(|error| why(error.to_string()))?.into_records() {
                let _done_then = apply(&mut thread, &record);
            }
        }
        if let Some(refusal) = thread.refuses_children() {
            return Err(why(refusal));
        }
        let mut parent = thread.as_parent();
        // Nobody sees what such a child asks: its command line is a tool's.
        parent.lineage.attended = false;
        Ok(Some(parent))
    }
}

/// The limits of a child of `parent`; its spend is a share of what the parent has left, where nobody named an amount.
///
/// # Errors
/// Why it may not be, in a sentence.
pub fn limits_below(set: SetLimits, parent: &Parent) -> Result<SetLimits, String> {
    use crate::domain::LimitSource;
    let mut limits = set.below(&parent.limits).ok_or("its depth limit is 0 (depth_exceeded)")?;
    let named = matches!(set.limits_by.spend, Some(LimitSource::Directive | LimitSource::Override));
    if !named && parent.limits.spend.is_some() {
        // The ledger gives it the share.
        (limits.limits.spend, limits.limits_by.spend) = (None, None);
    }
    Ok(limits)
}
