//! What is done with threads as a whole from the screen.

use super::notices::notice;
use crate::domain::ThreadId;
use crate::ports::executor::{Executor, ExecutorError};
use crate::workbench::{Level, Message, Upkeep};
use crate::worker::detached::Detached;
use crate::worker::launch::Launcher;
use futures_util::future::join_all;
use tokio::sync::mpsc;

/// Stops trees of threads from above, so that nobody goes on with what becomes of those below.
pub(super) async fn stop_trees(launcher: Launcher, generations: Vec<Vec<ThreadId>>, messages: mpsc::Sender<Message>) {
    for generation in generations {
        join_all(generation.into_iter().map(|id| manage(launcher.clone(), id, Upkeep::Stop, messages.clone()))).await;
    }
}

/// Stops, renames, puts away or removes a thread, and says what came of it.
pub(super) async fn manage(launcher: Launcher, thread_id: ThreadId, upkeep: Upkeep, messages: mpsc::Sender<Message>) {
    let executor = Detached { launcher };
    let failed = |error: ExecutorError| error.to_string();
    let removes = matches!(upkeep, Upkeep::Remove);
    let done = match upkeep {
        Upkeep::Stop => executor.cancel(&thread_id).await.map(|()| "is stopping").map_err(failed),
        Upkeep::Kill => executor.kill(&thread_id).await.map(|()| "is killed").map_err(failed),
        Upkeep::Rename(title) => executor.rename(&thread_id, &title).await.map(|()| "has its new name").map_err(failed),
        Upkeep::Label { target, label } => {
            let done = if label.is_some() { "has the label" } else { "has that label no more" };
            executor.label(&thread_id, target, label).await.map(|()| done).map_err(failed)
        }
        Upkeep::Archive => {
            let archived = executor.archive(&thread_id, true).await;
            archived.map(|()| "is archived; /archived lists it").map_err(failed)
        }
        Upkeep::Unarchive => {
            let listed = executor.archive(&thread_id, false).await;
            listed.map(|()| "is listed with the others again").map_err(failed)
        }
        Upkeep::Remove => executor.remove(&thread_id).await.map(|()| "is removed").map_err(failed),
    };
    let stays = removes && done.is_err();
    let told = match done {
        Ok(done) => notice(Level::Info, format!("{thread_id} {done}")),
        Err(why) => notice(Level::Error, format!("{thread_id}: {why}")),
    };
    let _ending = messages.send(told).await;
    if stays {
        let _ending = messages.send(Message::NotRemoved(thread_id)).await;
    }
    let _ending = messages.send(Message::ThreadsChanged).await;
}
