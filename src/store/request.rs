//! Reading requests back: the record, and the texts it names.

use super::content::ContentStore;
use super::files;
use super::layout::Layout;
use crate::domain::{Message, RequestRecord, ThreadId};
use crate::ports::StoreError;

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
    let store = ContentStore::new(&layout.objects());
    let message = |json: String| {
        serde_json::from_str(&json).map_err(|error| StoreError::Malformed {
            what: "a message",
            path: path.clone(),
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
    let malformed = |detail: String| StoreError::Malformed { what: "a request", path: path.clone(), detail };
    let text = files::read(&path)?.ok_or_else(|| malformed("there is no such request".to_owned()))?;
    serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))
}

/// The numbers of a thread's requests with their turns, in order. A record that does not read is left out.
///
/// # Errors
/// [`StoreError::NoSuchThread`] for a thread without a folder.
pub fn numbers(layout: &Layout, thread: &ThreadId) -> Result<Vec<(u32, u32)>, StoreError> {
    let folder = layout.thread(thread);
    if !folder.path().is_dir() {
        return Err(StoreError::NoSuchThread { id: thread.to_string() });
    }
    let names = std::fs::read_dir(folder.path().join("requests")).into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse::<u32>().ok());
    let mut found: Vec<(u32, u32)> =
        numbers.filter_map(|number| Some((number, record(layout, thread, number).ok()?.turn))).collect();
    found.sort_unstable();
    Ok(found)
}
