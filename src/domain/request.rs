//! The record of one request to a model, written before the request is sent.

use super::assembly::Layer;
use super::event::Timestamp;
use super::id::{ContentHash, ModelRef, ThreadId};
use super::message::Role;
use super::pipeline::Step;
use super::wire_form::WireForm;
use serde::{Deserialize, Serialize};

/// `requests/N.json`: everything that was sent, with texts by hash in the content store. Named `THREAD#N` on screens.
/// Every attempt is a request of its own, so a retried turn has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    pub schema: String,
    pub thread_id: ThreadId,
    /// Counts from 1 within the thread.
    pub number: u32,
    pub turn: u32,
    /// Counts from 1 within the turn.
    pub attempt: u32,
    pub created_at: Timestamp,
    pub model: ModelRef,
    /// Where the provider was reached, without keys; `none` for the scripted one.
    pub endpoint: String,
    /// The wire form and the hash of the body that was sent; none in records of earlier versions. The body is not kept: it
    /// is made again from the texts, and its hash says whether that is what was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentBody>,
    pub max_output_tokens: u64,
    pub system: ContentHash,
    pub messages: Vec<MessageRef>,
    /// The tools that were offered.
    #[serde(default)]
    pub tools: Vec<ToolRef>,
    pub layers: Vec<Layer>,
    /// What the handlers of this request did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipeline: Vec<Step>,
}

/// What went over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBody {
    pub form: WireForm,
    pub hash: ContentHash,
    /// In bytes.
    pub length: u64,
    /// Where handlers changed it, it is kept: under this hash in the content store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<ContentHash>,
}

impl RequestRecord {
    pub const SCHEMA: &'static str = "levain.request/1";
}

/// A tool of a request: the name it was offered by, the item it is, and the hash of the whole offer as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRef {
    pub name: String,
    pub item: String,
    pub hash: ContentHash,
}

/// A message of a request: its role, and the hash of the whole message as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRef {
    pub role: Role,
    pub hash: ContentHash,
}
