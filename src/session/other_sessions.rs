//! The threads of the project as sessions of pi: which there are, and what was said in each.

use super::entries::Entries;
use super::moves::thread_of;
use crate::domain::{ThreadId, ThreadKind};
use crate::ports::StoreError;
use crate::store::Layout;
use crate::store::registry::{Part, Registry, ThreadEntry};
use serde_json::{Value, json};
use std::path::Path;

/// As many are listed, those that changed last.
const MOST: usize = 500;

/// The conversations with people of the project, as pi's `SessionManager.list` gives them; times are milliseconds.
pub(super) fn listed(layout: &Layout, root: &Path) -> Result<Value, StoreError> {
    // Looking makes no registry.
    if !layout.registry().is_file() {
        return Ok(json!([]));
    }
    let rows = Registry::open(&layout.registry())?.list(Part::Open, MOST)?;
    let talked = rows.iter().filter(|row| row.kind == ThreadKind::Interactive && !row.elsewhere);
    let told = |row: &ThreadEntry| {
        let file = |id| layout.thread(id).session_file();
        // Its row may not say yet what was said first.
        let first = if row.title.is_empty() { first_said(layout, &row.thread_id) } else { row.title.clone() };
        json!({
            "path": file(&row.thread_id), "id": row.thread_id, "cwd": root, "name": row.title,
            "parentSessionPath": row.lineage.previous.as_ref().map(file), "created": row.created_at.0,
            "modified": row.updated_at.0, "messageCount": row.cost.turns, "firstMessage": first, "allMessagesText": first,
        })
    };
    Ok(talked.map(told).collect())
}

/// What a person said first in a thread.
fn first_said(layout: &Layout, id: &ThreadId) -> String {
    let mut entries = Entries::new(layout.clone(), id.clone());
    if let Err(error) = entries.follow() {
        tracing::warn!(%error, thread = %id, "an extension asked for the threads of the project");
    }
    let mut said =
        entries.all().iter().filter(|entry| entry.pointer("/message/role").is_some_and(|role| role == "user"));
    let text = said.next().and_then(|entry| entry.pointer("/message/content/0/text")?.as_str());
    text.unwrap_or_default().to_owned()
}

/// Header and entries of the thread whose file or id that is; null where there is no such thread here.
pub(super) fn entries(layout: &Layout, path: &str) -> Result<Value, StoreError> {
    let here = thread_of(path).filter(|id| layout.thread(id).log().path().is_file());
    let Some(id) = here else { return Ok(Value::Null) };
    let mut entries = Entries::new(layout.clone(), id);
    entries.follow()?;
    Ok(std::iter::once(entries.header().clone()).chain(entries.all().iter().cloned()).collect())
}
