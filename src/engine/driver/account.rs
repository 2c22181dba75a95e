//! What a driver knows of its thread's budget.

use super::prepare_error::Stopped;
use crate::domain::event::{CallError, ErrorCategory};
use crate::domain::{Budget, BudgetReport, Limits, NoSlot, Refusal, SetLimits, Slots, Spent, ThreadId};
use crate::ports::ledger::{LedgerJob, Registered, Registration};
use crate::ports::{Ledger, LedgerError, StoreError};
use std::sync::Arc;
use std::time::Instant;

/// The ledger of a project, and how many of its threads may run side by side.
#[derive(Clone)]
pub struct Budgets {
    pub ledger: Arc<dyn Ledger>,
    pub slots: Slots,
}

impl Budgets {
    /// Takes a thread into the ledger, with what its limits mean beside what its parent has left.
    #[must_use]
    pub fn register(
        &self,
        thread: ThreadId,
        parent: Option<ThreadId>,
        set: SetLimits,
        spent: Spent,
    ) -> LedgerJob<Registered> {
        let (ledger, slots) = (Arc::clone(&self.ledger), self.slots);
        Box::new(move || {
            let parents_left = match &parent {
                Some(parent) => ledger.report(parent)()?.spend.left,
                None => None,
            };
            let budget = Budget::of(&set, slots, parents_left);
            ledger.register(Registration { thread, parent, budget, slots, spent })()
        })
    }
}

impl std::fmt::Debug for Budgets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Budgets").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// What the ledger knows of the thread.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// How it stands; nothing before it is registered.
    pub(super) report: Option<BudgetReport>,
    /// The request for which something is reserved.
    pub(super) reserved: Option<u32>,
    /// What was told last.
    pub(super) told: Spent,
    /// The limits that were told last.
    pub(super) limits: Limits,
    /// The request for which too little was left.
    pub(super) refused: Option<u32>,
    /// When it is asked again for a slot.
    pub(super) ask_at: Option<Instant>,
}

/// Why a call is not sent.
pub(super) enum Unfunded {
    Stopped,
    /// As many threads run as may.
    NoSlot(NoSlot),
    /// The store has failed; what was to be done is done once it works.
    Blocked,
    /// Too little is left: the thread is at a limit.
    Refused(Refusal),
    Failed(CallError),
}

/// A call that was not sent because of the budget.
pub(super) fn budget_error(category: ErrorCategory, message: String) -> CallError {
    CallError { category, code: "budget".into(), message, status: None, retry_after_ms: None }
}

impl From<Stopped> for Unfunded {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<LedgerError> for Unfunded {
    fn from(error: LedgerError) -> Self {
        let category = match error {
            LedgerError::Store(StoreError::NewerSchema { .. })
            | LedgerError::OtherParent { .. }
            | LedgerError::NoRoot { .. }
            | LedgerError::Duplicate { .. }
            | LedgerError::TooDeep { .. }
            | LedgerError::Amount => ErrorCategory::Permanent,
            // Another process may hold the database, or a disk may be full: both pass. What is lost is rebuilt.
            LedgerError::Store(_)
            | LedgerError::NotBuilt
            | LedgerError::NotRegistered { .. }
            | LedgerError::Ended { .. } => ErrorCategory::Transient,
        };
        Self::Failed(budget_error(category, error.to_string()))
    }
}
