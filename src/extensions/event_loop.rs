//! What runs on the thread of an engine: calls one after the other, and between them whatever their promises wait for.
//!
//! A call that waits holds up no other. What a call wrote or reported is told with the next answer, whosever that is.

use super::outcome::{Answer, Loaded, Registered, Registration, Told};
use super::place::Problem;
use super::plain::Plain;
use super::realm::{Begun, EngineError, Fault, Lost, Realm, Waits};
use super::settings::Settings;
use rquickjs::{Ctx, Function, Module, Object};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What an engine is asked.
pub(super) enum Message {
    Load(PathBuf, oneshot::Sender<Loaded>),
    Handlers(String, oneshot::Sender<Vec<Registration>>),
    Call { handler: Registration, payload: Value, lost: Lost, reply: oneshot::Sender<(Answer, Told)> },
}

/// Events whose value a handler may change in place, and the field that holds it, as `host/dispatch.js` has them.
const IN_PLACE: [(&str, &str); 4] = [
    ("tool_call", "input"),
    ("context", "messages"),
    ("before_provider_request", "payload"),
    ("before_provider_headers", "headers"),
];

/// A call whose promise has not settled.
struct Pending {
    promise: Waits,
    /// When it is given up.
    end: Instant,
    lost: Option<Lost>,
    then: Then,
}

type Then = Box<dyn FnOnce(&mut EventLoop, Result<Plain, Fault>)>;

/// See the module.
pub(super) struct EventLoop {
    /// Before the realm: what belongs to one must not outlive it.
    pending: Vec<Pending>,
    realm: Realm,
    settings: Rc<Settings>,
    /// Nobody wants anything any more.
    gone: Lost,
    /// Files that are loaded, in order.
    loaded: Vec<PathBuf>,
    /// The numbers of the handlers of an event, while they hold.
    numbers: HashMap<String, Vec<(Registration, f64)>>,
    /// The realm is of no more use.
    is_broken: bool,
}

impl EventLoop {
    pub(super) fn start(settings: Settings, gone: Lost) -> Result<Self, EngineError> {
        let settings = Rc::new(settings);
        let realm = Realm::start(&settings, &gone)?;
        let (pending, loaded, numbers) = (Vec::new(), Vec::new(), HashMap::new());
        Ok(Self { pending, realm, settings, gone, loaded, numbers, is_broken: false })
    }

    /// Runs until whoever sends messages is gone.
    pub(super) fn run(&mut self, incoming: &Receiver<Message>) {
        loop {
            let wakes = self.pending.iter().map(|one| one.end).chain(self.realm.next_timer()).min();
            let message = match wakes {
                None => incoming.recv().map_err(RecvTimeoutError::from),
                Some(at) => incoming.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::Load(path, reply)) => self.load(path, reply),
                Ok(Message::Handlers(event, reply)) => {
                    let all = self.numbers_of(&event).iter().map(|(handler, _)| handler.clone()).collect();
                    // Whoever asked may have gone, here as below.
                    let _gone = reply.send(all);
                }
                Ok(Message::Call { handler, payload, lost, reply }) => self.call(handler, payload, lost, reply),
                Err(RecvTimeoutError::Timeout) => self.fire(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.settle();
            if self.is_broken {
                self.begin_again();
            }
        }
    }

    /// Delivers timers that are due. Whose work one interrupts is not known, so nothing goes on that waits.
    fn fire(&mut self) {
        let Err(fault) = self.realm.fire() else { return };
        self.is_broken |= self.realm.is_stuck();
        for one in std::mem::take(&mut self.pending) {
            drop(one.promise);
            (one.then)(self, Err(fault.clone()));
        }
    }

    /// Goes on with what has settled, and gives up what will not.
    fn settle(&mut self) {
        let now = Instant::now();
        for one in std::mem::take(&mut self.pending) {
            if one.lost.as_ref().is_some_and(|lost| lost.load(Ordering::Relaxed)) {
                continue;
            }
            let come_to = match self.realm.settled(&one.promise) {
                Ok(Some(plain)) => Ok(plain),
                Ok(None) if now >= one.end => Err(Fault::Late(self.settings.limits.call)),
                // It waits for a timer, as everything else is answered at once; without one nothing will come.
                Ok(None) if self.realm.next_timer().is_none() => Err(Fault::Forsaken),
                Ok(None) => {
                    self.pending.push(one);
                    continue;
                }
                Err(fault) => Err(fault),
            };
            drop(one.promise);
            (one.then)(self, come_to);
        }
    }

    /// Goes on with `then` when what was begun is there.
    fn after(&mut self, begun: Result<Begun, Fault>, end: Instant, lost: Option<Lost>, then: Then) {
        match begun {
            Ok(Begun::Waits(promise)) => self.pending.push(Pending { promise, end, lost, then }),
            Ok(Begun::Done(plain)) => then(self, Ok(plain)),
            Err(fault) => then(self, Err(fault)),
        }
    }

    fn load(&mut self, path: PathBuf, reply: oneshot::Sender<Loaded>) {
        let started = Instant::now();
        self.realm.modules.broken.borrow_mut().take();
        let name = path.to_string_lossy().into_owned();
        let begun = self.realm.begin(None, |ctx, api| load(ctx, api, &name));
        let end = started + self.settings.limits.call;
        let then = move |this: &mut Self, come_to: Result<Plain, Fault>| {
            let took = milliseconds(started.elapsed());
            let result = this.registered(come_to).map_err(|fault| {
                // What was stopped from outside has cleaned up nothing, so the others begin again without it.
                this.is_broken |= !matches!(fault, Fault::Thrown(_)) || this.realm.is_stuck();
                let broken = this.realm.modules.broken.borrow_mut().take();
                let mut problem = broken.unwrap_or_else(|| fault.problem());
                problem.file.get_or_insert(name);
                problem
            });
            if result.is_ok() {
                this.loaded.push(path.clone());
            }
            this.numbers.clear();
            let Told { lines, reports, .. } = this.told();
            let _gone = reply.send(Loaded { path, took, result, lines, reports });
        };
        self.after(begun, end, None, Box::new(then));
    }

    /// A fresh realm with the files that were loaded in this one.
    fn begin_again(&mut self) {
        self.is_broken = false;
        for one in std::mem::take(&mut self.pending) {
            drop(one.promise);
            (one.then)(self, Err(Fault::Forsaken));
        }
        self.numbers.clear();
        match Realm::start(&self.settings, &self.gone) {
            Ok(realm) => self.realm = realm,
            Err(error) => tracing::error!(%error, "the engine of extensions could not begin again"),
        }
        for path in std::mem::take(&mut self.loaded) {
            self.realm.modules.broken.borrow_mut().take();
            let name = path.to_string_lossy().into_owned();
            let answer = self.realm.ask(|ctx, api| load(ctx, api, &name));
            if self.registered(answer).is_ok() {
                self.loaded.push(path);
            }
        }
        let _told_before = self.told();
    }

    fn registered(&self, answer: Result<Plain, Fault>) -> Result<Registered, Fault> {
        let answer = answer?;
        if let Some(error) = answer.get("error") {
            return Err(Fault::Thrown(self.problem(error)));
        }
        Ok(registered(answer.get("extension").unwrap_or(&Plain::Nothing)))
    }

    /// The handlers of an event, with the numbers by which they are called. They hold until something is loaded: what an
    /// extension registers in its handlers counts from the next load on.
    fn numbers_of(&mut self, event: &str) -> &[(Registration, f64)] {
        if !self.numbers.contains_key(event) {
            let list = self.realm.ask(|_, api| api.get::<_, Function<'_>>("handlers")?.call((event,)));
            let Ok(Plain::List(list)) = list else { return &[] };
            let number = |handler: &Plain, name: &str| handler.get(name).and_then(Plain::number).unwrap_or_default();
            let one = |handler: Plain| {
                let path = PathBuf::from(handler.get("path").and_then(Plain::text).unwrap_or_default());
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
                let index = number(&handler, "index") as u64;
                (Registration { event: event.to_owned(), path, index }, number(&handler, "id"))
            };
            self.numbers.insert(event.to_owned(), list.into_iter().map(one).collect());
        }
        self.numbers.get(event).map_or(&[], Vec::as_slice)
    }

    fn call(&mut self, handler: Registration, payload: Value, lost: Lost, reply: oneshot::Sender<(Answer, Told)>) {
        let known = self.numbers_of(&handler.event).iter();
        let number = known.filter(|(known, _)| *known == handler).map(|(_, number)| *number).next();
        let Registration { event, path, index } = handler;
        let mut answer = Answer { path, index, took: 0.0, result: None, value: None, error: None };
        let Some(number) = number else {
            let message = format!("it registers no handler of {event} any more");
            let file = Some(answer.path.to_string_lossy().into_owned());
            answer.error = Some(Problem { message, file, ..Problem::default() });
            let _gone = reply.send((answer, Told::default()));
            return;
        };
        let started = Instant::now();
        let given = Plain::from(payload.clone());
        let context = Plain::map([("mode", Plain::Text("print".to_owned())), ("hasUI", Plain::Bool(false))]);
        let begun = self.realm.begin(Some(&lost), |_, api| {
            api.get::<_, Function<'_>>("callHandler")?.call((number, event.as_str(), given, context))
        });
        let end = started + self.settings.limits.call;
        let then = move |this: &mut Self, come_to: Result<Plain, Fault>| {
            answer.took = milliseconds(started.elapsed());
            match come_to {
                Ok(record) => {
                    answer.took = record.get("ms").and_then(Plain::number).unwrap_or(answer.took);
                    answer.error = record.get("error").map(|error| this.problem(error));
                    let result = record.get("result").filter(|result| **result != Plain::Nothing);
                    answer.result = result.cloned().map(Value::from);
                    let before = IN_PLACE.iter().find(|(name, _)| *name == event);
                    let before = before.map(|(_, field)| payload.get(*field).unwrap_or(&Value::Null));
                    let value = record.get("value").filter(|value| before.is_some_and(|before| !value.is_same(before)));
                    answer.value = value.cloned().map(Value::from);
                }
                Err(fault) => {
                    this.is_broken |= this.realm.is_stuck();
                    answer.error = Some(fault.problem());
                }
            }
            let told = this.told();
            let _gone = reply.send((answer, told));
        };
        self.after(begun, end, Some(lost), Box::new(then));
    }

    /// What was written, reported and wished for since the last time.
    fn told(&self) -> Told {
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
        Told { lines, reports: reports.collect(), said }
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

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
