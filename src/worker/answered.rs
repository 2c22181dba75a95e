//! What a client is told of its commands.

use super::outbox::Outbox;
use super::protocol::FromWorker;

/// What came of a command.
pub(super) struct Answered {
    pub(super) id: u64,
    pub(super) result: Result<(), String>,
    /// The program that has the terminal of the client from there on.
    pub(super) takes: Option<u64>,
    /// Whether the one that had it has ended.
    pub(super) is_over: bool,
}

/// Tells it. `foreground` is the program that has the terminal of the client.
pub(super) fn answer(Answered { id, result, takes, is_over }: Answered, outbox: &Outbox, foreground: &mut Option<u64>) {
    outbox.push(match result {
        Ok(()) => {
            if takes.is_some() || is_over {
                *foreground = takes;
            }
            FromWorker::Ack { id }
        }
        Err(message) => FromWorker::Error { id, message },
    });
}
