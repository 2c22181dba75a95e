//! A request that was put together for a person to look at, and that is sent as they saw it.

use super::assembly::Origin;
use super::assembly::{Assembly, Channel, Decision, Layer, Piece};
use super::attachment::Attachment;
use super::custom_message::CustomMessage;
use super::id::{ContentHash, ModelRef, ThreadId};
use super::image::Image;
use super::message::{Entry, Role, ToolSpec};
use super::pipeline::Step;
use super::request::ToolRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything of a request that is not yet in the thread's log. Whoever sends it puts it together with what was said,
/// and finds by [`FrozenRequest::hash`] whether that is still the request that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenRequest {
    /// The thread it is of; a new thread takes this id.
    pub thread_id: ThreadId,
    /// What goes along with the prompt; the images are in the content store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
    pub model: ModelRef,
    pub max_output_tokens: u64,
    /// Candidates for the system text, in its order.
    pub system: Vec<Piece>,
    /// Candidates for the beginning of the first message. A thread that has begun keeps its own.
    pub opening: Vec<Piece>,
    /// What held when it was looked at.
    pub state: Vec<Piece>,
    /// What handlers made of the prompt's text, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The messages that they added behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<CustomMessage>,
    /// Every candidate for the system text as they made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_edit: Option<Vec<Piece>>,
    /// The conversation as they made it for this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Box<HistoryEdits>>,
    /// The request in its provider's form as they made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// What they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    pub tools: Vec<FrozenTool>,
    /// Names the whole request.
    pub hash: ContentHash,
}

/// How a history differs from the thread's own, for one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEdits {
    /// The whole history, as it is sent.
    pub history: Vec<Entry>,
    /// Places in it whose messages are somebody else's than the thread's.
    pub made: Vec<usize>,
    /// Messages of the thread that are not sent.
    pub gone: Vec<Entry>,
    /// Who made it so: the last handler that changed something.
    pub by: Origin,
}

/// A tool of a held request, or a candidate that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenTool {
    pub layer: Layer,
    /// The whole offer, as JSON.
    pub text: String,
}

impl FrozenRequest {
    /// The tools among the layers of `assembly`.
    #[must_use]
    pub fn tools_of(assembly: &Assembly) -> Vec<FrozenTool> {
        let layers = assembly.layers.iter().zip(&assembly.texts);
        let tools = layers.filter(|(layer, _)| layer.channel == Channel::Tools);
        tools.map(|(layer, text)| FrozenTool { layer: layer.clone(), text: text.to_string() }).collect()
    }

    /// Adds the tools to `assembly`; tells them in the forms of calls and of records.
    pub fn offer(&self, assembly: &mut Assembly) -> (Vec<ToolSpec>, Vec<ToolRef>) {
        let (mut specs, mut refs) = (Vec::new(), Vec::new());
        for FrozenTool { layer, text } in &self.tools {
            if layer.decision == Decision::Included
                && let Ok(spec) = serde_json::from_str::<ToolSpec>(text)
            {
                refs.push(ToolRef { name: spec.name.clone(), item: layer.id.clone(), hash: layer.hash.clone() });
                specs.push(spec);
            }
            assembly.layers.push(layer.clone());
            assembly.texts.push(text.as_str().into());
        }
        (specs, refs)
    }

    /// Names a request by all that a model receives of it.
    #[must_use]
    pub fn name(model: &ModelRef, max_output_tokens: u64, assembly: &Assembly) -> ContentHash {
        let mut all =
            format!("{model}\n{max_output_tokens}\n{}\n", ContentHash::of(assembly.system.as_bytes()).as_str());
        for entry in &assembly.messages {
            all.push_str(match entry.message.role {
                Role::User => "user ",
                Role::Assistant => "assistant ",
            });
            all.push_str(entry.hash.as_str());
            all.push('\n');
        }
        for layer in assembly.included().filter(|layer| layer.channel == Channel::Tools) {
            all.push_str("tool ");
            all.push_str(layer.hash.as_str());
            all.push('\n');
        }
        ContentHash::of(all.as_bytes())
    }
}
