//! Layers and the assembly: what the model will see, and where each piece comes from.
//!
//! A layer tells its own story (origin, decision, lifetime, tokens). Its text lives in the content store under
//! [`Layer::hash`], so that records are small and two requests compare cheaply.

use super::amount::Tokens;
use super::id::ContentHash;
use super::message::Entry;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// One piece of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Stable across turns, so that two requests can be compared layer by layer.
    pub id: String,
    pub kind: LayerKind,
    pub channel: Channel,
    pub origin: Origin,
    pub tokens: TokenCount,
    pub lifetime: Lifetime,
    pub decision: Decision,
    /// Name of the layer's text in the content store.
    pub hash: ContentHash,
    /// Bytes of the channel's assembled text that this layer makes up; empty when it was skipped.
    pub range: Range<usize>,
}

/// What a layer is. The order of the variants is the order of assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    Constitution,
    ContextInstructions,
    SystemHook,
    ExtendsSystem,
    DirectiveSystem,
    ToolSnippets,
    Guidelines,
    AppendSystem,
    ProjectFile,
    Skills,
    DateCwd,
    ExtensionSystem,
    History,
    Summary,
    ContextState,
    HookBefore,
    ContextBefore,
    Prompt,
    ContextAfter,
    HookAfter,
    User,
    NextTurn,
    ExtensionMessage,
    ToolSchema,
}

/// Through which part of the request a layer reaches the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    System,
    /// The message at this index of the request.
    Message {
        index: usize,
    },
    /// The messages from `first` on, `count` of them.
    Messages {
        first: usize,
        count: usize,
    },
    Tools,
}

/// Where an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    Project,
    User,
    System,
}

/// Where a layer's text was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// An item of a space; `path` is relative to that space, `lines` count from 1.
    Item {
        space: Space,
        id: String,
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<(u32, u32)>,
    },
    /// What a person typed.
    User,
    /// Earlier messages of this thread.
    Thread,
}

/// A token count and how it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCount {
    pub count: Tokens,
    /// False while the count is an estimate.
    pub exact: bool,
}

impl TokenCount {
    /// An estimate for `text`.
    #[must_use]
    pub fn estimated(text: &str) -> Self {
        Self { count: Tokens::estimate(text), exact: false }
    }
}

/// How often a layer is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    Once,
    PerPrompt,
    PerCall,
}

/// Whether a layer is in the request, and why not if it is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Decision {
    Included,
    Skipped { reason: String },
}

/// A whole request before it takes a provider's form: the result of the one assembly function.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembly {
    pub system: String,
    pub messages: Vec<Entry>,
    pub layers: Vec<Layer>,
    /// The text of each layer of `layers`, in the same order. A layer that stands for whole messages has their hashes
    /// as its text, one a line.
    pub texts: Vec<Arc<str>>,
}

impl Assembly {
    /// Estimate of all tokens in the request.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.layers.iter().filter(|layer| layer.decision == Decision::Included).map(|layer| layer.tokens.count).sum()
    }
}
