//! A thread that is driven in this process: with a store in memory, a model that is a script, and whatever a test wants it to
//! wait for or to fail at.

#![allow(clippy::unnecessary_wraps, reason = "pieces of a play are results")]

use futures_util::{StreamExt, stream};
use levain::context::{Plan, Start};
use levain::domain::event::{CallError, Delta, ErrorCategory, Process, PromptMode, StopReason};
use levain::domain::{
    Assembly, Attachment, AttachmentKind, CallId, Command, ContentHash, Event, Grant, Image, Limits, ModelRef, Money,
    Record, RequestEvent, RequestRecord, Rules, SettingsEvent, State, Successor, ThreadEvent, ThreadId, ThreadKind,
    Timestamp, Tokens, Usage, Waiting, WindowRules, WireForm,
};
use levain::engine::driver::{Audience, Driver, Ended, Handle, ModelRegistry, Planner, Settings};
use levain::engine::thread::Thread;
use levain::ports::store::{Attach, Fetch, HandOff, Include, KeepImage, Snapshot};
use levain::ports::{
    CallRequest, Clock, EncodedRequest, Forgetful, Handlers, HttpOptions, NoHandlers, Provider, ProviderEvent,
    ProviderStream, StoreError, ThreadStore, ToolRunner,
};
use levain::tools::NoTools;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Work that takes as long as a test wants.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Default)]
struct GateState {
    closed: bool,
    waiting: usize,
}

impl Gate {
    pub fn close(&self) {
        self.0.0.lock().unwrap().closed = true;
    }

    pub fn open(&self) {
        self.0.0.lock().unwrap().closed = false;
        self.0.1.notify_all();
    }

    /// Waits for as long as it is closed.
    pub fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.waiting += 1;
        while state.closed {
            state = self.0.1.wait(state).unwrap();
        }
        state.waiting -= 1;
    }

    /// Waits until somebody waits before it.
    pub async fn is_reached(&self) {
        while self.0.0.lock().unwrap().waiting == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Opens a gate when a test is over, however it ends: what waits before it would hold the runtime up.
pub struct Opens(pub Gate);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A plan that waits before a gate.
pub struct SlowPlan(pub Plan, pub Gate);

impl Planner for SlowPlan {
    fn plan(&self, _start: &Start) -> Result<Plan, String> {
        self.1.pass();
        Ok(self.0.clone())
    }

    fn asks(&self) -> Vec<String> {
        self.0.asks()
    }
}

/// A store on a full disk, until there is room again.
#[derive(Clone, Default)]
pub struct Disk {
    pub full: Arc<Mutex<bool>>,
    /// How many times it was written to, and which of these fails.
    pub writes: Arc<AtomicU64>,
    pub fails: Option<u64>,
    pub log: Arc<Mutex<Vec<Event>>>,
    pub requests: Arc<Mutex<Vec<RequestRecord>>>,
    /// Holds up what brings the log to disk.
    pub gate: Gate,
    pub inflight: Arc<Mutex<Vec<Delta>>>,
}

impl Disk {
    pub fn room(&self) -> Result<(), StoreError> {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        if *self.full.lock().unwrap() || self.fails == Some(number) {
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(StoreError::Io { doing: "append to", path: "log".into(), source });
        }
        Ok(())
    }
}

impl ThreadStore for Disk {
    fn keep_result(&mut self, text: &str) -> Result<ContentHash, StoreError> {
        Ok(ContentHash::of(text.as_bytes()))
    }

    fn append(&mut self, record: &Record) -> Result<(u64, u64), StoreError> {
        self.room()?;
        let mut log = self.log.lock().unwrap();
        log.push(record.event.clone());
        let end = log.len() as u64;
        Ok((end - 1, end))
    }

    fn sync(&self) -> Box<dyn FnOnce() -> Result<(), StoreError> + Send> {
        let (result, gate) = (self.room(), self.gate.clone());
        Box::new(move || {
            gate.pass();
            result
        })
    }

    fn take_back(&mut self, offset: u64) {
        self.log.lock().unwrap().truncate(usize::try_from(offset).unwrap());
    }

    fn note_process(&self, _process: &Process) -> Box<dyn FnOnce() -> Result<(), StoreError> + Send> {
        self.sync()
    }

    fn forget_process(&self, _process: &Process) {}

    fn keep_inflight(&mut self, _request: u32, deltas: &[Delta]) -> Result<(), StoreError> {
        self.room()?;
        self.inflight.lock().unwrap().extend_from_slice(deltas);
        Ok(())
    }

    fn clear_inflight(&mut self) -> Result<(), StoreError> {
        self.inflight.lock().unwrap().clear();
        self.room()
    }

    fn record_request(&mut self, record: &RequestRecord, _assembly: &Assembly) -> Result<(), StoreError> {
        self.room()?;
        self.requests.lock().unwrap().push(record.clone());
        Ok(())
    }

    fn fetch(&self, hash: &ContentHash) -> Fetch {
        let bytes = (*hash == ContentHash::of(b"png")).then(|| b"png".to_vec());
        Box::new(move || Ok(bytes))
    }

    fn attach(&self, name: &str) -> Attach {
        let hash = ContentHash::of(if name == "lost.png" { b"it" } else { b"png" });
        let image = Image { name: name.to_owned(), media_type: "image/png".into(), hash, bytes: 3 };
        Box::new(
            move || {
                if image.name == "gone.png" { Err("the image `gone.png` was not attached".into()) } else { Ok(image) }
            },
        )
    }

    fn keeps_images(&self) -> KeepImage {
        Arc::new(|name, bytes| levain::domain::image::checked(name, &bytes))
    }

    fn include(&self, name: &str) -> Include {
        let file = Attachment::new(AttachmentKind::File, name.to_owned(), "let x = ${y};");
        Box::new(move || if file.name == "gone.rs" { Err("`gone.rs` was not attached".into()) } else { Ok(Some(file)) })
    }

    fn hand_off(&self, _: Successor) -> HandOff {
        Box::new(|_| Err(StoreError::NoSuchThread { id: "next-1".into() }))
    }

    fn save(&mut self, _snapshot: &Snapshot) {}

    fn close(&mut self) {}
}

/// What one call gives, piece by piece; then nothing more comes.
pub type Play = Vec<Result<ProviderEvent, CallError>>;

#[derive(Clone, Default)]
pub struct Script {
    pub plays: Arc<Mutex<VecDeque<Play>>>,
    /// Of every model.
    pub window: Option<Tokens>,
    /// Holds up the writing of requests.
    pub encoding: Gate,
    pub asked: Arc<Mutex<Vec<CallRequest>>>,
    /// The same in their wire form.
    pub bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Where an answer that has no end goes on.
    pub rest: Arc<Mutex<Option<oneshot::Receiver<Play>>>>,
    /// The log, to look whether what is asked is in it.
    pub log: Arc<Mutex<Vec<Event>>>,
    /// Why no model can be asked.
    pub keyless: Arc<Mutex<Option<&'static str>>>,
}

impl Provider for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn endpoint(&self) -> String {
        "none".into()
    }

    fn form(&self) -> WireForm {
        WireForm::Anthropic
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        self.encoding.pass();
        let body = levain::providers::encode::body(self.form(), &request)?;
        Ok(EncodedRequest { form: self.form(), body, request: Arc::new(request), options: HttpOptions::default() })
    }

    fn send(&self, EncodedRequest { request, body, .. }: EncodedRequest) -> ProviderStream {
        self.bodies.lock().unwrap().push(body);
        let recorded = self
            .log
            .lock()
            .unwrap()
            .iter()
            .filter(|event| matches!(event, Event::Request(RequestEvent::RequestRecorded { .. })))
            .count();
        let mut asked = self.asked.lock().unwrap();
        asked.push(CallRequest::clone(&request));
        assert!(recorded >= asked.len(), "a request was sent that is in no log");
        drop(asked);
        let play = self.plays.lock().unwrap().pop_front().unwrap();
        let ends = play.iter().any(|piece| matches!(piece, Ok(ProviderEvent::Finished(_)) | Err(_)));
        let pieces = stream::iter(play);
        if ends {
            return Box::pin(pieces);
        }
        match self.rest.lock().unwrap().take() {
            Some(rest) => Box::pin(pieces.chain(stream::once(async { stream::iter(rest.await.unwrap()) }).flatten())),
            None => Box::pin(pieces.chain(stream::pending())),
        }
    }
}

impl ModelRegistry for Script {
    fn provider(&self, _model: &ModelRef) -> Result<Arc<dyn Provider>, String> {
        match *self.keyless.lock().unwrap() {
            Some(why) => Err(why.to_owned()),
            None => Ok(Arc::new(self.clone())),
        }
    }

    fn wire_form(&self, _model: &ModelRef) -> Option<WireForm> {
        Some(WireForm::Anthropic)
    }

    fn window(&self, _model: &ModelRef) -> Option<Tokens> {
        self.window
    }

    fn quick(&self, model: &ModelRef) -> ModelRef {
        ModelRef::new(&model.provider, "quick")
    }

    fn max_output(&self, _model: &ModelRef) -> u64 {
        100
    }

    fn spend(&self, _model: &ModelRef, usage: &Usage) -> Option<Money> {
        Some(Money::price(usage.output, 1_000_000))
    }
}

/// A clock that is set by hand.
#[derive(Clone)]
pub struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// Everything an audience hears.
pub enum Heard {
    Event { stored: bool, event: Event },
    Text,
    State(State),
}

pub struct Ears(mpsc::UnboundedSender<Heard>);

impl Audience for Ears {
    fn recorded(&self, place: Option<(u64, u64)>, record: &Record) {
        let _over = self.0.send(Heard::Event { stored: place.is_some(), event: record.event.clone() });
    }

    fn streamed(&self, _request: u32, _deltas: Vec<Delta>) {
        let _over = self.0.send(Heard::Text);
    }

    fn settled(&self, _request: u32) {}

    fn tool_said(&self, _call_id: &CallId, _text: String) {}

    fn changed(&self, state: State) {
        let _over = self.0.send(Heard::State(state));
    }
}

pub struct Bench {
    pub disk: Disk,
    pub script: Script,
    /// What the clock shows.
    pub clock: Arc<AtomicU64>,
    pub handle: Handle,
    pub heard: mpsc::UnboundedReceiver<Heard>,
    pub driver: tokio::task::JoinHandle<Ended>,
}

impl Bench {
    pub fn new(kind: ThreadKind, plays: Vec<Play>) -> Self {
        Self::with(kind, plays, Plan::default(), None)
    }

    /// With rules: hooks of `plan` are asked, and a window of this size may fill up.
    pub fn with(kind: ThreadKind, plays: Vec<Play>, plan: Plan, window: Option<Tokens>) -> Self {
        Self::on(Disk::default(), kind, plays, plan, window)
    }

    pub fn on(disk: Disk, kind: ThreadKind, plays: Vec<Play>, plan: Plan, window: Option<Tokens>) -> Self {
        let (encoding, tools, planning) = (Gate::default(), Arc::new(NoTools), Gate::default());
        Self::held_up(disk, kind, plays, (SlowPlan(plan, planning), encoding, tools), window)
    }

    /// With a planner, a gate before the writing of requests, and tools.
    pub fn held_up(
        disk: Disk,
        kind: ThreadKind,
        plays: Vec<Play>,
        (plan, encoding, tools): (SlowPlan, Gate, Arc<dyn ToolRunner>),
        window: Option<Tokens>,
    ) -> Self {
        Self::begun(Arc::new(NoHandlers), Vec::new(), disk, kind, plays, (plan, encoding, tools), window)
    }

    /// A conversation with handlers at the stages of the pipeline, in a worker that has begun; `before` happened in it earlier.
    pub fn asking(
        before: Vec<Event>,
        handlers: Arc<dyn Handlers>,
        plays: Vec<Play>,
        plan: Plan,
        tools: Arc<dyn ToolRunner>,
        window: Option<Tokens>,
    ) -> Self {
        let begins = Event::Thread(ThreadEvent::WorkerStarted { pid: 1, version: "1".into() });
        let begins = before.into_iter().chain([begins]).collect();
        let parts = (SlowPlan(plan, Gate::default()), Gate::default(), tools);
        Self::begun(handlers, begins, Disk::default(), ThreadKind::Interactive, plays, parts, window)
    }

    fn begun(
        handlers: Arc<dyn Handlers>,
        mut opening: Vec<Event>,
        disk: Disk,
        kind: ThreadKind,
        plays: Vec<Play>,
        (plan, encoding, tools): (SlowPlan, Gate, Arc<dyn ToolRunner>),
        window: Option<Tokens>,
    ) -> Self {
        let script = Script { window, log: Arc::clone(&disk.log), encoding, ..Script::default() };
        let clock = Arc::new(AtomicU64::new(1_000));
        let rules =
            Rules { asks: Planner::asks(&plan), window: window.map(|_| WindowRules::default()), ..Rules::default() };
        if rules != Rules::default() {
            opening.push(Event::Settings(SettingsEvent::RulesSet { rules }));
        }
        script.plays.lock().unwrap().extend(plays);
        let (sender, heard) = mpsc::unbounded_channel();
        let settings = Settings {
            handlers,
            store: Box::new(disk.clone()),
            models: Box::new(script.clone()),
            tools,
            approvals: Box::new(Forgetful),
            clock: Arc::new(SetClock(Arc::clone(&clock))),
            audience: Ears(sender),
            planner: Arc::new(plan),
            budgets: None,
        };
        let id = ThreadId::new("chat", 1);
        let mut thread = Thread::new(id, "levain/chat", kind, ModelRef::new("script", "x"), Limits::default());
        let grant = |tool: &str, ask| Grant::new(format!("rye.execute.tool.{tool}"), ask);
        thread.permissions.grants =
            vec![grant("t", true), grant("look", false), grant("read", false), grant("change", false)];
        let (driver, handle) = Driver::new(thread, settings);
        let driver = tokio::spawn(driver.run(opening));
        Self { disk, script, clock, handle, heard, driver }
    }

    pub async fn ask(&self, text: &str) {
        self.handle
            .ask(Command::Submit {
                text: text.into(),
                mode: PromptMode::FollowUp,
                images: Vec::new(),
                files: Vec::new(),
                client: None,
            })
            .await
            .unwrap();
    }

    /// Hears until `enough`; returns the events.
    pub async fn until(&mut self, mut enough: impl FnMut(&Heard) -> bool) -> Vec<(bool, Event)> {
        let mut events = Vec::new();
        loop {
            let heard = tokio::time::timeout(Duration::from_mins(10), self.heard.recv()).await.unwrap().unwrap();
            let last = enough(&heard);
            if let Heard::Event { stored, event } = heard {
                events.push((stored, event));
            }
            if last {
                return events;
            }
        }
    }

    pub async fn until_idle(&mut self) -> Vec<(bool, Event)> {
        self.until(|heard| matches!(heard, Heard::State(state) if state.waiting == Some(Waiting::User) && state.queue.is_empty()))
            .await
    }

    pub async fn until_answer(&mut self) -> Vec<(bool, Event)> {
        self.until(|heard| {
            matches!(heard, Heard::Event { event: Event::Request(RequestEvent::CognitionOut { .. }), .. })
        })
        .await
    }
}

pub fn text(text: &str) -> Result<ProviderEvent, CallError> {
    Ok(ProviderEvent::Text(text.into()))
}

pub fn end() -> Result<ProviderEvent, CallError> {
    Ok(ProviderEvent::Finished(StopReason::EndTurn))
}

pub fn failure(category: ErrorCategory) -> Result<ProviderEvent, CallError> {
    Err(CallError { category, code: "x".into(), message: "it broke".into(), status: None, retry_after_ms: Some(5_000) })
}
