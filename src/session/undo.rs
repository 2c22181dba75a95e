//! What a thread's file tools changed, read from its log, and taking it back.

use super::Setup;
use crate::domain::{ContentHash, Event, RequestEvent, Status, ThreadId, ToolEvent};
use crate::store::content::ContentStore;
use crate::store::log;
use crate::store::summary::Summary;
use crate::tools::{self, Root, Taken};
use crate::worker::host::REPLAY;
use std::collections::BTreeMap;

/// Bytes of a log that are read at once.
const PIECE: u64 = 1 << 20;

/// The project's folder, as file tools see it.
#[must_use]
pub fn root(setup: &Setup) -> Root {
    Root::new(&setup.project.root).without(&[&setup.dirs.config, &setup.dirs.state])
}

/// The files that the thread `id` changed, by path; with `request` those that its answer to that request changed.
///
/// # Errors
/// The sentence a person should read.
pub fn changes(setup: &Setup, id: &ThreadId, request: Option<u32>) -> Result<Vec<Taken>, String> {
    let log = setup.layout.log(id).map_err(|error| error.to_string())?;
    if log.is_elsewhere() {
        return Err(format!("{id} is from elsewhere: nobody vouches for what its log says of files"));
    }
    let (mut from, mut current) = (0, 0);
    let mut all: BTreeMap<String, (Option<ContentHash>, Vec<ContentHash>)> = BTreeMap::new();
    loop {
        let page = log::read_forward(&log, from, PIECE).map_err(|error| error.to_string())?;
        let end = page.end;
        for record in page.into_records() {
            if let Event::Request(RequestEvent::RequestRecorded { request, .. }) = record.event {
                current = request;
            } else if let Event::Tool(ToolEvent::FileCheckpointed { path, before, after, .. }) = record.event
                && request.is_none_or(|request| request == current)
            {
                let (_, written) = all.entry(path).or_insert_with(|| (before, Vec::new()));
                written.push(after);
            }
        }
        if end <= from {
            break;
        }
        from = end;
    }
    let store = ContentStore::new(setup.layout.objects());
    let bytes = |hash: &ContentHash| {
        let kept = store.bytes(hash).map_err(|error| error.to_string())?;
        kept.ok_or_else(|| format!("what the text {} held is no longer kept below .ai/objects", hash.as_str()))
    };
    let taken = all.into_iter().map(|(path, (before, written))| {
        let last = written.last().ok_or("nothing was written")?;
        Ok(Taken { path, before: before.as_ref().map(bytes).transpose()?, after: bytes(last)?, written })
    });
    taken.collect()
}

/// Whether files of the thread may be taken back now.
///
/// # Errors
/// Why not, in a sentence.
pub fn allowed(setup: &Setup, id: &ThreadId) -> Result<(), String> {
    let summary = Summary::look(&setup.layout, id, REPLAY.summary).map_err(|error| error.to_string())?;
    if summary.status == Status::Running {
        return Err(format!("{id} is running, and could change the files again; stop it first"));
    }
    Ok(())
}

/// The path of a file, and whether something was done to it, or why it stays as it is.
pub type TakenBack = (String, Result<bool, String>);

/// Puts these files back as they were before the thread changed them, those that are as it left them.
///
/// # Errors
/// Why nothing was done, in a sentence.
pub fn take_back(
    setup: &Setup,
    id: &ThreadId,
    request: Option<u32>,
    paths: &[String],
) -> Result<Vec<TakenBack>, String> {
    allowed(setup, id)?;
    let root = root(setup);
    let meant = changes(setup, id, request)?.into_iter().filter(|one| paths.contains(&one.path));
    Ok(meant.map(|one| (one.path.clone(), tools::take_back(&root, &one))).collect())
}
