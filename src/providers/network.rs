//! The thread that holds the connections to providers.
//!
//! A model sends a packet for each token, and a packet wakes whoever waits for its connection. So connections live on
//! a thread with a runtime of its own, which sleeps between batches for up to 25 ms ([`relay`](super::relay)):
//! what arrives meanwhile is gathered by the system and read in one go, and the caller is woken once for all of it.

use super::relay::{WINDOW, relay};
use crate::domain::event::CallError;
use futures_util::future::{Ready, ready};
use futures_util::stream::Stream;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Batches that wait to be taken. Then the connection waits, and with it whoever sends.
const WAITING: usize = 4;

/// See the module. Its thread ends when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Network {
    runtime: Handle,
    /// Dropping it ends the thread.
    _running: oneshot::Sender<()>,
}

/// Bytes of an answer, in batches. Dropping it closes the connection within [`WINDOW`].
#[derive(Debug)]
pub(crate) struct Batches {
    receiver: mpsc::Receiver<Result<Vec<u8>, CallError>>,
    _network: Arc<Network>,
}

impl Network {
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (running, stop) = oneshot::channel::<()>();
        std::thread::Builder::new().name("levain-network".to_owned()).spawn(move || {
            let _dropped = runtime.block_on(stop);
        })?;
        Ok(Self { runtime: handle, _running: running })
    }

    /// Opens a stream with `open` and passes it on in batches; what goes wrong is the last item.
    pub(super) fn stream<S, B>(
        self: &Arc<Self>,
        open: impl Future<Output = Result<S, CallError>> + Send + 'static,
    ) -> Batches
    where
        S: Stream<Item = Result<B, CallError>> + Send + Unpin,
        B: AsRef<[u8]> + Send,
    {
        let (batches, receiver) = mpsc::channel(WAITING);
        drop(self.runtime.spawn(async move {
            let opened = tokio::select! {
                biased;
                () = batches.closed() => return,
                opened = open => opened,
            };
            match opened {
                Ok(source) => relay(source, &batches, sleep).await,
                Err(error) => drop(batches.send(Err(error)).await),
            }
        }));
        Batches { receiver, _network: Arc::clone(self) }
    }
}

/// Rests with the whole thread. Several streams rest together: each wants to sleep until its own window is over, and
/// the first that does sleeps for all.
fn sleep(until: Instant) -> Ready<()> {
    std::thread::sleep(until.saturating_duration_since(Instant::now()).min(WINDOW));
    ready(())
}

impl Stream for Batches {
    type Item = Result<Vec<u8>, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(context)
    }
}
