//! The handle of an engine: calls go in as messages, answers come out. The engine itself lives on a thread of its own.

use super::event_loop::{EventLoop, Message};
use super::outcome::{Answer, Emitted, Loaded, Registration, Told};
use super::realm::{EngineError, Lost};
use super::settings::Settings;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::thread;
use tokio::sync::oneshot;

/// Bytes of the thread's stack: the engine's own limit, and what Rust needs between.
const THREAD_STACK: usize = 8 << 20;

/// A running engine. Dropping it ends it, whatever it does.
#[derive(Debug)]
pub struct Engine {
    messages: Sender<Message>,
    /// Set when nobody wants anything of it any more.
    gone: Lost,
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// Dropped with the wish for an answer, which the engine is told by it.
struct Wish(Lost);

impl Drop for Wish {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Engine {
    /// Starts an engine with no extension in it. Waits for it.
    ///
    /// # Errors
    /// When there is no thread or no memory for it.
    pub fn start(mut settings: Settings) -> Result<Self, EngineError> {
        let hidden = settings.policy.hidden.iter().map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
        settings.policy.hidden = hidden.collect();
        let (messages, incoming) = mpsc::channel();
        let (started, ready) = mpsc::channel();
        let gone = Lost::default();
        let watched = Lost::clone(&gone);
        let thread = thread::Builder::new().name("levain-extensions".to_owned()).stack_size(THREAD_STACK);
        thread.spawn(move || match EventLoop::start(settings, watched) {
            Ok(mut event_loop) => {
                if started.send(Ok(())).is_ok() {
                    event_loop.run(&incoming);
                }
            }
            Err(error) => drop(started.send(Err(error))),
        })?;
        ready.recv().or(Err(EngineError::Gone))??;
        Ok(Self { messages, gone })
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

    /// The handlers of an event, in the order in which they are to be asked.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub async fn handlers(&self, event: &str) -> Result<Vec<Registration>, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Handlers(event.to_owned(), reply))?;
        answer.await.or(Err(EngineError::Gone))
    }

    /// Asks one handler. Losing the future interrupts it.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub async fn call(&self, handler: Registration, payload: Value) -> Result<(Answer, Told), EngineError> {
        let (reply, answer) = oneshot::channel();
        let wish = Wish(Lost::default());
        self.send(Message::Call { handler, payload, lost: Lost::clone(&wish.0), reply })?;
        answer.await.or(Err(EngineError::Gone))
    }

    /// Offers an event to each handler by itself, every time with the value given here.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub async fn emit(&self, event: &str, payload: Value) -> Result<Emitted, EngineError> {
        let mut emitted = Emitted::default();
        for handler in self.handlers(event).await? {
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
