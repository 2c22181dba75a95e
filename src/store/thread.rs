//! The files of one thread behind the [`ThreadStore`] port, and opening a thread from them.

use super::authentic::{self, LogKey};
use super::content::ContentStore;
use super::layout::{Folder, Layout, failed};
use super::log::{LogWriter, Repair};
use super::registry::{Registry, ThreadEntry};
use super::{image, log, processes};
use crate::domain::event::{Delta, Process};
use crate::domain::{
    Assembly, ContentHash, Cost, Event, Limits, ModelRef, Record, RequestRecord, Status, ThreadId, ThreadKind,
    Timestamp, Values, Waiting as WaitingFor,
};
use crate::ports::store::{Attach, Fetch, Snapshot, SyncJob};
use crate::ports::{StoreError, ThreadStore};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// `thread.json`: how a thread stands, for people and programs that do not want to read its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub thread_id: ThreadId,
    pub directive: String,
    pub kind: ThreadKind,
    pub status: Status,
    /// What for, while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingFor>,
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

/// The largest `thread.json` and the largest `inflight.jsonl` that are read, in bytes.
const LARGEST_SUMMARY: u64 = 4 << 20;
const LARGEST_INFLIGHT: u64 = 32 << 20;

/// Makes a thread's summary of its whole log; `None` where that does not say how the thread began.
pub type Summarise = fn(&ThreadId, &[Record]) -> Option<Summary>;

/// How a thread begins: what has to be known before it can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    pub directive: String,
    pub inputs: Values,
}

/// How the thread `id` begins, by its log, or by its `thread.json` where nothing has happened in it yet.
///
/// # Errors
/// [`StoreError::NoSuchThread`]; [`StoreError::Elsewhere`] where this person's program did not write that.
pub fn specification(layout: &Layout, id: &ThreadId) -> Result<Specification, StoreError> {
    let log = layout.log(id)?;
    if log.is_elsewhere() {
        return Err(StoreError::Elsewhere { id: id.to_string() });
    }
    for page in log::pages(&log) {
        for record in page?.into_records() {
            if let Event::ThreadStarted { directive, inputs, .. } = record.event {
                return Ok(Specification { directive, inputs });
            }
        }
    }
    let Summary { directive, inputs, .. } = Summary::read_own(layout, id)?;
    Ok(Specification { directive, inputs })
}

impl Summary {
    /// How the thread `id` stands, as its `thread.json` says; made from the log by `summarise` where that is lost or
    /// broken. To show to people: nobody vouches for it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchThread`] where nothing tells of it, [`StoreError::Malformed`] where what there is does not read.
    pub fn look(layout: &Layout, id: &ThreadId, summarise: Summarise) -> Result<Self, StoreError> {
        let lost = match Self::read(layout, id) {
            Ok((summary, _)) => return Ok(summary),
            Err(error @ StoreError::Io { .. }) => return Err(error),
            Err(error) => error,
        };
        let mut records = Vec::new();
        for page in log::pages(&layout.log(id)?) {
            records.extend(page?.into_records());
        }
        summarise(id, &records).ok_or(lost)
    }

    /// As this person's program wrote it.
    fn read_own(layout: &Layout, id: &ThreadId) -> Result<Self, StoreError> {
        match Self::read(layout, id)? {
            (summary, true) => Ok(summary),
            (_, false) => Err(StoreError::Elsewhere { id: id.to_string() }),
        }
    }

    /// What `thread.json` says, and whether this person's program wrote it.
    fn read(layout: &Layout, id: &ThreadId) -> Result<(Self, bool), StoreError> {
        let path = layout.thread(id).summary();
        let malformed = |detail: String| StoreError::Malformed { what: "a thread", path: path.path(), detail };
        let bytes = match path.read(LARGEST_SUMMARY) {
            Ok(bytes) => bytes.ok_or_else(|| StoreError::NoSuchThread { id: id.to_string() })?,
            // Something else lies under its name: what it would say is lost, and nothing else.
            Err(error) => return Err(malformed(error.to_string())),
        };
        let parted = authentic::part(&bytes);
        let fits = |key: &LogKey| parted.as_ref().is_some_and(|(object, code)| key.fits(id, WHOLE, (object, code)));
        let own = layout.key().is_some_and(fits);
        let object = parted.as_ref().map_or(bytes.as_slice(), |(object, _)| object);
        let summary: Self = serde_json::from_slice(object).map_err(|error| malformed(error.to_string()))?;
        if summary.thread_id != *id {
            return Err(malformed(format!("it is of the thread {}", summary.thread_id)));
        }
        Ok((summary, own))
    }

    /// Writes it, on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, layout: &Layout) -> Result<(), StoreError> {
        let path = layout.thread(&self.thread_id).summary();
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        // A code begins behind the last value.
        if let Some(b"\n}") = json.last_chunk::<2>() {
            json.truncate(json.len() - 2);
            json.push(b'}');
        }
        layout.own_key()?.seal(&self.thread_id, WHOLE, &mut json);
        path.replace(&json).map_err(failed("write", &path))
    }

    /// What `thread.json` and the registry say of a thread that begins at `now` and has not run.
    #[must_use]
    pub fn new(id: ThreadId, directive: String, kind: ThreadKind, model: ModelRef, now: Timestamp) -> Self {
        Self {
            thread_id: id,
            directive,
            kind,
            status: Status::Created,
            waiting: None,
            model,
            title: String::new(),
            created_at: now,
            updated_at: now,
            cost: Cost::default(),
            limits: Limits::default(),
            inputs: Values::new(),
            capabilities: Vec::new(),
        }
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
            elsewhere: false,
        }
    }
}

/// The place under which `thread.json` is sealed: no line of a log begins there.
const WHOLE: u64 = u64::MAX;

/// Makes a thread this person's own whose files this program brought along: each line of its log gets its code.
///
/// # Errors
/// [`StoreError`]; the thread may be broken then.
pub fn adopt(layout: &Layout, id: &ThreadId, summarise: Summarise) -> Result<(), StoreError> {
    let summary = Summary::look(layout, id, summarise)?;
    let mut records = Vec::new();
    for page in log::pages(&layout.log(id)?) {
        records.extend(page?.into_records());
    }
    let path = layout.thread(id).log();
    path.remove().map_err(failed("remove", &path))?;
    let (mut writer, _) = LogWriter::open(path, id, layout.own_key()?)?;
    records.iter().try_for_each(|record| writer.append(record).map(drop))?;
    summary.write(layout)
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
        let failed = failed("lock", &path);
        let file = match path.open_append() {
            Ok(file) => file,
            Err(error) => return Err(failed(error)),
        };
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
    layout: Layout,
    folder: Folder,
    writer: LogWriter,
    content: ContentStore,
    inflight: Option<File>,
    summary: Summary,
    process: Option<(u32, String)>,
    summaries: SummaryWriter,
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
    /// Lines of the log that are no event of this person's program, and were passed over.
    pub passed_over: usize,
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
    /// Any [`StoreError`]; [`StoreError::Elsewhere`] for a thread of somebody else's.
    pub fn open(
        layout: &Layout,
        id: &ThreadId,
        process: Option<(u32, String)>,
        summarise: Summarise,
    ) -> Result<Option<Opened>, StoreError> {
        let folder = layout.thread(id);
        let begun = specification(layout, id)?;
        let Some(lock) = Lock::take(&folder)? else { return Ok(None) };
        let (writer, repair) = LogWriter::open(folder.log(), id, layout.own_key()?)?;
        let (mut records, mut passed_over) = (Vec::new(), 0);
        for page in log::pages(&layout.log(id)?) {
            let page = page?;
            passed_over += page.lines.iter().filter(|line| line.record.is_none()).count();
            records.extend(page.into_records());
        }
        // What the log tells is believed before what lies beside it.
        let summary = match summarise(id, &records) {
            Some(told) => match Summary::read_own(layout, id) {
                Ok(kept) => Summary { capabilities: kept.capabilities, ..told },
                Err(_lost) => told,
            },
            None => Summary::read_own(layout, id)?,
        };
        let summary = Summary { directive: begun.directive, inputs: begun.inputs, ..summary };
        let inflight = read_inflight(&folder);
        let store = Self {
            content: ContentStore::new(layout.objects()),
            summaries: SummaryWriter::start(layout),
            inflight: None,
            summary: summary.clone(),
            layout: layout.clone(),
            folder,
            writer,
            process,
            _lock: lock,
        };
        store.content.unsynced().push_new(&store.folder)?;
        Ok(Some(Opened { store, summary, records, repair, passed_over, inflight }))
    }

    /// Where the log ends.
    #[must_use]
    pub fn log_end(&self) -> u64 {
        self.writer.end()
    }
}

/// What is kept of an answer in flight; what does not read is lost, and nothing else.
fn read_inflight(folder: &Folder) -> Option<Inflight> {
    let read = folder.inflight().read(LARGEST_INFLIGHT);
    let bytes = read.inspect_err(|error| tracing::warn!(%error, "the answer in flight is lost")).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    let mut whole: Option<Inflight> = None;
    // A torn last line is not parsed and so not missed.
    for kept in text.lines().filter_map(|line| serde_json::from_str::<Kept>(line).ok()) {
        match &mut whole {
            Some(whole) if whole.request == kept.request => whole.deltas.extend(kept.deltas),
            _ => whole = Some(Inflight { request: kept.request, deltas: kept.deltas }),
        }
    }
    whole
}

impl ThreadStore for FileStore {
    fn append(&mut self, record: &Record) -> Result<(u64, u64), StoreError> {
        self.summary.updated_at = record.timestamp;
        self.writer.append(record)
    }

    fn take_back(&mut self, offset: u64) {
        self.writer.take_back(offset);
    }

    fn sync(&self) -> SyncJob {
        let (log, files) = (self.writer.sync(), self.content.unsynced().clone());
        Box::new(move || files.sync().and_then(|()| log()))
    }

    fn note_process(&self, process: &Process) -> SyncJob {
        Box::new(processes::note(&self.layout, &self.summary.thread_id, process))
    }

    fn forget_process(&self, process: &Process) {
        processes::forget(&self.layout, process);
    }

    fn keep_inflight(&mut self, request: u32, deltas: &[Delta]) -> Result<(), StoreError> {
        let path = self.folder.inflight();
        let file = match &mut self.inflight {
            Some(file) => file,
            None => self.inflight.insert(path.open_append().map_err(failed("write", &path))?),
        };
        let mut line = serde_json::to_vec(&Kept { request, deltas: deltas.to_vec() }).unwrap_or_default();
        line.push(b'\n');
        file.write_all(&line).map_err(failed("write", &path))
    }

    fn clear_inflight(&mut self) -> Result<(), StoreError> {
        self.inflight = None;
        let path = self.folder.inflight();
        path.remove().map_err(failed("remove", &path))
    }

    fn record_request(&mut self, record: &RequestRecord, assembly: &Assembly) -> Result<(), StoreError> {
        self.content.keep(&record.system, || assembly.system.clone())?;
        for entry in &assembly.messages {
            self.content.keep(&entry.hash, || entry.message.to_json())?;
        }
        for (layer, text) in assembly.layers.iter().zip(&assembly.texts) {
            self.content.keep(&layer.hash, || text.to_string())?;
        }
        let (folder, path) = (self.folder.requests(), self.folder.request(record.number));
        folder.make_folder().map_err(failed("make the folder", &folder))?;
        let file = path.put(&serde_json::to_vec(record).unwrap_or_default()).map_err(failed("write", &path))?;
        self.content.unsynced().push(file, path);
        Ok(())
    }

    fn fetch(&self, hash: &ContentHash) -> Fetch {
        let (objects, hash) = (self.layout.objects(), hash.clone());
        Box::new(move || ContentStore::new(objects).image(&hash))
    }

    fn attach(&self, name: &str) -> Attach {
        let (layout, name) = (self.layout.clone(), name.to_owned());
        Box::new(move || image::take_in(layout.project(), &mut ContentStore::new(layout.objects()), name))
    }

    fn save(&mut self, snapshot: &Snapshot) {
        self.summary = Summary {
            status: snapshot.status,
            waiting: snapshot.waiting,
            model: snapshot.model.clone(),
            cost: snapshot.cost,
            limits: snapshot.limits,
            title: snapshot.title.clone().unwrap_or_default(),
            capabilities: snapshot.capabilities.clone().unwrap_or_else(|| self.summary.capabilities.clone()),
            ..self.summary.clone()
        };
        self.summaries.put(&self.summary, self.process.clone());
    }

    fn close(&mut self) {
        self.process = None;
        self.summaries.put(&self.summary, None);
        self.summaries.finish();
    }
}

/// Changes of a summary within this time are written together.
const TOGETHER: Duration = Duration::from_millis(100);

/// A summary to be written, and the process that runs its thread.
type Waiting = (Summary, Option<(u32, String)>);

/// Writes `thread.json` and the registry's row on a thread of its own, so that neither a busy database nor a slow disk
/// holds up a turn. Of what waits only the newest is written. Both can be made again from the log, so a failure is logged.
#[derive(Debug)]
struct SummaryWriter {
    sender: Option<mpsc::Sender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

impl SummaryWriter {
    fn start(layout: &Layout) -> Self {
        let (sender, receiver) = mpsc::channel::<Waiting>();
        let layout = layout.clone();
        let write = move || {
            let mut registry = None;
            while let Ok(mut newest) = receiver.recv() {
                // A turn changes it several times, and has better use for the disk meanwhile.
                let until = Instant::now() + TOGETHER;
                while let Ok(newer) = receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    newest = newer;
                }
                let (summary, process) = newest;
                if let Err(error) = summary.write(&layout) {
                    tracing::error!(%error, "the summary of the thread");
                }
                if registry.is_none() {
                    let opened = layout.prepare_own().and_then(|()| Registry::open_or_renew(&layout.registry()));
                    registry = opened.inspect_err(|error| tracing::error!(%error, "the registry does not open")).ok();
                }
                if let Some(Err(error)) = registry.as_mut().map(|registry| registry.put(&summary.entry(process))) {
                    tracing::error!(%error, "the registry does not take a row");
                    registry = None;
                }
            }
        };
        let thread = std::thread::Builder::new().name("summary".into()).spawn(write).ok();
        Self { sender: Some(sender), thread }
    }

    fn put(&self, summary: &Summary, process: Option<(u32, String)>) {
        if let Some(sender) = &self.sender {
            let _writer_gone = sender.send((summary.clone(), process));
        }
    }

    /// Waits until all that waits is written. Nothing is taken any more.
    fn finish(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

impl Drop for SummaryWriter {
    fn drop(&mut self) {
        self.finish();
    }
}
