//! The database in a project's state folder: how it is opened, and its schema.
//!
//! WAL mode, so that readers and the writer do not wait for each other. The schema grows by numbered migrations; a file of a
//! newer schema is refused in words. What its tables mean is known where they are used: [`super::registry`] and
//! [`super::ledger`].

use crate::ports::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long somebody else's transaction is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// Between two looks whether it has ended: at first, and after it has taken long.
const SHORT_PAUSE: Duration = Duration::from_millis(1);
const LONG_PAUSE: Duration = Duration::from_millis(5);

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
    // The budget ledger. Money is in millionths of a dollar. The one row of `ledger` comes with its first filling: without
    // it nothing is answered.
    "
    CREATE TABLE ledger (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        live INTEGER NOT NULL CHECK (live >= 0)
    ) STRICT;
    CREATE TABLE budgets (
        account INTEGER PRIMARY KEY,
        thread_id TEXT NOT NULL UNIQUE,
        parent INTEGER REFERENCES budgets (account),
        live INTEGER NOT NULL DEFAULT 0 CHECK (live IN (0, 1)),
        live_children INTEGER NOT NULL DEFAULT 0 CHECK (live_children >= 0),
        unpriced INTEGER NOT NULL DEFAULT 0 CHECK (unpriced >= 0),
        unpriced_below INTEGER NOT NULL DEFAULT 0 CHECK (unpriced_below >= 0),
        spend_limit INTEGER CHECK (spend_limit >= 0),
        spend_set_aside INTEGER NOT NULL DEFAULT 0,
        spend_spent INTEGER NOT NULL DEFAULT 0,
        spend_spent_below INTEGER NOT NULL DEFAULT 0,
        spend_reserved INTEGER NOT NULL DEFAULT 0,
        spend_reserved_below INTEGER NOT NULL DEFAULT 0,
        spend_claimed INTEGER NOT NULL DEFAULT 0,
        tokens_limit INTEGER CHECK (tokens_limit >= 0),
        tokens_set_aside INTEGER NOT NULL DEFAULT 0,
        tokens_spent INTEGER NOT NULL DEFAULT 0,
        tokens_spent_below INTEGER NOT NULL DEFAULT 0,
        tokens_reserved INTEGER NOT NULL DEFAULT 0,
        tokens_reserved_below INTEGER NOT NULL DEFAULT 0,
        tokens_claimed INTEGER NOT NULL DEFAULT 0,
        CHECK (min(spend_set_aside, spend_spent, spend_spent_below, spend_reserved, spend_reserved_below) >= 0),
        CHECK (min(tokens_set_aside, tokens_spent, tokens_spent_below, tokens_reserved, tokens_reserved_below) >= 0),
        CHECK (spend_claimed >= spend_spent_below + spend_reserved_below),
        CHECK (tokens_claimed >= tokens_spent_below + tokens_reserved_below),
        CHECK (spend_set_aside <= coalesce(spend_limit, 0) AND tokens_set_aside <= coalesce(tokens_limit, 0)),
        CHECK (live = 1 OR max(spend_set_aside, spend_reserved, tokens_set_aside, tokens_reserved) = 0)
    ) STRICT;
    CREATE TABLE reservations (
        account INTEGER NOT NULL REFERENCES budgets (account),
        request INTEGER NOT NULL CHECK (request >= 0),
        spend INTEGER NOT NULL CHECK (spend >= 0),
        tokens INTEGER NOT NULL CHECK (tokens >= 0),
        PRIMARY KEY (account, request)
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE threads ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN waits_for TEXT;
",
    "
    ALTER TABLE threads ADD COLUMN attended INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN limits TEXT;
",
    "
    ALTER TABLE threads ADD COLUMN outputs TEXT NOT NULL DEFAULT '';
    ALTER TABLE threads ADD COLUMN risk TEXT;
",
    // Each change of a row has a number, so that a reader is told of those after the ones it knows. The row of `revisions`
    // holds the newest, that of the newest removal, and a name by which a file that was made again is told from the one before.
    "
    ALTER TABLE threads ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX threads_by_revision ON threads (revision);
    CREATE INDEX threads_with_process ON threads (thread_id) WHERE pid IS NOT NULL;
    CREATE INDEX threads_without_title ON threads (thread_id) WHERE title = '';
    CREATE TABLE revisions (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        file TEXT NOT NULL,
        newest INTEGER NOT NULL,
        removed INTEGER NOT NULL
    ) STRICT;
    INSERT INTO revisions VALUES (1, hex(randomblob(8)), 0, 0);
    CREATE TRIGGER threads_added AFTER INSERT ON threads BEGIN
        UPDATE revisions SET newest = newest + 1;
        UPDATE threads SET revision = (SELECT newest FROM revisions) WHERE thread_id = NEW.thread_id;
    END;
    CREATE TRIGGER threads_changed AFTER UPDATE ON threads WHEN NEW.revision = OLD.revision BEGIN
        UPDATE revisions SET newest = newest + 1;
        UPDATE threads SET revision = (SELECT newest FROM revisions) WHERE thread_id = NEW.thread_id;
    END;
    CREATE TRIGGER threads_removed AFTER DELETE ON threads BEGIN
        UPDATE revisions SET newest = newest + 1, removed = newest + 1;
    END;
",
    "ALTER TABLE threads ADD COLUMN commands TEXT NOT NULL DEFAULT ''",
    "
    ALTER TABLE threads ADD COLUMN elapsed_ms INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
",
];

/// Opens or makes the database at `path` and brings its schema up to date.
///
/// # Errors
/// [`StoreError::Database`], [`StoreError::NewerSchema`].
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path).map_err(failed("open the registry", path))?;
    let set_up = |connection: &mut Connection| {
        connection.busy_handler(Some(wait_for_turn()))?;
        write_ahead(connection)?;
        // Synced at checkpoints, not at each commit, which would cost more than all the rest of a transaction. Nothing is
        // torn, and no commit is lost by the end of a process. When the machine itself goes down, the newest commits may
        // be lost, but not one of the middle without those after it. Each of them can be made again from the threads' logs,
        // which are synced before (INV-1): a row of the list when the thread is reaped, a spending when it is registered
        // or released with the sum of its log.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")
    };
    set_up(&mut connection).map_err(failed("set up the registry", path))?;
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

/// Waits while another connection writes, in short pauses of uneven length, so that nobody's turn comes last every time.
/// The pauses of the database itself grow to a tenth of a second, in which a thousand others may have had their turn.
fn wait_for_turn() -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = Instant::now();
    move |tries| {
        if tries == 0 {
            since = Instant::now();
        }
        let waited = since.elapsed();
        let pause = (waited / 20).clamp(SHORT_PAUSE, LONG_PAUSE);
        let uneven = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_micros();
        // Between half of it and all of it.
        std::thread::sleep(pause / 2 + pause * (uneven % 1_000) / 2_000);
        waited < BUSY
    }
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
