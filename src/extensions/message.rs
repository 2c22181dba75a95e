//! What reaches the thread of an engine.

use super::outcome::{Answer, Ask, Listing, Loaded, Told};
use super::outside::Refusal;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::oneshot;

/// Set when nobody waits for something any more.
pub(super) type Lost = Arc<AtomicBool>;

/// What an engine is asked and told.
pub(super) enum Message {
    Load(PathBuf, oneshot::Sender<Loaded>),
    List(oneshot::Sender<Arc<Listing>>),
    Ask {
        ask: Ask,
        preview: bool,
        lost: Lost,
        reply: oneshot::Sender<(Answer, Told)>,
    },
    /// Something that nobody waits for: a function of the JavaScript side, with its arguments.
    Tell(&'static str, Vec<Value>),
    /// What was done for an extension, by its number, is over.
    Settled(u64, Result<Value, Refusal>),
    /// Somebody no longer waits for what they asked.
    Lost,
    /// Nobody wants anything of it any more.
    End,
}
