//! What becomes of a prompt, its requests, its calls and its queue, rule by rule, over the port of handlers: the page
//! `docs/pipeline-conformance.md` lists the rules with these tests.

mod answers;
mod calls;
mod events;
mod failures;
mod page;
mod prompts;
mod queue;
mod requests;
mod room;
mod streams;

use crate::support::driven_thread::{Bench, Heard, Play, end, text};
use crate::support::scripted_handlers::ScriptedHandlers;
use levain::context::Plan;
use levain::domain::event::{PromptMode, StopReason};
use levain::domain::{
    CallId, Command, Decision, Event, KnownTool, LayerKind, Lifetime, Origin, Piece, PromptEvent, RequestEvent, State,
    Step, ThreadEvent, Tokens, ToolCall, ToolEvent, ToolSpec, Waiting,
};
use levain::ports::tools::Isolation;
use levain::ports::{CallRequest, Handlers, ProviderEvent, ToolListener, ToolOutcome, ToolRunner, tools};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, Semaphore};

/// What only looks, several at a time, and what changes something. Either fails where its arguments say so, or waits until it
/// may end; each run is noted.
#[derive(Default)]
struct Tools {
    ran: Mutex<Vec<Value>>,
    /// What a call prints while it runs.
    prints: Vec<&'static str>,
    may_end: Option<Arc<Semaphore>>,
    one_began: Notify,
}

impl ToolRunner for Tools {
    fn tools(&self) -> Vec<KnownTool> {
        let tool = |name: &str, parallel| {
            let spec = ToolSpec { name: name.into(), description: String::new(), schema: json!({}) };
            let (item, origin) = (name.to_owned(), Origin::Thread);
            KnownTool { item, aliases: Vec::new(), origin, absent: None, parallel, confinable: false, spec }
        };
        vec![tool("look", true), tool("change", false)]
    }

    fn run<'a>(
        &'a self,
        _item: &'a str,
        call: &'a ToolCall,
        _isolation: Isolation,
        listener: &'a dyn ToolListener,
    ) -> tools::Waiting<'a, ToolOutcome> {
        Box::pin(async move {
            self.ran.lock().unwrap().push(call.input.clone());
            self.one_began.notify_one();
            self.prints.iter().for_each(|text| listener.said((*text).to_owned()));
            if let Some(may) = &self.may_end {
                may.acquire().await.unwrap().forget();
            }
            let output = format!("saw {}", call.input["at"]);
            let error = (call.input["fails"] == true).then(|| output.clone());
            ToolOutcome { output, error }
        })
    }
}

/// A thread with handlers, that a test talks with. Its system text is `Be honest.`, which is the constitution, and `Be brief.`.
struct Conversation {
    handlers: Arc<ScriptedHandlers>,
    tools: Arc<Tools>,
    bench: Bench,
    /// How many prompts and commands were taken, and how many of them were heard of.
    taken: AtomicUsize,
    heard_of: usize,
}

impl Conversation {
    fn new(handlers: ScriptedHandlers, plays: Vec<Play>) -> Self {
        Self::with(handlers, plays, Tools::default(), None)
    }

    fn with(handlers: ScriptedHandlers, plays: Vec<Play>, tools: Tools, window: Option<Tokens>) -> Self {
        Self::going_on(Vec::new(), handlers, plays, tools, window)
    }

    /// One in which this happened before.
    fn going_on(
        before: Vec<Event>,
        handlers: ScriptedHandlers,
        plays: Vec<Play>,
        tools: Tools,
        window: Option<Tokens>,
    ) -> Self {
        let piece = |kind, text: &str| Piece {
            id: text.to_owned(),
            kind,
            origin: Origin::User,
            lifetime: Lifetime::Once,
            decision: Decision::Included,
            text: text.into(),
        };
        let plan = Plan {
            system: vec![piece(LayerKind::Constitution, "Be honest."), piece(LayerKind::DirectiveSystem, "Be brief.")],
            compaction: Some(piece(LayerKind::DirectiveSystem, "Summarise.")),
            ..Plan::default()
        };
        let (handlers, tools) = (Arc::new(handlers), Arc::new(tools));
        let asked: Arc<dyn Handlers> = Arc::clone(&handlers) as Arc<dyn Handlers>;
        let runner: Arc<dyn ToolRunner> = Arc::clone(&tools) as Arc<dyn ToolRunner>;
        let bench = Bench::asking(before, asked, plays, plan, runner, window);
        Self { handlers, tools, bench, taken: AtomicUsize::new(0), heard_of: 0 }
    }

    async fn send(&self, text: &str, mode: PromptMode) -> Result<(), String> {
        self.send_as(text, mode, None).await
    }

    async fn send_as(&self, text: &str, mode: PromptMode, client: Option<String>) -> Result<(), String> {
        let (text, images, files) = (text.to_owned(), Vec::new(), Vec::new());
        self.bench.handle.ask(Command::Submit { text, mode, images, files, client }).await?;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sends a prompt, and waits until the thread rests.
    async fn say(&mut self, text: &str) {
        self.send(text, PromptMode::FollowUp).await.unwrap();
        self.rests().await;
    }

    /// Waits until nothing is done, and nothing that was sent waits to be done.
    async fn rests(&mut self) {
        let (taken, mut heard_of) = (self.taken.load(Ordering::Relaxed), self.heard_of);
        let is_done = |heard: &Heard| match heard {
            Heard::Event { event: Event::Prompt(PromptEvent::PromptQueued { .. }), .. } => {
                heard_of += 1;
                false
            }
            Heard::State(state) => {
                // What was told before does not know of it yet.
                heard_of >= taken
                    && state.waiting == Some(Waiting::User)
                    && state.queue.is_empty()
                    && state.handling.is_none()
            }
            _ => false,
        };
        self.bench.until(is_done).await;
        self.heard_of = heard_of;
    }

    async fn until(&mut self, wanted: impl Fn(&State) -> bool) {
        let mut heard_of = 0;
        let is_so = |heard: &Heard| {
            let queued = matches!(heard, Heard::Event { event: Event::Prompt(PromptEvent::PromptQueued { .. }), .. });
            heard_of += usize::from(queued);
            matches!(heard, Heard::State(state) if wanted(state))
        };
        self.bench.until(is_so).await;
        self.heard_of += heard_of;
    }

    /// What people are told that has these words.
    async fn notice(&mut self, words: &str) -> String {
        let notice = |event: &Event| match event {
            Event::Thread(ThreadEvent::Notice { text }) => Some(text.clone()).filter(|text| text.contains(words)),
            _ => None,
        };
        let is_one = |heard: &Heard| matches!(heard, Heard::Event { event, .. } if notice(event).is_some());
        let events = self.bench.until(is_one).await;
        let queued = |(_, event): &&(bool, Event)| matches!(event, Event::Prompt(PromptEvent::PromptQueued { .. }));
        self.heard_of += events.iter().filter(queued).count();
        events.iter().rev().find_map(|(_, event)| notice(event)).unwrap()
    }

    fn log(&self) -> Vec<Event> {
        self.bench.disk.log.lock().unwrap().clone()
    }

    fn requests(&self) -> Vec<CallRequest> {
        self.bench.script.asked.lock().unwrap().clone()
    }

    /// The texts of the messages of a request.
    fn sent(&self, request: usize) -> Vec<String> {
        self.requests()[request].messages.iter().map(|message| message.told()).collect()
    }

    /// The prompts that joined the conversation.
    fn joined(&self) -> Vec<String> {
        let joined = |event| match event {
            Event::Prompt(PromptEvent::CognitionIn { text, .. }) => Some(text),
            _ => None,
        };
        self.log().into_iter().filter_map(joined).collect()
    }

    /// What became of calls: the result, and whether it is an error.
    fn results(&self) -> Vec<(String, bool)> {
        let result = |event| match event {
            Event::Tool(ToolEvent::ToolCallResult { output, error, .. }) => Some((output, error.is_some())),
            _ => None,
        };
        self.log().into_iter().filter_map(result).collect()
    }

    /// What handlers of prompts, calls and results did.
    fn steps(&self) -> Vec<Step> {
        let steps = |event| match event {
            Event::Prompt(PromptEvent::PromptPrepared { steps, .. } | PromptEvent::PromptHandled { steps, .. })
            | Event::Request(RequestEvent::AnswerPrepared { steps, .. })
            | Event::Tool(ToolEvent::CallPrepared { steps, .. } | ToolEvent::ResultPrepared { steps, .. }) => steps,
            _ => Vec::new(),
        };
        self.log().into_iter().flat_map(steps).collect()
    }

    /// The body of a request, as it was sent.
    fn body(&self, request: usize) -> Value {
        serde_json::from_slice(&self.bench.script.bodies.lock().unwrap()[request]).unwrap()
    }

    /// What people were told.
    fn notices(&self) -> Vec<String> {
        let notice = |event| match event {
            Event::Thread(ThreadEvent::Notice { text }) => Some(text),
            _ => None,
        };
        self.log().into_iter().filter_map(notice).collect()
    }

    fn ran(&self) -> Vec<Value> {
        self.tools.ran.lock().unwrap().clone()
    }

    /// How often a model was asked.
    fn recorded(&self) -> usize {
        let is_one = |event: &&Event| matches!(event, Event::Request(RequestEvent::RequestRecorded { .. }));
        self.log().iter().filter(is_one).count()
    }
}

/// An answer in words.
fn answer(said: &str) -> Play {
    vec![text(said), end()]
}

/// An answer that calls tools: `look` or `change`, with these arguments.
fn calls(all: &[(&str, Value)]) -> Play {
    let pieces = all.iter().zip(0..).flat_map(|((tool, input), index)| {
        let call_id = CallId(format!("c{index}"));
        let started = ProviderEvent::ToolCallStarted { index, call_id, tool: (*tool).into() };
        [Ok(started), Ok(ProviderEvent::ToolInput { index, partial_json: input.to_string() })]
    });
    pieces.chain([Ok(ProviderEvent::Finished(StopReason::ToolUse))]).collect()
}
