//! Asking handlers beside the loop, and what follows from what they make.

use super::Audience;
use super::pipeline::{Goal, Made, News, Pause, PipelineJob};
use super::prepare::{PromptMade, constitution, edit_history, facts, header_edits, payload_of, prepare_prompt};
use super::prepare_error::PrepareError;
use super::ready::Ready;
use super::run::Driver;
use super::stage::{Asked, Asking, Breakpoints, Passed, StageProgress, Watch};
use crate::context::Plan;
use crate::domain::command::{Breakpoint, EXTENSION_CLIENT, Handling, PROGRAM_CLIENT, QueuedPrompt, Resume};
use crate::domain::event::CancelScope;
use crate::domain::pipeline::{KEPT, LISTS};
use crate::domain::problem::nearest;
use crate::domain::{
    CallId, ContentHash, Entry, Event, ExtensionEntry, Messages, OpenHeaders, Piece, PromptEvent, SentBody, Stage,
    StageValue, Step, StepOutcome, ThreadEvent, ThreadKind, ToolCall, ToolEvent, ToolRef,
};
use crate::engine::permission;
use crate::engine::thread::{Effect, Phase};
use crate::pipeline::{Chain, Compact, Forms, Paid};
use crate::ports::{EncodedRequest, ToolOutcome};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// What is told of a job that is not looked at.
const PROGRESS: usize = 16;

/// So long a stage waits for those who are told what came before it.
const BEHIND: Duration = Duration::from_millis(500);

/// Entries of a session that are kept with a step, the newest: all of them are in the log.
const MOST_ENTRIES: usize = 500;

impl<A: Audience> Driver<A> {
    /// Who is asked in this thread.
    pub(super) fn asking(&self) -> Asking {
        let facts = facts(&self.thread);
        let person = Some(self.dialogs.watch());
        let handlers = Arc::clone(&self.settings.handlers);
        Asking { handlers, facts, preview: false, runs: true, watch: None, person, images: None }
    }

    /// Waits until everybody who is to be asked is known.
    pub(super) async fn ready_handlers(&mut self) {
        let handlers = Arc::clone(&self.settings.handlers);
        self.wait_for(handlers.ready(true)).await;
    }

    /// Tells people what they should know of handlers.
    pub(super) fn tell_news(&mut self) {
        for text in self.settings.handlers.news() {
            self.todo.push_back(Effect::Emit(Event::Thread(ThreadEvent::Notice { text })));
        }
    }

    pub(super) fn has(&self, stage: Stage) -> bool {
        self.settings.handlers.listens(stage)
    }

    pub(super) fn start<F: Future<Output = Made> + Send + 'static>(
        &mut self,
        goal: Goal,
        job: impl FnOnce(Asking) -> F,
    ) {
        let (sender, progress) = mpsc::channel(PROGRESS);
        let skip = Arc::new(Notify::new());
        let breakpoints = Arc::clone(&self.pipeline.breakpoints);
        let watch = Some(Watch { progress: sender, skip: Arc::clone(&skip), breakpoints });
        let told = if matches!(goal, Goal::Observe) { None } else { self.all_told() };
        let job = job(Asking { watch, ..self.asking() });
        let job = Box::pin(async move {
            // Whoever watches and guards knows what came before.
            if let Some(told) = told {
                let _all_or_late = tokio::time::timeout(BEHIND, told).await;
            }
            job.await
        });
        self.pipeline.jobs.push(PipelineJob { goal, job, progress, skip, handling: None, paused: None });
    }

    /// Takes a queued prompt through its handlers; one that meets none joins at once.
    pub(super) async fn take_prompt(&mut self, prompt: u64) {
        // Somebody stopped the thread between the event and this.
        let taking = matches!(&self.thread.phase, Phase::Taking { prompts, .. } if prompts.first() == Some(&prompt));
        let queued = self.thread.queue.iter().find(|queued| queued.prompt == prompt).cloned();
        let Some(queued) = queued.filter(|_| taking) else { return };
        if let Some(held) = self.seen_with(prompt) {
            let typed = held.text.as_ref().map(|_| queued.text.clone());
            let text = held.text.clone().unwrap_or_else(|| queued.text.clone());
            let (steps, messages, system) = (held.steps.clone(), held.messages.clone(), held.system_edit.clone());
            self.todo.push_front(joins(queued, text));
            if !(steps.is_empty() && messages.is_empty() && system.is_none() && typed.is_none()) {
                let prepared = PromptEvent::PromptPrepared { prompt, typed, steps, messages, system };
                self.todo.push_front(Effect::Emit(Event::Prompt(prepared)));
            }
            return;
        }
        self.ready_handlers().await;
        self.tell_news();
        if *self.pipeline.begins.borrow() {
            let mut begins = self.pipeline.begins.subscribe();
            return self.start(Goal::Begin { prompt }, |_| async move {
                let _gone = begins.wait_for(|begins| !begins).await;
                Made::Begun
            });
        }
        let begins = self.has(Stage::BeforeAgentStart);
        if !begins && !self.has(Stage::Input) && !queued.text.starts_with('/') {
            let text = queued.text.clone();
            self.todo.push_front(joins(queued, text));
            return;
        }
        let plan = if begins {
            match self.planned().await {
                Ok(plan) => Some(plan),
                Err(PrepareError::Stopped) => return,
                // The request says what is wrong.
                Err(PrepareError::Failed(_)) => None,
            }
        } else {
            None
        };
        let (text, images) = (queued.text.clone(), queued.images.clone());
        let source = source(queued.client.as_deref().unwrap_or_default());
        let keeps = Some(self.settings.store.keeps_images());
        self.start(Goal::Prompt(Box::new(queued)), |asking| async move {
            let asking = Asking { images: keeps, ..asking };
            let system = plan.as_ref().map(|plan| plan.system.as_slice());
            Made::Prompt(Box::new(prepare_prompt(&asking, source, text, images, system).await))
        });
    }

    /// In which forms the models were asked that answered in `history`.
    pub(super) fn forms(&self, history: &[Entry]) -> Forms {
        Forms::of(history, |model| self.settings.models.wire_form(model))
    }

    /// Takes the history of the coming request through its handlers; false where there are none.
    pub(super) fn edit_context(&mut self, request: u32, attempt: u32, plan: &Arc<Plan>, state: &[Piece]) -> bool {
        if !self.has(Stage::Context) {
            return false;
        }
        let (plan, state, history) = (Arc::clone(plan), state.to_vec(), self.thread.history.clone());
        let forms = self.forms(&history);
        self.start(Goal::Context { request, attempt, plan, state }, |asking| async move {
            let (edits, passed) = edit_history(&asking, &history, &forms).await;
            Made::Context(edits.map(Box::new), passed)
        });
        true
    }

    /// Takes the headers of a request and the request in its provider's form through their handlers; gives it back where there are
    /// none. One that was looked at is as it was then, but for its headers.
    pub(super) fn edit_sent(
        &mut self,
        request: u32,
        ready: Ready,
        (tools, endpoint): (Vec<ToolRef>, String),
        (seen, headers): (bool, Option<OpenHeaders>),
    ) -> Option<(Ready, Vec<ToolRef>, String)> {
        let body = ready.encoded.as_ref().filter(|_| !seen && self.has(Stage::BeforeProviderRequest));
        let payload = body.and_then(|(_, encoded)| serde_json::from_slice::<Value>(&encoded.body).ok());
        if payload.is_none() && headers.is_none() {
            return Some((ready, tools, endpoint));
        }
        let paid = payload.as_ref().map(|payload| Box::new(self.paid(request, &ready, payload.clone())));
        let headers = headers.map(|OpenHeaders { told, key }| Chain::BeforeProviderHeaders { headers: told, key });
        let payload = payload.map(|payload| Chain::BeforeProviderRequest { payload, paid });
        let ready = Box::new(ready);
        self.start(Goal::Payload { request, ready, tools, endpoint }, |asking| async move {
            let mut all = Vec::new();
            for chain in headers.into_iter().chain(payload) {
                if all.iter().any(|passed: &Passed| passed.aborted) {
                    break;
                }
                all.push(asking.through(chain).await);
            }
            Made::Request(all)
        });
        None
    }

    /// What may become of the payload of a request.
    pub(super) fn paid(&self, request: u32, ready: &Ready, before: Value) -> Paid {
        let reserved = self.account.reserved == Some(request);
        // What is reserved has an eighth to spare; a token has four bytes.
        let room = reserved.then(|| usize::try_from(ready.assembly.tokens().0 / 2).unwrap_or(usize::MAX));
        Paid { before, constitution: constitution(&ready.assembly), room }
    }

    /// Has a call mended by its tool and takes it through its guards; false where there is nobody for that, or it is through.
    pub(super) fn guard_call(&mut self, call: &ToolCall) -> bool {
        let prepared =
            self.thread.phase.calls().iter().any(|staged| staged.call.call_id == call.call_id && staged.prepared);
        if prepared {
            return false;
        }
        let told = call.clone();
        let (item, call) = self.offered(call);
        let tools = self.settings.tools.mends(&item).then(|| Arc::clone(&self.settings.tools));
        if tools.is_none() && !self.has(Stage::ToolCall) {
            return false;
        }
        if !self.pipeline.works_on(&call.call_id) {
            self.call_begins(&told);
            self.start(Goal::Call(call.call_id.clone()), |asking| async move {
                let (mut call, mut mended) = (call, None);
                if let Some(tools) = tools {
                    let by = asking.mended(tools.as_ref(), &item, &mut call).await;
                    if let StepOutcome::Failed { error } = &by.step.outcome {
                        let (blocked, asked) = (Some(error.clone()), vec![by]);
                        return Made::Stage(Passed {
                            chain: Chain::ToolCall { call, blocked, terminates: false },
                            asked,
                            aborted: false,
                        });
                    }
                    mended = Some(by);
                }
                let mut passed = asking.through(Chain::ToolCall { call, blocked: None, terminates: false }).await;
                passed.asked.splice(0..0, mended);
                Made::Stage(passed)
            });
        }
        true
    }

    /// The item of a call, and the call by the name under which its tool is offered, whatever the model or a hook called it.
    pub(super) fn offered(&self, call: &ToolCall) -> (String, ToolCall) {
        let tools = self.known_tools();
        let known = if let Some(plan) = &self.plan { plan.tools(tools) } else { tools };
        let item = permission::meant(&known, call).item;
        let tool = known.into_iter().find(|tool| tool.item == item).map(|tool| tool.spec.name);
        (item, ToolCall { tool: tool.unwrap_or_else(|| call.tool.clone()), ..call.clone() })
    }

    /// Takes the result of a call through its handlers; gives it back where there are none.
    pub(super) fn edit_result(&mut self, call_id: &CallId, outcome: ToolOutcome) -> Option<ToolOutcome> {
        let staged = self.thread.phase.calls().iter().find(|staged| staged.call.call_id == *call_id);
        let call = staged.filter(|_| self.has(Stage::ToolResult)).map(|staged| self.offered(&staged.call).1);
        let Some(call) = call else { return Some(outcome) };
        let (text, error) = (outcome.output.clone(), outcome.error.is_some());
        let images = staged.map(|staged| staged.images.clone()).unwrap_or_default();
        let details = self.pipeline.details.get(call_id).cloned().unwrap_or_default();
        self.start(Goal::Result { call_id: call_id.clone(), outcome }, |asking| async move {
            Made::Stage(asking.through(Chain::ToolResult { call, text, details, error, images }).await)
        });
        None
    }

    /// Asks whether older messages may give way, and who summarises them; false where nobody is asked.
    pub(super) fn before_compaction(&mut self, request: u32, compact: impl FnOnce(&Self) -> Compact) -> bool {
        if self.pipeline.compact.is_some() || !self.has(Stage::SessionBeforeCompact) {
            return false;
        }
        let compact = compact(self);
        let messages = |place: &usize| self.thread.history.get(*place);
        let said = compact.places.iter().filter_map(messages);
        let said =
            said.map(|entry| (entry.message.role, entry.said.as_ref().map_or_else(Default::default, |said| said.at)));
        let (said, old) = (said.collect(), self.thread.history.get(..compact.from).unwrap_or_default());
        let calls = old.iter().flat_map(|entry| entry.message.calls()).cloned().collect();
        self.start(Goal::Compact { request }, |asking| async move {
            let session = asking.handlers.session(said, calls).await;
            Made::Stage(asking.through(Chain::Compact(Box::new(Compact { session, ..compact }))).await)
        });
        true
    }

    /// What a job has to say.
    pub(super) async fn pipeline_told(&mut self, index: usize, news: News) {
        match news {
            News::Progress(progress) => self.progressed_to(index, progress),
            News::Done(made) => {
                if index >= self.pipeline.jobs.len() {
                    return;
                }
                let PipelineJob { goal, .. } = self.pipeline.jobs.remove(index);
                // What handlers left behind comes before what they answer.
                for left in self.inbox.left() {
                    self.extension_asks(left).await;
                }
                self.made(goal, made).await;
                self.carry_out().await;
            }
        }
    }

    fn progressed_to(&mut self, index: usize, progress: StageProgress) {
        let since = self.settings.clock.now();
        let (handling, paused) = match progress {
            StageProgress::Asks { stage, handler } => (Handling { stage, handler, since, paused: None }, None),
            StageProgress::Paused { stage, handler, chain, resume } => {
                let value = serde_json::to_string_pretty(&chain.event().json()).unwrap_or_default();
                let hash = self.settings.store.keep_result(&value);
                let hash = hash.inspect_err(|error| self.complain(error)).ok();
                (Handling { stage, handler, since, paused: hash }, Some(Pause { chain, since, resume }))
            }
        };
        if let Some(job) = self.pipeline.jobs.get_mut(index) {
            (job.handling, job.paused) = (Some(handling), paused);
        }
        if self.pipeline.is_paused() {
            self.save();
        }
        self.tell_state();
    }

    async fn made(&mut self, goal: Goal, made: Made) {
        match (goal, made) {
            (Goal::Begin { prompt }, Made::Begun) => self.todo.push_back(Effect::TakePrompt { prompt }),
            (Goal::Prompt(queued), Made::Prompt(made)) => self.prompt_made(*queued, *made),
            (Goal::Context { request, attempt, plan, state }, Made::Context(edits, passed)) => {
                if passed.aborted {
                    return self.give_up_turn();
                }
                let steps = self.kept_steps(&passed.asked);
                self.tell_failures(&steps);
                self.pipeline.steps = steps;
                self.pipeline.edits = edits.map(|edits| *edits);
                self.prepare_from(request, attempt, &plan, &state).await;
            }
            (Goal::Payload { request, ready, tools, endpoint }, Made::Request(passed)) => {
                if passed.iter().any(|passed| passed.aborted) {
                    return self.give_up_turn();
                }
                self.payload_made(request, *ready, (tools, endpoint), passed).await;
            }
            (Goal::Call(call_id), Made::Stage(passed)) => {
                if passed.aborted {
                    return self.give_up_turn();
                }
                let changed = passed.changed_by().is_some();
                let steps = self.kept_steps(&passed.asked);
                let Chain::ToolCall { call, blocked, terminates } = passed.chain else { return };
                let input = changed.then_some(call.input);
                if terminates {
                    let entry =
                        ExtensionEntry::Details { call_id: call_id.0.clone(), details: Value::Null, terminate: true };
                    self.emit(Event::Thread(ThreadEvent::ExtensionEntry { entry })).await;
                }
                let event = ToolEvent::CallPrepared { call_id, steps, input, blocked };
                self.todo.push_back(Effect::Emit(Event::Tool(event)));
            }
            (Goal::Result { .. } | Goal::Compact { .. }, Made::Stage(passed)) if passed.aborted => self.give_up_turn(),
            // Given up, it is kept with the stop, as it came: none of its calls begins.
            (Goal::Answer, Made::Stage(passed)) if passed.aborted => self.give_up_turn(),
            (Goal::Answer, Made::Stage(passed)) => self.answer_made(passed).await,
            (Goal::Result { call_id, outcome }, Made::Stage(passed)) => {
                let steps = self.kept_steps(&passed.asked);
                let Chain::ToolResult { text, details, error, images, .. } = passed.chain else { return };
                let shown = self.thread.phase.calls().iter().find(|staged| staged.call.call_id == call_id);
                let fewer = shown.is_some_and(|staged| staged.images.len() != images.len());
                let images = fewer.then(|| images.into_iter().map(|image| image.hash).collect());
                let outcome = if !error {
                    ToolOutcome { output: text, error: None }
                } else if text == outcome.output && outcome.error.is_some() {
                    outcome
                } else {
                    ToolOutcome { error: Some(text.clone()), output: text }
                };
                if details != self.pipeline.details.get(&call_id).cloned().unwrap_or_default() {
                    let entry = ExtensionEntry::Details { call_id: call_id.0.clone(), details, terminate: false };
                    self.emit(Event::Thread(ThreadEvent::ExtensionEntry { entry })).await;
                }
                self.emit(Event::Tool(ToolEvent::ResultPrepared { call_id: call_id.clone(), steps, images })).await;
                self.tool_result(call_id, outcome).await;
            }
            (Goal::Compact { request }, Made::Stage(passed)) => {
                let steps = self.kept_steps(&passed.asked);
                self.tell_failures(&steps);
                let Chain::Compact(compact) = passed.chain else { return };
                // They are recorded with the request for the summary, where there is one.
                self.pipeline.steps = steps;
                self.pipeline.compact = Some(*compact);
                self.todo.push_front(Effect::MakeRoom { request });
            }
            (Goal::Observe, made) => {
                if let Made::Stage(passed) = made {
                    if passed.chain.stage() == Stage::SessionStart {
                        self.pipeline.begins.send_replace(false);
                    }
                    let steps: Vec<Step> = passed.asked.into_iter().map(|asked| asked.step).collect();
                    self.tell_failures(&steps);
                }
                self.tell_next();
            }
            _ => {}
        }
    }

    fn prompt_made(&mut self, queued: QueuedPrompt, made: PromptMade) {
        let prompt = queued.prompt;
        if made.aborted {
            return self.give_up_turn();
        }
        // It was taken back meanwhile.
        if !self.thread.queue.iter().any(|known| known.prompt == prompt) {
            return;
        }
        if let Some(why) = made.given_back {
            return self
                .todo
                .push_back(Effect::Emit(Event::Prompt(PromptEvent::PromptWithdrawn { prompt, why: Some(why) })));
        }
        let steps = self.kept_steps(&made.asked);
        if let Some(by) = made.handled {
            let handled = PromptEvent::PromptHandled { prompt, text: queued.text, by, steps };
            return self.todo.push_back(Effect::Emit(Event::Prompt(handled)));
        }
        let PromptMade { text, images, messages, system, .. } = made;
        if !steps.is_empty() {
            let typed = (text != queued.text).then(|| queued.text.clone());
            let prepared = PromptEvent::PromptPrepared { prompt, typed, steps, messages, system };
            self.todo.push_back(Effect::Emit(Event::Prompt(prepared)));
        }
        self.todo.push_back(joins(QueuedPrompt { images, ..queued }, text));
    }

    async fn payload_made(
        &mut self,
        request: u32,
        mut ready: Ready,
        (tools, endpoint): (Vec<ToolRef>, String),
        passed: Vec<Passed>,
    ) {
        let Some((sent, mut encoded)) = ready.encoded.take() else { return };
        for passed in &passed {
            let steps = self.kept_steps(&passed.asked);
            self.tell_failures(&steps);
            self.pipeline.steps.extend(steps);
        }
        if let Some(headers) = passed.iter().find_map(header_edits) {
            encoded.options.headers = headers;
        }
        let payload = passed.iter().find_map(payload_of);
        ready.encoded = Some(match payload {
            Some(payload) => {
                let text = payload.to_string();
                let body = text.clone().into_bytes();
                let encoded = EncodedRequest { body, ..encoded };
                let kept = self.settings.store.keep_result(&text).inspect_err(|error| self.complain(error)).ok();
                (SentBody { body: kept, ..encoded.sent() }, encoded)
            }
            None => (sent, encoded),
        });
        self.record_request(request, ready, tools, endpoint).await;
    }

    /// Tells people of handlers of requests that failed, each failure once.
    fn tell_failures(&mut self, steps: &[Step]) {
        for step in steps.iter().filter(|step| step.outcome.is_failure()) {
            let Some(text) = step.in_words().filter(|text| self.pipeline.told.insert(text.clone())) else { continue };
            let text = format!("pipeline: {text}");
            self.todo.push_back(Effect::Emit(Event::Thread(ThreadEvent::Notice { text })));
        }
    }

    /// Somebody gave up at a breakpoint: as if they had stopped the turn.
    fn give_up_turn(&mut self) {
        self.inbox.stop = self.inbox.stop.max(Some(CancelScope::Turn));
    }

    /// Steps as they are recorded: what handlers got and made is in the content store.
    pub(super) fn kept_steps(&mut self, asked: &[Asked]) -> Vec<Step> {
        // Handlers that change nothing all got the same, and those that change some messages the others.
        let mut last: Option<(&StageValue, Option<ContentHash>)> = None;
        let mut messages = HashMap::new();
        let mut keep = |value| match &last {
            Some((same, hash)) if same.is_shared_with(value) => hash.clone(),
            Some(_) | None => {
                let hash = match value {
                    StageValue::Json(value) => self.keep_value(without_values(value)),
                    StageValue::Messages(all) => self.keep_messages(all, &mut messages),
                };
                last = Some((value, hash.clone()));
                hash
            }
        };
        let kept = asked.iter().map(|Asked { step, before, after }| {
            let (before, after) = (before.as_ref().and_then(&mut keep), after.as_ref().and_then(&mut keep));
            Step { before, after, ..step.clone() }
        });
        kept.collect()
    }

    /// Keeps a conversation message by message. `known` are those that are kept, by where they are.
    fn keep_messages(
        &mut self,
        all: &Messages,
        known: &mut HashMap<*const Value, Option<ContentHash>>,
    ) -> Option<ContentHash> {
        let mut keep = |message: &Arc<Value>| {
            let kept = known.entry(Arc::as_ptr(message));
            let hash = kept.or_insert_with(|| {
                let hash = self.settings.store.keep_result(&message.to_string());
                hash.inspect_err(|error| self.complain(error)).ok()
            });
            Some(Value::from(hash.as_ref()?.as_str()))
        };
        let hashes: Vec<Value> = all.iter().map(&mut keep).collect::<Option<_>>()?;
        let kept = json!({"messages": {KEPT: hashes}, "type": Stage::Context.name()});
        let kept = self.settings.store.keep_result(&kept.to_string());
        kept.inspect_err(|error| self.complain(error)).ok()
    }

    /// Keeps a value, long lists in it piece by piece: those of two requests differ in few of them.
    fn keep_value(&mut self, mut value: Value) -> Option<ContentHash> {
        if let Some(Value::Array(entries)) = value.get_mut("branchEntries") {
            entries.drain(..entries.len().saturating_sub(MOST_ENTRIES));
        }
        for map in [value.as_object_mut()].into_iter().flatten() {
            self.keep_lists(map);
            if let Some(Value::Object(inner)) = map.get_mut("payload") {
                self.keep_lists(inner);
            }
        }
        let kept = self.settings.store.keep_result(&value.to_string());
        kept.inspect_err(|error| self.complain(error)).ok()
    }

    fn keep_lists(&mut self, map: &mut Map<String, Value>) {
        for name in LISTS {
            let Some(Value::Array(list)) = map.get_mut(name) else { continue };
            let hashes: Option<Vec<Value>> = std::mem::take(list)
                .into_iter()
                .map(|one| Some(Value::from(self.settings.store.keep_result(&one.to_string()).ok()?.as_str())))
                .collect();
            map.insert(name.to_owned(), json!({ KEPT: hashes }));
        }
    }

    /// Skips the handler that is waited for; false where nobody is, or a person cannot.
    pub(super) fn skip_handler(&self, scope: CancelScope) -> bool {
        scope == CancelScope::Turn && self.thread.kind == ThreadKind::Interactive && self.pipeline.skip()
    }

    pub(super) fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) {
        let before = self.breakpoints().set.clone();
        for Breakpoint { stage, handler, .. } in breakpoints.iter().filter(|set| !before.contains(set)) {
            let known = self.settings.handlers.at(*stage);
            // Before the first prompt some may not be loaded.
            let is_loaded = !known.is_empty() || !self.thread.history.is_empty();
            if let Some(name) = handler.as_ref().filter(|name| is_loaded && !known.iter().any(|one| one.id == **name)) {
                let near = nearest(name, known.iter().map(|handler| handler.id.as_str()));
                let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
                self.tell_live(format!(
                    "no handler at {stage} is called {name} now{near}; the breakpoint waits for one"
                ));
            }
        }
        self.breakpoints().set = breakpoints;
        self.tell_state();
    }

    pub(super) fn breakpoints(&self) -> MutexGuard<'_, Breakpoints> {
        self.pipeline.breakpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on from a breakpoint.
    ///
    /// # Errors
    /// The sentence for the person, where nothing stands still or the value cannot be taken.
    pub(super) async fn resume(&mut self, how: Resume) -> Result<(), String> {
        let Some(job) = self.pipeline.jobs.iter_mut().find(|job| job.paused.is_some()) else {
            return Err("nothing is paused at a breakpoint".to_owned());
        };
        if let (Resume::Continue { value: Some(value) }, Some(Pause { chain, .. })) = (&how, &job.paused) {
            chain.clone().replace(value)?;
        }
        job.handling = None;
        let paused = job.paused.take();
        self.breakpoints().steps = how == Resume::Step;
        if let Some(Pause { since, resume, .. }) = paused {
            self.did_not_work(since).await;
            let _gone = resume.send(how);
            self.save();
        }
        Ok(())
    }
}

/// Who sent a prompt, by what its client calls it.
fn source(client: &str) -> &'static str {
    if client.starts_with(EXTENSION_CLIENT) {
        "extension"
    } else if client.starts_with(PROGRAM_CLIENT) {
        "rpc"
    } else {
        "interactive"
    }
}

/// The event by which a prompt joins the conversation.
fn joins(queued: QueuedPrompt, text: String) -> Effect {
    let QueuedPrompt { prompt, images, files, .. } = queued;
    let (role, prompt) = ("user".to_owned(), Some(prompt));
    Effect::Emit(Event::Prompt(PromptEvent::CognitionIn { text, role, prompt, images, files }))
}

/// A value as it is kept: of headers the names, as what they hold may be a secret of whoever set them.
fn without_values(value: &Value) -> Value {
    let mut value = value.clone();
    if value.get("type").is_some_and(|stage| stage == Stage::BeforeProviderHeaders.name()) {
        let headers = value.get_mut("headers").and_then(Value::as_object_mut).into_iter().flatten();
        headers.for_each(|(_, value)| *value = "…".into());
    }
    value
}
