//! One engine with its memory, its clock and its queue of jobs: the part that runs JavaScript, and stops it.
//!
//! Every entry into the engine has a deadline, by which an endless loop is interrupted; every call has a longer one, by
//! which waiting ends. After each entry all jobs are run, and promises that were rejected without anybody waiting are
//! reported.

use super::deadline::Watch;
use super::host::{self, Host, PROCESS, Settled};
use super::message::Lost;
use super::modules::{Hooks, Modules};
use super::outside::Refusal;
use super::place::Problem;
use super::plain::Plain;
use super::settings::{Limits, Settings};
use super::watch::Change;
use rquickjs::promise::PromiseState;
use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, FromJs as _, Function, Object, Persistent, Promise, Runtime, Value,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of the engine's own stack; the thread's is larger.
const STACK: usize = 2 << 20;

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the JavaScript engine could not start: {0}")]
    Start(String),
    #[error("no thread for the JavaScript engine: {0}")]
    Thread(#[from] std::io::Error),
    #[error("the JavaScript engine is gone")]
    Gone,
}

/// Why a call gave no answer.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// It was thrown.
    Thrown(Problem),
    /// It ran for too long without a pause.
    Interrupted(Duration),
    /// It waited for too long.
    Late(Duration),
    /// It waits for what nothing will bring.
    Forsaken,
}

impl Fault {
    pub(super) fn problem(self) -> Problem {
        let message = match self {
            Self::Thrown(problem) => return problem,
            Self::Interrupted(limit) => {
                format!("it ran for more than {} ms without a pause and was interrupted", limit.as_millis())
            }
            Self::Late(limit) => format!("it did not answer within {} ms", limit.as_millis()),
            Self::Forsaken => "it did not answer, and waits for something that nothing here brings".to_owned(),
        };
        Problem { message, ..Problem::default() }
    }
}

/// Promises that were rejected, and with what.
type Rejections = Rc<RefCell<Vec<(Persistent<Value<'static>>, Persistent<Value<'static>>)>>>;

pub(super) struct Realm {
    context: Context,
    runtime: Runtime,
    limits: Limits,
    watch: Rc<Watch>,
    rejections: Rejections,
    pub(super) host: Rc<RefCell<Host>>,
    pub(super) modules: Rc<Modules>,
}

impl Drop for Realm {
    fn drop(&mut self) {
        // Values of an engine must not outlive it.
        self.rejections.borrow_mut().clear();
        self.host.borrow().end_acts(|_| true);
        self.host.borrow_mut().acts.clear();
        self.modules.clear();
        self.runtime.set_host_promise_rejection_tracker(None);
    }
}

/// Something of the engine that did not work.
#[expect(clippy::needless_pass_by_value, reason = "it is what errors are mapped by")]
fn broken(error: rquickjs::Error) -> EngineError {
    EngineError::Start(error.to_string())
}

/// What a piece of work came to.
pub(super) enum Begun {
    Done(Plain),
    Waits(Waits),
}

/// A promise. It must not outlive its realm.
pub(super) type Waits = Persistent<Promise<'static>>;

impl Realm {
    /// Starts an engine and evaluates the JavaScript side. Whatever runs when `gone` is set is interrupted.
    pub(super) fn start(settings: &Rc<Settings>, gone: &Lost, settled: &Settled) -> Result<Self, EngineError> {
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_memory_limit(settings.limits.memory);
        runtime.set_max_stack_size(STACK);
        let watch = Rc::new(Watch::new(gone));
        let host = Host::new(Rc::clone(settings), settled.clone(), Rc::clone(&watch));
        let seen = Rc::clone(&watch);
        runtime.set_interrupt_handler(Some(Box::new(move || {
            let over = seen.is_over();
            if over {
                seen.tripped.set(true);
            }
            over
        })));
        let rejections = Rejections::default();
        let kept = Rc::clone(&rejections);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
            let mut kept = kept.borrow_mut();
            if handled {
                kept.retain(|(other, _)| other.clone().restore(&ctx).is_ok_and(|other| other != promise));
            } else {
                kept.push((Persistent::save(&ctx, promise), Persistent::save(&ctx, reason)));
            }
        })));
        let modules = Rc::new(Modules::new(Rc::clone(settings)));
        runtime.set_loader(Hooks(Rc::clone(&modules)), Hooks(Rc::clone(&modules)));
        let context = Context::full(&runtime).map_err(broken)?;
        let host = Rc::new(RefCell::new(host));
        let realm = Self { context, runtime, limits: settings.limits, watch, rejections, host, modules };
        realm.boot()?;
        Ok(realm)
    }

    fn boot(&self) -> Result<(), EngineError> {
        let told = |result: Result<(), Fault>| result.map_err(|fault| EngineError::Start(fault.problem().message));
        told(self.enter(|ctx| {
            host::install(ctx, &self.host)?;
            self.modules.boot(ctx)
        }))?;
        told(self.drain())?;
        told(self.enter(|ctx| self.modules.provide(ctx)))?;
        told(self.drain())
    }

    /// One entry into the engine, under the deadline for those.
    fn enter<T>(&self, work: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<T>) -> Result<T, Fault> {
        self.watch.start(self.limits.slice);
        let result = self.context.with(|ctx| work(&ctx).catch(&ctx).map_err(|error| self.thrown(&error)));
        self.watch.stop();
        if self.watch.tripped.get() {
            Err(Fault::Interrupted(self.limits.slice))
        } else {
            result.map_err(Fault::Thrown)
        }
    }

    fn thrown(&self, error: &CaughtError<'_>) -> Problem {
        let places = self.modules.places.borrow();
        match error {
            CaughtError::Exception(exception) => {
                let message = exception.message().unwrap_or_default();
                places.problem(&message, exception.stack().as_deref())
            }
            CaughtError::Value(value) => {
                let text = value.as_string().and_then(|text| text.to_string().ok());
                places.problem(&text.unwrap_or_else(|| "something that is no error was thrown".to_owned()), None)
            }
            CaughtError::Error(error) => places.problem(&error.to_string(), None),
        }
    }

    /// Runs jobs until there are none, then reports what nobody waited for.
    fn drain(&self) -> Result<(), Fault> {
        self.jobs()?;
        let lost = std::mem::take(&mut *self.rejections.borrow_mut());
        if lost.is_empty() {
            return Ok(());
        }
        for (_, reason) in lost {
            self.enter(|ctx| {
                let report: Function<'_> = self.modules.api(ctx)?.get("unhandledRejection")?;
                report.call::<_, Value<'_>>((reason.restore(ctx)?,)).map(drop)
            })?;
        }
        self.jobs()
    }

    fn jobs(&self) -> Result<(), Fault> {
        self.watch.start(self.limits.slice);
        let mut result = Ok(());
        loop {
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => break,
                // What a job throws was thrown past everybody who could have caught it.
                Err(exception) => exception.0.with(|ctx| drop(ctx.catch())),
            }
            if self.watch.tripped.get() || self.watch.is_over() {
                result = Err(Fault::Interrupted(self.limits.slice));
                break;
            }
        }
        self.watch.stop();
        result
    }

    /// Whether work is left in the queue that a deadline kept from being done; the engine is of no more use then.
    pub(super) fn is_stuck(&self) -> bool {
        self.runtime.is_job_pending()
    }

    /// Does `work` with the exports of the JavaScript side. What nobody waits for any more is interrupted; what others have in the
    /// queue behind it is done all the same.
    pub(super) fn begin<W>(&self, lost: Option<&Lost>, work: W) -> Result<Begun, Fault>
    where
        W: for<'js> FnOnce(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<Value<'js>>,
    {
        *self.watch.lost.borrow_mut() = lost.cloned();
        let begun = self.enter(|ctx| {
            let value = work(ctx, &self.modules.api(ctx)?)?;
            match value.as_promise() {
                Some(promise) => Ok(Begun::Waits(Persistent::save(ctx, promise.clone()))),
                None => Ok(Begun::Done(Plain::from_js(ctx, value)?)),
            }
        });
        let begun = begun.and_then(|begun| self.drain().map(|()| begun));
        let lost = self.watch.lost.borrow_mut().take();
        if begun.is_err() && lost.is_some_and(|lost| lost.load(Ordering::Relaxed)) {
            self.drain()?;
        }
        begun
    }

    /// What a promise has come to; none while it waits.
    pub(super) fn settled(&self, promise: &Waits) -> Result<Option<Plain>, Fault> {
        self.enter(|ctx| {
            let promise = promise.clone().restore(ctx)?;
            match promise.state() {
                PromiseState::Pending => Ok(None),
                PromiseState::Resolved | PromiseState::Rejected => promise.result::<Plain>().transpose(),
            }
        })
    }

    /// As [`Realm::begin`], and waits for what `work` promises, with nothing else done meanwhile.
    pub(super) fn ask<W>(&self, work: W) -> Result<Plain, Fault>
    where
        W: for<'js> FnOnce(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<Value<'js>>,
    {
        let end = Instant::now() + self.limits.load;
        let promise = match self.begin(None, work)? {
            Begun::Done(plain) => return Ok(plain),
            Begun::Waits(promise) => promise,
        };
        loop {
            if let Some(plain) = self.settled(&promise)? {
                return Ok(plain);
            }
            // What is waited for is a timer, as everything else is answered at once; without one nothing will come.
            match self.next_timer() {
                Some(next) if next <= end => {
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                    self.fire()?;
                }
                Some(_) => return Err(Fault::Late(self.limits.load)),
                None => return Err(Fault::Forsaken),
            }
            if Instant::now() >= end {
                return Err(Fault::Late(self.limits.load));
            }
        }
    }

    /// Brings an extension the answer that it waits for.
    pub(super) fn resolve(&self, number: u64, answer: Plain) -> Result<(), Fault> {
        let act = self.host.borrow_mut().acts.remove(&number);
        let Some(resolve) = act.and_then(|act| act.resolve) else { return Ok(()) };
        self.enter(|ctx| resolve.restore(ctx)?.call::<_, ()>((answer,)))?;
        self.drain()
    }

    /// Tells an extension of a process that has ended.
    pub(super) fn ended(&self, number: u64, ran: Result<serde_json::Value, Refusal>) -> Result<(), Fault> {
        self.host.borrow_mut().acts.remove(&number);
        let channel = number & !PROCESS;
        self.deliver(channel, news_of(ran))
    }

    /// Whether something is being done that an extension may wait for, by the program or by a person.
    pub(super) fn acts(&self) -> bool {
        let host = self.host.borrow();
        !host.acts.is_empty() || !host.attended.is_empty() || !host.watched.is_empty()
    }

    /// When the next timer is due.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.host.borrow().timers.first().map(|(when, _)| *when)
    }

    /// Delivers timers that are due.
    pub(super) fn fire(&self) -> Result<(), Fault> {
        let now = Instant::now();
        loop {
            let due = {
                let timers = &mut self.host.borrow_mut().timers;
                let due = timers.first().copied().filter(|(when, _)| *when <= now);
                due.filter(|first| timers.remove(first))
            };
            let Some((_, channel)) = due else { return Ok(()) };
            self.deliver(channel, Plain::Nothing)?;
        }
    }

    /// Tells an extension that a file has changed.
    pub(super) fn changed(&self, channel: u64, change: Change) -> Result<(), Fault> {
        if !self.host.borrow().watched.takes(channel, &change) {
            return Ok(());
        }
        let name = change.name.map_or(Plain::Nothing, Plain::Text);
        self.deliver(channel, Plain::map([("event", Plain::Text(change.event.to_owned())), ("name", name)]))
    }

    pub(super) fn deliver(&self, channel: u64, news: Plain) -> Result<(), Fault> {
        self.enter(|ctx| {
            let deliver: Function<'_> = self.modules.api(ctx)?.get("deliver")?;
            #[expect(clippy::cast_precision_loss, reason = "it was a number of JavaScript")]
            deliver.call::<_, Value<'_>>((channel as f64, news)).map(drop)
        })?;
        self.drain()
    }
}

/// What an extension hears of the end of a process.
fn news_of(ran: Result<serde_json::Value, Refusal>) -> Plain {
    let kind = |kind: &str| ("type", Plain::Text(kind.to_owned()));
    match ran {
        Ok(ran) => {
            let plain = |name: &str| Plain::from(ran.get(name).cloned().unwrap_or_default());
            Plain::map([kind("exit"), ("code", plain("code")), ("signal", plain("signal"))])
        }
        Err(Refusal { code, .. }) if code == "CANCELLED" => {
            let signal = ("signal", Plain::Text("SIGKILL".to_owned()));
            Plain::map([kind("exit"), ("code", Plain::Nothing), signal])
        }
        Err(Refusal { code, message }) => {
            Plain::map([kind("error"), ("code", Plain::Text(code)), ("message", Plain::Text(message))])
        }
    }
}
