//! What sending the draft would come to: its own tokens, those of the whole request, their share of the window, the
//! price. All of it is estimated.

use crate::domain::{Message, ModelRef, Money, ThreadId, ToAttach, Tokens, Values};

/// What the coming request is reckoned for. When it is another, what was reckoned no longer holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Coming {
    pub thread: Option<ThreadId>,
    pub directive: String,
    pub model: ModelRef,
    pub inputs: Values,
    /// Size of the next request of the thread without a prompt; zero before the first.
    pub context: Tokens,
    /// Files, folders and threads that the draft names.
    pub files: Vec<ToAttach>,
}

/// What is known of a coming request without its prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    pub coming: Coming,
    pub tokens: Tokens,
    /// Size of the texts that go along with the prompt, in bytes.
    pub attached: u64,
    pub window: Option<Tokens>,
    /// Price of a million tokens; none where no price is known.
    pub per_million: Option<Money>,
}

/// The reckoning for the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    pub draft: Tokens,
    pub total: Tokens,
    pub window: Option<Tokens>,
    pub cost: Option<Money>,
}

impl Counter {
    /// Of a draft of so many bytes and images on top of `basis`.
    #[must_use]
    pub fn of(basis: &Basis, bytes: usize, images: usize) -> Self {
        let attached = usize::try_from(basis.attached).unwrap_or(usize::MAX);
        let draft = Message::tokens_of(bytes.saturating_add(attached), images);
        let total = basis.tokens + draft;
        let price = basis.per_million.and_then(|price| u64::try_from(price.0).ok()).filter(|price| *price > 0);
        Self { draft, total, window: basis.window, cost: price.map(|price| Money::price(total, price)) }
    }

    /// In words, from many to few.
    #[must_use]
    pub fn words(&self) -> [String; 3] {
        let Self { draft, total, window, cost } = self;
        let share = window
            .and_then(|window| total.percent_of(window))
            .map(|percent| format!(" · {percent}%"))
            .unwrap_or_default();
        let of = window.map(|window| format!(" of {window}")).unwrap_or_default();
        let cost = cost.map(|cost| format!(" · ~{cost}")).unwrap_or_default();
        let own = format!("~+{draft} tok");
        [format!("{own} · request ~{total}{share}{of}{cost}"), format!("{own}{share}{cost}"), own]
    }
}
