//! The registry: one `SQLite` file that lists the threads of a project, for lists and for reaping. It lies in the person's
//! state folder, so no project brings one along, and is made again from the threads' files where it is lost.
//!
//! One writer per process, every change an immediate transaction. [`database`] opens the file.

use super::database::{self, failed};
use crate::domain::background::RunningCommands;
use crate::domain::tree::InTree;
use crate::domain::{
    Cost, Limits, Lineage, ModelRef, Money, Outputs, Stand, Status, ThreadId, ThreadKind, ThreadOrigin, Timestamp,
    Tokens, Usage, Waiting,
};
use crate::ports::StoreError;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The registry of one project.
#[derive(Debug)]
pub struct Registry {
    path: PathBuf,
    connection: Connection,
}

/// A row of the registry.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadEntry {
    pub thread_id: ThreadId,
    pub directive: String,
    pub kind: ThreadKind,
    pub status: Status,
    /// What for, while it waits.
    pub waiting: Option<Waiting>,
    /// The item of the call that waits to be allowed, or the limit that was reached.
    pub waits_for: Option<String>,
    pub title: String,
    /// Whether it is listed apart.
    pub archived: bool,
    pub model: ModelRef,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub cost: Cost,
    /// How much it wrote lately.
    pub outputs: Outputs,
    /// What is risky of what its directive grants and does not acknowledge.
    pub risk: Option<String>,
    /// The commands that run beside its conversation.
    pub commands: RunningCommands,
    /// The process that runs the thread, while one does.
    pub pid: Option<u32>,
    pub socket: Option<String>,
    /// Whether another person or program wrote its log: then all of this is what its files say of themselves.
    pub elsewhere: bool,
    pub lineage: Lineage,
    pub limits: Limits,
}

impl InTree for ThreadEntry {
    fn id(&self) -> &ThreadId {
        &self.thread_id
    }

    fn parent(&self) -> Option<&ThreadId> {
        self.lineage.parent.as_ref()
    }
}

impl ThreadEntry {
    /// How it stands, as far as an order asks.
    #[must_use]
    pub fn stand(&self) -> Stand {
        let Self { status, waiting, pid, updated_at, cost, .. } = self;
        let (runs, spend) = (pid.is_some(), cost.spend);
        Stand { status: *status, waiting: *waiting, runs, updated_at: *updated_at, spend }
    }
}

/// Up to which of its changes a registry was read. Taken before the rows are, so that what changes meanwhile is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Tells a registry that was made again from the one before.
    file: String,
    newest: i64,
    /// The newest change that took a row away.
    removed: i64,
}

impl Position {
    /// The name of the registry.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whether the rows that changed since are all there is to know at `later`: none is gone, and it is the same registry.
    #[must_use]
    pub fn is_continued_by(&self, later: &Self) -> bool {
        self.file == later.file && later.removed <= self.newest
    }
}

/// Which of the threads are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// Those that nobody put away.
    #[default]
    Open,
    Archived,
    All,
}

impl Registry {
    /// Opens or makes the registry at `path` and brings its schema up to date.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::NewerSchema`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = database::open(path)?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// As [`Registry::open`]; a file that is no registry any more is replaced by an empty one.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub fn open_or_renew(path: &Path) -> Result<Self, StoreError> {
        match Self::open(path) {
            Err(StoreError::Database { source, .. }) if is_broken(&source) => {
                tracing::warn!(path = %path.display(), error = %source, "the registry is broken and is made again");
                for ending in ["", "-wal", "-shm"] {
                    let mut file = path.as_os_str().to_owned();
                    file.push(ending);
                    let _not_there = std::fs::remove_file(&file);
                }
                Self::open(path)
            }
            result => result,
        }
    }

    /// A registry in memory alone, for where none can be kept.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = database::in_memory()?;
        Ok(Self { path, connection })
    }

    /// The ids of all threads.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn ids(&self) -> Result<HashSet<String>, StoreError> {
        let read = || -> rusqlite::Result<HashSet<String>> {
            let mut statement = self.connection.prepare_cached("SELECT thread_id FROM threads")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(failed("list the threads", &self.path))
    }

    /// Takes a thread out of the list.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn remove(&self, id: &str) -> Result<(), StoreError> {
        let removed = self.connection.execute("DELETE FROM threads WHERE thread_id = ?1", [id]);
        removed.map(drop).map_err(failed("remove a thread", &self.path))
    }

    /// The threads of that part of the list, newest change first.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn list(&self, part: Part, most: usize) -> Result<Vec<ThreadEntry>, StoreError> {
        self.list_as(part, most, Some)
    }

    /// The same, of each what `take` makes of it: so a long list is never held as whole rows.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn list_as<T>(
        &self,
        part: Part,
        most: usize,
        mut take: impl FnMut(ThreadEntry) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let which = match part {
            Part::Open => "WHERE archived = 0",
            Part::Archived => "WHERE archived = 1",
            Part::All => "",
        };
        let sql = format!("SELECT {COLUMNS} FROM threads {which} ORDER BY updated_at DESC, thread_id DESC LIMIT ?1");
        let mut read = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let rows = statement.query_map([most], entry)?.filter_map(Result::transpose);
            rows.filter_map(|row| row.map(&mut take).transpose()).collect()
        };
        read().map_err(failed("list the threads", &self.path))
    }

    /// Where its changes stand now.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn position(&self) -> Result<Position, StoreError> {
        let position = |row: &Row<'_>| Ok(Position { file: row.get(0)?, newest: row.get(1)?, removed: row.get(2)? });
        let found = self.connection.query_row("SELECT file, newest, removed FROM revisions", [], position);
        found.map_err(failed("list the threads", &self.path))
    }

    /// Gives `take` the rows that changed behind `since`, in the order of their changes.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn changed(&self, since: &Position, mut take: impl FnMut(ThreadEntry)) -> Result<(), StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM threads WHERE revision > ?1 ORDER BY revision");
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query_map([since.newest], entry)?.filter_map(Result::transpose);
            rows.try_for_each(|row| row.map(&mut take))
        };
        read().map_err(failed("list the threads", &self.path))
    }

    /// The threads that nobody has said words to.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn without_a_title(&self) -> Result<Vec<ThreadEntry>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM threads WHERE title = ''");
        let read = || -> rusqlite::Result<Vec<ThreadEntry>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map([], entry)?.filter_map(Result::transpose).collect()
        };
        read().map_err(failed("list the threads", &self.path))
    }

    /// One thread.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn get(&self, id: &ThreadId) -> Result<Option<ThreadEntry>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM threads WHERE thread_id = ?1");
        let found = self.connection.query_row(&sql, [id.as_str()], entry).optional();
        found.map(Option::flatten).map_err(failed("look a thread up", &self.path))
    }

    /// Threads that some process said it runs.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn with_process(&self) -> Result<Vec<ThreadEntry>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM threads WHERE pid IS NOT NULL");
        let read = || -> rusqlite::Result<Vec<ThreadEntry>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map([], entry)?.filter_map(Result::transpose).collect()
        };
        read().map_err(failed("list the running threads", &self.path))
    }

    /// Rows of this person's threads that tell of work and name no process: it died before the row could name it, or begins
    /// just now.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn at_work_without_process(&self) -> Result<Vec<ThreadEntry>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM threads WHERE status IN ('running', 'queued', 'waiting') AND pid IS NULL
                AND elsewhere = 0 AND (status <> 'waiting' OR waiting IN ('approval', 'rate_limit', 'storage'))"
        );
        let read = || -> rusqlite::Result<Vec<ThreadEntry>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map([], entry)?.filter_map(Result::transpose).collect()
        };
        read().map_err(failed("list the running threads", &self.path))
    }

    /// Puts a row in or brings it up to date.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn put(&mut self, row: &ThreadEntry) -> Result<(), StoreError> {
        self.write(row, true)
    }

    /// Puts a row in of a thread that has none. One that its process has put in meanwhile stays as it is: only the process
    /// knows that it runs it.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn add(&mut self, row: &ThreadEntry) -> Result<(), StoreError> {
        self.write(row, false)
    }

    fn write(&mut self, row: &ThreadEntry, replaces: bool) -> Result<(), StoreError> {
        let kind = kind_word(row.kind);
        let limits = serde_json::to_string(&row.limits).unwrap_or_default();
        let ended = row.status.is_terminal().then_some(row.updated_at.0);
        let sql = "INSERT INTO threads (thread_id, directive, kind, status, title, model, created_at, updated_at,
                completed_at, turns, input_tokens, output_tokens, spend, pid, socket, waiting, elsewhere,
                parent_id, root_id, depth, previous_id, chain_id, origin, archived, waits_for, attended, limits, outputs, risk,
                commands, elapsed_ms, unpriced)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)
            ON CONFLICT (thread_id) DO UPDATE SET status = excluded.status, title = excluded.title,
                model = excluded.model, updated_at = excluded.updated_at, completed_at = excluded.completed_at,
                turns = excluded.turns, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
                spend = excluded.spend, pid = excluded.pid, socket = excluded.socket,
                waiting = excluded.waiting, elsewhere = excluded.elsewhere,
                archived = excluded.archived, waits_for = excluded.waits_for, limits = excluded.limits,
                outputs = excluded.outputs, risk = excluded.risk, commands = excluded.commands,
                elapsed_ms = excluded.elapsed_ms, unpriced = excluded.unpriced
                WHERE ?33";
        let path = self.path.clone();
        let mut write = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.prepare_cached(sql)?.execute(params![
                row.thread_id.as_str(),
                row.directive,
                kind,
                row.status.word(),
                row.title,
                row.model.to_string(),
                whole(row.created_at.0),
                whole(row.updated_at.0),
                ended.map(whole),
                row.cost.turns,
                whole(row.cost.usage.prompt().0),
                whole(row.cost.usage.output.0),
                row.cost.spend.0,
                row.pid,
                row.socket,
                row.waiting.map(Waiting::word),
                row.elsewhere,
                row.lineage.parent.as_ref().map(ThreadId::as_str),
                row.lineage.root.as_ref().map(ThreadId::as_str),
                row.lineage.depth,
                row.lineage.previous.as_ref().map(ThreadId::as_str),
                row.lineage.chain.as_ref().map(ThreadId::as_str),
                row.lineage.origin.word(),
                row.archived,
                row.waits_for,
                row.lineage.attended,
                limits,
                row.outputs.words(),
                row.risk,
                row.commands.words(),
                whole(row.cost.elapsed_ms),
                row.cost.unpriced,
                replaces,
            ])?;
            transaction.commit()
        };
        write().map_err(failed("save a thread", &path))
    }
}

const COLUMNS: &str = "thread_id, directive, kind, status, title, model, created_at, updated_at, turns, input_tokens,
    output_tokens, spend, pid, socket, waiting, elsewhere, parent_id, root_id, depth, previous_id, chain_id, origin,
    archived, waits_for, attended, limits, outputs, risk, commands, elapsed_ms, unpriced";

/// Whether the file is no database, or one that cannot be read any more.
fn is_broken(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let of_another_form = matches!(error, rusqlite::Error::SqlInputError { .. });
    of_another_form || matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn kind_word(kind: ThreadKind) -> &'static str {
    match kind {
        ThreadKind::Interactive => "interactive",
        ThreadKind::OneShot => "one_shot",
    }
}

/// A row as a value; `None` for one that a newer program wrote in words this one does not know.
fn entry(row: &Row<'_>) -> rusqlite::Result<Option<ThreadEntry>> {
    let number = |index: usize| -> rusqlite::Result<u64> { Ok(u64::try_from(row.get::<_, i64>(index)?).unwrap_or(0)) };
    let (id, status, model): (String, String, String) = (row.get(0)?, row.get(3)?, row.get(5)?);
    let (Ok(thread_id), Some(status), Ok(model)) = (id.parse(), Status::from_word(&status), model.parse()) else {
        return Ok(None);
    };
    // What is no id is of nobody.
    let other = |index: usize| -> rusqlite::Result<Option<ThreadId>> {
        Ok(row.get::<_, Option<String>>(index)?.and_then(|id| id.parse().ok()))
    };
    let limits: Option<String> = row.get(25)?;
    let usage = Usage { input: Tokens(number(9)?), output: Tokens(number(10)?), ..Usage::default() };
    Ok(Some(ThreadEntry {
        thread_id,
        directive: row.get(1)?,
        kind: if row.get::<_, String>(2)? == "one_shot" { ThreadKind::OneShot } else { ThreadKind::Interactive },
        status,
        waiting: row.get::<_, Option<String>>(14)?.and_then(|word| Waiting::from_word(&word)),
        title: row.get(4)?,
        model,
        created_at: Timestamp(number(6)?),
        updated_at: Timestamp(number(7)?),
        cost: Cost {
            turns: row.get(8)?,
            usage,
            spend: Money(row.get(11)?),
            elapsed_ms: number(29)?,
            unpriced: row.get(30)?,
            ..Cost::default()
        },
        outputs: Outputs::from_words(&row.get::<_, String>(26)?),
        risk: row.get(27)?,
        commands: RunningCommands::from_words(&row.get::<_, String>(28)?),
        pid: row.get(12)?,
        socket: row.get(13)?,
        elsewhere: row.get(15)?,
        archived: row.get(22)?,
        waits_for: row.get(23)?,
        lineage: Lineage {
            parent: other(16)?,
            root: other(17)?,
            depth: row.get(18)?,
            previous: other(19)?,
            chain: other(20)?,
            origin: ThreadOrigin::from_word(&row.get::<_, String>(21)?).unwrap_or_default(),
            attended: row.get(24)?,
        },
        limits: limits.and_then(|limits| serde_json::from_str(&limits).ok()).unwrap_or_default(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, updated: u64) -> ThreadEntry {
        ThreadEntry {
            waiting: None,
            waits_for: None,
            archived: false,
            thread_id: id.parse().unwrap(),
            directive: "levain/chat".into(),
            kind: ThreadKind::Interactive,
            status: Status::Waiting,
            title: "hello".into(),
            model: ModelRef::new("scripted", "demo"),
            created_at: Timestamp(1),
            updated_at: Timestamp(updated),
            cost: Cost { turns: 2, spend: Money(5), elapsed_ms: 70, unpriced: true, ..Cost::default() },
            outputs: vec![3, 0, 70_000].into(),
            risk: Some("elevated: rye.execute.*".into()),
            commands: RunningCommands::from_words("command-1 npm run dev"),
            pid: Some(7),
            socket: Some("/run/x".into()),
            elsewhere: false,
            lineage: Lineage::of(ThreadOrigin::CommandLine).child(&"p-1".parse().unwrap(), true),
            limits: Limits { turns: Some(3), ..Limits::TREE },
        }
    }

    #[test]
    fn rows_come_back_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        let mut registry = Registry::open(&path).unwrap();
        registry.put(&row("a-1", 10)).unwrap();
        registry.put(&row("b-2", 20)).unwrap();
        let changed = ThreadEntry { pid: None, status: Status::Completed, ..row("a-1", 30) };
        registry.put(&changed).unwrap();
        let again = Registry::open(&path).unwrap();
        assert_eq!(again.list(Part::Open, 10).unwrap(), [changed.clone(), row("b-2", 20)]);
        assert_eq!(again.get(&changed.thread_id).unwrap(), Some(changed));
        assert_eq!(again.with_process().unwrap(), [row("b-2", 20)]);
    }

    #[test]
    fn a_row_that_its_process_put_in_meanwhile_keeps_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(&folder.path().join("registry.db")).unwrap();
        let seen_in_files = |id| ThreadEntry { pid: None, socket: None, ..row(id, 5) };
        registry.put(&row("a-1", 10)).unwrap();
        registry.add(&seen_in_files("a-1")).unwrap();
        registry.add(&seen_in_files("b-2")).unwrap();
        assert_eq!(registry.list(Part::All, 10).unwrap(), [row("a-1", 10), seen_in_files("b-2")]);
    }

    #[test]
    fn s16_archived_threads_are_listed_apart() {
        let folder = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(&folder.path().join("registry.db")).unwrap();
        let away = ThreadEntry { archived: true, waits_for: Some("rye/bash".into()), ..row("b-2", 20) };
        registry.put(&row("a-1", 10)).unwrap();
        registry.put(&away).unwrap();
        assert_eq!(registry.list(Part::Open, 1).unwrap(), [row("a-1", 10)]);
        assert_eq!(registry.list(Part::Archived, 9).unwrap(), std::slice::from_ref(&away));
        assert_eq!(registry.list(Part::All, 9).unwrap(), [away, row("a-1", 10)]);
    }

    #[test]
    fn s17_only_what_changed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(&folder.path().join("registry.db")).unwrap();
        let changed = |registry: &Registry, since: &Position| {
            let mut ids = Vec::new();
            registry.changed(since, |row| ids.push(row.thread_id.to_string())).unwrap();
            since.is_continued_by(&registry.position().unwrap()).then_some(ids)
        };
        for number in 0..5 {
            registry.put(&row(&format!("t-{number}"), 10)).unwrap();
        }
        let start = registry.position().unwrap();
        assert_eq!(changed(&registry, &start), Some(Vec::new()));
        registry.put(&row("t-3", 11)).unwrap();
        // One with an older time as well: what counts is that it was written.
        registry.put(&ThreadEntry { archived: true, ..row("t-1", 2) }).unwrap();
        registry.add(&row("t-2", 99)).unwrap();
        registry.put(&row("new-7", 1)).unwrap();
        assert_eq!(changed(&registry, &start), Some(vec!["t-3".into(), "t-1".into(), "new-7".into()]));
        let later = registry.position().unwrap();
        registry.remove("t-4").unwrap();
        assert_eq!(changed(&registry, &later), None, "what is gone is no change of a row");
        let after = registry.position().unwrap();
        registry.put(&row("t-0", 12)).unwrap();
        assert_eq!(changed(&registry, &after), Some(vec!["t-0".into()]));
        let another = Registry::in_memory().unwrap();
        assert_eq!(changed(&another, &after), None);
    }

    #[test]
    fn a_newer_file_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        drop(Registry::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = Registry::open(&path).unwrap_err().to_string();
        assert!(error.contains("newer levain (schema 99"), "{error}");
    }

    #[test]
    fn s14_a_broken_file_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        std::fs::write(&path, vec![b'x'; 10_000]).unwrap();
        let mut registry = Registry::open_or_renew(&path).unwrap();
        registry.put(&row("a-1", 10)).unwrap();
        drop(registry);
        // A hole in the middle of it.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(4096);
        bytes.iter_mut().skip(100).for_each(|byte| *byte = 0xff);
        std::fs::write(&path, bytes).unwrap();
        let registry = Registry::open_or_renew(&path).unwrap();
        assert!(registry.ids().unwrap().is_empty());
    }

    #[test]
    fn many_processes_may_open_a_new_registry_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        std::thread::scope(|scope| {
            for number in 0..8_u64 {
                let path = &path;
                scope.spawn(move || {
                    let mut registry = Registry::open(path).unwrap();
                    for update in 0..10 {
                        registry.put(&row(&format!("t-{number}"), update)).unwrap();
                    }
                });
            }
        });
        assert_eq!(Registry::open(&path).unwrap().list(Part::All, 100).unwrap().len(), 8);
    }
}
