//! The calls that hooks make before they answer how a thread is to go on.
//!
//! They are made one after the other, in the order of the hooks. A call that fails ends the thread in an error, unless its
//! hook is optional: whoever had it made counted on it.

use super::calls::{STOPPED, unanswered};
use super::effect::{Effect, ignored};
use super::state::{CallStage, HookRun, Phase, StagedCall, Thread};
use crate::domain::{Block, CallId, Control, ControlEvent, Event, HookStep};
use serde_json::Value;

/// A tool that answers with what somebody else wrote under names, `action` maybe among them.
const STATE: &str = "levain/state";

/// As many letters of a failure are told with the decision; the result has all of it.
const TOLD: usize = 200;

/// The hooks of the event that is asked about make these calls.
pub(super) fn called(thread: &mut Thread, event: &ControlEvent, steps: &[HookStep]) -> Vec<Effect> {
    let made = || steps.iter().flat_map(|step| &step.calls);
    thread.hook_calls = thread.hook_calls.saturating_add(made().count() as u64);
    let phase = std::mem::replace(&mut thread.phase, Phase::Idle);
    let Phase::Asking(point) = phase else {
        thread.phase = phase;
        return ignored(thread, event);
    };
    let calls = made().map(|made| StagedCall::new(made.call.clone())).collect();
    let run = HookRun { point: *point, steps: steps.to_vec(), calls };
    let first = run.next();
    thread.phase = Phase::Hooks(Box::new(run));
    first.into_iter().collect()
}

/// A call of a hook has its result.
pub(super) fn answered(thread: &mut Thread, call_id: &CallId, output: &str, error: bool) -> Vec<Effect> {
    let Phase::Hooks(run) = &mut thread.phase else { return Vec::new() };
    let Some(staged) = run.calls.iter_mut().find(|staged| staged.call.call_id == *call_id && !staged.is_done()) else {
        return Vec::new();
    };
    let (call_id, output) = (call_id.clone(), output.to_owned());
    staged.stage = CallStage::Done(Block::ToolResult { call_id, output, error, images: Vec::new() });
    let decided = run.failed().or_else(|| run.calls.iter().all(StagedCall::is_done).then(|| run.decided()));
    match decided {
        Some(decided) => vec![Effect::Emit(Event::Control(decided))],
        None => run.next().into_iter().collect(),
    }
}

/// The process that made the calls is gone, or they are stopped: those that had begun get a result.
pub(super) fn open(run: &HookRun) -> impl Iterator<Item = &CallId> {
    let begun = |staged: &&StagedCall| !staged.is_done() && staged.stage != CallStage::Queued;
    run.calls.iter().filter(begun).map(|staged| &staged.call.call_id)
}

/// They are stopped.
pub(super) fn cancel(run: &HookRun) -> Vec<Effect> {
    let stopped = open(run).map(|call_id| unanswered(call_id, STOPPED));
    [Effect::StopTools].into_iter().chain(stopped).collect()
}

impl HookRun {
    fn next(&self) -> Option<Effect> {
        let mut waiting = self.calls.iter().filter(|staged| staged.stage == CallStage::Queued);
        waiting.next().map(|staged| Effect::Authorise(staged.call.clone()))
    }

    /// How long this call may take.
    pub(super) fn within_ms(&self, call_id: &CallId) -> Option<u64> {
        let mut made = self.steps.iter().flat_map(|step| &step.calls);
        made.find(|made| made.call.call_id == *call_id).map(|made| made.within_ms)
    }

    /// Each step with its calls that are done: the item that was called, its result, whether that is a failure.
    fn results(&self) -> impl Iterator<Item = (&HookStep, Vec<(&str, &str, bool)>)> {
        let mut calls = self.calls.iter();
        self.steps.iter().map(move |step| {
            let done = calls.by_ref().take(step.calls.len()).filter_map(|staged| match &staged.stage {
                CallStage::Done(Block::ToolResult { output, error, .. }) => {
                    Some((staged.call.tool.as_str(), output.as_str(), *error))
                }
                CallStage::Done(_) | CallStage::Queued | CallStage::AwaitingApproval(_) | CallStage::Running { .. } => {
                    None
                }
            });
            (step, done.collect())
        })
    }

    /// The thread fails because a call did that it was to have.
    fn failed(&self) -> Option<ControlEvent> {
        self.results().filter(|(step, _)| !step.optional).find_map(|(step, results)| {
            let (tool, output, _) = results.into_iter().find(|(_, _, error)| *error)?;
            let failure: String =
                output.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().chars().take(TOLD).collect();
            let why = format!("its call of {tool} failed: {failure}");
            Some(self.decision(Some(step), Some(Control::Fail), why))
        })
    }

    /// The first answer in the order of the hooks.
    fn decided(&self) -> ControlEvent {
        let answer = |(step, results): (&'_ HookStep, Vec<(&str, &str, bool)>)| {
            let own = step.action.map(|action| (action, step.why.clone()));
            let heard = results.into_iter().filter(|_| !step.unheard);
            let of_a_call = heard
                .filter(|(tool, _, error)| !error && *tool != STATE)
                .find_map(|(tool, output, _)| Some((control_in(output)?, format!("its call of {tool} answered"))));
            own.or(of_a_call).map(|(action, why)| (step.hook.clone(), action, why))
        };
        match self.results().find_map(answer) {
            Some((hook, action, why)) => {
                let event = self.point.event().to_owned();
                ControlEvent::HookDecided { event, hook: Some(hook), action: Some(action), why }
            }
            None => self.decision(None, None, "no hook had an answer".to_owned()),
        }
    }

    fn decision(&self, step: Option<&HookStep>, action: Option<Control>, why: String) -> ControlEvent {
        let (event, hook) = (self.point.event().to_owned(), step.map(|step| step.hook.clone()));
        ControlEvent::HookDecided { event, hook, action, why }
    }
}

/// How to go on, where a result says so: as `action` of what a tool gives back, or of what a directive hands back.
fn control_in(output: &str) -> Option<Control> {
    let Value::Object(result) = serde_json::from_str(output).ok()? else { return None };
    let outputs = result.get("outputs").and_then(|outputs| outputs.get("action"));
    Control::from_word(result.get("action").or(outputs)?.as_str()?)
}
