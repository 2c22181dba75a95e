//! How dangerous what a thread may do is, and what that calls for when it starts.
//!
//! Patterns of capabilities are classified; of those that fit a capability the one with the most dots counts, and of
//! those the most exact. A grant is a pattern itself, so it is as dangerous as the most dangerous capability that it fits: a
//! broad one is never milder than what it covers. What nothing classifies is of the strictest level there is.

use super::capability::Grant;
use super::pattern;
use std::cmp::Reverse;

/// What a level calls for. The stricter, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RiskPolicy {
    /// Nothing.
    Allow,
    /// A warning, unless the directive acknowledges it.
    Acknowledge,
    /// The thread does not start, unless the directive acknowledges it.
    Block,
}

impl RiskPolicy {
    pub const ALL: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("acknowledge_required", Self::Acknowledge), ("block", Self::Block)];
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RiskLevel {
    pub name: String,
    pub policy: RiskPolicy,
}

/// Capabilities of one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    pub pattern: String,
    /// Its place in [`RiskTable::levels`].
    pub level: usize,
}

/// Levels, the mildest first, and what is of which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RiskTable {
    pub levels: Vec<RiskLevel>,
    pub classifications: Vec<Classification>,
}

/// How strict a level is: by its policy, then by its place.
type Rank = (RiskPolicy, usize);

impl RiskTable {
    fn rank(&self, level: usize) -> Option<Rank> {
        Some((self.levels.get(level)?.policy, level))
    }

    fn strictest(&self) -> Option<Rank> {
        (0..self.levels.len()).filter_map(|level| self.rank(level)).max()
    }

    /// The rank of what these classifications fit and no others.
    fn rank_of(&self, fits: &[bool]) -> Option<Rank> {
        let fitting = self.classifications.iter().zip(fits).filter(|(_, fits)| **fits);
        let counting = fitting.filter_map(|(one, _)| Some((closeness(&one.pattern), self.rank(one.level)?))).max();
        counting.map_or_else(|| self.strictest(), |(_, rank)| Some(rank))
    }

    /// How strict the level of a grant of `pattern` is: of all capabilities that it fits, the strictest.
    fn rank_of_grant(&self, pattern: &str) -> Option<Rank> {
        let patterns: Vec<&str> = self.classifications.iter().map(|one| one.pattern.as_str()).collect();
        // What fits nothing is harmless.
        pattern::greatest(pattern, &patterns, self.strictest(), |fits| self.rank_of(fits)).flatten()
    }

    /// The level of that name.
    fn named(&self, name: &str) -> Option<Rank> {
        self.rank(self.levels.iter().position(|level| level.name == name)?)
    }
}

/// How closely a pattern names what it fits: by its dots, then as grants are compared.
fn closeness(pattern: &str) -> (usize, (bool, usize)) {
    (pattern.matches('.').count(), pattern::exactness(pattern))
}

/// What a grant is judged to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    pub level: String,
    pub policy: RiskPolicy,
    /// Whether the directive says that it knows.
    pub acknowledged: bool,
}

impl Risk {
    /// What is left to do about it.
    #[must_use]
    pub fn calls_for(&self) -> RiskPolicy {
        if self.acknowledged { RiskPolicy::Allow } else { self.policy }
    }
}

/// Everything that is classified: by the person's own settings, and by those with the project's. The stricter counts, so a
/// project makes nothing milder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Risks {
    pub tables: Vec<RiskTable>,
}

impl Risks {
    /// The risk of each grant in a directive that acknowledges these levels, each for itself and what is milder; `None`
    /// where there are no levels. Says in the grant of what level it is, where that level calls for anything.
    pub fn judge(&self, grants: &mut [Grant], acknowledged: &[&str]) -> Vec<Option<Risk>> {
        let judge = |grant: &mut Grant| {
            let ranks = self.ranks(&grant.capability);
            let risk = self.strictest(&ranks, &[]).filter(|risk| risk.policy > RiskPolicy::Allow);
            grant.risk = risk.map(|risk| risk.level);
            self.strictest(&ranks, acknowledged)
        };
        grants.iter_mut().map(judge).collect()
    }

    /// The rank of a grant of `pattern` by each of the tables.
    fn ranks(&self, pattern: &str) -> Vec<Option<Rank>> {
        self.tables.iter().map(|table| table.rank_of_grant(pattern)).collect()
    }

    /// Of what the tables say, what asks for most.
    fn strictest(&self, ranks: &[Option<Rank>], acknowledged: &[&str]) -> Option<Risk> {
        let judged = self.tables.iter().zip(ranks).filter_map(|(table, rank)| {
            let rank = (*rank)?;
            let level = table.levels.get(rank.1)?.name.clone();
            let acknowledged = acknowledged.iter().filter_map(|name| table.named(name)).any(|known| known >= rank);
            Some(Risk { level, policy: rank.0, acknowledged })
        });
        // Of two that are alike, the person's.
        judged
            .enumerate()
            .max_by_key(|(table, risk)| (risk.calls_for(), risk.policy, Reverse(*table)))
            .map(|(_, risk)| risk)
    }

    /// The names of all levels.
    pub fn levels(&self) -> impl Iterator<Item = &str> + Clone {
        self.tables.iter().flat_map(|table| &table.levels).map(|level| level.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::capability::matches;
    use proptest::prelude::*;

    fn one(risks: &Risks, pattern: &str, acknowledged: &[&str]) -> Option<Risk> {
        risks.judge(&mut [Grant::new(pattern, false)], acknowledged).pop().flatten()
    }

    fn pattern() -> impl Strategy<Value = String> {
        let parts = vec!["a", "b", ".", ".", "*", "?", "[ab]", "[!a]"];
        prop::collection::vec(prop::sample::select(parts), 0..7).prop_map(|parts| parts.concat())
    }

    fn table() -> impl Strategy<Value = RiskTable> {
        let policy = prop::sample::select(vec![RiskPolicy::Allow, RiskPolicy::Acknowledge, RiskPolicy::Block]);
        let levels = prop::collection::vec(policy, 1..5);
        (levels, prop::collection::vec((pattern(), 0..5_usize), 0..6)).prop_map(|(policies, patterns)| {
            let count = policies.len();
            let level = |(place, policy)| RiskLevel { name: format!("l{place}"), policy };
            let class = |(pattern, level)| Classification { pattern, level: level % count };
            RiskTable {
                levels: policies.into_iter().enumerate().map(level).collect(),
                classifications: patterns.into_iter().map(class).collect(),
            }
        })
    }

    /// By the classification with the most dots, of those the most exact; of two that are alike, the stricter.
    fn rank_of_id(table: &RiskTable, id: &str) -> Rank {
        let fitting = table.classifications.iter().filter(|one| matches(&one.pattern, id));
        let most = fitting.clone().map(|one| closeness(&one.pattern)).max();
        let of_most = fitting.filter(|one| Some(closeness(&one.pattern)) == most);
        let of_most = of_most.filter_map(|one| table.rank(one.level));
        of_most.max().unwrap_or_else(|| table.strictest().unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

        #[test]
        fn s03_a_grant_is_never_milder_than_what_it_covers(
            grant in pattern(), table in table(), ids in prop::collection::vec("[ab.]{0,6}", 1..40),
        ) {
            let rank = table.rank_of_grant(&grant);
            for id in ids.iter().filter(|id| matches(&grant, id)) {
                prop_assert!(rank >= Some(rank_of_id(&table, id)), "{grant} is milder than {id}");
            }
        }

        #[test]
        fn s03_a_grant_of_one_capability_is_of_its_level(table in table(), id in "[ab.]{0,6}") {
            prop_assert_eq!(table.rank_of_grant(&id), Some(rank_of_id(&table, &id)));
        }

        #[test]
        fn s03_a_second_table_makes_nothing_milder(
            grant in pattern(), own in table(), project in table(), known in 0..5_usize,
        ) {
            let known = format!("l{known}");
            let strict = |tables: Vec<RiskTable>| {
                one(&Risks { tables }, &grant, &[&known]).map(|risk| risk.calls_for())
            };
            let alone = strict(vec![own.clone()]);
            prop_assert!(strict(vec![own, project]) >= alone);
        }
    }

    #[test]
    fn s03_what_is_acknowledged_is_a_level_and_what_is_milder() {
        let level = |name: &str, policy| RiskLevel { name: name.into(), policy };
        let class = |pattern: &str, level| Classification { pattern: pattern.into(), level };
        let table = RiskTable {
            levels: vec![
                level("safe", RiskPolicy::Allow),
                level("elevated", RiskPolicy::Acknowledge),
                level("unrestricted", RiskPolicy::Block),
            ],
            classifications: vec![class("rye.*", 2), class("rye.execute.*", 1), class("rye.execute.tool.read", 0)],
        };
        let risks = Risks { tables: vec![table] };
        let told = |pattern: &str, known: &[&str]| {
            let risk = one(&risks, pattern, known).unwrap();
            (risk.level.clone(), risk.calls_for())
        };
        assert_eq!(told("rye.execute.tool.read", &[]), ("safe".into(), RiskPolicy::Allow));
        assert_eq!(told("rye.execute.tool.*", &[]), ("elevated".into(), RiskPolicy::Acknowledge));
        assert_eq!(told("rye.*", &[]), ("unrestricted".into(), RiskPolicy::Block));
        assert_eq!(told("rye.[ef]*", &["elevated", "nonsense"]), ("unrestricted".into(), RiskPolicy::Block));
        for known in ["elevated", "unrestricted"] {
            assert_eq!(told("rye.execute.*", &[known]).1, RiskPolicy::Allow, "{known}");
        }
        assert_eq!(told("rye.*", &["unrestricted"]).1, RiskPolicy::Allow);
        assert_eq!(one(&Risks::default(), "rye.*", &[]), None);
    }
}
