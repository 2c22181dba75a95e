//! The files of one thread behind the [`ThreadStore`] port, and opening a thread from them.

use super::content::ContentStore;
use super::layout::{Folder, Layout, failed};
use super::log::{LogWriter, Repair};
use super::summaries::Summaries;
use super::summary::{Summarise, Summary, specification};
use super::{attachment, fork, image, log, processes};
use crate::domain::event::{Delta, Process};
use crate::domain::{Assembly, ContentHash, Record, RequestRecord, Successor, ThreadId, ThreadOrigin};
use crate::ports::store::{Attach, Fetch, HandOff, Include, KeepImage, Snapshot, SyncJob};
use crate::ports::{StoreError, ThreadStore};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Makes a thread this person's own whose files this program brought along: each line of its log gets its code.
///
/// # Errors
/// [`StoreError`]; the thread may be broken then.
pub fn adopt(layout: &Layout, id: &ThreadId, summarise: Summarise) -> Result<(), StoreError> {
    let mut records = Vec::new();
    for page in log::pages(&layout.log(id)?) {
        records.extend(page?.into_records());
    }
    // The log says it as this version reads it; the file may be of an earlier one.
    let summary = summarise(id, &records).map_or_else(|| Summary::look(layout, id, summarise), Ok)?;
    let path = layout.thread(id).log();
    path.remove().map_err(failed("remove", &path))?;
    let (mut writer, _) = LogWriter::open(path, id, layout.own_key()?)?;
    records.iter().try_for_each(|record| writer.append(record).map(drop))?;
    summary.write(layout)
}

/// The largest `inflight.jsonl` that is read, in bytes.
const LARGEST_INFLIGHT: u64 = 32 << 20;

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
    summaries: Summaries,
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
    /// Opens a thread for this process, whose socket is `process`; `None` when another process runs it. How it stands goes
    /// into `summaries`.
    ///
    /// # Errors
    /// Any [`StoreError`]; [`StoreError::Elsewhere`] for a thread of somebody else's.
    pub fn open(
        layout: &Layout,
        id: &ThreadId,
        process: Option<(u32, String)>,
        summarise: Summarise,
        summaries: &Summaries,
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
            summaries: summaries.clone(),
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
        if !record.event.is_upkeep() {
            self.summary.updated_at = record.timestamp;
        }
        let written = self.writer.append(record)?;
        self.summary.hear(&record.event);
        Ok(written)
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

    fn keep_result(&mut self, text: &str) -> Result<ContentHash, StoreError> {
        let hash = ContentHash::of(text.as_bytes());
        self.content.keep(&hash, || text)?;
        Ok(hash)
    }

    fn attach(&self, name: &str) -> Attach {
        let (layout, name) = (self.layout.clone(), name.to_owned());
        Box::new(move || image::take_in(layout.project(), &mut ContentStore::new(layout.objects()), name))
    }

    fn keeps_images(&self) -> KeepImage {
        let layout = self.layout.clone();
        Arc::new(move |name, bytes| image::keep(&mut ContentStore::new(layout.objects()), name, bytes))
    }

    fn include(&self, name: &str) -> Include {
        let (layout, name) = (self.layout.clone(), name.to_owned());
        Box::new(move || attachment::include(&layout, &name))
    }

    fn hand_off(&self, successor: Successor) -> HandOff {
        let (layout, id) = (self.layout.clone(), self.summary.thread_id.clone());
        Box::new(move |now| fork::hand_off(&layout, &id, successor, now))
    }

    fn save(&mut self, snapshot: &Snapshot) {
        self.summary = Summary {
            status: snapshot.status,
            waiting: snapshot.waiting,
            model: snapshot.model.clone(),
            cost: snapshot.cost,
            context: snapshot.context,
            limits: snapshot.limits,
            title: snapshot.title.clone().unwrap_or_default(),
            archived: snapshot.archived,
            waits_for: snapshot.waits_for.clone(),
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

    fn discard(&mut self) {
        self.close();
        // What a person asked for on the command line, or another thread did, is looked for by its id.
        if self.summary.lineage.origin == ThreadOrigin::Screen
            && let Err(error) = self.folder.remove_unused()
        {
            tracing::warn!(%error, "a thread in which nothing was said stays");
        }
    }
}
