//! How far estimates of tokens are off: what providers reported, beside what was estimated before.

use crate::domain::{ModelRef, Tokens};
use serde::Serialize;

/// What earlier requests of a family of models say about an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gauge {
    /// An estimate times this is what is reported on average.
    pub ratio: f64,
    /// By how many hundredths a request was off after that, on average.
    pub error_percent: u32,
    /// How many requests that is from.
    pub requests: usize,
}

/// Requests of less say too little.
const LEAST: Tokens = Tokens(50);

impl Gauge {
    /// From pairs of what was estimated and what was reported. None when there is nothing to go by.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "tokens of a request are far below 2^52")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred at most")]
    pub fn of(pairs: &[(Tokens, Tokens)]) -> Option<Self> {
        let telling: Vec<(f64, f64)> = pairs
            .iter()
            .filter(|(estimate, reported)| *estimate >= LEAST && *reported > Tokens(0))
            .map(|(estimate, reported)| (estimate.0 as f64, reported.0 as f64))
            .collect();
        let estimated: f64 = telling.iter().map(|(estimate, _)| estimate).sum();
        if telling.is_empty() {
            return None;
        }
        let ratio = telling.iter().map(|(_, reported)| reported).sum::<f64>() / estimated;
        let off =
            telling.iter().map(|(estimate, reported)| (estimate * ratio - reported).abs() / reported).sum::<f64>();
        let error_percent = (off / telling.len() as f64 * 100.0).ceil().clamp(1.0, 999.0) as u32;
        Some(Self { ratio, error_percent, requests: telling.len() })
    }

    /// The estimate as it should have been.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "tokens of a request are far below 2^52")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "neither negative nor huge")]
    pub fn corrected(&self, estimate: Tokens) -> Tokens {
        Tokens((estimate.0 as f64 * self.ratio).round() as u64)
    }
}

/// Models that count alike, as far as their names tell: those of one provider whose names begin with the same word.
#[must_use]
pub fn family(model: &ModelRef) -> (&str, &str) {
    let end = model.model.find(|letter: char| !letter.is_alphabetic()).unwrap_or(model.model.len());
    (&model.provider, model.model.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_corrected_by_what_was_reported() {
        assert_eq!(Gauge::of(&[]), None);
        assert_eq!(Gauge::of(&[(Tokens(10), Tokens(20)), (Tokens(1_000), Tokens(0))]), None);
        let gauge = Gauge::of(&[(Tokens(1_000), Tokens(1_200)), (Tokens(1_000), Tokens(1_000))]).unwrap();
        assert!((gauge.ratio - 1.1).abs() < 1e-9);
        assert_eq!((gauge.error_percent, gauge.requests), (10, 2));
        assert_eq!(gauge.corrected(Tokens(200)), Tokens(220));
        assert_eq!(Gauge::of(&[(Tokens(100), Tokens(130))]).unwrap().error_percent, 1);
    }

    #[test]
    fn models_of_one_name_count_alike() {
        let model = |name: &str| ModelRef::new("anthropic", name);
        assert_eq!(family(&model("claude-sonnet-4-5")), family(&model("claude-haiku-4-5")));
        assert_ne!(family(&model("gpt-5")), family(&model("o3")));
    }
}
