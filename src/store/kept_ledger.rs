//! The ledger of a project as its threads use it: rebuilt from the logs where it is new or was lost, and without the threads
//! whose process has died.

use super::layout::Layout;
use super::ledger::SqliteLedger;
use super::recover::{self, Replay};
use super::summary::Summary;
use crate::domain::{Budget, BudgetReport, CallCost, Cost, Spent, Status, ThreadId};
use crate::ports::ledger::{BudgetFact, Granted, LedgerJob, Rebuilt, Registered, Registration, Released};
use crate::ports::{Clock, Ledger, LedgerError, StoreError, SystemClock};
use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A thread whose process does not run by then will not begin by itself.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// See the module.
#[derive(Clone, Debug)]
pub struct KeptLedger {
    ledger: SqliteLedger,
    layout: Layout,
    replay: Replay,
}

impl KeptLedger {
    /// The ledger of the project that `layout` is of.
    #[must_use]
    pub fn new(layout: &Layout, replay: Replay) -> Self {
        Self { ledger: SqliteLedger::new(layout.registry()), layout: layout.clone(), replay }
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
                let mut summary = Summary::look(&self.layout, &id, self.replay.summary).ok()?;
                if summary.status == Status::Running {
                    summary = self.at_rest(&id).unwrap_or(summary);
                }
                let Summary { lineage, limits, cost, .. } = summary;
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

    /// How the thread stands, with what its last process left behind if that died: until somebody mends it, neither its log nor
    /// its `thread.json` says what a call in flight may have cost.
    fn at_rest(&self, id: &ThreadId) -> Result<Summary, StoreError> {
        match recover::reap_thread(&self.layout, id, SystemClock.now(), self.replay) {
            // What stands in the file of one from elsewhere is all that there is.
            Ok(_) | Err(StoreError::Elsewhere { .. }) => Summary::look(&self.layout, id, self.replay.summary),
            Err(error) => Err(error),
        }
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
            let summary = Summary::look(&self.layout, &id, self.replay.summary);
            // Whoever started it has set its share aside; its process begins just now.
            let is_new = summary.as_ref().is_ok_and(|summary| summary.status == Status::Created) && began_lately(&id);
            if is_new && self.ledger.report(&id)()?.is_untouched() {
                continue;
            }
            let cost = match self.at_rest(&id) {
                Ok(summary) => summary.cost,
                Err(error @ StoreError::Io { .. }) => {
                    tracing::warn!(thread = %id, %error, "a dead thread keeps what it has reserved");
                    continue;
                }
                // As far as anything tells of it.
                Err(_) => summary.map_or_else(|_| Cost::default(), |summary| summary.cost),
            };
            // Somebody may have gone on with it meanwhile.
            if recover::is_held(&self.layout, &id).unwrap_or(true) {
                continue;
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Allowance, Event, Message, ModelRef, Money, Record, RequestEvent, Slots, ThreadEvent, ThreadKind, Timestamp,
        Tokens,
    };
    use crate::store::log::LogWriter;

    const REPLAY: Replay =
        Replay { answer: |_| (String::new(), String::new(), Message::assistant("")), summary: |_, _| None };
    const SPEND: Budget = Budget { spend: Allowance::Open, tokens: Allowance::AtMost(Tokens(1_000)) };
    const CALL: CallCost = CallCost { spend: Some(Money::ZERO), tokens: Tokens(600) };

    /// A thread below `parent`, with these events in its log.
    fn thread(layout: &Layout, directive: &str, parent: Option<&ThreadId>, events: Vec<Event>) -> ThreadId {
        let id = layout.claim(directive, Timestamp(1)).unwrap();
        let model = ModelRef::new("scripted", "demo");
        let mut summary = Summary::new(id.clone(), directive.into(), ThreadKind::OneShot, model, Timestamp(1));
        summary.status = Status::Running;
        summary.lineage.parent = parent.cloned();
        summary.write(layout).unwrap();
        let mut log = LogWriter::open(layout.thread(&id).log(), &id, layout.own_key().unwrap()).unwrap().0;
        for event in events {
            log.append(&Record { timestamp: Timestamp(2), thread_id: id.clone(), event }).unwrap();
        }
        id
    }

    /// What a process leaves that was killed while it waited for an answer to so many tokens.
    fn died_waiting(tokens: u64) -> Vec<Event> {
        vec![
            Event::Thread(ThreadEvent::WorkerStarted { pid: 1, version: "0".into() }),
            Event::Request(RequestEvent::RequestRecorded {
                request: 1,
                turn: 1,
                attempt: 1,
                model: ModelRef::new("scripted", "demo"),
                tokens: Tokens(tokens),
            }),
        ]
    }

    #[test]
    fn what_a_dead_thread_had_in_flight_is_counted_by_whoever_needs_its_share() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path(), &project.path().join("state"));
        let ledger = KeptLedger::new(&layout, REPLAY);
        let register = |thread: &ThreadId, parent: Option<&ThreadId>| Registration {
            thread: thread.clone(),
            parent: parent.cloned(),
            budget: if parent.is_none() { SPEND } else { Budget { tokens: Allowance::Open, ..SPEND } },
            slots: Slots { children: None, threads: None },
            spent: Spent::default(),
        };
        let root = thread(&layout, "root", None, Vec::new());
        let _runs = super::super::thread::Lock::take(&layout.thread(&root)).unwrap().unwrap();
        let dead = thread(&layout, "dead", Some(&root), died_waiting(300));
        ledger.register(register(&root, None))().unwrap();
        ledger.register(register(&dead, Some(&root)))().unwrap();
        assert!(matches!(ledger.reserve(&dead, 1, CALL)().unwrap(), Granted::Yes(_)));
        // Nothing of the project is listed before the next asks for what the dead one holds.
        assert!(matches!(ledger.reserve(&root, 1, CALL)().unwrap(), Granted::Yes(_)));
        let report = ledger.report(&root)().unwrap();
        assert_eq!((report.tokens.spent_below, report.tokens.left), (Tokens(300), Some(Tokens(100))));
        assert_eq!(Summary::look(&layout, &dead, REPLAY.summary).unwrap().cost.usage.input, Tokens(300));
    }

    #[test]
    fn a_ledger_that_was_lost_counts_what_dead_threads_had_in_flight() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path(), &project.path().join("state"));
        let dead = thread(&layout, "dead", None, died_waiting(300));
        layout.prepare_own().unwrap();
        let report = KeptLedger::new(&layout, REPLAY).report(&dead)().unwrap();
        assert_eq!(report.tokens.spent, Tokens(300));
    }
}
