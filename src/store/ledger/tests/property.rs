//! Random operations on the ledger and on a model of it.

use super::model::{Model, Node, Pair};
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// One step; numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Step {
    Register {
        at: usize,
        budget: Pair<Allowance<i64>>,
    },
    Reserve {
        at: usize,
        request: u32,
        most: Pair<i64>,
        priced: bool,
    },
    /// The call cost so many percent of what is reserved, or of a few where nothing is.
    Settle {
        at: usize,
        request: u32,
        percent: i64,
        priced: bool,
    },
    Adjust {
        at: usize,
        budget: Pair<Allowance<i64>>,
    },
    /// The log knows of so much more than the ledger.
    Release {
        at: usize,
        more: i64,
    },
}

const THREADS: usize = 9;

/// That of each thread.
type Parents = Vec<Option<usize>>;

fn parents() -> impl Strategy<Value = Parents> {
    // One in eight is a root; deep trees are as likely as broad ones.
    vec((0_usize..8, any::<prop::sample::Index>(), any::<bool>()), THREADS).prop_map(|choices| {
        let parent = |(at, (root, any, newest)): (usize, (usize, prop::sample::Index, bool))| {
            let before = at.checked_sub(1).filter(|_| root > 0)?;
            Some(if newest { before } else { any.index(at) })
        };
        choices.into_iter().enumerate().map(parent).collect()
    })
}

fn pair<T: Clone + std::fmt::Debug + 'static>(
    one: impl Strategy<Value = T> + Clone + 'static,
) -> BoxedStrategy<Pair<T>> {
    (one.clone(), one).prop_map(|(spend, tokens)| [spend, tokens]).boxed()
}

/// Who is below whom, and what happens.
fn steps() -> impl Strategy<Value = (Parents, Vec<Step>)> {
    let at = || 0..THREADS;
    let allowance = prop_oneof![
        1 => Just(Allowance::Open),
        1 => (0_i64..120).prop_map(Allowance::AtMost),
        3 => (0_i64..120).prop_map(Allowance::SetAside),
        2 => (0_u32..4).prop_map(|children| Allowance::Share { children }),
    ];
    let budget = pair(allowance);
    let step = prop_oneof![
        4 => (at(), budget.clone()).prop_map(|(at, budget)| Step::Register { at, budget }),
        6 => (at(), 0_u32..3, pair(0_i64..60), any::<bool>())
            .prop_map(|(at, request, most, priced)| Step::Reserve { at, request, most, priced }),
        4 => (at(), 0_u32..3, 0_i64..=150, any::<bool>())
            .prop_map(|(at, request, percent, priced)| Step::Settle { at, request, percent, priced }),
        1 => (at(), budget).prop_map(|(at, budget)| Step::Adjust { at, budget }),
        2 => (at(), 0_i64..20).prop_map(|(at, more)| Step::Release { at, more }),
    ];
    (parents(), vec(step, 1..60))
}

fn name(at: usize) -> ThreadId {
    ThreadId::new("t", at as u64)
}

fn call_cost(amounts: Pair<i64>, priced: bool) -> CallCost {
    CallCost { spend: priced.then_some(Money(amounts[0])), tokens: in_tokens(amounts[1]) }
}

fn in_units(budget: Pair<Allowance<i64>>) -> Budget {
    fn unit<T>(allowance: Allowance<i64>, unit: fn(i64) -> T) -> Allowance<T> {
        match allowance {
            Allowance::Open => Allowance::Open,
            Allowance::AtMost(limit) => Allowance::AtMost(unit(limit)),
            Allowance::SetAside(limit) => Allowance::SetAside(unit(limit)),
            Allowance::Share { children } => Allowance::Share { children },
        }
    }
    Budget { spend: unit(budget[0], Money), tokens: unit(budget[1], in_tokens) }
}

/// Whether steps may spend more than was reserved, or set limits below what is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excess {
    Never,
    Possible,
}

/// The ledger and the model, which do the same.
struct Both {
    at: Fixture,
    parents: Parents,
    model: Model,
    excess: Excess,
}

impl Both {
    /// Does a step on both, and compares what came of it.
    fn perform(&mut self, step: &Step) {
        match *step {
            Step::Register { at, budget } => self.register(at, budget),
            Step::Reserve { at, request, most, priced } => self.reserve(at, request, most, priced),
            Step::Settle { at, request, percent, priced } => self.settle(at, request, percent, priced),
            Step::Adjust { at, budget } if self.is_live(at) => self.adjust(at, budget),
            Step::Adjust { .. } => {}
            Step::Release { at, more } => self.release(at, if self.excess == Excess::Possible { more } else { 0 }),
        }
    }

    fn knows(&self, at: usize) -> bool {
        self.model.nodes.contains_key(&at)
    }

    fn is_live(&self, at: usize) -> bool {
        self.model.nodes.get(&at).is_some_and(|node| node.live)
    }

    /// A budget that allows what is used already, where nothing may be exceeded.
    fn reachable(&self, at: usize, budget: Pair<Allowance<i64>>) -> Pair<Allowance<i64>> {
        let used = |dimension| if self.knows(at) { self.model.used(at, dimension) } else { 0 };
        let reachable = |dimension: usize| match budget[dimension] {
            Allowance::AtMost(limit) if self.excess == Excess::Never => Allowance::AtMost(used(dimension) + limit),
            Allowance::SetAside(limit) if self.excess == Excess::Never => Allowance::SetAside(used(dimension) + limit),
            same @ (Allowance::Open | Allowance::AtMost(_) | Allowance::SetAside(_) | Allowance::Share { .. }) => same,
        };
        [reachable(0), reachable(1)]
    }

    fn register(&mut self, at: usize, budget: Pair<Allowance<i64>>) {
        let parent = self.parents[at];
        let budget = self.reachable(at, budget);
        let registration = Registration {
            thread: name(at),
            parent: parent.map(name),
            budget: in_units(budget),
            slots: Slots::default(),
            spent: self.log(at),
        };
        let answer = self.at.ledger.register(registration)();
        if parent.is_some_and(|parent| !self.knows(parent)) {
            assert!(matches!(answer, Err(LedgerError::NotRegistered { .. })));
            return;
        }
        let mut after = self.model.clone();
        let node = after.nodes.entry(at).or_insert(Node { parent, ..Node::default() });
        node.calls.clear();
        let was_live = node.live;
        let granted = was_live || after.allow(at, budget);
        assert_eq!(matches!(answer.unwrap(), Registered::Live(_)), granted);
        if granted {
            after.nodes.get_mut(&at).unwrap().live = true;
            self.model = after;
        }
    }

    fn reserve(&mut self, at: usize, request: u32, most: Pair<i64>, priced: bool) {
        let answer = self.at.ledger.reserve(&name(at), request, call_cost(most, priced))();
        if !self.is_live(at) {
            assert!(matches!(answer, Err(LedgerError::NotRegistered { .. } | LedgerError::Ended { .. })));
            return;
        }
        let most = if priced { most } else { [0, most[1]] };
        let mut after = self.model.clone();
        after.nodes.get_mut(&at).unwrap().calls.remove(&request);
        let fits = (0..2).all(|dimension| after.fits(at, dimension, most[dimension]));
        match answer.unwrap() {
            Granted::Yes(_) => assert!(fits),
            Granted::Refused(refusal) => {
                assert!(!fits);
                assert!(self.model.ancestry(at).iter().any(|above| name(*above) == *refusal.capped_by()));
            }
        }
        if fits {
            after.nodes.get_mut(&at).unwrap().calls.insert(request, most);
            self.model = after;
        }
    }

    fn settle(&mut self, at: usize, request: u32, percent: i64, priced: bool) {
        let call = self.model.nodes.get_mut(&at).and_then(|node| node.calls.remove(&request));
        let (most, percent) = match self.excess {
            Excess::Never => (call.unwrap_or([0, 0]), percent.min(100)),
            Excess::Possible => (call.unwrap_or([7, 7]), percent),
        };
        let cost = most.map(|amount| amount * percent / 100);
        if let Some(node) = self.model.nodes.get_mut(&at) {
            node.spent[0] += if priced { cost[0] } else { 0 };
            node.spent[1] += cost[1];
            node.unpriced += if priced { 0 } else { cost[1] };
        }
        let settle = || self.at.ledger.settle(&name(at), request, self.log(at))();
        if !self.knows(at) {
            assert!(matches!(settle(), Err(LedgerError::NotRegistered { .. })));
            return;
        }
        // Settled twice is settled once.
        assert_eq!(settle().unwrap(), settle().unwrap());
    }

    fn adjust(&mut self, at: usize, budget: Pair<Allowance<i64>>) {
        let budget = self.reachable(at, budget);
        let answer = self.at.ledger.adjust(&name(at), in_units(budget))().unwrap();
        let mut after = self.model.clone();
        let granted = after.allow(at, budget);
        assert_eq!(matches!(answer, Granted::Yes(_)), granted);
        if granted {
            self.model = after;
        }
    }

    /// The log knows of `more` than the ledger.
    fn release(&mut self, at: usize, more: i64) {
        let was_live = self.is_live(at);
        if let Some(node) = self.model.nodes.get_mut(&at) {
            node.spent[0] += more;
            node.end();
        }
        let release = || self.at.ledger.release(&name(at), self.log(at))().unwrap();
        assert_eq!(matches!(release(), Released::Ended { .. }), was_live);
        // Released twice is released once.
        assert_eq!(release(), Released::Before);
    }

    /// What the log of the thread says.
    fn log(&self, at: usize) -> Spent {
        self.model.nodes.get(&at).map(spent).unwrap_or_default()
    }

    /// Whether the ledger says of each thread what the model does, and what always holds.
    fn compare(&self) {
        for (at, node) in &self.model.nodes {
            let report = self.at.ledger.report(&name(*at))().unwrap();
            let money = amounts(&report.spend, |money| money.0);
            let tokens = amounts(&report.tokens, whole);
            for (dimension, told) in [money, tokens].into_iter().enumerate() {
                let (used, committed) = (self.model.used(*at, dimension), self.model.committed(*at, dimension));
                let below = self.model.spent_below(*at, dimension);
                let reserved = self.model.reserved(*at, dimension);
                let own = node.spent[dimension];
                let over = node.limit[dimension].map_or(0, |limit| (used - limit).max(0));
                let expected = Amounts {
                    limit: node.limit[dimension],
                    counted: [
                        node.set_aside[dimension],
                        own,
                        below,
                        reserved,
                        committed - own - reserved - below,
                        over,
                    ],
                    left: self.model.left(*at, dimension),
                };
                assert_eq!(told, expected, "{at}, dimension {dimension}");
                if self.excess == Excess::Never {
                    assert_eq!(over, 0, "{at} has more spent and reserved than its limit");
                }
            }
            assert_eq!((report.live, report.live_children as usize), (node.live, self.model.live_children(*at)));
            let unpriced = (node.unpriced, self.model.unpriced_below(*at));
            assert_eq!((whole(report.unpriced), whole(report.unpriced_below)), unpriced);
        }
    }
}

fn in_tokens(amount: i64) -> Tokens {
    Tokens(u64::try_from(amount).unwrap())
}

fn whole(tokens: Tokens) -> i64 {
    i64::try_from(tokens.0).unwrap()
}

fn spent(node: &Node) -> Spent {
    Spent { spend: Money(node.spent[0]), tokens: in_tokens(node.spent[1]), unpriced: in_tokens(node.unpriced) }
}

#[derive(Debug, PartialEq, Eq)]
struct Amounts {
    limit: Option<i64>,
    counted: [i64; 6],
    left: Option<i64>,
}

fn amounts<T: Copy>(balance: &crate::domain::Balance<T>, whole: fn(T) -> i64) -> Amounts {
    let counted = [
        balance.set_aside,
        balance.spent,
        balance.spent_below,
        balance.reserved_by_calls,
        balance.reserved_by_children,
        balance.over,
    ];
    Amounts { limit: balance.limit.map(whole), counted: counted.map(whole), left: balance.left.map(whole) }
}

fn run((parents, steps): (Parents, Vec<Step>), excess: Excess) -> Both {
    let mut both = Both { at: Fixture::new(), parents, model: Model::default(), excess };
    for step in steps {
        both.perform(&step);
        both.compare();
    }
    let live: u32 = both.at.database().query_row("SELECT live FROM ledger", [], |row| row.get(0)).unwrap();
    assert_eq!(live as usize, both.model.nodes.values().filter(|node| node.live).count());
    both
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// As long as no call costs more than was reserved for it, no thread and all below it spend more than its limit.
    #[test]
    fn no_limit_is_exceeded_by_what_was_granted(steps in steps()) {
        run(steps, Excess::Never);
    }

    /// Whatever calls cost: each amount is counted once at every ancestor, and a rebuilt ledger has the same sums.
    #[test]
    fn sums_match_and_can_be_rebuilt(steps in steps()) {
        let mut both = run(steps, Excess::Possible);
        let facts = both.model.nodes.iter().map(|(at, node)| BudgetFact {
            thread: name(*at),
            parent: node.parent.map(name),
            spend_limit: node.limit[0].map(Money),
            tokens_limit: node.limit[1].map(in_tokens),
            spent: spent(node),
        });
        let facts: Vec<BudgetFact> = facts.collect();
        std::fs::remove_file(both.at.path()).unwrap();
        prop_assert_eq!(both.at.ledger.rebuild(facts)().unwrap(), Rebuilt::Threads(both.model.nodes.len()));
        both.model.nodes.values_mut().for_each(Node::end);
        both.compare();
    }
}
