//! The tool calls of one answer: which may begin, which wait, and when all of them have a result.

use super::effect::{Effect, ignored};
use super::state::{CallStage, Phase, StagedCall, Thread};
use crate::domain::capability::literal;
use crate::domain::command::Approval;
use crate::domain::event::{Approve, CancelScope, Denial};
use crate::domain::thread_result::ORCHESTRATOR;
use crate::domain::{
    ApprovalEvent, Block, CallId, ContentHash, Event, Image, Message, MessageFacts, Role, Steering, ToolCall, ToolEvent,
};
use serde_json::Value;

/// What a tool call gets as its result when it was not run.
const SKIPPED: &str = "Skipped: the user sent a message first.";
pub(super) const STOPPED: &str = "Stopped by the user.";

/// An answer asks for these calls.
pub(super) fn begin(thread: &mut Thread, calls: Vec<ToolCall>) -> Vec<Effect> {
    let first = calls.first().cloned().map(Effect::Authorise);
    let calls = calls.into_iter().map(StagedCall::new).collect();
    thread.phase = Phase::Tools { calls, stopping: None };
    first.into_iter().collect()
}

/// The process that ran them is gone.
pub(super) fn interrupted(thread: &mut Thread, calls: Vec<StagedCall>) -> Vec<Effect> {
    let effects = open(&calls).map(|call| Effect::Emit(Event::interrupted(&call.call_id))).collect();
    thread.phase = Phase::Tools { calls, stopping: Some(CancelScope::Turn) };
    effects
}

/// Each call gets a result, then the turn is over. Nobody is asked any more.
pub(super) fn cancel(thread: &mut Thread, mut calls: Vec<StagedCall>, scope: CancelScope) -> Vec<Effect> {
    let stopped = open(&calls).map(|call| unanswered(&call.call_id, STOPPED));
    let effects = [Effect::StopTools].into_iter().chain(stopped).collect();
    let asked = calls.iter_mut().filter(|staged| staged.approval().is_some());
    asked.for_each(|staged| staged.stage = CallStage::Queued);
    thread.phase = Phase::Tools { calls, stopping: Some(scope) };
    effects
}

/// The calls that have no result.
fn open(calls: &[StagedCall]) -> impl Iterator<Item = &ToolCall> {
    calls.iter().filter(|staged| !staged.is_done()).map(|staged| &staged.call)
}

pub(super) fn unanswered(call_id: &CallId, why: &str) -> Effect {
    Effect::Emit(Event::Tool(ToolEvent::ToolCallResult {
        call_id: call_id.clone(),
        output: why.to_owned(),
        error: Some(why.to_owned()),
    }))
}

/// The call waits for a person. Nothing follows until they answer.
pub(super) fn approval_asked(thread: &mut Thread, event: &ApprovalEvent) -> Vec<Effect> {
    let ApprovalEvent::ApprovalRequested {
        id, call_id, tool, item, capability, args_hash, preview, confined, why, ..
    } = event
    else {
        return Vec::new();
    };
    thread.approvals = thread.approvals.max(*id);
    if !thread.phase.stops_calls()
        && let Some(calls) = thread.phase.calls_mut()
        && let Some(staged) = queued(calls).filter(|staged| staged.call.call_id == *call_id)
    {
        staged.stage = CallStage::AwaitingApproval(Box::new(Approval {
            id: *id,
            call_id: call_id.clone(),
            tool: tool.clone(),
            item: item.clone(),
            capability: capability.clone(),
            args_hash: args_hash.clone(),
            input: staged.call.input.clone(),
            preview: preview.clone(),
            confined: *confined,
            why: why.clone(),
        }));
        return Vec::new();
    }
    ignored(thread, event)
}

/// The first answer counts; it finds the call still waiting.
pub(super) fn approval_given(thread: &mut Thread, id: u64, decision: Approve, said: Option<&str>) -> Vec<Effect> {
    let Some(Approval { call_id, tool, item, capability, input, preview, confined, .. }) =
        thread.approval().filter(|asked| asked.id == id).cloned()
    else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    match decision {
        Approve::Deny => {
            if let Some(calls) = thread.phase.calls_mut()
                && let Some(staged) = staged(calls, &call_id)
            {
                staged.stage = CallStage::Queued;
            }
            let reason = Denial::Refused;
            return vec![Effect::Emit(Event::Approval(ApprovalEvent::PermissionDenied {
                call_id,
                tool,
                capability,
                reason,
                grant: None,
                above: None,
                said: said.map(str::to_owned),
            }))];
        }
        Approve::Once => {}
        // What was seen is allowed, not what a model could have meant by a star.
        Approve::Thread => thread.permissions.allowed.push(literal(&capability)),
        Approve::Always => {
            thread.permissions.allowed.push(literal(&capability));
            effects.push(Effect::Remember(literal(&capability)));
        }
    }
    // What a person was asked about runs alone.
    effects.push(Effect::Emit(Event::Tool(ToolEvent::ToolCallStart {
        tool,
        call_id,
        item: Some(item),
        input,
        // The question names them.
        capability: None,
        grant: None,
        parallel: false,
        confined,
        change: preview,
    })));
    effects
}

/// Whether somebody sent a message for which the calls that have not begun are not made.
fn skips(thread: &Thread) -> bool {
    thread.rules.steering == Steering::SkipRemaining && !thread.due_prompts(false).is_empty()
}

/// The call is through its handlers, which may have made another input or blocked it.
pub(super) fn prepared(
    thread: &mut Thread,
    call_id: &CallId,
    input: Option<&Value>,
    blocked: Option<&str>,
) -> Vec<Effect> {
    let Some(calls) = thread.phase.calls_mut() else { return Vec::new() };
    let Some(staged) = staged(calls, call_id).filter(|staged| staged.stage == CallStage::Queued) else {
        return Vec::new();
    };
    staged.prepared = true;
    if let Some(input) = input {
        staged.call.input.clone_from(input);
    }
    match blocked {
        Some(reason) => vec![unanswered(call_id, reason)],
        None => vec![Effect::Authorise(staged.call.clone())],
    }
}

/// The call of that id. In logs from before ids of one answer were told apart several may have it: the first that waits.
fn staged<'a>(calls: &'a mut [StagedCall], call_id: &CallId) -> Option<&'a mut StagedCall> {
    let has_it = |staged: &StagedCall| staged.call.call_id == *call_id;
    let waits = calls.iter().position(|staged| has_it(staged) && !staged.is_done());
    let place = waits.or_else(|| calls.iter().position(has_it))?;
    calls.get_mut(place)
}

/// The call that would begin next.
fn queued(calls: &mut [StagedCall]) -> Option<&mut StagedCall> {
    calls.iter_mut().find(|staged| staged.stage == CallStage::Queued)
}

/// Whether a call does nothing but wait for other threads, whose time is counted there.
fn waits_for_threads(item: &str, input: &serde_json::Value) -> bool {
    let operation = input.get("operation").or_else(|| input.get("parameters")?.get("operation"));
    item == ORCHESTRATOR && operation.is_some_and(|operation| operation == "wait_threads")
}

/// The call runs: as it was shown, if it was shown to somebody. The next one may begin beside it.
pub(super) fn started(
    thread: &mut Thread,
    call_id: &CallId,
    item: Option<&str>,
    (parallel, confined): (bool, bool),
) -> Vec<Effect> {
    let skips = skips(thread);
    let of_hooks = if let Phase::Hooks(run) = &thread.phase { Some(run.within_ms(call_id)) } else { None };
    let stopping = thread.phase.stops_calls();
    let Some(calls) = thread.phase.calls_mut() else { return Vec::new() };
    let Some(staged) = staged(calls, call_id).filter(|staged| !staged.is_done()) else {
        tracing::warn!(thread = %thread.id, ?call_id, "a call that is not pending was started");
        return Vec::new();
    };
    let preview = staged.approval().and_then(|asked| asked.preview.clone());
    staged.stage = CallStage::Running { parallel };
    let call = staged.call.clone();
    let item = item.unwrap_or(&call.tool).to_owned();
    if waits_for_threads(&item, &call.input) {
        thread.waits_for_children.push(call_id.clone());
    }
    let alone = of_hooks.is_some() || !parallel || skips || stopping;
    let run = Effect::RunTool { call, item, preview, confined, within_ms: of_hooks.flatten() };
    let beside = if alone { None } else { queued(calls) };
    [run].into_iter().chain(beside.map(|next| Effect::Authorise(next.call.clone()))).collect()
}

/// The result that follows shows this, too.
pub(super) fn add_image(thread: &mut Thread, call_id: &CallId, image: &Image) {
    if let Phase::Tools { calls, .. } = &mut thread.phase
        && let Some(staged) = staged(calls, call_id)
    {
        staged.images.push(image.clone());
    }
}

/// Handlers left these images to the result that follows.
pub(super) fn keep_images(thread: &mut Thread, call_id: &CallId, images: &[ContentHash]) {
    if let Phase::Tools { calls, .. } = &mut thread.phase
        && let Some(staged) = staged(calls, call_id)
    {
        staged.images.retain(|image| images.contains(&image.hash));
    }
}

/// The tool of this call wants no answer to its result.
pub(super) fn terminates(thread: &mut Thread, call_id: &str) {
    if let Phase::Tools { calls, .. } = &mut thread.phase
        && let Some(staged) = staged(calls, &CallId(call_id.to_owned()))
    {
        staged.terminates = true;
    }
}

/// What the result of a call means for the answer it belongs to.
pub(super) enum Answered {
    /// Others have no result yet.
    Waits(Vec<Effect>),
    /// All results are in the history. `terminates`: no tool wants an answer.
    All { stopping: Option<CancelScope>, terminates: bool },
}

pub(super) fn answered(thread: &mut Thread, call_id: &CallId, output: &str, error: bool) -> Answered {
    let nothing = || Answered::Waits(Vec::new());
    let (skips, now) = (skips(thread), thread.now);
    let Phase::Tools { calls, stopping } = &mut thread.phase else { return nothing() };
    let Some(answered) = staged(calls, call_id).filter(|staged| !staged.is_done()) else { return nothing() };
    // Providers take no image with a failure.
    let mut images = std::mem::take(&mut answered.images);
    images.retain(|_| !error);
    let output = output.to_owned();
    answered.done_at = now;
    answered.stage = CallStage::Done(Block::ToolResult { call_id: call_id.clone(), output, error, images });
    if !calls.iter().all(StagedCall::is_done) {
        return Answered::Waits(match queued(calls) {
            // A cancel answers every call by itself.
            _ if stopping.is_some() => Vec::new(),
            // The rest is answered one by one: each result comes back here.
            Some(next) if skips => vec![unanswered(&next.call.call_id, SKIPPED)],
            Some(next) => vec![Effect::Authorise(next.call.clone())],
            None => Vec::new(),
        });
    }
    let (stopping, terminates) = (*stopping, calls.iter().all(|staged| staged.terminates));
    let result = |staged: StagedCall| {
        if let CallStage::Done(block) = staged.stage { Some((block, staged.done_at)) } else { None }
    };
    let (blocks, results) = std::mem::take(calls).into_iter().filter_map(result).unzip();
    thread.push_said(Message { role: Role::User, blocks }, MessageFacts { results, ..MessageFacts::at(now) });
    Answered::All { stopping, terminates }
}
