//! The arithmetic of the ledger, on the accounts of one thread and its ancestors: no database, no clock.
//!
//! In each dimension a thread has *used* what it and everything below it has spent or reserved, and *committed* what it has
//! spent or reserved itself and what its children have a *claim* on. A live child claims what is set aside for it, or what it
//! has committed where that is more; an ended one what it has committed. So each amount is counted once at every ancestor,
//! and an operation changes the accounts of a thread and its ancestors, no others.

use crate::domain::ThreadId;

/// The largest amount that is counted: sums of a handful of them stay whole numbers of 64 bits.
pub(super) const MOST: i64 = 1 << 58;

/// One dimension of one thread: millionths of a dollar, or tokens. Nothing in it is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) limit: Option<i64>,
    /// At the parent for as long as the thread is live; at most the limit.
    pub(super) set_aside: i64,
    /// By itself.
    pub(super) spent: i64,
    pub(super) spent_below: i64,
    /// By its own calls.
    pub(super) reserved: i64,
    pub(super) reserved_below: i64,
    /// What its children have a claim on: never less than is spent and reserved below.
    pub(super) claimed: i64,
}

impl Amounts {
    pub(super) fn used(&self) -> i64 {
        self.spent + self.spent_below + self.reserved + self.reserved_below
    }

    pub(super) fn committed(&self) -> i64 {
        self.spent + self.reserved + self.claimed
    }

    /// What counts against the parent.
    pub(super) fn claim(&self) -> i64 {
        self.committed().max(self.set_aside)
    }

    /// How much of what is set aside for it is not committed.
    pub(super) fn uncommitted(&self) -> i64 {
        (self.set_aside - self.committed()).max(0)
    }

    /// By how much its limit is exceeded: because calls cost more than was reserved, or the limit was lowered.
    pub(super) fn over(&self) -> i64 {
        self.limit.map_or(0, |limit| (self.used() - limit).max(0))
    }

    pub(super) fn is_countable(&self) -> bool {
        let limit = self.limit.unwrap_or(0);
        let all =
            [limit, self.set_aside, self.spent, self.spent_below, self.reserved, self.reserved_below, self.claimed];
        all.iter().all(|amount| (0..=MOST).contains(amount))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Spend,
    Tokens,
}

impl Dimension {
    pub(super) const ALL: [Self; 2] = [Self::Spend, Self::Tokens];
}

/// A thread in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// Its number in the database; `None` before it has one.
    pub(super) number: Option<i64>,
    pub(super) thread: ThreadId,
    pub(super) live: bool,
    pub(super) live_children: u32,
    pub(super) spend: Amounts,
    pub(super) tokens: Amounts,
    pub(super) unpriced: i64,
    pub(super) unpriced_below: i64,
}

impl Account {
    pub(super) fn new(thread: ThreadId) -> Self {
        Self {
            number: None,
            thread,
            live: false,
            live_children: 0,
            spend: Amounts::default(),
            tokens: Amounts::default(),
            unpriced: 0,
            unpriced_below: 0,
        }
    }

    pub(super) fn amounts(&self, dimension: Dimension) -> &Amounts {
        match dimension {
            Dimension::Spend => &self.spend,
            Dimension::Tokens => &self.tokens,
        }
    }

    pub(super) fn amounts_mut(&mut self, dimension: Dimension) -> &mut Amounts {
        match dimension {
            Dimension::Spend => &mut self.spend,
            Dimension::Tokens => &mut self.tokens,
        }
    }
}

/// How much of a dimension can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) amount: i64,
    /// Whose limit says so, as a place among the accounts.
    pub(super) by: usize,
}

/// How much more the first of `accounts`, a thread and its ancestors up to the root, may reserve; `None` without any limit.
///
/// A limit is in the way in two forms. What is used below it may not exceed it, whatever was set aside. And what is committed
/// below it may not either, apart from what is set aside already on the way there and not committed.
pub(super) fn left(accounts: &[Account], dimension: Dimension) -> Option<Left> {
    let mut least: Option<Left> = None;
    let mut uncommitted = 0;
    for (by, account) in accounts.iter().enumerate() {
        let amounts = account.amounts(dimension);
        if let Some(limit) = amounts.limit {
            let open = uncommitted + (limit - amounts.committed()).max(0);
            let amount = (limit - amounts.used()).min(open).max(0);
            if least.is_none_or(|least| amount < least.amount) {
                least = Some(Left { amount, by });
            }
        }
        uncommitted = (uncommitted + amounts.uncommitted()).min(MOST);
    }
    least
}

/// Changes the first of `accounts` by `change`, and carries to each ancestor what became of what is spent, reserved and
/// claimed below it.
pub(super) fn apply(accounts: &mut [Account], dimension: Dimension, change: impl FnOnce(&mut Amounts)) {
    let Some((first, ancestors)) = accounts.split_first_mut() else { return };
    let amounts = first.amounts_mut(dimension);
    let before = *amounts;
    change(amounts);
    let (spent, reserved) = (amounts.spent - before.spent, amounts.reserved - before.reserved);
    let mut grown = amounts.claim() - before.claim();
    for ancestor in ancestors {
        let amounts = ancestor.amounts_mut(dimension);
        let claim = amounts.claim();
        amounts.spent_below += spent;
        amounts.reserved_below += reserved;
        amounts.claimed += grown;
        grown = amounts.claim() - claim;
    }
}

/// Counts tokens whose price is not known.
pub(super) fn count_unpriced(accounts: &mut [Account], tokens: i64) {
    if let Some((first, ancestors)) = accounts.split_first_mut() {
        first.unpriced += tokens;
        for ancestor in ancestors {
            ancestor.unpriced_below += tokens;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(limit: Option<i64>, set_aside: i64, own: i64, claimed: i64) -> Account {
        let spend = Amounts { limit, set_aside, spent: own, claimed, ..Amounts::default() };
        Account { spend, ..Account::new(ThreadId::new("t", 1)) }
    }

    fn left_of(accounts: &[Account]) -> Option<(i64, usize)> {
        left(accounts, Dimension::Spend).map(|left| (left.amount, left.by))
    }

    #[test]
    fn what_is_set_aside_needs_nothing_from_above() {
        // The root has committed everything; its child still has its share.
        assert_eq!(left_of(&[account(Some(40), 40, 10, 0), account(Some(100), 0, 60, 40)]), Some((30, 0)));
        assert_eq!(left_of(&[account(Some(100), 0, 60, 40)]), Some((0, 0)));
        // One that nothing is set aside for has what is left above.
        assert_eq!(left_of(&[account(None, 0, 10, 0), account(Some(100), 0, 60, 30)]), Some((10, 1)));
        assert_eq!(left_of(&[account(None, 0, 10, 0), account(None, 0, 60, 10)]), None);
    }

    #[test]
    fn what_is_set_aside_ends_at_what_others_have_spent() {
        // 50 were set aside for a second child, which spent 70: of the root's 100 there are 30.
        let mut root = account(Some(100), 0, 0, 120);
        root.spend.spent_below = 70;
        assert_eq!(left_of(&[account(Some(50), 50, 0, 0), root]), Some((30, 1)));
    }

    #[test]
    fn what_outgrows_what_was_set_aside_is_claimed_of_the_ancestors() {
        let mut accounts = [account(Some(50), 50, 40, 0), account(None, 0, 0, 50), account(Some(100), 0, 0, 50)];
        accounts[1].spend.spent_below = 40;
        accounts[2].spend.spent_below = 40;
        apply(&mut accounts, Dimension::Spend, |amounts| amounts.reserved += 8);
        let [_, lead, root] = &accounts;
        assert_eq!((lead.spend.claimed, root.spend.claimed, root.spend.reserved_below), (50, 50, 8));
        apply(&mut accounts, Dimension::Spend, |amounts| (amounts.reserved, amounts.spent) = (0, amounts.spent + 20));
        let [first, lead, root] = &accounts;
        assert_eq!((lead.spend.claimed, root.spend.claimed, root.spend.spent_below), (60, 60, 60));
        assert_eq!((first.spend.over(), root.spend.over()), (10, 0));
        // It ends, and what it has spent stays claimed.
        apply(&mut accounts, Dimension::Spend, |amounts| amounts.set_aside = 0);
        assert_eq!(accounts[2].spend.claimed, 60);
    }
}
