//! What calls may cost: asking the budget ledger before one is sent, and telling it afterwards what it cost.
//!
//! A thread is registered with its first request, and released when its driver ends. Before a call is sent, the most that it
//! may cost is reserved: its prompt as it is estimated, and the longest answer. Where less is left than the longest answer
//! may cost, the answer gets a lower bound that fits; where not even a short one fits, nothing is sent, and the thread is at
//! its limit.

use super::Audience;
use super::account::{Budgets, Unfunded, budget_error};
use super::ready::{Purpose, Ready};
use super::run::Driver;
use crate::domain::event::ErrorCategory;
use crate::domain::{
    Allowance, Budget, BudgetReport, CallCost, ControlEvent, Event, LimitKind, LimitSource, Limits, ModelRef, Money,
    Refusal, SetLimits, SettingsEvent, Spent, ThreadEvent, Tokens, Usage,
};
use crate::engine::thread::{Effect, Phase};
use crate::ports::ledger::{Granted, LedgerJob, Registered};
use std::time::{Duration, Instant};

/// No answer is bounded below this, in tokens: shorter ones are cut in the middle of a sentence, and paid for.
const SHORTEST_ANSWER: u64 = 1_024;

/// How long a thread that has to wait for a slot waits until it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

impl<A: Audience> Driver<A> {
    /// Has the ledger do something, while who wants to stop is heard.
    async fn book<T: Send + 'static>(&mut self, job: LedgerJob<T>) -> Result<T, Unfunded> {
        let done = self.unless_stopped(tokio::task::spawn_blocking(job)).await?;
        let gone = |failed: tokio::task::JoinError| {
            Unfunded::Failed(budget_error(ErrorCategory::Transient, failed.to_string()))
        };
        Ok(done.map_err(gone)??)
    }

    /// Reserves what the call may cost at most, and bounds its answer by what is left. Without a ledger, or where no limit
    /// is in the way, nothing is asked.
    pub(super) async fn fund(&mut self, request: u32, ready: &mut Ready) -> Result<(), Unfunded> {
        let Some(budgets) = self.settings.budgets.clone() else { return Ok(()) };
        self.settle().await;
        if self.account.report.is_some() && self.account.limits != self.thread.limits {
            self.adjust(&budgets).await?;
        }
        let unlimited = |report: &BudgetReport| report.spend.left.is_none() && report.tokens.left.is_none();
        if self.account.report.as_ref().is_some_and(unlimited) {
            return Ok(());
        }
        // A request that was looked at is sent as it was seen.
        let fixed = self.seen().is_some();
        loop {
            let most = self.most(ready, ready.max_output_tokens);
            let granted = self.book(budgets.ledger.reserve(&self.thread.id, request, most)).await;
            if granted.is_err() {
                // Whatever the ledger knows of the thread, it is told anew.
                self.account.report = None;
            }
            match granted? {
                Granted::Yes(report) => {
                    (self.account.report, self.account.reserved) = (Some(*report), Some(request));
                    return Ok(());
                }
                Granted::Refused(refusal) => match self.affordable(ready, &refusal).filter(|_| !fixed) {
                    Some(bound) => ready.max_output_tokens = bound,
                    None => return Err(Unfunded::Refused(refusal)),
                },
            }
        }
    }

    /// Reserves the most that a call beside the thread's own may cost.
    pub(super) async fn reserve_beside(&mut self, number: u32, most: CallCost) -> Result<(), Unfunded> {
        let Some(budgets) = self.settings.budgets.clone() else { return Ok(()) };
        self.registered().await?;
        if self.account.limits != self.thread.limits {
            self.adjust(&budgets).await?;
        }
        match self.book(budgets.ledger.reserve(&self.thread.id, number, most)).await? {
            Granted::Yes(report) => {
                self.account.report = Some(*report);
                Ok(())
            }
            Granted::Refused(refusal) => Err(Unfunded::Refused(refusal)),
        }
    }

    /// Tells the ledger what a call beside the thread's own has cost, which is in the thread's sum, and gives back what was
    /// reserved for it.
    pub(super) async fn settle_beside(&mut self, number: u32) {
        let Some(budgets) = self.settings.budgets.clone().filter(|_| self.account.report.is_some()) else { return };
        let spent = Spent::from(&self.thread.cost);
        let job = budgets.ledger.settle(&self.thread.id, number, spent);
        match self.wait_for(tokio::task::spawn_blocking(job)).await {
            Ok(Ok(report)) => {
                self.account.told = spent;
                self.account.report = Some(report);
            }
            // The next sum counts it.
            Ok(Err(error)) => tracing::warn!(%error, "the ledger was not told what a call beside the thread has cost"),
            Err(failed) => tracing::warn!(%failed, "the ledger was not told what a call beside the thread has cost"),
        }
    }

    /// What the call costs with an answer of so many tokens.
    fn most(&self, ready: &Ready, output: u64) -> CallCost {
        let estimate = ready.assembly.tokens();
        // What the provider counted says more of a conversation than an estimate does.
        let counted =
            if ready.purpose == Purpose::Answer { self.size(&ready.assembly, &self.thread.history) } else { Tokens(0) };
        self.dearest(&ready.model, estimate, counted, output)
    }

    /// What a call costs with a prompt of that estimate or as much as was `counted`, all of it in the class that costs most, and an
    /// answer of so many tokens.
    pub(super) fn dearest(&self, model: &ModelRef, estimate: Tokens, counted: Tokens, output: u64) -> CallCost {
        // Estimates err.
        let input = Tokens(estimate.0.saturating_add(estimate.0 / 8)).max(counted);
        let usage = Usage { input, output: Tokens(output), ..Usage::default() };
        // Writing a cache costs more than reading what is new.
        let written = Usage { input: Tokens(0), cache_write: input, ..usage };
        let price = |usage: &Usage| self.settings.models.spend(model, usage);
        CallCost { spend: price(&usage).max(price(&written)), tokens: usage.total() }
    }

    /// The longest answer that what is left pays for, if that is shorter than the present bound and not too short.
    fn affordable(&self, ready: &Ready, refusal: &Refusal) -> Option<u64> {
        let bound = match refusal {
            Refusal::Tokens(shortage) => shortage.left.0.checked_sub(self.most(ready, 0).tokens.0)?,
            Refusal::Spend(shortage) => {
                let (prompt, answer) = (self.most(ready, 0).spend?, self.most(ready, 1_000_000).spend?);
                let (left, price) = (shortage.left.0.checked_sub(prompt.0)?, answer.0.checked_sub(prompt.0)?);
                let tokens = i128::from(left).checked_mul(1_000_000)?.checked_div(i128::from(price))?;
                u64::try_from(tokens).ok()?
            }
        };
        let shortest = SHORTEST_ANSWER.min(ready.max_output_tokens);
        (bound >= shortest && bound < ready.max_output_tokens).then_some(bound)
    }

    /// The thread is at a limit, its own or one above it: people read the amounts.
    fn refused(&mut self, refusal: &Refusal) {
        let micro = |money: Money| u64::try_from(money.0).unwrap_or(0);
        let (code, current, maximum) = match refusal {
            Refusal::Spend(shortage) => {
                let limit = micro(shortage.limit);
                (LimitKind::Spend, limit.saturating_sub(micro(shortage.left)), limit)
            }
            Refusal::Tokens(shortage) => {
                (LimitKind::Tokens, shortage.limit.0.saturating_sub(shortage.left.0), shortage.limit.0)
            }
        };
        self.todo.push_front(Effect::Emit(Event::Control(ControlEvent::Limit { code, current, maximum })));
        let text = format!("no call was sent: {refusal}");
        self.todo.push_front(Effect::Emit(Event::Thread(ThreadEvent::Notice { text })));
    }

    /// Has the thread in the ledger before anything is decided that costs it words: one that waits for a slot makes no room.
    pub(super) async fn registered(&mut self) -> Result<(), Unfunded> {
        match self.settings.budgets.clone().filter(|_| self.account.report.is_none()) {
            Some(budgets) => self.register(&budgets).await,
            None => Ok(()),
        }
    }

    /// Takes the thread into the ledger.
    async fn register(&mut self, budgets: &Budgets) -> Result<(), Unfunded> {
        let parent = self.thread.lineage.parent.clone();
        let set = SetLimits { limits: self.thread.limits, limits_by: self.thread.limits_by };
        let spent = Spent::from(&self.thread.cost);
        match self.book(budgets.register(self.thread.id.clone(), parent, set, spent)).await? {
            Registered::Live(report) => {
                (self.account.told, self.account.limits) = (spent, self.thread.limits);
                let share = report.spend.limit.filter(|_| self.thread.limits.spend.is_none());
                if let Some(share) = share {
                    // The thread says what its share is; until it has, it is registered again.
                    let limits = Limits { spend: Some(share), ..self.thread.limits };
                    let told = self.record(Event::Settings(SettingsEvent::LimitsChanged { limits })).await;
                    told.map_err(|_unrecorded| Unfunded::Blocked)?;
                    self.account.limits = limits;
                }
                self.account.report = Some(*report);
                Ok(())
            }
            Registered::Refused(refusal) => Err(Unfunded::Refused(refusal)),
            Registered::NoSlot(taken) => Err(Unfunded::NoSlot(taken)),
        }
    }

    /// Tells the ledger of changed limits.
    async fn adjust(&mut self, budgets: &Budgets) -> Result<(), Unfunded> {
        let Limits { spend, tokens, .. } = self.thread.limits;
        let tokens =
            tokens.filter(|tokens| LimitSource::is_named(self.thread.limits_by.tokens) || self.limits_tokens(*tokens));
        let budget = Budget {
            spend: spend.map_or(Allowance::Open, Allowance::AtMost),
            tokens: tokens.map_or(Allowance::Open, Allowance::AtMost),
        };
        match self.book(budgets.ledger.adjust(&self.thread.id, budget)).await? {
            Granted::Yes(report) => {
                (self.account.report, self.account.limits) = (Some(*report), self.thread.limits);
                Ok(())
            }
            Granted::Refused(refusal) => Err(Unfunded::Refused(refusal)),
        }
    }

    /// What the thread has spent, with those below it where the ledger counts them.
    pub(super) fn spent_with_children(&self) -> (Money, Tokens) {
        let Spent { spend, tokens, .. } = Spent::from(&self.thread.cost);
        let Some(report) = &self.account.report else { return (spend, tokens) };
        // Tokens are limited for each thread, unless somebody limits those of the tree.
        let below = report.tokens.limit.map_or(Tokens(0), |_| report.tokens.spent_below);
        (spend + report.spend.spent_below, tokens + below)
    }

    /// Asks the ledger how the thread stands now, with what its children have spent and reserved since.
    pub(super) async fn look_at_account(&mut self) {
        let Some(budgets) = self.settings.budgets.clone().filter(|_| self.account.report.is_some()) else { return };
        let job = budgets.ledger.report(&self.thread.id);
        if let Ok(Ok(report)) = tokio::task::spawn_blocking(job).await {
            self.account.report = Some(report);
        }
    }

    /// Whether the ledger holds a limit of tokens for the thread that is not this one.
    fn limits_tokens(&self, tokens: Tokens) -> bool {
        self.account.report.as_ref().and_then(|report| report.tokens.limit).is_some_and(|limit| limit != tokens)
    }

    /// Tells the ledger what calls have cost that are over, and gives back what was reserved for them.
    pub(super) async fn settle(&mut self) {
        let spent = Spent::from(&self.thread.cost);
        let answered = self.call.is_none() && self.answered.is_none();
        let over = answered && self.ready.is_none() && !self.pipeline.holds_request();
        let news = self.account.reserved.is_some() || spent != self.account.told;
        let (Some(budgets), true) = (&self.settings.budgets, over && news && self.account.report.is_some()) else {
            return;
        };
        let request = self.account.reserved.unwrap_or(self.thread.requests);
        let job = budgets.ledger.settle(&self.thread.id, request, spent);
        match self.wait_for(tokio::task::spawn_blocking(job)).await {
            Ok(Ok(report)) => {
                (self.account.reserved, self.account.told) = (None, spent);
                self.account.report = Some(report);
            }
            // The next sum counts it.
            Ok(Err(error)) => tracing::warn!(%error, "the ledger was not told what a call has cost"),
            Err(failed) => tracing::warn!(%failed, "the ledger was not told what a call has cost"),
        }
    }

    /// The request is not sent: what follows from that.
    pub(super) fn unfunded(&mut self, request: u32, attempt: u32, unfunded: Unfunded) {
        match unfunded {
            Unfunded::Stopped => {}
            Unfunded::Blocked => self.todo.push_front(Effect::Prepare { request, attempt }),
            Unfunded::NoSlot(taken) => {
                let queued = ControlEvent::ThreadQueued { reason: taken.to_string() };
                self.todo.push_front(Effect::Emit(Event::Control(queued)));
            }
            // A hook that lets the thread go on at its limit has no money to give.
            Unfunded::Refused(refusal) if self.account.refused.replace(request) == Some(request) => {
                let message = format!("no call was sent: {refusal}");
                self.not_made(request, attempt, budget_error(ErrorCategory::Permanent, message));
            }
            Unfunded::Refused(refusal) => self.refused(&refusal),
            Unfunded::Failed(error) => self.not_made(request, attempt, error),
        }
    }

    /// Asks again for a slot.
    pub(super) async fn ask_for_slot(&mut self) {
        self.account.ask_at = None;
        let Some(budgets) = self.settings.budgets.clone().filter(|_| matches!(self.thread.phase, Phase::Queued { .. }))
        else {
            return;
        };
        match self.register(&budgets).await {
            Err(Unfunded::NoSlot(_)) => self.wait_for_slot(),
            // The cancel is the next event.
            Err(Unfunded::Stopped) => self.carry_out().await,
            // What else stands in the way is met where the request is made.
            Ok(()) | Err(Unfunded::Blocked | Unfunded::Refused(_) | Unfunded::Failed(_)) => {
                self.emit(Event::Control(ControlEvent::ThreadAdmitted {})).await;
            }
        }
    }

    /// The thread waits for a slot.
    pub(super) fn wait_for_slot(&mut self) {
        self.account.ask_at = Some(Instant::now() + ASK_AGAIN);
    }

    /// The end of the thread in this process: what is set aside for it and was not spent goes back.
    pub(super) async fn release(&mut self) {
        // A child's parent may have taken it in before it asked for anything.
        let known = self.account.report.is_some() || self.thread.lineage.parent.is_some();
        let Some(budgets) = self.settings.budgets.clone().filter(|_| known) else { return };
        let job = budgets.ledger.release(&self.thread.id, Spent::from(&self.thread.cost));
        match tokio::task::spawn_blocking(job).await {
            Ok(Ok(_)) => self.account.report = None,
            // Whoever finds that the thread is dead releases it.
            Ok(Err(error)) => tracing::warn!(%error, "the ledger was not told that the thread has ended"),
            Err(failed) => tracing::warn!(%failed, "the ledger was not told that the thread has ended"),
        }
    }
}
