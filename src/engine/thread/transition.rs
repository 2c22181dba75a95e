//! What each event does to a thread.

use super::background;
use super::calls::{self, Answered};
use super::control_point::{self, ask};
use super::effect::{Effect, ignored};
use super::handoff::{self, make_room};
use super::hooks;
use super::nudge::NUDGE;
use super::room::{CompactionCause, Handoff};
use super::shell;
use super::state::{ControlPoint, Phase, PreparedPrompt, ReturnState, Returned, Share, Thread};
use super::turn::{joined, noted, prepare, prompted, rest, start_turn, take_notes, take_prompts, taken};
use crate::domain::command::QueuedPrompt;
use crate::domain::event::{CallError, CancelScope, ErrorCategory, StopReason};
use crate::domain::{
    AnswerFacts, ApprovalEvent, Block, ContextEvent, ControlEvent, CustomMessage, Decision, Entry, Event,
    ExtensionEntry, LayerKind, Lifetime, LimitKind, Message, Money, Origin, Permissions, Piece, PromptEvent, Record,
    RequestEvent, Role, SettingsEvent, Status, ThreadEvent, ThreadKind, Timestamp, Tokens, ToolCall, ToolEvent, Usage,
    title,
};
use crate::engine::{permission, retry};
use std::sync::Arc;

/// Applies one event and returns the work it calls for. Waits for nothing, reads no clock or file: the same thread and
/// record always give the same result.
pub fn apply(thread: &mut Thread, record: &Record) -> Vec<Effect> {
    let now = record.timestamp;
    if let Event::Thread(ThreadEvent::ClockJumped { by_ms }) = record.event {
        // Nobody worked in that time.
        thread.worked_until.iter_mut().for_each(|until| until.0 = until.0.saturating_add(by_ms));
    }
    keep_time(thread, now);
    thread.now = now;
    let effects = match &record.event {
        Event::Thread(event) => thread_event(thread, event),
        Event::Settings(event) => settings_event(thread, event),
        Event::Prompt(event) => prompt_event(thread, event),
        Event::Context(event) => context_event(thread, event),
        Event::Request(event) => request_event(thread, event, now),
        Event::Approval(event) => approval_event(thread, event),
        Event::Tool(event) => tool_event(thread, event, now),
        Event::Control(event) => control_event(thread, event, now),
        Event::Unknown { .. } => Vec::new(),
    };
    thread.now = Timestamp::default();
    thread.worked_until = thread.is_timed().then_some(now);
    effects
}

fn thread_event(thread: &mut Thread, event: &ThreadEvent) -> Vec<Effect> {
    match event {
        ThreadEvent::ThreadStarted { directive, kind, model, limits, limits_by, inputs, lineage, ceilings, .. } => {
            thread.limits_by = *limits_by;
            thread.lineage = lineage.clone();
            thread.permissions.ceilings.clone_from(ceilings);
            thread.started_as = title::of_directive(directive, inputs);
            (thread.directive, thread.kind) = (directive.clone(), *kind);
            (thread.model, thread.limits) = (model.clone(), *limits);
            Vec::new()
        }
        ThreadEvent::WorkerStarted { .. } => taken_over(thread),
        ThreadEvent::ChildThreadStarted { call_id, background, .. } => {
            if !background {
                thread.waits_for_children.push(call_id.clone());
            }
            thread.cost.spawns = thread.cost.spawns.saturating_add(1);
            Vec::new()
        }
        ThreadEvent::DirectiveReturn { outputs, error, .. } => {
            thread.handing = ReturnState::Taken(Returned { outputs: outputs.clone(), error: error.clone() });
            Vec::new()
        }
        ThreadEvent::ThreadHandoff { new_thread_id, usage, spend, .. } => {
            thread.charge(*usage, *spend);
            thread.successor = Some(new_thread_id.clone());
            thread.queue.clear();
            ask(thread, ControlPoint::Completion { error: None })
        }
        ThreadEvent::ThreadContinued { new_thread_id, .. } => {
            thread.successor = Some(new_thread_id.clone());
            end(thread, Status::Continued)
        }
        ThreadEvent::ThreadCompleted { .. } => end(thread, Status::Completed),
        ThreadEvent::ThreadError { .. } => end(thread, Status::Error),
        ThreadEvent::ThreadCancelled { .. } => end(thread, Status::Cancelled),
        ThreadEvent::ThreadKilled { .. } => end(thread, Status::Killed),
        ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Details { call_id, terminate: true, .. } } => {
            calls::terminates(thread, call_id);
            Vec::new()
        }
        ThreadEvent::WorkerEnded { .. }
        | ThreadEvent::ThreadForked { .. }
        | ThreadEvent::LogRepaired { .. }
        | ThreadEvent::ChildThreadEnded { .. }
        | ThreadEvent::ClockJumped { .. }
        | ThreadEvent::RiskNoted { .. }
        | ThreadEvent::ExtensionEntry {
            entry:
                ExtensionEntry::Custom { .. }
                | ExtensionEntry::Label { .. }
                | ExtensionEntry::Details { .. }
                | ExtensionEntry::ModelCallSent { .. },
        }
        | ThreadEvent::Notice { .. } => Vec::new(),
        ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message, turn: Some(mode), .. } } => {
            thread.turn_notes.push((*mode, Message::custom(message.clone())));
            noted(thread)
        }
        ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message, behind, turn: None } } => {
            let notes = if *behind { &mut thread.notes_behind } else { &mut thread.notes };
            notes.push(Message::custom(message.clone()));
            Vec::new()
        }
        ThreadEvent::ExtensionEntry { entry: ExtensionEntry::ModelCall { usage, spend, .. } } => {
            thread.charge(*usage, *spend);
            Vec::new()
        }
    }
}

fn settings_event(thread: &mut Thread, event: &SettingsEvent) -> Vec<Effect> {
    match event {
        SettingsEvent::LayersChanged { layers } => {
            thread.changes.retain(|before| !layers.iter().any(|now| now.id == before.id));
            thread.changes.extend(layers.iter().cloned());
            Vec::new()
        }
        SettingsEvent::ModelChanged { model } => {
            thread.model = model.clone();
            Vec::new()
        }
        SettingsEvent::LimitsChanged { limits } => {
            thread.limits = *limits;
            let waits = matches!(thread.phase, Phase::Idle | Phase::Suspended { limit: Some(_) });
            if waits && thread.is_unanswered() { start_turn(thread, 1) } else { Vec::new() }
        }
        SettingsEvent::RulesSet { rules } => {
            thread.rules = Arc::new(rules.clone());
            Vec::new()
        }
        SettingsEvent::PermissionsSet { grants, allowed, confines } => {
            let ceilings = std::mem::take(&mut thread.permissions.ceilings);
            let (grants, allowed) = (grants.clone(), allowed.clone());
            thread.permissions = Permissions { grants, allowed, confines: *confines, ceilings };
            Vec::new()
        }
        SettingsEvent::TitleSet { title } => {
            thread.filing.title = Some(title.clone());
            Vec::new()
        }
        SettingsEvent::Archived { archived } => {
            thread.filing.archived = *archived;
            Vec::new()
        }
        SettingsEvent::PersonaChanged { persona } => {
            thread.persona.clone_from(persona);
            Vec::new()
        }
        SettingsEvent::StateSet { values } => {
            thread.kept.set(values);
            Vec::new()
        }
    }
}

fn prompt_event(thread: &mut Thread, event: &PromptEvent) -> Vec<Effect> {
    QueuedPrompt::follow(&mut thread.queue, event);
    match event {
        PromptEvent::PromptQueued { prompt, text, .. } => {
            thread.prompts = thread.prompts.max(*prompt);
            if thread.filing.title.is_none() && !text.trim().is_empty() {
                thread.filing.title = Some(title::of_prompt(text));
            }
            // Whoever goes on with it wants to see it.
            thread.filing.archived = false;
            prompted(thread)
        }
        PromptEvent::QueueReleased {} if thread.can_take() => take_prompts(thread, true),
        // Nobody is there who could write it anew.
        PromptEvent::PromptWithdrawn { why: Some(why), .. }
            if thread.kind == ThreadKind::OneShot && matches!(thread.phase, Phase::Taking { .. }) =>
        {
            control_point::fail(thread, why.clone())
        }
        PromptEvent::PromptWithdrawn { prompt, .. } | PromptEvent::PromptHandled { prompt, .. } => {
            taken(thread, *prompt, false)
        }
        PromptEvent::QueueReleased {} | PromptEvent::QueueArranged { .. } => Vec::new(),
        PromptEvent::PromptPrepared { prompt, messages, system, .. } => {
            let (messages, system) = (messages.clone(), system.clone());
            thread.prepared = Some(PreparedPrompt { prompt: *prompt, messages, system });
            Vec::new()
        }
        PromptEvent::CognitionIn { text, role, images, files, prompt } => {
            thread.nudges = if role == NUDGE { thread.nudges + 1 } else { 0 };
            joined(thread, Message::said(text, images, files), *prompt)
        }
    }
}

fn context_event(thread: &mut Thread, event: &ContextEvent) -> Vec<Effect> {
    match event {
        ContextEvent::SystemPrompt { text, .. } => {
            thread.system = Some(text.clone());
            Vec::new()
        }
        ContextEvent::ContextInjected { layers, .. } => {
            thread.opening = Some(Arc::new(layers.clone()));
            Vec::new()
        }
        ContextEvent::ContextWindowPressure { usage_ratio, tokens_used, tokens_limit } => {
            thread.pressed = true;
            let share = Share { ratio: *usage_ratio, used: *tokens_used, limit: *tokens_limit };
            let attempt = thread.attempt_under_way();
            ask(thread, ControlPoint::Pressure { share, attempt })
        }
        ContextEvent::ContextLimitReached { usage_ratio, tokens_used, tokens_limit } => {
            let share = Share { ratio: *usage_ratio, used: *tokens_used, limit: *tokens_limit };
            let attempt = thread.attempt_under_way();
            ask(thread, ControlPoint::Full { share, attempt })
        }
        ContextEvent::CompactRequested { instructions } => {
            let wish = instructions.as_deref().map(Into::into).filter(|_| thread.can_take());
            thread.summary_wish = wish.or_else(|| thread.summary_wish.take());
            asked_for_room(thread, CompactionCause::Asked, event)
        }
        ContextEvent::BranchSummaryRequested { .. } => asked_for_room(thread, CompactionCause::Branch, event),
        ContextEvent::BranchSummarised { summary, usage, spend, .. } => {
            thread.charge(*usage, *spend);
            if !summary.is_empty() {
                let message = CustomMessage::branch_summary(summary.clone());
                thread.notes.push(Message { role: Role::User, blocks: vec![Block::Custom(message)] });
            }
            let waits = matches!(thread.phase, Phase::Compacting { room: CompactionCause::Branch, .. });
            if waits { rest_again(thread) } else { Vec::new() }
        }
        ContextEvent::ContextCompacted { .. } => compacted(thread, event),
        ContextEvent::HandoffRequested {} => handoff::requested(thread, event),
        ContextEvent::ContextInherited { messages, .. } => handoff::inherited(thread, messages),
    }
}

fn request_event(thread: &mut Thread, event: &RequestEvent, now: Timestamp) -> Vec<Effect> {
    match event {
        RequestEvent::RequestRecorded { request, attempt, tokens, .. } => {
            recorded(thread, *request, *attempt, *tokens, now)
        }
        // Said in the thread that this one was forked from: paid and counted there.
        RequestEvent::CognitionOut { request: 0, message, model, usage, spend, stop, .. } => {
            let (model, stop) = (model.clone(), stop.clone());
            let rested = !thread.is_unanswered();
            take_notes(thread, rested);
            thread.push_answer(message.clone(), AnswerFacts { model, usage: *usage, spend: *spend, stop });
            let calls: Vec<ToolCall> = message.calls().cloned().map(ToolCall::straight).collect();
            if calls.is_empty() {
                thread.phase = Phase::Idle;
                return Vec::new();
            }
            calls::begin(thread, calls)
        }
        RequestEvent::CognitionOut { stop, usage, spend, message, model, .. } => {
            settle(thread, *usage, *spend, stop);
            let answer = AnswerFacts { model: model.clone(), usage: *usage, spend: *spend, stop: stop.clone() };
            answered(thread, message, answer)
        }
        RequestEvent::ErrorClassified { attempt, error, .. } => failed(thread, *attempt, error, None),
        RequestEvent::RetryScheduled { attempt, delay_ms, .. } => {
            thread.phase = Phase::Retrying { attempt: *attempt };
            vec![Effect::Wait { attempt: *attempt, delay_ms: *delay_ms }]
        }
        RequestEvent::RetryDue { attempt } => {
            if thread.phase == (Phase::Retrying { attempt: *attempt }) {
                start_turn(thread, *attempt)
            } else {
                ignored(thread, event)
            }
        }
        RequestEvent::CallCharged { usage, spend, .. } => {
            thread.charge(*usage, *spend);
            Vec::new()
        }
        RequestEvent::TokenDelta { .. }
        | RequestEvent::CognitionReasoning { .. }
        | RequestEvent::AnswerPrepared { .. } => Vec::new(),
    }
}

fn tool_event(thread: &mut Thread, event: &ToolEvent, now: Timestamp) -> Vec<Effect> {
    match event {
        ToolEvent::ToolCallStart { call_id, item, parallel, confined, .. } => {
            calls::started(thread, call_id, item.as_deref(), (*parallel, *confined))
        }
        ToolEvent::ToolCallResult { call_id, output, error } => {
            thread.waits_for_children.retain(|waiting| waiting != call_id);
            if matches!(thread.phase, Phase::Hooks(_)) {
                return hooks::answered(thread, call_id, output, error.is_some());
            }
            match calls::answered(thread, call_id, output, error.is_some()) {
                Answered::Waits(effects) => effects,
                Answered::All { stopping: None, terminates: true } => {
                    thread.handing = ReturnState::Done;
                    take_prompts(thread, true)
                }
                Answered::All { stopping, .. } => step_over(thread, stopping, now),
            }
        }
        ToolEvent::ShellStarted { call_id, command, shared } => shell::started(thread, call_id, command, *shared),
        ToolEvent::ShellEnded { call_id, output, error } => shell::ended(thread, call_id, output, error.as_deref()),
        ToolEvent::CommandStarted { .. } | ToolEvent::CommandEnded { .. } => background::changed(thread, event, now),
        ToolEvent::ResultKept { .. } => {
            thread.kept_results = thread.kept_results.saturating_add(1);
            Vec::new()
        }
        ToolEvent::ResultImage { call_id, image } => {
            calls::add_image(thread, call_id, image);
            Vec::new()
        }
        ToolEvent::CallPrepared { call_id, input, blocked, .. } => {
            calls::prepared(thread, call_id, input.as_ref(), blocked.as_deref())
        }
        ToolEvent::ResultPrepared { call_id, images, .. } => {
            if let Some(images) = images {
                calls::keep_images(thread, call_id, images);
            }
            Vec::new()
        }
        ToolEvent::ToolProcess { .. } | ToolEvent::ToolCallEarly { .. } | ToolEvent::FileCheckpointed { .. } => {
            Vec::new()
        }
    }
}

fn approval_event(thread: &mut Thread, event: &ApprovalEvent) -> Vec<Effect> {
    match event {
        ApprovalEvent::ApprovalRequested { .. } => calls::approval_asked(thread, event),
        ApprovalEvent::ApprovalGiven { id, decision, said } => {
            calls::approval_given(thread, *id, *decision, said.as_deref())
        }
        ApprovalEvent::PermissionDenied { call_id, tool, capability, reason, above, said, .. } => {
            let words = permission::denial_in_words(tool, capability, *reason, above.as_ref(), said.as_deref());
            vec![calls::unanswered(call_id, &words)]
        }
    }
}

fn control_event(thread: &mut Thread, event: &ControlEvent, now: Timestamp) -> Vec<Effect> {
    match event {
        ControlEvent::HooksCalled { hooks, .. } => hooks::called(thread, event, hooks),
        ControlEvent::HookDecided { action, hook, why, .. } => {
            control_point::decided(thread, *action, hook.as_deref(), why)
        }
        ControlEvent::Limit { code, current, maximum } => limited(thread, *code, *current, *maximum),
        ControlEvent::ThreadQueued { reason } => queued(thread, reason),
        ControlEvent::ThreadAdmitted {} => admitted(thread),
        ControlEvent::CancelRequested { scope } => cancel(thread, *scope, now),
        ControlEvent::TurnCancelled { .. } => {
            (thread.handoff, thread.summary_wish) = (Handoff::No, None);
            stopped(thread)
        }
        ControlEvent::ThreadSuspended { limit, .. } => {
            thread.phase = Phase::Suspended { limit: *limit };
            vec![Effect::End(Status::Suspended)]
        }
    }
}

/// As many threads run as may.
fn queued(thread: &mut Thread, reason: &str) -> Vec<Effect> {
    let Phase::Preparing { request, attempt } = thread.phase else { return Vec::new() };
    thread.phase = Phase::Queued { request, attempt, reason: reason.to_owned() };
    vec![Effect::WaitForSlot]
}

/// Another try to begin.
fn admitted(thread: &mut Thread) -> Vec<Effect> {
    let Phase::Queued { request, attempt, .. } = thread.phase else { return Vec::new() };
    thread.phase = Phase::Preparing { request, attempt };
    vec![Effect::Prepare { request, attempt }]
}

/// Adds the time since the last event when work was going on.
fn keep_time(thread: &mut Thread, now: Timestamp) {
    if let Some(before) = thread.worked_until {
        thread.cost.elapsed_ms = thread.cost.elapsed_ms.saturating_add(now.since(before));
    }
}

/// A new process has the thread: whatever the last one was doing is over.
fn taken_over(thread: &mut Thread) -> Vec<Effect> {
    thread.prepared = None;
    let mut effects = shell::interrupted(thread);
    effects.extend(background::interrupted(thread));
    effects.extend(go_on(thread));
    effects
}

fn go_on(thread: &mut Thread) -> Vec<Effect> {
    if let Some((phase, _)) = thread.before_room.take() {
        thread.phase = phase;
    }
    if thread.approval().is_some() && !thread.phase.stops_calls() {
        // The call was not begun, so nothing was interrupted: the person is still asked.
        return Vec::new();
    }
    match std::mem::replace(&mut thread.phase, Phase::Idle) {
        Phase::Tools { calls, .. } => calls::interrupted(thread, calls),
        Phase::Hooks(run) => hooks::open(&run).map(|call_id| Effect::Emit(Event::interrupted(call_id))).collect(),
        phase @ (Phase::Ended(_) | Phase::Suspended { .. }) => {
            thread.phase = phase;
            Vec::new()
        }
        Phase::Idle
        | Phase::Taking { .. }
        | Phase::Preparing { .. }
        | Phase::Queued { .. }
        | Phase::Calling { .. }
        | Phase::Retrying { .. }
        | Phase::Asking(_)
        | Phase::Compacting { .. }
        | Phase::Stopping { .. } => Vec::new(),
    }
}

/// Somebody wants a summary of a thread that rests.
fn asked_for_room(thread: &mut Thread, room: CompactionCause, event: &ContextEvent) -> Vec<Effect> {
    if !thread.can_take() {
        return ignored(thread, event);
    }
    thread.before_room = Some((thread.phase.clone(), thread.prompts));
    make_room(thread, room, Handoff::No)
}

/// Older messages have given way: what was said last stays, whatever its age.
fn compacted(thread: &mut Thread, event: &ContextEvent) -> Vec<Effect> {
    let ContextEvent::ContextCompacted { summary, kept, usage, spend, .. } = event else {
        return Vec::new();
    };
    thread.charge(*usage, *spend);
    thread.summary_wish = None;
    let from = thread.history.len().saturating_sub(*kept);
    if from > 0 {
        thread.history = handoff::staying(&thread.history, *kept);
        thread.inherited = 0;
        let mut opening = thread.opening.as_deref().cloned().unwrap_or_default();
        let earlier = opening.iter().filter(|piece| piece.kind == LayerKind::Summary);
        let earlier = earlier.map(|piece| Tokens::estimate(&piece.text)).sum::<Tokens>();
        thread.around = Tokens(thread.around.0.saturating_sub(earlier.0)) + Tokens::estimate(summary);
        opening.retain(|piece| piece.kind != LayerKind::Summary);
        opening.push(Piece {
            id: "summary".to_owned(),
            kind: LayerKind::Summary,
            origin: Origin::Thread,
            lifetime: Lifetime::PerPrompt,
            decision: Decision::Included,
            text: summary.as_str().into(),
        });
        thread.opening = Some(Arc::new(opening));
        thread.counted = None;
        thread.pressed = false;
    }
    (thread.made_room, thread.handoff) = (true, Handoff::No);
    match thread.phase {
        // The tries for the summary are not those of the request.
        Phase::Compacting { room: CompactionCause::ForRequest { .. }, .. } => prepare(thread, 1),
        Phase::Compacting { room: CompactionCause::Asked | CompactionCause::Branch, .. } => rest_again(thread),
        Phase::Idle
        | Phase::Taking { .. }
        | Phase::Preparing { .. }
        | Phase::Queued { .. }
        | Phase::Calling { .. }
        | Phase::Retrying { .. }
        | Phase::Tools { .. }
        | Phase::Asking(_)
        | Phase::Hooks(_)
        | Phase::Suspended { .. }
        | Phase::Stopping { .. }
        | Phase::Ended(_) => ignored(thread, event),
    }
}

/// Nobody asks for room any more: the thread stands as it did before, and takes what was sent meanwhile.
fn rest_again(thread: &mut Thread) -> Vec<Effect> {
    let (phase, prompts) = thread.before_room.take().unwrap_or((Phase::Idle, thread.prompts));
    thread.phase = phase;
    if thread.prompts > prompts && !thread.queue.is_empty() { prompted(thread) } else { Vec::new() }
}

fn recorded(thread: &mut Thread, request: u32, attempt: u32, tokens: Tokens, now: Timestamp) -> Vec<Effect> {
    thread.requests = thread.requests.max(request);
    if matches!(thread.phase, Phase::Compacting { request: asked, .. } if asked == request) {
        return vec![Effect::Send { request }];
    }
    thread.around = Tokens(tokens.0.saturating_sub(thread.conversation().0));
    // The log does not tell that a retry was due: the next request does.
    if !matches!(thread.phase, Phase::Retrying { .. }) && thread.phase != (Phase::Preparing { request, attempt }) {
        // Cancelled while it was being recorded: it is never sent.
        return Vec::new();
    }
    thread.phase = Phase::Calling { request, attempt, since: now };
    vec![Effect::Send { request }]
}

fn settle(thread: &mut Thread, usage: Usage, spend: Option<Money>, stop: &StopReason) {
    thread.charge(usage, spend);
    if stop.is_whole() || matches!(stop, StopReason::TooLarge { .. }) {
        thread.cost.turns += 1;
        thread.made_room = false;
    }
    if usage.total() > Tokens(0) {
        thread.counted = Some(usage.total());
    }
}

fn answered(thread: &mut Thread, message: &Message, answer: AnswerFacts) -> Vec<Effect> {
    match &answer.stop {
        StopReason::Truncated { detail } => {
            let Phase::Calling { attempt, .. } = thread.phase else { return Vec::new() };
            let error = CallError {
                category: ErrorCategory::Transient,
                code: "truncated".into(),
                message: detail.clone(),
                status: None,
                retry_after_ms: None,
            };
            let partial = thread.answer(message.clone(), answer);
            failed(thread, attempt, &error, Some(partial))
        }
        StopReason::Cancelled | StopReason::Lost => {
            thread.push_answer(message.clone(), answer);
            Vec::new()
        }
        // Another try would grow as large. Of the calls that had begun nobody knows whether they are whole.
        StopReason::TooLarge { .. } => {
            thread.push_answer(message.clone(), answer);
            take_prompts(thread, true)
        }
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::MaxTokens
        | StopReason::Refusal
        | StopReason::Other { .. } => {
            thread.push_answer(message.clone(), answer);
            let calls: Vec<ToolCall> = message.calls().cloned().map(ToolCall::straight).collect();
            if calls.is_empty() {
                return take_prompts(thread, true);
            }
            calls::begin(thread, calls)
        }
    }
}

/// All calls of an answer have their results.
fn step_over(thread: &mut Thread, stopping: Option<CancelScope>, now: Timestamp) -> Vec<Effect> {
    let question = match std::mem::replace(&mut thread.handing, ReturnState::Nothing) {
        ReturnState::Taken(returned) => ControlPoint::Returned(returned),
        ReturnState::Nothing | ReturnState::Done => ControlPoint::Step,
    };
    match stopping {
        Some(scope) => {
            thread.phase = Phase::Stopping { scope, since: now };
            vec![Effect::Emit(Event::Control(ControlEvent::TurnCancelled { after_ms: 0 }))]
        }
        None => ask(thread, question),
    }
}

fn failed(thread: &mut Thread, attempt: u32, error: &CallError, partial: Option<Entry>) -> Vec<Effect> {
    // The log does not tell that a retry was due: that the next request could not be made does.
    if !matches!(thread.phase, Phase::Calling { .. } | Phase::Preparing { .. } | Phase::Retrying { .. }) {
        return Vec::new();
    }
    let too_long = retry::meaning(&thread.rules, error).category == ErrorCategory::ContextTooLong;
    if too_long && thread.rules.window.is_some() && !thread.made_room {
        // However large the window is, this is more than it holds.
        let known = thread.context().max(thread.counted.unwrap_or_default());
        let (tokens_used, tokens_limit) = (known, known);
        return vec![Effect::Emit(Event::Context(ContextEvent::ContextLimitReached {
            usage_ratio: 1.0,
            tokens_used,
            tokens_limit,
        }))];
    }
    ask(thread, ControlPoint::Failed { attempt, error: error.clone(), partial })
}

fn limited(thread: &mut Thread, code: LimitKind, current: u64, maximum: u64) -> Vec<Effect> {
    let attempt = thread.attempt_under_way();
    ask(thread, ControlPoint::Limit { code, current, maximum, attempt })
}

fn cancel(thread: &mut Thread, scope: CancelScope, now: Timestamp) -> Vec<Effect> {
    // A one-shot thread has nothing to go on with after its turn.
    let is_limit = scope == CancelScope::Limit;
    let scope = if thread.kind == ThreadKind::OneShot && !is_limit { scope.max(CancelScope::Thread) } else { scope };
    // What the thread does goes first; a command of the person's own is stopped when it is all that runs.
    let mut effects = match scope {
        CancelScope::Thread | CancelScope::Kill => shell::end(thread),
        CancelScope::Turn if thread.rests() => shell::stop(thread),
        CancelScope::Turn | CancelScope::Limit => Vec::new(),
    };
    effects.extend(cancel_turn(thread, scope, now));
    effects
}

fn cancel_turn(thread: &mut Thread, scope: CancelScope, now: Timestamp) -> Vec<Effect> {
    match std::mem::replace(&mut thread.phase, Phase::Stopping { scope, since: now }) {
        Phase::Idle | Phase::Suspended { .. } if scope >= CancelScope::Thread => {
            thread.phase = Phase::Idle;
            vec![ended_by(thread, scope)]
        }
        // A person could still talk to it.
        Phase::Ended(status) if scope == CancelScope::Kill && thread.kind == ThreadKind::Interactive => {
            thread.phase = Phase::Ended(status);
            vec![ended_by(thread, scope)]
        }
        phase @ (Phase::Idle | Phase::Suspended { .. } | Phase::Ended(_)) => {
            thread.phase = phase;
            Vec::new()
        }
        Phase::Preparing { .. } | Phase::Calling { .. } | Phase::Compacting { .. } => vec![Effect::StopCall],
        Phase::Retrying { .. } | Phase::Queued { .. } | Phase::Taking { .. } | Phase::Asking(_) => {
            vec![Effect::StopWaiting, Effect::Emit(Event::Control(ControlEvent::TurnCancelled { after_ms: 0 }))]
        }
        Phase::Tools { calls, .. } => calls::cancel(thread, calls, scope),
        Phase::Hooks(run) => {
            let stopped = Effect::Emit(Event::Control(ControlEvent::TurnCancelled { after_ms: 0 }));
            hooks::cancel(&run).into_iter().chain([stopped]).collect()
        }
        Phase::Stopping { scope: before, since } => {
            thread.phase = Phase::Stopping { scope: before.max(scope), since };
            Vec::new()
        }
    }
}

/// How a cancel that reaches that far ends the thread.
fn ended_by(thread: &Thread, scope: CancelScope) -> Effect {
    let cost = thread.cost;
    Effect::Emit(match scope {
        CancelScope::Kill => Event::Thread(ThreadEvent::ThreadKilled { cost }),
        CancelScope::Limit | CancelScope::Turn | CancelScope::Thread => {
            Event::Thread(ThreadEvent::ThreadCancelled { cost })
        }
    })
}

fn stopped(thread: &mut Thread) -> Vec<Effect> {
    match thread.phase {
        Phase::Stopping { scope: CancelScope::Limit, .. } => {
            (thread.phase, thread.before_room) = (Phase::Idle, None);
            let maximum = thread.limits.duration_seconds.unwrap_or_default();
            let current = (thread.cost.elapsed_ms / 1_000).max(maximum);
            vec![Effect::Emit(Event::Control(ControlEvent::Limit { code: LimitKind::Duration, current, maximum }))]
        }
        Phase::Stopping { scope: CancelScope::Turn, .. } if thread.before_room.is_some() => rest_again(thread),
        Phase::Stopping { scope: scope @ (CancelScope::Thread | CancelScope::Kill), .. } => {
            (thread.phase, thread.before_room) = (Phase::Idle, None);
            vec![ended_by(thread, scope)]
        }
        // Whoever stopped it looks first at what waits: it is taken with their next word, or when they let it go.
        Phase::Stopping { scope: CancelScope::Turn, .. } if thread.kind == ThreadKind::Interactive => rest(thread),
        Phase::Stopping { scope: CancelScope::Turn, .. } | Phase::Idle => take_prompts(thread, true),
        Phase::Taking { .. }
        | Phase::Preparing { .. }
        | Phase::Queued { .. }
        | Phase::Calling { .. }
        | Phase::Retrying { .. }
        | Phase::Tools { .. }
        | Phase::Asking(_)
        | Phase::Hooks(_)
        | Phase::Compacting { .. }
        | Phase::Suspended { .. }
        | Phase::Ended(_) => Vec::new(),
    }
}

fn end(thread: &mut Thread, status: Status) -> Vec<Effect> {
    thread.phase = Phase::Ended(status);
    vec![Effect::End(status)]
}
