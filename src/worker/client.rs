//! The client's side: one handle, whether the worker is another process or this one.

use super::protocol::{Command, FromWorker, ToWorker, VERSION};
use super::socket::{self, LineReader, LineWriter};
use secrecy::{ExposeSecret, SecretString};
use std::path::Path;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

/// A connection to a worker, made by [`Client::connect`] (socket form) or
/// [`Hub::connect`](super::server::Hub::connect) (channel form).
#[derive(Debug)]
pub struct Client {
    sender: Sender,
    from_worker: mpsc::Receiver<FromWorker>,
    /// What the worker was given when this process started it.
    secret: Option<SecretString>,
}

/// The sending half of a client, which can be kept elsewhere.
#[derive(Clone, Debug)]
pub struct Sender {
    to_worker: mpsc::Sender<ToWorker>,
}

/// The worker is gone.
#[derive(Debug, thiserror::Error)]
#[error("the worker is gone")]
pub struct Gone;

/// Why no connection came about.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("no worker listens: {0}")]
    NotThere(#[from] std::io::Error),
    #[error("{0}")]
    Refused(String),
    #[error("the worker ended before it answered")]
    Ended,
}

impl Sender {
    /// Sends one message.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn send(&self, message: ToWorker) -> Result<(), Gone> {
        self.to_worker.send(message).await.map_err(|_closed| Gone)
    }

    /// Asks the thread for something; the answer is the `ack` or `error` with this `id`.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn command(&self, id: u64, command: Command) -> Result<(), Gone> {
        self.send(ToWorker::Command { id, command }).await
    }
}

impl Client {
    pub(super) fn new(to_worker: mpsc::Sender<ToWorker>, from_worker: mpsc::Receiver<FromWorker>) -> Self {
        Self { sender: Sender { to_worker }, from_worker, secret: None }
    }

    /// The same, of a worker that was started with `secret`: calls can be approved through it.
    #[must_use]
    pub fn with_secret(self, secret: Option<SecretString>) -> Self {
        Self { secret, ..self }
    }

    /// Whether this client says with its hello that it may approve calls.
    #[must_use]
    pub fn may_approve(&self) -> bool {
        self.secret.is_some()
    }

    /// Connects to the worker that listens at `path`.
    ///
    /// # Errors
    /// [`ConnectError::NotThere`] when nobody does.
    pub async fn connect(path: &Path) -> Result<Self, ConnectError> {
        let stream = UnixStream::connect(path).await?;
        if !socket::same_user(&stream) {
            return Err(ConnectError::Refused(format!("another user listens at {}", path.display())));
        }
        let (read, write) = stream.into_split();
        let (mut reader, mut writer) = (LineReader::new(read), LineWriter::new(write));
        let (to_worker, mut outgoing) = mpsc::channel::<ToWorker>(64);
        let (incoming, from_worker) = mpsc::channel(256);
        drop(tokio::spawn(async move {
            while let Some(message) = outgoing.recv().await {
                if writer.send(&[message]).await.is_err() {
                    return;
                }
            }
        }));
        drop(tokio::spawn(async move {
            loop {
                match reader.next::<FromWorker>().await {
                    Ok(Some(message)) => {
                        if incoming.send(message).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(%error, "the worker said something that is no message");
                        return;
                    }
                }
            }
        }));
        Ok(Self::new(to_worker, from_worker))
    }

    /// Says hello and subscribes to the log from `from_offset` on.
    ///
    /// # Errors
    /// [`ConnectError::Refused`] with the worker's reason.
    pub async fn greet(&mut self, from_offset: u64) -> Result<(), ConnectError> {
        let gone = |_gone: Gone| ConnectError::Ended;
        let secret = self.secret.as_ref().map(|secret| secret.expose_secret().to_owned());
        self.sender.send(ToWorker::Hello { version: VERSION, secret }).await.map_err(gone)?;
        self.sender.send(ToWorker::Subscribe { from_offset }).await.map_err(gone)?;
        match self.from_worker.recv().await {
            Some(FromWorker::Hello { .. }) => Ok(()),
            Some(FromWorker::Refused { reason }) => Err(ConnectError::Refused(reason)),
            Some(other) => Err(ConnectError::Refused(format!("the worker answered hello with {other:?}"))),
            None => Err(ConnectError::Ended),
        }
    }

    #[must_use]
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// The next message; `None` when the worker is gone. Losing this future loses nothing.
    pub async fn next(&mut self) -> Option<FromWorker> {
        self.from_worker.recv().await
    }
}
