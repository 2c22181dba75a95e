//! What runs on the thread of an engine: calls one after the other, and between them whatever their promises wait for.
//!
//! A call that waits holds up no other. What a call wrote or reported is told with the next answer, whosever that is.

mod handlers;

use self::handlers::Reusable;
use super::files;
use super::host::{self, Act, PROCESS, READING, Settled};
use super::message::{AWAKE, Lost, Message, soon};
use super::outcome::{Answer, Ask, Listing, Loaded, Registered, Registration, Told};
use super::outside::Asker;
use super::place::Problem;
use super::plain::Plain;
use super::realm::{Begun, EngineError, Fault, Realm, Waits};
use super::settings::Settings;
use rquickjs::function::Rest;
use rquickjs::{Ctx, Function, IntoJs as _, Module, Object};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

/// A call whose promise has not settled.
struct Pending {
    promise: Waits,
    /// When it is given up, and how long that is after its begin.
    end: Instant,
    limit: Duration,
    /// Whether nobody waits for it any more, and whether it may leave nothing behind; of calls, not of loading.
    call: Option<(Lost, bool)>,
    /// The extension's file.
    path: PathBuf,
    /// What it is told by that it is given up.
    signal: Option<f64>,
    /// It is a handler, whose turn is given up with it.
    of_turn: bool,
    then: Then,
}

/// Whether a call may leave nothing behind, whether nobody waits for it any more, and who gets its answer.
type Terms = (bool, Lost, oneshot::Sender<(Answer, Told)>);

type Then = Box<dyn FnOnce(&mut EventLoop, Result<Plain, Fault>)>;

/// See the module.
pub(super) struct EventLoop {
    /// Before the realm: what belongs to one must not outlive it.
    pending: Vec<Pending>,
    reusable: Rc<RefCell<Reusable>>,
    realm: Realm,
    settings: Rc<Settings>,
    /// Nobody wants anything any more.
    gone: Lost,
    settled: Settled,
    /// Files that are loaded, in order.
    loaded: Vec<PathBuf>,
    /// The numbers of handlers, as far as they are listed.
    numbers: HashMap<Registration, f64>,
    listed: watch::Sender<Arc<Listing>>,
    /// Handlers of extensions that could not begin again with the others.
    unloaded: Vec<Registration>,
    /// What is registered is no longer what is listed.
    is_stale: bool,
    /// Files are being loaded one after the other.
    loads: bool,
    /// How many signals were given out.
    signals: f64,
    /// So many reports are printed.
    printed: Cell<usize>,
    /// The realm is of no more use.
    is_broken: bool,
}

impl EventLoop {
    pub(super) fn start(
        settings: Settings,
        gone: Lost,
        settled: Settled,
        listed: watch::Sender<Arc<Listing>>,
    ) -> Result<Self, EngineError> {
        let settings = Rc::new(settings);
        let realm = Realm::start(&settings, &gone, &settled)?;
        let (pending, loaded, numbers) = (Vec::new(), Vec::new(), HashMap::new());
        Ok(Self {
            pending,
            reusable: Rc::default(),
            realm,
            settings,
            gone,
            settled,
            loaded,
            numbers,
            listed,
            unloaded: Vec::new(),
            is_stale: false,
            loads: false,
            signals: 0.0,
            printed: Cell::default(),
            is_broken: false,
        })
    }

    /// Runs until whoever sends messages is gone.
    pub(super) fn run(&mut self, incoming: &Receiver<Message>) {
        loop {
            let wakes = self.pending.iter().map(|one| one.end).chain(self.realm.next_timer()).min();
            let message = match (soon(AWAKE, || incoming.try_recv().ok()), wakes) {
                (Some(message), _) => Ok(message),
                (None, None) => incoming.recv().map_err(RecvTimeoutError::from),
                (None, Some(at)) => incoming.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::Load(path, reply)) => self.load(path, reply),
                Ok(Message::List(reply)) => {
                    self.publish();
                    // Whoever asked may have gone, here as below.
                    let _gone = reply.send(Arc::clone(&self.listed.borrow()));
                }
                Ok(Message::Ask { ask, preview, lost, reply }) => self.ask(ask, preview, lost, reply),
                Ok(Message::Tell(function, arguments)) => {
                    let told = self.realm.begin(None, |_, api| call(api, function, arguments));
                    self.failed(told.map(drop));
                }
                Ok(Message::Settled(number, answer)) => {
                    let told = if number & PROCESS != 0 {
                        self.realm.ended(number, answer)
                    } else if number & READING != 0 {
                        self.realm.resolve(number, host::piece(answer))
                    } else {
                        self.realm.resolve(number, files::answer(answer))
                    };
                    self.failed(told);
                }
                Ok(Message::Printed(channel, printed, _next)) => {
                    let told = self.realm.deliver(channel, printed);
                    self.failed(told);
                }
                Ok(Message::Changed(channel, change)) => {
                    let told = self.realm.changed(channel, change);
                    self.failed(told);
                }
                Ok(Message::CloseSockets(reply)) => {
                    let _gone = reply.send(self.realm.host.borrow().end_acts(Act::is_socket));
                }
                Ok(Message::Lost) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let fired = self.realm.fire();
                    self.failed(fired);
                }
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.settle();
            self.print_reports();
            if self.is_broken {
                self.begin_again();
            }
            self.is_stale |= std::mem::take(&mut self.realm.host.borrow_mut().registered);
            // While files are loaded, whoever loads them asks when it is done.
            if self.is_stale && !self.loads {
                self.publish();
            }
        }
    }

    /// Work was interrupted that began with no call. Whose it was is not known, so nothing goes on that waits.
    fn failed(&mut self, work: Result<(), Fault>) {
        let Err(fault) = work else { return };
        self.is_broken |= self.realm.is_stuck();
        for one in std::mem::take(&mut self.pending) {
            self.finish(one, Err(fault.clone()));
        }
    }

    /// Goes on with what has settled, and gives up what will not.
    fn settle(&mut self) {
        let now = Instant::now();
        for one in std::mem::take(&mut self.pending) {
            if one.call.as_ref().is_some_and(|(lost, _)| lost.load(Ordering::Relaxed)) {
                self.give_up(&one);
                continue;
            }
            let come_to = match self.realm.settled(&one.promise) {
                Ok(Some(plain)) => Ok(plain),
                Ok(None) if now >= one.end => Err(Fault::Late(one.limit)),
                // It waits for a timer or for what is done for it; everything else is answered at once.
                Ok(None) if self.realm.next_timer().is_none() && !self.realm.acts() => Err(Fault::Forsaken),
                Ok(None) => {
                    self.pending.push(one);
                    continue;
                }
                Err(fault) => Err(fault),
            };
            self.finish(one, come_to);
        }
    }

    fn finish(&mut self, one: Pending, come_to: Result<Plain, Fault>) {
        if let Some((_, preview)) = &one.call {
            self.count(*preview, -1);
        }
        drop(one.promise);
        (one.then)(self, come_to);
    }

    /// Nobody waits for it: what its extension waits for ends with it.
    fn give_up(&mut self, one: &Pending) {
        if let Some((_, preview)) = &one.call {
            self.count(*preview, -1);
        }
        let open: Vec<u64> = {
            let host = self.realm.host.borrow();
            let owner = host.files.iter().find(|(_, file)| **file == one.path).map(|(owner, _)| *owner);
            host.end_acts(|act| Some(act.owner) == owner && !act.is_socket());
            host.attended.iter().filter(|(_, of)| Some(**of) == owner).map(|(component, _)| *component).collect()
        };
        for component in open {
            let closed = self.realm.begin(None, |_, api| call(api, "closePlace", vec![component.into()]));
            self.failed(closed.map(drop));
        }
        if let Some(signal) = one.signal {
            let aborted =
                self.realm.begin(None, |_, api| api.get::<_, Function<'_>>("abort")?.call((signal, "it was stopped")));
            self.failed(aborted.map(drop));
        }
        if one.of_turn {
            let aborted =
                self.realm.begin(None, |_, api| api.get::<_, Function<'_>>("abortTurn")?.call(("it was stopped",)));
            self.failed(aborted.map(drop));
        }
    }

    /// Goes on with `then` when what was begun is there.
    fn after(
        &mut self,
        begun: Result<Begun, Fault>,
        (limit, path): (Duration, &Path),
        call: Option<(Lost, bool)>,
        then: Then,
    ) {
        let come_to = match begun {
            Ok(Begun::Waits(promise)) => {
                let (end, path) = (Instant::now() + limit, path.to_owned());
                return self.pending.push(Pending {
                    promise,
                    end,
                    limit,
                    call,
                    path,
                    signal: None,
                    of_turn: false,
                    then,
                });
            }
            Ok(Begun::Done(plain)) => Ok(plain),
            Err(fault) => Err(fault),
        };
        if let Some((_, preview)) = call {
            self.count(preview, -1);
        }
        then(self, come_to);
    }

    fn load(&mut self, path: PathBuf, reply: oneshot::Sender<Loaded>) {
        let started = Instant::now();
        self.realm.modules.broken.borrow_mut().take();
        let name = path.to_string_lossy().into_owned();
        let begun = self.realm.begin(None, |ctx, api| load(ctx, api, &name));
        let (limit, file) = (self.settings.limits.load, path.clone());
        let then = move |this: &mut Self, come_to: Result<Plain, Fault>| {
            let took = milliseconds(started.elapsed());
            let result = this.registered(&path, come_to).map_err(|fault| {
                // What was stopped from outside has cleaned up nothing, so the others begin again without it.
                this.is_broken |= !matches!(fault, Fault::Thrown(_)) || this.realm.is_stuck();
                let broken = this.realm.modules.broken.borrow_mut().take();
                let mut problem = broken.unwrap_or_else(|| fault.problem());
                problem.file.get_or_insert(name);
                problem
            });
            match &result {
                Ok(_) => this.loaded.push(path.clone()),
                Err(problem) => this.complain(&path, false, problem),
            }
            (this.is_stale, this.loads) = (true, true);
            let Told { lines, reports, .. } = this.told();
            let _gone = reply.send(Loaded { path, took, result, lines, reports });
        };
        self.after(begun, (limit, &file), None, Box::new(then));
    }

    /// A fresh realm with the files that were loaded in this one.
    fn begin_again(&mut self) {
        self.is_broken = false;
        *self.reusable.borrow_mut() = Reusable::default();
        for one in std::mem::take(&mut self.pending) {
            self.finish(one, Err(Fault::Forsaken));
        }
        self.is_stale = true;
        if let Some(outside) = &self.settings.outside {
            outside.restarted();
        }
        match Realm::start(&self.settings, &self.gone, &self.settled) {
            Ok(realm) => self.realm = realm,
            Err(error) => tracing::error!(%error, "the engine of extensions could not begin again"),
        }
        for path in std::mem::take(&mut self.loaded) {
            self.realm.modules.broken.borrow_mut().take();
            let name = path.to_string_lossy().into_owned();
            let answer = self.realm.ask(|ctx, api| load(ctx, api, &name));
            match self.registered(&path, answer) {
                Ok(_) => self.loaded.push(path),
                Err(fault) => {
                    let problem = fault.problem();
                    tracing::error!(path = %path.display(), %problem.message, "an extension could not begin again");
                    let listed = self.listed.borrow();
                    let own = listed.handlers.iter().filter(|handler| handler.path == path);
                    self.unloaded.extend(own.cloned());
                }
            }
        }
        let _told_before = self.told();
    }

    fn registered(&self, path: &Path, answer: Result<Plain, Fault>) -> Result<Registered, Fault> {
        let answer = answer?;
        if let Some(error) = answer.get("error") {
            return Err(Fault::Thrown(self.problem(error)));
        }
        let extension = answer.get("extension").unwrap_or(&Plain::Nothing);
        if let Some(number) = extension.get("id").and_then(Plain::number) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
            self.realm.host.borrow_mut().files.insert(number as u64, path.to_owned());
        }
        Ok(registered(extension))
    }

    /// Tells what is registered now. The numbers of handlers hold until the next time.
    fn publish(&mut self) {
        (self.is_stale, self.loads) = (false, false);
        let mut listing = Listing {
            tools: self.list("toolDescriptions"),
            commands: self.list("commandDescriptions"),
            shortcuts: self.list("shortcutDescriptions"),
            flags: self.list("flagDescriptions"),
            drawings: self.list("drawingDescriptions"),
            completions: self.list("completionDescriptions"),
            ..Listing::default()
        };
        let events: BTreeSet<String> = self
            .list("listing")
            .iter()
            .filter_map(|extension| extension.get("events")?.as_object())
            .flat_map(|events| events.keys().cloned())
            .collect();
        self.numbers.clear();
        for event in events {
            let list = self.realm.ask(|_, api| api.get::<_, Function<'_>>("handlers")?.call((event.as_str(),)));
            let Ok(Plain::List(list)) = list else { continue };
            for handler in list {
                let number = |name: &str| handler.get(name).and_then(Plain::number).unwrap_or_default();
                let path = PathBuf::from(handler.get("path").and_then(Plain::text).unwrap_or_default());
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
                let index = number("index") as u64;
                let registration = Registration { event: event.clone(), path, index };
                self.numbers.insert(registration.clone(), number("id"));
                listing.handlers.push(registration);
            }
        }
        // They are asked, and fail: what they guard is not left open because they are gone.
        listing.handlers.extend(self.unloaded.iter().cloned());
        self.listed.send_replace(Arc::new(listing));
    }

    fn list(&self, function: &str) -> Vec<Value> {
        let listed = self.realm.ask(|_, api| api.get::<_, Function<'_>>(function)?.call(()));
        match listed {
            Ok(Plain::List(list)) => list.into_iter().map(Value::from).collect(),
            other => {
                tracing::error!(function, ?other, "a list of what is registered");
                Vec::new()
            }
        }
    }

    fn ask(&mut self, ask: Ask, preview: bool, lost: Lost, reply: oneshot::Sender<(Answer, Told)>) {
        match ask {
            Ask::Handler { handler, payload } => self.ask_handler(handler, payload, (preview, lost, reply)),
            Ask::Command { name, arguments } => {
                let called = name.clone();
                let begin = |realm: &Realm, lost: &Lost| {
                    realm.begin(Some(lost), |_, api| {
                        api.get::<_, Function<'_>>("callCommand")?.call((name, arguments, Plain::map([])))
                    })
                };
                let path = self.path_of(|listing| &listing.commands, "name", &called);
                self.begin((path, 0), (preview, lost, reply), begin, |_, _| {});
            }
            Ask::Function { name, arguments } => {
                // What a shortcut starts ends with it, so it is to be known whose it is.
                let key = arguments.first().and_then(Value::as_str).unwrap_or_default();
                let path = match name {
                    "callShortcut" => self.path_of(|listing| &listing.shortcuts, "key", key),
                    "complete" => {
                        let command = arguments.first().and_then(|question| question.get("command")?.as_str());
                        let of_command =
                            command.map(|command| self.path_of(|listing| &listing.commands, "name", command));
                        of_command.unwrap_or_else(|| self.only_completer())
                    }
                    _ => PathBuf::new(),
                };
                // A person types faster than extensions answer. One that was interrupted at each letter could leave what it keeps
                // half done; the next question gives this one up by its signal.
                let to_its_end = name == "complete";
                if to_its_end && lost.load(Ordering::Relaxed) {
                    return;
                }
                let lost = if to_its_end { Lost::default() } else { lost };
                let begin = |realm: &Realm, lost: &Lost| realm.begin(Some(lost), |_, api| call(api, name, arguments));
                let whole = |record: Plain, answer: &mut Answer| {
                    if answer.result.is_none() && answer.error.is_none() {
                        answer.result = Some(record.into());
                    }
                };
                self.begin((path, 0), (preview, lost, reply), begin, whole);
            }
            Ask::Runner { path, number, options, said } => {
                let arguments = move |signal| {
                    #[expect(clippy::cast_precision_loss, reason = "a small count")]
                    let number = Plain::Number(number as f64);
                    vec![number, with(options.into(), [("signal", signal)])]
                };
                let whole = |record: Plain, answer: &mut Answer| {
                    if answer.error.is_none() {
                        answer.result = Some(record.into());
                    }
                };
                self.signalled(path, (preview, lost, reply), ("callOperations", said), arguments, whole);
            }
            Ask::Stream { path, arguments, said } => {
                let file = Plain::Text(path.to_string_lossy().into_owned());
                let arguments = move |signal| vec![with(arguments.into(), [("path", file), ("signal", signal)])];
                self.signalled(path, (preview, lost, reply), ("streamProvider", said), arguments, |_, _| {});
            }
            Ask::Tool { name, call_id, arguments, said } => {
                let path = self.path_of(|listing| &listing.tools, "name", &name);
                let arguments = move |signal| {
                    let options = Plain::map([("signal", signal), ("ctx", Plain::map([]))]);
                    vec![Plain::Text(name), Plain::Text(call_id), arguments.into(), options]
                };
                self.signalled(path, (preview, lost, reply), ("callTool", said), arguments, |_, _| {});
            }
        }
    }

    /// Begins a call that a signal tells of when nobody waits for it any more, and that says something meanwhile.
    fn signalled(
        &mut self,
        path: PathBuf,
        terms: Terms,
        (function, said): (&'static str, UnboundedSender<Value>),
        arguments: impl FnOnce(Plain) -> Vec<Plain>,
        more: impl FnOnce(Plain, &mut Answer) + 'static,
    ) {
        self.signals += 1.0;
        let (signal, waiting) = (self.signals, self.pending.len());
        let begin = move |realm: &Realm, lost: &Lost| {
            realm.begin(Some(lost), |ctx, api| {
                let emit = move |piece: Plain| {
                    let _over = said.send(piece.into());
                };
                let emit = Function::new(ctx.clone(), emit)?.into_value();
                let arguments = arguments(Plain::Number(signal)).into_iter().map(|plain| plain.into_js(ctx));
                let arguments = arguments.chain([Ok(emit)]).collect::<rquickjs::Result<Vec<_>>>()?;
                api.get::<_, Function<'_>>(function)?.call((Rest(arguments),))
            })
        };
        self.begin((path, 0), terms, begin, more);
        if let Some(one) = self.pending.get_mut(waiting) {
            one.signal = Some(signal);
        }
    }

    /// The file of the extension that completes drafts, where there is one; with several nobody knows whose turn it is.
    fn only_completer(&self) -> PathBuf {
        let listing = self.listed.borrow();
        let [one] = listing.completions.as_slice() else { return PathBuf::new() };
        one.get("path").and_then(Value::as_str).map(PathBuf::from).unwrap_or_default()
    }

    /// The file of the extension that has a tool, a command or a shortcut.
    fn path_of(&self, all: impl Fn(&Listing) -> &Vec<Value>, field: &str, name: &str) -> PathBuf {
        let listing = self.listed.borrow();
        let found = all(&listing).iter().find(|one| one.get(field).and_then(Value::as_str) == Some(name));
        found.and_then(|one| one.get("path")?.as_str()).map(PathBuf::from).unwrap_or_default()
    }

    /// Begins a call, and answers when it has come to something. What that means beside its result is for `more`.
    fn begin(
        &mut self,
        (path, index): (PathBuf, u64),
        (preview, lost, reply): Terms,
        begin: impl FnOnce(&Realm, &Lost) -> Result<Begun, Fault>,
        more: impl FnOnce(Plain, &mut Answer) + 'static,
    ) {
        let started = Instant::now();
        self.count(preview, 1);
        let under_way = begin(&self.realm, &lost);
        let file = path.clone();
        let mut answer = Answer::of(path, index);
        let then = move |this: &mut Self, come_to: Result<Plain, Fault>| {
            answer.took = milliseconds(started.elapsed());
            match come_to {
                Ok(mut record) => {
                    answer.error = record.get("error").map(|error| this.problem(error));
                    answer.error.iter().for_each(|problem| this.complain(&answer.path, preview, problem));
                    let result = record.take("result").filter(|result| *result != Plain::Nothing);
                    answer.result = result.map(Value::from);
                    more(record, &mut answer);
                }
                Err(fault) => {
                    this.is_broken |= this.realm.is_stuck();
                    let problem = fault.problem();
                    this.complain(&answer.path, preview, &problem);
                    answer.error = Some(problem);
                }
            }
            let told = this.told();
            let _gone = reply.send((answer, told));
        };
        let limit = self.settings.limits.call;
        self.after(under_way, (limit, &file), Some((lost, preview)), Box::new(then));
    }

    /// Shows whoever writes extensions an error.
    fn complain(&self, path: &Path, preview: bool, problem: &Problem) {
        let asker = Asker { path: Some(path.to_owned()), preview };
        self.realm.host.borrow().print(&asker, "error", &problem.to_string());
    }

    /// Counts calls that are under way.
    fn count(&self, preview: bool, by: isize) {
        let calls = &mut self.realm.host.borrow_mut().calls;
        let calls = if preview { &mut calls.1 } else { &mut calls.0 };
        *calls = calls.saturating_add_signed(by);
    }

    /// Prints what was reported, though nobody may ask for anything from here on.
    fn print_reports(&self) {
        let fresh: Vec<Plain> = {
            let host = self.realm.host.borrow();
            host.reports.get(self.printed.replace(host.reports.len())..).unwrap_or_default().to_vec()
        };
        for problem in fresh.iter().map(|report| self.reported(report)) {
            self.complain(Path::new(problem.file.as_deref().unwrap_or_default()), false, &problem);
        }
    }

    fn reported(&self, report: &Plain) -> Problem {
        let mut problem = self.problem(report);
        let path = report.get("path").and_then(Plain::text).map(str::to_owned);
        problem.file = problem.file.or(path);
        let event = report.get("event").and_then(Plain::text).unwrap_or("background work");
        problem.message = format!("{event}: {}", problem.message);
        problem
    }

    /// What was written, reported and wished for since the last time.
    fn told(&self) -> Told {
        self.print_reports();
        self.printed.set(0);
        let (lines, reports, said) = {
            let mut host = self.realm.host.borrow_mut();
            (std::mem::take(&mut host.lines), std::mem::take(&mut host.reports), std::mem::take(&mut host.said))
        };
        Told { lines, reports: reports.iter().map(|report| self.reported(report)).collect(), said }
    }

    fn problem(&self, error: &Plain) -> Problem {
        let message = error.get("message").and_then(Plain::text).unwrap_or("an error without words");
        let stack = error.get("stack").and_then(Plain::text);
        self.realm.modules.places.borrow().problem(message, stack)
    }
}

/// `options` with further fields.
fn with<const N: usize>(mut options: Plain, more: [(&str, Plain); N]) -> Plain {
    if let Plain::Map(fields) = &mut options {
        fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    options
}

/// A function of the JavaScript side.
fn call<'js>(api: &Object<'js>, name: &str, arguments: Vec<Value>) -> rquickjs::Result<rquickjs::Value<'js>> {
    let arguments = arguments.into_iter().map(Plain::from).collect();
    api.get::<_, Function<'_>>(name)?.call((Rest(arguments),))
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
