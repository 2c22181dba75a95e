//! What an extension leaves in the log of a thread.

use super::prompt_mode::PromptMode;
use super::{ContentHash, CustomMessage, ModelRef, Money, Tokens, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// See the module. Of all this the thread's model gets messages alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum ExtensionEntry {
    /// What it keeps under a name of its own.
    Custom {
        custom_type: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    /// What it calls another entry; nothing from here on without.
    Label {
        target: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// What its tool gave beside the text of the result, for whoever draws that or reads it back.
    Details {
        call_id: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
        /// The model is not to answer the result, where all other results of the same answer say so, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        terminate: bool,
    },
    /// A message of its own, which joins the conversation with the next prompt, or with the next request.
    Message {
        #[serde(flatten)]
        message: CustomMessage,
        /// It stands behind that prompt, not before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        behind: bool,
        /// The model is to answer it: before the request that comes next, or when the thread would else be at rest. Needs no
        /// prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<PromptMode>,
    },
    /// It calls a model, from before the request is sent until a [`Self::ModelCall`] of the same number.
    ModelCallSent {
        number: u32,
        from: String,
        model: ModelRef,
        /// What is sent, in the content store.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<ContentHash>,
        /// As estimated of the body.
        sent: Tokens,
    },
    /// It called a model, which counts as spent by the thread.
    ModelCall {
        /// Logs of before [`Self::ModelCallSent`] have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
        from: String,
        model: ModelRef,
        /// What was sent, in the content store.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<ContentHash>,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<Money>,
        /// Why there was no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
}
