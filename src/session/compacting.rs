//! Compactions that extensions ask for, and what they are told of one and of the results of calls.

use super::entries::Entries;
use super::extension_thread::{ExtensionThread, is_idle};
use crate::domain::Command;
use crate::extensions::Refusal;
use crate::ports::ThreadAccess;
use crate::ports::tools::Waiting;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

impl ExtensionThread {
    /// The last compaction in the log.
    pub(super) async fn compaction(&self) -> Option<Value> {
        compactions(self.entries.clone()).await.pop()
    }

    /// What these calls gave beside the text of their results, as the log has it.
    pub(super) async fn details_of(&self, calls: HashSet<String>) -> HashMap<String, Value> {
        let Some(entries) = self.entries.clone().filter(|_| !calls.is_empty()) else { return HashMap::new() };
        let read = move || {
            let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
            entries.follow().map(|()| entries.details_of(calls))
        };
        let read = tokio::task::spawn_blocking(read).await;
        read.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Has the conversation compacted once the thread is at rest, and gives the entry that comes of it.
    pub(super) fn compact(
        &self,
        thread: Arc<dyn ThreadAccess>,
        arguments: &Value,
    ) -> Waiting<'static, Result<Value, Refusal>> {
        let instructions = arguments.get("customInstructions").and_then(Value::as_str).map(str::to_owned);
        let (mut state, entries) = (self.state.subscribe(), self.entries.clone());
        Box::pin(async move {
            let known = compactions(entries.clone()).await.len();
            drop(state.wait_for(|state| state.as_ref().is_none_or(is_idle)).await);
            let done = thread.command(Command::Compact { instructions }).await;
            done.map_err(|why| Refusal::new("EINVAL", why))?;
            // How the thread stands is known before the command is answered: it works now.
            drop(state.wait_for(|state| state.as_ref().is_none_or(is_idle)).await);
            let made = compactions(entries).await.into_iter().skip(known).last();
            let made = made.filter(|made| made["summary"].as_str().is_some_and(|summary| !summary.is_empty()));
            made.ok_or_else(|| Refusal::new("EINVAL", "the conversation was not compacted"))
        })
    }
}

/// The compactions in a thread's log.
async fn compactions(entries: Option<Arc<Mutex<Entries>>>) -> Vec<Value> {
    let read = move || {
        let Some(entries) = entries else { return Vec::new() };
        let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.follow().map_or_else(|_| Vec::new(), |()| entries.compactions())
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}
