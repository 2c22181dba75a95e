//! What a thread answers to a client that asks it for something.

use super::outbox::Outbox;
use super::protocol::{FromWorker, ToWorker};
use crate::domain::{Command, Draft};
use crate::engine::driver::Handle;
use tokio::task::JoinSet;

/// Answers of extensions that a client may wait for.
const ASKED: usize = 4;

/// Asks extensions how they draw something or what they make of what was typed; others are heard meanwhile.
pub(super) fn ask_beside(asked: &mut JoinSet<()>, message: ToWorker, handle: &Handle, outbox: &Outbox) {
    let (handle, reply) = (handle.clone(), outbox.clone());
    match message {
        ToWorker::Draw { id, to_draw } if asked.len() < ASKED => {
            asked.spawn(async move { reply.push(FromWorker::Drawn { id, drawing: handle.draw(to_draw).await }) });
        }
        // Who types waits for one answer after the other, whatever is drawn.
        ToWorker::Typed { id, data } if asked.len() <= ASKED => {
            asked.spawn(async move { reply.push(FromWorker::Typed { id, data: handle.typed(data).await }) });
        }
        ToWorker::Draw { id, .. } | ToWorker::Typed { id, .. } => {
            outbox.push(FromWorker::Error { id, message: "extensions are asked too much".to_owned() });
        }
        ToWorker::Hello { .. }
        | ToWorker::Subscribe { .. }
        | ToWorker::Command { .. }
        | ToWorker::Preview { .. }
        | ToWorker::Complete { .. }
        | ToWorker::Goodbye => {}
    }
}

/// The answer to who asks what would be sent.
pub(super) async fn previewed(handle: &Handle, id: u64, draft: Draft) -> FromWorker {
    match handle.preview(draft).await {
        Ok(preview) => FromWorker::Preview { id, preview: Box::new(preview) },
        Err(message) => FromWorker::Error { id, message },
    }
}

/// The answer to a command. `foreground` is the program that has the terminal of the client.
pub(super) async fn command_answered(
    handle: &Handle,
    id: u64,
    command: Command,
    foreground: &mut Option<u64>,
) -> FromWorker {
    let taken = if let Command::TakeForeground { id } = command { Some(id) } else { None };
    let is_over = matches!(command, Command::ForegroundOver { .. });
    match handle.ask(command).await {
        Ok(()) => {
            if taken.is_some() || is_over {
                *foreground = taken;
            }
            FromWorker::Ack { id }
        }
        Err(message) => FromWorker::Error { id, message },
    }
}
