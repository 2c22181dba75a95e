//! A thread as lists show it.

use crate::domain::background::RunningCommands;
use crate::domain::tree::InTree;
use crate::domain::{Limits, ModelRef, Money, Outputs, Stand, Status, ThreadId, Timestamp, Tokens, Waiting};
use std::sync::Arc;

/// A thread as the list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRow {
    pub thread_id: ThreadId,
    pub directive: Arc<str>,
    pub status: Status,
    /// What for, while it waits.
    pub waiting: Option<Waiting>,
    /// First words of the first prompt.
    pub title: String,
    pub model: Arc<ModelRef>,
    /// What exactly, as far as its row says: an item, a limit.
    pub waits_for: Option<String>,
    pub turns: u32,
    pub tokens: Tokens,
    pub spend: Money,
    /// How long it worked, in milliseconds.
    pub elapsed_ms: u64,
    /// How much it wrote lately.
    pub outputs: Outputs,
    /// What is risky of what its directive grants and does not acknowledge.
    pub risk: Option<String>,
    /// The commands that run beside its conversation.
    pub commands: RunningCommands,
    /// Milliseconds since the epoch.
    pub updated_at: Timestamp,
    /// Whether a process runs it now.
    pub runs: bool,
    /// Whether somebody else wrote its log.
    pub elsewhere: bool,
    /// The thread that started it.
    pub parent: Option<ThreadId>,
    /// So many of the listed threads are above it.
    pub level: usize,
    pub limits: Limits,
}

impl ThreadRow {
    /// How it stands, in a word.
    #[must_use]
    pub fn told(&self) -> &'static str {
        if self.elsewhere { "elsewhere" } else { self.status.told(self.waiting) }
    }

    /// What it is, what it has used of what it may, what it waits for and who started it, a line each.
    #[must_use]
    pub fn about(&self) -> Vec<String> {
        let waits = self.status.waits_for(self.waiting, self.waits_for.as_deref());
        let turns = if self.limits.turns.unwrap_or(self.turns) == 1 { "turn" } else { "turns" };
        let most = |limit: Option<String>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
        let amounts = format!(
            "{}{} {turns} · {} tokens · {}{}",
            self.turns,
            most(self.limits.turns.map(|turns| turns.to_string())),
            self.tokens,
            self.spend,
            most(self.limits.spend.map(|spend| spend.to_string()))
        );
        let parent = self.parent.as_ref().map(|parent| format!("started by {parent}"));
        let model = Some(format!("{} · {}", self.directive, self.model));
        let risk = self.risk.as_ref().map(|risk| format!("! grants what is {risk}, not acknowledged"));
        let commands = self.commands.iter().map(|command| format!("$ {command}"));
        [model, Some(amounts), waits, risk, parent].into_iter().flatten().chain(commands).collect()
    }

    /// What runs beside its conversation, in one line: `$ command-1 npm run dev +1`.
    #[must_use]
    pub fn background(&self) -> Option<String> {
        let first = self.commands.iter().next()?;
        let more = self.commands.iter().count() - 1;
        Some(if more == 0 { format!("$ {first}") } else { format!("$ {first} +{more}") })
    }

    /// Whether it waits for the person's word on a call.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.status == Status::Waiting && self.waiting == Some(Waiting::Approval)
    }

    /// How it stands, as far as an order asks.
    #[must_use]
    pub fn stand(&self) -> Stand {
        let Self { status, waiting, runs, updated_at, spend, .. } = *self;
        Stand { status, waiting, runs, updated_at, spend }
    }
}

impl InTree for ThreadRow {
    fn id(&self) -> &ThreadId {
        &self.thread_id
    }

    fn parent(&self) -> Option<&ThreadId> {
        self.parent.as_ref()
    }
}
