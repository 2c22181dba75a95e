//! Tool calls: deciding about them, running them, and hearing what they say meanwhile.

use super::Audience;
use super::pace::Pace;
use super::prepare_error::PrepareError;
use super::run::Driver;
use crate::context::STATUS;
use crate::domain::background::{BackgroundCommand, CommandsAsked};
use crate::domain::capability::RETURN;
use crate::domain::event::Process;
use crate::domain::{
    ApprovalEvent, CallId, ContentHash, Cost, Event, Image, KnownTool, Parent, Persona, SettingsEvent, StateStore,
    Status, ThreadEvent, ThreadId, ToolCall, ToolEvent,
};
use crate::engine::arguments::misfit;
use crate::engine::permission;
use crate::engine::thread::Effect;
use crate::ports::tools::{BackgroundCall, Isolation, OwnCommand, Waiting};
use crate::ports::{ToolListener, ToolOutcome, ToolRunner};
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Images of one result.
const OF_A_RESULT: usize = 8;

/// Images of all results that go to a model: beyond that Anthropic's Messages takes smaller ones alone.
const OF_ALL: usize = 20;

/// Their bytes, which are in memory several times while a request is sent.
const BYTES_OF_ALL: u64 = 16 << 20;

/// As many pieces of output may wait to be shown; what comes faster is not shown live.
const PIECES: usize = 64;

/// What a tool tells while it runs.
pub(super) enum ToolProgress {
    Said(String),
    /// Answered once it is in the log, with whether it is: else it must not begin.
    Started(Process, oneshot::Sender<bool>),
    /// A tool wants to start a child of the thread.
    AsksParent(oneshot::Sender<Result<Parent, String>>),
    /// Answered once it is in the log, or with why it is not.
    StartsChild {
        child: ThreadId,
        directive: String,
        waits: bool,
        recorded: oneshot::Sender<Result<(), String>>,
    },
    /// Answered once it is in the log.
    ChildEnded {
        child: ThreadId,
        status: Status,
        cost: Cost,
        recorded: oneshot::Sender<()>,
    },
    /// Answered once it is in the log.
    Became(Option<Persona>, oneshot::Sender<()>),
    /// Answered once it is in the log, or with why it is not.
    Checkpoint {
        path: String,
        before: Option<ContentHash>,
        after: ContentHash,
        recorded: oneshot::Sender<Result<(), String>>,
    },
    /// Answered once it is in the log, or with why it is not.
    Shows(Image, oneshot::Sender<Result<(), String>>),
    /// Answered with all that is kept then, once it is in the log, or with why it is not.
    Keeps(Map<String, Value>, oneshot::Sender<Result<StateStore, String>>),
    /// Answered with its name once it is in the log, or with why it may not begin.
    StartsCommand {
        command: String,
        input: Value,
        confined: bool,
        recorded: oneshot::Sender<Result<CallId, String>>,
    },
    AsksCommands(CommandsAsked, oneshot::Sender<CommandsStand>),
    /// The last.
    Ended(ToolOutcome),
}

/// How the commands beside the conversation stand, or why that is not known.
pub(super) type CommandsStand = Result<Vec<BackgroundCommand>, String>;

/// On which terms a call runs.
pub(super) struct Terms {
    /// What somebody saw before they allowed it.
    pub(super) preview: Option<String>,
    pub(super) isolation: Isolation,
    /// It is stopped after so long.
    pub(super) within_ms: Option<u64>,
}

/// A tool call under way. Dropping it stops the tool.
pub(super) struct RunningTool {
    pub(super) call_id: CallId,
    job: Pin<Box<dyn Future<Output = ToolOutcome> + Send>>,
    news: mpsc::Receiver<ToolProgress>,
    stop: Option<oneshot::Sender<()>>,
    /// What runs for it.
    pub(super) process: Option<Process>,
    /// The end of what it has printed.
    pub(super) said: String,
    /// How often those who watch are told of that.
    pub(super) pace: Pace,
    /// How it ended, where nobody has been told.
    outcome: Option<ToolOutcome>,
}

/// Calls that were stopped, and what they had printed: that becomes part of their results.
#[derive(Default)]
pub(super) struct InterruptedOutput(Vec<(CallId, String)>);

impl InterruptedOutput {
    /// Stops the call.
    fn stop(&mut self, mut tool: RunningTool) {
        // What is on its way was printed too.
        while let Ok(ToolProgress::Said(text)) = tool.news.try_recv() {
            tool.heard(&text);
        }
        if !tool.said.trim().is_empty() {
            self.0.push((tool.call_id, tool.said));
        }
    }

    /// Keeps what calls have answered that were not yet told of.
    fn keep(&mut self, results: Vec<(CallId, String)>) {
        self.0.extend(results);
    }

    pub(super) fn put_back(&mut self, event: &mut Event) {
        if let Event::Tool(
            ToolEvent::ToolCallResult { call_id, output, .. }
            | ToolEvent::ShellEnded { call_id, output, .. }
            | ToolEvent::CommandEnded { call_id, output, .. },
        ) = event
            && let Some(index) = self.0.iter().position(|(id, _)| id == call_id)
        {
            let (_, said) = self.0.swap_remove(index);
            *output = format!("{}\n{output}", said.trim_end());
        }
    }
}

struct Line(mpsc::Sender<ToolProgress>);

impl Line {
    /// Asks the driver something that it answers in words where it refuses.
    fn ask<'a, T: Send + 'a>(
        &'a self,
        question: impl FnOnce(oneshot::Sender<Result<T, String>>) -> ToolProgress + Send + 'a,
    ) -> Waiting<'a, Result<T, String>> {
        Box::pin(async move {
            let gone = || "the thread is ending".to_owned();
            let (sender, answer) = oneshot::channel();
            self.0.send(question(sender)).await.map_err(|_closed| gone())?;
            answer.await.map_err(|_closed| gone())?
        })
    }
}

impl ToolListener for Line {
    fn said(&self, text: String) {
        let _nobody_keeps_up = self.0.try_send(ToolProgress::Said(text));
    }

    fn started(&self, process: Process) -> Waiting<'_, bool> {
        Box::pin(async move {
            let (done, recorded) = oneshot::channel();
            self.0.send(ToolProgress::Started(process, done)).await.is_ok() && recorded.await.unwrap_or(false)
        })
    }

    fn parent(&self) -> Waiting<'_, Result<Parent, String>> {
        self.ask(ToolProgress::AsksParent)
    }

    fn starts_child(&self, child: ThreadId, directive: String, waits: bool) -> Waiting<'_, Result<(), String>> {
        self.ask(move |recorded| ToolProgress::StartsChild { child, directive, waits, recorded })
    }

    fn child_ended(&self, child: ThreadId, status: Status, cost: Cost) -> Waiting<'_, ()> {
        Box::pin(async move {
            let (recorded, done) = oneshot::channel();
            if self.0.send(ToolProgress::ChildEnded { child, status, cost, recorded }).await.is_ok() {
                let _driver_gone = done.await;
            }
        })
    }

    fn checkpoint(
        &self,
        path: String,
        before: Option<ContentHash>,
        after: ContentHash,
    ) -> Waiting<'_, Result<(), String>> {
        self.ask(move |recorded| ToolProgress::Checkpoint { path, before, after, recorded })
    }

    fn keeps(&self, values: Map<String, Value>) -> Waiting<'_, Result<StateStore, String>> {
        self.ask(move |recorded| ToolProgress::Keeps(values, recorded))
    }

    fn starts_command(&self, command: String, input: Value, confined: bool) -> Waiting<'_, Result<CallId, String>> {
        self.ask(move |recorded| ToolProgress::StartsCommand { command, input, confined, recorded })
    }

    fn commands(&self, asked: CommandsAsked) -> Waiting<'_, CommandsStand> {
        self.ask(move |reply| ToolProgress::AsksCommands(asked, reply))
    }

    fn shows(&self, image: Image) -> Waiting<'_, Result<(), String>> {
        self.ask(move |recorded| ToolProgress::Shows(image, recorded))
    }

    fn becomes(&self, persona: Option<Persona>) -> Waiting<'_, ()> {
        Box::pin(async move {
            let (done, recorded) = oneshot::channel();
            if self.0.send(ToolProgress::Became(persona, done)).await.is_ok() {
                let _driver_gone = recorded.await;
            }
        })
    }
}

/// As much of the end of what a stopped call printed is kept at least, in bytes; at most twice that.
const KEPT: usize = 16 << 10;

impl RunningTool {
    /// Keeps what it printed, for the case that it is stopped.
    pub(super) fn heard(&mut self, text: &str) {
        self.said.push_str(text);
        if self.said.len() > 2 * KEPT {
            let from = self.said.ceil_char_boundary(self.said.len() - KEPT);
            self.said.replace_range(..from, "…");
        }
    }

    /// Runs `call`, which is `item`. When somebody allowed it after seeing `preview`, it runs only if that still is what
    /// it would do.
    pub(super) fn start(
        tools: Arc<dyn ToolRunner>,
        call: ToolCall,
        item: String,
        Terms { preview, isolation, within_ms }: Terms,
    ) -> Self {
        let (sender, news) = mpsc::channel(PIECES);
        let call_id = call.call_id.clone();
        let job = Box::pin(async move {
            if preview.is_some() && tools.preview(&item, &call).await != preview {
                return ToolOutcome::failed(
                    "Not run: the file changed after this call was approved. Read it again and make a new call.",
                );
            }
            let line = Line(sender);
            let work = tools.run(&item, &call, isolation, &line);
            let Some(within_ms) = within_ms else { return work.await };
            match timeout(Duration::from_millis(within_ms), work).await {
                Ok(outcome) => outcome,
                Err(_elapsed) => ToolOutcome::failed(format!("Stopped: it took longer than {within_ms} ms.")),
            }
        });
        let (said, pace) = (String::new(), Pace::default());
        Self { call_id, job, news, stop: None, process: None, said, pace, outcome: None }
    }

    /// Runs a person's own command.
    pub(super) fn shell(tools: Arc<dyn ToolRunner>, own: OwnCommand) -> Self {
        let call_id = own.call_id.clone();
        Self::until_stopped(call_id, |stopped, line| async move { tools.shell(&own, stopped, &line).await })
    }

    /// Runs a command beside the conversation.
    pub(super) fn background(tools: Arc<dyn ToolRunner>, command: BackgroundCall) -> Self {
        let call_id = command.name.clone();
        Self::until_stopped(call_id, |stopped, line| async move { tools.background(&command, stopped, &line).await })
    }

    /// Runs what can be asked to end.
    fn until_stopped<Job: Future<Output = ToolOutcome> + Send + 'static>(
        call_id: CallId,
        run: impl FnOnce(Waiting<'static, ()>, Line) -> Job,
    ) -> Self {
        let (sender, news) = mpsc::channel(PIECES);
        let (stop, stopped) = oneshot::channel();
        let stopped = Box::pin(async move {
            let _by_word_or_with_the_driver = stopped.await;
        });
        let job = Box::pin(run(stopped, Line(sender)));
        let (said, pace) = (String::new(), Pace::default());
        Self { call_id, job, news, stop: Some(stop), process: None, said, pace, outcome: None }
    }

    /// Asks a command to end; what it printed is still told.
    pub(super) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _over_already = stop.send(());
        }
    }

    /// The next news; after the end nothing may be asked any more.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<ToolProgress> {
        match self.news.poll_recv(context) {
            Poll::Ready(Some(news)) => Poll::Ready(news),
            Poll::Ready(None) | Poll::Pending => {
                let outcome = self.outcome.take();
                outcome.map_or_else(|| self.job.as_mut().poll(context), Poll::Ready).map(ToolProgress::Ended)
            }
        }
    }

    /// Works on it without telling anything of it.
    pub(super) fn advance(&mut self, context: &mut Context<'_>) {
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = self.job.as_mut().poll(context)
        {
            self.outcome = Some(outcome);
        }
    }
}

impl<A: Audience> Driver<A> {
    /// Lets the rule decide about a call that nothing was decided about yet, and puts what follows at the head of what is
    /// to be done. Beside others that run, a call begins only if it is parallel and nobody has to be asked.
    pub(super) async fn authorise(&mut self, call: &ToolCall) {
        let Some(beside) = self.thread.begins_beside(&call.call_id) else { return };
        if self.guard_call(call) {
            return;
        }
        if let Some(event) = self.judge(call, beside).await {
            self.todo.push_front(Effect::Emit(event));
        }
    }

    /// What follows from a call: it starts, a person is asked, or it gets its answer. `beside` others that run nothing follows from
    /// one that is not parallel, or about which somebody has to be asked.
    pub(super) async fn judge(&mut self, call: &ToolCall, beside: bool) -> Option<Event> {
        let tools = self.known_tools();
        let known = if let Some(plan) = &self.plan { plan.tools(tools) } else { tools };
        let mut meant = permission::meant(&known, call);
        if beside && !meant.parallel {
            return None;
        }
        let item = meant.item.clone();
        let tools = Arc::clone(&self.settings.tools);
        let guarded = self.unless_stopped(tools.guarded(&item, call)).await.ok()?;
        meant.guarded = guarded;
        let mut event = permission::decide(&self.thread, meant, call);
        let asks = matches!(event, Event::Approval(ApprovalEvent::ApprovalRequested { .. }));
        if beside && asks {
            return None;
        }
        if asks || matches!(event, Event::Tool(ToolEvent::ToolCallStart { .. })) {
            // What cannot work is not run, and nobody is asked about it. The built-in tools say by themselves what they miss, and
            // what is handed back is held against what was promised.
            let says_itself = |tool: &KnownTool| tool.item == RETURN || !asks && tool.is_built_in();
            let tool = known.iter().find(|tool| tool.item == item).filter(|tool| !says_itself(tool));
            if let Some(unfit) = tool.and_then(|tool| misfit(&tool.spec.schema, &call.input)) {
                let output = format!("Not run: {unfit}. Call it again with parameters that fit its schema.");
                let (call_id, error) = (call.call_id.clone(), Some(output.clone()));
                return Some(Event::Tool(ToolEvent::ToolCallResult { call_id, output, error }));
            }
        }
        if let Event::Approval(ApprovalEvent::ApprovalRequested { preview, .. }) = &mut event {
            *preview = self.unless_stopped(tools.preview(&item, call)).await.ok()?;
        } else if let Event::Tool(ToolEvent::ToolCallStart { change, .. }) = &mut event {
            *change = self.unless_stopped(tools.preview(&item, call)).await.ok()?;
        }
        Some(event)
    }

    pub(super) fn stop_tools(&mut self) {
        self.early = EarlyCalls::default();
        for tool in std::mem::take(&mut self.tools) {
            self.end_tool(tool);
        }
        // What has ended is not lost because its handlers were not waited for.
        self.interrupted.keep(self.pipeline.take_results());
        self.pipeline.stop();
    }

    /// Ends it, and keeps what it has printed for its result.
    pub(super) fn end_tool(&mut self, tool: RunningTool) {
        self.forget(&tool);
        self.interrupted.stop(tool);
    }

    fn forget(&self, tool: &RunningTool) {
        if let Some(process) = &tool.process {
            self.settings.store.forget_process(process);
        }
    }

    pub(super) async fn tool_told(&mut self, call_id: CallId, news: ToolProgress) {
        let Some(index) = self.tools.iter().position(|tool| tool.call_id == call_id) else { return };
        match news {
            ToolProgress::Said(text) => {
                self.call_printed(index, &text);
                self.settings.audience.tool_said(&call_id, text);
            }
            ToolProgress::Started(process, recorded) => {
                self.tools.get_mut(index).into_iter().for_each(|tool| tool.process = Some(process));
                let begins = self.may_begin(call_id, process).await;
                let _tool_gone = recorded.send(begins);
            }
            ToolProgress::AsksParent(reply) => {
                let refusal = self.thread.refuses_children();
                let _tool_gone = reply.send(refusal.map_or_else(|| Ok(self.thread.as_parent()), Err));
            }
            ToolProgress::StartsChild { child, directive, waits, recorded } => {
                let started = ThreadEvent::ChildThreadStarted { child, directive, call_id, background: !waits };
                let _tool_gone = recorded.send(self.starts_child(started).await);
            }
            ToolProgress::ChildEnded { child, status, cost, recorded } => {
                self.emit(Event::Thread(ThreadEvent::ChildThreadEnded { child, status, cost })).await;
                let _tool_gone = recorded.send(());
            }
            ToolProgress::Became(persona, recorded) => {
                self.emit(Event::Settings(SettingsEvent::PersonaChanged { persona })).await;
                let _tool_gone = recorded.send(());
            }
            ToolProgress::Checkpoint { path, before, after, recorded } => {
                self.emit(Event::Tool(ToolEvent::FileCheckpointed { call_id, path, before, after })).await;
                let written = self.blocked.as_ref().map_or(Ok(()), |blocked| Err(blocked.refusal()));
                let _tool_gone = recorded.send(written);
            }
            ToolProgress::Shows(image, recorded) => {
                let _tool_gone = recorded.send(self.shows(call_id, image).await);
            }
            ToolProgress::Keeps(values, recorded) => {
                let _tool_gone = recorded.send(self.keep(values).await);
            }
            ToolProgress::StartsCommand { command, input, confined, recorded } => {
                let _tool_gone = recorded.send(self.starts_command(call_id, command, input, confined).await);
            }
            ToolProgress::AsksCommands(asked, reply) => self.asked_for_commands(&asked, reply),
            ToolProgress::Ended(outcome) => {
                self.update_call(&call_id);
                let tool = self.tools.remove(index);
                self.forget(&tool);
                drop(tool);
                if let Some(outcome) = self.edit_result(&call_id, outcome) {
                    self.tool_result(call_id, outcome).await;
                }
            }
        }
    }

    /// Records the result of a call.
    pub(super) async fn tool_result(&mut self, call_id: CallId, outcome: ToolOutcome) {
        let ToolOutcome { output, error } = self.guarded(&call_id, outcome).await;
        self.emit(Event::Tool(ToolEvent::ToolCallResult { call_id, output, error })).await;
    }

    /// Records that the result of a call will show an image, if the model takes it.
    async fn shows(&mut self, call_id: CallId, image: Image) -> Result<(), String> {
        let shown = self.thread.phase.calls().iter().find(|staged| staged.call.call_id == call_id);
        if shown.is_none_or(|staged| staged.images.len() >= OF_A_RESULT) {
            return Err(format!("the result of a call shows {OF_A_RESULT} images at most, and that of a hook none"));
        }
        let (count, bytes) = self.thread.shown();
        if count >= OF_ALL || bytes.saturating_add(image.bytes) > BYTES_OF_ALL {
            let most = BYTES_OF_ALL >> 20;
            return Err(format!(
                "results show {OF_ALL} images and {most} MB at most in one conversation; /compact makes room"
            ));
        }
        let model = &self.thread.model;
        if !self.settings.models.takes_images(model) {
            return Err(format!("{model} is not known to take images; `images: true` in its provider's file says so"));
        }
        self.emit(Event::Tool(ToolEvent::ResultImage { call_id, image })).await;
        self.blocked.as_ref().map_or(Ok(()), |blocked| Err(blocked.refusal()))
    }

    /// Records what a tool has the thread keep under names, if there is anything and it is within bounds.
    async fn keep(&mut self, values: Map<String, Value>) -> Result<StateStore, String> {
        let next = self.thread.kept.with(&values)?;
        if next != self.thread.kept {
            self.emit(Event::Settings(SettingsEvent::StateSet { values })).await;
        }
        match &self.blocked {
            Some(blocked) if self.thread.kept != next => Err(blocked.refusal()),
            Some(_) | None => Ok(next),
        }
    }

    /// Records that a child begins, if the thread may have one more.
    async fn starts_child(&mut self, started: ThreadEvent) -> Result<(), String> {
        if let Some(refusal) = self.thread.refuses_children() {
            return Err(refusal);
        }
        let before = self.thread.cost.spawns;
        self.emit(Event::Thread(started)).await;
        match &self.blocked {
            Some(blocked) if self.thread.cost.spawns == before => Err(blocked.refusal()),
            Some(_) | None => Ok(()),
        }
    }

    /// Notes that a call runs as `process`, and returns whether it may begin: only what could be found and ended after a
    /// crash does.
    pub(super) async fn may_begin(&mut self, call_id: CallId, process: Process) -> bool {
        if let Err(error) = self.on_disk(self.settings.store.note_process(&process)).await {
            self.complain(&error);
            return false;
        }
        self.emit(Event::Tool(ToolEvent::ToolProcess { call_id, process })).await;
        self.blocked.is_none()
    }

    /// Takes what the directive hands back, if nothing of it is missing, and answers the call.
    pub(super) async fn hand_back(&mut self, call: ToolCall) {
        let ToolCall { call_id, input, .. } = call;
        let returns = match self.planned().await {
            Ok(plan) => Ok(plan.returns.clone()),
            Err(PrepareError::Failed(error)) => Err(error),
            Err(PrepareError::Stopped) => return,
        };
        let failed = match &returns {
            Ok(Some(returns)) => gave_up(returns, &input),
            Ok(None) | Err(_) => None,
        };
        let answer = match returns {
            Ok(Some(_)) if failed.is_some() => Ok(()),
            Ok(Some(returns)) => is_whole(&returns.spec.schema, &input),
            Ok(None) => Err("This directive declares no outputs to return.".to_owned()),
            Err(error) => Err(error.message),
        };
        let (output, error) = match answer {
            Ok(()) => ("The outputs are returned.".to_owned(), None),
            Err(why) => (why.clone(), Some(why)),
        };
        let cost = self.thread.cost;
        let taken = error.is_none().then_some(Event::Thread(ThreadEvent::DirectiveReturn {
            outputs: input,
            cost,
            error: failed,
        }));
        let answered = Event::Tool(ToolEvent::ToolCallResult { call_id, output, error });
        for event in taken.into_iter().chain([answered]).rev() {
            self.todo.push_front(Effect::Emit(event));
        }
    }
}

/// Why the directive cannot be done, where the model says so. An output of the directive's own that is called `status` says
/// something else.
fn gave_up(returns: &KnownTool, outputs: &Value) -> Option<String> {
    let ours = returns.spec.schema.pointer("/properties/status/description").and_then(Value::as_str) == Some(STATUS);
    let word = |name: &str| outputs.get(name).and_then(Value::as_str);
    let why = word("error_detail").filter(|why| !why.trim().is_empty()).unwrap_or("the directive returned an error");
    (ours && word("status") == Some("error")).then(|| why.to_owned())
}

/// Whether `outputs` hold everything that `schema` asks for, or say why they do not.
fn is_whole(schema: &Value, outputs: &Value) -> Result<(), String> {
    // A blank text hands nothing back. As an argument of a tool it may well be meant.
    let mut said = outputs.clone();
    if let Some(said) = said.as_object_mut() {
        said.retain(|_, value| value.as_str().is_none_or(|text| !text.trim().is_empty()));
    }
    match not_returned(schema, &said) {
        Some(unfit) => Err(format!("Nothing was returned: {unfit}. Call it again with all outputs.")),
        None => Ok(()),
    }
}

/// What of `outputs` was not promised so: what is missing, else the first that is of another type. Of what is deeper the schema says
/// more than the directive did, since providers want to know it.
fn not_returned(schema: &Value, outputs: &Value) -> Option<String> {
    let Some(outputs) = outputs.as_object() else { return Some("the outputs are not a JSON object".to_owned()) };
    let given = |name: &str| outputs.get(name).is_some_and(|value| !value.is_null());
    let asked = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<String> = asked.filter(|name| !given(name)).map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let verb = if missing.len() == 1 { "is" } else { "are" };
        return Some(format!("{} {verb} missing", missing.join(", ")));
    }
    outputs.iter().find_map(|(name, value)| {
        let kind = schema.get("properties")?.get(name)?.get("type")?.as_str()?;
        let fits = match kind {
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        };
        (!fits && !value.is_null()).then(|| format!("`{name}` is not of type {kind}"))
    })
}

/// The calls of the answer that arrives, or arrived last, which began before it was whole.
#[derive(Default)]
pub(super) struct EarlyCalls {
    running: Vec<(ToolCall, Isolation, RunningTool)>,
    /// So many calls of the answer were looked at.
    pub(super) seen: usize,
    /// None behind those may begin.
    pub(super) over: bool,
}

impl EarlyCalls {
    pub(super) fn push(&mut self, call: ToolCall, isolation: Isolation, tool: RunningTool) {
        self.running.push((call, isolation, tool));
    }

    /// The tool that runs for `call` already, if it runs on these terms.
    pub(super) fn take(&mut self, call: &ToolCall, terms: &Terms) -> Option<RunningTool> {
        let same = |(early, isolation, _): &(ToolCall, Isolation, RunningTool)| {
            early == call && *isolation == terms.isolation && terms.preview.is_none() && terms.within_ms.is_none()
        };
        let at = self.running.iter().position(same)?;
        Some(self.running.swap_remove(at).2)
    }
}

/// Works on calls that began early; what they have to tell waits until they are taken.
pub(super) async fn advance(early: &mut EarlyCalls) -> Infallible {
    poll_fn(|context| {
        early.running.iter_mut().for_each(|(_, _, tool)| tool.advance(context));
        Poll::Pending
    })
    .await
}

/// The next news of any of `tools`; waits for ever without one. Losing this future loses nothing.
pub(super) async fn news(tools: &mut [RunningTool]) -> (CallId, ToolProgress) {
    poll_fn(|context| {
        for tool in tools.iter_mut() {
            if let Poll::Ready(news) = tool.poll_next(context) {
                return Poll::Ready((tool.call_id.clone(), news));
            }
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn outputs_are_of_the_types_that_were_promised() {
        let schema = json!({"required": ["n"], "properties": {"n": {"type": "integer"}, "all": {"type": "array"},
            "text": {"type": "string"}}});
        let taken = |outputs: Value| is_whole(&schema, &outputs).is_ok();
        assert!(taken(json!({"n": 3, "all": ["a"], "text": "t", "more": 1})) && taken(json!({"n": 0, "all": null})));
        for refused in [json!({"n": "three"}), json!({"n": [1]}), json!({"n": 1.5}), json!({"n": 1, "all": "a, b"})] {
            assert!(!taken(refused.clone()), "{refused}");
        }
    }

    #[test]
    fn an_empty_text_is_an_argument_and_no_output() {
        let schema = json!({"required": ["new_text"], "properties": {"new_text": {"type": "string"}}});
        for blank in ["", " \n"] {
            let given = json!({ "new_text": blank });
            assert_eq!(misfit(&schema, &given), None, "{blank:?} takes a text out of a file");
            assert_eq!(
                is_whole(&schema, &given).unwrap_err().split(':').next(),
                Some("Nothing was returned"),
                "{blank:?}"
            );
        }
        for missing in [json!({}), json!({"new_text": null})] {
            assert_eq!(misfit(&schema, &missing).as_deref(), Some("`new_text` is missing"));
        }
    }
}
