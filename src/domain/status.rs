//! What a thread is, what it may use and how it stands.

use super::amount::{Money, Tokens, Usage};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a thread ends a prompt: an interactive one waits for the next, a one-shot one completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadKind {
    Interactive,
    OneShot,
}

/// Where a thread stands. The last five are terminal; an interactive thread in any of them but `Continued` can be
/// resumed by a new prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Created,
    Queued,
    Running,
    /// For what, [`Waiting`] tells.
    Waiting,
    Suspended,
    Completed,
    Error,
    Cancelled,
    Killed,
    Continued,
}

impl Status {
    /// The word used in files, in JSON and on the screen.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Suspended => "suspended",
            Self::Completed => "completed",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
            Self::Continued => "continued",
        }
    }

    /// The status that `word` names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [
            Self::Created,
            Self::Queued,
            Self::Running,
            Self::Waiting,
            Self::Suspended,
            Self::Completed,
            Self::Error,
            Self::Cancelled,
            Self::Killed,
            Self::Continued,
        ]
        .into_iter()
        .find(|status| status.word() == word)
    }

    /// The word for people, in lists: of a thread that waits it says for what.
    #[must_use]
    pub fn told(self, waiting: Option<Waiting>) -> &'static str {
        match (self, waiting) {
            (Self::Waiting, Some(Waiting::Approval)) => "approval",
            (Self::Waiting, Some(Waiting::RateLimit)) => "retrying",
            (Self::Waiting, Some(Waiting::Storage)) => "cannot save",
            (Self::Waiting, Some(Waiting::Breakpoint)) => "paused",
            (Self::Waiting, Some(Waiting::User) | None) => "idle",
            _ => self.word(),
        }
    }

    /// What a thread waits for, where its status does not say it all: `what` is the item of a call that needs approval, or
    /// the limit that was reached.
    #[must_use]
    pub fn waits_for(self, waiting: Option<Waiting>, what: Option<&str>) -> Option<String> {
        match (self, waiting) {
            (Self::Waiting, Some(Waiting::Approval)) => {
                Some(what.map_or("needs approval".to_owned(), |item| format!("needs approval: {item}")))
            }
            (Self::Suspended, _) => Some(what.map_or("waits for your message".to_owned(), |limit| {
                format!("at its limit of {limit}: waits for your message")
            })),
            (Self::Queued, _) => Some(what.unwrap_or("waits for a slot").to_owned()),
            (Self::Waiting, Some(Waiting::RateLimit)) => Some("waits for the provider".to_owned()),
            (Self::Waiting, Some(Waiting::Storage)) => Some("waits until it can be saved".to_owned()),
            (Self::Waiting, Some(Waiting::Breakpoint)) => Some("at a breakpoint: /go goes on".to_owned()),
            (Self::Running, Some(Waiting::Child)) => Some("waits for threads it started".to_owned()),
            (Self::Running, Some(Waiting::Hook)) => Some("waits for a hook".to_owned()),
            _ => None,
        }
    }

    /// Whether the thread has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Error | Self::Cancelled | Self::Killed | Self::Continued)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// What a waiting thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// The next prompt.
    User,
    Approval,
    Child,
    /// A provider asked for a pause, or a failed call is about to be tried again.
    RateLimit,
    Hook,
    /// The store takes nothing: the disk is full, or cannot be written.
    Storage,
    /// A person, who had it stand still between two handlers.
    Breakpoint,
}

impl Waiting {
    /// The word used in files and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Approval => "approval",
            Self::Child => "child",
            Self::RateLimit => "rate_limit",
            Self::Hook => "hook",
            Self::Storage => "storage",
            Self::Breakpoint => "breakpoint",
        }
    }

    /// What `word` names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all =
            [Self::User, Self::Approval, Self::Child, Self::RateLimit, Self::Hook, Self::Storage, Self::Breakpoint];
        all.into_iter().find(|waiting| waiting.word() == word)
    }
}

/// What a thread has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Answers received; a failed attempt is no turn.
    pub turns: u32,
    pub usage: Usage,
    /// Sum over the answers whose model has a known price.
    pub spend: Money,
    /// Whether some answer came from a model without a known price, so that `spend` is a lower bound.
    pub unpriced: bool,
    /// Working time: from each prompt to the end of its work, waiting for the user left out.
    pub elapsed_ms: u64,
    /// Tokens of answers whose model has no known price.
    #[serde(skip_serializing_if = "no_tokens")]
    pub unpriced_tokens: Tokens,
    /// Child threads that it has started.
    #[serde(skip_serializing_if = "is_zero")]
    pub spawns: u32,
}

impl Cost {
    /// Counts a call; without a price, as tokens of an unknown one.
    pub fn charge(&mut self, usage: Usage, spend: Option<Money>) {
        self.usage += usage;
        if let Some(spend) = spend {
            self.spend += spend;
        } else {
            self.unpriced |= usage.total() > Tokens(0);
            self.unpriced_tokens += usage.total();
        }
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    /// What two threads have used together.
    fn add(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            usage: self.usage + other.usage,
            spend: self.spend + other.spend,
            unpriced: self.unpriced || other.unpriced,
            elapsed_ms: self.elapsed_ms.saturating_add(other.elapsed_ms),
            unpriced_tokens: self.unpriced_tokens + other.unpriced_tokens,
            spawns: self.spawns.saturating_add(other.spawns),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn no_tokens(tokens: &Tokens) -> bool {
    *tokens == Tokens(0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(super) fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What a thread may use. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Input and output tokens together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<Money>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<u64>,
    /// Child threads that it may start, over its whole life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawns: Option<u32>,
    /// Levels of threads below it: with 0 it starts none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl Limits {
    /// What a one-shot thread gets when nothing else is said: 25 turns, 200,000 tokens, one dollar, half an hour.
    /// These are the defaults directives of this format have always been written against.
    pub const ONE_SHOT: Self = Self {
        turns: Some(25),
        tokens: Some(Tokens(200_000)),
        spend: Some(Money(1_000_000)),
        duration_seconds: Some(1_800),
        ..Self::TREE
    };

    /// What every thread gets when nothing else is said: 50 children, and 10 levels of them. Nobody looks at each of those.
    pub const TREE: Self =
        Self { turns: None, tokens: None, spend: None, duration_seconds: None, spawns: Some(50), depth: Some(10) };

    /// These limits, none of them beyond what `parent`, whose child the thread is, may use itself; one level less of
    /// threads below it. Nothing where the parent may have no child.
    #[must_use]
    pub fn below(self, parent: &Self) -> Option<Self> {
        let depth = match parent.depth {
            Some(levels) => Some(levels.checked_sub(1)?),
            None => None,
        };
        Some(self.lowest(Self { depth, ..*parent }))
    }

    /// The lower of each of these and of those.
    #[must_use]
    pub fn lowest(self, those: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            turns: least(self.turns, those.turns),
            tokens: least(self.tokens, those.tokens),
            spend: least(self.spend, those.spend),
            duration_seconds: least(self.duration_seconds, those.duration_seconds),
            spawns: least(self.spawns, those.spawns),
            depth: least(self.depth, those.depth),
        }
    }

    /// These limits with every value that `over` names replaced.
    #[must_use]
    pub fn overridden(self, over: Self) -> Self {
        Self {
            turns: over.turns.or(self.turns),
            tokens: over.tokens.or(self.tokens),
            spend: over.spend.or(self.spend),
            duration_seconds: over.duration_seconds.or(self.duration_seconds),
            spawns: over.spawns.or(self.spawns),
            depth: over.depth.or(self.depth),
        }
    }

    /// These limits with as much again of the one that was reached.
    #[must_use]
    pub fn raised(self, code: LimitKind, cost: &Cost) -> Self {
        fn more<T: Copy + Into<u64>>(limit: Option<T>, used: u64) -> Option<u64> {
            let limit: u64 = limit?.into();
            Some(used.max(limit).saturating_add(limit.max(1)))
        }
        let turns = || more(self.turns, u64::from(cost.turns)).map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
        let micro = |money: Money| u64::try_from(money.0).unwrap_or(0);
        let spend = || more(self.spend.map(micro), micro(cost.spend));
        match code {
            LimitKind::Turns => Self { turns: turns(), ..self },
            LimitKind::Tokens => {
                let tokens = more(self.tokens.map(|tokens| tokens.0), cost.usage.total().0);
                Self { tokens: tokens.map(Tokens), ..self }
            }
            LimitKind::Spend => {
                Self { spend: spend().map(|micro| Money(i64::try_from(micro).unwrap_or(i64::MAX))), ..self }
            }
            LimitKind::Duration => {
                Self { duration_seconds: more(self.duration_seconds, cost.elapsed_ms / 1_000), ..self }
            }
        }
    }

    /// The first limit that `cost` has reached, in the order turns, tokens, spend, duration, with what was used and
    /// what is allowed. Checked before each turn.
    #[must_use]
    pub fn reached(&self, cost: &Cost) -> Option<(LimitKind, u64, u64)> {
        let micro = |money: Money| u64::try_from(money.0).unwrap_or(0);
        [
            (LimitKind::Turns, u64::from(cost.turns), self.turns.map(u64::from)),
            (LimitKind::Tokens, cost.usage.total().0, self.tokens.map(|tokens| tokens.0)),
            (LimitKind::Spend, micro(cost.spend), self.spend.map(micro)),
            (LimitKind::Duration, cost.elapsed_ms / 1_000, self.duration_seconds),
        ]
        .into_iter()
        .find_map(|(kind, current, maximum)| {
            maximum.filter(|maximum| current >= *maximum).map(|maximum| (kind, current, maximum))
        })
    }
}

/// Which limit. The word is the `code` of the `limit` event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LimitKind {
    #[serde(rename = "turns_exceeded")]
    Turns,
    #[serde(rename = "tokens_exceeded")]
    Tokens,
    #[serde(rename = "spend_exceeded")]
    Spend,
    #[serde(rename = "duration_seconds_exceeded")]
    Duration,
}

impl LimitKind {
    /// Every limit that can be reached.
    pub const ALL: [Self; 4] = [Self::Turns, Self::Tokens, Self::Spend, Self::Duration];

    /// What is limited, for people.
    #[must_use]
    pub fn thing(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Tokens => "tokens",
            Self::Spend => "dollars",
            Self::Duration => "seconds of work",
        }
    }

    /// The limit's code, as in hook conditions.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Turns => "turns_exceeded",
            Self::Tokens => "tokens_exceeded",
            Self::Spend => "spend_exceeded",
            Self::Duration => "duration_seconds_exceeded",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_limit_gives_as_much_again() {
        let cost = Cost { turns: 3, spend: Money(7), elapsed_ms: 9_000, ..Cost::default() };
        let limits = Limits { turns: Some(3), spend: Some(Money(5)), ..Limits::default() };
        assert_eq!(limits.raised(LimitKind::Turns, &cost), Limits { turns: Some(6), ..limits });
        assert_eq!(limits.raised(LimitKind::Spend, &cost), Limits { spend: Some(Money(12)), ..limits });
        assert_eq!(limits.raised(LimitKind::Duration, &cost), limits, "there is none to raise");
        for kind in [LimitKind::Turns, LimitKind::Tokens, LimitKind::Spend, LimitKind::Duration] {
            assert_ne!(limits.raised(kind, &cost).reached(&cost).map(|(reached, ..)| reached), Some(kind));
        }
    }

    #[test]
    fn words_are_those_of_json() {
        for word in ["user", "approval", "child", "rate_limit", "hook"] {
            let waiting = Waiting::from_word(word).unwrap();
            assert_eq!(serde_json::to_string(&waiting).unwrap(), format!("\"{word}\""));
        }
        assert_eq!(Waiting::from_word("rain"), None);
    }

    #[test]
    fn limits_are_met_in_their_order() {
        let cost = Cost { turns: 3, spend: Money(5), ..Cost::default() };
        let limits = Limits { turns: Some(3), spend: Some(Money(1)), ..Limits::default() };
        assert_eq!(limits.reached(&cost), Some((LimitKind::Turns, 3, 3)));
        assert_eq!(Limits::default().reached(&cost), None);
    }
}
