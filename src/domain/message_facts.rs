//! When a message was said and how an answer came about: what those who look at a conversation are told beside its words.
//! No model is told of it.

use super::amount::{Money, Usage};
use super::event::{StopReason, Timestamp};
use super::id::ModelRef;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageFacts {
    /// When it joined the conversation: of an answer, when that had ended.
    pub at: Timestamp,
    /// When each of the results in it was there, in their order.
    pub results: Vec<Timestamp>,
    /// Of an answer.
    pub answer: Option<AnswerFacts>,
}

/// Who answered, what it took, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerFacts {
    pub model: ModelRef,
    pub usage: Usage,
    /// Where its price is known.
    pub spend: Option<Money>,
    pub stop: StopReason,
}

impl MessageFacts {
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        Self { at, ..Self::default() }
    }
}
