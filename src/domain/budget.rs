//! What a thread and all below it may spend, and what they did: the values of the budget ledger.
//!
//! Two dimensions are kept, money and tokens, and both are added up over a thread and everything below it. A call is
//! reserved at the most it may cost before it is sent, and settled at what it cost. A model without a known price costs an
//! unknown amount of money: its tokens are counted apart as unpriced, and the sum of money is a lower bound then.

use super::amount::{Money, Tokens};
use super::id::ThreadId;
use super::lineage::{LimitSource, SetLimits};
use super::note::seconds;
use super::status::{Cost, Limits};
use std::fmt;

/// How much of one dimension a thread may use, for itself and everything below it together, over its whole life: what it
/// has spent already counts against it when it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance<T> {
    /// As much as its ancestors have left when it is needed; without a limit where none of them has one.
    Open,
    /// At most this much, as long as its ancestors have it when it is needed. Nothing is set aside, so what is allowed to
    /// several children may be more than there is: the first to need it has it.
    AtMost(T),
    /// This much, set aside at its parent until it is spent or the thread ends. Refused where the parent has less left.
    SetAside(T),
    /// An equal share of what the parent has left, set aside. `children` of them may run side by side and the parent keeps
    /// as much for itself: with N of the children running already, one part of `children - N + 1`, and never more than
    /// half. Refused where nothing is left; where no ancestor has a limit it is `Open`.
    Share { children: u32 },
}

/// What a thread may use in each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub spend: Allowance<Money>,
    pub tokens: Allowance<Tokens>,
}

impl Budget {
    /// What a thread of these limits may use, with everything below it. Of a child for which nobody named an amount of money,
    /// a share of what its parent has left.
    #[must_use]
    pub fn of(set: &SetLimits, slots: Slots, parents_left: Option<Money>) -> Self {
        let Limits { spend, tokens, .. } = set.limits;
        let spend = match (spend, slots.children.or(Slots::USUAL.children)) {
            (Some(most), _) => Allowance::AtMost(most),
            (None, Some(children)) if parents_left.is_some() => Allowance::Share { children },
            (None, _) => Allowance::Open,
        };
        // Tokens are limited for each thread; for a whole tree where somebody says so.
        let named = tokens.filter(|_| LimitSource::is_named(set.limits_by.tokens));
        Self { spend, tokens: named.map_or(Allowance::Open, Allowance::AtMost) }
    }
}

impl Budget {
    /// No limit of its own in any dimension.
    pub const OPEN: Self = Self { spend: Allowance::Open, tokens: Allowance::Open };
}

/// What one call may cost at most, or did cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCost {
    /// `None` where the model's price is not known: its tokens are counted as unpriced then, and no limit of money holds it.
    pub spend: Option<Money>,
    /// All tokens of the call, prompt and answer, priced or not.
    pub tokens: Tokens,
}

/// What a thread has spent by itself, without those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Sum over the calls whose price is known.
    pub spend: Money,
    /// Sum over all calls.
    pub tokens: Tokens,
    /// The part of `tokens` whose price is not known.
    pub unpriced: Tokens,
}

/// The most that one thread can have spent, in millionths of a dollar and in tokens.
const MOST_SPENT: i64 = 1 << 48;

impl From<&Cost> for Spent {
    fn from(cost: &Cost) -> Self {
        // A log may hold what no call can have taken; a ledger that refused it would hold up everybody.
        let spend = Money(cost.spend.0.clamp(0, MOST_SPENT));
        let most = Tokens(MOST_SPENT.unsigned_abs());
        Self { spend, tokens: cost.usage.total().min(most), unpriced: cost.unpriced_tokens.min(most) }
    }
}

/// How many threads may be live side by side. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Children of one parent.
    pub children: Option<u32>,
    /// Threads of the project, without those above the one that asks.
    pub threads: Option<u32>,
}

impl Slots {
    /// Where nobody says how many.
    pub const USUAL: Self = Self { children: Some(5), threads: Some(20) };
}

/// Why a thread waits for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSlot {
    /// Its parent has `most` live children, or more.
    Children { parent: ThreadId, live: u32, most: u32 },
    /// The project has `most` live threads, or more.
    Threads { live: u32, most: u32 },
}

impl fmt::Display for NoSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Children { parent, live, most } => {
                write!(formatter, "waits for a child of {parent} to end: {live} running, limit {most}")
            }
            Self::Threads { live, most } => {
                write!(formatter, "waits for a thread to end: {live} running, limit {most}")
            }
        }
    }
}

/// Too little is left of one dimension. All but `asked` and `left` are those of the thread whose limit is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage<T> {
    pub asked: T,
    /// What could have been had.
    pub left: T,
    /// The thread whose limit this is: the one that asked, or an ancestor.
    pub capped_by: ThreadId,
    pub limit: T,
    /// Spent by it and everything below it.
    pub spent: T,
    /// Reserved by its running calls, or set aside for its children and not spent.
    pub reserved: T,
}

/// Which dimension was short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Spend(Shortage<Money>),
    Tokens(Shortage<Tokens>),
}

impl Refusal {
    /// The thread whose limit is in the way.
    #[must_use]
    pub fn capped_by(&self) -> &ThreadId {
        match self {
            Self::Spend(shortage) => &shortage.capped_by,
            Self::Tokens(shortage) => &shortage.capped_by,
        }
    }
}

impl fmt::Display for Refusal {
    /// `$0.42 may be needed, $0.18 left: the limit of lead-1 is $1.00, with $0.70 spent and $0.12 reserved`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn sentence<T: Copy>(
            shortage: &Shortage<T>,
            exact: fn(T) -> String,
            formatter: &mut fmt::Formatter<'_>,
        ) -> fmt::Result {
            let [asked, left, limit, spent, reserved] =
                [shortage.asked, shortage.left, shortage.limit, shortage.spent, shortage.reserved].map(exact);
            let thread = &shortage.capped_by;
            write!(formatter, "{asked} may be needed, {left} left: the limit of {thread} is {limit}, ")?;
            write!(formatter, "with {spent} spent and {reserved} reserved")
        }
        match self {
            Self::Spend(shortage) => sentence(shortage, exact, formatter),
            Self::Tokens(shortage) => sentence(shortage, |tokens| format!("{} tokens", tokens.0), formatter),
        }
    }
}

/// To the millionth: two amounts of which one is too large must not look the same.
fn exact(money: Money) -> String {
    let (sign, micro) = (if money.0 < 0 { "-" } else { "" }, money.0.unsigned_abs());
    let fraction = format!("{:06}", micro % 1_000_000);
    let kept = fraction.trim_end_matches('0').len().max(2);
    format!("{sign}${}.{}", micro / 1_000_000, fraction.get(..kept).unwrap_or(&fraction))
}

/// One dimension of a thread. `limit` is `spent + spent_below + reserved_by_calls + reserved_by_children` and what
/// nobody has a claim on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance<T> {
    /// Its own limit; `None` where it has none.
    pub limit: Option<T>,
    /// What is set aside for it at its parent for as long as it is live, spent or not.
    pub set_aside: T,
    /// By its own calls.
    pub spent: T,
    /// By the threads below it, live or ended. Each call is in here once, however deep it was.
    pub spent_below: T,
    /// By its own running calls.
    pub reserved_by_calls: T,
    /// What its children may count on beyond what they have spent: set aside for them, and reserved by calls below.
    pub reserved_by_children: T,
    /// What one more call of it may cost at most; `None` where neither it nor an ancestor has a limit.
    pub left: Option<T>,
    /// Whose limit says so: its own or an ancestor's.
    pub capped_by: Option<ThreadId>,
    /// By so much its limit is exceeded, because calls cost more than was reserved or the limit was lowered.
    pub over: T,
}

/// How a thread stands in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetReport {
    pub thread: ThreadId,
    pub parent: Option<ThreadId>,
    /// Ancestors above it.
    pub depth: u32,
    /// Whether it has been registered and not released since.
    pub live: bool,
    /// Its children that are live.
    pub live_children: u32,
    pub spend: Balance<Money>,
    pub tokens: Balance<Tokens>,
    /// Tokens of its own calls whose price is not known. Where this is anything, `spend` is a lower bound.
    pub unpriced: Tokens,
    /// The same of the threads below it.
    pub unpriced_below: Tokens,
}

impl BudgetReport {
    /// Whether nothing was spent or reserved for calls so far.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        let Self { spend, tokens, unpriced, .. } = self;
        let none = |money: Money| money == Money::default();
        let nothing = |tokens: Tokens| tokens == Tokens::default();
        none(spend.spent)
            && none(spend.reserved_by_calls)
            && nothing(tokens.spent)
            && nothing(tokens.reserved_by_calls)
            && nothing(*unpriced)
    }

    /// The money, the tokens and what of them has no known price, a line each:
    /// `spend   $0.12 of $1.00, $0.08 spent below it, $0.05 reserved, $0.75 left`.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        fn row<T: Copy + Default + PartialEq>(balance: &Balance<T>, told: fn(T) -> String, own: &ThreadId) -> String {
            let mut text = told(balance.spent);
            if let Some(limit) = balance.limit {
                text = format!("{text} of {}", told(limit));
            }
            for (amount, word) in [
                (balance.spent_below, "spent below it"),
                (balance.reserved_by_calls, "reserved"),
                (balance.reserved_by_children, "reserved below it"),
            ] {
                if amount != T::default() {
                    text = format!("{text}, {} {word}", told(amount));
                }
            }
            match (balance.left, &balance.capped_by) {
                (Some(left), Some(by)) if by != own => format!("{text}, {} left by the limit of {by}", told(left)),
                (Some(left), _) => format!("{text}, {} left", told(left)),
                (None, _) => format!("{text}, no limit"),
            }
        }
        let spend = format!("spend   {}", row(&self.spend, |money| money.to_string(), &self.thread));
        let tokens = format!("tokens  {}", row(&self.tokens, |tokens| tokens.to_string(), &self.thread));
        let unpriced = self.unpriced + self.unpriced_below;
        let unknown = || format!("{unpriced} of these tokens have no known price: the spend is a lower bound");
        [Some(spend), Some(tokens), (unpriced > Tokens(0)).then(unknown)].into_iter().flatten().collect()
    }

    /// What the thread itself spent in a minute of its work, of which there were so many milliseconds, and how long what it may
    /// still spend lasts at that: `$0.04 and 1.2k tokens a minute, enough for 18 min 45 s ($0.75 left)`. None before it has spent anything.
    #[must_use]
    pub fn burn_rate(&self, worked_ms: u64) -> Option<String> {
        let a_minute = |amount: u64| amount.saturating_mul(60_000).checked_div(worked_ms);
        let money = u64::try_from(self.spend.spent.0).unwrap_or_default();
        let (money_a_minute, tokens_a_minute) = (a_minute(money)?, a_minute(self.tokens.spent.0)?);
        let lasts = |left: u64, spent: u64| left.saturating_mul(worked_ms).checked_div(spent);
        let of_money = self.spend.left.and_then(|left| {
            let time = lasts(u64::try_from(left.0).unwrap_or_default(), money)?;
            Some((time, left.to_string()))
        });
        let of_tokens =
            self.tokens.left.and_then(|left| Some((lasts(left.0, self.tokens.spent.0)?, format!("{left} tokens"))));
        let first = of_money.into_iter().chain(of_tokens).min_by_key(|(time, _)| *time);
        let money = Money(i64::try_from(money_a_minute).unwrap_or(i64::MAX));
        let rate = match (money_a_minute, tokens_a_minute) {
            (0, 0) => return None,
            (0, tokens) => format!("{} tokens a minute", Tokens(tokens)),
            (_, tokens) => format!("{money} and {} tokens a minute", Tokens(tokens)),
        };
        Some(
            first.map_or_else(
                || rate.clone(),
                |(time, left)| format!("{rate}, enough for {} ({left} left)", seconds(time)),
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burn_rate_is_of_the_threads_own_work_and_tells_what_is_used_up_first() {
        fn balance<T: Copy + Default>(spent: T, left: Option<T>) -> Balance<T> {
            let (none, capped_by) = (T::default(), None);
            Balance {
                limit: None,
                set_aside: none,
                spent,
                spent_below: none,
                reserved_by_calls: none,
                reserved_by_children: none,
                left,
                capped_by,
                over: none,
            }
        }
        let report = |spend, tokens| BudgetReport {
            thread: ThreadId::new("lead", 1),
            parent: None,
            depth: 0,
            live: true,
            live_children: 0,
            spend,
            tokens,
            unpriced: Tokens(0),
            unpriced_below: Tokens(0),
        };
        let told = |spend, tokens, worked_ms| report(spend, tokens).burn_rate(worked_ms);
        let spent = || balance(Money(100_000), Some(Money(200_000)));
        let sentence = "$0.20 and 2.0k tokens a minute, enough for 1 min 0 s ($0.20 left)";
        assert_eq!(told(spent(), balance(Tokens(1_000), None), 30_000).unwrap(), sentence);
        let sentence = "$0.20 and 2.0k tokens a minute, enough for 15 s (500 tokens left)";
        assert_eq!(told(spent(), balance(Tokens(1_000), Some(Tokens(500))), 30_000).unwrap(), sentence);
        let free = || balance(Money(0), Some(Money(5)));
        assert_eq!(told(free(), balance(Tokens(100), None), 60_000).unwrap(), "100 tokens a minute");
        assert_eq!(told(free(), balance(Tokens(0), None), 60_000), None);
        assert_eq!(told(spent(), balance(Tokens(1), None), 0), None);
    }

    #[test]
    fn a_refusal_tells_the_amounts_to_the_millionth() {
        let shortage = Shortage {
            asked: Money(180_001),
            left: Money(180_000),
            capped_by: ThreadId::new("lead", 1),
            limit: Money(1_000_000),
            spent: Money(700_000),
            reserved: Money(120_000),
        };
        assert_eq!(
            Refusal::Spend(shortage).to_string(),
            "$0.180001 may be needed, $0.18 left: the limit of lead-1 is $1.00, with $0.70 spent and $0.12 reserved"
        );
    }
}
