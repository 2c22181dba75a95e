//! The ledger's tables, read and written inside one transaction.

use super::account::{Account, Amounts, Dimension};
use crate::domain::ThreadId;
use crate::ports::LedgerError;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// As many ancestors a thread can have. An operation reads and writes a row for each of them.
pub(super) const MOST_ANCESTORS: usize = 127;

/// Why a transaction is given up.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    Ledger(LedgerError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

/// A thread with its ancestors.
#[derive(Clone, Debug)]
pub(super) struct Ancestry {
    /// The thread first, the root last; never empty.
    pub(super) accounts: Vec<Account>,
    /// As they were read, to write only what has changed.
    read: Vec<Account>,
}

impl Ancestry {
    /// That of a new thread, below that of its parent.
    pub(super) fn below(thread: ThreadId, parent: Option<Self>) -> Self {
        let mut accounts = vec![Account::new(thread)];
        accounts.extend(parent.into_iter().flat_map(|parent| parent.read));
        Self { read: accounts.clone(), accounts }
    }

    pub(super) fn first(&self) -> &Account {
        &self.accounts[0]
    }

    pub(super) fn first_mut(&mut self) -> &mut Account {
        &mut self.accounts[0]
    }

    pub(super) fn parent(&self) -> Option<&ThreadId> {
        self.accounts.get(1).map(|account| &account.thread)
    }

    /// How many ancestors there are.
    pub(super) fn depth(&self) -> usize {
        self.accounts.len() - 1
    }
}

/// What is reserved for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) spend: i64,
    pub(super) tokens: i64,
}

impl Reservation {
    pub(super) fn of(self, dimension: Dimension) -> i64 {
        match dimension {
            Dimension::Spend => self.spend,
            Dimension::Tokens => self.tokens,
        }
    }
}

/// The tables, for as long as a transaction lasts.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    connection: &'a Connection,
}

const READ: &str = "SELECT account, thread_id, live, live_children, unpriced, unpriced_below,
    spend_limit, spend_set_aside, spend_spent, spend_spent_below, spend_reserved, spend_reserved_below, spend_claimed,
    tokens_limit, tokens_set_aside, tokens_spent, tokens_spent_below, tokens_reserved, tokens_reserved_below,
    tokens_claimed, parent FROM budgets WHERE ";

const WRITE: &str = "UPDATE budgets SET live = ?2, live_children = ?3, unpriced = ?4, unpriced_below = ?5,
    spend_limit = ?6, spend_set_aside = ?7, spend_spent = ?8, spend_spent_below = ?9, spend_reserved = ?10,
    spend_reserved_below = ?11, spend_claimed = ?12,
    tokens_limit = ?13, tokens_set_aside = ?14, tokens_spent = ?15, tokens_spent_below = ?16, tokens_reserved = ?17,
    tokens_reserved_below = ?18, tokens_claimed = ?19
    WHERE account = ?1";

impl<'a> Tables<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection }
    }

    /// How many threads are live.
    ///
    /// # Errors
    /// [`LedgerError::NotBuilt`] where the ledger is new or was lost.
    pub(super) fn live(&self) -> Result<u32, Fault> {
        let found =
            self.connection.prepare_cached("SELECT live FROM ledger")?.query_row([], |row| row.get(0)).optional();
        found?.ok_or(Fault::Ledger(LedgerError::NotBuilt))
    }

    pub(super) fn set_live(&self, live: u32) -> Result<(), Fault> {
        self.connection.prepare_cached("UPDATE ledger SET live = ?1")?.execute([live])?;
        Ok(())
    }

    /// From here on the ledger answers.
    pub(super) fn begin(&self) -> Result<(), Fault> {
        self.connection.execute("INSERT INTO ledger (one, live) VALUES (1, 0)", [])?;
        Ok(())
    }

    /// The threads that are live.
    pub(super) fn live_threads(&self) -> Result<Vec<ThreadId>, Fault> {
        let mut statement =
            self.connection.prepare("SELECT 0, thread_id FROM budgets WHERE live = 1 ORDER BY account")?;
        let threads = statement.query_map([], thread)?.collect::<rusqlite::Result<_>>()?;
        Ok(threads)
    }

    /// The thread and its ancestors; `None` for one that is not in the ledger.
    pub(super) fn ancestry(&self, thread: &ThreadId) -> Result<Option<Ancestry>, Fault> {
        let mut by_name = self.connection.prepare_cached(&format!("{READ} thread_id = ?1"))?;
        let Some((first, mut parent)) = by_name.query_row([thread.as_str()], account).optional()? else {
            return Ok(None);
        };
        let mut accounts = vec![first];
        while let Some(number) = parent {
            let mut by_number = self.connection.prepare_cached(&format!("{READ} account = ?1"))?;
            let (ancestor, above) = by_number.query_row([number], account)?;
            accounts.push(ancestor);
            parent = above;
        }
        Ok(Some(Ancestry { read: accounts.clone(), accounts }))
    }

    /// The same of a thread that has to be there.
    pub(super) fn registered(&self, thread: &ThreadId) -> Result<Ancestry, Fault> {
        self.ancestry(thread)?.ok_or_else(|| LedgerError::NotRegistered { thread: thread.clone() }.into())
    }

    /// Writes those accounts that are not as they were read. The first may be new.
    pub(super) fn write(&self, ancestry: &mut Ancestry) -> Result<(), Fault> {
        if ancestry.first().number.is_none() {
            let parent = ancestry.accounts.get(1).and_then(|account| account.number);
            let mut insert =
                self.connection.prepare_cached("INSERT INTO budgets (thread_id, parent) VALUES (?1, ?2)")?;
            insert.execute(params![ancestry.first().thread.as_str(), parent])?;
            ancestry.first_mut().number = Some(self.connection.last_insert_rowid());
        }
        for (account, read) in ancestry.accounts.iter().zip(&ancestry.read) {
            if account != read {
                self.update(account)?;
            }
        }
        ancestry.read.clone_from(&ancestry.accounts);
        Ok(())
    }

    fn update(&self, account: &Account) -> Result<(), Fault> {
        let (spend, tokens) = (&account.spend, &account.tokens);
        if !(spend.is_countable() && tokens.is_countable()) {
            return Err(LedgerError::Amount.into());
        }
        self.connection.prepare_cached(WRITE)?.execute(params![
            account.number,
            account.live,
            account.live_children,
            account.unpriced,
            account.unpriced_below,
            spend.limit,
            spend.set_aside,
            spend.spent,
            spend.spent_below,
            spend.reserved,
            spend.reserved_below,
            spend.claimed,
            tokens.limit,
            tokens.set_aside,
            tokens.spent,
            tokens.spent_below,
            tokens.reserved,
            tokens.reserved_below,
            tokens.claimed,
        ])?;
        Ok(())
    }

    /// What is reserved for the request; `None` where nothing is.
    pub(super) fn reservation(&self, account: &Account, request: u32) -> Result<Option<Reservation>, Fault> {
        let sql = "SELECT spend, tokens FROM reservations WHERE account = ?1 AND request = ?2";
        let read = |row: &Row<'_>| Ok(Reservation { spend: row.get(0)?, tokens: row.get(1)? });
        Ok(self.connection.prepare_cached(sql)?.query_row(params![account.number, request], read).optional()?)
    }

    pub(super) fn keep_reservation(
        &self,
        account: &Account,
        request: u32,
        reservation: Reservation,
    ) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO reservations (account, request, spend, tokens) VALUES (?1, ?2, ?3, ?4)";
        let values = params![account.number, request, reservation.spend, reservation.tokens];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    pub(super) fn drop_reservation(&self, account: &Account, request: u32) -> Result<(), Fault> {
        let sql = "DELETE FROM reservations WHERE account = ?1 AND request = ?2";
        self.connection.prepare_cached(sql)?.execute(params![account.number, request])?;
        Ok(())
    }

    /// Drops all reservations of a thread.
    pub(super) fn drop_reservations(&self, account: &Account) -> Result<(), Fault> {
        self.connection.prepare_cached("DELETE FROM reservations WHERE account = ?1")?.execute([account.number])?;
        Ok(())
    }
}

/// The thread whose id is in the second column.
fn thread(row: &Row<'_>) -> rusqlite::Result<ThreadId> {
    let id: String = row.get(1)?;
    id.parse().map_err(|error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error)))
}

/// An account, and the number of its parent's.
fn account(row: &Row<'_>) -> rusqlite::Result<(Account, Option<i64>)> {
    let account = Account {
        number: row.get(0)?,
        thread: thread(row)?,
        live: row.get(2)?,
        live_children: row.get(3)?,
        unpriced: row.get(4)?,
        unpriced_below: row.get(5)?,
        spend: amounts(row, 6)?,
        tokens: amounts(row, 13)?,
    };
    Ok((account, row.get(20)?))
}

/// Those whose columns begin at `first`.
fn amounts(row: &Row<'_>, first: usize) -> rusqlite::Result<Amounts> {
    Ok(Amounts {
        limit: row.get(first)?,
        set_aside: row.get(first + 1)?,
        spent: row.get(first + 2)?,
        spent_below: row.get(first + 3)?,
        reserved: row.get(first + 4)?,
        reserved_below: row.get(first + 5)?,
        claimed: row.get(first + 6)?,
    })
}
