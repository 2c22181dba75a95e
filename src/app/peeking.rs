//! Looks into one thread for the list of threads: the end of its log, then what its worker tells while one runs. No worker
//! is started for that, and nothing in the thread changes.

use crate::domain::ThreadId;
use crate::store::log;
use crate::workbench::{Message, PeekNews};
use crate::worker::client::Client;
use crate::worker::launch::Launcher;
use crate::worker::protocol::{FromWorker, ToWorker};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How much of the log is read; older pages are asked for where that is too little for the screen.
const PAGE: u64 = 64 * 1024;
/// A worker that does not answer by then is looked for no longer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Until this is dropped, the thread is followed.
#[derive(Debug)]
pub(super) struct Looking {
    _stops: oneshot::Sender<()>,
}

/// What follows a thread, to be run beside the loop, and what ends it: then the worker is told that nobody looks any more.
pub(super) fn follow(
    launcher: Launcher,
    thread_id: ThreadId,
    number: u64,
    messages: mpsc::Sender<Message>,
) -> (Looking, impl Future<Output = ()>) {
    let (stops, stopped) = oneshot::channel();
    (Looking { _stops: stops }, Follower { launcher, thread_id, number, messages }.run(stopped))
}

struct Follower {
    launcher: Launcher,
    thread_id: ThreadId,
    number: u64,
    messages: mpsc::Sender<Message>,
}

impl Follower {
    async fn run(self, mut stopped: oneshot::Receiver<()>) {
        let (layout, id) = (self.launcher.layout.clone(), self.thread_id.clone());
        let read = move || layout.log(&id).and_then(|log| log::read_backward(&log, None, PAGE));
        let end = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(page)) => {
                let (end, older) = (page.end, (page.start > 0).then_some(page.start));
                self.tell(PeekNews::Opened { newest: page.into_records().collect(), older }).await;
                end
            }
            Ok(Err(error)) => return self.tell(PeekNews::Failed(error.to_string())).await,
            Err(error) => return tracing::error!(%error, "looking into a thread"),
        };
        let found = tokio::time::timeout(ANSWERS_WITHIN, self.launcher.find(&self.thread_id, end)).await;
        if let Ok(Ok(mut client)) = found
            && self.pass_on(&mut client, &mut stopped).await.is_none()
        {
            return leave(client).await;
        }
        self.tell(PeekNews::Alone).await;
    }

    /// Passes on what the worker tells until it is gone; none when this side leaves.
    async fn pass_on(&self, client: &mut Client, stopped: &mut oneshot::Receiver<()>) -> Option<()> {
        loop {
            let message = tokio::select! {
                biased;
                _dropped = &mut *stopped => return None,
                message = client.next() => message,
            };
            match message {
                None | Some(FromWorker::Bye { .. } | FromWorker::Refused { .. }) => return Some(()),
                Some(message) => self.tell(PeekNews::Worker(Box::new(message))).await,
            }
        }
    }

    async fn tell(&self, news: PeekNews) {
        // Without a listener the program is ending.
        let _ending = self.messages.send(Message::Peeked { number: self.number, news }).await;
    }
}

/// Says goodbye; the worker closes the connection when it has heard.
async fn leave(mut client: Client) {
    let goodbye = async {
        if client.sender().send(ToWorker::Goodbye).await.is_ok() {
            while client.next().await.is_some() {}
        }
    };
    let _gave_up = tokio::time::timeout(ANSWERS_WITHIN, goodbye).await;
}
