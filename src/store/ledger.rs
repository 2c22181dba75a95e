//! The budget ledger in the registry's database: a row for each thread, and one for each call that is reserved.
//!
//! Each operation is one immediate transaction, which reads and writes the rows of a thread and of its ancestors and no
//! others; so it costs as much in a tree of ten thousand threads as in one of ten, and what was spent is counted at every
//! ancestor in the transaction that settles it. `account` has the arithmetic, `tables` the SQL, `operations` what is asked
//! and answered.
//!
//! A ledger that is new, or whose file was lost or made again, answers nothing until it is rebuilt from the threads' logs. A
//! file that cannot be read is never made again here.

mod account;
mod operations;
mod tables;
#[cfg(test)]
mod tests;

use super::database::{self, failed};
use crate::domain::{Budget, BudgetReport, CallCost, Spent, ThreadId};
use crate::ports::ledger::{BudgetFact, Granted, LedgerJob, Rebuilt, Registered, Registration, Released};
use crate::ports::{Ledger, LedgerError, StoreError};
use rusqlite::{Connection, TransactionBehavior};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tables::{Fault, Tables};

/// The ledger of one project, for all threads of this process.
#[derive(Clone, Debug)]
pub struct SqliteLedger {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    opened: Mutex<Option<Opened>>,
}

#[derive(Debug)]
struct Opened {
    connection: Connection,
    file: FileId,
}

/// Which file lies under a path: its device and number. One that was replaced has others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|file| Self(file.dev(), file.ino()))
    }
}

impl SqliteLedger {
    /// The ledger in the database at `path` ([`super::Layout::registry`]), which is opened, and made if it is not there, by
    /// the first operation. Its folder has to be there ([`super::Layout::prepare_own`]).
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { shared: Arc::new(Shared { path, opened: Mutex::default() }) }
    }

    /// An operation that changes something.
    fn change<T>(
        &self,
        doing: &'static str,
        operation: impl FnOnce(&Tables<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> LedgerJob<T> {
        let shared = Arc::clone(&self.shared);
        Box::new(move || {
            // The database has no queue: those who wait look again from time to time. Without a gap between the
            // transactions of one process, it would have hundreds of them before anybody else has one.
            std::thread::yield_now();
            shared.transact(doing, TransactionBehavior::Immediate, operation)
        })
    }

    /// One that changes nothing, and waits for nobody who does.
    fn look<T>(
        &self,
        doing: &'static str,
        operation: impl FnOnce(&Tables<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> LedgerJob<T> {
        let shared = Arc::clone(&self.shared);
        Box::new(move || shared.transact(doing, TransactionBehavior::Deferred, operation))
    }
}

impl Shared {
    /// Does `operation` in a transaction of its own, as a whole or not at all.
    fn transact<T>(
        &self,
        doing: &'static str,
        behavior: TransactionBehavior,
        operation: impl FnOnce(&Tables<'_>) -> Result<T, Fault>,
    ) -> Result<T, LedgerError> {
        // A transaction that was given up by a panic was rolled back.
        let mut kept = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let mut opened = self.open(kept.take())?;
        let run = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(behavior)?;
            let answer = operation(&Tables::new(&transaction))?;
            transaction.commit()?;
            Ok(answer)
        };
        let ran = run(&mut opened.connection);
        // What failed is opened anew next time.
        if !matches!(ran, Err(Fault::Sql(_))) {
            *kept = Some(opened);
        }
        ran.map_err(|fault| match fault {
            Fault::Sql(source) => failed(doing, &self.path)(source).into(),
            Fault::Ledger(error) => error,
        })
    }

    /// The database, as it lies under its path now. Whoever deletes the file while we have it open takes the ledger away:
    /// what we would write then, nobody would find.
    fn open(&self, before: Option<Opened>) -> Result<Opened, StoreError> {
        let lies = FileId::of(&self.path);
        if let Some(opened) = before.filter(|opened| lies == Some(opened.file)) {
            return Ok(opened);
        }
        let connection = database::open(&self.path)?;
        if let Some(file) = FileId::of(&self.path).filter(|file| lies.is_none_or(|lies| lies == *file)) {
            return Ok(Opened { connection, file });
        }
        let source = std::io::Error::other("it was replaced meanwhile");
        Err(StoreError::Io { doing: "open the ledger in", path: self.path.clone(), source })
    }
}

impl Ledger for SqliteLedger {
    fn register(&self, registration: Registration) -> LedgerJob<Registered> {
        self.change("register a thread", move |tables| operations::register(tables, &registration))
    }

    fn reserve(&self, thread: &ThreadId, request: u32, most: CallCost) -> LedgerJob<Granted> {
        let thread = thread.clone();
        self.change("reserve a call", move |tables| operations::reserve(tables, &thread, request, most))
    }

    fn settle(&self, thread: &ThreadId, request: u32, spent: Spent) -> LedgerJob<BudgetReport> {
        let thread = thread.clone();
        self.change("settle a call", move |tables| operations::settle(tables, &thread, request, &spent))
    }

    fn adjust(&self, thread: &ThreadId, budget: Budget) -> LedgerJob<Granted> {
        let thread = thread.clone();
        self.change("change a limit", move |tables| operations::adjust(tables, &thread, budget))
    }

    fn release(&self, thread: &ThreadId, spent: Spent) -> LedgerJob<Released> {
        let thread = thread.clone();
        self.change("release a thread", move |tables| operations::release(tables, &thread, &spent))
    }

    fn report(&self, thread: &ThreadId) -> LedgerJob<BudgetReport> {
        let thread = thread.clone();
        self.look("look a budget up", move |tables| operations::report_of(tables, &thread))
    }

    fn live(&self) -> LedgerJob<Vec<ThreadId>> {
        self.look("list the live threads", operations::live)
    }

    fn rebuild(&self, facts: Vec<BudgetFact>) -> LedgerJob<Rebuilt> {
        self.change("rebuild the ledger", move |tables| operations::rebuild(tables, &facts))
    }
}
