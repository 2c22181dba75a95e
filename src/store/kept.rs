//! What a thread keeps under names, read from its log.

use super::layout::Layout;
use super::outcome::each;
use crate::domain::{Event, SettingsEvent, StateStore, ThreadId};
use crate::ports::StoreError;
use std::ops::ControlFlow;

/// What the thread `id` keeps now.
///
/// # Errors
/// [`StoreError`].
pub fn of(layout: &Layout, id: &ThreadId) -> Result<StateStore, StoreError> {
    let mut kept = StateStore::default();
    each(layout, id, |record| {
        if let Event::Settings(SettingsEvent::StateSet { values }) = &record.event {
            kept.set(values);
        }
        ControlFlow::Continue(())
    })?;
    Ok(kept)
}
