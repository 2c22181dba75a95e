//! Recording, applying, carrying out.

use super::Audience;
use super::account::{Account, Budgets};
use super::calls::{Call, Progress};
use super::compaction::{Compaction, LeftBranch};
use super::context::{PendingSnapshot, Planner, TimeTold, found};
use super::dialogs::{Dialogs, happened};
use super::inbox::{DriverMessage, Handle, Inbox};
use super::pipeline::{Before, Pipeline, heard};
use super::prepare_error::PrepareError;
use super::ready::{Purpose, Ready};
use super::record::{Blocked, Unrecorded};
use super::steady::Steady;
use super::tools::{CommandsStand, EarlyCalls, InterruptedOutput, RunningTool, Terms, advance, news};
use crate::context::{BuiltRequest, Plan, is_told, tree};
use crate::domain::capability::RETURN;
use crate::domain::event::{CallError, CancelScope, EndReason, ErrorCategory, StopReason};
use crate::domain::{
    Bounds, CallId, ContentHash, ContextEvent, ControlEvent, Event, FrozenRequest, ModelRef, Money, PromptEvent,
    Record, RequestEvent, SettingsEvent, Stage, Status, ThreadEvent, ThreadId, ThreadKind, Tokens, ToolRef, Usage,
    WireForm,
};
use crate::engine::thread::{CompactionCause, Effect, Phase, Thread, apply};
use crate::ports::tools::{Isolation, OwnCommand};
use crate::ports::{Approvals, Clock, Handlers, Provider, ResponseWatch, ThreadStore, ToolRunner};
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// What the driver knows of models: who answers for one, its window and prices.
pub trait ModelRegistry: Send + Sync {
    /// The provider of `model`.
    ///
    /// # Errors
    /// The sentence a person should read when there is none.
    fn provider(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, String>;

    /// The wire form in which a model is asked, where known.
    fn wire_form(&self, _model: &ModelRef) -> Option<WireForm> {
        None
    }

    /// Size of the context window, where known.
    fn window(&self, model: &ModelRef) -> Option<Tokens>;

    /// Whether it is known to take images.
    fn takes_images(&self, _model: &ModelRef) -> bool {
        false
    }

    /// The most a model may answer with.
    fn max_output(&self, model: &ModelRef) -> u64;

    /// How large what models and people send may be.
    fn bounds(&self) -> Bounds {
        Bounds::default()
    }

    /// What `usage` cost, where prices are known.
    fn spend(&self, model: &ModelRef, usage: &Usage) -> Option<Money>;

    /// A quicker model for work beside the thread's own, of the same provider; else the model itself.
    fn quick(&self, model: &ModelRef) -> ModelRef {
        model.clone()
    }
}

/// What a driver is made of.
pub struct Settings<A> {
    pub store: Box<dyn ThreadStore>,
    pub models: Box<dyn ModelRegistry>,
    pub tools: Arc<dyn ToolRunner>,
    pub approvals: Box<dyn Approvals>,
    pub clock: Arc<dyn Clock>,
    pub audience: A,
    /// What surrounds the thread's conversation.
    pub planner: Arc<dyn Planner>,
    /// Who is asked before something is spent; nobody without.
    pub budgets: Option<Budgets>,
    /// Who is asked at the stages of the pipeline.
    pub handlers: Arc<dyn Handlers>,
}

/// A request that a person has looked at.
pub(super) struct Seen {
    pub(super) held: Box<FrozenRequest>,
    /// The prompt it was looked at with.
    pub(super) prompt: u64,
    /// How much is said once that has joined.
    pub(super) said: usize,
}

/// Why a driver returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The thread has reached this end.
    Thread(Status),
    /// This thread goes on with it: it is on disk and has not begun.
    HandedOff(ThreadId),
    /// Someone asked, or every handle is gone.
    Asked,
}

/// Runs one thread.
pub struct Driver<A> {
    pub(super) thread: Thread,
    pub(super) settings: Settings<A>,
    pub(super) account: Account,
    /// Made before the first request.
    pub(super) plan: Option<Arc<Plan>>,
    /// What the thread may do, as a tree with the tools of the newest request.
    pub(super) capabilities: Option<Vec<String>>,
    /// The system text of the requests so far that asked for an answer: it stays.
    pub(super) fixed: Option<String>,
    pub(super) inbox: Inbox,
    pub(super) call: Option<Call>,
    /// One that is over, and how: its answer is on its way through handlers.
    pub(super) answered: Option<(Call, StopReason)>,
    /// What is around is being looked at for the coming request.
    pub(super) pending_snapshot: Option<PendingSnapshot>,
    pub(super) time_told: Option<TimeTold>,
    pub(super) ready: Option<Ready>,
    /// Which messages are giving way to a summary.
    pub(super) compaction: Option<Compaction>,
    /// What was said in a branch that was left, while it is summarised.
    pub(super) branch: Option<LeftBranch>,
    /// A request that a person has looked at, and how much had been said with its prompt: it goes out as it was seen for
    /// as long as nothing more is said.
    pub(super) seen: Option<Seen>,
    retry: Option<(u32, Instant)>,
    pub(super) tools: Vec<RunningTool>,
    pub(super) early: EarlyCalls,
    /// What the calls that were stopped last had printed.
    pub(super) interrupted: InterruptedOutput,
    pub(super) shell: Option<RunningTool>,
    /// Commands beside the conversation, and who waits for the end of which.
    pub(super) background: Vec<RunningTool>,
    pub(super) waiters: Vec<(CallId, oneshot::Sender<CommandsStand>)>,
    pub(super) todo: VecDeque<Effect>,
    /// What is put together for people who look at what they are about to send.
    pub(super) previews: JoinSet<()>,
    pub(super) ended: Option<Ended>,
    /// Images that could not be read, of which the person knows.
    pub(super) lost_images: HashSet<ContentHash>,
    /// The store has failed, and what is to be done waits for it.
    pub(super) blocked: Option<Blocked>,
    /// The same while it is tried again.
    pub(super) tried: Option<Blocked>,
    /// People know that something beside the log could not be saved.
    pub(super) complained: bool,
    pub(super) steady: Steady,
    pub(super) pipeline: Pipeline,
    pub(super) dialogs: Dialogs,
}

impl<A: Audience> Driver<A> {
    /// A driver for `thread`, whose log has been replayed into it.
    pub fn new(thread: Thread, settings: Settings<A>) -> (Self, Handle) {
        let (sender, commands) = mpsc::channel(64);
        // What was said before is not told as if it happened now.
        let pipeline = Pipeline { known: thread.history.len(), ..Pipeline::default() };
        let driver = Self {
            thread,
            settings,
            account: Account::default(),
            plan: None,
            capabilities: None,
            fixed: None,
            inbox: Inbox::new(commands),
            call: None,
            answered: None,
            pending_snapshot: None,
            time_told: None,
            seen: None,
            ready: None,
            compaction: None,
            branch: None,
            retry: None,
            tools: Vec::new(),
            early: EarlyCalls::default(),
            interrupted: InterruptedOutput::default(),
            shell: None,
            background: Vec::new(),
            waiters: Vec::new(),
            todo: VecDeque::new(),
            previews: JoinSet::new(),
            ended: None,
            lost_images: HashSet::new(),
            blocked: None,
            tried: None,
            complained: false,
            steady: Steady::default(),
            pipeline,
            dialogs: Dialogs::default(),
        };
        (driver, Handle { sender })
    }

    /// Records `opening` (that the thread started, that a worker took over), then works until the thread ends, all
    /// handles are gone or someone asks it to stop.
    pub async fn run(mut self, opening: Vec<Event>) -> Ended {
        self.ready_handlers().await;
        self.open(opening).await;
        self.tell_news();
        self.carry_out().await;
        self.tell_state();
        loop {
            if let Some(ended) = self.ended.take() {
                self.end_commands().await;
                self.close_side_calls().await;
                self.last_words().await;
                self.release().await;
                if self.thread.is_unused() || self.thread.is_unsaid() && ended != Ended::Thread(Status::Completed) {
                    self.settings.store.discard();
                } else {
                    self.settings.store.close();
                }
                return ended;
            }
            // It came when all was done already: what is asked for from here on it does not stop.
            if self.inbox.stop.is_some() && self.blocked.is_none() {
                self.carry_out().await;
                continue;
            }
            let due = self.call.as_ref().and_then(Call::next_due).into_iter().chain(self.updates_due()).min();
            let (retry, slot) = (self.retry.map(|(_, at)| at), self.account.ask_at);
            let stands = self.blocked.is_some() || self.pipeline.is_paused();
            let left = self.thread.time_left(self.settings.clock.now()).filter(|_| !stands);
            let over = left.map(|left| Instant::now() + Duration::from_millis(left));
            let store = self.blocked.as_ref().map(|blocked| blocked.try_at);
            tokio::select! {
                biased;
                message = self.inbox.next() => match message {
                    DriverMessage::Command(command, reply) => {
                        let answer = self.command(command).await;
                        // It is recorded, so it is answered, and how the thread stands is known before: what follows from it
                        // may take long.
                        self.tell_state();
                        let _gone = reply.send(answer);
                        self.carry_out().await;
                    }
                    DriverMessage::Preview(draft, reply) => self.preview(draft, reply),
                    DriverMessage::MayLeave(leaving, reply) => self.may_leave(leaving, reply),
                    DriverMessage::Draw(to_draw, reply) => self.draw(to_draw, reply),
                    DriverMessage::Complete(draft, reply) => self.complete(draft, reply),
                    DriverMessage::Typed(data, reply) => self.typed(data, reply),
                    DriverMessage::Extension(asked) => {
                        self.extension_asks(asked).await;
                        self.carry_out().await;
                    }
                    DriverMessage::Leave(reason) => self.leave(reason).await,
                },
                snapshot = found(&mut self.pending_snapshot) => self.snapshot_ready(snapshot).await,
                progress = read(&mut self.call) => self.progressed(progress).await,
                happened = happened(&mut self.dialogs) => self.extension_told(happened).await,
                () = until(due) => {
                    self.show_and_keep(false);
                    self.tell_updates();
                }
                () = until(store) => self.try_again().await,
                () = until(slot) => self.ask_for_slot().await,
                () = until(over) => self.time_is_over().await,
                () = until(retry) => {
                    if let Some((attempt, _)) = self.retry.take() {
                        self.emit(Event::Request(RequestEvent::RetryDue { attempt })).await;
                    }
                }
                (index, news) = heard(&mut self.pipeline) => self.pipeline_told(index, news).await,
                never = advance(&mut self.early) => match never {},
                (call_id, news) = news(&mut self.tools) => self.tool_told(call_id, news).await,
                (call_id, news) = news(self.shell.as_mut_slice()) => self.command_told(call_id, news).await,
                (call_id, news) = news(&mut self.background) => self.command_told(call_id, news).await,
            }
        }
    }

    /// Records how the thread begins, or is taken over.
    async fn open(&mut self, opening: Vec<Event>) {
        // What is told of calls that ended with their process comes before the word that the thread ended with it.
        let is_end = |event: &Event| matches!(event, Event::Thread(ThreadEvent::ThreadError { .. }));
        let left = opening.iter().position(is_end).unwrap_or_default();
        for (place, event) in opening.into_iter().enumerate() {
            if place >= left || self.blocked.is_some() {
                self.emit(event).await;
                continue;
            }
            match self.record(event).await {
                // The process that died would have gone on from here; nobody asked this one to.
                Ok(()) => self.todo.clear(),
                Err(Unrecorded(event)) => self.todo.push_front(Effect::Emit(*event)),
            }
        }
    }

    /// Ends in order: running work is cancelled and its partial answer kept.
    pub(super) async fn leave(&mut self, reason: EndReason) {
        // Where a person is asked about a call nothing runs: the question stands when the thread is opened again.
        if self.thread.is_working() && self.thread.approval().is_none() && self.ended.is_none() {
            self.emit(Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn })).await;
        }
        self.close_side_calls().await;
        self.end_commands().await;
        if self.ended.is_none() {
            self.emit(Event::Thread(ThreadEvent::WorkerEnded { reason })).await;
            if let Some(blocked) = &self.blocked {
                tracing::error!(
                    why = blocked.refusal(),
                    events = self.todo.len(),
                    "ended with events that could not be saved"
                );
            }
            self.ended = Some(Ended::Asked);
        }
    }

    /// Stops what runs, though it cannot be recorded now: that follows.
    pub(super) fn hang_up(&mut self) {
        self.call.iter_mut().for_each(Call::hang_up);
        self.stop_tools();
        self.shell.iter_mut().for_each(RunningTool::stop);
    }

    /// Records one event and everything that follows from it at once.
    pub(super) async fn emit(&mut self, event: Event) {
        self.todo.push_back(Effect::Emit(event));
        self.carry_out().await;
    }

    /// Does what is to be done until nothing is left, and tells how the thread stands then.
    pub(super) async fn carry_out(&mut self) {
        while self.blocked.is_none() {
            // What has happened already comes before a cancel, and what would begin behind it.
            if !matches!(self.todo.front(), Some(Effect::Emit(_)))
                && let Some(scope) = self.inbox.stop.take()
            {
                self.todo.push_front(Effect::Emit(Event::Control(ControlEvent::CancelRequested { scope })));
            }
            let Some(effect) = self.todo.pop_front() else { break };
            match effect {
                Effect::Emit(mut event) => {
                    self.interrupted.put_back(&mut event);
                    if let Err(Unrecorded(event)) = self.record(event).await {
                        self.todo.push_front(Effect::Emit(*event));
                    }
                }
                Effect::TakePrompt { prompt } => self.take_prompt(prompt).await,
                Effect::Prepare { request, attempt } => {
                    self.turn_begins();
                    self.begin(request, attempt).await;
                }
                Effect::AskHooks { event, fields } => self.ask_hooks(event, fields).await,
                Effect::MakeRoom { request } => self.make_room(request).await,
                Effect::HandOff(room) => self.hand_off(*room).await,
                Effect::Send { request } => self.send(request),
                Effect::StopCall => self.stop_call(),
                Effect::Wait { attempt, delay_ms } => {
                    self.retry = Some((attempt, Instant::now() + Duration::from_millis(delay_ms)));
                }
                Effect::WaitForSlot => self.wait_for_slot(),
                Effect::StopWaiting => {
                    (self.retry, self.account.ask_at) = (None, None);
                    self.pipeline.stop();
                }
                Effect::Authorise(call) => self.authorise(&call).await,
                Effect::Remember(capability) => {
                    if let Err(message) = self.settings.approvals.keep(&capability) {
                        let text = format!("`{capability}` is allowed in this thread only: {message}");
                        self.todo.push_back(Effect::Emit(Event::Thread(ThreadEvent::Notice { text })));
                    }
                }
                Effect::RunTool { call, item, .. } if item == RETURN => self.hand_back(call).await,
                Effect::RunTool { call, item, preview, confined, within_ms } => {
                    let isolation = if confined { Isolation::Sandbox } else { Isolation::Open };
                    let terms = Terms { preview, isolation, within_ms };
                    let early = self.early.take(&call, &terms);
                    let tools = &self.settings.tools;
                    let start = || RunningTool::start(Arc::clone(tools), call, item, terms);
                    self.tools.push(early.unwrap_or_else(start));
                }
                Effect::StopTools => self.stop_tools(),
                Effect::RunShell { call_id, command, shared } => {
                    let own = OwnCommand { call_id, command, shared };
                    self.shell = Some(RunningTool::shell(self.settings.tools.clone(), own));
                }
                Effect::EndShell => {
                    if let Some(shell) = self.shell.take() {
                        self.end_tool(shell);
                    }
                }
                Effect::StopShell => self.shell.iter_mut().for_each(RunningTool::stop),
                Effect::RunBackground { call_id, input, confined } => self.run_background(call_id, input, confined),
                Effect::End(status) => self.end(status).await,
            }
        }
        if !matches!(self.thread.phase, Phase::Calling { .. } | Phase::Tools { .. }) {
            self.early = EarlyCalls::default();
        }
        self.settle().await;
        self.save();
        self.tell_state();
    }

    /// An interactive thread that ended in an error or waits for a person can still be talked to.
    async fn end(&mut self, status: Status) {
        if self.thread.kind == ThreadKind::Interactive && matches!(status, Status::Error | Status::Suspended) {
            return;
        }
        if status == Status::Suspended {
            let ended = self.record(Event::Thread(ThreadEvent::WorkerEnded { reason: EndReason::Finished })).await;
            if ended.is_err() {
                self.todo.push_front(Effect::End(status));
                return;
            }
        }
        self.ended = Some(match &self.thread.successor {
            Some(next) if status == Status::Continued => Ended::HandedOff(next.clone()),
            Some(_) | None => Ended::Thread(status),
        });
    }

    /// What a recorded event means for the thread.
    pub(super) fn applied(&mut self, record: &Record) {
        let compacts = matches!(self.thread.phase, Phase::Compacting { room, .. } if room != CompactionCause::Branch)
            && !self.thread.handoff.is_being_made();
        let before = Before { rested: self.thread.is_resting(), model: self.thread.model.clone(), compacts };
        let effects = apply(&mut self.thread, record);
        self.pipeline.keep_details(&record.event);
        if self.is_observed() {
            self.observe(record, &before);
        } else {
            self.pipeline.known = self.thread.history.len();
        }
        if ends_what_was_seen(&record.event) {
            self.seen = None;
        }
        // What follows from this event comes before what was already waiting.
        for effect in effects.into_iter().rev() {
            self.todo.push_front(effect);
        }
    }

    pub(super) async fn prepare(&mut self, request: u32, attempt: u32, built: BuiltRequest) {
        let model = self.thread.model.clone();
        let provider = match self.settings.models.provider(&model) {
            Ok(provider) => provider,
            Err(message) => {
                let error = CallError {
                    category: ErrorCategory::Auth,
                    code: "no_provider".into(),
                    message,
                    status: None,
                    retry_after_ms: None,
                };
                return self.not_made(request, attempt, error);
            }
        };
        let BuiltRequest { assembly, specs, tools } = built;
        let known = self.known_tools();
        let needed: HashMap<String, Vec<String>> =
            known.into_iter().map(|tool| (tool.item.clone(), tool.capabilities())).collect();
        let needs = |item: &str| needed.get(item).cloned().unwrap_or_default();
        self.capabilities = Some(tree(&self.thread.permissions.grants, assembly.layers.iter(), needs));
        if let Err(unfunded) = self.registered().await {
            return self.unfunded(request, attempt, unfunded);
        }
        if let Some(event) = self.crowded(&assembly, &self.thread.history) {
            self.todo.push_front(Effect::Emit(event));
            return;
        }
        let max_output_tokens = self.settings.models.max_output(&model);
        let purpose = Purpose::Answer;
        let encoded = None;
        let mut ready =
            Ready { assembly, tools: specs, model: model.clone(), attempt, max_output_tokens, purpose, encoded };
        if let Err(unfunded) = self.fund(request, &mut ready).await {
            return self.unfunded(request, attempt, unfunded);
        }
        match self.encode(&provider, &mut ready).await {
            Ok(()) => {}
            Err(PrepareError::Stopped) => return,
            Err(PrepareError::Failed(error)) => return self.not_made(request, attempt, error),
        }
        let endpoint = provider.endpoint();
        let seen = self.seen_payload(request, &mut ready);
        let headers = self.has(Stage::BeforeProviderHeaders).then(|| provider.headers());
        if let Some((ready, tools, endpoint)) = self.edit_sent(request, ready, (tools, endpoint), (seen, headers)) {
            self.record_request(request, ready, tools, endpoint).await;
        }
    }

    /// Records a request that is whole, and with that has it sent.
    pub(super) async fn record_request(&mut self, request: u32, ready: Ready, tools: Vec<ToolRef>, endpoint: String) {
        let (model, attempt) = (ready.model.clone(), ready.attempt);
        if !self.keep_request(request, &ready, endpoint, tools) {
            self.todo.push_front(Effect::Prepare { request, attempt });
            return;
        }
        let assembly = &ready.assembly;
        if self.thread.system.as_deref() != Some(assembly.system.as_str()) {
            let layers =
                assembly.included().filter(|layer| is_told(layer.kind)).map(|layer| layer.id.clone()).collect();
            if self
                .record(Event::Context(ContextEvent::SystemPrompt { text: assembly.system.clone(), layers }))
                .await
                .is_err()
            {
                self.todo.push_front(Effect::Prepare { request, attempt });
                return;
            }
        }
        self.fixed = Some(assembly.system.clone());
        let tokens = assembly.tokens();
        self.ready = Some(ready);
        let turn = self.thread.turn();
        let recorded = RequestEvent::RequestRecorded { request, turn, attempt, model, tokens };
        if self.record(Event::Request(recorded)).await.is_err() {
            self.todo.push_front(Effect::Prepare { request, attempt });
        }
    }

    fn send(&mut self, request: u32) {
        let Some(mut ready) = self.ready.take() else { return };
        if !matches!(self.thread.phase, Phase::Calling { .. } | Phase::Compacting { .. }) {
            return;
        }
        let Ok(provider) = self.settings.models.provider(&ready.model) else { return };
        let Some((_, mut encoded)) = ready.encoded.take() else { return };
        self.early = EarlyCalls::default();
        let watch = self.has(Stage::AfterProviderResponse).then(ResponseWatch::default);
        encoded.options.watch.clone_from(&watch);
        let stream = provider.send(encoded);
        let what = (ready.model, ready.attempt, ready.purpose);
        let call = self.call.insert(Call::new(request, what, stream, self.settings.models.bounds()));
        call.watches(watch);
    }
}

/// Whether a request that was looked at is not the coming one any more: it has its answer, or would be another.
fn ends_what_was_seen(event: &Event) -> bool {
    let cut = matches!(event, Event::Request(RequestEvent::CognitionOut { stop: StopReason::Truncated { .. }, .. }));
    let others = matches!(
        event,
        Event::Request(RequestEvent::CognitionOut { .. })
            | Event::Prompt(PromptEvent::PromptWithdrawn { .. } | PromptEvent::PromptHandled { .. })
            | Event::Context(ContextEvent::ContextCompacted { .. })
            | Event::Settings(SettingsEvent::ModelChanged { .. })
    );
    others && !cut
}

async fn read(call: &mut Option<Call>) -> Progress {
    match call {
        Some(call) => call.read().await,
        None => pending().await,
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => pending().await,
    }
}

impl<A> std::fmt::Debug for Settings<A> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Settings").finish_non_exhaustive()
    }
}

impl<A> std::fmt::Debug for Driver<A> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Driver").field("thread", &self.thread).finish_non_exhaustive()
    }
}
