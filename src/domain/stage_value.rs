//! What the handlers of a stage get, and what each answers with.

use super::Stage;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// Messages that a conversation may have.
pub const MOST_MESSAGES: usize = 20_000;

/// The messages of a conversation, as handlers have them. One that a handler left as it was is shared with the list before.
pub type Messages = Vec<Arc<Value>>;

/// See the module. A clone is shared with what it was made of.
#[derive(Clone, Debug, PartialEq)]
pub enum StageValue {
    Json(Arc<Value>),
    /// `messages` of the stage `context`, and nothing else.
    Messages(Arc<Messages>),
}

impl StageValue {
    /// What a handler of `stage` gets, as it was written or recorded.
    #[must_use]
    pub fn of(stage: Stage, event: Value) -> Self {
        let is_bare = |event: &Map<String, Value>| event.keys().all(|name| name == "messages" || name == "type");
        let is_conversation = stage == Stage::Context && event.as_object().is_some_and(is_bare);
        let event = Self::from(event);
        match event.messages() {
            Some(messages) if is_conversation => messages.into_owned().into(),
            Some(_) | None => event,
        }
    }

    /// The messages in it; none where it has no list of them.
    #[must_use]
    pub fn messages(&self) -> Option<Cow<'_, [Arc<Value>]>> {
        match self {
            Self::Messages(messages) => Some(Cow::Borrowed(messages)),
            Self::Json(value) => {
                let list = value.get("messages")?.as_array()?;
                Some(list.iter().cloned().map(Arc::new).collect())
            }
        }
    }

    /// As one value: the event that it is.
    #[must_use]
    pub fn json(&self) -> Cow<'_, Value> {
        match self {
            Self::Json(value) => Cow::Borrowed(value),
            Self::Messages(messages) => {
                let list: Vec<Value> = messages.iter().map(|message| Value::clone(message)).collect();
                let mut event = json!({"type": Stage::Context.name()});
                event["messages"] = list.into();
                Cow::Owned(event)
            }
        }
    }

    /// A field; none of a conversation.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        if let Self::Json(value) = self { value.get(name) } else { None }
    }

    /// Whether it is shared with `other`.
    #[must_use]
    pub fn is_shared_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(own), Self::Json(other)) => Arc::ptr_eq(own, other),
            (Self::Messages(own), Self::Messages(other)) => Arc::ptr_eq(own, other),
            (Self::Json(_), Self::Messages(_)) | (Self::Messages(_), Self::Json(_)) => false,
        }
    }
}

/// Whether two lists hold the same. What they share is not looked at.
#[must_use]
pub fn same_messages(one: &[Arc<Value>], other: &[Arc<Value>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
}

/// About as many bytes as a value has when it is written.
#[must_use]
pub fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + 4 + weight(field)).sum(),
    }
}

impl From<Value> for StageValue {
    fn from(value: Value) -> Self {
        Self::Json(Arc::new(value))
    }
}

impl From<Messages> for StageValue {
    fn from(messages: Messages) -> Self {
        Self::Messages(Arc::new(messages))
    }
}
