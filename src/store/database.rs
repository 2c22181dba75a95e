//! The database in a project's state folder: how it is opened, and its schema.
//!
//! WAL mode, so that readers and the writer do not wait for each other. The schema grows by numbered migrations; a file of a
//! newer schema is refused in words. What its tables mean is known where they are used: [`super::registry`].

use crate::ports::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long somebody else's transaction is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// Each takes the schema one number further. Never changed once released; new ones are added at the end.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE threads (
        thread_id TEXT PRIMARY KEY,
        directive TEXT NOT NULL,
        kind TEXT NOT NULL,
        parent_id TEXT,
        status TEXT NOT NULL,
        title TEXT NOT NULL DEFAULT '',
        model TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        completed_at INTEGER,
        turns INTEGER NOT NULL DEFAULT 0,
        input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        spend INTEGER NOT NULL DEFAULT 0,
        pid INTEGER,
        socket TEXT
    ) STRICT;
    CREATE INDEX threads_by_update ON threads (updated_at DESC);
    CREATE INDEX threads_by_status ON threads (status);
",
    "ALTER TABLE threads ADD COLUMN waiting TEXT",
    "ALTER TABLE threads ADD COLUMN elsewhere INTEGER NOT NULL DEFAULT 0",
    "
    ALTER TABLE threads ADD COLUMN root_id TEXT;
    ALTER TABLE threads ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN previous_id TEXT;
    ALTER TABLE threads ADD COLUMN chain_id TEXT;
    ALTER TABLE threads ADD COLUMN origin TEXT NOT NULL DEFAULT 'screen';
    CREATE INDEX threads_by_parent ON threads (parent_id) WHERE parent_id IS NOT NULL;
    CREATE INDEX threads_by_chain ON threads (chain_id) WHERE chain_id IS NOT NULL;
",
];

/// Opens or makes the database at `path` and brings its schema up to date.
///
/// # Errors
/// [`StoreError::Database`], [`StoreError::NewerSchema`].
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path).map_err(failed("open the registry", path))?;
    let set_up = |connection: &Connection| {
        connection.busy_timeout(BUSY)?;
        write_ahead(connection)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")
    };
    set_up(&connection).map_err(failed("set up the registry", path))?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// The same in memory alone.
///
/// # Errors
/// [`StoreError::Database`].
pub(super) fn in_memory() -> Result<Connection, StoreError> {
    let path = PathBuf::from(":memory:");
    let mut connection = Connection::open_in_memory().map_err(failed("make a registry", &path))?;
    migrate(&mut connection, &path)?;
    Ok(connection)
}

/// What to make of a failure of the database at `path`.
pub(super) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| StoreError::Database { doing, path: path.to_owned(), source }
}

/// Switches to the write-ahead log, once for a file. The database waits for nobody there, as it does elsewhere: of several
/// processes that open a new file at once, all but one are told that it is busy.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let until = Instant::now() + BUSY;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) && Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let run = |connection: &mut Connection| -> rusqlite::Result<u32> {
        let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found >= known {
            return Ok(found);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let found: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for migration in MIGRATIONS.iter().skip(found as usize) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "user_version", known.max(found))?;
        transaction.commit()?;
        Ok(found)
    };
    let found = run(connection).map_err(failed("update the registry", path))?;
    if found > known { Err(StoreError::NewerSchema { path: path.to_owned(), found, known }) } else { Ok(()) }
}
