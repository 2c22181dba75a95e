//! Reading requests back: the record, and the texts it names.

use super::content::ContentStore;
use super::layout::{Layout, failed};
use crate::domain::{Message, RequestRecord, ThreadId};
use crate::ports::StoreError;

/// The largest record that is read, in bytes.
const LARGEST_RECORD: u64 = 16 << 20;

/// A request as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub record: RequestRecord,
    pub system: String,
    pub messages: Vec<Message>,
    /// The text of each layer of the record.
    pub texts: Vec<String>,
}

/// Reads request `number` of a thread.
///
/// # Errors
/// [`StoreError::Malformed`] when the record or a text it names is not there or does not read.
pub fn read(layout: &Layout, thread: &ThreadId, number: u32) -> Result<Stored, StoreError> {
    let record = record(layout, thread, number)?;
    let path = layout.thread(thread).request(number);
    let store = ContentStore::new(layout.objects());
    let message = |json: String| {
        serde_json::from_str(&json).map_err(|error| StoreError::Malformed {
            what: "a message",
            path: path.path(),
            detail: error.to_string(),
        })
    };
    let messages = record.messages.iter().map(|one| message(store.text(&one.hash)?)).collect::<Result<_, _>>()?;
    let texts = record.layers.iter().map(|layer| store.text(&layer.hash)).collect::<Result<_, _>>()?;
    Ok(Stored { system: store.text(&record.system)?, messages, texts, record })
}

/// Reads the record of request `number` of a thread, without its texts.
///
/// # Errors
/// [`StoreError::Malformed`] when it is not there or does not read.
pub fn record(layout: &Layout, thread: &ThreadId, number: u32) -> Result<RequestRecord, StoreError> {
    let path = layout.thread(thread).request(number);
    let malformed = |detail: String| StoreError::Malformed { what: "a request", path: path.path(), detail };
    let bytes = path.read(LARGEST_RECORD).map_err(failed("read", &path))?;
    let bytes = bytes.ok_or_else(|| malformed("there is no such request".to_owned()))?;
    serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))
}

/// The numbers of a thread's requests with their turns, in order. A record that does not read is left out.
///
/// # Errors
/// [`StoreError::NoSuchThread`] for a thread without a folder.
pub fn numbers(layout: &Layout, thread: &ThreadId) -> Result<Vec<(u32, u32)>, StoreError> {
    let folder = layout.thread(thread);
    if !folder.path().exists() {
        return Err(StoreError::NoSuchThread { id: thread.to_string() });
    }
    let requests = folder.requests();
    let names = requests.entries().map_err(failed("list", &requests))?;
    let numbers = names.iter().filter_map(|name| name.strip_suffix(".json")?.parse::<u32>().ok());
    let mut found: Vec<(u32, u32)> =
        numbers.filter_map(|number| Some((number, record(layout, thread, number).ok()?.turn))).collect();
    found.sort_unstable();
    Ok(found)
}
