//! What the screen about a pipeline lists: the handlers that were asked, those there are, what extensions printed.

use crate::domain::command::Breakpoint;
use crate::domain::{ContentHash, HandlerPlace, Stage, Step, StepOutcome};
use std::sync::Arc;

/// The lists of it, as they were when somebody last asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineRows {
    /// Handlers that were asked: those of the newest prompt, request or call first, in the order in which they were asked.
    pub asked: Vec<Arc<AskedRow>>,
    /// Handlers that files name, at stages where the pipeline can stand still.
    pub known: Vec<Arc<KnownHandler>>,
    /// What extensions printed, the newest first.
    pub printed: Vec<Arc<PrintedRow>>,
}

/// One handler that was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedRow {
    /// What it was asked about: a prompt, a request, a call.
    pub of: Arc<str>,
    /// Its place among those that were asked of that.
    pub place: usize,
    pub step: Step,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KnownHandler {
    pub stage: Stage,
    pub id: String,
    pub place: Option<HandlerPlace>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PrintedRow {
    /// When, as people read it.
    pub at: String,
    pub extension: String,
    pub level: String,
    pub text: Arc<str>,
}

/// A row of it.
#[derive(Clone, Debug, PartialEq)]
pub enum PipelineRow {
    /// The handler that the thread stands still before.
    Paused,
    Asked(Arc<AskedRow>),
    Breakpoint(Breakpoint),
    Known(Arc<KnownHandler>),
    /// A stage as a whole.
    Stage(Stage),
    Printed(Arc<PrintedRow>),
}

/// What is shown of a handler that was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepView {
    /// What it changed.
    #[default]
    Difference,
    /// What it got.
    Before,
    /// What it made of that.
    After,
}

impl StepView {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Difference => Self::Before,
            Self::Before => Self::After,
            Self::After => Self::Difference,
        }
    }

    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Difference => "what it changed",
            Self::Before => "what it got",
            Self::After => "what it made of that",
        }
    }
}

/// A text that is read for the chosen row.
#[derive(Clone, Debug, PartialEq)]
pub enum PipelineText {
    Step(Arc<AskedRow>, StepView),
    /// The same handler as it is written now, asked with what it got then.
    Again(Arc<AskedRow>),
    /// The value that the thread stands still with.
    Value(ContentHash),
}

/// How often a handler was asked, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub asked: usize,
    pub changed: usize,
    pub failed: usize,
    pub took_ms: u64,
}

impl PipelineRows {
    /// What came of asking it, as far as that is listed.
    #[must_use]
    pub fn counts(&self, stage: Stage, handler: Option<&str>) -> Counts {
        let steps = self.asked.iter().map(|row| &row.step);
        let meant = steps.filter(|step| step.stage == stage && handler.is_none_or(|name| step.handler == name));
        meant.filter(|step| step.outcome != StepOutcome::NotAsked).fold(Counts::default(), |all, step| Counts {
            asked: all.asked + 1,
            changed: all.changed + usize::from(step.outcome == StepOutcome::Changed),
            failed: all.failed + usize::from(step.outcome.is_failure()),
            took_ms: all.took_ms + step.took_ms,
        })
    }
}

impl PipelineRow {
    /// The stage and the handler that it is about; `paused` is the one the thread stands still before.
    pub(super) fn place(&self, paused: Option<(Stage, &str)>) -> Option<(Stage, Option<String>)> {
        match self {
            Self::Paused => paused.map(|(stage, handler)| (stage, Some(handler.to_owned()))),
            Self::Asked(row) => Some((row.step.stage, Some(row.step.handler.clone()))),
            Self::Breakpoint(breakpoint) => Some((breakpoint.stage, breakpoint.handler.clone())),
            Self::Known(known) => Some((known.stage, Some(known.id.clone()))),
            Self::Stage(stage) => Some((*stage, None)),
            Self::Printed(_) => None,
        }
    }
}
