//! The handle of an engine: calls go in as messages, answers come out. The engine itself lives on a thread of its own.

use super::host::{Line, Said};
use super::place::Problem;
use super::plain::Plain;
use super::realm::{EngineError, Fault, Realm};
use super::settings::Settings;
use rquickjs::{Ctx, Function, Module, Object};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Bytes of the thread's stack: the engine's own limit, and what Rust needs between.
const THREAD_STACK: usize = 8 << 20;

/// What came of loading a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loaded {
    pub path: PathBuf,
    /// Milliseconds.
    pub took: f64,
    /// What it registered, or why it did not load.
    pub result: Result<Registered, Problem>,
    /// What it wrote while it loaded.
    pub lines: Vec<Line>,
    /// Errors in work that nobody waits for.
    pub reports: Vec<Problem>,
}

/// What an extension registered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Registered {
    /// How many handlers each event has.
    pub events: BTreeMap<String, u64>,
    pub tools: Vec<String>,
    pub commands: Vec<String>,
    pub shortcuts: Vec<String>,
    pub flags: Vec<String>,
    pub providers: Vec<String>,
    /// For messages and entries of the log.
    pub renderers: Vec<String>,
}

/// What one handler made of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    pub path: PathBuf,
    /// Which of the handlers of its file for this event, from 0.
    pub index: u64,
    /// Milliseconds.
    pub took: f64,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The event's value, where the handler changed it in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

impl Answer {
    /// Whether the event goes on as if the handler were not there.
    #[must_use]
    pub fn has_no_effect(&self) -> bool {
        self.result.is_none() && self.value.is_none() && self.error.is_none()
    }
}

/// What all handlers made of an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Emitted {
    pub answers: Vec<Answer>,
    /// What they asked a session for.
    pub said: Vec<Said>,
    pub lines: Vec<Line>,
    pub reports: Vec<Problem>,
}

enum Message {
    Load(PathBuf, Sender<Loaded>),
    Emit(String, Value, Sender<Emitted>),
}

/// A running engine. Dropping it ends it.
#[derive(Debug)]
pub struct Engine {
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.messages.take());
        if let Some(thread) = self.thread.take() {
            // An engine that panicked has told so.
            let _told = thread.join();
        }
    }
}

impl Engine {
    /// Starts an engine with no extension in it.
    ///
    /// # Errors
    /// When there is no thread or no memory for it.
    pub fn start(mut settings: Settings) -> Result<Self, EngineError> {
        let hidden = settings.policy.hidden.iter().map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
        settings.policy.hidden = hidden.collect();
        let (messages, incoming) = mpsc::channel();
        let (started, ready) = mpsc::channel();
        let thread = thread::Builder::new().name("levain-extensions".to_owned()).stack_size(THREAD_STACK);
        let thread = thread.spawn(move || {
            let settings = Rc::new(settings);
            match Realm::start(&settings) {
                Ok(realm) => {
                    if started.send(Ok(())).is_ok() {
                        Loop { realm, settings, loaded: Vec::new() }.run(&incoming);
                    }
                }
                Err(error) => drop(started.send(Err(error))),
            }
        })?;
        ready.recv().or(Err(EngineError::Gone))??;
        Ok(Self { messages: Some(messages), thread: Some(thread) })
    }

    /// Loads one extension. Waits for it.
    ///
    /// # Errors
    /// [`EngineError::Gone`]. That the file is not loaded is no error here.
    pub fn load(&self, path: &Path) -> Result<Loaded, EngineError> {
        self.ask(|reply| Message::Load(path.to_owned(), reply))
    }

    /// Offers an event to each handler by itself, every time with the value given here. Waits for them.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn emit(&self, event: &str, payload: Value) -> Result<Emitted, EngineError> {
        self.ask(|reply| Message::Emit(event.to_owned(), payload, reply))
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Result<T, EngineError> {
        let (reply, answer) = mpsc::channel();
        let messages = self.messages.as_ref().ok_or(EngineError::Gone)?;
        messages.send(message(reply)).or(Err(EngineError::Gone))?;
        answer.recv().or(Err(EngineError::Gone))
    }
}

/// What runs on the thread.
struct Loop {
    realm: Realm,
    settings: Rc<Settings>,
    /// Files that are loaded, in order.
    loaded: Vec<PathBuf>,
}

impl Loop {
    fn run(mut self, incoming: &Receiver<Message>) {
        loop {
            let message = match self.realm.next_timer() {
                None => incoming.recv().map_err(RecvTimeoutError::from),
                Some(next) => incoming.recv_timeout(next.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::Load(path, reply)) => {
                    // Whoever asked may have gone.
                    let _gone = reply.send(self.load(&path));
                }
                Ok(Message::Emit(event, payload, reply)) => {
                    let _gone = reply.send(self.emit(&event, &payload));
                }
                Err(RecvTimeoutError::Timeout) => {
                    // It is told with the next answer, by the reports.
                    let _told = self.realm.fire();
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn load(&mut self, path: &Path) -> Loaded {
        let begun = Instant::now();
        let result = self.attempt(path);
        let took = milliseconds(begun);
        let (lines, reports, _) = self.told();
        let result = match result {
            Ok(registered) => {
                self.loaded.push(path.to_owned());
                Ok(registered)
            }
            Err(fault) => {
                // What was stopped from outside has cleaned up nothing, so the others begin again without it.
                if !matches!(fault, Fault::Thrown(_)) || self.realm.is_stuck() {
                    self.begin_again();
                }
                let broken = self.realm.modules.broken.borrow_mut().take();
                let mut problem = broken.unwrap_or_else(|| fault.problem());
                problem.file.get_or_insert_with(|| path.to_string_lossy().into_owned());
                Err(problem)
            }
        };
        Loaded { path: path.to_owned(), took, result, lines, reports }
    }

    /// A fresh engine with the files that were loaded in this one.
    fn begin_again(&mut self) {
        match Realm::start(&self.settings) {
            Ok(realm) => self.realm = realm,
            Err(error) => tracing::error!(%error, "the engine of extensions could not begin again"),
        }
        for path in std::mem::take(&mut self.loaded) {
            if self.attempt(&path).is_ok() {
                self.loaded.push(path);
            }
        }
        let _told_before = self.told();
    }

    fn attempt(&self, path: &Path) -> Result<Registered, Fault> {
        self.realm.modules.broken.borrow_mut().take();
        let name = path.to_string_lossy().into_owned();
        let answer = self.realm.ask(|ctx, api| load(ctx, api, &name))?;
        if let Some(error) = answer.get("error") {
            return Err(Fault::Thrown(self.problem(error)));
        }
        Ok(registered(answer.get("extension").unwrap_or(&Plain::Nothing)))
    }

    fn emit(&mut self, event: &str, payload: &Value) -> Emitted {
        let mut emitted = Emitted::default();
        let handlers = self.realm.ask(|_, api| api.get::<_, Function<'_>>("handlers")?.call((event,)));
        let handlers = match handlers {
            Ok(Plain::List(handlers)) => handlers,
            Ok(_) => Vec::new(),
            Err(fault) => {
                emitted.reports.push(fault.problem());
                Vec::new()
            }
        };
        for handler in handlers {
            let field = |name: &str| handler.get(name).and_then(Plain::number).unwrap_or_default();
            let path = PathBuf::from(handler.get("path").and_then(Plain::text).unwrap_or_default());
            let (id, given, begun) = (field("id"), Plain::from(payload.clone()), Instant::now());
            let context = Plain::map([("mode", Plain::Text("print".to_owned())), ("hasUI", Plain::Bool(false))]);
            let record =
                self.realm.ask(|_, api| api.get::<_, Function<'_>>("callHandler")?.call((id, event, given, context)));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
            let index = field("index") as u64;
            let took = milliseconds(begun);
            let mut answer = Answer { path, index, took, result: None, value: None, error: None };
            match record {
                Ok(record) => {
                    answer.took = record.get("ms").and_then(Plain::number).unwrap_or(took);
                    answer.error = record.get("error").map(|error| self.problem(error));
                    let result = record.get("result").filter(|result| **result != Plain::Nothing);
                    answer.result = result.cloned().map(Value::from);
                    let value = record.get("value").cloned().map(Value::from);
                    answer.value = value.filter(|value| {
                        !payload.as_object().is_some_and(|fields| fields.values().any(|field| field == value))
                    });
                }
                Err(fault) => {
                    answer.error = Some(fault.problem());
                    if self.realm.is_stuck() {
                        emitted.answers.push(answer);
                        let (lines, reports, said) = self.told();
                        self.begin_again();
                        return Emitted { said, lines, reports, ..emitted };
                    }
                }
            }
            emitted.answers.push(answer);
        }
        let (lines, reports, said) = self.told();
        emitted.reports.extend(reports);
        Emitted { said, lines, ..emitted }
    }

    /// What was written, reported and wished for since the last time.
    fn told(&self) -> (Vec<Line>, Vec<Problem>, Vec<Said>) {
        let (lines, reports, said) = {
            let mut host = self.realm.host.borrow_mut();
            (std::mem::take(&mut host.lines), std::mem::take(&mut host.reports), std::mem::take(&mut host.said))
        };
        let reports = reports.iter().map(|report| {
            let mut problem = self.problem(report);
            let path = report.get("path").and_then(Plain::text).map(str::to_owned);
            problem.file = problem.file.or(path);
            let event = report.get("event").and_then(Plain::text).unwrap_or("background work");
            problem.message = format!("{event}: {}", problem.message);
            problem
        });
        (lines, reports.collect(), said)
    }

    fn problem(&self, error: &Plain) -> Problem {
        let message = error.get("message").and_then(Plain::text).unwrap_or("an error without words");
        let stack = error.get("stack").and_then(Plain::text);
        self.realm.modules.places.borrow().problem(message, stack)
    }
}

/// `load(path, evaluate)` of the JavaScript side, which evaluates the module itself.
fn load<'js>(ctx: &Ctx<'js>, api: &Object<'js>, path: &str) -> rquickjs::Result<rquickjs::Value<'js>> {
    let name = path.to_owned();
    let evaluate = move |ctx: Ctx<'js>| Module::import(&ctx, name.as_str());
    let meta = Plain::map([("scope", Plain::Text("project".to_owned()))]);
    api.get::<_, Function<'_>>("load")?.call((path, Function::new(ctx.clone(), evaluate)?, meta))
}

fn registered(extension: &Plain) -> Registered {
    let names = |field: &str| match extension.get(field) {
        Some(Plain::List(names)) => names.iter().filter_map(|name| Some(name.text()?.to_owned())).collect(),
        _ => Vec::new(),
    };
    let events = match extension.get("events") {
        Some(Plain::Map(events)) => events
            .iter()
            .filter_map(|(name, count)| {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
                Some((name.clone(), count.number()? as u64))
            })
            .collect(),
        _ => BTreeMap::new(),
    };
    let mut renderers: Vec<String> = names("messageRenderers");
    renderers.extend(names("entryRenderers"));
    Registered {
        events,
        tools: names("tools"),
        commands: names("commands"),
        shortcuts: names("shortcuts"),
        flags: names("flags"),
        providers: names("providers"),
        renderers,
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
