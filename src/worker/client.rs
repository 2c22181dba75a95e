//! The client's side: one handle, whether the worker is another process or this one.

use super::protocol::{Command, FromWorker, LONGEST_COMMAND, ToWorker, VERSION};
use super::socket::{self, LineReader, LineWriter, Share};
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
    may_approve: bool,
    process: Option<u32>,
}

/// The sending half of a client, which can be kept elsewhere.
#[derive(Clone, Debug)]
pub struct Sender {
    to_worker: mpsc::Sender<Said>,
}

/// What a client said, and what that has of the memory for all of them.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) message: ToWorker,
    pub(super) _share: Option<Share>,
}

/// Subscribes again for a client that lagged, for as long as it is there.
#[derive(Clone, Debug)]
pub(super) struct Resubscriber(mpsc::WeakSender<Said>);

impl Resubscriber {
    pub(super) fn of(to_worker: &mpsc::Sender<Said>) -> Self {
        Self(to_worker.downgrade())
    }

    /// Looks at a message on its way to the client.
    pub(super) async fn pass(&self, message: &FromWorker) {
        if let FromWorker::Lagged { from_offset } = message
            && let Some(to_worker) = self.0.upgrade()
        {
            let message = ToWorker::Subscribe { from_offset: *from_offset };
            let _worker_gone = to_worker.send(Said { message, _share: None }).await;
        }
    }
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
        self.to_worker.send(Said { message, _share: None }).await.map_err(|_closed| Gone)
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
    pub(super) fn new(to_worker: mpsc::Sender<Said>, from_worker: mpsc::Receiver<FromWorker>) -> Self {
        Self { sender: Sender { to_worker }, from_worker, secret: None, may_approve: false, process: None }
    }

    /// The same, of a worker that was started with `secret`, if it is that one that listens: calls can be approved through it.
    #[must_use]
    pub fn with_secret(self, secret: Option<SecretString>) -> Self {
        Self { secret, ..self }
    }

    /// The process that listens, as the system tells; none for this one.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        self.process
    }

    /// Whether calls can be approved through it, as the worker told with its hello.
    #[must_use]
    pub fn may_approve(&self) -> bool {
        self.may_approve
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
        let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let process = peer.and_then(|pid| u32::try_from(pid).ok());
        let (read, write) = stream.into_split();
        let (mut reader, mut writer) = (LineReader::new(read), LineWriter::new(write));
        let (to_worker, mut outgoing) = mpsc::channel::<Said>(64);
        // What the client does not take stays with the worker, which lets it lag.
        let (incoming, from_worker) = mpsc::channel(16);
        let resubscriber = Resubscriber::of(&to_worker);
        let answers = incoming.downgrade();
        drop(tokio::spawn(async move {
            while let Some(Said { message, .. }) = outgoing.recv().await {
                if let Some(refusal) = too_long(&message) {
                    if let Some(incoming) = answers.upgrade() {
                        let _client_gone = incoming.send(refusal).await;
                    }
                    continue;
                }
                if writer.send(&[message]).await.is_err() {
                    return;
                }
            }
        }));
        drop(tokio::spawn(async move {
            loop {
                match reader.next::<FromWorker>().await {
                    Ok(Some(message)) => {
                        resubscriber.pass(&message).await;
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
        Ok(Self { process, ..Self::new(to_worker, from_worker) })
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
            Some(FromWorker::Hello { may_approve, .. }) => {
                self.may_approve = may_approve;
                Ok(())
            }
            Some(FromWorker::Refused { reason }) => Err(ConnectError::Refused(reason)),
            Some(other) => Err(ConnectError::Refused(format!("the worker answered hello with {other:?}"))),
            None => Err(ConnectError::Ended),
        }
    }

    #[must_use]
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// The next message; `None` when the worker is gone. Losing this future loses nothing. After
    /// [`FromWorker::Lagged`] the client has subscribed again by itself.
    pub async fn next(&mut self) -> Option<FromWorker> {
        self.from_worker.recv().await
    }
}

/// The answer to a message that no worker would read.
fn too_long(message: &ToWorker) -> Option<FromWorker> {
    let ToWorker::Command { id, .. } = message else { return None };
    let mut length = Length(0);
    serde_json::to_writer(&mut length, message).ok()?;
    (length.0 >= LONGEST_COMMAND).then(|| FromWorker::Error {
        id: *id,
        message: format!(
            "the message is too long: {} MB, the limit is {} MB",
            length.0.div_ceil(1 << 20),
            LONGEST_COMMAND >> 20
        ),
    })
}

/// Counts what is written.
struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
