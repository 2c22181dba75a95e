//! The handle of an engine: calls go in as messages, answers come out. The engine itself lives on a thread of its own.

use super::event_loop::EventLoop;
use super::files;
use super::host::Settled;
use super::message::{ASKED, Lost, Message, soon};
use super::outcome::{Answer, Ask, Emitted, Listing, Loaded, Registration, Told};
use super::realm::EngineError;
use super::settings::{Policy, Settings};
use crate::domain::{Stage, StageValue};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::thread;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

/// Bytes of the thread's stack: the engine's own limit, and what Rust needs between.
const THREAD_STACK: usize = 8 << 20;

/// A running engine. Dropping it ends it, whatever it does.
#[derive(Debug)]
pub struct Engine {
    messages: Sender<Message>,
    /// Set when nobody wants anything of it any more.
    gone: Lost,
    listing: watch::Receiver<Arc<Listing>>,
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
        let _ended_already = self.messages.send(Message::End);
    }
}

/// The wish for an answer. The engine is told when it is dropped before that is there.
struct Wish {
    messages: Sender<Message>,
    lost: Lost,
    is_answered: bool,
}

impl Drop for Wish {
    fn drop(&mut self) {
        if !self.is_answered {
            self.lost.store(true, Ordering::Relaxed);
            let _gone = self.messages.send(Message::Lost);
        }
    }
}

impl Engine {
    /// Starts an engine with no extension in it. Waits for it. What takes time is done for extensions in the runtime that
    /// this is called in; without one it is refused.
    ///
    /// # Errors
    /// When there is no thread or no memory for it.
    pub fn start(mut settings: Settings) -> Result<Self, EngineError> {
        let Policy { hidden, write, guarded, data, .. } = &mut settings.policy;
        for path in hidden.iter_mut().chain(write).chain(guarded).chain(data) {
            *path = fs::canonicalize(&*path).unwrap_or_else(|_| path.clone());
        }
        // That of a session is not there yet.
        settings.policy.session = settings.policy.session.and_then(|folder| files::followed(&folder).ok());
        let (messages, incoming) = mpsc::channel();
        let (started, ready) = mpsc::channel();
        let gone = Lost::default();
        let watched = Lost::clone(&gone);
        let (listed, listing) = watch::channel(Arc::default());
        let settled = Settled { messages: messages.clone(), runtime: Handle::try_current().ok() };
        let thread = thread::Builder::new().name("levain-extensions".to_owned()).stack_size(THREAD_STACK);
        thread.spawn(move || match EventLoop::start(settings, watched, settled, listed) {
            Ok(mut event_loop) => {
                if started.send(Ok(())).is_ok() {
                    event_loop.run(&incoming);
                }
            }
            Err(error) => drop(started.send(Err(error))),
        })?;
        ready.recv().or(Err(EngineError::Gone))??;
        Ok(Self { messages, gone, listing })
    }

    /// Loads one extension.
    ///
    /// # Errors
    /// [`EngineError::Gone`]. That the file is not loaded is no error here.
    pub async fn load(&self, path: &Path) -> Result<Loaded, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Load(path.to_owned(), reply))?;
        answer.await.or(Err(EngineError::Gone))
    }

    /// Everything that is registered now. [`Self::listing`] gives the same from here on.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub async fn list(&self) -> Result<Arc<Listing>, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::List(reply))?;
        answer.await.or(Err(EngineError::Gone))
    }

    /// What was registered when the engine rested last; another value when that is something else.
    #[must_use]
    pub fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.borrow())
    }

    /// Asks one handler. Losing the future interrupts it.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub async fn call(
        &self,
        handler: Registration,
        payload: impl Into<StageValue>,
    ) -> Result<(Answer, Told), EngineError> {
        self.ask(Ask::Handler { handler, payload: payload.into() }, false).await
    }

    /// Asks for something; with `preview` nothing may be left behind. Losing the future interrupts it.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub async fn ask(&self, ask: Ask, preview: bool) -> Result<(Answer, Told), EngineError> {
        let (reply, mut answer) = oneshot::channel();
        let mut wish = Wish { messages: self.messages.clone(), lost: Lost::default(), is_answered: false };
        self.send(Message::Ask { ask, preview, lost: Lost::clone(&wish.lost), reply })?;
        let answer = match soon(ASKED, || answer.try_recv().ok()) {
            Some(answer) => Ok(answer),
            None => answer.await.or(Err(EngineError::Gone)),
        };
        wish.is_answered = true;
        answer
    }

    /// Ends the sockets of extensions: whoever comes after them may want the same ports.
    pub async fn close_sockets(&self) {
        let (reply, done) = oneshot::channel();
        if self.send(Message::CloseSockets(reply)).is_err() {
            return;
        }
        let Ok(ending) = done.await else { return };
        while !ending.iter().all(AbortHandle::is_finished) {
            tokio::task::yield_now().await;
        }
    }

    /// Tells something that nobody waits for: a function of the JavaScript side by its name in `HOST.md`. What is told is taken in
    /// this order, also by what was asked before.
    pub fn tell(&self, function: &'static str, arguments: Vec<Value>) {
        let _gone = self.send(Message::Tell(function, arguments));
    }

    /// Offers an event to each handler by itself, every time with the value given here.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub async fn emit(&self, event: &str, payload: Value) -> Result<Emitted, EngineError> {
        let mut emitted = Emitted::default();
        let listing = self.list().await?;
        let payload = match Stage::from_name(event) {
            Some(stage) => StageValue::of(stage, payload),
            None => payload.into(),
        };
        for handler in listing.handlers.iter().filter(|handler| handler.event == event).cloned() {
            let (answer, told) = self.call(handler, payload.clone()).await?;
            emitted.answers.push(answer);
            emitted.told.said.extend(told.said);
            emitted.told.lines.extend(told.lines);
            emitted.told.reports.extend(told.reports);
        }
        Ok(emitted)
    }

    fn send(&self, message: Message) -> Result<(), EngineError> {
        self.messages.send(message).or(Err(EngineError::Gone))
    }
}
