//! How much a model thinks before it answers.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// How much a model thinks before it answers, written behind its name: `anthropic/claude-opus-4-6:high`. Without one, what its
/// provider does by itself. The words are pi's; what each becomes in a request stands in `providers/thinking.rs`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ThinkingLevel {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    /// As much as a model can.
    Xhigh,
}

impl ThinkingLevel {
    /// Every level, the least first.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// A name, and the level behind its last colon, where one stands there.
    #[must_use]
    pub fn split(name: &str) -> (&str, Option<Self>) {
        let levelled = name.rsplit_once(':').and_then(|(name, level)| Some((name, level.parse().ok()?)));
        levelled.map_or((name, None), |(name, level)| (name, Some(level)))
    }

    /// As it is written behind a model.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.into()
    }
}
