//! The budget ledger: what each thread of a project may spend, what it has reserved and what it has spent, over all
//! processes.
//!
//! Every operation is one transaction that answers: it is done as a whole or not at all, whenever a process dies. What the
//! ledger cannot tell, it refuses.
//!
//! The threads' logs stay the truth of what was spent. Whoever tells the ledger of spending tells it the sum of the thread's
//! log, so telling twice counts once, and what was lost on the way is counted with the next sum. A sum is told after the
//! log's line is on disk, and never before.

use super::store::StoreError;
use crate::domain::{Budget, BudgetReport, CallCost, Money, NoSlot, Refusal, Slots, Spent, ThreadId, Tokens};

/// An operation that has not begun. It is run off the loop, and may wait for other processes for some seconds.
pub type LedgerJob<T> = Box<dyn FnOnce() -> Result<T, LedgerError> + Send>;

/// The ledger gives no answer. Nothing was changed, and nothing may be sent that it had to allow.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("{0}; no call is sent while the budget cannot be checked")]
    Store(#[from] StoreError),
    #[error("the budget ledger is new or was lost, and has to be rebuilt from the logs of the threads first")]
    NotBuilt,
    #[error("thread {thread} is not in the budget ledger")]
    NotRegistered { thread: ThreadId },
    #[error("the budget ledger lists thread {thread} as ended; it has to be registered again")]
    Ended { thread: ThreadId },
    #[error("thread {thread} has another parent in the budget ledger than {}", asked.as_ref().map_or("none", ThreadId::as_str))]
    OtherParent { thread: ThreadId, asked: Option<ThreadId> },
    #[error("thread {thread} has no root: its ancestors form a cycle")]
    NoRoot { thread: ThreadId },
    #[error("thread {thread} is listed twice")]
    Duplicate { thread: ThreadId },
    #[error("thread {thread} would have more than {most} ancestors")]
    TooDeep { thread: ThreadId, most: usize },
    #[error("an amount is negative or too large for the budget ledger")]
    Amount,
}

/// A thread that begins, is taken over by another process, or is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub thread: ThreadId,
    /// Never changes for a thread.
    pub parent: Option<ThreadId>,
    pub budget: Budget,
    pub slots: Slots,
    /// The sum of its log: nothing where it is new.
    pub spent: Spent,
}

/// What came of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// It is live, with the limits that the report says. The budget of one that was live already stays as it was.
    Live(Box<BudgetReport>),
    /// The parent has too little left.
    Refused(Refusal),
    /// It has to wait; ask again when a thread has ended.
    NoSlot(NoSlot),
}

/// What came of reserving a call, or of a changed limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    Yes(Box<BudgetReport>),
    Refused(Refusal),
}

/// What came of releasing a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// It has ended. This much of what was set aside for it or reserved by it went back, because it was not spent.
    Ended { spend: Money, tokens: Tokens, report: Box<BudgetReport> },
    /// It had ended before, or was never registered.
    Before,
}

/// What a log says of a thread, to rebuild the ledger from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetFact {
    pub thread: ThreadId,
    pub parent: Option<ThreadId>,
    pub spend_limit: Option<Money>,
    pub tokens_limit: Option<Tokens>,
    /// The sum of its log.
    pub spent: Spent,
}

/// What came of rebuilding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuilt {
    /// So many threads are in the ledger, all of them ended. One that is live registers again.
    Threads(usize),
    /// It was there, perhaps because another process was faster. Nothing was changed.
    WasBuilt,
}

/// Keeps the budgets of a project's threads. Money is in millionths of a US dollar throughout. Any [`LedgerError`] may come
/// of any operation.
///
/// Only the process that holds a thread's lock registers, settles and releases it, except that a parent may register a new
/// child before the child's own process does.
pub trait Ledger: Send + Sync {
    /// Takes a thread in before its first call, with what it may spend set aside at its parent; or takes over one that is
    /// live; or resumes one that has ended. A call of it that was reserved before is running no more, and its reservation
    /// goes. Slots are asked before money. A new thread's parent
    /// has to be known; it may have ended, since a child that works by itself can begin behind it.
    fn register(&self, registration: Registration) -> LedgerJob<Registered>;

    /// Reserves the most that the call may cost, which is sent as the thread's request `request`. Granted if the thread and
    /// each of its ancestors have as much left. Asking again for the same request replaces what was reserved for it.
    fn reserve(&self, thread: &ThreadId, request: u32, most: CallCost) -> LedgerJob<Granted>;

    /// Gives back what was reserved for the request, if anything is, and counts at the thread and at every ancestor what
    /// `spent`, the sum of its log, has beyond what was counted. More than was reserved is counted all the same: it has
    /// been spent. A smaller sum takes nothing back.
    fn settle(&self, thread: &ThreadId, request: u32, spent: Spent) -> LedgerJob<BudgetReport>;

    /// Gives a live thread another budget. Raising what is set aside can be refused; lowering cannot: what is spent,
    /// reserved or promised to children beyond the new limit stays, and the thread gets nothing more.
    fn adjust(&self, thread: &ThreadId, budget: Budget) -> LedgerJob<Granted>;

    /// The end of a thread: what it has reserved goes, and what was set aside for it and is not spent goes back to its
    /// parent. Its children go on. What `spent`, the sum of its log, has beyond what was counted is counted; nothing where
    /// its log is lost. Whoever ends a thread or finds it dead may ask, any number of times.
    fn release(&self, thread: &ThreadId, spent: Spent) -> LedgerJob<Released>;

    /// How the thread stands. Changes nothing.
    fn report(&self, thread: &ThreadId) -> LedgerJob<BudgetReport>;

    /// The threads that are registered and not released. Those whose process has died are to be released.
    fn live(&self) -> LedgerJob<Vec<ThreadId>>;

    /// Fills a ledger that is new or was lost, which until then answers nothing but [`LedgerError::NotBuilt`]. A project
    /// without threads has no facts. Each parent has to be among the threads.
    fn rebuild(&self, facts: Vec<BudgetFact>) -> LedgerJob<Rebuilt>;
}
