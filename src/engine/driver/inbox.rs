//! How a driver is talked to, and what it has been told.

use super::dialogs::Asked;
use crate::domain::event::{CancelScope, EndReason};
use crate::domain::{Command, Draft, Drawing, Leaving, Preview, Suggestion, ToComplete, ToDraw};
use std::collections::VecDeque;
use std::future::pending;
use tokio::sync::{mpsc, oneshot};

/// A way to talk to a driver.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) sender: mpsc::Sender<DriverMessage>,
}

/// What came in through a handle.
pub(super) enum DriverMessage {
    Command(Command, oneshot::Sender<Result<(), String>>),
    /// What would be sent. Nothing is recorded of it.
    Preview(Draft, oneshot::Sender<Result<Preview, String>>),
    /// Whether extensions let a person leave it.
    MayLeave(Leaving, oneshot::Sender<Result<(), String>>),
    /// How extensions draw something.
    Draw(ToDraw, oneshot::Sender<Drawing>),
    /// What extensions say that can complete a draft.
    Complete(ToComplete, oneshot::Sender<Vec<Suggestion>>),
    /// What becomes of something that was typed at a terminal.
    Typed(String, oneshot::Sender<Option<String>>),
    /// An extension of this thread wants something.
    Extension(Asked),
    Leave(EndReason),
}

impl Handle {
    /// Asks for something and waits until it is accepted.
    ///
    /// # Errors
    /// The reason why it was not.
    pub async fn ask(&self, command: Command) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        let gone = || "the thread is ending".to_owned();
        self.sender.send(DriverMessage::Command(command, reply)).await.map_err(|_closed| gone())?;
        answer.await.map_err(|_closed| gone())?
    }

    /// What sending `draft` now would send.
    ///
    /// # Errors
    /// The sentence a person should read.
    pub async fn preview(&self, draft: Draft) -> Result<Preview, String> {
        let (reply, answer) = oneshot::channel();
        let gone = || "the thread is ending".to_owned();
        self.sender.send(DriverMessage::Preview(draft, reply)).await.map_err(|_closed| gone())?;
        answer.await.map_err(|_closed| gone())?
    }

    /// Asks extensions before a person leaves the thread on their screen.
    ///
    /// # Errors
    /// The sentence of who does not want that.
    pub async fn may_leave(&self, leaving: Leaving) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        // Nobody holds a person in a thread that ends.
        if self.sender.send(DriverMessage::MayLeave(leaving, reply)).await.is_err() {
            return Ok(());
        }
        answer.await.unwrap_or(Ok(()))
    }

    /// How extensions draw something of the conversation; nothing of it where they do not.
    pub async fn draw(&self, to_draw: ToDraw) -> Drawing {
        let (reply, answer) = oneshot::channel();
        if self.sender.send(DriverMessage::Draw(to_draw, reply)).await.is_err() {
            return Drawing::default();
        }
        answer.await.unwrap_or_default()
    }

    /// What extensions say that can complete a draft.
    pub async fn complete(&self, draft: ToComplete) -> Vec<Suggestion> {
        let (reply, answer) = oneshot::channel();
        if self.sender.send(DriverMessage::Complete(draft, reply)).await.is_err() {
            return Vec::new();
        }
        answer.await.unwrap_or_default()
    }

    /// What extensions make of something that was typed at a terminal; none where one took it.
    pub async fn typed(&self, data: String) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        if self.sender.send(DriverMessage::Typed(data.clone(), reply)).await.is_err() {
            return Some(data);
        }
        answer.await.unwrap_or(Some(data))
    }

    /// Asks the driver to end in order.
    pub async fn leave(&self, reason: EndReason) {
        let _ended_already = self.sender.send(DriverMessage::Leave(reason)).await;
    }
}

/// What people ask for.
pub(super) struct Inbox {
    messages: mpsc::Receiver<DriverMessage>,
    /// Every handle is gone.
    closed: bool,
    /// What was asked for while something else was done.
    waiting: VecDeque<DriverMessage>,
    /// A cancel that was answered while something else was done; it is the next event.
    pub(super) stop: Option<CancelScope>,
}

impl Inbox {
    pub(super) fn new(messages: mpsc::Receiver<DriverMessage>) -> Self {
        Self { messages, closed: false, waiting: VecDeque::new(), stop: None }
    }

    /// The next thing that somebody asks for. Losing this future loses nothing.
    pub(super) async fn next(&mut self) -> DriverMessage {
        match self.waiting.pop_front() {
            Some(message) => message,
            None if self.closed => DriverMessage::Leave(EndReason::Asked),
            None => self.messages.recv().await.unwrap_or(DriverMessage::Leave(EndReason::Asked)),
        }
    }

    /// What extensions have left in the thread by now, which nobody has looked at.
    pub(super) fn left(&mut self) -> Vec<Asked> {
        while let Ok(message) = self.messages.try_recv() {
            self.take(message);
        }
        let (mut left, mut others) = (Vec::new(), VecDeque::new());
        for message in self.waiting.drain(..) {
            if let DriverMessage::Extension(asked @ Asked::Append(..)) = message {
                left.push(asked);
            } else {
                others.push_back(message);
            }
        }
        self.waiting = others;
        left
    }

    /// Whether somebody wants to stop what is being done, which is not yet an event.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_some() || self.waiting.iter().any(|message| matches!(message, DriverMessage::Leave(_)))
    }

    /// Waits until somebody asks for something. Losing this future loses nothing.
    pub(super) async fn listen(&mut self) -> Request {
        if self.closed {
            return pending().await;
        }
        let Some(message) = self.messages.recv().await else {
            self.closed = true;
            self.waiting.push_back(DriverMessage::Leave(EndReason::Asked));
            return Request::Waits;
        };
        self.take(message)
    }

    /// Keeps what was asked for while something else is done; a cancel is answered at once.
    fn take(&mut self, message: DriverMessage) -> Request {
        if let DriverMessage::Command(Command::Cancel { scope }, reply) = message {
            self.stop = self.stop.max(Some(scope));
            let _gone = reply.send(Ok(()));
            return Request::Cancel;
        }
        self.waiting.push_back(message);
        Request::Waits
    }
}

/// What somebody asked for while something else was done.
pub(super) enum Request {
    Cancel,
    /// It waits for its turn.
    Waits,
}
