//! Layers and the assembly: what the model will see, and where each piece comes from.
//!
//! A layer tells its own story (origin, decision, lifetime, tokens). Its text lives in the content store under
//! [`Layer::hash`], so that records are small and two requests compare cheaply.

use super::amount::Tokens;
use super::id::ContentHash;
use super::message::Entry;
use super::stage::{HandlerPlace, Stage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
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
    HookBefore,
    ContextBefore,
    /// The directive itself.
    Prompt,
    ContextAfter,
    HookAfter,
    History,
    Summary,
    /// What holds now: made anew for each call, just before what was said last.
    ContextState,
    /// A file, a folder or a thread that a prompt names behind `@`.
    Attachment,
    /// What a person (or a parent thread) said.
    User,
    NextTurn,
    ExtensionMessage,
    ToolSchema,
}

impl LayerKind {
    /// Whether it is around the conversation, and not in it or made for a call, and a person may leave it out of a thread of
    /// theirs: what is planned before the first request, without the constitution.
    #[must_use]
    pub fn is_planned(self) -> bool {
        matches!(
            self,
            Self::ContextInstructions
                | Self::SystemHook
                | Self::ExtendsSystem
                | Self::DirectiveSystem
                | Self::ToolSnippets
                | Self::Guidelines
                | Self::AppendSystem
                | Self::ProjectFile
                | Self::HookBefore
                | Self::ContextBefore
                | Self::Prompt
                | Self::ContextAfter
                | Self::HookAfter
        )
    }
}

/// What a person wants otherwise in a thread than its directive and settings say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerChange {
    /// The layer's id.
    pub id: String,
    /// Another text for it; without one it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
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

impl Space {
    /// As people are told it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

/// Where a layer's text was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// An item of a space; `path` is relative to that space, `lines` count from 1.
    Item {
        space: Space,
        /// The further bundle of the system space that it lies in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bundle: Option<String>,
        id: String,
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<(u32, u32)>,
        /// What its signature is worth, in a word; `None` where nobody looked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Who asked for the item.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<Via>,
    },
    /// A file of the project or the person that is no item.
    File { space: Space, path: String },
    /// A context provider that is part of the program.
    Provider { name: String },
    /// What a person typed.
    User,
    /// Earlier messages of this thread.
    Thread,
    /// What was said in another thread.
    OtherThread { id: String },
    /// What a handler of the pipeline made or changed.
    Handler {
        stage: Stage,
        handler: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<HandlerPlace>,
    },
}

/// Through whom an item came to be a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "through", rename_all = "snake_case")]
pub enum Via {
    Hook {
        id: String,
        event: String,
        /// Where it stands among all hooks: 0 to 4, lower first.
        layer: f64,
        /// Where it is written.
        file: String,
        line: u32,
    },
    /// `<context>` of a directive; `depth` is 0 for the one that runs, 1 for the one it extends.
    Directive { id: String, depth: u32, line: u32 },
    /// A context provider, asked for by this directive.
    Provider { name: String, by: String },
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
    Skipped {
        #[serde(flatten)]
        absence: Absence,
    },
}

/// Why a layer is not in the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Absence {
    /// Its hook's condition does not hold.
    Condition { saw: Vec<Saw> },
    /// Its hook's condition does not read, so it never holds.
    BrokenCondition { message: String },
    /// A directive of the chain leaves it out.
    Suppressed { by: String },
    /// The same item stands at this position already.
    Duplicate { of: String },
    /// Another file of the same id wins.
    Shadowed { by: String },
    /// There is no such item, and the directive can do without.
    Missing { message: String },
    /// The item is there and is not taken: unreadable, or its signature is refused.
    Refused { message: String },
    /// The item holds no text.
    Empty,
    /// Its provider has nothing to say.
    NothingToSay,
    /// It wants something done that is not done here.
    NotRun { message: String },
    /// A tool whose description no longer fits among those of the others.
    OverBudget {
        needs: Tokens,
        /// What the tools before it left.
        left: Tokens,
        budget: Tokens,
    },
    /// No tools are offered at all; `by` is where that is written.
    SwitchedOff { by: String },
    /// A handler of the pipeline left it out, or put something else in its place.
    Removed { stage: Stage, by: String },
}

impl fmt::Display for Absence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition { saw } => {
                formatter.write_str("condition false")?;
                for (number, saw) in saw.iter().enumerate() {
                    write!(formatter, "{} {saw}", if number == 0 { ":" } else { "," })?;
                }
                Ok(())
            }
            Self::BrokenCondition { message } => write!(formatter, "condition invalid: {message}"),
            Self::Suppressed { by } => write!(formatter, "suppressed by `{by}`"),
            Self::Duplicate { of } => write!(formatter, "already in the request, from {of}"),
            Self::Shadowed { by } => write!(formatter, "hidden by {by}"),
            Self::Missing { message } | Self::Refused { message } | Self::NotRun { message } => {
                formatter.write_str(message)
            }
            Self::Empty => formatter.write_str("holds no text"),
            Self::NothingToSay => formatter.write_str("has no content here"),
            Self::OverBudget { needs, left, budget } => write!(
                formatter,
                "needs ~{} tokens, only {} of {} for tools were left (resilience.tool_preload.max_tokens)",
                needs.0, left.0, budget.0
            ),
            Self::SwitchedOff { by } => write!(formatter, "tools are switched off by {by}"),
            Self::Removed { stage, by } => write!(formatter, "removed by the handler {by} ({stage})"),
        }
    }
}

/// What one test of a condition saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saw {
    pub path: String,
    pub op: String,
    pub wanted: Value,
    /// The value at the path; null when there was none.
    pub value: Value,
    pub holds: bool,
}

impl fmt::Display for Saw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, op, wanted, value, .. } = self;
        let shown: String = value.to_string().chars().take(80).collect();
        if op == "exists" {
            write!(formatter, "{path} is {shown}")
        } else {
            write!(formatter, "{path} {op} {wanted} (actual {shown})")
        }
    }
}

/// A layer before it has its place in a request, with its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    pub id: String,
    pub kind: LayerKind,
    pub origin: Origin,
    pub lifetime: Lifetime,
    pub decision: Decision,
    /// Empty when it was skipped.
    pub text: Arc<str>,
}

impl Piece {
    #[must_use]
    pub fn is_included(&self) -> bool {
        self.decision == Decision::Included
    }

    /// The layer it becomes at this place.
    #[must_use]
    pub fn layer(&self, channel: Channel, range: Range<usize>) -> Layer {
        Layer {
            id: self.id.clone(),
            kind: self.kind,
            channel,
            origin: self.origin.clone(),
            tokens: TokenCount::estimated(&self.text),
            lifetime: self.lifetime,
            decision: self.decision.clone(),
            hash: ContentHash::of(self.text.as_bytes()),
            range,
        }
    }
}

/// A whole request before it takes a provider's form: the result of the one assembly function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
        self.included().map(|layer| layer.tokens.count).sum()
    }

    /// The layers that are in the request.
    pub fn included(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| layer.decision == Decision::Included)
    }
}
