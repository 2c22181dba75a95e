//! Tokens and money, as whole numbers with a unit in the type.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A number of model tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Tokens {
    /// Rough count of a text nobody has tokenised: one token for four bytes, rounded up. Always shown as an estimate.
    #[must_use]
    pub fn estimate(text: &str) -> Self {
        Self::of_bytes(text.len())
    }

    /// The same of a text of so many bytes.
    #[must_use]
    pub fn of_bytes(bytes: usize) -> Self {
        Self((bytes as u64).div_ceil(4))
    }

    /// How much of `whole` it is, to the nearest percent, and at least one where it is anything. None of nothing.
    #[must_use]
    pub fn percent_of(self, whole: Self) -> Option<u64> {
        let half = whole.0.checked_sub(1)? / 2;
        let nearest = self.0.saturating_mul(100).saturating_add(half) / whole.0;
        Some(nearest.max(u64::from(self.0 > 0)))
    }
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self(0), Add::add)
    }
}

impl fmt::Display for Tokens {
    /// `812`, `6.4k`, `1.2M`.
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            count @ 0..=999 => write!(formatter, "{count}"),
            count @ 1_000..=999_949 => write!(formatter, "{:.1}k", count as f64 / 1e3),
            count => write!(formatter, "{:.1}M", count as f64 / 1e6),
        }
    }
}

/// An amount of money in millionths of a US dollar. Serialised as that whole number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub i64);

impl Money {
    pub const ZERO: Self = Self(0);

    /// The price of `tokens` at `micro_per_million` millionths of a dollar for a million tokens, rounded up.
    #[must_use]
    pub fn price(tokens: Tokens, micro_per_million: u64) -> Self {
        let micro = (u128::from(tokens.0) * u128::from(micro_per_million)).div_ceil(1_000_000);
        Self(i64::try_from(micro).unwrap_or(i64::MAX))
    }

    /// From dollars as people write them in files.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "saturates; amounts are small")]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * 1e6).round() as i64)
    }

    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for output with at most six decimals")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Money {
    /// `$0.0003` below a cent, `$0.18` from there on.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0 && self.0.abs() < 10_000 {
            write!(formatter, "${:.4}", self.dollars())
        } else {
            write!(formatter, "${:.2}", self.dollars())
        }
    }
}

/// What one call used, as the provider reported it. Classes do not overlap: `input` leaves out what came from or went
/// to the cache, `output` includes `reasoning`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input: Tokens,
    pub output: Tokens,
    pub cache_read: Tokens,
    pub cache_write: Tokens,
    /// The part of `output` that was thinking, where the provider tells.
    pub reasoning: Tokens,
}

impl Usage {
    /// All tokens the request occupied in the context window before the answer.
    #[must_use]
    pub fn prompt(&self) -> Tokens {
        self.input + self.cache_read + self.cache_write
    }

    /// Prompt and answer together.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.prompt() + self.output
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_to_the_nearest_percent_and_never_nothing() {
        let share = |part, whole| Tokens(part).percent_of(Tokens(whole));
        assert_eq!(
            (share(0, 200), share(1, 200_000), share(149, 10_000), share(151, 10_000)),
            (Some(0), Some(1), Some(1), Some(2))
        );
        assert_eq!(
            (share(996, 1_000), share(250, 100), share(1, 1), share(5, 0)),
            (Some(100), Some(250), Some(100), None)
        );
        assert!(share(u64::MAX, 3).is_some());
    }

    #[test]
    fn prices_round_up_to_a_millionth() {
        assert_eq!(Money::price(Tokens(1), 3_000_000), Money(3));
        assert_eq!(Money::price(Tokens(1), 250_000), Money(1));
        assert_eq!(Money::price(Tokens(u64::MAX), u64::MAX), Money(i64::MAX));
    }

    #[test]
    fn amounts_are_short_on_screen() {
        assert_eq!(Tokens(999).to_string(), "999");
        assert_eq!(Tokens(6_412).to_string(), "6.4k");
        assert_eq!(Tokens(999_999).to_string(), "1.0M");
        assert_eq!(Money(300).to_string(), "$0.0003");
        assert_eq!(Money(180_000).to_string(), "$0.18");
    }
}
