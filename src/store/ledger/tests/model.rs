//! What the ledger is compared with: threads without running sums. It looks at the whole tree each time.

use crate::domain::Allowance;
use std::collections::BTreeMap;

/// Money and tokens.
pub(super) type Pair<T> = [T; 2];

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) live: bool,
    pub(super) limit: Pair<Option<i64>>,
    pub(super) set_aside: Pair<i64>,
    pub(super) spent: Pair<i64>,
    pub(super) unpriced: i64,
    pub(super) calls: BTreeMap<u32, Pair<i64>>,
}

impl Node {
    /// It has ended.
    pub(super) fn end(&mut self) {
        self.live = false;
        self.set_aside = [0; 2];
        self.calls.clear();
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) nodes: BTreeMap<usize, Node>,
}

/// More than any amount in these tests.
const PLENTY: i64 = 1 << 20;

impl Model {
    fn children(&self, of: usize) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().filter(move |(_, node)| node.parent == Some(of)).map(|(at, node)| (*at, node))
    }

    pub(super) fn live_children(&self, of: usize) -> usize {
        self.children(of).filter(|(_, node)| node.live).count()
    }

    pub(super) fn reserved(&self, at: usize, dimension: usize) -> i64 {
        self.nodes[&at].calls.values().map(|call| call[dimension]).sum()
    }

    pub(super) fn spent_below(&self, at: usize, dimension: usize) -> i64 {
        self.children(at).map(|(child, node)| node.spent[dimension] + self.spent_below(child, dimension)).sum()
    }

    pub(super) fn unpriced_below(&self, at: usize) -> i64 {
        self.children(at).map(|(child, node)| node.unpriced + self.unpriced_below(child)).sum()
    }

    pub(super) fn used(&self, at: usize, dimension: usize) -> i64 {
        let below: i64 = self.children(at).map(|(child, _)| self.used(child, dimension)).sum();
        self.nodes[&at].spent[dimension] + self.reserved(at, dimension) + below
    }

    fn claim(&self, at: usize, dimension: usize) -> i64 {
        let committed = self.committed(at, dimension);
        if self.nodes[&at].live { committed.max(self.nodes[&at].set_aside[dimension]) } else { committed }
    }

    pub(super) fn committed(&self, at: usize, dimension: usize) -> i64 {
        let claims: i64 = self.children(at).map(|(child, _)| self.claim(child, dimension)).sum();
        self.nodes[&at].spent[dimension] + self.reserved(at, dimension) + claims
    }

    /// The thread and those above it.
    pub(super) fn ancestry(&self, at: usize) -> Vec<usize> {
        std::iter::successors(Some(at), |at| self.nodes[at].parent).collect()
    }

    /// Whether a call may reserve so much more: no limit on the way may be exceeded by what is used, nor by what is
    /// committed, where that grows.
    pub(super) fn fits(&self, at: usize, dimension: usize, amount: i64) -> bool {
        let mut after = self.clone();
        let mut call = [0, 0];
        call[dimension] = amount;
        after.nodes.get_mut(&at).unwrap().calls.insert(u32::MAX, call);
        amount == 0
            || self.ancestry(at).iter().all(|above| {
                let Some(limit) = self.nodes[above].limit[dimension] else { return true };
                let (before, now) = (self.committed(*above, dimension), after.committed(*above, dimension));
                after.used(*above, dimension) <= limit && (now <= before || now <= limit)
            })
    }

    /// The most that fits; `None` where everything does.
    pub(super) fn left(&self, at: usize, dimension: usize) -> Option<i64> {
        if self.fits(at, dimension, PLENTY) {
            return None;
        }
        let (mut fits, mut not) = (0, PLENTY);
        while not - fits > 1 {
            let middle = i64::midpoint(fits, not);
            if self.fits(at, dimension, middle) { fits = middle } else { not = middle }
        }
        Some(fits)
    }

    /// Gives a thread its budget; false where that is refused.
    pub(super) fn allow(&mut self, at: usize, budget: Pair<Allowance<i64>>) -> bool {
        for (dimension, allowance) in budget.into_iter().enumerate() {
            let node = self.nodes[&at].clone();
            let (committed, claim) = (self.committed(at, dimension), self.claim(at, dimension));
            let left = node.parent.and_then(|parent| self.left(parent, dimension));
            let wanted = match (allowance, node.parent) {
                (Allowance::Open, _) | (Allowance::Share { .. }, None) => None,
                (Allowance::AtMost(limit), _) | (Allowance::SetAside(limit), None) => Some((limit, 0)),
                (Allowance::SetAside(limit), Some(_)) => Some((limit, limit)),
                (Allowance::Share { children }, Some(parent)) => match left {
                    None => None,
                    Some(left) => {
                        let others = self.live_children(parent) - usize::from(node.live);
                        let parts = i64::try_from((children as usize + 1).saturating_sub(others).max(2)).unwrap();
                        let share = (left + claim - committed) / parts;
                        if share == 0 {
                            return false;
                        }
                        Some((committed + share, committed + share))
                    }
                },
            };
            let grown = wanted.map_or(0, |(_, set_aside)| set_aside.max(committed) - claim);
            if left.is_some_and(|left| grown > left) {
                return false;
            }
            let node = self.nodes.get_mut(&at).unwrap();
            (node.limit[dimension], node.set_aside[dimension]) =
                (wanted.map(|(limit, _)| limit), wanted.map_or(0, |(_, set_aside)| set_aside));
        }
        true
    }
}
