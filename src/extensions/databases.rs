//! Databases of extensions: what `node:sqlite` and `better-sqlite3` ask of them, done by the `SQLite` that is in the program.
//!
//! A file is opened where one may be read or written, which also holds for what SQL attaches. SQL stops with the call that runs
//! it. What it could set for the whole program is refused, and what would let it take memory without bounds has no effect.

use super::deadline::{Deadline, Watch};
use super::files::{self, fine};
use super::plain::{LEAST, Plain, channel, whole_number};
use super::settings::{Policy, Settings};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Batch, Connection, Error, MAIN_DB, OpenFlags, Statement, ffi};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Databases of a thread that are open at once, at most, and of a process that are kept in memory.
const MOST_OPEN: usize = 32;
const MOST_IN_MEMORY: usize = 4;
/// Bytes of one in memory, at most.
const MOST_KEPT: u64 = 128 << 20;
/// Bytes that `SQLite` takes in the whole program once an extension has opened a database; its own records take few of them.
const MOST_TAKEN: u64 = 768 << 20;
/// Bytes of a text, a blob or a row, and of everything that one call answers.
const MOST_BYTES: usize = 64 << 20;
/// How long a call waits for another's lock, at most: the engine stands still meanwhile.
const LONGEST_WAIT: u32 = 5_000;
/// Kilobytes of pages that a connection may ask to keep.
const LARGEST_CACHE: i64 = 65_536;
/// Statements that are kept compiled.
const KEPT: usize = 64;
/// Steps of a statement between looks at the deadline: some tens of microseconds.
const STEPS: i32 = 1_000;
/// The whole numbers that a number of JavaScript tells apart.
const SAFE: i64 = 9_007_199_254_740_991;
/// Pages that a backup copies before it looks at the deadline.
const BACKUP_PAGES: i32 = 256;
/// Milliseconds between its tries while somebody else writes.
const BACKUP_WAIT: u32 = 5;

/// Why something was not done.
enum Failure {
    Sql(Error),
    Files(io::Error, String),
    Refused(&'static str, String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

fn refused(code: &'static str, message: impl Into<String>) -> Failure {
    Failure::Refused(code, message.into())
}

impl From<Failure> for Plain {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(code, message) => files::refused(code, &message),
            Failure::Files(error, path) => files::failed(&error, "open", &path),
            Failure::Sql(error) => {
                let code = error.sqlite_error().map_or(ffi::SQLITE_ERROR, |error| error.extended_code);
                let message = if let Error::SqliteFailure(_, Some(message))
                | Error::SqlInputError { msg: message, .. } = &error
                {
                    message.clone()
                } else if let Error::SqliteFailure(error, None) = &error {
                    ffi::code_to_str(error.extended_code).to_owned()
                } else {
                    error.to_string()
                };
                let error = Plain::map([
                    ("code", Plain::Text("SQLITE".to_owned())),
                    ("message", Plain::Text(message)),
                    ("errno", Plain::Number(f64::from(code))),
                ]);
                Plain::map([("error", error)])
            }
        }
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// What the hooks of a connection look at while a call runs.
#[derive(Debug, Default)]
struct Now {
    deadline: Deadline,
    /// Whether files may be changed.
    changes: bool,
}

#[derive(Debug)]
struct Database {
    connection: Connection,
    /// Where it is one in memory.
    _place: Option<Place>,
    now: Arc<Mutex<Now>>,
}

/// Those in memory that are open in this process: its threads share what `SQLite` may take, with levain's own records.
static IN_MEMORY: AtomicUsize = AtomicUsize::new(0);

/// The place of one among them.
#[derive(Debug)]
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let one_more = |open: usize| (open < MOST_IN_MEMORY).then_some(open + 1);
        IN_MEMORY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        IN_MEMORY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The databases that are open.
#[derive(Debug)]
pub(super) struct Databases {
    open: HashMap<u64, Database>,
    last: u64,
    watch: Rc<Watch>,
}

impl Databases {
    pub(super) fn new(watch: Rc<Watch>) -> Self {
        Self { open: HashMap::new(), last: 0, watch }
    }

    /// `sqlite`; see `HOST.md`. Where nothing `changes`, databases are only read.
    pub(super) fn operate(&mut self, settings: &Settings, operation: &str, arguments: &Plain, changes: bool) -> Plain {
        self.done(settings, operation, arguments, changes).map_or_else(Plain::from, fine)
    }

    fn done(&mut self, settings: &Settings, operation: &str, arguments: &Plain, changes: bool) -> Result<Plain> {
        if operation == "open" {
            return self.begin(settings, arguments, changes);
        }
        let number = arguments.get("id").and_then(channel);
        if operation == "close" {
            number.and_then(|number| self.open.remove(&number));
            return Ok(Plain::Nothing);
        }
        let database = number.and_then(|number| self.open.get_mut(&number));
        let database = database.ok_or_else(|| refused("ERR_INVALID_STATE", "database is not open"))?;
        *database.now.lock().unwrap_or_else(PoisonError::into_inner) = Now { deadline: self.watch.deadline(), changes };
        let text = |name: &str| arguments.get(name).and_then(Plain::text).unwrap_or_default();
        let connection = &mut database.connection;
        match operation {
            "exec" => execute(connection, text("sql"), changes),
            "prepare" => Ok(described(&*connection.prepare_cached(text("sql"))?)),
            "query" => query(connection, arguments, changes),
            "expand" => {
                let mut statement = connection.prepare(text("sql"))?;
                bind(&mut statement, arguments.get("parameters"))?;
                Ok(statement.expanded_sql().map_or(Plain::Nothing, Plain::Text))
            }
            "state" => Ok(Plain::map([("inTransaction", Plain::Bool(!connection.is_autocommit()))])),
            "serialize" => serialize(connection),
            "backup" => back_up(connection, settings, text("path"), changes, &self.watch),
            other => Err(refused("ERR_NOT_SUPPORTED", format!("{other} is not offered"))),
        }
    }

    fn begin(&mut self, settings: &Settings, arguments: &Plain, changes: bool) -> Result<Plain> {
        let is = |name: &str| arguments.get(name).is_some_and(Plain::is_true);
        let asked = arguments.get("path").and_then(Plain::text).unwrap_or_default();
        let content = arguments.get("content");
        let in_memory = content.is_some() || matches!(asked, "" | ":memory:");
        let place = if in_memory { Place::take() } else { None };
        if self.open.len() >= MOST_OPEN || in_memory && place.is_none() {
            let message = format!(
                "at most {MOST_OPEN} databases are open at once, {MOST_IN_MEMORY} of them in memory; close one"
            );
            return Err(refused("SQLITE_CANTOPEN", message));
        }
        let reads_only = is("readonly");
        let (mut connection, path) = if in_memory {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            (Connection::open_in_memory_with_flags(flags)?, None)
        } else {
            let path = settings.cwd.join(asked);
            let place = opened(&settings.policy, &path, !reads_only, changes, asked)?;
            (connect(&settings.policy, &place, reads_only, is("mustExist"))?, Some(place))
        };
        if let Some(Plain::Bytes(content)) = content {
            connection.deserialize_read_exact(MAIN_DB, content.as_slice(), content.len(), reads_only)?;
        }
        if in_memory {
            // What it was made of may have pages of any size, which is known once it was looked at.
            pages(&connection, "page_count")?;
            let pages = MOST_KEPT / pages(&connection, "page_size")?.max(512);
            connection.pragma_update(None, "max_page_count", i64::try_from(pages).unwrap_or(1))?;
        }
        let wait = arguments.get("timeout").and_then(Plain::number).unwrap_or_default();
        let wait = Duration::from_secs_f64(wait.clamp(0.0, f64::from(LONGEST_WAIT)) / 1e3);
        let now = Arc::<Mutex<Now>>::default();
        connection.pragma_update(None, "hard_heap_limit", i64::try_from(MOST_TAKEN).unwrap_or(i64::MAX))?;
        guard(&mut connection, settings.policy.clone(), in_memory, reads_only, &now)?;
        connection.busy_timeout(wait)?;
        if arguments.get("foreignKeys") == Some(&Plain::Bool(false)) {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
        }
        let quotes = is("doubleQuotedTexts");
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, quotes)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, quotes)?;
        self.last += 1;
        self.open.insert(self.last, Database { connection, _place: place, now });
        let path = path.map_or(Plain::Nothing, |path| Plain::Text(path.to_string_lossy().into_owned()));
        Ok(Plain::map([("id", whole_number(self.last)), ("path", path)]))
    }
}

/// Where a database lies that may be opened, with every link on the way followed.
fn allowed(policy: &Policy, path: &Path, writes: bool, changes: bool) -> io::Result<PathBuf> {
    if !writes {
        return files::open_to(policy, path);
    }
    if !changes {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    files::made_ready(policy, files::writable(policy, path)?)
}

/// The same, and why not, for whoever asked for it as `asked`.
fn opened(policy: &Policy, path: &Path, writes: bool, changes: bool, asked: &str) -> Result<PathBuf> {
    allowed(policy, path, writes, changes).map_err(|error| {
        if !writes || error.kind() != io::ErrorKind::PermissionDenied {
            return Failure::Files(error, asked.to_owned());
        }
        let why = || files::unchanged(policy, path, "open", asked);
        refused("EACCES", if changes { why() } else { format!("EACCES: {}, open '{asked}'", files::LOOKS) })
    })
}

fn connect(policy: &Policy, path: &Path, reads_only: bool, must_exist: bool) -> Result<Connection> {
    let open = |path: &Path, flags| {
        // Its words alone, without the path that the library puts behind them.
        Connection::open_with_flags(path, flags).map_err(|error| match error.sqlite_error() {
            Some(error) => Error::SqliteFailure(*error, None),
            None => error,
        })
    };
    // A link that came there since is not followed.
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    if !reads_only {
        flags |= OpenFlags::SQLITE_OPEN_READ_WRITE;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, !must_exist);
        return Ok(open(path, flags)?);
    }
    flags |= OpenFlags::SQLITE_OPEN_READ_ONLY;
    // Without its log nobody has it open.
    let log = PathBuf::from(format!("{}-wal", path.display()));
    if leaves_files(policy, path) && !log.exists() {
        let escaped =
            percent_encoding::utf8_percent_encode(&path.to_string_lossy(), percent_encoding::NON_ALPHANUMERIC)
                .to_string()
                .replace("%2F", "/");
        flags |= OpenFlags::SQLITE_OPEN_URI;
        return Ok(open(Path::new(&format!("file:{escaped}?immutable=1")), flags)?);
    }
    Ok(open(path, flags)?)
}

/// Whether who only reads a database leaves files beside it where none may be: so it is with those that have a log of what is to be
/// written, 2 in two bytes of their header (file format of `SQLite`, 1.3.3).
fn leaves_files(policy: &Policy, path: &Path) -> bool {
    let mut header = [0; 20];
    let is_read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok();
    is_read && header.ends_with(&[2, 2]) && files::writable(policy, path).is_err()
}

/// Sets the bounds of a connection.
fn guard(
    connection: &mut Connection,
    policy: Policy,
    in_memory: bool,
    reads_only: bool,
    now: &Arc<Mutex<Now>>,
) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(KEPT);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(MOST_BYTES).unwrap_or(i32::MAX))?;
    connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    let seen = Arc::clone(now);
    let is_over = move || seen.lock().unwrap_or_else(PoisonError::into_inner).deadline.is_over();
    connection.progress_handler(STEPS, Some(is_over))?;
    let seen = Arc::clone(now);
    let authorize = move |context: AuthContext<'_>| {
        // A name to attach that is known when it runs only.
        let mut may = !matches!(context.action, AuthAction::Unknown { .. });
        if let AuthAction::Pragma { pragma_name, pragma_value: Some(value) } = context.action {
            return pragma(&pragma_name.to_ascii_lowercase(), value, in_memory);
        }
        // Without a name it is a temporary file of its own.
        if let AuthAction::Attach { filename } = context.action
            && !filename.is_empty()
        {
            let changes = seen.lock().unwrap_or_else(PoisonError::into_inner).changes;
            let path = Path::new(filename);
            let place = allowed(&policy, path, !reads_only, changes).ok().filter(|_| path.is_absolute());
            may = place.is_some_and(|place| !reads_only || !leaves_files(&policy, &place));
        }
        if may { Authorization::Allow } else { Authorization::Deny }
    };
    connection.authorizer(Some(authorize))
}

fn pragma(name: &str, value: &str, in_memory: bool) -> Authorization {
    let number = || value.trim_matches(['\'', '"']).parse::<i64>().ok();
    let is_too_much = match name {
        // They hold for every database of the program.
        "temp_store_directory" | "data_store_directory" | "hard_heap_limit" | "soft_heap_limit" => {
            return Authorization::Deny;
        }
        // What does not fit into it goes to a file.
        "temp_store" => !matches!(value.to_ascii_lowercase().as_str(), "0" | "1" | "default" | "file"),
        "busy_timeout" => number().is_none_or(|wait| wait > i64::from(LONGEST_WAIT)),
        // Pages of 4 kB, mostly; below zero kilobytes.
        "cache_size" | "default_cache_size" => {
            number().is_none_or(|size| if size < 0 { size < -LARGEST_CACHE } else { size > LARGEST_CACHE / 4 })
        }
        "max_page_count" | "page_size" => in_memory,
        _ => false,
    };
    if is_too_much { Authorization::Ignore } else { Authorization::Allow }
}

fn may_run(statement: &Statement<'_>, changes: bool) -> Result<()> {
    if changes || statement.readonly() {
        return Ok(());
    }
    Err(refused("EACCES", format!("EACCES: {}", files::LOOKS)))
}

/// Runs all statements of a text; what they answer is not looked at.
fn execute(connection: &Connection, sql: &str, changes: bool) -> Result<Plain> {
    let mut batch = Batch::new(connection, sql);
    while let Some(mut statement) = batch.next()? {
        may_run(&statement, changes)?;
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
    }
    Ok(Plain::Nothing)
}

/// What a statement takes and gives.
fn described(statement: &Statement<'_>) -> Plain {
    let text = |text: Option<&str>| text.map_or(Plain::Nothing, |text| Plain::Text(text.to_owned()));
    let columns = statement.columns_with_metadata().zip(statement.columns()).map(|(column, declared)| {
        Plain::map([
            ("name", text(Some(column.name()))),
            ("column", text(column.origin_name())),
            ("table", text(column.table_name())),
            ("database", text(column.database_name())),
            ("type", text(declared.decl_type())),
        ])
    });
    let parameters = (1..=statement.parameter_count()).map(|index| text(statement.parameter_name(index)));
    Plain::map([
        ("columns", Plain::List(columns.collect())),
        ("parameters", Plain::List(parameters.collect())),
        ("readonly", Plain::Bool(statement.readonly())),
    ])
}

/// Binds values by their places; what is left out is null.
fn bind(statement: &mut Statement<'_>, parameters: Option<&Plain>) -> Result<()> {
    statement.clear_bindings();
    let Some(Plain::List(parameters)) = parameters else { return Ok(()) };
    for (index, parameter) in parameters.iter().enumerate() {
        let of = |name: &str| parameter.get(name).and_then(Plain::text);
        let value = match parameter {
            Plain::Number(number) => ToSqlOutput::Owned(Value::Real(*number)),
            Plain::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Plain::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Plain::Map(_) => {
                let whole = of("integer").and_then(|text| text.parse().ok()).map(Value::Integer);
                let real = || of("real").and_then(|text| text.parse().ok()).map(Value::Real);
                let value = whole.or_else(real);
                ToSqlOutput::Owned(value.ok_or_else(|| refused("ERR_OUT_OF_RANGE", "a number has too many digits"))?)
            }
            Plain::Nothing | Plain::Bool(_) | Plain::List(_) => ToSqlOutput::Owned(Value::Null),
        };
        statement.raw_bind_parameter(index + 1, value)?;
    }
    Ok(())
}

/// Runs one statement, and gives its rows.
fn query(connection: &Connection, arguments: &Plain, changes: bool) -> Result<Plain> {
    let text = |name: &str| arguments.get(name).and_then(Plain::text).unwrap_or_default();
    let whole = arguments.get("whole").is_some_and(Plain::is_true);
    let is_first = arguments.get("first").is_some_and(Plain::is_true);
    let before = connection.total_changes();
    let mut statement = connection.prepare_cached(text("sql"))?;
    may_run(&statement, changes)?;
    bind(&mut statement, arguments.get("parameters"))?;
    let (width, mut left, mut found) = (statement.column_count(), MOST_BYTES, Vec::new());
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let values = (0..width).map(|index| {
            let value = row.get_ref(index)?;
            let size = match value {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 0,
            };
            left = left.checked_sub(size + LEAST).ok_or_else(|| {
                refused("SQLITE_TOOBIG", format!("more than {MOST_BYTES} bytes are answered; ask for fewer rows"))
            })?;
            Ok(told(value, whole))
        });
        found.push(Plain::List(values.collect::<Result<_>>()?));
        if is_first {
            break;
        }
    }
    drop(rows);
    let count = if connection.total_changes() == before { 0 } else { connection.changes() };
    Ok(Plain::map([
        ("rows", Plain::List(found)),
        ("changes", whole_number(count)),
        ("lastInsertRowid", told(ValueRef::Integer(connection.last_insert_rowid()), whole)),
    ]))
}

/// A value; whole numbers that JavaScript would not tell apart, or all of them, as a text of digits.
fn told(value: ValueRef<'_>, whole: bool) -> Plain {
    match value {
        ValueRef::Null => Plain::Nothing,
        ValueRef::Integer(number) if whole || !(-SAFE..=SAFE).contains(&number) => {
            Plain::map([("integer", Plain::Text(number.to_string()))])
        }
        #[expect(clippy::cast_precision_loss, reason = "it is in bounds")]
        ValueRef::Integer(number) => Plain::Number(number as f64),
        ValueRef::Real(number) => Plain::Number(number),
        ValueRef::Text(text) => Plain::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Plain::Bytes(bytes.to_vec()),
    }
}

fn pages(connection: &Connection, what: &str) -> rusqlite::Result<u64> {
    connection.pragma_query_value(None, what, |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

/// The database as it would be in a file.
fn serialize(connection: &mut Connection) -> Result<Plain> {
    if pages(connection, "page_count")?.saturating_mul(pages(connection, "page_size")?) > MOST_BYTES as u64 {
        return Err(refused("SQLITE_TOOBIG", format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok(Plain::Bytes(connection.serialize(MAIN_DB)?.to_vec()))
}

/// Copies a database into a file.
fn back_up(connection: &Connection, settings: &Settings, path: &str, changes: bool, watch: &Watch) -> Result<Plain> {
    let place = opened(&settings.policy, &settings.cwd.join(path), true, changes, path)?;
    let mut copy = connect(&settings.policy, &place, false, false)?;
    let backup = Backup::new(connection, &mut copy)?;
    let mut waits = LONGEST_WAIT / BACKUP_WAIT;
    loop {
        let step = backup.step(BACKUP_PAGES)?;
        if step == StepResult::Done {
            break;
        }
        if watch.is_over() {
            return Err(refused("SQLITE_INTERRUPT", "interrupted"));
        }
        if step != StepResult::More {
            // Somebody else writes.
            waits = waits.checked_sub(1).ok_or_else(|| refused("SQLITE_BUSY", "database is locked"))?;
            thread::sleep(Duration::from_millis(BACKUP_WAIT.into()));
        }
    }
    Ok(whole_number(pages(connection, "page_count")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_reads_leaves_nothing_beside_a_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a b?#%.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (7)").unwrap();
        drop(writer);
        let read = |connection: &Connection| connection.query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0));
        let reader = connect(&Policy::default(), &path, true, false).ok().unwrap();
        assert_eq!(read(&reader), Ok(7));
        assert!(reader.execute_batch("INSERT INTO t VALUES (8)").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // Where it may be written, and where somebody has it open, it is read as it is.
        let policy = Policy { write: vec![path.parent().unwrap().to_owned()], ..Policy::default() };
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("UPDATE t SET x = 9").unwrap();
        for policy in [policy, Policy::default()] {
            assert_eq!(read(&connect(&policy, &path, true, false).ok().unwrap()), Ok(9));
        }
    }
}
