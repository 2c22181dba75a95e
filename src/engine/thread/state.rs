//! What a thread knows.

use super::room::{CompactionCause, Handoff};
use crate::domain::background::BackgroundCommand;
use crate::domain::command::{Approval, QueuedPrompt, State};
use crate::domain::event::{CallError, CancelScope, PromptMode};
use crate::domain::{
    Block, CallId, Cost, CustomMessage, Entry, FollowUp, HookStep, Image, LayerChange, LimitKind, LimitSources, Limits,
    Lineage, Message, ModelRef, Money, Parent, Permissions, Persona, Piece, Role, Rules, StateStore, Status, ThreadId,
    ThreadKind, Timestamp, TodoList, Tokens, ToolCall, Usage, Waiting,
};
use std::sync::Arc;

/// One thread. Changed by [`apply`](super::apply) alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    pub id: ThreadId,
    pub directive: String,
    pub kind: ThreadKind,
    pub model: ModelRef,
    pub limits: Limits,
    /// Who set each of them when it was made.
    pub limits_by: LimitSources,
    pub lineage: Lineage,
    pub permissions: Permissions,
    /// What it does about failures, limits and a full window.
    pub rules: Arc<Rules>,
    /// Who it speaks and works as.
    pub persona: Option<Persona>,
    /// What a person wants otherwise in its requests.
    pub changes: Vec<LayerChange>,
    /// What hooks, conditions and tools keep under names.
    pub kept: StateStore,
    pub cost: Cost,
    pub phase: Phase,
    /// What opens the first message, around the directive: fixed by the first request, so that later ones begin the
    /// same.
    pub opening: Option<Arc<Vec<Piece>>>,
    /// What was said and answered, without what surrounds it.
    pub history: Vec<Entry>,
    pub queue: Vec<QueuedPrompt>,
    /// Number of the newest request of any attempt.
    pub requests: u32,
    /// Number of the newest prompt ever queued.
    pub prompts: u64,
    /// Number of the newest approval ever asked for.
    pub approvals: u64,
    /// So many results were cut for the model, whose whole is kept.
    pub kept_results: u64,
    /// Number of calls that hooks ever made.
    pub hook_calls: u64,
    /// The calls that wait for a child.
    pub(super) waits_for_children: Vec<CallId>,
    /// The person's own command that runs.
    pub shell: Option<Shell>,
    /// Number of the newest one ever run.
    pub shells: u64,
    /// Commands that run beside the conversation, and the last that did, oldest first.
    pub commands: Vec<BackgroundCommand>,
    pub commands_started: u64,
    /// What such commands printed, for the model to read before the next prompt.
    pub(super) notes: Vec<Message>,
    /// What extensions left that stands behind the next prompt.
    pub(super) notes_behind: Vec<Message>,
    /// What extensions sent that the model is to answer, and when.
    pub(super) turn_notes: Vec<(PromptMode, Message)>,
    /// Candidates for the system text as handlers made them for the newest prompt; the plan's where they made none.
    pub system_edit: Option<Arc<Vec<Piece>>>,
    /// What handlers made for the prompt that joins next: messages behind it, and the system text.
    pub(super) prepared: Option<PreparedPrompt>,
    /// System text of the newest request, as its hash; a change is an event.
    pub system: Option<String>,
    pub(super) handing: ReturnState,
    /// How often it was reminded to hand something back since it was asked.
    pub(super) nudges: u32,
    /// Estimate of what surrounds the conversation in a request: system text, tools, opening and state of the newest.
    pub(super) around: Tokens,
    /// Prompt and answer of the newest call, as its provider counted them; none since room was made.
    pub counted: Option<Tokens>,
    /// Whether the large share of the window was told already.
    pub pressed: bool,
    /// Whether room was made, or not to be made, since the last answer: it is not tried twice for one request.
    pub made_room: bool,
    /// So many of the oldest messages were said in the thread that it goes on with: what opens its first request comes
    /// behind them.
    pub inherited: usize,
    pub handoff: Handoff,
    /// The thread that goes on with this one.
    pub successor: Option<ThreadId>,
    /// What the summary is to look at that somebody asked for.
    pub summary_wish: Option<Arc<str>>,
    /// What it rested in before somebody asked for room, and the newest prompt then.
    pub(super) before_room: Option<(Phase, u64)>,
    pub filing: Filing,
    /// Its directive and what that was told, as a title.
    pub(super) started_as: String,
    /// When the last event of running work came in; `None` while the thread waits for a person.
    pub(super) worked_until: Option<Timestamp>,
    /// The time of the event that is being applied; none between events.
    pub(super) now: Timestamp,
}

/// What handlers made for a prompt that has not joined the history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PreparedPrompt {
    pub(super) prompt: u64,
    pub(super) messages: Vec<CustomMessage>,
    pub(super) system: Option<Vec<Piece>>,
}

/// How the thread is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filing {
    /// What it was called, else the first words of the first prompt.
    pub title: Option<String>,
    /// Whether it is listed apart.
    pub archived: bool,
}

/// A command of a person's own, which runs beside whatever the thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    pub call_id: CallId,
    pub command: String,
    pub shared: bool,
}

/// Where a thread is in its loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Waits for a prompt.
    Idle,
    /// Prompts are taken from the queue, one after the other: each goes through its handlers before it joins the history.
    Taking {
        /// Those that are still to join, the first being worked on. None for a message that comes from no queue.
        prompts: Vec<u64>,
        /// Whether a request comes next: one has joined, or the turn goes on anyway.
        answers: bool,
    },
    /// The request is being put together and recorded.
    Preparing {
        request: u32,
        attempt: u32,
    },
    /// As many threads run as may: the request waits for a slot.
    Queued {
        request: u32,
        attempt: u32,
        reason: String,
    },
    /// The request has been sent. `partial` is what a cut attempt left.
    Calling {
        request: u32,
        attempt: u32,
        since: Timestamp,
    },
    /// A failed call will be tried again.
    Retrying {
        attempt: u32,
    },
    /// Tool calls of one answer, in its order. They begin in that order too: beside others only where all that run are
    /// parallel. With `stopping`, a cancel of that scope waits until every call has a result.
    Tools {
        calls: Vec<StagedCall>,
        stopping: Option<CancelScope>,
    },
    /// Hooks are asked how to go on.
    Asking(Box<ControlPoint>),
    /// Hooks make calls before they answer.
    Hooks(Box<HookRun>),
    /// Older messages give way to a summary, which `request` asks for.
    Compacting {
        request: u32,
        room: CompactionCause,
    },
    /// Waits until a person lets it go on; at a limit, which the next prompt raises.
    Suspended {
        limit: Option<LimitKind>,
    },
    /// A cancel is under way.
    Stopping {
        scope: CancelScope,
        since: Timestamp,
    },
    Ended(Status),
}

/// A tool call of the answer that is being worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct StagedCall {
    pub call: ToolCall,
    pub stage: CallStage,
    /// It is through its handlers.
    pub prepared: bool,
    /// What its result shows.
    pub images: Vec<Image>,
    /// Its tool wants no answer to the result.
    pub(super) terminates: bool,
    /// When its result was there.
    pub(super) done_at: Timestamp,
}

/// How far a tool call has got.
#[derive(Clone, Debug, PartialEq)]
pub enum CallStage {
    /// Whether it may run is not decided.
    Queued,
    /// A person is asked.
    AwaitingApproval(Box<Approval>),
    /// With `parallel`, others may begin before it has ended.
    Running { parallel: bool },
    /// Its result, for the model.
    Done(Block),
}

impl StagedCall {
    /// A call about which nothing is decided.
    #[must_use]
    pub fn new(call: ToolCall) -> Self {
        Self {
            call,
            stage: CallStage::Queued,
            prepared: false,
            images: Vec::new(),
            terminates: false,
            done_at: Timestamp::default(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, CallStage::Done(_))
    }

    pub(super) fn approval(&self) -> Option<&Approval> {
        if let CallStage::AwaitingApproval(asked) = &self.stage { Some(asked) } else { None }
    }
}

/// What happened, with what is needed to go on from it.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlPoint {
    /// A call failed; `partial` is what had arrived of its answer.
    Failed { attempt: u32, error: CallError, partial: Option<Entry> },
    /// A limit was reached before a call.
    Limit { code: LimitKind, current: u64, maximum: u64, attempt: u32 },
    /// Every tool call of an answer has its result.
    Step,
    /// The coming request takes much of the window.
    Pressure { share: Share, attempt: u32 },
    /// It fills the window.
    Full { share: Share, attempt: u32 },
    /// The directive has handed back what it promises.
    Returned(Returned),
    /// A one-shot thread has done what it was asked, or ends in this error.
    Completion { error: Option<String> },
}

/// The calls that hooks make, and what they are asked.
#[derive(Clone, Debug, PartialEq)]
pub struct HookRun {
    pub point: ControlPoint,
    /// What each hook does, in order.
    pub steps: Vec<HookStep>,
    /// All of their calls, one after the other.
    pub calls: Vec<StagedCall>,
}

impl Phase {
    /// The calls that are made: those of an answer, or of hooks.
    #[must_use]
    pub fn calls(&self) -> &[StagedCall] {
        if let Self::Tools { calls, .. } = self {
            calls
        } else if let Self::Hooks(run) = self {
            &run.calls
        } else {
            &[]
        }
    }

    /// The same to be changed.
    pub(super) fn calls_mut(&mut self) -> Option<&mut Vec<StagedCall>> {
        if let Self::Tools { calls, .. } = self {
            Some(calls)
        } else if let Self::Hooks(run) = self {
            Some(&mut run.calls)
        } else {
            None
        }
    }

    /// Whether the calls of an answer are being stopped.
    pub(super) fn stops_calls(&self) -> bool {
        matches!(self, Self::Tools { stopping: Some(_), .. })
    }
}

/// How much of a window is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    pub ratio: f64,
    pub used: Tokens,
    pub limit: Tokens,
}

/// How far a directive has got with handing back what it promises.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReturnState {
    Nothing,
    /// Taken from an answer whose calls are being run.
    Taken(Returned),
    /// There is nothing more to answer until somebody speaks.
    Done,
}

/// What a directive hands back.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    pub outputs: serde_json::Value,
    /// Why it could not be done.
    pub error: Option<String>,
}

impl Thread {
    /// A thread before its first event.
    #[must_use]
    pub fn new(id: ThreadId, directive: &str, kind: ThreadKind, model: ModelRef, limits: Limits) -> Self {
        Self {
            id,
            directive: directive.to_owned(),
            kind,
            model,
            limits,
            limits_by: LimitSources::default(),
            lineage: Lineage::default(),
            permissions: Permissions::default(),
            rules: Arc::default(),
            persona: None,
            changes: Vec::new(),
            kept: StateStore::default(),
            cost: Cost::default(),
            phase: Phase::Idle,
            opening: None,
            history: Vec::new(),
            queue: Vec::new(),
            requests: 0,
            prompts: 0,
            approvals: 0,
            kept_results: 0,
            hook_calls: 0,
            waits_for_children: Vec::new(),
            shell: None,
            shells: 0,
            commands: Vec::new(),
            commands_started: 0,
            notes: Vec::new(),
            notes_behind: Vec::new(),
            turn_notes: Vec::new(),
            system_edit: None,
            prepared: None,
            system: None,
            handing: ReturnState::Nothing,
            nudges: 0,
            around: Tokens(0),
            counted: None,
            pressed: false,
            made_room: false,
            inherited: 0,
            handoff: Handoff::No,
            successor: None,
            summary_wish: None,
            before_room: None,
            filing: Filing::default(),
            started_as: String::new(),
            worked_until: None,
            now: Timestamp::default(),
        }
    }

    #[must_use]
    pub fn status(&self) -> Status {
        match self.phase {
            Phase::Idle | Phase::Ended(_) | Phase::Suspended { .. } if self.shell.is_some() => Status::Running,
            Phase::Idle if self.kind == ThreadKind::OneShot && self.prompts == 0 => Status::Created,
            Phase::Idle | Phase::Retrying { .. } => Status::Waiting,
            Phase::Tools { .. } | Phase::Hooks(_) if self.approval().is_some() => Status::Waiting,
            Phase::Taking { .. }
            | Phase::Preparing { .. }
            | Phase::Calling { .. }
            | Phase::Tools { .. }
            | Phase::Asking(_)
            | Phase::Hooks(_)
            | Phase::Compacting { .. }
            | Phase::Stopping { .. } => Status::Running,
            Phase::Queued { .. } => Status::Queued,
            Phase::Suspended { .. } => Status::Suspended,
            Phase::Ended(status) => status,
        }
    }

    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        match self.phase {
            Phase::Idle | Phase::Suspended { .. } if self.shell.is_some() => None,
            Phase::Idle | Phase::Suspended { .. } => Some(Waiting::User),
            Phase::Retrying { .. } => Some(Waiting::RateLimit),
            Phase::Tools { .. } | Phase::Hooks(_) if self.approval().is_some() => Some(Waiting::Approval),
            Phase::Tools { .. } if self.only_waits_for_children() => Some(Waiting::Child),
            Phase::Asking(_) | Phase::Hooks(_) => Some(Waiting::Hook),
            Phase::Taking { .. }
            | Phase::Preparing { .. }
            | Phase::Queued { .. }
            | Phase::Calling { .. }
            | Phase::Tools { .. }
            | Phase::Compacting { .. }
            | Phase::Stopping { .. }
            | Phase::Ended(_) => None,
        }
    }

    /// What more is to be said of that it waits: the item of the call that a person has to allow, or the limit that it has
    /// reached.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        if let Phase::Suspended { limit: Some(limit) } = self.phase {
            return Some(limit.thing().to_owned());
        }
        if let Phase::Queued { reason, .. } = &self.phase {
            return Some(reason.clone());
        }
        self.approval().map(|asked| asked.item.clone())
    }

    /// Whether a person looks after it, so that it can wait for them.
    #[must_use]
    pub fn is_attended(&self) -> bool {
        self.kind == ThreadKind::Interactive || self.lineage.attended
    }

    /// Why it may start no child now.
    #[must_use]
    pub fn refuses_children(&self) -> Option<String> {
        let Limits { spawns, depth, .. } = self.limits;
        if depth == Some(0) {
            return Some("the depth limit of this thread is 0: it may start no thread (depth_exceeded)".to_owned());
        }
        let most = spawns.filter(|most| self.cost.spawns >= *most)?;
        Some(format!("{} of {most} child threads are started already (spawns_exceeded)", self.cost.spawns))
    }

    /// What it hands on to a child.
    #[must_use]
    pub fn as_parent(&self) -> Parent {
        Parent {
            id: self.id.clone(),
            model: self.model.clone(),
            lineage: self.lineage.child(&self.id, self.is_attended()),
            limits: self.limits,
            permissions: self.permissions.clone(),
        }
    }

    /// Whether something is going on that a cancel could stop.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.shell.is_some() || !self.rests()
    }

    /// Whether it waits for somebody, or has ended.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.rests()
    }

    /// Whether the loop itself has nothing to do.
    pub(super) fn rests(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Suspended { .. } | Phase::Ended(_))
    }

    /// Whether a prompt would be taken at once.
    #[must_use]
    pub fn can_take(&self) -> bool {
        // A person may go on after any end but a handoff.
        let ended = |status| self.kind == ThreadKind::Interactive && status != Status::Continued;
        self.rests() && !matches!(self.phase, Phase::Ended(status) if !ended(status))
    }

    /// Whether nothing more can come of it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.rests() && !self.can_take()
    }

    /// The call that waits for a person.
    #[must_use]
    pub fn approval(&self) -> Option<&Approval> {
        self.phase.calls().iter().find_map(StagedCall::approval)
    }

    /// Whether other calls run while this one is to be decided about; nothing if it was already.
    #[must_use]
    pub fn begins_beside(&self, call_id: &CallId) -> Option<bool> {
        let calls = self.phase.calls();
        let queued = |staged: &StagedCall| staged.call.call_id == *call_id && staged.stage == CallStage::Queued;
        let runs = |staged: &StagedCall| matches!(staged.stage, CallStage::Running { .. });
        calls.iter().any(queued).then(|| calls.iter().any(runs))
    }

    /// Whether time counts: not while somebody else is waited for.
    pub(in crate::engine) fn is_timed(&self) -> bool {
        let queued = matches!(self.phase, Phase::Queued { .. });
        !self.rests() && self.approval().is_none() && !queued && !self.only_waits_for_children()
    }

    /// Whether all calls that run wait for children, whose time is counted there.
    fn only_waits_for_children(&self) -> bool {
        let calls = self.phase.calls();
        let runs = |staged: &&StagedCall| matches!(staged.stage, CallStage::Running { .. });
        let mut running = calls.iter().filter(runs).peekable();
        running.peek().is_some() && running.all(|staged| self.waits_for_children.contains(&staged.call.call_id))
    }

    /// How long the running work may go on before the limit of time is reached, at `now`; none where nothing limits it, and
    /// while nothing runs that would have to be stopped.
    #[must_use]
    pub fn time_left(&self, now: Timestamp) -> Option<u64> {
        let limit = self.limits.duration_seconds?.saturating_mul(1_000);
        // Over already, and a hook let it go on all the same.
        if self.cost.elapsed_ms >= limit {
            return None;
        }
        let stops = matches!(self.phase, Phase::Calling { .. } | Phase::Tools { stopping: None, .. });
        let since = self.worked_until.filter(|_| stops && self.is_timed())?;
        Some(limit.saturating_sub(self.cost.elapsed_ms.saturating_add(now.since(since))))
    }

    /// The number of the turn that runs or comes next, counted from 1.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.cost.turns + 1
    }

    /// The attempt that is under way or comes next.
    pub(super) fn attempt_under_way(&self) -> u32 {
        match self.phase {
            Phase::Preparing { attempt, .. }
            | Phase::Queued { attempt, .. }
            | Phase::Calling { attempt, .. }
            | Phase::Retrying { attempt } => attempt,
            Phase::Idle
            | Phase::Taking { .. }
            | Phase::Tools { .. }
            | Phase::Asking(_)
            | Phase::Hooks(_)
            | Phase::Compacting { .. }
            | Phase::Suspended { .. }
            | Phase::Stopping { .. }
            | Phase::Ended(_) => 1,
        }
    }

    /// Counts what a call has cost.
    pub(super) fn charge(&mut self, usage: Usage, spend: Option<Money>) {
        self.cost.charge(usage, spend);
    }

    /// Whether nobody ever said or ran anything in it.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        let paid = self.cost.usage.total() > Tokens(0);
        self.prompts == 0 && self.shells == 0 && self.history.is_empty() && self.queue.is_empty() && !paid
    }

    /// What it is called in lists: what a person named it or said first, else what was started. None before a prompt.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let started = || Some(&self.started_as).filter(|title| self.prompts > 0 && !title.is_empty()).cloned();
        self.filing.title.clone().or_else(started)
    }

    /// How many images results show, in the history and of calls under way, and their bytes.
    #[must_use]
    pub fn shown(&self) -> (usize, u64) {
        let calls = self.phase.calls();
        let done = calls
            .iter()
            .filter_map(|staged| if let CallStage::Done(block) = &staged.stage { Some(block) } else { None });
        let blocks = self.history.iter().flat_map(|entry| &entry.message.blocks).chain(done);
        let shown = blocks.flat_map(Block::shown).chain(calls.iter().flat_map(|staged| &staged.images));
        shown.fold((0, 0), |(count, bytes), image| (count + 1, bytes + image.bytes))
    }

    /// Whether nobody said a word or showed a picture in it and nothing was answered, whatever was tried: a directive was
    /// started that needs no prompt, and failed.
    #[must_use]
    pub fn is_unsaid(&self) -> bool {
        let silent = |entry: &Entry| {
            let is_picture = |block: &Block| matches!(block, Block::Image { .. });
            entry.message.role == Role::User && !entry.message.blocks.iter().any(is_picture)
        };
        let words = self.filing.title.is_some() || self.queue.iter().any(|queued| !queued.images.is_empty());
        let paid = self.cost.usage.total() > Tokens(0);
        let answers = self.cost.turns > 0 || paid || !self.history.iter().all(silent);
        !words && !answers && self.shells == 0
    }

    /// Whether the history ends with something the model has not answered.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        self.handing != ReturnState::Done && self.history.last().is_some_and(|entry| entry.message.role == Role::User)
    }

    /// How the thread stands, for clients. `window` is the size of the model's context window.
    #[must_use]
    pub fn state(&self, window: Option<Tokens>) -> State {
        State {
            status: self.status(),
            waiting: self.waiting(),
            kind: self.kind,
            directive: self.directive.clone(),
            model: self.model.clone(),
            cost: self.cost,
            limits: self.limits,
            context: self.context(),
            window,
            queue: self.queue.iter().map(QueuedPrompt::without_texts).collect(),
            approvals: self.approval().cloned().into_iter().collect(),
            todo: TodoList::of(&self.kept),
            background: self.commands.clone(),
            handling: None,
            breakpoints: Vec::new(),
            extensions: Box::default(),
        }
    }

    /// Estimate of the next request without a prompt: the size of its assembly, as far as that is known before it is
    /// put together. Nothing before the first.
    #[must_use]
    pub fn context(&self) -> Tokens {
        if self.requests == 0 {
            return Tokens(0);
        }
        let notes = self.notes().map(Message::tokens).sum::<Tokens>();
        self.around + self.conversation() + notes
    }

    /// Estimate of what was said.
    pub(super) fn conversation(&self) -> Tokens {
        self.history.iter().map(|entry| entry.tokens).sum()
    }

    /// The prompts that the next request takes: all that steer, else one that follows up, or all of those.
    pub(super) fn due_prompts(&self, may_follow_up: bool) -> Vec<QueuedPrompt> {
        let steering: Vec<_> = self.queue.iter().filter(|queued| queued.mode == PromptMode::Steer).cloned().collect();
        if steering.is_empty() && may_follow_up {
            let most = match self.rules.follow_up {
                FollowUp::OneAtATime => 1,
                FollowUp::All => usize::MAX,
            };
            self.queue.iter().take(most).cloned().collect()
        } else {
            steering
        }
    }
}
