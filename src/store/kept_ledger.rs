//! The ledger of a project as its threads use it: rebuilt from the logs where it is new or was lost, and without the threads
//! whose process has died.

use super::layout::Layout;
use super::ledger::SqliteLedger;
use super::recover;
use super::summary::{Summarise, Summary};
use crate::domain::{Budget, BudgetReport, CallCost, Spent, Status, ThreadId};
use crate::ports::ledger::{BudgetFact, Granted, LedgerJob, Rebuilt, Registered, Registration, Released};
use crate::ports::{Ledger, LedgerError};
use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A thread whose process does not run by then will not begin by itself.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// See the module.
#[derive(Clone, Debug)]
pub struct KeptLedger {
    ledger: SqliteLedger,
    layout: Layout,
    summarise: Summarise,
}

impl KeptLedger {
    /// The ledger of the project that `layout` is of.
    #[must_use]
    pub fn new(layout: &Layout, summarise: Summarise) -> Self {
        Self { ledger: SqliteLedger::new(layout.registry()), layout: layout.clone(), summarise }
    }

    /// Does what `job` makes; once more after the ledger was rebuilt, and once more after dead threads were released, where
    /// it is `short`.
    fn kept<T>(
        &self,
        job: impl Fn(&SqliteLedger) -> LedgerJob<T>,
        short: impl Fn(&T) -> bool,
    ) -> Result<T, LedgerError> {
        let mut answer = job(&self.ledger)();
        if matches!(answer, Err(LedgerError::NotBuilt)) {
            self.rebuild_from_logs()?;
            answer = job(&self.ledger)();
        }
        match answer {
            Ok(answer) if short(&answer) && self.release_dead(|_| false)? => job(&self.ledger)(),
            answer => answer,
        }
    }

    /// What all threads of the project have spent, as their files tell.
    fn rebuild_from_logs(&self) -> Result<Rebuilt, LedgerError> {
        let names = self.layout.threads().entries().unwrap_or_default();
        let ids = names.iter().filter_map(|name| name.parse::<ThreadId>().ok());
        let mut facts: Vec<BudgetFact> = ids
            .filter_map(|id| {
                let Summary { lineage, limits, cost, .. } = Summary::look(&self.layout, &id, self.summarise).ok()?;
                Some(BudgetFact {
                    thread: id,
                    parent: lineage.parent,
                    spend_limit: limits.spend,
                    tokens_limit: None,
                    spent: Spent::from(&cost),
                })
            })
            .collect();
        let known: HashSet<ThreadId> = facts.iter().map(|fact| fact.thread.clone()).collect();
        // A parent that was removed limits nothing any more.
        for fact in &mut facts {
            fact.parent = fact.parent.take().filter(|parent| known.contains(parent));
        }
        self.ledger.rebuild(facts)()
    }

    /// Releases the threads that no process runs, of which those that `run` need not be looked at. Returns whether there were
    /// any.
    pub(super) fn release_dead(&self, run: impl Fn(&ThreadId) -> bool) -> Result<bool, LedgerError> {
        let mut some = false;
        let live = match self.ledger.live()() {
            // Nothing was ever spent.
            Err(LedgerError::NotBuilt) => Vec::new(),
            live => live?,
        };
        for id in live {
            if run(&id) || recover::is_held(&self.layout, &id).unwrap_or(true) {
                continue;
            }
            let summary = Summary::look(&self.layout, &id, self.summarise);
            // Whoever started it has set its share aside; its process begins just now.
            let is_new = summary.as_ref().is_ok_and(|summary| summary.status == Status::Created) && began_lately(&id);
            if is_new && self.ledger.report(&id)()?.is_untouched() {
                continue;
            }
            let cost = summary.map(|summary| summary.cost).unwrap_or_default();
            some |= matches!(self.ledger.release(&id, Spent::from(&cost))()?, Released::Ended { .. });
        }
        Ok(some)
    }
}

/// Whether the thread is so new that its process may not run yet.
fn began_lately(id: &ThreadId) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(id.begun())) < STARTS_WITHIN
}

impl Ledger for KeptLedger {
    fn register(&self, registration: Registration) -> LedgerJob<Registered> {
        let this = self.clone();
        Box::new(move || {
            // The first thread of a project may come before anything else is kept of it.
            this.layout.prepare_own()?;
            let short = |answer: &Registered| matches!(answer, Registered::Refused(_) | Registered::NoSlot(_));
            this.kept(|ledger| ledger.register(registration.clone()), short)
        })
    }

    fn reserve(&self, thread: &ThreadId, request: u32, most: CallCost) -> LedgerJob<Granted> {
        let (this, thread) = (self.clone(), thread.clone());
        Box::new(move || {
            let short = |answer: &Granted| matches!(answer, Granted::Refused(_));
            this.kept(|ledger| ledger.reserve(&thread, request, most), short)
        })
    }

    fn settle(&self, thread: &ThreadId, request: u32, spent: Spent) -> LedgerJob<BudgetReport> {
        self.ledger.settle(thread, request, spent)
    }

    fn adjust(&self, thread: &ThreadId, budget: Budget) -> LedgerJob<Granted> {
        self.ledger.adjust(thread, budget)
    }

    fn release(&self, thread: &ThreadId, spent: Spent) -> LedgerJob<Released> {
        self.ledger.release(thread, spent)
    }

    fn report(&self, thread: &ThreadId) -> LedgerJob<BudgetReport> {
        let (this, thread) = (self.clone(), thread.clone());
        Box::new(move || this.kept(|ledger| ledger.report(&thread), |_| false))
    }

    fn live(&self) -> LedgerJob<Vec<ThreadId>> {
        let this = self.clone();
        Box::new(move || this.kept(Ledger::live, |_| false))
    }

    fn rebuild(&self, facts: Vec<BudgetFact>) -> LedgerJob<Rebuilt> {
        self.ledger.rebuild(facts)
    }
}
