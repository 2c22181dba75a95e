//! Where a thread comes from.

use super::capability::Permissions;
use super::id::{ModelRef, ThreadId};
use super::status::{LimitKind, Limits, is_zero};
use serde::{Deserialize, Serialize};

/// Where a thread comes from: a fact of its first event, which never changes. Who says nothing of it is a thread that a
/// person started and that goes on with none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lineage {
    /// The thread that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
    /// The first of its tree; `None` for the first itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<ThreadId>,
    /// So many threads are above it.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// The thread whose conversation it goes on with: the one before it in its chain, or the one it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<ThreadId>,
    /// The first of its chain; `None` for the first itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<ThreadId>,
    pub origin: ThreadOrigin,
    /// Whether a person looks after it though it is no conversation: a thread above it is one. What needs approval waits for
    /// them then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attended: bool,
}

/// What started a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadOrigin {
    /// A person on the screen.
    #[default]
    Screen,
    /// A command line.
    CommandLine,
    /// Another thread, its parent.
    Thread,
    /// It begins with what was said in another.
    Fork,
    /// It goes on where another one's window was full.
    Handoff,
}

impl ThreadOrigin {
    /// Every origin.
    pub const ALL: [Self; 5] = [Self::Screen, Self::CommandLine, Self::Thread, Self::Fork, Self::Handoff];

    /// The word used in files and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::CommandLine => "command_line",
            Self::Thread => "thread",
            Self::Fork => "fork",
            Self::Handoff => "handoff",
        }
    }

    /// What `word` names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.word() == word)
    }
}

impl Lineage {
    /// Of a thread that nothing is above or before.
    #[must_use]
    pub fn of(origin: ThreadOrigin) -> Self {
        Self { origin, ..Self::default() }
    }

    /// Of a child of `parent`, whose own lineage this is, and which a person looks after or not.
    #[must_use]
    pub fn child(&self, parent: &ThreadId, attended: bool) -> Self {
        Self {
            parent: Some(parent.clone()),
            root: Some(self.root.clone().unwrap_or_else(|| parent.clone())),
            depth: self.depth.saturating_add(1),
            previous: None,
            chain: None,
            origin: ThreadOrigin::Thread,
            attended,
        }
    }

    /// Of the thread that takes over from `previous`, whose own lineage this is: beside it in the tree, behind it in its
    /// chain.
    #[must_use]
    pub fn successor(&self, previous: &ThreadId) -> Self {
        Self {
            previous: Some(previous.clone()),
            chain: Some(self.chain.clone().unwrap_or_else(|| previous.clone())),
            origin: ThreadOrigin::Handoff,
            ..self.clone()
        }
    }

    /// Of a thread of one's own that begins with what was said in `from`.
    #[must_use]
    pub fn fork(from: &ThreadId) -> Self {
        Self { previous: Some(from.clone()), ..Self::of(ThreadOrigin::Fork) }
    }
}

/// Up to where a fork takes over what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkPoint {
    End,
    /// Up to the prompt at this place from the end, the newest being 1, without that.
    Prompt(usize),
    /// Up to the prompt that led to the request of this number, without that.
    Request(u32),
    /// Up to what the line at this byte of the log says: a prompt without that, anything else with it, an answer with what
    /// its calls gave.
    Entry(u64),
}

/// What a thread hands on to a child.
#[derive(Clone, Debug, PartialEq)]
pub struct Parent {
    pub id: ThreadId,
    /// What the child uses where nothing else is said.
    pub model: ModelRef,
    /// The child's.
    pub lineage: Lineage,
    pub limits: Limits,
    pub permissions: Permissions,
}

/// Who set a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The settings of agents, or what is built in.
    Defaults,
    Directive,
    /// Whoever started the thread.
    Override,
    /// The parent has no more to give.
    Parent,
}

/// Who set each limit of a thread; nothing for one that is not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitSources {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<LimitSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<LimitSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<LimitSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<LimitSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawns: Option<LimitSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<LimitSource>,
}

impl LimitSource {
    /// Whether somebody named this amount for the thread.
    #[must_use]
    pub fn is_named(source: Option<Self>) -> bool {
        matches!(source, Some(Self::Directive | Self::Override))
    }
}

impl LimitSources {
    /// Who set the limit of that kind.
    #[must_use]
    pub fn of(&self, kind: LimitKind) -> Option<LimitSource> {
        match kind {
            LimitKind::Turns => self.turns,
            LimitKind::Tokens => self.tokens,
            LimitKind::Spend => self.spend,
            LimitKind::Duration => self.duration_seconds,
        }
    }

    /// Nobody set any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// `source` for each limit that is set.
    #[must_use]
    pub fn all(limits: &Limits, source: LimitSource) -> Self {
        Self {
            turns: limits.turns.map(|_| source),
            tokens: limits.tokens.map(|_| source),
            spend: limits.spend.map(|_| source),
            duration_seconds: limits.duration_seconds.map(|_| source),
            spawns: limits.spawns.map(|_| source),
            depth: limits.depth.map(|_| source),
        }
    }

    /// These with every one that `over` names replaced: goes with [`Limits::overridden`].
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
}

/// Limits, and who set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetLimits {
    pub limits: Limits,
    #[serde(skip_serializing_if = "LimitSources::is_empty")]
    pub limits_by: LimitSources,
}

impl SetLimits {
    /// `limits`, all of them set by `source`.
    #[must_use]
    pub fn by(source: LimitSource, limits: Limits) -> Self {
        Self { limits, limits_by: LimitSources::all(&limits, source) }
    }

    /// These with every limit that `over` sets replaced.
    #[must_use]
    pub fn overridden(self, over: Self) -> Self {
        Self { limits: self.limits.overridden(over.limits), limits_by: self.limits_by.overridden(over.limits_by) }
    }

    /// These as those of a child of a thread with the limits `parent`, as [`Limits::below`] says; what is less than was set
    /// is set by the parent.
    #[must_use]
    pub fn below(self, parent: &Limits) -> Option<Self> {
        fn by<T: PartialEq + Copy>(set: (Option<T>, Option<LimitSource>), now: Option<T>) -> Option<LimitSource> {
            if set.0 == now { set.1 } else { Some(LimitSource::Parent) }
        }
        let Self { limits: set, limits_by } = self;
        let limits = set.below(parent)?;
        let limits_by = LimitSources {
            turns: by((set.turns, limits_by.turns), limits.turns),
            tokens: by((set.tokens, limits_by.tokens), limits.tokens),
            spend: by((set.spend, limits_by.spend), limits.spend),
            duration_seconds: by((set.duration_seconds, limits_by.duration_seconds), limits.duration_seconds),
            spawns: by((set.spawns, limits_by.spawns), limits.spawns),
            depth: by((set.depth, limits_by.depth), limits.depth),
        };
        Some(Self { limits, limits_by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ThreadId {
        text.parse().unwrap()
    }

    #[test]
    fn a_tree_and_a_chain_remember_their_first() {
        let (a, b, c) = (id("a-1"), id("b-2"), id("c-3"));
        let root = Lineage::of(ThreadOrigin::CommandLine);
        let child = root.child(&a, true);
        assert_eq!((child.parent.as_ref(), child.root.as_ref(), child.depth), (Some(&a), Some(&a), 1));
        let grandchild = child.child(&b, false);
        assert_eq!((grandchild.parent.as_ref(), grandchild.root.as_ref(), grandchild.depth), (Some(&b), Some(&a), 2));
        let next = child.successor(&b);
        assert_eq!((next.parent.as_ref(), next.previous.as_ref(), next.depth), (Some(&a), Some(&b), 1));
        assert_eq!((next.chain.as_ref(), next.successor(&c).chain), (Some(&b), Some(b.clone())));
        assert_eq!(Lineage::fork(&c).parent, None);
    }

    #[test]
    fn words_are_those_of_json() {
        for origin in ThreadOrigin::ALL {
            assert_eq!(serde_json::to_value(origin).unwrap(), origin.word());
            assert_eq!(ThreadOrigin::from_word(origin.word()), Some(origin));
        }
    }

    #[test]
    fn each_limit_remembers_who_set_it() {
        let set = |turns, duration_seconds| Limits { turns, duration_seconds, ..Limits::default() };
        let limits = SetLimits::by(LimitSource::Defaults, set(Some(25), Some(60)))
            .overridden(SetLimits::by(LimitSource::Directive, set(Some(5), None)));
        assert_eq!(limits.limits, set(Some(5), Some(60)));
        assert_eq!(limits.limits_by.turns, Some(LimitSource::Directive));
        assert_eq!(limits.limits_by.duration_seconds, Some(LimitSource::Defaults));
        assert_eq!(limits.limits_by.spend, None);
    }
}
