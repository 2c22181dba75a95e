//! One message of a conversation, in the form every provider's wire is made from.

use super::amount::Tokens;
use super::attachment::Attachment;
use super::custom_message::CustomMessage;
use super::id::{CallId, ContentHash};
use super::image::{IMAGE_TOKENS, Image};
use super::message_facts::MessageFacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Who speaks. Tool results travel in `User` messages; each provider puts them where its wire wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// A message: a role and its blocks in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub blocks: Vec<Block>,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// What the model thought. `signature` must be sent back unchanged where a provider gave one.
    Thinking {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Thinking that the provider gave only in encrypted form, sent back unchanged.
    RedactedThinking {
        data: String,
    },
    ToolCall(ToolCall),
    ToolResult {
        call_id: CallId,
        output: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        error: bool,
        /// What it shows beside its text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// An image kept in the content store.
    Image {
        media_type: String,
        hash: ContentHash,
    },
    /// A text that the prompt names behind `@`, as it was when that was sent.
    Attached(Attachment),
    /// What a handler of the pipeline added.
    Custom(CustomMessage),
}

impl Block {
    /// What the model reads of a text, an attachment or an added message; nothing of the others.
    #[must_use]
    pub fn told(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { text } => Some(text.into()),
            Self::Attached(attachment) => Some(attachment.told().into()),
            Self::Custom(custom) => Some(custom.text.as_str().into()),
            Self::Thinking { .. }
            | Self::RedactedThinking { .. }
            | Self::ToolCall(_)
            | Self::ToolResult { .. }
            | Self::Image { .. } => None,
        }
    }

    /// The images that a result shows.
    #[must_use]
    pub fn shown(&self) -> &[Image] {
        if let Self::ToolResult { images, .. } = self { images } else { &[] }
    }

    /// The images that go along with it to a model, which `sees` those of results or not: their hashes.
    pub fn images_to_send(&self, sees: bool) -> impl Iterator<Item = &ContentHash> {
        let goes = sees || self.shown().is_empty();
        self.images().filter(move |_| goes).map(|(_, hash)| hash)
    }

    /// The images that it holds: their media types and hashes.
    pub fn images(&self) -> impl Iterator<Item = (&str, &ContentHash)> {
        let own = if let Self::Image { media_type, hash } = self { Some((media_type.as_str(), hash)) } else { None };
        own.into_iter().chain(self.shown().iter().map(|image| (image.media_type.as_str(), &image.hash)))
    }
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub call_id: CallId,
    /// The name under which the tool was offered.
    pub tool: String,
    /// The arguments: an object where they could be read, otherwise the text itself.
    pub input: serde_json::Value,
}

impl ToolCall {
    /// What an item that is executed is given: the object itself, or what a text spells, as some models write it.
    #[must_use]
    pub fn parameters(given: Option<&Value>) -> Value {
        match given {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_text| text.as_str().into()),
            Some(Value::Null) | None => serde_json::json!({}),
            Some(other) => other.clone(),
        }
    }

    /// Whether the arguments of a call of the primary `execute` only ask what would be done.
    #[must_use]
    pub fn is_dry_run(input: &Value) -> bool {
        input.get("dry_run").and_then(Value::as_bool).unwrap_or_default()
    }

    /// A call that runs a tool through the primary `execute` is a call of that tool: it is judged, shown and run as such.
    #[must_use]
    pub fn straight(self) -> Self {
        let word = |name: &str| self.input.get(name).and_then(Value::as_str).map(str::to_owned);
        let executes = matches!(self.tool.as_str(), "rye_execute" | "rye/execute");
        let executes = executes && !Self::is_dry_run(&self.input);
        let tool = word("item_id").filter(|_| executes && word("item_type").as_deref() == Some("tool"));
        let Some(tool) = tool else { return self };
        let input = Self::parameters(self.input.get("parameters"));
        Self { call_id: self.call_id, tool, input }
    }
}

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name to call it by: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON schema of its arguments, an object's.
    pub schema: serde_json::Value,
}

impl Message {
    /// A user message of one text.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::Text { text: text.into() }] }
    }

    /// What a person said, with the images and texts that go along before it.
    #[must_use]
    pub fn said(text: &str, images: &[Image], files: &[Attachment]) -> Self {
        let image = |image: &Image| Block::Image { media_type: image.media_type.clone(), hash: image.hash.clone() };
        let attached = files.iter().cloned().map(Block::Attached);
        let mut blocks: Vec<Block> = images.iter().map(image).chain(attached).collect();
        blocks.push(Block::Text { text: text.to_owned() });
        Self { role: Role::User, blocks }
    }

    /// What a handler of the pipeline adds.
    #[must_use]
    pub fn custom(custom: CustomMessage) -> Self {
        Self { role: Role::User, blocks: vec![Block::Custom(custom)] }
    }

    /// What a handler of the pipeline added, if this is that.
    #[must_use]
    pub fn as_custom(&self) -> Option<&CustomMessage> {
        if let [Block::Custom(custom)] = self.blocks.as_slice() { Some(custom) } else { None }
    }

    /// An assistant message of one text.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, blocks: vec![Block::Text { text: text.into() }] }
    }

    /// Estimate of its size: that of all it holds, and of what a provider writes around it.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        let bytes = |block: &Block| match block {
            Block::Text { text } => text.len(),
            Block::Thinking { text, signature } => text.len() + signature.as_ref().map_or(0, String::len),
            Block::RedactedThinking { data } => data.len(),
            Block::ToolCall(call) => call.call_id.0.len() + call.tool.len() + call.input.to_string().len(),
            Block::ToolResult { call_id, output, .. } => call_id.0.len() + output.len(),
            Block::Attached(attachment) => attachment.told().len(),
            Block::Custom(custom) => custom.text.len(),
            Block::Image { .. } => 0,
        };
        let images = self.blocks.iter().flat_map(Block::images).count();
        Self::tokens_of(self.blocks.iter().map(bytes).sum(), images)
    }

    /// Estimate of the size of a message with so many bytes of text and so many images. An empty one is not sent.
    #[must_use]
    pub fn tokens_of(bytes: usize, images: usize) -> Tokens {
        /// Who speaks, and where the message begins and ends.
        const AROUND: Tokens = Tokens(4);
        if bytes == 0 && images == 0 {
            return Tokens(0);
        }
        Tokens::of_bytes(bytes) + AROUND + Tokens(images as u64 * IMAGE_TOKENS)
    }

    /// The message as it is stored and hashed.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Maps with text keys, texts and numbers: nothing that JSON could refuse.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// All that the model reads as text, attachments included.
    #[must_use]
    pub fn told(&self) -> String {
        self.blocks.iter().filter_map(Block::told).collect()
    }

    /// The texts that go along with it.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.blocks.iter().filter_map(|block| if let Block::Attached(attached) = block { Some(attached) } else { None })
    }

    /// All text blocks together, without thinking, calls, results and attachments.
    #[must_use]
    pub fn text(&self) -> String {
        let mut all = String::new();
        for block in &self.blocks {
            if let Block::Text { text } = block {
                all.push_str(text);
            }
        }
        all
    }

    /// Everything that was thought in it, as far as that can be read.
    #[must_use]
    pub fn thinking(&self) -> String {
        let thought = |block: &Block| if let Block::Thinking { text, .. } = block { Some(text.clone()) } else { None };
        self.blocks.iter().filter_map(thought).collect()
    }

    /// Whether a person (or a parent) said this, as opposed to a message that only carries tool results.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        let said = |block: &Block| matches!(block, Block::Text { .. } | Block::Image { .. });
        self.role == Role::User && self.blocks.iter().any(said)
    }

    /// The tool calls in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| if let Block::ToolCall(call) = block { Some(call) } else { None })
    }
}

/// A message of a history with what every request wants to know of it, reckoned once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub message: Arc<Message>,
    /// Hash of the message as JSON: its name in the content store.
    pub hash: ContentHash,
    /// Estimate of the message's size.
    pub tokens: Tokens,
    /// When it was said, where that is known. Requests are the same whenever it was.
    #[serde(skip)]
    pub said: Option<Arc<MessageFacts>>,
}

/// The same words are the same entry, whenever they were said.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (&self.message, &self.hash, self.tokens) == (&other.message, &other.hash, other.tokens)
    }
}

impl Entry {
    #[must_use]
    pub fn new(message: Message) -> Self {
        let json = message.to_json();
        let (hash, tokens) = (ContentHash::of(json.as_bytes()), message.tokens());
        Self { hash, tokens, message: Arc::new(message), said: None }
    }

    /// The same, of which it is known when it was said.
    #[must_use]
    pub fn said(message: Message, said: MessageFacts) -> Self {
        Self { said: Some(Arc::new(said)), ..Self::new(message) }
    }
}
