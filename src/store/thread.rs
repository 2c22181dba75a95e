//! The files of one thread behind the [`ThreadStore`] port, and opening a thread from them.

use super::content::ContentStore;
use super::layout::{Folder, Layout};
use super::log::{LogWriter, Repair};
use super::registry::{Registry, ThreadEntry};
use super::{files, image, log};
use crate::domain::event::Delta;
use crate::domain::{
    Assembly, ContentHash, Cost, Limits, ModelRef, Record, RequestRecord, Status, ThreadId, ThreadKind, Timestamp,
    Values, Waiting,
};
use crate::ports::store::{Attach, Fetch, Snapshot};
use crate::ports::{StoreError, ThreadStore};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// `thread.json`: how a thread stands, for people and programs that do not want to read its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub thread_id: ThreadId,
    pub directive: String,
    pub kind: ThreadKind,
    pub status: Status,
    /// What for, while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    pub model: ModelRef,
    #[serde(default)]
    pub title: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default)]
    pub cost: Cost,
    #[serde(default)]
    pub limits: Limits,
    /// What the directive was told when the thread was made.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub inputs: Values,
    /// What the thread may do: each grant, below it the tools it reached in the newest request; a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

impl Summary {
    /// Reads the `thread.json` of `folder`.
    ///
    /// # Errors
    /// [`StoreError::NoSuchThread`] without the file, [`StoreError::Malformed`] when it does not read.
    pub fn read(folder: &Folder, id: &ThreadId) -> Result<Self, StoreError> {
        let path = folder.summary();
        let text = files::read(&path)?.ok_or_else(|| StoreError::NoSuchThread { id: id.to_string() })?;
        serde_json::from_str(&text).map_err(|error| StoreError::Malformed {
            what: "a thread",
            path,
            detail: error.to_string(),
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, folder: &Folder) -> Result<(), StoreError> {
        let json = serde_json::to_vec_pretty(self).unwrap_or_default();
        files::replace(&folder.summary(), &json)
    }

    /// The row of the registry that says the same.
    #[must_use]
    pub fn entry(&self, process: Option<(u32, String)>) -> ThreadEntry {
        let (pid, socket) = process.unzip();
        ThreadEntry {
            thread_id: self.thread_id.clone(),
            directive: self.directive.clone(),
            kind: self.kind,
            status: self.status,
            waiting: self.waiting,
            title: self.title.clone(),
            model: self.model.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            cost: self.cost,
            pid,
            socket,
        }
    }
}

/// Holds a thread for this process; released when dropped or when the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `folder`; `None` when another process has it.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn take(folder: &Folder) -> Result<Option<Self>, StoreError> {
        let path = folder.lock();
        let failed = |source| StoreError::Io { doing: "lock", path: path.clone(), source };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(failed(error.into())),
        }
    }
}

/// The files of one thread, held by the process that runs it.
#[derive(Debug)]
pub struct FileStore {
    folder: Folder,
    writer: LogWriter,
    content: ContentStore,
    project: PathBuf,
    objects: PathBuf,
    inflight: Option<File>,
    summary: Summary,
    process: Option<(u32, String)>,
    registry: RegistryWriter,
    _lock: Lock,
}

/// A thread as its files tell it.
#[derive(Debug)]
pub struct Opened {
    pub store: FileStore,
    pub summary: Summary,
    /// The whole log.
    pub records: Vec<Record>,
    pub repair: Option<Repair>,
    /// What was kept of an answer that a dead process had in flight.
    pub inflight: Option<Inflight>,
}

/// Pieces of an answer that never reached the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Inflight {
    pub request: u32,
    pub deltas: Vec<Delta>,
}

/// A line of `inflight.jsonl`.
#[derive(Serialize, Deserialize)]
struct Kept {
    request: u32,
    deltas: Vec<Delta>,
}

impl FileStore {
    /// Opens a thread for this process, whose socket is `process`; `None` when another process runs it.
    ///
    /// # Errors
    /// Any [`StoreError`].
    pub fn open(layout: &Layout, id: &ThreadId, process: Option<(u32, String)>) -> Result<Option<Opened>, StoreError> {
        let folder = layout.thread(id);
        let summary = Summary::read(&folder, id)?;
        let Some(lock) = Lock::take(&folder)? else { return Ok(None) };
        let (writer, repair) = LogWriter::open(&folder.log())?;
        let mut records = Vec::new();
        for page in log::pages(&folder.log()) {
            records.extend(page?.into_records());
        }
        let inflight = read_inflight(&folder)?;
        let store = Self {
            content: ContentStore::new(&layout.objects()),
            project: layout.project().to_owned(),
            objects: layout.objects(),
            registry: RegistryWriter::start(layout),
            inflight: None,
            summary: summary.clone(),
            folder,
            writer,
            process,
            _lock: lock,
        };
        Ok(Some(Opened { store, summary, records, repair, inflight }))
    }

    /// Where the log ends.
    #[must_use]
    pub fn log_end(&self) -> u64 {
        self.writer.end()
    }
}

fn read_inflight(folder: &Folder) -> Result<Option<Inflight>, StoreError> {
    let Some(text) = files::read(&folder.inflight())? else { return Ok(None) };
    let mut whole: Option<Inflight> = None;
    // A torn last line is not parsed and so not missed.
    for kept in text.lines().filter_map(|line| serde_json::from_str::<Kept>(line).ok()) {
        match &mut whole {
            Some(whole) if whole.request == kept.request => whole.deltas.extend(kept.deltas),
            _ => whole = Some(Inflight { request: kept.request, deltas: kept.deltas }),
        }
    }
    Ok(whole)
}

impl ThreadStore for FileStore {
    fn append(&mut self, record: &Record) -> Result<(u64, u64), StoreError> {
        self.summary.updated_at = record.timestamp;
        self.writer.append(record)
    }

    fn sync(&self) -> Box<dyn FnOnce() -> Result<(), StoreError> + Send> {
        self.writer.sync()
    }

    fn keep_inflight(&mut self, request: u32, deltas: &[Delta]) -> Result<(), StoreError> {
        let path = self.folder.inflight();
        let failed = |source| StoreError::Io { doing: "write", path: path.clone(), source };
        let file = match &mut self.inflight {
            Some(file) => file,
            None => self.inflight.insert(OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?),
        };
        let mut line = serde_json::to_vec(&Kept { request, deltas: deltas.to_vec() }).unwrap_or_default();
        line.push(b'\n');
        file.write_all(&line).map_err(failed)
    }

    fn clear_inflight(&mut self) -> Result<(), StoreError> {
        self.inflight = None;
        files::remove(&self.folder.inflight())
    }

    fn record_request(&mut self, record: &RequestRecord, assembly: &Assembly) -> Result<(), StoreError> {
        self.content.keep(&record.system, || assembly.system.clone())?;
        for entry in &assembly.messages {
            self.content.keep(&entry.hash, || entry.message.to_json())?;
        }
        for (layer, text) in assembly.layers.iter().zip(&assembly.texts) {
            self.content.keep(&layer.hash, || text.to_string())?;
        }
        let path = self.folder.request(record.number);
        if let Some(folder) = path.parent() {
            files::make_folder(folder)?;
        }
        files::replace(&path, &serde_json::to_vec(record).unwrap_or_default())
    }

    fn fetch(&self, hash: &ContentHash) -> Fetch {
        let (objects, hash) = (self.objects.clone(), hash.clone());
        Box::new(move || ContentStore::new(&objects).image(&hash))
    }

    fn attach(&self, name: &str) -> Attach {
        let (project, objects, name) = (self.project.clone(), self.objects.clone(), name.to_owned());
        Box::new(move || image::take_in(&project, &mut ContentStore::new(&objects), name))
    }

    fn save(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let summary = Summary {
            status: snapshot.status,
            waiting: snapshot.waiting,
            model: snapshot.model.clone(),
            cost: snapshot.cost,
            limits: snapshot.limits,
            title: snapshot.title.clone().unwrap_or_default(),
            capabilities: snapshot.capabilities.clone().unwrap_or_else(|| self.summary.capabilities.clone()),
            ..self.summary.clone()
        };
        self.registry.put(summary.entry(self.process.clone()));
        summary.write(&self.folder)?;
        self.summary = summary;
        Ok(())
    }

    fn close(&mut self) {
        self.process = None;
        self.registry.put(self.summary.entry(None));
    }
}

/// Writes rows to the registry on a thread of its own, so that a busy database never holds up a turn. Of rows that
/// wait, only the newest is written.
#[derive(Debug)]
struct RegistryWriter {
    sender: Option<mpsc::Sender<ThreadEntry>>,
    thread: Option<JoinHandle<()>>,
}

impl RegistryWriter {
    fn start(layout: &Layout) -> Self {
        let (sender, receiver) = mpsc::channel::<ThreadEntry>();
        let path = layout.registry();
        let write = move || {
            let mut registry = None;
            while let Ok(mut row) = receiver.recv() {
                while let Ok(newer) = receiver.try_recv() {
                    row = newer;
                }
                if registry.is_none() {
                    registry = Registry::open(&path)
                        .inspect_err(|error| tracing::error!(%error, "the registry does not open"))
                        .ok();
                }
                if let Some(Err(error)) = registry.as_mut().map(|registry| registry.put(&row)) {
                    tracing::error!(%error, "the registry does not take a row");
                }
            }
        };
        let thread = std::thread::Builder::new().name("registry".into()).spawn(write).ok();
        Self { sender: Some(sender), thread }
    }

    fn put(&self, row: ThreadEntry) {
        if let Some(sender) = &self.sender {
            let _writer_gone = sender.send(row);
        }
    }
}

impl Drop for RegistryWriter {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
