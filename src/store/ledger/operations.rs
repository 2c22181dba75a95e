//! What each operation does to the accounts, inside its transaction. Nothing is written of an operation that is refused.

use super::account::{Account, Dimension, Left, MOST, apply, count_unpriced, left};
use super::tables::{Ancestry, Fault, MOST_ANCESTORS, Reservation, Tables};
use crate::domain::{
    Allowance, Balance, Budget, BudgetReport, CallCost, Money, NoSlot, Refusal, Shortage, Slots, Spent, ThreadId,
    Tokens,
};
use crate::ports::LedgerError;
use crate::ports::ledger::{BudgetFact, Granted, Rebuilt, Registered, Registration, Released};
use std::collections::{HashMap, HashSet};

pub(super) fn register(tables: &Tables<'_>, wanted: &Registration) -> Result<Registered, Fault> {
    let live = tables.live()?;
    let mut ancestry = match tables.ancestry(&wanted.thread)? {
        Some(found) if found.parent() != wanted.parent.as_ref() => {
            let (thread, asked) = (wanted.thread.clone(), wanted.parent.clone());
            return Err(LedgerError::OtherParent { thread, asked }.into());
        }
        Some(found) => found,
        None => new_ancestry(tables, &wanted.thread, wanted.parent.as_ref())?,
    };
    catch_up(&mut ancestry.accounts, &wanted.spent)?;
    if ancestry.first().live {
        drop_reservations(tables, &mut ancestry)?;
    } else {
        if let Some(taken) = no_slot(&ancestry.accounts, live, wanted.slots) {
            return Ok(Registered::NoSlot(taken));
        }
        if let Some(refusal) = allow(&mut ancestry.accounts, wanted.budget)? {
            return Ok(Registered::Refused(refusal));
        }
        ancestry.first_mut().live = true;
        if let Some(parent) = ancestry.accounts.get_mut(1) {
            parent.live_children += 1;
        }
        tables.set_live(live + 1)?;
    }
    tables.write(&mut ancestry)?;
    Ok(Registered::Live(Box::new(report(&ancestry))))
}

pub(super) fn reserve(tables: &Tables<'_>, thread: &ThreadId, request: u32, most: CallCost) -> Result<Granted, Fault> {
    let mut ancestry = live_ancestry(tables, thread)?;
    let asked = Reservation {
        // What is not priced takes no money.
        spend: most.spend.map_or(Ok(0), whole_money)?,
        tokens: whole_tokens(most.tokens)?,
    };
    let replaced = tables.reservation(ancestry.first(), request)?.unwrap_or_default();
    let accounts = &mut ancestry.accounts;
    for dimension in Dimension::ALL {
        apply(accounts, dimension, |amounts| amounts.reserved -= replaced.of(dimension));
        let amount = asked.of(dimension);
        match left(accounts, dimension) {
            Some(left) if left.amount < amount => {
                return Ok(Granted::Refused(refusal(accounts, dimension, amount, left)));
            }
            _ => apply(accounts, dimension, |amounts| amounts.reserved += amount),
        }
    }
    tables.keep_reservation(ancestry.first(), request, asked)?;
    tables.write(&mut ancestry)?;
    Ok(Granted::Yes(Box::new(report(&ancestry))))
}

pub(super) fn settle(
    tables: &Tables<'_>,
    thread: &ThreadId,
    request: u32,
    spent: &Spent,
) -> Result<BudgetReport, Fault> {
    tables.live()?;
    let mut ancestry = tables.registered(thread)?;
    if let Some(reserved) = tables.reservation(ancestry.first(), request)? {
        for dimension in Dimension::ALL {
            apply(&mut ancestry.accounts, dimension, |amounts| amounts.reserved -= reserved.of(dimension));
        }
        tables.drop_reservation(ancestry.first(), request)?;
    }
    catch_up(&mut ancestry.accounts, spent)?;
    tables.write(&mut ancestry)?;
    Ok(report(&ancestry))
}

pub(super) fn adjust(tables: &Tables<'_>, thread: &ThreadId, budget: Budget) -> Result<Granted, Fault> {
    let mut ancestry = live_ancestry(tables, thread)?;
    if let Some(refusal) = allow(&mut ancestry.accounts, budget)? {
        return Ok(Granted::Refused(refusal));
    }
    tables.write(&mut ancestry)?;
    Ok(Granted::Yes(Box::new(report(&ancestry))))
}

pub(super) fn release(tables: &Tables<'_>, thread: &ThreadId, spent: &Spent) -> Result<Released, Fault> {
    let live = tables.live()?;
    let Some(mut ancestry) = tables.ancestry(thread)? else { return Ok(Released::Before) };
    catch_up(&mut ancestry.accounts, spent)?;
    if !ancestry.first().live {
        tables.write(&mut ancestry)?;
        return Ok(Released::Before);
    }
    let claims = |account: &Account| Dimension::ALL.map(|dimension| account.amounts(dimension).claim());
    let before = claims(ancestry.first());
    drop_reservations(tables, &mut ancestry)?;
    for dimension in Dimension::ALL {
        apply(&mut ancestry.accounts, dimension, |amounts| amounts.set_aside = 0);
    }
    ancestry.first_mut().live = false;
    if let Some(parent) = ancestry.accounts.get_mut(1) {
        parent.live_children = parent.live_children.saturating_sub(1);
    }
    tables.set_live(live.saturating_sub(1))?;
    tables.write(&mut ancestry)?;
    let after = claims(ancestry.first());
    let report = Box::new(report(&ancestry));
    Ok(Released::Ended { spend: Money(before[0] - after[0]), tokens: tokens(before[1] - after[1]), report })
}

pub(super) fn report_of(tables: &Tables<'_>, thread: &ThreadId) -> Result<BudgetReport, Fault> {
    tables.live()?;
    Ok(report(&tables.registered(thread)?))
}

pub(super) fn live(tables: &Tables<'_>) -> Result<Vec<ThreadId>, Fault> {
    tables.live()?;
    tables.live_threads()
}

pub(super) fn rebuild(tables: &Tables<'_>, facts: &[BudgetFact]) -> Result<Rebuilt, Fault> {
    match tables.live() {
        Err(Fault::Ledger(LedgerError::NotBuilt)) => {}
        Err(fault) => return Err(fault),
        Ok(_) => return Ok(Rebuilt::WasBuilt),
    }
    tables.begin()?;
    for fact in parents_first(facts)? {
        let mut ancestry = new_ancestry(tables, &fact.thread, fact.parent.as_ref())?;
        ancestry.first_mut().spend.limit = fact.spend_limit.map(whole_money).transpose()?;
        ancestry.first_mut().tokens.limit = fact.tokens_limit.map(whole_tokens).transpose()?;
        catch_up(&mut ancestry.accounts, &fact.spent)?;
        tables.write(&mut ancestry)?;
    }
    Ok(Rebuilt::Threads(facts.len()))
}

// --------------------------------------------------------------------------------------------- parts of them

/// A thread that the ledger does not have, below its parent.
fn new_ancestry(tables: &Tables<'_>, thread: &ThreadId, parent: Option<&ThreadId>) -> Result<Ancestry, Fault> {
    let parent = parent.map(|parent| tables.registered(parent)).transpose()?;
    let ancestry = Ancestry::below(thread.clone(), parent);
    if ancestry.depth() > MOST_ANCESTORS {
        return Err(LedgerError::TooDeep { thread: thread.clone(), most: MOST_ANCESTORS }.into());
    }
    Ok(ancestry)
}

fn live_ancestry(tables: &Tables<'_>, thread: &ThreadId) -> Result<Ancestry, Fault> {
    tables.live()?;
    let ancestry = tables.registered(thread)?;
    if ancestry.first().live { Ok(ancestry) } else { Err(LedgerError::Ended { thread: thread.clone() }.into()) }
}

/// Why the first of `accounts` cannot be live beside those that are.
fn no_slot(accounts: &[Account], live: u32, slots: Slots) -> Option<NoSlot> {
    if let (Some(parent), Some(most)) = (accounts.get(1), slots.children)
        && parent.live_children >= most
    {
        return Some(NoSlot::Children { parent: parent.thread.clone(), live: parent.live_children, most });
    }
    // Those above it may wait for it: were they counted, a line of threads that each wait for the next could hold all slots. Of those
    // that wait the one that began last always has room below it, as it had less than `most` beside it.
    let above = accounts.iter().skip(1).filter(|account| account.live).count();
    let beside = live.saturating_sub(u32::try_from(above).unwrap_or(u32::MAX));
    slots.threads.filter(|most| beside >= *most).map(|most| NoSlot::Threads { live: beside, most })
}

/// Gives the first of `accounts` a budget, or tells why not.
fn allow(accounts: &mut [Account], budget: Budget) -> Result<Option<Refusal>, LedgerError> {
    let spend = whole_allowance(budget.spend, whole_money)?;
    let tokens = whole_allowance(budget.tokens, whole_tokens)?;
    for (dimension, allowance) in [(Dimension::Spend, spend), (Dimension::Tokens, tokens)] {
        match resolve(accounts, dimension, allowance) {
            Ok((limit, set_aside)) => {
                apply(accounts, dimension, |amounts| (amounts.limit, amounts.set_aside) = (limit, set_aside));
            }
            Err(refusal) => return Ok(Some(refusal)),
        }
    }
    Ok(None)
}

/// The limit that an allowance means now, and what is set aside for it.
fn resolve(
    accounts: &[Account],
    dimension: Dimension,
    allowance: Allowance<i64>,
) -> Result<(Option<i64>, i64), Refusal> {
    let Some((account, above)) = accounts.split_first() else { return Ok((None, 0)) };
    let amounts = account.amounts(dimension);
    let limit = match allowance {
        Allowance::Open => return Ok((None, 0)),
        Allowance::AtMost(limit) => return Ok((Some(limit), 0)),
        Allowance::SetAside(limit) => limit,
        Allowance::Share { children } => {
            let Some((parent, left)) = above.first().zip(left(above, dimension)) else { return Ok((None, 0)) };
            let others = parent.live_children.saturating_sub(u32::from(account.live));
            let parts = children.saturating_sub(others).saturating_add(1).max(2);
            match (left.amount + amounts.uncommitted()) / i64::from(parts) {
                0 => return Err(refusal(above, dimension, 1, left)),
                share => amounts.committed() + share,
            }
        }
    };
    if above.is_empty() {
        return Ok((Some(limit), 0));
    }
    let grown = limit.max(amounts.committed()) - amounts.claim();
    match left(above, dimension) {
        Some(left) if left.amount < grown => Err(refusal(above, dimension, grown, left)),
        _ => Ok((Some(limit), limit)),
    }
}

/// Counts what the log of the first thread has and the ledger has not.
fn catch_up(accounts: &mut [Account], log: &Spent) -> Result<(), LedgerError> {
    let (spend, tokens, unpriced) = (whole_money(log.spend)?, whole_tokens(log.tokens)?, whole_tokens(log.unpriced)?);
    let missing = accounts.first().map_or(0, |account| (unpriced - account.unpriced).max(0));
    count_unpriced(accounts, missing);
    for (dimension, spent) in [(Dimension::Spend, spend), (Dimension::Tokens, tokens)] {
        apply(accounts, dimension, |amounts| amounts.spent = amounts.spent.max(spent));
    }
    Ok(())
}

/// Drops the reservations of the first thread.
fn drop_reservations(tables: &Tables<'_>, ancestry: &mut Ancestry) -> Result<(), Fault> {
    tables.drop_reservations(ancestry.first())?;
    for dimension in Dimension::ALL {
        apply(&mut ancestry.accounts, dimension, |amounts| amounts.reserved = 0);
    }
    Ok(())
}

/// The facts in an order in which each parent comes before its children.
fn parents_first(facts: &[BudgetFact]) -> Result<Vec<&BudgetFact>, LedgerError> {
    let mut known = HashSet::new();
    let mut children: HashMap<Option<&ThreadId>, Vec<&BudgetFact>> = HashMap::new();
    for fact in facts {
        if !known.insert(&fact.thread) {
            return Err(LedgerError::Duplicate { thread: fact.thread.clone() });
        }
        children.entry(fact.parent.as_ref()).or_default().push(fact);
    }
    if let Some(parent) = children.keys().flatten().find(|parent| !known.contains(**parent)) {
        return Err(LedgerError::NotRegistered { thread: (*parent).clone() });
    }
    let mut ordered = children.remove(&None).unwrap_or_default();
    let mut next = 0;
    while let Some(fact) = ordered.get(next) {
        ordered.extend(children.remove(&Some(&fact.thread)).unwrap_or_default());
        next += 1;
    }
    match children.into_keys().flatten().next() {
        Some(thread) => Err(LedgerError::NoRoot { thread: thread.clone() }),
        None => Ok(ordered),
    }
}

// ------------------------------------------------------------------------------------------------- in words

fn report(ancestry: &Ancestry) -> BudgetReport {
    let (account, accounts) = (ancestry.first(), ancestry.accounts.as_slice());
    BudgetReport {
        thread: account.thread.clone(),
        parent: ancestry.parent().cloned(),
        depth: u32::try_from(ancestry.depth()).unwrap_or(u32::MAX),
        live: account.live,
        live_children: account.live_children,
        spend: balance(accounts, Dimension::Spend, Money),
        tokens: balance(accounts, Dimension::Tokens, tokens),
        unpriced: tokens(account.unpriced),
        unpriced_below: tokens(account.unpriced_below),
    }
}

fn balance<T>(accounts: &[Account], dimension: Dimension, unit: fn(i64) -> T) -> Balance<T> {
    let amounts = accounts.first().map(|account| *account.amounts(dimension)).unwrap_or_default();
    let left = left(accounts, dimension);
    Balance {
        limit: amounts.limit.map(unit),
        set_aside: unit(amounts.set_aside),
        spent: unit(amounts.spent),
        spent_below: unit(amounts.spent_below),
        reserved_by_calls: unit(amounts.reserved),
        reserved_by_children: unit(amounts.claimed - amounts.spent_below),
        left: left.map(|left| unit(left.amount)),
        capped_by: left.and_then(|left| accounts.get(left.by)).map(|account| account.thread.clone()),
        over: unit(amounts.over()),
    }
}

/// `asked` is more than the `left` of `accounts`.
fn refusal(accounts: &[Account], dimension: Dimension, asked: i64, left: Left) -> Refusal {
    fn shortage<T>(account: &Account, dimension: Dimension, amounts: [i64; 2], unit: fn(i64) -> T) -> Shortage<T> {
        let [asked, left] = amounts.map(unit);
        let amounts = account.amounts(dimension);
        let spent = amounts.spent + amounts.spent_below;
        Shortage {
            asked,
            left,
            capped_by: account.thread.clone(),
            limit: unit(amounts.limit.unwrap_or(0)),
            spent: unit(spent),
            reserved: unit(amounts.committed() - spent),
        }
    }
    let (account, amounts) = (&accounts[left.by], [asked, left.amount]);
    match dimension {
        Dimension::Spend => Refusal::Spend(shortage(account, dimension, amounts, Money)),
        Dimension::Tokens => Refusal::Tokens(shortage(account, dimension, amounts, tokens)),
    }
}

// --------------------------------------------------------------------------------------------- whole numbers

fn whole_money(money: Money) -> Result<i64, LedgerError> {
    if (0..=MOST).contains(&money.0) { Ok(money.0) } else { Err(LedgerError::Amount) }
}

fn whole_tokens(tokens: Tokens) -> Result<i64, LedgerError> {
    i64::try_from(tokens.0).ok().filter(|whole| *whole <= MOST).ok_or(LedgerError::Amount)
}

fn tokens(amount: i64) -> Tokens {
    Tokens(u64::try_from(amount).unwrap_or(0))
}

fn whole_allowance<T>(
    allowance: Allowance<T>,
    whole: fn(T) -> Result<i64, LedgerError>,
) -> Result<Allowance<i64>, LedgerError> {
    Ok(match allowance {
        Allowance::Open => Allowance::Open,
        Allowance::AtMost(limit) => Allowance::AtMost(whole(limit)?),
        Allowance::SetAside(limit) => Allowance::SetAside(whole(limit)?),
        Allowance::Share { children } => Allowance::Share { children },
    })
}
