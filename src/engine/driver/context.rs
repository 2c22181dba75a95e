//! Putting a request together: the plan is made once, what holds now is looked at before each call.

use super::Audience;
use super::prepare_error::PrepareError;
use super::ready::Ready;
use super::run::Driver;
use crate::context::{BuiltRequest, EnvironmentSnapshot, Offer, Parts, Plan, RequestBuilder, Start, State, what_if};
use crate::domain::event::{CallError, ErrorCategory};
use crate::domain::{
    ContextEvent, Event, FrozenRequest, Message, Piece, RequestEvent, SentBody, ThreadOrigin, Timestamp, TodoList,
};
use crate::engine::thread::{Effect, Phase, Thread};
use crate::ports::EncodedRequest;
use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::Arc;

/// Who plans what surrounds a thread's conversation: reads items and looks around.
pub trait Planner: Send + Sync {
    /// Makes the plan. Reads files, so it is called off the loop.
    ///
    /// # Errors
    /// The sentence a person should read.
    fn plan(&self, start: &Start) -> Result<Plan, String>;

    /// The events at which hooks say how to go on.
    fn asks(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the directive has to hand back.
    fn outputs(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is around the thread now, as far as `state` wants to know. Answers within a quarter of a second, or as soon
    /// as the commands among `state` have answered or are out of time.
    fn snapshot<'a>(&'a self, _state: &'a [State]) -> Pin<Box<dyn Future<Output = EnvironmentSnapshot> + Send + 'a>> {
        Box::pin(ready(EnvironmentSnapshot::default()))
    }
}

/// A plan that was made before.
impl Planner for Plan {
    fn plan(&self, _start: &Start) -> Result<Plan, String> {
        Ok(self.clone())
    }

    fn asks(&self) -> Vec<String> {
        Plan::asks(self)
    }
}

/// A look around the thread for its coming request.
pub(super) struct PendingSnapshot {
    request: u32,
    attempt: u32,
    plan: Arc<Plan>,
    snapshot: Pin<Box<dyn Future<Output = EnvironmentSnapshot> + Send>>,
}

/// What was said of the time.
pub(super) struct TimeTold {
    prompt: u64,
    at: Timestamp,
    text: Option<String>,
}

/// In milliseconds.
const AN_HOUR: u64 = 3_600_000;

/// What somebody who looked around has found; nothing where nobody looks. Losing this future loses nothing.
pub(super) async fn found(pending_snapshot: &mut Option<PendingSnapshot>) -> EnvironmentSnapshot {
    match pending_snapshot {
        Some(pending_snapshot) => pending_snapshot.snapshot.as_mut().await,
        None => pending().await,
    }
}

impl<A: Audience> Driver<A> {
    /// Begins the coming request. The first of a thread fixes how its first message opens, in the log. Where its context
    /// wants to know what is around, that is looked at while others are heard.
    pub(super) async fn begin(&mut self, request: u32, attempt: u32) {
        let plan = match self.planned().await {
            Ok(plan) => plan,
            Err(PrepareError::Failed(error)) => return self.not_made(request, attempt, error),
            Err(PrepareError::Stopped) => return,
        };
        let plan = self.as_seen(plan);
        if self.thread.opening.is_none() {
            let (before, after) = plan.injected();
            let injected =
                Event::Context(ContextEvent::ContextInjected { before, after, layers: plan.opening.clone() });
            if self.record(injected).await.is_err() {
                self.todo.push_front(Effect::Prepare { request, attempt });
                return;
            }
        }
        if let Some(seen) = self.seen() {
            let built = self.built(&plan.system, &seen.state, Offer::Frozen(seen));
            self.prepare(request, attempt, built).await;
        } else if plan.state.iter().any(State::needs_snapshot) {
            let (planner, around) = (Arc::clone(&self.settings.planner), Arc::clone(&plan));
            let snapshot = Box::pin(async move { planner.snapshot(&around.state).await });
            self.pending_snapshot = Some(PendingSnapshot { request, attempt, plan, snapshot });
        } else {
            self.prepare_with(request, attempt, &plan, EnvironmentSnapshot::default()).await;
        }
    }

    /// Goes on with the request for which somebody looked around.
    pub(super) async fn snapshot_ready(&mut self, snapshot: EnvironmentSnapshot) {
        if let Some(PendingSnapshot { request, attempt, plan, .. }) = self.pending_snapshot.take() {
            self.prepare_with(request, attempt, &plan, snapshot).await;
            self.carry_out().await;
        }
    }

    async fn prepare_with(&mut self, request: u32, attempt: u32, plan: &Arc<Plan>, snapshot: EnvironmentSnapshot) {
        if let Some(message) = plan.state.iter().find_map(|state| state.failure(&snapshot)) {
            return self.not_made(request, attempt, no_context(message));
        }
        let mut snapshot = known_to(&self.thread, snapshot);
        self.keep_time_told(&mut snapshot);
        let state = plan.state(&snapshot);
        (self.pipeline.edits, self.pipeline.steps) = (None, Vec::new());
        if !self.edit_context(request, attempt, plan, &state) {
            self.prepare_from(request, attempt, plan, &state).await;
        }
    }

    /// What time it is, is told as it was for the first call of a prompt, for an hour: a minute later it would be another text in
    /// front of all that the prompt led to, which a provider would have to read anew.
    fn keep_time_told(&mut self, snapshot: &mut EnvironmentSnapshot) {
        let (prompt, now) = (self.thread.prompts, self.settings.clock.now());
        match &self.time_told {
            Some(told) if told.prompt == prompt && now.since(told.at) < AN_HOUR => snapshot.now.clone_from(&told.text),
            _ => self.time_told = Some(TimeTold { prompt, at: now, text: snapshot.now.clone() }),
        }
    }

    /// Goes on with the request once its handlers have seen the conversation.
    pub(super) async fn prepare_from(&mut self, request: u32, attempt: u32, plan: &Plan, state: &[Piece]) {
        let (permissions, known) = (&self.thread.permissions, self.known_tools());
        let offer = Offer::Granted { plan, permissions, known };
        let built = self.built(&plan.system, state, offer);
        self.prepare(request, attempt, built).await;
    }

    /// The request could not be made.
    pub(super) fn not_made(&mut self, request: u32, attempt: u32, error: CallError) {
        self.todo.push_front(Effect::Emit(Event::Request(RequestEvent::ErrorClassified { request, attempt, error })));
    }

    /// The plan with what was looked at in its place, if that is the coming request.
    fn as_seen(&mut self, plan: Arc<Plan>) -> Arc<Plan> {
        // Once something else was said, what was looked at is over.
        let said = self.thread.history.len();
        self.seen = self.seen.take().filter(|seen| seen.said == said);
        let Some(FrozenRequest { system, opening, .. }) = self.seen() else { return plan };
        let plan = Plan { system: system.clone(), opening: opening.clone(), ..Plan::clone(&plan) };
        self.keep_plan(plan)
    }

    /// The plan from here on, of which handlers are told.
    fn keep_plan(&mut self, plan: Plan) -> Arc<Plan> {
        self.settings.handlers.planned(&plan.system);
        Arc::clone(self.plan.insert(Arc::new(plan)))
    }

    fn built(&self, system: &[Piece], state: &[Piece], tools: Offer<'_>) -> BuiltRequest {
        let opening = self.thread.opening.as_deref().map_or(&[][..], Vec::as_slice);
        let (history, inherited) = (&self.thread.history[..], self.thread.inherited);
        // What handlers made for the newest prompt takes the place of what was planned.
        let system = self.thread.system_edit.as_deref().map_or(system, Vec::as_slice);
        let edits = self.seen().map_or(self.pipeline.edits.as_ref(), |seen| seen.history.as_deref());
        RequestBuilder { parts: Parts { system, opening, state, history, inherited, edits }, tools }.build()
    }

    /// The request that a person has looked at, if it is the coming one.
    pub(super) fn seen(&self) -> Option<&FrozenRequest> {
        self.seen.as_ref().map(|seen| &*seen.held)
    }

    /// The same for the prompt that it was looked at with.
    pub(super) fn seen_with(&self, prompt: u64) -> Option<&FrozenRequest> {
        self.seen.as_ref().filter(|seen| seen.prompt == prompt).map(|seen| &*seen.held)
    }

    /// Puts what handlers made of the request in its provider's form into its place, where it was looked at; false where there
    /// is none, or it is not what was paid for.
    pub(super) fn seen_payload(&mut self, request: u32, ready: &mut Ready) -> bool {
        let Some(payload) = self.seen().and_then(|held| held.payload.clone()) else { return false };
        let Some((sent, encoded)) = ready.encoded.take() else { return false };
        let before = serde_json::from_slice(&encoded.body).unwrap_or_default();
        if let Err(why) = self.paid(request, ready, before).allows(&payload) {
            tracing::warn!(why, "a payload that was looked at is not sent");
            ready.encoded = Some((sent, encoded));
            return false;
        }
        let text = payload.to_string();
        let encoded = EncodedRequest { body: text.clone().into_bytes(), ..encoded };
        let kept = self.settings.store.keep_result(&text).inspect_err(|error| self.complain(error)).ok();
        ready.encoded = Some((SentBody { body: kept, ..encoded.sent() }, encoded));
        true
    }

    /// Whether sending `text` now would send what was looked at, byte for byte.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn may_send(&self, text: &str, held: &FrozenRequest) -> Result<(), String> {
        const GONE_ON: &str = "nothing was sent: the request changed after you looked at it";
        const UNSEEN: &str = "a message sent without the preview";
        const FULL: &str = "nothing was sent: it would fill the model's window; use /compact first";
        let thread = &self.thread;
        if text.trim().is_empty() && thread.prompts > 0 {
            return Err("there is nothing to send".into());
        }
        if let Phase::Suspended { limit: Some(code) } = thread.phase {
            let used = code.thing();
            return Err(format!(
                "nothing was sent: the thread is at its limit of {used}; {UNSEEN} allows as much again"
            ));
        }
        if !thread.can_take() {
            return Err("nothing was sent: the thread is at work".into());
        }
        if !thread.queue.is_empty() {
            return Err(format!("nothing was sent: other messages are queued before it; {UNSEEN} releases them"));
        }
        let most = self.settings.models.max_output(&thread.model);
        let opening = thread.opening.as_deref().unwrap_or(&held.opening);
        let said = Message::said(held.text.as_deref().unwrap_or(text), &held.images, &held.files);
        let history = thread.history_said(said, &held.messages);
        let (inherited, edits) = (thread.inherited, held.history.as_deref());
        let system = held.system_edit.as_ref().unwrap_or(&held.system);
        let parts = Parts { system, opening, state: &held.state, history: &history, inherited, edits };
        let assembly = RequestBuilder { parts, tools: Offer::Frozen(held) }.build().assembly;
        let same = held.thread_id == thread.id && held.hash == FrozenRequest::name(&thread.model, most, &assembly);
        if !same || self.fixed.as_ref().is_some_and(|system| *system != assembly.system) {
            return Err(GONE_ON.to_owned());
        }
        // Room would be made first, and another request would go out.
        let full =
            matches!(self.crowded(&assembly, &history), Some(Event::Context(ContextEvent::ContextLimitReached { .. })));
        if full { Err(FULL.to_owned()) } else { Ok(()) }
    }

    pub(super) async fn planned(&mut self) -> Result<Arc<Plan>, PrepareError> {
        if let Some(plan) = &self.plan {
            return Ok(Arc::clone(plan));
        }
        let start = start_of(&self.thread);
        let planner = Arc::clone(&self.settings.planner);
        let result = self.unless_stopped(tokio::task::spawn_blocking(move || planner.plan(&start))).await?;
        match result.unwrap_or_else(|failed| Err(format!("the context could not be planned: {failed}"))) {
            Ok(plan) => {
                for problem in &plan.problems {
                    tracing::warn!(%problem, "in the context");
                }
                let mut plan = plan;
                what_if::in_plan(&mut plan, &self.thread.changes);
                Ok(self.keep_plan(plan))
            }
            Err(message) => Err(PrepareError::Failed(no_context(message))),
        }
    }
}

/// What a plan is made for.
pub(super) fn start_of(thread: &Thread) -> Start {
    let lineage = &thread.lineage;
    // A fork begins as the thread did that it is of.
    let continues = lineage.origin == ThreadOrigin::Handoff;
    Start {
        thread_id: Some(thread.id.clone()),
        previous: lineage.previous.clone().filter(|_| continues),
        parent: lineage.parent.clone(),
        depth: lineage.depth,
        state: thread.kept.clone(),
        ..Start::new(thread.model.clone(), thread.limits, thread.kind)
    }
}

/// Nothing can be sent, because what belongs to it is not there.
/// What was seen around the thread, with what it says of itself.
pub(super) fn known_to(thread: &Thread, snapshot: EnvironmentSnapshot) -> EnvironmentSnapshot {
    let (persona, todo) = (thread.persona.clone(), TodoList::of(&thread.kept));
    EnvironmentSnapshot { persona, todo, background: thread.commands.clone(), ..snapshot }
}

fn no_context(message: String) -> CallError {
    let (category, code) = (ErrorCategory::Permanent, "no_context".into());
    CallError { category, code, message, status: None, retry_after_ms: None }
}
