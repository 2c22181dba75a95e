//! What the JavaScript side asks of the program: the functions of `HOST.md`.
//!
//! What asks for a session goes to [`Outside`](super::Outside). Where there is none nobody converses, and what an extension would
//! have told them is kept as [`Said`] for whoever called it. The network is refused in words.

use super::databases::Databases;
use super::deadline::Watch;
use super::files::{self, fine, refused};
use super::message::Message;
use super::outcome::{Line, Said};
use super::outside::{Asker, Refusal};
use super::plain::{Plain, channel, whole_number};
use super::program::{Orders, Peer, talk_of};
use super::settings::Settings;
use super::watch::Watched;
use super::{ciphers, crypto, locale, zlib};
use crate::ports::tools::Waiting;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::tz::TimeZone;
use rquickjs::Persistent;
use rquickjs::function::{Rest, This};
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Exception, Function, Module, Object, Result, Value};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use unicode_width::UnicodeWidthStr as _;

/// What is kept for whoever asks, at most: lines, reports and wishes each.
const KEPT: usize = 1_000;
/// A longer text is cut.
const LONGEST: usize = 4_000;
/// Bytes of what comes with a wish; more is left out.
const LARGEST: usize = 64 << 10;
/// A timer fires no later than this.
const FARTHEST: f64 = 2_147_483_647.0;

/// The program's side of one engine.
#[derive(Debug)]
pub(super) struct Host {
    settings: Rc<Settings>,
    started: Instant,
    /// When, and on which channel.
    pub(super) timers: BTreeSet<(Instant, u64)>,
    pub(super) lines: Vec<Line>,
    pub(super) reports: Vec<Plain>,
    pub(super) said: Vec<Said>,
    /// The files of extensions, by the numbers under which they ask.
    pub(super) files: HashMap<u64, PathBuf>,
    /// What is being done for them.
    pub(super) acts: HashMap<u64, Act>,
    /// Files that they watch.
    pub(super) watched: Watched,
    databases: Databases,
    /// Components that a person is to attend to, and the numbers of their extensions.
    pub(super) attended: HashMap<u64, u64>,
    /// How many calls are under way that may leave something behind, and how many that may not.
    pub(super) calls: (usize, usize),
    /// What is registered has changed since it was listed.
    pub(super) registered: bool,
    settled: Settled,
}

/// Acts above this are processes and sockets; below it is the number of the channel that is told of one.
pub(super) const PROCESS: u64 = 1 << 60;

/// The same for pieces of an answer of the web; below it is the number of the answer.
pub(super) const READING: u64 = 1 << 59;

/// What is done for an extension, which waits for it.
#[derive(Debug)]
pub(super) struct Act {
    /// The number of the extension.
    pub(super) owner: u64,
    /// Ends it.
    pub(super) task: AbortHandle,
    /// Takes the answer.
    pub(super) resolve: Option<Persistent<Function<'static>>>,
    /// With whom it talks, where it is a program or a socket.
    peer: Option<Peer>,
}

impl Act {
    /// A socket is no part of the call in which it began.
    pub(super) fn is_socket(&self) -> bool {
        matches!(self.peer, Some(Peer::Socket(_)))
    }

    fn orders(&self) -> Option<&Orders> {
        self.peer.as_ref().map(|(Peer::Program(orders) | Peer::Socket(orders))| orders)
    }

    /// A connection that is destroyed waits for nothing that was to be written; a process is asked to end.
    fn kill(&self, signal: &str) -> bool {
        if self.is_socket() && signal == "SIGKILL" {
            self.task.abort();
            return true;
        }
        self.orders().is_some_and(|orders| orders.signal(signal))
    }
}

/// Where answers go that take time, and what waits for them.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    pub(super) messages: Sender<Message>,
    pub(super) runtime: Option<Handle>,
}

/// What a function that promises comes to.
enum Promised {
    Now(Plain),
    /// The act of this number.
    Later(u64),
}

/// A request whose body stands in `body64`.
fn in_text(mut request: Plain) -> Plain {
    if let (Some(Plain::Bytes(body)), Plain::Map(fields)) = (request.take("body"), &mut request) {
        fields.push(("body64".to_owned(), Plain::Text(BASE64_STANDARD.encode(body))));
    }
    request
}

/// A piece of an answer of the web as its bytes.
pub(super) fn piece(answer: std::result::Result<serde_json::Value, Refusal>) -> Plain {
    match answer {
        Ok(serde_json::Value::String(text)) => fine(Plain::Bytes(BASE64_STANDARD.decode(text).unwrap_or_default())),
        other => files::answer(other),
    }
}

/// The functions that answer at once, and those that promise.
const AT_ONCE: [&str; 31] = [
    "info",
    "log",
    "report",
    "now",
    "timerStart",
    "timerStop",
    "random",
    "hash",
    "cipher",
    "zlib",
    "segment",
    "width",
    "zone",
    "env",
    "cwd",
    "fs",
    "sqlite",
    "watch",
    "unwatch",
    "spawn",
    "spawnWrite",
    "spawnKill",
    "spawnSync",
    "socket",
    "socketFlow",
    "signal",
    "stdout",
    "module",
    "call",
    "cancel",
    "httpClose",
];
const PROMISED: [&str; 3] = ["action", "ui", "httpRead"];

/// Puts the functions where the JavaScript side looks for them.
pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Rc<RefCell<Host>>) -> Result<()> {
    let functions = Object::new(ctx.clone())?;
    for name in AT_ONCE {
        let host = Rc::clone(host);
        let answer = move |arguments: Rest<Plain>| host.borrow_mut().answer(name, &arguments.0);
        functions.set(name, Function::new(ctx.clone(), answer)?)?;
    }
    for name in PROMISED {
        let host = Rc::clone(host);
        let promise = move |ctx: Ctx<'js>, arguments: Rest<Plain>| -> Result<Value<'js>> {
            let (promise, resolve, _) = ctx.promise()?;
            let promised = host.borrow_mut().promised(name, &arguments.0);
            match promised {
                Promised::Now(answer) => resolve.call::<_, ()>((answer,))?,
                Promised::Later(number) => {
                    if let Some(act) = host.borrow_mut().acts.get_mut(&number) {
                        act.resolve = Some(Persistent::save(&ctx, resolve));
                    }
                }
            }
            Ok(promise.into_value())
        };
        functions.set(name, Function::new(ctx.clone(), promise)?)?;
    }
    functions.set("compile", Function::new(ctx.clone(), compile)?)?;
    functions.set("evaluate", Function::new(ctx.clone(), evaluate)?)?;
    ctx.globals().set("__levainHost", functions)
}

/// A function with these parameters, under the name of its file.
#[expect(clippy::needless_pass_by_value, reason = "this is how the engine gives arguments")]
fn compile(ctx: Ctx<'_>, source: String, path: String, names: Vec<String>) -> Result<Function<'_>> {
    let mut options = rquickjs::context::EvalOptions::default();
    options.strict = false;
    options.filename = Some(path);
    ctx.eval_with_options(format!("(function ({}) {{{source}\n}})", names.join(", ")), options)
}

/// The namespace of an ES module, which is evaluated at once; one that waits for something throws.
#[expect(clippy::needless_pass_by_value, reason = "this is how the engine gives arguments")]
fn evaluate(ctx: Ctx<'_>, path: String) -> Result<Value<'_>> {
    let quoted = serde_json::Value::from(path.as_str());
    let source = format!("import * as module from {quoted};\nexport {{ module }};");
    let (module, promise) = Module::declare(ctx.clone(), format!("{path}?require"), source)?.eval()?;
    if promise.state() == PromiseState::Rejected {
        // What it failed with is thrown here, so nobody has to be told of it elsewhere.
        let handled = Function::new(ctx.clone(), || ())?;
        promise.get::<_, Function<'_>>("catch")?.call::<_, Value<'_>>((This(promise.clone()), handled))?;
    }
    match promise.result::<Value<'_>>() {
        Some(Ok(_)) => module.namespace()?.get("module"),
        Some(Err(error)) => Err(error),
        None => Err(Exception::throw_message(&ctx, "ERR_REQUIRE_ASYNC_MODULE")),
    }
}

impl Host {
    pub(super) fn new(settings: Rc<Settings>, settled: Settled, watch: Rc<Watch>) -> Self {
        let (started, timers) = (Instant::now(), BTreeSet::new());
        let (lines, reports, said) = (Vec::new(), Vec::new(), Vec::new());
        let (files, acts, attended) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self {
            settings,
            started,
            timers,
            lines,
            reports,
            said,
            files,
            acts,
            attended,
            watched: Watched::default(),
            databases: Databases::new(watch),
            calls: (0, 0),
            registered: false,
            settled,
        }
    }

    /// Who asks. Whose work goes on behind a promise is not known, so while anybody looks, nobody may leave anything behind.
    fn asker(&self, owner: u64) -> Asker {
        let preview = self.calls.1 > 0;
        Asker { path: self.files.get(&owner).cloned(), preview }
    }

    /// Ends what is done for an extension: what was ended so, which is over once it is polled again.
    pub(super) fn end_acts(&self, is_its: impl Fn(&Act) -> bool) -> Vec<AbortHandle> {
        let ended = self.acts.values().filter(|act| is_its(act)).map(|act| act.task.clone());
        ended.inspect(AbortHandle::abort).collect()
    }

    fn answer(&mut self, name: &str, arguments: &[Plain]) -> Plain {
        let at = |index: usize| arguments.get(index).unwrap_or(&Plain::Nothing);
        let text = |index: usize| at(index).text().unwrap_or_default();
        match name {
            "info" => self.info(),
            "log" => self.line(at(0), text(1), text(2)),
            "stdout" => self.write(at(0), text(2)),
            "report" => {
                if self.reports.len() < KEPT {
                    self.reports.push(at(0).clone());
                }
                Plain::Nothing
            }
            "now" => Plain::Number(self.started.elapsed().as_secs_f64() * 1000.0),
            "timerStart" => self.start_timer(at(0), at(1)),
            "timerStop" => {
                let channel = channel(at(0));
                self.timers.retain(|(_, other)| Some(*other) != channel);
                Plain::Nothing
            }
            "random" => crypto::random(at(0)),
            "hash" => crypto::hash(text(0), at(1), at(2)),
            "cipher" => ciphers::operate(text(0), at(1)),
            "zlib" => zlib::operate(text(0), at(1), at(2), at(3).is_true()),
            "segment" => locale::segment(text(0), text(1)),
            "width" => Plain::Number(f64::from(u32::try_from(text(0).width()).unwrap_or(u32::MAX))),
            "zone" => locale::zone(text(0), at(1)),
            "env" => {
                let variables = self.settings.environment.iter();
                Plain::Map(variables.map(|(name, value)| (name.clone(), Plain::Text(value.clone()))).collect())
            }
            "cwd" => Plain::Text(self.settings.cwd.to_string_lossy().into_owned()),
            "fs" => {
                let looks = self.asker(channel(at(0)).unwrap_or_default()).preview;
                files::operate(&self.settings.policy, &self.settings.cwd, text(1), at(2), !looks)
            }
            "sqlite" => {
                let looks = self.asker(channel(at(0)).unwrap_or_default()).preview;
                self.databases.operate(&self.settings, text(1), at(2), !looks)
            }
            "module" => files::module(&self.settings, text(0), text(1), text(2)),
            "watch" => self.watch(at(0), at(1), text(2), at(3).is_true()),
            "unwatch" => {
                if let Some(to) = channel(at(0)) {
                    self.watched.remove(to);
                }
                Plain::Nothing
            }
            "spawn" => self.spawn(at(0), at(1), at(2)),
            "spawnSync" => self.spawn_sync(at(0), at(1)),
            "socket" => self.socket(at(0), at(1), at(2)),
            "signal" => self.signal(at(1), at(2)),
            "spawnWrite" | "spawnKill" | "socketFlow" => {
                let act = channel(at(0)).and_then(|number| self.acts.get(&(number | PROCESS)));
                let order = |order: &dyn Fn(&Orders) -> bool| act.and_then(Act::orders).is_some_and(order);
                Plain::Bool(match (name, at(1)) {
                    ("spawnKill", signal) => act.is_some_and(|act| act.kill(signal.text().unwrap_or_default())),
                    ("socketFlow", flows) => order(&|orders| orders.flow(flows.is_true())),
                    (_, Plain::Bytes(bytes)) => order(&|orders| orders.write(bytes)),
                    _ => order(&Orders::close),
                })
            }
            "call" => self.call(at(0), text(1), at(2)),
            "cancel" => {
                if let Some(act) = channel(at(0)).and_then(|number| self.acts.get(&number)) {
                    act.task.abort();
                }
                Plain::Nothing
            }
            "httpClose" => self.call(&Plain::Number(0.0), "http.close", &Plain::map([("id", at(0).clone())])),
            // Nothing is started here, so nothing has to be ended.
            _ => Plain::Nothing,
        }
    }

    /// Watches a file or a folder, which is told on the channel from here on.
    fn watch(&mut self, owner: &Plain, to: &Plain, path: &str, recursive: bool) -> Plain {
        let looks = self.asker(channel(owner).unwrap_or_default()).preview;
        let Some(to) = channel(to).filter(|_| self.settings.outside.is_some() && !looks) else {
            return refused("EACCES", "nothing is watched here");
        };
        let real = match files::open_to(&self.settings.policy, &self.settings.cwd.join(path)) {
            Ok(real) => real,
            Err(error) => return files::failed(&error, "watch", path),
        };
        let messages = self.settled.messages.clone();
        let tell = move |change| drop(messages.send(Message::Changed(to, change)));
        match self.watched.add(to, (&real, recursive), tell) {
            Ok(()) => fine(whole_number(to)),
            Err(why) => refused("EMFILE", &why),
        }
    }

    /// What is written to the terminal is a line of output; where it asks the terminal for a notification, the person is
    /// called.
    fn write(&mut self, owner: &Plain, text: &str) -> Plain {
        match notification(text) {
            Some(said) => {
                self.call(owner, "ui.call", &Plain::map([("text", Plain::Text(said.replacen(';', ": ", 1)))]))
            }
            None => self.line(owner, "output", text),
        }
    }

    fn promised(&mut self, name: &str, arguments: &[Plain]) -> Promised {
        let at = |index: usize| arguments.get(index).unwrap_or(&Plain::Nothing);
        if name == "httpRead" {
            let id = channel(at(1)).unwrap_or_default();
            let (number, with) = (id | READING, Plain::map([("id", whole_number(id))]));
            let begun = self.begin_act(at(0), number, "http.read".to_owned(), &with);
            return if begun { Promised::Later(number) } else { Promised::Now(fine(Plain::Nothing)) };
        }
        let (asked, with) = (at(2).text().unwrap_or_default(), at(3));
        let named = if name == "ui" { format!("ui.{asked}") } else { asked.to_owned() };
        let with_body = (asked == "http.open").then(|| in_text(with.clone()));
        let with = with_body.as_ref().unwrap_or(with);
        if let Some(number) = channel(at(1)).filter(|number| self.begin_act(at(0), *number, named, with)) {
            return Promised::Later(number);
        }
        self.say(asked, with);
        Promised::Now(match asked {
            "exec" => no_process(with.get("command").and_then(Plain::text).unwrap_or_default()),
            "http.open" => refused("EACCES", "extensions may not use the network here"),
            "llm.stream" | "tool.run" => {
                refused("EACCES", "there is no thread here whose models and tools could be used")
            }
            // Null is no answer, which every caller copes with.
            _ => fine(Plain::Nothing),
        })
    }

    /// Has something done outside that takes time, which is told of under this number; false where nobody does such things.
    fn begin_act(&mut self, owner: &Plain, number: u64, name: String, arguments: &Plain) -> bool {
        let outside = self.settings.outside.clone().zip(self.settled.runtime.clone());
        let Some((outside, runtime)) = outside else { return false };
        let owner = channel(owner).unwrap_or_default();
        let act = outside.act(self.asker(owner), name, arguments.clone().into());
        self.go_on(&runtime, (owner, number), act, None);
        true
    }

    /// Has what is done for an extension done, and tells of it under this number however it ends: whoever waits goes on then.
    fn go_on(
        &mut self,
        runtime: &Handle,
        (owner, number): (u64, u64),
        act: Waiting<'static, std::result::Result<serde_json::Value, Refusal>>,
        peer: Option<Peer>,
    ) {
        let messages = self.settled.messages.clone();
        let done = Done { messages, number, answer: Some(Err(Refusal::new("CANCELLED", "it was given up"))) };
        let task = runtime.spawn(async move {
            let mut done = done;
            done.answer = Some(act.await);
        });
        self.acts.insert(number, Act { owner, task: task.abort_handle(), resolve: None, peer });
    }

    /// Starts a process, which is told of on the channel: what it prints, as it prints it, then that it is over.
    fn spawn(&mut self, owner: &Plain, to: &Plain, spec: &Plain) -> Plain {
        let outside = self.settings.outside.clone().zip(self.settled.runtime.clone());
        let Some((to, (outside, runtime))) = channel(to).zip(outside) else {
            return no_process(spec.get("command").and_then(Plain::text).unwrap_or_default());
        };
        let owner = channel(owner).unwrap_or_default();
        let (orders, talk) = talk_of(to, self.settled.messages.clone());
        let act = outside.spawn(self.asker(owner), spec.clone().into(), talk);
        self.go_on(&runtime, (owner, to | PROCESS), act, Some(Peer::Program(orders)));
        fine(Plain::map([("id", whole_number(to)), ("pid", whole_number(FIRST_PID + to))]))
    }

    /// Opens a socket, which is told of on the channel.
    fn socket(&mut self, owner: &Plain, to: &Plain, spec: &Plain) -> Plain {
        let owner = channel(owner).unwrap_or_default();
        let asker = self.asker(owner);
        // Who connected already is taken, whoever looks meanwhile.
        let may = !asker.preview || spec.get("accepted").is_some();
        let outside = self.settings.outside.clone().zip(self.settled.runtime.clone()).filter(|_| may);
        let Some((to, (outside, runtime))) = channel(to).zip(outside) else {
            return refused("EACCES", "extensions may not use the network here");
        };
        let (orders, talk) = talk_of(to, self.settled.messages.clone());
        let act = outside.socket(asker, spec.clone().into(), talk);
        self.go_on(&runtime, (owner, to | PROCESS), act, Some(Peer::Socket(orders)));
        fine(Plain::map([("id", whole_number(to))]))
    }

    /// `process.kill`: a process of this engine, or its group, gets a signal; of any other it is told whether it lives.
    fn signal(&self, pid: &Plain, signal: &Plain) -> Plain {
        #[expect(clippy::cast_possible_truncation, reason = "a number of a process, else one of none")]
        let pid = pid.number().unwrap_or_default().abs() as i64;
        let name = signal.text().map_or_else(|| signal.number().unwrap_or_default().to_string(), str::to_owned);
        let no_such = || refused("ESRCH", "kill ESRCH");
        if let Some(number) = u64::try_from(pid).ok().and_then(|pid| pid.checked_sub(FIRST_PID)) {
            let orders = self.acts.get(&(number | PROCESS)).and_then(Act::orders);
            return if orders.is_some_and(|orders| orders.signal(&name)) { fine(Plain::Nothing) } else { no_such() };
        }
        if name != "0" {
            return refused("EPERM", "kill EPERM: an extension may only signal what it started");
        }
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        match pid.map(rustix::process::test_kill_process) {
            Some(Ok(()) | Err(rustix::io::Errno::PERM)) => fine(Plain::Nothing),
            _ => no_such(),
        }
    }

    /// Runs a process to its end. JavaScript stands still meanwhile.
    fn spawn_sync(&self, owner: &Plain, spec: &Plain) -> Plain {
        let Some(outside) = self.settings.outside.clone() else {
            return no_process(spec.get("command").and_then(Plain::text).unwrap_or_default());
        };
        let asker = self.asker(channel(owner).unwrap_or_default());
        match outside.call(&asker, "process.run", spec.clone().into()) {
            Ok(ran) => {
                let text = |name: &str| ran.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
                let bytes = |name: &str| Plain::Bytes(text(name).as_bytes().to_vec());
                let plain = |name: &str| Plain::from(ran.get(name).cloned().unwrap_or_default());
                fine(Plain::map([
                    ("pid", Plain::Number(0.0)),
                    ("stdout", bytes("stdout")),
                    ("stderr", bytes("stderr")),
                    ("status", plain("code")),
                    ("signal", plain("signal")),
                    ("timedOut", plain("timedOut")),
                ]))
            }
            Err(refusal) => files::answer(Err(refusal)),
        }
    }

    /// Keeps in mind which components wait for a person.
    fn attends(&mut self, name: &str, owner: u64, arguments: &Plain) {
        let kind = arguments.get("kind").and_then(Plain::text);
        match (name, arguments.get("component").and_then(channel)) {
            ("ui.open", Some(component)) if matches!(kind, Some("custom" | "overlay")) => {
                self.attended.insert(component, owner);
            }
            ("ui.close", Some(component)) => drop(self.attended.remove(&component)),
            _ => {}
        }
    }

    /// What is asked or told at once. Questions about a session get no answer, as there is none.
    fn call(&mut self, owner: &Plain, name: &str, arguments: &Plain) -> Plain {
        self.registered |= matches!(name, "registered" | "unregistered");
        if let Some(outside) = &self.settings.outside {
            let owner = channel(owner).unwrap_or_default();
            let asker = self.asker(owner);
            let told = outside.call(&asker, name, arguments.clone().into());
            if told.is_ok() {
                self.attends(name, owner, arguments);
            }
            return files::answer(told);
        }
        let value = match name {
            "mode" => Plain::Text("print".to_owned()),
            "ui.available" | "project.trusted" => Plain::Bool(false),
            "run.idle" => Plain::Bool(true),
            "session.info" => {
                let cwd = self.settings.cwd.to_string_lossy().into_owned();
                Plain::map([("cwd", Plain::Text(cwd))])
            }
            "session.entries" | "session.branch" | "tools.all" | "tools.active" | "commands.others" => {
                Plain::List(Vec::new())
            }
            _ => {
                let tells = ["ui.notify", "ui.setStatus", "ui.setWidget", "ui.setTitle", "ui.setEditorText"];
                if tells.contains(&name) || name.contains(".set") || name == "session.append" {
                    self.say(name, arguments);
                }
                Plain::Nothing
            }
        };
        fine(value)
    }

    fn say(&mut self, name: &str, arguments: &Plain) {
        if self.said.len() >= KEPT {
            return;
        }
        let mut arguments = serde_json::Value::from(arguments.clone());
        if arguments.to_string().len() > LARGEST {
            arguments = "too large to be kept".into();
        }
        self.said.push(Said { name: name.to_owned(), arguments });
    }

    fn line(&mut self, owner: &Plain, level: &str, text: &str) -> Plain {
        let text: String = text.chars().take(LONGEST).collect();
        self.print(&self.asker(channel(owner).unwrap_or_default()), level, &text);
        if self.lines.len() < KEPT {
            self.lines.push(Line { level: level.to_owned(), text });
        }
        Plain::Nothing
    }

    /// Shows whoever writes extensions a line.
    pub(super) fn print(&self, asker: &Asker, level: &str, text: &str) {
        if let Some(outside) = &self.settings.outside {
            let _nobody_answers = outside.call(asker, "console", serde_json::json!({"level": level, "text": text}));
        }
    }

    fn start_timer(&mut self, number: &Plain, wait: &Plain) -> Plain {
        let wait = wait.number().filter(|wait| wait.is_finite()).unwrap_or_default().clamp(0.0, FARTHEST);
        if let Some(channel) = channel(number) {
            self.timers.insert((Instant::now() + Duration::from_secs_f64(wait / 1000.0), channel));
        }
        Plain::Nothing
    }

    /// Facts that do not change.
    fn info(&self) -> Plain {
        let platform = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let path = |path: &std::path::Path| Plain::Text(path.to_string_lossy().into_owned());
        let variable = |name: &str| self.settings.environment.iter().find(|(other, _)| other == name);
        let temporary = variable("TMPDIR").map_or("/tmp", |(_, value)| value);
        Plain::map([
            ("platform", Plain::Text(platform.to_owned())),
            ("arch", Plain::Text(arch.to_owned())),
            ("pid", Plain::Number(f64::from(std::process::id()))),
            ("homedir", path(&self.settings.home)),
            ("agentDir", path(&self.settings.home.join(".pi/agent"))),
            ("tmpdir", Plain::Text(temporary.to_owned())),
            ("version", Plain::Text(env!("CARGO_PKG_VERSION").to_owned())),
            ("program", Plain::Text("levain".to_owned())),
            ("timeZone", TimeZone::system().iana_name().map_or(Plain::Nothing, |name| Plain::Text(name.to_owned()))),
        ])
    }
}

/// Tells what an act came to, when it is dropped.
struct Done {
    messages: Sender<Message>,
    number: u64,
    answer: Option<std::result::Result<serde_json::Value, Refusal>>,
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            // The engine may have ended meanwhile.
            let _gone = self.messages.send(Message::Settled(self.number, answer));
        }
    }
}

/// What a sequence asks the terminal to notify people of: OSC 9, OSC 777 with title and body, OSC 99 of kitty.
fn notification(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("\x1b]")?.trim_end_matches(['\x07', '\\', '\x1b']);
    if let Some(rest) = inner.strip_prefix("777;notify;") {
        return Some(rest);
    }
    if let Some(rest) = inner.strip_prefix("99;") {
        // Its title comes by itself; what is said comes last.
        let (how, said) = rest.split_once(';')?;
        return (!how.split(':').any(|part| part == "d=0")).then_some(said);
    }
    inner.strip_prefix("9;").filter(|rest| !rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// What is added to the number of a process's channel to make its pid: no system numbers processes so high (Linux up to 2^22), so
/// that none is mistaken for another by whoever is told of it.
const FIRST_PID: u64 = 1 << 23;

fn no_process(command: &str) -> Plain {
    refused("EACCES", &format!("spawn {command} EACCES: extensions may not start processes here"))
}
