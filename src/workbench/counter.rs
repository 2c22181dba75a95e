//! What sending the draft would come to: its own tokens, those of the whole request, their share of the window, the
//! price. All of it is estimated.

use super::message::Effect;
use super::model::Model;
use crate::domain::{ModelRef, Money, ThreadId, Tokens, Values};

/// What the coming request is reckoned for. When it is another, what was reckoned no longer holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Coming {
    pub thread: Option<ThreadId>,
    pub directive: String,
    pub model: ModelRef,
    pub inputs: Values,
    /// Tokens of the thread's last request and its answer; zero before the first.
    pub context: Tokens,
}

/// What is known of a coming request without its prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    pub coming: Coming,
    pub tokens: Tokens,
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

impl Model {
    fn coming(&self) -> Coming {
        Coming {
            thread: self.view.thread.clone(),
            directive: self.directive.clone(),
            model: self.model.clone(),
            inputs: self.inputs.clone(),
            context: self.view.state.as_ref().map_or(Tokens(0), |state| state.context),
        }
    }

    /// Asks for the basis of the draft's request, once for each that it could be.
    pub(super) fn want_basis(&mut self) -> Option<Effect> {
        if self.composer.is_empty() || self.begins_command() || self.overlay.is_some() || self.view.is_working() {
            return None;
        }
        let coming = self.coming();
        if self.browser.coming.as_ref() == Some(&coming) {
            return None;
        }
        self.browser.coming = Some(coming.clone());
        Some(Effect::LoadBasis(coming))
    }

    pub(super) fn basis_read(&mut self, basis: Basis) -> Vec<Effect> {
        self.changed |= self.browser.coming.as_ref() == Some(&basis.coming);
        self.browser.basis = Some(basis);
        Vec::new()
    }

    /// What sending the draft would come to, once that is known.
    #[must_use]
    pub fn counter(&self) -> Option<Counter> {
        if self.composer.is_empty() || self.view.is_working() {
            return None;
        }
        let basis = self.browser.basis.as_ref().filter(|basis| self.browser.coming.as_ref() == Some(&basis.coming))?;
        if basis.coming != self.coming() {
            return None;
        }
        let draft = Tokens::of_bytes(self.composer.bytes());
        let total = basis.tokens + draft;
        let price = basis.per_million.and_then(|price| u64::try_from(price.0).ok()).filter(|price| *price > 0);
        Some(Counter { draft, total, window: basis.window, cost: price.map(|price| Money::price(total, price)) })
    }
}

impl Counter {
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
