//! The way of a prompt and of its requests through their handlers, as it is recorded: which stage, which handler, what went
//! in and what came out.

use super::assembly::Saw;
use super::id::ContentHash;
use super::stage::{HandlerPlace, Stage};
use serde::{Deserialize, Serialize};

/// Lists in a recorded value that are kept piece by piece, and the name under which their hashes stand then.
pub const LISTS: [&str; 4] = ["messages", "input", "contents", "branchEntries"];
pub const KEPT: &str = "$kept";

/// What became of asking one handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepOutcome {
    /// It had nothing to say.
    Unchanged,
    /// The value is another one after it.
    Changed,
    /// The prompt is done with: no model is called.
    Handled,
    /// What was about to be done is not done.
    Blocked {
        reason: String,
    },
    /// Its condition does not hold, so it was not asked.
    NotAsked,
    /// It is not run here, for this reason.
    Refused {
        reason: String,
    },
    Failed {
        error: String,
    },
    /// It did not answer in time.
    TimedOut,
    /// A person did not want to wait for it.
    Skipped,
}

impl StepOutcome {
    /// Whether the handler could not do what it is for.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::TimedOut | Self::Refused { .. })
    }

    /// For a line of a list.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unchanged => "no effect",
            Self::Changed => "changed",
            Self::Handled => "handled",
            Self::Blocked { .. } => "blocked",
            Self::NotAsked => "condition false",
            Self::Refused { .. } => "not run",
            Self::Failed { .. } => "failed",
            Self::TimedOut => "timed out",
            Self::Skipped => "skipped",
        }
    }

    /// What more is to be said of it.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Blocked { reason } | Self::Refused { reason } | Self::Failed { error: reason } => Some(reason),
            Self::Unchanged | Self::Changed | Self::Handled | Self::NotAsked | Self::TimedOut | Self::Skipped => None,
        }
    }
}

/// One handler that was asked at a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub stage: Stage,
    pub handler: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<HandlerPlace>,
    #[serde(flatten)]
    pub outcome: StepOutcome,
    /// How long it took, in milliseconds; what a person or a breakpoint was waited for is not in it.
    pub took_ms: u64,
    /// What it got and what it made of that, as JSON in the content store. Of one that was not asked there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ContentHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContentHash>,
    /// What the tests of its condition saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saw: Vec<Saw>,
    /// What it printed beside its answer; the end of it where it is long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// A person changed the value at a breakpoint before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
}

impl Step {
    /// How it ended, for a line of a list: the outcome, why, the tests of its condition that did not hold, and whether a
    /// person changed its value.
    #[must_use]
    pub fn ending(&self) -> String {
        let mut all = vec![self.outcome.word().to_owned()];
        all.extend(self.outcome.detail().map(str::to_owned));
        let failed: Vec<String> = self.saw.iter().filter(|saw| !saw.holds).map(ToString::to_string).collect();
        if !failed.is_empty() {
            all.push(failed.join(", "));
        }
        format!("{}{}", all.join(": "), if self.edited { ", edited by you" } else { "" })
    }

    /// What it did, for a line of people; none where it had no effect.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let Self { stage, handler, outcome, .. } = self;
        let detail = outcome.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        match outcome {
            StepOutcome::Unchanged | StepOutcome::NotAsked => None,
            StepOutcome::Changed if stage.takes_handlers() => Some(format!("{stage} changed by {handler}")),
            StepOutcome::Changed => Some(format!("{stage} {handler} inserted")),
            StepOutcome::Handled
            | StepOutcome::Blocked { .. }
            | StepOutcome::Refused { .. }
            | StepOutcome::Failed { .. }
            | StepOutcome::TimedOut
            | StepOutcome::Skipped => Some(format!("{handler} {} at {stage}{detail}", outcome.word())),
        }
    }
}
